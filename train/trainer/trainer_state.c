/* trainer_state.c - the first state: resumed, from another model, or random; see trainer_internal.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/conf/text_facts.h"
#include "share/workspace/paths.h"
#include "train/common/start_from.h"
#include "train/trainer/trainer_internal.h"

/* ---- the weights of another model ----------------------------------------- */

/* An imported checkpoint has weights, but no moments. */
static bool start_weights_lack_moments(const char *checkpoint, const struct ckpt_state *found)
{
	struct err ignored;
	char *moments = file_path(&ignored, "%s/optimizer.safetensors", checkpoint);
	bool bare = found->step == 0 && moments && !file_exists(moments);

	free(moments);
	return bare;
}

/* Check the folder by its SHA256SUMS, except the optimizer's moments, and load its weights. */
static int load_start_weights(struct trainer *t, const char *folder, struct ckpt_state *found,
			      struct err *e)
{
	struct ckpt_check *check = ckpt_check_start(&(struct ckpt_source){ folder, false }, e);
	int rc = check ? ckpt_check_finish(check, e) : e->code;

	if (!rc)
		rc = ckpt_read_state(folder, false, found, e);
	return rc ? rc : ckpt_load_weights(folder, t->model, e);
}

static int start_weights_load(struct trainer *t, const char *checkpoint, struct err *e)
{
	char *folder = checkpoint ? mem_strdup(checkpoint, e)
				  : paths_model(t->conf->workspace, t->conf->start_from, e);
	struct ckpt_state found = { 0 };
	char sum[65] = "";
	int rc = folder ? start_from_check(folder, t->corpus, t->conf, e) : e->code;

	if (!rc)
		rc = load_start_weights(t, folder, &found, e);
	if (!rc)
		rc = ckpt_weights_sum(folder, sum, e);
	if (!rc)
		t->start_text = file_path(e,
					  "started with the weights of %s (step %lld, SHA-256 "
					  "%.12s); moments and step count start from 0",
					  folder, (long long)found.step, sum);
	free(folder);
	return rc || !t->start_text ? e->code : 0;
}

/* ---- first state: resumed, from a model, or random --------------------- */

static int check_same_model(const struct trainer *t, const struct ckpt_state *found,
			    const char *folder, struct err *e)
{
	const struct model_shape *a = &found->shape, *b = &t->state.shape;
	const struct arch_row *row = arch_difference(a, b);
	char was[ARCH_TEXT_MAX], given[ARCH_TEXT_MAX];

	if (strcmp(found->vocabulary_sha256, t->state.vocabulary_sha256) != 0)
		return err_set(e, ERR_DATA,
			       "%s was trained with another vocabulary than %s/%s: use the "
			       "corpus of the checkpoint, or start another run",
			       folder, t->corpus, text_vocabulary_file(t->conf, 1));
	if (row)
		return err_set(e, ERR_DATA,
			       "%s has %s %s, but the recipe says %s: restore the value in "
			       "the recipe, or start another run",
			       folder, row->name, arch_text(a, row, was), arch_text(b, row, given));
	if (found->seed != t->state.seed)
		return err_set(e, ERR_CONFIG,
			       "%s was trained with seed %llu, but the recipe says %llu: restore "
			       "the value "
			       "in the recipe, or start another run",
			       folder, (unsigned long long)found->seed,
			       (unsigned long long)t->state.seed);
	return 0;
}

/* Adam and AdamW have the same state: a run may change between them. */
static int check_same_optimizer(const struct trainer *t, const struct ckpt_state *found,
				const char *folder, struct err *e)
{
	enum optimizer_kind kind;

	if (!optimizer_find(found->optimizer, &kind))
		return err_set(e, ERR_CONFIG,
			       "%s has the state of an optimizer \"%s\", which this Werkbank does "
			       "not know: use the Werkbank that wrote it, or a newer one",
			       folder, found->optimizer);
	if (optimizer_has_state_of(kind, t->adam.kind))
		return 0;
	return err_set(e, ERR_CONFIG,
		       "%s has the state of the optimizer %s, but the recipe says %s: restore the "
		       "value in the recipe, or start another run from this one with start_from",
		       folder, optimizer_name(kind), optimizer_name(t->adam.kind));
}

static int load_optimizer(const struct trainer *t, const char *folder, struct err *e)
{
	if (t->exchange.options.shards)
		return 0; /* rank_arrays_load() distributes it */
	return t->adam.factored
		       ? ckpt_load_factored(folder, t->model, t->adam.second, e)
		       : ckpt_load_moments(folder, t->model, t->adam.first, t->adam.second, e);
}

/* damage: a line for each checkpoint after `step` that has been set aside. */
static void report_damage(struct trainer *t, const char *damage, int64_t step)
{
	t->state.step = step;
	for (const char *end; (end = strchr(damage, '\n')); damage = end + 1)
		run_records_event(
			&t->records, "warning",
			"a checkpoint is damaged; it is kept under the name STEP.damaged, and "
			"training resumes from step %lld: %.*s",
			(long long)step, (int)MIN(end - damage, 400), damage);
}

