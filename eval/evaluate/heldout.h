/*
 * heldout.h - a model measured on sentences it was not trained on.
 *
 * Held-out sets are corpora/NAME/SET.LANG in the workspace: raw text, one
 * sentence a line, both sides. BLEU and chrF come from real decoding of the
 * source, detokenised, against the raw target. Negative log-likelihoods are
 * per target token (</s> counted), in nats, without smoothing and dropout.
 */
#ifndef WERKBANK_EVAL_EVALUATE_HELDOUT_H
#define WERKBANK_EVAL_EVALUATE_HELDOUT_H

#include <stdint.h>

#include "eval/metrics/bleu.h"
#include "eval/translate/engine.h"
#include "eval/metrics/metric.h"
#include "share/conf/conf.h"
#include "share/base/err.h"

struct heldout {
	struct engine *engine;	      /* borrowed */
	char *folder;		      /* owned: of the corpus */
	const char *set;	      /* borrowed: dev, test, … */
	char **sources, **references; /* (n) owned lines */
	int64_t n;
	char **hypotheses;	/* (n) owned, NULL: not translated */
	struct bleu_score bleu; /* after heldout_score() */
	struct buf signature;	/* of the BLEU score */
	double chrf;		/* chrF2 */
	int64_t tokens;		/* target tokens decoded, </s> counted */
	double seconds;		/* that decoding took */
	int64_t shares;		/* of other processes that were joined; 0: all done here */
};

/* Read at most limit (0: all) sentences of a set of the corpus that the engine's recipe names. */
int heldout_open(struct heldout *h, struct engine *g, const char *set, int64_t limit,
		 struct err *e);

/* Every count-th sentence or batch, from index on: a rank's share. All of them: { 0, 1 }. */
struct heldout_slice {
	int64_t index, count;
};

/* Translate those of the slice that have no hypothesis yet, whichever are decoded together. */
int heldout_translate(struct heldout *h, struct heldout_slice slice, bool progress, struct err *e);
int heldout_score(struct heldout *h, struct err *e); /* all have a hypothesis */

/* Translate all and score. progress: count sentences on standard error. */
int heldout_decode(struct heldout *h, bool progress, struct err *e);

/* What the batches of a shard came to, in their order; tokens < 0: not measured. */
struct heldout_batches {
	double *nll;	 /* (n) owned: sums */
	int64_t *tokens; /* (n) owned */
	int64_t n;
	size_t cap_nll, cap_tokens;
};

/*
 * Measure those batches of the slice that were not yet. Zeroed or partly filled b; it is n batches
 * long afterwards. sample: of this many pairs only, always the same ones (0: all).
 */
int heldout_measure(const struct heldout *h, const char *shard, int64_t sample,
		    struct heldout_slice slice, struct heldout_batches *b, struct err *e);
/* Note one; false: memory ran out or there cannot be such a one. */
bool heldout_set_batch(struct heldout_batches *b, int64_t at, double nll, int64_t tokens);
/* Mean of all of them in their order, NAN of none. */
double heldout_mean(const struct heldout_batches *b, int64_t *tokens);
void heldout_batches_free(struct heldout_batches *b);

/* Mean negative log-likelihood of a shard of the same corpus ("dev.shard"). */
int heldout_nll(const struct heldout *h, const char *shard, int64_t sample, double *nll,
		int64_t *tokens, struct err *e);

/*
 * The same of a whole shard, and the BLEU of the likeliest tokens under teacher forcing (ids cut at
 * the first </s>, no smoothing) added to pseudo: nobody translated anything.
 */
int heldout_teacher_forced(const struct heldout *h, const char *shard, struct metric *pseudo,
			   double *nll, int64_t *tokens, struct err *e);

void heldout_close(struct heldout *h);

/* The command eval: one held-out set, printed for people or as a JSON document. */
int heldout_run_eval(struct conf *c, struct err *e);

/*
 * The command _evaluate: the evaluation of a checkpoint during training. Prints
 * the record {"kind":"eval",…} and one {"kind":"sample",…} for each of the
 * first c->samples sentences, as journal.h says, for the trainer to add to its
 * journal.
 *
 * heldout_slices.c: with c->slice ("I/N") it does share I of N alone and prints lines for
 * another one to read, which gets them all in the file c->parts, does what is missing there and
 * prints the records. The result does not depend on who did which share (CPU backend).
 *
 *	{"kind":"hypothesis","id":sentence,"tokens":decoded,"text":…}
 *	{"kind":"batch","shard":"dev.shard","n":batch,"nll":sum,"tokens":…}
 *	{"kind":"batches","shard":"dev.shard","n":how many it has}
 *	{"kind":"slice","step":…,"index":I,"count":N}		the last: nothing is missing
 */
int heldout_run_evaluate(struct conf *c, struct err *e);
int heldout_run_slice(struct conf *c, struct err *e);
int heldout_run_parts(struct conf *c, struct err *e);

/* heldout_tools.c: the model as it was trained and its development set; records of a scored one. */
int heldout_open_engine(struct engine *g, struct conf *c, struct err *e);
int heldout_open_dev(struct heldout *h, struct engine *g, struct conf *c, struct err *e);
#define HELDOUT_TRAIN_SAMPLE 500 /* pairs of the training set whose NLL is watched */
void heldout_records(const struct heldout *h, double dev_nll, double train_nll, double seconds,
		     struct buf *out);
int heldout_print(struct buf *text, struct err *e);

#endif
