/*
 * sandbox_child.h - a child process that reads one foreign file in a sandbox, and the pipe that its answers come by
 *
 * The child can read this file and the system's libraries, write to the pipe and to standard error, and nothing else:
 * no other file, no network, no program, no process, no thread. A child that the file has taken over can answer what it
 * likes, so the parent checks every answer.
 *
 *	sandbox_child_start(&c, path, "unpacks", run, &with, e);
 *	while (sandbox_child_take(&c, &head, sizeof(head))) ...
 *	sandbox_child_close(&c);
 */
#ifndef WERKBANK_SHARE_GUARD_SANDBOX_CHILD_H
#define WERKBANK_SHARE_GUARD_SANDBOX_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "share/base/err.h"

struct sandbox_child {
	const char *path; /* borrowed: the file */
	const char *verb; /* what the child does with it, for messages: "unpacks" */
	pid_t pid;
	int pipe;	/* our end */
	int read_fault; /* errno of a read from the pipe that failed; 0: none did */
};

/* Runs in the child, which ends when it returns. `pipe` takes the answers. */
typedef void sandbox_child_run(int pipe, const void *with);

/*
 * Start the child; path and verb must outlive it, `with` is used by the child only. Close it also after a failure.
 * ERR_NOMEM or ERR_UNAVAILABLE: a pipe or a process cannot be created.
 */
int sandbox_child_start(struct sandbox_child *c, const char *path, const char *verb,
			sandbox_child_run *run, const void *with, struct err *e);

/* At most `room` of the next bytes that the child has written. 0: there are no more, or reading failed. */
size_t sandbox_child_read(struct sandbox_child *c, void *to, size_t room);

/* Exactly n bytes; false: the child has ended before. */
bool sandbox_child_take(struct sandbox_child *c, void *to, size_t n);

/* The last answer is missing: say whether reading failed, or by which signal the child ended. Returns e->code. */
int sandbox_child_report_end(struct sandbox_child *c, struct err *e);

/* An answer that the child cannot have given by itself. Returns ERR_DATA. */
int sandbox_child_report_wrong(const struct sandbox_child *c, struct err *e);

/* Take an error that the child has met: its code, and a text of `bytes` bytes, which come next. Returns e->code. */
int sandbox_child_take_fault(struct sandbox_child *c, int64_t code, size_t bytes, struct err *e);

/* End the child, whatever it does. */
void sandbox_child_close(struct sandbox_child *c);

#endif
