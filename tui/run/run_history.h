/*
 * run_history.h - a run as numbers: what its folder says, kept up to date.
 *
 *	struct history *h = history_open(workspace, name, e);
 *	while (history_update(h, now, 0.05, e) == HISTORY_MORE)
 *		;
 *	… h->step, h->bleu, history_elapsed(h, now) …
 *	history_free(h);
 *
 * It only reads: journal.jsonl and samples.jsonl from where it left off,
 * state.json and recipe.ini when they were replaced, and it tests the lock.
 * Memory is bounded however long the run (series.h, HISTORY_LINES,
 * HISTORY_SAMPLES). What is not known is NaN, -1 or NULL, never 0.
 *
 * A run that resumes does some steps again: the samples of the earlier attempt
 * from that step on are forgotten, its log lines stay.
 */
#ifndef WERKBANK_TUI_RUN_RUN_HISTORY_H
#define WERKBANK_TUI_RUN_RUN_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "tui/run/fleet.h"
#include "tui/plot/series.h"

#define HISTORY_LINES	1000 /* of the log; the oldest go first */
#define HISTORY_SAMPLES 64   /* sentences; further ones are not kept */
#define HISTORY_TEXT	240  /* bytes of a line of the log */
#define HISTORY_MARKS	512  /* on the axis of plots; beyond, the least important go */

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
	double t;     /* unix seconds; NaN: not known */
	int64_t step; /* -1: none */
	char text[HISTORY_TEXT];
};

/* Something that happened at a step: a restart, a warning, an error, a note, the end. */
struct history_mark {
	double x; /* step */
	enum history_kind kind;
};

struct history_sample {
	int64_t id, step;
	char *source, *reference, *hypothesis; /* owned; "" when absent, NULL when memory ran out */
};

struct run_history {
	char *name;   /* owned: of the run */
	char *folder; /* owned: runs/NAME */

	enum run_state state;
	char host[64], precision[16], backend[16];	 /* "" when not known */
	int64_t attempt, ranks, parameters, exit_status; /* -1: not known */

	int64_t step;	     /* the latest; -1: none yet */
	int64_t total_steps; /* where the run ends; -1: not known */
	double max_minutes;  /* or it ends after this many; 0: no such end */
	double epoch;
	double best_bleu;
	int64_t best_step;
	double train_nll; /* at the latest evaluation */
	bool imported;	  /* dev_nll and bleu are the dev loss and BLEU of its program */

	/* over steps; see history_quantities[] for what each is */
	struct series loss, nll, rate, grad_norm, source_tps, target_tps, step_s, input_s,
		compute_s, exposed_s, wait_s, update_s, transfer_s; /* exposed_s without wait_s */
	struct series dev_nll, bleu, sample_nll;		    /* of evaluations */
	/* the same instants by other clocks: unix seconds, seconds of training (pauses between
	 * attempts left out), target tokens seen so far */
	struct series wall, elapsed, tokens;
	struct fleet fleet; /* hosts, processors, ranks */

	struct history_mark *marks; /* owned, HISTORY_MARKS, by step */
	size_t n_marks;

	struct history_line *lines; /* owned ring: the oldest is lines[first_line] */
	size_t first_line, n_lines;
	struct history_sample samples[HISTORY_SAMPLES];
	size_t n_samples;
	int64_t bad_lines; /* of the journal: not JSON, too long */

	struct history_files *files; /* owned, private */
	/* private: what the journal's last stop says; RUN_UNKNOWN: none since the start */
	enum run_state stop_state;
	/* private: the clock of the run */
	double first_t, attempt_t, last_t, earlier_attempts_s;
	int64_t attempt_step;
};

enum { HISTORY_SAME = 0, HISTORY_CHANGED = 1, HISTORY_MORE = 2 };

/*
 * ERR_NOINPUT when there is no such run (the text lists those there are), ERR_USAGE for a bad name.
 */
struct run_history *history_open(const char *workspace, const char *name, struct err *e);
void history_free(struct run_history *h);

/*
 * Take in what has been written since, for at most budget_s seconds: one of
 * the three values above, or < 0 when a file cannot be read (what was known
 * stays; calling again is fine).
 */
int history_update(struct run_history *h, double now, double budget_s, struct err *e);

/*
 * Take in one record as journal.h describes it (also the tests' way in). Unknown kinds are ignored.
 */
struct json;
int history_add_record(struct run_history *h, const struct json *record, struct err *e);

/* Seconds of training so far, pauses between attempts left out; NaN before the first start. */
double history_elapsed(const struct run_history *h, double now);

/* Seconds to the end at the speed of this attempt; NaN when it cannot be said. */
double history_remaining(const struct run_history *h, double now);

/* What a history knows over steps: all its series but those of hosts. */
struct history_quantity {
	const char *tag;  /* as "werkbank export" calls it: "train/loss" */
	const char *unit; /* "" for a plain number */
	size_t offset;	  /* of its series in struct history */
};
#define HISTORY_QUANTITIES 19
extern const struct history_quantity history_quantities[HISTORY_QUANTITIES];
struct series *history_series(struct run_history *h, size_t quantity);

/* Line i of the log, 0 the oldest kept. Borrowed. */
const struct history_line *history_line(const struct run_history *h, size_t i);

/*
 * The name of the run whose files changed last, owned by the caller; NULL with e->code 0: there is
 * none.
 */
char *history_newest(const char *workspace, struct err *e);

/* "running", "finished", … */
const char *run_state_name(enum run_state state);

#endif
