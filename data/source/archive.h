/*
 * archive.h - reader of the few members of a .tgz (.tar, .zip, ...) that a corpus needs, streamed
 *
 *	struct archive_reader *a = archive_open(path, names, n, e);
 *	while ((got = archive_next(a, &member, e)) > 0)		in the order of the archive
 *		while ((n = archive_read(a, block, sizeof(block), e)) > 0)
 *			...
 *	archive_close(a);
 *
 * The reader never creates a file. A member matches an entry of names when the entry is the
 * member's path or the end of that path after a slash. The reader fails with ERR_DATA, naming the
 * archive and the member, in these cases:
 *	- a wanted member is no regular file (a link, a device, ...) or occurs twice;
 *	- any member has an absolute path or ".." in its path;
 *	- a wanted member is missing;
 *	- the archive is damaged or cut short;
 *	- the archive is a decompression bomb (by bytes really read and by their ratio);
 *	- the archive has more than 100,000 entries.
 *
 * The name ARCHIVE_WHOLE, if it is the only one, is the file itself without its compression (.gz, .xz,
 * .bz2, .zst), whatever it holds.
 *
 * Checksums are verified as far as the format has them. A compressed stream (.tgz and the like) is
 * verified to its last byte, so its contents are known to be intact only when archive_next() has
 * returned 0. Of a .zip only the wanted members are unpacked and verified. If a .tar is cut
 * between two unwanted members, the reader does not notice it.
 */
#ifndef WERKBANK_DATA_SOURCE_ARCHIVE_H
#define WERKBANK_DATA_SOURCE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

struct archive_reader;

#define ARCHIVE_WHOLE ""

/* names: [n], borrowed until archive_close(). NULL: failure. */
struct archive_reader *archive_open(const char *path, const char *const *names, size_t n,
				    struct err *e);

/* Member number `member` may be missing. Call this before the first archive_next(). */
void archive_allow_missing(struct archive_reader *a, size_t member);

/* Advance to the next wanted member. 1: *member: index in names; 0: the end; < 0. */
int archive_next(struct archive_reader *a, size_t *member, struct err *e);

/* Read at most `room` bytes of the current member. Returns their number, 0 at its end, < 0. */
int64_t archive_read(struct archive_reader *a, void *to, size_t room, struct err *e);

/* Bytes of the archive file (compressed) read so far, for progress. */
int64_t archive_position(const struct archive_reader *a);

void archive_close(struct archive_reader *a);

/* *packed: is the file compressed, or an archive, by its magic bytes? */
int archive_is_packed(const char *path, bool *packed, struct err *e);

/* Check the magic bytes of a file. ERR_DATA if it is no archive, but a web page or empty. */
int archive_check_kind(const char *path, struct err *e);

#endif
