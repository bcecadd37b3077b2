/*
 * column_pair.h - both token columns of a training text, read in step
 *
 *	struct column_pair c = { 0 };
 *	rc = column_pair_open(&c, work, number, n_words, e);
 *	while (!rc && (rc = column_pair_next(&c, lines, e)) > 0)
 *		rc = ... lines[0], lines[1] ...
 *	column_pair_close(&c);
 */
#ifndef WERKBANK_DATA_PREP_COLUMN_PAIR_H
#define WERKBANK_DATA_PREP_COLUMN_PAIR_H

#include "data/prep/token_column.h"

struct column_pair {
	struct token_column_reader *sides[2]; /* owned; NULL: not open */
};

/*
 * Open WORK/side-TEXT.source and .target; n_words as in token_column_open(). ERR_DATA: they have different
 * numbers of lines. After a failure nothing is open.
 */
int column_pair_open(struct column_pair *c, const char *work, size_t text, int32_t n_words,
		     struct err *e);
/* 1: a pair; 0: the end; < 0: failure. */
int column_pair_next(struct column_pair *c, struct token_column_line lines[2], struct err *e);
void column_pair_close(struct column_pair *c);

#endif
