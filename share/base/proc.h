/*
 * proc.h - child processes: start, wait, stop.
 */
#ifndef WERKBANK_SHARE_BASE_PROC_H
#define WERKBANK_SHARE_BASE_PROC_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "share/base/buf.h"
#include "share/base/err.h"

struct proc {
	pid_t pid;
	int in;	 /* our end of its standard input; -1 without PROC_PIPE_IN */
	int out; /* our end of its standard output; -1 without PROC_PIPE_OUT */
	int err; /* our end of its standard error; -1 without PROC_PIPE_ERR */
};

/*
 * PROC_DIE_WITH_PARENT: the child gets SIGTERM when the thread that started it ends.
 * PROC_HOLD_SIGTERM: the child begins with SIGTERM and SIGHUP blocked; when its parent ends, it gets
 * SIGUSR1 instead.
 */
enum {
	PROC_PIPE_IN = 1,
	PROC_PIPE_OUT = 2,
	PROC_PIPE_ERR = 4,
	PROC_OWN_GROUP = 8,
	PROC_DIE_WITH_PARENT = 16,
	PROC_HOLD_SIGTERM = 32
};

/* Block SIGTERM and SIGHUP in this thread; a program that exec starts inherits this. */
void proc_hold_sigterm(void);

/* Search PATH for a program and write its path; false: not found. room: bytes of path. */
bool proc_find(const char *name, char *path, size_t room);

/*
 * Start argv[0] (searched in PATH if it has no slash); argv ends with NULL. ERR_UNAVAILABLE: the
 * program cannot be executed.
 */
int proc_start(struct proc *p, const char *const *argv, int flags, struct err *e);

/*
 * Read its standard output to the end, and append it to out as long as out has fewer than `limit` bytes.
 * The child is not waited for.
 */
int proc_read_output(const struct proc *p, size_t limit, struct buf *out, struct err *e);

/* Wait until the child ends; *status is 0..255, or 128 + signal. Closes the pipes. */
int proc_wait(struct proc *p, int *status, struct err *e);

/* The same without waiting; true: the child has ended. */
bool proc_try_wait(struct proc *p, int *status);

/* Send SIGTERM, after grace_s seconds SIGKILL, and wait for the end. */
void proc_stop(struct proc *p, double grace_s);

/*
 * kill() for a process, or for the group that it leads. Pids up to 1 are refused with ESRCH: kill() would take them as
 * groups or as all processes. 0: sent; -1: errno says why not.
 */
int proc_signal(pid_t pid, int number);

/*
 * A descriptor of a process, which never means another process that got the same pid; the caller closes
 * it. -1: no such process, or a kernel before 5.3. proc_handle_signal(): the signal by the handle, or
 * without one by the pid. Returns 0 or an errno.
 */
int proc_handle_open(pid_t pid);
int proc_handle_signal(int handle, pid_t pid, int number);

int proc_signal_group(pid_t pid, int number);

/*
 * Start a thread of this process that blocks all signals, so that the thread that calls this handles
 * them. purpose completes "a thread that". ERR_NOMEM: there is no thread to join.
 */
int proc_start_thread(pthread_t *thread, void *(*run)(void *context), void *context,
		      const char *purpose, struct err *e);

#endif
