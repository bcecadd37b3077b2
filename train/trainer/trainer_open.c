/* trainer_open.c - opens a run: corpus, model, reduction, first or resumed state; see trainer_internal.h */
#include "train/trainer/trainer_internal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/shard/shortlist.h"
#include "data/source/corpus.h"
#include "kernels/op_cost.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/conf/text_facts.h"
#include "share/workspace/paths.h"
#include "train/record/evaluations.h"
#include "train/trainer/trainer.h"

/* ---- the corpus -------------------------------------------------------- */

static int trainer_open_corpus(struct trainer *t, struct err *e)
{
	char *shard, *vocab;

	t->corpus = corpus_folder(t->conf, e);
	if (!t->corpus)
		return e->code;
	shard = file_path(e, "%s/train.shard", t->corpus);
	vocab = file_path(e, "%s/vocab.tsv", t->corpus);
	t->vocab = shard && vocab ? vocab_open(vocab, e) : NULL;
	t->shard = t->vocab ? shard_open(shard, e) : NULL;
	if (t->shard && strcmp(shard_vocabulary_sha256(t->shard), vocab_sha256(t->vocab)) != 0)
		err_set(e, ERR_DATA,
			"%s was made with another vocabulary than %s (SHA-256 differs): prepare "
			"the corpus again",
			shard, vocab);
	else if (t->shard && shard_pairs(t->shard) == 0)
		err_set(e, ERR_DATA, "%s has no sentence pairs: prepare the corpus again", shard);
	else if (t->shard)
		e->code = 0;
	free(shard);
	free(vocab);
	return e->code;
}

/* A run has its own copy of the files that the model needs to read and write text. */
static int copy_into_run(const struct trainer *t, const char *name, struct err *e)
{
	char *from = file_path(e, "%s/%s", t->corpus, name),
	     *to = file_path(e, "%s/%s", t->folder, name);
	int rc = from && to ? 0 : e->code;

	if (!rc && file_exists(from) && !file_exists(to))
		rc = file_copy(from, to, e);
	free(from);
	free(to);
	return rc;
}

/* ---- the model --------------------------------------------------------- */

/* Bytes on one rank: *compute in the backend's memory, *exchange in host memory for messages. */
static int count_memory(const struct trainer *t, const struct model_size *size, double *compute,
			double *exchange, struct err *e)
{
	const struct reduce_options *how = &t->ranks.reduce_options,
				    moments = local_steps_moment_options(how);
	const double arena = (double)how->buckets.floats * sizeof(float);
	struct dev_memory need;
	double sums; /* buffers of reductions: in host memory, or with NCCL on the GPU */

	if (model_memory_needs(size, &need, e))
		return e->code;
	*compute = (double)need.device_bytes + (double)need.passing_bytes +
		   (double)trainer_ema_memory(t);
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
	*exchange += sums + (double)staging_memory(t, size->ops->has_device_memory);
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

/* Is the memory of this host sufficient for all its ranks? Sets memory_bytes. */
static int check_memory(struct trainer *t, const struct model_size *size, struct err *e)
{
	const struct ops *ops = size->ops;
	const double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE),
		     ranks = t->comm->local_size;
	double exchange = 0, all;

	if (count_memory(t, size, &t->memory_bytes, &exchange, e) ||
	    (ops->query_device && check_gpu(t, ops, e)))
		return e->code;
	all = (ops->has_device_memory ? 0 : t->memory_bytes) + exchange;
	if (have > 0 && all * ranks > have)
		return err_set(
			e, ERR_CONFIG,
			"training with batch_tokens %lld%s needs %.1f GiB, but this host has %.1f "
			"GiB: lower batch_tokens (and raise micro_batches)",
			(long long)t->conf->batch_tokens,
			ranks > 1 ? " and all ranks of this host" : "", all * ranks / (1 << 30),
			have / (1 << 30));
	return 0;
}

