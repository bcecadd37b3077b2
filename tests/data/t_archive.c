/* t_archive.c - tests of archive.h: archives of common tools, and malicious ones */
#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/source/archive.h"
#include "share/base/buf.h"
#include "share/base/file.h"
#include "tests/test.h"

#define ENGLISH "one\ntwo\n"
#define GERMAN	"eins\nzwei\n"
#define MIB	((int64_t)1 << 20)

static const char *const pair[] = { "corpus.en", "deep/corpus.de" };

/* ---- making archives: tar bytes by hand, whatever they say ---- */

struct header {
	const char *name;
	char type; /* '0' file, '1' hard link, '2' link, '3' device, '6' pipe, … */
	int64_t size;
	const char *link;
};

static void add_header(struct buf *b, const struct header *h)
{
	char block[512] = { 0 };
	unsigned sum = 0;

	memcpy(block, h->name, MIN(strlen(h->name), 100));
	snprintf(block + 100, 8, "%07o", 0644);
	snprintf(block + 108, 8, "%07o", 0);
	snprintf(block + 116, 8, "%07o", 0);
	snprintf(block + 124, 12, "%011llo", (unsigned long long)h->size);
	snprintf(block + 136, 12, "%011o", 0);
	memset(block + 148, ' ', 8);
	block[156] = h->type;
	if (h->link)
		memcpy(block + 157, h->link, strlen(h->link));
	memcpy(block + 257, "ustar\00000", 8);
	for (size_t i = 0; i < sizeof(block); i++)
		sum += (unsigned char)block[i];
	snprintf(block + 148, 8, "%06o", sum);
	buf_add(b, block, sizeof(block));
}

static void add_zeros(struct buf *b, size_t n)
{
	char *to = buf_reserve(b, n);

	if (to) {
		memset(to, 0, n);
		b->len += n;
	}
}

static void add_bytes(struct buf *b, const char *bytes, size_t n)
{
	buf_add(b, bytes, n);
	add_zeros(b, (512 - n % 512) % 512);
}

static void add_file(struct buf *b, const char *name, const char *text)
{
	struct header h = { .name = name, .type = '0', .size = (int64_t)strlen(text) };

	add_header(b, &h);
	add_bytes(b, text, strlen(text));
}

static void add_special(struct buf *b, const char *name, char type, const char *link)
{
	struct header h = { .name = name, .type = type, .link = link };

	add_header(b, &h);
}

static void add_end(struct buf *b)
{
	add_zeros(b, 1024);
}

static char *store(const char *name, const struct buf *b)
{
	struct err e = { 0 };
	char *path = file_path(&e, "%s/%s", test_folder(), name);
	FILE *f;

	unlink(path); /* on some file systems, replacing a file waits for the disk */
	f = fopen(path, "wb");
	check(f && !b->failed && fwrite(buf_text(b), 1, b->len, f) == b->len && !fclose(f));
	return path;
}

/* Compress bytes with a filter of libarchive, as in a .tgz. */
static void pack(const struct buf *in, int filter, struct buf *out)
{
	size_t room = in->len + 65536, used = 0;
	char *to = buf_reserve(out, room);
	struct archive *a = archive_write_new();
	struct archive_entry *entry = archive_entry_new();

	archive_write_set_format_raw(a);
	check_int(archive_write_add_filter(a, filter), ARCHIVE_OK);
	archive_write_set_bytes_per_block(a, 0);
	check_int(archive_write_open_memory(a, to, room, &used), ARCHIVE_OK);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_pathname(entry, "x");
	check_int(archive_write_header(a, entry), ARCHIVE_OK);
	check_int(archive_write_data(a, buf_text(in), in->len), (int64_t)in->len);
	check_int(archive_write_close(a), ARCHIVE_OK);
	archive_write_free(a);
	archive_entry_free(entry);
	out->len += used;
}

static char *store_packed(const char *name, const struct buf *b, int filter)
{
	struct buf packed = { 0 };
	char *path;

	pack(b, filter, &packed);
	path = store(name, &packed);
	buf_free(&packed);
	return path;
}

