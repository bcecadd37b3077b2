/*
 * samples.h - the translations of the newest evaluation of a run, and how they differ from their
 * references.
 *
 *	samples_read(&s, run_folder, e); samples_find_signs(&signs, &s); samples_free(&s)
 */
#ifndef WERKBANK_EVAL_REPORT_SAMPLES_H
#define WERKBANK_EVAL_REPORT_SAMPLES_H

#include <stddef.h>

#include "share/base/err.h"
#include "share/format/json.h"

#define SAMPLES_MAX 64 /* further ones are not read */

struct run_samples {
	struct json *all[SAMPLES_MAX]; /* owned: records of samples.jsonl, of one step */
	size_t n;
	double step; /* NAN without samples */
};

/* Reads the end of samples.jsonl. A missing file or a damaged line is no failure. ERR_IO, ERR_NOMEM. */
int samples_read(struct run_samples *s, const char *run_folder, struct err *e);
void samples_free(struct run_samples *s);

/* A text of sample i: "source", "reference" or "hypothesis"; "" if it is missing. Borrowed. */
const char *samples_text(const struct run_samples *s, size_t i, const char *what);

/* Sums over all samples. NAN: the samples hold fewer than SAMPLES_WORDS words of references. */
#define SAMPLES_WORDS 20
struct sample_signs {
	double length_ratio; /* words of the translations divided by those of the references */
	/* share of capitals among the letters that have both cases */
	double translated_capitals, reference_capitals;
};

void samples_find_signs(struct sample_signs *signs, const struct run_samples *s);

#endif
