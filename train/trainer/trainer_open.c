/* trainer_open.c - opens a run: corpus, model, reduction, first or resumed state; see trainer_internal.h */
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
#include "share/base/cores.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/conf/text_facts.h"
#include "share/workspace/model_files.h"
#include "share/workspace/paths.h"
#include "train/model/arena.h"
#include "train/trainer/tag_shares.h"
#include "train/trainer/trainer_gpu.h"
#include "train/trainer/trainer_internal.h"

/* ---- the corpus -------------------------------------------------------- */

static int trainer_open_corpus(struct trainer *t, struct err *e)
{
	char *shard;

	t->corpus = corpus_folder(t->conf, e);
	if (!t->corpus)
		return e->code;
	shard = file_path(e, "%s/train.shard", t->corpus);
	if (shard && !vocabs_open(&t->vocabs, t->corpus, t->conf, e))
		t->shard = shard_open(shard, e);
	if (t->shard && strcmp(shard_vocabulary_id(t->shard), t->vocabs.id) != 0)
		err_set(e, ERR_DATA,
			"%s was made with another vocabulary than %s/%s (SHA-256 differs): prepare "
			"the corpus again",
			shard, t->corpus, text_vocabulary_file(t->conf, 1));
	else if (t->shard && shard_pairs(t->shard) == 0)
		err_set(e, ERR_DATA, "%s has no sentence pairs: prepare the corpus again", shard);
	else if (t->shard)
		e->code = 0;
	free(shard);
	return e->code;
}

/* A run has its own copy of the files that the model needs to read and write text. */
static int copy_files_into_run(const struct trainer *t, struct err *e)
{
	static const char *const names[] = { MODEL_FILE_NAMES SHORTLIST_FILE };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (ckpt_copy_file(t->corpus, t->folder, names[i], e))
			return e->code;
	return 0;
}

/* ---- the model --------------------------------------------------------- */

/* With a sharded optimizer this rank has the moments of its own pieces only. */
static int shard_optimizer(struct trainer *t, struct err *e)
{
	const struct exchange *x = &t->exchange;

	return x->options.shards
		       ? adam_set_parts(&t->adam, x->own_pieces, x->options.buckets.count, e)
		       : 0;
}

/* Training pairs have max_tokens tokens at most, and </s>. */
static int check_sentence_positions(const struct model_shape *shape, const struct conf *c,
				    struct err *e)
{
	const int64_t most = model_longest_sentence(shape);

	if (c->max_tokens < most)
		return 0;
	return err_set(
		e, ERR_CONFIG,
		"sentences have up to max_tokens = %lld tokens and </s>, but the model has %lld "
		"positions: prepare the corpus with a lower max_tokens%s",
		(long long)c->max_tokens, (long long)most,
		shape->positions == POSITIONS_LEARNED ? ", or raise max_positions" : "");
}

int32_t trainer_copies(const struct conf *c)
{
	return c->r_drop > 0 ? 2 : 1;
}

/* R-Drop compares two passes, which are equal without dropout. */
static int check_passes_differ(const struct conf *c, struct err *e)
{
	if (!(c->r_drop > 0) || c->dropout > 0 || c->attention_dropout > 0 || c->relu_dropout > 0)
		return 0;
	return err_set(e, ERR_CONFIG,
		       "r_drop compares two passes with different dropout, but dropout, "
		       "attention_dropout and relu_dropout are 0: set one of them, or r_drop to 0");
}

static void set_vocabularies(struct model_shape *shape, const struct vocabs *v)
{
	shape->vocabulary = vocab_size(v->target);
	shape->real_vocabulary = vocab_real_size(v->target);
	shape->source_vocabulary = vocabs_own_source(v);
	shape->real_source_vocabulary = vocabs_own_real_source(v);
}

/* Several ranks on a host with several NUMA nodes: each computes in its own node, in memory of this node. */
static void bind_to_nodes(struct trainer *t)
{
	const int cores = t->comm->shares_cores && t->comm->local_size > 1
				  ? cores_bind_nodes(t->comm->local_rank, t->comm->local_size)
				  : 0;

	if (cores > 0)
		t->comm->cores = cores;
}

