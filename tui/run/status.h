/*
 * status.h - the state of runs, read from their folders.
 *
 * state.json has the launcher's last state, the lock shows whether the launcher is alive, the
 * journal has the training progress. Unknown values are NaN, -1 or "", and shown as unknown.
 */
#ifndef WERKBANK_TUI_RUN_STATUS_H
#define WERKBANK_TUI_RUN_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/statistics.h"
#include "share/conf/conf.h"
#include "share/workspace/run_end.h"
#include "tui/run/eval_progress.h"
#include "tui/run/run_health.h"

struct run_status {
	char name[101];
	/*
	 * starting, running, restarting, stopping; finished, stopped, failed; lost (one of the
	 * first four, but the launcher is gone); unknown
	 */
	char state[16];
	char host[256];	 /* host of the launcher */
	char hosts[400]; /* hosts of the ranks, "a, b and 3 more"; "": only the launcher's */
	char network[64], event[300]; /* network between hosts; last event */
	bool alive;		      /* a launcher holds the lock */
	int64_t pid, attempt, restarts, ranks, exit;
	int64_t n_hosts; /* 0: only the launcher's host */
	double started;	 /* unix seconds */
	double latest;	 /* unix seconds of the last record */
	int64_t step;
	struct run_limits plan; /* see history_read_plan() */
	char asked_by[16];	/* who asked the run to stop: user, walltime; "": nobody */
	struct run_end end;	/* of the journal, see status_get_end() */
	char stop_state
		[16]; /* private: state by the journal, for a run without state.json; "": none */
	double loss;  /* nats per target token, label-smoothed */
	double nll;   /* without smoothing */
	double lr, source_tps, target_tps;
	double gpu_util;       /* 0..1, mean over hosts and their GPUs; NaN: unknown */
	int64_t n_gpu_records; /* private: of this attempt */
	/* private: of this attempt: its start, its first training record; seconds before it */
	double attempt_t, earlier_s, before_start;
	struct step_pace pace;		 /* of the records of this attempt */
	struct eval_progress evaluation; /* under way now */
	double bleu, best_bleu;
	double bleu_change; /* from the evaluation before */
	int64_t bleu_step, best_step;
	char warning[300];	  /* newest warning about learning or the recipe; "": none */
	int64_t warning_step;	  /* -1: none */
	struct run_health health; /* judged by status_read(), or by the caller of the parts */
	/* of matrix products: in training; of those that gave bleu and best_bleu; "": unknown */
	char precision[8], bleu_precision[8], best_precision[8];
};

/* Read the status of runs/NAME. ERR_NOINPUT: no such run. */
int status_read(struct run_status *s, const char *workspace, const char *name, struct err *e);

/*
 * The parts of status_read(), for repeated reading: set everything to unknown; read state.json,
 * lock and recipe of a folder; apply one journal record.
 */
struct json;
void status_init(struct run_status *s, const char *name);
int status_read_files(struct run_status *s, const char *folder, struct err *e);
void status_add_record(struct run_status *s, const struct json *record);

/* Why the run ended, in words; RUN_END_UNKNOWN while it is alive. */
struct run_end status_get_end(const struct run_status *s);

/* The limits that status_get_end() and run_end_longer() need. */
struct run_limits status_limits(const struct run_status *s);

/* Seconds of training so far, without pauses between attempts; NaN: unknown. */
double status_elapsed(const struct run_status *s, double now);
/* Remaining seconds at the recent pace of this attempt; NaN: unknown, or not alive. */
double status_remaining(const struct run_status *s, double now);
/* Does it evaluate, or end, now? */
bool status_is_evaluating(const struct run_status *s, double now);
/* Done share of the planned steps or of the time limit, the larger one; NaN: unknown. */
double status_progress(const struct run_status *s, double now);

/* Append "22.29 (bf16)". */
void status_add_bleu(struct buf *out, double bleu, const char *precision);

/*
 * In a list of all runs, a run whose journal a newer program wrote (ERR_CONFIG, in e) is left out with
 * a note; returns 0 then, else the code.
 */
int status_skip_newer(int code, const struct err *e);

/* "no runs in WORKSPACE", and how to start one. */
void status_add_no_runs(const struct conf *c, const char *workspace, struct buf *out);

/* The command "status": append the named run or all runs to out, as text or (--json) as JSON. */
int status_report(const struct conf *c, struct buf *out, struct err *e);

#endif
