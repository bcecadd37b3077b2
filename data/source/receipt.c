/* receipt.c - the receipt of an archive, NAME.json (see receipt.h) */
#include "data/source/receipt.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/format/format_version.h"
#include "share/format/json.h"

#define BLOCK_BYTES (1u << 20)
#define MAX_RECEIPT (64u << 10)

static const char *const trusts[] = { "published", "pinned", "own" }; /* enum receipt_trust */

static int add_blocks(FILE *f, const char *path, struct hash *sha, struct hash *md5,
		      struct file_sums *s, struct err *e)
{
	unsigned char *block = mem_alloc(BLOCK_BYTES, 1, e);
	size_t n;
	int rc = block ? 0 : e->code;

	while (!rc && (n = fread(block, 1, BLOCK_BYTES, f)) > 0) {
		s->bytes += (int64_t)n;
		if (hash_add(sha, block, n, e) || hash_add(md5, block, n, e))
			rc = e->code;
	}
	if (!rc && ferror(f))
		rc = err_set_errno(e, ERR_IO, "%s: cannot be read", path);
	free(block);
	return rc;
}

int file_sums(const char *path, struct file_sums *s, struct err *e)
{
	struct hash *sha = hash_new(HASH_SHA256, e), *md5 = sha ? hash_new(HASH_MD5, e) : NULL;
	FILE *f = md5 ? file_open_stream(path, e) : NULL;
	int rc = -1;

	*s = (struct file_sums){ 0 };
	if (f && !add_blocks(f, path, sha, md5, s, e) && !hash_hex(sha, s->sha256, e) &&
	    !hash_hex(md5, s->md5, e))
		rc = 0;
	if (f)
		fclose(f);
	hash_free(sha);
	hash_free(md5);
	return rc ? e->code : 0;
}

static void receipt_read_text(char *to, size_t size, const struct json *object, const char *key)
{
	const char *text = json_text(json_get(object, key), "");

	if (strlen(text) < size)
		memcpy(to, text, strlen(text) + 1);
}

static int receipt_read_fields(struct receipt *r, const struct json *root, struct err *e)
{
	const char *url = json_text(json_get(root, "url"), "");
	const char *trust = json_text(json_get(root, "trust"), "");
	size_t i = 0;

	while (i < ARRAY_LEN(trusts) && strcmp(trust, trusts[i]))
		i++;
	receipt_read_text(r->sums.sha256, sizeof(r->sums.sha256), root, "sha256");
	receipt_read_text(r->sums.md5, sizeof(r->sums.md5), root, "md5");
	r->sums.bytes = json_integer(json_get(root, "bytes"), -1);
	r->inode = json_integer(json_get(root, "inode"), -1);
	r->mtime_ns = json_integer(json_get(root, "mtime_ns"), -1);
	if (!*url || i == ARRAY_LEN(trusts) || strlen(r->sums.sha256) != HASH_SHA256_HEX - 1)
		return 0;
	r->trust = (enum receipt_trust)i;
	r->url = mem_strdup(url, e);
	return r->url ? 0 : e->code;
}

static const struct file_format receipt_format = { .what = "record of a download", .version = 1 };

int receipt_read(struct receipt *r, const char *path, struct err *e)
{
	struct json *root;
	int rc;

	*r = (struct receipt){ 0 };
	rc = json_read_optional(&root, path, MAX_RECEIPT, e);
	if (root && !(rc = format_check_version(root, &receipt_format, path, e)))
		rc = receipt_read_fields(r, root, e);
	json_free(root);
	return rc;
}

int receipt_write(const struct receipt *r, const char *path, struct err *e)
{
	struct buf b = { 0 };
	struct json_writer w = { .out = &b };
	int rc;

	assert(r->url && (size_t)r->trust < ARRAY_LEN(trusts));
	json_open(&w, '{');
	format_put_version(&w, &receipt_format, NULL);
	json_put_str(&w, "url", r->url);
	json_put_str(&w, "trust", trusts[r->trust]);
	json_put_int(&w, "bytes", r->sums.bytes);
	json_put_str(&w, "sha256", r->sums.sha256);
	if (r->sums.md5[0])
		json_put_str(&w, "md5", r->sums.md5);
	json_put_int(&w, "inode", r->inode);
	json_put_int(&w, "mtime_ns", r->mtime_ns);
	json_close(&w, '}');
	buf_add_char(&b, '\n');
	rc = file_write_buf(path, &b, e);
	buf_free(&b);
	return rc;
}

void receipt_free(struct receipt *r)
{
	free(r->url);
	*r = (struct receipt){ 0 };
}

static int64_t time_of(const struct stat *s)
{
	return (int64_t)s->st_mtim.tv_sec * 1000000000 + s->st_mtim.tv_nsec;
}

void receipt_set_file(struct receipt *r, const struct stat *s)
{
	r->inode = (int64_t)(s->st_ino & INT64_MAX);
	r->mtime_ns = time_of(s);
}

bool receipt_matches_file(const struct receipt *r, const struct stat *s)
{
	return r->url && r->sums.bytes == s->st_size && r->mtime_ns == time_of(s) &&
	       r->inode == (int64_t)(s->st_ino & INT64_MAX);
}
