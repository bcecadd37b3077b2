/*
 * heldout.h - a model measured on sentences it was not trained on.
 *
 * Held-out sets are corpora/NAME/SET.LANG in the workspace: raw text, one
 * sentence a line, both sides. BLEU and chrF come from real decoding of the
 * source, detokenised, against the raw target. Negative log-likelihoods are
 * per target token (</s> counted), in nats, without smoothing and dropout.
 */
#ifndef WERKBANK_EVAL_HELDOUT_H
#define WERKBANK_EVAL_HELDOUT_H

#include <stdint.h>

#include "eval/bleu.h"
#include "eval/engine.h"
#include "share/base/conf.h"
#include "share/base/err.h"

struct heldout {
	struct engine *engine;		/* borrowed */
	char   *folder;			/* owned: of the corpus */
	const char *set;		/* borrowed: dev, test, … */
	char  **sources, **references;	/* (n) owned lines */
	int64_t n;
	char  **hypotheses;		/* (n) owned, after heldout_decode() */
	struct bleu_score bleu;		/* after heldout_decode() */
	struct buf signature;		/* of the BLEU score */
	double  chrf;			/* chrF2 */
	int64_t tokens;			/* target tokens decoded, </s> counted */
	double  seconds;		/* that decoding took */
};

/* Read at most limit (0: all) sentences of a set of the corpus that the engine's recipe names. */
int heldout_open(struct heldout *h, struct engine *g, const char *set, int64_t limit,
		 struct err *e);

/* Translate and score them. progress: count sentences on standard error. */
int  heldout_decode(struct heldout *h, bool progress, struct err *e);

/*
 * Mean negative log-likelihood of a shard of the same corpus ("dev.shard").
 * sample: of this many pairs only, always the same ones (0: all).
 */
int heldout_nll(const struct heldout *h, const char *shard, int64_t sample, double *nll,
		int64_t *tokens, struct err *e);

void heldout_close(struct heldout *h);

/* The command eval: one held-out set, printed for people or as a JSON document. */
int  heldout_run_eval(struct conf *c, struct err *e);

/*
 * The command _evaluate: the evaluation of a checkpoint during training. Prints
 * the record {"kind":"eval",…} and one {"kind":"sample",…} for each of the
 * first c->samples sentences, as journal.h says, for the trainer to add to its
 * journal.
 */
int  heldout_run_evaluate(struct conf *c, struct err *e);

#endif
