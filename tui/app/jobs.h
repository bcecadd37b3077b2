/*
 * jobs.h - programs that the workbench started.
 *
 *	struct jobs *jobs = jobs_new(e);
 *	id = jobs_start(jobs, "prepare demo", argv, now, e);
 *	jobs_update(jobs, now);			each turn of the loop
 *	… jobs_find(jobs, id)->state, job_line(…) …
 *	jobs_free(jobs);			ends those that still run
 *
 * A job has no standard input, is not hit by Ctrl-C and ends with the
 * workbench, except what detaches itself ("werkbank train --detach": that
 * job is over once the training runs by itself). Standard output and error are
 * read by lines, mixed; the last JOB_LINES are kept, and everything behind a
 * carriage return replaces the line before (progress bars).
 */
#ifndef WERKBANK_TUI_APP_JOBS_H
#define WERKBANK_TUI_APP_JOBS_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"

#define JOB_LINES 400 /* kept of the output of each job */
#define JOB_TEXT  400 /* bytes of a line; the rest is dropped */
#define JOB_MAX	  40  /* jobs remembered; the oldest that has ended goes first */

enum job_state { JOB_RUNNING, JOB_DONE, JOB_FAILED, JOB_STOPPED };

struct job_line {
	bool is_error; /* from standard error */
	char text[JOB_TEXT];
};

struct job {
	int id; /* 1, 2, … */
	enum job_state state;
	int status;	       /* exit status once it has ended; 128 + signal */
	char *title, *command; /* owned; command as one would type it */
	double started, ended; /* unix seconds */
	const char *last;      /* the latest line that is not empty, "" when none; borrowed */
	size_t n_lines;	       /* kept: see job_line() */
	struct job_private *p;
};

struct jobs;

struct jobs *jobs_new(struct err *e);
void jobs_free(struct jobs *j);

/*
 * Start argv (ends with NULL; argv[0] "werkbank" is this installation's own). Returns its id
 * (from 1), or < 0: ERR_UNAVAILABLE, ERR_NOMEM.
 */
int jobs_start(struct jobs *j, const char *title, const char *const *argv, double now,
	       struct err *e);

/* Take in what jobs have said and whether they have ended; true when something is new. */
bool jobs_update(struct jobs *j, double now);

/* Ask a job to end (SIGTERM to its group; the second time SIGKILL). Unknown ids are fine. */
void jobs_stop(struct jobs *j, int id);

/* How many there are, how many run. */
size_t jobs_count(const struct jobs *j);
size_t jobs_running(const struct jobs *j);

/* Job number i, 0 the newest; and by id, NULL: no longer known. Borrowed until the next jobs_start(). */
const struct job *jobs_at(const struct jobs *j, size_t i);
const struct job *jobs_find(const struct jobs *j, int id);

/* Line i of a job, 0 the oldest kept. Borrowed until the next jobs_update(). */
const struct job_line *job_line(const struct job *job, size_t i);

/* Descriptors that become readable when a job says something: at most n into fds; returns how many. */
size_t jobs_fds(const struct jobs *j, int *fds, size_t n);

const char *job_state_name(enum job_state state);

/* argv as one would type it into a shell, quoted where needed. */
void jobs_command_text(const char *const *argv, struct buf *out);

#endif
