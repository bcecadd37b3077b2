/*
 * piece_trie.h - a trie of pieces: finds all pieces that begin at a position of a text.
 *
 * A double array (Aoe 1989): the child of a node by byte c is unit base + c, if the check of that unit is
 * the node. A step costs one access to memory.
 */
#ifndef WERKBANK_DATA_SENTENCEPIECE_PIECE_TRIE_H
#define WERKBANK_DATA_SENTENCEPIECE_PIECE_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

#define PIECE_TRIE_ROOT 0

struct piece_trie {
	struct piece_unit {
		uint32_t base, check;
		int32_t id; /* of the piece that ends here; -1: none */
	} * units;	    /* owned: (n_units); every base + 255 is below n_units */
	size_t n_units, cap_units;
};

struct piece_key {
	const char *text; /* borrowed, not empty */
	uint32_t n;	  /* bytes */
	int32_t id;	  /* not negative */
};

/* Order of keys: by bytes. For qsort(). */
int piece_key_compare(const void *a, const void *b);

/* Build *t (empty before) of n distinct keys in the order of piece_key_compare(). */
int piece_trie_build(struct piece_trie *t, const struct piece_key *keys, size_t n, struct err *e);
void piece_trie_free(struct piece_trie *t);

/* Go from *node to its child by byte c. false: no piece continues so. */
static inline bool piece_trie_step(const struct piece_trie *t, uint32_t *node, unsigned char c)
{
	const uint32_t at = t->units[*node].base + c;

	if (t->units[at].check != *node)
		return false;
	*node = at;
	return true;
}

#endif
