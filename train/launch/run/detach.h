/*
 * detach.h - starts a supervisor that survives the end of its terminal.
 *
 *	switch (detach_supervisor(&d, console, folder, keep, e)) {
 *	case DETACH_SUPERVISOR:	in the new process, in its own session, without a terminal: call
 *				detach_report_ready(&d) or detach_report_failure(&d, e)
 *	case DETACH_STARTED:	in the old process, after the report; d.pid is the supervisor
 *	default:		in the old process: an error, maybe one that was reported
 *	}
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_DETACH_H
#define WERKBANK_TRAIN_LAUNCH_RUN_DETACH_H

#include <stdbool.h>
#include <sys/types.h>

#include "share/base/err.h"

struct detach_supervisor {
	pid_t pid;  /* of the supervisor */
	int report; /* private: pipe for the report; -1: none */
};

enum { DETACH_SUPERVISOR = 1, DETACH_STARTED = 2 };

/*
 * console: path of the file to which standard output and error of the supervisor are appended.
 * folder: its current folder. keep: a descriptor that stays open (the run's lock); all others are
 * closed.
 */
int detach_supervisor(struct detach_supervisor *d, const char *console, const char *folder,
		      int keep, struct err *e);
void detach_report_ready(struct detach_supervisor *d);
void detach_report_failure(struct detach_supervisor *d, const struct err *e);

/*
 * Does systemd-logind end the processes of this session at log-out? true: cure has a sentence that
 * says what to do. cgroup: path, /proc/self/cgroup; query: the program that asks logind, busctl.
 */
bool detach_ends_at_logout(const char *cgroup, const char *query, char cure[300]);

#endif
