/*
 * archive.c - reader of wanted members of an archive, on libarchive (see archive.h)
 *
 * A compressed tar is unpacked outside of the tar reader, so that the bytes that really come out
 * can be counted and the rest after the last member can be verified:
 *
 *	.tgz		gunzip.h       -> archive_unpack_block() -> libarchive's tar reader
 *	.txz .tbz .tzst	another struct archive (raw format) -> the same
 *	.tar .zip	libarchive reads the file itself
 */
#include "data/source/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/source/gunzip.h"
#include "share/base/file.h"
#include "share/base/mem.h"

#define BLOCK_BYTES (1u << 20)
#define BOMB_BYTES  ((int64_t)4 << 20) /* unpacked bytes above which the ratio is checked */
#define BOMB_RATIO  200		       /* largest plausible ratio of unpacked to packed bytes */
#define MAX_ENTRIES 100000

struct archive_reader {
	struct archive *a;	  /* owned: reader of the members */
	struct gunzip *gunzip;	  /* owned: input of a for gzip; else NULL */
	struct archive *unpacker; /* owned: input of a for other compressions; else NULL */
	int64_t unpacked;	  /* bytes that gunzip or unpacker produced */
	bool is_bomb;
	struct err failure;	  /* of gunzip or unpacker: code 0, or the reason */
	char *path;		  /* owned */
	const char *const *names; /* borrowed */
	size_t n;
	bool *found;	   /* owned: (n) */
	bool *optional;	   /* owned: (n) may be missing */
	bool is_whole;	   /* the only name is ARCHIVE_WHOLE */
	const char *block; /* then: the n_block unpacked bytes that nobody has read yet */
	size_t n_block;
	size_t current; /* index of the current wanted member, n: none */
	int64_t entries;
	int64_t given; /* bytes that archive_read() returned, of all members */
	int64_t left;  /* bytes still to come of this member; -1: its header does not say */
};

/* Is name equal to path, or to its end after a slash? Ignores slashes at the end of path. */
static bool is_member(const char *path, const char *name)
{
	size_t n = strlen(path), m = strlen(name);

	while (n && path[n - 1] == '/')
		n--;
	if (n < m || memcmp(path + n - m, name, m))
		return false;
	return n == m || path[n - m - 1] == '/';
}

/* Index of the wanted member with the longest name that matches path, n: none. */
static size_t find_member(const struct archive_reader *r, const char *path)
{
	size_t best = r->n;

	for (size_t i = 0; i < r->n; i++)
		if (is_member(path, r->names[i]) &&
		    (best == r->n || strlen(r->names[i]) > strlen(r->names[best])))
			best = i;
	return best;
}

/* For messages: the current member, else the first that is not found yet; NULL: all are found. */
static const char *current_member_name(const struct archive_reader *r)
{
	if (r->current < r->n)
		return r->names[r->current];
	for (size_t i = 0; i < r->n; i++)
		if (!r->found[i])
			return r->names[i];
	return NULL;
}

/* Numbers with which libarchive says that the system failed, not that the archive is damaged. */
static bool is_system_fault(int number)
{
	return number == EACCES || number == EPERM || number == EMFILE || number == ENFILE ||
	       number == ENOMEM;
}

/* Turn the failure that the tar reader or the decompression below it reported into *e. */
static int archive_error(const struct archive_reader *r, struct err *e)
{
	const char *member = current_member_name(r), *why = archive_error_string(r->a);

	if (r->is_bomb && r->is_whole)
		return err_set(e, ERR_DATA,
			       "%s: unpacks to more than %d times its size (the limit; the first "
			       "%d MiB are free): it looks like a decompression bomb; if it is "
			       "none, unpack it",
			       r->path, BOMB_RATIO, (int)(BOMB_BYTES >> 20));
	if (r->is_bomb)
		return err_set(
			e, ERR_DATA,
			"%s: unpacks to more than %d times its size %s %s (the limit; the "
			"first %d MiB are free): it looks like a decompression bomb; if it is "
			"none, unpack it and name its files with train_source",
			r->path, BOMB_RATIO, member ? "before the end of member" : "after",
			member ? member : "the last member that is needed",
			(int)(BOMB_BYTES >> 20));
	if (r->failure.code && r->failure.code != ERR_DATA)
		return err_set(e, r->failure.code, "%s: %s", r->path, r->failure.text);
	if (r->failure.code)
		why = r->failure.text;
	errno = archive_errno(r->a);
	if (!r->failure.code && is_system_fault(errno))
		return err_set_errno(e, ERR_IO, "%s: cannot be read", r->path);
	if (r->is_whole)
		return err_set(e, ERR_DATA, "%s: damaged or cut short (%s)", r->path,
			       why ? why : "no reason given");
	return err_set(e, ERR_DATA,
		       "%s: damaged or cut short %s %s (%s): remove it and fetch it again", r->path,
		       member ? "at member" : "after the last member",
		       member ? member : "that is needed", why ? why : "no reason given");
}

