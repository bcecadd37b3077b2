/* hash.c - see hash.h */
#include "share/base/hash.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"

struct hash {
	EVP_MD_CTX *context; /* owned */
};

struct hash *hash_new(enum hash_kind kind, struct err *e)
{
	struct hash *h = mem_alloc(1, sizeof(*h), e);

	if (!h)
		return NULL;
	h->context = EVP_MD_CTX_new();
	if (!h->context ||
	    !EVP_DigestInit_ex(h->context, kind == HASH_MD5 ? EVP_md5() : EVP_sha256(), NULL)) {
		err_set(e, ERR_UNAVAILABLE, "the crypto library refuses %s",
			kind == HASH_MD5 ? "MD5" : "SHA-256");
		hash_free(h);
		return NULL;
	}
	return h;
}

int hash_add(struct hash *h, const void *bytes, size_t n, struct err *e)
{
	if (!EVP_DigestUpdate(h->context, bytes, n))
		return err_set(e, ERR_INTERNAL, "the crypto library failed to add to a hash");
	return 0;
}

int hash_hex(struct hash *h, char *hex, struct err *e)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned int n;

	if (!EVP_DigestFinal_ex(h->context, sum, &n) || 2 * n >= HASH_SHA256_HEX)
		return err_set(e, ERR_INTERNAL, "the crypto library failed to finish a hash");
	for (unsigned int i = 0; i < n; i++) {
		*hex++ = digits[sum[i] >> 4];
		*hex++ = digits[sum[i] & 15];
	}
	*hex = 0;
	return 0;
}

void hash_free(struct hash *h)
{
	if (h)
		EVP_MD_CTX_free(h->context);
	free(h);
}

int hash_file(const char *path, char hex[HASH_SHA256_HEX], struct err *e)
{
	static const size_t chunk = 1 << 18;
	struct hash *h = hash_new(HASH_SHA256, e);
	FILE *f = h ? file_open_stream(path, e) : NULL;
	char *bytes = f ? mem_alloc(chunk, 1, e) : NULL;
	int failed = 0;
	size_t n;

	if (!h)
		return e->code;
	if (!bytes) {
		failed = e->code;
		goto out;
	}
	while (!failed && (n = fread(bytes, 1, chunk, f)) > 0)
		failed = hash_add(h, bytes, n, e);
	if (!failed && ferror(f))
		failed = err_set_errno(e, ERR_IO, "%s: cannot be read", path);
	if (!failed)
		failed = hash_hex(h, hex, e);
out:
	if (f)
		fclose(f);
	free(bytes);
	hash_free(h);
	return failed;
}

int hash_file_within(const char *path, int64_t limit, char hex[HASH_SHA256_HEX], struct err *e)
{
	if (file_size(path) > limit)
		return err_set(e, ERR_DATA, "%s is damaged: it is larger than %lld bytes", path,
			       (long long)limit);
	return hash_file(path, hex, e);
}

/* ---- the fast hash ---- */

static inline uint64_t load_little_endian(const unsigned char *p, size_t n)
{
	uint64_t w = 0;

	memcpy(&w, p, n);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	w = __builtin_bswap64(w);
#endif
	return w;
}

/* XOR of both halves of the product: every bit of a and b counts (as in wyhash, Wang Yi 2019). */
static inline uint64_t fold_product(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_bytes(const void *bytes, size_t n)
{
	const uint64_t k = 0x9E3779B97F4A7C15u, l = 0xC2B2AE3D27D4EB4Fu, m = 0xD6E8FEB86659FD93u;
	const unsigned char *p = bytes, *end = p + n;
	uint64_t h = fold_product(n ^ k, m), a = 0, b = 0;

	for (; end - p > 16; p += 16)
		h = fold_product(load_little_endian(p, 8) ^ k, load_little_endian(p + 8, 8) ^ h) +
		    l;
	if (end - p >= 8) {
		a = load_little_endian(p, 8);
		b = load_little_endian(end - 8, 8);
	} else if (end - p >= 4) {
		a = load_little_endian(p, 4);
		b = load_little_endian(end - 4, 4);
	} else if (end > p) {
		a = (uint64_t)p[0] << 16 | (uint64_t)p[(end - p) / 2] << 8 | end[-1];
	}
	return fold_product(fold_product(a ^ k, b ^ h) ^ l, m ^ h);
}
