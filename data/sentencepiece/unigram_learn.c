/*
 * unigram_learn.c - learns the pieces of a unigram model: see unigram_learn.h
 *
 * The expected counts of a text come from a forward and a backward pass over its pieces. Both work with
 * probabilities, not logarithms: each byte is multiplied by the same factor, which makes the probability
 * of an average text 1. A text for which numbers still become too small or too large is cut in two.
 *
 * Counts are sums of integers (2^-20 occurrences), so they do not depend on the order of addition, and any
 * number of threads learns the same model.
 */
#include "data/sentencepiece/unigram_learn.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/sentencepiece/piece_trie.h"
#include "data/sentencepiece/unigram_seeds.h"
#include "data/sentencepiece/unigram_text.h"
#include "data/subword/bpe_line.h"
#include "share/base/buf.h"
#include "share/base/flow.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define MAX_SEEDS	1000000
#define EM_STEPS	2	  /* in each round */
#define SHRINK		0.75	  /* share of the pieces that a round keeps, at least */
#define MARGIN		1.1	  /* pruning stops at this many times the wanted size */
#define MIN_COUNT	0.5	  /* pieces with a smaller expected count are dropped */
#define MISSING_STEP	0.0001	  /* between scores of characters without a count */
#define UNIT		1048576.0 /* counts are integers of 1 / UNIT */
#define LEAST		1e-140	  /* of a forward probability; the greatest is 1 / LEAST */
#define BLOCK_FRAGMENTS 4096	  /* fragments, or pieces, of a work item */

struct unigram_piece {
	uint32_t start, n; /* in texts, in bytes */
	double score;	   /* log-probability */
	double value;	   /* count, or loss: work space */
	bool is_character, is_dropped;
};

struct piece_arc {
	uint32_t start, end;
	int32_t id;
	double weight;
};

/* Work space of a thread. */
struct learn_worker {
	int64_t *counts;	/* owned: (n_pieces) in 1 / UNIT */
	int64_t log_sum;	/* of all texts, in 1 / UNIT */
	struct piece_arc *arcs; /* owned */
	size_t cap_arcs;
	double *forward, *backward; /* owned: (UNIGRAM_MAX_TEXT + 1) */
	int32_t *last; /* owned: (UNIGRAM_MAX_TEXT + 1) the last piece of the best split */
};

struct unigram_learner {
	struct unigram_text text;
	struct buf texts;	      /* of the pieces */
	struct unigram_piece *pieces; /* owned: (n) sorted by bytes */
	size_t n, cap;
	struct piece_trie trie;
	double *weights; /* owned: (n) probability of a piece, times the factors of its bytes */
	double factor;	 /* log of the factor of a byte */
	double *losses;	 /* owned: (n) of likelihood without the piece; work space */
	double n_tokens; /* of the best splits of the text */
	struct learn_worker *workers; /* owned: (n_workers) */
	int n_workers;
};

/* ---- work on threads ---- */

typedef int learn_work(struct unigram_learner *u, struct learn_worker *w, size_t i, struct err *e);

struct work_block {
	size_t first, end;
};

struct work_list {
	struct unigram_learner *u;
	learn_work *work;
	size_t next, n;
};

static int next_block(void *context, void *slot, struct err *e)
{
	struct work_list *l = context;
	struct work_block *b = slot;

	(void)e;
	if (l->next >= l->n)
		return 0;
	b->first = l->next;
	l->next = b->end = MIN(l->n, l->next + BLOCK_FRAGMENTS);
	return 1;
}

static int work_on_block(void *context, int worker, void *slot, struct err *e)
{
	const struct work_list *l = context;
	const struct work_block *b = slot;

	for (size_t i = b->first; i < b->end; i++)
		if (l->work(l->u, &l->u->workers[worker], i, e))
			return e->code;
	return 0;
}

static int end_block(void *context, void *slot, struct err *e)
{
	(void)context;
	(void)slot;
	(void)e;
	return 0;
}

