/*
 * decode.h - translation by beam search, many sentences at once.
 *
 *	struct decoder *d = decoder_new(model, capacity, workers, e);
 *	decoder_run(d, &options, sources, n, results, e);	results in the order of the sources
 *	… results[i].hypotheses[0] is the best …
 *	decode_results_free(results, n);
 *	decoder_free(d);
 *
 * The decoder sorts sentences by length and decodes many at the same time, of at most decode_tokens
 * source tokens times beam. A sentence that is done leaves, and waiting ones take its place. Every
 * step considers the 2 * beam
 * best continuations of a sentence's live hypotheses. Continuations with </s> are finished; the
 * beam best of the others stay alive. A finished hypothesis has the score
 * log_prob / ((5 + length) / 6)^alpha (Wu et al. 2016, section 7), where length includes </s>. A
 * sentence is done at the greatest length, or when n_best hypotheses are finished and no live one
 * can beat the worst of them at any length. beam = 1 is greedy search: it takes the best
 * continuation and ends with the first </s>.
 *
 * With "sample" the decoder draws n_best translations of each source, numbered from 0. A random
 * number is a function of the seed, the sentence, the number of the translation and the token's
 * position.
 *
 * With a shortlist, probabilities are among the candidates of a sentence: the tokens that the
 * shortlist has for its source tokens, frequent tokens, and tokens of constraints.
 *
 * <pad>, <s> and <unk> are never chosen. A result does not depend on the other sentences: it is bit-identical
 * if the model's weights are packed, else equal up to the rounding of the backend's matrix products.
 */
#ifndef WERKBANK_EVAL_DECODE_DECODE_H
#define WERKBANK_EVAL_DECODE_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "data/shard/shortlist.h"
#include "share/base/err.h"
#include "share/conf/conf.h"
#include "train/model/model.h"

#define DECODE_MAX_BEAM 64

struct decode_options {
	int32_t beam;		  /* 1 .. DECODE_MAX_BEAM */
	int32_t n_best;		  /* 1 .. beam: hypotheses per sentence in the result */
	double alpha;		  /* exponent of the length penalty, >= 0 */
	int32_t rules;		  /* enum conf_beam_rules */
	double max_length_factor; /* greatest length: factor * source tokens + extra */
	int32_t max_length_extra;
	int32_t decode_tokens; /* limit of source tokens times beam at the same time */
	bool whole_batches;    /* let sentences join only when no other is left; to compare */
	bool alignments;       /* the result has the aligned source token of each token */
	bool token_scores;     /* the result has the log-probability of each token */
	bool sample;	       /* draw n_best translations of each source; see sampling.h */
	double temperature;    /* > 0 */
	int32_t top_k;	       /* 0: all */
	double top_p;	       /* > 0, 1: all */
	uint64_t seed;
	double repetition_penalty; /* for tokens that the translation has already; 1 or 0: none */
	int32_t no_repeat_ngram;   /* no n-gram of tokens comes twice; 0: no such rule */
	int32_t min_length;	   /* tokens without </s>; the greatest length is not below */
	int32_t mbr_keep;	   /* hypotheses that mbr.h keeps of n_best; 0: all */
	const struct decode_constraint *constraints; /* (sources) borrowed; NULL: none */
	/* Word boundaries, (real vocabulary) borrowed: BPE has joins_next, SentencePiece starts_word */
	const bool *joins_next;	 /* the token's word continues in the next token; NULL: never */
	const bool *starts_word; /* the token begins a word; NULL: see joins_next */
	const struct shortlist *shortlist;   /* borrowed; NULL: all tokens */
	const struct banned_phrases *forbid; /* borrowed; NULL: none */
};

/* What a search divides log-probabilities by. length counts </s>, at least 1; rules: enum conf_beam_rules. */
double decode_length_penalty(int32_t rules, double alpha, int64_t length);

/* Do the options change scores of tokens, which needs all of them on the host? See beam_penalties.c. */
static inline bool decode_has_penalties(const struct decode_options *o)
{
	return (o->repetition_penalty > 0 && o->repetition_penalty != 1) ||
	       o->no_repeat_ngram > 0 || o->min_length > 0;
}

#define DECODE_MAX_PHRASES 32

struct decode_phrase {
	const int32_t *tokens; /* borrowed; whole words */
	int32_t n;	       /* at least 1 */
};

/*
 * Every translation satisfies its constraint: it begins with the prefix and contains each phrase
 * as whole words, as often as the phrase is listed. The greatest length grows by these tokens.
 * Phrases need a search (beam_constrain.c): n_phrases must be 0 with sampling.
 */
struct decode_constraint {
	uint64_t number;       /* of the sentence; selects its random numbers */
	const int32_t *prefix; /* (n_prefix) borrowed; with </s>: the whole translation */
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
	int32_t *aligned; /* (n) owned: source tokens from 0; NULL without o.alignments */
	float *log_probs; /* (n) owned: of each token; NULL without o.token_scores */
	int32_t n;
	double log_prob; /* sum over the tokens and </s>, nats */
	double score;	 /* log_prob with the length penalty; hypotheses are ranked by it */
	bool finished;	 /* false: cut off at the greatest length, no </s> */
};

