/*
 * line_flow.h - the lines of a file or pipe, each worked on by one of several threads, in order.
 *
 *	static int line(void *context, int worker, const char *text, size_t n, struct buf *out,
 *			struct err *e) …
 *	static int take(void *context, const struct buf *out, bool is_waiting, struct err *e) …
 *	struct line_flow f = { line, take, &context, .threads = flow_threads(c->threads) };
 *	rc = line_flow_run(&f, path, e);
 *
 * The text is read in blocks of whole lines, which are small enough to keep
 * all threads busy; from a pipe a block ends when nothing more is there at the
 * moment, so that what goes in slowly comes out at once. Lines and what can be
 * wrong with them are those of lines.h, with the same messages. What comes out
 * does not depend on the number of threads, also after a failure.
 */
#ifndef WERKBANK_BASE_LINE_FLOW_H
#define WERKBANK_BASE_LINE_FLOW_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"

struct line_flow {
	/*
	 * One line (NUL-terminated); append to out. Several run at once, each with a worker of its
	 * own, 0 … threads - 1: anything else that is shared must not change.
	 */
	int (*line)(void *context, int worker, const char *text, size_t n, struct buf *out,
		    struct err *e);
	/*
	 * What the lines of a block appended, block after block, on the calling thread. is_waiting:
	 * there may be no more for a while. NULL: nothing is to be done with it.
	 */
	int (*take)(void *context, const struct buf *out, bool is_waiting, struct err *e);
	void *context;
	bool repair; /* as in struct lines */
	int threads; /* 1: everything on the calling thread */
};

/* All lines of path (NULL or "-": standard input). 0, or the failure. */
int line_flow_run(const struct line_flow *f, const char *path, struct err *e);

#endif
