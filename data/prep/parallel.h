/*
 * parallel.h - two texts whose lines belong together, read in step.
 *
 *	struct parallel p;
 *	parallel_open(&p, source, target, repair, e);
 *	while ((got = parallel_next(&p, e)) > 0)
 *		use p.source, p.target, p.number;
 *	parallel_close(&p);
 *
 * A file called .sgm gives its segments, any other its lines. Sides of
 * different length are ERR_DATA with both lengths.
 */
#ifndef WERKBANK_DATA_PREP_PARALLEL_H
#define WERKBANK_DATA_PREP_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/text/sgm.h"
#include "share/base/err.h"
#include "share/base/lines.h"

struct parallel_text {
	const char *text; /* borrowed until the next call */
	size_t len;
	const char *path; /* borrowed: for messages */
	bool is_sgm;
	struct lines lines;
	struct sgm sgm;
};

struct parallel_reader {
	struct parallel_text source, target;
	int64_t number; /* of the pair, from 1: line or segment */
};

/* The paths must live as long as the struct. */
int parallel_open(struct parallel_reader *p, const char *source, const char *target, bool repair,
		  struct err *e);
int parallel_next(struct parallel_reader *p,
		  struct err *e); /* 1: a pair; 0: both ended; < 0: failure */
void parallel_close(struct parallel_reader *p);

#endif
