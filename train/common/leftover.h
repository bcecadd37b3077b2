/*
 * leftover.h - finds and ends processes of Werkbank that still run on this host, by their records.
 *
 * Each process of a run (a rank, or the launcher as rank -1) has a file while it lives:
 * /tmp/werkbank-UID/NAME.RANK.PID, one JSON object of struct leftover. The files are not in
 * $XDG_RUNTIME_DIR, because systemd removes it at the end of the user's last session, when
 * leftovers are likely. The folder must belong to this user with mode 0700, else it is not used.
 * $WERKBANK_RUNTIME names another folder (tests).
 *
 * A process is the recorded one if pid, start time (/proc/PID/stat, field 22), boot id and pid
 * namespace agree. Its name does not count.
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
#include "share/format/json.h"

/* Environment variable of all processes of a run: HOST:PID:RANDOM of the launcher. */
#define LEFTOVER_TAG	  "WERKBANK_RUN_TAG"
#define LEFTOVER_LAUNCHER (-1) /* the launcher's rank */
#define PROCESS_BOOT_ID	  40   /* bytes of a boot id */

/* A recorded process. Unknown texts are "", unknown numbers 0. */
struct leftover {
	char file[512]; /* of the record */
	char run[128], folder[512], host[128], tag[256];
	char boot[PROCESS_BOOT_ID], pid_space[40];
	int32_t rank;
	int64_t pid, started; /* start time in clock ticks since boot */
	int64_t parent, parent_started;
	/* set by leftover_read() */
	bool alive;  /* the recorded process is running */
	bool orphan; /* alive, but its parent has ended */
};

/*
 * Record this process. Returns the path, owned by the caller; NULL: failure, which a run may
 * ignore.
 */
char *leftover_record(const char *run_folder, const char *name, int rank, struct err *e);
void leftover_remove_record(char *record); /* removes and frees it; NULL is fine */

/* Read all records of this user on this host. *all (n) is owned by the caller. */
int leftover_read(struct leftover **all, size_t *n, struct err *e);

/*
 * End the recorded process by SIGTERM, after grace_s seconds by SIGKILL; then remove the record. If
 * the process has ended already, only remove the record. *ended: "terminated", "killed" or "gone".
 * ERR_PERM: the process still runs.
 */
int leftover_end(const struct leftover *l, double grace_s, const char **ended, struct err *e);

/* Send SIGTERM to the recorded process without waiting, to end several processes at once. */
void leftover_send_sigterm(const struct leftover *l);

/* Start time of a process in clock ticks since boot; -1: no such process, or a zombie. */
int64_t process_start_ticks(int64_t pid);

/* Is the process suspended, by SIGSTOP, SIGTSTP or a debugger? */
bool process_is_suspended(int64_t pid);

/* Identifies a start of this host's kernel; false and "": unknown. */
bool process_boot_id(char boot[PROCESS_BOOT_ID]);

void leftover_write(const struct leftover *l, struct json_writer *w);
bool leftover_parse(struct leftover *l, const struct json *object); /* false: not a record */

#endif
