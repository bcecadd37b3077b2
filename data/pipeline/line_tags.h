/*
 * line_tags.h - the tag before the text of a source line: <2de>, <BT>
 *
 * Tags are those of the options train_tags, dev_tags and test_tags, and those of tag_languages, which must be protected
 * symbols. So a tag is one token for the model: see pipeline_symbols(). A blank, or the end of the line, follows it.
 */
#ifndef WERKBANK_DATA_PIPELINE_LINE_TAGS_H
#define WERKBANK_DATA_PIPELINE_LINE_TAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

#define LANGUAGE_BYTES 16 /* of a code, with the NUL */

/* "-" in a list of tags: the text has none. */
bool line_tag_is_none(const char *tag);

/* The first word of the line: its start, and its bytes in *len. */
const char *line_first_word(const char *line, size_t n, size_t *len);

/*
 * The tag that begins the line, borrowed from c, and its bytes with blanks before it and one blank after it in *bytes;
 * "" and 0: the line has none.
 */
const char *line_tag_find(const struct conf *c, const char *line, size_t n, size_t *bytes);
/* Only the bytes. */
size_t line_tag_bytes(const struct conf *c, const char *line, size_t n);

/* Append all tags, each after a blank. */
void line_tags_list(const struct conf *c, struct buf *out);

/* The languages of source and target. */
struct pair_languages {
	char source[LANGUAGE_BYTES], target[LANGUAGE_BYTES];
};

/*
 * Item i of the option tag_languages: its tag, which is borrowed from c, and the languages. ERR_CONFIG: it is not
 * TAG=SOURCE-TARGET, or the tag is not a protected symbol.
 */
int line_tag_read(const struct conf *c, size_t i, const char **tag, struct pair_languages *l,
		  struct err *e);
/* The languages of lines with this tag; NULL or "": without one. The items of tag_languages are known to be good. */
struct pair_languages line_tag_languages(const struct conf *c, const char *tag);

/* ERR_CONFIG: a tag of tag_languages is no tag of a text, so preparation could not know the lines that have it. */
int line_tags_check_texts(const struct conf *c, struct err *e);

#endif
