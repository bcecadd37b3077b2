/*
 * prep_encode.c - stage "encode": pieces of each distinct word, over-long pairs, vocabulary, ids
 *
 *	word table + codes	-> pieces of each word (numbered by first appearance)
 *	pairs + max_tokens	-> work/verdicts.final; counts of words without the dropped pairs
 *	counts of pieces	-> vocab.tsv
 *	pieces of each word	-> work/ids: the numbers of pieces are replaced by ids in place
 *
 * Each side may have a subword model and a vocabulary of its own: see text_sides.h.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/pipeline.h"
#include "data/prep/prep_pairs.h"
#include "data/prep/prep_pieces.h"
#include "data/prep/word_ids.h"
#include "data/text/chars.h"
#include "data/words/vocab.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/text.h"

/* The words as one subword model splits them: of one side, or of both. */
struct encoded_words {
	int64_t *counts;     /* [n_words] in piece_encoder.counts: occurrences in the kept pairs */
	struct word_ids ids; /* pieces of each word: first their numbers, at the end their ids */
	size_t n_numbers, cap_numbers;
	uint16_t *length;      /* owned: [n_words] number of pieces, capped at 65,535 */
	struct intern *pieces; /* in piece_encoder.pieces */
};

/* Pieces are numbered by first appearance; encode_write_ids() replaces the numbers by ids. */
struct piece_encoder {
	struct prep *p;
	int32_t n_words;
	int n_models, n_vocabularies;
	int64_t *counts; /* owned: prep_read_counts() */
	struct buf verdicts;
	struct encoded_words sides[N_SIDES]; /* [n_models] */
	struct encoded_words *target;	     /* of the target: the last of them */
	struct intern pieces[N_SIDES];	     /* [n_vocabularies] */
	int64_t source_tokens, target_tokens, dropped;
};

/* ---- pieces ---- */

static int word_add_piece(struct encoded_words *q, const char *text, size_t n, struct err *e)
{
	struct word_ids *w = &q->ids;

	if (q->n_numbers == UINT32_MAX)
		return err_set(e, ERR_DATA, "the distinct words have more than %u pieces in total",
			       UINT32_MAX);
	if (mem_grow(&w->ids, &q->cap_numbers, q->n_numbers + 1, sizeof(*w->ids), e))
		return e->code;
	return intern_add(q->pieces, text, n, &w->ids[q->n_numbers++], e);
}

static int encode_add_word(void *context, int32_t word, const char *pieces, size_t n, struct err *e)
{
	struct encoded_words *q = context;
	const char *end = pieces + n, *piece;
	size_t before = q->n_numbers, n_piece;

	while ((piece = chars_next_word(&pieces, end, &n_piece)) != NULL)
		if (word_add_piece(q, piece, n_piece, e))
			return e->code;
	/* a length for now; encode_all_words() sums up, since words without a count are skipped */
	assert(word >= 0 && word < q->ids.n_words);
	q->ids.start[word + 1] = (uint32_t)(q->n_numbers - before);
	q->length[word] = (uint16_t)MIN(q->n_numbers - before, UINT16_MAX);
	return 0;
}

static int encode_all_words(struct piece_encoder *q, int side, struct err *e)
{
	struct encoded_words *x = &q->sides[side];
	struct word_ids *w = &x->ids;

	x->counts = q->counts + (size_t)side * (size_t)q->n_words;
	x->pieces = &q->pieces[side < q->n_vocabularies ? side : 0];
	w->n_words = q->n_words;
	w->start = mem_alloc((size_t)q->n_words + 1, sizeof(*w->start), e);
	x->length = w->start ? mem_alloc((size_t)q->n_words, sizeof(*x->length), e) : NULL;
	if (!x->length ||
	    prep_each_word(q->p, (enum pipeline_side)side, x->counts, encode_add_word, x, e))
		return e->code;
	for (int32_t i = 0; i < q->n_words; i++)
		w->start[i + 1] += w->start[i];
	assert(w->start[q->n_words] == x->n_numbers);
	return 0;
}

/* ---- pairs ---- */

static int64_t count_sentence_pieces(const struct encoded_words *q, const int32_t *words, int32_t n)
{
	int64_t sum = 0;

	for (int32_t i = 0; i < n; i++)
		sum += q->length[words[i]];
	return sum;
}

static void uncount_pair_words(struct encoded_words *q, const int32_t *words, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		q->counts[words[i]]--;
}