int trainer_threads(const struct trainer *t)
{
	if (t->conf->threads || t->comm->local_size == 1)
		return (int)t->conf->threads;
	return t->comm->cores;
}

/* Options of the reduction of gradients, or with local steps of changes of weights. */
static int plan_reduction(struct trainer *t, struct err *e)
{
	const struct conf *c = t->conf;
	struct model_param *params;
	size_t n_params;
	int64_t floats;

	if (model_params(&t->state.shape, &params, &n_params, &floats, e))
		return e->code;
	free(params);
	t->ranks.reduce_options = (struct reduce_options){
		.buckets = buckets_make((size_t)floats, c->bucket_mb, t->comm->size),
		.wire = (enum wire_format)c->wire,
		.shards = c->shard_optimizer && t->comm->size > 1,
		.thread = c->overlap_reduce,
	};
	return 0;
}

#define LATENCY_TRIES	 7
#define VOCABULARY_EXTRA 1000 /* characters and special tokens besides the merges */

static int32_t forecast_vocabulary(const struct conf *c)
{
	struct err ignored;
	char *folder = corpus_folder(c, &ignored);
	char *path = folder ? file_path(&ignored, "%s/vocab.tsv", folder) : NULL;
	struct vocab *v = path && file_exists(path) ? vocab_open(path, &ignored) : NULL;
	int32_t n = v ? vocab_size(v) : (int32_t)c->merges + VOCABULARY_EXTRA;

	vocab_close(v);
	free(path);
	free(folder);
	return n;
}

int trainer_forecast_memory(const struct conf *c, int ranks, double *bytes, double *parameters,
			    struct err *e)
{
	static const char *const backends[] = { "auto", "cpu", "ref", "cuda" };
	struct dev_options options = { 0 };
	const int32_t vocabulary = forecast_vocabulary(c), tokens = (int32_t)c->batch_tokens;
	struct comm comm = { .size = ranks, .local_size = 1 };
	struct trainer t = { .conf = c, .comm = &comm };
	struct model_size size = { &t.state.shape, NULL, &options, tokens, tokens };
	double compute, exchange;

	size.ops = ops_find(backends[c->backend], e);
	if (!size.ops)
		size.ops = ops_find("cpu", e);
	options.bf16 = size.ops && trainer_means_bf16(c, size.ops, (int)c->gpu);
	if (!size.ops || model_shape_from_conf(&t.state.shape, c, vocabulary, vocabulary, e) ||
	    plan_reduction(&t, e) || count_memory(&t, &size, &compute, &exchange, e))
		return e->code;
	*bytes = (size.ops->has_device_memory ? 0 : compute) + exchange;
	*parameters = (double)t.ranks.reduce_options.buckets.floats;
	return 0;
}

static int open_reduction(struct trainer *t, struct err *e)
{
	const struct buckets *b = &t->ranks.reduce_options.buckets;

	if (t->comm->size == 1)
		return 0;
	t->ranks.reduce = reduce_open(t->comm, &t->ranks.reduce_options, e);
	t->ranks.own_pieces =
		t->ranks.reduce ? mem_alloc(b->count, sizeof(*t->ranks.own_pieces), e) : NULL;
	if (!t->ranks.own_pieces)
		return e->code;
	for (size_t i = 0; i < b->count; i++)
		t->ranks.own_pieces[i] = buckets_piece(b, i, t->comm->rank);
	assert(b->floats == (size_t)model_floats(t->model));
	return t->ranks.reduce_options.shards
		       ? adam_set_parts(&t->adam, t->ranks.own_pieces, b->count, e)
		       : 0;
}

