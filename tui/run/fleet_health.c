/* fleet_health.c - compares hosts with each other; see fleet_health.h. */
#include "tui/run/fleet_health.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/util.h"

#define BUSY_ENOUGH    0.5 /* utilisation of a GPU below which its clock says nothing */
#define KINDS_COMPARED 8   /* kinds of GPUs; hosts of further kinds are not compared */

/* ---- rounds ---- */

/* The lowest clock of the busy GPUs of a host; NaN: unknown. */
static double slowest_clock(const struct fleet_host *h)
{
	double least = NAN;

	for (size_t i = 0; i < h->n_gpus; i++) {
		const struct fleet_gpu *g = &h->gpus[i];

		if (!g->lost && g->util >= BUSY_ENOUGH && g->sm_mhz > 0 && !(g->sm_mhz >= least))
			least = g->sm_mhz;
	}
	return least;
}

static double highest_temperature(const struct fleet_host *h)
{
	double most = NAN;

	for (size_t i = 0; i < h->n_gpus; i++)
		if (isfinite(h->gpus[i].temperature_c) && !(h->gpus[i].temperature_c <= most))
			most = h->gpus[i].temperature_c;
	return most;
}

/* A link of which only the traffic is known ("seen") may be faster. */
static double known_link(const struct fleet_host *h)
{
	return strcmp(h->link_from, "seen") && h->link_bytes_s > 0 ? h->link_bytes_s : NAN;
}

void fleet_end_round(struct fleet *f)
{
	f->rounds++; /* ranks without a record in this round are no longer counted */
	fleet_find_median(f);
	for (size_t i = 0; i < f->n_hosts; i++) {
		struct fleet_host *h = &f->hosts[i];
		int64_t slowest;
		const double traits[FLEET_TRAITS] = {
			[TRAIT_PACE] = fleet_host_slowdown(f, (int)i, &slowest),
			[TRAIT_CLOCK] = slowest_clock(h),
			[TRAIT_TEMPERATURE] = highest_temperature(h),
			[TRAIT_LINK] = known_link(h),
			[TRAIT_RESENT] = h->retransmits_s,
		};

		if (!h->present)
			continue;
		for (int t = 0; t < FLEET_TRAITS; t++)
			h->recent[t][h->rounds % FLEET_WINDOW] = (float)traits[t];
		/* beyond the window only the place in the ring counts */
		h->rounds = h->rounds < 1000 * FLEET_WINDOW ? h->rounds + 1 : FLEET_WINDOW + 1;
	}
}

/* ---- comparison ---- */

static int compare_floats(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Sort the finite values and drop the others; returns their number. */
static size_t sort_known(float *values, size_t n)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		if (isfinite(values[i]))
			values[known++] = values[i];
	if (known)
		qsort(values, known, sizeof(*values), compare_floats);
	return known;
}

/* The lower median of sorted values; NaN: fewer than needed. */
static double median_of(const float *sorted, size_t n, size_t needed)
{
	assert(needed > 0);
	return n < needed ? NAN : (double)sorted[(n - 1) / 2];
}

double fleet_recent_trait(const struct fleet_host *h, enum fleet_trait trait)
{
	float values[FLEET_WINDOW];
	size_t n = (size_t)MIN(h->rounds, FLEET_WINDOW);

	if (!h->present)
		return NAN;
	memcpy(values, h->recent[trait], sizeof(values));
	n = sort_known(values, n);
	return median_of(values, n, FLEET_ENOUGH);
}

static const char *gpu_kind(const struct fleet_host *h)
{
	return h->n_gpus ? h->gpus[0].name : "";
}

/* What is usual: the median of the values of hosts, and of their distances from it. */
struct usual {
	double value, spread;
};

/* The latest values of all hosts, and what is usual for each kind of GPU. */
struct comparison {
	float *values[FLEET_TRAITS]; /* of one allocation, values[0] owns it */
	float *sorted;		     /* room for the values of all hosts */
	struct {
		const char *gpu;
		struct usual traits[FLEET_TRAITS];
	} kinds[KINDS_COMPARED];
	size_t n_kinds;
};

static bool is_of_gpu(enum fleet_trait trait)
{
	return trait == TRAIT_CLOCK || trait == TRAIT_TEMPERATURE;
}

