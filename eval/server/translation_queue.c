/* translation_queue.c - see translation_queue.h */
#include "eval/server/translation_queue.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/base64.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define MAX_CLIENTS	  1024 /* clients whose turns are counted; there are fewer connections */
#define QUEUE_CHARS_PER_S 1000 /* by which a job that waits moves forward */

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
	size_t n_files, file_bytes;
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
		next = job->next_job;
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
	*x = (struct queue_text){ .n = n,
				  .n_chars = job->kind.document ? QUEUE_FILE_CHARS
								: utf8_count(text, n) };
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
	x->n_best = x->n_bytes = 0;
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
	return job->fault || (job->n_done == job->n && (!job->n || !job->kind.has_second));
}

double queue_job_share(const struct translation_job *job)
{
	const double share = job->n_units ? (double)job->units_done / (double)job->n_units : 0;

	return job->had_second ? (1 + share) / 2 : job->kind.has_second ? share / 2 : share;
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

/* Counts the bytes of a job with a file. */
static void count_file(struct translation_queue *q, const struct translation_job *job, bool enters)
{
	if (!job->kind.document)
		return;
	q->n_files += enters ? 1 : (size_t)-1;
	q->file_bytes += enters ? job->texts->n : -job->texts->n;
}

static size_t waiting_chars_of(const struct translation_job *job)
{
	size_t n = 0;

	for (size_t i = job->next; i < job->n; i++)
		n += job->texts[i].state == TEXT_WAITS ? job->texts[i].n_chars : 0;
	return n;
}

/* ERR_TEMPFAIL: there are enough files, of all clients or of this one. */
static int check_file_room(const struct translation_queue *q, const struct translation_job *job,
			   struct err *e)
{
	size_t n = 0, bytes = job->texts->n;

	if (q->n_files == QUEUE_MAX_FILES || q->file_bytes + bytes > QUEUE_MAX_BYTES)
		return err_set(e, ERR_TEMPFAIL, "too many files wait: try again later");
	for (const struct translation_job *other = q->first; other; other = other->next_job)
		if (other->kind.document && other->client == job->client) {
			n++;
			bytes += other->texts->n;
		}
	if (n && (n >= QUEUE_CLIENT_FILES || bytes > QUEUE_CLIENT_BYTES))
		return err_set(e, ERR_TEMPFAIL,
			       "%zu files of yours wait: try again when they are translated", n);
	return 0;
}

int queue_submit(struct translation_queue *q, struct translation_job *job, double now,
		 struct err *e)
{
	struct translation_job **end = &q->first;

	if (q->n_jobs == MAX_CLIENTS || (q->waiting && q->waiting + job->n_chars > q->max_chars))
		return err_set(e, ERR_TEMPFAIL, "too many texts wait: try again later");
	if (job->kind.document && check_file_room(q, job, e))
		return e->code;
	while (*end)
		end = &(*end)->next_job;
	*end = job;
	job->arrived = job->idle_since = now;
	job->is_queued = true;
	q->waiting += job->n_chars;
	q->n_jobs++;
	count_file(q, job, true);
	enter_client(q, job->client);
	return 0;
}

/* Takes a job out of the list and frees it. */
static void drop_job(struct translation_queue *q, struct translation_job *job)
{
	struct translation_job **at = &q->first;

	while (*at != job)
		at = &(*at)->next_job;
	*at = job->next_job;
	count_file(q, job, false);
	queue_job_free(job);
}

/* No text of the job will be sent any more. */
static void end_waiting(struct translation_queue *q, struct translation_job *job)
{
	q->waiting -= waiting_chars_of(job);
	job->next = job->n;
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
	if (!job->n_in_flight)
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
	for (struct translation_job *job = q->first; job; job = job->next_job)
		if (!job->is_left && job->deadline <= now)
			fail_job(q, job, "the translation took too long");
}

double queue_next_deadline(const struct translation_queue *q, double now)
{
	double seconds = NAN;

	for (const struct translation_job *job = q->first; job; job = job->next_job)
		if (!job->is_left && !queue_job_is_done(job))
			seconds = fmin(seconds, fmax(job->deadline - now, 0));
	return seconds;
}

/* ---- to decoders ---- */

/*
 * Which place in the order of turns a job has; the smallest one is next: what its client would have been served
 * with this text, so that short texts come before long ones, less a share for the time since the last text of
 * the job was sent, so that long ones come too.
 */
static double turn_place(struct translation_queue *q, const struct translation_job *job, double now)
{
	return find_client(q, job->client)->served + (double)job->texts[job->next].n_chars -
	       QUEUE_CHARS_PER_S * (now - job->idle_since);
}

/* Whose turn it is among the jobs with waiting texts for this model; NULL: nobody waits. */
static struct translation_job *next_turn(struct translation_queue *q, const struct queue_flight *f,
					 double now)
{
	struct translation_job *best = NULL;
	double least = 0;

	for (struct translation_job *job = q->first; job; job = job->next_job) {
		double place;

		if (job->next == job->n || job->kind.model != f->model ||
		    job->n_in_flight >= QUEUE_JOB_TEXTS ||
		    (job->kind.document && f->n_files == QUEUE_FLIGHT_FILES))
			continue;
		place = turn_place(q, job, now);
		if (!best || place < least ||
		    (job->client == best->client && job->served < best->served)) {
			best = job;
			least = place;
		}
	}
	return best;
}

/* What a text takes of the characters that a decoder has at a time. */
static size_t flight_chars(const struct queue_text *x)
{
	return MIN(x->n_chars, QUEUE_TEXT_CHARS);
}

/* How many texts may be sent together with a text: a quarter after each decoder that ended. */
static size_t group_limit(const struct queue_text *x)
{
	return MAX(QUEUE_FLIGHT_TEXTS >> MIN(2 * x->n_ended, 30), 1);
}

/* May the decoder get this text beside those that it has? */
static bool has_flight_room(const struct queue_flight *f, const struct queue_text *x)
{
	const size_t chars = x->n_chars > QUEUE_SHORT_CHARS ? QUEUE_FLIGHT_CHARS - QUEUE_SHORT_CHARS
							    : QUEUE_FLIGHT_CHARS;
	size_t most = group_limit(x);

	/* texts that may have ended a decoder are sent among themselves */
	for (size_t i = 0; i < f->n; i++) {
		const struct queue_text *other = &f->texts[i].job->texts[f->texts[i].index];

		if (!other->n_ended != !x->n_ended)
			return false;
		most = MIN(most, group_limit(other));
	}
	return !f->n || (f->n < most && f->n_chars + flight_chars(x) <= chars);
}

static void write_flight_text(const struct flight_text *t, struct buf *out)
{
	const struct job_kind *kind = &t->job->kind;
	const struct queue_text *x = &t->job->texts[t->index];
	struct json_writer w = { .out = out };

	json_open(&w, '{');
	json_put_int(&w, "id", t->id);
	json_put_bool(&w, "join", true);
	if (kind->n_best > 1 && !kind->has_second)
		json_put_int(&w, "n_best", kind->n_best);
	if (kind->is_whole)
		json_put_bool(&w, "whole", true);
	if (kind->markup)
		json_put_str(&w, "markup", kind->markup);
	if (*kind->glossary)
		json_put_str(&w, "glossary", kind->glossary);
	if (kind->document) {
		json_put_str(&w, "document", kind->document);
		json_key(&w, "bytes");
		buf_add_char(out, '"');
		base64_add(out, x->text, x->n);
		buf_add_char(out, '"');
	} else {
		json_put_strn(&w, "text", x->text, x->n);
	}
	json_close(&w, '}');
	buf_add_char(out, '\n');
}

/* The text is sent: counts it and finds the next one of its job that waits. */
static void note_sent(struct translation_queue *q, struct translation_job *job,
		      struct queue_text *x, double now)
{
	if (!job->is_begun) {
		job->is_begun = true;
		q->counts.wait_s += now - job->arrived;
		q->counts.waited++;
	}
	x->state = TEXT_SENT;
	job->idle_since = now;
	while (job->next < job->n && job->texts[job->next].state != TEXT_WAITS)
		job->next++;
	job->n_in_flight++;
	job->served += (double)x->n_chars + 1;
	find_client(q, job->client)->served += (double)x->n_chars + 1;
	q->waiting -= x->n_chars;
}

bool queue_send(struct translation_queue *q, struct queue_flight *f, double now, struct buf *out)
{
	struct translation_job *job = next_turn(q, f, now);
	struct flight_text *t = &f->texts[f->n];

	if (!job || !has_flight_room(f, &job->texts[job->next]))
		return false;
	*t = (struct flight_text){ job, job->next, ++f->last_id, now, now, false };
	f->n++;
	f->n_files += job->kind.document != NULL;
	f->n_chars += flight_chars(&job->texts[t->index]);
	write_flight_text(t, out);
	note_sent(q, job, &job->texts[t->index], now);
	return true;
}

void queue_cancel(struct queue_flight *f, struct buf *out)
{
	for (size_t i = 0; i < f->n; i++) {
		struct flight_text *t = &f->texts[i];

		if (t->is_cancelled || (!t->job->is_left && !t->job->fault))
			continue;
		t->is_cancelled = true;
		buf_printf(out, "{\"cancel\":%lld}\n", (long long)t->id);
	}
}

/* The decoder has this text no more; a job that waits for nothing else is freed. */
static void release_text(struct translation_queue *q, struct queue_flight *f, size_t i)
{
	struct translation_job *job = f->texts[i].job;

	f->n_chars -= flight_chars(&job->texts[f->texts[i].index]);
	f->n_files -= job->kind.document != NULL;
	memmove(&f->texts[i], &f->texts[i + 1], (f->n - i - 1) * sizeof(*f->texts));
	f->n--;
	if (--job->n_in_flight == 0 && job->is_left)
		drop_job(q, job);
}

/* ---- from decoders ---- */

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

/* The decoder refuses the text, or the file, because of what it holds: says it in these words. */
static void refuse_job(struct translation_queue *q, struct translation_job *job, const char *text)
{
	snprintf(job->told, sizeof(job->told), "%s", text);
	job->is_refused = true;
	fail_job(q, job, job->told);
}

/* Copies the bytes of a translated file. */
static int take_file(struct queue_text *x, const struct json *from, struct err *e)
{
	const char *text = json_text(json_get(from, "bytes"), NULL);
	struct buf bytes = { 0 };

	if (!text)
		return err_set(e, ERR_PROTOCOL, "the decoder sent no translation of a file");
	free_best(x);
	x->best = mem_alloc(1, sizeof(*x->best), e);
	if (!x->best || base64_read(&bytes, text, strlen(text), e)) {
		buf_free(&bytes);
		return e->code;
	}
	x->n_bytes = bytes.len;
	x->best[x->n_best++] = bytes.data;
	return 0;
}

static void count_queue_text(struct translation_queue *q, const struct queue_text *x,
			     const struct json *answer)
{
	q->counts.texts++;
	q->counts.chars += json_integer(json_get(answer, "source_chars"), (int64_t)x->n_chars);
	q->counts.source_tokens += json_integer(json_get(answer, "source_tokens"), 0);
	q->counts.target_tokens += json_integer(json_get(answer, "target_tokens"), 0);
}

/* Takes the answer for one text, or for a file. */
static int take_answer_of(struct translation_queue *q, const struct flight_text *t,
			  const struct json *answer, struct err *e)
{
	struct translation_job *job = t->job;
	struct queue_text *x = &job->texts[t->index];
	const char *error = json_text(json_get(answer, "error"), NULL);

	x->state = TEXT_DONE;
	if (json_boolean(json_get(answer, "cancelled"), false))
		return 0;
	if (error && job->kind.document) {
		job->is_too_large = json_boolean(json_get(answer, "too_large"), false);
		refuse_job(q, job, error);
		return 0;
	}
	if (json_get(answer, "error") ||
	    (job->kind.document ? take_file(x, answer, e) : take_translations(x, answer, e))) {
		fail_job(q, job, "the translation failed");
		return err_set(e, ERR_PROTOCOL, "the decoder did not translate: %.300s",
			       error ? error : "its answer has another form");
	}
	if (json_boolean(json_get(answer, "truncated"), false)) {
		refuse_job(q, job,
			   "a sentence of the text is too long: end sentences with punctuation, or "
			   "send shorter ones");
		return 0;
	}
	job->n_done++;
	if (!job->had_second)
		job->n_source_chars += (size_t)json_integer(json_get(answer, "source_chars"), 0);
	count_queue_text(q, x, answer);
	return 0;
}

/* The decoder says how much of a file is done. */
static bool take_progress(struct flight_text *t, const struct json *answer, double now)
{
	if (!json_get(answer, "of"))
		return false;
	t->heard_at = now;
	t->job->units_done = json_integer(json_get(answer, "done"), 0);
	t->job->n_units = json_integer(json_get(answer, "of"), 0);
	return true;
}

/* All texts have translations of the first model: those become the texts of the second one. */
static void begin_second_model(struct translation_queue *q, struct translation_job *job)
{
	count_file(q, job, false);
	for (size_t i = 0; i < job->n; i++) {
		struct queue_text *x = &job->texts[i];

		free(x->text);
		x->text = x->best[0];
		x->n = job->kind.document ? x->n_bytes : strlen(x->text);
		x->n_chars = job->kind.document ? QUEUE_FILE_CHARS : utf8_count(x->text, x->n);
		x->best[0] = NULL;
		free_best(x);
		x->state = TEXT_WAITS;
		x->n_ended = x->n_alone = 0;
		q->waiting += x->n_chars;
	}
	job->kind.model = job->kind.second;
	job->kind.has_second = false;
	job->had_second = true;
	job->n_done = job->next = 0;
	job->units_done = job->n_units = 0;
	count_file(q, job, true);
}

int queue_take(struct translation_queue *q, struct queue_flight *f, const struct json *answer,
	       double now, struct err *e)
{
	const int64_t id = json_integer(json_get(answer, "id"), -1);
	int rc;

	for (size_t i = 0; i < f->n; i++)
		if (f->texts[i].id == id) {
			if (take_progress(&f->texts[i], answer, now))
				return 0;
			struct translation_job *job = f->texts[i].job;
			bool has_next;

			rc = take_answer_of(q, &f->texts[i], answer, e);
			has_next = !job->is_left && !job->fault && job->kind.has_second &&
				   job->n_done == job->n;
			q->counts.text_s += now - f->texts[i].sent_at;
			release_text(q, f, i);
			if (has_next)
				begin_second_model(q, job);
			return has_next ? 1 : rc;
		}
	return err_set(e, ERR_PROTOCOL, "the decoder answered what nobody asked");
}

/* The newest text of the decoder waits again; its turn comes before that of later requests. */
static void take_text_back(struct translation_queue *q, struct queue_flight *f)
{
	const struct flight_text *t = &f->texts[f->n - 1];
	struct translation_job *job = t->job;
	struct queue_text *x = &job->texts[t->index];

	if (job->is_left || job->fault) {
		x->state = TEXT_DONE;
	} else {
		job->served -= (double)x->n_chars + 1;
		find_client(q, job->client)->served -= (double)x->n_chars + 1;
		x->state = TEXT_WAITS;
		job->next = MIN(job->next, t->index);
		q->waiting += x->n_chars;
	}
	release_text(q, f, f->n - 1);
}

void queue_take_back(struct translation_queue *q, struct queue_flight *f)
{
	while (f->n)
		take_text_back(q, f);
}

void queue_return(struct translation_queue *q, struct queue_flight *f)
{
	const bool was_alone = f->n == 1;

	while (f->n) {
		const struct flight_text *t = &f->texts[f->n - 1];
		struct queue_text *x = &t->job->texts[t->index];

		x->n_ended++;
		if (was_alone && ++x->n_alone >= QUEUE_MAX_ALONE)
			fail_job(q, t->job, "this text ended the decoder");
		take_text_back(q, f);
	}
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
