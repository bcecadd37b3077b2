/*
 * run_history.h - the history of a run as series, events and samples, kept up to date.
 *
 *	struct run_history *h = history_open(workspace, name, e);
 *	while (history_update(h, now, 0.05, e) == HISTORY_MORE)
 *		;
 *	… h->step, h->bleu, history_elapsed(h, now) …
 *	history_free(h);
 *
 * The module only reads: it continues journal.jsonl and samples.jsonl where it stopped,
 * rereads state.json and recipe.ini when they were replaced, and tests the lock of the run.
 * Memory is bounded for runs of any length (series.h, HISTORY_LINES, HISTORY_SAMPLES).
 * Unknown values are NaN, -1 or NULL, never 0.
 *
 * A run that resumes repeats some steps: samples of the earlier attempt from that step on are
 * removed, its log lines stay.
 */
#ifndef WERKBANK_TUI_RUN_RUN_HISTORY_H
#define WERKBANK_TUI_RUN_RUN_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/base/statistics.h"
#include "share/workspace/run_end.h"
#include "tui/plot/series.h"
#include "tui/run/eval_progress.h"
#include "tui/run/fleet.h"
#include "tui/run/run_health.h"

#define HISTORY_LINES	1000 /* lines of the log; the oldest are dropped first */
#define HISTORY_SAMPLES 64   /* sentences; further sentences are dropped */
#define HISTORY_TEXT	240  /* bytes of a line of the log */
#define HISTORY_MARKS	512  /* event marks on the axis; beyond, the least important are dropped */

enum run_state { RUN_UNKNOWN, RUN_RUNNING, RUN_FINISHED, RUN_STOPPED, RUN_FAILED, RUN_LOST };

enum history_kind {
	LINE_START,
	LINE_EVAL,
	LINE_BEST,
	LINE_SAVE,
	LINE_INFO,
	LINE_WARNING,
	LINE_ERROR,
	LINE_STOP,
	LINE_CONSOLE
};

struct history_line {
	enum history_kind kind;
	double t;     /* unix seconds; NaN: unknown */
	int64_t step; /* -1: none */
	char text[HISTORY_TEXT];
};

/* An event at a step: restart, warning, error, note, checkpoint, end. */
struct history_mark {
	double x; /* step */
	enum history_kind kind;
};

/* An operation of a profile, see "profile" in journal.h; NaN: unknown. */
struct history_op {
	char name[32];
	double calls, seconds, share, gflops, gbs;
};
#define HISTORY_OPS 40

/* What bounds an op: the device's rate of products, or of memory. */
enum history_bound { BOUND_UNKNOWN, BOUND_COMPUTE, BOUND_MEMORY };

struct history_sample {
	int64_t id, step;
	char *source, *reference, *hypothesis; /* owned; "" when absent, NULL without memory */
};

struct run_history {
	char *name;   /* owned: name of the run */
	char *folder; /* owned: runs/NAME */

	enum run_state state;
	char host[64], precision[16], backend[16];	 /* "" if unknown */
	int64_t attempt, ranks, parameters, exit_status; /* -1: unknown */

	int64_t step;			 /* latest step; -1: none yet */
	struct run_limits plan;		 /* see history_read_plan() */
	char asked_by[16];		 /* who asked the run to stop: user, walltime; "": nobody */
	struct eval_progress evaluation; /* under way now, while it runs */
	struct run_end end; /* private: of the last record "stop"; see history_get_end() */
	double epoch;
	double best_bleu;
	int64_t best_step;
	double train_nll; /* of the latest evaluation */
	bool imported; /* imported: dev_nll and bleu are the loss and BLEU of the other program */

	/* over steps; history_quantities[] has tags and units */
	struct series loss, nll, rate, grad_norm, source_tps, target_tps, step_s, input_s,
		compute_s, exposed_s, wait_s, update_s, transfer_s; /* exposed_s minus wait_s */
	struct series dev_nll, bleu, sample_nll;		    /* of evaluations */
	/*
	 * clocks over steps: unix seconds, seconds of training (without pauses between attempts),
	 * target tokens seen
	 */
	struct series wall, elapsed, tokens;
	struct series eval_wall; /* unix seconds at the end of each evaluation */
	struct fleet fleet;	 /* hosts, GPUs, ranks */

	struct history_mark *marks; /* owned (HISTORY_MARKS), sorted by step */
	size_t n_marks;

