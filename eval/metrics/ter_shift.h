/*
 * ter_shift.h - the number of edits and shifts between two sentences of numbered words; for ter.c.
 */
#ifndef WERKBANK_EVAL_METRICS_TER_SHIFT_H
#define WERKBANK_EVAL_METRICS_TER_SHIFT_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

struct ter_words {
	const int32_t *word; /* (n) borrowed: equal words have equal numbers */
	size_t n;
};

struct ter_shift;

struct ter_shift *ter_shift_new(struct err *e); /* NULL: out of memory */
/* *edits: edits including shifts that turn the hypothesis into the reference. */
int ter_shift_edits(struct ter_shift *s, struct ter_words hypothesis, struct ter_words reference,
		    int64_t *edits, struct err *e);
void ter_shift_free(struct ter_shift *s);

#endif
