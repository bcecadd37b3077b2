/* texts_split.c - see texts_split.h */
#include "data/source/texts_split.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/rng.h"
#include "share/base/util.h"

#define LEAST_STRETCH 10 /* lines: a held-out set takes at most one line of each */

enum draw { DRAW_FIRST, DRAW_SECOND }; /* two draws of a stretch are different lines */

bool line_choice_has(const struct line_choice *c, int64_t line)
{
	const struct rng_key key = rng_key_make(0, RNG_SAMPLE, 0, 1);
	int64_t stretch, first, length, drawn;

	if (!c->is_part)
		return true;
	if (line < 1 || line > c->lines || !c->chosen)
		return false;
	stretch = (line * c->chosen - 1) / c->lines;
	first = stretch * c->lines / c->chosen;
	length = (stretch + 1) * c->lines / c->chosen - first;
	drawn = rng_u32(key, 2 * (uint64_t)stretch) % length;
	if (c->draw == DRAW_SECOND && length > 1)
		drawn += 1 + rng_u32(key, 2 * (uint64_t)stretch + 1) % (length - 1);
	return line - 1 == first + drawn % length;
}

/* ---- the texts ---- */

static char *copy_or_null(const char *text, struct err *e)
{
	return text ? mem_strdup(text, e) : NULL;
}

static int copy_text(struct source_text *to, const struct source_text *from, struct err *e)
{
	*to = (struct source_text){ .file = from->file };
	to->name = mem_strdup(from->name, e);
	to->member = to->name ? copy_or_null(from->member, e) : NULL;
	to->tag = copy_or_null(from->tag, e);
	return !to->name || (from->member && !to->member) || (from->tag && !to->tag) ? e->code : 0;
}

/* Add lines of training pair i as a text of this set. */
static int add_split_text(struct texts *t, size_t i, const char *set, enum draw draw, struct err *e)
{
	const struct text_pair *from = &t->pairs[i];
	struct text_pair *to;

	if (mem_grow(&t->pairs, &t->cap, t->n + 1, sizeof(*t->pairs), e))
		return e->code;
	from = &t->pairs[i];
	to = &t->pairs[t->n++]; /* texts_free() frees it, also if it is incomplete */
	*to = (struct text_pair){ .is_general = from->is_general,
				  .is_bilingual = from->is_bilingual,
				  .choice = { .is_part = true, .draw = draw, .text = i } };
	snprintf(to->set, sizeof(to->set), "%s", set);
	to->name = mem_strdup(from->name, e);
	if (!to->name || copy_text(&to->source, &from->source, e) ||
	    copy_text(&to->target, &from->target, e))
		return e->code;
	to->source.pair_tag = to->target.pair_tag = to->source.tag;
	return 0;
}

static bool has_set(const struct texts *t, size_t n, const char *set)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(t->pairs[i].set, set))
			return true;
	return false;
}

int texts_add_splits(struct texts *t, const struct conf *c, struct err *e)
{
	static const struct {
		const char *set;
		bool is_general;
		enum draw draw;
	} splits[] = { { "dev", false, DRAW_FIRST },
		       { "test", false, DRAW_SECOND },
		       { TEXTS_GENERAL_SET, true, DRAW_SECOND } };
	const size_t n = t->n;

	for (size_t k = 0; c->hold_out && k < ARRAY_LEN(splits); k++)
		for (size_t i = 0; !has_set(t, n, splits[k].set) && i < n; i++)
			if (!strcmp(t->pairs[i].set, "train") &&
			    t->pairs[i].is_general == splits[k].is_general &&
			    add_split_text(t, i, splits[k].set, splits[k].draw, e))
				return e->code;
	return 0;
}

/* ---- the choice ---- */

bool texts_need_counts(const struct texts *t, const struct conf *c)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->pairs[i].choice.is_part || (t->pairs[i].is_general && c->general_share > 0))
			return true;
	return false;
}

/* The part of `wanted` that falls on the lines from `before` to `before + lines` of all. */
static int64_t lines_of_part(int64_t wanted, int64_t before, int64_t lines, int64_t all)
{
	const double share = (double)wanted / (double)MAX(all, 1);

	return (int64_t)((double)(before + lines) * share) - (int64_t)((double)before * share);
}

static int64_t sum_lines(const struct texts *t, const int64_t *lines, size_t n, bool is_general)
{
	int64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		if (t->pairs[i].is_general == is_general)
			sum += lines[i];
	return sum;
}

void texts_choose_lines(struct texts *t, const struct conf *c, const int64_t *lines)
{
	const int64_t own = sum_lines(t, lines, t->n_train, false),
		      general = sum_lines(t, lines, t->n_train, true);
	const double share = c->general_share;

	for (size_t i = 0; i < t->n; i++) {
		struct text_pair *p = &t->pairs[i];
		const int64_t all = p->is_general ? general : own;
		const size_t text = i < t->n_train ? i : p->choice.text;
		int64_t wanted = MIN(c->hold_out, all / LEAST_STRETCH);

		if (i < t->n_train) {
			p->choice.is_part = p->is_general && share > 0;
			wanted = (int64_t)fmin((double)general, (double)own * share / (1 - share));
		}
		if (!p->choice.is_part)
			continue;
		assert(text < t->n_train);
		p->choice.lines = lines[text];
		p->choice.chosen = lines_of_part(wanted, sum_lines(t, lines, text, p->is_general),
						 lines[text], all);
	}
}
