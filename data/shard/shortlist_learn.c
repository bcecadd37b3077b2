/* shortlist_learn.c - learns a shortlist from pairs by IBM model 1: see shortlist.h */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/shard/shortlist.h"
#include "data/shard/token_batch.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define CANDIDATES 100	 /* of a source token, for model 1 */
#define SAMPLE	   1000	 /* pairs with a source token in which candidates are counted, at most */
#define LEAST	   1e-6f /* least probability of a token that is kept */

/* A target token of a list, with its score. */
struct scored_token {
	int32_t id;
	float score;
};

struct shortlist_learner {
	const struct shard *shard; /* borrowed */
	const struct shortlist_options *options;
	int32_t vocabulary;	  /* entries of the larger vocabulary */
	int32_t sources;	  /* entries of the source's vocabulary */
	bool is_joint;		  /* both sides share a vocabulary */
	int64_t pairs;		  /* pairs to learn from */
	int32_t *source, *target; /* (longest) owned: the current pair, each token once */
	int32_t *times;		  /* (longest) owned: how often each token of target occurs */
	int32_t n_source, n_target;
	int64_t reading;		/* number of sides read so far */
	int64_t *seen;			/* (vocabulary) owned: the last side with this token … */
	int32_t *slot;			/* … and its index in target; owned */
	int32_t *in_source, *in_target; /* (vocabulary) owned: number of pairs with this token */
	int64_t *first;			/* (vocabulary + 1) owned: start of its pairs in where */
	int32_t *where;			/* owned: numbers of pairs with each source token */
	struct scored_token *entries;	/* (vocabulary, CANDIDATES) owned; of model 1 */
	float *expected;		/* (vocabulary, CANDIDATES) owned */
	int32_t *n_entries;		/* (vocabulary) owned */
	double *empty, *empty_expected; /* (vocabulary) owned: of the empty word */
	int32_t *counts, *touched;	/* (vocabulary) owned */
};

/* ---- pairs ------------------------------------------------------------- */

static int64_t pair_number(const struct shortlist_learner *x, int64_t i)
{
	return (int64_t)((double)i * (double)shard_pairs(x->shard) / (double)x->pairs);
}

/* Keep the first occurrence of each token. times (may be NULL): how often each one occurs. */
static int32_t make_unique(struct shortlist_learner *x, int32_t *ids, int32_t n, int32_t *times)
{
	const int64_t mark = ++x->reading;
	int32_t kept = 0;

	for (int32_t i = 0; i < n; i++) {
		const int32_t id = ids[i];

		if (id < N_SPECIAL_TOKENS)
			continue;
		if (x->seen[id] == mark) {
			if (times)
				times[x->slot[id]]++;
			continue;
		}
		x->seen[id] = mark;
		x->slot[id] = kept;
		if (times)
			times[kept] = 1;
		ids[kept++] = id;
	}
	return kept;
}

/* Read pair i of those to learn from. Afterwards seen and slot describe target. */
static void read_pair(struct shortlist_learner *x, int64_t i)
{
	const int64_t number = pair_number(x, i);
	int32_t n_source, n_target;

	shard_lengths(x->shard, number, &n_source, &n_target);
	shard_read(x->shard, number, x->source, x->target);
	x->n_source = make_unique(x, x->source, n_source, NULL);
	x->n_target = make_unique(x, x->target, n_target, x->times);
}

/* ---- candidates -------------------------------------------------------- */

static void count_tokens(struct shortlist_learner *x)
{
	for (int64_t i = 0; i < x->pairs; i++) {
		read_pair(x, i);
		for (int32_t k = 0; k < x->n_source; k++)
			x->in_source[x->source[k]]++;
		for (int32_t k = 0; k < x->n_target; k++)
			x->in_target[x->target[k]]++;
	}
}

