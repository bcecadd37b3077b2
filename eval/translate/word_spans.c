/* word_spans.c - see word_spans.h */
#include "eval/translate/word_spans.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"

#define BLANK_MARK "\xe2\x96\x81" /* U+2581 of SentencePiece */
#define SEARCH_BYTES                                                                               \
	64 /* a word is searched for within this distance, for each word that was not found */

struct word_span {
	size_t at, end; /* of the text */
};

/* The words of one side. */
struct span_finder {
	const char *text; /* (n) borrowed */
	size_t n;
	size_t at;		    /* what is before it has its word */
	struct word_span *spans;    /* (tokens) owned by the caller: the word of each token */
	int32_t first_lost, n_lost; /* tokens from first_lost on were not found; n_lost words */
};

/* What Moses' tokenizer writes for characters that its tools need. */
static const struct {
	const char *escaped, *plain;
} escapes[] = { { "&amp;", "&" }, { "&#124;", "|" }, { "&lt;", "<" },
		{ "&gt;", ">" },  { "&apos;", "'" }, { "&quot;", "\"" },
		{ "&#91;", "[" }, { "&#93;", "]" },  { "@-@", "-" } };

static void unescape_word(struct buf *word)
{
	struct buf plain = { 0 };

	for (size_t i = 0; i < word->len;) {
		size_t k = 0;

		while (k < ARRAY_LEN(escapes) &&
		       strncmp(word->data + i, escapes[k].escaped, strlen(escapes[k].escaped)) != 0)
			k++;
		if (k < ARRAY_LEN(escapes))
			buf_add_str(&plain, escapes[k].plain);
		else
			buf_add_char(&plain, word->data[i]);
		i += k < ARRAY_LEN(escapes) ? strlen(escapes[k].escaped) : 1;
	}
	buf_free(word);
	*word = plain;
}

static bool stands_here(const struct span_finder *f, size_t at, const struct buf *word)
{
	return word->len <= f->n - at && !memcmp(f->text + at, word->data, word->len);
}

static size_t skip_span_blanks(const struct span_finder *f, size_t at)
{
	while (at < f->n && isspace((unsigned char)f->text[at]))
		at++;
	return at;
}

/* The words that were not found get the text up to `to`. */
static void give_gap(struct span_finder *f, int32_t token, size_t to)
{
	size_t from = skip_span_blanks(f, f->at), end = to;

	while (end > from && isspace((unsigned char)f->text[end - 1]))
		end--;
	for (int32_t i = f->first_lost; i < token && f->n_lost; i++)
		f->spans[i] = (struct word_span){ from, end };
	f->n_lost = 0;
}

/* Finds the word of the tokens first … end - 1. */
static void find_word(struct span_finder *f, struct buf *word, int32_t first, int32_t end)
{
	size_t at = skip_span_blanks(f, f->at);
	const char *found;
	struct word_span span;

	if (f->n_lost && word->len) {
		found = memmem(f->text + at,
			       MIN(f->n - at, (size_t)SEARCH_BYTES * (size_t)f->n_lost), word->data,
			       word->len);
		at = found ? (size_t)(found - f->text) : f->n + 1;
	}
	if (!word->len || at > f->n || !stands_here(f, at, word)) {
		if (!f->n_lost++)
			f->first_lost = first;
		for (int32_t i = first; i < end; i++)
			f->spans[i] = (struct word_span){ f->at, f->at };
		return;
	}
	give_gap(f, first, at);
	span = (struct word_span){ at, at + word->len };
	for (int32_t i = first; i < end; i++)
		f->spans[i] = span;
	f->at = span.end;
}

/* Appends what a piece spells. */
static void add_piece_text(struct buf *word, const char *piece, bool is_bpe)
{
	size_t n = strlen(piece);

	if (is_bpe && n > 2 && !strcmp(piece + n - 2, "@@"))
		n -= 2;
	while (!is_bpe && n >= 3 && !memcmp(piece, BLANK_MARK, 3)) {
		piece += 3;
		n -= 3;
	}
	buf_add(word, piece, n);
}

static bool is_special(int32_t token)
{
	return token == TOKEN_PAD || token == TOKEN_END || token == TOKEN_START;
}