static struct usual find_usual(const struct fleet *f, const char *gpu, enum fleet_trait trait,
			       const struct comparison *c)
{
	float *values = c->sorted;
	struct usual u;
	size_t n = 0;

	for (size_t i = 0; i < f->n_hosts; i++)
		if (!is_of_gpu(trait) || !strcmp(gpu_kind(&f->hosts[i]), gpu))
			values[n++] = c->values[trait][i];
	n = sort_known(values, n);
	u.value = median_of(values, n, FLEET_PEERS);
	for (size_t i = 0; i < n; i++)
		values[i] = fabsf(values[i] - (float)u.value);
	n = sort_known(values, n);
	u.spread = median_of(values, n, FLEET_PEERS);
	return u;
}

/* What is usual for hosts like h; NULL: there are too many kinds of them. */
static const struct usual *usual_traits(const struct fleet *f, const struct fleet_host *h,
					struct comparison *c)
{
	size_t i = 0;

	while (i < c->n_kinds && strcmp(c->kinds[i].gpu, gpu_kind(h)))
		i++;
	if (i == KINDS_COMPARED)
		return NULL;
	if (i == c->n_kinds) {
		c->kinds[c->n_kinds++].gpu = gpu_kind(h);
		for (int t = 0; t < FLEET_TRAITS; t++)
			c->kinds[i].traits[t] = find_usual(f, gpu_kind(h), (enum fleet_trait)t, c);
	}
	return c->kinds[i].traits;
}

/* A limit beyond which a value is odd: a share of the usual value, and far outside the spread. */
static double odd_limit(const struct usual *u, double share, double least)
{
	return MAX(MAX(fabs(u->value) * share, least), 6 * u->spread);
}

static void add_reason(struct fleet_finding *to, enum fleet_oddity oddity, double score,
		       const char *text)
{
	size_t n = strlen(to->text);

	if (oddity > to->oddity)
		to->oddity = oddity;
	to->score += score;
	snprintf(to->text + n, sizeof(to->text) - n, "%s%s", n ? "; " : "", text);
}

static void find_broken(const struct fleet_host *h, struct fleet_finding *out)
{
	char text[80];

	for (size_t i = 0; i < h->n_gpus; i++)
		if (h->gpus[i].lost) {
			snprintf(text, sizeof(text), "GPU %d does not respond", h->gpus[i].index);
			add_reason(out, HOST_BROKEN, 100, text);
			return;
		}
}

static void find_late(const struct fleet *f, int host, double pace, struct fleet_finding *out)
{
	char text[100], rank[NUMBER_TEXT_BYTES];
	int64_t slowest;

	if (!(pace > FLEET_LATE))
		return;
	fleet_host_slowdown(f, host, &slowest);
	snprintf(text, sizeof(text), "%s%s computes %.2f times as long as the median rank",
		 slowest < 0 ? "its slowest rank" : "rank ",
		 slowest < 0 ? "" : format_count(rank, slowest), MIN(pace, 99.0));
	add_reason(out, HOST_LATE, pace, text);
}

/* The words of the first throttled GPU, in parentheses; "": none. */
static const char *throttle_words(const struct fleet_host *h, char out[64])
{
	*out = 0;
	for (size_t i = 0; i < h->n_gpus && !*out; i++)
		if (*h->gpus[i].throttle && strcmp(h->gpus[i].throttle, "none"))
			snprintf(out, 64, " (%.50s)", h->gpus[i].throttle);
	return out;
}

/* v: the value of the host */
static void compare_trait(const struct fleet_host *h, enum fleet_trait trait, double v,
			  struct usual u, struct fleet_finding *out)
{
	char text[140], words[64];

