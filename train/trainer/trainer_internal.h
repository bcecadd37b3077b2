/*
 * trainer_internal.h - what the files of the trainer share.
 *
 *	trainer.c         the loop
 *	trainer_open.c    opening, resuming, closing
 *	trainer_start.c   beginning with the weights of another model
 *	trainer_step.c    one optimizer step
 *	trainer_local_steps.c steps that each rank makes alone
 *	trainer_ema.c     a moving average of the weights
 *	trainer_staging.c  what ranks exchange, where a GPU computes
 *	trainer_save.c    checkpoints and evaluations
 *	trainer_report.c  journal records and the progress line
 *	control.c         requests to a live run
 *	evaluate.c        the sister program that translates and scores
 */
#ifndef WERKBANK_TRAIN_TRAINER_TRAINER_INTERNAL_H
#define WERKBANK_TRAIN_TRAINER_TRAINER_INTERNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "data/shard/token_batch.h"
#include "data/shard/loader.h"
#include "data/shard/shard.h"
#include "data/words/vocab.h"
#include "kernels/profile.h"
#include "share/conf/conf.h"
#include "share/base/err.h"
#include "share/base/journal.h"
#include "train/model/adam.h"
#include "train/model/arena.h"
#include "train/ckpt/ckpt.h"
#include "train/comm/comm.h"
#include "train/model/ema.h"
#include "train/record/evaluations.h"
#include "train/model/model.h"
#include "train/record/metric_sinks.h"
#include "train/watch/heartbeat.h"
#include "train/comm/reduce.h"
#include "train/model/schedule.h"
#include "train/watch/telemetry.h"

/* Sums over steps and ranks since the last record. */
struct step_meter {
	double loss, nll; /* nats, over target tokens */
	double target_tokens, source_tokens;
	double seconds; /* of the steps alone */
	int64_t steps;
	struct step_times times; /* sums over steps, of this rank */
};

/* What a step sums up beside gradients, over its target tokens. */
enum { SUM_LOSS, SUM_NLL, SUM_TARGET, SUM_SOURCE, N_SUMS };

struct local_steps;

struct trainer {
	const struct conf *conf;	   /* borrowed */
	struct comm *comm;		   /* borrowed */
	int64_t hosts;			   /* that the ranks are on */
	bool has_stepped;		   /* this attempt has done a step */
	const volatile sig_atomic_t *stop; /* borrowed: not 0 when a signal asked to stop */
	char *workspace, *folder, *corpus; /* owned paths; folder is runs/NAME */
	struct vocab *vocab;
	struct shard *shard;
	struct bpe_dropout *dropout; /* NULL: sentences are as in the shard */
	struct loader *loader;
	struct batch batch;
	bool loaded; /* it is the next step's first */
	struct model *model;
	double need;		 /* bytes of memory that it takes where it computes */
	char device[300];	 /* what computes, and why; ops_describe() */
	struct profile *profile; /* of the model's ops; NULL: not asked for */
	double profiled_s;	 /* of the steps that it has seen */
	int64_t profiled_steps;
	struct adam adam;
	struct ema *ema;    /* NULL: the weights are scored as they are */
	int64_t unaveraged; /* steps that it has not seen yet */
	/* several ranks: */
	struct reduce *reduce; /* of gradients, or with local steps of weights; or NULL */
	struct reduce_options reduce_options;
	/* (floats) in the memory of the host: the arena of gradients itself, of a GPU its mirror */
	float *staging;
	struct local_steps *average; /* local steps only */
	bool in_sync;		     /* all ranks are in the same state */
	struct range *own;	     /* (buckets) owned: pieces of this rank */
	struct telemetry *telemetry;
	struct heartbeat *heartbeat;
	struct rate_schedule rate_schedule;
	struct ckpt_state state; /* as the next checkpoint will say it */
	char *resumed;		 /* owned, first rank: the checkpoint it goes on from; or NULL */
	bool resumed_average;	 /* … whose model is the weights' average */
	char *start_text;	 /* owned, first rank: it begins with a model's weights; or NULL */
	int64_t saved_step;	 /* of the newest checkpoint, -1: none */
	int64_t evaluated_step;	 /* of the last evaluation that came through, -1: none */
	int64_t waited;		 /* evaluations since the best one, by stop_metric */
	struct evaluations evaluations; /* first rank */
	bool eval_share_failed;		/* this rank could not do its share of an evaluation */
	double seconds_before;		/* trained by earlier attempts */
	double started;			/* clock_mono_s() when this attempt began */
	int32_t bad_steps;		/* steps in a row without a finite gradient */
	int32_t failed_saves;		/* in a row; the same on all ranks */
	double retry_save_at;		/* clock_mono_s() of the next try after one, first rank */
	/* of the last step */
	double rate, grad_norm;
	bool finite;
	struct step_times times;
	struct step_meter meter;
	/* rank 0 only */
	struct journal *journal, *samples;
	struct metric_sinks *metric_sinks; /* what hears of their records */
	bool journal_failed;		   /* the last record could not be written */
	bool terminal;			   /* standard error is one */
	double shown;			   /* clock_mono_s() of the last progress line */
	double speed;			   /* seconds a step, smoothed; 0: unknown */
	int64_t recorded_step;		   /* of the last record "train" */
};

static inline bool trainer_is_first(const struct trainer *t)
{
	return t->comm->rank == 0;
}

/* What this rank is at, for the watchdog. */
static inline void trainer_at_phase(const struct trainer *t, enum rank_phase phase)
{
	heartbeat_set_phase(t->heartbeat, t->state.step, phase);
}

