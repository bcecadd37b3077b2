/*
 * sp_apply.c - splits text by a SentencePiece model, and joins pieces again: see sp.h
 *
 * The text is normalised, blanks become "▁", and the kind of the model (sp_kind.h) splits it. Where no
 * piece can cross "▁" (can_encode_by_words()), words are split one by one and cached. The scores of a
 * unigram model are rounded sums over the whole line, as in SentencePiece: where rounding could
 * decide between two splits of a word, the word is split again with the score of the line so far.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "data/sentencepiece/sp.h"
#include "data/sentencepiece/sp_kind.h"
#include "data/sentencepiece/sp_lattice.h"
#include "data/sentencepiece/sp_model.h"
#include "data/subword/bpe_line.h"
#include "data/text/chars.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define MAX_MODEL   ((size_t)256 << 20) /* bytes; a larger file is not a model */
#define CACHE_BYTES ((size_t)128 << 20) /* a fuller cache is emptied: input may be endless */
#define CACHE_WORD  256			/* bytes; longer words are not cached */

struct sp {
	struct sp_model model;
	const struct sp_kind *kind;
	void *state;	  /* owned: of the kind */
	bool is_by_words; /* lines can be split word by word: can_encode_by_words() */

	struct intern words; /* the cached words … */
	struct cached {
		size_t start, len;
		size_t scores, n_scores; /* unigram: of its parts */
		float limit;		 /* as in struct sp_split */
		bool needs_lookahead;	 /* its pieces depend on the text after it */
	} * cached;			 /* owned: … and where the pieces of each are in pieces */
	size_t cap_cached;
	struct buf pieces;
	double *scores; /* owned: of the parts of cached words */
	size_t n_scores, cap_scores;

	struct buf normalized; /* work space for one text */
	struct sp_split split;
	struct sp_lattice lattice; /* unigram: of one text */
};

/* ---- opening ---- */

/*
 * Are the pieces of a line those of its words? Yes if the normalizer treats blanks by default,
 * "▁" is a piece, and "▁" occurs in pieces only at their start.
 */
static bool can_encode_by_words(const struct sp_model *m)
{
	const struct sp_normalizer *z = &m->normalizer;
	int32_t space = intern_find(&m->pieces, SP_SPACE, SP_SPACE_BYTES);
	bool needs_lookahead = false;

	if (!z->add_dummy_prefix || !z->remove_extra_whitespaces || !z->escape_whitespaces ||
	    z->is_space_suffix || space < 0 || m->entries[space].type != SP_NORMAL)
		return false;
	if (z->rules.n_units) /* can a rule begin with a blank? */
		charsmap_match(&z->rules, "", 0, NULL, &needs_lookahead);
	if (needs_lookahead)
		return false;
	for (int32_t i = 0; i < m->pieces.n; i++) {
		size_t n;
		const char *text = intern_text(&m->pieces, i, &n);

		if (memchr(text, ' ', n) || memmem(text + 1, n - 1, SP_SPACE, SP_SPACE_BYTES))
			return false;
	}
	return true;
}

struct sp *sp_open_memory(const void *bytes, size_t n, const char *name, struct err *e)
{
	struct sp *s = mem_alloc(1, sizeof(*s), e);

	if (!s || sp_model_read(&s->model, bytes, n, name, e)) {
		free(s);
		return NULL;
	}
	s->kind = s->model.is_unigram ? &sp_unigram_kind : &sp_bpe_kind;
	s->state = s->kind->open(&s->model, e);
	if (!s->state) {
		sp_close(s);
		return NULL;
	}
	s->is_by_words = can_encode_by_words(&s->model);
	return s;
}

struct sp *sp_open(const char *model_path, struct err *e)
{
	struct buf bytes = { 0 };
	struct sp *s = NULL;

	if (!file_read_all(model_path, MAX_MODEL, &bytes, e))
		s = sp_open_memory(buf_text(&bytes), bytes.len, model_path, e);
	buf_free(&bytes);
	return s;
}

bool sp_is_unigram(const struct sp *s)
{
	return s->model.is_unigram;
}

