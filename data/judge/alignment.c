/* alignment.c - see alignment.h */
#include "data/judge/alignment.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/hash_index.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define CELLS_LOG2	21 /* counters of pairs of terms, of each half; colliding pairs share one */
#define COMMON_SHARE	0.1 /* a term of more lines of its side says too little */
#define LINE_CANDIDATES 256 /* at most this many terms of a line are candidates */
#define DRAWS		4   /* lines that are tried for a comparison before it is left out */

/* The terms of one side of a line that are compared. */
struct line_terms {
	int32_t at[ALIGNMENT_TERMS];
	int32_t n;
};

/* Lines with their terms, and an order in which neighbours have as many target terms. */
struct termed_lines {
	const struct judged_lines *lines;
	struct line_terms *terms[2]; /* owned: (n) of each side */
	int32_t *order, *place;	     /* owned: (n) line at a place, place of a line */
};

struct alignment {
	const struct word_marks *marks;
	struct termed_lines own;
	int32_t *df[2];		  /* owned: (marks->terms.n) lines with the term, of each side */
	float *half_log_df[2][2]; /* owned: [half][side]: log of lines of this half with the term */
	uint8_t *cells[2];	  /* owned: (1 << CELLS_LOG2) of each half */
	int32_t n_terms; /* number of terms when lines were counted; later terms have no counts */
	float log_n[2], logs[256]; /* log of lines of a half; log of a count */
	bool has_learned;	   /* cells hold counts */
};

/* ---- terms of lines ---- */

/* Count in how many lines each term occurs. seen: (terms) the last line that had it. */
static void count_line_terms(struct alignment *a, const struct judged_line *l, int side,
			     int32_t number, int32_t *seen)
{
	const int32_t *words = judged_words(a->own.lines, l, side);

	for (uint32_t i = 0; i < l->sides[side].n; i++) {
		const struct word_mark *m = &a->marks->marks[words[i]];

		for (int k = 0; k < m->n_terms; k++) {
			const int32_t term = a->marks->term_lists[m->first_term + k];

			a->df[side][term] += seen[term] != number;
			seen[term] = number;
		}
	}
}

static int count_terms(struct alignment *a, struct err *e)
{
	const struct judged_lines *t = a->own.lines;
	int32_t *seen = mem_alloc((size_t)MAX(a->n_terms, 1), sizeof(*seen), e);

	if (!seen)
		return e->code;
	for (int side = 0; side < 2; side++) {
		memset(seen, -1, (size_t)a->n_terms * sizeof(*seen));
		for (size_t i = 0; i < t->n; i++)
			count_line_terms(a, &t->lines[i], side, (int32_t)i, seen);
	}
	free(seen);
	return 0;
}

/* Insert a term into a list that is sorted by df, rarest first, and has room for ALIGNMENT_TERMS. */
static void insert_rare_term(struct line_terms *out, const int32_t *df, int32_t term)
{
	int32_t at = out->n;

	for (int32_t i = 0; i < out->n; i++)
		if (out->at[i] == term)
			return;
	while (at > 0 && (df[out->at[at - 1]] > df[term] ||
			  (df[out->at[at - 1]] == df[term] && out->at[at - 1] > term)))
		at--;
	if (at == ALIGNMENT_TERMS)
		return;
	out->n = MIN(out->n + 1, ALIGNMENT_TERMS);
	memmove(&out->at[at + 1], &out->at[at], (size_t)(out->n - 1 - at) * sizeof(*out->at));
	out->at[at] = term;
}

static void choose_terms(const struct alignment *a, const struct judged_lines *t, size_t line,
			 int side, struct line_terms *out)
{
	const struct judged_line *l = &t->lines[line];
	const int32_t *words = judged_words(t, l, side), *df = a->df[side],
		      most = (int32_t)MAX(COMMON_SHARE * (double)a->own.lines->n, 20);
	int candidates = 0;

	out->n = 0;
	for (uint32_t i = 0; i < l->sides[side].n; i++) {
		const struct word_mark *m = &a->marks->marks[words[i]];

		for (int k = 0; k < m->n_terms && candidates < LINE_CANDIDATES; k++, candidates++) {
			const int32_t term = a->marks->term_lists[m->first_term + k];

			if (term < a->n_terms && df[term] >= 2 && df[term] <= most)
				insert_rare_term(out, df, term);
		}
	}
}

/* A line in the order of comparison: by its number of target terms, then at random. */
struct order_key {
	uint64_t key;
	int32_t line;
};

static int cmp_order_key(const void *x, const void *y)
{
	const struct order_key *a = x, *b = y;

	return a->key < b->key ? -1 : a->key > b->key;
}

static int order_lines(struct termed_lines *t, struct err *e)
{
	const size_t n = t->lines->n;
	struct order_key *keys = mem_alloc(MAX(n, 1), sizeof(*keys), e);

	if (!keys)
		return e->code;
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct order_key){
			(uint64_t)t->terms[1][i].n << 56 | hash_integer(i + 1) >> 8, (int32_t)i
		};
	qsort(keys, n, sizeof(*keys), cmp_order_key);
	for (size_t i = 0; i < n; i++) {
		t->order[i] = keys[i].line;
		t->place[t->order[i]] = (int32_t)i;
	}
	free(keys);
	return 0;
}

