/* block_words.c - the lines of a block as word numbers (see block_words.h) */
#include "data/prep/block_words.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/line_tags.h"
#include "data/pipeline/pipeline.h"
#include "data/text/chars.h"
#include "data/text/clean.h"
#include "data/words/word_cache.h"
#include "share/base/hash.h"
#include "share/base/lines.h"
#include "share/base/mem.h"
#include "share/base/text.h"

#define SLACK 32 /* zero bytes after a line, which is scanned in steps of 16 bytes */

struct block_reader {
	struct pipeline *pipeline;
	const struct conf *conf;       /* borrowed */
	const struct scripts *scripts; /* borrowed */
	uint32_t writing[2]; /* scripts of each language of the block, by enum pipeline_side */
	bool repair;
	struct buf tokens, clean, squeezed; /* of the current line */
	struct buf tagged;		    /* the current line after its tag */
	struct protect_masked masked;
	struct word_cache *cache; /* owned */
	/*
	 * Unknown words of all blocks of this reader are counted consecutively; the cache holds
	 * ~count for an unknown word. A count below first_unknown belongs to an earlier block: its
	 * number is not known here, so the word is unknown again.
	 */
	int64_t first_unknown;
};

struct block_reader *block_reader_new(const struct conf *c, const struct scripts *s, struct err *e)
{
	struct block_reader *r = mem_alloc(1, sizeof(*r), e);

	if (!r)
		return NULL;
	r->scripts = s;
	r->repair = c->repair;
	r->conf = c;
	r->pipeline = pipeline_open(NULL, c, e);
	r->cache = r->pipeline ? mem_alloc_aligned(1, sizeof(*r->cache), e) : NULL;
	if (r->cache)
		return r;
	block_reader_free(r);
	return NULL;
}

void block_reader_free(struct block_reader *r)
{
	if (!r)
		return;
	pipeline_close(r->pipeline);
	buf_free(&r->tokens);
	buf_free(&r->clean);
	buf_free(&r->squeezed);
	buf_free(&r->tagged);
	protect_masked_free(&r->masked);
	free(r->cache);
	free(r);
}

void block_words_free(struct block_words *w)
{
	free(w->lines);
	free(w->numbers);
	free(w->unknown);
	free(w->of_long);
	buf_free(&w->bytes);
	intern_free(&w->longs);
	*w = (struct block_words){ 0 };
}

/* ---- words ---- */

static int add_unknown(struct block_words *out, const char *text, size_t n, struct err *e)
{
	if (mem_grow(&out->unknown, &out->cap_unknown, out->n_unknown + 1, sizeof(*out->unknown),
		     e))
		return e->code;
	out->unknown[out->n_unknown++] =
		(struct block_word){ .start = out->bytes.len, .len = (uint32_t)n };
	buf_add(&out->bytes, text, n);
	return 0;
}

/* A word that does not fit into the cache: it is unknown in every block. */
static int block_add_long_word(struct block_words *out, const char *text, size_t n, int32_t *number,
			       struct err *e)
{
	int32_t next = out->longs.n, index;

	if (intern_add(&out->longs, text, n, &index, e))
		return e->code;
	if (index == next) {
		if (mem_grow(&out->of_long, &out->cap_longs, (size_t)index + 1,
			     sizeof(*out->of_long), e) ||
		    add_unknown(out, text, n, e))
			return e->code;
		out->of_long[index] = (int32_t)out->n_unknown - 1;
	}
	*number = ~out->of_long[index];
	return 0;
}

static bool fits_cache(const char *text, size_t n)
{
	return n <= WORD_CACHE_BYTES && !memchr(text, 0, n);
}

/* A word whose cache set is being prefetched. */
struct pending_word {
	const char *text;
	size_t n;
	struct word_key key;
	struct word_cache_entry *set; /* NULL: the word does not fit into the cache */
};

