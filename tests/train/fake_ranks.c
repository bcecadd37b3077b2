/*
 * fake_ranks.c - see fake_ranks.h
 *
 * Of a matching send and receive, the later call copies the bytes. A collective exchanges the data
 * of all ranks on a channel of its own; the reduction is computed when it is tested.
 */
#include "tests/train/fake_ranks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

#define MAX_RANKS   8
#define COLLECTIVES COMM_CHANNELS /* one more channel */

struct message {
	struct message *next;
	struct comm_request *request;
	void *bytes;
	size_t n;
};

struct world {
	pthread_mutex_t lock;
	/* sends or receives that wait for their counterpart, by from, to and channel */
	struct message *sends[MAX_RANKS][MAX_RANKS][COMM_CHANNELS + 1];
	struct message *receives[MAX_RANKS][MAX_RANKS][COMM_CHANNELS + 1];
};

enum fold { FOLD_NONE, FOLD_SUM_FLOATS, FOLD_SUM_DOUBLES, FOLD_MAX_INTS, FOLD_GATHER };

struct comm_request {
	int open; /* messages without a counterpart so far */
	enum fold fold;
	void *x;   /* result */
	char *all; /* owned: the contributions of all ranks */
	size_t n;  /* bytes of each */
};

static struct world *world(struct comm *c)
{
	return c->state;
}

static void append(struct message **list, struct comm_request *r, void *bytes, size_t n)
{
	struct message *m = calloc(1, sizeof(*m));

	if (!m)
		abort();
	*m = (struct message){ NULL, r, bytes, n };
	r->open++;
	while (*list)
		list = &(*list)->next;
	*list = m;
}

static void match(struct message **sends, struct message **receives)
{
	while (*sends && *receives) {
		struct message *s = *sends, *r = *receives;

		check_int(s->n, r->n);
		memcpy(r->bytes, s->bytes, s->n < r->n ? s->n : r->n);
		s->request->open--;
		r->request->open--;
		*sends = s->next;
		*receives = r->next;
		free(s);
		free(r);
	}
}

static int fake_exchange(struct comm *c, const struct comm_exchange *x, struct comm_request **r,
			 struct err *e)
{
	struct world *w = world(c);
	const int k = x->channel, me = c->rank;

	(void)e;
	*r = calloc(1, sizeof(**r));
	if (!*r)
		abort();
	pthread_mutex_lock(&w->lock);
	for (int i = 0; i < c->size; i++) {
		if (i == me)
			continue;
		if (x->to_bytes[i])
			append(&w->sends[me][i][k], *r, (void *)(uintptr_t)x->to[i],
			       x->to_bytes[i]);
		if (x->from_bytes[i])
			append(&w->receives[i][me][k], *r, x->from[i], x->from_bytes[i]);
		match(&w->sends[me][i][k], &w->receives[me][i][k]);
		match(&w->sends[i][me][k], &w->receives[i][me][k]);
	}
	pthread_mutex_unlock(&w->lock);
	return 0;
}

static void fold(struct comm *c, struct comm_request *r)
{
	for (int i = 0; i < c->size && r->fold != FOLD_GATHER; i++) {
		const char *from = r->all + (size_t)i * r->n;

		for (size_t k = 0; r->fold == FOLD_SUM_FLOATS && k < r->n / sizeof(float); k++)
			((float *)r->x)[k] =
				((const float *)from)[k] + (i ? ((float *)r->x)[k] : 0);
		for (size_t k = 0; r->fold == FOLD_SUM_DOUBLES && k < r->n / sizeof(double); k++)
			((double *)r->x)[k] =
				((const double *)from)[k] + (i ? ((double *)r->x)[k] : 0);
		for (size_t k = 0; r->fold == FOLD_MAX_INTS && k < r->n / sizeof(int64_t); k++) {
			int64_t *x = (int64_t *)r->x + k, y = ((const int64_t *)from)[k];

			*x = i == 0 || y > *x ? y : *x;
		}
	}
	if (r->fold == FOLD_GATHER && r->x)
		memcpy(r->x, r->all, (size_t)c->size * r->n);
}

static int fake_test(struct comm *c, struct comm_request *r, bool *done, struct err *e)
{
	(void)e;
	pthread_mutex_lock(&world(c)->lock);
	*done = !r || r->open == 0;
	pthread_mutex_unlock(&world(c)->lock);
	if (r && *done) {
		if (r->fold)
			fold(c, r);
		free(r->all);
		free(r);
	}
	return 0;
}

