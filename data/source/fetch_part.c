/*
 * fetch_part.c - a partly downloaded file on the disk, and its note PART.json (see fetch_part.h)
 *
 *	PART       |#############################......................|
 *	           0             hashed        bytes             origin.total
 *	PART.json  {"v":1,"url":...,"etag":...,"last_modified":...,"content":...,"total":...}
 *
 * Order of writes: fetch_part_begin() empties PART before it replaces PART.json, and the first byte
 * is appended after that. So PART never holds bytes of another version than PART.json names. The
 * tail of PART may be lost in a crash; the next run resumes at the size that it finds.
 */
#include "data/source/fetch_part.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/format/format_version.h"
#include "share/format/json.h"

#define HASH_AT_ONCE (4u << 20)
#define NOTE_MAX     (64u << 10)

static void free_origin(struct fetch_part_origin *o)
{
	free(o->url);
	free(o->etag);
	free(o->last_modified);
	*o = (struct fetch_part_origin){ .total = -1 };
}

/* ---- the note ---- */

static int part_copy_text(char **to, const char *text, struct err *e)
{
	*to = text && *text ? mem_strdup(text, e) : NULL;
	return text && *text && !*to ? e->code : 0;
}

static int copy_origin(struct fetch_part_origin *to, const struct fetch_part_origin *from,
		       struct err *e)
{
	struct fetch_part_origin o = { .total = from->total };

	memcpy(o.content, from->content, sizeof(o.content));
	if (part_copy_text(&o.url, from->url, e) || part_copy_text(&o.etag, from->etag, e) ||
	    part_copy_text(&o.last_modified, from->last_modified, e)) {
		free_origin(&o);
		return e->code;
	}
	free_origin(to);
	*to = o;
	return 0;
}

/* A text that becomes part of a request: "" if it holds control characters. */
static const char *part_header_text(const struct json *root, const char *key)
{
	const char *text = json_text(json_get(root, key), ""), *at;

	for (at = text; *at; at++)
		if (iscntrl((unsigned char)*at))
			return "";
	return text;
}

static const struct file_format part_format = { .what = "record of a part of a download",
						.version = 1 };

/* A damaged note leaves the origin unknown; then the part is downloaded from byte 0. */
static int read_note(struct fetch_part *p, struct err *e)
{
	struct json *root;
	struct fetch_part_origin o = { .total = -1 };
	const char *content;
	int rc = json_read_optional(&root, p->note_path, NOTE_MAX, e);

	if (root && !(rc = format_check_version(root, &part_format, p->note_path, e))) {
		o.url = (char *)part_header_text(root, "url");
		o.etag = (char *)part_header_text(root, "etag");
		o.last_modified = (char *)part_header_text(root, "last_modified");
		o.total = json_integer(json_get(root, "total"), -1);
		content = json_text(json_get(root, "content"), "");
		if (strlen(content) < sizeof(o.content))
			memcpy(o.content, content, strlen(content));
		rc = copy_origin(&p->origin, &o, e);
	}
	json_free(root);
	return rc;
}

static void part_put_text(struct json_writer *w, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	json_put_str(w, key, text);
}

static int write_note(const struct fetch_part *p, struct err *e)
{
	struct buf b = { 0 };
	struct json_writer w = { .out = &b };
	int rc;

	json_open(&w, '{');
	format_put_version(&w, &part_format, NULL);
	part_put_text(&w, "url", p->origin.url);
	part_put_text(&w, "etag", p->origin.etag);
	part_put_text(&w, "last_modified", p->origin.last_modified);
	part_put_text(&w, "content", p->origin.content);
	json_put_int(&w, "total", p->origin.total);
	json_close(&w, '}');
	buf_add_char(&b, '\n');
	rc = file_write_buf(p->note_path, &b, e);
	buf_free(&b);
	return rc;
}

/* ---- the file ---- */

static int reset_sums(struct fetch_part *p, struct err *e)
{
	hash_free(p->sha256_sum);
	hash_free(p->md5_sum);
	p->md5_sum = NULL;
	p->hashed = 0;
	p->sha256_sum = hash_new(HASH_SHA256, e);
	if (!p->sha256_sum)
		return e->code;
	if (p->md5)
		p->md5_sum = hash_new(HASH_MD5, e);
	return p->md5 && !p->md5_sum ? e->code : 0;
}