/* Make a .zip of these files; text NULL: zero bytes. type: AE_IFREG, AE_IFLNK, ... */
struct zipped {
	const char *name, *text;
	int64_t bytes;
	unsigned type;
};

static char *store_zip(const char *name, const struct zipped *files, size_t n)
{
	static const char zeros[65536];
	struct err e = { 0 };
	char *path = file_path(&e, "%s/%s", test_folder(), name);
	struct archive *a = archive_write_new();

	archive_write_set_format_zip(a);
	check_int(archive_write_open_filename(a, path), ARCHIVE_OK);
	for (size_t i = 0; i < n; i++) {
		struct archive_entry *entry = archive_entry_new();
		int64_t bytes = files[i].text ? (int64_t)strlen(files[i].text) : files[i].bytes;

		archive_entry_set_pathname(entry, files[i].name);
		archive_entry_set_filetype(entry, files[i].type ? files[i].type : AE_IFREG);
		archive_entry_set_perm(entry, 0644);
		archive_entry_set_size(entry, bytes);
		if (files[i].type == AE_IFLNK)
			archive_entry_set_symlink(entry, "/etc/passwd");
		check(archive_write_header(a, entry) >= ARCHIVE_WARN);
		for (int64_t at = 0; at < bytes; at += (int64_t)sizeof(zeros))
			archive_write_data(a, files[i].text ? files[i].text : zeros,
					   (size_t)MIN(bytes - at, (int64_t)sizeof(zeros)));
		archive_entry_free(entry);
	}
	check_int(archive_write_close(a), ARCHIVE_OK);
	archive_write_free(a);
	return path;
}

/* ---- reading them ---- */

struct outcome {
	int code;
	struct err e;
	struct buf texts[2]; /* of the members of pair, as far as they could be read */
	int64_t bytes;
};

static void read_all(const char *path, size_t room, struct outcome *o)
{
	char block[4096];
	struct archive_reader *r = archive_open(path, pair, ARRAY_LEN(pair), &o->e);
	int64_t got = 0;
	size_t member;

	o->code = r ? 1 : o->e.code;
	o->bytes = 0;
	buf_clear(&o->texts[0]);
	buf_clear(&o->texts[1]);
	while (r && got >= 0 && (o->code = archive_next(r, &member, &o->e)) > 0)
		while ((got = archive_read(r, block, room, &o->e)) > 0) {
			if (o->bytes < MIB)
				buf_add(&o->texts[member], block, (size_t)got);
			o->bytes += got;
		}
	if (got < 0)
		o->code = (int)got;
	archive_close(r);
}

static void free_outcome(struct outcome *o)
{
	buf_free(&o->texts[0]);
	buf_free(&o->texts[1]);
}

static bool is_whole(const struct outcome *o)
{
	return o->code == 0 && !strcmp(buf_text(&o->texts[0]), ENGLISH) &&
	       !strcmp(buf_text(&o->texts[1]), GERMAN);
}

/* Read the archive: ERR_DATA with these words after at most so many bytes. Frees path. */
static void check_refused(char *path, const char *words)
{
	struct outcome o = { 0 };

	read_all(path, 4096, &o);
	if (check_int(o.code, ERR_DATA) && !strstr(o.e.text, words))
		check_str(o.e.text, words);
	check(o.bytes <= 70 * MIB);
	free_outcome(&o);
	free(path);
}

static void check_accepted(char *path)
{
	struct outcome o = { 0 };

	for (size_t room = 1; room <= 4096; room *= 16) {
		read_all(path, room, &o);
		if (!check(is_whole(&o)))
			check_str(o.e.text, path);
	}
	free_outcome(&o);
	free(path);
}

static void good_tar(struct buf *b)
{
	add_file(b, "x/corpus.en", ENGLISH);
	add_file(b, "x/mycorpus.en", "another\n");
	add_special(b, "x/link", '2', "/etc/passwd");
	add_special(b, "x/pipe", '6', NULL);
	add_file(b, "deep/corpus.de", GERMAN);
	add_file(b, "README", "nobody asks for it\n");
	add_end(b);
}

