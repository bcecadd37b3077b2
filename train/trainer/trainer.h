/*
 * trainer.h - one rank of a training run.
 *
 * Reads corpora/CORPUS (train.shard, vocab.tsv, bpe.codes or sentencepiece.model) and works in
 * runs/NAME: resumes the newest intact checkpoint or starts anew, trains, saves, evaluates and
 * writes the journal.
 *
 * A step is `micro_batches` micro-batches. All micro-batches of a run form one sequence; rank i mod
 * ranks computes number i. Their gradients are summed and divided by the target tokens of the whole
 * step. So the result does not depend on how often the run was stopped, nor on the number of ranks,
 * except for the order of additions.
 */
#ifndef WERKBANK_TRAIN_TRAINER_TRAINER_H
#define WERKBANK_TRAIN_TRAINER_TRAINER_H

#include <stdatomic.h>

#include "share/base/err.h"
#include "share/conf/conf.h"
#include "train/comm/comm.h"

/* What signal handlers of the caller set, and several threads read. */
struct trainer_signals {
	atomic_int stop;      /* the last signal that asks to stop; 0: none */
	atomic_int continued; /* number of SIGCONTs */
};

/*
 * Train the run c->run of the workspace; c holds its recipe, after conf_apply_size(). 0: finished,
 * by steps, time or patience. ERR_TEMPFAIL: saved and stopped on request (signals->stop became
 * non-zero, or "stop" in the run's control file). ERR_DIVERGED: saved and stopped by stop_on. After
 * any other failure with several ranks the caller must call comm->abort().
 */
int trainer_run(const struct conf *c, struct comm *comm, const struct trainer_signals *signals,
		struct err *e);

/* Bytes that one rank takes, and bytes that there are (NAN: unknown); gpu 0: no GPU computes. */
struct trainer_forecast {
	double host, host_total;
	double gpu, gpu_total;
	double parameters; /* their number */
};

/*
 * Forecast of the memory that one of `ranks` ranks takes, c as for trainer_run(). If the corpus is not prepared, the
 * vocabulary is estimated from its merges. A backend that this machine lacks counts as the CPU, which takes more.
 */
int trainer_forecast_memory(const struct conf *c, int ranks, struct trainer_forecast *f,
			    struct err *e);

#endif
