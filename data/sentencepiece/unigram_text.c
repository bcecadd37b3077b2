/* unigram_text.c - the text from which a unigram model is learned: see unigram_text.h */
#include "data/sentencepiece/unigram_text.h"

#include <stdlib.h>
#include <string.h>

#include "data/subword/bpe_line.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

struct fragment_list {
	struct text_counts counts;
	const int64_t *is_character;
};

/* Add a text without foreign characters, in parts of at most UNIGRAM_MAX_TEXT bytes. */
static int add_fragment(struct fragment_list *l, const char *text, size_t n, int64_t count,
			struct err *e)
{
	for (size_t used = 0, end; used < n; used = end) {
		for (end = used; end < n;) {
			size_t len = bpe_char_length(text + end, n - end);

			if (end + len - used > UNIGRAM_MAX_TEXT)
				break;
			end += len;
		}
		if (text_counts_add(&l->counts, text + used, end - used, count, e))
			return e->code;
	}
	return 0;
}

static int cut_word(struct fragment_list *l, const char *text, size_t n, int64_t count,
		    struct err *e)
{
	size_t start = 0;

	for (size_t i = 0, len; i < n; i += len) {
		uint32_t c;

		len = utf8_decode(text + i, n - i, &c);
		if (c && l->is_character[c])
			continue;
		if (i > start && add_fragment(l, text + start, i - start, count, e))
			return e->code;
		start = i + len;
	}
	return n > start ? add_fragment(l, text + start, n - start, count, e) : 0;
}

static int compare_fragments(const void *a, const void *b, void *context)
{
	const struct text_counts *c = context;
	size_t n, m;
	const char *x = intern_text(&c->texts, *(const int32_t *)a, &n);
	const char *y = intern_text(&c->texts, *(const int32_t *)b, &m);
	int d = memcmp(x, y, MIN(n, m));

	return d ? d : (n > m) - (n < m);
}

/* Copy the fragments in the order of their bytes, which no number of threads changes. */
static int copy_fragments(struct unigram_text *t, struct text_counts *c, struct err *e)
{
	size_t n = (size_t)c->texts.n, bytes = c->texts.n_bytes + n;
	int32_t *order = mem_alloc(n, sizeof(*order), e);
	int rc = 0;

	t->fragments = order ? mem_alloc(n, sizeof(*t->fragments), e) : NULL;
	if (t->fragments && bytes > UINT32_MAX)
		rc = err_set(e, ERR_DATA,
			     "cannot learn a unigram model from %zu MB of distinct words, expected "
			     "at most 4096 MB",
			     bytes >> 20);
	t->bytes = t->fragments && !rc ? mem_alloc(bytes, 1, e) : NULL;
	if (!t->bytes) {
		free(order);
		return e->code;
	}
	for (size_t i = 0; i < n; i++)
		order[i] = (int32_t)i;
	qsort_r(order, n, sizeof(*order), compare_fragments, c);
	for (size_t i = 0; i < n; i++) {
		size_t len;
		const char *text = intern_text(&c->texts, order[i], &len);

		memcpy(t->bytes + t->n_bytes, text, len);
		t->fragments[t->n++] =
			(struct unigram_fragment){ (uint32_t)t->n_bytes, (uint32_t)len,
						   c->counts[order[i]] };
		t->n_bytes += len + 1;
	}
	free(order);
	return 0;
}

int unigram_text_load(struct unigram_text *t, struct text_counts *words,
		      const int64_t *is_character, struct err *e)
{
	struct fragment_list l = { .is_character = is_character };
	int rc = 0;

	for (int32_t i = 0; !rc && i < words->texts.n; i++) {
		size_t n;
		const char *text = intern_text(&words->texts, i, &n);

		rc = cut_word(&l, text, n, words->counts[i], e);
	}
	text_counts_free(words);
	if (!rc)
		rc = copy_fragments(t, &l.counts, e);
	text_counts_free(&l.counts);
	return rc;
}

void unigram_text_free(struct unigram_text *t)
{
	free(t->bytes);
	free(t->fragments);
	*t = (struct unigram_text){ 0 };
}
