/*
 * grow.c - makes a large corpus from a small one, to measure preparation at full size.
 *
 *	grow SOURCE TARGET PAIRS OUT-SOURCE OUT-TARGET [SEED]
 *
 * Plain text in, plain text out, lines aligned; the same seed gives the same
 * bytes. First all pairs of the corpus are copied, or PAIRS of them. Each
 * further pair is recombined:
 *
 *  - a real pair, most often two in one line on both sides, gives the frame:
 *    how long the two sides are, their numbers and punctuation, and most words;
 *  - a third of its words is replaced by the words of another real sentence of
 *    that side, drawn at random: words keep their frequencies and get new
 *    neighbours;
 *  - rare words (at most RARE times in the corpus) are replaced by words made of
 *    the stem of one rare word and the ending of another. The probability of a
 *    new word falls with the size of the text (Heaps' law). Otherwise a word that
 *    was made before is repeated, with a probability proportional to its
 *    occurrences (Simon 1955, "On a class of skew distribution functions"): these
 *    words have a Zipfian tail.
 *
 * 4.5 million pairs made of 340,000 have 1.1 GB and, tokenised, three
 * million distinct words over both sides, as WMT16 English-German has.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/words/intern.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define RARE	       12
#define MAX_WORDS      80
#define SWAPPED	       340  /* of 1024 words */
#define TWO_FRAMES     760  /* of 1024 pairs */
#define MIN_CORE       5    /* bytes of a rare word that gives stems and endings */
#define NEW_AT_FIRST   0.62 /* probability that a made word is a new one */
#define NEW_FALLS      0.10 /* exponent by which it falls, beyond NEW_FALLS_FROM made words */
#define NEW_FALLS_FROM 20000.0

struct word {
	uint32_t start; /* in the text of its side; the word with its punctuation */
	uint16_t len;
	uint16_t core, core_len; /* the letters in it; 0: none, or mixed with other signs */
	bool is_rare;
};

struct line {
	uint32_t first;	     /* its words: from here to the next line's first */
	uint32_t start, len; /* in the text */
};

struct side {
	struct buf text;
	struct word *words; /* owned */
	size_t n_words, cap_words;
	struct line *lines; /* owned: (n_lines + 1) */
	size_t n_lines, cap_lines;
	uint32_t *rare; /* owned: words that give stems and endings */
	size_t n_rare, cap_rare;
	struct buf made; /* words made so far, without separators */
	size_t *made_at; /* owned: (n_made + 1) */
	size_t n_made, cap_made;
	uint32_t *uses; /* owned: the made word of each occurrence */
	size_t n_uses, cap_uses;
	double probability_new;
	struct outfile out;
	struct buf line;
};

static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15u; /* SplitMix64, Steele et al. 2014 */

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

static size_t draw_below(uint64_t *state, size_t n)
{
	return (size_t)(((draw(state) >> 32) * (uint64_t)n) >> 32);
}

/* ---- reading ---- */

/* Bytes of the letter at p: ASCII, or one of Latin, Greek, Cyrillic; 0: something else. */
static size_t letter(const char *p, size_t n)
{
	unsigned char c = (unsigned char)p[0];

	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')
		return 1;
	return c >= 0xC3 && c <= 0xD3 && n > 1 ? 2 : 0;
}

static void find_core(struct word *w, const char *text)
{
	size_t at = 0, end, n;

	while (at < w->len && !letter(text + at, w->len - at))
		at++;
	for (end = at; end < w->len && (n = letter(text + end, w->len - end)) != 0;)
		end += n;
	for (size_t i = end; i < w->len; i++)
		if (letter(text + i, w->len - i))
			return;
	w->core = (uint16_t)at;
	w->core_len = (uint16_t)(end - at);
}

static int add_line(struct side *s, size_t start, size_t end, struct err *e)
{
	if (mem_grow(&s->lines, &s->cap_lines, s->n_lines + 2, sizeof(*s->lines), e))
		return e->code;
	s->lines[s->n_lines++] =
		(struct line){ (uint32_t)s->n_words, (uint32_t)start, (uint32_t)(end - start) };
	for (size_t at = start; at < end;) {
		const char *blank = memchr(s->text.data + at, ' ', end - at);
		size_t next = blank ? (size_t)(blank - s->text.data) : end;
		struct word *w;

		if (mem_grow(&s->words, &s->cap_words, s->n_words + 1, sizeof(*s->words), e))
			return e->code;
		if (next > at && next - at < UINT16_MAX) {
			w = &s->words[s->n_words++];
			*w = (struct word){ .start = (uint32_t)at, .len = (uint16_t)(next - at) };
			find_core(w, s->text.data + at);
		}
		at = next + 1;
	}
	s->lines[s->n_lines] = (struct line){ .first = (uint32_t)s->n_words };
	return 0;
}