struct decode_result {
	struct decode_hypothesis *hypotheses; /* (n) owned, best first; at least one */
	int32_t n;	/* may be less than n_best when the search found fewer */
	bool truncated; /* the source was too long; its end was not translated */
};

struct decoder;

/*
 * Borrows the model; the caller has called model_reserve_forward(m, capacity, capacity / 2) or
 * more. capacity: source tokens encoded together, including </s>. workers: streams of sentences
 * decoded at the same time, each by one thread, if there are enough sentences; needs a CPU backend.
 * With 1 worker, the model's threads decode one stream. Free with decoder_free(). NULL: failure.
 */
struct decoder *decoder_new(struct model *m, int32_t capacity, int32_t workers, struct err *e);

#define DECODE_MAX_MODELS 16

/*
 * The same with n models of one vocabulary on the same kind of backend. The probability of a token
 * is the mean over the models; alignments come from the first model.
 */
struct decoder *decoder_new_ensemble(struct model *const *models, int32_t n, int32_t capacity,
				     int32_t workers, struct err *e);

/* Tokens of a source, </s> included, that are translated: the capacity, or fewer if a model has fewer positions. */
int32_t decoder_capacity(const struct decoder *d);

/*
 * Every translation begins with this token: the decoder reads it after its start, without choice and with the
 * log-probability 0. Results do not contain it. TOKEN_PAD, as at first: no such token.
 */
void decoder_set_first_token(struct decoder *d, int32_t token);

/* Reads the options of decoding and sampling from c. ERR_USAGE: n_best is above beam. */
int decode_options_from_conf(struct decode_options *o, const struct conf *c, struct err *e);

/*
 * Translates n sources into results[0 .. n). An empty source gives one empty hypothesis. The
 * caller frees with decode_results_free(); after a failure nothing is left to free.
 */
int decoder_run(struct decoder *d, const struct decode_options *o,
		const struct decode_source *sources, size_t n, struct decode_result *results,
		struct err *e);

void decode_results_free(struct decode_result *results, size_t n);

/* A source that may join while others are being decoded. The caller keeps it until its result. */
struct decode_fed {
	struct decode_source source;
	const struct decode_constraint *constraint; /* borrowed; NULL: none */
	int32_t n_best;				    /* 1 .. beam */
	bool alignments;   /* compute them for this text, whatever the options of the stream say */
	bool is_cancelled; /* set by more(): the source is dropped before the next step */
};

struct decode_job;

/* Where sources come from and results go. Both are called by one thread at a time, between steps. */
struct decode_feed {
	void *context;
	/* Adds the sources that have come, by decoder_feed(). Must not wait. */
	int (*more)(void *context, struct decode_job *job, struct err *e);
	/* Takes the result, which the callee owns then. NULL: the source was cancelled. */
	int (*done)(void *context, struct decode_fed *fed, struct decode_result *result,
		    struct err *e);
};

/*
 * Decodes the sources that more() adds, in their order, until none is left and more() adds none. Each gets the result
 * that decoder_run() gives. o->constraints must be set, to anything, if a source may have a constraint. After a
 * failure sources without result remain the caller's.
 */
int decoder_run_feed(struct decoder *d, const struct decode_options *o,
		     const struct decode_feed *feed, struct err *e);
/* For more(): how many further sources the streams can use soon; those that come later may overtake the rest. */
size_t decoder_feed_room(const struct decode_job *job);
/* For more(): adds a source. */
int decoder_feed(struct decode_job *job, struct decode_fed *fed, struct err *e);

/* A word that can follow the beginning of a translation. */
struct decode_alternative {
	int32_t *
		tokens; /* (n) owned: a token and the most probable rest of its word; may be </s> */
	int32_t n;	/* at least 1 */
	double log_prob; /* of the first token, given the beginning */
};

#define DECODE_MAX_ALTERNATIVES 20

/*
 * The *n most probable next tokens after a beginning of a translation, best first. *n is at most
 * DECODE_MAX_ALTERNATIVES and returns the number found; an empty source has none. Of o, only
 * joins_next and starts_word are used. The caller frees the list with decode_alternatives_free().
 */
int decoder_alternatives(struct decoder *d, const struct decode_options *o,
			 const struct decode_source *source, const int32_t *beginning,
			 int32_t n_beginning, struct decode_alternative *list, int32_t *n,
			 struct err *e);
void decode_alternatives_free(struct decode_alternative *list, int32_t n);

/* A map of attention: how much each token of a translation attends to each source token. */
struct decode_attention {
	int32_t layer;	  /* in: of the decoder, from 0 */
	int32_t head;	  /* in: from 0; -1: the mean of all heads */
	int32_t n_source; /* out: source tokens plus </s>, whose weights are 0 if it is not read */
	float *weights;	  /* out, owned: (tokens of all hypotheses in order, n_source) */
};

/*
 * Computes the attention for the tokens of all hypotheses of a result by decoding them again, with
 * the first model of an ensemble. A row of weights has the sum 1. The caller frees a->weights; it is
 * NULL after a failure, and if there is no token.
 */
int decoder_attention(struct decoder *d, const struct decode_source *source,
		      const struct decode_result *result, struct decode_attention *a,
		      struct err *e);

void decoder_free(struct decoder *d);

#endif
