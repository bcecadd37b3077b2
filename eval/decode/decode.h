/*
 * decode.h - translation by beam search, many sentences at once.
 *
 *	struct decoder *d = decoder_new(model, capacity, workers, e);
 *	decoder_run(d, &options, sources, n, results, e);	results in the order of the sources
 *	… results[i].hypotheses[0] is the best …
 *	decode_results_free(results, n);
 *	decoder_free(d);
 *
 * Sentences are sorted by length and cut into batches of decode_tokens source
 * tokens times beam; a sentence that is done leaves its batch. Every step takes
 * the 2 * beam best continuations of a sentence's live hypotheses: those that
 * end are finished, of the others the beam best stay alive. A finished
 * hypothesis scores log_prob / ((5 + length) / 6)^alpha (Wu et al. 2016,
 * section 7), length counting </s>. A sentence is done when n_best are finished
 * and no live one can beat the worst of them even at the greatest length, or
 * when the greatest length is reached. beam = 1 is greedy search: it takes the
 * best continuation and ends with the first </s>.
 *
 * With "sample" n_best translations of a source are drawn instead, in the order in which they are
 * numbered. A random number is a function of seed, sentence, number of the translation and place
 * of the token.
 *
 * With a shortlist a sentence is translated with the tokens that it allows for those of its
 * source, those that are frequent, and those that are wished for: probabilities are among these.
 *
 * <pad>, <s> and <unk> are never chosen. The result does not depend on which
 * sentences are decoded together: not by a bit when the model's weights are packed,
 * else up to the rounding of the backend's products.
 */
#ifndef WERKBANK_EVAL_DECODE_DECODE_H
#define WERKBANK_EVAL_DECODE_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "data/shard/shortlist.h"
#include "share/conf/conf.h"
#include "share/base/err.h"
#include "train/model/model.h"

#define DECODE_MAX_BEAM 64

struct decode_options {
	int32_t beam;		  /* 1 .. DECODE_MAX_BEAM */
	int32_t n_best;		  /* 1 .. beam: hypotheses wanted per sentence */
	double alpha;		  /* of the length penalty, >= 0 */
	double max_length_factor; /* decoded: at most factor * source tokens + extra */
	int32_t max_length_extra;
	int32_t decode_tokens; /* source tokens times beam decoded at once */
	bool alignments;       /* say which source token each target token attends to */
	bool token_scores;     /* say the log-probability of each token */
	/* instead of a search draw n_best translations of each source; see sampling.h */
	bool sample;
	double temperature; /* > 0 */
	int32_t top_k;	    /* 0: all */
	double top_p;	    /* > 0, 1: all */
	uint64_t seed;
	/* what each source's translation must be like: as many as sources, or NULL; borrowed */
	const struct decode_constraint *constraints;
	const bool *joins_next;	 /* of each token: a word goes on behind it; NULL: of none */
	const bool *starts_word; /* of each token: a word begins with it; NULL: joins say */
	const struct shortlist *shortlist;   /* NULL: all tokens; borrowed */
	const struct banned_phrases *forbid; /* what must not be said; NULL: nothing; borrowed */
};

#define DECODE_MAX_PHRASES 32

struct decode_phrase {
	const int32_t *tokens; /* borrowed; whole words */
	int32_t n;	       /* at least 1 */
};

/*
 * A wish is granted always: the translation begins with the prefix, and the phrases are in it,
 * each as often as it is wished for, as words of their own. Its greatest length grows by those
 * tokens. Phrases: dynamic beam allocation, see beam_constrain.c; not with sampling.
 */
struct decode_constraint {
	uint64_t number;       /* of the sentence: names its random numbers */
	const int32_t *prefix; /* (n_prefix) borrowed */
	int32_t n_prefix;
	const struct decode_phrase *phrases; /* (n_phrases) borrowed */
	int32_t n_phrases;		     /* up to DECODE_MAX_PHRASES */
};

struct decode_source {
	const int32_t *ids; /* borrowed; without special tokens */
	int32_t n;
};

struct decode_hypothesis {
	int32_t *tokens;  /* (n) owned; without special tokens */
	int32_t *aligned; /* (n) owned: source tokens from 0; NULL unless asked for */
	float *log_probs; /* (n) owned: of each token; NULL unless asked for */
	int32_t n;
	double log_prob; /* sum over the tokens and </s>, nats */
	double score;	 /* with the length penalty: what hypotheses are ranked by */
	bool finished;	 /* false: cut off at the greatest length, no </s> */
};

struct decode_result {
	struct decode_hypothesis *hypotheses; /* (n) owned, best first; at least one */
	int32_t n;	/* may be less than n_best when the search found fewer */
	bool truncated; /* the source was too long; its end was not translated */
};

struct decoder;

/*
 * Borrows the model, for which model_reserve_forward(m, capacity, capacity / 2)
 * or more was called. capacity: source tokens of a batch, </s> counted. workers: batches decoded
 * side by side, each by one thread, when there are sentences enough; 1: one after the other, by
 * the model's threads. More than 1 needs a CPU backend. NULL: failure.
 */
struct decoder *decoder_new(struct model *m, int32_t capacity, int32_t workers, struct err *e);

#define DECODE_MAX_MODELS 16

/*
 * The same with several models of one vocabulary on one kind of backend: a token's probability is
 * the mean of theirs. Alignments are the first one's.
 */
struct decoder *decoder_new_ensemble(struct model *const *models, int32_t n, int32_t capacity,
				     int32_t workers, struct err *e);

/*
 * The [decode] options, --n-best, --alignments and those of sampling of c. ERR_USAGE: n_best above
 * beam.
 */
int decode_options_from_conf(struct decode_options *o, const struct conf *c, struct err *e);

/*
 * Translate n sources into results[0 .. n). An empty source gives one empty
 * hypothesis. On failure results hold nothing that must be freed.
 */
int decoder_run(struct decoder *d, const struct decode_options *o,
		const struct decode_source *sources, size_t n, struct decode_result *results,
		struct err *e);

void decode_results_free(struct decode_result *results, size_t n);

/* What may stand at a place of a translation. */
struct decode_alternative {
	int32_t *tokens; /* (n) owned: the token and the rest of its word */
	int32_t n;	 /* at least 1; </s> is a token here */
	double log_prob; /* of the first of them, given what stands before it */
};

#define DECODE_MAX_ALTERNATIVES 20

/*
 * The *n most probable tokens behind a beginning of a translation of source, best first: *n is at
 * most DECODE_MAX_ALTERNATIVES, and may come back smaller. joins and begins of o tell words; of
 * the rest nothing counts. An empty source has none.
 */
int decoder_alternatives(struct decoder *d, const struct decode_options *o,
			 const struct decode_source *source, const int32_t *beginning,
			 int32_t n_beginning, struct decode_alternative *list, int32_t *n,
			 struct err *e);
void decode_alternatives_free(struct decode_alternative *list, int32_t n);

void decoder_free(struct decoder *d);

#endif
