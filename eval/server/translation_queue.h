/*
 * translation_queue.h - texts of all clients that wait for a decoder, and the batches made of them
 *
 *	struct translation_job *job = queue_job_new(...);	texts of one request
 *	queue_job_add(job, text, n, e); ...
 *	queue_submit(q, job, now, e)				ERR_TEMPFAIL: the queue is full
 *	queue_fill(q, model, &batch, e)				texts for the idle decoder of a model
 *	queue_finish(q, &batch, answer, e)			its answer; job->n_done grows
 *
 * Order: clients take turns, weighted by characters. The client whose texts of the past have the fewest characters is
 * next, and of this client the request with the fewest. So a long document delays nobody by more than a batch. A client
 * that comes (back) begins with the least count of the clients that wait, so an idle time gives no credit.
 */
#ifndef WERKBANK_EVAL_SERVER_TRANSLATION_QUEUE_H
#define WERKBANK_EVAL_SERVER_TRANSLATION_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/format/json.h"

#define QUEUE_BATCH_TEXTS 64 /* texts of a batch … */
#define QUEUE_BATCH_CHARS                                                                          \
	8192 /* … and their characters, so that a batch is short; one longer text is a batch */
#define QUEUE_MAX_BEST	64 /* translations of a text */
#define QUEUE_MAX_TRIES 2  /* decoders that a text may end with */

/* One text of a job. */
struct queue_text {
	char *text; /* (n) owned */
	size_t n, n_chars;
	char **best; /* (n_best) owned: translations; NULL: none yet */
	size_t n_best;
	int tries;
};

/* How a job is decoded; texts of equal jobs share batches. */
struct job_kind {
	int model; /* number of the model */
	int n_best;
	bool is_whole; /* texts are not split into sentences */
};

struct translation_job {
	struct job_kind kind;
	uint64_t client; /* who asks: jobs of one client share its turns */
	struct queue_text *texts;
	size_t n, cap, n_sent, n_done; /* texts; sent to a decoder, in order; with translations */
	size_t n_chars;		       /* of all texts */
	double arrived, deadline;
	const char *fault; /* why it failed; NULL: it did not */
	bool is_too_long;  /* it failed because a sentence is longer than the model can read */
	/* private to the queue */
	struct translation_job *next;
	double served; /* characters sent */
	int n_in_batch;
	bool is_queued, is_left; /* is_left: its client has gone */
};

struct queue_batch_text {
	struct translation_job *job;
	size_t index;
};

/* Texts that a decoder works on; zero it before the first use. */
struct queue_batch {
	struct job_kind kind;
	struct queue_batch_text texts[QUEUE_BATCH_TEXTS];
	size_t n;
};

/* What the queue has done, for the metrics. */
struct queue_counts {
	int64_t batches, texts, chars, source_tokens, target_tokens;
	double wait_s;	/* from arrival to the first batch, of all jobs */
	int64_t waited; /* jobs that a batch has begun */
};

struct translation_queue;

/* max_chars: limit of all characters that wait. NULL: ERR_NOMEM. */
struct translation_queue *queue_new(int64_t max_chars, struct err *e);
void queue_free(struct translation_queue *q);

/* An empty job, owned by the caller until queue_submit(). NULL: ERR_NOMEM. */
struct translation_job *queue_job_new(const struct job_kind *kind, uint64_t client, struct err *e);
/* Adds a text, which is copied. */
int queue_job_add(struct translation_job *job, const char *text, size_t n, struct err *e);
/* Frees a job that is not in the queue. NULL is fine. */
void queue_job_free(struct translation_job *job);
/* All texts have translations, or it failed. */
bool queue_job_is_done(const struct translation_job *job);

/* ERR_TEMPFAIL: the queue is full; the job stays the caller's. */
int queue_submit(struct translation_queue *q, struct translation_job *job, double now,
		 struct err *e);
/* The client has left, or has its answer: the job is freed now, or after the batch that has texts of it. */
void queue_leave(struct translation_queue *q, struct translation_job *job);
/* Jobs that are past their deadline fail. */
void queue_expire(struct translation_queue *q, double now);
/* Seconds until the next deadline; NaN: none. */
double queue_next_deadline(const struct translation_queue *q, double now);

/* Fills the empty batch with waiting texts for a model; without any, batch->n stays 0. */
void queue_fill(struct translation_queue *q, int model, struct queue_batch *batch, double now);
/* Appends the batch as a line for the decoder. */
void queue_write(const struct queue_batch *batch, int64_t id, struct buf *out);
/* Takes the decoder's answer and empties the batch. ERR_PROTOCOL: it is none for this batch; its jobs fail. */
int queue_finish(struct translation_queue *q, struct queue_batch *batch, const struct json *answer,
		 struct err *e);
/*
 * The decoder ended without an answer: its texts wait again, and are then sent alone, to find the text that makes
 * the decoder end. The job of a text that has ended QUEUE_MAX_TRIES decoders fails.
 */
void queue_return(struct translation_queue *q, struct queue_batch *batch);
/* All jobs of a model fail. */
void queue_fail_model(struct translation_queue *q, int model, const char *fault);

size_t queue_waiting_chars(const struct translation_queue *q);
int queue_n_jobs(const struct translation_queue *q);
const struct queue_counts *queue_get_counts(const struct translation_queue *q);

#endif
