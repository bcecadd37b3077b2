/*
 * shortlist.h - which target tokens may translate which source tokens, learned from the training
 * pairs, so that decoding need not look at the whole vocabulary.
 *
 *	byte  0	"WBWORDS\n"		8 bytes
 *	      8	0x01020304		uint32: the byte order of everything below
 *	     12	version, 1		uint32
 *	     16	vocabulary		int32: entries; every id is below
 *	     20	frequent		int32: tokens that are always allowed
 *	     24	listed			int64: of all lists together
 *	     32	SHA-256 of vocab.tsv	64 hexadecimal digits
 *	     96	SHA-256 of the rest	64 hexadecimal digits: of bytes 160 … end, then of bytes 0 … 95
 *	    160	frequent		int32 [frequent], rising
 *		start			int32 [vocabulary + 1]: where each token's list begins
 *		lists			int32 [listed], each rising
 *
 * Nothing in the file is trusted: shortlist_open() checks magic, byte order, version, every count
 * against the file's length, the checksum, that the lists follow each other, and every id.
 *
 * Learning: candidates of a source token are the tokens beside which it stands in pairs most often
 * for how often both are there (Dice's coefficient); of them IBM model 1 (Brown et al. 1993, with
 * the empty word) keeps those that it explains best. A token may always stay as it is.
 */
#ifndef WERKBANK_DATA_SHARD_SHORTLIST_H
#define WERKBANK_DATA_SHARD_SHORTLIST_H

#include <stdint.h>

#include "data/shard/shard.h"
#include "share/conf/conf.h"
#include "share/base/err.h"

#define SHORTLIST_FILE	   "shortlist.bin" /* in the folder of a corpus, run or model */
#define SHORTLIST_MAX_EACH 1000		   /* tokens of one list */

struct shortlist;

/*
 * ERR_DATA: a damaged file, or one of another vocabulary than that of this many entries and this
 * SHA-256. NULL: failure.
 */
struct shortlist *shortlist_open(const char *path, int32_t vocabulary, const char *sha256,
				 struct err *e);
void shortlist_close(struct shortlist *s); /* may be NULL */

/* Borrowed, rising. id is in 0 … vocabulary - 1. */
const int32_t *shortlist_frequent(const struct shortlist *s, int32_t *n);
const int32_t *shortlist_of_token(const struct shortlist *s, int32_t id, int32_t *n);

/* What a file is made of; borrowed. */
struct shortlist_parts {
	int32_t vocabulary;
	const char *vocabulary_sha256;
	const int32_t *frequent;
	int32_t n_frequent;
	const int32_t *start; /* (vocabulary + 1) */
	const int32_t *lists; /* (start[vocabulary]) */
};
int shortlist_write(const char *path, const struct shortlist_parts *p, struct err *e);

struct shortlist_options {
	int32_t each, frequent; /* tokens of a list; the most frequent ones, for all */
	int64_t pairs;		/* of the shard, spread evenly over it, at most */
	int32_t rounds;		/* of IBM model 1 */
};

/* Learn from a shard and write. Memory: about 1.6 KB for each token of the vocabulary. */
int shortlist_learn(const struct shard *s, const struct shortlist_options *how, const char *path,
		    struct err *e);

/* The command shortlist. */
int shortlist_command_run(struct conf *c, struct err *e);

#endif
