/*
 * torch_read.c - reads the tensors of a file of torch.save(); see import_reader.h
 *
 * Since PyTorch 1.6 a ZIP archive: X/data.pkl, X/data/KEY (elements), X/byteorder. Before: pickles of a magic
 * number, a protocol, sizes of the system, the object, the list of keys; then for each key u64 count, elements.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/weights/import_reader.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define MAX_STORAGES	 100000
#define MAX_SHARED	 8    /* times the bytes of the file: four names of one table, and more */
#define MAX_OUTPUT_NAMES 1000 /* bytes of the names of an output layer: weight and bias */

/* Bytes of elements in the old form. */
struct old_storage {
	const char *key; /* borrowed from a pickle */
	const unsigned char *data;
	size_t bytes;
};

struct torch_reader {
	struct import_reader *f;
	const char *path;
	struct pickle keys;	      /* of the old form */
	struct old_storage *storages; /* owned */
	size_t n_storages;
	const struct pickle_node *
		*ids; /* owned, borrows nodes: tuples that name storages, sorted by key */
	size_t n_ids, cap_ids;
	struct err *e;
};

bool import_is_torch(const unsigned char *bytes, size_t n)
{
	/* PROTO 2, then LONG1 with the magic number */
	static const unsigned char old[] = {
		0x80, 2, 0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20
	};

	if (n > sizeof(old) && !memcmp(bytes, old, sizeof(old)))
		return true;
	return zip_recognise(bytes, n) && memmem(bytes, MIN(n, 512), "data.pkl", 8);
}

static enum import_type type_of_storage(const char *name)
{
	static const struct {
		const char *name;
		enum import_type type;
	} types[] = {
		{ "torch FloatStorage", IMPORT_F32 }, { "torch DoubleStorage", IMPORT_F64 },
		{ "torch HalfStorage", IMPORT_F16 },  { "torch BFloat16Storage", IMPORT_BF16 },
		{ "torch IntStorage", IMPORT_I32 },   { "torch ShortStorage", IMPORT_I16 },
		{ "torch CharStorage", IMPORT_I8 },
	};

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (!strcmp(types[i].name, name))
			return types[i].type;
	return IMPORT_OTHER;
}

static int compare_storages(const void *a, const void *b)
{
	return strcmp(((const struct old_storage *)a)->key, ((const struct old_storage *)b)->key);
}

static int find_storage(struct torch_reader *r, const char *key, const unsigned char **data,
			size_t *bytes)
{
	const struct old_storage sought = { .key = key };
	const struct old_storage *old = r->n_storages ? bsearch(&sought, r->storages, r->n_storages,
								sizeof(sought), compare_storages)
						      : NULL;
	char name[300];
	const struct zip_member *m;

	if (old) {
		*data = old->data;
		*bytes = old->bytes;
		return 0;
	}
	snprintf(name, sizeof(name), "data/%.200s", key);
	m = zip_find(&r->f->zip, name, true);
	if (!m || m->is_deflated)
		return err_set(r->e, ERR_DATA, "%s has no elements \"%.100s\"", r->path, key);
	*data = m->data;
	*bytes = m->n;
	return 0;
}

static int bad_tensor(struct torch_reader *r, const char *name, const char *what)
{
	return err_set(r->e, ERR_DATA, "%s: the tensor \"%.200s\" %s", r->path, name, what);
}

