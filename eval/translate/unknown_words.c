/* unknown_words.c - see unknown_words.h */
#include "eval/translate/unknown_words.h"

#include <stdlib.h>
#include <string.h>

#include "data/pipeline/pipeline.h"
#include "data/text/chars.h"
#include "share/base/mem.h"

static bool has_unknown(const struct decode_hypothesis *y)
{
	for (int32_t i = 0; i < y->n; i++)
		if (y->tokens[i] == TOKEN_UNKNOWN)
			return true;
	return false;
}

/* Sets the pieces of the prefix that are unknown. pieces: separated by blanks. */
static int set_prefix_words(const struct engine *g, const struct decode_hypothesis *y,
			    const char *pieces, size_t n, char **words, struct err *e)
{
	const int32_t first = pipeline_first_token(g->pipeline, SIDE_TARGET);
	int32_t at = y->n && first != TOKEN_PAD && y->tokens[0] == first;
	const char *end = pieces + n, *piece;
	size_t n_piece;

	for (; (piece = chars_next_word(&pieces, end, &n_piece)) != NULL && at < y->n; at++) {
		if (y->tokens[at] != TOKEN_UNKNOWN)
			continue;
		words[at] = mem_alloc(n_piece + 1, 1, e);
		if (!words[at])
			return e->code;
		memcpy(words[at], piece, n_piece);
	}
	return 0;
}

static int find_prefix_words(const struct engine *g, const struct engine_line *line,
			     const struct decode_hypothesis *y, char **words, struct err *e)
{
	struct buf tokens = { 0 }, pieces = { 0 };
	int rc = pipeline_tokenize(g->pipeline, SIDE_TARGET, line->prefix, line->n_prefix, &tokens,
				   e);

	if (!rc)
		rc = pipeline_word_pieces(g->pipeline, SIDE_TARGET, buf_text(&tokens), tokens.len,
					  &pieces, e);
	if (!rc)
		rc = buf_check(&pieces, e);
	if (!rc)
		rc = set_prefix_words(g, y, buf_text(&pieces), pieces.len, words, e);
	buf_free(&tokens);
	buf_free(&pieces);
	return rc;
}

char *unknown_words_text(const struct engine *g, const struct engine_line *line,
			 const struct engine_translation *t, int32_t h, struct err *e)
{
	const struct decode_hypothesis *y = &t->result.hypotheses[h];
	struct buf text = { 0 };
	char **words, *raw = NULL;
	int rc;

	if (!line->n_prefix || !has_unknown(y))
		return engine_text_of(g, y->tokens, y->n, e);
	words = mem_alloc((size_t)y->n, sizeof(*words), e);
	if (!words)
		return NULL;
	rc = find_prefix_words(g, line, y, words, e);
	if (!rc && !pipeline_decode_words(g->pipeline, SIDE_TARGET, y->tokens, (size_t)y->n, words,
					  &text, e)) {
		buf_add(&text, "", 0);
		raw = buf_detach(&text, e);
	}
	buf_free(&text);
	for (int32_t i = 0; i < y->n; i++)
		free(words[i]);
	free(words);
	return raw;
}
