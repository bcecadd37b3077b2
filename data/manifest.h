/*
 * manifest.h - where a corpus comes from: share/corpora/NAME.manifest.
 *
 *	# comment
 *	[archive dev.tgz]		the file's name in archives/
 *	url = http://…			the first is asked first; more are mirrors
 *	url = https://…
 *	bytes = 38654961		of the archive, where known
 *	sha256 = …			or md5 = …, where published
 *	dev.en = newstest2013-src.en.sgm	SET.LANGUAGE = member, in the order in which texts are joined
 *	dev.de = newstest2013-ref.de.sgm
 *
 * Sets are train, dev and test. A member is named by its path in the archive
 * or by the end of it. In each set of an archive the n-th member of one language
 * belongs to the n-th of the other. The languages say which side is which: one manifest
 * serves both directions.
 */
#ifndef WERKBANK_DATA_MANIFEST_H
#define WERKBANK_DATA_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/base/hash.h"

enum corpus_set { SET_TRAIN, SET_DEV, SET_TEST, N_SETS };

const char *corpus_set_name(enum corpus_set set);	/* train, dev, test */

struct manifest_member {
	enum corpus_set set;
	char language[16];
	char *path;		/* owned */
};

struct manifest_archive {
	char   *name;		/* owned */
	char  **urls;		/* owned */
	size_t  n_urls, cap_urls;
	int64_t bytes;		/* -1: unknown */
	char    sha256[HASH_SHA256_HEX], md5[HASH_MD5_HEX];	/* "": unknown */
	struct manifest_member *members;	/* owned */
	size_t  n_members, cap_members;
};

struct manifest {
	struct manifest_archive *archives;	/* owned */
	size_t n, cap;
};

/*
 * name is a path when it holds a slash, else the name of one in share/corpora. ERR_CONFIG with file
 * and line.
 */
int  manifest_read(struct manifest *m, const char *name, struct err *e);
void manifest_free(struct manifest *m);

#endif
