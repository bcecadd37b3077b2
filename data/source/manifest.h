/*
 * manifest.h - parser of share/corpora/NAME.manifest: the archives and members of a corpus
 *
 *	# comment
 *	[archive dev.tgz]		file name in the workspace and in the folder of --from
 *	url = http://...		tried first; further ones are mirrors
 *	url = https://... sha256:... bytes:...	a mirror with another file: own sums
 *	bytes = 38654961		size of the archive, if known
 *	sha256 = ...			or md5 = ..., if published
 *	text = 620000000		approximate unpacked size: to estimate disk space
 *	dev.en = newstest2013-src.en.sgm	SET.LANGUAGE = member, in the order of concatenation
 *	dev.de = newstest2013-ref.de.sgm
 *	newstest2015.en = ...		any further held-out set: kept as text for evaluations
 *
 * Sets are train, dev, test, or any name of [a-z0-9.-]+ for a further held-out set. An archive that
 * lacks a member of train, dev or test is ERR_DATA. If a member of a further set is missing
 * (manifest_set_is_extra()), the set is left out with a note. A member is named by its path in the
 * archive or by the end of that path. Within one set of an archive, the n-th member of one language
 * is parallel to the n-th member of the other. The recipe chooses source and target, so one
 * manifest serves both directions.
 *
 * A manifest is untrusted input: archive names have no slash and are unique, a member occurs once
 * in an archive, and the limits below bound all counts.
 */
#ifndef WERKBANK_DATA_SOURCE_MANIFEST_H
#define WERKBANK_DATA_SOURCE_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/base/hash.h"

#define MANIFEST_MAX_BYTES    (1u << 20)
#define MANIFEST_MAX_ARCHIVES 256
#define MANIFEST_MAX_URLS     32   /* of an archive */
#define MANIFEST_MAX_MEMBERS  1024 /* of an archive */
#define MANIFEST_MAX_SETS     16   /* including train, dev and test */
#define MANIFEST_MAX_NAME     100  /* bytes of a manifest's base name */

/* Published size and hashes of a file. */
struct manifest_sums {
	int64_t bytes;					 /* -1: unknown */
	char sha256[HASH_SHA256_HEX], md5[HASH_MD5_HEX]; /* "": unknown */
};

struct manifest_url {
	char *url;		   /* owned; fetch_public_url() of request */
	char *request;		   /* owned; as the manifest has it */
	struct manifest_sums sums; /* from the url line, else those of the archive */
};

struct manifest_member {
	char set[32];
	char language[16];
	char *path; /* owned */
};

struct manifest_archive {
	char *name; /* owned */
	struct manifest_sums sums;
	int64_t text_bytes;	   /* approximate unpacked size of its members; -1: unknown */
	struct manifest_url *urls; /* owned */
	size_t n_urls, cap_urls;
	struct manifest_member *members; /* owned */
	size_t n_members, cap_members;
};

struct manifest {
	char name[MANIFEST_MAX_NAME + 1];  /* base name of its file, without .manifest */
	struct manifest_archive *archives; /* owned */
	size_t n, cap;
};

/* true for any set other than train, dev and test. */
bool manifest_set_is_extra(const char *set);

/*
 * Read a manifest. name: a path if it contains a slash, else a name in share/corpora. Syntax errors
 * are ERR_CONFIG with file and line. After a failure m is empty; else manifest_free() it.
 */
int manifest_read(struct manifest *m, const char *name, struct err *e);
void manifest_free(struct manifest *m);

#endif
