/*
 * compare_runs.h - translates a held-out set with several runs, for the command "compare".
 *
 * With --run A, run A is the first system. Each argument is a further system:
 *
 *	B			a run with the checkpoint of --checkpoint
 *	B:last  B:500,1000	a run with its own checkpoint, or several as an ensemble
 *	:1000			a checkpoint of A
 *	some/folder		a model folder
 *
 * Each system translates the set --set of its corpus with the decoding options of the command line.
 * The references must be equal for all systems.
 *
 *	if (!compare_runs_translate(&f, c, e))
 *		use f.paths, f.names, f.reference
 *	compare_runs_close(&f);		also after a failure: removes the files
 */
#ifndef WERKBANK_EVAL_EVALUATE_COMPARE_RUNS_H
#define WERKBANK_EVAL_EVALUATE_COMPARE_RUNS_H

#include <stddef.h>

#include "eval/metrics/score_tokenize.h"
#include "share/base/err.h"
#include "share/base/file.h"
#include "share/conf/conf.h"

struct compare_runs {
	struct outfolder folder; /* a temporary folder with all files, never committed */
	char *reference;	 /* owned: path of the references */
	char **paths, **names;	 /* (n) owned: path of the hypotheses and name of each system */
	size_t n;
	const char *precision;		/* constant: number format of decoding, as auto means it */
	enum score_tokenizer tokenizer; /* of BLEU: that of the first system */
};

/* ERR_DATA: the references differ. Call compare_runs_close() after a failure too. */
int compare_runs_translate(struct compare_runs *f, const struct conf *c, struct err *e);
void compare_runs_close(struct compare_runs *f);

#endif
