/*
 * word_marks.h - what a judge of corpora must know of a word, computed once for each distinct word
 *
 * Terms make words of two languages comparable in small corpora: the first TERM_CHARACTERS of the word
 * in lower case, so that most inflected forms are one term. A word in a script without blanks (Han,
 * Thai and others) has a term for each character.
 */
#ifndef WERKBANK_DATA_JUDGE_WORD_MARKS_H
#define WERKBANK_DATA_JUDGE_WORD_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "data/words/intern.h"
#include "share/base/err.h"

#define TERM_CHARACTERS 6
#define WORD_TERMS_MAX	64 /* of a word without blanks; further characters have none */

enum word_flag {
	WORD_CASED = 1,	    /* two cased letters or more */
	WORD_CAPITALS = 2,  /* WORD_CASED, and none of them lower-case */
	WORD_HAS_UPPER = 4, /* an upper-case letter */
	WORD_AMPERSAND = 8, /* "&", also as tokenisers escape it */
	WORD_ENTITY = 16,   /* holds an XML entity */
	WORD_QUOTE =
		32, /* a straight double quotation mark; not escaped: at either end of the word */
	WORD_OPENS = 64,   /* "<"; not escaped: at the beginning of the word */
	WORD_CLOSES = 128, /* ">"; not escaped: at the end of the word */
};

struct word_mark {
	uint64_t languages; /* bits: rows of language_words.def that have the word */
	int32_t first_term; /* in struct word_marks.term_lists */
	uint8_t n_terms, flags;
};

struct word_marks {
	struct intern words;	 /* owned: the distinct words; a word's number is its mark's */
	struct word_mark *marks; /* owned: (words.n) */
	size_t cap_marks;
	struct intern terms; /* owned: the distinct terms */
	int32_t *term_lists; /* owned: terms of all words, one list after the other */
	size_t n_terms, cap_terms;
	struct intern frequent;	      /* owned: the words of language_words.def */
	uint64_t *frequent_languages; /* owned: (frequent.n) */
	bool is_escaped;	      /* words are escaped as Moses does: "&amp;" is the word "&" */
};

int word_marks_open(struct word_marks *m, bool is_escaped, struct err *e);
void word_marks_free(struct word_marks *m);
/* The number of a word, well-formed UTF-8; a new word is marked. -1: out of memory. */
int32_t word_marks_add(struct word_marks *m, const char *word, size_t n, struct err *e);
/* Bits: the rows of language_words.def that have the word, in any case. Adds nothing. */
uint64_t word_marks_languages(const struct word_marks *m, const char *word, size_t n);

/* Rows of language_words.def. "pt-BR" has the row of "pt", "no" that of "nb". -1: no such row. */
int language_row(const char *code);
const char *language_row_code(int row);
const char *language_row_name(int row);
int language_rows(void);

#endif