static void termed_lines_close(struct termed_lines *t)
{
	for (int side = 0; side < 2; side++)
		free(t->terms[side]);
	free(t->order);
	free(t->place);
}

/* On failure, too, the caller closes t. */
static int termed_lines_open(struct termed_lines *t, const struct alignment *a,
			     const struct judged_lines *lines, struct err *e)
{
	const size_t n = MAX(lines->n, 1);

	*t = (struct termed_lines){ .lines = lines };
	t->order = mem_alloc(n, sizeof(*t->order), e);
	t->place = t->order ? mem_alloc(n, sizeof(*t->place), e) : NULL;
	if (!t->place)
		return e->code;
	for (int side = 0; side < 2; side++) {
		t->terms[side] = mem_alloc(n, sizeof(**t->terms), e);
		if (!t->terms[side])
			return e->code;
		for (size_t i = 0; i < lines->n; i++)
			choose_terms(a, lines, i, side, &t->terms[side][i]);
	}
	return order_lines(t, e);
}

struct alignment *alignment_new(const struct word_marks *m, const struct judged_lines *lines,
				struct err *e)
{
	struct alignment *a = mem_alloc(1, sizeof(*a), e);
	const size_t n = (size_t)MAX(m->terms.n, 1);

	if (!a)
		return NULL;
	a->marks = m;
	a->own.lines = lines;
	a->n_terms = m->terms.n;
	for (int i = 1; i < 256; i++)
		a->logs[i] = logf((float)i);
	for (int i = 0; i < 2; i++) {
		a->df[i] = mem_alloc(n, sizeof(**a->df), e);
		a->cells[i] = a->df[i] ? mem_alloc((size_t)1 << CELLS_LOG2, 1, e) : NULL;
		for (int side = 0; side < 2 && a->cells[i]; side++)
			if (!(a->half_log_df[i][side] = mem_alloc(n, sizeof(float), e)))
				goto failed;
		if (!a->cells[i])
			goto failed;
	}
	if (count_terms(a, e) || termed_lines_open(&a->own, a, lines, e))
		goto failed;
	return a;
failed:
	alignment_free(a);
	return NULL;
}

void alignment_free(struct alignment *a)
{
	if (!a)
		return;
	termed_lines_close(&a->own);
	for (int i = 0; i < 2; i++) {
		free(a->df[i]);
		free(a->cells[i]);
		free(a->half_log_df[i][0]);
		free(a->half_log_df[i][1]);
	}
	free(a);
}

/* ---- learning ---- */

/* Neighbours belong to one half: a sorted text has similar ones, and none may learn from the other. */
static int half_of_line(size_t i)
{
	return (int)(i >> 5 & 1);
}

static size_t cell_of_terms(int32_t source, int32_t target)
{
	return (size_t)(hash_integer((uint64_t)(uint32_t)source << 32 | (uint32_t)target) >>
			(64 - CELLS_LOG2));
}

/* The line `shift` lines after line i of the same text; -1: it is not there. */
static int64_t shifted_line(const struct judged_lines *t, size_t i, int shift)
{
	const struct judged_line *l = &t->lines[i];
	const int step = shift < 0 ? -1 : 1;

	if (!shift)
		return (int64_t)i;
	for (int64_t at = (int64_t)i + step; at >= 0 && at < (int64_t)t->n; at += step) {
		const struct judged_line *other = &t->lines[at];

		if (other->text != l->text ||
		    (other->line - l->line) * step > (int64_t)shift * step)
			return -1;
		if (other->line - l->line == shift)
			return at;
	}
	return -1;
}

static void learn_pair(struct alignment *a, int half, const struct line_terms *source,
		       const struct line_terms *target)
{
	for (int32_t i = 0; i < source->n; i++)
		a->half_log_df[half][0][source->at[i]]++;
	for (int32_t k = 0; k < target->n; k++) {
		a->half_log_df[half][1][target->at[k]]++;
		for (int32_t i = 0; i < source->n; i++) {
			uint8_t *cell =
				&a->cells[half][cell_of_terms(source->at[i], target->at[k])];

			*cell = (uint8_t)(*cell + (*cell < 255));
		}
	}
}

