/*
 * shard.h - token pairs in one memory-mapped file.
 *
 *	byte  0	"WBSHARD\n"		8 bytes
 *	      8	0x01020304		uint32: the byte order of everything below
 *	     12	version, 1		uint32
 *	     16	pairs			int64
 *	     24	source tokens		int64, without special tokens, as are all tokens here
 *	     32	target tokens		int64
 *	     40	vocabulary		int32: entries; every id is below
 *	     44	0			4 bytes
 *	     48	SHA-256 of vocab.tsv	64 hexadecimal digits
 *	    112	SHA-256 of the rest	64 hexadecimal digits: of bytes 176 … end, then of bytes 0 … 111
 *	    176	ids			int32: source, target of pair 0, source, target of pair 1, …
 *		0			4 bytes, when the number of ids is odd
 *		starts			uint64 [2 * pairs + 1]: where each side begins, counted in ids;
 *					the last one is the number of ids
 *
 * The byte order is the writer's (little-endian wherever it is x86 or ARM); a
 * reader with another one refuses. Nothing in the file is trusted: shard_open()
 * checks magic, byte order, version, every count against the file's length,
 * the checksum, that starts rise, and that every id is below the vocabulary.
 */
#ifndef WERKBANK_DATA_SHARD_H
#define WERKBANK_DATA_SHARD_H

#include <stdint.h>

#include "share/base/err.h"
#include "share/base/hash.h"

struct shard;

struct shard_pair {
	const int32_t *source, *target;	/* ids without special tokens; borrowed from the map */
	int32_t n_source, n_target;
};

/*
 * Writing: pairs are appended in order to a temporary; finish makes the file
 * appear. Memory: 16 bytes a pair. After a failed append only cancel helps.
 */
struct shard_writer;
struct shard_writer *shard_create(const char *path, int32_t vocabulary,
				  const char vocabulary_sha256[HASH_SHA256_HEX], struct err *e);
int  shard_append(struct shard_writer *w, const int32_t *source, int32_t n_source,
		  const int32_t *target, int32_t n_target, struct err *e);
int  shard_finish(struct shard_writer *w, struct err *e);	/* frees w in any case */
void shard_cancel(struct shard_writer *w);			/* frees w, leaves no file */

/* Reading. A damaged file: ERR_DATA naming what is wrong. */
struct shard *shard_open(const char *path, struct err *e);
int64_t shard_pairs(const struct shard *s);
int64_t shard_source_tokens(const struct shard *s);	/* without special tokens */
int64_t shard_target_tokens(const struct shard *s);
int32_t shard_vocabulary(const struct shard *s);	/* entries */
const char *shard_vocabulary_sha256(const struct shard *s);	/* of vocab.tsv; borrowed */
struct shard_pair shard_get(const struct shard *s, int64_t i);	/* 0 <= i < pairs */
void shard_close(struct shard *s);

#endif