static int open_model(struct trainer *t, struct err *e)
{
	static const char *const backends[] = { "auto", "cpu", "ref", "cuda" };
	const struct conf *c = t->conf;
	const struct ops *ops = ops_find(backends[c->backend], e);
	struct dev_options options = {
		.threads = trainer_threads(t),
		.device = t->gpu,
		.graphs = c->cuda_graphs,
		.bf16 = t->is_bf16,
		.ways.measures_products = true,
	};
	const int32_t tokens = (int32_t)c->batch_tokens,
		      sentences = loader_max_sentences(t->loader);
	struct model_shape *shape = &t->state.shape;
	struct model_size size = { shape, NULL, &options, tokens, sentences };

	if (ops && c->profile) {
		t->profile = options.profile = profile_new(ops, e);
		t->profiled_steps = -1;
		ops = t->profile ? profile_ops(t->profile) : NULL;
	}
	size.ops = ops;
	if (!ops ||
	    model_shape_from_conf(shape, c, vocab_size(t->vocab), vocab_real_size(t->vocab), e) ||
	    plan_reduction(t, e) || check_memory(t, &size, e))
		return e->code;
	ops_describe(ops, backends[c->backend], options.device, t->device, sizeof(t->device));
	t->model = model_new(shape, ops, &options, e);
	if (!t->model || model_reserve_training(t->model, tokens, sentences, e) ||
	    adam_open(&t->adam, t->model, c->beta1, c->beta2, c->epsilon, e) ||
	    staging_open(t, e) || staging_connect_gpus(t, e) || open_reduction(t, e) ||
	    batch_alloc(&t->batch, sentences, tokens, e))
		return e->code;
	t->rate_schedule = (struct rate_schedule){ .factor = c->noam_factor,
						   .warmup = c->warmup,
						   .cooldown = c->cooldown,
						   .steps = c->steps,
						   .d_model = shape->d_model };
	return 0;
}

/* ---- first state: resumed, from a model, or random --------------------- */

static int check_same_model(const struct trainer *t, const struct ckpt_state *found,
			    const char *folder, struct err *e)
{
	const struct model_shape *a = &found->shape, *b = &t->state.shape;
	const struct arch_row *row = arch_difference(a, b);

	if (strcmp(found->vocabulary_sha256, t->state.vocabulary_sha256) != 0)
		return err_set(e, ERR_DATA,
			       "%s was trained with another vocabulary than %s/vocab.tsv: use the "
			       "corpus of the checkpoint, or start another run",
			       folder, t->corpus);
	if (row)
		return err_set(e, ERR_DATA,
			       "%s has %s %d, but the recipe says %d: restore the value in "
			       "the recipe, or start another run",
			       folder, row->name, arch_value(a, row), arch_value(b, row));
	if (found->seed != t->state.seed)
		return err_set(e, ERR_CONFIG,
			       "%s was trained with seed %llu, but the recipe says %llu: restore "
			       "the value "
			       "in the recipe, or start another run",
			       folder, (unsigned long long)found->seed,
			       (unsigned long long)t->state.seed);
	return 0;
}

/* damage: a line for each checkpoint after `step` that has been set aside. */
static void report_damage(struct trainer *t, const char *damage, int64_t step)
{
	t->state.step = step;
	for (const char *end; (end = strchr(damage, '\n')); damage = end + 1)
		report_event(t, "warning",
			     "a checkpoint is damaged; it is kept under the name STEP.damaged, and "
			     "training resumes from step %lld: %.*s",
			     (long long)step, (int)MIN(end - damage, 400), damage);
}

/* First rank: load the newest checkpoint; without one, the model of start_from or random weights. */
static int load_or_init(struct trainer *t, struct err *e)
{
	struct ckpt_state found;
	struct buf damage = { 0 };
	const char *folder = t->resumed = ckpt_take_last(t->folder, &damage, e);
	int rc;

	if (!folder) {
		buf_free(&damage);
		return e->code		     ? e->code
		       : t->conf->start_from ? start_weights_load(t, NULL, e)
					     : model_init(t->model, t->state.seed, e);
	}
	rc = ckpt_read_state(folder, false, &found, e);
	if (!rc)
		report_damage(t, buf_text(&damage), found.step);
	buf_free(&damage);
	if (!rc && start_weights_lack_moments(folder, &found))
		return start_weights_load(t, folder, e);
	if (!rc)
		rc = check_same_model(t, &found, folder, e);
	if (!rc)
		rc = ckpt_load_training(folder, t->model, &t->resumed_average, e);
	if (!rc && !t->ranks.reduce_options.shards)
		rc = ckpt_load_moments(folder, t->model, t->adam.first, t->adam.second, e);
	if (!rc)
		rc = evaluations_read(t->folder, &t->progress.evaluations, e);
	if (!rc) {
		t->state = found;
		t->progress.saved_step = found.step;
		evaluations_cut(&t->progress.evaluations, found.step);
		trainer_update_best(t);
	}
	return rc;
}

