/*
 * decode_rig.h - decoding with random weights of a realistic size, for benchmarks
 *
 *	struct decode_rig r = { .beam = 4, … };
 *	decode_rig_open(&r, e); decode_rig_run(&r, &tokens, e); …; decode_rig_close(&r);
 *
 * Every sentence has `length` source tokens and gets exactly `length` target tokens: the weights make
 * </s> improbable. With is_mixed, lengths differ, from 1/2 to 3/2 of `length`, and a translation is as
 * long as its source.
 */
#ifndef WERKBANK_TESTS_BENCH_DECODE_RIG_H
#define WERKBANK_TESTS_BENCH_DECODE_RIG_H

#include "eval/decode/decode.h"
#include "train/model/model.h"

struct decode_rig {
	/* set by the caller */
	const struct ops *ops; /* borrowed */
	const char *size;      /* tiny, base or big */
	const char *precision; /* fp32, bf16 or int8 */
	int64_t vocabulary;    /* below 8: that of the size */
	int64_t beam, sentences, length, threads, workers;
	int64_t decode_tokens; /* decode_options.decode_tokens; 0: no limit */
	int64_t few_rows;      /* dev_options.few_rows */
	bool graphs;
	bool dependent_launch; /* gpu_ways.dependent_launch */
	bool is_mixed;
	bool whole_batches; /* decode_options.whole_batches */
	/* set by decode_rig_open() */
	struct model_shape shape;
	struct model *m;
	struct decoder *d;
	struct decode_source *sources;
	struct decode_result *results;
	int32_t *ids;
	/* set by decode_rig_run() */
	int64_t steps, rows; /* steps of decoding, and the hypotheses in them */
	int64_t most_rows;   /* in one step */
};

/* The model of a size; vocabulary as in struct decode_rig. */
struct model_shape decode_rig_shape(const char *size, int64_t vocabulary);
/* Call decode_rig_close() after a failure too. */
int decode_rig_open(struct decode_rig *r, struct err *e);
/* Translate all sentences once; *tokens: target tokens of the best hypotheses. */
int decode_rig_run(struct decode_rig *r, int64_t *tokens, struct err *e);
void decode_rig_close(struct decode_rig *r);

#endif