/* Start an exchange in which every rank gets the contributions of all ranks. */
static struct comm_request *begin(struct comm *c, enum fold how, const void *mine, size_t n,
				  void *x)
{
	struct comm_request *r;
	const void *to[MAX_RANKS];
	void *from[MAX_RANKS];
	size_t bytes[MAX_RANKS];
	char *all = calloc((size_t)c->size + 1, n + 1);
	struct comm_exchange exchange = { COLLECTIVES, to, bytes, from, bytes };
	struct err e;

	if (!all)
		abort();
	memcpy(all + (size_t)c->rank * n, mine, n);
	for (int i = 0; i < c->size; i++) {
		to[i] = all + (size_t)c->rank * n; /* not x, which gets the result */
		from[i] = all + (size_t)i * n;
		bytes[i] = n;
	}
	fake_exchange(c, &exchange, &r, &e);
	r->fold = how;
	r->x = x;
	r->all = all;
	r->n = n;
	return r;
}

static int fake_sum_floats(struct comm *c, float *x, size_t n, struct err *e)
{
	return comm_wait(c, begin(c, FOLD_SUM_FLOATS, x, n * sizeof(*x), x), e);
}

static int fake_sum_doubles(struct comm *c, double *x, size_t n, struct err *e)
{
	return comm_wait(c, begin(c, FOLD_SUM_DOUBLES, x, n * sizeof(*x), x), e);
}

static int fake_max_ints(struct comm *c, int64_t *x, size_t n, struct err *e)
{
	return comm_wait(c, begin(c, FOLD_MAX_INTS, x, n * sizeof(*x), x), e);
}

static int fake_begin_sum(struct comm *c, double *x, size_t n, struct comm_request **r,
			  struct err *e)
{
	(void)e;
	*r = begin(c, FOLD_SUM_DOUBLES, x, n * sizeof(*x), x);
	return 0;
}

static int fake_gather(struct comm *c, const void *mine, size_t n, void *all, struct err *e)
{
	return comm_wait(c, begin(c, FOLD_GATHER, mine, n, c->rank == 0 ? all : NULL), e);
}

static int fake_barrier(struct comm *c, struct err *e)
{
	return comm_wait(c, begin(c, FOLD_GATHER, "", 1, NULL), e);
}

static int fake_broadcast(struct comm *c, void *bytes, size_t n, int root, struct err *e)
{
	const void *to[MAX_RANKS];
	void *from[MAX_RANKS];
	size_t sent[MAX_RANKS], received[MAX_RANKS];
	struct comm_exchange x = { COLLECTIVES, to, sent, from, received };
	struct comm_request *r;

	for (int i = 0; i < c->size; i++) {
		to[i] = from[i] = bytes;
		sent[i] = c->rank == root ? n : 0;
		received[i] = i == root ? n : 0;
	}
	fake_exchange(c, &x, &r, e);
	return comm_wait(c, r, e);
}

static void fake_abort(struct comm *c, int status)
{
	test_fail(__FILE__, __LINE__, "rank %d aborts with %d", c->rank, status);
}

static int fake_check(struct comm *c, struct err *e)
{
	(void)c, (void)e;
	return 0;
}

static void fake_close(struct comm *c)
{
	(void)c;
}

/* ---- threads ----------------------------------------------------------- */

struct rank {
	struct comm comm;
	void (*body)(struct comm *c, void *arg);
	void *arg;
	pthread_t thread;
};

static void *run(void *arg)
{
	struct rank *r = arg;

	r->body(&r->comm, r->arg);
	return NULL;
}

void fake_ranks(int n, void (*body)(struct comm *c, void *arg), void *arg)
{
	struct world w = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct rank ranks[MAX_RANKS];

	for (int i = 0; i < n && i < MAX_RANKS; i++) {
		ranks[i] = (struct rank){
			.comm = { .name = "fake",
				  .rank = i,
				  .size = n,
				  .local_rank = i,
				  .local_size = n,
				  .threads = true,
				  .state = &w,
				  .sum_floats = fake_sum_floats,
				  .sum_doubles = fake_sum_doubles,
				  .max_ints = fake_max_ints,
				  .broadcast = fake_broadcast,
				  .gather = fake_gather,
				  .barrier = fake_barrier,
				  .begin_sum = fake_begin_sum,
				  .exchange = fake_exchange,
				  .test = fake_test,
				  .check = fake_check,
				  .abort = fake_abort,
				  .close = fake_close },
			.body = body,
			.arg = arg,
		};
		if (pthread_create(&ranks[i].thread, NULL, run, &ranks[i]))
			abort();
	}
	for (int i = 0; i < n && i < MAX_RANKS; i++)
		pthread_join(ranks[i].thread, NULL);
}
