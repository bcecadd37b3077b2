/* machine_signs.c - slowest rank, waiting for batches and checkpoints; see machine_signs.h */
#include "eval/report/machine_signs.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/statistics.h"
#include "share/base/util.h"

#define RANKS_LIMIT	(1 << 20) /* of a journal, which may be a stranger's */
#define INPUT_WAIT_HIGH 0.1	  /* of a step */

/* ---- the slowest rank -------------------------------------------------- */

/* Sums over the records of one rank. */
struct rank_sums {
	double work, usual; /* its work; that of the ranks in the middle */
	double late_squares, step_s, slow, records;
};

/* The work of a rank; NAN if unknown, or if the rank number cannot be used. */
static double rank_work(const struct rank_point *p)
{
	if (!(p->rank >= 0 && p->rank < RANKS_LIMIT) || p->compute_s < 0)
		return NAN;
	return p->compute_s + (p->input_s > 0 ? p->input_s : 0);
}

/*
 * Adds the records first .. end - 1, which have the same step. The usual work is the median (of two
 * ranks: that of the faster). Returns false if fewer than two ranks have records.
 */
static bool add_rank_group(struct rank_sums *sums, const struct evidence *v, size_t first,
			   size_t end, double *work)
{
	double usual;
	size_t n = 0;

	for (size_t k = first; k < end; k++)
		if (isfinite(rank_work(&v->rank[k])))
			work[n++] = rank_work(&v->rank[k]);
	if (n < 2)
		return false;
	usual = stat_quantile(work, n, n == 2 ? 0 : 0.5);
	for (size_t k = first; k < end; k++) {
		const struct rank_point *p = &v->rank[k];
		const double mine = rank_work(p);
		struct rank_sums *x = isfinite(mine) ? &sums[(size_t)p->rank] : NULL;

		if (!x || !(p->step_s > 0))
			continue;
		x->work += mine;
		x->usual += usual;
		x->late_squares += (mine - usual) * (mine - usual);
		x->step_s += p->step_s;
		x->slow += mine > SIGNS_SLOW_RATIO * usual;
		x->records++;
	}
	return true;
}

/* Of the mean lateness of a rank; infinite with a single record. */
static double standard_error(const struct rank_sums *x, double late)
{
	const double variance = x->late_squares / x->records - late * late;

	return x->records > 1 ? sqrt(MAX(variance, 0) / (x->records - 1)) : INFINITY;
}

/* The rank whose work is longer than that of the others by the most seconds a record. */
static void choose_slowest_rank(struct straggler_signs *s, const struct rank_sums *sums,
				size_t ranks)
{
	double most = -INFINITY;

	for (size_t r = 0; r < ranks; r++) {
		const struct rank_sums *x = &sums[r];
		const double late = (x->work - x->usual) / x->records;

		if (!(x->records > 0 && late > most))
			continue;
		most = late;
		s->rank = (double)r;
		s->ratio = x->usual > 0 ? x->work / x->usual : NAN;
		s->slow_share = x->slow / x->records;
		s->lost_s = MAX(late, 0);
		s->lost_least_s = late - 2 * standard_error(x, late);
		s->lost_share = MIN(s->lost_s * x->records / x->step_s, 1);
	}
}

/* Ranks that the records number, from 0. */
static size_t count_recorded_ranks(const struct evidence *v)
{
	double most = -1;

	for (size_t i = 0; i < v->n_rank; i++)
		if (isfinite(rank_work(&v->rank[i])))
			most = MAX(most, v->rank[i].rank);
	return (size_t)(most + 1);
}

int find_straggler_signs(struct straggler_signs *s, const struct evidence *v, struct err *e)
{
	const size_t ranks = count_recorded_ranks(v);
	struct rank_sums *sums = mem_alloc(ranks + 1, sizeof(*sums), e);
	double *work = sums ? mem_alloc(v->n_rank + 1, sizeof(*work), e) : NULL;

	*s = (struct straggler_signs){ .rank = NAN,
				       .ratio = NAN,
				       .slow_share = NAN,
				       .lost_s = NAN,
				       .lost_least_s = NAN,
				       .lost_share = NAN };
	for (size_t i = 0, end; work && i < v->n_rank; i = end) {
		for (end = i; end < v->n_rank && v->rank[end].step == v->rank[i].step;)
			end++;
		s->records += add_rank_group(sums, v, i, end, work);
	}
	if (work)
		choose_slowest_rank(s, sums, ranks);
	for (size_t i = 0; i < v->n_rank; i++)
		if (v->rank[i].rank == s->rank)
			snprintf(s->host, sizeof(s->host), "%s", v->rank[i].host);
	free(sums);
	free(work);
	return work ? 0 : e->code;
}

/* ---- hosts ------------------------------------------------------------- */

/* Sums over the records of one host. */
struct host_sums {
	double sent, resent, sent_records;
	double waits, waits_slow, waits_records, busy, busy_records;
	const struct host_point *last;
};

