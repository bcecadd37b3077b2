/*
 * trainer_internal.h - the state of a run, and the functions that the files of the trainer share.
 *
 *	trainer.c              the training loop
 *	trainer_open.c         opening, resuming, closing
 *	trainer_format.c       the number format of products
 *	trainer_start.c        starting with the weights of another model
 *	trainer_step.c         one optimizer step
 *	trainer_stop.c         requests to stop, also in the middle of a step
 *	trainer_rescue.c       saving by the first rank alone, when other ranks are lost
 *	trainer_local_steps.c  steps of each rank alone, between averages of the weights
 *	trainer_ema.c          the moving average of the weights
 *	trainer_staging.c      exchange of GPU arrays between ranks through host memory
 *	trainer_save.c         checkpoints and evaluations
 *	trainer_changes.c      how far each weight matrix has moved between evaluations
 *	trainer_time.c         the time limit: cool-down, evaluations, forecast
 *	time_plan.c            what still fits into the limit
 *	trainer_report.c       journal records and the progress line
 *	trainer_watch.c        warnings about how the run learns
 *	evaluate.c             an evaluation by the program werkbank-eval
 *	evaluate_ranks.c       an evaluation shared by all ranks
 */
#ifndef WERKBANK_TRAIN_TRAINER_TRAINER_INTERNAL_H
#define WERKBANK_TRAIN_TRAINER_TRAINER_INTERNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "data/shard/loader.h"
#include "data/shard/shard.h"
#include "data/shard/token_batch.h"
#include "data/words/vocab.h"
#include "kernels/profile.h"
#include "share/base/err.h"
#include "share/base/statistics.h"
#include "share/conf/conf.h"
#include "share/workspace/journal.h"
#include "share/workspace/lock_file.h"
#include "share/workspace/run_end.h"
#include "train/ckpt/ckpt.h"
#include "train/comm/comm.h"
#include "train/comm/reduce.h"
#include "train/common/control.h"
#include "train/model/arena.h"
#include "train/model/model.h"
#include "train/optim/adam.h"
#include "train/optim/ema.h"
#include "train/optim/schedule.h"
#include "train/record/evaluations.h"
#include "train/record/learning_watch.h"
#include "train/record/metric_sinks.h"
#include "train/trainer/trainer.h"
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

/* Sums of a step over its tokens, which the ranks add up together with gradients. */
enum { SUM_LOSS, SUM_NLL, SUM_TARGET, SUM_SOURCE, N_SUMS };

struct local_steps;
struct rescue;
struct weight_changes;

/* Cooperation of several ranks. */
struct trainer_ranks {
	int64_t hosts;	       /* of the job */
	struct reduce *reduce; /* of gradients, or with local steps of weights; one rank: NULL */
	struct reduce_options reduce_options;
	/*
	 * (floats) in host memory. CPU: the gradient array itself. GPU: the host staging buffer,
	 * owned. One rank: NULL.
	 */
	float *staging;
	struct local_steps *local_steps; /* NULL: gradients are reduced in every step */
	bool in_sync;			 /* all ranks have the same weights and moments */
	struct range *own_pieces;	 /* (buckets) owned: pieces of this rank */
	bool eval_share_failed; /* this rank failed in an evaluation and gets no more shares */
	struct telemetry *telemetry;
	struct heartbeat *heartbeat;
};

/* How far the run is. */
struct trainer_progress {
	bool has_stepped;		/* this attempt has done a step */
	int64_t saved_step;		/* of the newest checkpoint, -1: none */
	int64_t evaluated_step;		/* of the last successful evaluation, -1: none */
	bool lacks_dev_set;		/* prepared without one: nothing to evaluate */
	struct err evaluation_trouble;	/* first rank: failure of the last evaluation, or code 0 */
	int64_t evals_since_best;	/* evaluations since the best one, by stop_metric */
	struct evaluations evaluations; /* first rank */
	double epoch;			/* passes over the text until the end of the last step */
	double seconds_before;		/* training time of earlier attempts */
	double started_at;		/* clock_mono_s() when this attempt began */
	int32_t bad_steps;		/* steps in a row without a finite gradient */
	int32_t failed_saves;		/* in a row; the same on all ranks */
	double retry_save_at;		/* first rank: clock_mono_s() of the next try; 0: none */
};

