/*
 * model_signs.h - what a run says about parts of its model that do not learn, and about the size
 * of its vocabulary.
 *
 * Only numbers: the verdicts are in answers_model.c. Unknown numbers are NAN.
 */
#ifndef WERKBANK_EVAL_REPORT_MODEL_SIGNS_H
#define WERKBANK_EVAL_REPORT_MODEL_SIGNS_H

#include "eval/report/evidence.h"

#define SIGNS_DEAD_RECORDS 3 /* number of evaluations that are read, the last ones; at least 2 */

/*
 * Weight matrices that stand still while others move.
 *
 *	dead	the matrix moved less than a hundredth of the median matrix, in each record
 *	partly	a share of the matrix has not changed at all, in each record: above 0.1 of an
 *		attention matrix (a head), above 0.9 of a feed-forward matrix (a layer)
 *	units	above 0.25 of a feed-forward matrix has not changed: units whose ReLU never opens.
 *		Good models have them too: they cost capacity only
 *
 * The embedding does not count: it has rows of tokens that never occur. A trainer looks at 16 pieces
 * of 64 weights of each matrix, so a share is an estimate.
 */
struct dead_signs {
	size_t records;	     /* evaluations that were read */
	size_t matrices;     /* of the last one */
	double median;	     /* of moved, in the last one; NAN: most matrices hardly move */
	size_t dead, frozen; /* frozen: the dead ones that did not move at all */
	size_t partly;
	double still;	 /* the largest still share of the partly dead ones */
	char names[240]; /* dead matrices, else partly dead ones; shortened by "..." */
	size_t layers;	 /* feed-forward matrices with dead units, but not partly dead */
	double units;	 /* the largest share of their units */
	char layer_names[240];
};

/* ERR_NOMEM is the only failure. */
int find_dead_signs(struct dead_signs *s, const struct evidence *v, struct err *e);

struct vocabulary_signs {
	double by_side[2];    /* pieces a word of source and target; NAN: no words, or unknown */
	double words;	      /* running words of the side with more pieces a word */
	double pieces_a_word; /* of this side */
	bool is_target;	      /* which side this is */
	bool has_words;	      /* whether blanks separate the words of a side, see below */
	double entries;	      /* of the vocabulary of this side */
	double uses;	      /* mean occurrences of an entry in the training text of its sides */
};

/*
 * A side counts if blanks separate its words: its language is none whose scores count characters
 * (score_tokenizer_for()), and its words have at most SIGNS_WORD_BYTES bytes on average. Without
 * blanks, what stands between two blanks is a clause or a sentence.
 */
#define SIGNS_WORD_BYTES 36 /* 12 characters of 3 bytes */

void find_vocabulary_signs(struct vocabulary_signs *s, const struct evidence *v);

#endif
