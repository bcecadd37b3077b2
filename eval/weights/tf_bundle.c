/*
 * tf_bundle.c - reads checkpoints of TensorFlow's Saver: X.index and X.data-0000S-of-0000N; see import_reader.h
 *
 * X.index is a table of leveldb. Its last 48 bytes: handles (offset, size, as varints) of the metaindex and of the index,
 * zeros, a magic number. A block has entries {shared bytes, other bytes, bytes of the value, key without the shared bytes,
 * value}, u32 offsets of restarts, their u32 number; one byte for its compression and a masked CRC-32C follow it. The
 * values of the index are handles of blocks of tensors, whose values are messages of Protocol Buffers. The key "" has the
 * header. Elements of tensors lie in the data files, row by row, with a masked CRC-32C each.
 *
 * Source: tensorflow/core/lib/io/table_format.txt, tensorflow/core/protobuf/tensor_bundle.proto.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/weights/import_reader.h"
#include "share/base/crc32c.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/format/proto.h"

#define FOOTER_BYTES  48
#define TRAILER_BYTES 5 /* of a block: its compression and its sum */
#define MAX_SHARDS    4096
#define MAX_NAME      255 /* bytes */

static const unsigned char magic[8] = { 0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb };

struct bundle_span {
	const unsigned char *at; /* borrowed from the index; NULL: none yet */
	size_t n;
};

struct bundle_reader {
	struct import_reader *f;
	const char *path;
	char key[MAX_NAME + 1]; /* of the entry that was read last */
	size_t n_key;
	struct bundle_span header;  /* the value of the key "" */
	struct bundle_span *values; /* owned: of each name in f->names */
	size_t n_values, cap_values;
	struct err *e;
};

bool import_is_bundle(const unsigned char *bytes, size_t n)
{
	return n >= FOOTER_BYTES && !memcmp(bytes + n - sizeof(magic), magic, sizeof(magic));
}

/* ---- the table --------------------------------------------------------- */

static int bundle_damaged(struct bundle_reader *r, const char *what)
{
	return err_set(r->e, ERR_DATA, "%s is damaged: %s", r->path, what);
}