/* ---- honest ones ---- */

TEST(archive_packed_in_every_way)
{
	static const int filters[] = { ARCHIVE_FILTER_NONE, ARCHIVE_FILTER_GZIP,
				       ARCHIVE_FILTER_BZIP2, ARCHIVE_FILTER_XZ,
				       ARCHIVE_FILTER_ZSTD };
	static const struct zipped files[] = {
		{ "corpus.en", ENGLISH, 0, 0 },
		{ "no", "x", 0, 0 },
		{ "y/deep/corpus.de", GERMAN, 0, 0 },
	};
	struct buf b = { 0 };

	good_tar(&b);
	for (size_t i = 0; i < ARRAY_LEN(filters); i++)
		check_accepted(store_packed("good", &b, filters[i]));
	check_accepted(store_zip("good.zip", files, ARRAY_LEN(files)));
	buf_free(&b);
}

/* Archives of tar(1) and zip(1); skip programs that are not installed. */
TEST(archive_written_by_the_usual_tools)
{
	static const struct {
		const char *tool, *command;
	} made[] = {
		{ "tar", "tar cf a in out" },
		{ "tar", "tar c --format=posix -f a in out" },
		{ "tar", "tar c --format=v7 -f a in out" },
		{ "gzip", "tar czf a in out" },
		{ "gzip", "tar cf - in out | gzip -1 >a" },
		{ "bzip2", "tar cjf a in out" },
		{ "xz", "tar cJf a in out" },
		{ "zstd", "tar cf - in out | zstd -q >a" },
		{ "zip", "zip -qr a.zip in out && mv a.zip a" },
		{ "zip", "zip -qr0 a.zip in out && mv a.zip a" },
		{ "zip", "zip -qr - in out | cat >a" },
	};
	const char *folder = test_folder();
	char command[1000];
	struct err e = { 0 };

	snprintf(command, sizeof(command),
		 "cd '%s' && mkdir -p in out/deep && printf '%s' >in/corpus.en && "
		 "printf '%s' >out/deep/corpus.de && ln -s /etc/passwd in/link && mkfifo in/pipe",
		 folder, ENGLISH, GERMAN);
	if (!check_int(system(command), 0))
		return;
	for (size_t i = 0; i < ARRAY_LEN(made); i++) {
		snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", made[i].tool);
		if (system(command))
			continue;
		snprintf(command, sizeof(command), "cd '%s' && rm -f a && rm -f in/pipe && %s",
			 folder, made[i].command);
		if (check_int(system(command), 0))
			check_accepted(file_path(&e, "%s/a", folder));
	}
}

/* If two wanted names match a member, the longer name wins. */
TEST(archive_members_by_the_longest_name)
{
	static const char *const names[] = { "corpus.en", "news/corpus.en" };
	struct buf b = { 0 };
	struct err e = { 0 };
	struct archive_reader *r;
	size_t member = 9;
	char *path;

	add_file(&b, "wmt/news/corpus.en", "news");
	add_file(&b, "./corpus.en", "plain");
	add_end(&b);
	path = store("names.tar", &b);
	r = archive_open(path, names, 2, &e);
	if (check(r)) {
		check(archive_next(r, &member, &e) == 1 && member == 1);
		check(archive_next(r, &member, &e) == 1 && member == 0); /* not read before */
		check_int(archive_next(r, &member, &e), 0);
	}
	archive_close(r);
	free(path);
	buf_free(&b);
}

TEST(archive_position_reaches_the_end)
{
	struct buf b = { 0 }, packed = { 0 };
	struct err e = { 0 };
	struct archive_reader *r;
	size_t member;
	char *path;

	good_tar(&b);
	pack(&b, ARCHIVE_FILTER_GZIP, &packed);
	path = store("position.tgz", &packed);
	r = archive_open(path, pair, 2, &e);
	while (r && archive_next(r, &member, &e) > 0)
		check(archive_position(r) <= (int64_t)packed.len);
	check(r && archive_position(r) == (int64_t)packed.len);
	archive_close(r);
	free(path);
	buf_free(&packed);
	buf_free(&b);
}

