/*
 * obtain.h - the archives of a manifest, here and verified.
 *
 * They live in WORKSPACE/archives/MANIFEST/NAME, shared by all recipes of one
 * manifest. Beside each lies its receipt NAME.json: url, bytes, SHA-256, inode and time of
 * change, so that an archive that nobody touched is not hashed again.
 *
 * Looked for in this order: the workspace; --url NAME=URL; the manifest's URLs one after the
 * other. With --from DIR it is only looked for there, under its name or the file name of
 * one of its URLs; it is used where it lies, and the network is never asked.
 *
 * A download that is not what is published about it is refused, and the next address is asked.
 * The user's own files (--from, --url) may differ from what is published: that is said, not
 * refused; they have to be archives. Where nothing is published, the SHA-256 of the first
 * download is kept in the receipt and pinned: other bytes later are ERR_DATA unless --force.
 */
#ifndef WERKBANK_DATA_SOURCE_OBTAIN_H
#define WERKBANK_DATA_SOURCE_OBTAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "data/source/manifest.h"
#include "data/source/progress.h"
#include "share/conf/conf.h"
#include "share/base/err.h"

struct obtained_archive {
	char *path; /* owned */
	char *url;  /* owned: where it came from; a path with --from */
	int64_t bytes;
	char sha256[HASH_SHA256_HEX];
};

/*
 * Fill list[0 … m->n), one for each archive in the manifest's order; each is the caller's to
 * free, also after a failure. again: fetch even what is here. Starts and ends its own progress.
 * A missing archive of --from: ERR_NOINPUT. --url with a name that the manifest has not: ERR_USAGE.
 */
int obtain_all(const struct manifest *m, const struct conf *c, bool again, struct progress *p,
	       struct obtained_archive *list, struct err *e);

/*
 * The same without the network: an archive that is not here has no path, and the bytes and SHA-256
 * that it had or that are published (-1 and "": unknown). With c->dry_run nothing is written.
 */
int obtain_offline(const struct manifest *m, const struct conf *c, struct progress *p,
		   struct obtained_archive *list, struct err *e);
void obtained_archive_free(struct obtained_archive *o);

#endif
