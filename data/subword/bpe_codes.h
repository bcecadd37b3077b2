/*
 * bpe_codes.h - reads a file of BPE merges and finds the rule for two symbols.
 *
 *	#version: 0.2		0.1, and files without this line: "</w>" is a separate symbol
 *	e r</w>			one merge a line, two symbols and a blank; the first line has rank 0
 *
 * A symbol is its string: where several merges build the same string, they build the same symbol.
 */
#ifndef WERKBANK_DATA_SUBWORD_BPE_CODES_H
#define WERKBANK_DATA_SUBWORD_BPE_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/words/intern.h"
#include "data/words/vocab.h"
#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/hash_index.h"

struct bpe_rule {
	uint64_t key;	/* the two symbols */
	int32_t rank;	/* number of the first line with them, from 0 */
	int32_t merged; /* the symbol they become */
};

struct bpe_parts {
	int32_t left, right; /* symbols, -1: none */
};

struct bpe_codes {
	bool has_end_symbol;   /* version 0.1 */
	struct intern symbols; /* all strings of the codes and of their merges */
	struct bpe_parts
		*parts; /* owned: (symbols.n) the two symbols that were merged to each symbol */
	/* private */
	struct bpe_rule *rules; /* owned: (n_rules) */
	size_t n_rules, cap_rules;
	struct hash_index rule_index; /* finds the rule of two symbols */
};

/* Fills a zeroed struct. A damaged file: ERR_DATA with its line. bpe_codes_free() in any case. */
int bpe_codes_read(struct bpe_codes *c, const char *path, struct err *e);

/*
 * The rules of a SentencePiece model, from its vocabulary. Symbols are ids. Two symbols merge
 * where their joined string is a piece; the rank is the id of that piece. All parts are -1: no
 * merge can be undone. Fills a zeroed struct.
 */
int bpe_codes_of_vocab(struct bpe_codes *c, const struct vocab *v, struct err *e);

/* The rule of two symbols (-1: a symbol in no merge); NULL: they do not merge. Borrowed. */
const struct bpe_rule *bpe_codes_find(const struct bpe_codes *c, int32_t left, int32_t right);

void bpe_codes_free(struct bpe_codes *c);

#endif
