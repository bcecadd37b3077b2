/*
 * line_tags.h - the tag in front of a source line: <2de>, <BT>
 *
 * The tags are those of the options train_tags, dev_tags and test_tags. Each of them is a protected symbol, so it is
 * one token for the model: see pipeline_symbols(). A blank, or the end of the line, follows a tag.
 */
#ifndef WERKBANK_DATA_SUBWORD_LINE_TAGS_H
#define WERKBANK_DATA_SUBWORD_LINE_TAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "share/conf/conf.h"

/* "-" in a list of tags: the text has none. */
bool line_tag_is_none(const char *tag);

/*
 * The tag that begins the line, borrowed from c, and its bytes with blanks before it and one blank after it in *bytes; "" and 0:
 * the line has none.
 */
const char *line_tag_find(const struct conf *c, const char *line, size_t n, size_t *bytes);
/* Only the bytes. */
size_t line_tag_bytes(const struct conf *c, const char *line, size_t n);

#endif
