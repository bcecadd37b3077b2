/*
 * heldout.h - evaluates a model on a held-out set, which is not part of its training data.
 *
 * A held-out set is a pair of raw texts corpora/NAME/SET.LANG in the workspace, one sentence per
 * line. BLEU and chrF compare detokenised translations with the raw target. Negative
 * log-likelihoods are in nats per target token including </s>, without smoothing and dropout.
 */
#ifndef WERKBANK_EVAL_EVALUATE_HELDOUT_H
#define WERKBANK_EVAL_EVALUATE_HELDOUT_H

#include <stdint.h>

#include "eval/metrics/bleu.h"
#include "eval/metrics/metric.h"
#include "eval/translate/engine.h"
#include "share/base/err.h"
#include "share/conf/conf.h"
#include "share/format/json.h"

struct heldout {
	struct engine *engine;	      /* borrowed */
	char *folder;		      /* owned: of the corpus */
	const char *set;	      /* borrowed: dev, test ... */
	char **sources, **references; /* (n) owned lines */
	int64_t n;
	const char *
		*set_tags; /* (n_set) owned: of all lines of the set, "": none; borrowed texts */
	int64_t n_set;
	int64_t n_cut;	   /* sources that are too long for the model: it read only their starts */
	char **hypotheses; /* (n) owned; NULL: not translated yet */
	struct bleu_score bleu;		/* after heldout_score() */
	struct buf signature;		/* of the BLEU score */
	struct buf sacrebleu_signature; /* the same in sacreBLEU's form */
	double chrf;			/* chrF2 */
	int64_t tokens;			/* decoded target tokens, including </s> */
	double seconds;			/* time of decoding */
	struct heldout_tag {
		const char *tag; /* of source lines; "": none. Borrowed from the engine's recipe */
		int64_t n;	 /* lines */
		double bleu, chrf, nll;
		int64_t nll_tokens; /* 0: nll is not known */
	} * tags; /* (n_tags) owned, after heldout_score(), if the set has two or more */
	size_t n_tags;
	int64_t shares; /* slices of other processes that were merged; 0: none */
};

/*
 * Reads at most limit (0: all) sentences of a set of the corpus that the engine's recipe names: the first ones, or the
 * first ones of each tag, in equal numbers.
 * Borrows the engine. Call heldout_close() after a failure too. ERR_NOINPUT: no such set;
 * ERR_DATA: an empty set, or source and target of different lengths.
 */
int heldout_open(struct heldout *h, struct engine *g, const char *set, int64_t limit,
		 struct err *e);

/* Every count-th sentence or batch from index on: the share of one rank. All: { 0, 1 }. */
struct heldout_slice {
	int64_t index, count;
};

/*
 * Translates the sentences of the slice that have no hypothesis yet. progress: count sentences on
 * standard error.
 */
int heldout_translate(struct heldout *h, struct heldout_slice slice, bool progress, struct err *e);
/* Computes BLEU and chrF, also by tag (options train_tags, dev_tags, test_tags). All sentences must have a hypothesis. */
int heldout_score(struct heldout *h, struct err *e);

/*
 * Marks the lines to use, limit of n: the first ones of each tag, in equal numbers if each tag has enough.
 * ERR_NOMEM.
 */
int heldout_choose_lines(const char *const *tags, int64_t n, int64_t limit, bool *chosen,
			 struct err *e);
/*
 * Part of heldout_score(): the scores by tag; then as a member "tags", and as lines. Nothing if the set has fewer than
 * two.
 */
int heldout_score_tags(struct heldout *h, struct err *e);
void heldout_tags_json(const struct heldout *h, struct json_writer *w);
void heldout_tags_text(const struct heldout *h, struct buf *out);

/* Translates and scores all sentences. */
int heldout_decode(struct heldout *h, bool progress, struct err *e);

/* Sums of the batches of a shard, in order; tokens < 0: not measured. */
struct heldout_batches {
	double *nll;	   /* (n) owned: sums */
	int64_t *tokens;   /* (n) owned */
	const char **tags; /* (n) owned: of the sources of a set, "": none; borrowed texts */
	int64_t n;
	size_t cap_nll, cap_tokens, cap_tags;
	int64_t left_out; /* pairs that are longer than the model reads */
};

/*
 * Measures the batches of the slice that b does not have yet; b is zeroed or partly filled, and
 * afterwards has the n batches of the shard. sample: the number of pairs to use, always the same
 * ones (0: all).
 */
int heldout_measure(const struct heldout *h, const char *shard, int64_t sample,
		    struct heldout_slice slice, struct heldout_batches *b, struct err *e);
/* Stores the sums of batch `at`. False: out of memory, or no shard has that number of batches. */
bool heldout_set_batch(struct heldout_batches *b, int64_t at, double nll, int64_t tokens,
		       const char *tag);
/* The mean NLL per token over all batches, summed in order; NAN without tokens. */
double heldout_mean(const struct heldout_batches *b, int64_t *tokens);
void heldout_batches_free(struct heldout_batches *b);
/* After heldout_score(): the mean NLL of each tag of h, from the batches of its set. */
void heldout_tags_nll(struct heldout *h, const struct heldout_batches *b);

/*
 * Measures the whole shard of the set, b as in heldout_measure(). Also adds each sentence to pseudo, with the most
 * probable tokens of teacher forcing (ids up to the first </s>) as the hypothesis. The result is a pseudo-BLEU: the
 * decoder has read the reference, so this is no translation.
 */
int heldout_teacher_forced(const struct heldout *h, const char *shard, struct metric *pseudo,
			   struct heldout_batches *b, struct err *e);

void heldout_close(struct heldout *h);

/* The command "eval": evaluates a held-out set; prints text or a JSON document. */
int heldout_run_eval(struct conf *c, struct err *e);

/*
 * The command "_evaluate": evaluates a checkpoint during training. Prints the record
 * {"kind":"eval",...} and one {"kind":"sample",...} for each of the first c->samples sentences (see
 * journal.h). The trainer appends them to its journal.
 *
 * Ranks can share the work (heldout_slices.c). With c->slice ("I/N") the command evaluates slice I
 * of N and prints the lines below. Another process reads the lines of all slices from the file
 * c->parts, evaluates what is missing and prints the records. On a CPU backend the result does not
 * depend on the slices.
 *
 *	{"kind":"hypothesis","id":SENTENCE,"text":...}
 *	{"kind":"decoded","tokens":...,"seconds":...}			of all sentences of the slice
 *	{"kind":"batch","shard":"dev.shard","n":BATCH,"nll":SUM,"tokens":...,"tag":...}	tag: if its sources have one
 *	{"kind":"batches","shard":"dev.shard","n":NUMBER OF BATCHES}
 *	{"kind":"slice","step":...,"index":I,"count":N}			last: the slice is complete
 */
int heldout_run_evaluate(struct conf *c, struct err *e);
int heldout_run_slice(struct conf *c, struct err *e);
int heldout_run_parts(struct conf *c, struct err *e);

/* heldout_tools.c: opens the model as it was trained. */
int heldout_open_engine(struct engine *g, struct conf *c, struct err *e);
/* Opens the model and its development set, and prints what fill appends to out. */
typedef int heldout_fill(struct heldout *h, const void *arg, struct buf *out, struct err *e);
int heldout_print_dev(struct conf *c, heldout_fill *fill, const void *arg, struct err *e);
#define HELDOUT_TRAIN_SAMPLE 500 /* training pairs whose NLL is measured */
void heldout_records(const struct heldout *h, double dev_nll, double train_nll, double seconds,
		     struct buf *out);

#endif
