/* link_measure.c - see link_measure.h */
#include "train/watch/link_measure.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "train/host/host_net.h"
#include "train/watch/link_speed.h"

#define PINGS	    20
#define PING_S	    0.3 /* after this time, LEAST_PINGS are enough */
#define LEAST_PINGS 3

#define BURSTS	       60
#define BURST_S	       1.0
#define LEAST_BURSTS   4
#define BURST_BYTES    14480 /* the first window of TCP: NETWORK_WINDOW of train/common/network.h */
#define BURST_SEGMENTS 12    /* with the announced length and the answer */
#define LEAST_AGAIN    3     /* fewer segments sent again may be chance */

#define PART_BYTES 16384
#define DEPTH	   16 /* parts under way, also where MPI asks before it sends one */

#define FIRST_LENGTH ((int64_t)1 << 16)
#define MOST_LENGTH  ((int64_t)LINK_SPEED_PARTS * PART_BYTES)
#define GROW_S	     4.0  /* after this time, no further message */
#define GROW_PHASE_S 2.0  /* the same in each of two or three phases */
#define LONG_S	     0.5  /* expected time up to which messages grow by 4 */
#define LONGEST_S    1.0  /* expected time up to which messages grow by 2 */
#define SETTLED_S    0.05 /* a shorter quarter of a message says little about a slow link */

/* What one pair of hosts has measured, from its first host; others: zero. */
struct link_pair {
	double rtt_s, bytes_s;
	double segments, again; /* of its bursts: TCP segments, and those sent again */
	bool is_settled, has_counters;
};

struct link_ring {
	struct comm *c;	   /* borrowed */
	int64_t hosts;	   /* length of the ring */
	int64_t own;	   /* index of this host in it; -1: not the first rank of its host */
	int *firsts;	   /* (hosts) first ranks of the hosts, owned */
	int phases;	   /* in each phase a host belongs to at most one pair */
	bool all;	   /* else only the latency */
	char *data;	   /* DEPTH parts, owned */
	double *arrived_s; /* (LINK_SPEED_PARTS) when each part of a message came, owned */
	struct link_pair pair;
};

/* Announces a message. The answer has the same bytes. 0: the end of all messages. */
struct link_head {
	int64_t bytes;
	double least_s; /* see link_speed_of() */
};

struct link_answer {
	int64_t bytes;
	double bytes_s; /* speed at the receiver; 0: unknown */
	int64_t is_steady;
};

/* ---- the ring ---------------------------------------------------------- */

static int link_ring_open(struct link_ring *r, struct comm *c, int64_t hosts, bool all,
			  struct err *e)
{
	double *is_first = mem_alloc((size_t)c->size, sizeof(*is_first), e);
	int64_t n = 0;
	int rc = is_first ? 0 : e->code;

	*r = (struct link_ring){ .c = c, .hosts = hosts, .own = -1, .all = all };
	r->firsts = rc ? NULL : mem_alloc((size_t)hosts, sizeof(*r->firsts), e);
	r->data = r->firsts ? mem_alloc(DEPTH, PART_BYTES, e) : NULL;
	r->arrived_s = r->data ? mem_alloc(LINK_SPEED_PARTS, sizeof(*r->arrived_s), e) : NULL;
	if (!r->arrived_s)
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
	free(r->arrived_s);
}

/* The host at index i begins a pair with the next one; with two hosts there is one pair. */
static int phase_of_pair(const struct link_ring *r, int64_t i)
{
	if (r->hosts == 2)
		return i == 0 ? 0 : -1;
	return r->hosts % 2 && i == r->hosts - 1 ? 2 : (int)(i % 2);
}

/* ---- messages of a pair ------------------------------------------------ */

/* A message in parts, the last of which may be shorter; the receiver notes when each one came. */
static int link_stream(struct link_ring *r, int other, int64_t bytes, bool is_sender, struct err *e)
{
	const int64_t parts = (bytes + PART_BYTES - 1) / PART_BYTES;
	struct comm_request *queue[DEPTH] = { NULL };
	int rc = 0;

	for (int64_t i = 0; !rc && i < parts + DEPTH; i++) {
		char *part = r->data + i % DEPTH * PART_BYTES;

		rc = comm_wait(r->c, queue[i % DEPTH], e);
		queue[i % DEPTH] = NULL;
		if (i >= DEPTH && i - DEPTH < parts)
			r->arrived_s[i - DEPTH] = clock_mono_s();
		if (!rc && i < parts)
			rc = comm_begin_pair(r->c, is_sender ? part : NULL, is_sender ? NULL : part,
					     (size_t)MIN(PART_BYTES, bytes - i * PART_BYTES), other,
					     &queue[i % DEPTH], e);
	}
	return rc;
}

/* Send a message and wait for the answer; seconds: until then. */
static int link_send_one(struct link_ring *r, int other, struct link_head head, double *seconds,
			 struct link_answer *answer, struct err *e)
{
	const double began = clock_mono_s();
	int rc = comm_send(r->c, &head, sizeof(head), other, e);

	if (!rc && head.bytes > (int64_t)sizeof(head))
		rc = link_stream(r, other, head.bytes, true, e);
	if (!rc && head.bytes)
		rc = comm_receive(r->c, answer, sizeof(*answer), other, e);
	*seconds = clock_mono_s() - began;
	return rc;
}

