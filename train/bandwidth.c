/* bandwidth.c - measures the communication between the ranks of a job; see bandwidth.h */
#include "train/bandwidth.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "train/comm/reduce.h"
#include "train/common/network.h"

#define SMALLEST   ((int64_t)1 << 10)
#define LARGEST	   ((int64_t)1 << 26) /* bytes */
#define LONG_ROUND 2.0 /* seconds of an all-reduce; after a longer one no larger one is tried */
#define MEASURE_S  0.4 /* seconds for one number */
#define MAX_ROUNDS 200
#define BUCKET_MB  4.0 /* the default of --bucket-mb */
#define SMALLEST_WIRE                                                                              \
	((int64_t)1 << 16) /* bytes of fp32 from which all wire formats are measured */
#define LARGEST_WIRE  ((int64_t)1 << 24)
#define PAUSE_S	      20e-3 /* before each of these reductions, like the computing of a step */
#define QUICK_S	      0.5   /* reductions below this time are repeated, for a median */
#define QUICK_ROUNDS  5
#define BESIDE_BYTES  ((int64_t)1 << 22) /* of a reduction during computing; upper limit */
#define BESIDE_LONGER 3.0		 /* time of the computing / time of the reduction alone */
#define BESIDE_S      1.0		 /* seconds for one wire format; at least one round */
#define BESIDE_ROUNDS 9
#define MAX_THREADS   256
#define SENDS	      3 /* messages of a size, of which the quickest counts */
#define FIRST_SEND    ((int64_t)1 << 16)
#define PINGS	      40
#define ALL_PAIRS     8 /* ranks up to which all pairs are measured */
#define NAME_BYTES    64

struct measuring {
	struct comm *c;
	float *data;	 /* owned: LARGEST bytes */
	const void **to; /* (size) owned, like the next three: arguments of exchanges */
	void **from;
	size_t *to_bytes, *from_bytes;
	int64_t beside_bytes; /* of the reduction during computing */
	struct json_writer w; /* only on the first rank */
};

static bool bandwidth_is_first(const struct measuring *m)
{
	return m->c->rank == 0;
}

/* ---- all-reduce ------------------------------------------------------------- */

static int bandwidth_cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double bandwidth_median(double *x, int n)
{
	qsort(x, (size_t)n, sizeof(*x), bandwidth_cmp_double);
	return x[n / 2];
}

/* A barrier, so that all ranks begin together. */
static int sync_ranks(struct measuring *m, struct err *e)
{
	double nothing = 0;

	return m->c->sum_doubles(m->c, &nothing, 1, e);
}

/* Seconds of an all-reduce: the median of rounds <= MAX_ROUNDS, with a pause before each. */
static int reduce_rounds(struct measuring *m, struct reduce *r, int rounds, double pause_s,
			 double *seconds, struct err *e)
{
	double all[MAX_ROUNDS];
	int rc = 0;

	assert(rounds >= 1 && rounds <= MAX_ROUNDS);
	for (int i = 0; !rc && i < rounds; i++) {
		double began;

		usleep((useconds_t)(pause_s * 1e6));
		rc = sync_ranks(m, e);
		began = clock_mono_s();
		if (!rc)
			rc = reduce_all(r, m->data, e);
		all[i] = clock_mono_s() - began;
	}
	if (!rc)
		*seconds = bandwidth_median(all, rounds);
	return rc;
}

/* A reduction as a training opens it for its gradients; NULL: failure. */
static struct reduce *open_reduce(struct measuring *m, int64_t bytes, enum wire_format wire,
				  bool thread, struct err *e)
{
	const struct reduce_options how = {
		.buckets = buckets_make((size_t)bytes / sizeof(float), BUCKET_MB, m->c->size),
		.wire = wire,
		.thread = thread,
	};

	return reduce_open(m->c, &how, e);
}

static int measure_reduce(struct measuring *m, int64_t bytes, enum wire_format wire,
			  double *seconds, struct err *e)
{
	const double pause_s = bytes < SMALLEST_WIRE ? 0 : PAUSE_S;
	struct reduce *r = open_reduce(m, bytes, wire, false, e);
	int32_t rounds;
	int rc = r ? reduce_rounds(m, r, 1, 0, seconds, e)
		   : e->code; /* the first round opens connections and does not count */

	if (!rc)
		rc = reduce_rounds(m, r, 1, pause_s, seconds, e);
	rounds = (int32_t)MIN(MAX_ROUNDS, MAX(*seconds < QUICK_S ? QUICK_ROUNDS : 1,
					      MEASURE_S / MAX(*seconds + pause_s, 1e-7)));
	if (!rc)
		rc = m->c->broadcast(m->c, &rounds, sizeof(rounds), 0, e);
	if (!rc && rounds > 1)
		rc = reduce_rounds(m, r, rounds, pause_s, seconds, e);
	reduce_free(r);
	return rc ? rc : m->c->broadcast(m->c, seconds, sizeof(*seconds), 0, e);
}