void alignment_learn(struct alignment *a, int shift)
{
	const struct termed_lines *t = &a->own;
	int64_t n[2] = { 0, 0 };

	for (int half = 0; half < 2; half++) {
		if (a->has_learned)
			memset(a->cells[half], 0, (size_t)1 << CELLS_LOG2);
		for (int side = 0; side < 2; side++)
			memset(a->half_log_df[half][side], 0, (size_t)a->n_terms * sizeof(float));
	}
	a->has_learned = true;
	for (size_t i = 0; i < t->lines->n; i++) {
		const int64_t with = shifted_line(t->lines, i, shift);

		if (with < 0)
			continue;
		learn_pair(a, half_of_line(i), &t->terms[0][i], &t->terms[1][with]);
		n[half_of_line(i)]++;
	}
	for (int half = 0; half < 2; half++) {
		a->log_n[half] = logf((float)MAX(n[half], 1));
		for (int side = 0; side < 2; side++)
			for (int32_t term = 0; term < a->n_terms; term++) {
				float *x = &a->half_log_df[half][side][term];

				*x = *x > 0 ? logf(*x) : 0;
			}
	}
}

/* ---- comparing ---- */

/* The association of a source and a target term, by the counts of one half; 0: no evidence. */
static float association(const struct alignment *a, int half, int32_t source, int32_t target)
{
	const uint8_t count = a->cells[half][cell_of_terms(source, target)];
	float x = 0;

	if (count >= 2)
		x = a->logs[count] + a->log_n[half] - a->half_log_df[half][0][source] -
		    a->half_log_df[half][1][target];
	if (source == target) /* a name, a number: the same text on both sides */
		x = MAX(x, a->log_n[half] - a->half_log_df[half][0][source]);
	return MAX(x, 0);
}

static float score_of_lines(const struct alignment *a, int half, const struct line_terms *source,
			    const struct line_terms *target)
{
	float sum = 0;

	for (int32_t k = 0; k < target->n; k++) {
		float best = 0;

		for (int32_t i = 0; i < source->n; i++) {
			const float x = association(a, half, source->at[i], target->at[k]);

			best = MAX(best, x);
		}
		sum += best;
	}
	return sum;
}

/* A line with another target but as many target terms as line i; -1: none near it in the order. */
static int64_t random_line(const struct termed_lines *t, int64_t i)
{
	const uint64_t target = t->lines->lines[i].sides[1].hash;

	for (int64_t step = 1; step <= DRAWS; step++) {
		const int64_t place = t->place[i] + step, n = (int64_t)t->lines->n;
		const int32_t other = t->order[place < n ? place : place - n];

		if (t->lines->lines[other].sides[1].hash != target)
			return other;
	}
	return -1;
}

/* Line i: is the target of line `with` a better one than that of line `than`? */
static void compare_targets(const struct alignment *a, const struct termed_lines *t, size_t i,
			    int64_t with, int64_t than, struct alignment_wins *w)
{
	const struct line_terms *source = &t->terms[0][i];
	float own, its;

	if (with < 0 || than < 0 || !source->n || !t->terms[1][with].n)
		return;
	own = score_of_lines(a, !half_of_line(i), source, &t->terms[1][with]);
	its = score_of_lines(a, !half_of_line(i), source, &t->terms[1][than]);
	w->n++;
	w->wins += own > its ? 1 : own == its ? 0.5 : 0;
}

static bool is_in_block(const struct judged_lines *t, size_t i, int32_t block)
{
	return block < 0 || t->lines[i].block == block;
}

static struct alignment_wins compare_with_random(const struct alignment *a,
						 const struct termed_lines *t, int32_t block,
						 int shift)
{
	struct alignment_wins w = { 0, 0 };

	for (size_t i = 0; i < t->lines->n; i++) {
		const int64_t with =
			is_in_block(t->lines, i, block) ? shifted_line(t->lines, i, shift) : -1;

		compare_targets(a, t, i, with, with < 0 ? -1 : random_line(t, with), &w);
	}
	return w;
}

static struct alignment_wins
compare_with_own(const struct alignment *a, const struct termed_lines *t, int32_t block, int shift)
{
	struct alignment_wins w = { 0, 0 };

	for (size_t i = 0; i < t->lines->n; i++)
		if (is_in_block(t->lines, i, block))
			compare_targets(a, t, i, shifted_line(t->lines, i, shift), (int64_t)i, &w);
	return w;
}

struct alignment_wins alignment_of_block(const struct alignment *a, int32_t block, int shift)
{
	assert(block < a->own.lines->n_blocks);
	return compare_with_random(a, &a->own, block, shift);
}

struct alignment_wins alignment_of_shift(const struct alignment *a, int32_t block, int shift)
{
	assert(block < a->own.lines->n_blocks);
	return compare_with_own(a, &a->own, block, shift);
}

int alignment_of_set(const struct alignment *a, const struct judged_lines *set, double least,
		     struct alignment_wins *wins, struct alignment_wins *shifted, struct err *e)
{
	struct termed_lines t;
	int rc = termed_lines_open(&t, a, set, e);

	if (!rc) {
		*wins = compare_with_random(a, &t, -1, 0);
		for (int shift = -ALIGNMENT_SHIFTS;
		     wins->wins < least * (double)wins->n && shift <= ALIGNMENT_SHIFTS; shift++)
			shifted[ALIGNMENT_SHIFTS + shift] = compare_with_own(a, &t, -1, shift);
	}
	termed_lines_close(&t);
	return rc;
}
