/* language_name.h - English names of languages */
#ifndef WERKBANK_SHARE_FORMAT_LANGUAGE_NAME_H
#define WERKBANK_SHARE_FORMAT_LANGUAGE_NAME_H

/* The English name of an ISO 639 code, also of one with a region such as de-AT; the code itself if there is no name for it. */
const char *language_name_of(const char *code);

#endif