/* The sizes of a tensor, which must lie in order in its storage; *n: elements. */
static int read_sizes(struct torch_reader *r, struct import_tensor *t,
		      const struct pickle_node *sizes, const struct pickle_node *strides,
		      int64_t *n)
{
	*n = 1;
	t->rows = t->cols = 1;
	if (sizes->kind != PICKLE_TUPLE || strides->kind != PICKLE_TUPLE ||
	    sizes->n != strides->n || sizes->n > SAFETENSORS_MAX_DIMS)
		return bad_tensor(r, t->name, "has no sizes");
	t->n_dims = (int32_t)sizes->n;
	for (size_t i = sizes->n; i-- > 0;) {
		const struct pickle_node *size = sizes->items[i], *stride = strides->items[i];

		if (size->kind != PICKLE_INT || stride->kind != PICKLE_INT || size->number < 1)
			return bad_tensor(r, t->name, "is empty, or has no sizes");
		if (size->number > 1 && stride->number != *n)
			return bad_tensor(r, t->name,
					  "is a view whose elements do not lie in order: save a "
					  "copy of it (.contiguous())");
		if (__builtin_mul_overflow(*n, size->number, n))
			return bad_tensor(r, t->name, "is too large");
		if (i + 1 == sizes->n)
			t->cols = size->number;
		else
			t->rows *= size->number;
	}
	return 0;
}

/* call: _rebuild_tensor_v2(storage, offset, sizes, strides, ...) */
static int add_torch_tensor(struct torch_reader *r, const char *name,
			    const struct pickle_node *call)
{
	const struct pickle_node *id = call->n >= 5 && call->items[1]->kind == PICKLE_STORED
					       ? call->items[1]->items[0]
					       : NULL;
	struct import_reader *f = r->f;
	struct import_tensor *t;
	int64_t n, begin, bytes;
	size_t have = 0;

	if (!id || id->kind != PICKLE_TUPLE || id->n < 5 || id->items[0]->kind != PICKLE_TEXT ||
	    strcmp(id->items[0]->text, "storage") != 0 || id->items[1]->kind != PICKLE_NAME ||
	    id->items[2]->kind != PICKLE_TEXT || call->items[2]->kind != PICKLE_INT)
		return bad_tensor(r, name, "has no storage");
	if (mem_grow(&f->all, &f->cap, f->n + 1, sizeof(*f->all), r->e))
		return r->e->code;
	t = &f->all[f->n];
	*t = (struct import_tensor){ .name = name, .type = type_of_storage(id->items[1]->text) };
	if (t->type == IMPORT_OTHER) /* counters and masks: no weights */
		return 0;
	if (find_storage(r, id->items[2]->text, &t->data, &have) ||
	    read_sizes(r, t, call->items[3], call->items[4], &n))
		return r->e->code;
	begin = call->items[2]->number;
	if (__builtin_add_overflow(n, begin, &bytes) || begin < 0 ||
	    __builtin_mul_overflow(bytes, (int64_t)import_type_bytes(t->type), &bytes) ||
	    (uint64_t)bytes > have)
		return bad_tensor(r, name, "lies outside of its elements");
	t->data += (size_t)begin * import_type_bytes(t->type);
	f->n++;
	return 0;
}

/* The name of a member: of the output layer in f->names, without the "0." of old versions; else that of the file. */
static const char *torch_tensor_name(struct torch_reader *r, const char *prefix, const char *key)
{
	struct buf *names = &r->f->names;
	const size_t at = names->len;

	key += *prefix && !strncmp(key, "0.", 2) ? 2 : 0;
	if (!*prefix || at + strlen(prefix) + strlen(key) + 1 > MAX_OUTPUT_NAMES)
		return key;
	buf_printf(names, "%s%s", prefix, key);
	buf_add_char(names, 0);
	return buf_text(names) + at;
}

/* Tied tables share their elements. A file whose tensors share far more claims a model that it does not hold. */
static int check_shared_elements(const struct torch_reader *r)
{
	const struct import_reader *f = r->f;
	size_t bytes = 0;

	for (size_t i = 0; i < f->n && bytes / MAX_SHARED <= f->map.len; i++)
		bytes += (size_t)(f->all[i].rows * f->all[i].cols) *
			 import_type_bytes(f->all[i].type);
	return bytes / MAX_SHARED <= f->map.len
		       ? 0
		       : err_set(r->e, ERR_DATA,
				 "%s: its tensors have more than %d times the bytes of the file, "
				 "because they share them: save a copy of each (.clone())",
				 r->path, MAX_SHARED);
}

