/*
 * word_ids.h - the token ids of every word of a training text: each word is encoded once.
 *
 *	byte  0	"WBIDS\n"		as a uint64 of 8 bytes, so that a file of the other byte order is refused
 *	      8	version, 1		uint32
 *	     12	words			uint32
 *	     16	ids			uint64, of all words
 *	     24	ids			int32: of word 0, of word 1, …
 *		lengths			uint16 [words]: how many ids each word has
 *
 * A word that no sentence holds any more has none, as has one that consists of
 * nothing a piece is made of. Nothing in the file is trusted.
 */
#ifndef WERKBANK_DATA_PREP_WORD_IDS_H
#define WERKBANK_DATA_PREP_WORD_IDS_H

#include <stdint.h>

#include "share/base/err.h"

struct word_ids {
	int32_t n_words;
	uint32_t *start; /* owned: (n_words + 1) */
	int32_t *ids;	 /* owned: word w has ids[start[w]] … ids[start[w + 1] - 1] */
};

/* Atomically. A word of more than 65,535 ids, or 2^32 ids altogether: ERR_DATA. */
int word_ids_save(const struct word_ids *w, const char *path, struct err *e);

/* Fills a zeroed struct; every id is below vocabulary. word_ids_free() in any case. */
int word_ids_load(struct word_ids *w, const char *path, int32_t vocabulary, struct err *e);
void word_ids_free(struct word_ids *w);

#endif
