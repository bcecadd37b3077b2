/* prep_words.c - pieces of each distinct word, on several threads (see prep_pairs.h) */
#include <assert.h>
#include <stdlib.h>

#include "data/pipeline/pipeline.h"
#include "data/prep/prep_pairs.h"
#include "share/base/flow.h"
#include "share/base/mem.h"

#define BLOCK 2048 /* words */

/* Some of the words to encode, and the pieces of each. */
struct word_block {
	int32_t n, words[BLOCK];
	struct buf pieces;
	size_t end[BLOCK]; /* end of the pieces of each word */
};

struct word_encoder {
	struct prep *p;
	enum pipeline_side side;
	const struct intern *words;
	const int64_t *counts;
	struct pipeline **tools; /* owned: one a worker */
	int workers;
	int32_t next; /* next word of the table */
	word_visitor visit;
	void *context;
};

static int next_word_block(void *context, void *slot, struct err *e)
{
	struct word_encoder *q = context;
	struct word_block *b = slot;

	(void)e;
	for (b->n = 0; q->next < q->words->n && b->n < BLOCK; q->next++)
		if (q->counts[q->next] > 0)
			b->words[b->n++] = q->next;
	return b->n > 0;
}

static int encode_word_block(void *context, int worker, void *slot, struct err *e)
{
	struct word_encoder *q = context;
	struct word_block *b = slot;

	buf_clear(&b->pieces);
	for (int32_t i = 0; i < b->n; i++) {
		size_t n;
		const char *word = intern_text(q->words, b->words[i], &n);

		if (pipeline_word_pieces(q->tools[worker], q->side, word, n, &b->pieces, e))
			return e->code;
		b->end[i] = b->pieces.len;
	}
	return buf_check(&b->pieces, e);
}

static int emit_word_block(void *context, void *slot, struct err *e)
{
	struct word_encoder *q = context;
	const struct word_block *b = slot;
	const char *text = buf_text(&b->pieces);

	for (int32_t i = 0, n = b->n; i < n; i++) {
		size_t start = i ? b->end[i - 1] : 0;

		assert(start <= b->end[i] && b->end[i] <= b->pieces.len);
		if (q->visit(q->context, b->words[i], text + start, b->end[i] - start, e))
			return e->code;
	}
	return 0;
}

static int open_word_pipelines(struct word_encoder *q, struct err *e)
{
	q->tools = mem_alloc((size_t)q->workers, sizeof(struct pipeline *), e);
	for (int i = 0; q->tools && i < q->workers; i++) {
		q->tools[i] = pipeline_open_pieces(q->p->folder, q->p->c, e);
		if (!q->tools[i])
			return e->code;
	}
	return q->tools ? 0 : e->code;
}

int prep_each_word(struct prep *p, enum pipeline_side side, const int64_t *counts,
		   word_visitor visit, void *context, struct err *e)
{
	int threads = p->threads > 1 ? p->threads : 0, n_slots = threads + 2;
	struct word_encoder q = { .p = p,
				  .side = side,
				  .words = prep_words(p, e),
				  .counts = counts,
				  .visit = visit,
				  .context = context,
				  .workers = MAX(threads, 1) };
	struct word_block *slots = mem_alloc((size_t)n_slots, sizeof(*slots), e);
	struct flow f = { next_word_block, encode_word_block, emit_word_block, &q,
			  slots,	   sizeof(*slots),    n_slots,	       threads };
	int rc = q.words && slots ? open_word_pipelines(&q, e) : e->code;

	if (!rc)
		rc = flow_run(&f, e);
	for (int i = 0; slots && i < n_slots; i++)
		buf_free(&slots[i].pieces);
	for (int i = 0; q.tools && i < q.workers; i++)
		pipeline_close(q.tools[i]);
	free(q.tools);
	free(slots);
	return rc;
}
