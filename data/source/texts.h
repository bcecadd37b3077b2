/*
 * texts.h - the raw texts of a corpus, wherever they come from.
 *
 * The options name them in one of three ways: demo_pairs (the built-in
 * grammar), a manifest (archives), or files. A text is one side of a pair of
 * texts: a file, or a member of an archive, which is never unpacked but read
 * where it is. Every file of this machine that is to be read stands once in
 * files, with the hash of what it holds.
 */
#ifndef WERKBANK_DATA_SOURCE_TEXTS_H
#define WERKBANK_DATA_SOURCE_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/source/progress.h"
#include "share/base/buf.h"
#include "share/conf/conf.h"
#include "share/base/err.h"
#include "share/base/hash.h"

#define TEXTS_MAX_SETS 16
#define TEXTS_SET_NAME 32 /* bytes, with the NUL */

/* A plain text, or an archive. */
struct text_file {
	char *path;		      /* owned; NULL: an archive that is not here */
	char *archive;		      /* owned: its name in the manifest; NULL: a plain file */
	char *url;		      /* owned: where an archive came from; else NULL */
	int64_t bytes;		      /* of a demo text: 0 until it is made */
	int64_t text_bytes;	      /* of the members of an archive, about; -1: unknown */
	char sha256[HASH_SHA256_HEX]; /* of a demo text: of all that it depends on */
};

struct source_text {
	int file;     /* number in struct texts.files */
	char *member; /* owned: of the archive; NULL: the whole file */
	char *name;   /* owned: for messages: the path, or ARCHIVE:MEMBER */
};

struct text_pair {
	char set[TEXTS_SET_NAME]; /* train, dev, test, or another held-out set */
	struct source_text source, target;
	char *name; /* owned: what the ledger calls it */
};

struct texts {
	/* owned: all of train, then of dev, of test, then of the others; each in its order */
	struct text_pair *pairs;
	size_t n, cap;
	size_t n_train; /* the pairs of train are 0 … n_train - 1, and at least one */
	const char *sets[TEXTS_MAX_SETS]; /* borrowed of pairs: names, in the order above */
	int n_sets;
	struct text_file *files; /* owned */
	size_t n_files, cap_files;
	bool is_demo;
};

/*
 * Find them all, archives also by fetching; work: an existing folder for the texts of the demo,
 * which are not made before texts_write_demo(). No training text, a file that is not there, or a
 * side without its other: ERR_CONFIG or ERR_NOINPUT.
 */
int texts_find(struct texts *t, const struct conf *c, const char *work, struct progress *p,
	       struct err *e);

/*
 * The same without fetching: of an archive that is not here the path is NULL, and bytes and hash
 * are what is published (-1 and "": unknown). With c->dry_run nothing at all is written.
 */
int texts_find_offline(struct texts *t, const struct conf *c, const char *work, struct progress *p,
		       struct err *e);

/* Write what has to be made: the texts of the demo. */
int texts_write_demo(struct texts *t, const struct conf *c, struct err *e);

/*
 * Append what decides about their contents: set, hash and member of every side, a line a pair.
 * Equal descriptions: equal texts, in the same order, whatever the files are called.
 */
void texts_describe(const struct texts *t, struct buf *out);

/* Of texts_find(): the pairs that the grammar will make. */
int texts_add_demo(struct texts *t, const struct conf *c, const char *work, struct err *e);

void texts_free(struct texts *t);

#endif