static int open_model(struct trainer *t, struct err *e)
{
	const struct conf *c = t->conf;
	const struct ops *ops = product_backend(c, e);
	struct dev_options options = {
		.device = t->gpu,
		.graphs = c->cuda_graphs && c->layer_drop == 0,
		.bf16 = t->is_bf16,
		.ways.measures_products = true,
	};
	const int32_t tokens = (int32_t)c->batch_tokens,
		      sentences = loader_max_sentences(t->loader);
	struct model_shape *shape = &t->state.shape;
	struct model_size size = { shape, NULL, &options, tokens, sentences, trainer_copies(c) };

	if (ops && c->profile) {
		t->profile = options.profile = profile_new(ops, e);
		t->profiled_steps = -1;
		ops = t->profile ? profile_ops(t->profile) : NULL;
	}
	size.ops = ops;
	if (ops && strcmp(ops->name, "cuda") != 0)
		bind_to_nodes(t);
	options.threads = trainer_threads(t);
	set_vocabularies(shape, &t->vocabs);
	if (!ops || optimizer_check_backend(c, ops, e) || check_passes_differ(c, e) ||
	    model_shape_from_conf(shape, c, e) || check_sentence_positions(shape, c, e) ||
	    exchange_plan(&t->exchange, c, shape, t->comm, e) || trainer_check_memory(t, &size, e))
		return e->code;
	ops_describe(ops, product_backend_name(c), options.device, t->device, sizeof(t->device));
	t->model = model_new(shape, ops, &options, e);
	if (!t->model)
		return e->code;
	model_set_copies(t->model, size.copies);
	if (model_reserve_training(t->model, tokens, sentences, e) ||
	    adam_open(&t->adam, t->model, c->beta1, c->beta2, c->epsilon, e) ||
	    adam_choose(&t->adam, (enum optimizer_kind)c->optimizer, c->weight_decay, e) ||
	    adam_freeze(&t->adam, &c->freeze, e) ||
	    exchange_open(&t->exchange, t->model, &t->records, e) || shard_optimizer(t, e) ||
	    batch_alloc(&t->batch, sentences, tokens, e))
		return e->code;
	t->adam.held_after = t->exchange.reduce ? exchange_held_after(c) : 0;
	t->batch.without_source_end = shape->source_end == ARCH_NO;
	t->rate_schedule = schedule_from_conf(c, shape->d_model);
	return 0;
}

/* ---- opening and closing ----------------------------------------------- */

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
		char vocabulary[TEXT_VOCABULARY_ID];
	} first = { shard_pairs(t->shard), "" };

	snprintf(first.vocabulary, sizeof(first.vocabulary), "%s", t->vocabs.id);
	if (t->comm->broadcast(t->comm, &first, sizeof(first), 0, e))
		return e->code;
	if (first.pairs != shard_pairs(t->shard) || strcmp(first.vocabulary, t->vocabs.id) != 0)
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
	t->heartbeat = heartbeat_open(
		&(struct heartbeat_options){
			.late_after_s = t->conf->late_after,
			.hang_after_s = t->conf->hang_after,
			.network = getenv("WERKBANK_NETWORK"),
			.folder = trainer_is_first(t) ? t->folder : NULL,
		},
		t->comm, e);
	if (!t->heartbeat)
		return e->code;
	trainer_at_phase(t, PHASE_START);
	return 0;
}

static int trainer_count_hosts(struct trainer *t, struct err *e)
{
	double firsts = t->comm->local_rank == 0;

	if (t->comm->sum_doubles(t->comm, &firsts, 1, e))
		return e->code;
	t->hosts = (int64_t)firsts;
	return 0;
}

/* The network between the hosts, for the verdicts of telemetry. NCCL does not send over it. */
static int measure_link(struct trainer *t, struct err *e)
{
	const bool is_wanted = t->conf->measure && t->conf->telemetry_every > 0;

	return link_measure(t->comm, t->hosts, is_wanted && !t->comm->gpus, &t->link, e);
}

static int open_telemetry(struct trainer *t, struct err *e)
{
	const struct reduce_options *how = &t->exchange.options;

	if (measure_link(t, e))
		return e->code;
	t->telemetry = telemetry_open(
		&(struct telemetry_options){
			.every_s = t->conf->telemetry_every,
			.network = getenv("WERKBANK_NETWORK"),
			.workspace = t->workspace,
			.gradient_bytes = (double)model_floats(t->model) * sizeof(float),
			.local_steps = t->local_steps ? t->conf->local_steps : 1,
			.buckets = (double)how->buckets.count,
			.link = t->link,
		},
		t->comm, e);
	return t->telemetry ? 0 : e->code;
}

/* The lock and the lease of the run, as the first rank sees them, and whether this rank sees the same. */
static int note_run_lock(struct trainer *t, struct err *e)
{
	char *lock = file_path(e, "%s/lock", t->folder);
	struct run_lease here;
	int rc = lock ? run_lease_read(t->folder, &here, e) : e->code;

	t->run_lock = lock_file_identity(lock ? lock : "");
	free(lock);
	if (rc && trainer_is_first(t))
		return rc;
	t->lease = here; /* a rank that may not read it does not share the folder */
	if (t->comm->broadcast(t->comm, &t->lease, sizeof(t->lease), 0, e))
		return e->code;
	/* without a supervisor there is no lease, and nothing tells whose folder this is */
	t->shares_folder = trainer_is_first(t) || (here.id[0] && !strcmp(here.id, t->lease.id));
	return 0;
}

