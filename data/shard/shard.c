/* shard.c - writes token shards, and maps and checks them: see shard.h */
#include "data/shard/shard.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/vocabs.h"
#include "share/base/file.h"
#include "share/base/mem.h"

#define SHARD_MAGIC   "WBSHARD\n"
#define SHARD_ORDER   0x01020304u
#define SHARD_SWAPPED 0x04030201u
#define SHARD_VERSION 2u /* both sides share a vocabulary */
#define SHARD_SIDES   3u /* each side has its own */
#define HEX_DIGITS    (HASH_SHA256_HEX - 1)
#define BLOCK	      16    /* pairs for each number of the index */
#define NARROW_IDS    65536 /* a vocabulary of up to that many entries has ids of 16 bits */
#define BUFFER_BYTES  ((size_t)256 << 10) /* written or checked at once */

struct shard_header {
	char magic[8];
	uint32_t order, version;
	int64_t pairs, source_tokens, target_tokens;
	int32_t vocabulary;
	uint16_t id_bytes, length_bytes;
	char vocabulary_sha256[HEX_DIGITS];
	char checksum[HEX_DIGITS];
};

/* Follows the header in a file of version SHARD_SIDES. */
struct shard_source {
	char vocabulary_sha256[HEX_DIGITS];
	int32_t vocabulary, zero;
};

static_assert(sizeof(struct shard_header) == 176 && sizeof(struct shard_source) == 72,
	      "the header has the layout that shard.h describes");
#define CHECKED_HEADER offsetof(struct shard_header, checksum)

/* Bytes before the ids. */
static size_t shard_ids_at(const struct shard_header *h)
{
	return sizeof(*h) + (h->version == SHARD_SIDES ? sizeof(struct shard_source) : 0);
}

static uint64_t index_entries(int64_t pairs)
{
	return CEIL_DIV((uint64_t)pairs, BLOCK) + 1;
}

/* ---- writing ---- */

struct shard_writer {
	struct shard_header header;
	int32_t source_vocabulary; /* entries; the header has those of the target */
	struct outfile out;
	struct hash *hash;     /* owned */
	unsigned char *buffer; /* owned: (BUFFER_BYTES) not yet hashed and written */
	size_t n_buffer;
	uint64_t *index; /* owned: one entry for each block of BLOCK pairs */
	size_t cap_index;
	uint32_t *lengths; /* owned: (2 * pairs) */
	size_t cap_lengths;
	uint32_t longest;
};

static void writer_free(struct shard_writer *w)
{
	hash_free(w->hash);
	free(w->buffer);
	free(w->index);
	free(w->lengths);
	free(w);
}

void shard_cancel(struct shard_writer *w)
{
	if (!w)
		return;
	outfile_abandon(&w->out);
	writer_free(w);
}

static int shard_write_bytes(struct shard_writer *w, const void *bytes, size_t n, struct err *e)
{
	if (n && fwrite(bytes, 1, n, w->out.stream) != n)
		return err_set_errno(e, ERR_IO, "cannot write %s", w->out.path);
	return 0;
}

static int shard_write_hashed(struct shard_writer *w, const void *bytes, size_t n, struct err *e)
{
	int rc = shard_write_bytes(w, bytes, n, e);

	return rc || !n ? rc : hash_add(w->hash, bytes, n, e);
}

static int shard_flush_buffer(struct shard_writer *w, struct err *e)
{
	size_t n = w->n_buffer;

	w->n_buffer = 0;
	return shard_write_hashed(w, w->buffer, n, e);
}

