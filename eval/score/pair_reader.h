/*
 * pair_reader.h - the pairs that the command score reads: two files, one file with a tab between the sides,
 * or source lines and a list of their translations.
 *
 * A list (--n-best-list) has the forms of Moses and Marian, "NUMBER ||| TEXT ||| ...", with the number of the
 * source line from 0, and of translate --n-best, "NUMBER TAB [SCORE TAB] TEXT ...", with numbers from 1.
 * Numbers must not fall.
 */
#ifndef WERKBANK_EVAL_SCORE_PAIR_READER_H
#define WERKBANK_EVAL_SCORE_PAIR_READER_H

#include <stddef.h>
#include <stdint.h>

#include "eval/translate/segment_reader.h"
#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

struct read_pair {
	struct score_text source, target; /* valid until the next pair is read */
	int64_t line;			  /* of the source, from 1 */
};

struct pair_reader {
	struct segment_reader files; /* SOURCE and TARGET, or one file */
	const char *list_name;	     /* borrowed; NULL: no list */
	struct lines list;
	bool has_list; /* list is open */
	bool counts_from_one;
	int64_t line; /* of the source of the last candidate, from 1; 0: none */
	/* with a list: all source lines */
	struct buf text;
	size_t *ends; /* (n_sources) owned: of each line in text */
	size_t n_sources, cap_ends;
};

/* ERR_USAGE: wrong arguments. Call pair_reader_close() after a failure too. */
int pair_reader_open(struct pair_reader *r, const struct conf *c, struct err *e);
/* 1: a pair; 0: the end; < 0: failure, such as files of different lengths. */
int pair_reader_next(struct pair_reader *r, struct read_pair *p, struct err *e);
void pair_reader_close(struct pair_reader *r);

#endif
