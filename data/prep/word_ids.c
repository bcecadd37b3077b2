/* word_ids.c - the token ids of every distinct word, on the disk (see word_ids.h) */
#include "data/prep/word_ids.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"

#define MAGIC	UINT64_C(0x00000A5344494257) /* "WBIDS\n\0\0" in little-endian order */
#define VERSION 1u

struct word_ids_header {
	uint64_t magic;
	uint32_t version, words;
	uint64_t ids;
};

static_assert(sizeof(struct word_ids_header) == 24, "the header has the layout of word_ids.h");

static int word_ids_write(struct outfile *o, const void *bytes, size_t size, size_t n,
			  struct err *e)
{
	if (n && fwrite(bytes, size, n, o->stream) != n)
		return err_set_errno(e, ERR_IO, "%s: cannot be written", o->path);
	return 0;
}

static int word_ids_write_lengths(struct outfile *o, const struct word_ids *w, struct err *e)
{
	uint16_t some[4096];
	size_t n = 0;

	for (int32_t i = 0; i < w->n_words; i++) {
		uint32_t length = w->start[i + 1] - w->start[i];

		assert(w->start[i] <= w->start[i + 1]);
		if (length > UINT16_MAX)
			return err_set(e, ERR_DATA,
				       "%s: word %d has %u tokens, the limit is %d: lower "
				       "max_word_chars",
				       o->path, i, length, UINT16_MAX);
		some[n++] = (uint16_t)length;
		if (n == ARRAY_LEN(some) || i + 1 == w->n_words) {
			if (word_ids_write(o, some, sizeof(some[0]), n, e))
				return e->code;
			n = 0;
		}
	}
	return 0;
}

int word_ids_save(const struct word_ids *w, const char *path, struct err *e)
{
	uint32_t ids = w->start[w->n_words];
	struct word_ids_header h = { MAGIC, VERSION, (uint32_t)w->n_words, ids };
	struct outfile o = { 0 };
	int rc = outfile_open(&o, path, e);

	if (rc)
		return rc;
	if ((rc = word_ids_write(&o, &h, sizeof(h), 1, e)) ||
	    (rc = word_ids_write(&o, w->ids, sizeof(*w->ids), ids, e)) ||
	    (rc = word_ids_write_lengths(&o, w, e)))
		outfile_abandon(&o);
	else
		rc = outfile_commit(&o, e);
	return rc;
}

static int word_ids_damaged_error(const char *path, const char *what, struct err *e)
{
	return err_set(e, ERR_DATA, "%s: damaged: %s; prepare the corpus again with --force", path,
		       what);
}

static int word_ids_check_header(const struct map *m, const char *path, struct word_ids_header *h,
				 struct err *e)
{
	if (m->len < sizeof(*h))
		return word_ids_damaged_error(path, "the header is missing", e);
	memcpy(h, m->data, sizeof(*h));
	if (h->magic != MAGIC || h->version != VERSION)
		return word_ids_damaged_error(path, "wrong magic number or version", e);
	if (h->words >= INT32_MAX || h->ids > UINT32_MAX ||
	    m->len != sizeof(*h) + h->ids * sizeof(int32_t) + h->words * sizeof(uint16_t))
		return word_ids_damaged_error(path, "its size does not match its counts", e);
	return 0;
}

static int word_ids_read_arrays(struct word_ids *w, const struct map *m,
				const struct word_ids_header *h, const char *path,
				int32_t vocabulary, struct err *e)
{
	const unsigned char *ids = m->data + sizeof(*h), *lengths = ids + h->ids * sizeof(int32_t);
	uint64_t sum = 0;

	w->n_words = (int32_t)h->words;
	w->start = mem_alloc((size_t)h->words + 1, sizeof(*w->start), e);
	w->ids = w->start ? mem_alloc(h->ids, sizeof(*w->ids), e) : NULL;
	if (!w->ids)
		return e->code;
	memcpy(w->ids, ids, h->ids * sizeof(*w->ids));
	for (uint64_t i = 0; i < h->ids; i++)
		if (w->ids[i] < 0 || w->ids[i] >= vocabulary)
			return word_ids_damaged_error(path, "an id is not in the vocabulary", e);
	for (uint32_t i = 0; i < h->words; i++) {
		uint16_t length;

		memcpy(&length, lengths + i * sizeof(length), sizeof(length));
		sum += length;
		w->start[i + 1] = (uint32_t)MIN(sum, h->ids);
	}
	return sum == h->ids
		       ? 0
		       : word_ids_damaged_error(path, "its lengths do not add up to its ids", e);
}

int word_ids_load(struct word_ids *w, const char *path, int32_t vocabulary, struct err *e)
{
	struct word_ids_header h;
	struct map m;
	int rc = map_open(&m, path, e);

	if (rc)
		return rc;
	rc = word_ids_check_header(&m, path, &h, e);
	if (!rc)
		rc = word_ids_read_arrays(w, &m, &h, path, vocabulary, e);
	map_close(&m);
	return rc;
}

void word_ids_free(struct word_ids *w)
{
	free(w->start);
	free(w->ids);
	*w = (struct word_ids){ 0 };
}
