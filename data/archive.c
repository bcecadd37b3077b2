/* archive.c - see archive.h */
#include "data/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"

#define BLOCK_BYTES  (1u << 20)
#define BOMB_BYTES   ((int64_t)64 << 20)	/* from here on … */
#define BOMB_RATIO   200	/* … more unpacked than packed by this factor is no corpus */
#define MAX_ENTRIES  1000000

struct archive_reader {
	struct archive *a;
	char   *path;			/* owned */
	const char *const *names;	/* borrowed */
	size_t  n;
	bool   *found;			/* owned: (n) */
	bool   *optional;		/* owned: (n) may be missing */
	size_t  at;			/* the wanted member at hand, n: none */
	int64_t entries;
	int64_t given;			/* bytes handed out, of all members */
};

/* The end of path from a slash on, or all of it; a folder's name may end with a slash. */
static bool is_member(const char *path, const char *name)
{
	size_t n = strlen(path), m = strlen(name);

	while (n && path[n - 1] == '/')
		n--;
	if (n < m || memcmp(path + n - m, name, m))
		return false;
	return n == m || path[n - m - 1] == '/';
}

/* The wanted member of that path (of several the one with the longest name), n: it is none. */
static size_t find_member(const struct archive_reader *r, const char *path)
{
	size_t best = r->n;

	for (size_t i = 0; i < r->n; i++)
		if (is_member(path, r->names[i]) &&
		    (best == r->n || strlen(r->names[i]) > strlen(r->names[best])))
			best = i;
	return best;
}

/* Names the member at hand, else the first that was not found yet. */
static int damaged(const struct archive_reader *r, struct err *e)
{
	const char *why = archive_error_string(r->a), *member = NULL;

	if (r->at < r->n)
		member = r->names[r->at];
	for (size_t i = 0; !member && i < r->n; i++)
		if (!r->found[i])
			member = r->names[i];
	return err_set(e, ERR_DATA,
		       "%s: damaged or cut short %s %s (%s): remove it and fetch it again", r->path,
		       member ? "at member" : "behind the last member",
		       member ? member : "that is needed", why ? why : "no reason given");
}

/* Bytes that came out are counted, never those that a header announces. */
static int check_bomb(const struct archive_reader *r, const char *member, struct err *e)
{
	int64_t packed = MAX(archive_filter_bytes(r->a, -1), 1);
	int64_t unpacked = MAX(archive_filter_bytes(r->a, 0), r->given);

	if (unpacked <= BOMB_BYTES || unpacked / packed <= BOMB_RATIO)
		return 0;
	return err_set(e, ERR_DATA,
		       "%s: member %s unpacks to more than %d times its size: this is no corpus",
		       r->path, member, BOMB_RATIO);
}

static int check_path(const struct archive_reader *r, const char *path, struct err *e)
{
	const char *p = path;

	if (*p == '/')
		return err_set(e, ERR_DATA,
			       "%s: member %s has an absolute path: this is no honest corpus",
			       r->path, path);
	while (*p) {
		size_t n = strcspn(p, "/\\");

		if (n == 2 && p[0] == '.' && p[1] == '.')
			return err_set(e, ERR_DATA,
				       "%s: member %s has \"..\" in its path: this is no honest "
				       "corpus",
				       r->path, path);
		p += n + (p[n] != 0);
	}
	return 0;
}

static const char *kind_name(struct archive_entry *entry)
{
	if (archive_entry_hardlink(entry))
		return "a hard link";
	switch (archive_entry_filetype(entry)) {
	case AE_IFREG: return NULL;
	case AE_IFLNK: return "a symbolic link";
	case AE_IFDIR: return "a folder";
	case AE_IFCHR:
	case AE_IFBLK: return "a device";
	case AE_IFIFO: return "a named pipe";
	default:       return "something special";
	}
}

/* Is this entry wanted, and may it be read? 1, 0: pass it over, < 0. */
static int judge(struct archive_reader *r, struct archive_entry *entry, struct err *e)
{
	const char *path = archive_entry_pathname_utf8(entry), *kind;
	size_t i;

	if (!path)
		path = archive_entry_pathname(entry);
	if (++r->entries > MAX_ENTRIES)
		return err_set(e, ERR_DATA, "%s: has more than %d members: this is no corpus",
			       r->path, MAX_ENTRIES);
	if (!path)		/* a name in no known character set: no one can have asked for it */
		return 0;
	if (check_path(r, path, e) || check_bomb(r, path, e))
		return e->code;
	i = find_member(r, path);
	if (i == r->n)
		return 0;
	kind = kind_name(entry);
	if (kind)
		return err_set(e, ERR_DATA, "%s: member %s is %s, a file was expected", r->path,
			       path, kind);
	if (r->found[i])
		return err_set(e, ERR_DATA,
			       "%s: member %s is there twice: which one is meant cannot be known",
			       r->path, r->names[i]);
	r->found[i] = true;
	r->at = i;
	return 1;
}