/* The dictionary of tensors: the root, or a member of it. */
static const struct pickle_node *find_torch_tensors(const struct pickle_node *root)
{
	static const char *const names[] = { "model", "state_dict", "model_state_dict" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct pickle_node *x = pickle_get(root, names[i]);

		if (x && x->kind == PICKLE_DICT)
			return x;
	}
	return root;
}

/* Lists the tensors of a dictionary under their names, after the prefix. */
static int list_torch_members(struct torch_reader *r, const struct pickle_node *all,
			      const char *prefix)
{
	for (size_t i = 0; i + 1 < all->n; i += 2) {
		const struct pickle_node *key = all->items[i], *x = all->items[i + 1];

		if (pickle_is_call(x, "torch._utils _rebuild_parameter") && x->n > 1)
			x = x->items[1];
		if (key->kind == PICKLE_TEXT &&
		    pickle_is_call(x, "torch._utils _rebuild_tensor_v2") &&
		    add_torch_tensor(r, torch_tensor_name(r, prefix, key->text), x))
			return r->e->code;
	}
	return 0;
}

static int list_torch_tensors(struct torch_reader *r)
{
	const struct pickle_node *all = find_torch_tensors(r->f->pickle.root),
				 *output = pickle_get(r->f->pickle.root, "generator");

	if (!all || all->kind != PICKLE_DICT)
		return err_set(r->e, ERR_DATA, "%s holds no dictionary of tensors", r->path);
	if (list_torch_members(r, all, ""))
		return r->e->code;
	if (all != r->f->pickle.root && output && output->kind == PICKLE_DICT) {
		if (!buf_reserve(&r->f->names, MAX_OUTPUT_NAMES)) /* names must not move */
			return buf_check(&r->f->names, r->e);
		if (list_torch_members(r, output, "generator."))
			return r->e->code;
	}
	return r->f->n ? check_shared_elements(r)
		       : err_set(r->e, ERR_DATA, "%s holds no tensors", r->path);
}

static int open_new_form(struct torch_reader *r)
{
	struct import_reader *f = r->f;
	const struct zip_member *data, *order;

	if (zip_open(&f->zip, r->path, f->map.data, f->map.len, r->e))
		return r->e->code;
	data = zip_find(&f->zip, "data.pkl", true);
	order = zip_find(&f->zip, "byteorder", true);
	if (!data || data->is_deflated)
		return err_set(r->e, ERR_DATA, "%s has no data.pkl", r->path);
	if (order && (order->n != 6 || memcmp(order->data, "little", 6) != 0))
		return err_set(r->e, ERR_DATA, "%s: its numbers are not little-endian", r->path);
	return pickle_read(&f->pickle, r->path, data->data, data->n, r->e);
}

/* The key in a tuple that names a storage: ("storage", type, key, ...). NULL: it names none. */
static const char *storage_key(const struct pickle_node *id)
{
	return id->kind == PICKLE_TUPLE && id->n > 2 && id->items[1]->kind == PICKLE_NAME &&
			       id->items[2]->kind == PICKLE_TEXT
		       ? id->items[2]->text
		       : NULL;
}

static int compare_storage_ids(const void *a, const void *b)
{
	return strcmp(storage_key(*(const struct pickle_node *const *)a),
		      storage_key(*(const struct pickle_node *const *)b));
}

/* Lists the tuples that name storages, sorted: a hostile file can have a million, and as many keys. */
static int list_storage_ids(struct torch_reader *r)
{
	for (const struct pickle_node *x = r->f->pickle.all; x; x = x->next) {
		if (x->kind != PICKLE_STORED || !storage_key(x->items[0]))
			continue;
		if (mem_grow(&r->ids, &r->cap_ids, r->n_ids + 1, sizeof(*r->ids), r->e))
			return r->e->code;
		r->ids[r->n_ids++] = x->items[0];
	}
	if (r->n_ids)
		qsort(r->ids, r->n_ids, sizeof(*r->ids), compare_storage_ids);
	return 0;
}

