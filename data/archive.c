/* archive.c - see archive.h */
#include "data/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/text.h"

#define BLOCK_BYTES  (256u << 10)
#define BOMB_BYTES   ((int64_t)64 << 20)	/* from here on … */
#define BOMB_RATIO   200 /* … more unpacked than packed by this factor is no corpus */

/* The end of path from a slash on, or all of it. */
static bool is_member(const char *path, const char *name)
{
	size_t n = strlen(path), m = strlen(name);

	if (n < m || strcmp(path + n - m, name))
		return false;
	return n == m || path[n - m - 1] == '/';
}

static struct archive_member *find_member(struct archive_entry *entry,
					  struct archive_member *members, size_t n)
{
	const char *path = archive_entry_pathname_utf8(entry);
	size_t i;

	if (!path)
		path = archive_entry_pathname(entry);
	if (!path || archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) ||
	    archive_entry_symlink(entry))
		return NULL;
	for (i = 0; i < n; i++)
		if (!members[i].found && is_member(path, members[i].name))
			return &members[i];
	return NULL;
}

/* Names the member at hand: member, else the first that was not found yet. */
static int damaged(struct archive *a, const char *path, const char *member,
		   const struct archive_member *members, size_t n, struct err *e)
{
	const char *why = archive_error_string(a);
	size_t i;

	for (i = 0; !member && i < n; i++)
		if (!members[i].found)
			member = members[i].name;
	return err_set(e, ERR_DATA,
		       "%s: damaged or cut short %s %s (%s): remove it and fetch it again", path,
		       member ? "at member" : "behind the last member",
		       member ? member : "that is needed", why ? why : "no reason given");
}

static int check_bomb(struct archive *a, const char *path, const char *member, int64_t bytes,
		      struct err *e)
{
	int64_t packed = archive_filter_bytes(a, -1);

	if (bytes > BOMB_BYTES && packed > 0 && bytes / packed > BOMB_RATIO)
		return err_set(
			e, ERR_DATA,
			"%s: member %s unpacks to more than %d times its size: this is no corpus",
			path, member, BOMB_RATIO);
	return 0;
}

static int copy_member(struct archive *a, const char *path, struct archive_member *m,
		       struct progress *p, struct err *e)
{
	static char block[BLOCK_BYTES];
	struct outfile out;
	la_ssize_t got;

	if (outfile_open(&out, m->to, e))
		return e->code;
	m->bytes = 0;
	while ((got = archive_read_data(a, block, sizeof(block))) > 0) {
		m->bytes += got;
		if (fwrite(block, 1, (size_t)got, out.stream) != (size_t)got) {
			err_set_errno(e, ERR_IO, "%s: cannot be written", m->to);
			goto fail;
		}
		if (check_bomb(a, path, m->name, m->bytes, e))
			goto fail;
		progress_at(p, archive_filter_bytes(a, -1));
	}
	if (got < 0) {
		damaged(a, path, m->name, NULL, 0, e);
		goto fail;
	}
	m->found = true;
	return outfile_commit(&out, e);
fail:
	outfile_abandon(&out);
	return e->code;
}

/* Walk over all entries, also behind the last wanted one: so a damaged tail is noticed. */
static int walk(struct archive *a, const char *path, struct archive_member *members, size_t n,
		struct progress *p, struct err *e)
{
	struct archive_entry *entry;
	struct archive_member *m;
	int rc;
	size_t i;

	while ((rc = archive_read_next_header(a, &entry)) == ARCHIVE_OK || rc == ARCHIVE_WARN) {
		m = find_member(entry, members, n);
		if (m && copy_member(a, path, m, p, e))
			return e->code;
		progress_at(p, archive_filter_bytes(a, -1));
	}
	if (rc != ARCHIVE_EOF)
		return damaged(a, path, NULL, members, n, e);
	for (i = 0; i < n; i++)
		if (!members[i].found)
			return err_set(e, ERR_DATA, "%s: holds no member %s", path,
				       members[i].name);
	return 0;
}

int archive_extract(const char *path, struct archive_member *members, size_t n, struct progress *p,
		    struct err *e)
{
	struct archive *a = archive_read_new();
	int rc = -1;
	size_t i;

	if (!a)
		return err_set(e, ERR_NOMEM, "%s: out of memory", path);
	for (i = 0; i < n; i++)
		members[i].found = false;
	archive_read_support_filter_gzip(a);
	archive_read_support_filter_bzip2(a);
	archive_read_support_filter_xz(a);
	archive_read_support_filter_zstd(a);
	archive_read_support_format_tar(a);
	archive_read_support_format_zip(a);
	if (!file_exists(path))
		err_set(e, ERR_NOINPUT, "%s: there is no such archive", path);
	else if (archive_read_open_filename(a, path, BLOCK_BYTES) != ARCHIVE_OK)
		damaged(a, path, NULL, members, n, e);
	else
		rc = walk(a, path, members, n, p, e);
	archive_read_free(a);
	for (i = 0; rc && i < n; i++)
		if (members[i].found)
			unlink(members[i].to);
	return rc ? e->code : 0;
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
