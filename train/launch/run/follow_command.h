/*
 * follow_command.h - "werkbank-launch _follow FOLDER NUMBER PREFIX ADDRESS": keep a local copy of a
 * workspace of another host up to date. "werkbank watch ssh://HOST/PATH" starts one for each address.
 *
 * ADDRESS is ssh://[USER@]HOST[:PORT]/PATH, where PATH is a workspace, or WORKSPACE/runs/NAME for a
 * single run; /~/PATH is below the home folder. The other host needs a shell and the usual tools.
 * Its shell answers requests (look, get) that it reads from its standard input, so it ends with the
 * connection.
 *
 * Standard output gets one line when the copy is complete for the first time: "ready RUN", RUN
 * being the run's name in the copy, "" for a workspace; or "failed STATUS REASON", then it ends.
 * After that a lost connection is made again, and FOLDER/contact-NUMBER.json says how it is:
 *
 *	{"address":"ssh://…","since":1795391999.5,"trouble":""}		trouble "": there is contact
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_FOLLOW_COMMAND_H
#define WERKBANK_TRAIN_LAUNCH_RUN_FOLLOW_COMMAND_H

#include "share/base/err.h"
#include "share/conf/conf.h"
#include "train/launch/hosts/hosts.h"

struct follow_address {
	struct host host; /* owned: name, perhaps USER@NAME */
	char *folder;	  /* owned: of the workspace; relative: below the home folder */
	char run[101];	  /* "": all runs */
};

/* Parse an address. ERR_USAGE says what is wrong. Call follow_address_free() in any case. */
int follow_address_parse(struct follow_address *a, const char *text, struct err *e);
void follow_address_free(struct follow_address *a);

/* Returns only after a failure; *status is as for the other commands. */
int follow_command_run(struct conf *c, int *status, struct err *e);

#endif
