/*
 * status.h - where runs stand, read from their folders.
 *
 * state.json says what the launcher last wrote, the lock says whether it is
 * still there, the journal says how far the training is. What is not known is
 * NAN, -1 or "" and shown as unknown.
 */
#ifndef WERKBANK_TUI_RUN_STATUS_H
#define WERKBANK_TUI_RUN_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/conf/conf.h"
#include "share/base/err.h"

struct run_status {
	char name[101];
	/*
	 * starting, running, restarting, stopping; finished, stopped, failed, lost (one of the
	 * first four, but its launcher is gone); unknown
	 */
	char state[16];
	char host[256];	 /* of the launcher */
	char hosts[400]; /* of the ranks, "a, b and 3 more"; "": the launcher's alone */
	char network[64], event[300]; /* between hosts; what happened last */
	bool alive;		      /* a launcher holds the lock */
	int64_t pid, attempt, restarts, ranks, exit;
	int64_t n_hosts;     /* 0: the launcher's alone */
	double started;	     /* unix seconds */
	double latest;	     /* unix seconds of the last record */
	int64_t step, steps; /* done, and of the whole run */
	double loss, lr, source_tps, target_tps;
	double bleu, best_bleu;
	int64_t bleu_step, best_step;
};

/* Read runs/NAME of a workspace. A run that does not exist: ERR_NOINPUT. */
int status_read(struct run_status *s, const char *workspace, const char *name, struct err *e);

/*
 * The same in parts, for those who look again and again: everything unknown; what state.json, lock
 * and recipe of a folder say; what one record of the journal says.
 */
struct json;
void status_init(struct run_status *s, const char *name);
int status_read_files(struct run_status *s, const char *folder, struct err *e);
void status_add_record(struct run_status *s, const struct json *record);

/* The command "status": the named run or all of them, for people or (--json) for programs. */
int status_report(const struct conf *c, struct buf *out, struct err *e);

#endif
