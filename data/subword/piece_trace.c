/* split.c - see split.h */
#include "data/subword/piece_trace.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"

struct splitter {
	struct conf conf;
	struct pipeline *tools;		/* owned */
	struct bpe_codes codes;		/* read when first asked for */
	bool has_codes;
	char *folder;			/* owned */
	struct buf joined;
};

struct splitter *splitter_open(const char *folder, struct err *e)
{
	struct splitter *s = mem_alloc(1, sizeof(*s), e);
	char *recipe = s ? file_path(e, "%s/recipe.ini", folder) : NULL;

	if (recipe && (s->folder = mem_strdup(folder, e)) && !conf_init(&s->conf, e) &&
	    !conf_load_recipe(&s->conf, recipe, e))
		s->tools = pipeline_open(folder, &s->conf, e);
	free(recipe);
	if (s && s->tools)
		return s;
	splitter_close(s);
	return NULL;
}

void splitter_close(struct splitter *s)
{
	if (!s)
		return;
	pipeline_close(s->tools);
	bpe_codes_free(&s->codes);
	conf_free(&s->conf);
	buf_free(&s->joined);
	free(s->folder);
	free(s);
}

const struct vocab *splitter_vocab(const struct splitter *s)
{
	return pipeline_vocab(s->tools);
}

bool splitter_is_bpe(const struct splitter *s)
{
	return s->conf.segmentation == SEGMENTATION_BPE;
}

/* The next stretch without blanks from *at on; false: none. */
static bool next_field(const struct buf *b, size_t *at, size_t *start, size_t *len)
{
	const char *text = buf_text(b), *end;

	while (*at < b->len && text[*at] == ' ')
		++*at;
	if (*at >= b->len)
		return false;
	end = memchr(text + *at, ' ', b->len - *at);
	*start = *at;
	*len = (end ? (size_t)(end - text) : b->len) - *at;
	*at += *len;
	return true;
}

static int add_pieces(struct splitter *s, struct split *out, size_t from, struct err *e)
{
	const struct vocab *v = splitter_vocab(s);
	size_t start, len;

	while (next_field(&out->pieces, &from, &start, &len)) {
		int32_t id = vocab_id(v, buf_text(&out->pieces) + start, len);

		if (mem_grow(&out->piece, &out->cap_pieces, out->n_pieces + 1,
			     sizeof(*out->piece), e))
			return e->code;
		out->piece[out->n_pieces++] = (struct split_piece){
			start, len, id, vocab_frequency(v, id) };
	}
	return 0;
}

static int add_word(struct splitter *s, struct split *out, size_t start, size_t len,
		    struct err *e)
{
	size_t first = out->n_pieces, from = out->pieces.len;

	if (mem_grow(&out->word, &out->cap_words, out->n_words + 1, sizeof(*out->word), e))
		return e->code;
	if (from)
		buf_add_char(&out->pieces, ' ');
	if (pipeline_word(s->tools, buf_text(&out->tokens) + start, len, &out->pieces, e) ||
	    buf_check(&out->pieces, e) || add_pieces(s, out, from, e))
		return e->code;
	out->word[out->n_words++] = (struct split_word){ start, len, first,
							 out->n_pieces - first };
	return 0;
}

int splitter_line(struct splitter *s, enum pipeline_side side, const char *line, size_t n,
		  struct split *out, struct err *e)
{
	size_t at = 0, start, len;

	out->n_words = out->n_pieces = 0;
	buf_clear(&out->tokens);
	buf_clear(&out->pieces);
	if (pipeline_tokenize(s->tools, side, line, n, &out->tokens, e) ||
	    buf_check(&out->tokens, e))
		return e->code;
	while (next_field(&out->tokens, &at, &start, &len))
		if (add_word(s, out, start, len, e))
			return e->code;
	return 0;
}

static int read_codes(struct splitter *s, struct err *e)
{
	char *path;
	int rc;

	if (s->has_codes)
		return 0;
	if (splitter_is_bpe(s)) {
		path = file_path(e, "%s/bpe.codes", s->folder);
		rc = path ? bpe_codes_read(&s->codes, path, e) : e->code;
		free(path);
	} else {
		rc = bpe_codes_of_vocab(&s->codes, splitter_vocab(s), e);
	}
	s->has_codes = !rc;
	if (rc) {
		bpe_codes_free(&s->codes);
		s->codes = (struct bpe_codes){ 0 };
	}
	return rc;
}

int splitter_trace(struct splitter *s, const struct split *out, size_t w, struct bpe_trace *t,
		   struct err *e)
{
	const struct split_word *word = &out->word[w];
	const char *text = buf_text(&out->tokens) + word->start;
	size_t n = word->len;

	if (read_codes(s, e))
		return e->code;
	if (splitter_is_bpe(s))
		return bpe_trace_word(&s->codes, BPE_TRACE_SUBWORD_NMT, text, n, t, e);
	/* its characters after normalisation are those of its pieces */
	buf_clear(&s->joined);
	for (size_t i = word->first; i < word->first + word->n; i++)
		buf_add(&s->joined, buf_text(&out->pieces) + out->piece[i].start,
			out->piece[i].len);
	if (buf_check(&s->joined, e))
		return e->code;
	return bpe_trace_word(&s->codes, BPE_TRACE_SENTENCEPIECE, buf_text(&s->joined),
			      s->joined.len, t, e);
}

void split_free(struct split *out)
{
	buf_free(&out->tokens);
	buf_free(&out->pieces);
	free(out->word);
	free(out->piece);
	*out = (struct split){ 0 };
}
