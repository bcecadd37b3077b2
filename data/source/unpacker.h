/*
 * unpacker.h - the wanted members of an archive, read by a child process in a sandbox.
 *
 * Decompression and archive formats are a lot of code that reads bytes from the internet. It runs
 * (archive.h) in a child that can read nothing but this archive, write nothing but its answers, and
 * has no network. This process reads the answers and checks each of them.
 *
 *	struct unpacker *u = unpacker_open(path, names, optional, n, true, e);
 *	while ((got = unpacker_next(u, &member, e)) > 0)
 *		while ((n = unpacker_read(u, bytes, sizeof(bytes), e)) > 0) ...
 *	unpacker_close(u);
 */
#ifndef WERKBANK_DATA_SOURCE_UNPACKER_H
#define WERKBANK_DATA_SOURCE_UNPACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

struct unpacker;

/*
 * Start reading. names: [n]; optional: [n] members that may be missing, NULL: none may. Both are
 * used during this call only. wants_bytes false: the archive is read to its end, but no bytes of
 * members come. A fault of the archive is reported by unpacker_next(). NULL: ERR_NOMEM,
 * or no process can be started.
 */
struct unpacker *unpacker_open(const char *path, const char *const *names, const bool *optional,
			       size_t n, bool wants_bytes, struct err *e);

/* Start reading a compressed file that is no archive (ARCHIVE_WHOLE), at its first byte. NULL: failure. */
struct unpacker *unpacker_open_whole(const char *path, struct err *e);

/* Advance to the next wanted member. 1: *member: index in names; 0: the end; < 0: see archive.h. */
int unpacker_next(struct unpacker *u, size_t *member, struct err *e);

/* Read at most `room` bytes of the current member. Returns their number, 0 at its end, < 0. */
int64_t unpacker_read(struct unpacker *u, void *to, size_t room, struct err *e);

/* Bytes of the archive file (compressed) read so far, for progress. */
int64_t unpacker_position(const struct unpacker *u);

/* Ends the child. NULL is fine. */
void unpacker_close(struct unpacker *u);

#endif
