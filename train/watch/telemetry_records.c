/* telemetry_records.c - writes the records of telemetry to the journal; see telemetry_internal.h */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "train/watch/telemetry_internal.h"

#define MANY_RANKS 64	/* with more: records of each host's first rank and of stragglers only */
#define GPUS_BYTES 3000 /* limit of the GPUs in a host's line; the rest needs less than 1000 */

/* ---- numbers: unknown ones are omitted --------------------------------- */

static void put_rounded_real(struct json_writer *w, const char *key, double v, double digits)
{
	if (!isfinite(v))
		return;
	json_put_real(w, key, round(v * digits) / digits);
}

static void put_seconds(struct json_writer *w, const char *key, double v)
{
	put_rounded_real(w, key, v, 1e6);
}

static void put_known_count(struct json_writer *w, const char *key, double v)
{
	if (!(v >= 0 && v < 9e18))
		return;
	json_put_int(w, key, (int64_t)(v + 0.5));
}

static void put_text_if_any(struct json_writer *w, const char *key, const char *text)
{
	if (!*text)
		return;
	json_put_str(w, key, text);
}

/* ---- evidence from the rows -------------------------------------------- */

static int telemetry_cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * The median of the compute times. With an even number of ranks the lower of the two middle ones,
 * so that the slower of two ranks counts as slow.
 */
static double median_compute(const struct telemetry_rows *r, double *order)
{
	size_t n = 0;

	for (int i = 0; i < r->n; i++) {
		const struct telemetry_row *row = telemetry_row(r, i);

		if (row->steps > 0 && isfinite(row->mean.compute))
			order[n++] = row->mean.compute;
	}
	if (!n)
		return NAN;
	qsort(order, n, sizeof(*order), telemetry_cmp_double);
	return order[(n - 1) / 2];
}

static bool is_late(const struct telemetry_row *row, double median)
{
	return row->steps > 0 && row->mean.compute > TELEMETRY_LATE_SHARE * median;
}

static double larger_known(double a, double b)
{
	return isnan(a) || b > a ? b : a;
}

static double smaller_known(double a, double b)
{
	return isnan(a) || b < a ? b : a;
}

/* has_start: the speed of the link was measured at the start of the training. */
static void add_host(struct network_evidence *v, const struct host_report *h, bool has_start)
{
	v->hosts++;
	v->observed_bytes = larger_known(v->observed_bytes, h->tx_step_bytes);
	v->retransmits_s = larger_known(v->retransmits_s, h->retransmits_step / v->step_s);
	/*
	 * Not the highest rate seen: compared with it, the link would always look saturated. The
	 * measurement at the start is newer than that of "werkbank hosts bandwidth".
	 */
	if (h->link_from != HOST_LINK_SEEN && !(h->link_from == HOST_LINK_MEASURED && has_start))
		v->link_bytes_s = smaller_known(v->link_bytes_s, h->link_bytes_s);
}

/*
 * Reductions per step: 1. With local steps: how often weights were averaged since the last report,
 * which follows from the sent bytes, divided by the steps.
 */
static double reductions_per_step(const struct telemetry_rows *r,
				  const struct telemetry_options *how)
{
	const struct telemetry_row *first = telemetry_row(r, 0);
	double full = network_bytes_sent(how->gradient_bytes * first->mean.wire_ratio, r->n);
	double steps = (double)first->steps;

	if (how->local_steps <= 1 || !first->steps || !(full > 0))
		return 1;
	return round(first->mean.sent_bytes * steps / full) / steps;
}

/* *v = evidence about the network. Ranks without steps are ignored. */
static void find_network_evidence(const struct telemetry_rows *r,
				  const struct telemetry_options *how, double *order,
				  struct network_evidence *v)
{
	const struct telemetry_row *first = telemetry_row(r, 0);
	const bool has_start = how->link.latency_s > 0 && how->link.bytes_s > 0;
	double median = median_compute(r, order);

