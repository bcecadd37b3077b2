/* translation_queue.c - see translation_queue.h */
#include "eval/server/translation_queue.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define MAX_CLIENTS 1024 /* clients whose turns are counted; there are fewer connections */

/* A client with jobs, and the characters that it has been served. */
struct queue_client {
	uint64_t name;
	double served;
	int n_jobs; /* 0: the place is free */
};

struct translation_queue {
	struct translation_job *first; /* all jobs, by arrival */
	struct queue_client clients[MAX_CLIENTS];
	size_t waiting, max_chars; /* characters that were not sent */
	int n_jobs;
	struct queue_counts counts;
};

struct translation_queue *queue_new(int64_t max_chars, struct err *e)
{
	struct translation_queue *q = mem_alloc(1, sizeof(*q), e);

	if (q)
		q->max_chars = (size_t)max_chars;
	return q;
}

void queue_free(struct translation_queue *q)
{
	struct translation_job *next;

	for (struct translation_job *job = q ? q->first : NULL; job; job = next) {
		next = job->next;
		queue_job_free(job);
	}
	free(q);
}

/* ---- jobs ---- */

struct translation_job *queue_job_new(const struct job_kind *kind, uint64_t client, struct err *e)
{
	struct translation_job *job = mem_alloc(1, sizeof(*job), e);

	if (job) {
		job->kind = *kind;
		job->client = client;
	}
	return job;
}

int queue_job_add(struct translation_job *job, const char *text, size_t n, struct err *e)
{
	struct queue_text *x;

	if (mem_grow(&job->texts, &job->cap, job->n + 1, sizeof(*job->texts), e))
		return e->code;
	x = &job->texts[job->n];
	*x = (struct queue_text){ .n = n, .n_chars = utf8_count(text, n) };
	x->text = mem_alloc(n + 1, 1, e);
	if (!x->text)
		return e->code;
	memcpy(x->text, text, n);
	job->n_chars += x->n_chars;
	job->n++;
	return 0;
}

static void free_best(struct queue_text *x)
{
	for (size_t i = 0; i < x->n_best; i++)
		free(x->best[i]);
	free(x->best);
	x->best = NULL;
	x->n_best = 0;
}

void queue_job_free(struct translation_job *job)
{
	if (!job)
		return;
	for (size_t i = 0; i < job->n; i++) {
		free_best(&job->texts[i]);
		free(job->texts[i].text);
	}
	free(job->texts);
	free(job);
}

bool queue_job_is_done(const struct translation_job *job)
{
	return job->fault || job->n_done == job->n;
}

/* ---- clients ---- */

/* The place of a client with jobs, or a free one; there is always one. */
static struct queue_client *find_client(struct translation_queue *q, uint64_t name)
{
	struct queue_client *free_place = NULL;

	for (size_t i = 0; i < MAX_CLIENTS; i++) {
		if (q->clients[i].n_jobs && q->clients[i].name == name)
			return &q->clients[i];
		if (!q->clients[i].n_jobs && !free_place)
			free_place = &q->clients[i];
	}
	return free_place;
}

static void enter_client(struct translation_queue *q, uint64_t name)
{
	struct queue_client *c = find_client(q, name);
	double least = INFINITY;

	assert(c);
	if (!c->n_jobs) {
		for (size_t i = 0; i < MAX_CLIENTS; i++)
			if (q->clients[i].n_jobs)
				least = fmin(least, q->clients[i].served);
		*c = (struct queue_client){ name, isinf(least) ? 0 : least, 0 };
	}
	c->n_jobs++;
}

/* ---- the queue ---- */

static size_t unsent_chars(const struct translation_job *job)
{
	size_t n = 0;

	for (size_t i = job->n_sent; i < job->n; i++)
		n += job->texts[i].n_chars;
	return n;
}

int queue_submit(struct translation_queue *q, struct translation_job *job, double now,
		 struct err *e)
{
	struct translation_job **end = &q->first;

	if (q->n_jobs == MAX_CLIENTS || (q->waiting && q->waiting + job->n_chars > q->max_chars))
		return err_set(e, ERR_TEMPFAIL, "too many texts wait: try again later");
	while (*end)
		end = &(*end)->next;
	*end = job;
	job->arrived = now;
	job->is_queued = true;
	q->waiting += job->n_chars;
	q->n_jobs++;
	enter_client(q, job->client);
	return 0;
}

