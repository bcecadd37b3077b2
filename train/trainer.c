/* trainer.c - see trainer.h */
#include "train/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/corpus.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/paths.h"
#include "train/control.h"
#include "train/evaluate.h"
#include "train/trainer_internal.h"

/* ---- the corpus -------------------------------------------------------- */

static int open_corpus(struct trainer *t, struct err *e)
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
			"%s was not made with %s: their SHA-256 differ; prepare the corpus again",
			shard, vocab);
	else if (t->shard && shard_pairs(t->shard) == 0)
		err_set(e, ERR_DATA, "%s holds no pair to train on", shard);
	else if (t->shard)
		e->code = 0;
	free(shard);
	free(vocab);
	return e->code;
}

/* A run keeps its own copy of what the model needs to read and write text. */
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

static int check_memory(const struct model_shape *shape, int32_t tokens, int32_t sentences,
			struct err *e)
{
	double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	size_t need;

	if (model_training_bytes(shape, tokens, sentences, &need, e))
		return e->code;
	if (have > 0 && (double)need > have)
		return err_set(
			e, ERR_CONFIG,
			"training needs %.1f GiB with batch_tokens %d, this machine has %.1f GiB: "
			"lower batch_tokens (and raise accumulate)",
			(double)need / (1 << 30), tokens, have / (1 << 30));
	return 0;
}

/* The processor cores are shared by the ranks of this host. */
static int threads_of(const struct trainer *t)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (t->conf->threads || t->comm->local_size == 1)
		return (int)t->conf->threads;
	return (int)MAX(cores / t->comm->local_size, 1);
}

static int open_model(struct trainer *t, struct err *e)
{
	static const char *const backends[] = { "auto", "cpu", "ref", "cuda" };
	const struct conf *c = t->conf;
	const struct ops *ops = ops_find(backends[c->backend], e);
	struct dev_options options = {
		.threads = threads_of(t),
		.device = t->comm->local_rank,
		.bf16 = c->precision == PRECISION_BF16,
	};
	const int32_t tokens = (int32_t)c->batch_tokens,
		      sentences = loader_max_sentences(t->loader);
	struct model_shape *shape = &t->state.shape;

	if (ops && c->profile) {
		t->profile = options.profile = profile_new(ops, e);
		t->profiled_steps = -1;
		ops = t->profile ? profile_ops(t->profile) : NULL;
	}
	if (!ops ||
	    model_shape_from_conf(shape, c, vocab_size(t->vocab), vocab_real_size(t->vocab), e) ||
	    check_memory(shape, tokens, sentences, e))
		return e->code;
	t->model = model_new(shape, ops, &options, e);
	if (!t->model || model_reserve_training(t->model, tokens, sentences, e) ||
	    adam_open(&t->adam, t->model, c->beta1, c->beta2, c->epsilon, e) ||
	    batch_alloc(&t->batch, sentences, tokens, e))
		return e->code;
	t->sched = (struct sched){
		.factor = c->learning_rate, .warmup = c->warmup, .d_model = shape->d_model};
	return 0;
}

/* ---- beginning or going on --------------------------------------------- */

static int check_same_model(const struct trainer *t, const struct ckpt_state *found,
			    const char *folder, struct err *e)
{
	const struct model_shape *a = &found->shape, *b = &t->state.shape;
	const struct { const char *name; int32_t was, is;
	} sizes[] = {
		{"d_model", a->d_model, b->d_model},
		{"d_ff", a->d_ff, b->d_ff},
		{"heads", a->heads, b->heads},
		{"encoder_layers", a->encoder_layers, b->encoder_layers},
		{"decoder_layers", a->decoder_layers, b->decoder_layers},
		{"vocabulary", a->vocabulary, b->vocabulary},
		{"real_vocabulary", a->real_vocabulary, b->real_vocabulary},
	};

	if (strcmp(found->vocabulary_sha256, t->state.vocabulary_sha256) != 0)
		return err_set(e, ERR_DATA,
			       "%s was trained with another vocabulary than %s/vocab.tsv: take the "
			       "corpus it was "
			       "trained on, or begin another run",
			       folder, t->corpus);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		if (sizes[i].was != sizes[i].is)
			return err_set(e, ERR_DATA,
				       "%s has %s %d, the recipe says %d: restore it, or begin "
				       "another run",
				       folder, sizes[i].name, sizes[i].was, sizes[i].is);
	if (found->seed != t->state.seed)
		return err_set(
			e, ERR_CONFIG,
			"%s was trained with seed %llu, the recipe says %llu: restore it, or begin "
			"another run",
			folder, (unsigned long long)found->seed, (unsigned long long)t->state.seed);
	return 0;
}