	/* the latest profile: its steps and seconds, the longest operation first */
	struct history_op ops[HISTORY_OPS];
	size_t n_ops;
	double profile_steps, profile_seconds;
	double roof_gflops, roof_gbs; /* the device's rates, as measured; NaN: unknown */

	struct run_health health;

	/* share of the journal that was read: below 1 the numbers are those of an earlier time */
	double read_share;
	bool is_gone; /* the folder was removed; the history keeps what was read */

	/* newest warning about how the run learns, or its recipe; text "": none */
	struct history_line warning;

	struct history_line *lines; /* owned ring buffer: lines[first_line] is the oldest */
	size_t first_line, n_lines;
	struct history_sample samples[HISTORY_SAMPLES];
	size_t n_samples;
	int64_t bad_lines; /* unreadable lines of the journal: not JSON, or too long */

	struct history_files *files; /* owned, private */
	/* private: reason of the journal's last stop record; RUN_UNKNOWN: none since the start */
	enum run_state stop_state;
	/* private: start of run and attempt, latest record, earlier attempts */
	double first_t, attempt_t, last_t, earlier_attempts_s;
	struct step_pace pace; /* private: of the records of this attempt */
};

enum { HISTORY_SAME = 0, HISTORY_CHANGED = 1, HISTORY_MORE = 2 };

/*
 * Open the history of runs/NAME. ERR_NOINPUT: no such run (the text lists existing runs),
 * ERR_USAGE: bad name. NULL on failure; free with history_free().
 */
struct run_history *history_open(const char *workspace, const char *name, struct err *e);
void history_free(struct run_history *h);

/*
 * Read new records for at most budget_s seconds. Returns one of the three values above, or < 0 if a
 * file cannot be read: the history keeps its data and a later call may succeed.
 */
int history_update(struct run_history *h, double now, double budget_s, struct err *e);

/*
 * Add one record as described in journal.h (also used by tests). Unknown kinds are ignored.
 * ERR_NOMEM.
 */
struct json;
int history_add_record(struct run_history *h, const struct json *record, struct err *e);

/*
 * The planned end of a run, from its recipe: steps (-1: unknown), minutes and patience (0: no limit); the
 * other members are not set. A recipe that cannot be read changes nothing.
 */
void history_read_plan(struct run_limits *plan, const char *recipe);

/* Why the run ended, in words; RUN_END_UNKNOWN while it runs. */
struct run_end history_get_end(const struct run_history *h);

/* Seconds of training so far, without pauses between attempts; NaN before the first start. */
double history_elapsed(const struct run_history *h, double now);

/*
 * The larger share done of the run's steps and of its time: that limit ends the run. *of names the
 * limit of a run that has both; "": it has one, or it is finished.
 */
double history_progress(const struct run_history *h, double elapsed, const char **of);

/* Does it evaluate now, or save before it ends? */
bool history_is_ending(const struct run_history *h, double now);

/* Remaining seconds at the recent pace of this attempt (step_pace_add()); NaN if unknown. */
double history_remaining(const struct run_history *h, double now);

/*
 * The bound of an op, and in *share how much of it the op reaches: the time that the device needs at
 * least for the op's products and memory traffic, divided by the time it took. BOUND_UNKNOWN and NaN
 * unless roof, products and bytes are known.
 */
enum history_bound history_op_bound(const struct run_history *h, const struct history_op *op,
				    double *share);

/* A series of the history (those of hosts are in fleet.h). */
struct history_quantity {
	const char *tag;  /* tag of "werkbank export": "train/loss" */
	const char *unit; /* "" for a plain number */
	size_t offset;	  /* offset of its series in struct run_history */
};
#define HISTORY_QUANTITIES 20
extern const struct history_quantity history_quantities[HISTORY_QUANTITIES];
struct series *history_series(struct run_history *h, size_t quantity);

/*
 * The training curve that belongs to dev_nll: the NLL without label smoothing; the loss if the
 * journal has nothing else, as that of an imported run.
 */
const struct series *history_train_nll(const struct run_history *h);

/* Line i of the log, 0 the oldest. Borrowed until the next update. */
const struct history_line *history_line(const struct run_history *h, size_t i);

/* "running", "finished", … */
const char *run_state_name(enum run_state state);

/* The state of a reason in a record "stop"; without state.json it is that of the run. */
enum run_state run_state_by_reason(const char *reason);

/* The state of a name in state.json. All states of a living launcher count as running. */
enum run_state run_state_by_name(const char *name);

#endif