/* ---- decompression of a whole stream (.tgz and the like) ---- */

int64_t archive_position(const struct archive_reader *r)
{
	if (r->gunzip)
		return gunzip_position(r->gunzip);
	return archive_filter_bytes(r->unpacker ? r->unpacker : r->a, -1);
}

/* Compares bytes really unpacked, never the sizes that a header announces. */
static bool is_bomb(const struct archive_reader *r, int64_t unpacked)
{
	return unpacked > BOMB_BYTES && unpacked / MAX(archive_position(r), 1) > BOMB_RATIO;
}

/* The next unpacked block: its length, 0: the end, < 0: archive_error() gives the reason. */
static int64_t archive_unpack_block(struct archive_reader *r, const void **block)
{
	size_t n = 0;
	la_int64_t offset;
	int64_t got;

	if (r->gunzip) {
		got = gunzip_next(r->gunzip, block, &r->failure);
	} else {
		int rc;

		do /* libarchive may return an empty block */
			rc = archive_read_data_block(r->unpacker, block, &n, &offset);
		while (rc >= ARCHIVE_WARN && rc != ARCHIVE_EOF && !n);
		got = rc == ARCHIVE_EOF ? 0 : rc >= ARCHIVE_WARN ? (int64_t)n : -1;
		if (got < 0)
			err_set(&r->failure, ERR_DATA, "%s", archive_error_string(r->unpacker));
	}
	r->unpacked += MAX(got, 0);
	r->is_bomb = is_bomb(r, r->unpacked);
	return r->is_bomb ? -1 : got;
}

/* libarchive's read callback. The reason of a failure stays in r->failure. */
static la_ssize_t read_unpacked(struct archive *a, void *reader, const void **block)
{
	int64_t got = archive_unpack_block(reader, block);

	if (got < 0)
		archive_set_error(a, EIO, "decompression failed");
	return got < 0 ? ARCHIVE_FATAL : got;
}

/* Check the trailing data after the last member: the checksum is at the end of the stream. */
static int unpack_rest(struct archive_reader *r, struct err *e)
{
	const void *block;
	int64_t got = 1;

	while ((r->gunzip || r->unpacker) && got > 0)
		got = archive_unpack_block(r, &block);
	return got < 0 ? archive_error(r, e) : 0;
}

/* ---- checks of an entry ---- */

static int check_path(const struct archive_reader *r, const char *path, struct err *e)
{
	const char *p = path;

	if (*p == '/')
		return err_set(e, ERR_DATA, "%s: member %s has an absolute path: archive rejected",
			       r->path, path);
	while (*p) {
		size_t n = strcspn(p, "/\\");

		if (n == 2 && p[0] == '.' && p[1] == '.')
			return err_set(e, ERR_DATA,
				       "%s: member %s has \"..\" in its path: archive rejected",
				       r->path, path);
		p += n + (p[n] != 0);
	}
	return 0;
}

/*
 * NULL for a regular file, else a noun for the message. Sparse files are refused: archive_read_data()
 * of libarchive 3.6 loses a hole at the end of a file when it reads small blocks.
 */
static const char *kind_name(struct archive_entry *entry)
{
	if (archive_entry_hardlink(entry))
		return "a hard link";
	switch (archive_entry_filetype(entry)) {
	case AE_IFREG:
		return archive_entry_sparse_count(entry) ? "a sparse file" : NULL;
	case AE_IFLNK:
		return "a symbolic link";
	case AE_IFDIR:
		return "a folder";
	case AE_IFCHR:
	case AE_IFBLK:
		return "a device";
	case AE_IFIFO:
		return "a named pipe";
	default:
		return "a special file";
	}
}

