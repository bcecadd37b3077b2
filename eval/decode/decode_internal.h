/* decode_internal.h - the decoder and its workers, for the files that run streams of sentences. */
#ifndef WERKBANK_EVAL_DECODE_DECODE_INTERNAL_H
#define WERKBANK_EVAL_DECODE_DECODE_INTERNAL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "data/shard/token_batch.h"
#include "eval/decode/beam.h"
#include "eval/decode/decode.h"
#include "eval/decode/incremental.h"
#include "eval/decode/shortlist_candidates.h"

/* A source and its index in the caller's list, or the source of a feed. */
struct sorted_source {
	int32_t n; /* tokens that are translated */
	size_t index;
	struct decode_fed *fed; /* borrowed; NULL without a feed */
};

/* A sentence that is being decoded. */
struct decode_slot {
	struct beam *beam; /* owned; NULL: the slot is free */
	struct sorted_source source;
	bool is_cancelled;
};

/* Runs one stream of sentences, with one incremental decoder per model. */
struct decode_worker {
	int32_t n_models;
	struct model *model;					 /* borrowed: the first one */
	struct incremental_decoder *decoders[DECODE_MAX_MODELS]; /* owned */
	struct batch batch; /* the sentences that join the stream */

	/* state of the stream */
	struct decode_slot *slots; /* (cap_slots) owned */
	size_t cap_slots;
	int32_t n_sentences, tokens;	    /* in slots, and their source tokens */
	int32_t n_aligned;		    /* sentences of a feed that need alignments */
	int32_t steps_waited;		    /* that sources of a feed have waited to join */
	int32_t *new_slots;		    /* (cap_rows) slots of the batch's sentences */
	struct incremental_rows rows, next; /* (cap_rows) of this step and of the next one */
	struct incremental_output found;    /* (cap_rows, INCREMENTAL_MAX_K) */
	int32_t *ints;			    /* owned: memory of new_slots, rows, next and found */
	int32_t cap_rows;
	struct shortlist_candidates candidates;
	const struct decode_constraint *
		*constraints; /* (cap_constraints) owned: of the batch's sentences */
	size_t cap_constraints;
	/* (cap_all), (cap_next_model_all) owned: (rows, vocabulary) log-probabilities of all tokens */
	float *all, *next_model_all;
	size_t cap_all, cap_next_model_all;
};

struct decoder {
	struct model *base_models[DECODE_MAX_MODELS]; /* (n_models) borrowed */
	int32_t n_models;
	int32_t capacity;
	int32_t longest;		  /* positions that all models have */
	int32_t first_token;		  /* TOKEN_PAD: none */
	struct decode_worker main_worker; /* serial decoding, with the model's threads */
	int32_t n_workers;
	struct decode_worker *workers; /* (n_workers) owned; NULL until first needed */
	struct model **models;	       /* (n_workers, n_models) owned: the workers' models */
};

/* One call of decoder_run(). */
struct decode_job {
	struct decoder *decoder;
	const struct decode_options *options;
	const struct decode_source *sources;
	struct decode_result *results;
	const struct sorted_source
		*sorted; /* (n_sorted) by falling length, or as a feed adds them */
	size_t n_sorted;
	pthread_mutex_t lock; /* guards n_taken and the state of the feed */
	size_t n_taken;	      /* sources that a stream has taken */
	int32_t n_started;    /* streams, by decode_in_parallel() */
	/* of one stream */
	int32_t max_tokens; /* source tokens times beam */
	int32_t max_rows;
	struct incremental_options limits;
	/* with a feed */
	const struct decode_feed *feed; /* borrowed; NULL: the sources are known */
	struct sorted_source *waiting;	/* (cap_waiting) owned: memory of sorted */
	size_t cap_waiting;
	pthread_cond_t has_news; /* for streams that wait for sources */
	int32_t n_streams, n_idle;
	bool is_parallel; /* all workers decode, each with one thread */
	bool is_over;	  /* the streams end: nothing is left, or one has failed */
};

/* Sets the limits of a stream from max_tokens and the sources, of which there is at least one. */
void decode_stream_limits(struct decode_job *job);
/* decode.c: decodes with the main worker, or with all workers if job->is_parallel. */
int decode_run_streams(struct decode_job *job, struct err *e);
/* The result of a source without tokens: one empty hypothesis. */
int decode_empty_result(const struct decode_options *o, struct decode_result *result,
			struct err *e);
/* Decodes sentences until no source is left. */
int decode_stream_run(struct decode_job *job, struct decode_worker *w, struct err *e);

/* ---- decode_feed.c, for streams with a feed ---- */

void decode_feed_begin_stream(struct decode_job *job);
/* Lets sources be added, and marks slots whose source was cancelled. */
int decode_feed_update(struct decode_job *job, struct decode_worker *w, struct err *e);
/* How many of the waiting sources one stream may take; the lock is held. */
size_t decode_feed_share(const struct decode_job *job);
/* Is it time to let waiting sources join the n sentences of a stream, which has let them wait for some steps? */
bool decode_feed_admits(const struct decode_job *job, int32_t n, int32_t steps);
/* The serial stream must end, because enough sources for all workers wait. */
bool decode_feed_wants_workers(const struct decode_job *job);
/* Hands the result over. NULL: the source was cancelled. */
int decode_feed_finish(struct decode_job *job, struct decode_fed *fed, struct decode_result *result,
		       struct err *e);
/* A stream without sentences waits for sources. False: all streams end. */
bool decode_feed_wait(struct decode_job *job);
/* All streams end. */
void decode_feed_end(struct decode_job *job);

/*
 * decode_worker.c: a worker with a decoder for each of n borrowed models, for sources of up to capacity
 * tokens. After a failure, too, free it.
 */
int decode_worker_init(struct decode_worker *w, struct model *const *models, int32_t n,
		       int32_t capacity, struct err *e);
void decode_worker_free(struct decode_worker *w);
/* Makes room for these numbers of sentences and rows. */
int decode_reserve(struct decode_worker *d, int32_t sentences, int32_t rows, struct err *e);

/* Runs all models on d->rows; d->all gets the log of the mean of their probabilities. */
int decode_ensemble_step(struct decode_worker *d, struct incremental_output *found, struct err *e);

#endif