/* Takes a job out of the list and frees it. */
static void drop_job(struct translation_queue *q, struct translation_job *job)
{
	struct translation_job **at = &q->first;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	queue_job_free(job);
}

/* No text of the job will be sent any more. */
static void end_waiting(struct translation_queue *q, struct translation_job *job)
{
	q->waiting -= unsent_chars(job);
	job->n_sent = job->n;
}

void queue_leave(struct translation_queue *q, struct translation_job *job)
{
	if (!job->is_queued) {
		queue_job_free(job);
		return;
	}
	assert(!job->is_left);
	end_waiting(q, job);
	job->is_left = true;
	q->n_jobs--;
	find_client(q, job->client)->n_jobs--;
	if (!job->n_in_batch)
		drop_job(q, job);
}

static void fail_job(struct translation_queue *q, struct translation_job *job, const char *fault)
{
	if (queue_job_is_done(job))
		return;
	end_waiting(q, job);
	job->fault = fault;
}

void queue_expire(struct translation_queue *q, double now)
{
	for (struct translation_job *job = q->first; job; job = job->next)
		if (!job->is_left && job->deadline <= now)
			fail_job(q, job, "the translation took too long");
}

double queue_next_deadline(const struct translation_queue *q, double now)
{
	double seconds = NAN;

	for (const struct translation_job *job = q->first; job; job = job->next)
		if (!job->is_left && !queue_job_is_done(job))
			seconds = fmin(seconds, fmax(job->deadline - now, 0));
	return seconds;
}

void queue_fail_model(struct translation_queue *q, int model, const char *fault)
{
	for (struct translation_job *job = q->first; job; job = job->next)
		if (!job->is_left && job->kind.model == model)
			fail_job(q, job, fault);
}

/* ---- batches ---- */

/* Whose turn it is among the jobs with unsent texts for this model; NULL: nobody waits. */
static struct translation_job *next_turn(struct translation_queue *q, int model,
					 const struct queue_batch *batch)
{
	struct translation_job *best = NULL;
	double least = 0;

	for (struct translation_job *job = q->first; job; job = job->next) {
		double served;

		if (job->n_sent == job->n || job->kind.model != model ||
		    (batch->n && (job->kind.n_best != batch->kind.n_best ||
				  job->kind.is_whole != batch->kind.is_whole)))
			continue;
		served = find_client(q, job->client)->served;
		if (!best || served < least ||
		    (served == least && job->client == best->client &&
		     job->served < best->served)) {
			best = job;
			least = served;
		}
	}
	return best;
}

/* Was this text sent before, to a decoder that ended? It is then sent alone. */
static bool is_suspect(const struct translation_job *job)
{
	return job->texts[job->n_sent].tries > 0;
}

void queue_fill(struct translation_queue *q, int model, struct queue_batch *batch, double now)
{
	struct translation_job *job;
	size_t chars = 0;

	assert(!batch->n);
	while (batch->n < QUEUE_BATCH_TEXTS && (job = next_turn(q, model, batch)) != NULL) {
		const struct queue_text *x = &job->texts[job->n_sent];
		const bool is_alone = is_suspect(job);

		if (batch->n && (is_alone || chars + x->n_chars > QUEUE_BATCH_CHARS))
			break;
		if (!job->n_sent) {
			q->counts.wait_s += now - job->arrived;
			q->counts.waited++;
		}
		batch->kind = job->kind;
		batch->texts[batch->n++] = (struct queue_batch_text){ job, job->n_sent++ };
		job->n_in_batch++;
		job->served += (double)x->n_chars + 1;
		find_client(q, job->client)->served += (double)x->n_chars + 1;
		chars += x->n_chars;
		q->waiting -= x->n_chars;
		if (is_alone)
			break;
	}
}

