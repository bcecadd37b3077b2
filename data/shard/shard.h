/*
 * shard.h - token pairs in one memory-mapped file.
 *
 *	byte  0	"WBSHARD\n"		8 bytes
 *	      8	0x01020304		uint32: the byte order of everything below
 *	     12	version, 2		uint32
 *	     16	pairs			int64
 *	     24	source tokens		int64, without special tokens, as are all tokens here
 *	     32	target tokens		int64
 *	     40	vocabulary		int32: entries; every id is below
 *	     44	bytes of an id		uint16: 2 where the vocabulary has at most 65,536 entries, else 4
 *	     46	bytes of a length	uint16: 2 where no side is longer than 65,535 tokens, else 4
 *	     48	SHA-256 of vocab.tsv	64 hexadecimal digits
 *	    112	SHA-256 of the rest	64 hexadecimal digits: of bytes 176 … end, then of bytes 0 … 111
 *	    176	ids			uint16 or int32: source, target of pair 0, source, target of pair 1, …
 *		0			bytes up to a multiple of 8
 *		index			uint64 [pairs / 16, rounded up, + 1]: how many ids come before pairs
 *					0, 16, 32, …; the last one is the number of ids
 *		lengths			uint16 or uint32 [2 * pairs]: of source, target of each pair
 *
 * So a pair takes 4.5 bytes beside its ids, and is found by adding at most 30
 * lengths that lie side by side. The byte order is the writer's (little-endian
 * wherever it is x86 or ARM); a reader with another one refuses. Nothing in the
 * file is trusted: shard_open() checks magic, byte order, version, every count
 * against the file's length, the checksum, that index and lengths agree and
 * cover all ids, and that every id is below the vocabulary.
 */
#ifndef WERKBANK_DATA_SHARD_SHARD_H
#define WERKBANK_DATA_SHARD_SHARD_H

#include <stdint.h>

#include "share/base/err.h"
#include "share/base/hash.h"

struct shard;

/*
 * Writing: pairs are appended in order to a temporary; finish makes the file
 * appear. Memory: 8.5 bytes a pair. After a failed append only cancel helps.
 */
struct shard_writer;
struct shard_writer *shard_create(const char *path, int32_t vocabulary,
				  const char vocabulary_sha256[HASH_SHA256_HEX], struct err *e);
int shard_append(struct shard_writer *w, const int32_t *source, int32_t n_source,
		 const int32_t *target, int32_t n_target, struct err *e);
int shard_finish(struct shard_writer *w, struct err *e); /* frees w in any case */
void shard_cancel(struct shard_writer *w);		 /* frees w, leaves no file */

/* Reading. A damaged file: ERR_DATA naming what is wrong. */
struct shard *shard_open(const char *path, struct err *e);
int64_t shard_pairs(const struct shard *s);
int64_t shard_source_tokens(const struct shard *s); /* without special tokens */
int64_t shard_target_tokens(const struct shard *s);
int32_t shard_vocabulary(const struct shard *s);	    /* entries */
const char *shard_vocabulary_sha256(const struct shard *s); /* of vocab.tsv; borrowed */
int32_t shard_longest(const struct shard *s); /* tokens of the longest side of any pair */
/* Of pair 0 <= i < pairs: its tokens, and the ids themselves into arrays with room for them. */
void shard_lengths(const struct shard *s, int64_t i, int32_t *n_source, int32_t *n_target);
void shard_read(const struct shard *s, int64_t i, int32_t *source, int32_t *target);
void shard_close(struct shard *s);

#endif
