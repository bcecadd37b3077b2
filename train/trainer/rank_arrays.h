/*
 * rank_arrays.h - the arrays of a checkpoint that are distributed over ranks.
 *
 * With a sharded optimizer each rank has its parts of both moments, and with int8, 2bit or 1bit its own
 * error feedback. A checkpoint holds all of them: the first rank receives them one after the other
 * and writes each before the next one; when the run resumes, it sends them back.
 */
#ifndef WERKBANK_TRAIN_TRAINER_RANK_ARRAYS_H
#define WERKBANK_TRAIN_TRAINER_RANK_ARRAYS_H

#include "train/ckpt/ckpt.h"
#include "train/optim/adam.h"
#include "train/trainer/exchange.h"

/* Everything is borrowed. First rank: the arrays next .. n - 1 are still to be received. */
struct rank_arrays {
	const struct exchange *x;
	const struct adam *adam;
	int next, n;
};

/* Arrays of a checkpoint of this job; the same on all ranks. */
struct rank_arrays rank_arrays_begin(const struct exchange *x, const struct adam *adam);
/* First rank: a get() of struct ckpt_arenas, in the order of numbers; arg: a struct rank_arrays. */
int rank_arrays_get(void *arg, int which, struct ckpt_arena *found, struct err *e);
/* First rank, after a failure to save: receive the rest, because the other ranks send all arrays. */
int rank_arrays_drain(struct rank_arrays *a, struct err *e);
/* The other ranks: send the arrays that the first rank receives. */
int rank_arrays_send(const struct rank_arrays *a, struct err *e);

/*
 * Collective: moments and error feedback of the checkpoint, which only the first rank reads (path;
 * without a sharded optimizer it has loaded its moments already). The error feedback is used if
 * ranks, wire and buckets are those of s; otherwise records get an event.
 */
int rank_arrays_load(const struct rank_arrays *a, const char *path, const struct ckpt_state *s,
		     struct run_records *records, struct err *e);

#endif
