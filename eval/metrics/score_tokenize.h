/*
 * score_tokenize.h - how text is cut into tokens before it is scored.
 *
 * Equal to sacreBLEU 2.x token for token. 13a is what mteval-v13a.pl of NIST
 * does, intl what mteval-v14.pl does with --international-tokenization, char
 * makes each character a token, none splits at white space only. multi-bleu is
 * for text that was tokenised before, as multi-bleu.perl of Moses takes it: bytes
 * split at white space of ASCII, and lower case of ASCII only.
 */
#ifndef WERKBANK_EVAL_METRICS_SCORE_TOKENIZE_H
#define WERKBANK_EVAL_METRICS_SCORE_TOKENIZE_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"

enum score_tokenizer { SCORE_13A, SCORE_NONE, SCORE_INTL, SCORE_CHAR, SCORE_MULTI_BLEU };

/* As in options.def. */
const char *score_tokenizer_name(enum score_tokenizer t);

/*
 * Scratch memory of the passes, kept between lines; freed by score_scratch_free().
 * Zeroed at first.
 */
struct score_scratch {
	struct buf lowered, a, b;
};

void score_scratch_free(struct score_scratch *s);

/*
 * Append the tokens of a line of well-formed UTF-8 to out, separated by white
 * space (any of unicode_is_space(), any number). Memory running out shows in buf_check(out).
 */
void score_tokenize(enum score_tokenizer t, bool lowercase, const char *line, size_t n,
		    struct score_scratch *s, struct buf *out);

#endif
