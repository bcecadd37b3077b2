/*
 * detach.h - a supervisor that outlives the terminal it was started from.
 *
 *	switch (detach(&d, console, folder, e)) {
 *	case DETACH_SUPERVISOR:	we are it now, in a session of our own, standard streams
 *				gone: detach_report_ready(&d) when all is well, or detach_report_failure()
 *	case DETACH_STARTED:	we are who started it; d.pid is it
 *	default:		an error, also one that the supervisor reported
 *	}
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_DETACH_H
#define WERKBANK_TRAIN_LAUNCH_RUN_DETACH_H

#include <stdbool.h>
#include <sys/types.h>

#include "share/base/err.h"

struct detach_supervisor {
	pid_t pid;  /* of the supervisor */
	int report; /* private: where it reports, -1: none */
};

enum { DETACH_SUPERVISOR = 1, DETACH_STARTED = 2 };

/*
 * console: the supervisor's standard output and error are appended there. keep: a descriptor
 * that it keeps beside them (the run's lock); all others are closed. It then stands in folder.
 */
int detach_supervisor(struct detach_supervisor *d, const char *console, const char *folder,
		      int keep, struct err *e);
void detach_report_ready(struct detach_supervisor *d);
void detach_report_failure(struct detach_supervisor *d, const struct err *e);

/*
 * Would systemd-logind end all processes of this session at log-out? true: how, so that
 * not, is in cure. cgroup: /proc/self/cgroup; query: the program that asks logind, busctl.
 */
bool detach_ends_at_logout(const char *cgroup, const char *query, char cure[300]);

#endif
