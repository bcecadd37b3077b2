/* trainer_watch.c - warnings about how the run learns; see trainer_internal.h */
#include "train/trainer/trainer_internal.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/file.h"

int watch_open(struct trainer *t, struct err *e)
{
	struct learning_watch *w = &t->records.watch;
	char *journal;
	int rc;

	if (!trainer_is_first(t))
		return 0;
	learning_watch_begin(w, t->state.shape.vocabulary, t->state.shape.d_model,
			     (double)t->conf->warmup);
	if (t->state.step == 0)
		return 0;
	journal = file_path(e, "%s/journal.jsonl", t->folder);
	rc = journal ? learning_watch_resume(w, journal, t->state.step, e) : e->code;
	free(journal);
	return rc;
}

static void report_learning_warnings(struct trainer *t, const struct learning_warning *all,
				     size_t n)
{
	for (size_t i = 0; i < n; i++)
		report_warning(t, all[i].sign, all[i].text);
}

void watch_step(struct trainer *t, double nll)
{
	struct learning_warning due[N_LEARNING_SIGNS];
	const struct learning_step p = { .step = (double)t->state.step,
					 .steps = (double)t->meter.steps,
					 .nll = nll,
					 .rate = t->last_step.rate,
					 .grad_norm = t->last_step.grad_norm,
					 .epoch = loader_epoch(t->loader),
					 .is_skipped = !t->last_step.is_finite };

	report_learning_warnings(t, due, learning_watch_add_step(&t->records.watch, &p, due));
}

void watch_evaluation(struct trainer *t, double bleu, double dev_nll, double train_nll)
{
	struct learning_warning due[N_LEARNING_SIGNS];
	const struct learning_evaluation p = { (double)t->state.step, bleu, dev_nll, train_nll };

	report_learning_warnings(t, due, learning_watch_add_evaluation(&t->records.watch, &p, due));
}
