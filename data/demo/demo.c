/* demo.c - see demo.h */
#include "data/demo/demo.h"

#include <stdlib.h>

#include "data/demo/demo_grammar.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/mem.h"

#define DEFAULT_PAIRS 24000
#define TRIES	      20000 /* in vain, before the grammar counts as exhausted */

/* Sentences seen, as 64-bit hashes in an open table; 0 is a free place. */
struct seen {
	uint64_t *at;
	size_t n, cap; /* cap is a power of two */
};

struct demo {
	struct demo_lexicon lexicon;
	struct demo_patterns patterns;
	struct demo_rng rng;
	struct seen seen;
};

static bool seen_find(const struct seen *s, uint64_t key, size_t *place)
{
	size_t i = (size_t)key & (s->cap - 1);

	while (s->at[i] && s->at[i] != key)
		i = (i + 1) & (s->cap - 1);
	*place = i;
	return s->at[i] == key;
}

/* Room for two more at half load. */
static int seen_reserve(struct seen *s, struct err *e)
{
	struct seen bigger = { .n = s->n, .cap = s->cap ? s->cap * 2 : 1024 };
	size_t i, place;

	if (s->cap && (s->n + 2) * 2 <= s->cap)
		return 0;
	bigger.at = mem_alloc(bigger.cap, sizeof(*bigger.at), e);
	if (!bigger.at)
		return e->code;
	for (i = 0; i < s->cap; i++)
		if (s->at[i] && !seen_find(&bigger, s->at[i], &place))
			bigger.at[place] = s->at[i];
	free(s->at);
	*s = bigger;
	return 0;
}

static void seen_add(struct seen *s, uint64_t key)
{
	size_t place;

	if (!seen_find(s, key, &place)) {
		s->at[place] = key;
		s->n++;
	}
}

/* The two languages must not meet in the table; 0 is not a key. */
static uint64_t sentence_key(const struct buf *b, uint64_t side)
{
	uint64_t h = hash_bytes(b->data, b->len) * 2 + side;

	return h ? h : 2 + side;
}

struct demo *demo_open(uint64_t seed, struct err *e)
{
	struct demo *d = mem_alloc(1, sizeof(*d), e);

	if (!d)
		return NULL;
	d->rng.key = rng_key_make(seed, RNG_DEMO, 0, 0);
	if (demo_lexicon_read(&d->lexicon, e) || demo_patterns_read(&d->patterns, &d->lexicon, e)) {
		demo_close(d);
		return NULL;
	}
	return d;
}

int demo_next(struct demo *d, struct buf *english, struct buf *german, struct err *e)
{
	uint64_t en, de;
	size_t place;
	int tries;

	if (seen_reserve(&d->seen, e))
		return e->code;
	for (tries = 0; tries < TRIES; tries++) {
		if (!demo_sentence(&d->lexicon, &d->patterns, &d->rng, english, german))
			continue;
		if (buf_check(english, e) || buf_check(german, e))
			return e->code;
		en = sentence_key(english, 0);
		de = sentence_key(german, 1);
		if (seen_find(&d->seen, en, &place) || seen_find(&d->seen, de, &place))
			continue;
		seen_add(&d->seen, en);
		seen_add(&d->seen, de);
		return 0;
	}
	return err_set(e, ERR_CONFIG,
		       "the built-in grammar has no new sentence left after %zu pairs: ask for "
		       "fewer with --demo-pairs",
		       d->seen.n / 2);
}

void demo_close(struct demo *d)
{
	if (!d)
		return;
	demo_lexicon_free(&d->lexicon);
	demo_patterns_free(&d->patterns);
	free(d->seen.at);
	free(d);
}

int demo_corpus_run(const struct conf *c, struct err *e)
{
	int64_t pairs = c->demo_pairs ? c->demo_pairs : DEFAULT_PAIRS, i;
	struct outfile source = { 0 }, target = { 0 };
	struct buf english = { 0 }, german = { 0 };
	struct demo *d = NULL;
	int rc = -1;

	if (c->n_arguments != 2)
		return err_set(e, ERR_USAGE,
			       "demo-corpus needs two arguments: OUT-SOURCE and OUT-TARGET");
	d = demo_open((uint64_t)c->seed, e);
	if (!d || outfile_open(&source, c->arguments[0], e) ||
	    outfile_open(&target, c->arguments[1], e))
		goto out;
	for (i = 0; i < pairs; i++) {
		if (demo_next(d, &english, &german, e))
			goto out;
		fprintf(source.stream, "%s\n", buf_text(&english));
		fprintf(target.stream, "%s\n", buf_text(&german));
	}
	rc = outfile_commit(&source, e);
	if (!rc)
		rc = outfile_commit(&target, e);
out:
	outfile_abandon(&source);
	outfile_abandon(&target);
	buf_free(&english);
	buf_free(&german);
	demo_close(d);
	return rc ? e->code : 0;
}
