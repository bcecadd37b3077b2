/*
 * text_format.h - files that are given as text, one sentence a line, but are something else
 *
 * Tables, XML, UTF-16 and lines that end in CR alone would be read as sentences. The first lines of a
 * file show it.
 */
#ifndef WERKBANK_DATA_SOURCE_TEXT_FORMAT_H
#define WERKBANK_DATA_SOURCE_TEXT_FORMAT_H

#include "share/base/err.h"

/*
 * ERR_DATA: the file is a table of columns (TSV, CSV, JSON Lines), XML (TMX, XLIFF), or has line ends
 * of CR alone, or is in another encoding than the option encoding says (NULL: UTF-8); the message has the
 * command or option that helps. SGML files of test sets (.sgm) pass.
 */
int text_format_check(const char *path, const char *encoding, struct err *e);

#endif