/* Requests to stop; trainer_stop.c explains them. Numbers are the same on all ranks. */
struct trainer_stopping {
	struct control requests; /* first rank: from the control file, not yet done */
	bool may_cut;		 /* the state before this step can be saved */
	int64_t step_ms;	 /* of the slowest rank in the last step; 0: unknown */
	double step_began;	 /* clock_mono_s(), on this rank */
	int64_t next_agreement;	 /* micro-batches of this step that are done by then */
	bool is_by_file;	 /* the control file is the reason to stop, not a signal */
	int64_t signalled_rank;	 /* this rank's SIGTERM is the reason to stop; -1: a request is */
};

/* What ranks agree on by max_ints(): a request to stop; 1 + the last rank that got SIGTERM. */
enum { STOP_ASKED, STOP_SIGNALLED, N_STOP_ASKS };
/* Values of STOP_ASKED: the launcher's signal, the control file. */
enum { STOP_BY_SIGNAL = 1, STOP_BY_FILE };
/* Ranks that compute agree on a stop about so often. */
#define STOP_AGREE_MS 500

/* What trainer_time.c measures on the first rank, to keep the time limit. */
struct trainer_time {
	struct step_pace pace; /* of training alone */
	double stepped_s;      /* in the steps of this attempt */
	double save_s;	       /* the last checkpoint; 0: unknown */
	bool has_forecast;     /* of the epochs that fit, once an attempt */
	double first_epoch;    /* after the first step of this attempt */
	int64_t first_step;
	bool is_tight; /* all ranks: no time for an evaluation besides the last one */
};

/* Results of the last step. */
struct trainer_last_step {
	double rate, grad_norm;
	bool is_finite;
	bool is_cut; /* a request to stop ended it before the update: it counts as not begun */
	struct step_times times; /* of this rank */
};

/* Journal, metric sinks and progress line. Only on the first rank. */
struct trainer_records {
	struct journal *journal, *samples;
	struct metric_sinks *metric_sinks; /* get every record of the journals */
	struct learning_watch watch;	   /* signs of how the run learns */
	bool journal_failed;		   /* the last record could not be written */
	bool is_terminal;		   /* standard error is a terminal */
	bool slow_products_reported;
	double shown_at;       /* clock_mono_s() of the last progress line */
	struct step_pace pace; /* of the steps of this attempt */
	int64_t recorded_step; /* of the last record "train" */
};

struct trainer {
	const struct conf *conf;	       /* borrowed */
	struct comm *comm;		       /* borrowed */
	const struct trainer_signals *signals; /* borrowed */
	char *workspace, *folder, *corpus;     /* owned paths; folder is runs/NAME */
	struct lock_identity run_lock;	       /* of the folder in which this training began */

	struct vocab *vocab;
	struct shard *shard;
	struct bpe_dropout *dropout; /* NULL: no BPE dropout */
	struct loader *loader;
	struct batch batch;
	bool is_batch_loaded; /* batch is already the first one of the next step */

	struct model *model;
	int gpu; /* index of this rank's GPU, as CUDA counts in its process: trainer_gpu.h */
	double memory_bytes;	 /* of training, on this rank, in the backend's memory */
	bool is_bf16;		 /* products in bf16, else fp32; trainer_format.c */
	char device[300];	 /* the backend and why it was chosen; ops_describe() */
	struct profile *profile; /* of the model's ops; NULL: not asked for */
	double profiled_s;	 /* of the profiled steps */
	int64_t profiled_steps;	 /* -1: none, not even the first one, which does not count */
	int64_t products_saved;	 /* measured choices in the file of trainer_save_products() */
	struct adam adam;
	struct ema *ema;	   /* NULL: no moving average */
	int64_t ema_pending_steps; /* steps that the average does not include yet */
	struct rate_schedule rate_schedule;

	struct ckpt_state state; /* of the run now; the next checkpoint saves it */
	char *resumed;		 /* owned, first rank: checkpoint that the run resumed; or NULL */
	bool resumed_average;	 /* the model of this checkpoint is the moving average */
	char *start_text;	 /* owned, first rank: event if it starts from a model; or NULL */

