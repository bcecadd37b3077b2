/* tag_mix.c - see tag_mix.h */
#include "data/shard/tag_mix.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "data/shard/shuffle.h"
#include "share/base/mem.h"
#include "share/base/util.h"

/* The tag is one of the first tokens of a source: SentencePiece may begin with a blank. */
#define TAG_PLACES 2

enum { SHUFFLE_TAG = RNG_SHUFFLE | 3 << 8 };

struct tag_mix {
	uint64_t seed;
	struct tag_mix_group *groups; /* owned: (n) */
	int64_t *first_pair;	      /* owned: (n) where the pairs of a group begin in pairs */
	int32_t n;
	uint32_t *pairs; /* owned: all pairs, by group */
	int64_t n_pairs;
};

/* Number of the tag of a source; n_tags: none. */
static int32_t find_group(const struct tag_mix_options *o, const int32_t *source, int32_t n)
{
	for (int32_t i = 0; i < MIN(n, TAG_PLACES); i++)
		for (int32_t k = 0; k < o->n_tags; k++)
			if (source[i] == o->tags[k])
				return k;
	return o->n_tags;
}

/* Fill of_pair (pairs of the shard) and count the groups, of which m has n_tags + 1. */
static int find_groups(struct tag_mix *m, const struct shard *s, const struct tag_mix_options *o,
		       uint16_t *of_pair, struct err *e)
{
	const size_t longest = (size_t)shard_longest(s) + 1;
	int32_t *source = mem_alloc(longest, 2 * sizeof(*source), e);

	for (int64_t i = 0; source && i < m->n_pairs; i++) {
		int32_t n_source, n_target, k;

		shard_lengths(s, i, &n_source, &n_target);
		shard_read(s, i, source, source + longest);
		k = find_group(o, source, n_source);
		of_pair[i] = (uint16_t)k;
		m->groups[k].pairs++;
		m->groups[k].target_tokens += n_target + 1;
	}
	free(source);
	return source ? 0 : e->code;
}

/* List the pairs by group. */
static void list_pairs(struct tag_mix *m, const uint16_t *of_pair)
{
	int64_t at = 0;

	for (int32_t k = 0; k < m->n; k++) {
		m->first_pair[k] = at;
		at += m->groups[k].pairs;
	}
	for (int64_t i = 0; i < m->n_pairs; i++)
		m->pairs[m->first_pair[of_pair[i]]++] = (uint32_t)i;
	for (int32_t k = 0; k < m->n; k++)
		m->first_pair[k] -= m->groups[k].pairs;
}

/* Remove groups without pairs. */
static void drop_empty_groups(struct tag_mix *m)
{
	int32_t n = 0;

	for (int32_t k = 0; k < m->n; k++)
		if (m->groups[k].pairs) {
			m->first_pair[n] = m->first_pair[k];
			m->groups[n++] = m->groups[k];
		}
	m->n = n;
}

/* Divide the draws of an epoch: whole parts first, the rest to the largest fractions; each group gets one at least. */
static void share_draws(struct tag_mix *m, double temperature)
{
	int64_t left = m->n_pairs;
	double sum = 0;

	for (int32_t k = 0; k < m->n; k++)
		sum += pow((double)m->groups[k].pairs, 1 / temperature);
	for (int32_t k = 0; k < m->n; k++) {
		struct tag_mix_group *g = &m->groups[k];

		g->draws = MAX((int64_t)((double)m->n_pairs *
					 pow((double)g->pairs, 1 / temperature) / sum),
			       1);
		left -= g->draws;
	}
	while (left != 0) {
		const int step = left > 0 ? 1 : -1;
		double most = -INFINITY;
		int32_t best = -1;

		for (int32_t k = 0; k < m->n; k++) {
			const struct tag_mix_group *g = &m->groups[k];
			const double short_of =
				step *
				((double)m->n_pairs * pow((double)g->pairs, 1 / temperature) / sum -
				 (double)g->draws);

			if (g->draws + step >= 1 && short_of > most) {
				most = short_of;
				best = k;
			}
		}
		assert(best >= 0); /* there are at least as many pairs as groups */
		m->groups[best].draws += step;
		left -= step;
	}
}

static int fill_mix(struct tag_mix *m, const struct shard *s, const struct tag_mix_options *o,
		    struct err *e)
{
	uint16_t *of_pair = mem_alloc((size_t)m->n_pairs, sizeof(*of_pair), e);
	int rc = of_pair ? find_groups(m, s, o, of_pair, e) : e->code;

	if (!rc)
		list_pairs(m, of_pair);
	free(of_pair);
	drop_empty_groups(m);
	if (!rc && m->n < 2)
		rc = err_set(e, ERR_CONFIG,
			     "pair_temperature changes the shares of tags, but all training pairs "
			     "have %s: prepare the corpus with train_tags, or leave "
			     "pair_temperature out",
			     m->n && m->groups[0].tag >= 0 ? "the same tag" : "no tag");
	if (!rc)
		share_draws(m, o->temperature);
	return rc;
}

struct tag_mix *tag_mix_new(const struct shard *s, const struct tag_mix_options *o, uint64_t seed,
			    struct err *e)
{
	struct tag_mix *m = mem_alloc(1, sizeof(*m), e);
	const size_t n = (size_t)o->n_tags + 1;

	if (!m)
		return NULL;
	assert(o->temperature >= 1 && o->n_tags >= 0 && o->n_tags < UINT16_MAX);
	m->seed = seed;
	m->n_pairs = shard_pairs(s);
	m->n = (int32_t)n;
	m->groups = mem_alloc(n, sizeof(*m->groups), e);
	m->first_pair = m->groups ? mem_alloc(n, sizeof(*m->first_pair), e) : NULL;
	m->pairs = m->first_pair ? mem_alloc((size_t)m->n_pairs, sizeof(*m->pairs), e) : NULL;
	for (int32_t k = 0; m->pairs && k < m->n; k++)
		m->groups[k].tag = k < o->n_tags ? o->tags[k] : -1;
	if (m->n_pairs > UINT32_MAX)
		err_set(e, ERR_CONFIG, "pair_temperature works for at most %u training pairs",
			UINT32_MAX);
	else if (m->pairs && !fill_mix(m, s, o, e))
		return m;
	tag_mix_free(m);
	return NULL;
}

void tag_mix_free(struct tag_mix *m)
{
	if (!m)
		return;
	free(m->groups);
	free(m->first_pair);
	free(m->pairs);
	free(m);
}

int64_t tag_mix_pair(const struct tag_mix *m, uint64_t epoch, int64_t i, uint32_t *pass)
{
	const struct tag_mix_group *g = m->groups;
	struct shuffle order;
	uint64_t draw;
	int64_t at;

	assert(i >= 0 && i < m->n_pairs);
	for (; i >= g->draws; g++)
		i -= g->draws;
	draw = epoch * (uint64_t)g->draws + (uint64_t)i;
	*pass = (uint32_t)(draw / (uint64_t)g->pairs);
	order = shuffle_make(g->pairs,
			     rng_key_make(m->seed, SHUFFLE_TAG, *pass, (uint32_t)(g - m->groups)));
	at = shuffle_at(&order, (int64_t)(draw % (uint64_t)g->pairs));
	return m->pairs[m->first_pair[g - m->groups] + at];
}

const struct tag_mix_group *tag_mix_groups(const struct tag_mix *m, int32_t *n)
{
	*n = m->n;
	return m->groups;
}
