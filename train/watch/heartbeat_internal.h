/*
 * heartbeat_internal.h - messages and watchdog of the heartbeats.
 *
 *	heartbeat.c		opening, the thread of each rank, its datagrams
 *	heartbeat_message.c	messages to bytes and back
 *	watchdog.c		finds late ranks and hanging jobs; time and messages are arguments
 */
#ifndef WERKBANK_TRAIN_WATCH_HEARTBEAT_INTERNAL_H
#define WERKBANK_TRAIN_WATCH_HEARTBEAT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "train/watch/heartbeat.h"

/* ---- messages: heartbeats and their answers ------------------------------- */

#define HEARTBEAT_KEY_BYTES 16

/*
 * A datagram, numbers little-endian:
 *
 *	 0  "WBPULSE1"
 *	 8  key of the job: separates its datagrams from others; not a secret
 *	24  0 heartbeat, 1 answer   25  phase   26  0 0   28  rank (u32)
 *	32  number of the heartbeat, or of the heartbeat that is answered (u64)
 *	40  step (i64)   48  microseconds in the phase (u64)
 *	56  calls of heartbeat_set_phase()   64  reductions begun   72  reductions ended (u64)
 */
#define HEARTBEAT_MESSAGE_BYTES 80

struct heartbeat_message {
	bool is_answer;
	enum rank_phase phase;
	int32_t rank;
	uint64_t number; /* rises with each heartbeat; an answer has that of the heartbeat */
	int64_t step;
	double age_s;	       /* time in the phase when it was sent */
	uint64_t moves;	       /* calls of heartbeat_set_phase(): the sign of progress */
	uint64_t began, ended; /* reductions */
};

/* bytes = the message as a datagram. */
void heartbeat_message_write(const struct heartbeat_message *w,
			     const unsigned char key[HEARTBEAT_KEY_BYTES],
			     unsigned char bytes[HEARTBEAT_MESSAGE_BYTES]);

/* *w = the datagram. False: from another job, or a field is out of range. ranks: of the job. */
bool heartbeat_message_read(struct heartbeat_message *w,
			    const unsigned char key[HEARTBEAT_KEY_BYTES], const void *bytes,
			    size_t n, int ranks);

/* ---- watchdog ------------------------------------------------------------- */

#define WATCHDOG_MIN_HANG_S   60.0  /* default of hang_after_s: the longer of this … */
#define WATCHDOG_HANG_STEPS   20.0  /* … and this many median steps */
#define WATCHDOG_FIRST_STEP_S 600.0 /* default until the first step has ended */
/* Factors of the limits for long phases. */
#define WATCHDOG_FACTOR_LONG	 10.0 /* PHASE_START, PHASE_SAVE */
#define WATCHDOG_FACTOR_EVALUATE 240.0

/* What the first rank knows of a rank. Times are the first rank's CLOCK_MONOTONIC. */
struct watched_rank {
	char host[64];
	bool heard;			  /* at least one heartbeat has arrived */
	double heard_at;		  /* time of the last heartbeat */
	double since;			  /* time when the rank entered its phase */
	struct heartbeat_message message; /* the last heartbeat */
	double worst_s;			  /* longest lateness that was reported; 0: not late */
	double renamed_after_s;		  /* lateness at which it is reported again */
	bool warned_unheard;
};

/* Called with a message for the journal and standard error. */
typedef void watchdog_report_fn(void *to, const char *level, int64_t step, const char *text);

struct watchdog {
	struct watched_rank *peers; /* (n) owned */
	int n;
	double late_after_s, hang_after_s; /* hang_after_s 0: from the median step */
	double opened_at, looked_at, progress_at;
	double stuck_next_s; /* time of waiting at which "all ranks wait" is reported again */
	watchdog_report_fn *tell;
	void *to; /* borrowed: for tell */
};

/* hosts: the host name of each rank, n times 64 bytes with NUL. now: the time. */
int watchdog_open(struct watchdog *w, const char *hosts, int n, double late_after_s,
		  double hang_after_s, double now, struct err *e);
void watchdog_close(struct watchdog *w);

/*
 * Call it first in each round, period_s apart. If this process or its host was stopped meanwhile,
 * all times move by the gap, so that no rank is late because of it.
 */
void watchdog_skip_gap(struct watchdog *w, double now, double period_s);
/* A heartbeat has arrived. Older or repeated ones are ignored. */
void watchdog_add_message(struct watchdog *w, const struct heartbeat_message *message, double now);

/* Report late ranks. True: the job hangs, and why has the reason. median_s: of steps; 0: unknown. */
bool watchdog_check(struct watchdog *w, double now, double median_s, char *why, size_t room);

/* Is a rank silent: was it heard, has it not ended, and did no heartbeat come for late_after_s? */
bool watchdog_misses_rank(const struct watchdog *w, double now);

/* The text of hang.txt: why, and a table of the last heartbeats. */
void watchdog_write_report(const struct watchdog *w, double now, const char *why, struct buf *out);

/* The limit for a hang in seconds: hang_after_s, or the default from the median step. */
double watchdog_hang_limit(double hang_after_s, double median_s);

#endif