	if (!isfinite(v) || !isfinite(u.value))
		return;
	switch (trait) {
	case TRAIT_CLOCK:
		if (u.value - v <= odd_limit(&u, 0.08, 60))
			return;
		snprintf(text, sizeof(text), "a GPU clocks %.0f MHz%s, others %.0f MHz",
			 MIN(v, 1e6), throttle_words(h, words), MIN(u.value, 1e6));
		break;
	case TRAIT_TEMPERATURE:
		if (v - u.value <= odd_limit(&u, 0, 12))
			return;
		snprintf(text, sizeof(text), "a GPU has %.0f C, others %.0f C", MIN(v, 1e4),
			 MIN(u.value, 1e4));
		break;
	case TRAIT_LINK:
		if (u.value - v <= odd_limit(&u, 0.3, 0))
			return;
		snprintf(text, sizeof(text), "its link has %.15sbit/s, others %.15sbit/s",
			 VALUE_TEXT(v * 8), VALUE_TEXT(u.value * 8));
		break;
	default:
		if (v - u.value <= odd_limit(&u, 9, 10))
			return;
		snprintf(text, sizeof(text), "retransmits %.15s packets a second, others %.15s",
			 VALUE_TEXT(v), VALUE_TEXT(u.value));
		break;
	}
	add_reason(out, HOST_ODD, fabs(v - u.value) / (fabs(u.value) + v), text);
}

static void find_one(struct fleet *f, int host, struct comparison *c, struct fleet_finding *out)
{
	const struct fleet_host *h = &f->hosts[host];
	const struct usual *usual = usual_traits(f, h, c);

	*out = (struct fleet_finding){ HOST_LIKE_OTHERS, 0, "" };
	if (!h->present)
		return;
	find_broken(h, out);
	find_late(f, host, (double)c->values[TRAIT_PACE][host], out);
	f->n_uncompared += !usual;
	for (int t = TRAIT_PACE + 1; usual && t < FLEET_TRAITS; t++)
		compare_trait(h, (enum fleet_trait)t, (double)c->values[t][host], usual[t], out);
}

/* Stable insertion: the fleet's own order decides among equals, and few hosts are odd. */
static void put_odd_first(struct fleet *f)
{
	size_t n = 0;

	f->n_odd = 0;
	for (size_t i = 0; i < f->n_hosts; i++)
		f->n_odd += f->hosts[i].finding.oddity > HOST_LIKE_OTHERS;
	for (size_t i = 0; i < f->n_hosts; i++) {
		const struct fleet_finding *its = &f->hosts[i].finding;
		size_t at = n;

		if (its->oddity == HOST_LIKE_OTHERS)
			continue;
		for (; at > 0; at--) {
			const struct fleet_finding *k = &f->hosts[f->odd_first[at - 1]].finding;

			if (k->oddity > its->oddity ||
			    (k->oddity == its->oddity && k->score >= its->score))
				break;
			f->odd_first[at] = f->odd_first[at - 1];
		}
		f->odd_first[at] = (int)i;
		n++;
	}
	assert(n == f->n_odd);
	for (size_t i = 0; i < f->n_hosts; i++)
		if (f->hosts[i].finding.oddity == HOST_LIKE_OTHERS)
			f->odd_first[n++] = (int)i;
}

void fleet_find_odd_hosts(struct fleet *f)
{
	struct comparison c = { .n_kinds = 0 };
	struct err ignored;
	float *room = mem_alloc(f->n_hosts + 1, (FLEET_TRAITS + 1) * sizeof(*room), &ignored);
	int rounds = 0;
	size_t present = 0;

	if (!room) { /* the findings of the last time stay */
		f->comparison = FLEET_TOO_FEW_ROUNDS;
		return;
	}
	for (int t = 0; t < FLEET_TRAITS; t++)
		c.values[t] = room + (size_t)t * f->n_hosts;
	c.sorted = room + FLEET_TRAITS * f->n_hosts;
	for (size_t i = 0; i < f->n_hosts; i++) {
		for (int t = 0; t < FLEET_TRAITS; t++)
			c.values[t][i] =
				(float)fleet_recent_trait(&f->hosts[i], (enum fleet_trait)t);
		if (f->hosts[i].present) {
			rounds = MAX(rounds, f->hosts[i].rounds);
			present++;
		}
	}
	f->comparison = present < 2		? FLEET_ONE_HOST
			: rounds < FLEET_ENOUGH ? FLEET_TOO_FEW_ROUNDS
						: FLEET_COMPARED;
	f->n_uncompared = 0;
	for (size_t i = 0; i < f->n_hosts; i++)
		find_one(f, (int)i, &c, &f->hosts[i].finding);
	put_odd_first(f);
	free(room);
}