/* Trailing bytes that tar and gzip ignore are accepted. */
TEST(archive_with_something_behind_its_end)
{
	struct buf b = { 0 }, packed = { 0 };

	good_tar(&b);
	add_zeros(&b, 512 * 17);
	check_accepted(store("zeros.tar", &b));
	pack(&b, ARCHIVE_FILTER_GZIP, &packed);
	buf_add_str(&packed, "something else");
	check_accepted(store("garbage.tgz", &packed));
	buf_add_str(&b, "something else");
	check_accepted(store_packed("inner.tgz", &b, ARCHIVE_FILTER_GZIP));
	buf_free(&packed);
	buf_free(&b);
}

/* Two concatenated gzip members, cut within a tar header. */
TEST(archive_of_two_gzip_members)
{
	struct buf b = { 0 }, head, rest, packed = { 0 };

	good_tar(&b);
	head = (struct buf){ .data = b.data, .len = 700 };
	rest = (struct buf){ .data = b.data + 700, .len = b.len - 700 };
	pack(&head, ARCHIVE_FILTER_GZIP, &packed);
	pack(&rest, ARCHIVE_FILTER_GZIP, &packed);
	check_accepted(store("two.tgz", &packed));
	buf_free(&packed);
	buf_free(&b);
}

/* ---- hostile ones ---- */

/* Check a malicious member in the middle of good ones, also compressed. Does not free b. */
static void check_hostile(const struct buf *b, const char *words)
{
	struct buf whole = { 0 };

	add_file(&whole, "deep/corpus.de", GERMAN);
	buf_add(&whole, buf_text(b), b->len);
	add_file(&whole, "README", "x");
	add_end(&whole);
	check_refused(store("hostile.tar", &whole), words);
	check_refused(store_packed("hostile.tgz", &whole, ARCHIVE_FILTER_GZIP), words);
	check_refused(store_packed("hostile.txz", &whole, ARCHIVE_FILTER_XZ), words);
	buf_free(&whole);
}

