/*
 * ter_shift.c - edit distances in a band and the greedy search for shifts; see ter_shift.h
 *
 * Row i of the matrix has the edit distances between the first i words of the hypothesis and the
 * first j words of the reference, for j in a band around the diagonal; the last row reaches to
 * the end. The search computes the distance of many sentences that differ from the hypothesis by
 * one shift. Rows of the words that a sentence shares with the preceding one, from the start, are
 * reused (valid_rows).
 */
#include "eval/metrics/ter_shift.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"

#define SHIFT_WORDS 10		    /* longest shift */
#define SHIFT_FAR   50		    /* greatest distance of a shift in words */
#define BAND	    25		    /* half width of the band */
#define CANDIDATES  1000	    /* greatest number of shifts tried for a sentence */
#define FAR	    (INT32_MAX / 2) /* cost outside the band */

/* The last operation of the cheapest path to a cell. */
enum { OP_NONE, OP_SAME, OP_SUBSTITUTE, OP_DELETE, OP_INSERT };

struct distance_row {
	size_t first, end; /* the row has the cells first <= j < end */
	size_t offset;	   /* of its first cell in cost and op */
};

struct ter_shift {
	struct ter_words r;
	size_t n;		     /* words of the hypothesis */
	int32_t *words;		     /* (n) the sentence whose rows are in the matrix */
	size_t valid_rows;	     /* rows 1 ... valid_rows belong to words */
	int32_t *best, *tried, *now; /* (n) sentences: best shift, current trial, current state */
	struct distance_row *rows;   /* (n + 1) */
	int32_t *cost;		     /* all cells */
	uint8_t *op;
	int32_t *align; /* (r.n) hypothesis word of each reference word; -1: the start */
	uint8_t *hyp_wrong, *ref_wrong; /* (n), (r.n) 1: the word is part of an edit */
	size_t cap_words, cap_best, cap_tried, cap_now, cap_rows, cap_cost, cap_op, cap_align,
		cap_hyp, cap_ref;
};

struct ter_shift *ter_shift_new(struct err *e)
{
	return mem_alloc(1, sizeof(struct ter_shift), e);
}

void ter_shift_free(struct ter_shift *s)
{
	if (!s)
		return;
	free(s->words);
	free(s->best);
	free(s->tried);
	free(s->now);
	free(s->rows);
	free(s->cost);
	free(s->op);
	free(s->align);
	free(s->hyp_wrong);
	free(s->ref_wrong);
	free(s);
}

/* ---- distances --------------------------------------------------------- */

/* Sets the cells of each row. Returns the number of cells. */
static size_t lay_out(struct ter_shift *s)
{
	const double ratio = s->n ? (double)s->r.n / (double)s->n : 1;
	const double band = BAND < ratio / 2 ? ceil(ratio / 2 + BAND) : BAND;
	size_t cells = 0;

	s->rows[0] = (struct distance_row){ 0, s->r.n + 1, 0 };
	cells = s->r.n + 1;
	for (size_t i = 1; i <= s->n; i++) {
		double middle = floor((double)i * ratio);
		struct distance_row *row = &s->rows[i];

		row->first = (size_t)fmax(0, middle - band);
		row->end = i == s->n ? s->r.n + 1 : (size_t)fmin((double)s->r.n + 1, middle + band);
		row->end = MAX(row->end, row->first);
		row->offset = cells;
		cells += row->end - row->first;
	}
	return cells;
}

static int reserve_distance_rows(struct ter_shift *s, struct err *e)
{
	size_t n = MAX(s->n, 1), r = MAX(s->r.n, 1), cells;

	if (mem_grow(&s->words, &s->cap_words, n, sizeof(*s->words), e) ||
	    mem_grow(&s->best, &s->cap_best, n, sizeof(*s->best), e) ||
	    mem_grow(&s->tried, &s->cap_tried, n, sizeof(*s->tried), e) ||
	    mem_grow(&s->now, &s->cap_now, n, sizeof(*s->now), e) ||
	    mem_grow(&s->rows, &s->cap_rows, s->n + 1, sizeof(*s->rows), e) ||
	    mem_grow(&s->align, &s->cap_align, r, sizeof(*s->align), e) ||
	    mem_grow(&s->hyp_wrong, &s->cap_hyp, n, 1, e) ||
	    mem_grow(&s->ref_wrong, &s->cap_ref, r, 1, e))
		return e->code;
	cells = lay_out(s);
	if (mem_grow(&s->cost, &s->cap_cost, cells, sizeof(*s->cost), e) ||
	    mem_grow(&s->op, &s->cap_op, cells, 1, e))
		return e->code;
	for (size_t j = 0; j <= s->r.n; j++) {
		s->cost[j] = (int32_t)j;
		s->op[j] = OP_INSERT;
	}
	s->valid_rows = 0;
	return 0;
}

