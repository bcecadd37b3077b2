/* judge_rules.c - rules about single lines of a corpus (see corpus_judge.h) */
#include "data/judge/judge_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define LEAST_LINES    200 /* of a set; fewer: no verdict on shares of its lines */
#define LEAST_BAD      20
#define STRETCH_SHARE  0.5 /* of the lines from the first to the last block of a stretch are bad */
#define STRETCH_HOLDS  0.9 /* of all bad lines */
#define LANGUAGE_WORDS 3   /* frequent words by which a line is of another language … */
#define LANGUAGE_LEAD  2   /* … and more of them than of its own */

/* ---- where ---- */

static void join_example_words(const struct corpus_judge *j, const struct judged_set *set,
			       const struct judged_line *l, int side, char *out)
{
	const int32_t *words = judged_words(&set->lines, l, side);
	size_t len = 0;

	out[0] = 0;
	for (uint32_t i = 0; i < l->sides[side].n; i++) {
		size_t n;
		const char *word = intern_text(&j->marks.words, words[i], &n);

		if (!len && n + 2 > JUDGE_TEXT_BYTES) /* text without blanks is one word */
			n = utf8_valid_prefix(word, JUDGE_TEXT_BYTES - 2);
		if (len + n + 2 > JUDGE_TEXT_BYTES)
			break;
		if (i)
			out[len++] = ' ';
		memcpy(out + len, word, n);
		len += n;
		out[len] = 0;
	}
}

static void add_example(const struct corpus_judge *j, struct corpus_verdict *v,
			const struct judged_set *set, const struct judged_line *l)
{
	struct judge_example *x = &v->examples[v->n_examples++];

	x->line = l->line;
	x->text = l->text;
	join_example_words(j, set, l, 0, x->source);
	join_example_words(j, set, l, 1, x->target);
}

struct corpus_verdict *judge_new_verdict(struct corpus_judge *j, enum judge_rule rule,
					 const struct judged_set *set)
{
	struct corpus_verdict *v = &j->verdicts[j->n_verdicts];

	if (j->n_verdicts == JUDGE_VERDICTS_MAX)
		return NULL;
	j->n_verdicts++;
	*v = (struct corpus_verdict){ .rule = rule, .text = -1 };
	snprintf(v->set, sizeof(v->set), "%s", set->name);
	return v;
}

/* The first and the last bad line without 5 % of them at either end. */
static void find_stretch(const struct judged_set *set, const bool *is_bad, int64_t n_bad,
			 size_t *first, size_t *last)
{
	int64_t skip = (int64_t)((1 - STRETCH_HOLDS) / 2 * (double)n_bad), before = 0;

	*first = *last = 0;
	for (size_t i = 0; i < set->lines.n; i++) {
		if (!is_bad[i])
			continue;
		if (before == skip)
			*first = i;
		if (before < n_bad - skip)
			*last = i;
		before++;
	}
}

/* The training text of nearly all bad lines; -1: there are several, or it is a held-out set. */
static int32_t text_of_bad_lines(const struct judged_set *set, const bool *is_bad, int64_t n_bad,
				 size_t middle)
{
	const int32_t text = set->lines.lines[middle].text;
	int64_t n = 0;

	for (size_t i = 0; i < set->lines.n; i++)
		n += is_bad[i] && set->lines.lines[i].text == text;
	return (double)n >= STRETCH_HOLDS * (double)n_bad ? text : -1;
}

void judge_locate(const struct corpus_judge *j, struct corpus_verdict *v,
		  const struct judged_set *set, const bool *is_bad)
{
	const struct judged_line *lines = set->lines.lines;
	size_t first, last;
	int64_t n = 0, inside = 0;

	for (size_t i = 0; i < set->lines.n; i++)
		n += is_bad[i];
	v->n_bad = n;
	v->n_judged = (int64_t)set->lines.n;
	v->density = (double)n / (double)set->lines.n;
	find_stretch(set, is_bad, n, &first, &last);
	while (first > 0 && is_bad[first - 1])
		first--;
	while (last + 1 < set->lines.n && is_bad[last + 1])
		last++;
	for (size_t i = first; i <= last && i < set->lines.n; i++) {
		inside += is_bad[i];
		if (is_bad[i] && v->n_examples < JUDGE_EXAMPLES)
			add_example(j, v, set, &lines[i]);
	}
	v->text = lines[0].text == lines[set->lines.n - 1].text
			  ? -1
			  : text_of_bad_lines(set, is_bad, n, first);
	if (last - first + 1 >= set->lines.n * 9 / 10 || lines[first].text != lines[last].text ||
	    (double)inside < STRETCH_SHARE * (double)(last - first + 1))
		return;
	v->text = lines[first].text;
	v->first = lines[first].line;
	v->last = lines[last].line;
	v->density = (double)inside / (double)(last - first + 1);
}

