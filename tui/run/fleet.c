/* fleet.c - adds journal records to the fleet; see fleet.h. */
#include "tui/run/fleet.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "tui/run/fleet_events.h"
#include "tui/run/fleet_health.h"

#define SERIES_OF_FEW  256 /* points of a host's series while there are few hosts … */
#define FEW_HOSTS      64
#define SERIES_OF_MANY 64 /* … and of later hosts */
#define TRAIL_FULL     250

static void copy_clipped_text(char *to, size_t n, const char *text)
{
	size_t len = strlen(text);

	if (len >= n)
		len = utf8_valid_prefix(text, n - 1);
	memcpy(to, text, len);
	to[len] = 0;
}

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
	copy_clipped_text(name, sizeof(name), whole_name);
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
	copy_clipped_text(h->name, sizeof(h->name), name);
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
static const char *const gpu_fields[] = {
	"index",
	"util",
	"memory_used",
	"memory_total",
	"power_w",
	"temperature_c",
	"power_limit_w",
	"sm_mhz",
	"sm_max_mhz",
	"pcie_tx_bytes_s",
	"pcie_rx_bytes_s",
	"nvlink_tx_bytes_s",
	"nvlink_rx_bytes_s",
	"ecc_uncorrected",
	"ecc_corrected",
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
			copy_clipped_text(g->name, sizeof(g->name), json_text(v, ""));
		break;
	case 't':
		if (!strcmp(name, "throttle"))
			copy_clipped_text(g->throttle, sizeof(g->throttle), json_text(v, ""));
		break;
	default:
		break;
	}
}

static void read_gpu_record(struct fleet_gpu *g, const struct json *r)
{
	double v[ARRAY_LEN(gpu_fields)];

	json_numbers(r, gpu_fields, ARRAY_LEN(gpu_fields), v);
	g->index = v[0] >= 0 && v[0] < 1e6 ? (int)v[0] : -1;
	g->lost = g->mig = false;
	*g->throttle = 0;
	/* One pass over all members, for speed: journals are long. */
	for (const struct json *c = json_first(r); c; c = json_next(r, c))
		read_gpu_text(g, json_child_key(c), c);
	g->util = v[1];
	g->memory_used = v[2];
	g->memory_total = v[3];
	g->power_w = v[4];
	g->temperature_c = v[5];
	/* Hosts with many GPUs omit constant members in later records: keep the old values. */
	if (isfinite(v[6]))
		g->power_limit_w = v[6];
	g->sm_mhz = v[7];
	if (isfinite(v[8]))
		g->sm_max_mhz = v[8];
	g->pcie_tx_bytes_s = v[9];
	g->pcie_rx_bytes_s = v[10];
	g->nvlink_tx_bytes_s = v[11];
	g->nvlink_rx_bytes_s = v[12];
	g->ecc_uncorrected = v[13];
	g->ecc_corrected = v[14];
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

static const char *const host_fields[] = {
	"ranks",
	"cpu",
	"load",
	"waits_cpu",
	"waits_io",
	"waits_memory",
	"memory_used",
	"memory_total",
	"disk_free",
	"disk_read_bytes_s",
	"disk_write_bytes_s",
	"rx_bytes_s",
	"tx_bytes_s",
	"rx_peak_bytes_s",
	"tx_peak_bytes_s",
	"link_bytes_s",
	"retransmits_s",
};

static void read_host_numbers(struct fleet_host *h, const struct json *r)
{
	double v[ARRAY_LEN(host_fields)];
	double *const to[] = {
		NULL,
		&h->cpu,
		&h->load,
		&h->waits_cpu,
		&h->waits_io,
		&h->waits_memory,
		&h->memory_used,
		&h->memory_total,
		&h->disk_free,
		&h->disk_read_bytes_s,
		&h->disk_write_bytes_s,
		&h->rx_bytes_s,
		&h->tx_bytes_s,
		&h->rx_peak_bytes_s,
		&h->tx_peak_bytes_s,
		&h->link_bytes_s,
		&h->retransmits_s,
	};

	json_numbers(r, host_fields, ARRAY_LEN(host_fields), v);
	h->ranks = v[0] >= 0 && v[0] < 1e9 ? (int64_t)v[0] : -1;
	for (size_t i = 1; i < ARRAY_LEN(to); i++)
		*to[i] = v[i];
}

int fleet_add_host_record(struct fleet *f, const struct json *r, double t, int64_t step,
			  struct err *e)
{
	struct fleet_host *h = find_or_add_host(f, json_text(json_get(r, "host"), ""), e);

	if (!h)
		return e->code;
	h->t = t;
	h->step = step;
	h->present = true;
	copy_clipped_text(h->interface, sizeof(h->interface),
			  json_text(json_get(r, "interface"), ""));
	copy_clipped_text(h->link_from, sizeof(h->link_from),
			  json_text(json_get(r, "link_from"), ""));
	read_host_numbers(h, r);
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
	static const char *const fields[] = { "rank",	   "step_s", "input_s",	 "compute_s",
					      "exposed_s", "wait_s", "update_s", "sent_bytes" };
	double v[ARRAY_LEN(fields)];
	const char *host = json_text(json_get(r, "host"), "");
	struct fleet_rank *rank;
	bool there;
	size_t at;

	json_numbers(r, fields, ARRAY_LEN(fields), v);
	if (!(v[0] >= 0 && v[0] < FLEET_RANKS)) {
		f->left_out++;
		return 0;
	}
	if (reserve_rank(f, (size_t)v[0], e))
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
	move_rank(f, (int)v[0], there ? (int)at : -1);
	rank = &f->ranks[(size_t)v[0]];
	*rank = (struct fleet_rank){ true, rank->host, rank->next, t,	 v[1], v[2],
				     v[3], v[4],       v[5],	   v[6], v[7], f->rounds };
	return 0;
}

void fleet_set_verdict(struct fleet *f, const struct json *r, double t, int64_t step)
{
	static const char *const fields[] = { "exposed_share", "predicted_bytes", "observed_bytes",
					      "busbw_bytes_s", "link_bytes_s" };
	struct fleet_verdict *v = &f->verdict;
	double n[ARRAY_LEN(fields)];

	json_numbers(r, fields, ARRAY_LEN(fields), n);
	v->t = t;
	v->step = step;
	copy_clipped_text(v->network, sizeof(v->network),
			  json_text(json_get(r, "network"), "unknown"));
	copy_clipped_text(v->text, sizeof(v->text), json_text(json_get(r, "text"), ""));
	copy_clipped_text(v->late_host, sizeof(v->late_host),
			  json_text(json_get(r, "late_host"), ""));
	v->late_rank = json_integer(json_get(r, "late_rank"), -1);
	v->exposed_share = n[0];
	v->predicted_bytes = n[1];
	v->observed_bytes = n[2];
	v->busbw_bytes_s = n[3];
	v->link_bytes_s = n[4];
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
