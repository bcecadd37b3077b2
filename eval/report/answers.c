/* answers.c - the table of questions, and the answers that a report shows; see answers.h */
#include "eval/report/answers.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/statistics.h"
#include "share/base/text.h"

/*
 * short_name: the problem in a few words. An illness keeps the model from learning well; the other
 * problems cost quality or time.
 */
static const struct question {
	const char *id, *text;
	judge_fn *judge; /* or find; both NULL: answer_healthy(), which reads the other answers */
	find_fn *find;
	enum answer_verdict bad; /* see struct answer */
	const char *short_name;
	bool is_illness;
} questions[] = {
	{ "duration", "How long did it take, and where did the time go?", answer_duration, NULL,
	  VERDICT_STATEMENT, NULL, false },
	{ "healthy", "Is the run healthy?", NULL, NULL, VERDICT_NO, NULL, false },
	{ "diverged", "Did training diverge?", answer_diverged, NULL, VERDICT_YES, "diverged",
	  true },
	{ "fully-trained", "Is the model fully trained?", NULL, answer_fully_trained, VERDICT_NO,
	  "not fully trained", false },
	{ "stopped-early", "Did the run end before its planned steps?", answer_stopped_early, NULL,
	  VERDICT_YES, "ended before its planned steps", false },
	{ "overfitting", "Does it overfit?", answer_overfitting, NULL, VERDICT_YES, "overfitting",
	  true },
	{ "stable", "Was training stable?", answer_stable, NULL, VERDICT_NO, "not stable", false },
	{ "rate-too-large", "Was the learning rate too large?", answer_rate_too_large, NULL,
	  VERDICT_YES, "learning rate too large", true },
	{ "rate-too-small", "Was the learning rate too small?", answer_rate_too_small, NULL,
	  VERDICT_YES, "learning rate too small", true },
	{ "model-too-small", "Is the model too small?", answer_model_too_small, NULL, VERDICT_YES,
	  "model too small", true },
	{ "data-problem", "Is there a problem of the data?", answer_data_problem, NULL, VERDICT_YES,
	  "data problem", true },
	{ "regularisation", "Is the regularisation too strong?", answer_regularisation, NULL,
	  VERDICT_YES, "regularisation too strong", true },
	{ "dev-in-train", "Is the development set part of the training text?", answer_dev_in_train,
	  NULL, VERDICT_YES, "development set in the training text", true },
	{ "dead-part", "Is a part of the model dead?", NULL, answer_dead_part, VERDICT_YES,
	  "dead part of the model", true },
	{ "vocabulary-small", "Is the vocabulary too small?", answer_vocabulary_small, NULL,
	  VERDICT_YES, "vocabulary too small", true },
	{ "gpus-used", "Were the GPUs really used?", answer_gpus_used, NULL, VERDICT_NO,
	  "GPUs hardly used", false },
	{ "network-bound", "Is the network the bottleneck?", NULL, answer_network_bound,
	  VERDICT_YES, "network is the bottleneck", false },
	{ "input-bound", "Did training wait for its data?", answer_input_bound, NULL, VERDICT_YES,
	  "waits for its data", false },
	{ "cpu-starved", "Did training wait for processors?", NULL, answer_cpu_starved, VERDICT_YES,
	  "waits for processors", false },
	{ "checkpoint-bound", "Did checkpoints hold up training?", answer_checkpoint_bound, NULL,
	  VERDICT_YES, "waits for checkpoints", false },
	{ "stragglers", "Did one rank slow down the others?", NULL, answer_stragglers, VERDICT_YES,
	  "one rank is late", false },
	{ "tuning-helped", "Did tuning help?", answer_tuning_helped, NULL, VERDICT_NO,
	  "tuning did not help", false },
	{ "tuning-forgot", "Did the model forget general text?", answer_tuning_forgot, NULL,
	  VERDICT_YES, "forgot general text", false },
	{ "learning-rate", "Which learning-rate schedule is this?", answer_learning_rate, NULL,
	  VERDICT_STATEMENT, NULL, false },
	{ "data-size", "How big was the training set?", answer_data_size, NULL, VERDICT_STATEMENT,
	  NULL, false },
	{ "checkpoint-contents", "What is in a checkpoint?", NULL, answer_checkpoint_contents,
	  VERDICT_STATEMENT, NULL, false },
	{ "checkpoint-size", "How big is a checkpoint?", NULL, answer_checkpoint_size,
	  VERDICT_STATEMENT, NULL, false },
	{ "step-time", "How long does a step take?", answer_step_time, NULL, VERDICT_STATEMENT,
	  NULL, false },
	{ "network-correlation", "How does the step time depend on the network?", NULL,
	  answer_correlation, VERDICT_STATEMENT, NULL, false },
};

