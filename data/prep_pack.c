/* prep_pack.c - see prep.h: ids into shards */
#include <stdlib.h>
#include <string.h>

#include "data/parallel.h"
#include "data/pipeline.h"
#include "data/prep_internal.h"
#include "data/shard.h"
#include "data/shuffle.h"
#include "data/vocab.h"
#include "share/base/mem.h"
#include "share/base/rng.h"

/* A sentence's ids, grown as needed. */
struct ids { int32_t *at; size_t n, cap; };

struct packing {
	struct prep *p;
	struct pipeline *tools;
	const struct vocab *vocab;
	struct ids source, target;
	char *source_path, *target_path;	/* owned: the texts at hand */
};

static int append(struct packing *k, struct shard_writer *w, struct err *e)
{
	if (k->source.n > INT32_MAX || k->target.n > INT32_MAX)
		return err_set(e, ERR_DATA, "%s: a sentence is too long", k->source_path);
	return shard_append(w, k->source.at, (int32_t)k->source.n, k->target.at,
			    (int32_t)k->target.n, e);
}

/* Raw text goes through the whole pipeline, training text is in pieces already. */
static int encode_side(struct packing *k, enum pipeline_side side, const struct parallel_text *text,
		       bool is_raw, struct err *e)
{
	struct ids *to = side == SIDE_SOURCE ? &k->source : &k->target;

	to->n = 0;
	if (is_raw)
		return pipeline_encode(k->tools, side, text->text, text->len, &to->at, &to->n,
				       &to->cap, e);
	return pipeline_pieces_to_ids(k->vocab, text->text, text->len, &to->at, &to->n, &to->cap,
				      e);
}

static int encode(struct packing *k, const struct parallel *in, bool is_raw, struct err *e)
{
	int rc = encode_side(k, SIDE_SOURCE, &in->source, is_raw, e);

	return rc ? rc : encode_side(k, SIDE_TARGET, &in->target, is_raw, e);
}

static int set_paths(struct packing *k, const char *folder, const char *stem, struct err *e)
{
	free(k->source_path);
	free(k->target_path);
	k->target_path = NULL;
	k->source_path = prep_side_path(k->p, folder, stem, false, e);
	if (k->source_path)
		k->target_path = prep_side_path(k->p, folder, stem, true, e);
	return k->target_path ? 0 : e->code;
}

/* The two texts whose paths are set, as a shard in their order. */
static int pack_texts(struct packing *k, const char *shard, bool is_raw, struct err *e)
{
	struct shard_writer *w =
		shard_create(shard, vocab_size(k->vocab), vocab_sha256(k->vocab), e);
	struct parallel in;
	int got;

	if (!w)
		return e->code;
	got = parallel_open(&in, k->source_path, k->target_path, false, e);
	if (got) {
		shard_cancel(w);
		return got;
	}
	while ((got = parallel_next(&in, e)) > 0) {
		if (encode(k, &in, is_raw, e) || append(k, w, e)) {
			got = e->code;
			break;
		}
		progress_at(&k->p->progress, in.number);
	}
	parallel_close(&in);
	if (got) {
		shard_cancel(w);
		return got;
	}
	return shard_finish(w, e);
}

/*
 * Write the pairs of one shard into another in shuffled order; the first is mapped, so memory stays
 * small.
 */
static int shuffle_shard(struct packing *k, const char *from, const char *to, struct err *e)
{
	struct shard *s = shard_open(from, e);
	struct shard_writer *w =
		s ? shard_create(to, vocab_size(k->vocab), vocab_sha256(k->vocab), e) : NULL;
	struct rng_key key = rng_key_make((uint64_t)k->p->c->seed, RNG_SHUFFLE, UINT32_MAX, 0);
	struct shuffle order;
	size_t room = s ? (size_t)shard_longest(s) : 0;
	int32_t *source = mem_alloc(room, 2 * sizeof(*source), e);
	int32_t *target = source ? source + room : NULL;
	int32_t n_source, n_target;
	int64_t i, pair;
	int rc = w && source ? 0 : e->code;

	if (w)
		order = shuffle_make(shard_pairs(s), key);
	for (i = 0; !rc && i < shard_pairs(s); i++) {
		pair = shuffle_at(&order, i);
		shard_lengths(s, pair, &n_source, &n_target);
		shard_read(s, pair, source, target);
		rc = shard_append(w, source, n_source, target, n_target, e);
	}
	free(source);
	if (!rc)
		rc = shard_finish(w, e);
	else
		shard_cancel(w);
	shard_close(s);
	return rc;
}

static int count_shard(struct prep *p, enum corpus_set set, const char *path, struct err *e)
{
	struct shard *s = shard_open(path, e);

	if (!s)
		return e->code;
	p->pairs[set] = shard_pairs(s);
	p->source_tokens[set] = shard_source_tokens(s);
	p->target_tokens[set] = shard_target_tokens(s);
	shard_close(s);
	return 0;
}

static int pack_train(struct packing *k, const char *shard, struct err *e)
{
	struct prep *p = k->p;
	char *ordered = file_path(e, "%s/train.shard", p->work);
	int rc = ordered ? set_paths(k, p->work, "train.pieces", e) : e->code;

	if (!rc)
		rc = pack_texts(k, ordered, false, e);
	if (!rc)
		rc = shuffle_shard(k, ordered, shard, e);
	free(ordered);
	return rc;
}

static int pack_set(struct packing *k, enum corpus_set set, struct err *e)
{
	struct prep *p = k->p;
	char *shard = file_path(e, "%s/%s.shard", p->folder, corpus_set_name(set));
	int rc = shard ? 0 : e->code;

	if (!rc && set == SET_TRAIN) {
		rc = pack_train(k, shard, e);
	} else if (!rc && p->held_out[set].n) {
		rc = set_paths(k, p->folder, corpus_set_name(set), e);
		if (!rc)
			rc = pack_texts(k, shard, true, e);
	} else if (!rc) {
		remove(shard);		/* of an earlier preparation */
		free(shard);
		return 0;
	}
	if (!rc)
		rc = count_shard(p, set, shard, e);
	free(shard);
	return rc;
}

int prep_pack(struct prep *p, struct err *e)
{
	struct packing k = { .p = p };
	enum corpus_set set;
	int rc;

	progress_begin(&p->progress, "pack", p->pairs[SET_TRAIN], "pairs");
	k.tools = pipeline_open(p->folder, p->c, e);
	rc = k.tools ? 0 : e->code;
	if (!rc) {
		k.vocab = pipeline_vocab(k.tools);
		p->vocabulary = vocab_size(k.vocab);
	}
	for (set = SET_TRAIN; !rc && set < N_SETS; set++)
		rc = pack_set(&k, set, e);
	if (!rc)
		progress_end(&p->progress, "%lld source and %lld target tokens",
			     (long long)p->source_tokens[SET_TRAIN],
			     (long long)p->target_tokens[SET_TRAIN]);
	pipeline_close(k.tools);
	free(k.source.at);
	free(k.target.at);
	free(k.source_path);
	free(k.target_path);
	return rc;
}
