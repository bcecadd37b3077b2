/*
 * trainer_internal.h - what the files of the trainer share.
 *
 *	trainer.c         opening, resuming, the loop, closing
 *	trainer_step.c    one optimizer step
 *	trainer_report.c  journal records and the progress line
 *	control.c         requests to a live run
 *	evaluate.c        the sister program that translates and scores
 */
#ifndef WERKBANK_TRAIN_TRAINER_INTERNAL_H
#define WERKBANK_TRAIN_TRAINER_INTERNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "data/batch.h"
#include "data/loader.h"
#include "data/shard.h"
#include "data/vocab.h"
#include "kernels/profile.h"
#include "share/base/conf.h"
#include "share/base/err.h"
#include "share/base/journal.h"
#include "train/adam.h"
#include "train/ckpt.h"
#include "train/comm.h"
#include "train/model.h"
#include "train/sched.h"

/* Sums over steps and ranks since the last record. */
struct meter {
	double  loss, nll;		/* nats, over target tokens */
	double  target_tokens, source_tokens;
	double  seconds;		/* of the steps alone */
	int64_t steps;
};

struct trainer {
	const struct conf *conf;	/* borrowed */
	struct comm *comm;		/* borrowed */
	const volatile sig_atomic_t *stop;	/* borrowed: not 0 when a signal asked to stop */
	char *workspace, *folder, *corpus;	/* owned paths; folder is runs/NAME */
	struct vocab *vocab;
	struct shard *shard;
	struct bpe_dropout *dropout;	/* NULL: sentences are as in the shard */
	struct loader *loader;
	struct batch batch;
	struct model *model;
	struct profile *profile;	/* of the model's ops; NULL: not asked for */
	double  profiled_s;		/* of the steps that it has seen */
	int64_t profiled_steps;
	struct adam adam;
	struct sched sched;
	struct ckpt_state state;	/* as the next checkpoint will say it */
	int64_t saved_step;		/* of the newest checkpoint, -1: none */
	int64_t evaluated_step;		/* of the last evaluation that came through, -1: none */
	bool    no_share;		/* this rank could not do its share of an evaluation */
	double  seconds_before;		/* trained by earlier attempts */
	double  started;		/* clock_mono_s() when this attempt began */
	int32_t bad_steps;		/* steps in a row without a finite gradient */
	/* of the last step */
	double  rate, grad_norm;
	bool    finite;
	struct meter meter;
	/* rank 0 only */
	struct journal *journal, *samples;
	bool    terminal;		/* standard error is one */
	double  shown;			/* clock_mono_s() of the last progress line */
	double  speed;			/* seconds a step, smoothed; 0: unknown */
};

static inline bool is_first(const struct trainer *t)
{
	return t->comm->rank == 0;
}

/* trainer_step.c: one optimizer step; state.step and state.loader_position move on. */
int trainer_step(struct trainer *t, struct err *e);

/* trainer_report.c; all do nothing on ranks other than the first. */
int  report_start(struct trainer *t, struct err *e);
int report_step(struct trainer *t, struct err *e); /* a record when one is due, the progress line */
int  report_save(struct trainer *t, int64_t bytes, double seconds, struct err *e);
int  report_event(struct trainer *t, const char *level, const char *fmt, ...) PRINTF_LIKE(3, 4);
int  report_stop(struct trainer *t, const char *reason, int exit_status, struct err *e);
void report_end_line(struct trainer *t);		/* leave the progress line standing */

/* trainer.c: save now, unless this step is saved already. */
int trainer_save(struct trainer *t, struct err *e);

#endif
