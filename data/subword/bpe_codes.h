/*
 * bpe_codes.h - a file of BPE merges, read for applying it.
 *
 *	#version: 0.2			0.1, and files without this line: "</w>" is a symbol of its own
 *	e r</w>				one merge a line, two symbols and a blank; the first line has rank 0
 *
 * Symbols are their strings: where several merges build the same string, that
 * is one symbol.
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
	int32_t rank;	/* of the first line with them */
	int32_t merged; /* the symbol they become */
};

struct bpe_parts {
	int32_t left, right; /* symbols, -1: none */
};

struct bpe_codes {
	bool has_end_symbol;	 /* version 0.1 */
	struct intern symbols;	 /* all strings of the codes and of their merges */
	struct bpe_parts *parts; /* owned: (symbols.n), the merge to take back for each symbol */
	/* private */
	struct bpe_rule *rules; /* owned: (n_rules) */
	size_t n_rules, cap_rules;
	struct hash_index rule_index; /* finds the rule of two symbols */
};

/* Fills a zeroed struct. A damaged file: ERR_DATA with its line. bpe_codes_free() in any case. */
int bpe_codes_read(struct bpe_codes *c, const char *path, struct err *e);

/*
 * The same of a vocabulary that lists a SentencePiece model: symbols are its ids, and two that
 * together are a piece merge to it; the lower its id, the lower the rank. No symbol has a way back.
 */
int bpe_codes_of_vocab(struct bpe_codes *c, const struct vocab *v, struct err *e);

/* The merge of two symbols (-1: a symbol that is in no merge), NULL: there is none. Borrowed. */
const struct bpe_rule *bpe_codes_find(const struct bpe_codes *c, int32_t left, int32_t right);

void bpe_codes_free(struct bpe_codes *c);

#endif
