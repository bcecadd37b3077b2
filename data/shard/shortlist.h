/*
 * shortlist.h - lexical shortlist: for each source token, its likely translations, so that
 * decoding computes logits for few target tokens only.
 *
 *	byte  0	"WBWORDS\n"		8 bytes
 *	      8	0x01020304		uint32: shows the byte order of the file
 *	     12	version, 1 or 2		uint32: 2 if the sides have a vocabulary each
 *	     16	vocabulary		int32: entries of the target's; every id is less
 *	     20	frequent		int32: number of tokens that are always allowed
 *	     24	listed			int64: number of tokens in all lists
 *	     32	SHA-256 of vocab.tsv	64 hexadecimal digits; version 2: of vocab.target.tsv
 *	     96	SHA-256 of the rest	64 hexadecimal digits: bytes 160 … end, then 0 … 95
 *	    160	only in version 2:	72 bytes
 *		SHA-256			64 hexadecimal digits: of vocab.source.tsv
 *		source vocabulary	int32: entries of the source's
 *		0			int32
 *		frequent		int32 [frequent], rising
 *		start			int32 [entries of the source's vocabulary + 1]: start of
 *					each source token's list in lists
 *		lists			int32 [listed], each rising
 *
 * Nothing in the file is trusted: shortlist_open() checks magic, byte order, version, all counts
 * against the length of the file, the checksum, the order of the lists, and every id.
 *
 * Learning: the candidates of a source token are the target tokens with the highest Dice
 * coefficient, by the numbers of pairs with either token and with both. IBM model 1 (Brown et al.
 * 1993, with the empty word) is trained on the candidates; the most probable ones are kept.
 * With one vocabulary for both sides, each token is in its own list.
 */
#ifndef WERKBANK_DATA_SHARD_SHORTLIST_H
#define WERKBANK_DATA_SHARD_SHORTLIST_H

#include <stdint.h>

#include "data/shard/shard.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

#define SHORTLIST_FILE	   "shortlist.bin" /* in the folder of a corpus, run or model */
#define SHORTLIST_MAX_EACH 1000		   /* tokens of one list */

struct shortlist;

/*
 * NULL: failure. ERR_DATA: the file is damaged, or was learned with other vocabularies than those of
 * this identity (text_sides.h), of which the target's has that many entries.
 */
struct shortlist *shortlist_open(const char *path, int32_t vocabulary, const char *vocabulary_id,
				 struct err *e);
void shortlist_close(struct shortlist *s); /* s may be NULL */

/*
 * Token ids in rising order, borrowed: allowed for all sentences; for source token id, none if the source
 * vocabulary of the file has no such token.
 */
const int32_t *shortlist_frequent(const struct shortlist *s, int32_t *n);
const int32_t *shortlist_of_token(const struct shortlist *s, int32_t id, int32_t *n);

/* The contents of a file; borrowed. */
struct shortlist_parts {
	int32_t vocabulary, own_source_vocabulary; /* own 0: both sides share the vocabulary */
	const char *vocabulary_id;		   /* see text_sides.h */
	const int32_t *frequent;
	int32_t n_frequent;
	const int32_t *start; /* (entries of the source's vocabulary + 1) */
	const int32_t *lists; /* (the last entry of start) */
};
/* Write the file atomically. */
int shortlist_write(const char *path, const struct shortlist_parts *p, struct err *e);

struct shortlist_options {
	int32_t each, frequent; /* tokens of a list at most; tokens that are always allowed */
	int64_t pairs;		/* to learn from at most, spread evenly over the shard */
	int32_t rounds;		/* iterations of IBM model 1 */
};

/* Learn from a shard and write the file. Memory: about 1.6 KB for each token of the vocabulary. */
int shortlist_learn(const struct shard *s, const struct shortlist_options *how, const char *path,
		    struct err *e);

#endif
