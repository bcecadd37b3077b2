/*
 * reduce_host.c - reductions of arrays in host memory, sent by the comm; see reduce.h
 *
 * Every bucket passes three states, in the order of buckets on all ranks:
 *
 *	begun	the reduce-scatter of its pieces is under way
 *	summed	the own piece is summed; the all-gather of the sums is under way
 *	ended	all sums have arrived and are decoded into the array
 *
 * At most DEPTH buckets are begun but not ended; each of them has a slot of buffers.
 * host_reduce_advance() moves buckets forward as far as possible without waiting. The thread of
 * the reduction calls it; without a thread, reduce_ready() and reduce_poll() do.
 */
#include "train/comm/reduce_internal.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/proc.h"

#define DEPTH	4			     /* buckets under way at a time */
#define CHUNK	((size_t)8 * COMPRESS_BLOCK) /* floats summed at a time */
#define POLL_US 50 /* between two polls of the buckets under way, during the backward pass */

enum { CHANNEL_SCATTER, CHANNEL_GATHER };

/*
 * Buffers of a bucket under way, in host_reduce.memory. out (ranks * piece_bytes): encoded
 * contributions; in (ranks * piece_bytes): received pieces; sum (piece_bytes): the encoded own
 * sum. fp32 is sent from the array itself: out and sum are NULL then.
 */
struct bucket_slot {
	struct comm_request *request;
	unsigned char *out, *in, *sum;
};

struct host_reduce {
	struct reduce base;
	size_t piece_bytes;		 /* of the largest piece, encoded in base.wire */
	unsigned char *memory;		 /* owned: of all slots */
	struct bucket_slot slots[DEPTH]; /* bucket i is in slot i mod DEPTH */
	void **message_pointers;	 /* (2 ranks) owned: arrays to and from of an exchange */
	size_t *message_bytes;		 /* (2 ranks) owned */

	/* Only the thread uses these; without a thread, the caller. */
	float *x;
	size_t begun, summed, ended; /* buckets that have reached this state */
	double busy_since;

	pthread_mutex_t lock; /* protects all fields below */
	pthread_cond_t wake;
	pthread_t thread;
	bool threaded, quit;
	bool active;	    /* from reduce_begin() until the last bucket has ended */
	bool caller_waits;  /* the backward pass is over: poll without long pauses */
	size_t ready;	    /* x[ready ..] is final */
	struct err trouble; /* the failure that ended the reduction; code 0: none */
};

/* ---- one exchange ------------------------------------------------------ */

/* Rows of message_pointers and message_bytes. */
enum { TO, FROM };

static void **message_pointers(struct host_reduce *r, int row)
{
	return r->message_pointers + (size_t)row * r->base.how.buckets.ranks;
}

static size_t *message_bytes(struct host_reduce *r, int row)
{
	return r->message_bytes + (size_t)row * r->base.how.buckets.ranks;
}

static int host_exchange_pieces(struct host_reduce *r, int channel, struct comm_request **request,
				struct err *e)
{
	const struct comm_exchange x = {
		.channel = channel,
		.to = (const void *const *)message_pointers(r, TO),
		.to_bytes = message_bytes(r, TO),
		.from = message_pointers(r, FROM),
		.from_bytes = message_bytes(r, FROM),
	};

	for (int j = 0; j < r->base.comm->size; j++)
		r->base.sent += j == r->base.comm->rank ? 0 : (double)x.to_bytes[j];
	return r->base.comm->exchange(r->base.comm, &x, request, e);
}

static int begin_scatter(struct host_reduce *r, struct bucket_slot *s, size_t bucket, struct err *e)
{
	const enum wire_format w = r->base.wire;
	const struct range own = buckets_piece(&r->base.how.buckets, bucket, r->base.comm->rank);

	for (int j = 0; j < r->base.comm->size; j++) {
		const struct range p = buckets_piece(&r->base.how.buckets, bucket, j);
		const size_t at = (size_t)j * r->piece_bytes;

		message_pointers(r, TO)[j] = s->out ? s->out + at : (void *)(r->x + p.at);
		if (s->out && j != r->base.comm->rank)
			compress_encode(
				w, s->out + at, r->x + p.at,
				r->base.error_feedback ? r->base.error_feedback + p.at : NULL, p.n);
		message_pointers(r, FROM)[j] = s->in + at;
		message_bytes(r, TO)[j] = compress_bytes(w, p.n);
		message_bytes(r, FROM)[j] = compress_bytes(w, own.n);
	}
	return host_exchange_pieces(r, CHANNEL_SCATTER, &s->request, e);
}

