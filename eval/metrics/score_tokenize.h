/*
 * score_tokenize.h - splits text into tokens for scores, exactly like sacreBLEU 2.x.
 *
 *	13a		as mteval-v13a.pl of NIST
 *	intl		as mteval-v14.pl of NIST with --international-tokenization
 *	zh		each Chinese character is a token, other text as 13a without entities
 *	char		each character is a token
 *	none		splits at white space only
 *	auto		the one that fits the target language
 *	multi-bleu	for tokenised text, as multi-bleu.perl of Moses: bytes, split at ASCII
 *			white space; lower case changes ASCII letters only
 */
#ifndef WERKBANK_EVAL_METRICS_SCORE_TOKENIZE_H
#define WERKBANK_EVAL_METRICS_SCORE_TOKENIZE_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/conf/conf.h"

enum score_tokenizer {
	SCORE_AUTO, /* see score_tokenizer_of(); not for the functions below */
	SCORE_13A,
	SCORE_NONE,
	SCORE_INTL,
	SCORE_CHAR,
	SCORE_MULTI_BLEU,
	SCORE_ZH
};

/* The tokenizer that fits a language, by its code: "zh", "zh-TW", "jpn" … */
enum score_tokenizer score_tokenizer_for(const char *language);
/* The tokenizer of the options; auto: that of the language. */
enum score_tokenizer score_tokenizer_of_language(const struct conf *c, const char *language);
/* The same for the target language. */
enum score_tokenizer score_tokenizer_of(const struct conf *c);

/* The name of the tokenizer in options.def; a constant. */
const char *score_tokenizer_name(enum score_tokenizer t);

/* Scratch memory, reused for all lines. Zeroed before use; score_scratch_free() frees it. */
struct score_scratch {
	struct buf lowered, a, b;
};

void score_scratch_free(struct score_scratch *s);

/*
 * Appends the tokens of a line of well-formed UTF-8 to out, separated by one or more white-space
 * characters (unicode_space()). The caller checks for lack of memory with buf_check(out).
 */
void score_tokenize(enum score_tokenizer t, bool lowercase, const char *line, size_t n,
		    struct score_scratch *s, struct buf *out);

#endif