#define POINTS(list, type, y)                                                                      \
	offsetof(struct evidence, list), offsetof(struct evidence, n_##list), sizeof(struct type), \
		offsetof(struct type, step), offsetof(struct type, y)

/* The plots: the curves of a question, each a number of all points of a list, over the step. */
static const struct curve_source {
	const char *id, *y_name, *name;
	size_t list, n, point_bytes, step, y; /* offsets in struct evidence and in a point */
} curve_sources[] = {
	{ "diverged", "training loss", "training loss", POINTS(train, train_point, loss) },
	{ "fully-trained", "nats per token", "development NLL",
	  POINTS(evals, eval_point, dev_nll) },
	{ "overfitting", "nats per token, without dropout and smoothing", "development",
	  POINTS(evals, eval_point, dev_nll) },
	{ "overfitting", "nats per token, without dropout and smoothing", "sample of training",
	  POINTS(evals, eval_point, train_nll) },
	{ "stable", "gradient norm", "gradient norm", POINTS(train, train_point, grad_norm) },
	{ "gpus-used", "utilisation of the GPUs", "utilisation",
	  POINTS(host, host_point, gpu_util) },
	{ "network-bound", "seconds per step", "step", POINTS(train, train_point, step_s) },
	{ "network-bound", "seconds per step", "computing", POINTS(train, train_point, compute_s) },
	{ "network-bound", "seconds per step", "waiting for reductions",
	  POINTS(train, train_point, exposed_s) },
	{ "input-bound", "seconds per step", "step", POINTS(train, train_point, step_s) },
	{ "input-bound", "seconds per step", "waiting for a batch",
	  POINTS(train, train_point, input_s) },
	{ "cpu-starved", "share of the time", "some task waits for a processor",
	  POINTS(host, host_point, waits_cpu) },
	{ "checkpoint-bound", "seconds per checkpoint", "saving",
	  POINTS(saves, save_point, seconds) },
	{ "learning-rate", "learning rate", "learning rate", POINTS(train, train_point, lr) },
	{ "step-time", "seconds per step", "step", POINTS(train, train_point, step_s) },
};

/* A run of so few records that most questions have no answer yet. */
static void find_early(struct answers *a, const struct evidence *v)
{
	const double step = v->n_train ? v->train[v->n_train - 1].step : 0;

	*a->early = 0;
	if (v->n_train >= 2 * SIGNS_MIN_RECORDS && v->n_evals >= 3)
		return;
	snprintf(a->early, sizeof(a->early), "%s%s%s step%s", COUNT_TEXT(step),
		 v->has_plan ? " of " : "", v->has_plan ? COUNT_TEXT(v->recipe.steps) : "",
		 text_plural(v->has_plan ? (double)v->recipe.steps : step));
	snprintf(a->early + strlen(a->early), sizeof(a->early) - strlen(a->early),
		 ", %zu training record%s, %zu evaluation%s: too early to judge", v->n_train,
		 text_plural((double)v->n_train), v->n_evals, text_plural((double)v->n_evals));
}

/* Adds a curve if it has a point. */
static int add_curve(struct answer *a, const struct curve_source *s, const struct evidence *v,
		     struct err *e)
{
	struct answer_plot_curve *c = &a->curves[a->n_curves];
	const char *base = (const char *)v;
	const void *points;
	size_t n;

	assert(a->n_curves < ANSWER_MAX_CURVES);
	memcpy(&points, base + s->list, sizeof(points));
	memcpy(&n, base + s->n, sizeof(n));
	if (evidence_get_series(&c->points, points, n, s->point_bytes, s->step, s->y, e))
		return e->code;
	c->name = s->name;
	a->y_name = s->y_name;
	if (c->points.n)
		a->n_curves++;
	else
		free(c->points.x);
	return 0;
}

static int answer_question(struct answer *a, const struct question *q, const struct evidence *v,
			   struct err *e)
{
	*a = (struct answer){ .id = q->id,
			      .question = q->text,
			      .bad = q->bad,
			      .short_name = q->short_name,
			      .is_illness = q->is_illness };
	if (q->bad == VERDICT_STATEMENT)
		a->verdict = VERDICT_STATEMENT;
	for (size_t i = 0; i < ARRAY_LEN(curve_sources); i++)
		if (!strcmp(curve_sources[i].id, q->id) && add_curve(a, &curve_sources[i], v, e))
			return e->code;
	if (q->judge)
		q->judge(a, v);
	return q->find ? q->find(a, v, e) : 0;
}

int answers_find(struct answers *a, const struct evidence *v, struct err *e)
{
	a->n = 0;
	a->has_overview = true;
	find_early(a, v);
	a->all = mem_alloc(ARRAY_LEN(questions), sizeof(*a->all), e);
	if (!a->all)
		return e->code;
	for (size_t i = 0; i < ARRAY_LEN(questions); i++)
		if (answer_question(&a->all[a->n++], &questions[i], v, e))
			return e->code;
	for (size_t i = 0; i < a->n; i++)
		if (!questions[i].judge && !questions[i].find &&
		    answer_healthy(&a->all[i], v, a, e))
			return e->code;
	return 0;
}

static int unknown_question(const struct answers *a, const char *word, struct err *e)
{
	struct buf names = { 0 };

	for (size_t i = 0; i < a->n; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", a->all[i].id);
	err_set(e, ERR_USAGE, "the report has no question '%s'; its questions are: %s, or all",
		word, buf_text(&names));
	buf_free(&names);
	return e->code;
}

int answers_choose(struct answers *a, char *const *ids, size_t n, struct err *e)
{
	for (size_t k = 0; k < a->n; k++)
		a->all[k].is_hidden = true;
	a->has_overview = false;
	for (size_t i = 0; i < n; i++) {
		bool is_all = !strcmp(ids[i], "all"), is_known = is_all;

		a->has_overview |= is_all;
		for (size_t k = 0; k < a->n; k++)
			if (is_all || !strcmp(ids[i], a->all[k].id)) {
				a->all[k].is_hidden = false;
				is_known = true;
			}
		if (!is_known)
			return unknown_question(a, ids[i], e);
	}
	return 0;
}

void answers_choose_problems(struct answers *a)
{
	for (size_t k = 0; k < a->n; k++)
		a->all[k].is_hidden = answer_state_of(&a->all[k]) != ANSWER_PROBLEM;
}

bool answer_is_useless(const struct answers *all, const struct answer *a)
{
	return a->is_inapplicable || (*all->early && a->verdict == VERDICT_UNKNOWN);
}

void answers_choose_useful(struct answers *a)
{
	for (size_t k = 0; k < a->n; k++)
		a->all[k].is_hidden = answer_is_useless(a, &a->all[k]);
}

void answers_free(struct answers *a)
{
	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < a->all[i].n_curves; k++)
			free(a->all[i].curves[k].points.x);
	free(a->all);
	*a = (struct answers){ 0 };
}