/* Load the newest checkpoint into the first rank; without one begin with random weights. */
static int load_or_init(struct trainer *t, struct err *e)
{
	struct ckpt_state found;
	struct evaluated seen;
	char *folder = ckpt_find_last(t->folder, e);
	int rc;

	if (!folder)
		return e->code ? e->code : model_init(t->model, t->state.seed, e);
	rc = ckpt_read_state(folder, false, &found, e);
	if (!rc)
		rc = check_same_model(t, &found, folder, e);
	if (!rc)
		rc = ckpt_load_weights(folder, t->model, e);
	if (!rc)
		rc = ckpt_load_moments(folder, t->model, t->adam.first, t->adam.second, e);
	if (!rc)
		rc = evaluated_read(t->folder, &seen, e);
	if (!rc) {
		t->state = found;
		t->saved_step = found.step;
		t->evaluated_step = seen.step;
		if (seen.best_step >= 0 && seen.best_step <= found.step) {
			t->state.best_bleu = seen.best_bleu;
			t->state.best_step = seen.best_step;
		}
	}
	free(folder);
	return rc;
}

/* Every rank begins with the first one's weights, moments and state. */
static int share_beginning(struct trainer *t, struct err *e)
{
	struct comm *k = t->comm;
	const size_t bytes = (size_t)model_floats(t->model) * sizeof(float);

	if (k->size == 1)
		return 0;
	if (k->broadcast(k, &t->state, sizeof(t->state), 0, e) ||
	    k->broadcast(k, &t->saved_step, sizeof(t->saved_step), 0, e) ||
	    k->broadcast(k, &t->evaluated_step, sizeof(t->evaluated_step), 0, e) ||
	    k->broadcast(k, model_param_arena(t->model), bytes, 0, e) ||
	    k->broadcast(k, t->adam.first, bytes, 0, e) ||
	    k->broadcast(k, t->adam.second, bytes, 0, e))
		return e->code;
	return 0;
}

static int begin(struct trainer *t, struct err *e)
{
	const struct conf *c = t->conf;

	t->saved_step = t->evaluated_step = -1;
	t->state.seed = (uint64_t)c->seed;
	t->state.best_bleu = -1;
	t->state.best_step = -1;
	memcpy(t->state.vocabulary_sha256, vocab_sha256(t->vocab),
	       sizeof(t->state.vocabulary_sha256));
	if (is_first(t) && load_or_init(t, e))
		return e->code;
	if (share_beginning(t, e) || loader_seek(t->loader, t->state.loader_position, e))
		return e->code;
	t->seconds_before = t->state.seconds;
	t->started = clock_mono_s();
	return 0;
}

/* ---- opening and closing ----------------------------------------------- */

static int open_records(struct trainer *t, struct err *e)
{
	char *journal = file_path(e, "%s/journal.jsonl", t->folder),
	     *samples = file_path(e, "%s/samples.jsonl", t->folder);

	t->journal = journal && samples ? journal_open(journal, e) : NULL;
	t->samples = t->journal ? journal_open(samples, e) : NULL;
	/* the launcher passes on what we say, and tells whether it says it to a terminal */
	t->terminal = isatty(STDERR_FILENO) == 1 || getenv("WERKBANK_TERMINAL");
	free(journal);
	free(samples);
	return t->samples ? 0 : e->code;
}

static int check_ranks(const struct trainer *t, struct err *e)
{
	const struct conf *c = t->conf;

	if (c->accumulate < t->comm->size)
		return err_set(e, ERR_CONFIG,
			       "%d ranks share the micro-batches of a step, but accumulate is "
			       "%lld: set it to %d or "
			       "a multiple",
			       t->comm->size, (long long)c->accumulate, t->comm->size);
	if (t->comm->size > 1 && c->backend == BACKEND_CUDA)
		return err_set(e, ERR_UNAVAILABLE,
			       "several ranks on GPUs are not supported yet: train with one rank");
	return 0;
}

