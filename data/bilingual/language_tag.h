/* language_tag.h - does the language of a file (en-US, EN_us) fit the language of the recipe (en)? */
#ifndef WERKBANK_DATA_BILINGUAL_LANGUAGE_TAG_H
#define WERKBANK_DATA_BILINGUAL_LANGUAGE_TAG_H

/*
 * 3: the same; 2: `tag` is a variant of `wanted` (en-US of en); 1: `wanted` is a variant of `tag`;
 * 0: another language, or another variant (en-US, en-GB). Case is ignored; _ is -.
 */
int language_tag_fit(const char *wanted, const char *tag);

#endif
