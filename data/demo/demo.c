/* demo.c - generates distinct sentence pairs, and the command demo-corpus: see demo.h */
#include "data/demo/demo.h"

#include <stdlib.h>

#include "data/demo/demo_grammar.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/hash_index.h"
#include "share/base/mem.h"

#define DEFAULT_PAIRS 24000
#define TRIES	      20000 /* failed tries before the grammar counts as exhausted */

struct demo {
	struct demo_lexicon lexicon;
	struct demo_patterns patterns;
	struct demo_rng rng;
	struct hash_set seen; /* hashes of the sentences so far, of both languages */
};

/* A key of a sentence. The low bit is the language, so that both languages share one set. */
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
	int tries;

	if (hash_set_reserve(&d->seen, d->seen.n + 2, e))
		return e->code;
	for (tries = 0; tries < TRIES; tries++) {
		if (!demo_sentence(&d->lexicon, &d->patterns, &d->rng, english, german))
			continue;
		if (buf_check(english, e) || buf_check(german, e))
			return e->code;
		en = sentence_key(english, 0);
		de = sentence_key(german, 1);
		if (hash_set_has(&d->seen, en) || hash_set_has(&d->seen, de))
			continue;
		hash_set_add(&d->seen, en);
		hash_set_add(&d->seen, de);
		return 0;
	}
	return err_set(e, ERR_CONFIG,
		       "the built-in grammar found no new sentence after %zu pairs: ask for fewer "
		       "pairs with --demo-pairs",
		       d->seen.n / 2);
}

void demo_close(struct demo *d)
{
	if (!d)
		return;
	demo_lexicon_free(&d->lexicon);
	demo_patterns_free(&d->patterns);
	hash_set_free(&d->seen);
	free(d);
}

int demo_corpus_run(struct conf *c, struct err *e)
{
	int64_t pairs = c->demo_pairs ? c->demo_pairs : DEFAULT_PAIRS, i;
	struct outfile source = { 0 }, target = { 0 };
	struct buf english = { 0 }, german = { 0 };
	struct demo *d = NULL;
	int rc = -1;

	if (c->n_arguments != 2)
		return err_set(e, ERR_USAGE,
			       "demo-corpus expects two arguments: OUT-SOURCE and OUT-TARGET");
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
