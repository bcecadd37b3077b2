/* prep_pairs.c - see prep_pairs.h */
#include "data/prep/prep_pairs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "data/prep/token_column.h"
#include "share/base/file.h"
#include "share/base/flow.h"
#include "share/base/mem.h"

#define BLOCK 1024 /* pairs */
#define SLOTS 4

/* One side of the pairs of a block; nothing of those that are not kept. */
struct pair_block_column {
	int32_t *words;		/* owned: one sentence behind the other */
	size_t cap, end[BLOCK]; /* where each ends */
};

struct pair_block {
	int64_t first; /* number of its first pair */
	size_t text;   /* number of its text, and how many pairs that has */
	int64_t lines;
	int32_t n;
	struct pair_block_column source, target;
};

/* One side of all texts, read front to back. */
struct column_stream {
	const char *side;		    /* as in the names of files */
	struct token_column_reader *reader; /* owned; NULL: none is open */
	size_t next_text;
	int64_t lines, at; /* of the open text */
};

struct pair_stream {
	struct prep *p;
	const struct buf *verdicts;
	int32_t n_words;
	pair_visitor visit;
	void *context;
	struct column_stream source, target;
	int64_t made, kept; /* pairs */
	struct pair_block slots[SLOTS];
};

/* Not prep_path(), whose memory is one for all threads. */
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

/* The next n lines; pair `first` is their first. */
static int pairs_read_lines(struct pair_stream *q, struct column_stream *s,
			    struct pair_block_column *to, int64_t first, int32_t n, struct err *e)
{
	size_t words = 0;
	struct token_column_line line;
	int got;

	for (int32_t i = 0; i < n; i++) {
		if ((got = token_column_next(s->reader, &line, e)) <= 0)
			return got ? got
				   : err_set(e, ERR_DATA, "%s/side-%d.%s: ends too early",
					     q->p->work, (int)s->next_text - 1, s->side);
		if (q->verdicts->data[first + i] == CLEAN_KEEP && line.n) {
			if (mem_grow(&to->words, &to->cap, words + line.n, sizeof(*to->words), e))
				return e->code;
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
	return err_set(e, ERR_DATA,
		       "%s: the verdicts and the sides are not of the same texts; prepare the "
		       "corpus again with --force",
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
	return pairs_read_lines(q, s, &b->source, b->first, b->n, e) ? e->code : 1;
}

/* The only worker, so the blocks come in their order. */
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
	return pairs_read_lines(q, s, &b->target, b->first, b->n, e);
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

int64_t *prep_read_counts(struct prep *p, int32_t n_words, struct err *e)
{
	const char *path = prep_path(p, e, "work/counts");
	struct buf text = { 0 };
	int64_t *counts = NULL;
	int rc = path ? file_read_all(path, 0, &text, e) : e->code;

	if (!rc && text.len != (size_t)n_words * sizeof(*counts))
		rc = err_set(e, ERR_DATA,
			     "%s: %zu bytes are not the counts of %d words; prepare the corpus "
			     "again with --force",
			     path, text.len, n_words);
	if (!rc && (counts = mem_alloc((size_t)n_words, sizeof(*counts), e)) != NULL && text.len)
		memcpy(counts, text.data, text.len);
	buf_free(&text);
	return counts;
}
