/* document_kind.h - the kinds of documents that are translated, by the endings of their names */
#ifndef WERKBANK_SHARE_FORMAT_DOCUMENT_KIND_H
#define WERKBANK_SHARE_FORMAT_DOCUMENT_KIND_H

#include <stddef.h>

/* What translate says on standard error about a long document: segments that are done, and all. */
#define DOCUMENT_PROGRESS "werkbank: %zu of %zu segments"

struct document_kind {
	const char *name;     /* as --document has it */
	const char *suffixes; /* ".html .htm " */
};

/* Kind number i; NULL: there are fewer. */
const struct document_kind *document_kind_at(size_t i);
/* The kind that the ending of this path names; NULL: none. */
const struct document_kind *document_kind_of(const char *path);

#endif
