/* trainer_watch.c - warnings about the recipe and about how the run learns; see trainer_internal.h */
#include "train/trainer/trainer_internal.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/file.h"
#include "train/record/recipe_check.h"

#define MANIFEST_MAX (64u << 20) /* bytes */

static void report_learning_warnings(struct trainer *t, const struct learning_warning *all,
				     size_t n)
{
	for (size_t i = 0; i < n; i++)
		report_warning(t, all[i].sign, all[i].text);
}

/* ---- the recipe ---------------------------------------------------------- */

/* What prep counted, from the manifest of the corpus; without one it stays unknown. */
static int read_manifest_facts(const struct trainer *t, struct recipe_facts *f, struct err *e)
{
	struct json *m = NULL;
	char *path = file_path(e, "%s/manifest.json", t->corpus);
	int rc = path ? json_read_optional(&m, path, MANIFEST_MAX, e) : e->code;

	f->dev_pairs = json_number(json_get(json_get(m, "pairs"), "dev"), NAN);
	f->dev_in_train = json_number(json_get(json_get(m, "held_out_in_train"), "dev"), NAN);
	json_free(m);
	free(path);
	return rc;
}

/* An attempt does not repeat the warnings of earlier ones. */
static int warn_of_recipe(struct trainer *t, const char *journal, struct err *e)
{
	struct learning_warning due[RECIPE_CHECKS];
	struct recipe_facts f = {
		.conf = t->conf,
		.parameters = (double)model_floats(t->model),
		.pairs = (double)shard_pairs(t->shard),
		.target_tokens = (double)(shard_target_tokens(t->shard) + shard_pairs(t->shard)),
	};

	if (read_manifest_facts(t, &f, e))
		return e->code;
	t->progress.lacks_dev_set = f.dev_pairs == 0;
	report_learning_warnings(t, due,
				 recipe_check_drop_told(due, recipe_check(&f, due), journal));
	return 0;
}

/* ---- training ------------------------------------------------------------ */

static int open_first_watch(struct trainer *t, struct err *e)
{
	struct learning_watch *w = &t->records.watch;
	char *journal;
	int rc;

	learning_watch_begin(w, t->state.shape.vocabulary, t->state.shape.d_model,
			     (double)t->conf->warmup);
	journal = file_path(e, "%s/journal.jsonl", t->folder);
	rc = journal ? warn_of_recipe(t, journal, e) : e->code;
	if (!rc && t->state.step > 0)
		rc = learning_watch_resume(w, journal, t->state.step, e);
	free(journal);
	return rc;
}

int watch_open(struct trainer *t, struct err *e)
{
	bool *lacks = &t->progress.lacks_dev_set;

	if (trainer_is_first(t) && open_first_watch(t, e))
		return e->code;
	return t->comm->broadcast(t->comm, lacks, sizeof(*lacks), 0, e);
}

void watch_step(struct trainer *t, double nll)
{
	struct learning_warning due[N_LEARNING_SIGNS];
	const struct learning_step p = { .step = (double)t->state.step,
					 .steps = (double)t->meter.steps,
					 .nll = nll,
					 .rate = t->last_step.rate,
					 .grad_norm = t->last_step.grad_norm,
					 .epoch = t->progress.epoch,
					 .is_skipped = !t->last_step.is_finite };

	report_learning_warnings(t, due, learning_watch_add_step(&t->records.watch, &p, due));
}

void watch_evaluation(struct trainer *t, double bleu, double dev_nll, double train_nll)
{
	struct learning_warning due[N_LEARNING_SIGNS];
	const struct learning_evaluation p = { (double)t->state.step, bleu < 0 ? NAN : bleu,
					       dev_nll, train_nll };

	report_learning_warnings(t, due, learning_watch_add_evaluation(&t->records.watch, &p, due));
}

bool watch_must_stop(const struct trainer *t)
{
	return t->conf->stop_on == STOP_ON_DIVERGED &&
	       learning_watch_is_diverged(&t->records.watch);
}
