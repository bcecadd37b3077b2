/*
 * line_flow.h - process the lines of a file or pipe on several threads, results in order.
 *
 *	static int line(void *context, int worker, const char *text, size_t n, struct buf *out,
 *			struct err *e) …
 *	static int take(void *context, const struct buf *out, bool is_waiting, struct err *e) …
 *	struct line_flow f = { line, take, &context, .threads = flow_threads(c->threads) };
 *	rc = line_flow_run(&f, path, e);
 *
 * The text is read in blocks of whole lines, small enough to keep all threads busy. From a pipe a
 * block ends when no more data is available, so interactive input is answered at once. Lines and
 * their errors are those of lines.h, with the same messages. The output does not depend on the
 * number of threads, not even after a failure.
 */
#ifndef WERKBANK_SHARE_BASE_LINE_FLOW_H
#define WERKBANK_SHARE_BASE_LINE_FLOW_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"

struct line_flow {
	/*
	 * Process one line (NUL-terminated) and append the result to out. Calls run in parallel;
	 * worker (0 … threads - 1) indexes per-thread state. Other shared state is read-only.
	 */
	int (*line)(void *context, int worker, const char *text, size_t n, struct buf *out,
		    struct err *e);
	/*
	 * Use the results of a block; called in order, on the calling thread. is_waiting: no more
	 * input is available now (flush the output). NULL: the results are not used.
	 */
	int (*take)(void *context, const struct buf *out, bool is_waiting, struct err *e);
	void *context;
	bool repair; /* as in struct lines */
	int threads; /* 1: everything on the calling thread */
};

/* Process all lines of path (NULL or "-": standard input). 0, or the code of the failure. */
int line_flow_run(const struct line_flow *f, const char *path, struct err *e);

#endif
