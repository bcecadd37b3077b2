/* shortlist.c - writes, reads and checks shortlist files: see shortlist.h */
#include "data/shard/shortlist.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "data/shard/token_batch.h"
#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/mem.h"

#define MAGIC		"WBWORDS\n"
#define BYTE_ORDER_MARK 0x01020304u
#define VERSION		1 /* both sides share a vocabulary */
#define VERSION_SIDES	2 /* each side has its own */
#define HEX_DIGITS	64
#define LIMIT		((size_t)1 << 30) /* bytes of a file, at most */

struct shortlist_header {
	char magic[8];
	uint32_t order, version;
	int32_t vocabulary, frequent;
	int64_t listed;
	char vocabulary_sha256[HEX_DIGITS];
	char checksum[HEX_DIGITS];
};

#define CHECKED_HEADER offsetof(struct shortlist_header, checksum)

/* Follows the header in a file of version VERSION_SIDES. */
struct shortlist_source {
	char vocabulary_sha256[HEX_DIGITS];
	int32_t vocabulary, zero;
};

struct shortlist {
	struct buf file; /* owned */
	struct shortlist_header header;
	char vocabulary_id[2 * HEX_DIGITS + 1];
	int32_t sources;			 /* entries of the vocabulary of the source */
	const int32_t *frequent, *start, *lists; /* in the file */
};

/* SHA-256 of the bytes after skip, then of the header before its checksum. */
static int shortlist_checksum(const struct shortlist_header *h, const struct buf *rest, size_t skip,
			      char hex[HASH_SHA256_HEX], struct err *e)
{
	struct hash *sum = hash_new(HASH_SHA256, e);
	int rc = sum ? hash_add(sum, rest->data + skip, rest->len - skip, e) : e->code;

	if (!rc)
		rc = hash_add(sum, h, CHECKED_HEADER, e);
	if (!rc)
		rc = hash_hex(sum, hex, e);
	hash_free(sum);
	return rc;
}

int shortlist_write(const char *path, const struct shortlist_parts *p, struct err *e)
{
	const bool is_separate = p->own_source_vocabulary != 0;
	const int32_t sources = is_separate ? p->own_source_vocabulary : p->vocabulary;
	struct shortlist_header h = { .magic = MAGIC,
				      .order = BYTE_ORDER_MARK,
				      .version = is_separate ? VERSION_SIDES : VERSION,
				      .vocabulary = p->vocabulary,
				      .frequent = p->n_frequent,
				      .listed = p->start[sources] };
	struct shortlist_source source = { .vocabulary = sources };
	char hex[HASH_SHA256_HEX];
	struct buf b = { 0 };
	int rc;

	memcpy(source.vocabulary_sha256, p->vocabulary_id, HEX_DIGITS);
	memcpy(h.vocabulary_sha256, p->vocabulary_id + (is_separate ? HEX_DIGITS : 0), HEX_DIGITS);
	buf_add(&b, &h, sizeof(h));
	if (is_separate)
		buf_add(&b, &source, sizeof(source));
	buf_add(&b, p->frequent, (size_t)p->n_frequent * sizeof(*p->frequent));
	buf_add(&b, p->start, ((size_t)sources + 1) * sizeof(*p->start));
	buf_add(&b, p->lists, (size_t)h.listed * sizeof(*p->lists));
	rc = buf_check(&b, e);
	if (!rc)
		rc = shortlist_checksum(&h, &b, sizeof(h), hex, e);
	if (!rc) {
		memcpy(b.data + offsetof(struct shortlist_header, checksum), hex, HEX_DIGITS);
		rc = file_write_all(path, b.data, b.len, e);
	}
	buf_free(&b);
	return rc;
}

/* ---- reading ----------------------------------------------------------- */

static int shortlist_damaged_error(const char *path, const char *why, struct err *e)
{
	return err_set(e, ERR_DATA, "%s: damaged, or no lexical shortlist: %s", path, why);
}

/* Bytes before the lists. */
static size_t shortlist_lists_at(const struct shortlist_header *h)
{
	return sizeof(*h) + (h->version == VERSION_SIDES ? sizeof(struct shortlist_source) : 0);
}

static int shortlist_check_header(const char *path, const struct shortlist *s, struct err *e)
{
	const struct shortlist_header *h = &s->header;
	uint64_t ints;

	if (memcmp(h->magic, MAGIC, sizeof(h->magic)) != 0)
		return shortlist_damaged_error(path, "it does not begin with WBWORDS", e);
	if (h->order == BYTE_ORDER_MARK && h->version > VERSION_SIDES)
		return err_set(
			e, ERR_DATA,
			"%s: shortlist version %u, this Werkbank reads versions up to %d: use "
			"the Werkbank that wrote it, or a newer one",
			path, h->version, VERSION_SIDES);
	if (h->order != BYTE_ORDER_MARK || h->version < VERSION)
		return err_set(e, ERR_DATA,
			       "%s: a shortlist of another version or byte order: learn the "
			       "shortlist again",
			       path);
	if (h->vocabulary < N_SPECIAL_TOKENS || s->sources < N_SPECIAL_TOKENS || h->frequent < 0 ||
	    h->frequent > h->vocabulary || h->listed < 0 ||
	    h->listed > (int64_t)s->sources * SHORTLIST_MAX_EACH || h->listed > INT32_MAX)
		return shortlist_damaged_error(path, "a count is out of range", e);
	ints = (uint64_t)h->frequent + (uint64_t)s->sources + 1 + (uint64_t)h->listed;
	if (s->file.len != shortlist_lists_at(h) + ints * sizeof(int32_t))
		return shortlist_damaged_error(path, "its length does not agree with its counts",
					       e);
	return 0;
}

