/*
 * prep_pairs.c - iterate over the kept training pairs as words (see prep_pairs.h)
 *
 * A pipeline (flow.h) over blocks of BLOCK pairs: pairs_read_source() makes blocks from the source
 * columns, pairs_read_target() adds the target columns, pairs_emit_block() calls the visitor.
 */
#include "data/prep/prep_pairs.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "data/prep/token_column.h"
#include "share/base/file.h"
#include "share/base/flow.h"
#include "share/base/mem.h"
#include "share/base/rng.h"

#define BLOCK 1024 /* pairs */
#define SLOTS 4

/* One side of the pairs of a block; dropped pairs have no words. */
struct pair_block_column {
	int32_t *words;		/* owned: concatenated sentences */
	size_t cap, end[BLOCK]; /* end of each sentence in words */
};

struct pair_block {
	int64_t first; /* number of its first pair */
	size_t text;   /* index of its text */
	int64_t lines; /* pairs of that text */
	int32_t n;     /* pairs of the block, at most BLOCK */
	struct pair_block_column source, target;
};

/* One side of all texts, read sequentially. */
struct column_stream {
	const char *side;		    /* "source" or "target": end of the file name */
	struct token_column_reader *reader; /* owned; NULL: no text is open */
	size_t next_text;		    /* index of the text after the open one */
	int64_t lines;			    /* lines of the open text */
	int64_t at;			    /* lines read of the open text */
};

struct pair_stream {
	struct prep *p;
	const struct buf *verdicts;
	int32_t n_words;
	pair_visitor visit;
	void *context;
	struct column_stream source, target;
	int64_t made; /* pairs in blocks so far */
	int64_t kept; /* pairs visited so far */
	struct pair_block slots[SLOTS];
};

/* Uses file_path() because prep_path() has one buffer for all threads. */
static int pairs_open_next_text(struct pair_stream *q, struct column_stream *s, struct err *e)
{
	char *path = file_path(e, "%s/side-%d.%s", q->p->work, (int)s->next_text, s->side);

	token_column_close(s->reader);
	s->reader = path ? token_column_open(path, q->n_words, e) : NULL;
	free(path);
	if (!s->reader)
		return e->code;
	s->lines = token_column_lines(s->reader);
	s->next_text++;
	s->at = 0;
	return 0;
}

/* Read the next n lines, with this word in front (-1: none), which belong to pairs first ... first + n - 1. */
static int pairs_read_lines(struct pair_stream *q, struct column_stream *s,
			    struct pair_block_column *to, int64_t first, int32_t n, int32_t tag,
			    struct err *e)
{
	size_t words = 0;
	struct token_column_line line;
	int got;

	assert(n <= BLOCK && (size_t)(first + n) <= q->verdicts->len);
	for (int32_t i = 0; i < n; i++) {
		if ((got = token_column_next(s->reader, &line, e)) <= 0)
			return got ? got
				   : err_set(e, ERR_DATA,
					     "%s/side-%d.%s: ends too early; prepare the corpus "
					     "again with --force",
					     q->p->work, (int)s->next_text - 1, s->side);
		if (q->verdicts->data[first + i] == CLEAN_KEEP && (line.n || tag >= 0)) {
			if (mem_grow(&to->words, &to->cap, words + line.n + 1, sizeof(*to->words),
				     e))
				return e->code;
			if (tag >= 0)
				to->words[words++] = tag;
			memcpy(to->words + words, line.words, line.n * sizeof(*to->words));
			words += line.n;
		}
		to->end[i] = words;
	}
	s->at += n;
	return 0;
}

static int pairs_count_error(const struct pair_stream *q, struct err *e)
{
	return err_set(
		e, ERR_DATA,
		"%s: verdicts and side-* belong to different texts; prepare the corpus again "
		"with --force",
		q->p->work);
}

static int pairs_read_source(void *context, void *slot, struct err *e)
{
	struct pair_stream *q = context;
	struct column_stream *s = &q->source;
	struct pair_block *b = slot;

	while (s->at == s->lines) {
		if (s->next_text == q->p->texts.n_train)
			return (size_t)q->made == q->verdicts->len ? 0 : pairs_count_error(q, e);
		if (pairs_open_next_text(q, s, e))
			return e->code;
	}
	b->first = q->made;
	b->text = s->next_text - 1;
	b->lines = s->lines;
	b->n = (int32_t)MIN(BLOCK, s->lines - s->at);
	if ((size_t)(b->first + b->n) > q->verdicts->len)
		return pairs_count_error(q, e);
	q->made += b->n;
	return pairs_read_lines(q, s, &b->source, b->first, b->n, prep_tag_word(q->p, b->text), e)
		       ? e->code
		       : 1;
}

/* There is one worker only, so it gets the blocks in order. */
static int pairs_read_target(void *context, int worker, void *slot, struct err *e)
{
	struct pair_stream *q = context;
	struct column_stream *s = &q->target;
	struct pair_block *b = slot;

	(void)worker;
	while (s->next_text <= b->text) {
		if (pairs_open_next_text(q, s, e))
			return e->code;
		if (s->next_text - 1 == b->text && s->lines != b->lines)
			return err_set(e, ERR_DATA,
				       "%s/side-%d: %" PRId64 " source and %" PRId64
				       " target lines; prepare the corpus again with --force",
				       q->p->work, (int)b->text, b->lines, s->lines);
	}
	return pairs_read_lines(q, s, &b->target, b->first, b->n, -1, e);
}