/* 1: a wanted member, now current; 0: skip the entry; < 0: reject the archive. */
static int archive_check_entry(struct archive_reader *r, struct archive_entry *entry, struct err *e)
{
	const char *path = archive_entry_pathname_utf8(entry), *kind;
	size_t i;

	if (!path)
		path = archive_entry_pathname(entry);
	if (++r->entries > MAX_ENTRIES)
		return err_set(e, ERR_DATA, "%s: has more than %d members: archive rejected",
			       r->path, MAX_ENTRIES);
	if (!path) /* a name that cannot be converted matches no wanted name */
		return 0;
	if (check_path(r, path, e))
		return e->code;
	i = find_member(r, path);
	if (i == r->n)
		return 0;
	kind = kind_name(entry);
	if (kind)
		return err_set(e, ERR_DATA, "%s: member %s is %s, a plain file was expected",
			       r->path, path, kind);
	if (r->found[i])
		return err_set(e, ERR_DATA,
			       "%s: member %s occurs twice: the manifest must name one by its full "
			       "path",
			       r->path, r->names[i]);
	r->found[i] = true;
	r->current = i;
	r->left = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : -1;
	return 1;
}

/* ---- reading ---- */

void archive_allow_missing(struct archive_reader *r, size_t member)
{
	assert(member < r->n && r->entries == 0);
	r->optional[member] = true;
}

/* archive_next() for ARCHIVE_WHOLE */
static int next_whole(struct archive_reader *r, size_t *member)
{
	const bool is_first = !r->found[0];

	r->found[0] = true;
	r->current = *member = is_first ? 0 : r->n;
	return is_first;
}

/* archive_read() for ARCHIVE_WHOLE */
static int64_t read_whole(struct archive_reader *r, void *to, size_t room, struct err *e)
{
	const void *block;
	int64_t got;

	if (!r->n_block) {
		got = archive_unpack_block(r, &block);
		if (got <= 0) {
			r->current = r->n;
			return got < 0 ? archive_error(r, e) : 0;
		}
		r->block = block;
		r->n_block = (size_t)got;
	}
	room = MIN(room, r->n_block);
	memcpy(to, r->block, room);
	r->block += room;
	r->n_block -= room;
	return (int64_t)room;
}

int archive_next(struct archive_reader *r, size_t *member, struct err *e)
{
	struct archive_entry *entry;
	int rc;

	if (r->is_whole)
		return next_whole(r, member);

	/* archive_read_next_header() skips the unread rest of the current member */
	while ((rc = archive_read_next_header(r->a, &entry)) == ARCHIVE_OK || rc == ARCHIVE_WARN) {
		int wanted;

		r->current = r->n;
		wanted = archive_check_entry(r, entry, e);
		if (wanted) {
			*member = r->current;
			return wanted;
		}
	}
	if (rc != ARCHIVE_EOF)
		return archive_error(r, e);
	r->current = r->n;
	for (size_t i = 0; i < r->n; i++)
		if (!r->found[i] && !r->optional[i])
			return err_set(e, ERR_DATA, "%s: holds no member %s", r->path, r->names[i]);
	return unpack_rest(r, e);
}

int64_t archive_read(struct archive_reader *r, void *to, size_t room, struct err *e)
{
	la_ssize_t got;

	assert(r->current <= r->n);
	if (r->current == r->n)
		return 0;
	if (r->is_whole)
		return read_whole(r, to, room, e);
	got = archive_read_data(r->a, to, room);
	r->given += MAX(got, 0);
	/* a .zip does not pass through archive_unpack_block() */
	r->is_bomb = r->is_bomb || is_bomb(r, r->given);
	if (got < 0 || r->is_bomb)
		return archive_error(r, e);
	if (r->left >= 0)
		r->left -= got;
	/* a sparse file of which libarchive does not say that it is one */
	if (!got && r->left > 0)
		return err_set(e, ERR_DATA,
			       "%s: member %s is %lld bytes shorter than its header says", r->path,
			       r->names[r->current], (long long)r->left);
	if (!got)
		r->current = r->n;
	return got;
}

/* The whole file as one decompressed stream, for compressions other than gzip. NULL: failure. */
static struct archive *open_unpacker(const char *path)
{
	struct archive *a = archive_read_new();
	struct archive_entry *entry;

	if (!a)
		return NULL;
	archive_read_support_filter_bzip2(a);
	archive_read_support_filter_xz(a);
	archive_read_support_filter_zstd(a);
	archive_read_support_format_raw(a);
	if (archive_read_open_filename(a, path, BLOCK_BYTES) == ARCHIVE_OK &&
	    archive_read_next_header(a, &entry) == ARCHIVE_OK)
		return a;
	archive_read_free(a);
	return NULL;
}

