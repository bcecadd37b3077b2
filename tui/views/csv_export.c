/* csv_export.c - writes series, hosts and log as CSV; see csv_export.h. */
#include "tui/views/csv_export.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/util.h"
#include "share/format/json.h"

void csv_put_field(struct buf *out, const char *text, char end)
{
	if (strpbrk(text, ",\"\r\n")) {
		buf_add_char(out, '"');
		for (; *text; text++) {
			if (*text == '"')
				buf_add_char(out, '"');
			buf_add_char(out, *text);
		}
		buf_add_char(out, '"');
	} else {
		buf_add_str(out, text);
	}
	buf_add_char(out, end);
}

void csv_put_number(struct buf *out, double value, char end)
{
	struct json_writer w = { .out = out }; /* the JSON writer has the shortest exact form */

	if (isfinite(value))
		json_real(&w, value);
	buf_add_char(out, end);
}

static double point_middle(const struct series_point *p)
{
	return p->first + (p->last - p->first) / 2;
}

/* The clock of a series: an evaluation ends later than the training record of its step. */
static const struct series *wall_of(const struct run_history *h, const struct series *s)
{
	bool is_eval = s == &h->bleu || s == &h->dev_nll || s == &h->sample_nll;

	return is_eval ? &h->eval_wall : &h->wall;
}

/* Unix time at a step, interpolated between its neighbours. */
static double wall_at(const struct series *s, double x)
{
	const struct series_point *p = series_nearest(s, x), *q = p;
	double a, b;

	if (!p)
		return NAN;
	if (x > point_middle(p) && p + 1 < s->points + s->n)
		q = p + 1;
	else if (x < point_middle(p) && p > s->points)
		q = p - 1;
	a = point_middle(p);
	b = point_middle(q);
	if (a == b || isnan(series_mean(q)))
		return series_mean(p);
	return series_mean(p) + (series_mean(q) - series_mean(p)) * (x - a) / (b - a);
}

void csv_put_series(const struct run_history *h, const struct series *s, struct buf *out)
{
	buf_add_str(out, "Wall time,Step,Value\n");
	for (size_t i = 0; i < s->n; i++) {
		const struct series_point *p = &s->points[i];
		double wall = wall_at(wall_of(h, s), p->last);

		csv_put_number(out, round(wall * 1000) / 1000, ',');
		buf_printf(out, "%.0f,", p->last);
		if (p->n)
			csv_put_number(out, series_mean(p), '\n');
		else
			buf_add_str(out, "nan\n");
	}
}

/* Make a file name of a tag: "train/loss" gives RUN-train_loss.csv. */
static void name_file(const struct app_context *w, const char *tag, char *name, size_t size)
{
	snprintf(name, size, "%.100s-%.60s.csv", w->history->name, tag);
	for (char *c = name; *c; c++)
		if (*c == '/' || *c == ' ')
			*c = '_';
}

void csv_export_series(struct app_context *w, const struct csv_series *items, size_t n)
{
	struct buf out = { 0 };
	char name[200] = "";

	for (size_t i = 0; i < n; i++) {
		buf_clear(&out);
		csv_put_series(w->history, items[i].series, &out);
		name_file(w, items[i].tag, name, sizeof(name));
		context_write_file(w, name, buf_text(&out));
	}
	buf_free(&out);
}

/* ---- hosts ---- */

static void host_row(const struct fleet_host *h, struct buf *out)
{
	const double numbers[] = {
		h->cpu,
		h->memory_used,
		h->memory_total,
		h->rx_bytes_s * 8,
		h->tx_bytes_s * 8,
		h->link_bytes_s * 8,
		fleet_link_share(h),
		h->retransmits_s,
		fleet_host_util(h),
		h->working.value,
		fleet_host_power(h),
	};

	csv_put_field(out, h->name, ',');
	csv_put_number(out, h->t, ',');
	buf_printf(out, "%" PRId64 ",", h->step);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		csv_put_number(out, numbers[i], i + 1 < ARRAY_LEN(numbers) ? ',' : '\n');
}

static void gpu_rows(const struct fleet_host *h, struct buf *out)
{
	for (size_t i = 0; i < h->n_gpus; i++) {
		const struct fleet_gpu *g = &h->gpus[i];
		const double numbers[] = { g->util,    g->memory_used,	 g->memory_total,
					   g->power_w, g->power_limit_w, g->temperature_c,
					   g->sm_mhz };

		csv_put_field(out, h->name, ',');
		buf_printf(out, "%d,", g->index);
		csv_put_field(out, g->name, ',');
		for (size_t k = 0; k < ARRAY_LEN(numbers); k++)
			csv_put_number(out, numbers[k], ',');
		csv_put_field(out, g->throttle, '\n');
	}
}

void csv_export_hosts(struct app_context *w)
{
	const struct fleet *f = &w->history->fleet;
	struct buf out = { 0 };
	char name[200];
	size_t gpus = 0;

	buf_add_str(&out, "Host,Wall time,Step,Processors,Memory bytes,Memory total,In bit/s,"
			  "Out bit/s,Link bit/s,Link share,Retransmissions/s,GPU utilisation,"
			  "Working,Power W\n");
	for (size_t i = 0; i < f->n_hosts; i++) {
		host_row(&f->hosts[i], &out);
		gpus += f->hosts[i].n_gpus;
	}
	name_file(w, "hosts", name, sizeof(name));
	context_write_file(w, name, buf_text(&out));
	if (gpus) {
		buf_clear(&out);
		buf_add_str(&out, "Host,GPU,Name,Utilisation,Memory bytes,Memory total,Power W,"
				  "Power limit W,Temperature C,Clock MHz,Throttle\n");
		for (size_t i = 0; i < f->n_hosts; i++)
			gpu_rows(&f->hosts[i], &out);
		name_file(w, "gpus", name, sizeof(name));
		context_write_file(w, name, buf_text(&out));
	}
	buf_free(&out);
}
