/* learning_resume.c - the records of a run's journal for learning_watch_resume(); see learning_watch.h */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/workspace/journal.h"
#include "train/record/learning_watch.h"

/* A record "train" or "eval". */
struct learning_record {
	bool is_evaluation;
	struct learning_step step;
	struct learning_evaluation evaluation; /* its step is that of both */
};

struct learning_records {
	struct learning_record *all; /* owned */
	size_t n, cap;
};

/* An attempt starts at this step: drop the records of the steps that it repeats. */
static void drop_records_after(struct learning_records *v, double step)
{
	while (v->n && v->all[v->n - 1].evaluation.step > step)
		v->n--;
}

static int add_learning_record(struct learning_records *v, const struct json *r, bool is_evaluation,
			       struct err *e)
{
	const double step = json_number(json_get(r, "step"), NAN),
		     loss = json_number(json_get(r, "loss"), NAN),
		     nll = json_number(json_get(r, "nll"), NAN);
	double before = 0; /* step of the preceding training record */

	if (!(step >= 0))
		return 0;
	for (size_t i = v->n; i > 0 && before == 0; i--)
		if (!v->all[i - 1].is_evaluation)
			before = v->all[i - 1].step.step;
	if (mem_grow(&v->all, &v->cap, v->n + 1, sizeof(*v->all), e))
		return e->code;
	v->all[v->n++] = (struct learning_record){
		.is_evaluation = is_evaluation,
		.step = { .step = step,
			  .steps = step - before,
			  .nll = isfinite(nll) || !isfinite(loss) ? nll : loss,
			  .rate = json_number(json_get(r, "lr"), NAN),
			  .grad_norm = json_number(json_get(r, "grad_norm"), NAN),
			  .epoch = json_number(json_get(r, "epoch"), NAN),
			  .is_skipped = json_get(r, "nonfinite") != NULL },
		.evaluation = { .step = step,
				.bleu = json_number(json_get(r, "bleu"), NAN),
				.dev_nll = json_number(json_get(r, "dev_nll"), NAN),
				.train_nll = json_number(json_get(r, "train_nll"), NAN) },
	};
	return 0;
}

/* A warning that an earlier attempt gave is not given again, even if its steps are repeated. */
static void note_warning(struct learning_watch *w, const struct json *r)
{
	const char *name = json_text(json_get(r, "sign"), "");

	for (int i = 0; i < N_LEARNING_SIGNS; i++)
		if (!strcmp(name, learning_sign_name((enum learning_sign)i)))
			w->signs[i].until =
				fmax(w->signs[i].until, json_number(json_get(r, "step"), -1));
}

static int read_journal_records(struct learning_watch *w, struct learning_records *v,
				const char *journal, struct err *e)
{
	struct journal_reader *reader = journal_reader_open(journal, e);
	const struct json *r;
	int rc = reader ? 0 : e->code;

	while (!rc && (rc = journal_next(reader, &r, e)) > 0) {
		const char *kind = json_text(json_get(r, "kind"), "");
		const bool is_evaluation = !strcmp(kind, "eval");

		rc = 0;
		if (!strcmp(kind, "start"))
			drop_records_after(v, json_number(json_get(r, "step"), 0));
		else if (!strcmp(kind, "event"))
			note_warning(w, r);
		else if (is_evaluation || !strcmp(kind, "train"))
			rc = add_learning_record(v, r, is_evaluation, e);
	}
	journal_reader_free(reader);
	return rc;
}

int learning_watch_resume(struct learning_watch *w, const char *journal, int64_t step,
			  struct err *e)
{
	struct learning_warning ignored[N_LEARNING_SIGNS];
	struct learning_records v = { 0 };
	int rc = read_journal_records(w, &v, journal, e);

	drop_records_after(&v, (double)step);
	for (size_t i = 0; !rc && i < v.n; i++)
		if (v.all[i].is_evaluation)
			learning_watch_add_evaluation(w, &v.all[i].evaluation, ignored);
		else
			learning_watch_add_step(w, &v.all[i].step, ignored);
	/* a journal of an older version has no warnings: give those that hold now */
	for (int i = 0; i < N_LEARNING_SIGNS; i++)
		if (w->signs[i].until < 0)
			w->signs[i].told = 0;
	free(v.all);
	return rc;
}
