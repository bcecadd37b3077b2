/*
 * shard.h - token pairs in one memory-mapped file.
 *
 * (The picture of the bytes stands in shard.c's companion comment below.)
 * Little-endian. Nothing in the file is trusted: shard_open() checks magic,
 * version, byte order, every count against the file's length, that offsets
 * rise, that every id is below the vocabulary, and the checksum.
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

/* Writing: pairs are appended in order to a temporary; finish makes the file appear. */
struct shard_writer;
struct shard_writer *shard_create(const char *path, int32_t vocabulary, const char vocabulary_sha256[HASH_SHA256_HEX], struct err *e);
int  shard_append(struct shard_writer *w, const int32_t *source, int32_t n_source, const int32_t *target, int32_t n_target, struct err *e);
int  shard_finish(struct shard_writer *w, struct err *e);	/* frees w in any case */
void shard_cancel(struct shard_writer *w);			/* frees w, leaves no file */

/* Reading. A damaged file: ERR_DATA naming what is wrong. */
struct shard *shard_open(const char *path, struct err *e);
int64_t shard_pairs(const struct shard *s);
int64_t shard_source_tokens(const struct shard *s);	/* without special tokens */
int64_t shard_target_tokens(const struct shard *s);
int32_t shard_vocabulary(const struct shard *s);	/* entries */
const char *shard_vocabulary_sha256(const struct shard *s);	/* of vocab.tsv; borrowed */
struct shard_pair shard_get(const struct shard *s, int64_t i);
void shard_close(struct shard *s);

#endif
