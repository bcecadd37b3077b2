/* answers_tuning.c - what a tuning gained and forgot; see answers.h */
#include <math.h>
#include <string.h>

#include "eval/report/answers.h"
#include "share/base/number_format.h"

#define LEVEL	       0.05 /* p below this: the difference is significant */
#define CLEAR_LEVEL    0.01
#define LEAST_BLEU     1.0 /* below it a translation is none */
#define LEAST_PAIRS    100 /* fewer sentences say nothing */
#define STEADY_PAIRS   300 /* without a significant difference: enough to see one that matters */
#define SMALL_INTERVAL 2.0 /* the same: BLEU */

/* The last comparison of a set of the user (general: false), or of general text; NULL: none. */
static const struct tune_point *find_tuning(const struct evidence *v, bool general)
{
	const struct tune_point *found = NULL;

	for (size_t i = 0; i < v->n_tune; i++)
		if (v->tune[i].is_general == general)
			found = &v->tune[i];
	return found;
}

/* Does the run start from another model? */
static bool has_begun_elsewhere(const struct evidence *v)
{
	return v->recipe.start_from && *v->recipe.start_from;
}

/* Facts; and the verdict where there is nothing to judge: true. */
static bool is_tuning_open(struct answer *a, const struct evidence *v, const struct tune_point *p,
			   const char *missing)
{
	if (p) {
		answer_add_text(a, "held-out set", "%s", p->set);
		answer_add_fact(a, "sentences", p->sentences, "");
		answer_add_fact(a, "BLEU before", p->before, "");
		answer_add_fact(a, "half of the 95 % interval before", p->before_interval, "BLEU");
		answer_add_fact(a, "BLEU after", p->after, "");
		answer_add_fact(a, "half of the 95 % interval after", p->after_interval, "BLEU");
		answer_add_fact(a, "p of the paired bootstrap", p->p, "");
	}
	a->is_inapplicable = !v->n_tune && !has_begun_elsewhere(v);
	if (!v->n_tune)
		answer_open(
			a, "%s",
			has_begun_elsewhere(v)
				? "This run was not compared with the model that it started from: "
				  "werkbank tune and werkbank compare do that."
				: "The run did not start from another model.");
	else if (!p)
		answer_open(a, "%s", missing);
	else if (!isfinite(p->before) || !isfinite(p->after) || !isfinite(p->p) ||
		 !(p->sentences >= LEAST_PAIRS))
		answer_open(a,
			    "The set %s has %s sentences; at least %d are needed to tell a gain "
			    "from chance.",
			    p->set, COUNT_TEXT(p->sentences), LEAST_PAIRS);
	else if (p->before < LEAST_BLEU && p->after < LEAST_BLEU)
		answer_open(a,
			    "BLEU on the set %s is %.2f before and %.2f after: such outputs are no "
			    "translations, so a difference says nothing.",
			    p->set, p->before, p->after);
	else if (p->after == p->before)
		answer_no(a, LIKELY,
			  "BLEU on the set %s is %.2f before and after: the best checkpoint may be "
			  "the model that tuning started from.",
			  p->set, p->before);
	else
		return false;
	return true;
}

static bool is_significant(const struct tune_point *p)
{
	return p->p < LEVEL && p->after != p->before;
}

/* Is the set large enough that a difference that matters would be significant? */
static bool is_steady(const struct tune_point *p)
{
	return p->sentences >= STEADY_PAIRS && p->before_interval <= SMALL_INTERVAL;
}

#define FROM_TO                                                                                    \
	"BLEU on the set %s (%s sentences) went from %.2f \xC2\xB1 %.2f to %.2f \xC2\xB1 %.2f"
#define FROM_TO_VALUES(p)                                                                          \
	(p)->set, COUNT_TEXT((p)->sentences), (p)->before, (p)->before_interval, (p)->after,       \
		(p)->after_interval

void answer_tuning_helped(struct answer *a, const struct evidence *v)
{
	const struct tune_point *p = find_tuning(v, false);

	if (is_tuning_open(a, v, p, "Only general text was compared."))
		return;
	if (is_significant(p) && p->after > p->before)
		answer_yes(a, p->p < CLEAR_LEVEL, FROM_TO ", p = %.4f.", FROM_TO_VALUES(p), p->p);
	else if (is_significant(p))
		answer_no(a, p->p < CLEAR_LEVEL,
			  FROM_TO
			  ", p = %.4f: the model became worse. Take a smaller peak_rate, or "
			  "more text.",
			  FROM_TO_VALUES(p), p->p);
	else if (is_steady(p))
		answer_no(a, LIKELY,
			  FROM_TO ", p = %.3f: no significant difference. More text, more steps or "
				  "a larger peak_rate may help.",
			  FROM_TO_VALUES(p), p->p);
	else
		answer_open(a,
			    FROM_TO ", p = %.3f: no significant difference, and the set is too "
				    "small to tell a small one from chance.",
			    FROM_TO_VALUES(p), p->p);
}

void answer_tuning_forgot(struct answer *a, const struct evidence *v)
{
	const struct tune_point *p = find_tuning(v, true);

	if (is_tuning_open(a, v, p,
			   "There is no held-out set of general text: give general_test_source and "
			   "general_test_target."))
		return;
	if (is_significant(p) && p->after < p->before)
		answer_yes(a, p->p < CLEAR_LEVEL,
			   FROM_TO ", p = %.4f. %s, freeze parts, or take a smaller peak_rate.",
			   FROM_TO_VALUES(p), p->p,
			   v->recipe.general_source.n ? "Take a larger general_share"
						      : "Mix in general text (general_source, "
							"general_target)");
	else if (is_significant(p))
		answer_no(a, p->p < CLEAR_LEVEL, FROM_TO ", p = %.4f: general text gained, too.",
			  FROM_TO_VALUES(p), p->p);
	else if (is_steady(p))
		answer_no(a, LIKELY, FROM_TO ", p = %.3f: no significant loss.", FROM_TO_VALUES(p),
			  p->p);
	else
		answer_open(a,
			    FROM_TO ", p = %.3f: no significant difference, and the set is too "
				    "small to tell a small one from chance.",
			    FROM_TO_VALUES(p), p->p);
}