static int count_entries(const char *folder)
{
	DIR *d = opendir(folder);
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

TEST(archive_paths_that_climb)
{
	static const char *const paths[] = {
		"../corpus.en", "x/../../corpus.en", "..",
		"x/..",		"../canary/other",   "x\\..\\corpus.en",
		"/corpus.en",	"/etc/canary",	     "//corpus.en",
	};
	struct err e = { 0 };
	char *canary = file_path(&e, "%s/canary", test_folder());
	struct buf b = { 0 };

	check_int(file_make_folders(canary, &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct zipped files[] = { { paths[i], "x", 0, 0 } };
		bool absolute = paths[i][0] == '/';

		buf_clear(&b);
		add_file(&b, paths[i], "x");
		check_hostile(&b, paths[i]);
		check_hostile(&b, absolute ? "absolute path" : "\"..\" in its path");
		if (!strchr(paths[i], '\\')) /* the .zip writer replaces backslashes */
			check_refused(store_zip("hostile.zip", files, 1), paths[i]);
	}
	check_int(count_entries(canary), 2); /* "." and ".." */
	check(access("/etc/canary", F_OK) != 0);
	check(access("../corpus.en", F_OK) != 0);
	free(canary);
	buf_free(&b);
}

TEST(archive_wanted_members_that_are_no_files)
{
	static const struct {
		char type;
		const char *link, *words;
	} kinds[] = {
		{ '1', "deep/corpus.de", "corpus.en is a hard link" },
		{ '2', "/etc/passwd", "corpus.en is a symbolic link" },
		{ '3', NULL, "corpus.en is a device" },
		{ '4', NULL, "corpus.en is a device" },
		{ '5', NULL, "corpus.en is a folder" },
		{ '6', NULL, "corpus.en is a named pipe" },
	};
	static const struct zipped link[] = { { "corpus.en", "/etc/passwd", 0, AE_IFLNK } };
	struct buf b = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		buf_clear(&b);
		add_special(&b, "x/corpus.en", kinds[i].type, kinds[i].link);
		check_hostile(&b, kinds[i].words);
	}
	check_refused(store_zip("link.zip", link, 1), "corpus.en is a symbolic link");
	buf_free(&b);
}

/* The central directory of a .zip holds the file type in the upper 16 of 32 attribute bits. */
TEST(archive_zip_members_that_are_no_files)
{
	static const struct {
		unsigned mode;
		const char *words;
	} kinds[] = {
		{ S_IFCHR, "corpus.en is a device" },
		{ S_IFBLK, "corpus.en is a device" },
		{ S_IFDIR, "corpus.en/ is a folder" },
		{ S_IFLNK, "corpus.en is a symbolic link" },
		{ S_IFSOCK, "corpus.en is a special file" },
	};
	static const struct zipped file[] = { { "corpus.en", ENGLISH, 0, 0 } };
	char *path = store_zip("kinds.zip", file, 1);
	struct err e = { 0 };
	struct buf b = { 0 };
	char *directory;

	check_int(file_read_all(path, 0, &b, &e), 0);
	directory = memmem(b.data, b.len, "PK\1\2", 4);
	for (size_t i = 0; check(directory) && i < ARRAY_LEN(kinds); i++) {
		directory[40] = (char)((kinds[i].mode | 0644) & 0xFF);
		directory[41] = (char)((kinds[i].mode | 0644) >> 8);
		check_refused(store("kind.zip", &b), kinds[i].words);
	}
	free(path);
	buf_free(&b);
}

TEST(archive_members_that_are_there_twice)
{
	static const struct zipped twice[] = {
		{ "corpus.en", "x", 0, 0 },
		{ "old/corpus.en", "y", 0, 0 },
		{ "deep/corpus.de", "z", 0, 0 },
	};
	struct buf b = { 0 };

	add_file(&b, "corpus.en", ENGLISH);
	add_file(&b, "corpus.en", ENGLISH);
	check_hostile(&b, "member corpus.en occurs twice");
	buf_clear(&b);
	add_file(&b, "new/corpus.en", ENGLISH);
	add_special(&b, "old/corpus.en", '2', "x");
	check_hostile(&b, "old/corpus.en is a symbolic link");
	check_refused(store_zip("twice.zip", twice, 3), "member corpus.en occurs twice");
	buf_free(&b);
}

TEST(archive_lacks_a_member)
{
	static const struct zipped files[] = { { "corpus.en", "x", 0, 0 } };
	struct buf b = { 0 };

	check_refused(store("empty", &b), "corpus.en");
	add_end(&b);
	check_refused(store("nothing.tar", &b), "holds no member corpus.en");
	check_refused(store_packed("nothing.tgz", &b, ARCHIVE_FILTER_GZIP),
		      "holds no member corpus.en");
	buf_clear(&b);
	add_file(&b, "corpus.en", ENGLISH);
	add_end(&b);
	check_refused(store("one.tar", &b), "holds no member deep/corpus.de");
	check_refused(store_zip("one.zip", files, 1), "holds no member deep/corpus.de");
	buf_free(&b);
}

/* ---- bombs ---- */

/* A ratio of 1000:1 in a wanted member, in an unwanted one, and after the last member. */
TEST(archive_bombs)
{
	static const struct zipped wanted[] = { { "corpus.en", NULL, 6 * MIB, 0 } };
	static const struct zipped both[] = {
		{ "corpus.en", NULL, 3 * MIB, 0 },
		{ "deep/corpus.de", NULL, 3 * MIB, 0 },
	};
	static const char *const names[] = { "corpus.en", "other" };
	struct buf b = { 0 };

	for (size_t i = 0; i < 3; i++) {
		struct header h = { .name = i < 2 ? names[i] : "x", .type = '0', .size = 6 * MIB };

		buf_clear(&b);
		if (i == 2)
			good_tar(&b);
		add_header(&b, &h);
		add_zeros(&b, (size_t)(6 * MIB));
		add_end(&b);
		check_refused(store_packed("bomb.tgz", &b, ARCHIVE_FILTER_GZIP),
			      i < 2 ? "unpacks to more than 200 times its size before the end of "
				      "member corpus.en"
				    : "unpacks to more than 200 times its size after");
	}
	check_refused(store_packed("bomb.tzst", &b, ARCHIVE_FILTER_ZSTD), "200 times its size");
	buf_free(&b);
	check_refused(store_zip("bomb.zip", wanted, 1), "200 times its size");
	check_refused(store_zip("bombs.zip", both, 2), "200 times its size");
}

/* A hole of eight terabytes in a file of half a kilobyte. */
TEST(archive_sparse_bomb)
{
	static const char map[] = "1\n8796093022200\n8\n"; /* only the last eight bytes are data */
	static const char pax[] = "22 GNU.sparse.major=1\n"
				  "22 GNU.sparse.minor=0\n"
				  "31 GNU.sparse.name=x/corpus.en\n"
				  "37 GNU.sparse.realsize=8796093022208\n";
	struct header extended = { .name = "p", .type = 'x', .size = (int64_t)strlen(pax) };
	struct header h = { .name = "GNUSparseFile.0/corpus.en", .type = '0', .size = 520 };
	struct buf b = { 0 };

	add_header(&b, &extended);
	add_bytes(&b, pax, strlen(pax));
	add_header(&b, &h);
	add_bytes(&b, map, strlen(map));
	add_bytes(&b, ENGLISH, 8);
	check_hostile(&b, "is a sparse file, a plain file was expected");
	buf_free(&b);
}

/* Its map lists no data at all: libarchive tells only the size. */
TEST(archive_sparse_without_data)
{
	static const char map[] = "0\n";
	static const char pax[] = "22 GNU.sparse.major=1\n"
				  "22 GNU.sparse.minor=0\n"
				  "31 GNU.sparse.name=x/corpus.en\n"
				  "31 GNU.sparse.realsize=1048576\n";
	struct header extended = { .name = "p", .type = 'x', .size = (int64_t)strlen(pax) };
	struct header h = { .name = "GNUSparseFile.0/corpus.en", .type = '0', .size = 512 };
	struct buf b = { 0 };

	add_header(&b, &extended);
	add_bytes(&b, pax, strlen(pax));
	add_header(&b, &h);
	add_bytes(&b, map, strlen(map));
	check_hostile(&b, "shorter than its header says");
	buf_free(&b);
}

/* RFC 1952: a reader must not go on if a reserved flag is set. */
TEST(archive_with_reserved_flags_of_gzip)
{
	struct buf b = { 0 }, packed = { 0 };

	good_tar(&b);
	pack(&b, ARCHIVE_FILTER_GZIP, &packed);
	if (check(packed.len > 3))
		packed.data[3] |= 0x20;
	check_refused(store("flags.tgz", &packed), "unknown header flags");
	buf_free(&packed);
	buf_free(&b);
}

/* ---- headers without end ---- */

TEST(archive_endless_headers)
{
	static const char comment[] = "512 comment=";
	char record[512];
	struct buf b = { 0 };

	memset(record, 'x', sizeof(record));
	memcpy(record, comment, strlen(comment));
	record[511] = '\n';
	/* an extension header without end */
	for (const char *type = "xgLK"; *type; type++) {
		struct header h = { .name = "x", .type = *type, .size = 2 * MIB };

		buf_clear(&b);
		add_header(&b, &h);
		for (int i = 0; i < 4096; i++)
			buf_add(&b, record, sizeof(record));
		check_hostile(&b, "at member corpus.en");
	}
	/* many extension headers in a row */
	for (const char *type = "xL"; *type; type++) {
		struct header h = { .name = "x", .type = *type, .size = 512 };

		buf_clear(&b);
		for (int i = 0; i < 2000; i++) {
			add_header(&b, &h);
			buf_add(&b, record, sizeof(record));
		}
		check_hostile(&b, "at member corpus.en");
	}
	buf_free(&b);
}

TEST(archive_of_too_many_members)
{
	struct buf b = { 0 };

	for (int i = 0; i < 100001; i++)
		add_special(&b, "d/", '5', NULL);
	check_refused(store("many.tar", &b), "more than 100000 members");
	buf_free(&b);
}

/* ---- damaged ones ---- */

/*
 * Cut after every byte. Only a .tar that lacks nothing but its end marker is accepted: that cut
 * looks like the end of the archive.
 */
TEST(archive_cut_short_anywhere)
{
	static const int filters[] = { ARCHIVE_FILTER_NONE, ARCHIVE_FILTER_GZIP,
				       ARCHIVE_FILTER_BZIP2, ARCHIVE_FILTER_XZ,
				       ARCHIVE_FILTER_ZSTD };
	struct buf b = { 0 }, packed = { 0 };
	struct outcome o = { 0 };

	good_tar(&b);
	for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
		size_t enough, refused = 0;

		buf_clear(&packed);
		pack(&b, filters[i], &packed);
		enough = filters[i] == ARCHIVE_FILTER_NONE ? 8 * 512 : packed.len;
		while (packed.len) {
			char *path;

			buf_truncate(&packed, packed.len - 1);
			path = store("cut", &packed);
			read_all(path, 4096, &o);
			free(path);
			refused += o.code == ERR_DATA;
			if (packed.len < enough && o.code != ERR_DATA)
				test_fail(__FILE__, __LINE__, "filter %d, cut to %zu bytes: passes",
					  filters[i], packed.len);
			else if (o.code != ERR_DATA)
				check(is_whole(&o));
		}
		check(refused >= enough);
	}
	free_outcome(&o);
	buf_free(&packed);
	buf_free(&b);
}