static int init_weights(struct trainer *t, struct err *e)
{
	return t->conf->depth_scaled_init ? model_init_by_depth(t->model, t->state.seed, e)
					  : model_init(t->model, t->state.seed, e);
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
					     : init_weights(t, e);
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
		rc = check_same_optimizer(t, &found, folder, e);
	if (!rc)
		rc = ckpt_load_training(folder, t->model, &t->resumed_average, e);
	if (!rc)
		rc = load_optimizer(t, folder, e);
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

/* All ranks get the weights, moments and state of the first rank. */
static int broadcast_state(struct trainer *t, struct err *e)
{
	const struct rank_arrays arrays = rank_arrays_begin(&t->exchange, &t->adam);
	struct comm *k = t->comm;

	if (k->size == 1)
		return 0;
	if (k->broadcast(k, &t->state, sizeof(t->state), 0, e) ||
	    k->broadcast(k, &t->progress.saved_step, sizeof(t->progress.saved_step), 0, e) ||
	    k->broadcast(k, &t->progress.evaluated_step, sizeof(t->progress.evaluated_step), 0,
			 e) ||
	    k->broadcast(k, &t->progress.evals_since_best, sizeof(t->progress.evals_since_best), 0,
			 e) ||
	    exchange_broadcast(&t->exchange, model_param_arena(t->model), e))
		return e->code;
	if (t->progress.saved_step < 0)
		return 0; /* no checkpoint: the moments are 0 on all ranks */
	return rank_arrays_load(&arrays, t->resumed, &t->state, &t->records, e);
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

int trainer_load_state(struct trainer *t, struct err *e)
{
	const struct conf *c = t->conf;

	t->progress.saved_step = t->progress.evaluated_step = -1;
	t->state.seed = (uint64_t)c->seed;
	t->state.best_bleu = -1;
	t->state.best_step = -1;
	memcpy(t->state.vocabulary_sha256, t->vocabs.id, sizeof(t->state.vocabulary_sha256));
	t->products = (struct product_choices){ .model = t->model,
						.folder = t->folder,
						.rank = t->comm->rank,
						.records = &t->records };
	if ((trainer_is_first(t) && (load_or_init(t, e) || read_line_facts(t, e))) ||
	    broadcast_state(t, e) ||
	    product_choices_load(&t->products, t->progress.saved_step >= 0, e) ||
	    loader_seek(t->loader, t->state.loader_position, e))
		return e->code;
	snprintf(t->state.precision, sizeof(t->state.precision), "%s",
		 t->is_bf16 ? "bf16" : "fp32");
	snprintf(t->state.optimizer, sizeof(t->state.optimizer), "%s",
		 optimizer_name(t->adam.kind));
	t->adam.held_steps = t->state.held_steps;
	t->state.feedback_wire = (int32_t)t->exchange.options.wire;
	t->state.feedback_bucket = (int64_t)t->exchange.options.buckets.each;
	t->in_sync = true;
	t->display.recorded_step = t->state.step;
	if (t->comm->size > 1 && c->local_steps > 1) {
		t->local_steps = local_steps_open(c, &t->exchange, &t->adam, e);
		if (!t->local_steps)
			return e->code;
	}
	if (weight_average_open(&t->average, &t->exchange, c->ema,
				t->resumed_average ? t->resumed : NULL, e))
		return e->code;
	time_limit_begin(&t->time);
	return 0;
}

static int repair_vocabulary_file(struct trainer *t, const char *name, const struct vocab *v,
				  struct err *e)
{
	char hex[HASH_SHA256_HEX] = "";
	char *from = file_path(e, "%s/%s", t->corpus, name),
	     *to = file_path(e, "%s/%s", t->folder, name);
	int rc = from && to ? 0 : e->code;

	if (!rc && file_size(to) <= HASH_PIECES_LIMIT) /* a larger file is not a vocabulary */
		rc = hash_file(to, hex, e);
	if (!rc && strcmp(hex, vocab_sha256(v)) != 0) {
		rc = file_copy(from, to, e); /* the corpus has the vocabulary of the state */
		if (!rc)
			run_records_event(
				&t->records, "warning",
				"%s was not the vocabulary of this run; it is copied again "
				"from %s",
				to, t->corpus);
	}
	free(from);
	free(to);
	return rc;
}

/* An empty or damaged vocabulary of the run would be seen at the last evaluation only. */
int trainer_repair_vocabulary(struct trainer *t, struct err *e)
{
	const struct vocabs *v = &t->vocabs;
	int rc = repair_vocabulary_file(t, text_vocabulary_file(t->conf, 1), v->target, e);

	return rc || !vocabs_are_separate(v)
		       ? rc
		       : repair_vocabulary_file(t, text_vocabulary_file(t->conf, 0), v->source, e);
}