	struct trainer_ranks ranks;
	struct trainer_progress progress;
	struct trainer_last_step last_step;
	struct trainer_stopping stopping;
	struct trainer_time time;
	struct rescue *rescue; /* owned; NULL: impossible here */
	struct step_meter meter;
	struct trainer_records records;
	struct weight_changes *weight_changes; /* first rank, owned; NULL before changes_open() */
};

static inline bool trainer_is_first(const struct trainer *t)
{
	return t->comm->rank == 0;
}

/* Tell the watchdog what this rank does now. */
static inline void trainer_at_phase(const struct trainer *t, enum rank_phase phase)
{
	heartbeat_set_phase(t->ranks.heartbeat, t->state.step, phase);
}

/* trainer_open.c: everything before the first step. After a failure call trainer_close(), too. */
int trainer_open(struct trainer *t, struct err *e);
void trainer_close(struct trainer *t);
/* CPU threads of this rank; 0: all. */
int trainer_threads(const struct trainer *t);

/*
 * trainer_products.c: the algorithms of matrix products that this process or an earlier attempt has
 * measured. load: before the first product; a file that cannot be used is a warning, and so is one that is
 * missing when the run resumes. save: before a checkpoint, if there are new ones; a failure is a warning,
 * and the next checkpoint tries again.
 */
int trainer_load_products(struct trainer *t, struct err *e);
void trainer_save_products(struct trainer *t);

/* trainer_gpu.c: choose t->gpu, together with all ranks. */
int trainer_choose_gpu(struct trainer *t, struct err *e);

/*
 * trainer_format.c: choose t->is_bf16, together with all ranks; after trainer_choose_gpu(). With
 * precision = auto a run keeps the format that it began with; a new one takes bf16 if all ranks have
 * products of bf16.
 * trainer_means_bf16(): what precision means on this rank alone.
 * trainer_warn_of_format(): first rank, once a run: warns that another format is faster here.
 */
int trainer_choose_format(struct trainer *t, struct err *e);
bool trainer_means_bf16(const struct conf *c, const struct ops *ops, int gpu);
void trainer_warn_of_format(struct trainer *t);

/*
 * trainer_start.c: a start with the weights of a model, without its moments. Either start_from
 * names the model (checkpoint NULL), or the newest checkpoint of the run itself is an imported
 * one, which has weights only (start_weights_lack_moments()).
 * start_weights_load(): first rank. start_weights_report(): all ranks; after such a start it writes
 * an event and evaluates before the first step.
 */
bool start_weights_lack_moments(const char *checkpoint, const struct ckpt_state *found);
int start_weights_load(struct trainer *t, const char *checkpoint, struct err *e);
int start_weights_report(struct trainer *t, struct err *e);

/* trainer_step.c: one optimizer step; advances state.step and state.loader_position. */
int trainer_step(struct trainer *t, struct err *e); /* 0 with last_step.is_cut: not done */

/* trainer_stop.c. First rank: read the control file into stopping.requests. */
void trainer_read_requests(struct trainer *t);
/* asks = what this rank was asked. */
void trainer_own_stop(struct trainer *t, int64_t asks[N_STOP_ASKS]);
/* asks: the maxima over ranks. Sets signalled_rank. */
bool trainer_must_stop(struct trainer *t, const int64_t asks[N_STOP_ASKS]);
/*
 * Before each micro-batch: must the step end here? done: micro-batches of this rank in this step;
 * call it with 0, 1, 2, ...
 */
int trainer_cut_step(struct trainer *t, int64_t done, bool *cut, struct err *e);

/*
 * trainer_rescue.c: the first rank saves its state alone when other ranks are lost.
 * trainer_rescue_open() belongs after the state is loaded. trainer_allow_rescue(): from now on the
 * state does not change, or it may change; false waits for the end of a rescue under way.
 * trainer_rescue_after(): the training loop has failed with this code.
 */
int trainer_rescue_open(struct trainer *t, struct err *e);
void trainer_rescue_close(struct trainer *t);
void trainer_allow_rescue(struct trainer *t, bool allow);
void trainer_rescue_after(struct trainer *t, int code);

