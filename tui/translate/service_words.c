/* service_words.c - an answer with whole words in place of the model's pieces; see service.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/text/icu.h"
#include "data/text/tokenize.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "tui/translate/service.h"

static const char start_mark[] = "\xE2\x96\x81"; /* U+2581 */
#define START_BYTES (sizeof(start_mark) - 1)

/* Pieces, and where words begin among them. */
struct piece_run {
	const char *const *pieces;
	size_t n;
	bool has_start_marks;
};

static struct piece_run piece_run(const char *const *pieces, size_t n)
{
	struct piece_run r = { pieces, n, false };

	for (size_t i = 0; i < n && !r.has_start_marks; i++)
		r.has_start_marks = text_starts_with(pieces[i], start_mark);
	return r;
}

/* The part of a piece that is text. */
static size_t strip_piece(const struct piece_run *r, size_t i, const char **text)
{
	const bool starts = r->has_start_marks && text_starts_with(r->pieces[i], start_mark);
	const size_t n = strlen(r->pieces[i]);

	*text = r->pieces[i] + (starts ? START_BYTES : 0);
	if (starts)
		return n - START_BYTES;
	return !r->has_start_marks && n > 2 && text_ends_with(r->pieces[i], "@@") ? n - 2 : n;
}

/* Does a piece begin with a letter of a script without blanks between words? */
static bool is_unspaced(const struct piece_run *r, size_t i)
{
	static const uint32_t scripts = 1u << SCRIPT_HAN | 1u << SCRIPT_HIRAGANA |
					1u << SCRIPT_KATAKANA | 1u << SCRIPT_THAI |
					1u << SCRIPT_LAO | 1u << SCRIPT_KHMER |
					1u << SCRIPT_MYANMAR | 1u << SCRIPT_TIBETAN;
	const char *text;
	const size_t n = strip_piece(r, i, &text);
	uint32_t c = 0;

	return n && utf8_decode(text, n, &c) && (scripts >> icu_letter_script(c) & 1);
}

static bool starts_word(const struct piece_run *r, size_t i)
{
	const char *text;

	if (i == 0 || is_unspaced(r, i) || is_unspaced(r, i - 1))
		return true;
	return r->has_start_marks ? text_starts_with(r->pieces[i], start_mark)
				  : strip_piece(r, i - 1, &text) == strlen(r->pieces[i - 1]);
}

/* Memory of a word answer: arrays of 8-byte values, then texts. */
struct word_room {
	double *at;
	char *text;
};

static void *carve_words(struct word_room *room, size_t n)
{
	void *p = room->at;

	room->at += n;
	return p;
}

/* The pieces from `from` to `end` as one word, without the tokenizer's entities. */
static const char *join_word(const struct piece_run *r, size_t from, size_t end,
			     struct word_room *room)
{
	char *word = room->text;

	for (size_t i = from; i < end; i++) {
		const char *text;
		const size_t n = strip_piece(r, i, &text);

		memcpy(room->text, text, n);
		room->text += n;
	}
	if (!r->has_start_marks && memchr(word, '&', (size_t)(room->text - word))) {
		struct buf plain = { 0 };

		detokenizer_decode(word, (size_t)(room->text - word), &plain);
		if (!plain.failed) { /* it is not longer */
			memcpy(word, plain.data, plain.len);
			room->text = word + plain.len;
		}
		buf_free(&plain);
	}
	*room->text++ = 0;
	return word;
}

/* Source words: texts of them, and the word of each piece. */
static void join_source(const struct service_answer *a, struct service_answer *to, size_t *word_of,
			struct word_room *room)
{
	const struct piece_run r = piece_run(a->source, a->n_source);

	to->source = carve_words(room, a->n_source);
	to->n_source = 0;
	for (size_t i = 0, end; i < r.n; i = end) {
		for (end = i + 1; end < r.n && !starts_word(&r, end); end++)
			;
		for (size_t k = i; k < end; k++)
			word_of[k] = to->n_source;
		to->source[to->n_source++] = join_word(&r, i, end, room);
	}
	word_of[r.n] = to->n_source; /* the end */
}

/* The attention of a word of the pieces from `from` to `end`. */
static void join_attention(const struct service_translation *t, size_t from, size_t end,
			   size_t n_source, const size_t *word_of, double *row)
{
	for (size_t i = from; i < end; i++)
		for (size_t j = 0; j <= n_source; j++)
			row[word_of[j]] +=
				t->attention[i * (n_source + 1) + j] / (double)(end - from);
}