/* Do work for 0 … n - 1 on all threads. */
static int run_work(struct unigram_learner *u, learn_work *work, size_t n, struct err *e)
{
	struct work_list l = { u, work, 0, n };
	int n_slots = u->n_workers + 2;
	struct work_block *slots = mem_alloc((size_t)n_slots, sizeof(*slots), e);
	struct flow f = {
		next_block, work_on_block,  end_block, &l,
		slots,	    sizeof(*slots), n_slots,   u->n_workers > 1 ? u->n_workers : 0
	};
	int rc = slots ? flow_run(&f, e) : e->code;

	free(slots);
	return rc;
}

static int clear_counts(struct unigram_learner *u, struct err *e)
{
	for (int i = 0; i < u->n_workers; i++) {
		struct learn_worker *w = &u->workers[i];

		free(w->counts);
		w->counts = mem_alloc(u->n, sizeof(*w->counts), e);
		w->log_sum = 0;
		if (!w->counts)
			return e->code;
	}
	return 0;
}

/* Set the value of each piece to its count. Returns the sum of all values. */
static double collect_counts(struct unigram_learner *u)
{
	double sum = 0;

	for (size_t i = 0; i < u->n; i++) {
		int64_t count = 0;

		for (int w = 0; w < u->n_workers; w++)
			count += u->workers[w].counts[i];
		u->pieces[i].value = (double)count / UNIT;
		sum += u->pieces[i].value;
	}
	return sum;
}

/* ---- pieces ---- */

static const char *piece_text(const struct unigram_learner *u, const struct unigram_piece *p)
{
	return u->texts.data + p->start;
}

static int add_piece(struct unigram_learner *u, const char *text, size_t n, double value,
		     bool is_character, struct err *e)
{
	if (mem_grow(&u->pieces, &u->cap, u->n + 1, sizeof(*u->pieces), e))
		return e->code;
	u->pieces[u->n++] = (struct unigram_piece){ .start = (uint32_t)u->texts.len,
						    .n = (uint32_t)n,
						    .value = value,
						    .is_character = is_character };
	buf_add(&u->texts, text, n);
	return buf_check(&u->texts, e);
}

static int compare_pieces(const void *a, const void *b, void *context)
{
	const struct unigram_learner *u = context;
	const struct unigram_piece *x = a, *y = b;
	int d = memcmp(piece_text(u, x), piece_text(u, y), MIN(x->n, y->n));

	return d ? d : (x->n > y->n) - (x->n < y->n);
}

static int build_piece_trie(struct unigram_learner *u, struct err *e)
{
	struct piece_key *keys = mem_alloc(u->n, sizeof(*keys), e);
	int rc;

	if (!keys)
		return e->code;
	for (size_t i = 0; i < u->n; i++)
		keys[i] = (struct piece_key){ piece_text(u, &u->pieces[i]), u->pieces[i].n,
					      (int32_t)i };
	piece_trie_free(&u->trie);
	rc = piece_trie_build(&u->trie, keys, u->n, e);
	free(keys);
	free(u->weights);
	u->weights = rc ? NULL : mem_alloc(u->n, sizeof(*u->weights), e);
	return u->weights ? 0 : e->code;
}

/* Count the characters of the text and add them as pieces. */
static int add_characters(struct unigram_learner *u, const int64_t *is_character, struct err *e)
{
	const struct unigram_text *t = &u->text;
	int64_t *counts = mem_alloc(0x110000, sizeof(*counts), e);
	int rc = counts ? 0 : e->code;
	double sum = 0, bytes = 0, entropy = 0;

	for (size_t f = 0; !rc && f < t->n; f++) {
		const struct unigram_fragment *x = &t->fragments[f];
		uint32_t c;

		for (size_t i = 0; i < x->n;) {
			i += utf8_decode(t->bytes + x->start + i, x->n - i, &c);
			counts[c] += x->count;
		}
		sum += (double)x->count * (double)utf8_count(t->bytes + x->start, x->n);
		bytes += (double)x->count * x->n;
	}
	for (uint32_t c = 1; !rc && c < 0x110000; c++) {
		char text[4];

		if (!is_character[c])
			continue;
		rc = add_piece(u, text, utf8_encode(c, text), (double)counts[c], true, e);
		if (counts[c])
			entropy -= (double)counts[c] * log((double)counts[c] / sum);
	}
	free(counts);
	u->factor = bytes > 0 ? entropy / bytes : 0;
	return rc;
}

