/* corpus_judge.c - collects the lines that are judged, and runs the rules; see corpus_judge.h */
#include "data/judge/corpus_judge.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/judge/judge_rules.h"
#include "data/judge/side_order.h"
#include "share/base/mem.h"
#include "share/base/util.h"

struct corpus_judge *corpus_judge_new(const struct judge_options *o, struct err *e)
{
	struct corpus_judge *j = mem_alloc(1, sizeof(*j), e);

	if (!j)
		return NULL;
	j->options = *o;
	j->alignment = NAN;
	snprintf(j->train.name, sizeof(j->train.name), "train");
	j->language_rows[0] = language_row(o->source_language);
	j->language_rows[1] = language_row(o->target_language);
	j->scripts[0] = scripts_of_language(o->source_language);
	j->scripts[1] = scripts_of_language(o->target_language);
	j->numbers = mem_alloc((size_t)MAX(o->words->n, 1), sizeof(*j->numbers), e);
	if (j->numbers && !word_marks_open(&j->marks, o->is_escaped, e))
		return j;
	corpus_judge_free(j);
	return NULL;
}

static void judged_set_free(struct judged_set *s)
{
	judged_lines_free(&s->lines);
	free(s->is_swapped);
}

void corpus_judge_free(struct corpus_judge *j)
{
	if (!j)
		return;
	word_marks_free(&j->marks);
	judged_set_free(&j->train);
	for (int i = 0; i < j->n_sets; i++)
		judged_set_free(&j->sets[i]);
	free(j->numbers);
	free(j->is_repeat);
	free(j);
}

static int add_side_words(struct corpus_judge *j, int side, const struct judge_side *s,
			  struct err *e)
{
	for (uint32_t i = 0; i < s->n; i++) {
		int32_t *number = &j->numbers[s->words[i]];

		if (!*number) {
			size_t n;
			const char *word = intern_text(j->options.words, s->words[i], &n);
			const int32_t at = word_marks_add(&j->marks, word, n, e);

			if (at < 0)
				return e->code;
			*number = at + 1;
		}
		if (judged_lines_add_word(&j->train.lines, side, *number - 1, e))
			return e->code;
	}
	return 0;
}

int corpus_judge_add(struct corpus_judge *j, int64_t number, const struct judge_pair *p,
		     struct err *e)
{
	struct judged_line line = { .text = p->text, .line = p->line };

	if (!judged_lines_wants(number, j->options.n_pairs, &line.block))
		return 0;
	for (int side = 0; side < 2; side++)
		line.sides[side] = (struct judged_side){ .hash = p->sides[side].hash,
							 .characters = p->sides[side].characters,
							 .letters = p->sides[side].letters,
							 .foreign = p->sides[side].foreign };
	if (judged_lines_add(&j->train.lines, &line, e) || add_side_words(j, 0, &p->sides[0], e))
		return e->code;
	return add_side_words(j, 1, &p->sides[1], e);
}

void corpus_judge_begin_set(struct corpus_judge *j, const char *name)
{
	assert(j->n_sets < JUDGE_SETS_MAX && strlen(name) < sizeof(j->sets[0].name));
	snprintf(j->sets[j->n_sets++].name, sizeof(j->sets[0].name), "%s", name);
}

int corpus_judge_add_set(struct corpus_judge *j, const char *source, size_t n_source,
			 const char *target, size_t n_target, struct err *e)
{
	struct judged_lines *t = &j->sets[j->n_sets - 1].lines;
	const struct judged_line line = { .text = -1, .line = (int64_t)t->n + 1 };

	assert(j->n_sets > 0);
	if (t->n >= JUDGE_SET_LINES)
		return 0;
	if (judged_lines_add(t, &line, e) ||
	    judged_lines_add_text(t, 0, &j->marks, j->scripts[0], source, n_source, e))
		return e->code;
	return judged_lines_add_text(t, 1, &j->marks, j->scripts[1], target, n_target, e);
}

/* ---- repeats ---- */

struct pair_key {
	uint64_t key;
	size_t line;
};

static int cmp_pair_key(const void *x, const void *y)
{
	const struct pair_key *a = x, *b = y;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

/* keys: sorted */
static uint64_t most_frequent_key(const struct pair_key *keys, size_t n)
{
	size_t most = 0, first = 0;
	uint64_t best = 0;

	for (size_t i = 0; i < n; i++) {
		if (i && keys[i].key != keys[i - 1].key)
			first = i;
		if (i - first + 1 > most) {
			most = i - first + 1;
			best = keys[i].key;
		}
	}
	return best;
}

static int find_repeats(struct corpus_judge *j, struct err *e)
{
	const struct judged_lines *t = &j->train.lines;
	struct pair_key *keys = mem_alloc(MAX(t->n, 1), sizeof(*keys), e);

	if (!keys)
		return e->code;
	for (size_t i = 0; i < t->n; i++)
		keys[i] = (struct pair_key){
			hash_integer(t->lines[i].sides[0].hash) ^ t->lines[i].sides[1].hash, i
		};
	qsort(keys, t->n, sizeof(*keys), cmp_pair_key);
	for (size_t i = 1; i < t->n; i++)
		j->is_repeat[keys[i].line] = keys[i].key == keys[i - 1].key;
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < t->n; i++)
			keys[i] = (struct pair_key){ t->lines[i].sides[side].hash, i };
		qsort(keys, t->n, sizeof(*keys), cmp_pair_key);
		j->most_frequent[side] = most_frequent_key(keys, t->n);
	}
	free(keys);
	return 0;
}

static int mark_swapped_lines(struct judged_set *s, const struct side_order *o, struct err *e)
{
	s->is_swapped = mem_alloc(MAX(s->lines.n, 1), sizeof(*s->is_swapped), e);
	if (!s->is_swapped)
		return e->code;
	side_order_mark(o, &s->lines, s->is_swapped);
	return 0;
}

static int find_swapped(struct corpus_judge *j, struct err *e)
{
	struct side_order *o = side_order_new(&j->marks, &j->train.lines, j->language_rows[0],
					      j->language_rows[1], e);
	int rc = o ? mark_swapped_lines(&j->train, o, e) : e->code;

	for (int i = 0; !rc && i < j->n_sets; i++)
		rc = mark_swapped_lines(&j->sets[i], o, e);
	side_order_free(o);
	return rc;
}

int corpus_judge_run(struct corpus_judge *j, struct err *e)
{
	assert(!j->is_repeat);
	j->is_repeat = mem_alloc(MAX(j->train.lines.n, 1), sizeof(*j->is_repeat), e);
	if (!j->is_repeat || find_repeats(j, e) || find_swapped(j, e) ||
	    judge_alignment_rules(j, e) || judge_line_rules(j, &j->train, e))
		return e->code;
	for (int i = 0; i < j->n_sets; i++) {
		if (judge_line_rules(j, &j->sets[i], e))
			return e->code;
		judge_set_rules(j, &j->sets[i]);
	}
	return 0;
}

const struct corpus_verdict *corpus_judge_verdicts(const struct corpus_judge *j, int *n)
{
	*n = j->n_verdicts;
	return j->verdicts;
}

int64_t corpus_judge_lines(const struct corpus_judge *j)
{
	return (int64_t)j->train.lines.n;
}

double corpus_judge_alignment(const struct corpus_judge *j)
{
	return j->alignment;
}
