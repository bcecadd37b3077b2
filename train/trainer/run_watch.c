/* run_watch.c - see run_watch.h */
#include "train/trainer/run_watch.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/file.h"
#include "train/optim/schedule.h"

#define MANIFEST_MAX (64u << 20) /* bytes */

static void report_learning_warnings(struct run_watch *w, const struct learning_warning *all,
				     size_t n)
{
	for (size_t i = 0; i < n; i++)
		run_records_warning(w->records, all[i].sign, all[i].text);
}

static int read_manifest_facts(const char *corpus, struct recipe_facts *f, struct err *e)
{
	struct json *m = NULL;
	char *path = file_path(e, "%s/manifest.json", corpus);
	int rc = path ? json_read_optional(&m, path, MANIFEST_MAX, e) : e->code;

	f->dev_pairs = json_number(json_get(json_get(m, "pairs"), "dev"), NAN);
	f->dev_in_train = json_number(json_get(json_get(m, "held_out_in_train"), "dev"), NAN);
	json_free(m);
	free(path);
	return rc;
}

/* An attempt does not repeat the warnings of earlier ones. */
static int warn_of_recipe(struct run_watch *w, const char *corpus, struct recipe_facts *f,
			  const char *journal, struct err *e)
{
	struct learning_warning due[RECIPE_CHECKS];

	if (read_manifest_facts(corpus, f, e))
		return e->code;
	report_learning_warnings(w, due,
				 recipe_check_drop_told(due, recipe_check(f, due), journal));
	return 0;
}

int run_watch_open(struct run_watch *w, const char *folder, const char *corpus,
		   const struct model_shape *shape, struct recipe_facts *facts, struct err *e)
{
	const int64_t step = *w->records->step;
	char *journal;
	int rc;

	learning_watch_begin(&w->signs, shape->vocabulary, shape->d_model,
			     (double)facts->conf->warmup);
	w->signs.rate_option = schedule_rate_option((enum schedule_kind)facts->conf->schedule);
	journal = file_path(e, "%s/journal.jsonl", folder);
	rc = journal ? warn_of_recipe(w, corpus, facts, journal, e) : e->code;
	if (!rc && step > 0)
		rc = learning_watch_resume(&w->signs, journal, step, e);
	free(journal);
	return rc;
}

void run_watch_step(struct run_watch *w, const struct learning_step *s)
{
	struct learning_warning due[N_LEARNING_SIGNS];

	report_learning_warnings(w, due, learning_watch_add_step(&w->signs, s, due));
}

void run_watch_evaluation(struct run_watch *w, const struct learning_evaluation *v)
{
	struct learning_warning due[N_LEARNING_SIGNS];

	report_learning_warnings(w, due, learning_watch_add_evaluation(&w->signs, v, due));
}
