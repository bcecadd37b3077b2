/* link_measure.c - see link_measure.h */
#include "train/watch/link_measure.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "train/host/host_net.h"

#define PINGS	    20
#define PING_S	    0.3 /* after this time, LEAST_PINGS are enough */
#define LEAST_PINGS 3

#define BURSTS	       60
#define BURST_S	       1.0
#define LEAST_BURSTS   4
#define BURST_BYTES    14480 /* the first window of TCP: NETWORK_WINDOW of train/common/network.h */
#define BURST_SEGMENTS 12    /* with the announced length and the answer */
#define LEAST_AGAIN    3     /* few segments may be sent again by mistake, on a busy machine */

#define FIRST_LENGTH ((int64_t)1 << 16)
#define MOST_LENGTH  ((int64_t)1 << 25)
#define GROW_S	     2.5  /* after this time, no further message */
#define GROW_PHASE_S 1.5  /* the same in each of two or three phases */
#define LONG_S	     0.5  /* expected time up to which messages grow by 4 */
#define LONGEST_S    1.0  /* expected time up to which messages grow by 2 */
#define SETTLED_S    0.05 /* a shorter message says little about the speed of the link */
#define SETTLED	     1.3  /* ratio of two speeds that are equal for this purpose */

/* What one pair of hosts has measured, from its first host; others: zero. */
struct link_pair {
	double rtt_s, bytes_s;
	double segments, again; /* of its bursts: TCP segments, and those sent again */
	bool is_settled, has_counters;
};

struct link_ring {
	struct comm *c; /* borrowed */
	int64_t hosts;	/* length of the ring */
	int64_t own;	/* index of this host in it; -1: not the first rank of its host */
	int *firsts;	/* (hosts) first ranks of the hosts, owned */
	int phases;	/* in each phase a host belongs to at most one pair */
	char *data;	/* MOST_LENGTH bytes, owned; NULL: only the latency */
	struct link_pair pair;
};

/* ---- the ring ---------------------------------------------------------- */

static int link_ring_open(struct link_ring *r, struct comm *c, int64_t hosts, bool all,
			  struct err *e)
{
	double *is_first = mem_alloc((size_t)c->size, sizeof(*is_first), e);
	int64_t n = 0;
	int rc = is_first ? 0 : e->code;

	*r = (struct link_ring){ .c = c, .hosts = hosts, .own = -1 };
	r->firsts = rc ? NULL : mem_alloc((size_t)hosts, sizeof(*r->firsts), e);
	if (r->firsts && all)
		r->data = mem_alloc((size_t)MOST_LENGTH, 1, e);
	if (!r->firsts || (all && !r->data))
		rc = e->code;
	if (!rc) {
		is_first[c->rank] = c->local_rank == 0;
		rc = c->sum_doubles(c, is_first, (size_t)c->size, e);
	}
	for (int i = 0; !rc && i < c->size && n < hosts; i++)
		if (is_first[i] > 0) {
			if (i == c->rank)
				r->own = n;
			r->firsts[n++] = i;
		}
	r->phases = hosts == 2 ? 1 : hosts % 2 ? 3 : 2;
	free(is_first);
	return rc;
}

static void link_ring_close(struct link_ring *r)
{
	free(r->firsts);
	free(r->data);
}

/* The host at index i begins a pair with the next one; with two hosts there is one pair. */
static int phase_of_pair(const struct link_ring *r, int64_t i)
{
	if (r->hosts == 2)
		return i == 0 ? 0 : -1;
	return r->hosts % 2 && i == r->hosts - 1 ? 2 : (int)(i % 2);
}

/* ---- messages of a pair ------------------------------------------------ */

/* Announce the length of a message (0: the end of all), send it, and wait for the answer. */
static int link_send_one(struct link_ring *r, int other, int64_t bytes, double *seconds,
			 struct err *e)
{
	const double began = clock_mono_s();
	int64_t echo;
	int rc = comm_send(r->c, &bytes, sizeof(bytes), other, e);

	assert(bytes <= (int64_t)sizeof(bytes) || r->data);
	if (!rc && bytes > (int64_t)sizeof(bytes))
		rc = comm_send(r->c, r->data, (size_t)bytes, other, e);
	if (!rc && bytes)
		rc = comm_receive(r->c, &echo, sizeof(echo), other, e);
	*seconds = clock_mono_s() - began;
	return rc;
}

static int link_answer(struct link_ring *r, int other, struct err *e)
{
	int64_t bytes = 1;
	int rc = 0;

	while (!rc && bytes) {
		rc = comm_receive(r->c, &bytes, sizeof(bytes), other, e);
		if (!rc && (bytes < 0 || bytes > (r->data ? MOST_LENGTH : (int64_t)sizeof(bytes))))
			rc = err_set(e, ERR_INTERNAL, "rank %d announces a message of %lld bytes",
				     other, (long long)bytes);
		if (!rc && bytes > (int64_t)sizeof(bytes))
			rc = comm_receive(r->c, r->data, (size_t)bytes, other, e);
		if (!rc && bytes)
			rc = comm_send(r->c, &bytes, sizeof(bytes), other, e);
	}
	return rc;
}

/* ---- the first host of a pair measures --------------------------------- */

/* The quickest of some small messages and their answers, and with all the bursts. */
static int link_light(struct link_ring *r, int other, struct err *e)
{
	const double began = clock_mono_s();
	double seconds, at;
	int rc = 0;

	r->pair.rtt_s = INFINITY;
	for (int i = 0; !rc && i < PINGS; i++) {
		if (i >= LEAST_PINGS && clock_mono_s() - began > PING_S / r->phases)
			break;
		rc = link_send_one(r, other, sizeof(int64_t), &seconds, e);
		r->pair.rtt_s = fmin(r->pair.rtt_s, seconds);
	}
	at = clock_mono_s();
	for (int i = 0; !rc && r->data && i < BURSTS; i++) {
		if (i >= LEAST_BURSTS && clock_mono_s() - at > BURST_S / r->phases)
			break;
		rc = link_send_one(r, other, BURST_BYTES, &seconds, e);
		r->pair.segments += BURST_SEGMENTS;
	}
	return rc ? rc : link_send_one(r, other, 0, &seconds, e);
}