static int encode_check_pair(void *context, const struct pair_words *pair, struct err *e)
{
	struct piece_encoder *q = context;
	int64_t source = count_sentence_pieces(&q->sides[0], pair->source, pair->n_source),
		target = count_sentence_pieces(q->target, pair->target, pair->n_target);

	(void)e;
	if (MAX(source, target) <= q->p->c->max_tokens) {
		q->source_tokens += source;
		q->target_tokens += target;
		return 0;
	}
	q->verdicts.data[pair->number] = CLEAN_TOKENS;
	q->dropped++;
	uncount_pair_words(&q->sides[0], pair->source, pair->n_source);
	uncount_pair_words(q->target, pair->target, pair->n_target);
	return 0;
}

static int drop_long_pairs(struct piece_encoder *q, struct err *e)
{
	struct prep *p = q->p;
	int64_t kept = prep_count_kept(&q->verdicts);
	struct buf verdicts = { 0 }; /* copy: the visitor changes q->verdicts */
	int rc;

	buf_add(&verdicts, q->verdicts.data, q->verdicts.len);
	rc = buf_check(&verdicts, e);
	if (!rc)
		rc = prep_each_pair(p, &verdicts, q->n_words, encode_check_pair, q, e);
	buf_free(&verdicts);
	if (rc)
		return rc;
	p->numbers.dropped[CLEAN_TOKENS] = q->dropped;
	p->numbers.pairs[0] = kept - q->dropped;
	p->numbers.source_tokens[0] = q->source_tokens;
	p->numbers.target_tokens[0] = q->target_tokens;
	if (kept == q->dropped)
		return err_set(e, ERR_DATA,
			       "no training pair has at most %lld tokens a side: raise max_tokens",
			       (long long)p->c->max_tokens);
	return prep_write_buf(p, "work/verdicts.final", &q->verdicts, e);
}

/* ---- vocabulary and ids ---- */

/* Occurrences of each piece in the kept pairs: [pieces.n], owned by the caller. NULL: failure. */
static int64_t *count_pieces(const struct piece_encoder *q, const struct intern *pieces,
			     struct err *e)
{
	int64_t *times = mem_alloc((size_t)pieces->n, sizeof(*times), e);

	for (int side = 0; times && side < q->n_models; side++) {
		const struct encoded_words *x = &q->sides[side];
		const struct word_ids *w = &x->ids;

		for (int32_t i = 0; x->pieces == pieces && i < w->n_words; i++)
			for (uint32_t k = w->start[i]; k < w->start[i + 1]; k++)
				times[w->ids[k]] += x->counts[i];
	}
	return times;
}

/*
 * Each protected symbol is in the vocabulary, also if it does not occur: see pipeline_symbols(). where: in
 * the text of the vocabulary.
 */
static int count_symbols(const struct protect *p, enum protect_where where,
			 struct vocab_counter *counter, struct err *e)
{
	char piece[PROTECT_MAX_BYTES + sizeof("@@")];

	for (size_t i = 0; i < protect_count(p); i++) {
		const char *symbol = protect_symbol(p, i);

		snprintf(piece, sizeof(piece), "%s@@", symbol);
		if (vocab_count(counter, symbol, strlen(symbol), 0, e) ||
		    (where == PROTECT_ANYWHERE && vocab_count(counter, piece, strlen(piece), 0, e)))
			return e->code;
	}
	return 0;
}

/* Where BPE finds symbols in the text of vocabulary number v: anywhere, if one of its sides says so. */
static enum protect_where where_of_vocabulary(const struct piece_encoder *q, int v)
{
	const struct conf *c = q->p->c;
	const enum protect_where source = pipeline_where(c, SIDE_SOURCE),
				 target = pipeline_where(c, SIDE_TARGET);

	if (q->n_vocabularies == 1)
		return source == PROTECT_ANYWHERE ? source : target;
	return v == 0 ? source : target;
}

static int encode_write_vocab(struct piece_encoder *q, int v, const char *path, struct err *e)
{
	const struct intern *all = &q->pieces[v];
	struct pipeline *pieces = pipeline_open_pieces(q->p->folder, q->p->c, e);
	const struct intern *order =
		pieces && q->n_models == q->n_vocabularies /* a merged one has no order */
			? pipeline_piece_order(pieces, (enum pipeline_side)v)
			: NULL;
	struct vocab_counter *counter = pieces ? vocab_counter_new(e) : NULL;
	int64_t *times = counter ? count_pieces(q, all, e) : NULL;
	int rc = times ? 0 : e->code;

	for (int32_t i = 0; !rc && i < all->n; i++) {
		size_t n;
		const char *text = intern_text(all, i, &n);

		if (times[i] > 0)
			rc = vocab_count(counter, text, n, times[i], e);
	}
	if (!rc)
		rc = count_symbols(pipeline_protect(pieces), where_of_vocabulary(q, v), counter, e);
	if (!rc)
		rc = order ? vocab_write_in_order(counter, order, path, e)
			   : vocab_write(counter, path, e);
	pipeline_close(pieces);
	vocab_counter_free(counter);
	free(times);
	return rc;
}

