/* tune_plan.c - see tune_plan.h */
#include "train/launch/tune/tune_plan.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "share/base/number_format.h"
#include "share/base/util.h"

#define RATE	    2e-4 /* of a model of width RATE_WIDTH; others by 1 / sqrt(width) */
#define RATE_WIDTH  512
#define EVALUATIONS 20	/* of a tuning that does not end early */
#define PATIENCE    4	/* of them */
#define LEAST_DEV   500 /* pairs whose BLEU is steady enough to stop a training */
#define MINUTES	    60
#define FULL	    0.9 /* part of a micro-batch that is tokens, not padding or room */
#define LEAST_STEPS 100
#define MOST_STEPS  50000

/* How often the text is read, and in which steps, by its number of tokens. */
static const struct {
	double tokens; /* at most */
	int64_t passes, batch_tokens;
} amounts[] = { { 2e5, 10, 1024 }, { 2e6, 10, 2048 }, { 1e7, 5, 4096 }, { INFINITY, 2, 4096 } };

int tune_propose(struct conf *c, const char *name, const char *value, const char *reason,
		 struct buf *out, struct err *e)
{
	const char *origin = conf_origin(c, name);
	struct buf given = { 0 };
	int rc = 0;

	if (strcmp(origin, "default") != 0 && strcmp(origin, TUNE_ORIGIN) != 0) {
		conf_value(c, name, &given);
		buf_printf(out, "  %s = %s (%s)\n", name, buf_text(&given), origin);
		rc = buf_check(&given, e);
		buf_free(&given);
		return rc;
	}
	buf_printf(out, "  %s = %s: %s\n", name, value, reason);
	return conf_set(c, name, value, TUNE_ORIGIN, e);
}

static int propose_number(struct conf *c, const char *name, double value, struct buf *out,
			  struct err *e, const char *reason, ...) PRINTF_LIKE(6, 7);

static int propose_number(struct conf *c, const char *name, double value, struct buf *out,
			  struct err *e, const char *reason, ...)
{
	char number[32], text[200];
	va_list args;

	snprintf(number, sizeof(number), "%.6g", value);
	va_start(args, reason);
	vsnprintf(text, sizeof(text), reason, args);
	va_end(args);
	return tune_propose(c, name, number, text, out, e);
}

static int plan_steps(struct conf *c, const struct tune_facts *f, struct buf *out, struct err *e)
{
	size_t i = 0;
	double pass;

	while ((double)f->tokens > amounts[i].tokens)
		i++;
	if (propose_number(c, "batch_tokens", (double)amounts[i].batch_tokens, out, e,
			   "small steps for %s training pairs", COUNT_TEXT((double)f->pairs)))
		return e->code;
	pass = ceil((double)f->tokens / (FULL * (double)(c->batch_tokens * c->micro_batches)));
	if (propose_number(c, "steps",
			   fmin(fmax(pass * (double)amounts[i].passes, LEAST_STEPS), MOST_STEPS),
			   out, e, "%lld passes over the text, about %s steps each",
			   (long long)amounts[i].passes, COUNT_TEXT(pass)) ||
	    propose_number(c, "max_minutes", MINUTES, out, e,
			   "an hour; the learning rate reaches its end by then"))
		return e->code;
	return 0;
}

static int plan_rate(struct conf *c, const struct tune_facts *f, struct buf *out, struct err *e)
{
	const double rate = RATE * sqrt((double)RATE_WIDTH / (double)f->d_model);

	if (tune_propose(c, "schedule", "linear", "the rate falls to zero, so that the end is calm",
			 out, e))
		return e->code;
	if (!(conf_is_given(c, "noam_factor") || conf_is_given(c, "schedule")) &&
	    propose_number(c, "peak_rate", round(rate * 1e6) / 1e6, out, e,
			   "far below that of a new model; wider models (%d here) need less",
			   (int)f->d_model))
		return e->code;
	return propose_number(c, "warmup", fmax(10, round((double)c->steps / 20)), out, e,
			      "a twentieth of the steps, while Adam learns the size of gradients");
}

static int plan_evaluations(struct conf *c, const struct tune_facts *f, struct buf *out,
			    struct err *e)
{
	const bool is_small = f->dev_pairs < LEAST_DEV;
	const double every = fmax(10, ceil((double)c->steps / EVALUATIONS));

	if (propose_number(c, "eval_every", every, out, e, "about %d evaluations", EVALUATIONS) ||
	    propose_number(c, "save_every", (double)c->eval_every, out, e,
			   "a checkpoint at each evaluation") ||
	    propose_number(c, "keep", 1, out, e, "the newest checkpoint, besides the best one") ||
	    propose_number(c, "patience", PATIENCE, out, e,
			   "evaluations without a gain before training stops"))
		return e->code;
	if (!is_small)
		return propose_number(c, "eval_sentences", LEAST_DEV, out, e,
				      "enough of the %s development pairs",
				      COUNT_TEXT((double)f->dev_pairs));
	if (tune_propose(c, "stop_metric", "loss", "BLEU of so few development pairs is unsteady",
			 out, e))
		return e->code;
	return tune_propose(c, "best_metric", "loss",
			    "BLEU of so few development pairs is unsteady", out, e);
}

int tune_plan_training(struct conf *c, const struct tune_facts *f, struct buf *out, struct err *e)
{
	if (plan_steps(c, f, out, e) || plan_rate(c, f, out, e) || plan_evaluations(c, f, out, e))
		return e->code;
	return buf_check(out, e);
}
