/*
 * exchange.h - flat arrays of the model between ranks: broadcast, all-reduce, all-gather.
 *
 * MPI sends from and to host memory. With a GPU backend and several ranks, arrays pass through the
 * host staging buffer; with a CPU backend these functions copy nothing. If NCCL connects the GPUs,
 * gradients and weights don't use the buffer, but checkpoints and the broadcasts at the start do.
 */
#ifndef WERKBANK_TRAIN_TRAINER_EXCHANGE_H
#define WERKBANK_TRAIN_TRAINER_EXCHANGE_H

#include <stdbool.h>

#include "share/conf/conf.h"
#include "train/comm/comm.h"
#include "train/comm/reduce.h"
#include "train/model/model.h"
#include "train/trainer/run_records.h"

/* With one rank only comm, model and options are set. */
struct exchange {
	struct comm *comm;   /* borrowed */
	struct model *model; /* borrowed */
	struct reduce_options options;
	struct reduce *reduce; /* owned: of gradients, or with local steps of weights */
	/*
	 * (floats) in host memory. CPU: the gradient array itself. GPU: the host staging buffer,
	 * owned.
	 */
	float *staging;
	struct range *own_pieces; /* (buckets) owned: pieces of this rank */
};

/*
 * Options of the reductions by the recipe and the shape; model and buffers are opened later.
 * After a failure of either call exchange_close(), too.
 */
int exchange_plan(struct exchange *x, const struct conf *c, const struct model_shape *shape,
		  struct comm *comm, struct err *e);
/*
 * The first steps of a run, whose reductions use fp32. Adam's second moments must be those of gradients without
 * the noise of compression (Tang et al. 2021, "1-bit Adam"), so 2bit and 1bit begin after the warm-up of the rate.
 */
int64_t exchange_exact_steps(const struct conf *c);
/* The step from which Adam holds its second moments, as 1-bit Adam does: the end of the exact steps; 0: it never does. */
int64_t exchange_held_after(const struct conf *c);
/* Collective. Tries NCCL between GPUs; without it, records get an event that says why. */
int exchange_open(struct exchange *x, struct model *model, struct run_records *records,
		  struct err *e);
void exchange_close(struct exchange *x); /* before model_free() */
/* Bytes of the staging buffer of one rank. */
size_t exchange_memory(const struct exchange *x, bool has_device_memory);

static inline bool exchange_is_first(const struct exchange *x)
{
	return x->comm->rank == 0;
}

/* The array that is reduced: the gradient array itself, or the staging buffer. */
float *exchange_gradients(const struct exchange *x);
/* arena (in the backend's memory) = that of the first rank. */
int exchange_broadcast(const struct exchange *x, float *arena, struct err *e);
/* reduce_all_gather() of an array in the backend's memory. */
int exchange_all_gather(const struct exchange *x, float *arena, struct err *e);
/* reduce_all() by r of an array in the backend's memory. */
int exchange_all_reduce(const struct exchange *x, struct reduce *r, float *arena, struct err *e);
/* Wait for the backend, and check that no rank failed in a sum or all-gather. */
int exchange_synchronise(const struct exchange *x, struct err *e);
/* Does this job have error feedback? The same on all ranks. */
bool exchange_has_feedback(const struct exchange *x);
/* This rank's error feedback in host memory, maybe in the staging buffer; borrowed. */
const float *exchange_feedback(const struct exchange *x);
/* This rank's error feedback = the staging buffer. */
void exchange_set_feedback(const struct exchange *x);
/* Copy gradients to the staging buffer and mark them ready, bucket by bucket. */
void exchange_copy_to_host(const struct exchange *x);
/* Copy the sums back; with a sharded optimizer only the own pieces. */
void exchange_copy_to_device(const struct exchange *x);

#endif