/* Sharded optimizer: each rank gets its parts of a moment. They pass through the gradient array. */
static int distribute_moment(struct trainer *t, int which, struct err *e)
{
	float *arena = model_grad_arena(t->model),
	      *own = which == CKPT_FIRST ? t->adam.first : t->adam.second;

	if (trainer_is_first(t) && ckpt_load_arena(t->resumed, t->model, which, arena, e))
		return e->code;
	if (staging_broadcast(t, arena, e))
		return e->code;
	for (size_t i = 0; i < t->adam.n_parts; i++) {
		const struct range p = t->adam.parts[i];

		arena_write_back(t->model, own, t->ranks.staging + p.at, p.n);
		own += p.n;
	}
	return 0;
}

/* The error feedback of each rank from the checkpoint, if ranks, wire and buckets are the same. */
static int distribute_error_feedback(struct trainer *t, struct err *e)
{
	const struct ckpt_state *s = &t->state;
	const size_t bytes = (size_t)model_floats(t->model) * sizeof(float);

	if (!s->feedback_ranks)
		return 0;
	if (!reduce_error_feedback(t->ranks.reduce) || s->feedback_ranks != t->comm->size ||
	    s->feedback_wire != (int32_t)t->ranks.reduce_options.wire ||
	    s->feedback_bucket != (int64_t)t->ranks.reduce_options.buckets.each)
		return report_event(t, "info",
				    "the checkpoint's error feedback of %d rank%s is not used: the "
				    "number of ranks, wire or bucket_mb has changed",
				    s->feedback_ranks, text_plural(s->feedback_ranks));
	if (!trainer_is_first(t) && comm_receive(t->comm, t->ranks.staging, bytes, 0, e))
		return e->code;
	for (int rank = t->comm->size - 1; trainer_is_first(t) && rank >= 0; rank--)
		if (ckpt_load_arena(t->resumed, t->model, CKPT_FEEDBACK + rank, t->ranks.staging,
				    e) ||
		    (rank && comm_send(t->comm, t->ranks.staging, bytes, rank, e)))
			return e->code;
	staging_set_error_feedback(t);
	return 0;
}

/* All ranks get the weights, moments and state of the first rank. */
static int broadcast_state(struct trainer *t, struct err *e)
{
	struct comm *k = t->comm;

	if (k->size == 1)
		return 0;
	if (k->broadcast(k, &t->state, sizeof(t->state), 0, e) ||
	    k->broadcast(k, &t->progress.saved_step, sizeof(t->progress.saved_step), 0, e) ||
	    k->broadcast(k, &t->progress.evaluated_step, sizeof(t->progress.evaluated_step), 0,
			 e) ||
	    k->broadcast(k, &t->progress.evals_since_best, sizeof(t->progress.evals_since_best), 0,
			 e) ||
	    staging_broadcast(t, model_param_arena(t->model), e))
		return e->code;
	if (t->progress.saved_step < 0)
		return 0; /* no checkpoint: the moments are 0 on all ranks */
	if (t->ranks.reduce_options.shards)
		return distribute_moment(t, CKPT_FIRST, e) || distribute_moment(t, CKPT_SECOND, e)
			       ? e->code
			       : distribute_error_feedback(t, e);
	return staging_broadcast(t, t->adam.first, e) || staging_broadcast(t, t->adam.second, e)
		       ? e->code
		       : distribute_error_feedback(t, e);
}

