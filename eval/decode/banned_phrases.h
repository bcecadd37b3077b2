/*
 * banned_phrases.h - phrases that no translation may contain.
 *
 * A phrase is one or more whole words. The vocabulary can spell a phrase by different pieces; all
 * spellings are banned. A search bans the last token of a spelling once a hypothesis contains the
 * tokens before it (beam_ban_phrases() in beam.h).
 *
 * SentencePiece marks where a word begins, but not where it ends. So a longer word is banned too
 * if its pieces are split where the phrase ends.
 */
#ifndef WERKBANK_EVAL_DECODE_BANNED_PHRASES_H
#define WERKBANK_EVAL_DECODE_BANNED_PHRASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/pipeline/pipeline.h"
#include "share/base/err.h"

struct banned_phrases;

/*
 * A set with the phrases of more (borrowed; NULL: none). Borrows the pipeline until the last
 * phrase is added. Free with banned_phrases_free(). NULL: out of memory.
 */
struct banned_phrases *banned_phrases_new(struct pipeline *p, const struct banned_phrases *more,
					  struct err *e);

/*
 * Adds a phrase: n bytes of raw text of the target language. ERR_DATA: the phrase has no words or
 * is too long.
 */
int banned_phrases_add(struct banned_phrases *f, const char *phrase, size_t n, struct err *e);

/*
 * Do the n tokens, whose first one begins a word, contain a phrase of f (NULL: none)?
 * joins_next: see struct decode_options.
 */
bool banned_phrases_contain(const struct banned_phrases *f, const bool *joins_next,
			    const int32_t *tokens, int32_t n);

void banned_phrases_free(struct banned_phrases *f);

#endif