const struct intern *sp_pieces(const struct sp *s)
{
	return &s->model.pieces;
}

static void sp_clear_cache(struct sp *s)
{
	intern_free(&s->words);
	buf_free(&s->pieces);
	free(s->cached);
	s->cached = NULL;
	s->cap_cached = 0;
	s->n_scores = 0;
}

void sp_close(struct sp *s)
{
	if (!s)
		return;
	sp_clear_cache(s);
	if (s->kind)
		s->kind->close(s->state);
	sp_model_free(&s->model);
	free(s->scores);
	buf_free(&s->normalized);
	sp_split_free(&s->split);
	sp_lattice_free(&s->lattice);
	free(s);
}

/* ---- pieces ---- */

static void add_blank(struct buf *out, size_t start)
{
	if (out->len > start)
		buf_add_char(out, ' ');
}

static void sp_add_byte_pieces(struct sp *s, const char *text, size_t n, struct buf *out,
			       size_t start)
{
	for (size_t i = 0; i < n; i++) {
		size_t len;
		const char *piece =
			intern_text(&s->model.pieces, s->model.bytes[(unsigned char)text[i]], &len);

		add_blank(out, start);
		buf_add(out, piece, len);
	}
}

/* Append the pieces of s->split, which are parts of the normalised text. */
static int sp_add_pieces(struct sp *s, struct buf *out, struct err *e)
{
	const char *text = buf_text(&s->normalized);
	size_t start = out->len;
	bool after_unknown = false;

	for (size_t i = 0; i < s->split.n; i++) {
		const struct sp_part *p = &s->split.parts[i];
		bool is_unknown = p->id < 0;

		if (is_unknown && s->model.has_bytes) {
			sp_add_byte_pieces(s, text + p->start, p->n, out, start);
		} else {
			if (!is_unknown || !after_unknown)
				add_blank(out, start);
			buf_add(out, text + p->start, p->n);
		}
		after_unknown = is_unknown;
	}
	return buf_check(out, e);
}

/*
 * Append the pieces of a raw text to out, without the cache. before: the score of the line before it.
 * s->split holds the parts.
 */
static int sp_encode_text(struct sp *s, const char *raw, size_t n, float before, struct buf *out,
			  bool *needs_lookahead, struct err *e)
{
	buf_clear(&s->normalized);
	s->split.n = 0;
	s->split.before = before;
	s->split.limit = INFINITY;
	if (sp_normalize(&s->model.normalizer, raw, n, &s->normalized, needs_lookahead, e))
		return e->code;
	if (!s->normalized.len)
		return 0;
	if (s->kind->split(s->state, s->normalized.data, s->normalized.len, &s->split, e))
		return e->code;
	return sp_add_pieces(s, out, e);
}

static int sp_cache_scores(struct sp *s, struct cached *c, struct err *e)
{
	size_t n = s->model.is_unigram ? s->split.n : 0;

	if (mem_grow(&s->scores, &s->cap_scores, s->n_scores + n, sizeof(*s->scores), e))
		return e->code;
	c->scores = s->n_scores;
	c->n_scores = n;
	for (size_t i = 0; i < n; i++)
		s->scores[s->n_scores++] = s->split.parts[i].score;
	return 0;
}

/* Find the pieces of a word through the cache. *found is valid until the cache is emptied. */
static int sp_find_word(struct sp *s, const char *word, size_t n, struct cached *found,
			struct err *e)
{
	int32_t known = s->words.n, i;

	if (mem_grow(&s->cached, &s->cap_cached, (size_t)known + 1, sizeof(*s->cached), e) ||
	    intern_add(&s->words, word, n, &i, e))
		return e->code;
	if (i == known) {
		struct cached *c = &s->cached[i];

		*c = (struct cached){ .start = s->pieces.len };
		if (sp_encode_text(s, word, n, 0, &s->pieces, &c->needs_lookahead, e) ||
		    sp_cache_scores(s, c, e))
			return e->code;
		c->len = s->pieces.len - c->start;
		c->limit = s->split.limit;
	}
	*found = s->cached[i];
	return 0;
}

