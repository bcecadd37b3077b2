/* decode_rig.c - see decode_rig.h */
#include "tests/bench/decode_rig.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"

static const struct model_shape decode_shapes[] = {
	{ .d_model = 256,
	  .d_ff = 1024,
	  .heads = 4,
	  .encoder_layers = 3,
	  .decoder_layers = 3,
	  .vocabulary = 8192,
	  .real_vocabulary = 8192 },
	{ .d_model = 512,
	  .d_ff = 2048,
	  .heads = 8,
	  .encoder_layers = 6,
	  .decoder_layers = 6,
	  .vocabulary = 32768,
	  .real_vocabulary = 32768 },
	{ .d_model = 1024,
	  .d_ff = 4096,
	  .heads = 16,
	  .encoder_layers = 6,
	  .decoder_layers = 6,
	  .vocabulary = 32768,
	  .real_vocabulary = 32768 },
};

/*
 * The ops with a count of steps. Only a step of decoding calls linear_top_k(), once. On a GPU with
 * graphs the count has recorded steps alone.
 */
static struct ops counted;
static void (*real_linear_top_k)(struct dev *d, float *values, int32_t *ids, struct tensor x,
				 struct tensor weight, const float *bias, int64_t n_real,
				 int32_t k);
static int64_t n_steps, n_rows, most_rows;

static void count_linear_top_k(struct dev *d, float *values, int32_t *ids, struct tensor x,
			       struct tensor weight, const float *bias, int64_t n_real, int32_t k)
{
	n_steps++;
	n_rows += x.rows;
	most_rows = MAX(most_rows, x.rows);
	real_linear_top_k(d, values, ids, x, weight, bias, n_real, k);
}

static const struct ops *count_steps(const struct ops *o)
{
	counted = *o;
	real_linear_top_k = o->linear_top_k;
	counted.linear_top_k = count_linear_top_k;
	return &counted;
}

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
	o->to_device(model_get_dev(m), model_output_norm(m).shift, end, (size_t)d * sizeof(*end));
	free(end);
	return 0;
}

static int make_sources(struct decode_rig *r, struct err *e)
{
	const size_t n = (size_t)r->sentences, length = (size_t)r->length,
		     n_ids = n * (length + length / 2);

	r->sources = mem_alloc(n, sizeof(*r->sources), e);
	r->results = mem_alloc(n, sizeof(*r->results), e);
	r->ids = mem_alloc(n_ids, sizeof(*r->ids), e);
	if (!r->sources || !r->results || !r->ids)
		return e->code;
	for (size_t i = 0; i < n_ids; i++)
		r->ids[i] = (int32_t)(N_SPECIAL_TOKENS +
				      i * 7919 % (size_t)(r->shape.vocabulary - N_SPECIAL_TOKENS));
	for (size_t i = 0; i < n; i++) {
		/* cubes: few long sentences, many short ones, as in text */
		const size_t part = i * 7919 % 64,
			     mixed = length / 2 + length * part * part * part / (64 * 64 * 64) + 1;

		r->sources[i].ids = r->ids + i * (length + length / 2);
		r->sources[i].n = (int32_t)(r->is_mixed ? mixed : length);
	}
	return 0;
}

struct model_shape decode_rig_shape(const char *size, int64_t vocabulary)
{
	struct model_shape s = decode_shapes[!strcmp(size, "tiny")  ? 0
					     : !strcmp(size, "big") ? 2
								    : 1];

	if (vocabulary >= 8)
		s.vocabulary = s.real_vocabulary = (int32_t)(vocabulary / 8 * 8);
	return s;
}

int decode_rig_open(struct decode_rig *r, struct err *e)
{
	const enum dtype packed = !strcmp(r->precision, "int8")	  ? DTYPE_PACKED_INT8
				  : !strcmp(r->precision, "bf16") ? DTYPE_PACKED_BF16
								  : DTYPE_PACKED_F32;
	const struct dev_options dev = { .threads = (int)r->threads,
					 .is_decoding = true,
					 .few_rows = (int)r->few_rows,
					 .graphs = r->graphs,
					 .ways.dependent_launch = r->dependent_launch,
					 .bf16 = packed == DTYPE_PACKED_BF16 };
	const int32_t capacity = (int32_t)(r->sentences * (r->length + r->length / 2 + 1));

	r->shape = decode_rig_shape(r->size, r->vocabulary);
	r->m = model_new(&r->shape, count_steps(r->ops), &dev, e);
	if (!r->m || model_reserve_forward(r->m, capacity, MAX(1, capacity / 2), e) ||
	    model_init(r->m, 1, e) || turn_from_end(r->m, e) || model_pack(r->m, packed, e) ||
	    !(r->d = decoder_new(r->m, capacity, (int32_t)r->workers, e)))
		return e->code;
	return make_sources(r, e);
}

int decode_rig_run(struct decode_rig *r, int64_t *tokens, struct err *e)
{
	const struct decode_options o = { .beam = (int32_t)r->beam,
					  .n_best = 1,
					  .alpha = 0.6,
					  .max_length_factor = r->is_mixed ? 1 : 0,
					  .max_length_extra = r->is_mixed ? 0 : (int32_t)r->length,
					  .decode_tokens = r->decode_tokens
								   ? (int32_t)r->decode_tokens
								   : 1 << 20,
					  .whole_batches = r->whole_batches };
	const size_t n = (size_t)r->sentences;

	n_steps = n_rows = most_rows = 0;
	if (decoder_run(r->d, &o, r->sources, n, r->results, e))
		return e->code;
	r->steps = n_steps;
	r->rows = n_rows;
	r->most_rows = most_rows;
	*tokens = 0;
	for (size_t i = 0; i < n; i++)
		*tokens += r->results[i].hypotheses[0].n;
	decode_results_free(r->results, n);
	return 0;
}

void decode_rig_close(struct decode_rig *r)
{
	decoder_free(r->d);
	model_free(r->m);
	free(r->sources);
	free(r->results);
	free(r->ids);
	memset(r, 0, sizeof(*r));
}
