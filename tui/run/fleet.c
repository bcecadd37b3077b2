/* fleet.c - adds journal records to the fleet; see fleet.h. */
#include "tui/run/fleet.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "tui/run/fleet_events.h"
#include "tui/run/fleet_health.h"
#include "tui/run/record_fields.h"

#define SERIES_OF_FEW  256 /* points of a host's series while there are few hosts … */
#define FEW_HOSTS      64
#define SERIES_OF_MANY 64 /* … and of later hosts */
#define TRAIL_FULL     250

void fleet_init(struct fleet *f)
{
	*f = (struct fleet){ .verdict = { .t = NAN, .step = -1, .late_rank = -1 },
			     .median_compute = NAN,
			     .first_t = NAN,
			     .last_t = NAN };
}

enum { HOST_SERIES = 7 };

static struct series *host_series(struct fleet_host *h, int i)
{
	struct series *all[HOST_SERIES] = { &h->rx,   &h->tx,	 &h->processors, &h->working,
					    &h->busy, &h->power, &h->retransmits };

	assert(i >= 0 && i < HOST_SERIES);
	return all[i];
}

static void free_host(struct fleet_host *h)
{
	for (int i = 0; i < HOST_SERIES; i++)
		series_free(host_series(h, i));
	free(h->gpus);
}

void fleet_free(struct fleet *f)
{
	for (size_t i = 0; i < f->n_hosts; i++)
		free_host(&f->hosts[i]);
	free(f->hosts);
	free(f->ranks);
	free(f->order);
	free(f->odd_first);
	fleet_init(f);
}

/* ---- hosts ---- */

/* Natural order: digits compare by value, so n2 is before n10. */
static int compare_natural_order(const char *a, const char *b)
{
	while (*a && *b) {
		size_t i = strspn(a, "0123456789"), k = strspn(b, "0123456789");

		if (i && k && i < 18 && k < 18) {
			unsigned long long x = strtoull(a, NULL, 10), y = strtoull(b, NULL, 10);

			if (x != y)
				return x < y ? -1 : 1;
			if (i != k)
				return i < k ? -1 : 1;
			a += i;
			b += k;
			continue;
		}
		if (*a != *b)
			return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
		a++;
		b++;
	}
	return (*a != 0) - (*b != 0);
}

