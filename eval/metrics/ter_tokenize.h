/*
 * ter_tokenize.h - prepares a line for TER as Tercom and sacreBLEU do.
 *
 * Without options only white space separates words, and letters become lower case.
 */
#ifndef WERKBANK_EVAL_METRICS_TER_TOKENIZE_H
#define WERKBANK_EVAL_METRICS_TER_TOKENIZE_H

#include <stdbool.h>
#include <stddef.h>

#include "eval/metrics/score_tokenize.h"
#include "share/base/buf.h"

struct ter_options {
	bool cased;	       /* false: compare in lower case, as Tercom does */
	bool normalized;       /* split off punctuation marks, replace entities such as &quot; */
	bool drop_punctuation; /* remove . , ? : ; ! " ( ) */
	bool asian;	       /* with normalized: split off each Chinese character and kanji;
				  with drop_punctuation: remove Asian and full-width marks too */
};

/*
 * Appends the words of a line of well-formed UTF-8 to out, separated by one blank. The caller
 * checks for lack of memory with buf_check(out).
 */
void ter_tokenize(const struct ter_options *o, const char *line, size_t n, struct score_scratch *s,
		  struct buf *out);

#endif