static int add_seeds(struct unigram_learner *u, struct err *e)
{
	struct unigram_seed *seeds = NULL;
	size_t n = 0;
	int rc = unigram_find_seeds(&u->text, MAX_SEEDS, &seeds, &n, e);

	for (size_t i = 0; !rc && i < n; i++)
		rc = add_piece(u, u->text.bytes + seeds[i].start, seeds[i].n,
			       (double)seeds[i].score, false, e);
	free(seeds);
	return rc;
}

/* The first scores: the logarithm of each value's share. */
static int start_pieces(struct unigram_learner *u, const int64_t *is_character, struct err *e)
{
	double sum = 0;

	if (add_characters(u, is_character, e) || add_seeds(u, e))
		return e->code;
	qsort_r(u->pieces, u->n, sizeof(*u->pieces), compare_pieces, u);
	for (size_t i = 0; i < u->n; i++)
		sum += MAX(u->pieces[i].value, MIN_COUNT);
	for (size_t i = 0; i < u->n; i++)
		u->pieces[i].score = log(MAX(u->pieces[i].value, MIN_COUNT) / sum);
	return build_piece_trie(u, e);
}

/* ---- expectation ---- */

/* Find the pieces in a text, and the sum of the weights of all splits up to each byte. */
static int run_forward(struct unigram_learner *u, struct learn_worker *w, const char *text,
		       size_t n, size_t *n_arcs, struct err *e)
{
	*n_arcs = 0;
	for (size_t i = 0; i <= n; i++)
		w->forward[i] = 0;
	w->forward[0] = 1;
	for (size_t i = 0; i < n; i += bpe_char_length(text + i, n - i)) {
		uint32_t node = PIECE_TRIE_ROOT;

		if (mem_grow(&w->arcs, &w->cap_arcs, *n_arcs + n - i, sizeof(*w->arcs), e))
			return e->code;
		for (size_t k = i;
		     k < n && piece_trie_step(&u->trie, &node, (unsigned char)text[k]); k++) {
			const int32_t id = u->trie.units[node].id;

			if (id < 0 || u->pieces[id].is_dropped)
				continue;
			w->arcs[(*n_arcs)++] = (struct piece_arc){ (uint32_t)i, (uint32_t)k + 1, id,
								   u->weights[id] };
			w->forward[k + 1] += w->forward[i] * u->weights[id];
		}
	}
	return 0;
}

static bool is_in_range(const struct learn_worker *w, const char *text, size_t n)
{
	for (size_t i = 0; i <= n; i++)
		if ((i == n || ((unsigned char)text[i] & 0xC0) != 0x80) &&
		    !(w->forward[i] > LEAST && w->forward[i] < 1 / LEAST))
			return false;
	return true;
}

static void run_backward(struct learn_worker *w, size_t n, size_t n_arcs, double count)
{
	double scale = UNIT * count / w->forward[n];

	for (size_t i = 0; i < n; i++)
		w->backward[i] = 0;
	w->backward[n] = 1;
	for (size_t k = n_arcs; k-- > 0;) {
		const struct piece_arc *a = &w->arcs[k];
		double part = a->weight * w->backward[a->end];

		w->backward[a->start] += part;
		w->counts[a->id] += llrint(w->forward[a->start] * part * scale);
	}
}

