/* trainer_memory.c - the memory that training needs; see trainer_internal.h */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/source/corpus.h"
#include "share/base/file.h"
#include "train/host/host_cpu.h"
#include "train/trainer/trainer_internal.h"

static int count_factored_floats(const struct model_shape *shape, int64_t *floats, struct err *e)
{
	struct model_param *state = NULL;
	size_t n;
	int rc = adafactor_state_params(shape, &state, &n, floats, e);

	free(state);
	return rc;
}

/* Bytes on one rank: *compute in the backend's memory, *exchange in host memory for messages. */
static int count_memory(const struct trainer *t, const struct model_size *size, double *compute,
			double *exchange, struct err *e)
{
	const struct reduce_options *how = &t->exchange.options,
				    moments = local_steps_moment_options(how);
	const double arena = (double)how->buckets.floats * sizeof(float);
	struct dev_memory need;
	int64_t floats;
	double sums; /* buffers of reductions: in host memory, or with NCCL on the GPU */

	if (model_memory_needs(size, &need, e))
		return e->code;
	*compute = (double)need.device_bytes + (double)need.passing_bytes +
		   (double)weight_average_memory(&t->exchange, t->conf->ema);
	if (optimizer_is_factored((enum optimizer_kind)t->conf->optimizer)) {
		if (count_factored_floats(size->shape, &floats, e))
			return e->code;
		*compute += (double)floats * sizeof(float) - 2 * arena;
	}
	*exchange = (double)need.host_bytes;
	if (t->comm->size == 1)
		return 0;
	sums = (double)reduce_memory(how);
	if (how->shards)
		*compute -= 2 * arena * (1 - 1 / (double)t->comm->size);
	if (t->conf->local_steps > 1) {
		*compute += arena;
		sums += (double)reduce_memory(&moments);
	}
	if (size->ops->open_queue)
		*compute += sums;
	*exchange += sums + (double)exchange_memory(&t->exchange, size->ops->has_device_memory);
	return 0;
}

/* Does the GPU of this rank exist, and is its free memory sufficient? */
static int check_gpu(struct trainer *t, const struct ops *ops, struct err *e)
{
	struct dev_info f;

	if (ops->query_device(t->gpu, &f, e))
		return err_prefix(e, "rank %d of %d on this host", t->comm->local_rank,
				  t->comm->local_size);
	if (t->memory_bytes > (double)f.free_bytes)
		return err_set(
			e, ERR_CONFIG,
			"training with batch_tokens %lld needs %.1f GiB, but GPU %d (%s) has %.1f "
			"GiB, %.1f of them free: lower batch_tokens (and raise micro_batches)",
			(long long)t->conf->batch_tokens, t->memory_bytes / (1 << 30), t->gpu,
			f.name, (double)f.total_bytes / (1 << 30),
			(double)f.free_bytes / (1 << 30));
	return 0;
}

/* Bytes that this process may use of this host; NAN: unknown. */
static void find_host_memory(double *total, double *available)
{
	struct host_roots roots;

	host_roots_find(&roots);
	host_memory_read(&roots, total, available);
}

int trainer_check_memory(struct trainer *t, const struct model_size *size, struct err *e)
{
	const struct ops *ops = size->ops;
	const int ranks = t->comm->local_size;
	const char *whose = ranks > 1 ? " and all ranks of this host" : "";
	double exchange = 0, all, total, available;

	if (count_memory(t, size, &t->memory_bytes, &exchange, e) ||
	    (ops->query_device && check_gpu(t, ops, e)))
		return e->code;
	all = ((ops->has_device_memory ? 0 : t->memory_bytes) + exchange) * ranks;
	find_host_memory(&total, &available);
	if (all > total)
		return err_set(
			e, ERR_CONFIG,
			"training with batch_tokens %lld%s needs %.1f GiB, but it may use at most "
			"%.1f GiB of this host: lower batch_tokens (and raise micro_batches)",
			(long long)t->conf->batch_tokens, whose, all / (1 << 30),
			total / (1 << 30));
	if (all > available && t->comm->local_rank == 0 && !t->conf->quiet)
		fprintf(stderr,
			"warning: training with batch_tokens %lld%s needs %.1f GiB, but only %.1f "
			"of the %.1f GiB of this host are free: end other programs, or lower "
			"batch_tokens (and raise micro_batches)\n",
			(long long)t->conf->batch_tokens, whose, all / (1 << 30),
			available / (1 << 30), total / (1 << 30));
	return 0;
}

/* ---- forecast ------------------------------------------------------------ */

#define VOCABULARY_EXTRA 1000 /* characters and special tokens besides the merges */

/* The sizes of the vocabularies of the corpus, if it is prepared; else an estimate. */
static void forecast_vocabularies(const struct conf *c, struct model_shape *shape)
{
	struct err ignored;
	struct vocabs v = { 0 };
	char *folder = corpus_folder(c, &ignored);
	char *path =
		folder ? file_path(&ignored, "%s/%s", folder, text_vocabulary_file(c, 1)) : NULL;

	shape->vocabulary = (int32_t)CEIL_DIV(text_merges(c, 1), 8) * 8 + VOCABULARY_EXTRA;
	if (text_vocabularies(c) > 1)
		shape->source_vocabulary =
			(int32_t)CEIL_DIV(text_merges(c, 0), 8) * 8 + VOCABULARY_EXTRA;
	if (path && file_exists(path) && !vocabs_open(&v, folder, c, &ignored)) {
		shape->vocabulary = vocab_size(v.target);
		shape->source_vocabulary = vocabs_own_source(&v);
	}
	shape->real_vocabulary = shape->vocabulary;
	shape->real_source_vocabulary = shape->source_vocabulary;
	vocabs_close(&v);
	free(path);
	free(folder);
}

int trainer_forecast_memory(const struct conf *c, int ranks, struct trainer_forecast *f,
			    struct err *e)
{
	struct dev_options options = { 0 };
	const int32_t tokens = (int32_t)c->batch_tokens;
	struct comm comm = { .size = ranks, .local_size = 1 };
	struct trainer t = { .conf = c, .comm = &comm };
	struct model_size size = {
		&t.state.shape, NULL, &options, tokens, tokens, trainer_copies(c)
	};
	double compute, exchange, available;
	struct dev_info gpu;
	struct err ignored;

	*f = (struct trainer_forecast){ .gpu_total = NAN };
	find_host_memory(&f->host_total, &available);
	size.ops = product_backend(c, e);
	if (!size.ops)
		size.ops = ops_find("cpu", e);
	options.bf16 = size.ops && product_format_is_bf16(c, size.ops, (int)c->gpu);
	forecast_vocabularies(c, &t.state.shape);
	if (!size.ops || model_shape_from_conf(&t.state.shape, c, e) ||
	    exchange_plan(&t.exchange, c, &t.state.shape, &comm, e) ||
	    count_memory(&t, &size, &compute, &exchange, e))
		return e->code;
	f->host = (size.ops->has_device_memory ? 0 : compute) + exchange;
	f->gpu = size.ops->has_device_memory ? compute : 0;
	if (size.ops->query_device && !size.ops->query_device((int)c->gpu, &gpu, &ignored))
		f->gpu_total = (double)gpu.total_bytes;
	f->parameters = (double)t.exchange.options.buckets.floats;
	return 0;
}
