/*
 * trainer_internal.h - the state of a run, and the functions that the upper files of the trainer share.
 *
 * On top, files that know struct trainer:
 *
 *	trainer.c              the training loop
 *	trainer_open.c         opening and closing
 *	trainer_memory.c       the memory that training needs
 *	trainer_state.c        the first state: resumed, from another model, or random
 *	trainer_step.c         one optimizer step
 *	trainer_save.c         checkpoints and evaluations
 *	trainer_report.c       the records "start", "train", "profile" and "stop", and the progress line
 *
 * Below them, parts that know only what they are given:
 *
 *	run_records.c          journals, events, messages
 *	run_watch.c            warnings about the recipe and about how the run learns
 *	time_limit.c           the time limit: cool-down, evaluations, forecast
 *	time_plan.c            what still fits into the limit
 *	stop_requests.c        requests to stop, also in the middle of a step
 *	rescue.c               saving by one rank alone, when other ranks are lost
 *	exchange.c             arrays between ranks, through host memory or by NCCL
 *	rank_arrays.c          the arrays of a checkpoint that are distributed over ranks
 *	local_steps.c          steps of each rank alone, between averages of the weights
 *	weight_average.c       the moving average of the weights
 *	weight_changes.c       how far each weight matrix has moved between evaluations
 *	trainer_gpu.c          the GPU of a rank
 *	product_format.c       the number format of products
 *	product_choices.c      measured algorithms of products
 *	evaluate.c             an evaluation by the program werkbank-eval
 *	evaluate_ranks.c       an evaluation shared by all ranks
 */
#ifndef WERKBANK_TRAIN_TRAINER_TRAINER_INTERNAL_H
#define WERKBANK_TRAIN_TRAINER_TRAINER_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "data/pipeline/vocabs.h"
#include "data/shard/loader.h"
#include "data/shard/shard.h"
#include "data/shard/token_batch.h"
#include "kernels/profile.h"
#include "share/base/err.h"
#include "share/base/statistics.h"
#include "share/conf/conf.h"
#include "share/workspace/lock_file.h"
#include "share/workspace/run_end.h"
#include "share/workspace/run_lease.h"
#include "train/ckpt/ckpt.h"
#include "train/comm/comm.h"
#include "train/model/model.h"
#include "train/optim/adam.h"
#include "train/optim/schedule.h"
#include "train/record/evaluations.h"
#include "train/trainer/exchange.h"
#include "train/trainer/local_steps.h"
#include "train/trainer/processor_level.h"
#include "train/trainer/product_choices.h"
#include "train/trainer/product_format.h"
#include "train/trainer/rank_arrays.h"
#include "train/trainer/rescue.h"
#include "train/trainer/run_records.h"
#include "train/trainer/run_watch.h"
#include "train/trainer/stop_requests.h"
#include "train/trainer/time_limit.h"
#include "train/trainer/trainer.h"
#include "train/trainer/weight_average.h"
#include "train/trainer/weight_changes.h"
#include "train/watch/heartbeat.h"
#include "train/watch/telemetry.h"

/* Sums over the steps since the last record "train". */
struct step_meter {
	double loss, nll; /* of all ranks: nats, over target tokens */
	double target_tokens, source_tokens;
	double seconds; /* wall clock of the steps, without saving and evaluating */
	int64_t steps;
	struct step_times times; /* of this rank */
};

/* How far the run is. */
struct trainer_progress {
	bool has_stepped;	 /* this attempt has done a step */
	int64_t saved_step;	 /* of the newest checkpoint, -1: none */
	double saved_at;	 /* clock_mono_s() then, or at the start of this attempt */
	double lease_checked_at; /* first rank: clock_mono_s() of the last check of the lease */
	double save_s;		 /* seconds of the last checkpoint; 0: none in this attempt */
	int64_t evaluated_step;	 /* of the last successful evaluation, -1: none */
	struct err evaluation_trouble;	/* first rank: failure of the last evaluation, or code 0 */
	int64_t evals_since_best;	/* evaluations since the best one, by stop_metric */
	struct evaluations evaluations; /* first rank */
	int32_t bad_steps;		/* steps in a row without a finite gradient */
	int32_t failed_saves;		/* in a row; the same on all ranks */
	double retry_save_at;		/* first rank: clock_mono_s() of the next try; 0: none */
};

/* Results of the last step. */
struct trainer_last_step {
	double rate, grad_norm;
	double epoch; /* passes over the text until its end */
	bool is_finite;
	bool is_cut; /* a request to stop ended it before the update: it counts as not begun */
	struct step_times times; /* of this rank */
};

/* The progress line and the record "train"; first rank. */
struct trainer_display {
	bool slow_products_reported;
	struct step_pace pace; /* of the steps of this attempt */
	int64_t recorded_step; /* of the last record "train" */
};

struct trainer {
	const struct conf *conf;	       /* borrowed */
	struct comm *comm;		       /* borrowed */
	const struct trainer_signals *signals; /* borrowed */
	char *workspace, *folder, *corpus;     /* owned paths; folder is runs/NAME */
	struct lock_identity run_lock;	       /* of the folder in which this training began */
	struct run_lease lease;		       /* of its supervisor; id "": none */
	bool shares_folder;		       /* the folder is that of the first rank */