static int32_t cost_at(const struct ter_shift *s, const struct distance_row *row, size_t j)
{
	return j >= row->first && j < row->end ? s->cost[row->offset + j - row->first] : FAR;
}

/* Of equally cheap operations the first counts: same or substitute, then delete, then insert. */
static void fill_distance_row(struct ter_shift *s, size_t i, int32_t word)
{
	const struct distance_row *row = &s->rows[i], *above = &s->rows[i - 1];
	int32_t left = FAR;

	for (size_t j = row->first; j < row->end; j++) {
		int32_t cost = FAR, other = cost_at(s, above, j) + 1;
		uint8_t op = OP_NONE;

		if (j > 0) {
			bool same = word == s->r.word[j - 1];

			cost = cost_at(s, above, j - 1) + !same;
			op = cost < FAR ? same ? OP_SAME : OP_SUBSTITUTE : OP_NONE;
		}
		if (other < cost) {
			cost = other;
			op = OP_DELETE;
		}
		if (left + 1 < cost) {
			cost = left + 1;
			op = OP_INSERT;
		}
		cost = MIN(cost, FAR);
		s->cost[row->offset + j - row->first] = left = cost;
		s->op[row->offset + j - row->first] = op;
	}
}

/* The edit distance between the n words and the reference. */
static int32_t shift_edit_distance(struct ter_shift *s, const int32_t *words)
{
	size_t same = 0;

	while (same < s->valid_rows && s->words[same] == words[same])
		same++;
	for (size_t i = same; i < s->n; i++) {
		s->words[i] = words[i];
		fill_distance_row(s, i + 1, words[i]);
	}
	s->valid_rows = s->n;
	return cost_at(s, &s->rows[s->n], s->r.n);
}

/* Fills align, hyp_wrong and ref_wrong from the cheapest path for s->words. */
static void find_alignment(struct ter_shift *s)
{
	size_t i = s->n, j = s->r.n;

	while (i > 0 || j > 0) {
		const struct distance_row *row = &s->rows[i];
		uint8_t op = j >= row->first && j < row->end ? s->op[row->offset + j - row->first]
							     : OP_NONE;

		if (op == OP_INSERT || (op == OP_NONE && i == 0)) {
			/* an inserted reference word: aligned with the word before it */
			s->align[--j] = (int32_t)i - 1;
			s->ref_wrong[j] = 1;
		} else if (op == OP_DELETE || (op == OP_NONE && j == 0)) {
			s->hyp_wrong[--i] = 1;
		} else {
			i--;
			j--;
			s->align[j] = (int32_t)i;
			s->hyp_wrong[i] = s->ref_wrong[j] = op != OP_SAME;
		}
	}
}

/* ---- shifts ------------------------------------------------------------ */

struct shift_candidate {
	bool is_set;
	int32_t gain;		      /* edits that the shift saves, without its own cost */
	size_t length, start, target; /* words [start, start + length) move before target */
};

/* Order: more gain, then longer, then from further left, then to further left. */
static bool is_better_shift(const struct shift_candidate *a, const struct shift_candidate *b)
{
	if (!b->is_set || a->gain != b->gain)
		return !b->is_set || a->gain > b->gain;
	if (a->length != b->length)
		return a->length > b->length;
	if (a->start != b->start)
		return a->start < b->start;
	return a->target < b->target;
}