static int find_rare(struct side *s, struct err *e)
{
	struct intern cores = { 0 };
	int32_t *id = mem_alloc(s->n_words, sizeof(*id), e);
	uint32_t *count = mem_alloc(s->n_words, sizeof(*count), e);
	int rc = id && count ? 0 : e->code;

	for (size_t i = 0; !rc && i < s->n_words; i++) {
		const struct word *w = &s->words[i];

		rc = intern_add(&cores, s->text.data + w->start + w->core, w->core_len, &id[i], e);
		if (!rc)
			count[id[i]]++;
	}
	for (size_t i = 0; !rc && i < s->n_words; i++) {
		struct word *w = &s->words[i];

		w->is_rare = w->core_len && count[id[i]] <= RARE;
		if (!w->is_rare || w->core_len < MIN_CORE)
			continue;
		rc = mem_grow(&s->rare, &s->cap_rare, s->n_rare + 1, sizeof(*s->rare), e);
		if (!rc)
			s->rare[s->n_rare++] = (uint32_t)i;
	}
	if (!rc && !s->n_rare)
		rc = err_set(e, ERR_DATA, "the corpus has no rare words to make new ones of");
	intern_free(&cores);
	free(id);
	free(count);
	return rc;
}

static int side_read(struct side *s, const char *path, struct err *e)
{
	const char *end;

	if (file_read_all(path, UINT32_MAX, &s->text, e))
		return e->code;
	end = s->text.data + s->text.len;
	for (const char *at = s->text.data, *lf; at < end; at = lf + 1) {
		lf = memchr(at, '\n', (size_t)(end - at));
		if (!lf)
			lf = end;
		if (add_line(s, (size_t)(at - s->text.data), (size_t)(lf - s->text.data), e))
			return e->code;
	}
	return find_rare(s, e);
}

static void side_free(struct side *s)
{
	outfile_abandon(&s->out);
	buf_free(&s->text);
	buf_free(&s->made);
	buf_free(&s->line);
	free(s->words);
	free(s->lines);
	free(s->rare);
	free(s->made_at);
	free(s->uses);
}

/* ---- making ---- */

/* Where to cut a word: near its middle, between two characters. */
static size_t cut(const char *text, size_t n, uint64_t r)
{
	size_t at = n / 2 + r % (n / 3 + 1);

	while (at < n && ((unsigned char)text[at] & 0xC0) == 0x80)
		at++;
	return at;
}

static int make_word(struct side *s, uint64_t *state, struct err *e)
{
	const struct word *a = &s->words[s->rare[draw_below(state, s->n_rare)]],
			  *b = &s->words[s->rare[draw_below(state, s->n_rare)]];
	const char *stem = s->text.data + a->start + a->core,
		   *ending = s->text.data + b->start + b->core;
	uint64_t r = draw(state);
	size_t from = cut(ending, b->core_len, r >> 32);

	if (mem_grow(&s->made_at, &s->cap_made, s->n_made + 2, sizeof(*s->made_at), e))
		return e->code;
	s->made_at[s->n_made++] = s->made.len;
	buf_add(&s->made, stem, cut(stem, a->core_len, r));
	buf_add(&s->made, ending + from, b->core_len - from);
	s->made_at[s->n_made] = s->made.len;
	return buf_check(&s->made, e);
}

/* Append a made word, new or repeated. */
static int add_made(struct side *s, uint64_t *state, struct err *e)
{
	uint32_t id;

	if (s->n_uses % 4096 == 0)
		s->probability_new =
			NEW_AT_FIRST * pow(1 + (double)s->n_uses / NEW_FALLS_FROM, -NEW_FALLS);
	if (mem_grow(&s->uses, &s->cap_uses, s->n_uses + 1, sizeof(*s->uses), e))
		return e->code;
	if (!s->n_uses || (double)(draw(state) >> 11) * 0x1p-53 < s->probability_new) {
		id = (uint32_t)s->n_made;
		if (make_word(s, state, e))
			return e->code;
	} else {
		id = s->uses[draw_below(state, s->n_uses)];
	}
	s->uses[s->n_uses++] = id;
	buf_add(&s->line, s->made.data + s->made_at[id], s->made_at[id + 1] - s->made_at[id]);
	return 0;
}