/* ---- signs of a line ---- */

struct line_context {
	const struct corpus_judge *judge;
	const struct judged_set *set;
	size_t i;
	const struct judged_line *line;
	int side; /* of the rule; 0 if the rule is about the pair */
};

/* The languages of word i, unless it has occurred before: "a … a … a" must not count three times. */
static uint64_t new_languages(const int32_t *words, const struct word_mark *marks, uint32_t i)
{
	for (uint32_t k = 0; marks[words[i]].languages && k < i; k++)
		if (words[k] == words[i])
			return 0;
	return marks[words[i]].languages;
}

/* The row of the language that the side is of, if that is another than its own; -1. */
static int find_other_language(const struct line_context *c)
{
	const int32_t *words = judged_words(&c->set->lines, c->line, c->side);
	const struct word_mark *marks = c->judge->marks.marks;
	const int own = c->judge->language_rows[c->side];
	int counts[64] = { 0 }, best = -1;

	if (own < 0)
		return -1;
	for (uint32_t i = 0; i < c->line->sides[c->side].n; i++) {
		uint64_t left = new_languages(words, marks, i);
		size_t bytes;

		(void)intern_text(&c->judge->marks.words, words[i], &bytes);
		if (bytes == 1) /* spelled-out words, lists: a letter shows no other language */
			left &= (uint64_t)1 << own;
		for (; left; left &= left - 1)
			counts[__builtin_ctzll(left)]++;
	}
	for (int row = 0; row < language_rows(); row++)
		if (counts[row] >= LANGUAGE_WORDS && counts[row] >= counts[own] + LANGUAGE_LEAD &&
		    (best < 0 || counts[row] > counts[best]))
			best = row;
	return best;
}

/* Is the line of the language of the other side and the pair swapped? That is another rule's. */
static bool is_of_other_language(const struct line_context *c)
{
	return !c->set->is_swapped[c->i] && c->line->sides[0].hash != c->line->sides[1].hash &&
	       find_other_language(c) >= 0;
}

/* A line that is copied or swapped is another rule's. */
static bool is_foreign_script(const struct line_context *c)
{
	const struct judged_side *s = &c->line->sides[c->side];

	return s->letters >= 8 && s->foreign * 2 > s->letters &&
	       s->hash != c->line->sides[1 - c->side].hash && !c->set->is_swapped[c->i];
}

static bool is_swapped_pair(const struct line_context *c)
{
	return c->set->is_swapped[c->i];
}

/* A line of some words, or of many characters without blanks, that is its own translation. */
static bool is_copied_pair(const struct line_context *c)
{
	const struct judged_side *s = c->line->sides;

	return (s[0].n >= 4 || s[0].characters >= 20) && s[0].n == s[1].n &&
	       !memcmp(judged_words(&c->set->lines, c->line, 0),
		       judged_words(&c->set->lines, c->line, 1), s[0].n * sizeof(int32_t));
}

static bool is_repeated_pair(const struct line_context *c)
{
	return c->judge->is_repeat[c->i];
}

static bool is_wrapped(const struct line_context *c, int side, unsigned first, unsigned last)
{
	const int32_t *words = judged_words(&c->set->lines, c->line, side);
	const struct word_mark *marks = c->judge->marks.marks;
	const uint32_t n = c->line->sides[side].n;

	return n >= 3 && marks[words[0]].flags & first && marks[words[n - 1]].flags & last;
}

static bool is_quoted_pair(const struct line_context *c)
{
	return is_wrapped(c, 0, WORD_QUOTE, WORD_QUOTE) && is_wrapped(c, 1, WORD_QUOTE, WORD_QUOTE);
}

/* From "<" to ">", with a tag that ends. */
static bool is_markup_side(const struct line_context *c, int side)
{
	const int32_t *words = judged_words(&c->set->lines, c->line, side);

	if (!is_wrapped(c, side, WORD_OPENS, WORD_CLOSES))
		return false;
	for (uint32_t i = 0; i < c->line->sides[side].n; i++) {
		size_t n;
		const char *word = intern_text(&c->judge->marks.words, words[i], &n);

		if (*word == '/' || (n > 2 && memmem(word, n, "</", 2)))
			return true;
	}
	return false;
}

static bool is_markup_line(const struct line_context *c)
{
	return is_markup_side(c, 0) || is_markup_side(c, 1);
}

