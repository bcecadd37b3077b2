/*
 * contact.h - is this workspace a copy of others, which "watch ssh://…" keeps up to date, and is there
 * contact with them? Read from contact-0.json, contact-1.json … in the workspace
 * (train/launch/follow/follow_command.h).
 */
#ifndef WERKBANK_TUI_RUN_CONTACT_H
#define WERKBANK_TUI_RUN_CONTACT_H

#include <stdbool.h>

struct contact {
	char addresses[400]; /* "ssh://a/w, ssh://b/w"; "": the workspace is no copy */
	char trouble[500];   /* which host has been silent since when, and why; "": none */
};

/* Read the files anew. True: something has changed. now: unix seconds. */
bool contact_update(struct contact *c, const char *workspace, double now);

#endif