/* Own piece of x = its sum over ranks, as the other ranks will decode it. */
static void sum_own(struct host_reduce *r, struct bucket_slot *s, size_t bucket)
{
	const enum wire_format w = r->base.wire;
	const struct range own = buckets_piece(&r->base.how.buckets, bucket, r->base.comm->rank);
	float sum[CHUNK];

	for (size_t at = 0; at < own.n; at += CHUNK) {
		const size_t n = MIN(CHUNK, own.n - at), skip = compress_bytes(w, at);
		float *x = r->x + own.at + at;

		for (int j = 0; j < r->base.comm->size; j++) {
			const bool mine = j == r->base.comm->rank;
			const void *term =
				mine ? (const void *)x : s->in + (size_t)j * r->piece_bytes + skip;

			(j ? compress_add : compress_decode)(mine ? WIRE_FP32 : w, sum, term, n);
		}
		if (r->base.how.shards || !s->sum) {
			memcpy(x, sum, n * sizeof(*x));
			continue;
		}
		compress_encode(
			w, s->sum + skip, sum,
			r->base.error_feedback ? r->base.error_feedback + own.at + at : NULL, n);
		compress_decode(w, x, s->sum + skip, n);
	}
}

static int begin_gather(struct host_reduce *r, struct bucket_slot *s, size_t bucket, struct err *e)
{
	const enum wire_format w = r->base.wire;
	const struct range own = buckets_piece(&r->base.how.buckets, bucket, r->base.comm->rank);

	for (int j = 0; j < r->base.comm->size; j++) {
		const struct range p = buckets_piece(&r->base.how.buckets, bucket, j);

		message_pointers(r, TO)[j] = s->sum ? s->sum : (void *)(r->x + own.at);
		message_pointers(r, FROM)[j] =
			s->sum ? s->in + (size_t)j * r->piece_bytes : (void *)(r->x + p.at);
		message_bytes(r, TO)[j] = compress_bytes(w, own.n);
		message_bytes(r, FROM)[j] = compress_bytes(w, p.n);
	}
	return host_exchange_pieces(r, CHANNEL_GATHER, &s->request, e);
}

static void decode_other_sums(struct host_reduce *r, struct bucket_slot *s, size_t bucket)
{
	for (int j = 0; s->sum && j < r->base.comm->size; j++) {
		const struct range p = buckets_piece(&r->base.how.buckets, bucket, j);

		if (j != r->base.comm->rank)
			compress_decode(r->base.wire, r->x + p.at,
					s->in + (size_t)j * r->piece_bytes, p.n);
	}
}

/* ---- all buckets ------------------------------------------------------- */

static bool exchange_has_ended(struct host_reduce *r, struct bucket_slot *s, struct err *e)
{
	bool done = false;

	if (r->base.comm->test(r->base.comm, s->request, &done, e))
		return false;
	if (done)
		s->request = NULL;
	return done;
}

static void note_busy(struct host_reduce *r, bool was_busy)
{
	const bool is_busy = r->begun > r->ended;

	if (is_busy && !was_busy)
		r->busy_since = clock_mono_s();
	if (!is_busy && was_busy)
		r->base.busy += clock_mono_s() - r->busy_since;
}

/* Move all buckets forward as far as possible without waiting; *progress: at least one moved. */
static int host_reduce_advance(struct host_reduce *r, size_t ready, bool *progress, struct err *e)
{
	const struct buckets *b = &r->base.how.buckets;
	const size_t before = r->begun + r->summed + r->ended;
	const bool was_busy = r->begun > r->ended;

	assert(r->ended <= r->summed && r->summed <= r->begun && r->begun <= b->count);
	assert(r->begun - r->ended <= DEPTH);
	e->code = 0;
	while (r->begun < b->count && r->begun - r->ended < DEPTH &&
	       buckets_at(b, r->begun).at >= ready) {
		if (begin_scatter(r, &r->slots[r->begun % DEPTH], r->begun, e))
			return e->code;
		r->begun++;
	}
	while (r->summed < r->begun) {
		struct bucket_slot *s = &r->slots[r->summed % DEPTH];

		if (!exchange_has_ended(r, s, e))
			break;
		sum_own(r, s, r->summed);
		if (!r->base.how.shards && begin_gather(r, s, r->summed, e))
			return e->code;
		r->summed++;
	}
	while (!e->code && r->ended < r->summed) {
		struct bucket_slot *s = &r->slots[r->ended % DEPTH];

		if (!r->base.how.shards) {
			if (!exchange_has_ended(r, s, e))
				break;
			decode_other_sums(r, s, r->ended);
		}
		r->ended++;
	}
	note_busy(r, was_busy);
	*progress = r->begun + r->summed + r->ended > before;
	return e->code;
}

