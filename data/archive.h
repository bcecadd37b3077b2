/* archive.h - the few members of a .tgz (.tar, .zip, …) that a corpus needs. */
#ifndef WERKBANK_DATA_ARCHIVE_H
#define WERKBANK_DATA_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/progress.h"
#include "share/base/err.h"

struct archive_member {
	const char *name; /* its path in the archive, or the end of it from a slash on; borrowed */
	const char *to;		/* the file to write; borrowed */
	bool    found;		/* set here */
	int64_t bytes;		/* set here: unpacked */
};

/*
 * Read the archive once from front to back and write the named members, each
 * to its own file. Only regular files count: links and devices are passed
 * over, and no path of the archive is ever used as a path here. A damaged or
 * truncated archive, a missing member, or one that unpacks without measure is
 * ERR_DATA naming archive and member; then none of the files is there.
 */
int archive_extract(const char *path, struct archive_member *members, size_t n, struct progress *p,
		    struct err *e);

/*
 * Does the file begin like an archive? ERR_DATA that says what it is instead (a web page, nothing
 * at all).
 */
int archive_check_kind(const char *path, struct err *e);

#endif