/* source: NULL if both sides share the vocabulary. */
static struct shard_writer *create_shard(const char *path, int32_t vocabulary,
					 const char *vocabulary_sha256,
					 const struct shard_source *source, struct err *e)
{
	struct shard_writer *w = mem_alloc(1, sizeof(*w), e);

	if (!w)
		return NULL;
	if (vocabulary < 1 || strlen(vocabulary_sha256) != HEX_DIGITS) {
		err_set(e, ERR_INTERNAL,
			"%s: cannot create a shard without a vocabulary and its SHA-256", path);
		goto fail;
	}
	memcpy(w->header.magic, SHARD_MAGIC, sizeof(w->header.magic));
	w->header.order = SHARD_ORDER;
	w->header.version = source ? SHARD_SIDES : SHARD_VERSION;
	w->header.vocabulary = vocabulary;
	w->source_vocabulary = source ? source->vocabulary : vocabulary;
	w->header.id_bytes = MAX(vocabulary, w->source_vocabulary) <= NARROW_IDS ? 2 : 4;
	memcpy(w->header.vocabulary_sha256, vocabulary_sha256, HEX_DIGITS);
	w->hash = hash_new(HASH_SHA256, e);
	w->buffer = w->hash ? mem_alloc(BUFFER_BYTES, 1, e) : NULL;
	if (!w->buffer || outfile_open(&w->out, path, e))
		goto fail;
	if (shard_write_bytes(w, &w->header, sizeof(w->header),
			      e)) /* reserves the place; shard_finish() writes it again */
		goto fail;
	if (source && shard_write_hashed(w, source, sizeof(*source), e))
		goto fail;
	return w;
fail:
	shard_cancel(w);
	return NULL;
}

struct shard_writer *shard_create(const char *path, int32_t vocabulary,
				  const char vocabulary_sha256[HASH_SHA256_HEX], struct err *e)
{
	return create_shard(path, vocabulary, vocabulary_sha256, NULL, e);
}

struct shard_writer *shard_create_sides(const char *path, const struct vocabs *v, struct err *e)
{
	struct shard_source source = { .vocabulary = vocab_size(v->source) };

	memcpy(source.vocabulary_sha256, vocab_sha256(v->source), HEX_DIGITS);
	return create_shard(path, vocab_size(v->target), vocab_sha256(v->target),
			    vocabs_are_separate(v) ? &source : NULL, e);
}

static int shard_id_error(const struct shard_writer *w, const char *side, int32_t id,
			  int32_t vocabulary, struct err *e)
{
	return err_set(e, ERR_DATA,
		       "%s: pair %" PRId64 ": %s id %d is not in the vocabulary of %d entries",
		       w->out.path, w->header.pairs, side, id, vocabulary);
}

/* Append ids to the buffer in the width of the file; flush the buffer when it is full. */
static int append_side(struct shard_writer *w, const char *side, int32_t vocabulary,
		       const int32_t *ids, int32_t n, struct err *e)
{
	size_t width = w->header.id_bytes;

	for (int32_t room; n > 0; n -= room, ids += room) {
		unsigned char *to = w->buffer + w->n_buffer;

		assert(w->n_buffer < BUFFER_BYTES && w->n_buffer % width == 0);
		room = (int32_t)MIN((size_t)n, (BUFFER_BYTES - w->n_buffer) / width);
		for (int32_t i = 0; i < room; i++)
			if ((uint32_t)ids[i] >= (uint32_t)vocabulary)
				return shard_id_error(w, side, ids[i], vocabulary, e);
		for (int32_t i = 0; width == 2 && i < room; i++) {
			uint16_t id = (uint16_t)ids[i];

			memcpy(to + 2 * (size_t)i, &id, sizeof(id));
		}
		if (width == 4)
			memcpy(to, ids, (size_t)room * width);
		w->n_buffer += (size_t)room * width;
		if (w->n_buffer == BUFFER_BYTES && shard_flush_buffer(w, e))
			return e->code;
	}
	return 0;
}

int shard_append(struct shard_writer *w, const int32_t *source, int32_t n_source,
		 const int32_t *target, int32_t n_target, struct err *e)
{
	struct shard_header *h = &w->header;
	size_t i = (size_t)h->pairs;

	if (n_source < 0 || n_target < 0)
		return err_set(e, ERR_INTERNAL, "%s: cannot append a side of negative length",
			       w->out.path);
	if (mem_grow(&w->lengths, &w->cap_lengths, 2 * i + 2, sizeof(*w->lengths), e) ||
	    mem_grow(&w->index, &w->cap_index, i / BLOCK + 1, sizeof(*w->index), e))
		return e->code;
	if (i % BLOCK == 0)
		w->index[i / BLOCK] = (uint64_t)(h->source_tokens + h->target_tokens);
	if (append_side(w, "source", w->source_vocabulary, source, n_source, e) ||
	    append_side(w, "target", h->vocabulary, target, n_target, e))
		return e->code;
	w->lengths[2 * i] = (uint32_t)n_source;
	w->lengths[2 * i + 1] = (uint32_t)n_target;
	w->longest = MAX(w->longest, (uint32_t)MAX(n_source, n_target));
	h->pairs++;
	h->source_tokens += n_source;
	h->target_tokens += n_target;
	return 0;
}

