/* t_link_speed.c - the speed of played links: shapers with a burst, a slow begin of TCP, a busy receiver */
#include "train/watch/link_speed.h"

#include <math.h>

#include "share/base/util.h"
#include "tests/test.h"
#include "tests/train/fake_ranks.h"
#include "train/watch/link_measure.h"

#define PARTS  512
#define PART   16384.0
#define WINDOW 14480.0 /* bytes of TCP in the first round trip */

struct played_link {
	double bytes_s, burst; /* of a shaper that is full at first */
	double rtt_s;
	double stall_at, stall_s; /* the receiver sees nothing in this time; as parts of all time */
};

/* When the parts of a message are seen. Each round trip TCP sends twice as much. */
static void play(const struct played_link *l, double *seen, size_t n)
{
	double tokens = l->burst, t = l->rtt_s, window = WINDOW, sent = 0, began = t, all;

	for (size_t i = 0; i < n; i++) {
		if (sent + PART > window && l->rtt_s > 0) {
			double next = fmax(began + l->rtt_s, t);

			tokens = fmin(tokens + (next - t) * l->bytes_s, l->burst);
			window *= 2;
			sent = 0;
			began = t = next;
		}
		if (tokens < PART) {
			t += (PART - tokens) / l->bytes_s;
			tokens = PART;
		}
		tokens -= PART;
		sent += PART;
		seen[i] = t;
	}
	all = seen[n - 1];
	for (size_t i = 0; i < n; i++)
		if (seen[i] >= l->stall_at * all && seen[i] < l->stall_at * all + l->stall_s)
			seen[i] = l->stall_at * all + l->stall_s;
}

/* A steady speed is right, for every length of the message, also while the receiver is busy. */
TEST(link_speed_is_right_or_unknown)
{
	static const double speeds[] = { 0.25e6, 0.625e6, 2.5e6, 12.5e6 };
	static const double bursts[] = { 0, 65536, 131072, 524288 };
	static const double rtts[] = { 0, 0.02, 0.082, 0.3 };
	size_t steady = 0, wrong = 0, cases = 0;
	double seen[PARTS];

	for (size_t a = 0; a < ARRAY_LEN(speeds); a++)
		for (size_t b = 0; b < ARRAY_LEN(bursts); b++)
			for (size_t c = 0; c < ARRAY_LEN(rtts); c++)
				for (int stall = -1; stall < 40; stall++)
					for (size_t n = 4; n <= PARTS; n *= 2) {
						const struct played_link l = {
							speeds[a],    bursts[b],	   rtts[c],
							stall / 40.0, stall < 0 ? 0 : 0.1,
						};
						struct link_speed s;

						play(&l, seen, n);
						s = link_speed_of(seen, n, fmax(rtts[c], 0.05));
						cases++;
						steady += s.is_steady;
						wrong += s.is_steady &&
							 s.parts_s * PART > 1.3 * speeds[a];
					}
	check_int(wrong, 0);
	check(steady > cases / 4 && steady < cases);
}

TEST(link_speed_of_calm_links)
{
	static const struct played_link slow = { .bytes_s = 0.625e6,
						 .burst = 65536,
						 .rtt_s = 0.082 };
	static const struct played_link still_slow = { .bytes_s = 1e9, .rtt_s = 0.3 };
	double seen[PARTS];
	struct link_speed s;

	/* the burst alone: no speed */
	play(&slow, seen, 4);
	check(!link_speed_of(seen, 4, 0.082).is_steady);
	play(&slow, seen, 64);
	s = link_speed_of(seen, 64, 0.082);
	check(s.is_steady);
	check_near(s.parts_s * PART, slow.bytes_s, 0.05 * slow.bytes_s);
	/* each round trip is twice as fast as the one before */
	play(&still_slow, seen, 128);
	check(!link_speed_of(seen, 128, 0.3).is_steady);
	for (size_t n = 0; n < 3; n++)
		check(!link_speed_of(seen, n, 0).is_steady);
	check(link_speeds_are_equal(1, 1.29) && !link_speeds_are_equal(1.31, 1) &&
	      !link_speeds_are_equal(0, 0) && !link_speeds_are_equal(NAN, 1));
}

/* Each rank is a host; memory is their network. */
static void measure_ring(struct comm *c, void *arg)
{
	struct link_measure m;
	struct err e;

	(void)arg;
	c->local_rank = 0;
	if (!check_int(link_measure(c, c->size, true, &m, &e), 0))
		return;
	check(m.latency_s > 0 && m.latency_s < 1 && m.took_s > 0 && m.took_s < 60);
	check(!(m.bytes_s <= 1e6)); /* unknown, or the speed of memory */
	check_int(link_measure(c, c->size, false, &m, &e), 0);
	check(m.latency_s > 0 && isnan(m.bytes_s) && isnan(m.lost));
}

TEST(link_measure_of_two_and_three_hosts)
{
	fake_ranks(2, measure_ring, NULL);
	fake_ranks(3, measure_ring, NULL);
}