/*
 * trainer_local_steps.c: with local_steps = k, each rank makes k optimizer steps alone: with its
 * own micro-batches, scaled by its own tokens and clipped by its own norm. Then the ranks average.
 * They add up the changes of their weights since the last average, in the format of "wire", and
 * go on from the mean. They also average both moments, in bf16 unless wire is fp32.
 *
 * Afterwards all ranks are in the same state, as a checkpoint needs it, so a run can resume with
 * any number of ranks. An average sends 3 (fp32), 1.5 (bf16) or a little more than 1 (2bit, 1bit)
 * times the bytes of an fp32 gradient, so k = 4 and more save time. Ranks average after every k-th
 * step, and after steps at which the run saves, evaluates or ends. Records have the loss of all
 * ranks and the gradient norm of the first rank.
 */
int local_steps_open(struct trainer *t, struct err *e); /* all ranks are in the same state */
void local_steps_close(struct trainer *t);
/* Do the ranks average after the step that has just been made? */
bool local_steps_is_due(const struct trainer *t);
/* sums: of this rank's step; if due, they become the sums of all ranks since the last average. */
int local_steps_end_step(struct trainer *t, double sums[N_SUMS], struct err *e);
/* Options of the reduction of moments; weights: those of the weights. */
struct reduce_options local_steps_moment_options(const struct reduce_options *weights);

/*
 * trainer_staging.c: MPI sends from and to host memory. With a GPU backend and several ranks,
 * arrays pass through the host staging buffer (ranks.staging); with a CPU backend these functions
 * copy nothing. If NCCL connects the GPUs, gradients and weights don't use the buffer, but
 * checkpoints and the broadcasts at the start do.
 */
int staging_open(struct trainer *t, struct err *e);
void staging_close(struct trainer *t);
/* Bytes of the staging buffer of one rank. */
size_t staging_memory(const struct trainer *t, bool has_device_memory);
/* Try NCCL, after the model is open. Without NCCL: an event says why, and the result is 0. */
int staging_connect_gpus(struct trainer *t, struct err *e);
/* The array that is reduced: the gradient array itself, or the staging buffer. */
float *staging_gradients(struct trainer *t);
/* arena (in the backend's memory) = that of the first rank. */
int staging_broadcast(struct trainer *t, float *arena, struct err *e);
/* reduce_all_gather() of an array in the backend's memory. */
int staging_all_gather(struct trainer *t, float *arena, struct err *e);
/* reduce_all() of an array in the backend's memory. */
int staging_all_reduce(struct trainer *t, struct reduce *r, float *arena, struct err *e);
/* Wait for the backend, and check that no rank failed in a sum or all-gather. */
int staging_synchronise(struct trainer *t, struct err *e);
/* This rank's error feedback in host memory, maybe in the staging buffer; borrowed. */
const float *staging_error_feedback(struct trainer *t);
/* This rank's error feedback = the staging buffer. */
void staging_set_error_feedback(struct trainer *t);
/* Copy gradients to the staging buffer and mark them ready, bucket by bucket. */
void staging_copy_to_host(struct trainer *t);
/* Copy the sums back; with a sharded optimizer only the own pieces. */
void staging_copy_to_device(struct trainer *t);

/*
 * trainer_ema.c: the moving average of the weights. With several ranks each rank stores the
 * average of its own pieces (buckets.h). With local steps the average is updated when the ranks
 * are in sync.
 */
int trainer_ema_open(struct trainer *t, struct err *e); /* all ranks have the same weights */
void trainer_ema_step(struct trainer *t);		/* after each step */
size_t trainer_ema_memory(const struct trainer *t);	/* bytes on this rank */
/*
 * Collective. *whole = the average of all weights, in the backend's memory; NULL: no average. With
 * several ranks it is in the gradient array: valid until the next step, or until moments are saved.
 */
int trainer_ema_gather(struct trainer *t, const float **whole, struct err *e);

/*
 * trainer_changes.c: at each evaluation, the record "weights" says how far each weight matrix has
 * moved since the last one. A part of the model that does not learn is visible there. Both
 * functions do nothing on ranks other than the first; they only read the weights.
 */
