/* recipe_check.c - is a recipe plausible for its corpus? See recipe_check.h */
#include "train/record/recipe_check.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/text.h"
#include "share/base/util.h"
#include "share/workspace/journal.h"
#include "train/optim/schedule.h"

#define PARAMETERS_MANY 30  /* per target token of an epoch */
#define MEMORISE_EPOCHS 10  /* fewer epochs memorise little */
#define DROPOUT_ENOUGH	0.3 /* regularises even a large model */
#define SMALL_D_MODEL	256
#define USUAL_PEAK	0.2  /* scaled peak of healthy recorded runs */
#define OVERLAP_SHARE	0.05 /* of the development pairs: enough to raise BLEU */
#define EPOCH_STEPS	10   /* proposed steps of an epoch, at least */

/* Rounded to two digits, for proposals. */
static double round_value(double x)
{
	const double unit = x > 0 ? pow(10, floor(log10(x)) - 1) : 1;

	return round(x / unit) * unit;
}

static double tokens_of_step(const struct conf *c)
{
	return (double)c->batch_tokens * (double)c->micro_batches;
}

static double planned_epochs(const struct recipe_facts *f)
{
	return (double)f->conf->steps * tokens_of_step(f->conf) / f->target_tokens;
}

/* The learning rates of a recipe. Rates are scaled: multiplied by sqrt(d_model). */
struct planned_rates {
	struct rate_schedule schedule;
	char option[CONF_NAME_MAX]; /* that sets their size, as on the command line */
	double value;		    /* of the option */
	double unit;		    /* the scaled peak where the option is 1 */
	double peak, travel;	    /* the largest scaled rate; the sum over all steps */
};

static struct planned_rates plan_rates(const struct conf *c)
{
	struct planned_rates r = { .schedule = schedule_from_conf(c, (int32_t)c->d_model) };
	const double scale = sqrt((double)c->d_model);

	r.value = r.schedule.kind == SCHEDULE_noam ? c->noam_factor : c->peak_rate;
	conf_dashed(schedule_rate_option(r.schedule.kind), r.option);
	r.unit = schedule_unit_peak(&r.schedule) * scale;
	r.peak = r.unit * r.value;
	r.travel = schedule_sum(&r.schedule, c->steps) * scale;
	return r;
}

/* ---- checks: each writes a warning, or returns false -------------------- */

typedef bool recipe_fn(const struct recipe_facts *f, char *text, size_t n);

static bool check_warmup(const struct recipe_facts *f, char *text, size_t n)
{
	const struct conf *c = f->conf;

	if (c->warmup <= c->steps || c->steps < EPOCH_STEPS)
		return false;
	snprintf(
		text, n,
		"The warm-up (%lld step%s) is longer than the run (%lld step%s): the learning rate "
		"never reaches its peak. Try --warmup %.0f.",
		(long long)c->warmup, text_plural(c->warmup), (long long)c->steps,
		text_plural(c->steps), fmax(round_value((double)c->steps / 4), 1));
	return true;
}

static bool check_cooldown(const struct recipe_facts *f, char *text, size_t n)
{
	const struct conf *c = f->conf;

	if (c->cooldown <= c->steps - c->warmup || c->warmup > c->steps || c->cooldown < 1 ||
	    c->steps < EPOCH_STEPS)
		return false;
	snprintf(text, n,
		 "The cool-down (%lld step%s) begins before the warm-up (%lld step%s) has ended: "
		 "the "
		 "learning rate never reaches its peak. Try --cooldown %.0f.",
		 (long long)c->cooldown, text_plural((double)c->cooldown), (long long)c->warmup,
		 text_plural((double)c->warmup), fmax(round_value((double)c->steps / 4), 1));
	return true;
}

static bool check_large_rate(const struct recipe_facts *f, char *text, size_t n)
{
	const struct conf *c = f->conf;
	const struct planned_rates r = plan_rates(c);
	/* the healthy recorded runs have Noam's schedule, whose peak is short */
	const double better = r.schedule.kind == SCHEDULE_noam ? USUAL_PEAK : SIGNS_PEAK_USUAL;

	if (c->steps < c->warmup || !(r.peak > SIGNS_PEAK_LARGE))
		return false;
	snprintf(text, n,
		 "The largest learning rate is %.3g, which is %.2g times d_model^-0.5; above %.2g "
		 "times, training often diverges. Try --%s %.3g.",
		 r.peak / sqrt((double)c->d_model), r.peak, SIGNS_PEAK_LARGE, r.option,
		 round_value(better / r.unit));
	return true;
}