int fetch_part_open(struct fetch_part *p, const char *path, bool md5, struct err *e)
{
	struct stat s;

	*p = (struct fetch_part){ .path = path, .fd = -1, .md5 = md5, .origin = { .total = -1 } };
	p->note_path = file_path(e, "%s.json", path);
	if (!p->note_path || reset_sums(p, e))
		goto fail;
	if (file_open_in_place(&p->fd, path, O_RDWR, e))
		goto fail;
	if (fstat(p->fd, &s)) {
		err_set_errno(e, ERR_IO, "%s: cannot be read", path);
		goto fail;
	}
	/* its owner could change the file after its sums have been checked */
	if (s.st_uid != geteuid()) {
		err_set(e, ERR_PERM, "%s: belongs to another user (number %ld): remove it", path,
			(long)s.st_uid);
		goto fail;
	}
	p->bytes = s.st_size;
	if (read_note(p, e))
		goto fail;
	return 0;
fail:
	fetch_part_close(p);
	return e->code;
}

void fetch_part_close(struct fetch_part *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	hash_free(p->sha256_sum);
	hash_free(p->md5_sum);
	p->sha256_sum = p->md5_sum = NULL;
	free_origin(&p->origin);
	free(p->note_path);
	p->note_path = NULL;
}

void fetch_part_remove(struct fetch_part *p)
{
	if (p->note_path)
		unlink(p->note_path);
	if (p->path)
		unlink(p->path);
	fetch_part_close(p);
}

bool fetch_part_may_resume(const struct fetch_part *p, const struct fetch_address *a,
			   const char **if_range)
{
	const struct fetch_part_origin *o = &p->origin;
	bool same_url = o->url && !strcmp(o->url, a->url);
	bool same_content = *a->content && !strcmp(o->content, a->content);

	*if_range = NULL;
	if (!p->bytes || (o->total >= 0 && p->bytes > o->total) ||
	    (a->bytes >= 0 && p->bytes > a->bytes) || text_starts_with(a->url, "file:"))
		return false;
	/* a weak ETag does not guarantee equal bytes: not valid in If-Range (RFC 9110, 13.1.5) */
	if (same_url && o->etag && !text_starts_with(o->etag, "W/"))
		*if_range = o->etag;
	else if (same_url)
		*if_range = o->last_modified;
	return same_content || *if_range;
}

int fetch_part_hash(struct fetch_part *p, bool *more, struct err *e)
{
	unsigned char *block = mem_alloc(HASH_AT_ONCE, 1, e);
	ssize_t n = 0;
	int rc = block ? 0 : e->code;

	assert(p->hashed <= p->bytes);
	*more = false;
	if (!rc)
		n = pread(p->fd, block, (size_t)MIN(p->bytes - p->hashed, HASH_AT_ONCE), p->hashed);
	if (n < 0)
		rc = err_set_errno(e, ERR_IO, "%s: cannot be read", p->path);
	if (n > 0 && (hash_add(p->sha256_sum, block, (size_t)n, e) ||
		      (p->md5 && hash_add(p->md5_sum, block, (size_t)n, e))))
		rc = e->code;
	if (!rc) {
		p->hashed += n;
		if (!n)
			p->bytes = p->hashed; /* another program truncated the file */
		*more = p->hashed < p->bytes;
	}
	free(block);
	return rc;
}

int fetch_part_begin(struct fetch_part *p, const struct fetch_part_origin *origin, struct err *e)
{
	if (ftruncate(p->fd, 0))
		return err_set_errno(e, ERR_IO, "%s: cannot be emptied", p->path);
	p->bytes = 0;
	if (reset_sums(p, e) || copy_origin(&p->origin, origin, e))
		return e->code;
	return write_note(p, e);
}

int fetch_part_append(struct fetch_part *p, const void *bytes, size_t n, struct err *e)
{
	const unsigned char *at = bytes;
	ssize_t written;

	assert(p->hashed == p->bytes); /* the sums must cover the prefix */
	for (; n; at += written, n -= (size_t)written) {
		written = pwrite(p->fd, at, n, p->bytes);
		if (written < 0 && errno == EINTR)
			written = 0;
		if (written < 0)
			return err_set_errno(e, ERR_IO, "%s: cannot be written", p->path);
		if (hash_add(p->sha256_sum, at, (size_t)written, e) ||
		    (p->md5 && hash_add(p->md5_sum, at, (size_t)written, e)))
			return e->code;
		p->bytes += written;
		p->hashed += written;
	}
	return 0;
}

int fetch_part_finish(struct fetch_part *p, struct fetch_sums *s, struct err *e)
{
	assert(p->hashed == p->bytes);
	*s = (struct fetch_sums){ .bytes = p->bytes };
	if (fsync(p->fd) || fstat(p->fd, &s->file))
		return err_set_errno(e, ERR_IO, "%s: cannot be written", p->path);
	if (hash_hex(p->sha256_sum, s->sha256, e) || (p->md5 && hash_hex(p->md5_sum, s->md5, e)))
		return e->code;
	return 0;
}