	assert(r->n >= 1);
	*v = (struct network_evidence){
		.ranks = r->n,
		.step_s = first->steps ? first->mean.step : NAN,
		.compute_s = first->mean.compute,
		.exposed_s = first->mean.exposed,
		.wait_s = first->mean.wait,
		.gradient_bytes = how->gradient_bytes,
		.wire_ratio = first->mean.wire_ratio,
		.reductions = reductions_per_step(r, how),
		.observed_bytes = NAN,
		.link_bytes_s = has_start ? how->link.bytes_s : NAN,
		.latency_s = how->link.latency_s > 0 ? how->link.latency_s : NAN,
		.light_lost = how->link.latency_s > 0 ? how->link.lost : NAN,
		.buckets = how->buckets > 0 ? how->buckets : NAN,
		.transfer_s = first->mean.transfer > 0 ? first->mean.transfer : NAN,
		.retransmits_s = NAN,
		.slowest_share = NAN,
		.slowest_rank = -1,
	};
	for (int i = 0; i < r->n; i++) {
		const struct telemetry_row *row = telemetry_row(r, i);

		if (!row->local_rank)
			add_host(v, &row->report, has_start);
		if (row->steps > 0 && median > 0 &&
		    row->mean.compute / median ==
			    larger_known(v->slowest_share, row->mean.compute / median)) {
			v->slowest_share = row->mean.compute / median;
			v->slowest_rank = i;
		}
	}
}

/* ---- the records ------------------------------------------------------- */

static int write_rank(const struct telemetry_row *row, int rank, int64_t step, struct journal *j,
		      struct err *e)
{
	struct json_writer *w = journal_begin(j, "rank", step);
	const struct step_times *m = &row->mean;

	json_put_int(w, "rank", rank);
	put_text_if_any(w, "host", row->host);
	if (row->steps) {
		put_seconds(w, "step_s", m->step);
		put_seconds(w, "input_s", m->input);
		put_seconds(w, "compute_s", m->compute);
		put_seconds(w, "exposed_s", m->exposed);
		put_seconds(w, "wait_s", m->wait);
		put_seconds(w, "update_s", m->update);
		put_known_count(w, "sent_bytes", m->sent_bytes);
	}
	return journal_end(j, e);
}

/* Detail of the GPUs in a record: a line has a limited length. */
enum detail { ALL_OF_IT, WITHOUT_TRAFFIC, THE_MOST_NEEDED };

static void put_gpu(struct json_writer *w, const struct host_gpu *g, enum detail detail)
{
	char words[200];

	json_open(w, '{');
	json_put_int(w, "index", g->index);
	if (detail < THE_MOST_NEEDED)
		put_text_if_any(w, "name", g->name);
	if (g->lost || g->mig)
		json_put_bool(w, g->lost ? "lost" : "mig", true);
	put_rounded_real(w, "util", g->util, 1e3);
	put_known_count(w, "memory_used", g->memory_used);
	put_known_count(w, "memory_total", g->memory_total);
	put_rounded_real(w, "power_w", g->power_w, 10);
	put_rounded_real(w, "temperature_c", g->temperature_c, 10);
	put_text_if_any(w, "throttle",
			host_throttle_words(g->throttle, words,
					    detail < THE_MOST_NEEDED ? sizeof(words) : 40));
	put_known_count(w, "ecc_uncorrected", g->ecc_uncorrected);
	if (detail < THE_MOST_NEEDED) {
		put_known_count(w, "ecc_corrected", g->ecc_corrected);
		put_rounded_real(w, "power_limit_w", g->power_limit_w, 10);
		put_known_count(w, "sm_mhz", g->sm_mhz);
		put_known_count(w, "sm_max_mhz", g->sm_max_mhz);
	}
	if (detail == ALL_OF_IT) {
		put_known_count(w, "pcie_tx_bytes_s", g->pcie_tx_bytes_s);
		put_known_count(w, "pcie_rx_bytes_s", g->pcie_rx_bytes_s);
		put_known_count(w, "nvlink_tx_bytes_s", g->nvlink_tx_bytes_s);
		put_known_count(w, "nvlink_rx_bytes_s", g->nvlink_rx_bytes_s);
	}
	json_close(w, '}');
}

static void put_gpus(struct json_writer *w, const struct telemetry_row *row, enum detail detail)
{
	json_put_open(w, "gpus", '[');
	for (int i = 0; i < MIN(row->report.n_gpus, HOST_GPUS_MAX); i++)
		put_gpu(w, &row->gpus[i], detail);
	json_close(w, ']');
}

/* Write the GPUs with as much detail as fits into GPUS_BYTES. */
static void put_fitting_gpus(struct json_writer *w, const struct telemetry_row *row)
{
	enum detail detail;

	for (detail = ALL_OF_IT; detail < THE_MOST_NEEDED; detail++) {
		struct buf text = { 0 };
		struct json_writer trial = { .out = &text };
		size_t n;

		put_gpus(&trial, row, detail);
		n = text.len;
		buf_free_part(&text, w->out);
		if (n <= GPUS_BYTES)
			break;
	}
	put_gpus(w, row, detail);
}

