/*
 * sp_count.c - counts words before a SentencePiece model is learned: see sp.h
 *
 * As SentencePiece does, lines above MAX_LINE bytes and lines with U+2585, which its trainer uses
 * itself, are skipped. Each distinct word is kept once, with its count, and normalised later: far
 * fewer words than the text has.
 */
#include <stdlib.h>
#include <string.h>

#include "data/sentencepiece/sp.h"
#include "share/base/line_flow.h"
#include "share/base/mem.h"

#define MAX_LINE 4192		/* bytes; longer lines are skipped */
#define RESERVED "\xE2\x96\x85" /* U+2585 */

static bool has_reserved(const char *text, size_t n)
{
	return memmem(text, n, RESERVED, strlen(RESERVED));
}

int sp_count_word(struct word_counter *c, const char *word, size_t n, int64_t count, struct err *e)
{
	return has_reserved(word, n) ? 0 : word_counter_add(c, 0, word, n, count, e);
}

static bool is_line_counted(const char *line, size_t n)
{
	return n <= MAX_LINE && !has_reserved(line, n);
}

int sp_count_line(struct word_counter *c, const char *line, size_t n, bool *is_used, struct err *e)
{
	*is_used = is_line_counted(line, n);
	return *is_used ? word_counter_add(c, 0, line, n, 1, e) : 0;
}

/* ---- a file, on several threads ---- */

struct file_count {
	struct word_counter *words;
	int64_t *skipped; /* owned: lines of each thread */
};

static int count_in_thread(void *context, int worker, const char *text, size_t n, struct buf *out,
			   struct err *e)
{
	struct file_count *f = context;

	(void)out;
	if (is_line_counted(text, n))
		return word_counter_add(f->words, worker, text, n, 1, e);
	f->skipped[worker]++;
	return 0;
}

int sp_count_file(struct word_counter *c, const char *path, bool repair, int threads,
		  int64_t *skipped, struct err *e)
{
	struct file_count all = { c, mem_alloc((size_t)threads, sizeof(*all.skipped), e) };
	struct line_flow f = { count_in_thread, NULL, &all, repair, threads };
	int rc = all.skipped ? word_counter_reserve(c, threads, e) : e->code;

	if (!rc)
		rc = line_flow_run(&f, path, e);
	for (int i = 0; all.skipped && i < threads; i++)
		*skipped += all.skipped[i];
	free(all.skipped);
	return rc;
}
