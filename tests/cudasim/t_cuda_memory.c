/*
 * t_cuda_memory.c - training allocates exactly the GPU memory that model_memory_needs() computed before
 * the GPU was opened; on the simulated GPU (sim.h).
 */
#include "share/base/util.h"
#include "tests/cudasim/sim.h"
#include "tests/train/small_model.h"
#include "train/optim/adam.h"

static const struct model_pass_options how = { .dropout = 0.1f,
					       .attention_dropout = 0.1f,
					       .relu_dropout = 0.1f,
					       .smoothing = 0.1f,
					       .grad_scale = 1 };

/* A batch of the greatest size, of two sentences. */
static bool fill(struct batch *b, int32_t tokens, struct err *e)
{
	int32_t ids[128];

	if (batch_alloc(b, SMALL_SENTENCES, tokens, e))
		return false;
	batch_clear(b);
	for (int32_t i = 0; i < tokens; i++)
		ids[i] = 4 + 3 * i % 21;
	return batch_add(b, 0, ids, tokens - 3, ids, tokens - 3) && batch_add(b, 1, ids, 1, ids, 1);
}

/* Open a model, train some steps: the allocated memory equals the computed needs throughout. */
static void check_needs(const struct model_size *s)
{
	const struct adam_update u = { .rate = 0.01, .scale = 0.1, .clip = 1 };
	const size_t before = sim_allocated();
	struct err e = { 0 };
	struct dev_memory needs = { 0 };
	struct model_sums sums;
	struct batch batch = { 0 };
	struct adam adam = { 0 };
	struct model *m;

	check_err(model_memory_needs(s, &needs, &e), 0);
	m = model_new(s->shape, s->ops, s->options, &e);
	if (m)
		model_set_copies(m, s->copies);
	if (check(m && !model_reserve_training(m, s->tokens, s->sentences, &e) &&
		  !adam_open(&adam, m, 0.9, 0.98, 1e-9, &e) && !model_init(m, 5, &e) &&
		  fill(&batch, s->tokens, &e))) {
		/* a few doubles of the optimizer are not counted */
		check_near((double)(sim_allocated() - before), (double)needs.device_bytes, 512);
		check_err(model_forward_backward(m, &batch, &how, NULL, &e), 0);
		adam_measure_and_update(&adam, &u);
		check_err(model_collect_sums(m, &sums, &e), 0);
		check_err(model_evaluate(m, &batch, 0.1f, &sums, &e), 0);
		check_near((double)(sim_allocated() - before), (double)needs.device_bytes, 512);
	}
	adam_close(&adam);
	batch_free(&batch);
	model_free(m);
	sim_forget();
	check_int(sim_allocated(), before);
}

TEST(cuda_memory_is_what_was_said)
{
	/* heads for tensor cores, and others; an odd width; a vocabulary larger than the rest */
	const struct model_shape shapes[] = { small_shape(),
					      { 64, 40, 1, 1, 1, 32, 29 },
					      { 36, 50, 2, 2, 1, 3000, 2998 } };

	for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
		for (int bf16 = 0; bf16 < 2; bf16++)
			for (int32_t tokens = 10; tokens <= 76; tokens += 66) {
				const struct dev_options o = { .threads = 1, .bf16 = bf16 };
				struct model_size s = { &shapes[i], ops_cuda(),	     &o,
							tokens,	    SMALL_SENTENCES, 1 };

				check_needs(&s);
				s.copies = 2;
				check_needs(&s);
			}
	check_int(sim_faults(NULL), 0);
}

static size_t free_bytes(void)
{
	struct dev_info info = { 0 };
	struct err e = { 0 };

	check_err(ops_cuda()->query_device(0, &info, &e), 0);
	return info.free_bytes;
}

/* The graph of a step, at 64 KB a kernel, takes at most the memory of the forecast, and not much less. */
static void check_graph_needs(const struct model_shape *shape, int32_t tokens)
{
	const struct dev_options options = { .threads = 1, .graphs = true },
				 measures = { .graphs = true, .ways.measures_products = true };
	struct model_size s = { shape, ops_cuda(), &options, tokens, SMALL_SENTENCES, 1 };
	struct dev_memory needs = { 0 }, more = { 0 };
	struct err e = { 0 };
	struct batch batch = { 0 };
	struct model *m = model_new(shape, ops_cuda(), &options, &e);
	const int columns = MAX(MAX(shape->vocabulary, 3 * shape->d_model),
				2 * shape->d_model * shape->decoder_layers);
	size_t before;

	check_err(model_memory_needs(&s, &needs, &e), 0);
	s.options = &measures;
	check_err(model_memory_needs(&s, &more, &e), 0);
	check_int(more.passing_bytes - needs.passing_bytes, 4 * shape->d_model * columns);
	sim_set_graph_bytes((size_t)64 << 10);
	if (check(m && !model_reserve_training(m, tokens, SMALL_SENTENCES, &e) &&
		  !model_init(m, 5, &e) && fill(&batch, tokens, &e))) {
		before = free_bytes();
		/* both batch slots once by single ops, then the first slot's graph */
		for (int i = 0; i < 3; i++)
			check_err(model_forward_backward(m, &batch, &how, NULL, &e), 0);
		check(before - free_bytes() <= needs.passing_bytes);
		check(before - free_bytes() >= needs.passing_bytes / 3);
	}
	sim_set_graph_bytes(0);
	batch_free(&batch);
	model_free(m);
	sim_forget();
}

TEST(cuda_memory_of_graphs_is_forecast)
{
	const struct model_shape small = small_shape(), wide = { 64, 40, 1, 1, 3, 3000, 2998 };

	check_graph_needs(&small, 10);
	check_graph_needs(&wide, 76);
	check_int(sim_faults(NULL), 0);
}
