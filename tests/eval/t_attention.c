/* t_attention.c - maps of attention against the alignment of decoding, and heads against their mean. */
#include "tests/train/sharp_model.h"

#define N_BEST 3

/* The map of a layer and a head (-1: the mean); the caller frees it. */
static float *map_of(struct decoder *d, const struct decode_source *s, struct decode_result *r,
		     int32_t layer, int32_t head)
{
	struct decode_attention a = { .layer = layer, .head = head };
	struct err e = { 0 };

	check_int(decoder_attention(d, s, r, &a, &e), 0);
	check_int(a.n_source, s->n + 1);
	return a.weights;
}

/* The position of the greatest weight, without the last, which is that of </s>. */
static int32_t greatest_weight(const float *row, int32_t n_source)
{
	int32_t best = 0;

	for (int32_t j = 1; j < n_source; j++)
		if (row[j] > row[best])
			best = j;
	return best;
}

static void check_attention(const struct model_shape *shape, struct decoder *d,
			    const struct decode_source *s, struct decode_result *r, double *apart)
{
	const int32_t cols = s->n + 1;
	float *maps[4][3];

	check(shape->decoder_layers <= 4 && shape->heads == 2);
	for (int32_t l = 0; l < shape->decoder_layers; l++) {
		int32_t row = 0;

		for (int32_t h = -1; h < 2; h++)
			maps[l][h + 1] = map_of(d, s, r, l, h);
		for (int32_t k = 0; k < r->n; k++)
			for (int32_t t = 0; t < r->hypotheses[k].n; t++, row++) {
				const float *mean = maps[l][0] + (int64_t)row * cols;
				double sum = 0;

				for (int32_t j = 0; j < cols; j++) {
					float one = maps[l][1][row * cols + j],
					      two = maps[l][2][row * cols + j];

					sum += (double)mean[j];
					check_near(mean[j], (one + two) / 2, 1e-5);
					*apart = MAX(*apart, fabs((double)(one - two)));
				}
				check_near(sum, 1, 1e-5);
				if (l == shape->decoder_layers - 2)
					check_int(greatest_weight(mean, s->n),
						  r->hypotheses[k].aligned[t]);
			}
	}
	for (int32_t l = 0; l < shape->decoder_layers; l++)
		for (int32_t h = 0; h < 3; h++)
			free(maps[l][h]);
}

TEST(attention_agrees_with_alignments)
{
	const struct decode_options o = { .beam = 4,
					  .n_best = N_BEST,
					  .alpha = 0.6,
					  .max_length_factor = 1.0,
					  .max_length_extra = 6,
					  .decode_tokens = 128,
					  .alignments = true };
	struct model *m = sharp_model(5);
	struct err e = { 0 };
	struct decoder *d = m ? decoder_new(m, CAPACITY, 1, &e) : NULL;
	struct decode_result r[N_SOURCES];
	double apart = 0;

	if (check(d && !decoder_run(d, &o, sources, N_SOURCES, r, &e))) {
		for (int i = 0; i < N_SOURCES; i++)
			check_attention(model_get_shape(m), d, &sources[i], &r[i], &apart);
		decode_results_free(r, N_SOURCES);
	}
	check(apart > 0.1);
	decoder_free(d);
	model_free(m);
}

TEST(attention_without_tokens)
{
	struct model *m = sharp_model(5);
	struct err e = { 0 };
	struct decoder *d = m ? decoder_new(m, CAPACITY, 1, &e) : NULL;
	struct decode_hypothesis none = { 0 };
	struct decode_result r = { .hypotheses = &none, .n = 1 };

	if (check(d != NULL)) {
		struct decode_source empty = { words, 0 };

		check(!map_of(d, &empty, &r, 0, -1));
		check(!map_of(d, &sources[0], &r, 0, 0));
	}
	decoder_free(d);
	model_free(m);
}
