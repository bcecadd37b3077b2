/* bilingual_internal.h - what the readers of single formats share (see bilingual.h) */
#ifndef WERKBANK_DATA_BILINGUAL_BILINGUAL_INTERNAL_H
#define WERKBANK_DATA_BILINGUAL_BILINGUAL_INTERNAL_H

#include "data/bilingual/bilingual.h"

#define BILINGUAL_MAX_BYTES ((size_t)16 << 20) /* of one unit, and of one tag of XML */

/* X(id, why a unit is no pair; %s: the language) */
#define BILINGUAL_REASONS(X)                                                                       \
	X(BILINGUAL_NO_SOURCE, "without text in the source language")                              \
	X(BILINGUAL_NO_TARGET, "without text in the target language")                              \
	X(BILINGUAL_FOREIGN, "in other languages")                                                 \
	X(BILINGUAL_FUZZY, "fuzzy")                                                                \
	X(BILINGUAL_OBSOLETE, "obsolete")                                                          \
	X(BILINGUAL_STATE, "not translated yet, as their state says")                              \
	X(BILINGUAL_UNCHANGED, "not to be translated")

enum bilingual_reason {
	BILINGUAL_PAIR = 0,
#define X(id, text) id,
	BILINGUAL_REASONS(X)
#undef X
		BILINGUAL_N_REASONS
};

struct text_span {
	const char *text;
	size_t n;
};

/* A reader of one format. */
struct bilingual_format {
	void *(*open)(struct bilingual *b, struct err *e); /* NULL: failure */
	/* Read some units: bilingual_add() for each. 1; 0: the end; < 0. */
	int (*step)(void *reader, struct err *e);
	void (*close)(void *reader);
};

extern const struct bilingual_format bilingual_xml, bilingual_po, bilingual_table;

const struct bilingual_options *bilingual_opened_with(const struct bilingual *b);

/* Read the file in UTF-8; a lines_read with from = b. */
int64_t bilingual_read_text(void *b, void *to, size_t room, struct err *e);

/*
 * The next unit: a pair, or the reason why it is none. A pair with an empty side becomes one without
 * text in this language. White space is squeezed here.
 */
int bilingual_add(struct bilingual *b, enum bilingual_reason reason, struct text_span source,
		  struct text_span target, struct err *e);

/* n characters were replaced because of the option repair. */
void bilingual_note_replaced(struct bilingual *b, int64_t n);

/* ERR_DATA: the current line has a NUL. */
int bilingual_check_line(const struct lines *in, const char *name, struct err *e);

/* The file has text in this language; for messages. */
void bilingual_note_language(struct bilingual *b, const char *tag);

#endif