/* Under the lock: is a bucket under way, or can one begin? */
static bool has_work(const struct host_reduce *r)
{
	const struct buckets *b = &r->base.how.buckets;

	return r->active && !r->trouble.code &&
	       (r->ended < r->begun ||
		(r->begun < b->count && buckets_at(b, r->begun).at >= r->ready));
}

static void *host_reduce_thread(void *arg)
{
	struct host_reduce *r = arg;
	double last = clock_mono_s();

	pthread_mutex_lock(&r->lock);
	while (!r->quit) {
		const size_t ready = r->ready;
		const bool caller_waits = r->caller_waits;
		struct err e = { 0 };
		bool progress = false;

		if (!has_work(r)) {
			pthread_cond_wait(&r->wake, &r->lock);
			continue;
		}
		pthread_mutex_unlock(&r->lock);
		host_reduce_advance(r, ready, &progress, &e);
		if (progress)
			last = clock_mono_s();
		else if (caller_waits)
			comm_pause(clock_mono_s() - last);
		else
			usleep(POLL_US);
		pthread_mutex_lock(&r->lock);
		if (e.code)
			r->trouble = e;
		r->active = r->ended < r->base.how.buckets.count;
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* ---- open and free ------------------------------------------------------ */

static size_t slot_bytes_of(const struct reduce_options *how, enum wire_format w)
{
	const size_t piece = compress_bytes(w, buckets_largest_piece(&how->buckets));

	/* no overflow: the array itself is in memory, and this is a small multiple of a part */
	return piece * (w == WIRE_FP32 ? how->buckets.ranks : 2 * how->buckets.ranks + 1);
}

/* Each format that is used must fit. */
static size_t slot_bytes(const struct reduce_options *how)
{
	return MAX(slot_bytes_of(how, how->wire),
		   how->may_be_exact ? slot_bytes_of(how, WIRE_FP32) : 0);
}

size_t reduce_memory(const struct reduce_options *how)
{
	return DEPTH * slot_bytes(how) +
	       (compress_feeds_back(how->wire) ? how->buckets.floats * sizeof(float) : 0);
}

static int host_reduce_start_thread(struct host_reduce *r, struct err *e)
{
	r->threaded = !proc_start_thread(&r->thread, host_reduce_thread, r, "reduces gradients", e);
	return r->threaded ? 0 : e->code;
}

static void host_set_wire(struct reduce *base, enum wire_format w)
{
	struct host_reduce *r = (struct host_reduce *)base;
	const struct reduce_options *how = &base->how;
	const size_t ranks = how->buckets.ranks, each = slot_bytes(how);

	assert(!r->active);
	base->wire = w;
	r->piece_bytes = compress_bytes(w, buckets_largest_piece(&how->buckets));
	for (size_t i = 0; i < DEPTH; i++) {
		struct bucket_slot *s = &r->slots[i];

		s->in = r->memory + i * each;
		s->out = w == WIRE_FP32 ? NULL : s->in + ranks * r->piece_bytes;
		s->sum = w == WIRE_FP32 ? NULL : s->out + ranks * r->piece_bytes;
	}
}

static int host_reduce_alloc(struct host_reduce *r, struct err *e)
{
	const struct reduce_options *how = &r->base.how;
	const size_t ranks = how->buckets.ranks, each = slot_bytes(how);
	const bool feeds_back = compress_feeds_back(how->wire);

	r->message_pointers = mem_alloc(2 * ranks, sizeof(*r->message_pointers), e);
	r->message_bytes = mem_alloc(2 * ranks, sizeof(*r->message_bytes), e);
	r->memory = mem_alloc_aligned(DEPTH, each, e);
	if (feeds_back)
		r->base.error_feedback = mem_alloc_aligned(how->buckets.floats, sizeof(float), e);
	if (!r->message_pointers || !r->message_bytes || !r->memory ||
	    (feeds_back && !r->base.error_feedback))
		return e->code;
	host_set_wire(&r->base, how->wire);
	return 0;
}

static void host_free(struct reduce *base)
{
	struct host_reduce *r = (struct host_reduce *)base;

	if (r->threaded) {
		pthread_mutex_lock(&r->lock);
		r->quit = true;
		pthread_cond_signal(&r->wake);
		pthread_mutex_unlock(&r->lock);
		pthread_join(r->thread, NULL);
	}
	pthread_cond_destroy(&r->wake);
	pthread_mutex_destroy(&r->lock);
	free(r->message_pointers);
	free(r->message_bytes);
	free(r->memory);
	free(r->base.error_feedback);
	free(r);
}

static struct reduce *host_open(struct comm *comm, const struct reduce_options *how, struct err *e)
{
	struct host_reduce *r = mem_alloc(1, sizeof(*r), e);

	if (!r)
		return NULL;
	r->base = (struct reduce){ .kind = &reduce_on_host, .comm = comm, .how = *how };
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->wake, NULL);
	if (host_reduce_alloc(r, e) ||
	    (how->thread && comm->threads && host_reduce_start_thread(r, e))) {
		host_free(&r->base);
		return NULL;
	}
	return &r->base;
}

/* ---- the caller's side ------------------------------------------------- */

static void host_begin(struct reduce *base, float *x)
{
	struct host_reduce *r = (struct host_reduce *)base;

	pthread_mutex_lock(&r->lock);
	assert(!r->active || r->trouble.code);
	r->x = x;
	r->begun = r->summed = r->ended = 0;
	r->ready = base->how.buckets.floats;
	r->active = true;
	r->caller_waits = false;
	r->trouble.code = 0;
	pthread_mutex_unlock(&r->lock);
}

static void host_ready(struct reduce *base, size_t from)
{
	struct host_reduce *r = (struct host_reduce *)base;
	bool progress;

	pthread_mutex_lock(&r->lock);
	r->ready = MIN(r->ready, from);
	if (r->threaded)
		pthread_cond_signal(&r->wake);
	else if (!r->trouble.code)
		host_reduce_advance(r, r->ready, &progress, &r->trouble);
	pthread_mutex_unlock(&r->lock);
}

static int host_poll(struct reduce *base, bool *done, struct err *e)
{
	struct host_reduce *r = (struct host_reduce *)base;
	bool progress;
	int rc;

	pthread_mutex_lock(&r->lock);
	r->caller_waits = true;
	if (!r->threaded && !r->trouble.code) {
		host_reduce_advance(r, r->ready, &progress, &r->trouble);
		r->active = r->ended < base->how.buckets.count;
	}
	*done = !r->active;
	rc = r->trouble.code;
	if (rc)
		*e = r->trouble;
	pthread_mutex_unlock(&r->lock);
	return rc;
}

static int host_all_gather(struct reduce *base, float *x, struct err *e)
{
	struct host_reduce *r = (struct host_reduce *)base;
	const struct buckets *b = &base->how.buckets;
	struct comm_request *requests[DEPTH] = { NULL };

	assert(!r->active);
	for (size_t i = 0; i < b->count + DEPTH; i++) {
		if (i >= DEPTH && i - DEPTH < b->count &&
		    comm_wait(base->comm, requests[i % DEPTH], e))
			return e->code;
		if (i >= b->count)
			continue;
		for (int j = 0; j < base->comm->size; j++) {
			const struct range own = buckets_piece(b, i, base->comm->rank),
					   p = buckets_piece(b, i, j);

			message_pointers(r, TO)[j] = x + own.at;
			message_pointers(r, FROM)[j] = x + p.at;
			message_bytes(r, TO)[j] = own.n * sizeof(*x);
			message_bytes(r, FROM)[j] = p.n * sizeof(*x);
		}
		if (host_exchange_pieces(r, CHANNEL_GATHER, &requests[i % DEPTH], e))
			return e->code;
	}
	return 0;
}

const struct reduce_kind reduce_on_host = {
	.open = host_open,
	.free = host_free,
	.set_wire = host_set_wire,
	.begin = host_begin,
	.ready = host_ready,
	.poll = host_poll,
	.all_gather = host_all_gather,
};
