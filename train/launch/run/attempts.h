/*
 * attempts.h - the life of a run under its supervisor: start the ranks, start them again after a
 * crash, a hang or the loss of a host, and stop when asked or when time is over.
 *
 * Between two attempts there is a pause of 5 s, doubled each time, at most 5 minutes
 * ($WERKBANK_BACKOFF: seconds of the first one). Hosts that do not answer are
 * waited for, or left out with --elastic. The count of attempts begins anew whenever a
 * newer checkpoint was written.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_ATTEMPTS_H
#define WERKBANK_TRAIN_LAUNCH_RUN_ATTEMPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "share/conf/conf.h"
#include "share/base/err.h"
#include "train/launch/hosts/hosts.h"
#include "train/launch/hosts/mpirun.h"
#include "train/launch/run/rundir.h"

struct attempts {
	const struct conf *conf; /* borrowed, as all below */
	struct rundir *dir;
	const char *workspace, *run;
	const char *trainer, *launcher; /* paths of werkbank-train and werkbank-launch */
	const struct hosts *hosts;	/* NULL: this host alone */
	const char *network;		/* between the hosts: CIDR; NULL: none known */
	int64_t ranks;			/* 0: one for each slot */
	bool oversubscribed;		/* more ranks than cores somewhere */
	bool echo, detached;
};

/* Ranks of the line below for these hosts. */
int64_t attempts_rank_count(const struct attempts *a, const struct hosts *hosts);

/*
 * The command line of the ranks: the trainer itself, or mpirun with it. hosts: those that are
 * there. command_line_free() in any case.
 */
int attempts_command_line(const struct attempts *a, const struct hosts *hosts, const char *hostfile,
			  struct command_line *c, struct err *e);

/*
 * From here to the end of the run; state.json holds how it ended. *status: 0 finished, 75 saved
 * and stopped, else it failed. An error is one of our own: then the state is failed.
 */
int attempts_run(const struct attempts *a, int *status, struct err *e);

#endif