/* to = from with the words [start, start + length) moved before the word at target. */
static void move_words(int32_t *to, const int32_t *from, size_t n, size_t start, size_t length,
		       size_t target)
{
	const int32_t *part = from + start, *rest = from + start + length;
	size_t at; /* index of the part in the new sentence */

	assert(length > 0 && start + length <= n);
	if (target < start)
		at = target;
	else if (target > start + length)
		at = target - length;
	else
		at = MIN(target, n - length);
	for (size_t i = 0, k = 0; k < n; k++) {
		if (k >= at && k < at + length) {
			to[k] = part[k - at];
			continue;
		}
		to[k] = i < start ? from[i] : rest[i - start];
		i++;
	}
}

static bool has_wrong_word(const uint8_t *wrong, size_t n)
{
	return memchr(wrong, 1, n) != NULL;
}

/* Tries to move this part of the hypothesis to each position beside its match in the reference. */
static void try_part(struct ter_shift *s, const int32_t *words, int32_t before, size_t start,
		     size_t start_r, size_t length, struct shift_candidate *best, int *looked_at)
{
	int64_t last = -1;

	for (size_t k = 0; k <= length; k++) {
		struct shift_candidate c = { .is_set = true, .length = length, .start = start };

		if (start_r + k > s->r.n)
			break;
		c.target = start_r + k == 0 ? 0 : (size_t)(s->align[start_r + k - 1] + 1);
		if ((int64_t)c.target == last)
			continue;
		last = (int64_t)c.target;
		move_words(s->tried, words, s->n, start, length, c.target);
		c.gain = before - shift_edit_distance(s, s->tried);
		(*looked_at)++;
		if (is_better_shift(&c, best)) {
			*best = c;
			memcpy(s->best, s->tried, s->n * sizeof(*words));
		}
	}
}

/* Tries all matches that begin at these two words, from short to long. */
static void try_matches(struct ter_shift *s, const int32_t *words, int32_t before, size_t start,
			size_t start_r, struct shift_candidate *best, int *looked_at)
{
	for (size_t length = 1; length <= SHIFT_WORDS && *looked_at < CANDIDATES; length++) {
		int32_t at = s->align[start_r];

		if (start + length > s->n || start_r + length > s->r.n ||
		    words[start + length - 1] != s->r.word[start_r + length - 1])
			return;
		/* both parts must contain an edit, and a part cannot move into itself */
		if (!has_wrong_word(s->hyp_wrong + start, length) ||
		    !has_wrong_word(s->ref_wrong + start_r, length) ||
		    (at >= (int32_t)start && at < (int32_t)(start + length)))
			continue;
		try_part(s, words, before, start, start_r, length, best, looked_at);
	}
}

/* Writes the sentence after the best shift to s->best. Returns its gain; 0: no shift. */
static int32_t best_shift(struct ter_shift *s, const int32_t *words, int *looked_at)
{
	int32_t before = shift_edit_distance(s, words);
	struct shift_candidate best = { .is_set = false };

	find_alignment(s);
	for (size_t h = 0; h < s->n && *looked_at < CANDIDATES; h++)
		for (size_t r = h > SHIFT_FAR ? h - SHIFT_FAR : 0;
		     r < s->r.n && r <= h + SHIFT_FAR && *looked_at < CANDIDATES; r++)
			if (words[h] == s->r.word[r])
				try_matches(s, words, before, h, r, &best, looked_at);
	return best.is_set ? best.gain : 0;
}

int ter_shift_edits(struct ter_shift *s, struct ter_words hypothesis, struct ter_words reference,
		    int64_t *edits, struct err *e)
{
	int looked_at = 0, shifts = 0;

	*edits = (int64_t)hypothesis.n;
	if (reference.n == 0)
		return 0;
	s->r = reference;
	s->n = hypothesis.n;
	if (reserve_distance_rows(s, e))
		return e->code;
	if (s->n)
		memcpy(s->now, hypothesis.word, s->n * sizeof(*s->now));
	while (best_shift(s, s->now, &looked_at) > 0 && looked_at < CANDIDATES) {
		memcpy(s->now, s->best, s->n * sizeof(*s->now));
		shifts++;
	}
	*edits = shifts + shift_edit_distance(s, s->now);
	return 0;
}
