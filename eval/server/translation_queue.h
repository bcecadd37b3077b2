/*
 * translation_queue.h - texts of all clients that wait for a decoder, and those that decoders work on
 *
 *	struct translation_job *job = queue_job_new(...);	texts of one request
 *	queue_job_add(job, text, n, e); ...
 *	queue_submit(q, job, now, e)				ERR_TEMPFAIL: the queue is full
 *	queue_send(q, &flight, now, line)			the next text for the decoder of a model
 *	queue_take(q, &flight, answer, now, e)			an answer of the decoder; job->n_done grows
 *
 * A decoder gets a text as soon as one of its texts has ended, and lets it join the sentences that it decodes.
 *
 * Order: clients take turns, weighted by characters. Next is the text after which its client has been served the fewest, so
 * short texts come before long ones; a request that waits moves forward with time. Of a client, the request that was served
 * least is next. A client that comes (back) begins with the least count of the clients that wait, so an idle time gives
 * no credit.
 */
#ifndef WERKBANK_EVAL_SERVER_TRANSLATION_QUEUE_H
#define WERKBANK_EVAL_SERVER_TRANSLATION_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/format/json.h"

#define QUEUE_FLIGHT_TEXTS  64	 /* texts that a decoder has … */
#define QUEUE_JOB_TEXTS	    16	 /* … those of one request: steps of a full decoder are slow */
#define QUEUE_FLIGHT_CHARS  8192 /* … and their characters */
#define QUEUE_TEXT_CHARS    4096 /* … a longer text counts as this many */
#define QUEUE_SHORT_CHARS   1024 /* … longer texts leave room for a text of this length */
#define QUEUE_FLIGHT_FILES  4	 /* files that a decoder has, each of which counts as … */
#define QUEUE_FILE_CHARS    1024 /* … this many characters */
#define QUEUE_MAX_FILES	    64	 /* … of all jobs, and … */
#define QUEUE_MAX_BYTES	    ((size_t)64 << 20) /* … their bytes */
#define QUEUE_CLIENT_FILES  16		       /* files of one client, and … */
#define QUEUE_CLIENT_BYTES  ((size_t)48 << 20) /* … their bytes */
#define QUEUE_MAX_BEST	    64		       /* translations of a text */
#define QUEUE_GLOSSARY_NAME 64		       /* bytes, with the NUL */
#define QUEUE_MAX_ALONE	    2 /* decoders that may end while they have one text alone */

enum queue_text_state { TEXT_WAITS, TEXT_SENT, TEXT_DONE };

/* One text of a job, or the bytes of a file. */
struct queue_text {
	enum queue_text_state state;
	char *text; /* (n) owned */
	size_t n, n_chars;
	char **best; /* (n_best) owned: translations; NULL: none yet */
	size_t n_best;
	size_t n_bytes; /* of best[0], the translation of a file */
	int n_ended;	/* decoders that ended while they had it */
	int n_alone;	/* … and no other text */
};

/* How a job is decoded. */
struct job_kind {
	int model; /* number of the model */
	/* the translations are translated again, by way of a third language: number of the second model */
	bool has_second;
	int second;
	int n_best;	      /* of the last model */
	const char *document; /* borrowed: the job is one file of this kind; NULL: texts */
	const char *markup;   /* borrowed: texts are "html", "xml", or "xml-lines"; NULL: plain */
	bool is_whole;	      /* texts are not split into sentences */
	char glossary[QUEUE_GLOSSARY_NAME]; /* "": none */
};

struct translation_job {
	struct job_kind kind;
	uint64_t client; /* who asks: jobs of one client share its turns */
	struct queue_text *texts;
	size_t n, cap, n_done; /* texts; those with translations */
	size_t next;	       /* the first text that waits; n: none does */
	size_t n_chars;	       /* of all texts */
	double arrived, deadline;
	double idle_since;	     /* its last text was sent, or it arrived */
	const char *fault;	     /* why it failed; NULL: it did not */
	char told[300];		     /* … in the words of the decoder */
	bool is_refused;	     /* it failed because of what the client sent */
	bool is_too_large;	     /* … which is too much */
	int64_t units_done, n_units; /* sentences of a file, for the present model */
	bool had_second;	     /* the texts are those of the second model */
	size_t n_source_chars;	     /* of the text in a file that is done */
	/* private to the queue */
	struct translation_job *next_job;
	double served; /* characters sent */
	int n_in_flight;
	bool is_begun;		 /* a text was sent */
	bool is_queued, is_left; /* is_left: its client has gone */
};

/* A text that a decoder works on. */
struct flight_text {
	struct translation_job *job;
	size_t index;
	int64_t id;		  /* of the request to the decoder */
	double sent_at, heard_at; /* heard_at: of the last progress */
	bool is_cancelled;	  /* the decoder was told so */
};

/* All texts that a decoder works on; zero it before the first use, but for the model. */
struct queue_flight {
	int model;
	struct flight_text texts[QUEUE_FLIGHT_TEXTS]; /* (n) oldest first */
	size_t n, n_chars, n_files;
	int64_t last_id;
};

/* What the queue has done, for the metrics. */
struct queue_counts {
	int64_t texts, chars, source_tokens, target_tokens;
	double text_s;	/* time of all texts in decoders */
	double wait_s;	/* from arrival to the first text sent, of all jobs */
	int64_t waited; /* jobs of which a text was sent */
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

/* ERR_TEMPFAIL: the queue is full, or has enough files; the job stays the caller's. */
int queue_submit(struct translation_queue *q, struct translation_job *job, double now,
		 struct err *e);
/* The client has left, or has its answer: the job is freed now, or when no decoder has texts of it. */
void queue_leave(struct translation_queue *q, struct translation_job *job);
/* Jobs that are past their deadline fail. */
void queue_expire(struct translation_queue *q, double now);
/* Seconds until the next deadline; NaN: none. */
double queue_next_deadline(const struct translation_queue *q, double now);

/* Appends the next text for the model as a line for its decoder; false: the decoder has enough, or none waits. */
bool queue_send(struct translation_queue *q, struct queue_flight *f, double now, struct buf *out);
/* Appends lines that cancel the texts of clients that have left, and of jobs that have failed. */
void queue_cancel(struct queue_flight *f, struct buf *out);
/*
 * Takes an answer of the decoder (NULL: it was no JSON). 1: texts of a job now wait for its second model. ERR_PROTOCOL: the
 * decoder could not translate the text, whose job fails; or the answer is for no text, and the decoder cannot be trusted.
 */
int queue_take(struct translation_queue *q, struct queue_flight *f, const struct json *answer,
	       double now, struct err *e);
/*
 * The decoder ended: its texts wait again, and are then sent in groups of a quarter of the size, at last alone, to
 * find the text that makes the decoder end. The job of a text with which QUEUE_MAX_ALONE decoders ended alone fails.
 */
void queue_return(struct translation_queue *q, struct queue_flight *f);
/* The decoder is replaced before it has ended its texts: they wait again. */
void queue_take_back(struct translation_queue *q, struct queue_flight *f);
/* How much of a file is translated: 0 to 1. */
double queue_job_share(const struct translation_job *job);

size_t queue_waiting_chars(const struct translation_queue *q);
int queue_n_jobs(const struct translation_queue *q);
const struct queue_counts *queue_get_counts(const struct translation_queue *q);

#endif
