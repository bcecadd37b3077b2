/*
 * word_ids.h - the token ids of every distinct word of the training texts
 *
 *	byte  0	"WBIDS\n\0\0"		as a uint64: a file of the other byte order is refused
 *	      8	version, 1		uint32
 *	     12	words			uint32
 *	     16	ids			uint64, of all words
 *	     24	ids			int32: of word 0, of word 1, ...
 *		lengths			uint16 [words]: number of ids of each word
 *
 * A word that no kept pair contains has no ids; nor has a word without any piece. The file is
 * untrusted input.
 */
#ifndef WERKBANK_DATA_PREP_WORD_IDS_H
#define WERKBANK_DATA_PREP_WORD_IDS_H

#include <stdint.h>

#include "share/base/err.h"

struct word_ids {
	int32_t n_words;
	uint32_t *start; /* owned: [n_words + 1], ascending */
	int32_t *ids;	 /* owned: word w has ids[start[w]] ... ids[start[w + 1] - 1] */
};

/* Write the file atomically. A word of more than 65,535 ids: ERR_DATA. */
int word_ids_save(const struct word_ids *w, const char *path, struct err *e);

/* Fill a zeroed struct; an id >= vocabulary is ERR_DATA. word_ids_free() it in any case. */
int word_ids_load(struct word_ids *w, const char *path, int32_t vocabulary, struct err *e);
void word_ids_free(struct word_ids *w);

#endif
