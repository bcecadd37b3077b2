/* zip.c - reads the directory of a ZIP archive; see zip.h */
#include "eval/weights/zip.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"

#define END_BYTES	22
#define END64_BYTES	56
#define LOCATOR_BYTES	20
#define DIRECTORY_BYTES 46
#define LOCAL_BYTES	30
#define MAX_COMMENT	65535
#define MAX_MEMBERS	100000

struct zip_reader {
	const unsigned char *bytes;
	size_t n;
	const char *path;
	struct err *e;
};

static uint64_t zip_number(const unsigned char *at, int n)
{
	uint64_t v = 0;

	for (int i = n - 1; i >= 0; i--)
		v = v << 8 | at[i];
	return v;
}

static int zip_damaged(const struct zip_reader *r, const char *what)
{
	return err_set(r->e, ERR_DATA, "%s: not a ZIP archive, or damaged: %s", r->path, what);
}

bool zip_recognise(const unsigned char *bytes, size_t n)
{
	return n > 4 && !memcmp(bytes, "PK\3\4", 4);
}

/* The directory that the end record, or the one for large archives before it, describes. */
struct zip_directory {
	uint64_t entries, bytes, offset;
};

static int read_large_end(const struct zip_reader *r, const unsigned char *end,
			  struct zip_directory *d)
{
	const unsigned char *locator = end - LOCATOR_BYTES, *large;
	uint64_t at;

	if (end - r->bytes < LOCATOR_BYTES + END64_BYTES || memcmp(locator, "PK\6\7", 4) != 0)
		return 0;
	at = zip_number(locator + 8, 8);
	if (at > (uint64_t)(locator - r->bytes) - END64_BYTES)
		return zip_damaged(r, "its end record lies outside of the file");
	large = r->bytes + at;
	if (memcmp(large, "PK\6\6", 4) != 0)
		return zip_damaged(r, "its second end record is missing");
	*d = (struct zip_directory){ zip_number(large + 32, 8), zip_number(large + 40, 8),
				     zip_number(large + 48, 8) };
	return 0;
}

static int find_directory(const struct zip_reader *r, struct zip_directory *d)
{
	const unsigned char *end = NULL;

	for (size_t back = END_BYTES; !end && back <= r->n && back <= END_BYTES + MAX_COMMENT;
	     back++)
		if (!memcmp(r->bytes + r->n - back, "PK\5\6", 4))
			end = r->bytes + r->n - back;
	if (!end)
		return zip_damaged(r, "no end record");
	if (zip_number(end + 4, 2) || zip_number(end + 6, 2))
		return zip_damaged(r, "it is one part of several");
	*d = (struct zip_directory){ zip_number(end + 10, 2), zip_number(end + 12, 4),
				     zip_number(end + 16, 4) };
	if (read_large_end(r, end, d))
		return r->e->code;
	if (d->offset > r->n || d->bytes > r->n - d->offset || d->entries > MAX_MEMBERS ||
	    d->entries * DIRECTORY_BYTES > d->bytes)
		return zip_damaged(r, "its directory lies outside of the file");
	return 0;
}

/* Replaces sizes and offset of 0xFFFFFFFF by those of the extra field 1. */
static void read_large_sizes(const unsigned char *extra, size_t n, uint64_t *sizes[3])
{
	while (n >= 4) {
		const size_t len = zip_number(extra + 2, 2);
		size_t at = 4;

		if (len > n - 4)
			return;
		for (int i = 0; zip_number(extra, 2) == 1 && i < 3; i++)
			if (*sizes[i] == UINT32_MAX && at + 8 <= 4 + len) {
				*sizes[i] = zip_number(extra + at, 8);
				at += 8;
			}
		extra += 4 + len;
		n -= 4 + len;
	}
}

/* Reads the entry of the directory at `at`; *bytes: its length. */
static int read_entry(const struct zip_reader *r, const unsigned char *at, size_t room,
		      struct zip_member *m, size_t *bytes)
{
	uint64_t full, size, offset, *sizes[] = { &full, &size, &offset };
	const unsigned char *local;
	size_t n_name, skip;
	uint64_t method;

