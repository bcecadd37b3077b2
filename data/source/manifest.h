/*
 * manifest.h - where a corpus comes from: share/corpora/NAME.manifest.
 *
 *	# comment
 *	[archive dev.tgz]		its file name: in the workspace, and in the folder of --from
 *	url = http://…			the first is asked first; more are mirrors
 *	url = https://… sha256:… bytes:…	a mirror whose bytes are others: its own sums, in any order
 *	bytes = 38654961		of the archive, where known
 *	sha256 = …			or md5 = …, where published
 *	text = 620000000		of its members, unpacked, about: tells what room will be needed
 *	dev.en = newstest2013-src.en.sgm	SET.LANGUAGE = member, in the order in which texts are joined
 *	dev.de = newstest2013-ref.de.sgm
 *	newstest2015.en = …		any other set: kept as text for evaluations
 *
 * Sets are train, dev, test, or any name of [a-z0-9.-]+ for a further held-out
 * set. Those three are required: an archive that lacks a member of them is ERR_DATA.
 * A member of a further set (manifest_set_is_extra()) may be missing: then that
 * set is left out and that is said. A member is named by its path in the archive
 * or by the end of it. In each set of an archive the n-th member of one language belongs to
 * the n-th of the other. The languages say which side is which: one manifest serves
 * both directions.
 *
 * Nothing of a manifest is trusted: archives have names without slash and each its own;
 * a member stands once in an archive; numbers of everything are limited below.
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
#define MANIFEST_MAX_SETS     16   /* train, dev and test counted in any case */
#define MANIFEST_MAX_NAME     100  /* bytes of a manifest's base name */

/* What is published about some bytes. */
struct manifest_sums {
	int64_t bytes;					 /* -1: unknown */
	char sha256[HASH_SHA256_HEX], md5[HASH_MD5_HEX]; /* "": unknown */
};

struct manifest_url {
	char *url;		   /* owned */
	struct manifest_sums sums; /* those of the archive, where the line gives no others */
};

struct manifest_member {
	char set[32];
	char language[16];
	char *path; /* owned */
};

struct manifest_archive {
	char *name; /* owned */
	struct manifest_sums sums;
	int64_t text_bytes;	   /* of its members, about; -1: unknown */
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

/* Is it a set besides train, dev and test? */
bool manifest_set_is_extra(const char *set);

/*
 * name is a path when it holds a slash, else the name of one in share/corpora. ERR_CONFIG with file
 * and line.
 */
int manifest_read(struct manifest *m, const char *name, struct err *e);
void manifest_free(struct manifest *m);

#endif