/* trainer_open.c: everything before the first step; close whatever came of it. */
int trainer_open(struct trainer *t, struct err *e);
void trainer_close(struct trainer *t);
int trainer_threads(const struct trainer *t); /* of the processor's that this rank may use */
int trainer_gpu(const struct trainer *t);     /* number of the GPU that this rank takes, if any */

/*
 * trainer_start.c: the first rank loads the weights of the model that start_from names, or of this
 * checkpoint of the run itself (not NULL), which is bare: imported, and so without moments. tell, on all
 * ranks and where that was so: says it, and evaluates before the first step.
 */
bool start_weights_lack_moments(const char *checkpoint, const struct ckpt_state *found);
int start_weights_load(struct trainer *t, const char *checkpoint, struct err *e);
int start_weights_report(struct trainer *t, struct err *e);

/* trainer_step.c: one optimizer step; state.step and state.loader_position move on. */
int trainer_step(struct trainer *t, struct err *e);

/*
 * trainer_local_steps.c: with local_steps k each rank takes k steps alone, with its own micro-batches
 * of each, its own tokens as weight, its own norm to clip. Then the ranks add up what their
 * weights have changed since the last time, in the form of "wire", and each goes on from the mean;
 * of both moments the mean is taken too, in bf16 unless wire is fp32. After that all ranks are in
 * the same state, which is a checkpoint's, and a run may go on with any number of ranks. Of a
 * gradient's bytes 3 (fp32), 1.5 (bf16) or little more than 1 (2bit, 1bit) times as much travels,
 * so k = 4 and more pay. Records tell the loss of all ranks, the norm of the first one's gradient.
 * It happens after every k-th step and after those at which something is saved, evaluated or over.
 */
int local_steps_open(struct trainer *t, struct err *e); /* all ranks are in the same state */
void local_steps_close(struct trainer *t);
bool local_steps_is_due(const struct trainer *t); /* after the step that has just been made */
/* sums: of this rank's step; when due they become those of all ranks since the last time. */
int local_steps_end_step(struct trainer *t, double sums[N_SUMS], struct err *e);
struct reduce_options local_steps_moment_options(const struct reduce_options *weights);

/*
 * trainer_staging.c: messages between ranks begin and end in the memory of the host. Where a GPU
 * computes, arenas pass through t->mirror, one arena of the host that there is with several ranks
 * alone; else these functions copy nothing. Where NCCL connects the GPUs, which staging_connect_gpus() tries after
 * the model is open, what is summed and spread does not; checkpoints and beginnings do.
 */
int staging_connect_gpus(struct trainer *t, struct err *e);
/* What of gradients is reduced: the arena itself, or t->mirror. */
float *staging_gradients(struct trainer *t);
int staging_open(struct trainer *t, struct err *e);
void staging_close(struct trainer *t);
size_t staging_memory(const struct trainer *t,
		      bool has_device_memory); /* bytes on the host, of one rank */
/* The first rank's arena to all. */
int staging_broadcast(struct trainer *t, float *arena, struct err *e);
/* Each rank's own pieces of an arena to all others; reduce_all_gather(). */
int staging_all_gather(struct trainer *t, float *arena, struct err *e);
/* reduce_all() of an arena. */
int staging_all_reduce(struct trainer *t, struct reduce *r, float *arena, struct err *e);
/* Wait until what was summed or spread is there: did all ranks do their part? */
int staging_synchronise(struct trainer *t, struct err *e);
/* This rank's residual (reduce.h) in the host's memory, maybe in t->mirror; and t->mirror becomes it. */
const float *staging_error_feedback(struct trainer *t);
void staging_set_error_feedback(struct trainer *t);
/* The gradient's buckets to where they are summed, and back as far as this rank needs them. */
void staging_copy_to_host(struct trainer *t);
void staging_copy_to_device(struct trainer *t);

/*
 * trainer_ema.c: the moving average of weights. With several ranks each keeps what it owns of it
 * (buckets.h), and it is brought together in the arena of gradients when it is needed. With local
 * steps it is made up for when the ranks are together.
 */
int trainer_ema_open(struct trainer *t, struct err *e); /* all ranks have the beginning's weights */
void trainer_ema_step(struct trainer *t);		/* after each step */
size_t trainer_ema_memory(const struct trainer *t);	/* bytes of one rank */
/* All ranks together: *whole, borrowed, until the next step or until moments are collected. */
int trainer_ema_gather(struct trainer *t, const float **whole, struct err *e);

/* trainer_report.c; all do nothing on ranks other than the first. */
int report_start(struct trainer *t, struct err *e);
int report_step(struct trainer *t); /* a record when one is due, the progress line */
int report_save(struct trainer *t, int64_t bytes, double seconds);
int report_event(struct trainer *t, const char *level, const char *fmt, ...) PRINTF_LIKE(3, 4);
int report_stop(struct trainer *t, const char *reason, int exit_status, struct err *e);
void report_end_line(struct trainer *t); /* leave the progress line standing */

/*
 * trainer_save.c, all ranks together. Save now, unless this step is saved already. When it
 * fails the run says so and goes on, without harm to older checkpoints; it tries again when the next one is due and after a minute.
 * The second failure in a row ends the run, and so does one for which there is no next time
 * (must): ERR_IO.
 */
int trainer_save(struct trainer *t, bool must, struct err *e);
int trainer_evaluate(struct trainer *t, struct err *e); /* saves first */
void trainer_update_best(struct trainer *t);		/* first rank: best and waited from them */
double trainer_seconds(const struct trainer *t);	/* trained so far, all attempts */

#endif