/*
 * Pass over an entry. What has to be unpacked on the way is looked at, so that an endless one is
 * noticed before its end.
 */
static int skip(struct archive_reader *r, const char *path, struct err *e)
{
	const void *block;
	size_t n;
	la_int64_t offset;
	int rc;

	if (archive_filter_count(r->a) < 2)
		return archive_read_data_skip(r->a) < ARCHIVE_WARN ? damaged(r, e) : 0;
	while ((rc = archive_read_data_block(r->a, &block, &n, &offset)) >= ARCHIVE_WARN) {
		if (rc == ARCHIVE_EOF)
			return 0;
		if (check_bomb(r, path, e))
			return e->code;
	}
	return damaged(r, e);
}

void archive_allow_missing(struct archive_reader *r, size_t member)
{
	r->optional[member] = true;
}

int archive_next(struct archive_reader *r, size_t *member, struct err *e)
{
	struct archive_entry *entry;
	int rc;

	/* the rest of a member that was not read to its end */
	if (r->at < r->n && skip(r, r->names[r->at], e))
		return e->code;
	r->at = r->n;
	while ((rc = archive_read_next_header(r->a, &entry)) == ARCHIVE_OK || rc == ARCHIVE_WARN) {
		int wanted = judge(r, entry, e);

		if (wanted) {
			*member = r->at;
			return wanted;
		}
		if (skip(r, "that nobody asked for", e))
			return e->code;
	}
	if (rc != ARCHIVE_EOF)
		return damaged(r, e);
	for (size_t i = 0; i < r->n; i++)
		if (!r->found[i] && !r->optional[i])
			return err_set(e, ERR_DATA, "%s: holds no member %s", r->path, r->names[i]);
	return 0;
}

int64_t archive_read(struct archive_reader *r, void *to, size_t room, struct err *e)
{
	la_ssize_t got;

	if (r->at == r->n)
		return 0;
	got = archive_read_data(r->a, to, room);
	if (got < 0)
		return damaged(r, e);
	r->given += got;
	if (check_bomb(r, r->names[r->at], e))
		return e->code;
	return got;
}

struct archive_reader *archive_open(const char *path, const char *const *names, size_t n,
				    struct err *e)
{
	struct archive_reader *r = mem_alloc(1, sizeof(*r), e);

	if (!r)
		return NULL;
	*r = (struct archive_reader){ .names = names, .n = n, .at = n };
	r->path = mem_strdup(path, e);
	r->found = r->path ? mem_alloc(n, sizeof(*r->found), e) : NULL;
	r->optional = r->found ? mem_alloc(n, sizeof(*r->optional), e) : NULL;
	if (!r->optional)
		goto fail;
	r->a = archive_read_new();
	if (!r->a) {
		err_set(e, ERR_NOMEM, "%s: out of memory", path);
		goto fail;
	}
	archive_read_support_filter_gzip(r->a);
	archive_read_support_filter_bzip2(r->a);
	archive_read_support_filter_xz(r->a);
	archive_read_support_filter_zstd(r->a);
	archive_read_support_format_tar(r->a);
	archive_read_support_format_zip(r->a);
	if (!file_exists(path)) {
		err_set(e, ERR_NOINPUT, "%s: there is no such archive", path);
		goto fail;
	}
	if (archive_read_open_filename(r->a, path, BLOCK_BYTES) == ARCHIVE_OK)
		return r;
	damaged(r, e);
fail:
	archive_close(r);
	return NULL;
}

int64_t archive_position(const struct archive_reader *r)
{
	return archive_filter_bytes(r->a, -1);
}

void archive_close(struct archive_reader *r)
{
	if (!r)
		return;
	if (r->a)
		archive_read_free(r->a);
	free(r->path);
	free(r->found);
	free(r->optional);
	free(r);
}

int archive_check_kind(const char *path, struct err *e)
{
	unsigned char head[512] = { 0 };
	FILE *f = fopen(path, "rbe");
	size_t n, i = 0;

	if (!f)
		return err_set_errno(e, ERR_NOINPUT, "%s: cannot be read", path);
	n = fread(head, 1, sizeof(head), f);
	fclose(f);
	if (!n)
		return err_set(e, ERR_DATA, "%s: is empty", path);
	if (!memcmp(head, "\x1f\x8b", 2) || !memcmp(head, "PK\3\4", 4) || !memcmp(head, "BZh", 3) ||
	    !memcmp(head, "\xfd" "7zXZ", 5) || !memcmp(head, "\x28\xb5\x2f\xfd", 4) ||
	    !memcmp(head + 257, "ustar", 5))
		return 0;
	while (i < n && isspace(head[i]))
		i++;
	if (i < n && head[i] == '<')
		return err_set(e, ERR_DATA,
			       "%s: is a web page, not an archive: the address has moved or asks "
			       "for a log-in",
			       path);
	return err_set(e, ERR_DATA, "%s: is not an archive (.tgz, .tar, .zip, …)", path);
}