/* A thread can save the state alone only if its rank has all of it in host memory. */
static int open_rescue(struct trainer *t, struct err *e)
{
	struct rescue_options how = {
		.conf = t->conf,
		.folder = t->folder,
		.corpus = t->corpus,
		.state = &t->state,
		.adam = &t->adam,
		.saved_step = &t->progress.saved_step,
		.time = &t->time,
		.records = &t->records,
		.signals = t->signals,
		.heartbeat = t->heartbeat,
		.stopping = &t->stopping,
		.save_s = &t->progress.save_s,
		.lease = &t->lease,
		.rank = t->comm->rank,
	};

	t->progress.saved_at = clock_mono_s();
	if (!t->shares_folder && t->lease.id[0] &&
	    !(t->rescue_folder = file_path(e, "%s/rescued-%s", t->folder, t->lease.id)))
		return e->code;
	how.own_folder = t->rescue_folder;
	if ((!t->shares_folder && !t->rescue_folder) || t->comm->size == 1 ||
	    !arena_is_host(t->model) || t->exchange.options.shards || t->local_steps ||
	    t->average.ema || exchange_has_feedback(&t->exchange))
		return 0;
	t->rescue = rescue_open(&how, e);
	return t->rescue ? 0 : e->code;
}

/* What the parts of the trainer borrow from it. */
static void lend_to_parts(struct trainer *t)
{
	t->records.step = &t->state.step;
	t->records.is_quiet = t->conf->quiet;
	t->time = (struct time_limit){ .conf = t->conf,
				       .schedule = &t->rate_schedule,
				       .state = &t->state,
				       .records = &t->records };
	t->stopping = (struct stop_requests){ .comm = t->comm,
					      .signals = t->signals,
					      .micro_batches = t->conf->micro_batches,
					      .parent = t->comm->size > 1 ? (int)getppid() : 0 };
}

/* One for both sides if they share a subword model: they share its cache of words, too. */
static int open_resplit(struct trainer *t, struct loader_options *options, struct err *e)
{
	const struct conf *c = t->conf;
	const bool is_one = text_subword_models(c) == 1;

	t->resplit = resplit_open(t->corpus, c, 1, t->vocabs.target, e);
	if (t->resplit && !is_one)
		t->source_resplit = resplit_open(t->corpus, c, 0, t->vocabs.source, e);
	options->resplit = t->resplit;
	options->source_resplit = t->source_resplit;
	return t->resplit && (is_one || t->source_resplit) ? 0 : e->code;
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
	struct tag_mix_options tags;
	struct product_format format;

	lend_to_parts(t);
	if (t->comm->survive)
		t->comm->survive(t->comm);
	if (!c->run)
		return err_set(e, ERR_USAGE, "no run given: add --run NAME");
	if (paths_check_name("run", c->run, e) || schedule_check_conf(c, e) ||
	    optimizer_check_conf(c, t->comm->size, e) || check_ranks(t, e))
		return e->code;
	if (processor_level_agree(&t->processor, t->comm, e))
		return e->code;
	t->workspace = paths_workspace(c->workspace, e);
	t->folder = t->workspace ? file_path(e, "%s/runs/%s", t->workspace, c->run) : NULL;
	if (!t->folder || trainer_open_corpus(t, e) || note_run_lock(t, e))
		return e->code;
	if (trainer_is_first(t) && (file_make_folders(t->folder, e) || copy_files_into_run(t, e) ||
				    run_records_open(&t->records, t->folder, e)))
		return e->code;
	if (trainer_open_heartbeat(t, e))
		return e->code;
	t->stopping.folder = t->folder;
	t->stopping.heartbeat = t->heartbeat;
	if ((resplit_is_wanted(c) && open_resplit(t, &options, e)) || check_same_corpus(t, e))
		return e->code;
	if (tag_shares_options(&tags, c, t->vocabs.source, e))
		return e->code;
	options.tags = &tags;
	t->loader = loader_new(t->shard, &options, e);
	free(tags.tags);
	if (!t->loader || trainer_choose_gpu(t->comm, c->gpu, &t->gpu, e))
		return e->code;
	format = trainer_format(t);
	if (product_format_choose(&format, &t->is_bf16, e) || open_model(t, e) ||
	    trainer_load_state(t, e))
		return e->code;
	if (trainer_is_first(t) && trainer_repair_vocabulary(t, e))
		return e->code;
	return trainer_count_hosts(t, e) || open_telemetry(t, e) || open_rescue(t, e) ? e->code : 0;
}

void trainer_close(struct trainer *t)
{
	trainer_at_phase(t, PHASE_END);
	rescue_close(t->rescue);
	heartbeat_free(t->heartbeat);
	telemetry_free(t->telemetry);
	local_steps_close(t->local_steps);
	exchange_close(&t->exchange);
	weight_changes_close(t->weight_changes);
	ema_free(t->average.ema);
	adam_close(&t->adam);
	evaluations_free(&t->progress.evaluations);
	free(t->resumed);
	free(t->rescue_folder);
	free(t->start_text);
	model_free(t->model);
	profile_free(t->profile);
	batch_free(&t->batch);
	if (t->loader)
		loader_free(t->loader);
	resplit_close(t->resplit);
	resplit_close(t->source_resplit);
	if (t->shard)
		shard_close(t->shard);
	vocabs_close(&t->vocabs);
	run_records_close(&t->records);
	free(t->corpus);
	free(t->folder);
	free(t->workspace);
}
