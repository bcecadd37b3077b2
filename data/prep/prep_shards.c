/* prep_shards.c - stage "pack": token ids into shards; the training pairs shuffled */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/pipeline.h"
#include "data/prep/parallel.h"
#include "data/prep/prep_pairs.h"
#include "data/prep/word_ids.h"
#include "data/shard/shard.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/number_format.h"

/* The ids of a sentence. */
struct sentence_ids {
	int32_t *at; /* owned */
	size_t n, cap;
};

#define NEAR 3

/* The first ids of a word inline (16 bytes): a lookup costs one cache miss instead of two. */
struct near_word {
	uint32_t n;	   /* number of ids */
	int32_t ids[NEAR]; /* the first of them */
};

struct shard_packer {
	struct prep *p;
	struct pipeline *tools;	     /* owned */
	int32_t largest;	     /* entries of the larger vocabulary */
	struct shard_writer *writer; /* owned; NULL: no shard is open */
	int set;		     /* index of the set of the open shard */
	struct sentence_ids source, target;
	/* for train only: of each subword model, the target's last */
	struct packed_words {
		struct word_ids words;
		struct near_word *near; /* owned: (words.n_words) */
	} sides[N_SIDES];
	struct shuffle order;
	struct external_shuffle *external_shuffle; /* owned */
};

static int64_t count_unknown(const int32_t *ids, int32_t n)
{
	int64_t unknown = 0;

	for (int32_t i = 0; i < n; i++)
		unknown += ids[i] == TOKEN_UNKNOWN;
	return unknown;
}

static int pack_append_pair(void *context, const int32_t *source, int32_t n_source,
			    const int32_t *target, int32_t n_target, struct err *e)
{
	struct shard_packer *s = context;
	struct prep_numbers *n = &s->p->numbers;

	assert(s->writer && s->set >= 0 && s->set < s->p->texts.n_sets);
	n->pairs[s->set]++;
	n->source_tokens[s->set] += n_source;
	n->target_tokens[s->set] += n_target;
	n->unknown_tokens[s->set] += count_unknown(source, n_source);
	n->unknown_tokens[s->set] += count_unknown(target, n_target);
	return shard_append(s->writer, source, n_source, target, n_target, e);
}

static int begin_shard(struct shard_packer *s, int set, struct err *e)
{
	struct prep_numbers *n = &s->p->numbers;
	const char *path = prep_path(s->p, e, "%s.shard", s->p->texts.sets[set]);

	s->set = set;
	n->pairs[set] = n->source_tokens[set] = n->target_tokens[set] = n->unknown_tokens[set] = 0;
	s->writer = path ? shard_create_sides(path, pipeline_vocabs(s->tools), e) : NULL;
	return s->writer ? 0 : e->code;
}

/* Finish the shard. A set without pairs gets none, and an old one is removed. */
static int end_shard(struct shard_packer *s, const char *set, bool is_empty, struct err *e)
{
	struct shard_writer *w = s->writer;

	s->writer = NULL;
	if (!is_empty)
		return shard_finish(w, e);
	shard_cancel(w);
	return prep_remove_file(s->p, e, "%s.shard", set);
}

/* ---- train: word numbers to ids, then the external shuffle ---- */

static int make_near_words(struct packed_words *s, struct err *e)
{
	const struct word_ids *w = &s->words;

	s->near = mem_alloc((size_t)w->n_words, sizeof(*s->near), e);
	for (int32_t i = 0; s->near && i < w->n_words; i++) {
		struct near_word *near = &s->near[i];

		near->n = w->start[i + 1] - w->start[i];
		for (uint32_t m = 0; m < MIN(near->n, NEAR); m++)
			near->ids[m] = w->ids[w->start[i] + m];
	}
	return s->near ? 0 : e->code;
}

/* first: the token that begins the sentence; TOKEN_PAD: none. */
static int append_word_ids(const struct packed_words *s, int32_t first, struct sentence_ids *to,
			   const int32_t *words, int32_t n, struct err *e)
{
	size_t at = 0;

	if (first != TOKEN_PAD) {
		if (mem_grow(&to->at, &to->cap, 1, sizeof(*to->at), e))
			return e->code;
		to->at[at++] = first;
	}
	for (int32_t i = 0; i < n; i++) {
		const struct near_word *near = &s->near[words[i]];

		if (at + near->n + NEAR > to->cap &&
		    mem_grow(&to->at, &to->cap, at + near->n + NEAR, sizeof(*to->at), e))
			return e->code;
		/* copy always NEAR ids, which needs no branch; the next word overwrites the rest */
		memcpy(to->at + at, near->ids, sizeof(near->ids));
		if (near->n > NEAR)
			memcpy(to->at + at + NEAR, s->words.ids + s->words.start[words[i]] + NEAR,
			       (near->n - NEAR) * sizeof(*to->at));
		at += near->n;
	}
	to->n = at;
	if (at > INT32_MAX)
		return err_set(e, ERR_DATA, "a sentence has more than %d tokens", INT32_MAX);
	return 0;
}

static int pack_shuffle_pair(void *context, const struct pair_words *pair, struct err *e)
{
	struct shard_packer *s = context;

	const int last = text_subword_models(s->p->c) - 1;

	if (append_word_ids(&s->sides[0], pipeline_first_token(s->tools, SIDE_SOURCE), &s->source,
			    pair->source, pair->n_source, e) ||
	    append_word_ids(&s->sides[last], pipeline_first_token(s->tools, SIDE_TARGET),
			    &s->target, pair->target, pair->n_target, e))
		return e->code;
	return external_shuffle_put(s->external_shuffle, shuffle_inverse_at(&s->order, pair->kept),
				    s->source.at, (int32_t)s->source.n, s->target.at,
				    (int32_t)s->target.n, e);
}