static int link_end_messages(struct link_ring *r, int other, struct err *e)
{
	return comm_send(r->c, &(struct link_head){ 0 }, sizeof(struct link_head), other, e);
}

static int link_answer_one(struct link_ring *r, int other, struct link_head head, struct err *e)
{
	struct link_answer answer = { .bytes = head.bytes };
	int rc = 0;

	if (head.bytes < 0 || head.bytes > MOST_LENGTH)
		return err_set(e, ERR_INTERNAL, "rank %d announces a message of %lld bytes", other,
			       (long long)head.bytes);
	if (head.bytes > (int64_t)sizeof(head)) {
		struct link_speed s;

		rc = link_stream(r, other, head.bytes, false, e);
		s = link_speed_of(r->arrived_s, (size_t)(head.bytes / PART_BYTES), head.least_s);
		answer.bytes_s = s.parts_s * PART_BYTES;
		answer.is_steady = s.is_steady;
	}
	return rc ? rc : comm_send(r->c, &answer, sizeof(answer), other, e);
}

static int link_answer_all(struct link_ring *r, int other, struct err *e)
{
	struct link_head head = { .bytes = 1 };
	int rc = 0;

	while (!rc && head.bytes) {
		rc = comm_receive(r->c, &head, sizeof(head), other, e);
		if (!rc && head.bytes)
			rc = link_answer_one(r, other, head, e);
	}
	return rc;
}

/* ---- the first host of a pair measures --------------------------------- */

/* The quickest of some small messages and their answers, and with all the bursts. */
static int link_light(struct link_ring *r, int other, struct err *e)
{
	const struct link_head ping = { sizeof(ping), 0 }, burst = { BURST_BYTES, 0 };
	const double began = clock_mono_s();
	struct link_answer answer;
	double seconds, at;
	int rc = 0;

	r->pair.rtt_s = INFINITY;
	for (int i = 0; !rc && i < PINGS; i++) {
		if (i >= LEAST_PINGS && clock_mono_s() - began > PING_S / r->phases)
			break;
		rc = link_send_one(r, other, ping, &seconds, &answer, e);
		r->pair.rtt_s = fmin(r->pair.rtt_s, seconds);
	}
	at = clock_mono_s();
	for (int i = 0; !rc && r->all && i < BURSTS; i++) {
		if (i >= LEAST_BURSTS && clock_mono_s() - at > BURST_S / r->phases)
			break;
		rc = link_send_one(r, other, burst, &seconds, &answer, e);
		r->pair.segments += BURST_SEGMENTS;
	}
	return rc ? rc : link_end_messages(r, other, e);
}

/* The next length; the same again if a longer message would take too long. */
static int64_t next_length(int64_t bytes, double seconds)
{
	int64_t longer = bytes;

	if (4 * seconds < LONG_S)
		longer = bytes * 4;
	else if (2 * seconds < LONGEST_S)
		longer = bytes * 2;
	return MIN(longer, MOST_LENGTH);
}

/* Two steady messages after each other must agree: one alone may be what a burst left. */
static int link_heavy(struct link_ring *r, int other, struct err *e)
{
	struct link_pair *p = &r->pair;
	const double began = clock_mono_s();
	struct link_head head = { .bytes = FIRST_LENGTH };
	struct link_answer answer;
	double seconds;
	int rc = 0;

	while (!rc && !p->is_settled) {
		/* the longest message may be too short to fill so fast a link: it counts anyway */
		head.least_s = fmax(p->rtt_s, head.bytes < MOST_LENGTH ? SETTLED_S : 0);
		rc = link_send_one(r, other, head, &seconds, &answer, e);
		if (rc)
			break;
		p->is_settled =
			answer.is_steady && link_speeds_are_equal(answer.bytes_s, p->bytes_s);
		p->bytes_s = answer.bytes_s;
		if (clock_mono_s() - began > (r->phases == 1 ? GROW_S : GROW_PHASE_S))
			break;
		head.bytes = next_length(head.bytes, seconds);
	}
	return rc ? rc : link_end_messages(r, other, e);
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
			rc = link_answer_all(r, r->firsts[last], e);
		/* the other ranks of a host sleep here */
		if (!rc)
			rc = r->c->barrier(r->c, e);
	}
	return rc;
}

static int link_light_counted(struct link_ring *r, struct err *e)
{
	uint64_t again[2];
	struct host_roots roots;
	bool is_known;
	int rc;

	host_roots_find(&roots);
	is_known = host_tcp_again(&roots, &again[0]);
	rc = link_all_pairs(r, link_light, e);
	if (!rc && r->own >= 0 && is_known && host_tcp_again(&roots, &again[1])) {
		r->pair.again = fmax((double)again[1] - (double)again[0], 0);
		r->pair.has_counters = true;
	}
	return rc;
}

/* On the first rank: the slowest pair, and the segments of all hosts. */
static void link_summarise(const struct link_ring *r, const struct link_pair *all,
			   struct link_measure *m)
{
	double again = 0, segments = 0;
	bool is_known = r->all, is_settled = true;

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
