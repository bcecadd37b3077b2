/*
 * processor_level.h - all ranks of a training use the same vector instructions.
 *
 * Processors with other vector units round sums in another order. Replicas that add the same
 * gradients would drift apart. So all ranks use the highest level that each of them supports.
 */
#ifndef WERKBANK_TRAIN_TRAINER_PROCESSOR_LEVEL_H
#define WERKBANK_TRAIN_TRAINER_PROCESSOR_LEVEL_H

#include "kernels/ops/cpu_level.h"
#include "train/comm/comm.h"
#include "train/trainer/run_records.h"

struct processor_level {
	enum cpu_level common, highest; /* of all ranks; the highest of any rank */
	char lowest_host[64];		/* that of the first rank whose level is the common one */
};

/*
 * Collective, before the backend opens and while the process has no other thread of Werkbank: lowers
 * the level of this process, by the environment variable WERKBANK_CPU, to the common one.
 */
int processor_level_agree(struct processor_level *p, struct comm *c, struct err *e);

/* An event, if some rank could use a higher level than the common one. */
int processor_level_record(const struct processor_level *p, struct run_records *r);

#endif
