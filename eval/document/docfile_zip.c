/* docfile_zip.c - see docfile_zip.h; source: PKWARE's APPNOTE 6.3 */
#include "eval/document/docfile_zip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "eval/weights/zip.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define ZIP_VERSION 20	 /* of readers: deflate */
#define ZIP_DATE    0x21 /* 1980-01-01, so that equal documents give equal files */
#define ZIP_UTF8    0x800
#define MAX_MEMBERS 65535

static int compare_data(const void *a, const void *b)
{
	const struct docfile_member *x = a, *y = b;

	return (x->data > y->data) - (x->data < y->data);
}

int docfile_zip_list(const char *path, const struct buf *file, struct docfile_member **members,
		     size_t *n, struct err *e)
{
	struct zip z = { 0 };
	int rc = zip_open(&z, path, (const unsigned char *)buf_text(file), file->len, e);

	*n = 0;
	*members = rc ? NULL : mem_alloc(z.n, sizeof(**members), e);
	if (!rc && z.n > MAX_MEMBERS)
		rc = err_set(e, ERR_DATA, "%s: has more than %d members", path, MAX_MEMBERS);
	for (size_t i = 0; !rc && *members && i < z.n; i++) {
		const struct zip_member *m = &z.all[i];
		struct docfile_member *to = &(*members)[*n];

		*to = (struct docfile_member){ .data = m->data,
					       .n = m->n,
					       .full = m->full,
					       .sum = m->sum,
					       .is_deflated = m->is_deflated };
		if (!(to->name = mem_alloc(m->n_name + 1, 1, e)))
			rc = e->code;
		else
			memcpy(to->name, m->name, m->n_name);
		*n += !rc;
	}
	zip_close(&z);
	rc = rc || *members ? rc : e->code;
	if (rc) {
		docfile_zip_free(*members, *n);
		*members = NULL;
		*n = 0;
	} else if (*n) {
		qsort(*members, *n, sizeof(**members), compare_data);
	}
	return rc;
}

void docfile_zip_free(struct docfile_member *members, size_t n)
{
	for (size_t i = 0; members && i < n; i++)
		free(members[i].name);
	free(members);
}

int docfile_zip_unpack(const char *path, const struct docfile_member *m, char **bytes, size_t *n,
		       struct err *e)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)m->data, .avail_in = (uInt)m->n };
	int rc = Z_OK;

	*bytes = NULL;
	if (m->full > DOCFILE_MAX_PART)
		return err_set(e, ERR_DATA, "%s: the member %s has more than %zu MiB", path,
			       m->name, DOCFILE_MAX_PART >> 20);
	*bytes = mem_alloc(m->full + 1, 1, e);
	if (!*bytes)
		return e->code;
	*n = m->full;
	if (m->is_deflated) {
		z.next_out = (Bytef *)*bytes;
		z.avail_out = (uInt)m->full + 1;
		rc = inflateInit2(&z, -MAX_WBITS); /* no header */
		if (rc == Z_OK) {
			rc = inflate(&z, Z_FINISH);
			inflateEnd(&z);
		}
		rc = rc == Z_STREAM_END && z.total_out == m->full ? Z_OK : Z_DATA_ERROR;
	} else {
		memcpy(*bytes, m->data, m->full);
	}
	if (rc == Z_OK && crc32_z(0, (const Bytef *)*bytes, m->full) == m->sum) {
		(*bytes)[m->full] = '\0';
		return 0;
	}
	free(*bytes);
	*bytes = NULL;
	return err_set(e, ERR_DATA, "%s: the member %s is damaged", path, m->name);
}

static void put_zip_value(struct buf *b, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		buf_add_char(b, (char)(value >> 8 * i & 0xff));
}

/* What local header and directory have in common, from the version needed on. */
static void put_facts(struct buf *b, const struct docfile_member *m)
{
	bool is_ascii = true;

	for (const char *c = m->name; *c; c++)
		is_ascii &= (unsigned char)*c < 0x80;
	put_zip_value(b, ZIP_VERSION, 2);
	put_zip_value(b, is_ascii ? 0 : ZIP_UTF8, 2);
	put_zip_value(b, m->is_deflated ? 8 : 0, 2);
	put_zip_value(b, 0, 2); /* time */
	put_zip_value(b, ZIP_DATE, 2);
	put_zip_value(b, m->sum, 4);
	put_zip_value(b, m->n, 4);
	put_zip_value(b, m->full, 4);
	put_zip_value(b, strlen(m->name), 2);
	put_zip_value(b, 0, 2); /* extra fields */
}