/* Bytes of an element of this storage; 0: no tuple names it. */
static size_t storage_element_bytes(const struct torch_reader *r, const struct pickle_node *key)
{
	struct pickle_node *items[] = { NULL, &(struct pickle_node){ .kind = PICKLE_NAME },
					&(struct pickle_node){ .kind = PICKLE_TEXT,
							       .text = key->text } };
	const struct pickle_node sought = { .kind = PICKLE_TUPLE, .items = items, .n = 3 };
	const struct pickle_node *const at = &sought, *const * found;
	const char *type;

	if (key->kind != PICKLE_TEXT || !r->n_ids)
		return 0;
	found = bsearch(&at, r->ids, r->n_ids, sizeof(*r->ids), compare_storage_ids);
	if (!found)
		return 0;
	type = (*found)->items[1]->text;
	return !strcmp(type, "torch LongStorage")      ? 8
	       : type_of_storage(type) == IMPORT_OTHER ? 1
						       : import_type_bytes(type_of_storage(type));
}

/* Finds the storages that follow the list of their keys. */
static int read_old_storages(struct torch_reader *r, size_t at)
{
	const struct map *map = &r->f->map;
	const struct pickle_node *keys = r->keys.root;

	if (keys->kind != PICKLE_LIST || keys->n > MAX_STORAGES)
		return err_set(r->e, ERR_DATA, "%s has no list of elements", r->path);
	r->storages = mem_alloc(keys->n, sizeof(*r->storages), r->e);
	if (!r->storages || list_storage_ids(r))
		return r->e->code;
	for (size_t i = 0; i < keys->n; i++) {
		const struct pickle_node *key = keys->items[i];
		const size_t bytes = storage_element_bytes(r, key);
		uint64_t n;

		if (!bytes || map->len - at < sizeof(n))
			return err_set(r->e, ERR_DATA, "%s is cut short", r->path);
		memcpy(&n, map->data + at, sizeof(n));
		at += sizeof(n);
		if (n > (map->len - at) / bytes)
			return err_set(r->e, ERR_DATA, "%s is cut short", r->path);
		r->storages[r->n_storages++] =
			(struct old_storage){ key->text, map->data + at, (size_t)n * bytes };
		at += (size_t)n * bytes;
	}
	if (r->n_storages)
		qsort(r->storages, r->n_storages, sizeof(*r->storages), compare_storages);
	return 0;
}

/* Three pickles of numbers, the object, the keys, and the storages. */
static int open_old_form(struct torch_reader *r)
{
	const struct map *map = &r->f->map;
	struct pickle head = { 0 };
	size_t at = 0;
	int rc = 0;

	for (int i = 0; !rc && i < 3; i++) {
		rc = pickle_read(&head, r->path, map->data + at, map->len - at, r->e);
		at += head.bytes;
		pickle_close(&head);
	}
	if (!rc)
		rc = pickle_read(&r->f->pickle, r->path, map->data + at, map->len - at, r->e);
	at += r->f->pickle.bytes;
	if (!rc)
		rc = pickle_read(&r->keys, r->path, map->data + at, map->len - at, r->e);
	return rc ? rc : read_old_storages(r, at + r->keys.bytes);
}

static int open_torch_file(struct import_reader *f, const char *path, bool with_tensors,
			   struct err *e)
{
	struct torch_reader r = { .f = f, .path = path, .e = e };
	int rc;

	*f = (struct import_reader){ .path = path };
	rc = map_open(&f->map, path, e);
	if (!rc && !f->map.len)
		rc = err_set(e, ERR_DATA, "%s is empty: expected a file of torch.save()", path);
	if (!rc)
		rc = zip_recognise(f->map.data, f->map.len) ? open_new_form(&r) : open_old_form(&r);
	if (!rc && with_tensors)
		rc = list_torch_tensors(&r);
	pickle_close(&r.keys);
	free(r.storages);
	free(r.ids);
	return rc;
}

int import_open_torch(struct import_reader *f, const char *path, struct err *e)
{
	return open_torch_file(f, path, true, e);
}

int import_open_pickle(struct import_reader *f, const char *path, struct err *e)
{
	return open_torch_file(f, path, false, e);
}
