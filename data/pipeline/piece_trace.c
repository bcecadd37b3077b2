/* piece_trace.c - splits a line for display: see piece_trace.h */
#include "data/pipeline/piece_trace.h"

#include <stdlib.h>
#include <string.h>

#include "data/text/chars.h"
#include "share/base/file.h"
#include "share/base/mem.h"

struct piece_tracer {
	struct conf conf;
	struct pipeline *tools;		 /* owned */
	struct bpe_codes codes[N_SIDES]; /* read at the first trace */
	bool has_codes[N_SIDES];
	char *folder; /* owned */
	struct buf joined;
};

struct piece_tracer *piece_tracer_open(const char *folder, struct err *e)
{
	struct piece_tracer *s = mem_alloc(1, sizeof(*s), e);
	char *recipe = s ? file_path(e, "%s/recipe.ini", folder) : NULL;

	if (recipe && (s->folder = mem_strdup(folder, e)) && !conf_init(&s->conf, e) &&
	    !conf_load_recipe(&s->conf, recipe, e))
		s->tools = pipeline_open(folder, &s->conf, e);
	free(recipe);
	if (s && s->tools)
		return s;
	piece_tracer_close(s);
	return NULL;
}

void piece_tracer_close(struct piece_tracer *s)
{
	if (!s)
		return;
	pipeline_close(s->tools);
	for (int side = 0; side < N_SIDES; side++)
		bpe_codes_free(&s->codes[side]);
	conf_free(&s->conf);
	buf_free(&s->joined);
	free(s->folder);
	free(s);
}

static int tracer_add_pieces(struct piece_tracer *s, struct line_pieces *out, size_t from,
			     struct err *e)
{
	const struct vocab *v = pipeline_vocab(s->tools, out->side);
	const char *text = buf_text(&out->pieces), *at = text + from, *piece;
	size_t len;

	while ((piece = chars_next_word(&at, text + out->pieces.len, &len)) != NULL) {
		int32_t id = vocab_id(v, piece, len);

		if (mem_grow(&out->piece, &out->cap_pieces, out->n_pieces + 1, sizeof(*out->piece),
			     e))
			return e->code;
		out->piece[out->n_pieces++] = (struct line_piece){ (size_t)(piece - text), len, id,
								   vocab_frequency(v, id) };
	}
	return 0;
}

static int tracer_add_word(struct piece_tracer *s, struct line_pieces *out, size_t start,
			   size_t len, struct err *e)
{
	size_t first = out->n_pieces, from = out->pieces.len;

	if (mem_grow(&out->word, &out->cap_words, out->n_words + 1, sizeof(*out->word), e))
		return e->code;
	if (from)
		buf_add_char(&out->pieces, ' ');
	if (pipeline_word_pieces(s->tools, out->side, buf_text(&out->tokens) + start, len,
				 &out->pieces, e) ||
	    buf_check(&out->pieces, e) || tracer_add_pieces(s, out, from, e))
		return e->code;
	out->word[out->n_words++] = (struct line_word){ start, len, first, out->n_pieces - first };
	return 0;
}

int piece_tracer_encode_line(struct piece_tracer *s, enum pipeline_side side, const char *line,
			     size_t n, struct line_pieces *out, struct err *e)
{
	const char *text, *at, *word;
	size_t len;

	out->side = side;
	out->n_words = out->n_pieces = 0;
	buf_clear(&out->tokens);
	buf_clear(&out->pieces);
	if (pipeline_tokenize(s->tools, side, line, n, &out->tokens, e) ||
	    buf_check(&out->tokens, e))
		return e->code;
	text = at = buf_text(&out->tokens);
	while ((word = chars_next_word(&at, text + out->tokens.len, &len)) != NULL)
		if (tracer_add_word(s, out, (size_t)(word - text), len, e))
			return e->code;
	return 0;
}

static int tracer_read_codes(struct piece_tracer *s, enum pipeline_side side, struct err *e)
{
	struct bpe_codes *codes = &s->codes[side];
	int rc;

	if (s->has_codes[side])
		return 0;
	rc = vocabs_read_merges(codes, s->folder, &s->conf, (int)side,
				pipeline_vocab(s->tools, side), e);
	s->has_codes[side] = !rc;
	if (rc) {
		bpe_codes_free(codes);
		*codes = (struct bpe_codes){ 0 };
	}
	return rc;
}

/* Was the word split at a protected symbol? */
static bool tracer_has_symbol(const struct piece_tracer *s, enum pipeline_side side,
			      const char *word, size_t n)
{
	const struct protect *p = pipeline_protect(s->tools);
	size_t len;

	return protect_is_symbol(p, word, n) ||
	       (pipeline_where(&s->conf, side) == PROTECT_ANYWHERE &&
		protect_find(p, word, n, &len) < n);
}

static int tracer_trace_pieces(const struct line_pieces *out, const struct line_word *word,
			       struct bpe_trace *t, struct err *e)
{
	const struct line_piece *first = &out->piece[word->first], *last = first + word->n - 1;

	return word->n ? bpe_trace_pieces(buf_text(&out->pieces) + first->start,
					  last->start + last->len - first->start, t, e)
		       : bpe_trace_pieces("", 0, t, e);
}

int piece_tracer_trace_word(struct piece_tracer *s, const struct line_pieces *out, size_t w,
			    struct bpe_trace *t, struct err *e)
{
	const struct line_word *word = &out->word[w];
	const char *text = buf_text(&out->tokens) + word->start;
	size_t n = word->len;

	/* a unigram model has no merges */
	if (text_segmentation(&s->conf, (int)out->side) == SEGMENTATION_UNIGRAM ||
	    tracer_has_symbol(s, out->side, text, n))
		return tracer_trace_pieces(out, word, t, e);
	if (tracer_read_codes(s, out->side, e))
		return e->code;
	if (text_segmentation(&s->conf, (int)out->side) == SEGMENTATION_BPE)
		return bpe_trace_word(&s->codes[out->side], BPE_TRACE_SUBWORD_NMT, text, n, t, e);
	/* the normalised characters of the word are those of its pieces */
	buf_clear(&s->joined);
	for (size_t i = word->first; i < word->first + word->n; i++)
		buf_add(&s->joined, buf_text(&out->pieces) + out->piece[i].start,
			out->piece[i].len);
	if (buf_check(&s->joined, e))
		return e->code;
	return bpe_trace_word(&s->codes[out->side], BPE_TRACE_SENTENCEPIECE, buf_text(&s->joined),
			      s->joined.len, t, e);
}

void line_pieces_free(struct line_pieces *out)
{
	buf_free(&out->tokens);
	buf_free(&out->pieces);
	free(out->word);
	free(out->piece);
	*out = (struct line_pieces){ 0 };
}