static void put_network(struct json_writer *w, const struct host_report *h)
{
	static const char *const from[] = {
		[HOST_LINK_UNKNOWN] = "",
		[HOST_LINK_DRIVER] = "driver",
		[HOST_LINK_MEASURED] = "measured",
		[HOST_LINK_SEEN] = "seen",
	};

	put_text_if_any(w, "interface", h->interface);
	put_known_count(w, "rx_bytes_s", h->rx_bytes_s);
	put_known_count(w, "tx_bytes_s", h->tx_bytes_s);
	put_known_count(w, "rx_peak_bytes_s", h->rx_peak_bytes_s);
	put_known_count(w, "tx_peak_bytes_s", h->tx_peak_bytes_s);
	put_known_count(w, "link_bytes_s", h->link_bytes_s);
	if ((size_t)h->link_from < ARRAY_LEN(from))
		put_text_if_any(w, "link_from", from[h->link_from]);
	put_rounded_real(w, "retransmits_s", h->retransmits_s, 1e3);
	put_known_count(w, "tx_step_bytes", h->tx_step_bytes);
}

static int write_host(const struct telemetry_row *row, int64_t step, struct journal *j,
		      struct err *e)
{
	struct json_writer *w = journal_begin(j, "host", step);
	const struct host_report *h = &row->report;

	put_text_if_any(w, "host", row->host);
	json_put_int(w, "ranks", row->local_size);
	put_rounded_real(w, "cpu", h->cpu, 1e4);
	put_rounded_real(w, "load", h->load, 100);
	put_rounded_real(w, "waits_cpu", h->waits_cpu, 1e4);
	put_rounded_real(w, "waits_io", h->waits_io, 1e4);
	put_rounded_real(w, "waits_memory", h->waits_memory, 1e4);
	put_known_count(w, "memory_used", h->memory_used);
	put_known_count(w, "memory_total", h->memory_total);
	put_known_count(w, "disk_free", h->disk_free);
	put_known_count(w, "disk_read_bytes_s", h->disk_read_bytes_s);
	put_known_count(w, "disk_write_bytes_s", h->disk_write_bytes_s);
	put_network(w, h);
	if (h->n_gpus > 0)
		put_fitting_gpus(w, row);
	return journal_end(j, e);
}

static int write_verdict(const struct telemetry_rows *r, const struct network_evidence *v,
			 int64_t step, struct journal *j, struct err *e)
{
	struct network_verdict verdict;
	struct json_writer *w;

	network_diagnose(v, &verdict);
	w = journal_begin(j, "verdict", step);
	json_put_str(w, "network", network_answer_name(verdict.answer));
	json_put_str(w, "text", verdict.text);
	put_rounded_real(w, "exposed_share", verdict.exposed_share, 1e4);
	put_known_count(w, "predicted_bytes", verdict.predicted_bytes);
	put_known_count(w, "observed_bytes", verdict.observed_bytes);
	put_known_count(w, "busbw_bytes_s", verdict.busbw_bytes_s);
	put_known_count(w, "link_bytes_s", verdict.link_bytes_s);
	put_rounded_real(w, "latency_s", v->latency_s, 1e6);
	if (v->slowest_rank >= 0 && v->slowest_share > TELEMETRY_LATE_SHARE) {
		json_put_int(w, "late_rank", v->slowest_rank);
		put_text_if_any(w, "late_host", telemetry_row(r, v->slowest_rank)->host);
	}
	return journal_end(j, e);
}

int telemetry_write(const struct telemetry_rows *r, const struct telemetry_options *how,
		    double *order, int64_t step, struct journal *j, struct err *e)
{
	struct network_evidence v;
	double median;
	int rc = 0;

	find_network_evidence(r, how, order, &v);
	median = median_compute(r, order);
	for (int i = 0; !rc && i < r->n; i++) {
		const struct telemetry_row *row = telemetry_row(r, i);

		if (r->n <= MANY_RANKS || !row->local_rank || is_late(row, median))
			rc = write_rank(row, i, step, j, e);
	}
	for (int i = 0; !rc && i < r->n; i++)
		if (!telemetry_row(r, i)->local_rank)
			rc = write_host(telemetry_row(r, i), step, j, e);
	return rc ? rc : write_verdict(r, &v, step, j, e);
}