/* The next word with letters of the sentences from *donor on; NULL: none near by. */
static const struct word *next_donor(const struct side *s, size_t *donor)
{
	for (int i = 0; i < 8 && *donor < s->n_words; i++) {
		const struct word *w = &s->words[(*donor)++];

		if (w->core_len)
			return w;
	}
	return NULL;
}

static int add_frame(struct side *s, size_t line, uint64_t *state, struct err *e)
{
	size_t donor = s->lines[draw_below(state, s->n_lines)].first;

	for (uint32_t i = s->lines[line].first; i < s->lines[line + 1].first; i++) {
		const struct word *w = &s->words[i], *core = w, *d;
		const char *text = s->text.data + w->start;

		if (s->line.len)
			buf_add_char(&s->line, ' ');
		if (w->core_len && (draw(state) & 1023) < SWAPPED && (d = next_donor(s, &donor)))
			core = d;
		buf_add(&s->line, text, w->core);
		if (!core->is_rare)
			buf_add(&s->line, s->text.data + core->start + core->core, core->core_len);
		else if (add_made(s, state, e))
			return e->code;
		text += w->core + w->core_len;
		buf_add(&s->line, text, (size_t)(w->len - w->core - w->core_len));
	}
	return 0;
}

static int write_line(struct side *s, const char *text, size_t n, struct err *e)
{
	if (fwrite(text, 1, n, s->out.stream) != n || putc('\n', s->out.stream) == EOF)
		return err_set_errno(e, ERR_IO, "%s: cannot be written", s->out.path);
	return 0;
}

/* ---- pairs ---- */

static int copy_pair(struct side *sides, size_t line, struct err *e)
{
	for (int k = 0; k < 2; k++) {
		const struct line *l = &sides[k].lines[line];

		if (write_line(&sides[k], sides[k].text.data + l->start, l->len, e))
			return e->code;
	}
	return 0;
}

static size_t words_of(const struct side *s, size_t line)
{
	return s->lines[line + 1].first - s->lines[line].first;
}

static int make_pair(struct side *sides, uint64_t *state, struct err *e)
{
	size_t one = draw_below(state, sides->n_lines), two = draw_below(state, sides->n_lines);
	bool is_double = (draw(state) & 1023) < TWO_FRAMES;

	for (int k = 0; k < 2; k++)
		if (words_of(&sides[k], one) + words_of(&sides[k], two) > MAX_WORDS)
			is_double = false;
	for (int k = 0; k < 2; k++) {
		struct side *s = &sides[k];

		buf_clear(&s->line);
		if (add_frame(s, one, state, e) || (is_double && add_frame(s, two, state, e)) ||
		    buf_check(&s->line, e) || write_line(s, buf_text(&s->line), s->line.len, e))
			return e->code;
	}
	return 0;
}

static int grow(struct side *sides, char **names, struct err *e)
{
	int64_t pairs = 0, seed = 1;
	uint64_t state;

	if (!text_to_int(names[3], &pairs) || pairs < 1)
		return err_set(e, ERR_USAGE, "\"%s\" is no number of pairs", names[3]);
	if (names[6] && !text_to_int(names[6], &seed))
		return err_set(e, ERR_USAGE, "\"%s\" is no seed", names[6]);
	for (int k = 0; k < 2; k++)
		if (side_read(&sides[k], names[1 + k], e) ||
		    outfile_open(&sides[k].out, names[4 + k], e))
			return e->code;
	if (sides[0].n_lines != sides[1].n_lines)
		return err_set(e, ERR_DATA, "%s has %zu lines, %s has %zu", names[1],
			       sides[0].n_lines, names[2], sides[1].n_lines);
	state = (uint64_t)seed;
	for (size_t i = 0; i < (size_t)pairs; i++)
		if (i < sides->n_lines ? copy_pair(sides, i, e) : make_pair(sides, &state, e))
			return e->code;
	return outfile_commit(&sides[0].out, e) ? e->code : outfile_commit(&sides[1].out, e);
}

int main(int argc, char **argv)
{
	struct side sides[2] = { 0 };
	struct err e = { 0 };
	int rc;

	if (argc < 6 || argc > 7) {
		fputs("usage: grow SOURCE TARGET PAIRS OUT-SOURCE OUT-TARGET [SEED]\n", stderr);
		return 2;
	}
	rc = grow(sides, argv, &e);
	if (rc)
		fprintf(stderr, "grow: %s\n", e.text);
	side_free(&sides[0]);
	side_free(&sides[1]);
	return rc ? 1 : 0;
}
