/*
 * repair.c - checksums for mutated inputs; see fuzz.h
 *
 * A reader refuses every mutation whose checksum is wrong, so the code behind the check would never
 * run. These functions write the right one.
 */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "share/base/crc32c.h"
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
static void repair_tar(uint8_t *bytes, size_t n)
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

/* ---- gzip and zip: CRC-32 of the content, its length behind it ---- */

enum { GZIP_HEAD = 10, GZIP_TAIL = 8, ZIP_HEAD = 30, ZIP_ENTRY = 46, MAX_CONTENT = 1 << 22 };

static const uint8_t gzip_head[GZIP_HEAD] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3 };

static uint32_t get_le(const uint8_t *at, int bytes)
{
	uint32_t value = 0;

	while (bytes-- > 0)
		value = value << 8 | at[bytes];
	return value;
}

static void put_le32(uint8_t *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

/* CRC of what `n` bytes of deflate hold, as far as they are right, and its length. */
static uint32_t crc_of_deflated(const uint8_t *bytes, size_t n, size_t *length)
{
	static unsigned char out[1 << 16];
	z_stream z = { .next_in = (Bytef *)bytes, .avail_in = (uInt)n };
	uLong crc = 0;
	int rc = inflateInit2(&z, -MAX_WBITS); /* no header and trailer of gzip */

	*length = 0;
	while (rc == Z_OK && *length < MAX_CONTENT) {
		size_t got;

		z.next_out = out;
		z.avail_out = sizeof(out);
		rc = inflate(&z, Z_NO_FLUSH); /* Z_BUF_ERROR: no more input */
		got = sizeof(out) - z.avail_out;
		crc = crc32(crc, out, (uInt)got);
		*length += got;
	}
	inflateEnd(&z);
	return (uint32_t)crc;
}

/* Of a file with one member, without a name in its head. */
static void repair_gzip(uint8_t *bytes, size_t n)
{
	size_t length;

	if (n < GZIP_HEAD + GZIP_TAIL || memcmp(bytes, gzip_head, 3) != 0 || bytes[3])
		return;
	put_le32(bytes + n - 8,
		 crc_of_deflated(bytes + GZIP_HEAD, n - GZIP_HEAD - GZIP_TAIL, &length));
	put_le32(bytes + n - 4, (uint32_t)length);
}

/* The entry of the directory that belongs to the member at this byte gets the same CRC. */
static void repair_directory(uint8_t *bytes, size_t n, size_t member, uint32_t crc)
{
	for (size_t at = 0; at + ZIP_ENTRY <= n; at++)
		if (!memcmp(bytes + at, "PK\1\2", 4) && get_le(bytes + at + 42, 4) == member)
			put_le32(bytes + at + 16, crc);
}

static void repair_zip(uint8_t *bytes, size_t n)
{
	for (size_t at = 0; at + ZIP_HEAD <= n; at++) {
		const uint8_t *head = bytes + at;
		size_t from, packed, length;
		uint32_t crc;

		if (memcmp(head, "PK\3\4", 4) != 0)
			continue;
		from = at + ZIP_HEAD + get_le(head + 26, 2) + get_le(head + 28, 2);
		packed = get_le(head + 18, 4);
		if (from > n || packed > n - from)
			continue;
		if (get_le(head + 8, 2) == 0)
			crc = (uint32_t)crc32(0, bytes + from, (uInt)packed);
		else
			crc = crc_of_deflated(bytes + from, packed, &length);
		put_le32(bytes + at + 14, crc);
		repair_directory(bytes, n, at, crc);
	}
}

void repair_archive(uint8_t *bytes, size_t n)
{
	repair_tar(bytes, n);
	repair_gzip(bytes, n);
	repair_zip(bytes, n);
}

/* ---- checkpoints of TensorFlow: the sums of blocks of the index --------- */

static size_t varint_at(const uint8_t *bytes, size_t n, size_t *at)
{
	size_t v = 0;

	for (int shift = 0; *at < n && shift < 28; shift += 7) {
		v |= (size_t)(bytes[*at] & 127) << shift;
		if (bytes[(*at)++] < 128)
			break;
	}
	return v;
}

/* Repairs the block whose handle is at this byte; its entries begin at *begin and have *size bytes. */
static bool repair_block(uint8_t *index, size_t n, size_t handle, size_t *begin, size_t *size)
{
	*begin = varint_at(index, n, &handle);
	*size = varint_at(index, n, &handle);
	if (*begin > n || *size + 5 > n - *begin)
		return false;
	put_le32(index + *begin + *size + 1, crc32c_masked(index + *begin, *size + 1));
	return true;
}

void repair_bundle(uint8_t *bytes, size_t n)
{
	const size_t n_index = n > 2 ? (size_t)(bytes[0] | bytes[1] << 8) : 0;
	uint8_t *index = bytes + 2;
	size_t at = n_index - 48, begin, size, block, n_block;

	if (n_index < 48 || n_index > n - 2)
		return;
	varint_at(index, n_index, &at);
	varint_at(index, n_index, &at);
	if (!repair_block(index, n_index, at, &begin, &size))
		return;
	for (at = begin; at < begin + size;) {
		size_t other, value;

		varint_at(index, n_index, &at);
		other = varint_at(index, n_index, &at);
		value = varint_at(index, n_index, &at);
		at += other;
		repair_block(index, n_index, at, &block, &n_block);
		at += value;
	}
}