int changes_open(struct trainer *t, struct err *e); /* after the weights are loaded */
void changes_close(struct trainer *t);
int changes_report(struct trainer *t, struct err *e);

/* The change of a sample of weights. */
struct weight_change {
	double moved; /* norm of the change divided by the norm before; NAN: all were 0 */
	double still; /* share of the chunks in which no weight has changed */
};
/* before, now: (n_chunks, width) */
void weight_change_find(const float *before, const float *now, size_t n_chunks, size_t width,
			struct weight_change *found);

/*
 * trainer_time.c: the time limit. The first rank measures and decides, all ranks do what it decides.
 * trainer_time_step(): after each step. trainer_time_ask(): first rank, seconds of training so far;
 * asks by trainer_time_obey(): all ranks, with the same asks, before a step.
 */
enum { TIME_IS_OVER, TIME_IS_TIGHT, TIME_COOLDOWN_TO, N_TIME_ASKS };
void trainer_time_step(struct trainer *t);
void trainer_time_ask(const struct trainer *t, double seconds, int64_t asks[N_TIME_ASKS]);
int trainer_time_obey(struct trainer *t, const int64_t asks[N_TIME_ASKS], struct err *e);
/* All ranks, after the state is loaded: a cool-down that was decided for this limit goes on. */
void trainer_time_resume(struct trainer *t);
/* First rank, after an evaluation of so many seconds: was the limit kept? */
void trainer_time_evaluated(struct trainer *t, double seconds);

/* trainer_report.c; all do nothing on ranks other than the first. */
int report_start(struct trainer *t, struct err *e);
/* Write the record "train" if one is due, and the progress line. */
int report_step(struct trainer *t);
/* is_alone: by trainer_rescue.c */
int report_save(struct trainer *t, int64_t bytes, double seconds, bool is_alone);
/* The record that an evaluation begins, and on a terminal a line. */
int report_evaluating(struct trainer *t);
/* The record of a decided cool-down; is_first: also a line on standard error. */
int report_cooldown(struct trainer *t, bool is_first, const char *text);
/* An event in the journal and on standard error. */
int report_event(struct trainer *t, const char *level, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A warning about a sign of learning_watch.h: an event with the name of the sign. */
int report_warning(struct trainer *t, const char *sign, const char *text);
/*
 * Write the record "stop"; a run that finished says why, and how to train on. A stop on request has
 * stopping.signalled_rank, unless it is -1.
 */
int report_stop(struct trainer *t, enum run_end_why why, int exit_status, struct err *e);
/* End the progress line of a terminal, so that other text can follow. */
void report_end_line(struct trainer *t);

/*
 * trainer_watch.c: warnings about the recipe and about how the run learns, as events of the journal; only on the first
 * rank. After a resume, warnings of earlier attempts are not repeated. watch_step() belongs to a
 * record "train", before the meter is cleared; nll: of the record. The scores of an evaluation are
 * NAN if unknown.
 */
int watch_open(struct trainer *t, struct err *e);
void watch_step(struct trainer *t, double nll);
/* Has training diverged, and stop_on asks to stop then? */
bool watch_must_stop(const struct trainer *t);
void watch_evaluation(struct trainer *t, double bleu, double dev_nll, double train_nll);

/*
 * trainer_save.c: collective. Save a checkpoint of this step, unless there is one. A failure leaves
 * older checkpoints untouched; the run warns, goes on, and tries again after a minute, or earlier
 * when the next checkpoint is due. The second failure in a row is ERR_IO, and so is a failure with
 * must: there is no later try then.
 */
/*
 * ERR_TEMPFAIL: the folder of the run was exchanged, for example for that of a new run of this name.
 * Checked before anything is written by its path.
 */
int trainer_check_folder(const struct trainer *t, struct err *e);
int trainer_save(struct trainer *t, bool must, struct err *e);
/* Collective: save, then evaluate. A failed evaluation is a warning, not an error. */
int trainer_evaluate(struct trainer *t, struct err *e);
/* First rank: update the best checkpoint and evals_since_best from the list of evaluations. */
void trainer_update_best(struct trainer *t);
/* Training time so far, of all attempts. */
double trainer_seconds(const struct trainer *t);

#endif
