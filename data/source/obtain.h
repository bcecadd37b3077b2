/*
 * obtain.h - the archives of a manifest, downloaded and verified
 *
 * Archives live in WORKSPACE/archives/MANIFEST/NAME, shared by all recipes of a manifest. Each has
 * a receipt NAME.json beside it: url, bytes, SHA-256, inode and mtime. An archive whose receipt
 * still matches is not hashed again.
 *
 * Order of search: the workspace; --url NAME=URL; the URLs of the manifest. With --from DIR
 * only DIR is searched, for the archive's name or the file name of one of its URLs; the archive is
 * used in place and nothing is downloaded.
 *
 * A download that differs from the published size or hash is rejected, and the next address is
 * tried. The user's own files (--from, --url) may differ: that is a note, no error, as long as they
 * are archives. If no hash is published, the SHA-256 of the first download is pinned in the
 * receipt; a later download with other bytes is ERR_DATA unless --force.
 */
#ifndef WERKBANK_DATA_SOURCE_OBTAIN_H
#define WERKBANK_DATA_SOURCE_OBTAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "data/source/manifest.h"
#include "data/source/progress.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

struct obtained_archive {
	char *path; /* owned */
	char *url;  /* owned: its origin; a path with --from */
	int64_t bytes;
	char sha256[HASH_SHA256_HEX];
};

/*
 * Fill list[0 ... m->n), one for each archive in the order of the manifest. The caller frees each
 * with obtained_archive_free(), also after a failure. again: download even archives that are here.
 * Starts and ends its own progress. An archive missing in --from: ERR_NOINPUT. --url with a name
 * that the manifest lacks: ERR_USAGE.
 */
int obtain_all(const struct manifest *m, const struct conf *c, bool again, struct progress *p,
	       struct obtained_archive *list, struct err *e);

/*
 * Like obtain_all(), but without the network. An archive that is not here has path NULL, and bytes
 * and SHA-256 of its last receipt or as published (-1 and "": unknown). With c->dry_run nothing is
 * written.
 */
int obtain_offline(const struct manifest *m, const struct conf *c, struct progress *p,
		   struct obtained_archive *list, struct err *e);
void obtained_archive_free(struct obtained_archive *o);

#endif
