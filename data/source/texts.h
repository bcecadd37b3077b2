/*
 * texts.h - the raw parallel texts of a corpus, from any kind of source
 *
 * The options name the texts in one of three ways: demo_pairs (the built-in grammar), a manifest
 * (archives), or files. A text is one side (source or target) of a pair of texts: a plain file, a
 * member of an archive, or one side of a bilingual file. Archives are streamed, never unpacked to the disk. Every local file to
 * read occurs once in `files`, with the hash of its contents.
 */
#ifndef WERKBANK_DATA_SOURCE_TEXTS_H
#define WERKBANK_DATA_SOURCE_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/source/progress.h"
#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/hash.h"
#include "share/conf/conf.h"

#define TEXTS_MAX_SETS 16
#define TEXTS_SET_NAME 32 /* bytes, with the NUL */

/* A plain text, or an archive. */
struct text_file {
	char *path;	    /* owned; NULL: an archive that is not downloaded yet */
	char *archive;	    /* owned: its name in the manifest; NULL: a plain file */
	char *url;	    /* owned: origin of an archive; else NULL */
	int64_t bytes;	    /* 0 for a demo text that is not written yet */
	bool is_packed;	    /* a bilingual file that is compressed as a whole (.gz, …) */
	int64_t text_bytes; /* approximate unpacked size of an archive; -1: unknown */
	char sha256[HASH_SHA256_HEX]; /* for a demo text: hash of everything it depends on */
};

struct source_text {
	int file;     /* index in struct texts.files */
	char *member; /* owned: member of the archive; NULL: the whole file */
	char *name;   /* owned: for messages: the path, or ARCHIVE:MEMBER */
	char *tag;    /* owned: of sources: a protected symbol before each line; NULL: none */
	const char *pair_tag; /* of sources and targets: that of the source; borrowed */
};

/* Some lines of a text, see texts_split.h. */
struct line_choice {
	bool is_part; /* else the text has all lines of its file */
	int draw;
	int64_t lines, chosen; /* in the file, and in the text; 0 until texts_choose_lines() */
	size_t text;	       /* held-out sets: index of the training pair with the same files */
};

struct text_pair {
	char set[TEXTS_SET_NAME]; /* train, dev, test, or another held-out set */
	bool is_general;	  /* text of general_source, general_test_source */
	struct line_choice choice;
	struct source_text source, target;
	bool is_bilingual; /* both sides are in one file: bilingual.h */
	char *name;	   /* owned: its name in the ledger */
};

struct texts {
	/* owned: all of train, then dev, test, then the others; in recipe order within a set */
	struct text_pair *pairs;
	size_t n, cap;
	size_t n_train;			  /* pairs 0 ... n_train - 1 are train; at least one */
	const char *sets[TEXTS_MAX_SETS]; /* names, borrowed from pairs, in the order above */
	int n_sets;
	struct text_file *files; /* owned */
	size_t n_files, cap_files;
	bool is_demo;
};

/*
 * Find all texts; download missing archives. work: an existing folder for the demo texts, which
 * texts_write_demo() writes later. No training text, a missing file, or a text without its
 * translation: ERR_CONFIG or ERR_NOINPUT. texts_free() after success.
 */
int texts_find(struct texts *t, const struct conf *c, const char *work, struct progress *p,
	       struct err *e);

/*
 * Like texts_find(), but without downloads: an archive that is not here has path NULL, and bytes
 * and hash as published (-1 and "": unknown). With c->dry_run nothing is written.
 */
int texts_find_offline(struct texts *t, const struct conf *c, const char *work, struct progress *p,
		       struct err *e);

/* Write the demo texts into the work folder; no effect for other sources. */
int texts_write_demo(struct texts *t, const struct conf *c, struct err *e);

/*
 * Append one line a pair: its set, and hash and member of each side. Equal descriptions mean equal
 * texts in the same order, whatever the names of the files.
 */
void texts_describe(const struct texts *t, struct buf *out);

/* Part of texts_find(): add the pairs of the built-in grammar. work: as in texts_find(). */
int texts_add_demo(struct texts *t, const struct conf *c, const char *work, struct err *e);

/* Index of a set in t->sets; -1: the recipe does not have it. */
int texts_find_set(const struct texts *t, const char *set);

void texts_free(struct texts *t);

#endif
