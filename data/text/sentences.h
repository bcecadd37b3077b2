/*
 * sentences.h - the sentences of a text, as byte ranges
 *
 * The boundaries are those of ICU (Unicode Standard Annex 29), for the language of the text. Some of
 * them end no sentence, and are taken back:
 *
 *	English, German	after a word of share/lang/LANG.abbreviations: "Dr. Smith", "z. B. hier"
 *	German		after a number of one or two digits, an ordinal: "am 3. Mai"
 *	all		after an initial ("J. S. Bach") or letters with full stops ("U.S. Army"); after a number
 *			or letter that begins the text ("1. Introduction"); after . ? ! without a blank
 *			("http://a.b/?c=d"), where the script has blanks; before a small letter after a
 *			closing mark ("Why?" she asked)
 *
 * One is added: before a number after a long word of small letters ("… a hill. 5 children play").
 *
 * A model that was trained on sentences translates one of several as one: the rest is lost.
 */
#ifndef WERKBANK_DATA_TEXT_SENTENCES_H
#define WERKBANK_DATA_TEXT_SENTENCES_H

#include <stddef.h>

#include "share/base/err.h"

/* A sentence without the blanks around it. */
struct sentence_range {
	size_t from, n; /* bytes */
};

struct sentence_splitter; /* for one thread */

/* language: a code such as "de"; the boundaries of an unknown one are those of all. NULL: failure. */
struct sentence_splitter *sentence_splitter_new(const char *language, struct err *e);
void sentence_splitter_free(struct sentence_splitter *s);

/*
 * The sentences of n bytes of well-formed UTF-8, in their order, none empty: (*count) in *found,
 * borrowed until the next call. Between them, before the first and after the last one is white space
 * only, so joining them by the text between them gives the text again. Blank text: no sentence.
 */
int sentences_find(struct sentence_splitter *s, const char *text, size_t n,
		   const struct sentence_range **found, size_t *count, struct err *e);

#endif
