/* shard.c - see shard.h */
#include "data/shard.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"

#define SHARD_MAGIC   "WBSHARD\n"
#define SHARD_ORDER   0x01020304u
#define SHARD_SWAPPED 0x04030201u
#define SHARD_VERSION 1u
#define HEX_DIGITS    (HASH_SHA256_HEX - 1)

struct header {
	char     magic[8];
	uint32_t order, version;
	int64_t  pairs, source_tokens, target_tokens;
	int32_t  vocabulary;
	uint32_t zero;
	char     vocabulary_sha256[HEX_DIGITS];
	char     checksum[HEX_DIGITS];
};

static_assert(sizeof(struct header) == 176, "the header is as shard.h draws it");
#define CHECKED_HEADER offsetof(struct header, checksum)

/* ---- writing ---- */

struct shard_writer {
	struct header header;
	struct outfile out;
	struct hash *hash;	/* owned */
	uint64_t *starts;	/* owned: (2 * pairs + 1) */
	size_t cap_starts;
	uint64_t n_ids;
};

static void writer_free(struct shard_writer *w)
{
	hash_free(w->hash);
	free(w->starts);
	free(w);
}

void shard_cancel(struct shard_writer *w)
{
	if (!w)
		return;
	outfile_abandon(&w->out);
	writer_free(w);
}

static int put(struct shard_writer *w, const void *bytes, size_t n, struct err *e)
{
	if (n && fwrite(bytes, 1, n, w->out.stream) != n)
		return err_set_errno(e, ERR_IO, "cannot write %s", w->out.path);
	return 0;
}

static int put_hashed(struct shard_writer *w, const void *bytes, size_t n, struct err *e)
{
	int rc = put(w, bytes, n, e);

	return rc || !n ? rc : hash_add(w->hash, bytes, n, e);
}

struct shard_writer *shard_create(const char *path, int32_t vocabulary,
				  const char vocabulary_sha256[HASH_SHA256_HEX], struct err *e)
{
	struct shard_writer *w = mem_alloc(1, sizeof(*w), e);

	if (!w)
		return NULL;
	if (vocabulary < 1 || strlen(vocabulary_sha256) != HEX_DIGITS) {
		err_set(e, ERR_INTERNAL, "%s: a shard needs a vocabulary and its SHA-256", path);
		goto fail;
	}
	memcpy(w->header.magic, SHARD_MAGIC, sizeof(w->header.magic));
	w->header.order = SHARD_ORDER;
	w->header.version = SHARD_VERSION;
	w->header.vocabulary = vocabulary;
	memcpy(w->header.vocabulary_sha256, vocabulary_sha256, HEX_DIGITS);
	w->hash = hash_new(HASH_SHA256, e);
	if (!w->hash || mem_grow(&w->starts, &w->cap_starts, 1, sizeof(*w->starts), e) ||
	    outfile_open(&w->out, path, e))
		goto fail;
	w->starts[0] = 0;
	if (put(w, &w->header, sizeof(w->header), e))	/* holds the place */
		goto fail;
	return w;
fail:
	shard_cancel(w);
	return NULL;
}

static int check_ids(const struct shard_writer *w, const char *side, const int32_t *ids, int32_t n,
		     struct err *e)
{
	for (int32_t i = 0; i < n; i++)
		if (ids[i] < 0 || ids[i] >= w->header.vocabulary)
			return err_set(
				e, ERR_DATA,
				"%s: pair %" PRId64 ": %s id %d is not in the vocabulary of %d",
				w->out.path, w->header.pairs, side, ids[i], w->header.vocabulary);
	return n < 0 ? err_set(e, ERR_INTERNAL, "%s: a negative length", w->out.path) : 0;
}

int shard_append(struct shard_writer *w, const int32_t *source, int32_t n_source,
		 const int32_t *target, int32_t n_target, struct err *e)
{
	size_t i = 2 * (size_t)w->header.pairs;

	if (check_ids(w, "source", source, n_source, e) ||
	    check_ids(w, "target", target, n_target, e) ||
	    mem_grow(&w->starts, &w->cap_starts, i + 3, sizeof(*w->starts), e) ||
	    put_hashed(w, source, (size_t)n_source * sizeof(*source), e) ||
	    put_hashed(w, target, (size_t)n_target * sizeof(*target), e))
		return e->code;
	w->starts[i + 1] = w->starts[i] + (uint64_t)n_source;
	w->starts[i + 2] = w->starts[i + 1] + (uint64_t)n_target;
	w->header.pairs++;
	w->header.source_tokens += n_source;
	w->header.target_tokens += n_target;
	w->n_ids = w->starts[i + 2];
	return 0;
}