	struct vocabs vocabs;
	struct shard *shard;
	struct resplit *resplit;	/* NULL: no new splits */
	struct resplit *source_resplit; /* NULL: resplit is that of both sides */
	struct loader *loader;
	struct batch batch;
	bool is_batch_loaded; /* batch is already the first one of the next step */

	struct model *model;
	int gpu; /* index of this rank's GPU, as CUDA counts in its process: trainer_gpu.h */
	double memory_bytes;	 /* of training, on this rank, in the backend's memory */
	bool is_bf16;		 /* products in bf16, else fp32; product_format.h */
	char device[300];	 /* the backend and why it was chosen; ops_describe() */
	struct profile *profile; /* of the model's ops; NULL: not asked for */
	double profiled_s;	 /* of the profiled steps */
	int64_t profiled_steps;	 /* -1: none, not even the first one, which does not count */
	struct product_choices products;
	struct adam adam;
	struct weight_average average;
	struct rate_schedule rate_schedule;

	struct ckpt_state state; /* of the run now; the next checkpoint saves it */
	char *resumed;		 /* owned, first rank: checkpoint that the run resumed; or NULL */
	bool resumed_average;	 /* first rank: its model is the moving average */
	char *start_text;	 /* owned, first rank: event if it starts from a model; or NULL */

	int64_t hosts; /* of the job */
	struct processor_level processor;
	struct link_measure link; /* the network between them, measured at the start */
	struct exchange exchange;
	struct local_steps *local_steps; /* NULL: gradients are reduced in every step */
	bool in_sync;			 /* all ranks have the same weights and moments */
	bool eval_share_failed; /* this rank failed in an evaluation and gets no more shares */
	struct telemetry *telemetry;
	struct heartbeat *heartbeat;

	struct trainer_progress progress;
	struct trainer_last_step last_step;
	struct stop_requests stopping;
	struct time_limit time;
	struct rescue *rescue; /* owned; NULL: impossible here */
	char *rescue_folder; /* owned: where it saves if this host does not see the run; or NULL */
	struct step_meter meter;
	struct run_records records;
	struct run_watch watch; /* first rank */
	struct trainer_display display;
	struct weight_changes *weight_changes; /* first rank, owned; or NULL */
};

static inline bool trainer_is_first(const struct trainer *t)
{
	return t->comm->rank == 0;
}

/* Tell the watchdog what this rank does now. */
static inline void trainer_at_phase(const struct trainer *t, enum rank_phase phase)
{
	heartbeat_set_phase(t->heartbeat, t->state.step, phase);
}

/* CPU threads of this rank; 0: all. */
static inline int trainer_threads(const struct trainer *t)
{
	return t->conf->threads || t->comm->local_size == 1 ? (int)t->conf->threads
							    : t->comm->cores;
}

/* How this rank chooses the format of products; valid as long as t. */
static inline struct product_format trainer_format(struct trainer *t)
{
	return (struct product_format){ t->conf, t->comm, t->folder, t->gpu, &t->records };
}

/* trainer_open.c: everything before the first step. After a failure call trainer_close(), too. */
int trainer_open(struct trainer *t, struct err *e);
void trainer_close(struct trainer *t);

/* Copies of each batch that a training pass computes: 2 with R-Drop. */
int32_t trainer_copies(const struct conf *c);

/* trainer_memory.c: is the memory sufficient, of this host and of the GPU? Sets memory_bytes. */
int trainer_check_memory(struct trainer *t, const struct model_size *size, struct err *e);

/*
 * trainer_state.c: weights, moments and state of all ranks, from the newest checkpoint, from the
 * model that start_from names, or random. An imported checkpoint has weights, but no moments.
 */
int trainer_load_state(struct trainer *t, struct err *e);
/* First rank, afterwards: copy the vocabulary into the run again if it is damaged. */
int trainer_repair_vocabulary(struct trainer *t, struct err *e);

/* trainer_step.c: one optimizer step; advances state.step and state.loader_position. */
int trainer_step(struct trainer *t, struct err *e); /* 0 with last_step.is_cut: not done */

/*
 * trainer_report.c; all do nothing on ranks other than the first.
 * report_step(): write the record "train" if one is due, and the progress line.
 * report_stop(): write the record "stop"; a run that finished says why, and how to train on. A stop
 * on request has stopping.signalled_rank, unless it is -1.
 */
int report_start(struct trainer *t, struct err *e);
int report_step(struct trainer *t);
int report_stop(struct trainer *t, enum run_end_why why, int exit_status, struct err *e);

/*
 * trainer_save.c: collective. Save a checkpoint of this step, unless there is one. A failure leaves
 * older checkpoints untouched; the run warns, goes on, and tries again after a minute, or earlier
 * when the next checkpoint is due. The second failure in a row is ERR_IO, and so is a failure with
 * must: there is no later try then.
 */
int trainer_save(struct trainer *t, bool must, struct err *e);
/* Collective: save, then evaluate. A failed evaluation is a warning, not an error. */
int trainer_evaluate(struct trainer *t, struct err *e);
/* First rank: update the best checkpoint and evals_since_best from the list of evaluations. */
void trainer_update_best(struct trainer *t);

#endif