static double positive_or_zero(double x)
{
	return x > 0 ? x : 0;
}

/* Bytes that a host sent in a step. The rate of older records includes the pauses between steps. */
static double sent_in_step(const struct host_point *p, double step_s)
{
	return isfinite(p->tx_step_bytes) ? p->tx_step_bytes : p->tx_bytes_s * step_s;
}

/* By number of the host, over the later half of the records. Owned by the caller; NULL: ERR_NOMEM. */
static struct host_sums *sum_hosts(const struct evidence *v, double step_s, struct err *e)
{
	struct host_sums *sums = mem_alloc(v->hosts + 1, sizeof(*sums), e);

	for (size_t i = v->n_host / 2; sums && i < v->n_host; i++) {
		const struct host_point *p = &v->host[i];
		struct host_sums *s = &sums[p->number];
		const double sent = sent_in_step(p, step_s);

		assert(p->number < v->hosts);
		s->last = p;
		if (isfinite(sent)) {
			s->sent += sent;
			s->resent += positive_or_zero(p->retransmits_s);
			s->sent_records++;
		}
		if (p->waits_cpu >= 0) {
			s->waits += MIN(p->waits_cpu, 1);
			s->waits_slow += p->waits_cpu > SIGNS_CPU_WAITS;
			s->waits_records++;
		}
		if (p->cpu >= 0) {
			s->busy += MIN(p->cpu, 1);
			s->busy_records++;
		}
	}
	return sums;
}

int find_traffic_signs(struct traffic_signs *s, const struct evidence *v, double step_s,
		       struct err *e)
{
	struct host_sums *sums = sum_hosts(v, step_s, e);

	*s = (struct traffic_signs){ NAN, NAN, NAN };
	for (size_t i = 0; sums && i < v->hosts; i++) {
		const struct host_sums *x = &sums[i];

		if (!(x->sent_records > 0) || x->sent / x->sent_records <= s->sent_bytes)
			continue;
		s->sent_bytes = x->sent / x->sent_records;
		s->retransmits_s = x->resent / x->sent_records;
		s->link_bytes_s = x->last->link_bytes_s;
	}
	free(sums);
	return sums ? 0 : e->code;
}

int find_cpu_signs(struct cpu_signs *s, const struct evidence *v, struct err *e)
{
	struct host_sums *sums = sum_hosts(v, NAN, e);

	*s = (struct cpu_signs){ .waits = NAN, .busy = NAN, .slow_share = NAN };
	for (size_t i = 0; sums && i < v->hosts; i++) {
		const struct host_sums *x = &sums[i];

		if (!(x->waits_records > 0) || x->waits / x->waits_records <= s->waits)
			continue;
		s->records = (size_t)x->waits_records;
		s->waits = x->waits / x->waits_records;
		s->slow_share = x->waits_slow / x->waits_records;
		s->busy = x->busy_records > 0 ? x->busy / x->busy_records : NAN;
		snprintf(s->host, sizeof(s->host), "%s", x->last->host);
	}
	free(sums);
	return sums ? 0 : e->code;
}

/* ---- batches and checkpoints ------------------------------------------- */

void find_input_signs(struct input_signs *s, const struct evidence *v)
{
	double input = 0, step = 0, slow = 0, n = 0;

	*s = (struct input_signs){ .input_s = NAN, .share = NAN, .slow_share = NAN };
	for (size_t i = 0; i < v->n_train; i++) {
		const struct train_point *p = &v->train[i];

		if (!(p->input_s >= 0 && p->step_s > 0))
			continue;
		s->records++;
		if (i < v->n_train / 2) /* the start-up phase */
			continue;
		input += p->input_s;
		step += p->step_s;
		slow += p->input_s > INPUT_WAIT_HIGH * p->step_s;
		n++;
	}
	if (!(n > 0))
		return;
	s->input_s = input / n;
	s->share = MIN(input / step, 1);
	s->slow_share = slow / n;
}

void find_save_signs(struct save_signs *s, const struct evidence *v)
{
	double seconds = 0, bytes = 0;

	*s = (struct save_signs){ .seconds = NAN, .bytes = NAN, .share = NAN };
	for (size_t i = 0; i < v->n_train; i++)
		if (v->train[i].step_s > 0 && v->train[i].steps > 0)
			s->step_seconds += v->train[i].step_s * v->train[i].steps;
	s->step_seconds += v->lost_s;
	for (size_t i = 0; i < v->n_saves; i++)
		if (v->saves[i].seconds >= 0 && v->saves[i].bytes >= 0) {
			seconds += v->saves[i].seconds;
			bytes += v->saves[i].bytes;
			s->saves++;
		}
	if (!s->saves || !(s->step_seconds > 0))
		return;
	s->seconds = seconds / (double)s->saves;
	s->bytes = bytes / (double)s->saves;
	s->share = seconds / (seconds + s->step_seconds);
}