static int shard_write_lengths(struct shard_writer *w, struct err *e)
{
	size_t n = 2 * (size_t)w->header.pairs;
	uint16_t *narrow = (uint16_t *)(void *)w->lengths;

	assert(w->header.length_bytes == 4 || w->longest <= UINT16_MAX);
	/* In place: each length is read before a shorter one is written at or before it. */
	for (size_t i = 0; w->header.length_bytes == 2 && i < n; i++) {
		uint32_t length = w->lengths[i];

		memcpy(narrow + i, &(uint16_t){ (uint16_t)length }, sizeof(*narrow));
	}
	return shard_write_hashed(w, w->lengths, n * w->header.length_bytes, e);
}

/* Write padding, index and lengths, which follow the ids. */
static int shard_write_tables(struct shard_writer *w, struct err *e)
{
	static const char pad[8];
	struct shard_header *h = &w->header;
	uint64_t ids = (uint64_t)(h->source_tokens + h->target_tokens);
	size_t rest = ids * h->id_bytes % sizeof(pad), blocks = index_entries(h->pairs);

	h->length_bytes = w->longest <= UINT16_MAX ? 2 : 4;
	if (mem_grow(&w->index, &w->cap_index, blocks, sizeof(*w->index), e))
		return e->code;
	w->index[blocks - 1] = ids;
	if (shard_flush_buffer(w, e) ||
	    shard_write_hashed(w, pad, rest ? sizeof(pad) - rest : 0, e) ||
	    shard_write_hashed(w, w->index, blocks * sizeof(*w->index), e))
		return e->code;
	return shard_write_lengths(w, e);
}

int shard_finish(struct shard_writer *w, struct err *e)
{
	char hex[HASH_SHA256_HEX];
	int rc;

	if ((rc = shard_write_tables(w, e)) ||
	    (rc = hash_add(w->hash, &w->header, CHECKED_HEADER, e)) ||
	    (rc = hash_hex(w->hash, hex, e)))
		goto out;
	memcpy(w->header.checksum, hex, HEX_DIGITS);
	if (fseeko(w->out.stream, 0, SEEK_SET)) {
		rc = err_set_errno(e, ERR_IO, "cannot write %s", w->out.path);
		goto out;
	}
	if (!(rc = shard_write_bytes(w, &w->header, sizeof(w->header), e)))
		rc = outfile_commit(&w->out, e);
out:
	outfile_abandon(&w->out);
	writer_free(w);
	return rc;
}

/* ---- reading ---- */

struct shard {
	struct map map;
	struct shard_header header;
	struct shard_source source; /* vocabulary 0: the header's is that of both sides */
	const unsigned char *ids;   /* in the map, as index and lengths */
	const uint64_t *index;
	const void *lengths;
	int32_t longest;
	char vocabulary_id[TEXT_VOCABULARY_ID];
};

static int32_t shard_id_at(const struct shard *s, uint64_t i)
{
	return s->header.id_bytes == 2 ? ((const uint16_t *)(const void *)s->ids)[i]
				       : ((const int32_t *)(const void *)s->ids)[i];
}

static uint32_t shard_length_at(const struct shard *s, int64_t i)
{
	return s->header.length_bytes == 2 ? ((const uint16_t *)s->lengths)[i]
					   : ((const uint32_t *)s->lengths)[i];
}