static int block_add_short_word(struct block_reader *r, struct block_words *out,
				const struct pending_word *p, int32_t *number, struct err *e)
{
	int64_t next = r->first_unknown + (int64_t)out->n_unknown;
	int64_t *known = word_cache_lookup(p->set, p->key, ~next);

	if (*known < 0 && (~*known < r->first_unknown || ~*known == next)) {
		*known = ~next;
		if (add_unknown(out, p->text, p->n, e))
			return e->code;
	}
	*number = *known < 0 ? (int32_t)(*known + r->first_unknown) : (int32_t)*known;
	return 0;
}

/* The end of the word at text: the next blank, or end. Reads up to 7 bytes past end (SLACK). */
static inline const char *find_word_end(const char *text, const char *end)
{
	const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;

	for (; text < end; text += 8) {
		uint64_t w, found;

		memcpy(&w, text, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		w = __builtin_bswap64(w);
#endif
		w ^= ones * ' ';
		found = (w - ones) & ~w & highs; /* exact up to the first blank */
		if (found) {
			text += __builtin_ctzll(found) / 8;
			break;
		}
	}
	return text < end ? text : end;
}

#define AHEAD 32 /* words whose cache sets are prefetched together */

/* Split off up to AHEAD words at *text, advance *text past them, return their number. */
static int block_split_words(struct block_reader *r, const char **text, const char *end,
			     bool has_nul, struct pending_word *to)
{
	int n = 0;

	for (; *text < end && n < AHEAD; n++) {
		const char *start = *text, *stop = find_word_end(start, end);
		struct pending_word *p = &to[n];

		*p = (struct pending_word){ .text = start, .n = (size_t)(stop - start) };
		if (p->n <= WORD_CACHE_BYTES && (!has_nul || fits_cache(start, p->n))) {
			p->key = word_key(start, p->n);
			p->set = word_cache_set(r->cache, p->key);
		}
		*text = stop + 1;
	}
	return n;
}

/* The words of a clean line: separated by single blanks, none at the ends. */
static int block_add_words(struct block_reader *r, struct block_words *out, const char *text,
			   size_t n, struct token_column_line *l, struct err *e)
{
	const char *end = text + n;
	bool has_nul = n && memchr(text, 0, n);
	struct pending_word words[AHEAD];
	int32_t *to;

	if (mem_grow(&out->numbers, &out->cap_numbers, out->n_numbers + n / 2 + 1,
		     sizeof(*out->numbers), e))
		return e->code;
	to = out->numbers + out->n_numbers;
	while (text < end) {
		int count = block_split_words(r, &text, end, has_nul, words);

		for (const struct pending_word *p = words; p < words + count; p++, to++) {
			/* a word has at most as many characters as bytes */
			if (p->n > l->longest)
				l->longest = (uint32_t)MAX(utf8_count(p->text, p->n), l->longest);
			if (p->set ? block_add_short_word(r, out, p, to, e)
				   : block_add_long_word(out, p->text, p->n, to, e))
				return e->code;
		}
	}
	l->n = (uint32_t)((size_t)(to - out->numbers) - out->n_numbers);
	out->n_numbers += l->n;
	return 0;
}

/* ---- lines ---- */

typedef unsigned char bytes16 __attribute__((vector_size(16)));

static inline bytes16 load_bytes16(const char *p)
{
	bytes16 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline bool is_any(bytes16 v)
{
	uint64_t halves[2];

	memcpy(halves, &v, sizeof(v));
	return halves[0] | halves[1];
}

/* Does a multi-byte blank begin within p ... p + 15? */
static bool has_wide_blank(const char *p, const char *end)
{
	uint32_t c;

	for (const char *stop = MIN(p + 16, end); p < stop; p++)
		if ((unsigned char)*p >= 0xc2) {
			utf8_decode(p, (size_t)(end - p), &c);
			if (chars_is_blank(c))
				return true;
		}
	return false;
}

/*
 * true if clean_squeeze() would not change the line, which holds for nearly all tokenised lines.
 * SLACK zero bytes follow the line. Multi-byte blanks begin with C2, E1, E2 or E3.
 */
static bool is_clean(const char *text, size_t n)
{
	const char *end = text + n;

	if (n && (text[0] == ' ' || end[-1] == ' '))
		return false;
	for (const char *p = text; p < end; p += 16) {
		bytes16 v = load_bytes16(p), next = load_bytes16(p + 1);

		if (is_any((bytes16)(v == '|') | (bytes16)((bytes16)(v - '\t') <= 4) |
			   ((bytes16)(v == ' ') & (bytes16)(next == ' '))))
			return false;
		if (is_any((bytes16)(v == 0xc2) | (bytes16)((bytes16)(v - 0xe1) <= 2)) &&
		    has_wide_blank(p, end))
			return false;
	}
	return true;
}

/* Append zero bytes that do not count as text. */
static void append_zero_padding(struct buf *b)
{
	char *to = buf_reserve(b, SLACK);

	if (to)
		memset(to, 0, SLACK);
}

/* clean_squeeze() for r->tokens, to r->clean, which is empty; the "|" of a protected symbol stays. */
static int block_squeeze(struct block_reader *r, struct err *e)
{
	const struct protect *p = pipeline_protect(r->pipeline);
	struct protect_masked *m = &r->masked;

	if (protect_mask(p, PROTECT_ANYWHERE, buf_text(&r->tokens), r->tokens.len, m, e))
		return e->code;
	if (!m->n) {
		clean_squeeze(m->line, m->n_line, false, &r->clean);
		return 0;
	}
	buf_clear(&r->squeezed);
	clean_squeeze(m->line, m->n_line, false, &r->squeezed);
	return protect_unmask(p, m, buf_text(&r->squeezed), r->squeezed.len, &r->clean, e);
}

/* Letters by script of the raw line; protected symbols have none. */
static int block_count_scripts(struct block_reader *r, enum pipeline_side side,
			       const struct lines *in, struct scripts_count *letters, struct err *e)
{
	if (protect_mask(pipeline_protect(r->pipeline), PROTECT_ANYWHERE, in->text, in->len,
			 &r->masked, e))
		return e->code;
	scripts_count(r->scripts, r->writing[side], r->masked.line, r->masked.n_line, letters);
	return 0;
}

/*
 * Append the tokens of the line to r->tokens, which is empty. A tag takes part in the tokenisation, as it will
 * in translation, but is no token here: prep_pairs.c adds it to the pairs that the rules keep.
 */
static int block_tokenize(struct block_reader *r, enum pipeline_side side, const struct lines *in,
			  const char *tag, struct err *e)
{
	const size_t n_tag = tag ? strlen(tag) : 0;
	const char *text;
	size_t n;

	if (!tag)
		return pipeline_tokenize(r->pipeline, side, in->text, in->len, &r->tokens, e);
	buf_clear(&r->tagged);
	buf_printf(&r->tagged, "%s ", tag);
	buf_add(&r->tagged, in->text, in->len);
	buf_clear(&r->squeezed);
	if (buf_check(&r->tagged, e) ||
	    pipeline_tokenize(r->pipeline, side, r->tagged.data, r->tagged.len, &r->squeezed, e))
		return e->code;
	text = buf_text(&r->squeezed);
	n = r->squeezed.len;
	if (n >= n_tag && !memcmp(text, tag, n_tag)) {
		text += n_tag;
		n -= n_tag;
	}
	buf_add(&r->tokens, text + (n && *text == ' '), n - (n && *text == ' '));
	return buf_check(&r->tokens, e);
}

static int block_add_line(struct block_reader *r, enum pipeline_side side, const struct lines *in,
			  const char *tag, struct block_words *out, struct err *e)
{
	struct buf *clean = &r->tokens;
	struct scripts_count letters;
	struct token_column_line *l;

	if (mem_grow(&out->lines, &out->cap, out->n + 1, sizeof(*out->lines), e))
		return e->code;
	buf_clear(&r->tokens);
	if (block_tokenize(r, side, in, tag, e))
		return e->code;
	append_zero_padding(clean);
	if (!buf_check(clean, e) && !is_clean(clean->data, clean->len)) {
		clean = &r->clean;
		buf_clear(clean);
		if (block_squeeze(r, e))
			return e->code;
		append_zero_padding(clean);
	}
	if (buf_check(clean, e) || block_count_scripts(r, side, in, &letters, e))
		return e->code;
	l = &out->lines[out->n++];
	*l = (struct token_column_line){ .hash = hash_bytes(in->text, in->len),
					 .bytes = (uint32_t)in->len,
					 .characters = (uint32_t)letters.characters,
					 .letters = (uint32_t)letters.letters,
					 .foreign = (uint32_t)letters.foreign };
	return block_add_words(r, out, buf_text(clean), clean->len, l, e);
}

/* Add the numbers of the former contents of w to the cache. */
static void cache_learn_words(struct block_reader *r, const struct block_words *w)
{
	for (size_t i = 0; w->is_numbered && i < w->n_unknown; i++) {
		const struct block_word *u = &w->unknown[i];
		const char *text = w->bytes.data + u->start;
		struct word_key k;

		if (!fits_cache(text, u->len))
			continue;
		k = word_key(text, u->len);
		*word_cache_lookup(word_cache_set(r->cache, k), k, 0) = u->number;
	}
}

int block_reader_words(struct block_reader *r, const struct block *b, const struct source_text *t,
		       struct block_words *out, struct err *e)
{
	enum pipeline_side side = b->text % 2 ? SIDE_TARGET : SIDE_SOURCE;
	const char *tag = t->pair_tag ? t->pair_tag : "";
	const struct pair_languages languages = line_tag_languages(r->conf, tag);
	struct lines in;
	int got;

	r->writing[SIDE_SOURCE] = scripts_of_language(languages.source);
	r->writing[SIDE_TARGET] = scripts_of_language(languages.target);
	pipeline_follow_line(r->pipeline, tag, strlen(tag));
	cache_learn_words(r, out);
	out->n = out->n_numbers = out->n_unknown = 0;
	out->is_numbered = false;
	buf_clear(&out->bytes);
	intern_clear(&out->longs);
	if (lines_open_memory(&in, t->name, b->bytes, b->n, b->first, e))
		return e->code;
	in.repair = r->repair;
	in.has_encoding = true;
	while ((got = lines_next(&in, e)) > 0) {
		if (block_add_line(r, side, &in, t->tag, out, e)) {
			got = e->code;
			break;
		}
	}
	lines_close(&in);
	r->first_unknown += (int64_t)out->n_unknown;
	append_zero_padding(&out->bytes); /* cache_learn_words() reads words in steps of 8 bytes */
	return got < 0 ? got : buf_check(&out->bytes, e);
}

int block_words_number(struct block_words *w, struct intern *table, struct err *e)
{
	assert(!w->is_numbered);
	for (size_t i = 0; i < w->n_unknown; i++)
		if (intern_add(table, w->bytes.data + w->unknown[i].start, w->unknown[i].len,
			       &w->unknown[i].number, e))
			return e->code;
	for (size_t i = 0; i < w->n_numbers; i++)
		if (w->numbers[i] < 0)
			w->numbers[i] = w->unknown[~w->numbers[i]].number;
	w->is_numbered = true;
	return 0;
}

int block_reader_lines(struct block_reader *r, const struct block *b, const struct source_text *t,
		       struct buf *out, struct err *e)
{
	struct lines in;
	int got;

	buf_clear(out);
	if (lines_open_memory(&in, t->name, b->bytes, b->n, b->first, e))
		return e->code;
	in.repair = r->repair;
	in.has_encoding = true;
	while ((got = lines_next(&in, e)) > 0) {
		if (t->tag)
			buf_printf(out, "%s ", t->tag);
		buf_add(out, in.text, in.len);
		buf_add_char(out, '\n');
	}
	lines_close(&in);
	return got < 0 ? got : buf_check(out, e);
}
