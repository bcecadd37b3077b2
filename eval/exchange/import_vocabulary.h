/*
 * import_vocabulary.h - the vocabulary of foreign weights: which row of their table is which token.
 *
 * Understood: vocab.tsv of ours (data/words/vocab.h), a JSON array of tokens, and text with a token a
 * line, with a tab and a count behind it or not; both of the latter in the order of the rows.
 */
#ifndef WERKBANK_EVAL_EXCHANGE_IMPORT_VOCABULARY_H
#define WERKBANK_EVAL_EXCHANGE_IMPORT_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/json.h"

/* A list of tokens in the order of their rows. */
struct token_list {
	struct buf text;    /* owned: lines are cut in it */
	struct json *tree;  /* owned: of an array */
	const char **items; /* (n) owned; point into one of the two */
	size_t n, cap;
};

/* What the special tokens are called. */
struct special_token_names {
	/* usually </s> <s> <unk>; that of padding is <pad> or <blank> */
	const char *end, *start, *unknown;
};

/* token_list_close() in any case. ERR_DATA: not such a list. */
int token_list_open(struct token_list *w, const char *path, struct err *e);
void token_list_close(struct token_list *w);

/*
 * Write them as vocab.tsv: special tokens first, counts 0. (*rows)[i], owned by the caller, is the
 * row of the token that has id i there, for *n ids. ERR_DATA: a special token is missing, or a
 * token cannot be in a vocabulary.
 */
int token_list_write(const struct token_list *w, const struct special_token_names *s,
		     const char *path, int32_t **rows, int32_t *n, struct err *e);

#endif