static uint32_t bundle_u32(const unsigned char *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static bool take_varint(struct bundle_span *s, uint64_t *v)
{
	*v = 0;
	for (int shift = 0; shift < 64 && s->n; shift += 7) {
		const unsigned char c = *s->at++;

		s->n--;
		*v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return true;
	}
	return false;
}

/* The entries of the block whose handle is next in *handle. */
static int find_block(struct bundle_reader *r, struct bundle_span *handle,
		      struct bundle_span *entries)
{
	const struct map *map = &r->f->map;
	const unsigned char *block;
	uint64_t offset, size, restarts;

	if (!take_varint(handle, &offset) || !take_varint(handle, &size))
		return bundle_damaged(r, "a block has no place");
	if (size < 4 || size > map->len - FOOTER_BYTES || offset > map->len - FOOTER_BYTES - size ||
	    map->len - FOOTER_BYTES - size - offset < TRAILER_BYTES)
		return bundle_damaged(r, "a block lies outside of the file");
	block = map->data + offset;
	if (crc32c_masked(block, (size_t)size + 1) != bundle_u32(block + size + 1))
		return bundle_damaged(r, "the checksum of a block differs");
	if (block[size])
		return err_set(r->e, ERR_DATA,
			       "%s: its blocks are compressed: save the checkpoint with "
			       "TensorFlow's Saver, which does not compress",
			       r->path);
	restarts = bundle_u32(block + size - 4);
	if (restarts > (size - 4) / 4)
		return bundle_damaged(r, "a block has too many restarts");
	*entries = (struct bundle_span){ block, (size_t)(size - 4 - 4 * restarts) };
	return 0;
}

/* The next entry: r->key, and its value. Keys must rise, so each occurs once. */
static int next_entry(struct bundle_reader *r, struct bundle_span *entries, bool is_first,
		      struct bundle_span *value)
{
	char before[MAX_NAME + 1];
	const size_t n_before = r->n_key;
	uint64_t shared, other, n;
	int order;

	memcpy(before, r->key, n_before);
	if (!take_varint(entries, &shared) || !take_varint(entries, &other) ||
	    !take_varint(entries, &n) || shared > r->n_key || other > MAX_NAME - shared ||
	    other > entries->n || n > entries->n - other)
		return bundle_damaged(r, "an entry is cut short, or a name is too long");
	memcpy(r->key + shared, entries->at, (size_t)other);
	r->n_key = (size_t)(shared + other);
	*value = (struct bundle_span){ entries->at + other, (size_t)n };
	entries->at += other + n;
	entries->n -= (size_t)(other + n);
	order = memcmp(before, r->key, MIN(n_before, r->n_key));
	if (!is_first && (order > 0 || (!order && n_before >= r->n_key)))
		return bundle_damaged(r, "its names are not in order");
	return 0;
}

/* Notes an entry of a tensor, or the header. */
static int note_entry(struct bundle_reader *r, struct bundle_span value)
{
	if (!r->n_key) {
		r->header = value;
		return 0;
	}
	if (memchr(r->key, 0, r->n_key) || !utf8_valid(r->key, r->n_key))
		return bundle_damaged(r, "the name of a tensor is not UTF-8");
	if (mem_grow(&r->values, &r->cap_values, r->n_values + 1, sizeof(*r->values), r->e))
		return r->e->code;
	r->values[r->n_values++] = value;
	buf_add(&r->f->names, r->key, r->n_key);
	buf_add_char(&r->f->names, 0);
	return buf_check(&r->f->names, r->e);
}

static int read_table(struct bundle_reader *r)
{
	const struct map *map = &r->f->map;
	struct bundle_span footer, index, handle, entries, value;
	struct bundle_reader of_index = { .f = r->f, .path = r->path, .e = r->e };
	uint64_t ignored;
	bool is_first = true;

	if (!import_is_bundle(map->data, map->len))
		return err_set(r->e, ERR_DATA, "%s is no index of a TensorFlow checkpoint",
			       r->path);
	footer = (struct bundle_span){ map->data + map->len - FOOTER_BYTES,
				       FOOTER_BYTES - sizeof(magic) };
	if (!take_varint(&footer, &ignored) || !take_varint(&footer, &ignored))
		return bundle_damaged(r, "it has no index");
	if (find_block(r, &footer, &index))
		return r->e->code;
	for (bool is_first_block = true; index.n; is_first_block = false) {
		if (next_entry(&of_index, &index, is_first_block, &handle) ||
		    find_block(r, &handle, &entries))
			return r->e->code;
		for (; entries.n; is_first = false)
			if (next_entry(r, &entries, is_first, &value) || note_entry(r, value))
				return r->e->code;
	}
	return r->header.at ? 0 : bundle_damaged(r, "it has no header");
}

/* ---- the messages ------------------------------------------------------ */

/* The header: the number of data files, which are opened. */
static int open_shards(struct bundle_reader *r)
{
	struct proto p = { r->header.at, r->header.at + r->header.n };
	struct proto_field x;
	uint64_t shards = 0, endianness = 0;
	int more;

	while ((more = proto_next(&p, &x)) > 0) {
		shards = x.number == 1 ? x.value : shards;
		endianness = x.number == 2 ? x.value : endianness;
	}
	if (more < 0 || shards < 1 || shards > MAX_SHARDS)
		return bundle_damaged(r, "the number of its data files is wrong");
	if (endianness)
		return err_set(r->e, ERR_DATA, "%s: its numbers are not little-endian", r->path);
	r->f->shards = mem_alloc((size_t)shards, sizeof(*r->f->shards), r->e);
	if (!r->f->shards)
		return r->e->code;
	for (; r->f->n_shards < shards; r->f->n_shards++) {
		char *path = file_path(r->e, "%.*s.data-%05d-of-%05d",
				       (int)(strlen(r->path) - strlen(".index")), r->path,
				       (int)r->f->n_shards, (int)shards);
		int rc = path ? map_open(&r->f->shards[r->f->n_shards], path, r->e) : r->e->code;

		free(path);
		if (rc)
			return rc;
	}
	return 0;
}

/* What the message of a tensor says. */
struct bundle_entry {
	uint64_t dtype, shard, offset, size, sum;
	bool is_sliced;
};

static enum import_type type_of_tf(uint64_t dtype)
{
	static const struct {
		uint64_t dtype;
		enum import_type type;
	} types[] = { { 1, IMPORT_F32 }, { 2, IMPORT_F64 },   { 3, IMPORT_I32 }, { 5, IMPORT_I16 },
		      { 6, IMPORT_I8 },	 { 14, IMPORT_BF16 }, { 19, IMPORT_F16 } };

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (types[i].dtype == dtype)
			return types[i].type;
	return IMPORT_OTHER;
}

/* Dimensions of a shape; *n: elements. */
static bool read_tf_shape(const struct proto_field *shape, struct import_tensor *t, int64_t *n)
{
	struct proto p = { shape->bytes, shape->bytes + shape->n };
	struct proto_field x, size;
	int more;

	while ((more = proto_next(&p, &x)) > 0) {
		struct proto dim = { x.bytes, x.bytes + x.n };
		int64_t one = 0;

		if (x.number != 2)
			continue;
		if (x.wire != PROTO_BYTES || t->n_dims == SAFETENSORS_MAX_DIMS)
			return false;
		while ((more = proto_next(&dim, &size)) > 0)
			if (size.number == 1)
				one = (int64_t)size.value;
		if (more < 0 || one < 0 || __builtin_mul_overflow(*n, one, n))
			return false;
		t->rows *= t->n_dims++ ? t->cols : 1;
		t->cols = one;
	}
	return more == 0;
}

static bool read_tf_entry(struct bundle_span value, struct bundle_entry *b, struct import_tensor *t,
			  int64_t *n)
{
	struct proto p = { value.at, value.at + value.n };
	struct proto_field x;
	int more;

	*b = (struct bundle_entry){ .dtype = 0 };
	*n = t->rows = t->cols = 1;
	while ((more = proto_next(&p, &x)) > 0) {
		uint64_t *const fields[] = { NULL,	 &b->dtype, NULL,    &b->shard,
					     &b->offset, &b->size,  &b->sum, NULL };

		if (x.number == 2 && (x.wire != PROTO_BYTES || !read_tf_shape(&x, t, n)))
			return false;
		b->is_sliced = b->is_sliced || x.number == 7;
		if (x.number < ARRAY_LEN(fields) && fields[x.number])
			*fields[x.number] = x.value;
	}
	return more == 0;
}

/* Adds a tensor to the list. Those without elements, and of types that no weights have, are left out. */
static int add_tf_tensor(struct bundle_reader *r, const char *name, struct bundle_span value)
{
	struct import_tensor *t = &r->f->all[r->f->n];
	struct bundle_entry b;
	const struct map *shard;
	int64_t n, bytes;

	*t = (struct import_tensor){ .name = name };
	if (!read_tf_entry(value, &b, t, &n))
		return err_set(r->e, ERR_DATA, "%s: the entry of \"%s\" is damaged", r->path, name);
	if (b.is_sliced)
		return err_set(
			r->e, ERR_DATA,
			"%s: \"%s\" is stored in parts (a partitioned variable), which cannot "
			"be read",
			r->path, name);
	t->type = type_of_tf(b.dtype);
	if (t->type == IMPORT_OTHER || !n)
		return 0;
	shard = b.shard < r->f->n_shards ? &r->f->shards[b.shard] : NULL;
	if (!shard || __builtin_mul_overflow(n, (int64_t)import_type_bytes(t->type), &bytes) ||
	    (uint64_t)bytes != b.size || b.size > shard->len || b.offset > shard->len - b.size)
		return err_set(r->e, ERR_DATA,
			       "%s: the elements of \"%s\" lie outside of the data file, or do not "
			       "match its shape",
			       r->path, name);
	t->data = shard->data + b.offset;
	if (crc32c_masked(t->data, (size_t)b.size) != (uint32_t)b.sum)
		return err_set(r->e, ERR_DATA,
			       "%s: the checksum of \"%s\" differs: the data file is damaged",
			       r->path, name);
	r->f->n++;
	return 0;
}

int import_open_bundle(struct import_reader *f, const char *path, struct err *e)
{
	struct bundle_reader r = { .f = f, .path = path, .e = e };
	int rc;

	*f = (struct import_reader){ .path = path };
	rc = map_open(&f->map, path, e);
	if (!rc && !text_ends_with(path, ".index"))
		rc = err_set(e, ERR_USAGE,
			     "%s: the name of a checkpoint's index must end in .index", path);
	if (!rc)
		rc = read_table(&r);
	if (!rc)
		rc = open_shards(&r);
	f->all = rc ? NULL : mem_alloc(r.n_values + 1, sizeof(*f->all), e);
	if (!rc && !f->all)
		rc = e->code;
	for (size_t i = 0, at = 0; !rc && i < r.n_values; i++) {
		const char *name = buf_text(&f->names) + at;

		at += strlen(name) + 1;
		rc = add_tf_tensor(&r, name, r.values[i]);
	}
	free(r.values);
	return rc;
}