/* Choose up to SAMPLE pairs for each source token, spread evenly over all pairs with it. */
static int find_pairs(struct shortlist_learner *x, struct err *e)
{
	int32_t *met = mem_alloc((size_t)x->vocabulary, sizeof(*met), e);
	int64_t total = 0;

	if (!met)
		return e->code;
	for (int32_t id = 0; id < x->vocabulary; id++) {
		x->first[id] = total;
		total += MIN(x->in_source[id], SAMPLE);
	}
	x->first[x->vocabulary] = total;
	x->where = mem_alloc((size_t)MAX(total, 1), sizeof(*x->where), e);
	for (int64_t i = 0; x->where && i < x->pairs; i++) {
		read_pair(x, i);
		for (int32_t k = 0; k < x->n_source; k++) {
			const int32_t id = x->source[k];
			const int64_t room = x->first[id + 1] - x->first[id],
				      place = met[id] * room / x->in_source[id];

			/* several pairs share a place: the first one is taken */
			if (met[id] == 0 || (met[id] - 1) * room / x->in_source[id] != place)
				x->where[x->first[id] + place] = (int32_t)i;
			met[id]++;
		}
	}
	free(met);
	return x->where ? 0 : e->code;
}

static int compare_scores_falling(const void *a, const void *b)
{
	const struct scored_token *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Is a worse than b? Among equal scores the higher id is worse. */
static bool is_worse(const struct scored_token *a, const struct scored_token *b)
{
	return a->score < b->score || (a->score == b->score && a->id > b->id);
}

/* Add to a heap of the best CANDIDATES tokens; the worst one is on top. */
static void candidate_heap_add(struct scored_token *heap, int32_t *n, struct scored_token x)
{
	int32_t at = 0;

	assert(*n >= 0 && *n <= CANDIDATES);
	if (*n < CANDIDATES) {
		for (at = (*n)++; at > 0 && is_worse(&x, &heap[(at - 1) / 2]); at = (at - 1) / 2)
			heap[at] = heap[(at - 1) / 2];
		heap[at] = x;
		return;
	}
	if (!is_worse(&heap[0], &x))
		return;
	for (int32_t child; (child = 2 * at + 1) < *n; at = child) {
		if (child + 1 < *n && is_worse(&heap[child + 1], &heap[child]))
			child++;
		if (!is_worse(&heap[child], &x))
			break;
		heap[at] = heap[child];
	}
	heap[at] = x;
}

/* Choose the candidates of one source token, with equal probabilities. */
static void choose_candidates(struct shortlist_learner *x, int32_t id)
{
	struct scored_token *list = x->entries + (int64_t)id * CANDIDATES;
	const int64_t n = x->first[id + 1] - x->first[id];
	int32_t touched = 0;

	for (int64_t i = 0; i < n; i++) {
		read_pair(x, x->where[x->first[id] + i]);
		for (int32_t k = 0; k < x->n_target; k++)
			if (x->counts[x->target[k]]++ == 0)
				x->touched[touched++] = x->target[k];
	}
	for (int32_t k = 0; k < touched; k++) {
		const int32_t t = x->touched[k];
		const double n_both = (double)x->counts[t] / (double)n * x->in_source[id];

		candidate_heap_add(list, &x->n_entries[id],
				   (struct scored_token){ t, (float)(2 * n_both /
								     ((double)x->in_source[id] +
								      x->in_target[t])) });
		x->counts[t] = 0;
	}
	for (int32_t k = 0; k < x->n_entries[id]; k++)
		list[k].score = 1 / (float)x->n_entries[id];
}

/* ---- IBM model 1 ------------------------------------------------------- */

/* E step: add the current pair to the expected counts. room: (longest) scratch. */
static void model1_expectation(struct shortlist_learner *x, double *room)
{
	for (int32_t k = 0; k < x->n_target; k++)
		room[k] = x->empty[x->target[k]];
	for (int turn = 0; turn < 2; turn++) {
		for (int32_t i = 0; i < x->n_source; i++) {
			const int64_t at = (int64_t)x->source[i] * CANDIDATES;

			for (int32_t c = 0; c < x->n_entries[x->source[i]]; c++) {
				const struct scored_token *a = &x->entries[at + c];
				const int32_t k = x->slot[a->id];

				if (k >= x->n_target || x->target[k] != a->id)
					continue;
				if (turn == 0)
					room[k] += (double)a->score;
				else
					x->expected[at + c] +=
						(float)(x->times[k] * (double)a->score / room[k]);
			}
		}
	}
	for (int32_t k = 0; k < x->n_target; k++)
		x->empty_expected[x->target[k]] += x->times[k] * x->empty[x->target[k]] / room[k];
}

/* M step: probabilities from the expected counts, which become 0. */
static void model1_maximization(struct shortlist_learner *x)
{
	double total = 0;

	for (int32_t id = 0; id < x->vocabulary; id++) {
		const int64_t at = (int64_t)id * CANDIDATES;
		double sum = 0;

		for (int32_t c = 0; c < x->n_entries[id]; c++)
			sum += (double)x->expected[at + c];
		for (int32_t c = 0; c < x->n_entries[id]; c++) {
			if (sum > 0)
				x->entries[at + c].score =
					(float)((double)x->expected[at + c] / sum);
			x->expected[at + c] = 0;
		}
		total += x->empty_expected[id];
	}
	for (int32_t id = 0; id < x->vocabulary; id++) {
		x->empty[id] = total > 0 ? x->empty_expected[id] / total : 0;
		x->empty_expected[id] = 0;
	}
}

static int model1_train(struct shortlist_learner *x, struct err *e)
{
	double *room = mem_alloc((size_t)MAX(shard_longest(x->shard), 1), sizeof(*room), e);

	for (int32_t id = 0; room && id < x->vocabulary; id++)
		x->empty[id] = 1 / (double)x->vocabulary;
	for (int32_t r = 0; room && r < x->options->rounds; r++) {
		for (int64_t i = 0; i < x->pairs; i++) {
			read_pair(x, i);
			model1_expectation(x, room);
		}
		model1_maximization(x);
	}
	free(room);
	return room ? 0 : e->code;
}

/* ---- selecting tokens ------------------------------------------------------ */

static int compare_token_ids(const void *a, const void *b)
{
	const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return x < y ? -1 : x > y;
}

/* Write the best tokens of a list to out, in rising order. Returns their number. */
static int32_t select_best_targets(struct shortlist_learner *x, int32_t id, int32_t *out)
{
	struct scored_token *list = x->entries + (int64_t)id * CANDIDATES;
	const int32_t most = MIN(x->options->each, SHORTLIST_MAX_EACH);
	int32_t n = 0;

	if (id < N_SPECIAL_TOKENS)
		return 0;
	qsort(list, (size_t)x->n_entries[id], sizeof(*list), compare_scores_falling);
	if (x->is_joint)
		out[n++] = id;
	for (int32_t c = 0; c < x->n_entries[id] && n < most && list[c].score >= LEAST; c++)
		if (!x->is_joint || list[c].id != id)
			out[n++] = list[c].id;
	qsort(out, (size_t)n, sizeof(*out), compare_token_ids);
	return n;
}

/*
 * Write the target tokens that occur in most pairs to out, in rising order. Returns their number.
 */
static int32_t select_frequent_targets(struct shortlist_learner *x, int32_t *out)
{
	struct scored_token *all = x->entries; /* no longer needed; room for vocabulary entries */
	int32_t n = 0, kept;

	for (int32_t id = N_SPECIAL_TOKENS; id < x->vocabulary; id++)
		if (x->in_target[id] > 0)
			all[n++] = (struct scored_token){ id, (float)x->in_target[id] };
	qsort(all, (size_t)n, sizeof(*all), compare_scores_falling);
	kept = MIN(n, x->options->frequent);
	for (int32_t i = 0; i < kept; i++)
		out[i] = all[i].id;
	qsort(out, (size_t)kept, sizeof(*out), compare_token_ids);
	return kept;
}

static int learner_write_lists(struct shortlist_learner *x, const char *path, struct err *e)
{
	const size_t each = (size_t)MIN(x->options->each, CANDIDATES + 1),
		     v = (size_t)x->vocabulary;
	int32_t *lists = mem_alloc(v, each * sizeof(*lists), e);
	int32_t *start = lists ? mem_alloc(v + 1, sizeof(*start), e) : NULL;
	int32_t *frequent = start ? mem_alloc(v, sizeof(*frequent), e) : NULL;
	int rc = frequent ? 0 : e->code;

	for (int32_t id = 0; !rc && id < x->sources; id++)
		start[id + 1] = start[id] + select_best_targets(x, id, lists + start[id]);
	if (!rc)
		rc = shortlist_write(
			path,
			&(struct shortlist_parts){
				.vocabulary = shard_vocabulary(x->shard),
				.own_source_vocabulary = shard_own_source_vocabulary(x->shard),
				.vocabulary_id = shard_vocabulary_id(x->shard),
				.frequent = frequent,
				.n_frequent = select_frequent_targets(x, frequent),
				.start = start,
				.lists = lists },
			e);
	free(lists);
	free(start);
	free(frequent);
	return rc;
}

/* ---- all of it --------------------------------------------------------- */

static int learner_alloc(struct shortlist_learner *x, struct err *e)
{
	const size_t v = (size_t)x->vocabulary, longest = (size_t)MAX(shard_longest(x->shard), 1);
	struct {
		void *at;
		size_t n, size;
	} blocks[] = {
		/* clang-format off */
		{ &x->source, longest, sizeof(int32_t) }, { &x->target, longest, sizeof(int32_t) },
		{ &x->times, longest, sizeof(int32_t) }, { &x->seen, v, sizeof(int64_t) },
		{ &x->slot, v, sizeof(int32_t) }, { &x->in_source, v, sizeof(int32_t) },
		{ &x->in_target, v, sizeof(int32_t) }, { &x->counts, v, sizeof(int32_t) },
		{ &x->touched, v, sizeof(int32_t) }, { &x->n_entries, v, sizeof(int32_t) },
		{ &x->first, v + 1, sizeof(int64_t) }, { &x->empty, v, sizeof(double) },
		{ &x->empty_expected, v, sizeof(double) },
		{ &x->expected, v, CANDIDATES * sizeof(float) },
		{ &x->entries, v, CANDIDATES * sizeof(struct scored_token) },
		/* clang-format on */
	};

	for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
		void *p = mem_alloc(blocks[i].n, blocks[i].size, e);

		if (!p)
			return e->code;
		memcpy(blocks[i].at, &p, sizeof(p));
	}
	return 0;
}