/* The other wire formats, at sizes that gradients have. */
static int measure_wires(struct measuring *m, int64_t bytes, struct err *e)
{
	int rc = 0;

	for (enum wire_format w = WIRE_BF16; !rc && w < WIRE_FORMATS; w++) {
		double seconds = 0;
		char key[16];

		rc = measure_reduce(m, bytes, w, &seconds, e);
		snprintf(key, sizeof(key), "%s_s", compress_name(w));
		if (!rc && bandwidth_is_first(m))
			json_put_real(&m->w, key, seconds);
	}
	return rc;
}

static int measure_reduces(struct measuring *m, struct err *e)
{
	double seconds = 0;
	int rc = 0;

	for (int64_t bytes = SMALLEST; !rc && bytes <= LARGEST && seconds < LONG_ROUND;
	     bytes *= 4) {
		rc = measure_reduce(m, bytes, WIRE_FP32, &seconds, e);
		if (!rc && bandwidth_is_first(m)) {
			json_open(&m->w, '{');
			json_put_int(&m->w, "bytes", bytes);
			json_put_real(&m->w, "seconds", seconds);
			json_put_real(&m->w, "algbw_bytes_s", (double)bytes / seconds);
			json_put_real(&m->w, "busbw_bytes_s",
				      network_busbw((double)bytes, m->c->size, seconds));
		}
		if (!rc && bytes >= SMALLEST_WIRE && bytes <= LARGEST_WIRE)
			rc = measure_wires(m, bytes, e);
		if (bytes <= BESIDE_BYTES && seconds < QUICK_S)
			m->beside_bytes = bytes;
		if (!rc && bandwidth_is_first(m))
			json_close(&m->w, '}');
	}
	return rc;
}

/* ---- during computing ----------------------------------------------------------- */

/* A computation on each thread. */
struct work {
	int64_t rounds;
};

static void *busy_thread(void *arg)
{
	const struct work *w = arg;
	volatile double x = 1;

	for (int64_t i = 0; i < w->rounds; i++)
		x = sqrt(x + 1);
	return NULL;
}

/* This rank's share of the host's processors. */
static int count_own_processors(const struct measuring *m)
{
	return MIN(m->c->cores, MAX_THREADS);
}

/* Seconds that n threads need for the work, each for all rounds. */
static double compute_all(struct work *w, int n)
{
	pthread_t threads[MAX_THREADS];
	double began = clock_mono_s();
	int started = 0;

	while (started < n - 1 && !pthread_create(&threads[started], NULL, busy_thread, w))
		started++;
	busy_thread(w);
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	return clock_mono_s() - began;
}

/* Work that takes n threads about `seconds`. */
static struct work work_of(double seconds, int n)
{
	struct work w = { 1 << 14 };
	double took;

	while ((took = compute_all(&w, n)) < 0.005)
		w.rounds *= 2;
	w.rounds = (int64_t)((double)w.rounds * seconds / took) + 1;
	return w;
}

/*
 * Compute alone, then during a reduction by its own thread. numbers: the delay of the computation,
 * the time of the reduction.
 */
static int beside_round(struct measuring *m, struct reduce *r, struct work *w, double numbers[2],
			struct err *e)
{
	const int n = count_own_processors(m);
	bool done = false;
	double alone;
	int rc = sync_ranks(m, e);

	if (rc)
		return rc;
	alone = compute_all(w, n);
	rc = sync_ranks(m, e);
	if (rc)
		return rc;
	(void)reduce_collect(r);
	reduce_begin(r, m->data);
	reduce_ready(r, 0);
	numbers[0] = MAX(compute_all(w, n) - alone, 0);
	while (!rc && !done) {
		rc = reduce_poll(r, &done, e);
		comm_pause(1e-3);
	}
	numbers[1] = reduce_collect(r).busy_s;
	return rc;
}

static int beside_rounds(struct measuring *m, struct reduce *r, double alone, double numbers[2],
			 struct err *e)
{
	struct work w = work_of(BESIDE_LONGER * alone, count_own_processors(m));
	const int rounds = (int)MIN(BESIDE_ROUNDS, MAX(1, BESIDE_S / (2 * BESIDE_LONGER * alone)));
	double lost[BESIDE_ROUNDS], busy[BESIDE_ROUNDS];
	int rc = 0;