static int expect_text(struct unigram_learner *u, struct learn_worker *w, const char *text,
		       size_t n, double count, struct err *e)
{
	size_t n_arcs, half = n / 2;

	if (run_forward(u, w, text, n, &n_arcs, e))
		return e->code;
	if (is_in_range(w, text, n)) {
		run_backward(w, n, n_arcs, count);
		w->log_sum += llrint(count * (log(w->forward[n]) - u->factor * (double)n) * UNIT);
		return 0;
	}
	while (half < n && ((unsigned char)text[half] & 0xC0) == 0x80)
		half++;
	if (half == n || !half)
		return 0; /* a single character without probability */
	return expect_text(u, w, text, half, count, e)
		       ? e->code
		       : expect_text(u, w, text + half, n - half, count, e);
}

static int expect_fragment(struct unigram_learner *u, struct learn_worker *w, size_t i,
			   struct err *e)
{
	const struct unigram_fragment *f = &u->text.fragments[i];

	return expect_text(u, w, u->text.bytes + f->start, f->n, (double)f->count, e);
}

/* ---- maximisation ---- */

/* The derivative of log Γ at x > 0. */
static double digamma(double x)
{
	double result = 0, square;

	for (; x < 7; x++)
		result -= 1 / x;
	x -= 0.5;
	square = 1 / (x * x);
	return result + log(x) +
	       square * (1.0 / 24 +
			 square * (-7.0 / 960 + square * (31.0 / 8064 - square * 127.0 / 30720)));
}

/* One step of EM with a prior that favours few pieces: exp(digamma()) instead of the count. */
static int run_em_step(struct unigram_learner *u, struct err *e)
{
	double sum = 0, bytes = 0, log_sum = 0;

	for (size_t i = 0; i < u->n; i++)
		u->weights[i] = exp(u->pieces[i].score + u->factor * u->pieces[i].n);
	if (clear_counts(u, e) || run_work(u, expect_fragment, u->text.n, e))
		return e->code;
	collect_counts(u);
	for (size_t i = 0; i < u->n; i++) {
		struct unigram_piece *p = &u->pieces[i];

		if (p->value < MIN_COUNT && p->is_character)
			p->value = MIN_COUNT;
		p->is_dropped = p->value < MIN_COUNT;
		sum += p->is_dropped ? 0 : p->value;
	}
	for (size_t i = 0; i < u->n; i++)
		if (!u->pieces[i].is_dropped)
			u->pieces[i].score = digamma(u->pieces[i].value) - digamma(sum);
	for (int w = 0; w < u->n_workers; w++)
		log_sum += (double)u->workers[w].log_sum;
	for (size_t i = 0; i < u->text.n; i++)
		bytes += (double)u->text.fragments[i].count * u->text.fragments[i].n;
	if (bytes > 0)
		u->factor = -log_sum / UNIT / bytes;
	return 0;
}

/* ---- pruning ---- */

/*
 * The best split of n bytes, as the last piece of each end in w->last, without a piece of all bytes if
 * is_inner. Returns its score; -INFINITY: none.
 */
static double find_best(const struct unigram_learner *u, struct learn_worker *w, const char *text,
			size_t n, bool is_inner)
{
	double *best = w->forward;

	best[0] = 0;
	for (size_t i = 1; i <= n; i++)
		best[i] = -INFINITY;
	for (size_t i = 0; i < n; i += bpe_char_length(text + i, n - i)) {
		uint32_t node = PIECE_TRIE_ROOT;

		for (size_t k = i;
		     k < n && piece_trie_step(&u->trie, &node, (unsigned char)text[k]); k++) {
			const int32_t id = u->trie.units[node].id;

			if (id < 0 || u->pieces[id].is_dropped || (is_inner && !i && k + 1 == n) ||
			    best[i] + u->pieces[id].score <= best[k + 1])
				continue;
			best[k + 1] = best[i] + u->pieces[id].score;
			w->last[k + 1] = id;
		}
	}
	return best[n];
}

static int count_best_split(struct unigram_learner *u, struct learn_worker *w, size_t i,
			    struct err *e)
{
	const struct unigram_fragment *f = &u->text.fragments[i];

