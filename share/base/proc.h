/*
 * proc.h - other programs: start, read, wait, stop.
 */
#ifndef WERKBANK_BASE_PROC_H
#define WERKBANK_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "share/base/err.h"

struct proc {
	pid_t pid;
	int in;	 /* its standard input, -1 unless asked for */
	int out; /* its standard output, -1 unless asked for */
	int err; /* its standard error, -1 unless asked for */
};

/* PROC_DIE_WITH_PARENT: it gets SIGTERM when the thread that started it ends, however that ends. */
enum {
	PROC_PIPE_IN = 1,
	PROC_PIPE_OUT = 2,
	PROC_PIPE_ERR = 4,
	PROC_OWN_GROUP = 8,
	PROC_DIE_WITH_PARENT = 16
};

/* The file that a program's name stands for in PATH, into path; false: there is none. */
bool proc_find(const char *name, char *path, size_t room);

/*
 * Start argv[0] (searched in PATH when it has no slash); argv ends with NULL. A program that cannot
 * be run: ERR_UNAVAILABLE.
 */
int proc_start(struct proc *p, const char *const *argv, int flags, struct err *e);

/* Wait for its end; *status is 0..255, or 128 + signal. Closes the pipes. */
int proc_wait(struct proc *p, int *status, struct err *e);

/* The same without waiting: true when it has ended. */
bool proc_try_wait(struct proc *p, int *status);

/* Ask it to end (SIGTERM), after grace_s seconds kill it, wait. */
void proc_stop(struct proc *p, double grace_s);

#endif
