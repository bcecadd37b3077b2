/*
 * compare_runs.h - systems that are runs: their translations of a held-out set, as files.
 *
 * With --run A the first system is that run, and each argument another one:
 *
 *	B  B:last  B:500,1000	a run, with --checkpoint or its own (several: an ensemble)
 *	:1000			a checkpoint of A
 *	some/folder		a model folder
 *
 * Each translates --set of its corpus, with the decode options of the command line; the references
 * must be the same for all.
 *
 *	if (!compare_runs_translate(&f, c, e))
 *		use f.paths, f.names, f.reference
 *	compare_runs_close(&f);		also after a failure: removes the files
 */
#ifndef WERKBANK_EVAL_EVALUATE_COMPARE_RUNS_H
#define WERKBANK_EVAL_EVALUATE_COMPARE_RUNS_H

#include <stddef.h>

#include "share/conf/conf.h"
#include "share/base/err.h"

struct compare_runs {
	char *folder;	       /* owned: temporary, with all files */
	char *reference;       /* owned */
	char **paths, **names; /* (n) owned: of hypotheses */
	size_t n;
};

int compare_runs_translate(struct compare_runs *f, const struct conf *c, struct err *e);
void compare_runs_close(struct compare_runs *f);

#endif
