/*
 * tune_plan.h - proposes options of [train] for tuning, from the size of the model and of the text
 *
 * A proposal is a value and its reason, one line for the user. Values that the user gave stay.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_TUNE_TUNE_PLAN_H
#define WERKBANK_TRAIN_LAUNCH_TUNE_TUNE_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/conf/conf.h"

/* What the proposals depend on. */
struct tune_facts {
	int32_t d_model;
	int64_t pairs, tokens; /* training pairs, and tokens of the longer side with </s> */
	int64_t dev_pairs;
};

/* All proposals have this origin, by which a later call knows them. */
#define TUNE_ORIGIN "tune"

/* Set each option that the user did not give, and append a line on each to out. */
int tune_plan_training(struct conf *c, const struct tune_facts *f, struct buf *out, struct err *e);

/*
 * Set one option if the user did not give it: append "  NAME = VALUE   REASON", or what the user gave.
 */
int tune_propose(struct conf *c, const char *name, const char *value, const char *reason,
		 struct buf *out, struct err *e);

#endif
