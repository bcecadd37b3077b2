/* page_one.c - the result of a run; see page_one.h */
#include "eval/report/page_one.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "share/base/file.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/format/json.h"
#include "share/workspace/workspace_names.h"

#define SCORE_LIMIT (1u << 20) /* bytes of a kept score, which may hold a ledger */
#define FIRST_DATE  1e9	       /* unix seconds; recorded test runs count from 0 */
#define LAST_DATE   1e11

/* ---- the result -------------------------------------------------------- */

/* The evaluation with the best BLEU; without BLEU, that with the lowest development NLL. */
static void find_dev_score(struct page_score *s, const struct evidence *v)
{
	const struct eval_point *best = NULL;

	for (size_t i = 0; i < v->n_evals; i++) {
		const struct eval_point *p = &v->evals[i];

		if (!best || p->bleu > best->bleu ||
		    (isnan(best->bleu) && (isfinite(p->bleu) || p->dev_nll < best->dev_nll)))
			best = p;
	}
	if (!best)
		return;
	*s = (struct page_score){
		.bleu = best->bleu, .step = best->step, .nll = best->dev_nll, .t = NAN
	};
	snprintf(s->tok, sizeof(s->tok), "%s", v->tok);
}

static int read_test_score(struct page_score *s, const struct evidence *v, struct err *e)
{
	char *path = workspace_score_path(v->recipe.workspace, v->run, "test", e);
	struct json *score = NULL;
	int rc;

	if (!path)
		return e->code;
	rc = json_read_optional(&score, path, SCORE_LIMIT, e);
	if (score) {
		s->bleu = json_number(json_get(score, "bleu"), NAN);
		s->step = json_number(json_get(score, "step"), NAN);
		s->nll = json_number(json_get(score, "nll"), NAN);
		s->t = json_number(json_get(score, "t"), NAN);
		s->sentences = json_number(json_get(score, "sentences"), NAN);
		s->beam = json_number(json_get(score, "beam"), NAN);
		s->alpha = json_number(json_get(score, "alpha"), v->recipe.alpha);
		snprintf(s->tok, sizeof(s->tok), "%.15s", json_text(json_get(score, "tok"), ""));
	}
	json_free(score);
	free(path);
	return rc;
}

static int find_test_set(struct page_one *p, const struct evidence *v, struct err *e)
{
	char *path =
		v->corpus ? file_path(e, "%s/test.%s", v->corpus, v->recipe.target_language) : NULL;

	if (v->corpus && !path)
		return e->code;
	p->has_test_set = path && !v->corpus_changed && file_exists(path);
	free(path);
	return 0;
}

static void find_page_facts(struct page_one *p, const struct evidence *v)
{
	p->pairs = json_number(json_get(json_get(v->manifest, "pairs"), "train"), NAN);
	p->ended = v->last_t - v->set_back_s;
	if (!(p->ended >= FIRST_DATE && p->ended <= LAST_DATE))
		p->ended = NAN;
	for (size_t i = 0; i < v->n_train; i++)
		if (isfinite(v->train[i].step_s) && v->train[i].steps > 0)
			p->trained_s += v->train[i].step_s * v->train[i].steps;
	if (*v->precision)
		snprintf(p->format, sizeof(p->format), "%s%s%s", v->precision,
			 *v->backend ? " on " : "", v->backend);
	snprintf(p->host, sizeof(p->host), "%s", v->started_on);
	if (*p->host && v->hosts > 1)
		snprintf(p->host + strlen(p->host), sizeof(p->host) - strlen(p->host),
			 " and %lld more", (long long)v->hosts - 1);
}

static void put_score_words(struct answer *a, const char *set, const struct page_score *s)
{
	if (isfinite(s->bleu))
		answer_append(a, "BLEU on the %s set is %.2f%s%s%s, at step %s", set, s->bleu,
			      *s->tok ? " (" : "", s->tok, *s->tok ? ")" : "", COUNT_TEXT(s->step));
	else
		answer_append(a, "The %s set has no BLEU; step %s", set, COUNT_TEXT(s->step));
	if (isfinite(s->nll))
		answer_append(a, ", with an NLL of %.3f nats per target token", s->nll);
}

/* "2026-11-26 19:15 UTC" */
static void add_date_fact(struct answer *a, const char *name, double t)
{
	const time_t seconds = isfinite(t) ? (time_t)t : 0;
	char text[32];
	struct tm tm;

	if (isfinite(t) && gmtime_r(&seconds, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &tm))
		answer_add_text(a, name, "%s", text);
}

static void describe_result(struct page_one *p, const struct evidence *v)
{
	struct answer *a = &p->result;

	*a = (struct answer){ .id = "result",
			      .question = "Result",
			      .bad = VERDICT_STATEMENT,
			      .verdict = VERDICT_STATEMENT };
	if (isfinite(p->dev.step))
		put_score_words(a, "development", &p->dev);
	else
		answer_append(a, "The run has no evaluation yet");
	answer_append(a, ". ");
	if (isfinite(p->test.bleu)) {
		put_score_words(a, "test", &p->test);
		answer_append(a, " (%s sentences, beam %s", COUNT_TEXT(p->test.sentences),
			      COUNT_TEXT(p->test.beam));
		if (p->test.alpha != v->recipe.alpha)
			answer_append(a, ", alpha %g", p->test.alpha);
		answer_append(a, ").");
	} else if (v->corpus_changed) {
		answer_append(a, "The test set has no score.");
	} else if (p->score_command) {
		answer_append(a, "The test set has no score yet; type: %s", p->score_command);
	} else {
		answer_append(a, "The corpus has no test set.");
	}
	if (v->corpus_changed)
		answer_append(a, " %s", v->corpus_changed);
	add_date_fact(a, "last record", p->ended);
	add_date_fact(a, "test score", p->test.t);
	if (*p->host)
		answer_add_text(a, "host", "%s", p->host);
	if (*p->format)
		answer_add_text(a, "number format", "%s", p->format);
	answer_add_fact(a, "training pairs", p->pairs, "");
	answer_add_fact(a, "time of training steps", p->trained_s > 0 ? p->trained_s : NAN, "s");
}

/* ---- opening and closing ----------------------------------------------- */

int page_one_open(struct page_one *p, const struct evidence *v, const struct answers *a,
		  struct err *e)
{
	const struct page_score none = { NAN, NAN, NAN, "", NAN, NAN, NAN, NAN };

	*p = (struct page_one){ .dev = none, .test = none, .ended = NAN, .pairs = NAN };
	find_dev_score(&p->dev, v);
	find_page_facts(p, v);
	if (read_test_score(&p->test, v, e) || find_test_set(p, v, e))
		return e->code;
	if (p->has_test_set && isnan(p->test.bleu) &&
	    !(p->score_command = page_score_command(v, e)))
		return e->code;
	p->command = page_next_command(p, v, a, &p->command_why, e);
	describe_result(p, v);
	return p->command ? 0 : e->code;
}

void page_one_close(struct page_one *p)
{
	free(p->score_command);
	free(p->command);
	*p = (struct page_one){ 0 };
}
