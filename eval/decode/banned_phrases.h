/*
 * banned_phrases.h - phrases that must not be in a translation.
 *
 * A phrase is whole words. It can be spelled by the vocabulary's pieces in many ways, and all are
 * forbidden: a phrase is a row of characters, a piece leads from one place in it to a later one,
 * and the last step of every way through it is impossible.
 *
 * With pieces that say where a word begins, and not where it ends (SentencePiece), longer words
 * are forbidden too when they are split where the phrase ends.
 */
#ifndef WERKBANK_EVAL_DECODE_BANNED_PHRASES_H
#define WERKBANK_EVAL_DECODE_BANNED_PHRASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/subword/pipeline.h"
#include "share/base/err.h"

struct banned_phrases;

/*
 * None yet, besides those of more, which may be NULL (borrowed). Borrows the pipeline until the
 * last phrase is added. NULL: failure.
 */
struct banned_phrases *banned_phrases_new(struct pipeline *p, const struct banned_phrases *more,
					  struct err *e);

/* One more phrase, raw text of the target language. ERR_DATA: there are no words in it. */
int banned_phrases_add(struct banned_phrases *f, const char *phrase, size_t n, struct err *e);

/* Does a row of tokens that begins at a word contain a phrase? joins: see decode_options. */
bool banned_phrases_contain(const struct banned_phrases *f, const bool *joins_next,
			    const int32_t *tokens, int32_t n);

void banned_phrases_free(struct banned_phrases *f);

#endif