void queue_write(const struct queue_batch *batch, int64_t id, struct buf *out)
{
	struct json_writer w = { .out = out };

	json_open(&w, '{');
	json_put_int(&w, "id", id);
	if (batch->kind.n_best > 1)
		json_put_int(&w, "n_best", batch->kind.n_best);
	if (batch->kind.is_whole)
		json_put_bool(&w, "whole", true);
	json_put_open(&w, "texts", '[');
	for (size_t i = 0; i < batch->n; i++) {
		const struct queue_batch_text *b = &batch->texts[i];

		json_strn(&w, b->job->texts[b->index].text, b->job->texts[b->index].n);
	}
	json_close(&w, ']');
	json_close(&w, '}');
	buf_add_char(out, '\n');
}

/* Copies the translations of one text. ERR_PROTOCOL: there are none. */
static int take_translations(struct queue_text *x, const struct json *from, struct err *e)
{
	const struct json *texts = json_get(from, "texts");
	const size_t n = json_len(texts);

	if (!json_is_array(texts) || !n || n > QUEUE_MAX_BEST)
		return err_set(e, ERR_PROTOCOL, "the decoder sent no translation of a text");
	free_best(x);
	x->best = mem_alloc(n, sizeof(*x->best), e);
	if (!x->best)
		return e->code;
	for (const struct json *c = json_first(texts); c; c = json_next(texts, c)) {
		x->best[x->n_best] = mem_strdup(json_text(c, ""), e);
		if (!x->best[x->n_best])
			return e->code;
		x->n_best++;
	}
	return 0;
}

/* The batch has no texts of these jobs any more; those that wait for nothing else are freed. */
static void release_batch(struct translation_queue *q, struct queue_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		struct translation_job *job = batch->texts[i].job;

		if (--job->n_in_batch == 0 && job->is_left)
			drop_job(q, job);
	}
	batch->n = 0;
}

int queue_finish(struct translation_queue *q, struct queue_batch *batch, const struct json *answer,
		 struct err *e)
{
	const struct json *list = json_get(answer, "translations");
	const struct json *c = json_first(list);
	int rc = 0;

	if (!json_is_array(list) || json_len(list) != batch->n)
		rc = err_set(e, ERR_PROTOCOL, "the decoder did not answer: %.300s",
			     json_text(json_get(answer, "error"), "its answer has another form"));
	q->counts.batches++;
	for (size_t i = 0; i < batch->n; i++) {
		struct translation_job *job = batch->texts[i].job;
		struct queue_text *x = &job->texts[batch->texts[i].index];

		if (rc || take_translations(x, c, e)) {
			rc = e->code;
			fail_job(q, job, "the translation failed");
			continue;
		}
		if (json_boolean(json_get(c, "truncated"), false)) {
			job->is_too_long = true;
			fail_job(q, job,
				 "a sentence of the text is longer than the model can read, and "
				 "its end "
				 "would be lost: end sentences with punctuation, or send shorter "
				 "ones");
			c = json_next(list, c);
			continue;
		}
		job->n_done++;
		q->counts.texts++;
		q->counts.chars += (int64_t)x->n_chars;
		q->counts.source_tokens += json_integer(json_get(c, "source_tokens"), 0);
		q->counts.target_tokens += json_integer(json_get(c, "target_tokens"), 0);
		c = json_next(list, c);
	}
	release_batch(q, batch);
	return rc;
}

void queue_return(struct translation_queue *q, struct queue_batch *batch)
{
	for (size_t i = batch->n; i-- > 0;) {
		struct translation_job *job = batch->texts[i].job;
		struct queue_text *x = &job->texts[batch->texts[i].index];

		if (job->is_left || job->fault)
			continue;
		if (++x->tries >= QUEUE_MAX_TRIES && batch->n == 1) {
			fail_job(q, job, "this text ended the decoder");
			continue;
		}
		/* texts are sent in order, so those of the batch are the last that were sent */
		assert(batch->texts[i].index + 1 == job->n_sent);
		job->n_sent--;
		q->waiting += x->n_chars;
	}
	release_batch(q, batch);
}

size_t queue_waiting_chars(const struct translation_queue *q)
{
	return q->waiting;
}

int queue_n_jobs(const struct translation_queue *q)
{
	return q->n_jobs;
}

const struct queue_counts *queue_get_counts(const struct translation_queue *q)
{
	return &q->counts;
}