/* Finds the words of n tokens of a side in its text. added: tokens that the text lacks; NULL: none. */
static int find_spans(const struct engine *g, enum pipeline_side side, const int32_t *tokens,
		      int32_t n, const bool *added, struct span_finder *f, struct err *e)
{
	const struct vocab *v = pipeline_vocab(g->pipeline, side);
	const bool is_bpe = g->words[side].joins_next != NULL;
	struct buf word = { 0 };
	bool failed = false;

	for (int32_t first = 0, end; first < n; first = end) {
		end = first + 1;
		buf_clear(&word);
		if ((added && added[first]) || is_special(tokens[first])) {
			f->spans[first] = (struct word_span){ f->at, f->at };
			continue;
		}
		while (end < n && engine_word_continues(g, side, tokens, n, end - 1))
			end++;
		for (int32_t i = first; i < end; i++)
			if (tokens[i] != TOKEN_UNKNOWN)
				add_piece_text(&word, vocab_piece(v, tokens[i]), is_bpe);
		for (int32_t i = first; i < end; i++)
			if (tokens[i] == TOKEN_UNKNOWN)
				buf_clear(&word);
		if (word.len && !stands_here(f, skip_span_blanks(f, f->at), &word))
			unescape_word(&word);
		find_word(f, &word, first, end);
		failed |= word.failed;
	}
	give_gap(f, n, f->n);
	buf_free(&word);
	return failed ? err_set(e, ERR_NOMEM, "out of memory") : 0;
}

/* The source span that most tokens of a word are aligned to; of equals the first. */
static struct word_span choose_source(const struct engine_translation *t, const int32_t *aligned,
				      int32_t n, const struct word_span *sources)
{
	struct word_span best = { 0, 0 };
	int32_t most = 0;

	for (int32_t i = 0; i < n; i++) {
		int32_t count = 0;
		struct word_span s;

		if (aligned[i] < 0 || aligned[i] >= t->n_source) /* the end */
			continue;
		s = sources[aligned[i]];
		for (int32_t k = i; k < n; k++)
			count += aligned[k] >= 0 && aligned[k] < t->n_source &&
				 sources[aligned[k]].at == s.at && s.end > s.at;
		if (count > most) {
			most = count;
			best = s;
		}
	}
	return best;
}

static void list_words(const struct engine_translation *t, const struct decode_hypothesis *y,
		       const struct word_span *sources, const struct word_span *targets,
		       struct markup_word *words, size_t *n_words)
{
	int32_t end;

	*n_words = 0;
	for (int32_t first = 0; first < y->n; first = end) {
		struct word_span source;

		end = first + 1;
		while (end < y->n && targets[end].at == targets[first].at &&
		       targets[end].end == targets[first].end)
			end++;
		if (targets[first].end <= targets[first].at ||
		    (*n_words && targets[first].at < words[*n_words - 1].end))
			continue;
		source = choose_source(t, y->aligned + first, end - first, sources);
		words[(*n_words)++] = (struct markup_word){ targets[first].at, targets[first].end,
							    source.at, source.end };
	}
}

int word_spans_find(const struct engine *g, const struct engine_translation *t, int32_t h,
		    const char *source, size_t n_source, struct markup_word **words,
		    size_t *n_words, struct err *e)
{
	const struct decode_hypothesis *y = &t->result.hypotheses[h];
	struct word_span *sources = mem_alloc((size_t)t->n_source + 1, sizeof(*sources), e);
	struct word_span *targets = mem_alloc((size_t)y->n + 1, sizeof(*targets), e);
	struct span_finder from = { .text = source, .n = n_source, .spans = sources };
	struct span_finder to = { .text = t->texts[h], .n = strlen(t->texts[h]), .spans = targets };
	bool *added = mem_alloc((size_t)t->n_source + 1, sizeof(*added), e);
	int rc = sources && targets && added ? 0 : e->code;

	*words = NULL;
	for (int32_t i = 0; i < t->n_source && !rc; i++)
		added[i] = engine_is_added(g, t, i);
	if (!rc)
		rc = find_spans(g, SIDE_SOURCE, t->source, t->n_source, added, &from, e);
	if (!rc)
		rc = find_spans(g, SIDE_TARGET, y->tokens, y->n, NULL, &to, e);
	if (!rc && !(*words = mem_alloc((size_t)y->n + 1, sizeof(**words), e)))
		rc = e->code;
	if (!rc)
		list_words(t, y, sources, targets, *words, n_words);
	free(sources);
	free(targets);
	free(added);
	return rc;
}

int segment_write(const struct engine *g, const struct markup *m,
		  const struct engine_translation *t, int32_t h, struct buf *out, struct err *e)
{
	struct markup_target target = { .text = t->texts[h], .n = strlen(t->texts[h]) };
	struct markup_word *words = NULL;
	int rc = 0;

	if (m->n)
		rc = word_spans_find(g, t, h, buf_text(&m->text), m->text.len, &words,
				     &target.n_words, e);
	target.words = words;
	if (!rc)
		rc = markup_write(m, &target, out, e);
	free(words);
	return rc;
}
