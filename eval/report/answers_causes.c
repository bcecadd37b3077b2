/* answers_causes.c - is the run healthy; causes: model size, data, regularisation, overlap */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/report/answers.h"
#include "share/base/buf.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "train/record/recipe_check.h"

#define SMALL_RATIO	0.25 /* parameters per target token of an epoch: little capacity */
#define SMALL_FALL	0.2  /* nats per doubling of the steps: a larger fall is no plateau */
#define SMALL_GAP	0.1  /* nats: the model does not memorise its training pairs */
#define SMALL_EPOCHS	2
#define HIGH_NLL	0.4  /* times ln V */
#define FOREIGN_LARGE	1.5  /* nats of the early gap: certain */
#define BLEU_VOCABULARY 300  /* tokens: with fewer, an NLL per token says little about BLEU */
#define HARDER_GAP	0.15 /* nats that training sentences are above development sentences */
#define NO_BLEU		1
#define LENGTH_SHORT	0.75 /* of translations, relative to their references */
#define LENGTH_LONG	1.33
#define CASE_MORE	0.2  /* share of capitals above that of references */
#define CASE_LESS	0.2  /* times that of references */
#define CASE_USUAL	0.02 /* share of capitals in references that have capitals */
#define CASE_NLL	0.4  /* times ln V: a model that has learned so little writes anything */
#define UNKNOWN_MANY	0.02 /* share of pieces */
#define DROPOUT_STRONG	0.5
#define SMOOTHING_LARGE 0.3
#define DROPOUT_COST	1.0 /* nats */
#define LEARNED		0.5 /* times ln V */

/* ---- model too small? -------------------------------------------------- */

/* Target tokens of one epoch, from the speed and the epochs of the records; NAN if unknown. */
static double tokens_of_epoch(const struct evidence *v, const struct learning_signs *s)
{
	double tokens = 0;

	for (size_t i = 0; i < v->n_train; i++) {
		const struct train_point *p = &v->train[i];
		const double some = p->target_tps * p->step_s * p->steps;

		tokens += isfinite(some) ? some : 0;
	}
	return tokens > 0 && s->last_epoch > 0 ? tokens / s->last_epoch : NAN;
}

static void judge_model_size(struct answer *a, const struct learning_signs *s, double ratio)
{
	const bool has_plateau = s->trend.low > -2 * SMALL_FALL && s->trend.median > -SMALL_FALL;

	if (s->end > SIGNS_UNIGRAM * s->ln_vocabulary)
		answer_open(a,
			    "The training NLL (%.3f) has not left the level of token frequencies: "
			    "the size of the model is not yet the limit.",
			    s->end);
	else if (!has_plateau)
		answer_no(a, LIKELY,
			  "The training NLL still falls by %.3f nats per doubling of the steps.",
			  -s->trend.median);
	else if (s->gap > SMALL_GAP || s->end < HIGH_NLL * s->ln_vocabulary || ratio > 1)
		answer_no(a, LIKELY,
			  "The training NLL is %.3f (uniform guess: %.3f), the gap to the "
			  "development NLL %.3f nats, and the model has %.3g parameters for each "
			  "target token of the corpus.",
			  s->end, s->ln_vocabulary, s->gap, ratio);
	else if (ratio < SMALL_RATIO)
		answer_yes(a, LIKELY,
			   "The training NLL stays at %.3f (%+.3f nats per doubling of the steps), "
			   "the gap to the development NLL is only %.3f nats, and the model has "
			   "%.2g parameters for each target token of the corpus. A larger model "
			   "would help.",
			   s->end, s->trend.median, s->gap, ratio);
	else
		answer_open(a,
			    "The training NLL stays at %.3f without overfitting, but the model has "
			    "%.2g parameters for each target token of the corpus: strong "
			    "regularisation or the data may be the cause as well.",
			    s->end, ratio);
}

