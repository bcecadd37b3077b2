/*
 * sp_charsmap.h - SentencePiece's table of normalisation rules: the longest one that fits applies.
 *
 * The bytes, as they stand in the normalizer_spec of a model (little-endian):
 *
 *	u32 bytes of the double array | its units, u32 each | texts, each with a NUL behind it
 *
 * The double array is the one of Darts-clone. A node has a base; its child by
 * byte c is unit base ^ c, when the low byte of that unit is c and bit 31 is
 * clear. The child's base is its own index ^ its offset: bits 10 up, and 8 bits
 * further up when bit 9 is set. With bit 8 set a rule ends there: unit base ^ 0
 * holds bit 31 and where its text begins. Unit 0 is the root.
 *
 * Files are not trusted: an index outside ends the search, as if nothing fitted.
 */
#ifndef WERKBANK_DATA_SUBWORD_SP_CHARSMAP_H
#define WERKBANK_DATA_SUBWORD_SP_CHARSMAP_H

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

/* From the bytes of a model; name: of the model, for messages. */
int charsmap_read(struct charsmap *m, const void *bytes, size_t n, const char *name, struct err *e);
void charsmap_free(struct charsmap *m);

/*
 * Bytes of the longest rule that text begins with, 0: none; its right side through *to (NULL: not
 * wanted).
 * *needs_lookahead, unless NULL, becomes true when a blank behind the n bytes might have made it longer.
 */
size_t charsmap_match(const struct charsmap *m, const char *text, size_t n, const char **to,
		      bool *needs_lookahead);

struct charsmap_rule {
	const char *from, *to; /* borrowed, without NUL inside; from is not empty, to may be */
	size_t n, n_to;	       /* their bytes */
};

/* Append the bytes of a table of these rules; sorts them by from, which must differ. */
int charsmap_build(struct charsmap_rule *rules, size_t n, struct buf *out, struct err *e);

#endif