/* What the lines of the training text are: checkpoints say so, because translation splits lines. */
static int read_line_facts(struct trainer *t, struct err *e)
{
	struct json *manifest = NULL;
	const struct json *lines;
	int rc = text_corpus_manifest(&manifest, t->corpus, e);

	lines = json_get(manifest, "source_lines");
	t->state.several = json_number(json_get(lines, "several_sentences"), 0);
	t->state.longest = (int32_t)MIN(json_integer(json_get(lines, "longest"), 0), INT32_MAX);
	json_free(manifest);
	return rc;
}

static int trainer_load_state(struct trainer *t, struct err *e)
{
	const struct conf *c = t->conf;

	t->progress.saved_step = t->progress.evaluated_step = -1;
	t->state.seed = (uint64_t)c->seed;
	t->state.best_bleu = -1;
	t->state.best_step = -1;
	memcpy(t->state.vocabulary_sha256, vocab_sha256(t->vocab),
	       sizeof(t->state.vocabulary_sha256));
	if ((trainer_is_first(t) && (load_or_init(t, e) || read_line_facts(t, e))) ||
	    broadcast_state(t, e) || trainer_load_products(t, e) ||
	    loader_seek(t->loader, t->state.loader_position, e))
		return e->code;
	trainer_time_resume(t);
	snprintf(t->state.precision, sizeof(t->state.precision), "%s",
		 t->is_bf16 ? "bf16" : "fp32");
	t->state.feedback_wire = (int32_t)t->ranks.reduce_options.wire;
	t->state.feedback_bucket = (int64_t)t->ranks.reduce_options.buckets.each;
	t->ranks.in_sync = true;
	t->records.recorded_step = t->state.step;
	if ((t->comm->size > 1 && c->local_steps > 1 && local_steps_open(t, e)) ||
	    trainer_ema_open(t, e))
		return e->code;
	t->progress.seconds_before = t->state.seconds;
	t->progress.started_at = clock_mono_s();
	return 0;
}

/* An empty or damaged vocabulary of the run would be seen at the last evaluation only. */
static int repair_vocabulary(struct trainer *t, struct err *e)
{
	char hex[HASH_SHA256_HEX] = "";
	char *from = file_path(e, "%s/vocab.tsv", t->corpus),
	     *to = file_path(e, "%s/vocab.tsv", t->folder);
	int rc = from && to ? 0 : e->code;

	if (!rc && file_size(to) <= HASH_PIECES_LIMIT) /* a larger file is no vocabulary */
		rc = hash_file(to, hex, e);
	if (!rc && strcmp(hex, t->state.vocabulary_sha256) != 0) {
		rc = file_copy(from, to, e); /* the corpus has the vocabulary of the state */
		if (!rc)
			report_event(t, "warning",
				     "%s was not the vocabulary of this run; it is copied again "
				     "from %s",
				     to, t->corpus);
	}
	free(from);
	free(to);
	return rc;
}

/* ---- opening and closing ----------------------------------------------- */

static int open_records(struct trainer *t, struct err *e)
{
	char *journal = file_path(e, "%s/journal.jsonl", t->folder),
	     *samples = file_path(e, "%s/samples.jsonl", t->folder);

	t->records.journal = journal && samples ? journal_open(journal, e) : NULL;
	t->records.samples = t->records.journal ? journal_open(samples, e) : NULL;
	/* the launcher forwards our standard error and sets the variable if its own is a terminal */
	t->records.is_terminal = isatty(STDERR_FILENO) == 1 || getenv("WERKBANK_TERMINAL");
	free(journal);
	free(samples);
	return t->records.samples ? 0 : e->code;
}