/* The most frequent source, or target, beside various lines of the other side. */
static bool has_most_frequent_side(const struct line_context *c)
{
	const struct judged_side *s = c->line->sides;

	return !c->judge->is_repeat[c->i] &&
	       (s[0].hash == c->judge->most_frequent[0] || s[1].hash == c->judge->most_frequent[1]);
}

static bool is_entity_name(const char *word, size_t n)
{
	static const char *const names[] = { "amp",  "lt",    "gt",    "quot",	"apos",
					     "nbsp", "ndash", "mdash", "hellip" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == n && !memcmp(names[i], word, n))
			return true;
	return n > 1 && *word == '#' && (word[1] == 'x' || (word[1] >= '0' && word[1] <= '9'));
}

static bool is_word(const struct corpus_judge *j, int32_t word, char c)
{
	size_t n;
	const char *text = intern_text(&j->marks.words, word, &n);

	return n == 1 && *text == c;
}

/* Tokenised: "&amp;", a name, or "#" and a number, and ";". */
static bool has_split_entity(const struct corpus_judge *j, const int32_t *words, uint32_t n)
{
	for (uint32_t i = 0; i + 2 < n; i++) {
		size_t bytes;
		const char *word;

		if (!(j->marks.marks[words[i]].flags & WORD_AMPERSAND))
			continue;
		word = intern_text(&j->marks.words, words[i + 1], &bytes);
		if ((is_entity_name(word, bytes) && is_word(j, words[i + 2], ';')) ||
		    (i + 3 < n && is_word(j, words[i + 1], '#') && is_word(j, words[i + 3], ';')))
			return true;
	}
	return false;
}

static bool has_entities(const struct line_context *c)
{
	for (int side = 0; side < 2; side++) {
		const int32_t *words = judged_words(&c->set->lines, c->line, side);
		const uint32_t n = c->line->sides[side].n;

		if (has_split_entity(c->judge, words, n))
			return true;
		for (uint32_t i = 0; i < n; i++)
			if (c->judge->marks.marks[words[i]].flags & WORD_ENTITY)
				return true;
	}
	return false;
}

static bool is_in_capitals(const struct line_context *c, int side)
{
	const int32_t *words = judged_words(&c->set->lines, c->line, side);
	int cased = 0, capitals = 0;

	for (uint32_t i = 0; i < c->line->sides[side].n; i++) {
		const unsigned flags = c->judge->marks.marks[words[i]].flags;

		cased += (flags & WORD_CASED) != 0;
		capitals += (flags & WORD_CAPITALS) != 0;
	}
	return cased >= 3 && capitals == cased;
}

/* One side in capitals and the other one not: a model cannot know when. */
static bool has_capitals_on_one_side(const struct line_context *c)
{
	return is_in_capitals(c, 0) != is_in_capitals(c, 1);
}

/* ---- the table ---- */

struct line_rule {
	enum judge_rule rule;
	bool is_for_sets;     /* held-out sets are judged by it, too */
	double likely, clear; /* least shares of bad lines */
	int side;	      /* that is_bad() looks at; 0 if it looks at both */
	bool (*is_bad)(const struct line_context *c);
	const char *what; /* after "… lines " */
	const char *cure;
};

static const struct line_rule line_rules[] = {
	{ JUDGE_SWAPPED, true, 0.015, 0.03, 0, is_swapped_pair,
	  "have source and target the other way round",
	  "Exchange the sides of these lines, or remove them." },
	{ JUDGE_SOURCE_LANGUAGE, true, 0.03, 0.08, 0, is_of_other_language,
	  "have a source in another language", "Remove these lines, or correct source_language." },
	{ JUDGE_TARGET_LANGUAGE, true, 0.03, 0.08, 1, is_of_other_language,
	  "have a target in another language", "Remove these lines, or correct target_language." },
	{ JUDGE_SOURCE_SCRIPT, true, 0.12, 0.20, 0, is_foreign_script,
	  "have a source in a script that its language does not use",
	  "max_foreign = 0.3 drops these lines; or correct source_language." },
	{ JUDGE_TARGET_SCRIPT, true, 0.12, 0.20, 1, is_foreign_script,
	  "have a target in a script that its language does not use",
	  "max_foreign = 0.3 drops these lines; or correct target_language." },
	{ JUDGE_COPIES, true, 0.05, 0.15, 0, is_copied_pair,
	  "have four words or more and a target that equals the source: a model learns to copy",
	  "drop_copies = yes drops them." },
	{ JUDGE_REPEATS, false, 0.50, 0.65, 0, is_repeated_pair, "repeat an earlier pair",
	  "drop_duplicates = yes keeps the first of equal pairs." },
	{ JUDGE_ONE_LINE, false, 0.10, 0.20, 0, has_most_frequent_side,
	  "have the same source, or the same target, beside various lines of the other side",
	  "Remove this line, or all but some of these pairs." },
	{ JUDGE_QUOTED, true, 0.60, 0.80, 0, is_quoted_pair,
	  "stand in quotation marks on both sides, as the cells of a table do",
	  "Export the columns as plain text, without quotation marks." },
	{ JUDGE_MARKUP, true, 0.30, 0.60, 0, is_markup_line, "are markup, from \"<\" to \">\"",
	  "Take the text out of the markup: one sentence a line." },
	{ JUDGE_ENTITIES, true, 0.01, 0.03, 0, has_entities,
	  "have XML entities such as \"&amp;\" or \"&#39;\"",
	  "Replace entities by their characters." },
	{ JUDGE_CAPITALS, true, 0.05, 0.10, 0, has_capitals_on_one_side,
	  "are in capitals on one side only: a model cannot know when to write capitals",
	  "Remove these lines, or write both sides alike." },
};