static int shard_check_header(const char *path, const struct shard_header *h, size_t len,
			      struct err *e)
{
	if (len < sizeof(*h))
		return err_set(e, ERR_DATA,
			       "%s: %zu bytes, too short for a token shard: prepare the corpus "
			       "again",
			       path, len);
	if (memcmp(h->magic, SHARD_MAGIC, sizeof(h->magic)))
		return err_set(e, ERR_DATA, "%s: not a token shard", path);
	if (h->order == SHARD_SWAPPED)
		return err_set(e, ERR_DATA,
			       "%s: written on a machine with the other byte order: "
			       "prepare the corpus on this machine",
			       path);
	if (h->order != SHARD_ORDER)
		return err_set(e, ERR_DATA,
			       "%s: damaged: the field for the byte order is %08x, should be "
			       "%08x: prepare the corpus again",
			       path, h->order, SHARD_ORDER);
	if (h->version > SHARD_SIDES)
		return err_set(
			e, ERR_DATA,
			"%s: shard version %u, this Werkbank reads versions up to %u: use the "
			"Werkbank that wrote it, or a newer one",
			path, h->version, SHARD_SIDES);
	if (h->version != SHARD_VERSION && h->version != SHARD_SIDES)
		return err_set(e, ERR_DATA,
			       "%s: shard version %u, this program reads versions from %u on: "
			       "prepare the corpus again",
			       path, h->version, SHARD_VERSION);
	if (len < shard_ids_at(h))
		return err_set(e, ERR_DATA, "%s: damaged: %zu bytes: is the file cut off?", path,
			       len);
	return 0;
}

static int shard_check_vocabularies(const struct shard *s, const char *path, struct err *e)
{
	const struct shard_header *h = &s->header;

	if (h->vocabulary < 1 || (h->version == SHARD_SIDES && s->source.vocabulary < 1))
		return err_set(e, ERR_DATA, "%s: damaged: a vocabulary of %d entries", path,
			       MIN(h->vocabulary, s->source.vocabulary));
	if (h->id_bytes != (MAX(h->vocabulary, s->source.vocabulary) <= NARROW_IDS ? 2 : 4) ||
	    (h->length_bytes != 2 && h->length_bytes != 4))
		return err_set(e, ERR_DATA, "%s: damaged: ids of %u and lengths of %u bytes", path,
			       h->id_bytes, h->length_bytes);
	return 0;
}

/* Check the counts against the length of the file. Sets ids, index and lengths. */
static int shard_check_counts(struct shard *s, const char *path, struct err *e)
{
	const struct shard_header *h = &s->header;
	uint64_t len = s->map.len, ids, id_bytes, index_bytes;

	/* First bound each count by the length of the file, so that no sum below overflows. */
	if (h->pairs < 0 || (uint64_t)h->pairs > len / (2 * sizeof(uint16_t)) ||
	    h->source_tokens < 0 || (uint64_t)h->source_tokens > len / sizeof(uint16_t) ||
	    h->target_tokens < 0 || (uint64_t)h->target_tokens > len / sizeof(uint16_t))
		return err_set(e, ERR_DATA,
			       "%s: damaged: %" PRId64 " pairs with %" PRId64 " + %" PRId64
			       " tokens cannot be in %" PRIu64 " bytes",
			       path, h->pairs, h->source_tokens, h->target_tokens, len);
	ids = (uint64_t)h->source_tokens + (uint64_t)h->target_tokens;
	id_bytes = CEIL_DIV(ids * h->id_bytes, 8) * 8;
	index_bytes = index_entries(h->pairs) * sizeof(*s->index);
	if (shard_ids_at(h) + id_bytes + index_bytes + 2 * (uint64_t)h->pairs * h->length_bytes !=
	    len)
		return err_set(e, ERR_DATA,
			       "%s: damaged: %" PRIu64 " bytes, but %" PRId64 " pairs with %" PRIu64
			       " tokens need another length: is the file cut off?",
			       path, len, h->pairs, ids);
	s->ids = s->map.data + shard_ids_at(h);
	s->index = (const uint64_t *)(const void *)(s->ids + id_bytes);
	s->lengths = s->ids + id_bytes + index_bytes;
	return 0;
}