/* Approximate bytes of the ids of all pairs: a word number takes about two bytes, like an id. */
static int64_t expected_bytes(struct prep *p, struct err *e)
{
	int64_t sum = 0;

	for (size_t i = 0; i < p->texts.n_train; i++) {
		const char *path = prep_path(p, e, "work/side-%d.source", (int)i);

		sum += path ? MAX(file_size(path), 0) : 0;
		path = prep_path(p, e, "work/side-%d.target", (int)i);
		sum += path ? MAX(file_size(path), 0) : 0;
	}
	return MAX(p->numbers.vocabulary, p->numbers.source_vocabulary) > 65536 ? 2 * sum : sum;
}

static int pack_shuffle_pairs(struct shard_packer *s, struct err *e)
{
	struct prep *p = s->p;
	struct buf verdicts = { 0 };
	struct external_shuffle_options o = { .limit = s->largest,
					      .expected_bytes = expected_bytes(p, e) };
	int rc;

	s->external_shuffle = prep_open_shuffle(p, &o, &verdicts, &s->order, e);
	rc = s->external_shuffle ? prep_each_pair(p, &verdicts, s->sides[0].words.n_words,
						  pack_shuffle_pair, s, e)
				 : e->code;
	buf_free(&verdicts);
	return rc;
}

static int load_packed_words(struct shard_packer *s, int side, struct err *e)
{
	const char *path = prep_path(s->p, e, "work/%s", prep_ids_name(s->p, side));
	const struct vocab *v = pipeline_vocab(s->tools, (enum pipeline_side)side);
	struct packed_words *x = &s->sides[side];
	int rc = path ? word_ids_load(&x->words, path, vocab_size(v), e) : e->code;

	if (!rc && x->words.n_words != s->sides[0].words.n_words)
		rc = err_set(e, ERR_DATA,
			     "%s: %d words instead of %d: prepare the corpus again with --force",
			     path, x->words.n_words, s->sides[0].words.n_words);
	return rc ? rc : make_near_words(x, e);
}

static int pack_train(struct shard_packer *s, struct err *e)
{
	int rc = 0;

	for (int side = 0; !rc && side < text_subword_models(s->p->c); side++)
		rc = load_packed_words(s, side, e);
	if (!rc)
		rc = pack_shuffle_pairs(s, e);
	for (int side = 0; side < N_SIDES; side++) {
		word_ids_free(&s->sides[side].words);
		free(s->sides[side].near);
		s->sides[side].near = NULL;
	}
	if (!rc)
		rc = begin_shard(s, 0, e);
	if (!rc)
		rc = external_shuffle_run(s->external_shuffle, pack_append_pair, s, e);
	external_shuffle_free(s->external_shuffle);
	s->external_shuffle = NULL;
	return rc ? rc : end_shard(s, "train", false, e);
}

/* ---- dev and test: raw text, not shuffled ---- */

static int pack_held_out_pair(void *context, const struct parallel_reader *in, struct err *e)
{
	struct shard_packer *s = context;

	s->source.n = s->target.n = 0;
	if (pipeline_encode(s->tools, SIDE_SOURCE, in->source.text, in->source.len, &s->source.at,
			    &s->source.n, &s->source.cap, e) ||
	    pipeline_encode(s->tools, SIDE_TARGET, in->target.text, in->target.len, &s->target.at,
			    &s->target.n, &s->target.cap, e))
		return e->code;
	if (MAX(s->source.n, s->target.n) > INT32_MAX)
		return err_set(e, ERR_DATA, "a line of %s has more than %d tokens",
			       s->p->texts.sets[s->set], INT32_MAX);
	return pack_append_pair(s, s->source.at, (int32_t)s->source.n, s->target.at,
				(int32_t)s->target.n, e);
}

static int pack_held_out(struct shard_packer *s, const char *set, struct err *e)
{
	struct prep *p = s->p;
	int number = texts_find_set(&p->texts, set), rc;

	if (number < 0)
		return end_shard(s, set, true, e);
	rc = begin_shard(s, number, e);
	if (!rc)
		rc = parallel_each_pair(p->folder, set, p->c->source_language,
					p->c->target_language, pack_held_out_pair, s, e);
	return rc ? rc : end_shard(s, set, p->numbers.pairs[number] == 0, e);
}

int prep_pack_shards(struct prep *p, struct err *e)
{
	struct shard_packer s = { .p = p };
	int rc;

	progress_begin(&p->progress, "pack", p->numbers.read, "pairs");
	s.tools = pipeline_open(p->folder, p->c, e);
	rc = s.tools ? 0 : e->code;
	if (!rc) {
		const struct vocabs *v = pipeline_vocabs(s.tools);

		s.largest = MAX(vocab_size(v->source), vocab_size(v->target));
		p->numbers.vocabulary = vocab_size(v->target);
		p->numbers.source_vocabulary = vocabs_own_source(v);
	}
	if (!rc)
		rc = pack_train(&s, e);
	if (!rc)
		rc = pack_held_out(&s, "dev", e);
	if (!rc)
		rc = pack_held_out(&s, "test", e);
	if (!rc)
		progress_end(&p->progress, "%s source and %s target tokens",
			     COUNT_TEXT(p->numbers.source_tokens[0]),
			     COUNT_TEXT(p->numbers.target_tokens[0]));
	shard_cancel(s.writer);
	pipeline_close(s.tools);
	free(s.source.at);
	free(s.target.at);
	return rc;
}
