/*
 * obtain.h - an archive of a manifest, here and verified.
 *
 * Looked for in this order: archives/NAME of the corpus (its receipt, NAME.json
 * beside it, holds url, bytes and SHA-256 of when it was fetched), --from DIR,
 * --url NAME=URL, the manifest's URLs one after the other. A download is NAME.part
 * until its size and published hash were found right. An address of the user's
 * own (--url) may give other bytes than the published ones: that is said, not
 * refused.
 */
#ifndef WERKBANK_DATA_OBTAIN_H
#define WERKBANK_DATA_OBTAIN_H

#include <stdint.h>

#include "data/manifest.h"
#include "data/progress.h"
#include "share/base/conf.h"
#include "share/base/err.h"

struct obtained {
	char   *path;		/* owned */
	char   *url;		/* owned: where it came from */
	int64_t bytes;
	char    sha256[HASH_SHA256_HEX];
};

/* folder is archives/ of the corpus. */
int  obtain_archive(const struct manifest_archive *a, const struct conf *c, const char *folder,
		    struct progress *p, struct obtained *o, struct err *e);
void obtained_free(struct obtained *o);

#endif