/* The index of the host, or where it must be inserted. */
static size_t host_position(struct fleet *f, const char *name, bool *there)
{
	size_t low = 0, high = f->n_hosts;

	/* Records of the same host are usually consecutive. */
	*there = true;
	for (size_t i = f->recent; i < f->n_hosts && i < f->recent + 2; i++)
		if (!strcmp(f->hosts[i].name, name))
			return f->recent = i;
	*there = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_natural_order(f->hosts[middle].name, name);

		if (!order) {
			*there = true;
			return f->recent = middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The host of that name, added if it is new. NULL with e->code 0: no room. */
static struct fleet_host *find_or_add_host(struct fleet *f, const char *whole_name, struct err *e)
{
	char name[FLEET_NAME];
	struct fleet_host *h;
	bool there;
	size_t at;

	e->code = 0;
	record_copy_text(name, sizeof(name), whole_name);
	at = host_position(f, name, &there);
	if (there)
		return &f->hosts[at];
	if (f->n_hosts == FLEET_HOSTS) {
		f->left_out++;
		return NULL;
	}
	if (mem_grow(&f->hosts, &f->cap_hosts, f->n_hosts + 1, sizeof(*f->hosts), e) ||
	    mem_grow(&f->odd_first, &f->cap_odd_first, f->n_hosts + 1, sizeof(*f->odd_first), e))
		return NULL;
	f->odd_first[f->n_hosts] = (int)f->n_hosts;
	assert(at <= f->n_hosts && f->n_hosts < f->cap_hosts);
	h = &f->hosts[at];
	memmove(h + 1, h, (f->n_hosts - at) * sizeof(*h));
	*h = (struct fleet_host){ .t = NAN, .step = -1, .ranks = -1, .first_rank = -1 };
	record_copy_text(h->name, sizeof(h->name), name);
	for (int i = 0; i < HOST_SERIES; i++)
		series_init_small(host_series(h, i),
				  f->n_hosts < FEW_HOSTS ? SERIES_OF_FEW : SERIES_OF_MANY);
	f->n_hosts++;
	/* appended, as most are, it moves no other host */
	for (size_t i = 0; at + 1 < f->n_hosts && i < f->n_ranks; i++)
		if (f->ranks[i].host >= (int)at)
			f->ranks[i].host++;
	for (size_t i = 0; i < FLEET_EVENTS; i++)
		if (f->events[i].host >= (int)at)
			f->events[i].host++;
	return h;
}

/* ---- GPUs ---- */

/* In the order of the record's members, which makes the lookup fast. */
static const struct number_field gpu_fields[] = {
	NUMBER_FIELD(fleet_gpu, util),
	NUMBER_FIELD(fleet_gpu, memory_used),
	NUMBER_FIELD(fleet_gpu, memory_total),
	NUMBER_FIELD(fleet_gpu, power_w),
	NUMBER_FIELD(fleet_gpu, temperature_c),
	/* Hosts with many GPUs omit constant members in later records. */
	CONSTANT_FIELD(fleet_gpu, power_limit_w),
	NUMBER_FIELD(fleet_gpu, sm_mhz),
	CONSTANT_FIELD(fleet_gpu, sm_max_mhz),
	NUMBER_FIELD(fleet_gpu, pcie_tx_bytes_s),
	NUMBER_FIELD(fleet_gpu, pcie_rx_bytes_s),
	NUMBER_FIELD(fleet_gpu, nvlink_tx_bytes_s),
	NUMBER_FIELD(fleet_gpu, nvlink_rx_bytes_s),
	NUMBER_FIELD(fleet_gpu, ecc_uncorrected),
	NUMBER_FIELD(fleet_gpu, ecc_corrected),
};

static void read_gpu_text(struct fleet_gpu *g, const char *name, const struct json *v)
{
	switch (*name) {
	case 'l':
		g->lost |= !strcmp(name, "lost") && json_boolean(v, false);
		break;
	case 'm':
		g->mig |= !strcmp(name, "mig") && json_boolean(v, false);
		break;
	case 'n':
		if (!strcmp(name, "name") && json_text(v, NULL))
			record_copy_text(g->name, sizeof(g->name), json_text(v, ""));
		break;
	case 't':
		if (!strcmp(name, "throttle"))
			record_copy_text(g->throttle, sizeof(g->throttle), json_text(v, ""));
		break;
	default:
		break;
	}
}

static void read_gpu_record(struct fleet_gpu *g, const struct json *r)
{
	double index = json_number(json_get(r, "index"), NAN);

	record_read_numbers(r, gpu_fields, ARRAY_LEN(gpu_fields), g);
	g->index = index >= 0 && index < 1e6 ? (int)index : -1;
	g->lost = g->mig = false;
	*g->throttle = 0;
	/* One pass over all members, for speed: journals are long. */
	for (const struct json *c = json_first(r); c; c = json_next(r, c))
		read_gpu_text(g, json_child_key(c), c);
}

static int read_gpu_list(struct fleet *f, struct fleet_host *h, const struct json *list,
			 struct err *e)
{
	size_t n = json_len(list), i = 0;

	if (n > FLEET_GPUS) {
		f->left_out++;
		n = FLEET_GPUS;
	}
	if (n > h->cap_gpus) {
		struct fleet_gpu *more = mem_alloc(n, sizeof(*more), e);

		if (!more)
			return e->code;
		if (h->n_gpus)
			memcpy(more, h->gpus, h->n_gpus * sizeof(*more));
		for (size_t k = h->n_gpus; k < n; k++) {
			more[k].power_limit_w = more[k].sm_max_mhz = NAN;
			more[k].last_corrected = more[k].last_uncorrected = NAN;
			memset(&more[k].working, FLEET_UNKNOWN, sizeof(more[k].working));
			memset(&more[k].power, FLEET_UNKNOWN, sizeof(more[k].power));
		}
		free(h->gpus);
		h->gpus = more;
		h->cap_gpus = n;
	}
	h->n_gpus = MAX(h->n_gpus, n);
	for (const struct json *c = json_first(list); c && i < n; c = json_next(list, c), i++)
		read_gpu_record(&h->gpus[i], c);
	/* GPUs missing at the end of the list have unknown values. */
	for (; i < h->n_gpus; i++)
		h->gpus[i].util = h->gpus[i].power_w = h->gpus[i].memory_used = NAN;
	return 0;
}

/* ---- trails ---- */

static uint8_t trail_byte(double share)
{
	return share >= 0 ? (uint8_t)lround(MIN(share, 1.0) * TRAIL_FULL) : FLEET_UNKNOWN;
}

static uint8_t trail_mean(uint8_t a, uint8_t b, unsigned wa, unsigned wb)
{
	if (a == FLEET_UNKNOWN || b == FLEET_UNKNOWN)
		return a == FLEET_UNKNOWN ? b : a;
	return (uint8_t)((a * wa + b * wb + (wa + wb) / 2) / (wa + wb));
}

static void halve_trail(struct fleet_trail *t)
{
	for (int i = 0; i < FLEET_TRAIL / 2; i++)
		t->share[i] = trail_mean(t->share[2 * i], t->share[2 * i + 1], 1, 1);
	memset(t->share + FLEET_TRAIL / 2, FLEET_UNKNOWN, FLEET_TRAIL / 2);
}

static void add_to_trail(const struct fleet_host *h, struct fleet_trail *t, double share)
{
	uint8_t *last = &t->share[h->columns - 1];

	assert(h->columns >= 1 && h->columns <= FLEET_TRAIL && h->rounds_in_last >= 1);
	*last = h->rounds_in_last == 1
			? trail_byte(share)
			: trail_mean(*last, trail_byte(share), h->rounds_in_last - 1, 1);
}

static void begin_round(struct fleet_host *h)
{
	if (!h->rounds_a_column)
		h->rounds_a_column = 1;
	if (h->columns && h->rounds_in_last < h->rounds_a_column) {
		h->rounds_in_last++;
		return;
	}
	if (h->columns == FLEET_TRAIL) {
		for (size_t i = 0; i < h->n_gpus; i++) {
			halve_trail(&h->gpus[i].working);
			halve_trail(&h->gpus[i].power);
		}
		h->columns /= 2;
		if (h->rounds_a_column < 1u << 24)
			h->rounds_a_column *= 2;
	}
	assert(h->columns < FLEET_TRAIL); /* a full trail was halved above */
	h->columns++;
	h->rounds_in_last = 1;
}

/* Add the means over the host's GPUs to its series, and a column to each trail. */
static int add_round(struct fleet *f, struct fleet_host *h, double step, struct err *e)
{
	double working = 0, power = 0, work = NAN;
	struct fleet_time_split split = fleet_host_time_split(f, (int)(h - f->hosts));
	double works[FLEET_GPUS];
	size_t n = 0, n_power = 0;

	begin_round(h);
	fleet_gpu_work(f, (int)(h - f->hosts), works);
	for (size_t i = 0; i < h->n_gpus; i++) {
		struct fleet_gpu *g = &h->gpus[i];
		double share = isnan(works[i]) ? g->util : works[i] * g->util;

		add_to_trail(h, &g->working, share);
		add_to_trail(h, &g->power, g->power_w / g->power_limit_w);
		if (share >= 0)
			working += share, n++;
		if (g->power_w >= 0)
			power += g->power_w, n_power++;
	}
	if (!h->n_gpus)
		work = split.compute + split.update;
	if (step < 0)
		return 0;
	if (series_add(&h->working, step, n ? working / (double)n : work, e) ||
	    series_add(&h->busy, step, h->n_gpus ? fleet_host_util(h) : h->cpu, e) ||
	    series_add(&h->power, step, n_power ? power : NAN, e))
		return e->code;
	return 0;
}

/* ---- records ---- */

static const struct number_field host_fields[] = {
	NUMBER_FIELD(fleet_host, cpu),
	NUMBER_FIELD(fleet_host, load),
	NUMBER_FIELD(fleet_host, waits_cpu),
	NUMBER_FIELD(fleet_host, waits_io),
	NUMBER_FIELD(fleet_host, waits_memory),
	NUMBER_FIELD(fleet_host, memory_used),
	NUMBER_FIELD(fleet_host, memory_total),
	NUMBER_FIELD(fleet_host, disk_free),
	NUMBER_FIELD(fleet_host, disk_read_bytes_s),
	NUMBER_FIELD(fleet_host, disk_write_bytes_s),
	NUMBER_FIELD(fleet_host, rx_bytes_s),
	NUMBER_FIELD(fleet_host, tx_bytes_s),
	NUMBER_FIELD(fleet_host, rx_peak_bytes_s),
	NUMBER_FIELD(fleet_host, tx_peak_bytes_s),
	NUMBER_FIELD(fleet_host, link_bytes_s),
	NUMBER_FIELD(fleet_host, retransmits_s),
};

int fleet_add_host_record(struct fleet *f, const struct json *r, double t, int64_t step,
			  struct err *e)
{
	struct fleet_host *h = find_or_add_host(f, json_text(json_get(r, "host"), ""), e);
	double ranks;

	if (!h)
		return e->code;
	h->t = t;
	h->step = step;
	h->present = true;
	RECORD_COPY(h->interface, r, "interface");
	RECORD_COPY(h->link_from, r, "link_from");
	ranks = json_number(json_get(r, "ranks"), NAN);
	h->ranks = ranks >= 0 && ranks < 1e9 ? (int64_t)ranks : -1;
	record_read_numbers(r, host_fields, ARRAY_LEN(host_fields), h);
	if (read_gpu_list(f, h, json_get(r, "gpus"), e) || add_round(f, h, (double)step, e))
		return e->code;
	if (isfinite(t)) {
		f->first_t = isfinite(f->first_t) ? MIN(f->first_t, t) : t;
		f->last_t = isfinite(f->last_t) ? MAX(f->last_t, t) : t;
	}
	fleet_watch_host(f, h);
	if (step < 0)
		return 0;
	if (series_add(&h->rx, (double)step, h->rx_bytes_s * 8, e) ||
	    series_add(&h->tx, (double)step, h->tx_bytes_s * 8, e) ||
	    series_add(&h->processors, (double)step, h->cpu, e) ||
	    series_add(&h->retransmits, (double)step, h->retransmits_s, e))
		return e->code;
	return 0;
}

static int reserve_rank(struct fleet *f, size_t rank, struct err *e)
{
	if (rank < f->n_ranks)
		return 0;
	if (mem_grow(&f->ranks, &f->cap_ranks, rank + 1, sizeof(*f->ranks), e) ||
	    mem_grow(&f->order, &f->cap_order, rank + 1, sizeof(*f->order), e))
		return e->code;
	for (; f->n_ranks <= rank; f->n_ranks++)
		f->ranks[f->n_ranks] = (struct fleet_rank){ .host = -1, .next = -1, .t = NAN };
	return 0;
}

/* Insert the rank into its host's list, sorted by number. */
static void move_rank(struct fleet *f, int rank, int host)
{
	struct fleet_rank *r = &f->ranks[rank];
	int *link;

	assert(rank >= 0 && (size_t)rank < f->n_ranks && host < (int)f->n_hosts);
	if (r->host == host)
		return;
	if (r->host >= 0) {
		for (link = &f->hosts[r->host].first_rank; *link != rank;)
			link = &f->ranks[*link].next;
		*link = r->next;
	}
	r->host = host;
	r->next = -1;
	if (host < 0)
		return;
	for (link = &f->hosts[host].first_rank; *link >= 0 && *link < rank;)
		link = &f->ranks[*link].next;
	r->next = *link;
	*link = rank;
}

int fleet_add_rank_record(struct fleet *f, const struct json *r, double t, struct err *e)
{
	static const struct number_field fields[] = {
		NUMBER_FIELD(fleet_rank, step_s),     NUMBER_FIELD(fleet_rank, input_s),
		NUMBER_FIELD(fleet_rank, compute_s),  NUMBER_FIELD(fleet_rank, exposed_s),
		NUMBER_FIELD(fleet_rank, wait_s),     NUMBER_FIELD(fleet_rank, update_s),
		NUMBER_FIELD(fleet_rank, sent_bytes),
	};
	const double number = json_number(json_get(r, "rank"), NAN);
	const char *host = json_text(json_get(r, "host"), "");
	struct fleet_rank *rank;
	bool there;
	size_t at;

	if (!(number >= 0 && number < FLEET_RANKS)) {
		f->left_out++;
		return 0;
	}
	if (reserve_rank(f, (size_t)number, e))
		return e->code;
	/* Rank records precede host records, so this may add the host. */
	e->code = 0;
	at = host_position(f, host, &there);
	if (!there && *host) {
		struct fleet_host *h = find_or_add_host(f, host, e);

		if (e->code)
			return e->code;
		at = h ? (size_t)(h - f->hosts) : 0;
		there = h != NULL;
	}
	if (there)
		f->hosts[at].present = true;
	move_rank(f, (int)number, there ? (int)at : -1);
	rank = &f->ranks[(size_t)number];
	rank->known = true;
	rank->t = t;
	rank->round = f->rounds;
	record_read_numbers(r, fields, ARRAY_LEN(fields), rank);
	return 0;
}

void fleet_set_verdict(struct fleet *f, const struct json *r, double t, int64_t step)
{
	static const struct number_field fields[] = {
		NUMBER_FIELD(fleet_verdict, exposed_share),
		NUMBER_FIELD(fleet_verdict, predicted_bytes),
		NUMBER_FIELD(fleet_verdict, observed_bytes),
		NUMBER_FIELD(fleet_verdict, busbw_bytes_s),
		NUMBER_FIELD(fleet_verdict, link_bytes_s),
	};
	struct fleet_verdict *v = &f->verdict;

	record_read_numbers(r, fields, ARRAY_LEN(fields), v);
	v->t = t;
	v->step = step;
	record_copy_text(v->network, sizeof(v->network),
			 json_text(json_get(r, "network"), "unknown"));
	RECORD_COPY(v->text, r, "text");
	RECORD_COPY(v->late_host, r, "late_host");
	v->late_rank = json_integer(json_get(r, "late_rank"), -1);
	fleet_end_round(f);
	fleet_watch_round(f, t);
}

void fleet_begin_attempt(struct fleet *f, double t)
{
	if (f->n_hosts)
		fleet_add_event(f, -1, EVENT_RESTART, t, "the run restarted");
	f->n_ranks = 0;
	f->median_compute = NAN;
	f->verdict.t = NAN;
	for (size_t i = 0; i < f->n_hosts; i++) {
		f->hosts[i].was_present |= f->hosts[i].present;
		f->hosts[i].present = false;
		f->hosts[i].first_rank = -1;
		f->hosts[i].rounds = 0;
	}
}

void fleet_truncate(struct fleet *f, double step)
{
	for (size_t i = 0; i < f->n_hosts; i++)
		for (int k = 0; k < HOST_SERIES; k++)
			series_truncate(host_series(&f->hosts[i], k), step);
}
