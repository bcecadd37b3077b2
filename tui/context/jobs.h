/*
 * jobs.h - child processes that the workbench started.
 *
 *	struct jobs *jobs = jobs_new(e);
 *	id = jobs_start(jobs, "prepare demo", argv, now, e);
 *	jobs_update(jobs, now);			each turn of the loop
 *	… jobs_find(jobs, id)->state, job_line(…) …
 *	jobs_free(jobs);			ends running jobs
 *
 * A job has no standard input, does not get Ctrl-C and ends with the workbench. A command that
 * detaches ("werkbank train --detach") ends its job when the detached process has started.
 * Standard output and error are read as lines in the order of arrival. The last JOB_LINES
 * lines are kept. Text after a carriage return replaces the line (progress bars).
 */
#ifndef WERKBANK_TUI_CONTEXT_JOBS_H
#define WERKBANK_TUI_CONTEXT_JOBS_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"

#define JOB_LINES 400 /* output lines kept for each job */
#define JOB_TEXT  400 /* bytes of a line; the rest is dropped */
#define JOB_MAX	  40  /* jobs in the list; the oldest ended job is dropped first */

enum job_state { JOB_RUNNING, JOB_DONE, JOB_FAILED, JOB_STOPPED };

struct job_line {
	bool is_error; /* from standard error */
	char text[JOB_TEXT];
};

struct job {
	int id; /* 1, 2, … */
	enum job_state state;
	int status;	       /* exit status after the end; 128 + signal */
	char *title, *command; /* owned; command as a shell line */
	double started, ended; /* unix seconds */
	const char *last;      /* the latest line that is not empty, else ""; borrowed */
	size_t n_lines;	       /* number of kept lines: see job_line() */
	struct job_private *p;
};

struct jobs;

/* NULL: ERR_NOMEM. jobs_free() ends running jobs, waiting at most some seconds; NULL is fine. */
struct jobs *jobs_new(struct err *e);
void jobs_free(struct jobs *j);

/*
 * Start argv (ends with NULL; argv[0] "werkbank" is this installation's program). Returns the id (>
 * 0), or < 0: ERR_UNAVAILABLE, ERR_NOMEM, ERR_USAGE.
 */
int jobs_start(struct jobs *j, const char *title, const char *const *argv, double now,
	       struct err *e);

/* Read the output and the end of jobs; true if something changed. */
bool jobs_update(struct jobs *j, double now);

/* End a job: SIGTERM to its process group, SIGKILL at the second call. Unknown ids are fine. */
void jobs_stop(struct jobs *j, int id);

/* Number of jobs; number of running jobs. */
size_t jobs_count(const struct jobs *j);
size_t jobs_running(const struct jobs *j);

/*
 * Job number i, 0 the newest; job by id, NULL: no longer known. Borrowed until the next
 * jobs_start().
 */
const struct job *jobs_at(const struct jobs *j, size_t i);
const struct job *jobs_find(const struct jobs *j, int id);

/* Line i of a job, 0 the oldest. Borrowed until the next jobs_update(). */
const struct job_line *job_line(const struct job *job, size_t i);

/* Append the command and the last lines of output of a job, for reading. */
void jobs_output_text(const struct job *job, struct buf *out);

/* Write at most n descriptors of job output to fds, for poll(); returns their number. */
size_t jobs_fds(const struct jobs *j, int *fds, size_t n);

/* "running", "done", "failed", "stopped". */
const char *job_state_name(enum job_state state);

/* Let reads and writes of a pipe return at once; false: see errno. */
bool jobs_set_nonblocking(int fd);

/* A copy of a command line: words, ending with NULL; free with jobs_free_words(). NULL: ERR_NOMEM. */
char **jobs_copy_words(const char *const *argv, struct err *e);
void jobs_free_words(char **words); /* NULL is fine */

/* Append argv as a shell command line, quoted where necessary. */
void jobs_command_text(const char *const *argv, struct buf *out);

#endif