	(void)e;
	if (find_best(u, w, u->text.bytes + f->start, f->n, false) == -INFINITY)
		return 0;
	for (size_t end = f->n; end; end -= u->pieces[w->last[end]].n)
		w->counts[w->last[end]] += f->count * (int64_t)UNIT;
	return 0;
}

/*
 * The loss of likelihood without piece i: each of its uses becomes its best split into other pieces.
 * -INFINITY: the piece is not needed; INFINITY: it must stay.
 */
static double find_loss(const struct unigram_learner *u, struct learn_worker *w, size_t i)
{
	const struct unigram_piece *p = &u->pieces[i];
	double sum = u->n_tokens, other, changed = 0;
	size_t parts = 0;

	if (p->is_character)
		return INFINITY;
	if (p->is_dropped || p->value <= 0)
		return -INFINITY;
	other = find_best(u, w, piece_text(u, p), p->n, true);
	if (other == -INFINITY)
		return INFINITY;
	if (other > p->score)
		return -INFINITY;
	for (size_t end = p->n; end; end -= u->pieces[w->last[end]].n) {
		changed += log(u->pieces[w->last[end]].value + p->value);
		parts++;
	}
	changed -= (double)parts * log(sum + p->value * (double)(parts - 1));
	return p->value * (log(p->value / sum) - changed);
}

struct loss {
	double loss;
	size_t i;
};

static int compare_losses(const void *a, const void *b)
{
	const struct loss *x = a, *y = b;

	if (x->loss < y->loss || x->loss > y->loss)
		return x->loss > y->loss ? -1 : 1;
	return (x->i > y->i) - (x->i < y->i);
}

static int weigh_piece(struct unigram_learner *u, struct learn_worker *w, size_t i, struct err *e)
{
	(void)e;
	u->losses[i] = find_loss(u, w, i);
	return 0;
}

static size_t count_kept(const struct unigram_learner *u)
{
	size_t n = 0;

	for (size_t i = 0; i < u->n; i++)
		n += !u->pieces[i].is_dropped;
	return n;
}

/* Drop all pieces but the kept ones with the greatest losses. */
static int drop_pieces(struct unigram_learner *u, size_t kept, struct err *e)
{
	struct loss *order = mem_alloc(u->n, sizeof(*order), e);
	size_t n = 0;

	if (!order)
		return e->code;
	for (size_t i = 0; i < u->n; i++) {
		order[i] = (struct loss){ u->losses[i], i };
		u->pieces[i].is_dropped = true;
	}
	qsort(order, u->n, sizeof(*order), compare_losses);
	for (size_t i = 0; i < MIN(kept, u->n) && order[i].loss > -INFINITY; i++)
		u->pieces[order[i].i].is_dropped = false;
	free(order);
	for (size_t i = 0; i < u->n; i++)
		if (!u->pieces[i].is_dropped)
			u->pieces[n++] = u->pieces[i];
	u->n = n;
	return build_piece_trie(u, e);
}

static int prune_pieces(struct unigram_learner *u, size_t aim, struct err *e)
{
	size_t kept = MAX(aim, (size_t)(SHRINK * (double)count_kept(u)));
	int rc;

	if (clear_counts(u, e) || run_work(u, count_best_split, u->text.n, e))
		return e->code;
	u->n_tokens = collect_counts(u);
	u->losses = mem_alloc(u->n, sizeof(*u->losses), e);
	rc = u->losses ? run_work(u, weigh_piece, u->n, e) : e->code;
	if (!rc)
		rc = drop_pieces(u, kept, e);
	free(u->losses);
	u->losses = NULL;
	return rc;
}

/* ---- all of it ---- */

