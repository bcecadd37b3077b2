/*
 * shard.h - the token ids of sentence pairs, in one memory-mapped file.
 *
 *	byte  0	"WBSHARD\n"		8 bytes
 *	      8	0x01020304		uint32: shows the byte order of the file
 *	     12	version, 2 or 3		uint32: 3 if the sides have a vocabulary each
 *	     16	pairs			int64
 *	     24	source tokens		int64; nowhere with special tokens
 *	     32	target tokens		int64
 *	     40	vocabulary		int32: entries; every id is less. Version 3: of the target
 *	     44	bytes of an id		uint16: 2 for at most 65,536 entries, else 4
 *	     46	bytes of a length	uint16: 2 where no side is longer than 65,535 tokens, else 4
 *	     48	SHA-256 of vocab.tsv	64 hexadecimal digits. Version 3: of vocab.target.tsv
 *	    112	SHA-256 of the rest	64 hexadecimal digits: bytes 176 … end, then 0 … 111
 *	    176	only in version 3:	72 bytes
 *		SHA-256			64 hexadecimal digits: of vocab.source.tsv
 *		source vocabulary	int32: entries; every id of a source is less
 *		0			int32
 *	 176 or 248 ids			uint16 or int32: source, target of pair 0, of pair 1, …
 *		0			bytes up to a multiple of 8
 *		index			uint64 [pairs / 16, rounded up, + 1]: ids before pair 0, 16,
 *					32, …; the last entry is the number of ids
 *		lengths			uint16 or uint32 [2 * pairs]: source, target of each pair
 *
 * So a pair takes 4.5 bytes besides its ids, and is found by adding at most 30 adjacent lengths.
 * The byte order is that of the writer (little-endian on x86 and ARM); shard_open() refuses the
 * other one. Nothing in the file is trusted: shard_open() checks magic, byte order, version, all
 * counts against the length of the file, the checksum, that index and lengths agree and cover all
 * ids, and that every id is less than the size of the vocabulary.
 */
#ifndef WERKBANK_DATA_SHARD_SHARD_H
#define WERKBANK_DATA_SHARD_SHARD_H

#include <stdint.h>

#include "share/base/err.h"
#include "share/base/hash.h"

struct shard;

/*
 * Writing: pairs are appended to a temporary file; shard_finish() renames it. Memory: 8.5 bytes a
 * pair. After a failed shard_append() call shard_cancel().
 */
struct shard_writer;
/* The vocabulary of both sides: its entries and SHA-256. */
struct shard_writer *shard_create(const char *path, int32_t vocabulary,
				  const char vocabulary_sha256[HASH_SHA256_HEX], struct err *e);
/* The vocabularies of the sides: see vocabs.h. The version is 3 if each side has its own. */
struct vocabs;
struct shard_writer *shard_create_sides(const char *path, const struct vocabs *v, struct err *e);
int shard_append(struct shard_writer *w, const int32_t *source, int32_t n_source,
		 const int32_t *target, int32_t n_target, struct err *e);
int shard_finish(struct shard_writer *w, struct err *e); /* frees w in any case */
void shard_cancel(struct shard_writer *w);		 /* frees w, leaves no file */

/* Reading. NULL: failure; ERR_DATA: the file is damaged. */
struct shard *shard_open(const char *path, struct err *e);
int64_t shard_pairs(const struct shard *s);
int64_t shard_source_tokens(const struct shard *s); /* without special tokens */
int64_t shard_target_tokens(const struct shard *s);
int32_t
shard_vocabulary(const struct shard *s); /* entries; of the target if each side has its own */
int32_t shard_own_source_vocabulary(
	const struct shard *s); /* entries of the source's own; 0: it has none */
const char *shard_vocabulary_id(const struct shard *s); /* see text_sides.h; borrowed */
int32_t shard_longest(const struct shard *s);		/* tokens of the longest side of a pair */
/* Of pair i, 0 <= i < pairs: the numbers of tokens; the ids, into arrays with room for them. */
void shard_lengths(const struct shard *s, int64_t i, int32_t *n_source, int32_t *n_target);
void shard_read(const struct shard *s, int64_t i, int32_t *source, int32_t *target);
void shard_close(struct shard *s);

#endif
