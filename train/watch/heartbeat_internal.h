/*
 * heartbeat_internal.h - what the files of the heartbeat share.
 *
 *	heartbeat.c		opening, the thread of each rank, its datagrams
 *	heartbeat_message.c	datagrams as bytes
 *	watchdog.c	who is late, and does the job hang: no clock, no network of its own
 */
#ifndef WERKBANK_TRAIN_WATCH_HEARTBEAT_INTERNAL_H
#define WERKBANK_TRAIN_WATCH_HEARTBEAT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "train/watch/heartbeat.h"

/* ---- words: what a rank says, and what it is answered -------------------- */

#define HEARTBEAT_KEY_BYTES 16

/*
 * A datagram, numbers little-endian:
 *
 *	 0  "WBPULSE1"
 *	 8  key of the job: tells its datagrams from any others; no secret on the network
 *	24  0 word, 1 answer   25  phase   26  0 0   28  rank (u32)
 *	32  number of the word, or of the word that is answered (u64)
 *	40  step (i64)   48  microseconds in the phase (u64)
 *	56  calls of heartbeat_set_phase()   64  reductions begun   72  reductions ended (u64)
 */
#define HEARTBEAT_MESSAGE_BYTES 80

struct heartbeat_message {
	bool is_answer;
	enum rank_phase phase;
	int32_t rank;
	uint64_t number;
	int64_t step;
	double age_s; /* in the phase, when it was sent */
	uint64_t moves, began, ended;
};

void heartbeat_message_write(const struct heartbeat_message *w,
			     const unsigned char key[HEARTBEAT_KEY_BYTES],
			     unsigned char bytes[HEARTBEAT_MESSAGE_BYTES]);

/* False: not of this job, or with a number that cannot be. ranks: of the job. */
bool heartbeat_message_read(struct heartbeat_message *w,
			    const unsigned char key[HEARTBEAT_KEY_BYTES], const void *bytes,
			    size_t n, int ranks);

/* ---- watching ------------------------------------------------------------ */

#define WATCHDOG_MIN_HANG_S   60.0  /* the default: the longer of this … */
#define WATCHDOG_HANG_STEPS   20.0  /* … and so many median steps */
#define WATCHDOG_FIRST_STEP_S 600.0 /* before the first step has ended: it may be a long one */
/* How much longer than others a phase may take. */
#define WATCHDOG_FACTOR_LONG	 10.0 /* PHASE_START, PHASE_SAVE */
#define WATCHDOG_FACTOR_EVALUATE 240.0

/* One rank, as the first one knows it. Times are of the first rank's CLOCK_MONOTONIC. */
struct watched_rank {
	char host[64];
	bool heard;			  /* ever */
	double heard_at;		  /* the last time */
	double since;			  /* it is in its phase */
	struct heartbeat_message message; /* the last one */
	double worst_s;			  /* named late with so many seconds; 0: not */
	double renamed_after_s;		  /* named again at so many */
	bool warned_unheard;
};

/* What is to be told; to the journal and to standard error. */
typedef void watchdog_report_fn(void *to, const char *level, int64_t step, const char *text);

struct watchdog {
	struct watched_rank *peers; /* owned; n of them */
	int n;
	double late_after_s, hang_after_s; /* hang_after_s 0: from the median step */
	double opened_at, looked_at, progress_at;
	double stuck_next_s; /* when "all wait" is told again; 0: was not told */
	watchdog_report_fn *tell;
	void *to; /* borrowed: for tell */
};

/* hosts: n times 64 bytes, NUL-terminated. */
int watchdog_open(struct watchdog *w, const char *hosts, int n, double late_after_s,
		  double hang_after_s, double now, struct err *e);
void watchdog_close(struct watchdog *w);

/*
 * Before anything else at each turn: when the watcher itself was stopped (or the machine was), nobody
 * is blamed for that time. period_s: between turns.
 */
void watchdog_skip_gap(struct watchdog *w, double now, double period_s);
void watchdog_add_message(struct watchdog *w, const struct heartbeat_message *message, double now);

/* Names who is late. True: the job hangs; why has a sentence. median_s: of steps, 0 unknown. */
bool watchdog_check(struct watchdog *w, double now, double median_s, char *why, size_t room);

/* Every rank's last word, as a table. */
void watchdog_write_report(const struct watchdog *w, double now, const char *why, struct buf *out);

/* The watchdog's time: hang_after_s, or the default from the median step. */
double watchdog_hang_limit(double hang_after_s, double median_s);
double phase_time_factor(enum rank_phase phase);
const char *rank_phase_name(enum rank_phase phase);

#endif
