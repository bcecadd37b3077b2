/*
 * local_steps.h - steps of each rank alone, between averages of the weights.
 *
 * With local_steps = k, each rank makes k optimizer steps alone: with its own micro-batches, scaled
 * by its own tokens and clipped by its own norm. Then the ranks average. They add up the changes of
 * their weights since the last average, in the format of "wire", and go on from the mean. They also
 * average both moments, in bf16 unless wire is fp32.
 *
 * Afterwards all ranks are in the same state, as a checkpoint needs it, so a run can resume with
 * any number of ranks. An average sends 3 (fp32), 1.5 (bf16) or a little more than 1 (2bit, 1bit)
 * times the bytes of an fp32 gradient, so k = 4 and more save time. Ranks average after every k-th
 * step, and after steps at which the run saves, evaluates or ends. Records have the loss of all
 * ranks and the gradient norm of the first rank.
 */
#ifndef WERKBANK_TRAIN_TRAINER_LOCAL_STEPS_H
#define WERKBANK_TRAIN_TRAINER_LOCAL_STEPS_H

#include "share/conf/conf.h"
#include "train/optim/adam.h"
#include "train/trainer/exchange.h"
#include "train/watch/telemetry.h"

/* Sums of a step over its tokens, which the ranks add up together with gradients. */
enum { SUM_LOSS, SUM_NLL, SUM_TARGET, SUM_SOURCE, N_SUMS };

struct local_steps;

/* All ranks are in the same state. Borrows everything. NULL: failure. */
struct local_steps *local_steps_open(const struct conf *c, const struct exchange *x,
				     struct adam *adam, struct err *e);
void local_steps_close(struct local_steps *a); /* before exchange_close(); may be NULL */
/* Do the ranks average after this step (from 1)? a NULL: yes, there is nothing to average. */
bool local_steps_is_due(const struct local_steps *a, int64_t step);
/*
 * After each step. sums: of this rank's step; if the average is due, they become the sums of all
 * ranks since the last average, else 0. Adds to the times of the step.
 */
int local_steps_end_step(struct local_steps *a, int64_t step, double sums[N_SUMS],
			 struct step_times *times, struct err *e);
/* Options of the reduction of moments; weights: those of the weights. */
struct reduce_options local_steps_moment_options(const struct reduce_options *weights);

#endif
