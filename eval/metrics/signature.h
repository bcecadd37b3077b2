/*
 * signature.h - what the metrics' signatures have in common.
 *
 * A signature names everything that a score depends on. Each metric has one in Werkbank's form and
 * one in the form of sacreBLEU 2.x:
 *
 *	nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:werkbank-0.2.0
 *
 * The version there is Werkbank's, because Werkbank computed the score.
 */
#ifndef WERKBANK_EVAL_METRICS_SIGNATURE_H
#define WERKBANK_EVAL_METRICS_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"

/* Resampling of a score; zero: none. */
struct signature_trials {
	int64_t bs, ar; /* resamples of the bootstrap, trials of approximate randomisation */
	uint64_t seed;
};

/* Appends "nrefs:1", and "|bs:1000|ar:10000|seed:12345" as far as there are trials. */
void signature_begin(size_t references, const struct signature_trials *t, struct buf *out);
/* Appends "|version:werkbank-...". */
/* Appends "|bs:1000|ar:10000|seed:12345", without the members that are 0; nothing without trials. */
void signature_add_trials(const struct signature_trials *t, struct buf *out);
void signature_end(struct buf *out);

/* ERR_DATA: n is 0, or the preceding segments (0 or more) had another number of references. */
int signature_check_references(int64_t segments, size_t n_before, size_t n, struct err *e);

#endif
