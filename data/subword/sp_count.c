/*
 * sp_count.c - counts words before a SentencePiece model is learned: see sp.h
 *
 * As SentencePiece does, lines above MAX_LINE bytes and lines with U+2585, which its trainer uses
 * itself, are skipped. Each distinct word is kept once, with its count, and normalised later: far
 * fewer words than the text has.
 */
#include "data/subword/sp_count.h"

#include <stdlib.h>
#include <string.h>

#include "data/subword/sp.h"
#include "share/base/line_flow.h"
#include "share/base/mem.h"

#define MAX_LINE 4192		/* bytes; longer lines are skipped */
#define RESERVED "\xE2\x96\x85" /* U+2585 */

int sp_count_text(struct sp_counts *c, const char *text, size_t n, int64_t count, struct err *e)
{
	int32_t i, known = c->texts.n;

	if (mem_grow(&c->counts, &c->cap, (size_t)known + 1, sizeof(*c->counts), e) ||
	    intern_add(&c->texts, text, n, &i, e))
		return e->code;
	if (i == known)
		c->counts[i] = 0;
	c->counts[i] += count;
	return 0;
}

void sp_counts_free(struct sp_counts *c)
{
	intern_free(&c->texts);
	free(c->counts);
	*c = (struct sp_counts){ 0 };
}

static int sp_count_line(struct sp_counts *c, const char *line, size_t n, bool *is_used,
			 struct err *e)
{
	const char *end = line + n, *stop;

	*is_used = n <= MAX_LINE && !memmem(line, n, RESERVED, strlen(RESERVED));
	for (; *is_used && line < end; line = stop + 1) {
		stop = memchr(line, ' ', (size_t)(end - line));
		if (!stop)
			stop = end;
		if (stop > line && sp_count_text(c, line, (size_t)(stop - line), 1, e))
			return e->code;
	}
	return 0;
}

struct sp_learner *sp_learner_new(struct err *e)
{
	return mem_alloc(1, sizeof(struct sp_learner), e);
}

int sp_learner_add_word(struct sp_learner *l, const char *word, size_t n, int64_t count,
			struct err *e)
{
	if (!n || memmem(word, n, RESERVED, strlen(RESERVED)))
		return 0;
	return sp_count_text(&l->raw, word, n, count, e);
}

int sp_learner_add_line(struct sp_learner *l, const char *line, size_t n, bool *is_used,
			struct err *e)
{
	bool ignored;

	return sp_count_line(&l->raw, line, n, is_used ? is_used : &ignored, e);
}

/* ---- a file, on several threads ---- */

struct thread_counts {
	struct sp_counts words;
	int64_t skipped;
};

static int count_in_thread(void *context, int worker, const char *text, size_t n, struct buf *out,
			   struct err *e)
{
	struct thread_counts *t = (struct thread_counts *)context + worker;
	bool is_used;

	(void)out;
	if (sp_count_line(&t->words, text, n, &is_used, e))
		return e->code;
	t->skipped += !is_used;
	return 0;
}

static int sp_add_counts(struct sp_counts *to, const struct sp_counts *from, struct err *e)
{
	for (int32_t i = 0; i < from->texts.n; i++) {
		size_t n;
		const char *text = intern_text(&from->texts, i, &n);

		if (sp_count_text(to, text, n, from->counts[i], e))
			return e->code;
	}
	return 0;
}

int sp_learner_add_file(struct sp_learner *l, const char *path, bool repair, int threads,
			int64_t *skipped, struct err *e)
{
	struct thread_counts *all = mem_alloc((size_t)threads, sizeof(*all), e);
	struct line_flow f = {
		.line = count_in_thread, .context = all, .repair = repair, .threads = threads
	};
	int rc;

	if (!all)
		return e->code;
	all[0].words = l->raw; /* the first thread continues with earlier words */
	rc = line_flow_run(&f, path, e);
	l->raw = all[0].words;
	*skipped += all[0].skipped;
	for (int i = 1; i < threads; i++) {
		if (!rc)
			rc = sp_add_counts(&l->raw, &all[i].words, e);
		*skipped += all[i].skipped;
		sp_counts_free(&all[i].words);
	}
	free(all);
	return rc;
}

void sp_learner_free(struct sp_learner *l)
{
	if (!l)
		return;
	sp_counts_free(&l->raw);
	free(l);
}
