/*
 * sources.h - the raw texts of a corpus, wherever they come from.
 *
 * The options name them in one of three ways: demo_pairs (the built-in
 * grammar), a manifest (archives), or files. Afterwards all of them are files on this
 * machine, two to a pair, in order.
 */
#ifndef WERKBANK_DATA_SOURCES_H
#define WERKBANK_DATA_SOURCES_H

#include <stddef.h>

#include "data/manifest.h"
#include "data/obtain.h"
#include "data/progress.h"
#include "share/base/conf.h"
#include "share/base/err.h"

enum corpus_set { SET_TRAIN, SET_DEV, SET_TEST, N_SETS };

const char *corpus_set_name(enum corpus_set set);	/* train, dev, test */

struct source_pair {
	enum corpus_set set;
	char *source, *target;	/* owned: paths */
	char *name;		/* owned: what the ledger calls it */
};

struct source_archive {
	char *name;		/* owned */
	struct obtained from;
};

struct sources {
	struct source_pair *pairs; /* owned; all of train, of dev, of test in their order */
	size_t n, cap;
	struct source_archive *archives;	/* owned */
	size_t n_archives, cap_archives;
};

/*
 * folder: of the corpus; work: an existing folder for texts that have to be
 * made or unpacked. No training text, or a side without its other: ERR_CONFIG.
 */
int  sources_find(struct sources *s, const struct conf *c, const char *folder, const char *work,
		  struct progress *p, struct err *e);
void sources_free(struct sources *s);

#endif
