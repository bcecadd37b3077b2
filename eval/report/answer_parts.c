/* answer_parts.c - what all answers are made of: verdicts, sentences, facts and numbers as text; see answers.h */
#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "eval/report/answers.h"
#include "share/base/number_format.h"

const char *answer_verdict_name(enum answer_verdict v)
{
	static const char *const names[] = {
		[VERDICT_UNKNOWN] = "not enough data",
		[VERDICT_YES] = "yes",
		[VERDICT_NO] = "no",
		[VERDICT_STATEMENT] = "statement",
	};

	assert((size_t)v < ARRAY_LEN(names));
	return names[v];
}

const char *answer_confidence_name(enum answer_confidence c)
{
	static const char *const names[] = {
		[CONFIDENCE_UNSTATED] = "",
		[CONFIDENCE_NONE] = "not enough data",
		[CONFIDENCE_LIKELY] = "likely",
		[CONFIDENCE_CLEAR] = "clear",
	};

	assert((size_t)c < ARRAY_LEN(names));
	return names[c];
}

const char *answer_confidence_note(const struct answer *a)
{
	return a->confidence == CONFIDENCE_CLEAR    ? " (clear)"
	       : a->confidence == CONFIDENCE_LIKELY ? " (likely)"
						    : "";
}

enum answer_state answer_state_of(const struct answer *a)
{
	if (a->bad == VERDICT_STATEMENT || a->is_inapplicable)
		return ANSWER_STATE_NONE;
	if (a->verdict != VERDICT_YES && a->verdict != VERDICT_NO)
		return ANSWER_OPEN;
	return a->verdict == a->bad ? ANSWER_PROBLEM : ANSWER_FINE;
}

static void extend_sentence(struct answer *a, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);

static void extend_sentence(struct answer *a, const char *fmt, va_list ap)
{
	const size_t n = strlen(a->sentence);

	vsnprintf(a->sentence + n, sizeof(a->sentence) - n, fmt, ap);
}

void answer_append(struct answer *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	extend_sentence(a, fmt, ap);
	va_end(ap);
}

void answer_yes(struct answer *a, bool is_clear, const char *fmt, ...)
{
	va_list ap;

	a->verdict = VERDICT_YES;
	a->confidence = is_clear ? CONFIDENCE_CLEAR : CONFIDENCE_LIKELY;
	va_start(ap, fmt);
	extend_sentence(a, fmt, ap);
	va_end(ap);
}

void answer_no(struct answer *a, bool is_clear, const char *fmt, ...)
{
	va_list ap;

	a->verdict = VERDICT_NO;
	a->confidence = is_clear ? CONFIDENCE_CLEAR : CONFIDENCE_LIKELY;
	va_start(ap, fmt);
	extend_sentence(a, fmt, ap);
	va_end(ap);
}

void answer_open(struct answer *a, const char *fmt, ...)
{
	va_list ap;

	a->verdict = VERDICT_UNKNOWN;
	if (a->bad != VERDICT_STATEMENT)
		a->confidence = CONFIDENCE_NONE;
	va_start(ap, fmt);
	extend_sentence(a, fmt, ap);
	va_end(ap);
}

/* The next free fact. A full table overwrites its last fact. */
static struct named_fact *next_fact(struct answer *a, const char *name, const char *unit)
{
	struct named_fact *f = &a->facts[MIN(a->n_facts, ANSWER_MAX_FACTS - 1)];

	a->n_facts = MIN(a->n_facts + 1, ANSWER_MAX_FACTS);
	*f = (struct named_fact){ .value = NAN };
	snprintf(f->name, sizeof(f->name), "%s", name);
	snprintf(f->unit, sizeof(f->unit), "%s", unit);
	return f;
}

void answer_add_fact(struct answer *a, const char *name, double value, const char *unit)
{
	if (isfinite(value))
		next_fact(a, name, unit)->value = value;
}

void answer_add_text(struct answer *a, const char *name, const char *fmt, ...)
{
	struct named_fact *f = next_fact(a, name, "");
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

/* The mean of the double at this offset over the points where it is finite; NAN without any. */
static double mean_of_field(const struct train_point *p, size_t n, size_t offset)
{
	double sum = 0, known = 0;

	for (size_t i = 0; i < n; i++) {
		double v;

		memcpy(&v, (const char *)&p[i] + offset, sizeof(v));
		if (isfinite(v)) {
			sum += v;
			known++;
		}
	}
	return known > 0 ? sum / known : NAN;
}

struct train_point answer_steady_means(const struct evidence *v)
{
	const size_t from = v->n_train / 2;
	struct train_point mean;

	/* the loop treats struct train_point as an array of doubles */
	_Static_assert(sizeof(mean) % sizeof(double) == 0, "struct train_point has only doubles");
	for (size_t at = 0; at < sizeof(mean); at += sizeof(double)) {
		double m = mean_of_field(v->train + from, v->n_train - from, at);

		memcpy((char *)&mean + at, &m, sizeof(m));
	}
	return mean;
}

char *answer_seconds(char out[ANSWER_TEXT], double s)
{
	if (!isfinite(s))
		snprintf(out, ANSWER_TEXT, "unknown");
	else if (s >= 5400)
		snprintf(out, ANSWER_TEXT, "%.0f h %02d min", floor(s / 3600),
			 (int)fmod(s / 60, 60));
	else if (s >= 90)
		snprintf(out, ANSWER_TEXT, "%.1f min", s / 60);
	else if (s >= 0.9995 || s == 0)
		snprintf(out, ANSWER_TEXT, "%.3g s", s);
	else
		snprintf(out, ANSWER_TEXT, "%.3g ms", s * 1e3);
	return out;
}

char *answer_bytes(char out[ANSWER_TEXT], double bytes)
{
	if (isfinite(bytes))
		format_bytes(out, bytes);
	else
		snprintf(out, ANSWER_TEXT, "unknown");
	return out;
}
