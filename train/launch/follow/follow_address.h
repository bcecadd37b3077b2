/*
 * follow_address.h - addresses of workspaces on other hosts: ssh://[USER@]HOST[:PORT]/PATH, where PATH is
 * a workspace, or WORKSPACE/runs/NAME for a single run; /~/PATH is below the home folder.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_FOLLOW_FOLLOW_ADDRESS_H
#define WERKBANK_TRAIN_LAUNCH_FOLLOW_FOLLOW_ADDRESS_H

#include "share/base/err.h"
#include "train/launch/remote/hosts.h"

struct follow_address {
	struct host host; /* owned: name, perhaps USER@NAME */
	char *folder;	  /* owned: of the workspace; relative: below the home folder */
	char run[101];	  /* "": all runs */
};

/* Parse an address. ERR_USAGE says what is wrong. Call follow_address_free() in any case. */
int follow_address_parse(struct follow_address *a, const char *text, struct err *e);
void follow_address_free(struct follow_address *a);

#endif
