/*
 * leftover.h - what of our own still runs on this host, known by its own record.
 *
 * Each process of a run (rank, and the launcher as rank -1) keeps a file while it lives,
 * /tmp/werkbank-UID/NAME.RANK.PID, one JSON object of struct leftover. Not below
 * $XDG_RUNTIME_DIR, which goes with the user's last session, and just then somebody may be
 * left behind. The folder must be ours and closed to others (0700), or it is not used;
 * $WERKBANK_RUNTIME names another one (tests).
 *
 * A process is taken for the recorded one when pid, start time (/proc/PID/stat,
 * field 22), boot id and pid namespace agree, never by its name.
 *
 *	char *record = leftover_record(run_folder, name, rank, e);
 *	… work …
 *	leftover_remove_record(record);
 */
#ifndef WERKBANK_TRAIN_COMMON_LEFTOVER_H
#define WERKBANK_TRAIN_COMMON_LEFTOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/base/json.h"

#define LEFTOVER_TAG	  "WERKBANK_RUN_TAG" /* in the environment: HOST:PID:RANDOM of the launcher */
#define LEFTOVER_LAUNCHER (-1)		     /* the launcher's rank */

/* A process as it is recorded. All text is "" and all numbers 0 where they are not known. */
struct leftover {
	char file[512]; /* of the record */
	char run[128], folder[512], host[128], tag[256];
	char boot[40], pid_space[40];
	int32_t rank;
	int64_t pid, started; /* start time in clock ticks since boot */
	int64_t parent, parent_started;
	/* found out when reading */
	bool alive;  /* it still runs, and is it */
	bool orphan; /* it runs, but what started it does not */
};

/* Record this process. The record's path, owned by the caller; NULL: failure (no harm to a run). */
char *leftover_record(const char *run_folder, const char *name, int rank, struct err *e);
void leftover_remove_record(char *record); /* removes and frees it; NULL is fine */

/* All records of this user on this host: *all is owned by the caller. None: *n is 0. */
int leftover_read(struct leftover **all, size_t *n, struct err *e);

/*
 * End the process if it still is the recorded one: SIGTERM, after grace_s SIGKILL; then remove
 * the record. A record without its process is only removed. *ended: "terminated", "killed" or
 * "gone". ERR_PERM and others: it still runs.
 */
int leftover_end(const struct leftover *l, double grace_s, const char **ended, struct err *e);

/* Send it SIGTERM, if it still is the one, and do not wait: for several at once. */
void leftover_send_sigterm(const struct leftover *l);

/* Start time of a process in clock ticks since boot; -1: there is none. */
int64_t process_start_ticks(int64_t pid);

void leftover_write(const struct leftover *l, struct json_writer *w);
bool leftover_parse(struct leftover *l, const struct json *object); /* false: not a record */

#endif
