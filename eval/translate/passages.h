/*
 * passages.h - lines of several sentences: split, translated sentence by sentence, joined again
 *
 *	struct passages *p = passages_new(&engine, c, e);
 *	passages_translate(p, &options, lines, n, results, e);
 *	passages_results_free(results, n);
 *	passages_free(p);
 *
 * A model that learned from sentences translates a line of several as one, and the rest is lost. So a
 * line is split (data/text/sentences.h), and all sentences of all lines are translated together. The
 * result of a line is one translation: texts with the white space of the source between them, tokens
 * and alignments one after the other; hypothesis h joins the h-th ones (the last one where a sentence
 * has fewer). Its log-probability is the sum; its score is the mean, weighted by tokens.
 *
 * The tag of a line (data/pipeline/line_tags.h) is the tag of each of its sentences: the model reads it in front of all of
 * them. So the source of the joined translation has tags that the line has not, which alignments of words do not count.
 *
 * The prefix of a line is split too, by the rules of the target language: its sentences are prefixes
 * of the first sentences of the line.
 */
#ifndef WERKBANK_EVAL_TRANSLATE_PASSAGES_H
#define WERKBANK_EVAL_TRANSLATE_PASSAGES_H

#include "eval/translate/constraint_options.h"
#include "eval/translate/engine.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

struct passages;

/*
 * Borrows the engine. Lines are split unless --one-a-line says otherwise, or the model learned from
 * lines of several sentences (ckpt_state.several). NULL: failure.
 */
struct passages *passages_new(struct engine *g, const struct conf *c, struct err *e);
void passages_free(struct passages *p);

struct passage_line {
	struct engine_line line; /* its phrases: each goes to one sentence (phrase_places.h) */
	struct terms *terms;	 /* borrowed: found in each sentence; NULL: none */
	bool is_whole;		 /* never split */
};

/* Where a sentence lies in the line, and in a hypothesis of the joined translation. */
struct passage_part {
	int32_t first_source, n_source, first_token, n_tokens;
	size_t source, source_bytes; /* bytes of the line before it; its bytes */
	size_t text, text_bytes;     /* the same of the translation */
};

/* Do lines stay whole, as those that the model learned from? */
bool passages_keep_lines(const struct passages *p);
/* Will passages_translate() split this line into sentences? If not, it must have no line ends. */
bool passages_split(const struct passages *p, const struct passage_line *l);

struct passage_result {
	struct engine_translation joined; /* with one source, n_source tokens in all */
	/* (hypotheses, n_parts) owned; one part for a line that was not split */
	struct passage_part *parts;
	int32_t n_parts;
	int32_t terms_left; /* terms beyond DECODE_MAX_PHRASES of a sentence */
	int32_t longest;    /* source tokens of the longest part */
};

/*
 * Translate n lines into results[0 .. n), which the caller frees with passages_results_free(). After a
 * failure nothing is left to free.
 */
int passages_translate(struct passages *p, const struct decode_options *o,
		       const struct passage_line *lines, size_t n, struct passage_result *results,
		       struct err *e);

/* The sentences of lines. */
struct passage_units {
	struct engine_line *all; /* (n) owned */
	struct phrases *phrases; /* (n) owned; NULL: no line has terms */
	size_t n, cap;
	size_t *ends; /* (lines) owned: units before the end of each line */
};

/*
 * The two halves of passages_translate(), for callers that decode between them. The first one finds the units of n lines,
 * and zeroes the results; it places no forced phrases, so lines that it splits must have none. The second one joins the
 * translations of all units, which stay the caller's. After a failure, too, the caller frees the results and the units.
 */
int passages_list_units(struct passages *p, const struct passage_line *lines, size_t n,
			struct passage_units *u, struct passage_result *results, struct err *e);
int passages_join_units(const struct passage_line *lines, size_t n, const struct passage_units *u,
			struct engine_translation *parts, struct passage_result *results,
			struct err *e);
void passage_units_free(struct passage_units *u);
/* The part of the joined translation that has token `at` of hypothesis 0, or its end. */
const struct passage_part *passage_part_at(const struct passage_result *r, int32_t at);

void passages_results_free(struct passage_result *results, size_t n);

#endif