/* Split a word without the cache, and add its score to *score. */
static int sp_add_uncached(struct sp *s, const char *word, size_t n, struct buf *out, float *score,
			   bool *needs_lookahead, struct err *e)
{
	if (sp_encode_text(s, word, n, *score, out, needs_lookahead, e))
		return e->code;
	for (size_t i = 0; i < s->split.n; i++)
		*score = (float)(*score + s->split.parts[i].score);
	return 0;
}

/*
 * Append the pieces of a word, and add its score to *score, the score of the line before it. Before the
 * pieces a blank, unless they are the first since start.
 */
static int sp_add_word(struct sp *s, const char *word, size_t n, struct buf *out, size_t start,
		       float *score, bool *needs_lookahead, struct err *e)
{
	size_t before = out->len, behind_blank;
	struct cached found = { .limit = -1 };

	add_blank(out, start);
	behind_blank = out->len;
	if (n <= CACHE_WORD && sp_find_word(s, word, n, &found, e))
		return e->code;
	if (fabsf(*score) <= found.limit) {
		if (found.len)
			buf_add(out, s->pieces.data + found.start, found.len);
		for (size_t i = 0; i < found.n_scores; i++)
			*score = (float)(*score + s->scores[found.scores + i]);
		*needs_lookahead |= found.needs_lookahead;
	} else if (sp_add_uncached(s, word, n, out, score, needs_lookahead, e)) {
		return e->code;
	}
	if (out->len == behind_blank)
		buf_truncate(out, before);
	return 0;
}

/* Split a line word by word. *needs_lookahead: that fails, nothing is appended. */
static int sp_add_words(struct sp *s, const char *line, size_t n, struct buf *out,
			bool *needs_lookahead, struct err *e)
{
	size_t start = out->len, n_word;
	const char *end = line + n, *word;
	float score = 0;

	while ((word = chars_next_word(&line, end, &n_word)) != NULL) {
		if (sp_add_word(s, word, n_word, out, start, &score, needs_lookahead, e))
			return e->code;
		if (*needs_lookahead) {
			buf_truncate(out, start);
			return 0;
		}
	}
	return buf_check(out, e);
}

int sp_apply_line(struct sp *s, const char *line, size_t n, struct buf *out, struct err *e)
{
	bool is_whole = !s->is_by_words;

	if (intern_memory(&s->words) + s->pieces.cap + s->n_scores * sizeof(*s->scores) >
	    CACHE_BYTES)
		sp_clear_cache(s);
	if (!is_whole && sp_add_words(s, line, n, out, &is_whole, e))
		return e->code;
	return is_whole ? sp_encode_text(s, line, n, 0, out, NULL, e) : 0;
}

/* ---- splits of a unigram model that are not the best one ---- */

/* Fill the lattice of a normalised line. *is_empty: the line has no text. */
static int sp_fill_lattice(struct sp *s, const char *line, size_t n, bool *is_empty, struct err *e)
{
	if (!s->model.is_unigram)
		return err_set(e, ERR_CONFIG,
			       "sampling and n-best splits need a unigram model, this is a BPE "
			       "model");
	buf_clear(&s->normalized);
	if (sp_normalize(&s->model.normalizer, line, n, &s->normalized, NULL, e))
		return e->code;
	*is_empty = !s->normalized.len;
	return *is_empty ? 0
			 : sp_lattice_fill(&s->lattice, sp_unigram_table(s->state),
					   s->normalized.data, s->normalized.len, e);
}

int sp_sample_line(struct sp *s, const char *line, size_t n, double theta, size_t n_best,
		   struct rng_key key, struct buf *out, struct err *e)
{
	bool is_empty;
	size_t found;
	double score;

	if (sp_fill_lattice(s, line, n, &is_empty, e))
		return e->code;
	if (is_empty)
		return 0;
	if (n_best <= 1) {
		if (sp_lattice_sample(&s->lattice, theta, key, 0, &s->split, e))
			return e->code;
	} else if (sp_lattice_find_best(&s->lattice, n_best, &found, e) ||
		   sp_lattice_get_best(&s->lattice, sp_lattice_draw_rank(&s->lattice, theta, key),
				       &s->split, &score, e)) {
		return e->code;
	}
	return sp_add_pieces(s, out, e);
}

