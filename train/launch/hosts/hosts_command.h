/* hosts_command.h - the command "werkbank hosts list|check|sync|bandwidth|clean SPEC...". */
#ifndef WERKBANK_TRAIN_LAUNCH_HOSTS_HOSTS_COMMAND_H
#define WERKBANK_TRAIN_LAUNCH_HOSTS_HOSTS_COMMAND_H

#include "share/base/err.h"
#include "share/conf/conf.h"
#include "train/launch/remote/hosts.h"

/* Arguments of an action; all borrowed. */
struct hosts_task {
	const struct conf *conf;
	const struct hosts *hosts;
	const char *workspace; /* absolute path, the same on all hosts */
};

/*
 * Run the action c->arguments[0]. *status is the exit status if the function itself does not fail:
 * 0, 1 (a training cannot start, or something could not be done on a host) or 68 (no host answers).
 * c->launcher becomes the launcher that was used.
 */
int hosts_command_run(struct conf *c, int *status, struct err *e);

/* The actions that have a file of their own. */
int hosts_sync(const struct hosts_task *t, int *status, struct err *e);
int hosts_bandwidth(const struct hosts_task *t, int *status, struct err *e);
int hosts_clean(const struct hosts_task *t, int *status, struct err *e);

#endif
