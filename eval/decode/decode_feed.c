/*
 * decode_feed.c - sources that come while others are being decoded; see decode.h
 *
 * Few sources are decoded by one stream with all threads, which is fastest for a single one. When sources for all
 * workers wait, that stream takes no more; after its end each worker runs a stream with one thread, until nothing is
 * left. A stream without sentences waits until another one has got sources from the feed.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "eval/decode/decode_internal.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define FEED_AHEAD ((size_t)16) /* sources that wait for a stream, at least */

/* Encoding one sentence takes about as long as a step: several join together, but soon. */
#define JOIN_SHARE 4 /* sources join when they are this part of the sentences, or … */
#define JOIN_STEPS 6 /* … after this number of steps */

static size_t n_waiting(const struct decode_job *job)
{
	return job->n_sorted - job->n_taken;
}

size_t decoder_feed_room(const struct decode_job *job)
{
	const size_t enough = MAX(FEED_AHEAD, 4 * (size_t)job->decoder->n_workers);

	return n_waiting(job) < enough ? enough - n_waiting(job) : 0;
}

int decoder_feed(struct decode_job *job, struct decode_fed *fed, struct err *e)
{
	struct decode_options o = *job->options;
	struct decode_result result = { .n = 0 };
	const int32_t n = MIN(fed->source.n, job->decoder->capacity - 1);

	assert(fed->n_best >= 1 && fed->n_best <= o.beam);
	o.n_best = fed->n_best;
	o.alignments |= fed->alignments;
	if (!fed->source.n)
		return decode_empty_result(&o, &result, e)
			       ? e->code
			       : job->feed->done(job->feed->context, fed, &result, e);
	if (job->n_taken) {
		memmove(job->waiting, job->waiting + job->n_taken,
			n_waiting(job) * sizeof(*job->waiting));
		job->n_sorted -= job->n_taken;
		job->n_taken = 0;
	}
	if (mem_grow(&job->waiting, &job->cap_waiting, job->n_sorted + 1, sizeof(*job->waiting), e))
		return e->code;
	job->waiting[job->n_sorted++] = (struct sorted_source){ .n = n, .fed = fed };
	job->sorted = job->waiting;
	return 0;
}

/* Asks the feed for sources; the lock is held. */
static int ask_feed(struct decode_job *job, struct err *e)
{
	const size_t n = n_waiting(job);
	const int rc = job->feed->more(job->feed->context, job, e);

	if (n_waiting(job) > n)
		pthread_cond_broadcast(&job->has_news);
	return rc;
}

void decode_feed_begin_stream(struct decode_job *job)
{
	pthread_mutex_lock(&job->lock);
	job->n_streams++;
	pthread_mutex_unlock(&job->lock);
}

int decode_feed_update(struct decode_job *job, struct decode_worker *w, struct err *e)
{
	int rc = 0;

	pthread_mutex_lock(&job->lock);
	if (!job->is_over)
		rc = ask_feed(job, e);
	w->steps_waited = n_waiting(job) ? w->steps_waited + 1 : 0;
	for (int32_t i = 0; i < job->limits.max_rows && w->n_sentences; i++)
		if (w->slots[i].beam)
			w->slots[i].is_cancelled = w->slots[i].source.fed->is_cancelled;
	pthread_mutex_unlock(&job->lock);
	return rc;
}

size_t decode_feed_share(const struct decode_job *job)
{
	return job->is_parallel ? CEIL_DIV(n_waiting(job), (size_t)job->decoder->n_workers)
				: n_waiting(job);
}

bool decode_feed_admits(const struct decode_job *job, int32_t n, int32_t steps)
{
	return (int64_t)n_waiting(job) * JOIN_SHARE >= n || steps >= JOIN_STEPS;
}

bool decode_feed_wants_workers(const struct decode_job *job)
{
	const size_t n = (size_t)job->decoder->n_workers;

	return !job->is_parallel && n > 1 && n_waiting(job) >= 2 * n;
}

int decode_feed_finish(struct decode_job *job, struct decode_fed *fed, struct decode_result *result,
		       struct err *e)
{
	int rc;

	pthread_mutex_lock(&job->lock);
	if (result)
		result->truncated = fed->source.n > job->decoder->capacity - 1;
	rc = job->feed->done(job->feed->context, fed, result, e);
	pthread_mutex_unlock(&job->lock);
	return rc;
}

bool decode_feed_wait(struct decode_job *job)
{
	bool goes_on;

	pthread_mutex_lock(&job->lock);
	if (!n_waiting(job) && job->n_idle + 1 == job->n_streams)
		job->is_over = true;
	job->n_idle++;
	while (!n_waiting(job) && !job->is_over)
		pthread_cond_wait(&job->has_news, &job->lock);
	job->n_idle--;
	goes_on = !job->is_over && !decode_feed_wants_workers(job);
	if (!goes_on)
		pthread_cond_broadcast(&job->has_news);
	pthread_mutex_unlock(&job->lock);
	return goes_on;
}

void decode_feed_end(struct decode_job *job)
{
	pthread_mutex_lock(&job->lock);
	job->is_over = true;
	pthread_cond_broadcast(&job->has_news);
	pthread_mutex_unlock(&job->lock);
}

int decoder_run_feed(struct decoder *d, const struct decode_options *o,
		     const struct decode_feed *feed, struct err *e)
{
	struct decode_job job = { .decoder = d,
				  .options = o,
				  .feed = feed,
				  .lock = PTHREAD_MUTEX_INITIALIZER,
				  .has_news = PTHREAD_COND_INITIALIZER,
				  .max_tokens = o->decode_tokens };
	int rc;

	while (!(rc = ask_feed(&job, e)) && n_waiting(&job)) {
		job.is_parallel = false;
		job.is_parallel = decode_feed_wants_workers(&job);
		job.is_over = false;
		job.n_streams = job.n_started = 0;
		job.max_tokens = o->decode_tokens;
		rc = decode_run_streams(&job, e);
		if (rc)
			break;
	}
	free(job.waiting);
	pthread_cond_destroy(&job.has_news);
	pthread_mutex_destroy(&job.lock);
	return rc;
}
