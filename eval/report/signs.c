/* signs.c - passes the records of a run to train/record/learning.c; see evidence.h */
#include "eval/report/evidence.h"

#include <math.h>
#include <string.h>

/* The NLL of a training record; the loss if the journal has no NLL (imported logs). */
static double training_nll(const struct train_point *p)
{
	return isfinite(p->nll) || !isfinite(p->loss) ? p->nll : p->loss;
}

static void add_training_point(struct learning *l, const struct train_point *p)
{
	learning_add_step(l, &(struct learning_step){ .step = p->step,
						      .steps = p->steps,
						      .nll = training_nll(p),
						      .rate = p->lr,
						      .grad_norm = p->grad_norm,
						      .epoch = p->epoch });
}

void evidence_find_signs(struct evidence *v)
{
	struct learning l;
	size_t at = 0;

	learning_begin(&l, v->vocabulary, v->has_plan ? (double)v->recipe.d_model : NAN,
		       (double)v->recipe.warmup);
	for (size_t i = 0; i < v->n_evals; i++) {
		const struct eval_point *p = &v->evals[i];

		while (at < v->n_train && v->train[at].step <= p->step)
			add_training_point(&l, &v->train[at++]);
		learning_add_evaluation(&l, &(struct learning_evaluation){
						    p->step, p->bleu, p->dev_nll, p->train_nll });
	}
	while (at < v->n_train)
		add_training_point(&l, &v->train[at++]);
	l.nonfinite = v->nonfinite;
	l.skipped = v->skipped;
	if (strstr(v->last_error, "diverged"))
		learning_add_failure(&l);
	learning_find_signs(&l, &v->signs);
	learning_find_trend(&l, &v->signs, true);
}