static void check_cuts_of(const char *path)
{
	struct err e = { 0 };
	struct buf b = { 0 };
	struct outcome o = { 0 };

	check_int(file_read_all(path, 0, &b, &e), 0);
	while (b.len) {
		char *cut;

		buf_truncate(&b, b.len - 1);
		cut = store("cut.zip", &b);
		read_all(cut, 4096, &o);
		check_int(o.code, ERR_DATA);
		free(cut);
	}
	free_outcome(&o);
	buf_free(&b);
}

/* With any one bit flipped, the archive is rejected or gives the same text. */
static void check_flips_of(const char *path)
{
	struct err e = { 0 };
	struct buf b = { 0 };
	struct outcome o = { 0 };
	int refused = 0;

	check_int(file_read_all(path, 0, &b, &e), 0);
	for (size_t i = 0; i < 8 * b.len; i++) {
		char *flipped;

		b.data[i / 8] ^= (char)(1 << i % 8);
		flipped = store("flipped", &b);
		read_all(flipped, 4096, &o);
		refused += o.code == ERR_DATA;
		if (o.code != ERR_DATA && !is_whole(&o))
			test_fail(__FILE__, __LINE__, "%s: bit %zu turned over passes", path, i);
		free(flipped);
		b.data[i / 8] ^= (char)(1 << i % 8);
	}
	check(refused > (int)b.len);
	free_outcome(&o);
	buf_free(&b);
}

TEST(archive_zip_cut_or_damaged)
{
	static const struct zipped files[] = {
		{ "corpus.en", ENGLISH, 0, 0 },
		{ "deep/corpus.de", GERMAN, 0, 0 },
	};
	char *path = store_zip("whole.zip", files, 2);

	check_cuts_of(path);
	check_flips_of(path);
	free(path);
}

TEST(archive_damaged_anywhere)
{
	static const int filters[] = { ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_BZIP2,
				       ARCHIVE_FILTER_XZ };
	struct buf b = { 0 };
	char *path;

	add_file(&b, "corpus.en", ENGLISH);
	add_file(&b, "deep/corpus.de", GERMAN);
	add_end(&b);
	for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
		path = store_packed("whole", &b, filters[i]);
		check_flips_of(path);
		free(path);
	}
	buf_free(&b);
}