int sp_best_lines(struct sp *s, const char *line, size_t n, size_t n_best, struct buf *out,
		  struct err *e)
{
	bool is_empty;
	size_t found = 1;
	double score;

	if (sp_fill_lattice(s, line, n, &is_empty, e) ||
	    (!is_empty && sp_lattice_find_best(&s->lattice, n_best, &found, e)))
		return e->code;
	s->split.n = 0;
	for (size_t i = 0; i < found; i++) {
		if (!is_empty && sp_lattice_get_best(&s->lattice, i, &s->split, &score, e))
			return e->code;
		if (sp_add_pieces(s, out, e))
			return e->code;
		buf_add_char(out, '\n');
	}
	return buf_check(out, e);
}

/* ---- back to text ---- */

struct undoing {
	const struct sp_model *m;
	struct buf *out, bytes; /* bytes: of consecutive byte pieces */
	size_t start;
	bool is_at_start; /* no text yet, and no "▁" was removed */
};

static void flush_bytes(struct undoing *u)
{
	utf8_repair(u->out, buf_text(&u->bytes), u->bytes.len);
	buf_clear(&u->bytes);
}

static void undo_piece(struct undoing *u, const char *piece, size_t n)
{
	const struct sp_model *m = u->m;
	const struct sp_normalizer *z = &m->normalizer;
	int32_t id = intern_find(&m->pieces, piece, n);
	enum sp_type type = id < 0 ? SP_UNKNOWN : (enum sp_type)m->entries[id].type;
	const char *space;

	if (type == SP_BYTE) {
		for (int byte = 0; byte < 256; byte++)
			if (m->bytes[byte] == id)
				buf_add_char(&u->bytes, (char)byte);
		return;
	}
	flush_bytes(u);
	if (u->out->len > u->start)
		u->is_at_start = false;
	if (type == SP_CONTROL)
		return;
	if (type == SP_UNKNOWN) {
		if (id >= 0)
			buf_add(u->out, buf_text(&m->unknown_surface), m->unknown_surface.len);
		else
			buf_add(u->out, piece, n);
		return;
	}
	if (u->is_at_start && (z->add_dummy_prefix || z->remove_extra_whitespaces) &&
	    n >= SP_SPACE_BYTES && !memcmp(piece, SP_SPACE, SP_SPACE_BYTES)) {
		piece += SP_SPACE_BYTES;
		n -= SP_SPACE_BYTES;
		u->is_at_start = z->remove_extra_whitespaces;
	}
	while ((space = memmem(piece, n, SP_SPACE, SP_SPACE_BYTES)) != NULL) {
		size_t before = (size_t)(space - piece);

		buf_add(u->out, piece, before);
		buf_add_char(u->out, ' ');
		piece += before + SP_SPACE_BYTES;
		n -= before + SP_SPACE_BYTES;
	}
	buf_add(u->out, piece, n);
}

int sp_undo_line(struct sp *s, const char *line, size_t n, struct buf *out, struct err *e)
{
	struct undoing u = { .m = &s->model, .out = out, .start = out->len, .is_at_start = true };
	const char *end = line + n, *piece;
	size_t n_piece;
	int rc;

	if (s->model.has_denormalizer) {
		buf_clear(&s->normalized);
		u.out = &s->normalized;
		u.start = 0;
	}
	while ((piece = chars_next_word(&line, end, &n_piece)) != NULL)
		undo_piece(&u, piece, n_piece);
	flush_bytes(&u);
	rc = buf_check(&u.bytes, e);
	buf_free(&u.bytes);
	if (!rc)
		rc = buf_check(u.out, e);
	if (!rc && s->model.has_denormalizer)
		rc = sp_normalize(&s->model.denormalizer, buf_text(&s->normalized),
				  s->normalized.len, out, NULL, e);
	return rc;
}
