/*
 * parallel.h - reader of two parallel texts in step
 *
 *	struct parallel_reader p;
 *	parallel_open(&p, source, target, repair, e);
 *	while ((got = parallel_next(&p, e)) > 0)
 *		use p.source, p.target, p.number;
 *	parallel_close(&p);
 *
 * Lines are read; of a file called .sgm, its segments. Texts of different length are ERR_DATA with
 * both lengths.
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
	const char *text; /* current line, borrowed until the next call */
	size_t len;
	const char *path; /* borrowed: for messages */
	bool is_sgm;
	struct lines lines;
	struct sgm sgm;
};

struct parallel_reader {
	struct parallel_text source, target;
	int64_t number; /* of the current pair, from 1 */
};

/* Borrows the paths until parallel_close(). repair: invalid UTF-8 becomes U+FFFD, else ERR_DATA. */
int parallel_open(struct parallel_reader *p, const char *source, const char *target, bool repair,
		  struct err *e);
/* 1: a pair; 0: the end of both; < 0: failure. */
int parallel_next(struct parallel_reader *p, struct err *e);
void parallel_close(struct parallel_reader *p);

/*
 * Read the pairs of FOLDER/SET.SOURCE and FOLDER/SET.TARGET. visit() returns 0 to go on, 1 to read no
 * more, < 0: failure.
 */
typedef int (*parallel_visitor)(void *context, const struct parallel_reader *in, struct err *e);
int parallel_each_pair(const char *folder, const char *set, const char *source, const char *target,
		       parallel_visitor visit, void *context, struct err *e);

/* Reports two texts with different numbers of lines by their names. Returns ERR_DATA. */
int parallel_lengths_differ(const char *source, int64_t n_source, const char *target,
			    int64_t n_target, struct err *e);

#endif
