/*
 * import_vocabulary.h - the vocabulary of foreign weights: the token of each embedding row.
 *
 * A list of tokens is a JSON array, a JSON object of tokens and their numbers, or text with one token per line and
 * optionally a tab and a count. Token i belongs to row i. (Werkbank's own vocab.tsv: data/words/vocab.h.)
 */
#ifndef WERKBANK_EVAL_IMPORT_IMPORT_VOCABULARY_H
#define WERKBANK_EVAL_IMPORT_IMPORT_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/format/json.h"

/* A list of tokens in the order of their rows. */
struct token_list {
	struct buf text;   /* owned: the file; lines end in NUL */
	struct json *tree; /* owned: of a JSON array, else NULL */
	const char **
		items; /* (n) owned array; texts are in text or tree; NULL: a row without a token */
	size_t n, cap;
};

/* The names of the special tokens, usually </s> <s> <unk>. Padding is <pad> or <blank>. */
struct special_token_names {
	const char *end, *start, *unknown;
	bool may_lack;	   /* the list may lack start and padding: the model does not need them */
	bool may_lack_end; /* and the end: the encoder does not read it */
};

/* Reads a list. Call token_list_close() after a failure too. ERR_DATA: no list of tokens. */
int token_list_open(struct token_list *w, const char *path, struct err *e);
void token_list_close(struct token_list *w);

/*
 * Writes the list as vocab.tsv: special tokens first, all counts 0. (*rows)[i] is the embedding row
 * of token id i, for *n ids, -1 for a special token that the list lacks; the caller frees *rows. ERR_DATA: a
 * special token is missing, or a token has a line end.
 */
int token_list_write(const struct token_list *w, const struct special_token_names *s,
		     const char *path, int32_t **rows, int32_t *n, struct err *e);

#endif