/* The next length; the same again if a longer message would take too long. */
static int64_t next_length(int64_t bytes, double seconds)
{
	if (4 * seconds < LONG_S)
		return bytes * 4;
	return 2 * seconds < LONGEST_S ? bytes * 2 : bytes;
}

static int link_heavy(struct link_ring *r, int other, struct err *e)
{
	struct link_pair *p = &r->pair;
	const double began = clock_mono_s();
	double seconds;
	int64_t bytes = FIRST_LENGTH;
	int rc = 0;

	while (!rc && bytes <= MOST_LENGTH && !p->is_settled) {
		double rate;

		rc = link_send_one(r, other, bytes, &seconds, e);
		/* Open MPI asks before it sends a long message: two round trips are latency. */
		rate = (double)bytes / fmax(seconds - 2 * p->rtt_s, seconds / 10);
		p->is_settled = seconds >= SETTLED_S && p->bytes_s > 0 &&
				rate < SETTLED * p->bytes_s && p->bytes_s < SETTLED * rate;
		p->bytes_s = rate;
		if (clock_mono_s() - began > (r->phases == 1 ? GROW_S : GROW_PHASE_S))
			break;
		bytes = next_length(bytes, seconds);
	}
	/* no message was long enough to fill so fast a link: its speed is at least this */
	if (bytes > MOST_LENGTH)
		p->is_settled = true;
	return rc ? rc : link_send_one(r, other, 0, &seconds, e);
}

/* ---- all pairs --------------------------------------------------------- */

typedef int link_part(struct link_ring *r, int other, struct err *e);

static int link_all_pairs(struct link_ring *r, link_part *part, struct err *e)
{
	int rc = 0;

	for (int phase = 0; !rc && phase < r->phases; phase++) {
		const int64_t h = r->hosts, next = (r->own + 1) % h, last = (r->own + h - 1) % h;

		if (r->own >= 0 && phase_of_pair(r, r->own) == phase)
			rc = part(r, r->firsts[next], e);
		else if (r->own >= 0 && phase_of_pair(r, last) == phase)
			rc = link_answer(r, r->firsts[last], e);
		/* the other ranks of a host sleep here */
		if (!rc)
			rc = r->c->barrier(r->c, e);
	}
	return rc;
}

static bool read_again(uint64_t *again)
{
	uint64_t sent;
	struct host_roots roots;
	char text[8192];

	host_roots_find(&roots);
	return host_read(text, sizeof(text), "%s/net/snmp", roots.proc) >= 0 &&
	       host_tcp_counters(text, again, &sent);
}

static int link_light_counted(struct link_ring *r, struct err *e)
{
	uint64_t again[2];
	const bool is_known = read_again(&again[0]);
	const int rc = link_all_pairs(r, link_light, e);

	if (!rc && r->own >= 0 && is_known && read_again(&again[1])) {
		r->pair.again = (double)(again[1] - again[0]);
		r->pair.has_counters = true;
	}
	return rc;
}

/* On the first rank: the slowest pair, and the segments of all hosts. */
static void link_summarise(const struct link_ring *r, const struct link_pair *all,
			   struct link_measure *m)
{
	double again = 0, segments = 0;
	bool is_known = r->data != NULL, is_settled = true;

	m->latency_s = 0;
	m->bytes_s = INFINITY;
	for (int64_t i = 0; i < r->hosts; i++) {
		const struct link_pair *p = &all[r->firsts[i]];

		is_known = is_known && p->has_counters;
		again += p->again;
		segments += p->segments;
		if (phase_of_pair(r, i) < 0)
			continue;
		m->latency_s = fmax(m->latency_s, p->rtt_s / 2);
		m->bytes_s = fmin(m->bytes_s, p->bytes_s);
		is_settled = is_settled && p->is_settled;
	}
	/* the slowest link counts; while the speed of one still grew, it may not be the slowest */
	if (!is_settled)
		m->bytes_s = NAN;
	m->lost = !is_known || !(segments > 0) ? NAN
		  : again >= LEAST_AGAIN       ? fmin(again / segments, 1)
					       : 0;
}

static int link_collect(struct link_ring *r, struct link_measure *m, struct err *e)
{
	struct comm *c = r->c;
	struct link_pair *all = c->rank ? NULL : mem_alloc((size_t)c->size, sizeof(*all), e);
	int rc = c->rank || all ? c->gather(c, &r->pair, sizeof(r->pair), all, e) : e->code;

	if (!rc && !c->rank)
		link_summarise(r, all, m);
	free(all);
	return rc ? rc : c->broadcast(c, m, sizeof(*m), 0, e);
}

int link_measure(struct comm *c, int64_t hosts, bool all, struct link_measure *m, struct err *e)
{
	const double began = clock_mono_s();
	struct link_ring r;
	int rc;

	*m = (struct link_measure){ .bytes_s = NAN, .lost = NAN };
	if (hosts < 2)
		return 0;
	rc = link_ring_open(&r, c, hosts, all, e);
	if (!rc)
		rc = link_light_counted(&r, e);
	if (!rc && all)
		rc = link_all_pairs(&r, link_heavy, e);
	m->took_s = clock_mono_s() - began;
	if (!rc)
		rc = link_collect(&r, m, e);
	link_ring_close(&r);
	return rc;
}
