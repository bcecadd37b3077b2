/*
 * hash.h - SHA-256 (through OpenSSL) for files, MD5 for published checksums, and a fast 64-bit hash.
 */
#ifndef WERKBANK_SHARE_BASE_HASH_H
#define WERKBANK_SHARE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

#define HASH_SHA256_HEX 65 /* bytes of a text form, with its NUL */
#define HASH_MD5_HEX	33

struct hash; /* state of an unfinished hash */

enum hash_kind { HASH_SHA256, HASH_MD5 };

struct hash *hash_new(enum hash_kind kind, struct err *e); /* NULL: failure */
int hash_add(struct hash *h, const void *bytes, size_t n, struct err *e);
/* Write the hash in lower-case hexadecimal; hex has HASH_SHA256_HEX bytes. */
int hash_hex(struct hash *h, char *hex, struct err *e);
void hash_free(struct hash *h);

/* SHA-256 of a whole file. */
int hash_file(const char *path, char hex[HASH_SHA256_HEX], struct err *e);

/* The same, but ERR_DATA if the file is larger than limit bytes: a sparse file of terabytes takes hours. */
int hash_file_within(const char *path, int64_t limit, char hex[HASH_SHA256_HEX], struct err *e);
#define HASH_PIECES_LIMIT                                                                          \
	((int64_t)1 << 30) /* of vocabularies, codes and shortlists, as their readers have */

/*
 * A fast hash for tables, and for files that only the same version reads. Equal on all machines,
 * but another version may compute another value.
 */
uint64_t hash_bytes(const void *bytes, size_t n);

#endif
