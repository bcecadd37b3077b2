/*
 * bench_decode.c - how fast the decoder is, on random weights of a real size.
 *
 * usage: bench_decode [base|tiny|big] [beam] [sentences at once] [fp32|bf16|int8] [backend] [threads]
 *
 * Every sentence has 25 source tokens and gets exactly 25 target tokens: the
 * weights are turned away from </s>. tests/peers/ctranslate2_decode.py does the
 * same with CTranslate2. Prints target tokens per second (of the best
 * hypotheses), milliseconds and seconds of CPU per batch, the best of several
 * batches; on a machine with other work only the last says something.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "eval/decode.h"
#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "train/model.h"

#define N_TOKENS 25
#define REPEATS  5

struct bench {
	struct model_shape shape;
	struct dev_options dev;
	const char *backend;
	enum dtype packed;
	int64_t beam, sentences;
};

static const struct model_shape shapes[] = {
	{ 256, 1024, 4, 3, 3, 8192, 8192 },
	{ 512, 2048, 8, 6, 6, 32768, 32768 },
	{ 1024, 4096, 16, 6, 6, 32768, 32768 },
};

/* With </s> as unlikely as the norm's shift can make it, every hypothesis goes on to the greatest
 * length. */
static int turn_from_end(struct model *m, struct err *e)
{
	const struct ops *o = model_get_ops(m);
	int32_t d = model_get_shape(m)->d_model;
	const struct model_weights *w = model_get_weights(m);
	float *end = mem_alloc((size_t)d, sizeof(*end), e);

	if (!end)
		return e->code;
	o->to_host(model_get_dev(m), end, (float *)w->embed.data + TOKEN_END * d,
		   (size_t)d * sizeof(*end));
	for (int32_t i = 0; i < d; i++)
		end[i] *= -20;
	o->to_device(model_get_dev(m), w->decoder_norm_shift.data, end, (size_t)d * sizeof(*end));
	free(end);
	return 0;
}

static int measure(struct decoder *d, const struct bench *b, struct err *e)
{
	struct decode_options o = { .beam = (int32_t)b->beam,
				    .n_best = 1,
				    .alpha = 0.6,
				    .max_length_factor = 0,
				    .max_length_extra = N_TOKENS,
				    .decode_tokens = 1 << 20 };
	size_t n = (size_t)b->sentences;
	struct decode_source *sources = mem_alloc(n, sizeof(*sources), e);
	struct decode_result *results = mem_alloc(n, sizeof(*results), e);
	int32_t *ids = mem_alloc(n * N_TOKENS, sizeof(*ids), e);
	double best = 1e9, cpu = 1e9;
	int64_t tokens = 0;
	int code = sources && results && ids ? 0 : e->code;

	for (size_t i = 0; i < n * N_TOKENS && !code; i++)
		ids[i] = (int32_t)(N_SPECIAL_TOKENS +
				   i * 7919 % (size_t)(b->shape.vocabulary - N_SPECIAL_TOKENS));
	for (size_t i = 0; i < n && !code; i++)
		sources[i] = (struct decode_source){ ids + i * N_TOKENS, N_TOKENS };
	for (int r = 0; r < REPEATS && !code; r++) {
		double start = clock_mono_s(), used = (double)clock() / CLOCKS_PER_SEC;

		code = decoder_run(d, &o, sources, n, results, e);
		best = MIN(best, clock_mono_s() - start);
		cpu = MIN(cpu, (double)clock() / CLOCKS_PER_SEC - used);
		tokens = 0;
		for (size_t i = 0; i < n && !code; i++)
			tokens += results[i].hypotheses[0].n;
		decode_results_free(results, code ? 0 : n);
	}
	if (!code)
		printf("%s beam %lld, %zu sentences: %.0f target tokens/s, %.1f ms, %.2f CPU s "
		       "(%lld tokens)\n",
		       b->backend, (long long)b->beam, n, (double)tokens / best, best * 1000, cpu,
		       (long long)tokens);
	free(sources);
	free(results);
	free(ids);
	return code;
}

static int run(const struct bench *b, struct err *e)
{
	const struct ops *ops = ops_find(b->backend, e);
	struct model *m = ops ? model_new(&b->shape, ops, &b->dev, e) : NULL;
	int32_t capacity = (int32_t)b->sentences * (N_TOKENS + 1);
	struct decoder *d = NULL;
	int code = m ? model_reserve_forward(m, capacity, capacity / 2, e) : e->code;

	if (!code)
		code = model_init(m, 1, e);
	if (!code)
		code = turn_from_end(m, e);
	if (!code)
		code = model_pack(m, b->packed, e);
	if (!code) {
		d = decoder_new(m, capacity, e);
		code = d ? measure(d, b, e) : e->code;
	}
	decoder_free(d);
	model_free(m);
	return code;
}

int main(int argc, char **argv)
{
	const char *size = argc > 1 ? argv[1] : "base";
	struct bench b = { .beam = 4, .sentences = 32, .backend = argc > 5 ? argv[5] : "cpu" };
	int64_t threads = 2;
	struct err e = { 0 };

	b.shape = shapes[!strcmp(size, "tiny") ? 0 : !strcmp(size, "big") ? 2 : 1];
	if ((argc > 2 && !text_to_int(argv[2], &b.beam)) ||
	    (argc > 3 && !text_to_int(argv[3], &b.sentences)) ||
	    (argc > 6 && !text_to_int(argv[6], &threads))) {
		fprintf(stderr, "usage: bench_decode [tiny|base|big] [beam] [sentences] "
				"[fp32|bf16|int8] [backend] [threads]\n");
		return 64;
	}
	b.packed = argc > 4 && !strcmp(argv[4], "bf16")	  ? DTYPE_PACKED_BF16
		   : argc > 4 && !strcmp(argv[4], "int8") ? DTYPE_PACKED_INT8
							  : DTYPE_PACKED_F32;
	b.dev.bf16 = b.packed == DTYPE_PACKED_BF16;
	b.dev.threads = (int)threads;
	if (run(&b, &e)) {
		fprintf(stderr, "bench_decode: %s\n", e.text);
		return err_exit_status(e.code);
	}
	return 0;
}