void answer_model_too_small(struct answer *a, const struct evidence *v)
{
	const struct learning_signs *s = &v->signs;
	double ratio;

	ratio = v->parameters / tokens_of_epoch(v, s);
	answer_add_fact(a, "parameters", v->parameters, "");
	answer_add_fact(a, "parameters per target token of an epoch", ratio, "");
	answer_add_fact(a, "training NLL at the end (median of 5 records)", s->end, "nats");
	answer_add_fact(a, "change of the training NLL per doubling of steps", s->trend.median,
			"nats");
	answer_add_fact(a, "gap between development and training NLL", s->gap, "nats");
	if (answer_if_diverged(a, VERDICT_UNKNOWN, s))
		return;
	if (s->n_train < 2 * SIGNS_MIN_RECORDS || isnan(ratio) || isnan(s->gap) ||
	    isnan(s->ln_vocabulary) || !(s->last_epoch >= SMALL_EPOCHS))
		answer_open(a,
			    "At least %d training records, %d epochs, the number of parameters and "
			    "an evaluation with the NLL of training sentences are needed.",
			    2 * SIGNS_MIN_RECORDS, SMALL_EPOCHS);
	else
		judge_model_size(a, s, ratio);
}

/* ---- a problem of the data? -------------------------------------------- */

/*
 * BLEU that translations reach at a development NLL below this share of ln V. All recorded runs on real
 * translations have more than `promised` from epoch 2 on; below a share of 0.31 they have at least 1.3
 * times as much (1.2 times at 0.2). `least` is half to two thirds of `promised`, because other kinds of
 * text may score lower.
 */
static const struct {
	double share, least, promised;
} bleu_by_nll[] = {
	{ 0.10, 24, 40 }, { 0.14, 17, 28 }, { 0.18, 10, 16 },	{ 0.20, 8, 12 },    { 0.22, 6, 10 },
	{ 0.25, 3.5, 5 }, { 0.28, 2.5, 3 }, { 0.31, 2.5, 2.5 }, { 0.33, 1.5, 1.5 }, { 0.36, 1, 1 },
};

/* Is the best BLEU below the least one, or below the promised one? Both false: nothing is known. */
static bool is_bleu_low(const struct learning_signs *s, bool below_promised)
{
	const double share = s->dev_last / s->ln_vocabulary;

	if (!(s->ln_vocabulary >= log(BLEU_VOCABULARY)) || !(s->last_epoch >= SMALL_EPOCHS))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(bleu_by_nll); i++)
		if (share < bleu_by_nll[i].share)
			return s->best_bleu <
			       (below_promised ? bleu_by_nll[i].promised : bleu_by_nll[i].least);
	return false;
}

/* Do translations and references differ in their capitals? A sample has a few hundred letters. */
static bool has_other_case(const struct sample_signs *t)
{
	return t->translated_capitals > t->reference_capitals + CASE_MORE ||
	       (t->reference_capitals > CASE_USUAL &&
		t->translated_capitals < CASE_LESS * t->reference_capitals);
}

/* Appends what the texts show about the cause. */
static void append_causes(struct answer *a, const struct evidence *v, const struct sample_signs *t)
{
	if (t->length_ratio < LENGTH_SHORT || t->length_ratio > LENGTH_LONG)
		answer_append(a,
			      " Translations have %.0f %% of the words of their references: "
			      "targets of the training text may be %s.",
			      100 * t->length_ratio,
			      t->length_ratio < 1 ? "cut off" : "longer texts than their sources");
	if (has_other_case(t))
		answer_append(a,
			      " Capitals are %.0f %% of the letters in translations and %.0f %% in "
			      "references: the targets of both sets differ in letter case.",
			      100 * t->translated_capitals, 100 * t->reference_capitals);
	if (v->unknown_share > UNKNOWN_MANY)
		answer_append(a,
			      " The vocabulary lacks %.1f %% of the pieces of the development set: "
			      "its words or letters do not occur in the training text.",
			      100 * v->unknown_share);
}

/*
 * Until the model uses the source, pairs that are not translations cost no more than others. Their gap should grow, so a gap that
 * was as large in the first epochs does not point to them: the development set may be easier text.
 */
static bool was_training_harder_before(const struct learning_signs *s)
{
	return s->early_epoch <= SIGNS_EARLY && s->early_gap <= s->gap;
}

