/* ranks.c - a communicator between processes in shared memory; see ranks.h */
#include "tests/cudasim/ranks.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "share/base/mem.h"
#include "tests/test.h"

#define MAX_RANKS   4 /* ranks */
#define ENTRIES	    8 /* concurrent collectives */
#define ENTRY_BYTES ((size_t)64 << 10)
#define LIMIT_S	    120

/* One collective: arrivals and departures of ranks (counters only grow), input of each rank. */
struct entry {
	atomic_long come, gone;
	char data[MAX_RANKS][ENTRY_BYTES];
};

struct shared_area {
	struct entry entries[ENTRIES];
};

/* The communicator of one rank. */
struct rank_state {
	struct shared_area *world;
	long begun; /* number of collectives */
};

struct comm_request {
	struct entry *entry;
	long want;    /* value of `come` when all ranks have arrived */
	double *sums; /* NULL: the waiting rank reads entry->data itself */
	size_t n;
};

void *ranks_memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* ---- one collective ------------------------------------------------------- */

static int begin(struct comm *c, const void *mine, size_t n, struct comm_request **r, struct err *e)
{
	struct rank_state *s = c->state;
	struct entry *entry = &s->world->entries[s->begun % ENTRIES];
	const long turn = s->begun++ / ENTRIES;

	while (atomic_load(&entry->gone) < turn * c->size) {
		if ((c->check)(c, e))
			return e->code;
		comm_pause(0.001);
	}
	*r = mem_alloc(1, sizeof(**r), e);
	if (!*r)
		return e->code;
	**r = (struct comm_request){ .entry = entry, .want = (turn + 1) * c->size };
	memcpy(entry->data[c->rank], mine, n);
	atomic_fetch_add(&entry->come, 1);
	return 0;
}

static int test(struct comm *c, struct comm_request *r, bool *done, struct err *e)
{
	(void)e;
	*done = !r || atomic_load(&r->entry->come) >= r->want;
	if (!r || !*done)
		return 0;
	for (size_t i = 0; r->sums && i < r->n; i++) {
		r->sums[i] = 0;
		for (int k = 0; k < c->size; k++)
			r->sums[i] += ((double *)(void *)r->entry->data[k])[i];
	}
	if (r->sums) {
		atomic_fetch_add(&r->entry->gone, 1);
		free(r);
	}
	return 0;
}

typedef void take(void *x, char (*all)[ENTRY_BYTES], size_t n, int size, int which);

static int collect(struct comm *c, void *x, size_t n, size_t size, take *how, int which,
		   struct err *e)
{
	const size_t most = ENTRY_BYTES / size;
	struct comm_request *r;

	for (size_t at = 0; at < n; at += most) {
		const size_t some = MIN(most, n - at);
		char *here = (char *)x + at * size;

		if (begin(c, here, some * size, &r, e) || comm_wait(c, r, e))
			return e->code;
		how(here, r->entry->data, some, c->size, which);
		atomic_fetch_add(&r->entry->gone, 1);
		free(r);
	}
	return 0;
}

static void take_sum(void *x, char (*all)[ENTRY_BYTES], size_t n, int size, int which)
{
	double *to = x;

	(void)which;
	for (size_t i = 0; i < n; i++) {
		to[i] = 0;
		for (int k = 0; k < size; k++)
			to[i] += ((double *)(void *)all[k])[i];
	}
}

static void take_most(void *x, char (*all)[ENTRY_BYTES], size_t n, int size, int which)
{
	int64_t *to = x;

	(void)which;
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < size; k++)
			to[i] = MAX(to[i], ((int64_t *)(void *)all[k])[i]);
}

static void take_one(void *x, char (*all)[ENTRY_BYTES], size_t n, int size, int which)
{
	(void)size;
	memcpy(x, all[which], n);
}

static int sum_doubles(struct comm *c, double *x, size_t n, struct err *e)
{
	return collect(c, x, n, sizeof(*x), take_sum, 0, e);
}

static int max_ints(struct comm *c, int64_t *x, size_t n, struct err *e)
{
	return collect(c, x, n, sizeof(*x), take_most, 0, e);
}

static int broadcast(struct comm *c, void *x, size_t n, int root, struct err *e)
{
	return collect(c, x, n, 1, take_one, root, e);
}

static int barrier(struct comm *c, struct err *e)
{
	char nothing = 0;

	return broadcast(c, &nothing, 1, 0, e);
}

static int begin_sum(struct comm *c, double *x, size_t n, struct comm_request **r, struct err *e)
{
	if (begin(c, x, n * sizeof(*x), r, e))
		return e->code;
	(*r)->sums = x;
	(*r)->n = n;
	return 0;
}

static int check_nothing(struct comm *c, struct err *e)
{
	(void)c, (void)e;
	return 0;
}

static void end_process(struct comm *c, int status)
{
	(void)c;
	_exit(status);
}

static void close_nothing(struct comm *c)
{
	(void)c;
}

/* ---- ranks ------------------------------------------------------------------ */

static void be_rank(struct shared_area *w, int rank, int n, int on_host,
		    void (*body)(struct comm *c, void *arg), void *arg)
{
	struct rank_state side = { .world = w };
	struct comm c = {
		.name = "processes",
		.rank = rank,
		.size = n,
		.local_rank = rank % on_host,
		.local_size = MIN(on_host, n),
		.state = &side,
		.sum_doubles = sum_doubles,
		.max_ints = max_ints,
		.broadcast = broadcast,
		.barrier = barrier,
		.begin_sum = begin_sum,
		.test = test,
		.check = check_nothing,
		.abort = end_process,
		.close = close_nothing,
	};
	const int before = test_failures();

	alarm(LIMIT_S);
	body(&c, arg);
	c.close(&c);
	_exit(test_failures() > before);
}

int ranks_run(int n, int on_host, void (*body)(struct comm *c, void *arg), void *arg, int *status)
{
	struct shared_area *w = ranks_memory(sizeof(*w));
	pid_t pids[MAX_RANKS];
	int bad = 0;

	for (int i = 0; w && i < n && i < MAX_RANKS; i++) {
		pids[i] = fork();
		if (!pids[i])
			be_rank(w, i, n, on_host, body, arg);
	}
	for (int i = 0; w && i < n && i < MAX_RANKS; i++) {
		int how = -1;

		if (pids[i] > 0)
			waitpid(pids[i], &how, 0);
		bad += how != 0;
		if (status)
			status[i] = WIFEXITED(how) ? WEXITSTATUS(how) : -1;
	}
	if (w)
		munmap(w, sizeof(*w));
	return w ? bad : n;
}
