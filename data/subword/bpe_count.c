/*
 * bpe_count.c - counts words before BPE is learned: see bpe.h
 *
 * Merges depend on the text only through the counts of its distinct words, of which there are far
 * fewer than words: learning works on them. Each thread counts the lines that it gets in tables of
 * its own, without locks; the tables are added at the end. A sum does not depend on which thread
 * counted which line, so the codes are the same for any number of threads.
 */
#include <assert.h>

#include "data/subword/bpe.h"
#include "data/subword/bpe_line.h"
#include "data/words/short_word.h"
#include "share/base/line_flow.h"
#include "share/base/util.h"

/* May the text hold more than one line as in bpe_line.h? false is certain. */
static bool may_have_ends(const char *text, size_t n)
{
	size_t i = 0;
	uint64_t found = 0;

	for (; i + 8 <= n; i += 8) {
		uint64_t x = short_word_load(text + i);
		uint64_t lead = (x & SHORT_WORD_BYTES(0xDF)) ^ SHORT_WORD_BYTES(0xC2);

		/* control characters; 0xC2 and 0xE2, the first bytes of the longer line ends */
		found |= (x - SHORT_WORD_BYTES(0x20)) & ~x;
		found |= (lead - SHORT_WORD_BYTES(1)) & ~lead;
	}
	for (; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || ((unsigned char)text[i] & 0xDF) == 0xC2)
			return true;
	return (found & SHORT_WORD_BYTES(0x80)) != 0;
}

static int bpe_count_line(void *context, int worker, const char *line, size_t n, int64_t count,
			  struct err *e)
{
	if (!may_have_ends(line, n))
		return word_counter_add(context, worker, line, n, count, e);
	for (size_t len; n; line += len, n -= len) {
		size_t end = len = bpe_line_length(line, n);

		while (end && bpe_is_margin(line[end - 1]))
			end--;
		if (word_counter_add(context, worker, line, end, count, e))
			return e->code;
	}
	return 0;
}

int bpe_count_words(struct word_counter *c, const char *text, size_t n, int64_t count,
		    struct err *e)
{
	return bpe_count_line(c, 0, text, n, count, e);
}

struct counted_file {
	struct word_counter *words;
	const struct protect *protect; /* NULL: none */
};

/* out: work space, since nothing is written. */
static int line_of_file(void *context, int worker, const char *text, size_t n, struct buf *out,
			struct err *e)
{
	const struct counted_file *f = context;
	size_t len;

	if (protect_find(f->protect, text, n, &len) == n)
		return bpe_count_line(f->words, worker, text, n, 1, e);
	buf_clear(out);
	protect_blank_out(f->protect, PROTECT_ANYWHERE, text, n, out);
	return buf_check(out, e) ? e->code
				 : bpe_count_line(f->words, worker, buf_text(out), out->len, 1, e);
}

int bpe_count_file(struct word_counter *c, const char *path, const struct protect *p, bool repair,
		   int threads, struct err *e)
{
	struct counted_file file = { c, p };
	struct line_flow f = { line_of_file, NULL, &file, repair, threads };

	return word_counter_reserve(c, MAX(threads, 1), e) ? e->code : line_flow_run(&f, path, e);
}