/* words: BLEU counts words, for which the limits were found; of characters more match by chance. */
static void judge_data(struct answer *a, const struct learning_signs *s,
		       const struct sample_signs *t, bool words)
{
	const double share = s->dev_last / s->ln_vocabulary;

	if (s->early_gap >= SIGNS_FOREIGN_GAP && s->gap >= SIGNS_FOREIGN_GAP &&
	    s->early_epoch <= SIGNS_EARLY)
		answer_yes(a, s->early_gap >= FOREIGN_LARGE,
			   "Development sentences were harder than training sentences from the "
			   "start: by %.3f nats in epoch %.1f, by %.3f at the end, before the "
			   "model could memorise pairs. Check languages, direction and domain of "
			   "both sets, and copied sources.",
			   s->early_gap, s->early_epoch, s->gap);
	else if (s->gap <= -HARDER_GAP && !was_training_harder_before(s))
		answer_yes(a, LIKELY,
			   "Training sentences have a higher NLL than development sentences, by "
			   "%.3f nats, although they were trained on: some training pairs may not "
			   "be translations.",
			   -s->gap);
	else if (is_bleu_low(s, false))
		answer_yes(a, LIKELY,
			   "The development NLL is good (%.3f, %.0f %% of ln V), but the best BLEU "
			   "is only %.2f: the model predicts the target language and not "
			   "translations. Some or all pairs may not belong together: check that "
			   "line N of both files is the same sentence.",
			   s->dev_last, 100 * share, s->best_bleu);
	else if (share < CASE_NLL && has_other_case(t))
		answer_yes(a, LIKELY,
			   "The development NLL is %.3f (%.0f %% of ln V) and the best BLEU %.2f, "
			   "but translations do not look like their references.",
			   s->dev_last, 100 * share, s->best_bleu);
	else if (s->gap <= -HARDER_GAP)
		answer_open(a,
			    "Training sentences have a higher NLL than development sentences: by "
			    "%.3f nats in epoch %.1f, by %.3f at the end. The development set is "
			    "easier text, or some training pairs are not translations; the curves "
			    "do not tell which.",
			    -s->early_gap, s->early_epoch, -s->gap);
	else if (s->end > SIGNS_UNIGRAM * s->ln_vocabulary)
		answer_open(a,
			    "The model has not left the level of token frequencies (NLL %.3f): it "
			    "has not learned enough to judge the data.",
			    s->end);
	else if (s->best_bleu < NO_BLEU)
		answer_open(a,
			    "The best BLEU is only %.2f at a development NLL of %.3f: too early to "
			    "judge whether the pairs are translations.",
			    s->best_bleu, s->dev_last);
	else
		answer_no(a, words && s->best_bleu > 10 && !is_bleu_low(s, true),
			  "The best BLEU is %.2f, and the gap between development and training NLL "
			  "is %.3f nats (%.3f in the first epochs).",
			  s->best_bleu, s->gap, s->early_gap);
}

/* What prep found out about the corpus (data/judge/corpus_judge.h); only clear verdicts. */
static void append_corpus_verdicts(struct answer *a, const struct json *manifest)
{
	const struct json *verdicts = json_get(manifest, "verdicts");

	for (size_t i = 0; i < json_len(verdicts); i++) {
		const struct json *v = json_at(verdicts, i);

		if (strcmp(json_text(json_get(v, "confidence"), ""), "clear") != 0)
			continue;
		if (a->verdict != VERDICT_YES)
			answer_yes(a, LIKELY,
				   "%sPreparing the corpus found:", *a->sentence ? " " : "");
		answer_append(a, " %s: %s", json_text(json_get(v, "set"), "?"),
			      json_text(json_get(v, "what"), "?"));
	}
}