/* The largest of n ids from number first on. As unsigned numbers, negative ids are large. */
static uint32_t largest_id(const struct shard *s, uint64_t first, uint64_t n)
{
	const uint16_t *narrow = (const uint16_t *)(const void *)s->ids + first;
	const uint32_t *wide = (const uint32_t *)(const void *)s->ids + first;
	uint32_t top = 0;
	uint16_t top16 = 0;

	if (s->header.id_bytes == 4) {
		for (uint64_t i = 0; i < n; i++)
			top = MAX(top, wide[i]);
		return top;
	}
	for (uint64_t i = 0; i < n; i++)
		top16 = MAX(top16, narrow[i]);
	return top16;
}

/* Checksum and largest id in one pass, so that the file is read from memory once. */
static int shard_check_bytes(const struct shard *s, const char *path, uint32_t *top, struct err *e)
{
	const struct shard_header *h = &s->header;
	uint64_t ids = (uint64_t)(h->source_tokens + h->target_tokens), at = 0, n;
	uint64_t step = BUFFER_BYTES / h->id_bytes;
	const unsigned char *rest = s->ids + ids * h->id_bytes;
	size_t n_rest = s->map.len - (size_t)(rest - s->map.data);
	char hex[HASH_SHA256_HEX];
	struct hash *hash = hash_new(HASH_SHA256, e);
	int rc = hash ? 0 : e->code;

	if (!rc)
		rc = hash_add(hash, s->map.data + sizeof(*h), shard_ids_at(h) - sizeof(*h), e);
	for (; !rc && at < ids; at += n) {
		n = MIN(step, ids - at);
		*top = MAX(*top, largest_id(s, at, n));
		rc = hash_add(hash, s->ids + at * h->id_bytes, n * h->id_bytes, e);
	}
	if (!rc && !(rc = hash_add(hash, rest, n_rest, e)) &&
	    !(rc = hash_add(hash, s->map.data, CHECKED_HEADER, e)) &&
	    !(rc = hash_hex(hash, hex, e)) && memcmp(hex, h->checksum, HEX_DIGITS))
		rc = err_set(e, ERR_DATA,
			     "%s: damaged: the SHA-256 is %s, expected %.*s: prepare the "
			     "corpus again",
			     path, hex, (int)HEX_DIGITS, h->checksum);
	hash_free(hash);
	return rc;
}

static int shard_check_index(struct shard *s, const char *path, struct err *e)
{
	const struct shard_header *h = &s->header;
	int64_t source = 0, target = 0, n = h->pairs;
	uint32_t longest = 0;

	/* The loop ends at the first excess, so that no sum overflows. */
	for (int64_t i = 0; i <= n && source <= h->source_tokens && target <= h->target_tokens;
	     i++) {
		if ((i % BLOCK == 0 || i == n) &&
		    s->index[CEIL_DIV(i, BLOCK)] != (uint64_t)(source + target))
			return err_set(e, ERR_DATA,
				       "%s: damaged: %" PRIu64 " ids before pair %" PRId64
				       " by the index, %" PRId64 " by the lengths",
				       path, s->index[CEIL_DIV(i, BLOCK)], i, source + target);
		if (i == n)
			break;
		longest =
			MAX(longest, MAX(shard_length_at(s, 2 * i), shard_length_at(s, 2 * i + 1)));
		source += shard_length_at(s, 2 * i);
		target += shard_length_at(s, 2 * i + 1);
	}
	if (source != h->source_tokens || target != h->target_tokens || longest >= INT32_MAX)
		return err_set(e, ERR_DATA, "%s: damaged: the pairs do not cover all tokens", path);
	s->longest = (int32_t)longest;
	return 0;
}

/* Entries of the vocabulary of a side: 0 for the source, 1 for the target. */
static int32_t shard_entries(const struct shard *s, int side)
{
	return side == 0 && s->source.vocabulary ? s->source.vocabulary : s->header.vocabulary;
}

