/* hosts_command.h - "werkbank hosts list|check|… SPEC". */
#ifndef WERKBANK_TRAIN_LAUNCH_HOSTS_HOSTS_COMMAND_H
#define WERKBANK_TRAIN_LAUNCH_HOSTS_HOSTS_COMMAND_H

#include "share/conf/conf.h"
#include "share/base/err.h"
#include "train/launch/hosts/hosts.h"

/* What each of them is given; all borrowed. */
struct hosts_task {
	const struct conf *conf;
	const struct hosts *hosts;
	const char *workspace; /* absolute: the same on all hosts */
};

/*
 * Does what c->arguments[0] says. *status is what to exit with where nothing failed but the
 * answer is no: 1 a training cannot start or something could not be done, 68 no host answers.
 */
int hosts_command_run(const struct conf *c, int *status, struct err *e);

/* One of them each, in files of their own. */
int hosts_sync(const struct hosts_task *t, int *status, struct err *e);
int hosts_bandwidth(const struct hosts_task *t, int *status, struct err *e);
int hosts_clean(const struct hosts_task *t, int *status, struct err *e);

#endif
