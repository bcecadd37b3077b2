/*
 * segment_reader.h - the files of a score read side by side: hypotheses and references.
 *
 *	struct sides s;
 *	if (!segment_reader_open(&s, c, e))
 *		while ((got = segment_reader_next(&s, e)) > 0)
 *			use s.texts[0 .. s.n - 1];
 *	segment_reader_close(&s);			also after a failure
 */
#ifndef WERKBANK_EVAL_TRANSLATE_SEGMENT_READER_H
#define WERKBANK_EVAL_TRANSLATE_SEGMENT_READER_H

#include <stddef.h>

#include "eval/metrics/bleu.h"
#include "share/conf/conf.h"
#include "share/base/err.h"
#include "share/base/lines.h"

struct segment_reader {
	struct lines *files;	  /* (n) owned: the hypotheses first */
	const char **names;	  /* (n) owned array of borrowed names */
	struct score_text *texts; /* (n) owned array, borrowed texts: the current lines */
	size_t n_hypotheses;
	size_t n;
	size_t n_open; /* private */
};

/*
 * Open c's arguments (none or "-": standard input) and its references. ERR_USAGE: none of
 * these, or standard input more than once.
 */
int segment_reader_open(struct segment_reader *s, const struct conf *c, struct err *e);

/*
 * 1: the next line of every side is in texts; 0: all ended; < 0: failure. Sides of different
 * lengths, and empty ones, are ERR_DATA.
 */
int segment_reader_next(struct segment_reader *s, struct err *e);
void segment_reader_close(struct segment_reader *s);

#endif