static int open_trainer(struct trainer *t, struct err *e)
{
	const struct conf *c = t->conf;
	struct loader_options options = {
		.seed = (uint64_t)c->seed, .batch_tokens = (int32_t)c->batch_tokens,
		.rank = t->comm->rank, .ranks = t->comm->size,
	};

	if (!c->run)
		return err_set(e, ERR_USAGE, "which run? give --run NAME");
	if (paths_check_name("run", c->run, e) || check_ranks(t, e))
		return e->code;
	t->workspace = paths_workspace(c->workspace, e);
	t->folder = t->workspace ? file_path(e, "%s/runs/%s", t->workspace, c->run) : NULL;
	if (!t->folder || open_corpus(t, e))
		return e->code;
	if (is_first(t) && (file_make_folders(t->folder, e) || copy_into_run(t, "vocab.tsv", e) ||
			    copy_into_run(t, "bpe.codes", e) ||
			    copy_into_run(t, "sentencepiece.model", e) || open_records(t, e)))
		return e->code;
	if (c->bpe_dropout > 0) {
		t->dropout = bpe_dropout_open(t->corpus, c, t->vocab, e);
		if (!t->dropout)
			return e->code;
		options.dropout = t->dropout;
	}
	t->loader = loader_new(t->shard, &options, e);
	if (!t->loader || open_model(t, e))
		return e->code;
	return begin(t, e);
}

static void close_trainer(struct trainer *t)
{
	adam_close(&t->adam);
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
	journal_free(t->journal);
	journal_free(t->samples);
	free(t->corpus);
	free(t->folder);
	free(t->workspace);
}

/* ---- saving and evaluating --------------------------------------------- */

static double seconds_trained(const struct trainer *t)
{
	return t->seconds_before + (clock_mono_s() - t->started);
}

int trainer_save(struct trainer *t, struct err *e)
{
	double begun = clock_mono_s();
	int64_t bytes;

	if (t->saved_step == t->state.step)
		return 0;
	t->saved_step = t->state.step;
	if (!is_first(t))
		return 0;
	t->state.seconds = seconds_trained(t);
	if (ckpt_save(t->folder, &t->state, t->model, t->adam.first, t->adam.second,
		      (int)t->conf->keep, &bytes, e))
		return e->code;
	return report_save(t, bytes, clock_mono_s() - begun, e);
}

/* What the first rank makes of an evaluation; one that failed is a warning. */
static int evaluated_here(struct trainer *t, const struct evaluation *v, struct err *e)
{
	struct evaluated seen;

	if (v->trouble.code == ERR_TEMPFAIL)
		return 0; /* the loop sees the request too; it is done after resuming */
	if (v->trouble.code)
		return report_event(t, "warning", "the evaluation of step %lld failed: %s",
				    (long long)v->step, v->trouble.text);
	if (v->bleu > t->state.best_bleu) {
		t->state.best_bleu = v->bleu;
		t->state.best_step = v->step;
		if (ckpt_set_best(t->folder, v->step, e))
			return e->code;
	}
	t->evaluated_step = v->step;
	if (!t->conf->quiet)
		fprintf(stderr, "step %lld: dev BLEU %.2f (best %.2f at step %lld)\n",
			(long long)v->step, v->bleu, t->state.best_bleu,
			(long long)t->state.best_step);
	seen = (struct evaluated){ v->step, t->state.best_step, t->state.best_bleu };
	return evaluated_write(t->folder, &seen, e);
}

/* All ranks; afterwards all know whether it came through. */
static int evaluate(struct trainer *t, struct err *e)
{
	struct evaluation v = {
		.workspace = t->workspace,
		.run = t->conf->run,
		.journal = t->journal,
		.samples = t->samples,
		.stop = t->stop,
		.best_bleu = t->state.best_bleu,
		.comm = t->comm,
		.conf = t->conf,
		.folder = t->folder,
		.corpus = t->corpus,
		.state = &t->state,
		.model = t->model,
		.threads = threads_of(t),
		.unable = &t->no_share,
	};

	if (trainer_save(t, e))
		return e->code;
	v.step = t->state.step;
	report_end_line(t);
	if (evaluate_checkpoint(&v, e) || (is_first(t) && evaluated_here(t, &v, e)))
		return e->code;
	return t->comm->broadcast(t->comm, &t->evaluated_step, sizeof(t->evaluated_step), 0, e);
}