	for (int i = 0; !rc && i < rounds; i++) {
		rc = beside_round(m, r, &w, numbers, e);
		lost[i] = numbers[0];
		busy[i] = numbers[1];
	}
	if (!rc) {
		numbers[0] = bandwidth_median(lost, rounds);
		numbers[1] = bandwidth_median(busy, rounds);
	}
	return rc;
}

static int measure_beside(struct measuring *m, struct err *e)
{
	int rc = 0;

	for (enum wire_format w = WIRE_FP32; !rc && m->c->threads && w < WIRE_FORMATS; w++) {
		struct reduce *r;
		double alone = 0, numbers[2] = { 0 };

		rc = measure_reduce(m, m->beside_bytes, w, &alone, e);
		r = rc ? NULL : open_reduce(m, m->beside_bytes, w, true, e);
		if (!rc)
			rc = r ? beside_rounds(m, r, alone, numbers, e) : e->code;
		reduce_free(r);
		if (rc || !bandwidth_is_first(m))
			continue;
		json_open(&m->w, '{');
		json_put_str(&m->w, "wire", compress_name(w));
		json_put_int(&m->w, "bytes", m->beside_bytes);
		json_put_real(&m->w, "seconds", numbers[1]);
		json_put_real(&m->w, "lost_s", numbers[0]);
		json_close(&m->w, '}');
	}
	return rc;
}

/* ---- pairs --------------------------------------------------------------------- */

/* One message to the other rank (from NULL), or from the other rank (to NULL). */
static int exchange_pair_message(struct measuring *m, int other, const void *to, void *from,
				 size_t bytes, struct err *e)
{
	const struct comm_exchange x = { .channel = 0,
					 .to = m->to,
					 .to_bytes = m->to_bytes,
					 .from = m->from,
					 .from_bytes = m->from_bytes };
	struct comm_request *r = NULL;
	bool done = false;
	int rc;

	m->to[other] = to;
	m->to_bytes[other] = to ? bytes : 0;
	m->from[other] = from;
	m->from_bytes[other] = from ? bytes : 0;
	rc = m->c->exchange(m->c, &x, &r, e);
	while (!rc && !done)
		rc = m->c->test(m->c, r, &done, e);
	m->to_bytes[other] = m->from_bytes[other] = 0;
	return rc;
}

/* Send the length of a message (0: the end of all), the message, and wait for the answer. */
static int send_one(struct measuring *m, int other, int64_t bytes, double *seconds, struct err *e)
{
	double began = clock_mono_s();
	int64_t echo;
	int rc = exchange_pair_message(m, other, &bytes, NULL, sizeof(bytes), e);

	if (!rc && bytes > (int64_t)sizeof(bytes))
		rc = exchange_pair_message(m, other, m->data, NULL, (size_t)bytes, e);
	if (!rc && bytes)
		rc = exchange_pair_message(m, other, NULL, &echo, sizeof(echo), e);
	*seconds = clock_mono_s() - began;
	return rc;
}

static int answer_pair_messages(struct measuring *m, int other, struct err *e)
{
	int64_t bytes = 1;
	int rc = 0;

	while (!rc && bytes) {
		rc = exchange_pair_message(m, other, NULL, &bytes, sizeof(bytes), e);
		if (!rc && (bytes < 0 || bytes > LARGEST))
			rc = err_set(e, ERR_INTERNAL,
				     "rank %d announces a message of %lld bytes: the limit is %lld",
				     other, (long long)bytes, (long long)LARGEST);
		if (!rc && bytes > (int64_t)sizeof(bytes))
			rc = exchange_pair_message(m, other, NULL, m->data, (size_t)bytes, e);
		if (!rc && bytes)
			rc = exchange_pair_message(m, other, &bytes, NULL, sizeof(bytes), e);
	}
	return rc;
}

/* numbers: latency from the quickest round trip, speed from the longest message. */
static int measure_from_here(struct measuring *m, int other, double numbers[2], struct err *e)
{
	double seconds = 0, quickest = 1e9;
	int rc = 0;

	for (int i = 0; !rc && i < PINGS; i++) {
		rc = send_one(m, other, sizeof(int64_t), &seconds, e);
		quickest = MIN(quickest, seconds);
	}
	seconds = 0;
	for (int64_t bytes = FIRST_SEND; !rc && bytes <= LARGEST && seconds < MEASURE_S;
	     bytes *= 4) {
		/* several tries: a lost packet costs 0.2 s, which is not the speed of the link */
		seconds = INFINITY;
		for (int i = 0; !rc && i < SENDS && (i == 0 || seconds < MEASURE_S); i++) {
			double once;

			rc = send_one(m, other, bytes, &once, e);
			seconds = MIN(seconds, once);
		}
		/* without the latency, which does not depend on the length */
		numbers[1] = (double)bytes / MAX(seconds - quickest, seconds / 10);
	}
	numbers[0] = quickest / 2;
	return rc ? rc : send_one(m, other, 0, &seconds, e);
}