static void learner_free(struct shortlist_learner *x)
{
	free(x->source);
	free(x->target);
	free(x->times);
	free(x->seen);
	free(x->slot);
	free(x->in_source);
	free(x->in_target);
	free(x->counts);
	free(x->touched);
	free(x->n_entries);
	free(x->first);
	free(x->where);
	free(x->empty);
	free(x->empty_expected);
	free(x->expected);
	free(x->entries);
}

int shortlist_learn(const struct shard *s, const struct shortlist_options *options,
		    const char *path, struct err *e)
{
	const int32_t own = shard_own_source_vocabulary(s), targets = shard_vocabulary(s);
	struct shortlist_learner x = { .shard = s,
				       .options = options,
				       .vocabulary = MAX(own, targets),
				       .sources = own ? own : targets,
				       .is_joint = !own };
	int rc;

	x.pairs = MIN(MIN(options->pairs, shard_pairs(s)), INT32_MAX - 2);
	rc = learner_alloc(&x, e);
	if (!rc) {
		count_tokens(&x);
		rc = find_pairs(&x, e);
	}
	for (int32_t id = N_SPECIAL_TOKENS; !rc && id < x.sources; id++)
		choose_candidates(&x, id);
	if (!rc)
		rc = model1_train(&x, e);
	if (!rc)
		rc = learner_write_lists(&x, path, e);
	learner_free(&x);
	return rc;
}
