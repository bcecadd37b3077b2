/*
 * manifest_internal.h - the parts of the reader of manifests (see manifest.h): its parser, which runs in a child, what
 * the child answers, and the functions that both use to build a manifest and to check it
 *
 * The manifest_add_ functions append a checked part. ERR_CONFIG: it breaks a rule of manifest.h.
 */
#ifndef WERKBANK_DATA_SOURCE_MANIFEST_INTERNAL_H
#define WERKBANK_DATA_SOURCE_MANIFEST_INTERNAL_H

#include "data/source/manifest.h"
#include "share/base/buf.h"

#define MANIFEST_MAX_LINE 4001 /* bytes with the NUL */

/* Read and parse the file in this process. After a failure m is empty. */
int manifest_parse(struct manifest *m, const char *path, struct err *e);

/* Write a manifest without its name as bytes for another process of this program. */
void manifest_encode(struct buf *out, const struct manifest *m);

/* The reverse. The bytes are not trusted. false: they are not a manifest, or ERR_NOMEM in e; m is empty then. */
bool manifest_decode(struct manifest *m, const char *bytes, size_t n, struct err *e);

int manifest_add_archive(struct manifest *m, const char *name, struct err *e);
int manifest_add_url(struct manifest_archive *a, const char *request,
		     const struct manifest_sums *sums, struct err *e);

/* key: SET.LANGUAGE */
int manifest_add_member(struct manifest_archive *a, const char *key, const char *path,
			struct err *e);

/* Number of sets, counting train, dev and test in any case; stops soon after MANIFEST_MAX_SETS. */
size_t manifest_count_sets(const struct manifest *m);

bool manifest_has_control_byte(const char *text);

#endif
