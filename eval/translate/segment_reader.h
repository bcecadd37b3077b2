/*
 * segment_reader.h - reads hypothesis and reference files in parallel, line by line.
 *
 *	struct segment_reader s;
 *	if (!segment_reader_open(&s, c, e))
 *		while ((got = segment_reader_next(&s, e)) > 0)
 *			use s.texts[0 .. s.n - 1];
 *	segment_reader_close(&s);			also after a failure
 */
#ifndef WERKBANK_EVAL_TRANSLATE_SEGMENT_READER_H
#define WERKBANK_EVAL_TRANSLATE_SEGMENT_READER_H

#include <stddef.h>

#include "eval/metrics/bleu.h"
#include "share/base/err.h"
#include "share/base/lines.h"
#include "share/conf/conf.h"

struct segment_reader {
	struct lines *files; /* (n) owned: first the hypotheses, then the references */
	const char **names;  /* (n) owned array of borrowed names, for messages */
	struct score_text
		*texts; /* (n) owned array: the current lines, valid until the next call */
	size_t n_hypotheses;
	size_t n;
	size_t n_open; /* private */
};

/*
 * Opens the arguments of c (none or "-": standard input) and its references. ERR_USAGE: there is no
 * reference, or standard input is named more than once.
 */
int segment_reader_open(struct segment_reader *s, const struct conf *c, struct err *e);

/* The same with n paths, of which the first n_hypotheses are hypotheses; they must live as long. */
int segment_reader_open_paths(struct segment_reader *s, const char *const *paths,
			      size_t n_hypotheses, size_t n, const struct conf *c, struct err *e);

/*
 * 1: texts has the next line of every file; 0: all files have ended; < 0: failure. ERR_DATA: files
 * of different lengths, or empty files.
 */
int segment_reader_next(struct segment_reader *s, struct err *e);
void segment_reader_close(struct segment_reader *s);

#endif