/* Deflates the new contents of a member. *packed is owned by the caller. */
static int pack_member(const char *path, const struct buf *contents, struct docfile_member *m,
		       unsigned char **packed, struct err *e)
{
	z_stream z = { .next_in = (Bytef *)contents->data, .avail_in = (uInt)contents->len };
	size_t room;
	int rc;

	if (contents->len > UINT32_MAX / 2)
		return err_set(e, ERR_DATA, "%s: the member %s becomes too large", path, m->name);
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return err_set(e, ERR_NOMEM, "out of memory for packing");
	room = deflateBound(&z, (uLong)contents->len);
	*packed = mem_alloc(room, 1, e);
	if (!*packed) {
		deflateEnd(&z);
		return e->code;
	}
	z.next_out = *packed;
	z.avail_out = (uInt)room;
	rc = deflate(&z, Z_FINISH);
	deflateEnd(&z);
	if (rc != Z_STREAM_END)
		return err_set(e, ERR_NOMEM, "%s: the member %s cannot be packed", path, m->name);
	m->data = *packed;
	m->n = z.total_out;
	m->full = contents->len;
	m->sum = (uint32_t)crc32_z(0, (const Bytef *)contents->data, contents->len);
	m->is_deflated = true;
	return 0;
}

/* Writes one member, and its entry of the directory. contents: new ones; NULL: as stored. */
static int write_zip_member(const char *path, struct docfile_member *m, const struct buf *contents,
			    FILE *out, struct buf *directory, uint64_t *at, struct err *e)
{
	unsigned char *packed = NULL;
	struct buf local = { 0 };
	int rc = contents ? pack_member(path, contents, m, &packed, e) : 0;

	buf_add(&local, "PK\3\4", 4);
	put_facts(&local, m);
	buf_add_str(&local, m->name);
	buf_add(directory, "PK\1\2", 4);
	put_zip_value(directory, ZIP_VERSION, 2);
	put_facts(directory, m);
	put_zip_value(directory, 0, 2); /* comment */
	put_zip_value(directory, 0, 2); /* disk */
	put_zip_value(directory, 0, 2); /* kind of text */
	put_zip_value(directory, 0, 4); /* attributes */
	put_zip_value(directory, *at, 4);
	buf_add_str(directory, m->name);
	*at += local.len + m->n;
	if (!rc && *at + directory->len > UINT32_MAX)
		rc = err_set(e, ERR_DATA, "%s: would become larger than 4 GiB", path);
	if (!rc && !(rc = buf_check(&local, e))) { /* the caller checks the stream */
		(void)!fwrite(local.data, 1, local.len, out);
		(void)!fwrite(m->data, 1, m->n, out);
	}
	buf_free(&local);
	free(packed);
	return rc;
}

int docfile_zip_write(const struct docfile *d, const struct buf *parts, FILE *out, struct err *e)
{
	struct docfile_member *members;
	struct buf directory = { 0 };
	uint64_t at = 0;
	size_t n, n_directory;
	int rc = docfile_zip_list(d->path, &d->file, &members, &n, e);

	for (size_t i = 0; i < n && !rc; i++) {
		const struct buf *contents = NULL;

		for (size_t k = 0; k < d->n_parts; k++)
			if (!strcmp(d->parts[k].name, members[i].name) &&
			    (parts[k].len != d->parts[k].n ||
			     memcmp(buf_text(&parts[k]), d->parts[k].bytes, parts[k].len)))
				contents = &parts[k];
		rc = write_zip_member(d->path, &members[i], contents, out, &directory, &at, e);
	}
	n_directory = directory.len;
	buf_add(&directory, "PK\5\6", 4);
	put_zip_value(&directory, 0, 4); /* disks */
	put_zip_value(&directory, n, 2);
	put_zip_value(&directory, n, 2);
	put_zip_value(&directory, n_directory, 4);
	put_zip_value(&directory, at, 4);
	put_zip_value(&directory, 0, 2); /* comment */
	if (!rc)
		rc = buf_check(&directory, e);
	if (!rc)
		(void)!fwrite(directory.data, 1, directory.len, out);
	buf_free(&directory);
	docfile_zip_free(members, n);
	return rc;
}