static int measure_rank_pair(struct measuring *m, int from, int to, struct err *e)
{
	double numbers[2] = { 0, 0 };
	int rc = m->c->barrier(m->c, e); /* other ranks sleep in the next barrier meanwhile */

	if (!rc && m->c->rank == from)
		rc = measure_from_here(m, to, numbers, e);
	if (!rc && m->c->rank == to)
		rc = answer_pair_messages(m, from, e);
	if (!rc)
		rc = m->c->barrier(m->c, e);
	if (!rc)
		rc = m->c->broadcast(m->c, numbers, sizeof(numbers), from, e);
	if (rc || !bandwidth_is_first(m))
		return rc;
	json_open(&m->w, '{');
	json_put_int(&m->w, "from", from);
	json_put_int(&m->w, "to", to);
	json_put_real(&m->w, "latency_s", numbers[0]);
	json_put_real(&m->w, "bytes_s", numbers[1]);
	json_close(&m->w, '}');
	return 0;
}

static int measure_pairs(struct measuring *m, struct err *e)
{
	int n = m->c->size, rc = 0;

	for (int i = 0; !rc && i < n; i++)
		for (int k = 1; !rc && k < (n <= ALL_PAIRS ? n : 2); k++)
			rc = measure_rank_pair(m, i, (i + k) % n, e);
	return rc;
}

/* ---- all measurements -------------------------------------------------------------- */

static int put_names(struct measuring *m, struct err *e)
{
	char name[NAME_BYTES] = "";
	char *names = mem_alloc((size_t)m->c->size, NAME_BYTES, e);
	int rc = names ? 0 : e->code;

	if (gethostname(name, sizeof(name) - 1))
		name[0] = 0;
	if (!rc)
		rc = m->c->gather(m->c, name, sizeof(name), bandwidth_is_first(m) ? names : NULL,
				  e);
	for (int i = 0; !rc && bandwidth_is_first(m) && i < m->c->size; i++) {
		names[i * NAME_BYTES + NAME_BYTES - 1] = 0;
		json_str(&m->w, names + (ptrdiff_t)i * NAME_BYTES);
	}
	free(names);
	return rc;
}

static int bandwidth_run_parts(struct measuring *m, struct err *e)
{
	static const struct {
		const char *name;
		int (*measure)(struct measuring *m, struct err *e);
	} parts[] = {
		{ "hosts", put_names },
		{ "allreduce", measure_reduces },
		{ "beside", measure_beside },
		{ "pairs", measure_pairs },
	};
	int rc = 0;

	for (size_t i = 0; !rc && i < ARRAY_LEN(parts); i++) {
		if (bandwidth_is_first(m))
			json_put_open(&m->w, parts[i].name, '[');
		rc = parts[i].measure(m, e);
		if (bandwidth_is_first(m))
			json_close(&m->w, ']');
	}
	return rc;
}

int bandwidth_measure(struct comm *c, struct buf *out, struct err *e)
{
	struct measuring m = { .c = c, .beside_bytes = SMALLEST, .w = { .out = out } };
	size_t n = (size_t)c->size;
	int rc;

	if (n < 2)
		return err_set(e, ERR_USAGE,
			       "a measurement of the network needs at least two ranks: start it "
			       "with werkbank hosts bandwidth");
	m.data = mem_alloc_aligned((size_t)LARGEST, 1, e);
	m.to = mem_alloc(n, sizeof(*m.to), e);
	m.from = mem_alloc(n, sizeof(*m.from), e);
	m.to_bytes = mem_alloc(n, sizeof(*m.to_bytes), e);
	m.from_bytes = mem_alloc(n, sizeof(*m.from_bytes), e);
	rc = m.data && m.to && m.from && m.to_bytes && m.from_bytes ? 0 : e->code;
	if (bandwidth_is_first(&m))
		json_open(&m.w, '{');
	if (!rc)
		rc = bandwidth_run_parts(&m, e);
	if (bandwidth_is_first(&m))
		json_close(&m.w, '}');
	free(m.data);
	free(m.to);
	free(m.from);
	free(m.to_bytes);
	free(m.from_bytes);
	return rc ? rc : buf_check(out, e);
}
