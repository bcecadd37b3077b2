/*
 * remote.h - run a command on many hosts at once, over ssh or with Slurm's srun, with deadlines.
 *
 * ssh never prompts for a password or a host key (BatchMode). The standard input of a job is its
 * input or empty, so ssh never reads the terminal. For this machine ("localhost"), the command runs
 * without ssh.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_REMOTE_REMOTE_H
#define WERKBANK_TRAIN_LAUNCH_REMOTE_REMOTE_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "train/launch/remote/command_line.h"
#include "train/launch/remote/hosts.h"

/* How far remote_run() is: jobs of all, that ended, that succeeded; last: one that ended last. */
struct remote_job;
typedef void remote_progress(size_t all, size_t ended, size_t succeeded,
			     const struct remote_job *last);

struct remote_options {
	const char *ssh;   /* borrowed: "ssh", or with options: "ssh -i KEY -p 2222" */
	bool srun;	   /* start the command with srun instead of ssh */
	double deadline_s; /* for each host, from its start to its end */
	int max_parallel;  /* processes at the same time; 0: 32 */
	/*
	 * Give up after a long silence: start no more jobs if none has succeeded during the last half
	 * of deadline_s, so that a long list of dead hosts costs one deadline and not many.
	 */
	bool give_up;
	remote_progress *progress; /* NULL: none; called every two seconds */
	/* Asked five times a second; true: end all jobs and start no more. NULL: never. */
	bool (*is_cancelled)(void *context);
	void *context; /* borrowed: for is_cancelled */
};

/* One command on one host. The results are owned by the job; call remote_free(). */
struct remote_job {
	const struct host *host; /* borrowed */
	const char *const
		*argv;	   /* borrowed: ends with NULL; remote_run() quotes it for the shell */
	const char *input; /* borrowed: standard input; NULL: empty */
	size_t input_bytes;
	/* results */
	struct buf out, err;   /* its output, cut after 16 MiB and 64 KiB */
	int status;	       /* exit status of the command; 255: ssh or srun failed; -1: none */
	bool not_started;      /* remote_run() gave up before this job */
	bool timed_out;	       /* the deadline passed */
	double limit_s;	       /* its deadline */
	double seconds;	       /* from start to end */
	double end_s;	       /* clock_mono_s() at its end */
	double last_byte_time; /* clock_wall_s() when the last byte arrived; 0: no output */
	char trouble[400];     /* "": it ran and ended; else what failed and what to do */
};

/* Run all jobs. Only a failure on this side is an error; the failure of a host is in its job. */
int remote_run(struct remote_job *jobs, size_t n, const struct remote_options *how, struct err *e);

/*
 * The same without ssh, for commands that connect to their hosts themselves (rsync): each job's
 * argv runs on this machine.
 */
int remote_run_local(struct remote_job *jobs, size_t n, const struct remote_options *how,
		     struct err *e);
/* The same for commands about this machine: sets the host of the jobs. */
int remote_run_here(struct remote_job *jobs, size_t n, double deadline_s, struct err *e);
void remote_free(struct remote_job *jobs, size_t n);

/*
 * Append the words that run a command (argv, NULL ends it) on a host: of ssh or srun, or for this machine
 * the command's own. ERR_NOMEM, or ERR_USAGE: how->ssh cannot be split. Call command_line_free() in
 * any case.
 */
int remote_append_words(struct command_line *c, const struct host *host,
			const struct remote_options *how, const char *const *argv, struct err *e);

/*
 * remote_explain.c: set trouble from status, timed_out and the text on standard error. It stays
 * empty if nothing went wrong. A failure of srun gets the status that ssh would give.
 */
void remote_explain(struct remote_job *job, const struct remote_options *how);

#endif