/* Index and lengths are checked already. */
static int shard_check_max_id(const struct shard *s, const char *path, uint32_t top, struct err *e)
{
	uint64_t at = 0;

	if (top < (uint32_t)MIN(shard_entries(s, 0), shard_entries(s, 1)))
		return 0;
	for (int64_t k = 0; k < 2 * s->header.pairs; k++) {
		const int32_t entries = shard_entries(s, (int)(k % 2));

		for (uint64_t end = at + shard_length_at(s, k); at < end; at++)
			if ((uint32_t)shard_id_at(s, at) >= (uint32_t)entries)
				return err_set(e, ERR_DATA,
					       "%s: damaged: token %" PRIu64
					       " has id %d, the vocabulary has %d entries",
					       path, at, shard_id_at(s, at), entries);
	}
	return 0;
}

/* The parts of the file that do not depend on its counts. */
static int shard_read_header(struct shard *s, const char *path, struct err *e)
{
	struct shard_header *h = &s->header;

	if (s->map.len)
		memcpy(h, s->map.data, MIN(s->map.len, sizeof(*h)));
	if (shard_check_header(path, h, s->map.len, e))
		return e->code;
	if (h->version == SHARD_SIDES) {
		memcpy(&s->source, s->map.data + sizeof(*h), sizeof(s->source));
		memcpy(s->vocabulary_id, s->source.vocabulary_sha256, HEX_DIGITS);
	}
	memcpy(s->vocabulary_id + (h->version == SHARD_SIDES ? HEX_DIGITS : 0),
	       h->vocabulary_sha256, HEX_DIGITS);
	return shard_check_vocabularies(s, path, e);
}

struct shard *shard_open(const char *path, struct err *e)
{
	struct shard *s = mem_alloc(1, sizeof(*s), e);
	uint32_t top = 0;

	if (!s)
		return NULL;
	if (map_open(&s->map, path, e)) {
		free(s);
		return NULL;
	}
	if (shard_read_header(s, path, e) || shard_check_counts(s, path, e) ||
	    shard_check_bytes(s, path, &top, e) || shard_check_index(s, path, e) ||
	    shard_check_max_id(s, path, top, e)) {
		shard_close(s);
		return NULL;
	}
	return s;
}

int64_t shard_pairs(const struct shard *s)
{
	return s->header.pairs;
}

int64_t shard_source_tokens(const struct shard *s)
{
	return s->header.source_tokens;
}

int64_t shard_target_tokens(const struct shard *s)
{
	return s->header.target_tokens;
}

int32_t shard_vocabulary(const struct shard *s)
{
	return s->header.vocabulary;
}

int32_t shard_own_source_vocabulary(const struct shard *s)
{
	return s->source.vocabulary;
}

const char *shard_vocabulary_id(const struct shard *s)
{
	return s->vocabulary_id;
}

int32_t shard_longest(const struct shard *s)
{
	return s->longest;
}

void shard_lengths(const struct shard *s, int64_t i, int32_t *n_source, int32_t *n_target)
{
	assert(i >= 0 && i < s->header.pairs);
	*n_source = (int32_t)shard_length_at(s, 2 * i);
	*n_target = (int32_t)shard_length_at(s, 2 * i + 1);
}

static void copy_ids(const struct shard *s, uint64_t from, int32_t n, int32_t *to)
{
	const uint16_t *narrow = (const uint16_t *)(const void *)s->ids + from;

	if (s->header.id_bytes == 4 && n)
		memcpy(to, s->ids + from * sizeof(*to), (size_t)n * sizeof(*to));
	else
		for (int32_t k = 0; k < n; k++)
			to[k] = narrow[k];
}

void shard_read(const struct shard *s, int64_t i, int32_t *source, int32_t *target)
{
	uint64_t at = s->index[i / BLOCK];
	int32_t n_source, n_target;

	assert(i >= 0 && i < s->header.pairs);
	for (int64_t k = 2 * (i - i % BLOCK); k < 2 * i; k++)
		at += shard_length_at(s, k);
	shard_lengths(s, i, &n_source, &n_target);
	copy_ids(s, at, n_source, source);
	copy_ids(s, at + (uint64_t)n_source, n_target, target);
}

void shard_close(struct shard *s)
{
	if (!s)
		return;
	map_close(&s->map);
	free(s);
}
