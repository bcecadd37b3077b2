/*
 * archive.h - the few members of a .tgz (.tar, .zip, …) that a corpus needs, streamed.
 *
 *	struct archive_reader *a = archive_open(path, names, n, e);
 *	while ((got = archive_next(a, &member, e)) > 0)		in the order of the archive
 *		while ((n = archive_read(a, block, sizeof(block), e)) > 0)
 *			…
 *	archive_close(a);
 *
 * Nothing is ever written under a name of the archive. A member is wanted when
 * one of names is its path or the end of it from a slash on, and only as a
 * regular file. Refused as ERR_DATA, naming archive and member: a wanted member that
 * is a link, a device or anything else but a file; one that is there twice; any
 * member with an absolute path or a ".." in it; a missing member; an archive that is
 * damaged, cut short, unpacks without measure (by bytes really read and by their
 * ratio), or has more entries or longer headers than any corpus.
 *
 * Checksums are looked at as far as the format has them; what is packed as a whole
 * (.tgz and the like) is checked to its last byte, so what was read is known to be sound
 * only when archive_next() has returned 0. Of a .zip only members that are read are
 * unpacked, and a .tar may be cut between two members that nobody asks for.
 */
#ifndef WERKBANK_DATA_SOURCE_ARCHIVE_H
#define WERKBANK_DATA_SOURCE_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

struct archive_reader;

/* Borrows names (n of them). NULL: failure. */
struct archive_reader *archive_open(const char *path, const char *const *names, size_t n,
				    struct err *e);

/* The archive may lack this one: to be said before the first archive_next(). */
void archive_allow_missing(struct archive_reader *a, size_t member);

/* Go to the next wanted member: 1 and its number in names; 0: the end, all were there; < 0. */
int archive_next(struct archive_reader *a, size_t *member, struct err *e);

/* Bytes of the member at hand: how many, 0 at its end, < 0 failure. */
int64_t archive_read(struct archive_reader *a, void *to, size_t room, struct err *e);

/* Bytes of the archive file that have been read: for progress. */
int64_t archive_position(const struct archive_reader *a);

void archive_close(struct archive_reader *a);

/*
 * Does the file begin like an archive? ERR_DATA that says what it is instead (a web page, nothing
 * at all).
 */
int archive_check_kind(const char *path, struct err *e);

#endif
