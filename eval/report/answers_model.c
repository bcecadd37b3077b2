/* answers_model.c - answers about parts of the model that do not learn, and its vocabulary */
#include <math.h>

#include "eval/report/answers.h"
#include "eval/report/model_signs.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/conf/text_sides.h"

#define SMALL_PIECES 3.0  /* pieces of a word: the vocabulary is small */
#define TINY_PIECES  4.0  /* pieces of a word: nearly letters */
#define USUAL_PIECES 2.5  /* at most this many pieces of a word are usual */
#define LEARNED_USES 200  /* uses of an entry: the corpus supports a larger vocabulary */
#define LEAST_WORDS  1000 /* fewer words say nothing about their pieces */

/* ---- dead parts -------------------------------------------------------- */

static void judge_dead_parts(struct answer *a, const struct dead_signs *s)
{
	const bool is_sure = s->records >= SIGNS_DEAD_RECORDS;

	if (s->dead)
		answer_yes(a, s->frozen == s->dead && is_sure,
			   "%zu of %zu weight matrices %s between the last %zu evaluations, while "
			   "the median matrix moved by %.2g of its norm: %s. Check that the "
			   "optimizer updates them, with a learning rate above 0.",
			   s->dead, s->matrices,
			   s->frozen == s->dead ? "did not move at all" : "hardly moved",
			   s->records, s->median, s->names);
	else if (s->partly)
		answer_yes(a, LIKELY,
			   "Up to %.0f %% of a weight matrix did not change at all between the "
			   "last %zu evaluations, in %zu of %zu matrices: %s. Attention heads or "
			   "feed-forward layers there may be dead: check their updates, or lower "
			   "the learning rate.",
			   100 * s->still, s->records, s->partly, s->matrices, s->names);
	else if (s->layers)
		answer_no(a, LIKELY,
			  "All %zu weight matrices moved between the last %zu evaluations, but in "
			  "%zu of them up to about %.0f %% of the feed-forward units did not: %s. "
			  "Their ReLU no longer opens. Good models have such units too; a lower "
			  "learning rate or a longer warm-up keeps more of them in use.",
			  s->matrices, s->records, s->layers, 100 * s->units, s->layer_names);
	else
		answer_no(a, is_sure,
			  "All %zu weight matrices moved between the last %zu evaluations, the "
			  "median matrix by %.2g of its norm.",
			  s->matrices, s->records, s->median);
}

int answer_dead_part(struct answer *a, const struct evidence *v, struct err *e)
{
	struct dead_signs s;

	if (find_dead_signs(&s, v, e))
		return e->code;
	answer_add_fact(a, "evaluations compared", (double)s.records, "");
	answer_add_fact(a, "weight matrices", s.matrices ? (double)s.matrices : NAN, "");
	answer_add_fact(a, "movement of the median matrix, relative to its norm", s.median, "");
	if (s.dead || s.partly) {
		answer_add_fact(a, "matrices that did not move", (double)s.dead, "");
		answer_add_fact(a, "matrices with parts that did not move", (double)s.partly, "");
	}
	if (s.layers)
		answer_add_fact(a, "largest share of feed-forward units that did not move", s.units,
				"share");
	if (s.records < 2)
		answer_open(a,
			    "The journal says how far weights moved at %zu evaluation%s; at least "
			    "2 are needed (records of the kind weights).",
			    s.records, text_plural(s.records));
	else if (isnan(s.median))
		answer_open(a, "Most weight matrices hardly moved between the last evaluations: "
			       "the learning rate is too low to tell which of them cannot move.");
	else
		judge_dead_parts(a, &s);
	return 0;
}

/* ---- the vocabulary ---------------------------------------------------- */

static void judge_vocabulary(struct answer *a, const struct vocabulary_signs *s,
			     const struct evidence *v)
{
	const bool is_bpe = text_segmentation(&v->recipe, s->is_target) == SEGMENTATION_BPE;
	const double vocabulary = s->entries;
	const char *side = s->is_target ? "target" : "source";

	if (s->pieces_a_word >= SMALL_PIECES && s->uses >= LEARNED_USES)
		answer_yes(a, s->pieces_a_word >= TINY_PIECES,
			   "A %s word has %.1f pieces on average, and each of the %s entries of "
			   "the vocabulary is used %s times: sequences are long and pieces carry "
			   "little meaning. Prepare the corpus with %s.",
			   side, s->pieces_a_word, COUNT_TEXT(vocabulary), COUNT_TEXT(s->uses),
			   is_bpe ? "more merges" : "a larger vocabulary_size");
	else if (s->pieces_a_word >= SMALL_PIECES)
		answer_no(a, LIKELY,
			  "A %s word has %.1f pieces on average, but each of the %s entries of the "
			  "vocabulary is used only %s times: the corpus is too small for %s.",
			  side, s->pieces_a_word, COUNT_TEXT(vocabulary), COUNT_TEXT(s->uses),
			  is_bpe ? "many more merges" : "a much larger vocabulary_size");
	else
		answer_no(a, s->pieces_a_word <= USUAL_PIECES,
			  "A %s word has %.2f pieces on average; the vocabulary has %s entries.",
			  side, s->pieces_a_word, COUNT_TEXT(vocabulary));
}

void answer_vocabulary_small(struct answer *a, const struct evidence *v)
{
	struct vocabulary_signs s;

	find_vocabulary_signs(&s, v);
	answer_add_fact(a, "vocabulary", v->vocabulary, "");
	answer_add_fact(a, "pieces of a source word", s.by_side[0], "");
	answer_add_fact(a, "pieces of a target word", s.by_side[1], "");
	answer_add_fact(a, "uses of an entry in the training text", s.uses, "");
	if (v->corpus_changed)
		answer_open(a, "%s", v->corpus_changed);
	else if (!isfinite(v->pieces[0] / v->words[0]) || !isfinite(v->pieces[1] / v->words[1]) ||
		 !isfinite(s.uses))
		answer_open(a, "The corpus has no stats.json with words and pieces, or the size of "
			       "the vocabulary is unknown.");
	else if (!s.has_words)
		answer_open(a,
			    "Blanks do not separate the words of this text (%s, %s), so pieces a "
			    "word say nothing.",
			    v->recipe.source_language, v->recipe.target_language);
	else if (s.words < LEAST_WORDS)
		answer_open(a, "The training text has only %s words; at least %s are needed.",
			    COUNT_TEXT(s.words), COUNT_TEXT(LEAST_WORDS));
	else
		judge_vocabulary(a, &s, v);
}
