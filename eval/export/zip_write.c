/* zip_write.c - see zip_write.h */
#include "eval/export/zip_write.h"

#include <string.h>
#include <zlib.h>

#include "share/base/file.h"

#define ZIP_VERSION 20		 /* 2.0: folders in names */
#define ZIP_DATE    (1 << 5 | 1) /* 1980-01-01 */
#define ZIP_LIMIT   UINT32_MAX

static void put_zip_number(struct buf *b, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		buf_add_char(b, (char)(v >> 8 * i));
}

void zip_put(struct zip_writer *z, const void *bytes, size_t n)
{
	z->n_member += n;
	if (z->is_measured)
		z->crc = (uint32_t)crc32_z(z->crc, bytes, n);
	else
		(void)!fwrite(bytes, 1, n, z->out); /* zip_finish() checks ferror() */
}

/* What local header and directory have in common, from the version needed on. */
static void put_zip_facts(struct zip_writer *z, struct buf *b, const char *name)
{
	put_zip_number(b, ZIP_VERSION, 2);
	put_zip_number(b, 0, 2); /* flags */
	put_zip_number(b, 0, 2); /* stored */
	put_zip_number(b, 0, 2); /* time */
	put_zip_number(b, ZIP_DATE, 2);
	put_zip_number(b, z->crc, 4);
	put_zip_number(b, z->n_member, 4);
	put_zip_number(b, z->n_member, 4);
	put_zip_number(b, strlen(name), 2);
	put_zip_number(b, 0, 2); /* extra fields */
}

int zip_add_member(struct zip_writer *z, const char *name, zip_content *content, void *arg,
		   struct err *e)
{
	struct buf local = { 0 };
	int rc;

	z->crc = 0;
	z->n_member = 0;
	z->is_measured = true;
	rc = content(arg, z, e);
	z->is_measured = false;
	if (!rc && z->at + z->n_member + z->directory.len + 1024 > ZIP_LIMIT)
		rc = err_set(
			e, ERR_DATA,
			"the archive would be larger than 4 GiB, which readers of ZIP archives "
			"need not support");
	if (rc)
		return rc;
	buf_add(&local, "PK\3\4", 4);
	put_zip_facts(z, &local, name);
	buf_add_str(&local, name);
	buf_add(&z->directory, "PK\1\2", 4);
	put_zip_number(&z->directory, ZIP_VERSION, 2);
	put_zip_facts(z, &z->directory, name);
	put_zip_number(&z->directory, 0, 2); /* comment */
	put_zip_number(&z->directory, 0, 2); /* disk */
	put_zip_number(&z->directory, 0, 2); /* kind of text */
	put_zip_number(&z->directory, 0, 4); /* attributes */
	put_zip_number(&z->directory, z->at, 4);
	buf_add_str(&z->directory, name);
	rc = buf_check(&local, e);
	(void)!fwrite(buf_text(&local), 1, local.len, z->out);
	z->at += local.len + z->n_member;
	z->n++;
	buf_free(&local);
	return rc ? rc : content(arg, z, e);
}

struct zip_bytes {
	const void *bytes;
	size_t n;
};

static int put_zip_bytes(void *arg, struct zip_writer *z, struct err *e)
{
	const struct zip_bytes *b = arg;

	(void)e;
	zip_put(z, b->bytes, b->n);
	return 0;
}

int zip_add_bytes(struct zip_writer *z, const char *name, const void *bytes, size_t n,
		  struct err *e)
{
	struct zip_bytes b = { bytes, n };

	return zip_add_member(z, name, put_zip_bytes, &b, e);
}

int zip_add_file(struct zip_writer *z, const char *name, const char *path, struct err *e)
{
	struct map map = { 0 };
	int rc = map_open(&map, path, e);

	if (!rc)
		rc = zip_add_bytes(z, name, map.data ? (const void *)map.data : "", map.len, e);
	map_close(&map);
	return rc;
}

int zip_finish(struct zip_writer *z, struct err *e)
{
	const size_t n = z->directory.len;

	buf_add(&z->directory, "PK\5\6", 4);
	put_zip_number(&z->directory, 0, 2); /* disk */
	put_zip_number(&z->directory, 0, 2); /* disk of the directory */
	put_zip_number(&z->directory, z->n, 2);
	put_zip_number(&z->directory, z->n, 2);
	put_zip_number(&z->directory, n, 4);
	put_zip_number(&z->directory, z->at, 4);
	put_zip_number(&z->directory, 0, 2); /* comment */
	if (buf_check(&z->directory, e))
		return e->code;
	(void)!fwrite(z->directory.data, 1, z->directory.len, z->out);
	return ferror(z->out) ? err_set_errno(e, ERR_IO, "cannot write the archive") : 0;
}

void zip_writer_close(struct zip_writer *z)
{
	buf_free(&z->directory);
}
