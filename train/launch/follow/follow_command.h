/*
 * follow_command.h - "werkbank-launch _follow FOLDER NUMBER PREFIX ADDRESS": keep a local copy of a
 * workspace of another host up to date. "werkbank watch ssh://HOST/PATH" starts one for each address.
 *
 * ADDRESS: follow_address.h. The other host needs a shell and the usual tools. Its shell answers
 * requests that it reads from its standard input, so it ends with the connection.
 *
 * Standard output gets one line when the copy is complete for the first time: "ready RUN", RUN
 * being the run's name in the copy, "" for a workspace; or "failed STATUS REASON", then it ends.
 * After that a lost connection is made again, and FOLDER/contact-NUMBER.json says how it is:
 *
 *	{"address":"ssh://…","since":1795391999.5,"trouble":""}		trouble "": there is contact
 */
#ifndef WERKBANK_TRAIN_LAUNCH_FOLLOW_FOLLOW_COMMAND_H
#define WERKBANK_TRAIN_LAUNCH_FOLLOW_FOLLOW_COMMAND_H

#include "share/base/err.h"
#include "share/conf/conf.h"

/* Returns only after a failure; *status is as for the other commands. */
int follow_command_run(struct conf *c, int *status, struct err *e);

#endif