/* ---- the loop ---------------------------------------------------------- */

enum { ASK_STOP, ASK_SAVE, ASK_EVALUATE, ASK_FINISH, N_ASKS };

/* What is asked of the run now; every rank gets the same answer. */
static int ask(struct trainer *t, int64_t asks[N_ASKS], struct err *e)
{
	const double minutes = t->conf->max_minutes;

	memset(asks, 0, N_ASKS * sizeof(*asks));
	asks[ASK_STOP] = *t->stop != 0;
	if (is_first(t)) {
		struct control c = control_take(t->folder);

		asks[ASK_STOP] |= c.stop;
		asks[ASK_SAVE] = c.save;
		asks[ASK_EVALUATE] = c.evaluate;
		asks[ASK_FINISH] = minutes > 0 && seconds_trained(t) >= minutes * 60;
	}
	return t->comm->max_ints(t->comm, asks, N_ASKS, e);
}

static int stopped(struct trainer *t, struct err *e)
{
	if (trainer_save(t, e) || report_stop(t, "asked", err_exit_status(ERR_TEMPFAIL), e))
		return e->code;
	return err_set(e, ERR_TEMPFAIL,
		       "the run \"%s\" was asked to stop and is saved at step %lld: train it again "
		       "to go on",
		       t->conf->run, (long long)t->state.step);
}

static int after_step(struct trainer *t, struct err *e)
{
	const int64_t step = t->state.step;

	if (report_step(t, e))
		return e->code;
	if (step == t->conf->steps)
		return 0;		/* finish() does it */
	if (step % t->conf->eval_every == 0)
		return evaluate(t, e);
	return step % t->conf->save_every == 0 ? trainer_save(t, e) : 0;
}

static int finish(struct trainer *t, struct err *e)
{
	int64_t asks[N_ASKS];

	if (trainer_save(t, e) || (t->evaluated_step != t->state.step && evaluate(t, e)) ||
	    ask(t, asks, e))
		return e->code;
	return asks[ASK_STOP] && t->evaluated_step != t->state.step
		       ? stopped(t, e)
		       : report_stop(t, "finished", 0, e);
}

static int train(struct trainer *t, struct err *e)
{
	int64_t asks[N_ASKS];

	if (report_start(t, e))
		return e->code;
	if (t->state.step > 0)
		report_event(t, "info", "going on from the checkpoint of step %lld",
			     (long long)t->state.step);
	/* an attempt before may have ended between saving and evaluating */
	if (t->state.step > 0 && t->state.step < t->conf->steps &&
	    t->state.step % t->conf->eval_every == 0 && t->evaluated_step < t->state.step &&
	    evaluate(t, e))
		return e->code;
	while (t->state.step < t->conf->steps) {
		if (ask(t, asks, e))
			return e->code;
		if (asks[ASK_FINISH])
			break;
		if (asks[ASK_STOP])
			return stopped(t, e);
		if ((asks[ASK_SAVE] && trainer_save(t, e)) ||
		    (asks[ASK_EVALUATE] && evaluate(t, e)) || trainer_step(t, e) ||
		    after_step(t, e))
			return e->code;
	}
	return finish(t, e);
}

int trainer_run(const struct conf *c, struct comm *comm, const volatile sig_atomic_t *stop,
		struct err *e)
{
	struct trainer t = { .conf = c, .comm = comm, .stop = stop };
	int rc = open_trainer(&t, e);

	if (!rc)
		rc = train(&t, e);
	if (rc && rc != ERR_TEMPFAIL && t.journal) {
		struct err ignored;

		report_event(&t, "error", "%s", e->text);
		report_stop(&t, "failed", err_exit_status(rc), &ignored);
	}
	close_trainer(&t);
	return rc;
}
