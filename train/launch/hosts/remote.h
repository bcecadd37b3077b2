/*
 * remote.h - run a command on many hosts at once, over ssh, with deadlines.
 *
 * Nobody is ever asked for a password or to accept a key (BatchMode); standard input
 * is given or empty, so that ssh never hangs on ours. A host that is this
 * machine ("localhost") is reached without ssh.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_HOSTS_REMOTE_H
#define WERKBANK_TRAIN_LAUNCH_HOSTS_REMOTE_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "train/launch/hosts/hosts.h"

struct remote_options {
	const char *ssh;   /* borrowed: "ssh", or with options: "ssh -i KEY -p 2222" */
	double deadline_s; /* for each host, from its start to its end */
	int max_parallel;  /* hosts spoken to at the same time; 0: 32 */
};

/* One host's part. The answer is owned by this; remote_free(). */
struct remote_job {
	const struct host *host; /* borrowed */
	const char *const *argv; /* borrowed: quoted for the remote shell here */
	const char *input;	 /* borrowed: for its standard input; NULL: none */
	size_t input_bytes;
	/* the answer */
	struct buf out, err; /* what it wrote, at most 16 MiB and 64 KiB */
	int status;	     /* its exit status; 255: ssh itself failed; -1: none */
	bool timed_out;	     /* the deadline passed */
	double seconds;
	double last_byte_time; /* clock_wall_s() when its last byte came; 0: none */
	char trouble[400];     /* "": it ran and ended; else a sentence with the cure */
};

/* Run all of them. An error is only of our own side: what a host did is in its job. */
int remote_run(struct remote_job *jobs, size_t n, const struct remote_options *how, struct err *e);

/*
 * The same for commands that reach their hosts themselves (rsync): each job's argv is run
 * here as it is.
 */
int remote_run_local(struct remote_job *jobs, size_t n, const struct remote_options *how,
		     struct err *e);
void remote_free(struct remote_job *jobs, size_t n);

/*
 * The argv of ssh (or of the program itself, for this machine) that reaches a host: an array
 * that ends with NULL, in one allocation to free(). NULL: ERR_NOMEM or a command that cannot be split.
 */
const char **remote_build_argv(const struct host *host, const char *ssh, const char *const *argv,
			       double connect_s, struct err *e);

/* Is this host the machine we run on? Then no ssh is needed. */
bool remote_is_local(const struct host *host);

/*
 * remote_explain.c: fills in trouble from status, late and what was written to standard
 * error. Where nothing went wrong it stays empty.
 */
void remote_explain(struct remote_job *job, double deadline_s);

#endif
