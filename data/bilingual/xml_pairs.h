/* xml_pairs.h - what TMX and XLIFF have in common: the root decides, segments are text with markup */
#ifndef WERKBANK_DATA_BILINGUAL_XML_PAIRS_H
#define WERKBANK_DATA_BILINGUAL_XML_PAIRS_H

#include <stdbool.h>

#include "data/bilingual/bilingual_internal.h"
#include "data/bilingual/xml_reader.h"

struct xml_pairs;

/* A format, by the name of its root element. The events come for elements outside of segments. */
struct xml_pairs_kind {
	const char *root;
	size_t state_bytes; /* of what the kind keeps: xml_pairs_state() */
	int (*begin)(struct xml_pairs *p, const char *name, const char *const *attributes,
		     int depth, struct err *e);
	int (*end)(struct xml_pairs *p, const char *name, int depth, struct err *e);
	/* Elements inside a segment that are not part of a code; NULL: of no interest. */
	int (*mark_begin)(struct xml_pairs *p, const char *name, const char *const *attributes,
			  int depth, struct err *e);
	void (*mark_end)(struct xml_pairs *p, int depth);
	void (*close)(struct xml_pairs *p);
};

extern const struct xml_pairs_kind xml_pairs_tmx, xml_pairs_xliff;

void *xml_pairs_state(struct xml_pairs *p); /* zeroed at first */
struct bilingual *xml_pairs_file(struct xml_pairs *p);

/* The element at `depth` that begins is a segment: its text goes to `to` (cleared); NULL: nowhere. */
void xml_pairs_begin_text(struct xml_pairs *p, struct buf *to, int depth);

static inline struct text_span span_of_buf(const struct buf *b)
{
	return (struct text_span){ buf_text(b), b->len };
}

#endif