void answer_data_problem(struct answer *a, const struct evidence *v)
{
	const struct learning_signs *s = &v->signs;
	struct sample_signs t;

	samples_find_signs(&t, &v->samples);
	answer_add_fact(a, "gap in the first epochs", s->early_gap, "nats");
	answer_add_fact(a, "epoch of that gap", s->early_epoch, "");
	answer_add_fact(a, "gap between development and training NLL", s->gap, "nats");
	answer_add_fact(a, "development NLL", s->dev_last, "nats");
	answer_add_fact(a, "NLL of a uniform guess, ln V", s->ln_vocabulary, "nats");
	answer_add_fact(a, "best BLEU", s->best_bleu, "BLEU");
	answer_add_fact(a, "words of translations, relative to their references", t.length_ratio,
			"");
	answer_add_fact(a, "capitals among the letters of translations", t.translated_capitals,
			"share");
	answer_add_fact(a, "capitals among the letters of references", t.reference_capitals,
			"share");
	answer_add_fact(a, "pieces of the development set that the vocabulary lacks",
			v->unknown_share, "share");
	answer_add_text(a, "tokens of BLEU", "%s", *v->tok ? v->tok : "unknown");
	answer_add_text(a, "precision of evaluations", "%s",
			*v->precision ? v->precision : "unknown");
	if (answer_if_diverged(a, VERDICT_UNKNOWN, s))
		return;
	if (s->n_evals < 3 || isnan(s->gap) || isnan(s->best_bleu) || isnan(s->ln_vocabulary))
		answer_open(a, "At least 3 evaluations with BLEU and the NLL of development and "
			       "training sentences are needed, and the size of the vocabulary.");
	else
		judge_data(a, s, &t, !strcmp(v->tok, "13a") || !strcmp(v->tok, "intl"));
	if (a->verdict == VERDICT_YES)
		append_causes(a, v, &t);
	append_corpus_verdicts(a, v->manifest);
}

/* ---- regularisation too strong? ---------------------------------------- */

void answer_regularisation(struct answer *a, const struct evidence *v)
{
	const double dropout = MAX(v->recipe.dropout, v->recipe.relu_dropout),
		     smoothing = v->recipe.label_smoothing;
	const struct learning_signs *s = &v->signs;

	if (v->has_plan) {
		answer_add_fact(a, "largest dropout", dropout, "");
		answer_add_fact(a, "label smoothing", smoothing, "");
	}
	answer_add_fact(a, "training NLL, with minus without dropout", s->dropout_cost, "nats");
	answer_add_fact(a, "gap between development and training NLL", s->gap, "nats");
	if (answer_if_diverged(a, VERDICT_UNKNOWN, s))
		return;
	if (!v->has_plan || s->n_train < SIGNS_MIN_RECORDS || isnan(s->gap))
		answer_open(a,
			    "At least %d training records, an evaluation and the options of the "
			    "run are needed.",
			    SIGNS_MIN_RECORDS);
	else if (smoothing > SMOOTHING_LARGE && s->gap < SMALL_GAP + smoothing)
		answer_yes(a, LIKELY,
			   "Label smoothing of %.2g gives %.0f %% of the probability to wrong "
			   "tokens, and the model does not overfit (gap %.3f nats). 0.1 is usual.",
			   smoothing, 100 * smoothing, s->gap);
	else if ((dropout >= DROPOUT_STRONG && s->end > LEARNED * s->ln_vocabulary) ||
		 (dropout > 0.2 && s->dropout_cost > DROPOUT_COST && s->gap < SMALL_GAP))
		answer_yes(
			a, LIKELY,
			"Dropout is %.2g, the training NLL is still %.3f (uniform guess: %.3f) and "
			"the model does not overfit (gap %.3f nats). Less dropout would help.",
			dropout, s->end, s->ln_vocabulary, s->gap);
	else
		answer_no(a, LIKELY,
			  "Dropout is %.2g, label smoothing %.2g, and the training NLL with "
			  "dropout is %.3f nats above the NLL without.",
			  dropout, smoothing, s->dropout_cost);
}

/* ---- development set in the training text? ----------------------------- */