/* Options that are impossible with this number of ranks. */
static int check_ranks(const struct trainer *t, struct err *e)
{
	const struct conf *c = t->conf;

	if (c->micro_batches < t->comm->size)
		return err_set(e, ERR_CONFIG,
			       "%d ranks need at least one micro-batch each, but micro_batches is "
			       "%lld: set micro_batches to %d or a multiple",
			       t->comm->size, (long long)c->micro_batches, t->comm->size);
	if (t->comm->size > 1 && c->local_steps > 1 && c->shard_optimizer)
		return err_set(
			e, ERR_CONFIG,
			"local_steps %lld needs all of Adam's moments on each rank, but with "
			"shard_optimizer a rank has a part of them: set local_steps to 1, or "
			"shard_optimizer to no",
			(long long)c->local_steps);
	return 0;
}

/* All ranks must read the same shard: otherwise they would train on different text. */
static int check_same_corpus(const struct trainer *t, struct err *e)
{
	struct {
		int64_t pairs;
		char vocabulary[65];
	} first = { shard_pairs(t->shard), "" };

	snprintf(first.vocabulary, sizeof(first.vocabulary), "%s", vocab_sha256(t->vocab));
	if (t->comm->broadcast(t->comm, &first, sizeof(first), 0, e))
		return e->code;
	if (first.pairs != shard_pairs(t->shard) ||
	    strcmp(first.vocabulary, vocab_sha256(t->vocab)) != 0)
		return err_set(
			e, ERR_DATA,
			"%s/train.shard (%lld pairs) differs from that of the first rank "
			"(%lld pairs): copy the corpus to this host with werkbank hosts sync",
			t->corpus, (long long)shard_pairs(t->shard), (long long)first.pairs);
	return 0;
}

/* Opened early, so that the watchdog also sees a start that hangs. */
static int trainer_open_heartbeat(struct trainer *t, struct err *e)
{
	t->ranks.heartbeat = heartbeat_open(
		&(struct heartbeat_options){
			.late_after_s = t->conf->late_after,
			.hang_after_s = t->conf->hang_after,
			.network = getenv("WERKBANK_NETWORK"),
			.folder = trainer_is_first(t) ? t->folder : NULL,
		},
		t->comm, e);
	if (!t->ranks.heartbeat)
		return e->code;
	trainer_at_phase(t, PHASE_START);
	return 0;
}

static int trainer_count_hosts(struct trainer *t, struct err *e)
{
	double firsts = t->comm->local_rank == 0;

	if (t->comm->sum_doubles(t->comm, &firsts, 1, e))
		return e->code;
	t->ranks.hosts = (int64_t)firsts;
	return 0;
}

/*
 * Seconds of a small message between hosts, one way, from tiny all-reduces, which take two messages
 * after each other for each doubling of the hosts: Open MPI adds in a tree and sends the sum back. A rank that comes late waits less in one and more
 * in the next, so two together count; the quickest two. 0: only one host.
 */
static int measure_latency(struct trainer *t, double *latency_s, struct err *e)
{
	double quickest = INFINITY, ends[LATENCY_TRIES];

	*latency_s = 0;
	if (t->ranks.hosts < 2)
		return 0;
	for (int i = 0; i < LATENCY_TRIES; i++) {
		double one = 1;

		if (t->comm->sum_doubles(t->comm, &one, 1, e))
			return e->code;
		ends[i] = clock_mono_s();
		if (i > 1)
			quickest = fmin(quickest, (ends[i] - ends[i - 2]) / 2);
	}
	*latency_s = quickest / (2 * ceil(log2((double)t->ranks.hosts)));
	return 0;
}