static void join_translation(const struct service_answer *a, const struct service_translation *t,
			     const size_t *word_of, size_t n_words_source,
			     struct service_translation *to, struct word_room *room)
{
	const struct piece_run r = piece_run(t->tokens, t->n);
	const size_t cols = n_words_source + 1;
	size_t *pieces = carve_words(room, t->n + 1), part = 0;
	double *map = t->attention ? carve_words(room, t->n * cols) : NULL;

	*to = *t;
	to->n = 0;
	to->tokens = carve_words(room, t->n);
	to->log_probs = carve_words(room, t->n);
	to->aligned = carve_words(room, t->n);
	to->parts = (struct service_part *)carve_words(
		room, t->n_parts * (sizeof(*t->parts) / sizeof(double)));
	memcpy(to->parts, t->parts, t->n_parts * sizeof(*t->parts));
	for (size_t i = 0, end; i < r.n; i = end) {
		for (; part < t->n_parts && t->parts[part].first <= i; part++)
			to->parts[part].first = to->n;
		for (end = i + 1; end < r.n && !starts_word(&r, end) &&
				  (part == t->n_parts || end < t->parts[part].first);
		     end++)
			;
		pieces[to->n] = i;
		to->tokens[to->n] = join_word(&r, i, end, room);
		to->log_probs[to->n] = 0;
		to->aligned[to->n] = -1;
		for (size_t k = i; k < end; k++) {
			to->log_probs[to->n] += t->log_probs[k];
			if (to->aligned[to->n] < 0 && t->aligned[k] >= 0)
				to->aligned[to->n] = (int)word_of[t->aligned[k]];
		}
		if (map)
			join_attention(t, i, end, a->n_source, word_of, map + to->n * cols);
		to->n++;
	}
	pieces[to->n] = t->n;
	for (; part < t->n_parts; part++)
		to->parts[part].first = to->n;
	for (size_t i = 0; i < t->n_parts; i++) {
		struct service_part *p = &to->parts[i];
		const size_t end = word_of[p->first_source + p->n_source];

		p->n = (i + 1 < t->n_parts ? p[1].first : to->n) - p->first;
		p->first_source = word_of[p->first_source];
		p->n_source = end - p->first_source;
	}
	to->attention = map;
	to->pieces = pieces;
}

/* Values, and bytes of texts, that all words need at most. */
static void count_words_room(const struct service_answer *a, size_t *values, size_t *bytes)
{
	*values = 2 * a->n_source + 1;
	*bytes = 0;
	for (size_t i = 0; i < a->n_source; i++)
		*bytes += strlen(a->source[i]) + 1;
	for (size_t h = 0; h < a->n; h++) {
		const struct service_translation *t = &a->translations[h];

		*values += 4 * t->n + 1 + t->n_parts * (sizeof(*t->parts) / sizeof(double)) +
			   (t->attention ? t->n * (a->n_source + 1) : 0);
		for (size_t i = 0; i < t->n; i++)
			*bytes += strlen(t->tokens[i]) + 1;
	}
	*values += a->n * (sizeof(struct service_translation) / sizeof(double));
}

int service_answer_add_words(struct service_answer *a, struct err *e)
{
	struct service_answer *to = mem_alloc(1, sizeof(*to), e);
	struct word_room room;
	size_t values, bytes, *word_of;

	_Static_assert(sizeof(struct service_part) % sizeof(double) == 0 &&
			       sizeof(struct service_translation) % sizeof(double) == 0,
		       "their arrays are counted in doubles");
	if (!to)
		return e->code;
	/* a few times the bytes of the answer, whose arrays exist: no sum overflows */
	count_words_room(a, &values, &bytes);
	*to = *a;
	to->tree = NULL;
	if (!(to->memory = mem_alloc(values + bytes / sizeof(double) + 1, sizeof(double), e))) {
		free(to);
		return e->code;
	}
	room = (struct word_room){ to->memory, (char *)((double *)to->memory + values) };
	to->translations = carve_words(&room, a->n * (sizeof(*a->translations) / sizeof(double)));
	word_of = carve_words(&room, a->n_source + 1);
	join_source(a, to, word_of, &room);
	for (size_t h = 0; h < a->n; h++)
		join_translation(a, &a->translations[h], word_of, to->n_source,
				 &to->translations[h], &room);
	a->words = to;
	return 0;
}

size_t service_word_of_piece(const struct service_translation *words, size_t piece)
{
	size_t i = 0;

	while (i < words->n && words->pieces[i + 1] <= piece)
		i++;
	return i;
}

const struct service_part *service_part_at(const struct service_translation *t, size_t token)
{
	size_t i = 0;

	while (i + 1 < t->n_parts && token >= t->parts[i + 1].first)
		i++;
	return &t->parts[i];
}
