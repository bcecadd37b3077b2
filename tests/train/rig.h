/*
 * rig.h - training without a run: sentences made up, a model, Adam, step after step.
 * For benches and tests.
 *
 *	rig_make_shard(path, vocabulary, sentences, e);
 *	struct rig r = { 0 };
 *	rig_open(&r, &how, e);
 *	rig_step(&r, number, &sums, e); …
 *	rig_close(&r);
 */
#ifndef WERKBANK_TESTS_TRAIN_RIG_H
#define WERKBANK_TESTS_TRAIN_RIG_H

#include "data/shard/loader.h"
#include "data/shard/shard.h"
#include "kernels/profile.h"
#include "train/model/adam.h"
#include "train/model/model.h"

struct rig_how {
	struct model_shape shape;
	const char *backend;
	const struct shard *shard; /* borrowed by the rig */
	int32_t tokens;		   /* a side of a batch */
	int threads;
	bool bf16;
	float dropout; /* all three kinds */
	double rate;   /* learning rate */
	bool timed;    /* wait after each op: true seconds in the profile, on a GPU too */
	bool graphs;   /* as trainings do on a GPU: CUDA graphs, and no profile */
};

struct rig {
	struct rig_how how;
	struct profile *profile; /* NULL: how.graphs */
	struct model *m;
	struct adam adam;
	struct loader *loader;
	struct batch batch;
	double norm; /* of the last step's gradient, per target token */
};

/*
 * Sentences of Zipf's tokens, the same in every run, with lengths as in WMT16 after BPE: log-normal,
 * 26 tokens in the middle, 30 on average. The target says the same in other words.
 */
int rig_make_shard(const char *path, int32_t vocabulary, int32_t sentences, struct err *e);

/* All ops go through r->profile, if any, which counts them. On failure too rig_close() is due. */
int rig_open(struct rig *r, const struct rig_how *how, struct err *e);
/* The next batch, gradients, norm, Adam with label smoothing 0.1; number counts from 0. */
int rig_step(struct rig *r, int number, struct model_sums *sums, struct err *e);
void rig_close(struct rig *r);

#endif
