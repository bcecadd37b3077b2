/* fleet_time_split.c - values derived from the records of hosts and ranks; see fleet.h. */
#include "tui/run/fleet.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "share/base/util.h"
#include "tui/run/fleet_health.h"

static double share_of(double part, double whole)
{
	return part >= 0 && whole > 0 ? MIN(part / whole, 1.0) : NAN;
}

struct fleet_time_split fleet_rank_time_split(const struct fleet_rank *r)
{
	double exposed = share_of(r->exposed_s, r->step_s), late = share_of(r->wait_s, r->step_s);
	struct fleet_time_split s = {
		.compute = share_of(r->compute_s, r->step_s),
		.update = share_of(r->update_s, r->step_s),
		.input = share_of(r->input_s, r->step_s),
		.late = isfinite(exposed) && late > exposed ? exposed : late,
	};

	s.transfer = isnan(late) ? exposed : exposed - s.late;
	return s;
}

/* Sums of the parts of a step, and the number of ranks in them. */
struct sums {
	double sum[5];
	int n[5];
};

static void add_split(struct sums *t, const struct fleet_rank *r)
{
	struct fleet_time_split s = fleet_rank_time_split(r);
	const double parts[5] = { s.compute, s.update, s.late, s.transfer, s.input };

	for (int k = 0; k < 5; k++)
		if (isfinite(parts[k]))
			t->sum[k] += parts[k], t->n[k]++;
}

struct fleet_time_split fleet_host_time_split(const struct fleet *f, int host)
{
	struct sums t = { .n = { 0 } };

	assert(host < (int)f->n_hosts);
	if (host >= 0)
		for (int i = f->hosts[host].first_rank; i >= 0; i = f->ranks[i].next)
			add_split(&t, &f->ranks[i]);
	for (size_t i = 0; host < 0 && i < f->n_ranks; i++)
		if (f->ranks[i].known)
			add_split(&t, &f->ranks[i]);
	for (int k = 0; k < 5; k++)
		t.sum[k] = t.n[k] ? t.sum[k] / t.n[k] : NAN;
	return (struct fleet_time_split){ t.sum[0], t.sum[1], t.sum[2], t.sum[3], t.sum[4] };
}

void fleet_gpu_work(const struct fleet *f, int host, double work[FLEET_GPUS])
{
	const struct fleet_host *h = &f->hosts[host];
	double sum = 0;
	int here = 0, n = 0;

	assert(host >= 0 && (size_t)host < f->n_hosts);
	for (int i = h->first_rank; i >= 0; i = f->ranks[i].next, here++) {
		const struct fleet_rank *r = &f->ranks[i];
		double its =
			share_of(r->compute_s + (r->update_s > 0 ? r->update_s : 0), r->step_s);

		if (here < FLEET_GPUS)
			work[here] = its;
		if (isfinite(its))
			sum += its, n++;
	}
	if (here != (int)h->n_gpus)
		for (size_t i = 0; i < FLEET_GPUS; i++)
			work[i] = n ? sum / n : NAN;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool is_rank_fresh(const struct fleet *f, const struct fleet_rank *r)
{
	return r->known && r->round + 1 >= f->rounds;
}

/* The lower median, as in train/watch/telemetry.h: of two ranks the slower one counts as slow. */
void fleet_find_median(struct fleet *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n_ranks; i++)
		if (is_rank_fresh(f, &f->ranks[i]) && f->ranks[i].compute_s > 0)
			f->order[n++] = f->ranks[i].compute_s;
	assert(n <= f->cap_order); /* the room of order */
	if (n)
		qsort(f->order, n, sizeof(*f->order), compare_doubles);
	f->median_compute = n ? f->order[(n - 1) / 2] : NAN;
}

void fleet_update_derived(struct fleet *f)
{
	fleet_find_median(f);
	fleet_find_odd_hosts(f);
}

double fleet_rank_slowdown(const struct fleet *f, size_t rank)
{
	if (rank >= f->n_ranks || !is_rank_fresh(f, &f->ranks[rank]) ||
	    !(f->ranks[rank].compute_s > 0))
		return NAN;
	return f->ranks[rank].compute_s / f->median_compute;
}

double fleet_host_slowdown(const struct fleet *f, int host, int64_t *slowest)
{
	double most = NAN;

	*slowest = -1;
	for (int i = f->hosts[host].first_rank; i >= 0; i = f->ranks[i].next) {
		double pace = fleet_rank_slowdown(f, (size_t)i);

		if (pace > most || (isnan(most) && isfinite(pace))) {
			most = pace;
			*slowest = i;
		}
	}
	return most;
}

double fleet_host_power(const struct fleet_host *h)
{
	double sum = 0;
	int n = 0;

	for (size_t i = 0; i < h->n_gpus; i++)
		if (isfinite(h->gpus[i].power_w))
			sum += h->gpus[i].power_w, n++;
	return n ? sum : NAN;
}

double fleet_host_util(const struct fleet_host *h)
{
	double sum = 0;
	int n = 0;

	for (size_t i = 0; i < h->n_gpus; i++)
		if (isfinite(h->gpus[i].util))
			sum += h->gpus[i].util, n++;
	return sum / n;
}

double fleet_link_share(const struct fleet_host *h)
{
	double busier = isnan(h->tx_bytes_s) || h->rx_bytes_s > h->tx_bytes_s ? h->rx_bytes_s
									      : h->tx_bytes_s;

	return share_of(busier, h->link_bytes_s);
}
