/* pair_limits.c - the limits of cleaning rules that can be tried, as text; see pair_trial.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/inspect/pair_trial.h"
#include "data/prep/pair_rules.h"
#include "share/base/util.h"

static const struct {
	const char *name;
	enum clean_rule rule;
} limits[PAIR_N_LIMITS] = {
#define X(id, name, rule, member) [id] = { name, rule },
	PAIR_LIMITS(X)
#undef X
};

#define LADDER 12

/* Usual values, ascending; unused ones at the end are NAN. 0 of max-char-ratio: no limit. */
static const double ladders[PAIR_N_LIMITS][LADDER] = {
	[PAIR_LIMIT_MAX_WORDS] = { 10, 20, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250 },
	[PAIR_LIMIT_MIN_WORDS] = { 0, 1, 2, 3, 4, 5, 6, 8, 10, NAN },
	[PAIR_LIMIT_RATIO] = { 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 9, 15, 30 },
	[PAIR_LIMIT_WORD_CHARS] = { 15, 20, 25, 30, 40, 50, 75, 100, 250, 500, 1000, NAN },
	[PAIR_LIMIT_COPIES] = { 0, 1, NAN },
	[PAIR_LIMIT_FOREIGN] = { 0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, NAN },
	[PAIR_LIMIT_CHAR_RATIO] = { 0, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 6, 9, NAN },
};

const char *pair_limit_name(enum pair_limit l)
{
	return limits[l].name;
}

enum clean_rule pair_limit_rule(enum pair_limit l)
{
	return limits[l].rule;
}

enum pair_limit pair_limit_of_rule(enum clean_rule rule)
{
	int l = 0;

	while (l < PAIR_N_LIMITS && limits[l].rule != rule)
		l++;
	return (enum pair_limit)l;
}

static double limit_value(const struct clean_options *o, enum pair_limit l)
{
	switch (l) {
#define X(id, name, rule, member)                                                                  \
	case id:                                                                                   \
		return (double)o->member;
		PAIR_LIMITS(X)
#undef X
	default:
		return NAN;
	}
}

static void limit_put(struct clean_options *o, enum pair_limit l, double value)
{
	switch (l) {
#define X(id, name, rule, member)                                                                  \
	case id:                                                                                   \
		o->member = (typeof(o->member))value;                                              \
		break;
		PAIR_LIMITS(X)
#undef X
	default:
		break;
	}
	if (l == PAIR_LIMIT_FOREIGN)
		o->check_script = value < 1;
}

bool pair_limits_equal(const struct clean_options *a, const struct clean_options *b,
		       enum pair_limit l)
{
	return limit_value(a, l) == limit_value(b, l);
}

bool pair_limit_is_off(const struct clean_options *o, enum pair_limit l)
{
	return (l == PAIR_LIMIT_COPIES && !o->drop_copies) ||
	       (l == PAIR_LIMIT_FOREIGN && !o->check_script) ||
	       (l == PAIR_LIMIT_CHAR_RATIO && !(o->max_char_ratio > 0));
}

const char *pair_limit_text(const struct clean_options *o, enum pair_limit l, char out[32])
{
	double value = limit_value(o, l);

	if (l == PAIR_LIMIT_COPIES)
		snprintf(out, 32, "%s", value != 0 ? "yes" : "no");
	else
		snprintf(out, 32, "%.6g", value);
	return out;
}

int pair_limit_set(struct clean_options *o, enum pair_limit l, const char *text, struct err *e)
{
	struct conf c = { 0 };
	int rc = conf_init(&c, e);

	if (!rc)
		rc = conf_set(&c, limits[l].name, text, "trial", e);
	if (!rc) {
		struct clean_options parsed = pair_rules_options(&c);

		limit_put(o, l, limit_value(&parsed, l));
	}
	conf_free(&c);
	return rc;
}

void pair_limit_step(struct clean_options *o, enum pair_limit l, int by)
{
	double value = limit_value(o, l), best = NAN;

	for (int i = 0; i < LADDER && isfinite(ladders[l][i]); i++) {
		double x = ladders[l][i];

		if (by > 0 ? x > value && !isfinite(best) : x < value)
			best = x;
	}
	if (isfinite(best))
		limit_put(o, l, best);
}

/* ---- the reason why a pair was dropped ---- */

static double larger_ratio(double a, double b)
{
	return MIN(a, b) > 0 ? MAX(a, b) / MIN(a, b) : INFINITY;
}

static double larger_foreign_share(const struct pair_fact *p)
{
	double share = 0;

	for (int i = 0; i < 2; i++)
		if (p->sides[i].letters)
			share = MAX(share, (double)p->sides[i].foreign / p->sides[i].letters);
	return share;
}

void pair_limit_reason(const struct pair_fact *p, enum clean_rule rule,
		       const struct clean_options *o, char *out, size_t size)
{
	const struct clean_side *s = &p->sides[0], *t = &p->sides[1];
	enum pair_limit l = pair_limit_of_rule(rule);
	char limit[32] = "";

	if (l < PAIR_N_LIMITS)
		pair_limit_text(o, l, limit);
	out[0] = 0;
	if (rule == CLEAN_EMPTY)
		snprintf(out, size, "source %u words, target %u", s->words, t->words);
	else if (rule == CLEAN_LONG || rule == CLEAN_SHORT)
		snprintf(out, size, "source %u words, target %u; %s = %s", s->words, t->words,
			 pair_limit_name(l), limit);
	else if (rule == CLEAN_RATIO)
		snprintf(out, size, "source %u words, target %u: ratio %.3g; max-ratio = %s",
			 s->words, t->words, larger_ratio(s->words, t->words), limit);
	else if (rule == CLEAN_WORD)
		snprintf(out, size, "the longest word has %u characters; max-word-chars = %s",
			 MAX(s->longest, t->longest), limit);
	else if (rule == CLEAN_SCRIPT)
		snprintf(out, size,
			 "%.3g %% of the letters of a side are foreign; max-foreign = %s",
			 100 * larger_foreign_share(p), limit);
	else if (rule == CLEAN_CHARACTERS)
		snprintf(out, size,
			 "source %u characters, target %u: ratio %.3g; max-char-ratio = %s",
			 s->characters, t->characters, larger_ratio(s->characters, t->characters),
			 limit);
}
