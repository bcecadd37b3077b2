/*
 * sp_charsmap.h - SentencePiece's table of normalisation rules: the longest matching rule applies.
 *
 * Its bytes in the normalizer_spec of a model, little-endian:
 *
 *	u32 bytes of the double array | its units, u32 each | texts, each ends with NUL
 *
 * The double array is a trie in the layout of Darts-clone. A node has a base. Its child by byte c
 * is unit base ^ c, if the low byte of that unit is c and bit 31 is clear. The base of the child
 * is the child's index ^ its offset: bits 10 and up, shifted up by 8 more if bit 9 is set. Bit 8
 * set: a rule ends at the child; then unit (base of the child) ^ 0 holds bit 31 and the start of
 * the rule's text. Unit 0 is the root.
 *
 * Files are not trusted: an index out of range ends the search without a match.
 */
#ifndef WERKBANK_DATA_SENTENCEPIECE_SP_CHARSMAP_H
#define WERKBANK_DATA_SENTENCEPIECE_SP_CHARSMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"

struct charsmap {
	uint32_t *units; /* owned: (n_units) */
	size_t n_units;
	char *texts; /* owned: (n_texts), ends with NUL */
	size_t n_texts;
};

/* Copy the table from the bytes of a model. name: of the model, for messages. */
int charsmap_read(struct charsmap *m, const void *bytes, size_t n, const char *name, struct err *e);
void charsmap_free(struct charsmap *m);

/*
 * Bytes of the longest rule that matches the start of text; 0: none. *to (may be NULL): its right
 * side. *needs_lookahead (may be NULL) becomes true if a blank after the n bytes could match a
 * longer rule.
 */
size_t charsmap_match(const struct charsmap *m, const char *text, size_t n, const char **to,
		      bool *needs_lookahead);

struct charsmap_rule {
	const char *from, *to; /* borrowed, without NUL; from is not empty, to may be empty */
	size_t n, n_to;	       /* their bytes */
};

/* Append the bytes of a table of these rules. Sorts rules by from, which must differ. */
int charsmap_build(struct charsmap_rule *rules, size_t n, struct buf *out, struct err *e);

#endif
