/* prep_internal.h - what the stages of preparation share; only prep*.c include this. */
#ifndef WERKBANK_DATA_PREP_INTERNAL_H
#define WERKBANK_DATA_PREP_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "data/clean.h"
#include "data/progress.h"
#include "data/sources.h"
#include "share/base/conf.h"
#include "share/base/err.h"
#include "share/base/file.h"

#define PREP_MAX_STAGES 8

/* Pairs of one held-out set, as hashes of both sides. */
struct held_out {
	uint64_t *keys;		/* owned; sorted after the stage */
	size_t n, cap;
	int64_t in_train;	/* training pairs equal to one of them */
};

struct prep {
	const struct conf *c;
	char *folder, *work;			/* owned */
	struct progress progress;
	struct sources sources;
	struct ledger *ledger;			/* owned; NULL when finished */
	int64_t dropped[CLEAN_N_RULES];
	struct held_out held_out[N_SETS];	/* none of SET_TRAIN */
	int64_t read;				/* training pairs in the sources */
	int64_t pairs[N_SETS]; /* in the shards; of train first those after cleaning */
	int64_t source_tokens[N_SETS], target_tokens[N_SETS];
	int64_t merges;
	int32_t vocabulary;
	struct { const char *name; double seconds; } stages[PREP_MAX_STAGES];
	int n_stages;
};

/* Two outputs that appear together. */
struct outputs { struct outfile source, target; };

int  outputs_open(struct outputs *o, const char *source, const char *target, struct err *e);
/* Write a line to each. */
int outputs_put(struct outputs *o, const char *source, size_t n_source, const char *target,
		size_t n_target, struct err *e);
int  outputs_commit(struct outputs *o, struct err *e);	/* abandon still has to follow */
void outputs_abandon(struct outputs *o);

/*
 * Paths of one side's file: work/STEM.LANG or folder/STEM.LANG. Owned by the caller; NULL:
 * ERR_NOMEM.
 */
char *prep_side_path(const struct prep *p, const char *folder, const char *stem, bool target,
		     struct err *e);

/* The stages, in order; see prep.h. */
int prep_hold_out(struct prep *p, struct err *e);
int prep_clean(struct prep *p, struct err *e);
int prep_learn(struct prep *p, struct err *e);
int prep_apply(struct prep *p, struct err *e);
int prep_pack(struct prep *p, struct err *e);

/* recipe.ini, then manifest.json, whose text is also left in manifest. */
int prep_report(struct prep *p, struct buf *manifest, struct err *e);

#endif
