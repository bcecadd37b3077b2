/*
 * xml_reader.h - XML from a stranger as events, by expat
 *
 * Expat is a small stream parser that never opens a file or a connection. The reader refuses what costs
 * memory or time: declarations inside a DOCTYPE (so there are no entities but those of XML), elements
 * nested more than XML_MAX_DEPTH deep, tags longer than BILINGUAL_MAX_BYTES, and more than
 * XML_MAX_NAMES different names. An external DTD is never read.
 */
#ifndef WERKBANK_DATA_BILINGUAL_XML_READER_H
#define WERKBANK_DATA_BILINGUAL_XML_READER_H

#include <stddef.h>

#include "share/base/err.h"
#include "share/base/lines.h"

#define XML_MAX_DEPTH 100
#define XML_MAX_NAMES 10000 /* of elements and attributes */

/*
 * Names are without prefix (in xml:lang and sdl:seg: lang and seg). attributes: name, value, …, NULL.
 * depth: 1 for the root. Each event returns 0, or a code of e.
 */
struct xml_events {
	int (*begin)(void *to, const char *name, const char *const *attributes, int depth,
		     struct err *e);
	int (*end)(void *to, const char *name, int depth, struct err *e);
	int (*text)(void *to, const char *text, size_t n, struct err *e);
};

struct xml_reader;

/* Was this program built with expat? */
bool xml_reader_is_built(void);
/* Borrows all. read: bytes in UTF-8. NULL: ERR_NOMEM, or this build has no expat (ERR_UNAVAILABLE). */
struct xml_reader *xml_reader_open(const char *name, const struct xml_events *events, void *to,
				   lines_read *read, void *from, struct err *e);

/* Read some bytes and report their events. 1; 0: the end; < 0: failure, or no well-formed XML. */
int xml_reader_step(struct xml_reader *r, struct err *e);

void xml_reader_close(struct xml_reader *r); /* may be NULL */

/* Value of an attribute, by its name without prefix; "": none. */
const char *xml_attribute(const char *const *attributes, const char *name);

/* The name after its prefix. */
const char *xml_local_name(const char *name);

#endif