static int pairs_emit_block(void *context, void *slot, struct err *e)
{
	struct pair_stream *q = context;
	const struct pair_block *b = slot;
	size_t source = 0, target = 0;

	for (int32_t i = 0; i < b->n; i++) {
		struct pair_words pair = {
			b->first + i,
			q->kept,
			b->source.words + source,
			b->target.words + target,
			(int32_t)(b->source.end[i] - source),
			(int32_t)(b->target.end[i] - target),
		};

		source = b->source.end[i];
		target = b->target.end[i];
		if (q->verdicts->data[pair.number] != CLEAN_KEEP)
			continue;
		q->kept++;
		if (q->visit(q->context, &pair, e))
			return e->code;
	}
	progress_at(&q->p->progress, b->first + b->n);
	return 0;
}

static bool has_tags(const struct prep *p)
{
	for (size_t i = 0; i < p->texts.n_train; i++)
		if (p->texts.pairs[i].source.tag)
			return true;
	return false;
}

int prep_each_pair(struct prep *p, const struct buf *verdicts, int32_t n_words, pair_visitor visit,
		   void *context, struct err *e)
{
	struct pair_stream *q = mem_alloc(1, sizeof(*q), e);
	struct flow f = { pairs_read_source,
			  pairs_read_target,
			  pairs_emit_block,
			  q,
			  NULL,
			  sizeof(struct pair_block),
			  SLOTS,
			  p->threads > 1 ? 1 : 0 };
	int rc;

	if (!q)
		return e->code;
	if (has_tags(p) && !prep_words(p, e)) {
		free(q);
		return e->code;
	}
	*q = (struct pair_stream){ .p = p,
				   .verdicts = verdicts,
				   .n_words = n_words,
				   .visit = visit,
				   .context = context,
				   .source = { .side = "source" },
				   .target = { .side = "target" } };
	f.slots = q->slots;
	rc = flow_run(&f, e);
	for (int i = 0; i < SLOTS; i++) {
		free(q->slots[i].source.words);
		free(q->slots[i].target.words);
	}
	token_column_close(q->source.reader);
	token_column_close(q->target.reader);
	free(q);
	return rc;
}

int prep_read_verdicts(struct prep *p, const char *name, struct buf *b, struct err *e)
{
	const char *path = prep_path(p, e, "work/%s", name);

	return path ? file_read_all(path, 0, b, e) : e->code;
}

int64_t prep_count_kept(const struct buf *verdicts)
{
	int64_t n = 0;

	for (size_t i = 0; i < verdicts->len; i++)
		n += verdicts->data[i] == CLEAN_KEEP;
	return n;
}

struct external_shuffle *prep_open_shuffle(struct prep *p, struct external_shuffle_options *o,
					   struct buf *final, struct shuffle *order, struct err *e)
{
	char *stem = file_path(e, "%s/bucket", p->work);
	struct external_shuffle *s = NULL;

	if (stem && !prep_read_verdicts(p, "verdicts.final", final, e)) {
		o->stem = stem;
		o->n_pairs = prep_count_kept(final);
		o->threads = p->threads;
		*order = shuffle_make(
			o->n_pairs, rng_key_make((uint64_t)p->c->seed, RNG_SHUFFLE, UINT32_MAX, 0));
		s = external_shuffle_new(o, e);
	}
	free(stem);
	return s;
}

/* No corpus has 2^40 words; a damaged file may, and then sums of its counts would overflow. */
static bool are_counts_possible(const int64_t *counts, size_t n)
{
	int64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (counts[i] < 0 || counts[i] > INT64_C(1) << 40)
			return false;
		sum += counts[i];
		if (sum > INT64_C(1) << 40)
			return false;
	}
	return true;
}

size_t prep_counts(const struct prep *p, int32_t n_words)
{
	return (size_t)text_subword_models(p->c) * (size_t)n_words;
}

int64_t *prep_read_counts(struct prep *p, int32_t n_words, struct err *e)
{
	const char *path = prep_path(p, e, "work/counts");
	const size_t n = prep_counts(p, n_words);
	struct buf text = { 0 };
	int64_t *counts = NULL;
	int rc = path ? file_read_all(path, 0, &text, e) : e->code;

	if (!rc && text.len != n * sizeof(*counts))
		rc = err_set(e, ERR_DATA,
			     "%s: %zu bytes, but the counts of %d words are expected; prepare the "
			     "corpus again with --force",
			     path, text.len, n_words);
	if (!rc && (counts = mem_alloc(n, sizeof(*counts), e)) != NULL && text.len)
		memcpy(counts, text.data, text.len);
	buf_free(&text);
	if (counts && !are_counts_possible(counts, n)) {
		err_set(e, ERR_DATA,
			"%s: impossible counts of words; prepare the corpus again with --force",
			path);
		free(counts);
		return NULL;
	}
	return counts;
}