/* Are the ids in rising order, and all real tokens? */
static bool is_rising_token_list(const int32_t *ids, int64_t n, int32_t vocabulary)
{
	for (int64_t i = 0; i < n; i++)
		if (ids[i] < N_SPECIAL_TOKENS || ids[i] >= vocabulary ||
		    (i > 0 && ids[i] <= ids[i - 1]))
			return false;
	return true;
}

static int shortlist_check_lists(const char *path, const struct shortlist *s, struct err *e)
{
	const struct shortlist_header *h = &s->header;

	if (!is_rising_token_list(s->frequent, h->frequent, h->vocabulary))
		return shortlist_damaged_error(path, "the frequent tokens are not in rising order",
					       e);
	if (s->start[0] != 0 || s->start[s->sources] != h->listed)
		return shortlist_damaged_error(path, "the lists do not cover all listed tokens", e);
	for (int32_t i = 0; i < s->sources; i++) {
		const int64_t n = (int64_t)s->start[i + 1] - s->start[i];

		if (n < 0 || n > SHORTLIST_MAX_EACH || s->start[i + 1] > h->listed ||
		    !is_rising_token_list(s->lists + s->start[i], n, h->vocabulary))
			return shortlist_damaged_error(path, "a list is not in rising order", e);
	}
	return 0;
}

static int shortlist_check_sum(const char *path, const struct shortlist *s, struct err *e)
{
	char hex[HASH_SHA256_HEX];

	if (shortlist_checksum(&s->header, &s->file, sizeof(s->header), hex, e))
		return e->code;
	if (memcmp(hex, s->header.checksum, HEX_DIGITS) != 0)
		return shortlist_damaged_error(path, "the SHA-256 differs from that in the header",
					       e);
	return 0;
}

/* sources stays 0, which shortlist_check_header() refuses, if the file is too short. */
static void shortlist_read_vocabularies(struct shortlist *s)
{
	const struct shortlist_header *h = &s->header;
	struct shortlist_source source;
	size_t n = 0;

	if (h->version == VERSION_SIDES && s->file.len >= shortlist_lists_at(h)) {
		memcpy(&source, s->file.data + sizeof(*h), sizeof(source));
		memcpy(s->vocabulary_id, source.vocabulary_sha256, n = HEX_DIGITS);
		s->sources = source.vocabulary;
	} else if (h->version != VERSION_SIDES) {
		s->sources = h->vocabulary;
	}
	memcpy(s->vocabulary_id + n, h->vocabulary_sha256, HEX_DIGITS);
}

static int shortlist_read_file(struct shortlist *s, const char *path, struct err *e)
{
	if (file_read_all(path, LIMIT, &s->file, e))
		return e->code;
	if (s->file.len < sizeof(s->header))
		return shortlist_damaged_error(path, "it is too short", e);
	memcpy(&s->header, s->file.data, sizeof(s->header));
	shortlist_read_vocabularies(s);
	if (shortlist_check_header(path, s, e))
		return e->code;
	s->frequent =
		(const int32_t *)(const void *)(s->file.data + shortlist_lists_at(&s->header));
	s->start = s->frequent + s->header.frequent;
	s->lists = s->start + s->sources + 1;
	return shortlist_check_sum(path, s, e) ? e->code : shortlist_check_lists(path, s, e);
}

struct shortlist *shortlist_open(const char *path, int32_t vocabulary, const char *vocabulary_id,
				 struct err *e)
{
	struct shortlist *s = mem_alloc(1, sizeof(*s), e);
	int rc = s ? shortlist_read_file(s, path, e) : e->code;

	if (!rc && (s->header.vocabulary != vocabulary ||
		    strncmp(s->vocabulary_id, vocabulary_id, sizeof(s->vocabulary_id)) != 0))
		rc = err_set(
			e, ERR_DATA,
			"%s: learned with another vocabulary than that of the model: learn the "
			"shortlist from the model's corpus",
			path);
	if (!rc)
		return s;
	shortlist_close(s);
	return NULL;
}

void shortlist_close(struct shortlist *s)
{
	if (!s)
		return;
	buf_free(&s->file);
	free(s);
}

const int32_t *shortlist_frequent(const struct shortlist *s, int32_t *n)
{
	*n = s->header.frequent;
	return s->frequent;
}

const int32_t *shortlist_of_token(const struct shortlist *s, int32_t id, int32_t *n)
{
	assert(id >= 0);
	if (id >= s->sources) {
		*n = 0;
		return s->lists;
	}
	*n = s->start[id + 1] - s->start[id];
	return s->lists + s->start[id];
}