static int open_telemetry(struct trainer *t, struct err *e)
{
	const struct reduce_options *how = &t->ranks.reduce_options;
	const struct reduce_options moments = local_steps_moment_options(how);
	double ratio = compress_ratio(how->wire), latency_s;

	if (measure_latency(t, &latency_s, e))
		return e->code;
	if (how->shards)
		ratio = (ratio + 1) / 2; /* the all-gather sends weights as fp32 */
	if (t->ranks.local_steps)
		ratio += 2 * compress_ratio(moments.wire);
	t->ranks.telemetry = telemetry_open(
		&(struct telemetry_options){
			.every_s = t->conf->telemetry_every,
			.network = getenv("WERKBANK_NETWORK"),
			.workspace = t->workspace,
			.gradient_bytes = (double)model_floats(t->model) * sizeof(float),
			.local_steps = t->ranks.local_steps ? t->conf->local_steps : 1,
			.wire_ratio = ratio,
			.buckets = (double)how->buckets.count,
			.latency_s = latency_s,
		},
		t->comm, e);
	return t->ranks.telemetry ? 0 : e->code;
}

static int note_run_lock(struct trainer *t, struct err *e)
{
	char *lock = file_path(e, "%s/lock", t->folder);

	t->run_lock = lock_file_identity(lock ? lock : "");
	free(lock);
	return lock ? 0 : e->code;
}

int trainer_open(struct trainer *t, struct err *e)
{
	const struct conf *c = t->conf;
	struct loader_options options = {
		.seed = (uint64_t)c->seed,
		.batch_tokens = (int32_t)c->batch_tokens,
		.rank = t->comm->rank,
		.ranks = t->comm->size,
	};

	if (!c->run)
		return err_set(e, ERR_USAGE, "no run given: add --run NAME");
	if (paths_check_name("run", c->run, e) || check_ranks(t, e))
		return e->code;
	t->workspace = paths_workspace(c->workspace, e);
	t->folder = t->workspace ? file_path(e, "%s/runs/%s", t->workspace, c->run) : NULL;
	if (!t->folder || trainer_open_corpus(t, e) || note_run_lock(t, e))
		return e->code;
	if (trainer_is_first(t) &&
	    (file_make_folders(t->folder, e) || copy_into_run(t, "vocab.tsv", e) ||
	     copy_into_run(t, "bpe.codes", e) || copy_into_run(t, "sentencepiece.model", e) ||
	     copy_into_run(t, SHORTLIST_FILE, e) || open_records(t, e)))
		return e->code;
	if (trainer_open_heartbeat(t, e))
		return e->code;
	if (c->bpe_dropout > 0) {
		t->dropout = bpe_dropout_open(t->corpus, c, t->vocab, e);
		if (!t->dropout)
			return e->code;
		options.dropout = t->dropout;
	}
	if (check_same_corpus(t, e))
		return e->code;
	t->loader = loader_new(t->shard, &options, e);
	if (!t->loader || trainer_choose_gpu(t, e) || trainer_choose_format(t, e) ||
	    open_model(t, e) || trainer_load_state(t, e))
		return e->code;
	if (trainer_is_first(t) && repair_vocabulary(t, e))
		return e->code;
	return trainer_count_hosts(t, e) || open_telemetry(t, e) || trainer_rescue_open(t, e)
		       ? e->code
		       : 0;
}

void trainer_close(struct trainer *t)
{
	trainer_at_phase(t, PHASE_END);
	trainer_rescue_close(t);
	heartbeat_free(t->ranks.heartbeat);
	telemetry_free(t->ranks.telemetry);
	local_steps_close(t);
	reduce_free(t->ranks.reduce);
	staging_close(t);
	changes_close(t);
	ema_free(t->ema);
	adam_close(&t->adam);
	evaluations_free(&t->progress.evaluations);
	free(t->ranks.own_pieces);
	free(t->resumed);
	free(t->start_text);
	model_free(t->model);
	profile_free(t->profile);
	batch_free(&t->batch);
	if (t->loader)
		loader_free(t->loader);
	bpe_dropout_close(t->dropout);
	if (t->shard)
		shard_close(t->shard);
	if (t->vocab)
		vocab_close(t->vocab);
	metric_sinks_close(t->records.metric_sinks);
	journal_free(t->records.journal);
	journal_free(t->records.samples);
	free(t->corpus);
	free(t->folder);
	free(t->workspace);
}