int shard_finish(struct shard_writer *w, struct err *e)
{
	static const char pad[sizeof(int32_t)];
	char hex[HASH_SHA256_HEX];
	int rc;

	if ((rc = put_hashed(w, pad, w->n_ids % 2 * sizeof(pad), e)) ||
	    (rc = put_hashed(w, w->starts, (2 * (size_t)w->header.pairs + 1) * sizeof(*w->starts),
			     e)) ||
	    (rc = hash_add(w->hash, &w->header, CHECKED_HEADER, e)) ||
	    (rc = hash_hex(w->hash, hex, e)))
		goto out;
	memcpy(w->header.checksum, hex, HEX_DIGITS);
	if (fseeko(w->out.stream, 0, SEEK_SET)) {
		rc = err_set_errno(e, ERR_IO, "cannot write %s", w->out.path);
		goto out;
	}
	if (!(rc = put(w, &w->header, sizeof(w->header), e)))
		rc = outfile_commit(&w->out, e);
out:
	outfile_abandon(&w->out);
	writer_free(w);
	return rc;
}

/* ---- reading ---- */

struct shard {
	struct map map;
	struct header header;
	const int32_t *ids;	/* in the map */
	const uint64_t *starts;	/* in the map */
	char vocabulary_sha256[HASH_SHA256_HEX];
};

static int check_header(const char *path, const struct header *h, size_t len, struct err *e)
{
	if (len < sizeof(*h))
		return err_set(e, ERR_DATA, "%s: %zu bytes are too few for a token shard; "
			       "prepare the corpus again", path, len);
	if (memcmp(h->magic, SHARD_MAGIC, sizeof(h->magic)))
		return err_set(e, ERR_DATA, "%s: this is not a token shard", path);
	if (h->order == SHARD_SWAPPED)
		return err_set(e, ERR_DATA, "%s: written on a machine with the other byte order; "
			       "prepare the corpus on this one", path);
	if (h->order != SHARD_ORDER)
		return err_set(e, ERR_DATA, "%s: damaged: the byte order mark is %08x", path,
			       h->order);
	if (h->version != SHARD_VERSION)
		return err_set(e, ERR_DATA, "%s: shard version %u, this program reads version %u; "
			       "prepare the corpus again", path, h->version, SHARD_VERSION);
	if (h->vocabulary < 1)
		return err_set(e, ERR_DATA, "%s: damaged: a vocabulary of %d entries", path,
			       h->vocabulary);
	return 0;
}

/* Do the counts and the length of the file belong together? Places ids and starts. */
static int check_counts(struct shard *s, const char *path, struct err *e)
{
	const struct header *h = &s->header;
	uint64_t len = s->map.len, ids, padded;

	/* Each bounded by the length of the file first, so that the sums below cannot wrap. */
	if (h->pairs < 0 || (uint64_t)h->pairs > len / (2 * sizeof(uint64_t)) ||
	    h->source_tokens < 0 || (uint64_t)h->source_tokens > len / sizeof(int32_t) ||
	    h->target_tokens < 0 || (uint64_t)h->target_tokens > len / sizeof(int32_t))
		return err_set(e, ERR_DATA,
			       "%s: damaged: %" PRId64 " pairs with %" PRId64 " + %" PRId64
			       " tokens cannot be in %" PRIu64 " bytes",
			       path, h->pairs, h->source_tokens, h->target_tokens, len);
	ids = (uint64_t)h->source_tokens + (uint64_t)h->target_tokens;
	padded = ids + ids % 2;
	if (sizeof(*h) + padded * sizeof(int32_t) +
		    (2 * (uint64_t)h->pairs + 1) * sizeof(uint64_t) !=
	    len)
		return err_set(e, ERR_DATA,
			       "%s: damaged: %" PRIu64 " bytes, but %" PRId64 " pairs with %" PRIu64
			       " tokens need another length (was it cut?)",
			       path, len, h->pairs, ids);
	s->ids = (const int32_t *)(const void *)(s->map.data + sizeof(*h));
	s->starts = (const uint64_t *)(const void *)(s->ids + padded);
	return 0;
}

