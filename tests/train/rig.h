/*
 * rig.h - training steps on random sentences without a run, for benchmarks and tests
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
#include "train/model/model.h"
#include "train/optim/adam.h"

struct rig_how {
	struct model_shape shape;
	const char *backend;
	const struct ops *ops;	   /* instead of backend, borrowed; or NULL */
	const struct shard *shard; /* borrowed by the rig */
	int32_t tokens;		   /* a side of a batch */
	int threads;
	bool bf16;
	float dropout; /* all three kinds */
	double rate;   /* learning rate */
	bool timed;    /* wait after each op: true seconds in the profile, on a GPU too */
	struct gpu_ways ways;
	bool has_no_relu_dropout;
	bool graphs; /* CUDA graphs and no profile, as in training on a GPU */
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
 * Write sentences with Zipf-distributed tokens, the same in every run. Their lengths are log-normal
 * as in WMT16 after BPE: median 26, mean 30 tokens. Each source token has one target token.
 */
int rig_make_shard(const char *path, int32_t vocabulary, int32_t sentences, struct err *e);

/* If r->profile is set, it counts all ops. Call rig_close() after a failure too. */
int rig_open(struct rig *r, const struct rig_how *how, struct err *e);
/* The next batch, gradients, norm, Adam with label smoothing 0.1; number counts from 0. */
int rig_step(struct rig *r, int number, struct model_sums *sums, struct err *e);
void rig_close(struct rig *r);

#endif