/* The language that most of the bad lines are of, if most of them are of one. */
static const char *most_frequent_language(const struct corpus_judge *j,
					  const struct judged_set *set, int side,
					  const bool *is_bad, int64_t n_bad)
{
	int64_t counts[64] = { 0 };

	for (size_t i = 0; i < set->lines.n; i++) {
		const struct line_context c = { j, set, i, &set->lines.lines[i], side };
		const int row = is_bad[i] ? find_other_language(&c) : -1;

		if (row >= 0)
			counts[row]++;
	}
	for (int row = 0; row < language_rows(); row++)
		if (counts[row] * 2 > n_bad)
			return language_row_name(row);
	return NULL;
}

static void describe_line_rule(struct corpus_judge *j, const struct judged_set *set,
			       const struct line_rule *r, struct corpus_verdict *v,
			       const bool *is_bad)
{
	const char *name = r->is_bad == is_of_other_language
				   ? most_frequent_language(j, set, r->side, is_bad, v->n_bad)
				   : NULL;

	v->cure = r->cure;
	if (r->rule == JUDGE_SWAPPED && v->density < 0.95)
		v->cure = "Remove these pairs: the lines between them are in order.";
	else if (r->rule == JUDGE_SWAPPED && !v->first && v->text < 0)
		v->cure =
			"Exchange the two files (of a table: pair_columns), or source_language and "
			"target_language.";
	snprintf(v->what, sizeof(v->what), "%s of %s judged lines (%.0f %%) %s%s%s.",
		 COUNT_TEXT(v->n_bad), COUNT_TEXT(v->n_judged),
		 100.0 * (double)v->n_bad / (double)v->n_judged, r->what,
		 name ? ", most of them in " : "", name ? name : "");
}

static void apply_line_rule(struct corpus_judge *j, const struct judged_set *set,
			    const struct line_rule *r, bool *is_bad)
{
	struct corpus_verdict *v;
	int64_t n = 0;
	double share;

	for (size_t i = 0; i < set->lines.n; i++) {
		const struct line_context c = { j, set, i, &set->lines.lines[i], r->side };

		n += is_bad[i] = r->is_bad(&c);
	}
	share = (double)n / (double)set->lines.n;
	if (n < LEAST_BAD || share < r->likely || !(v = judge_new_verdict(j, r->rule, set)))
		return;
	judge_locate(j, v, set, is_bad);
	v->is_clear = share >= r->clear;
	describe_line_rule(j, set, r, v, is_bad);
}

/* In a corpus of one language, such as corrections, both sides resemble each other. */
static bool is_rule_for(const struct corpus_judge *j, const struct judged_set *set,
			const struct line_rule *r)
{
	const char *source = j->options.source_language, *target = j->options.target_language;
	const size_t n = strcspn(source, "-_");
	const bool has_one_language =
		n == strcspn(target, "-_") && !strncmp(source, target, n); /* en and en-GB */

	if (has_one_language && (r->rule == JUDGE_COPIES || r->rule == JUDGE_SWAPPED))
		return false;
	return set == &j->train || r->is_for_sets;
}

int judge_line_rules(struct corpus_judge *j, const struct judged_set *set, struct err *e)
{
	bool *is_bad = mem_alloc(MAX(set->lines.n, 1), sizeof(*is_bad), e);

	if (!is_bad)
		return e->code;
	for (size_t i = 0; i < ARRAY_LEN(line_rules) && set->lines.n >= LEAST_LINES; i++)
		if (is_rule_for(j, set, &line_rules[i]))
			apply_line_rule(j, set, &line_rules[i], is_bad);
	free(is_bad);
	return 0;
}