	if (room < DIRECTORY_BYTES || memcmp(at, "PK\1\2", 4) != 0)
		return zip_damaged(r, "its directory is cut short");
	n_name = zip_number(at + 28, 2);
	*bytes = DIRECTORY_BYTES + n_name + zip_number(at + 30, 2) + zip_number(at + 32, 2);
	if (*bytes > room)
		return zip_damaged(r, "its directory is cut short");
	size = zip_number(at + 20, 4);
	full = zip_number(at + 24, 4);
	offset = zip_number(at + 42, 4);
	read_large_sizes(at + DIRECTORY_BYTES + n_name, zip_number(at + 30, 2), sizes);
	method = zip_number(at + 10, 2);
	if (zip_number(at + 8, 2) & 1)
		return zip_damaged(r, "a member is encrypted");
	if ((method != 0 && method != 8) || (method == 0 && full != size))
		return zip_damaged(r, "a member has an unknown compression");
	if (offset > r->n || r->n - offset < LOCAL_BYTES)
		return zip_damaged(r, "a member lies outside of the file");
	local = r->bytes + offset;
	skip = LOCAL_BYTES + zip_number(local + 26, 2) + zip_number(local + 28, 2);
	if (memcmp(local, "PK\3\4", 4) != 0 || skip > r->n - offset ||
	    size > r->n - offset - skip || zip_number(local + 26, 2) != n_name ||
	    memcmp(local + LOCAL_BYTES, at + DIRECTORY_BYTES, n_name) != 0)
		return zip_damaged(r, "a member and the directory disagree");
	*m = (struct zip_member){ (const char *)at + DIRECTORY_BYTES,
				  n_name,
				  local + skip,
				  (size_t)size,
				  (size_t)full,
				  (uint32_t)zip_number(at + 16, 4),
				  method == 8 };
	return 0;
}

static int compare_members(const void *a, const void *b)
{
	const struct zip_member *x = a, *y = b;
	int d = memcmp(x->name, y->name, MIN(x->n_name, y->n_name));

	return d ? d : (x->n_name > y->n_name) - (x->n_name < y->n_name);
}

int zip_open(struct zip *z, const char *path, const unsigned char *bytes, size_t n, struct err *e)
{
	const struct zip_reader r = { bytes, n, path, e };
	struct zip_directory d = { 0 };
	size_t at = 0, len = 0;

	*z = (struct zip){ .n = 0 };
	if (find_directory(&r, &d))
		return e->code;
	z->all = mem_alloc((size_t)d.entries, sizeof(*z->all), e);
	if (!z->all)
		return e->code;
	for (; z->n < d.entries; z->n++, at += len)
		if (read_entry(&r, bytes + d.offset + at, (size_t)d.bytes - at, &z->all[z->n],
			       &len))
			return e->code;
	if (z->n) /* sorted, for searching and to find a name that occurs twice */
		qsort(z->all, z->n, sizeof(*z->all), compare_members);
	for (size_t i = 1; i < z->n; i++)
		if (!compare_members(&z->all[i - 1], &z->all[i]))
			return zip_damaged(&r, "two members have the same name");
	return 0;
}

const struct zip_member *zip_find(const struct zip *z, const char *name, bool is_below)
{
	for (size_t i = 0; i < z->n; i++) {
		const struct zip_member *m = &z->all[i];
		const char *slash = is_below ? memchr(m->name, '/', m->n_name) : NULL;
		const char *from = slash ? slash + 1 : m->name;
		const size_t n = m->n_name - (size_t)(from - m->name);

		if (n == strlen(name) && !memcmp(from, name, n) && (slash || !is_below))
			return m;
	}
	return NULL;
}

void zip_close(struct zip *z)
{
	free(z->all);
	*z = (struct zip){ .n = 0 };
}