static int check_sum(const struct shard *s, const char *path, struct err *e)
{
	char hex[HASH_SHA256_HEX];
	struct hash *hash = hash_new(HASH_SHA256, e);
	int rc;

	if (!hash)
		return e->code;
	if (!(rc = hash_add(hash, s->map.data + sizeof(s->header), s->map.len - sizeof(s->header),
			    e)) &&
	    !(rc = hash_add(hash, s->map.data, CHECKED_HEADER, e)) &&
	    !(rc = hash_hex(hash, hex, e)) && memcmp(hex, s->header.checksum, HEX_DIGITS))
		rc = err_set(e, ERR_DATA,
			     "%s: damaged: its SHA-256 is %s, its header says %.*s; "
			     "prepare the corpus again",
			     path, hex, (int)HEX_DIGITS, s->header.checksum);
	hash_free(hash);
	return rc;
}

static int check_starts(const struct shard *s, const char *path, struct err *e)
{
	const uint64_t *at = s->starts;
	uint64_t ids = (uint64_t)(s->header.source_tokens + s->header.target_tokens);
	int64_t n = 2 * s->header.pairs, source = 0;

	for (int64_t i = 0; i < n; i++) {
		if (at[i] > at[i + 1] || at[i + 1] - at[i] >= INT32_MAX)
			return err_set(e, ERR_DATA,
				       "%s: damaged: pair %" PRId64
				       " ends before it begins or is too long",
				       path, i / 2);
		if (i % 2 == 0)
			source += (int64_t)(at[i + 1] - at[i]);
	}
	if (at[0] != 0 || at[n] != ids || source != s->header.source_tokens)
		return err_set(e, ERR_DATA, "%s: damaged: the pairs do not cover all tokens", path);
	return 0;
}

static int check_vocabulary(const struct shard *s, const char *path, struct err *e)
{
	int64_t n = s->header.source_tokens + s->header.target_tokens;
	uint32_t top = 0;

	for (int64_t i = 0; i < n; i++)		/* a negative id is a large one here */
		top = MAX(top, (uint32_t)s->ids[i]);
	if (top < (uint32_t)s->header.vocabulary)
		return 0;
	for (int64_t i = 0; i < n; i++)
		if ((uint32_t)s->ids[i] >= (uint32_t)s->header.vocabulary)
			return err_set(e, ERR_DATA,
				       "%s: damaged: token %" PRId64
				       " has id %d, the vocabulary has %d",
				       path, i, s->ids[i], s->header.vocabulary);
	return 0;
}

struct shard *shard_open(const char *path, struct err *e)
{
	struct shard *s = mem_alloc(1, sizeof(*s), e);

	if (!s)
		return NULL;
	if (map_open(&s->map, path, e)) {
		free(s);
		return NULL;
	}
	if (s->map.len)
		memcpy(&s->header, s->map.data, MIN(s->map.len, sizeof(s->header)));
	memcpy(s->vocabulary_sha256, s->header.vocabulary_sha256, HEX_DIGITS);
	if (check_header(path, &s->header, s->map.len, e) || check_counts(s, path, e) ||
	    check_sum(s, path, e) || check_starts(s, path, e) || check_vocabulary(s, path, e)) {
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

const char *shard_vocabulary_sha256(const struct shard *s)
{
	return s->vocabulary_sha256;
}

struct shard_pair shard_get(const struct shard *s, int64_t i)
{
	const uint64_t *at = s->starts + 2 * i;

	return (struct shard_pair){
		.source = s->ids + at[0], .n_source = (int32_t)(at[1] - at[0]),
		.target = s->ids + at[1], .n_target = (int32_t)(at[2] - at[1]),
	};
}

void shard_close(struct shard *s)
{
	if (!s)
		return;
	map_close(&s->map);
	free(s);
}