static int compare_final(const void *a, const void *b)
{
	const struct unigram_piece *x = a, *y = b;

	if (x->is_dropped != y->is_dropped)
		return x->is_dropped - y->is_dropped;
	if (x->score < y->score || x->score > y->score)
		return x->score > y->score ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

/* Characters that the text hardly needs get a score just above the least one. */
static void score_rare_characters(struct unigram_learner *u)
{
	double least = 0;
	int n = 0;

	for (size_t i = 0; i < u->n; i++)
		if (!u->pieces[i].is_dropped && u->pieces[i].value > MIN_COUNT)
			least = MIN(least, u->pieces[i].score);
	for (size_t i = 0; i < u->n; i++)
		if (u->pieces[i].is_character && u->pieces[i].value <= MIN_COUNT)
			u->pieces[i].score = least + MISSING_STEP * n++;
}

/* Keep all characters and the pieces with the best scores, sorted. */
static void choose_final(struct unigram_learner *u, size_t wanted)
{
	size_t n = 0, room = wanted;

	score_rare_characters(u);
	for (size_t i = 0; i < u->n; i++)
		room -= u->pieces[i].is_character && room;
	qsort(u->pieces, u->n, sizeof(*u->pieces), compare_final);
	for (size_t i = 0; i < u->n; i++) {
		struct unigram_piece *p = &u->pieces[i];

		if (p->is_character || (!p->is_dropped && room && room--))
			u->pieces[n++] = *p;
	}
	u->n = n;
}

int unigram_learn(struct unigram_learner *u, int64_t size, int64_t wanted, struct err *e)
{
	size_t aim = (size_t)(MARGIN * (double)size);

	for (;;) {
		for (int i = 0; i < EM_STEPS; i++)
			if (run_em_step(u, e))
				return e->code;
		if (count_kept(u) <= aim)
			break;
		if (prune_pieces(u, aim, e))
			return e->code;
	}
	choose_final(u, (size_t)wanted);
	return 0;
}

int unigram_visit_pieces(const struct unigram_learner *u, unigram_visitor *visit, void *context,
			 struct err *e)
{
	for (size_t i = 0; i < u->n; i++) {
		const struct unigram_piece *p = &u->pieces[i];

		if (visit(context, piece_text(u, p), p->n, (float)p->score, e))
			return e->code;
	}
	return 0;
}

static int open_workers(struct unigram_learner *u, int threads, struct err *e)
{
	u->n_workers = MAX(threads, 1);
	u->workers = mem_alloc((size_t)u->n_workers, sizeof(*u->workers), e);
	for (int i = 0; u->workers && i < u->n_workers; i++) {
		struct learn_worker *w = &u->workers[i];

		w->forward = mem_alloc(UNIGRAM_MAX_TEXT + 1, sizeof(*w->forward), e);
		w->backward = mem_alloc(UNIGRAM_MAX_TEXT + 1, sizeof(*w->backward), e);
		w->last = mem_alloc(UNIGRAM_MAX_TEXT + 1, sizeof(*w->last), e);
		if (!w->forward || !w->backward || !w->last)
			return e->code;
	}
	return u->workers ? 0 : e->code;
}

struct unigram_learner *unigram_learner_new(struct text_counts *words, const int64_t *is_character,
					    int threads, struct err *e)
{
	struct unigram_learner *u = mem_alloc(1, sizeof(*u), e);

	if (!u)
		return NULL;
	if (!open_workers(u, threads, e) && !unigram_text_load(&u->text, words, is_character, e) &&
	    !start_pieces(u, is_character, e))
		return u;
	unigram_learner_free(u);
	return NULL;
}

void unigram_learner_free(struct unigram_learner *u)
{
	if (!u)
		return;
	for (int i = 0; u->workers && i < u->n_workers; i++) {
		free(u->workers[i].counts);
		free(u->workers[i].arcs);
		free(u->workers[i].forward);
		free(u->workers[i].backward);
		free(u->workers[i].last);
	}
	free(u->workers);
	unigram_text_free(&u->text);
	buf_free(&u->texts);
	free(u->pieces);
	piece_trie_free(&u->trie);
	free(u->weights);
	free(u->losses);
	free(u);
}
