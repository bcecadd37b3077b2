/* hash.c - see hash.h */
#include "share/base/hash.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#include "share/base/mem.h"

struct hash {
	EVP_MD_CTX *context;	/* owned */
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
	FILE *f = h ? fopen(path, "rbe") : NULL;
	char *bytes = f ? mem_alloc(chunk, 1, e) : NULL;
	int failed = 0;
	size_t n;

	if (!h)
		return e->code;
	if (!f) {
		failed = err_set_errno(e, ERR_NOINPUT, "%s: cannot be read", path);
		goto out;
	}
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

uint64_t hash_bytes(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t h = 0xCBF29CE484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001B3u;
	/*
	 * FNV's low bits are weak, and tables use the low bits: mix (the finaliser of MurmurHash3).
	 */
	h = (h ^ h >> 33) * 0xFF51AFD7ED558CCDu;
	h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53u;
	return h ^ h >> 33;
}
