/*
 * attempts.h - starts the ranks of a run and restarts them after a crash, a hang or the loss of a
 * host, until the run ends, is asked to stop, or its walltime is over.
 *
 * The first restart waits 5 s ($WERKBANK_BACKOFF: another number), each further one twice as long,
 * at most 5 minutes. It waits for hosts that do not answer, or with --elastic goes on without them
 * and takes them back later (host_return.h).
 * The run fails after --restarts restarts without a new checkpoint. The head of attempts.c has the
 * states.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_ATTEMPTS_H
#define WERKBANK_TRAIN_LAUNCH_RUN_ATTEMPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/conf/conf.h"
#include "train/launch/remote/command_line.h"
#include "train/launch/remote/hosts.h"
#include "train/launch/run/rundir.h"

struct attempts {
	const struct conf *conf; /* borrowed, as all below */
	struct rundir *dir;
	const char *workspace, *run;
	const char *trainer, *launcher; /* paths of werkbank-train and werkbank-launch */
	const struct hosts *hosts;	/* NULL: only this host */
	const char *network;		/* CIDR of the network between the hosts; NULL: unknown */
	int64_t ranks;			/* 0: one for each slot */
	double login_s;			/* of the slowest host that was asked; 0: unknown */
	bool is_unchecked;		/* nobody has asked yet whether the hosts answer */
	bool oversubscribed;		/* more ranks than cores on a host */
	bool echo;			/* copy the output to standard error */
	bool detached;			/* the supervisor has no terminal; for state.json */
};

/* Number of ranks that attempts_command_line() starts on these hosts; NULL: this host. */
int64_t attempts_rank_count(const struct attempts *a, const struct hosts *hosts);

/*
 * The command line of a job: the trainer for one local rank, else mpirun. hosts: the hosts of this
 * attempt; hostfile: where they are written. save_s: seconds of a checkpoint; 0: unknown. Call
 * command_line_free() in any case.
 */
int attempts_command_line(const struct attempts *a, const struct hosts *hosts, const char *hostfile,
			  double save_s, struct command_line *c, struct err *e);

/*
 * Run until the run ends; state.json holds the result. *status: 0 finished, 75 saved and stopped,
 * 79 saved and stopped because training diverged,
 * else failed. An error is a failure of the supervisor itself; the state is then "failed".
 */
int attempts_run(const struct attempts *a, int *status, struct err *e);

#endif