static bool check_small_rate(const struct recipe_facts *f, char *text, size_t n)
{
	const struct conf *c = f->conf;
	const struct planned_rates r = plan_rates(c);

	if (c->steps < 2 * c->warmup || c->start_from || !(r.travel < SIGNS_TRAVEL_SMALL))
		return false;
	snprintf(text, n,
		 "The sum of all learning rates is only %.2g times d_model^-0.5 (needed: %d or "
		 "more): the weights %s. Try --%s %.3g.",
		 fmin(r.travel, SIGNS_TRAVEL_SMALL - 0.1) /* rounding must not reach the limit */,
		 SIGNS_TRAVEL_SMALL, r.travel > 0 ? "hardly change" : "do not change", r.option,
		 round_value(fmin(r.travel > 0 ? r.value * SIGNS_TRAVEL_LARGE / r.travel : INFINITY,
				  USUAL_PEAK / r.unit)));
	return true;
}

static bool check_batch(const struct recipe_facts *f, char *text, size_t n)
{
	const struct conf *c = f->conf;
	const double tokens = tokens_of_step(c);

	if (!(tokens > f->target_tokens))
		return false;
	snprintf(text, n,
		 "A step has up to %.0f target tokens, but the corpus has only %.0f: each step "
		 "repeats pairs. Try --batch-tokens %.0f.",
		 tokens, f->target_tokens,
		 fmax(round_value(f->target_tokens / EPOCH_STEPS / (double)c->micro_batches), 16));
	return true;
}

static bool check_epoch(const struct recipe_facts *f, char *text, size_t n)
{
	const double epochs = planned_epochs(f);

	if (!(epochs < 1) || f->conf->steps < EPOCH_STEPS)
		return false;
	snprintf(text, n,
		 "The run ends before its first epoch: %lld steps see about %.0f %% of the %.0f "
		 "pairs. Try --steps %.0f.",
		 (long long)f->conf->steps, 100 * epochs, f->pairs,
		 ceil((double)f->conf->steps / epochs));
	return true;
}

static bool check_model_size(const struct recipe_facts *f, char *text, size_t n)
{
	const struct conf *c = f->conf;
	const double ratio = f->parameters / f->target_tokens;

	if (!(ratio > PARAMETERS_MANY) || !(planned_epochs(f) > MEMORISE_EPOCHS) ||
	    c->dropout >= DROPOUT_ENOUGH)
		return false;
	snprintf(text, n,
		 "The model has %.0f parameters, the corpus %.0f target tokens: the model will "
		 "memorise the pairs. Try %s.",
		 f->parameters, f->target_tokens,
		 c->d_model > SMALL_D_MODEL
			 ? "--size tiny"
			 : "--dropout 0.3, with --patience 5 --stop-metric loss");
	return true;
}

bool recipe_has_dev_overlap(double dev_in_train, double dev_pairs)
{
	return dev_in_train > OVERLAP_SHARE * dev_pairs;
}

static bool check_overlap(const struct recipe_facts *f, char *text, size_t n)
{
	if (f->conf->overlap != OVERLAP_WARN ||
	    !recipe_has_dev_overlap(f->dev_in_train, f->dev_pairs))
		return false;
	snprintf(text, n,
		 "%.0f training pairs are also in the development set of %.0f pairs: its scores "
		 "will be too good. Prepare the corpus with --overlap drop.",
		 f->dev_in_train, f->dev_pairs);
	return true;
}

static bool check_dev_set(const struct recipe_facts *f, char *text, size_t n)
{
	if (f->dev_pairs != 0) /* unknown counts as present */
		return false;
	snprintf(text, n,
		 "The corpus has no development set: no evaluation can show whether the model "
		 "improves, and no checkpoint is chosen as the best. Prepare the corpus with "
		 "dev_source and dev_target.");
	return true;
}

/* ---- all checks --------------------------------------------------------- */

static const struct {
	const char *name;
	recipe_fn *find;
} recipe_checks[RECIPE_CHECKS] = {
	{ "warmup-too-long", check_warmup },	 { "cooldown-too-long", check_cooldown },
	{ "rate-too-large", check_large_rate },	 { "rate-too-small", check_small_rate },
	{ "batch-too-large", check_batch },	 { "no-epoch", check_epoch },
	{ "model-too-large", check_model_size }, { "dev-in-train", check_overlap },
	{ "no-dev-set", check_dev_set },
};

size_t recipe_check(const struct recipe_facts *f, struct learning_warning out[RECIPE_CHECKS])
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(recipe_checks); i++) {
		out[n].sign = recipe_checks[i].name;
		n += recipe_checks[i].find(f, out[n].text, sizeof(out[n].text));
	}
	assert(n <= RECIPE_CHECKS);
	return n;
}

size_t recipe_check_drop_told(struct learning_warning *all, size_t n, const char *journal)
{
	struct err ignored;
	struct journal_reader *r = journal_reader_open(journal, &ignored);
	const struct json *record;

	while (r && n && journal_next(r, &record, &ignored) > 0) {
		const char *sign = json_text(json_get(record, "sign"), ""),
			   *text = json_text(json_get(record, "text"), "");
		size_t left = 0;

		if (!*sign)
			continue;
		for (size_t i = 0; i < n; i++)
			if (strcmp(all[i].sign, sign) != 0 || strcmp(all[i].text, text) != 0)
				all[left++] = all[i];
		n = left;
	}
	journal_reader_free(r);
	return n;
}