void answer_dev_in_train(struct answer *a, const struct evidence *v)
{
	const struct json *m = v->manifest;
	const double pairs = json_number(json_get(json_get(m, "pairs"), "dev"), NAN),
		     found = json_number(json_get(json_get(m, "held_out_in_train"), "dev"), NAN);

	answer_add_fact(a, "pairs of the development set", pairs, "");
	answer_add_fact(a, "training pairs that are also in the development set", found, "");
	if (isnan(pairs) || isnan(found) || v->recipe.overlap == OVERLAP_IGNORE)
		answer_open(a, "%s",
			    v->manifest ? "prep did not look for held-out pairs in the training "
					  "text (overlap = ignore)."
					: evidence_no_manifest(v));
	else if (found > 0 && v->recipe.overlap == OVERLAP_DROP)
		answer_no(
			a, CLEAR,
			"prep dropped the %s training pairs that are also in the development set.",
			COUNT_TEXT(found));
	else if (recipe_has_dev_overlap(found, pairs))
		answer_yes(a, CLEAR,
			   "%s training pairs are also in the development set of %s pairs: its "
			   "BLEU and NLL are too good, and overfitting is not visible. overlap = "
			   "drop removes these pairs.",
			   COUNT_TEXT(found), COUNT_TEXT(pairs));
	else
		answer_no(a, CLEAR,
			  "%s training pairs are also in the development set of %s pairs%s.",
			  COUNT_TEXT(found), COUNT_TEXT(pairs),
			  found > 0 ? ": too few to change its scores much" : "");
}

/* ---- healthy? ---------------------------------------------------------- */

/* Appends ", NAME" of each illness, or of each other problem; is one of them clear? */
static bool list_problems(struct buf *out, const struct answers *a, bool illnesses)
{
	bool is_clear = false;

	for (size_t i = 0; i < a->n; i++) {
		const struct answer *one = &a->all[i];

		if (one->is_illness != illnesses || !one->short_name ||
		    answer_state_of(one) != ANSWER_PROBLEM)
			continue;
		buf_printf(out, "%s%s%s", out->len ? ", " : "", one->short_name,
			   answer_confidence_note(one));
		is_clear |= one->confidence == CONFIDENCE_CLEAR;
	}
	return is_clear;
}

/* No illness was found: can the run be called healthy? others: names of the other problems. */
static void judge_health(struct answer *a, const struct evidence *v, const char *others)
{
	const struct learning_signs *s = &v->signs;

	if (s->n_train < 2 * SIGNS_MIN_RECORDS || s->n_evals < 3)
		answer_open(a,
			    "The journal holds %zu training record%s and %zu evaluation%s; at "
			    "least %d and 3 are needed.",
			    s->n_train, text_plural(s->n_train), s->n_evals,
			    text_plural(s->n_evals), 2 * SIGNS_MIN_RECORDS);
	else if (s->end > SIGNS_UNIGRAM * s->ln_vocabulary)
		answer_open(a,
			    "The training NLL (%.3f) is still near that of token frequencies "
			    "(uniform guess: %.3f).",
			    s->end, s->ln_vocabulary);
	else if (s->best_bleu < NO_BLEU)
		answer_open(a,
			    "The training NLL fell from %.3f to %.3f, but the best BLEU is only "
			    "%.2f: the run does not show yet that the model learns to translate.",
			    s->start, s->end, s->best_bleu);
	else
		answer_yes(a,
			   s->end < LEARNED * s->ln_vocabulary && !v->skipped && !v->nonfinite &&
				   !s->spikes && !is_bleu_low(s, true),
			   "The training NLL fell from %.3f to %.3f, the development NLL from %.3f "
			   "to %.3f, and no check found %s%s.%s",
			   s->start, s->end, s->dev_first, s->dev_last,
			   *others ? "an illness of the model; other problems: " : "a problem",
			   others, s->spikes ? " The loss jumped and recovered." : "");
}

int answer_healthy(struct answer *a, const struct evidence *v, const struct answers *others,
		   struct err *e)
{
	struct buf illnesses = { 0 }, rest = { 0 };
	const bool is_clear = list_problems(&illnesses, others, true);
	int rc;

	list_problems(&rest, others, false);
	if (illnesses.len)
		answer_no(a, is_clear, "Found: %s.%s%s%s The answers below give the evidence.",
			  buf_text(&illnesses), rest.len ? " Other problems: " : "",
			  rest.len ? buf_text(&rest) : "", rest.len ? "." : "");
	else
		judge_health(a, v, rest.len ? buf_text(&rest) : "");
	buf_free_part(&rest, &illnesses);
	rc = buf_check(&illnesses, e);
	buf_free(&illnesses);
	return rc;
}
