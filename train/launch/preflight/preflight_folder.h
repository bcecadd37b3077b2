/*
 * preflight_folder.h - what other hosts see of a run's folder: its files, their contents, its lock.
 *
 * The lock and the lease of a run protect it from a second training on another host only if that host sees
 * them. The host that checks writes a file into the workspace and locks it, as a supervisor does with the
 * lock of its run; each host answers what it sees of it. A host without the file has a workspace of its own.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_PREFLIGHT_PREFLIGHT_FOLDER_H
#define WERKBANK_TRAIN_LAUNCH_PREFLIGHT_PREFLIGHT_FOLDER_H

#include "share/format/json.h"
#include "train/launch/preflight/preflight_internal.h"

struct folder_marker {
	char *path; /* owned; NULL: there is none */
	int lock;
	char text[48]; /* what is written in it */
};

/* Make it in a workspace. One that does not exist, or that this user cannot write, gets none. */
void folder_marker_make(struct folder_marker *m, const char *workspace);
void folder_marker_remove(struct folder_marker *m);

/* What this host sees of the marker of another one, as member "marker" of an answer. */
void folder_marker_answer(const char *path, struct json_writer *w);

/* Add the findings about what a host has answered. text: what the marker says; NULL: there is none. */
void preflight_compare_folder(struct preflight_host *h, const struct json *facts,
			      const struct preflight_options *how, const char *text);

#endif