/* In place: replace numbers of pieces by ids; words of no kept pair lose their pieces. */
static void make_ids(struct encoded_words *q, const int32_t *id_of_piece)
{
	struct word_ids *w = &q->ids;
	uint32_t to = 0, from = 0;

	for (int32_t i = 0; i < w->n_words; i++) {
		uint32_t end = w->start[i + 1];

		for (; from < end; from++)
			if (q->counts[i] > 0)
				w->ids[to++] = id_of_piece[w->ids[from]];
		w->start[i + 1] = to;
	}
}

static int encode_write_ids(struct piece_encoder *q, int side, const struct vocab *v, struct err *e)
{
	struct encoded_words *x = &q->sides[side];
	int32_t *id_of_piece = mem_alloc((size_t)x->pieces->n, sizeof(*id_of_piece), e);
	const char *path;

	for (int32_t i = 0; id_of_piece && i < x->pieces->n; i++) {
		size_t n;
		const char *text = intern_text(x->pieces, i, &n);

		id_of_piece[i] = vocab_id(v, text, n);
	}
	if (!id_of_piece)
		return e->code;
	make_ids(x, id_of_piece);
	free(id_of_piece);
	path = prep_path(q->p, e, "work/%s", prep_ids_name(q->p, side));
	return path ? word_ids_save(&x->ids, path, e) : e->code;
}

static int encode_write_vocabs(struct piece_encoder *q, struct err *e)
{
	struct prep *p = q->p;
	int rc = p->c->pieces_from ? prep_pieces_copy_vocab(p, e) : 0;

	for (int v = 0; !rc && !p->c->pieces_from && v < q->n_vocabularies; v++) {
		char *path = file_path(e, "%s/%s", p->folder, text_vocabulary_file(p->c, v));

		rc = path ? encode_write_vocab(q, v, path, e) : e->code;
		free(path);
	}
	return rc;
}

static int encode_write_all_ids(struct piece_encoder *q, struct err *e)
{
	struct prep_numbers *n = &q->p->numbers;
	struct vocabs v;
	int rc = vocabs_open(&v, q->p->folder, q->p->c, e);

	for (int side = 0; !rc && side < q->n_models; side++)
		rc = encode_write_ids(q, side, side ? v.target : v.source, e);
	if (!rc) {
		n->vocabulary = vocab_size(v.target);
		n->source_vocabulary = vocabs_own_source(&v);
	}
	vocabs_close(&v);
	return rc;
}

static void free_encoder(struct piece_encoder *q)
{
	free(q->counts);
	buf_free(&q->verdicts);
	for (int side = 0; side < N_SIDES; side++) {
		word_ids_free(&q->sides[side].ids);
		free(q->sides[side].length);
		intern_free(&q->pieces[side]);
	}
}

int prep_encode(struct prep *p, struct err *e)
{
	struct piece_encoder q = { .p = p,
				   .n_models = text_subword_models(p->c),
				   .n_vocabularies = text_vocabularies(p->c) };
	const struct intern *words = prep_words(p, e);
	int rc = words ? 0 : e->code;

	progress_begin(&p->progress, "encode", p->numbers.read, "pairs");
	q.target = &q.sides[q.n_models - 1];
	if (!rc) {
		q.n_words = words->n;
		q.counts = prep_read_counts(p, words->n, e);
		rc = q.counts ? prep_read_verdicts(p, "verdicts", &q.verdicts, e) : e->code;
	}
	for (int side = 0; !rc && side < q.n_models; side++)
		rc = encode_all_words(&q, side, e);
	if (!rc && !(rc = drop_long_pairs(&q, e)) && !(rc = encode_write_vocabs(&q, e)) &&
	    !(rc = encode_write_all_ids(&q, e)))
		progress_end(&p->progress, "%s pair%s, over-long ones dropped: %s",
			     COUNT_TEXT(p->numbers.pairs[0]), text_plural(p->numbers.pairs[0]),
			     COUNT_TEXT(q.dropped));
	free_encoder(&q);
	return rc;
}
