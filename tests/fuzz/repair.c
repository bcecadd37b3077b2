/*
 * repair.c - checksums for mutated inputs; see fuzz.h
 *
 * A reader refuses every mutation whose checksum is wrong, so the code behind the check would never
 * run. These functions write the right one.
 */
#include <stdio.h>
#include <string.h>

#include "share/base/hash.h"
#include "tests/fuzz/fuzz.h"

/*
 * The SHA-256 in hexadecimal digits at byte `at`. It covers the bytes after it, then those before
 * it; see shard.h, shortlist.h.
 */
static void repair_sha256(uint8_t *bytes, size_t n, size_t at)
{
	const size_t rest = at + HASH_SHA256_HEX - 1;
	struct err e = { 0 };
	struct hash *h;
	char hex[HASH_SHA256_HEX];

	if (n < rest)
		return;
	h = hash_new(HASH_SHA256, &e);
	property(h && !hash_add(h, bytes + rest, n - rest, &e) && !hash_add(h, bytes, at, &e) &&
		 !hash_hex(h, hex, &e));
	hash_free(h);
	memcpy(bytes + at, hex, rest - at);
}

void repair_shard(uint8_t *bytes, size_t n)
{
	repair_sha256(bytes, n, 112);
}

void repair_shortlist(uint8_t *bytes, size_t n)
{
	repair_sha256(bytes, n, 96);
}

/* The checksum in the header of each member: the sum of its 512 bytes, itself counted as blanks. */
void repair_archive(uint8_t *bytes, size_t n)
{
	enum { BLOCK = 512, AT = 148, DIGITS = 8, MAGIC = 257 };

	for (size_t at = 0; at + BLOCK <= n; at += BLOCK) {
		unsigned sum = 0;
		char text[DIGITS + 1];

		if (memcmp(bytes + at + MAGIC, "ustar", 5) != 0)
			continue;
		memset(bytes + at + AT, ' ', DIGITS);
		for (size_t i = 0; i < BLOCK; i++)
			sum += bytes[at + i];
		snprintf(text, sizeof(text), "%06o", sum & 0777777);
		memcpy(bytes + at + AT, text, DIGITS - 1);
	}
}