enum packing { PACKED_NOT, PACKED_GZIP, PACKED_OTHERWISE };

/* How archives begin, and the compression of the whole file. */
static const struct {
	const char *magic;
	size_t at, n;
	enum packing packing;
} beginnings[] = {
	{ "\x1f\x8b", 0, 2, PACKED_GZIP },
	{ "BZh", 0, 3, PACKED_OTHERWISE },
	{ "\xfd\x37zXZ", 0, 5, PACKED_OTHERWISE },
	{ "\x28\xb5\x2f\xfd", 0, 4, PACKED_OTHERWISE },
	{ "PK\3\4", 0, 4, PACKED_NOT },
	{ "ustar", 257, 5, PACKED_NOT },
};

/* false: no archive begins like that. */
static bool find_packing(const unsigned char head[512], enum packing *packing)
{
	*packing = PACKED_NOT;
	for (size_t i = 0; i < ARRAY_LEN(beginnings); i++)
		if (!memcmp(head + beginnings[i].at, beginnings[i].magic, beginnings[i].n)) {
			*packing = beginnings[i].packing;
			return true;
		}
	return false;
}

static int open_members(struct archive_reader *r, struct err *e)
{
	unsigned char head[512] = { 0 };
	enum packing packing;
	size_t n;
	int rc;

	if (file_read_head(r->path, head, sizeof(head), &n, e))
		return e->code;
	find_packing(head, &packing);
	if (packing == PACKED_NOT && r->is_whole)
		return err_set(e, ERR_DATA,
			       "%s: is an archive of files: unpack it and name its files", r->path);
	archive_read_support_format_tar(r->a);
	if (packing == PACKED_NOT) {
		/* "seekable" reads the central directory, so a .zip that is cut short fails */
		archive_read_support_format_zip_seekable(r->a);
		rc = archive_read_open_filename(r->a, r->path, BLOCK_BYTES);
		return rc == ARCHIVE_OK ? 0 : archive_error(r, e);
	}
	if (packing == PACKED_GZIP)
		r->gunzip = gunzip_open(r->path, &r->failure);
	else
		r->unpacker = open_unpacker(r->path);
	if (!r->gunzip && !r->unpacker)
		return archive_error(r, e);
	if (r->is_whole)
		return 0;
	rc = archive_read_open(r->a, r, NULL, read_unpacked, NULL);
	return rc == ARCHIVE_OK ? 0 : archive_error(r, e);
}

struct archive_reader *archive_open(const char *path, const char *const *names, size_t n,
				    struct err *e)
{
	struct archive_reader *r = mem_alloc(1, sizeof(*r), e);

	if (!r)
		return NULL;
	*r = (struct archive_reader){ .names = names, .n = n, .current = n };
	r->is_whole = n == 1 && !strcmp(names[0], ARCHIVE_WHOLE);
	r->path = mem_strdup(path, e);
	r->found = r->path ? mem_alloc(n, sizeof(*r->found), e) : NULL;
	r->optional = r->found ? mem_alloc(n, sizeof(*r->optional), e) : NULL;
	if (!r->optional)
		goto fail;
	r->a = archive_read_new();
	if (!r->a)
		err_set(e, ERR_NOMEM, "%s: out of memory", path);
	else if (!file_exists(path))
		err_set(e, ERR_NOINPUT, "%s: no such archive", path);
	else if (!open_members(r, e))
		return r;
fail:
	archive_close(r);
	return NULL;
}

void archive_close(struct archive_reader *r)
{
	if (!r)
		return;
	if (r->a)
		archive_read_free(r->a);
	if (r->unpacker)
		archive_read_free(r->unpacker);
	gunzip_close(r->gunzip);
	free(r->path);
	free(r->found);
	free(r->optional);
	free(r);
}

int archive_is_packed(const char *path, bool *packed, struct err *e)
{
	unsigned char head[512] = { 0 };
	enum packing packing;
	size_t n;

	if (file_read_head(path, head, sizeof(head), &n, e))
		return e->code;
	*packed = find_packing(head, &packing);
	return 0;
}

int archive_check_kind(const char *path, struct err *e)
{
	unsigned char head[512] = { 0 };
	enum packing packing;
	size_t n, i = 0;

	if (file_read_head(path, head, sizeof(head), &n, e))
		return e->code;
	if (!n)
		return err_set(e, ERR_DATA, "%s: is empty", path);
	if (find_packing(head, &packing))
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
