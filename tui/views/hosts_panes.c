/* hosts_panes.c - GPUs, heat maps and plots of the hosts view; see hosts_panes.h. */
#include "tui/views/hosts_panes.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/statistics.h"
#include "share/base/util.h"
#include "tui/plot/plot.h"
#include "tui/run/time_split.h"
#include "tui/term/draw.h"
#include "tui/term/list_widget.h"
#include "tui/views/svg_export.h"

#define BAR_COLS    14
#define FIGURE_COLS 4	 /* columns of a cell with a number, and the widest cell without */
#define NOTE_COLS   18	 /* columns for a reason to throttle and a name; in fewer, no name */
#define LABEL_COLS  12	 /* columns of the label of a row */
#define COOL_C	    25.0 /* temperature of the low end … */
#define HOT_C	    95.0 /* … and of the high end of the scale */

const struct fleet_host *hosts_chosen(const struct run_history *h, const struct hosts_view_state *s)
{
	if (!h || !h->fleet.n_hosts)
		return NULL;
	return &h->fleet.hosts[MAX(MIN(s->chosen, (int)h->fleet.n_hosts - 1), 0)];
}

/* ---- GPUs of a host ---- */

/* Draw a piece of a row in column *at and advance it; pieces that do not fit are omitted. */
static void put_piece(const struct list_row *row, int *at, int width, enum style style,
		      const char *text)
{
	if (*at + width >= row->cols)
		return;
	row_text_right(row, *at + width - 1, width, style, text);
	*at += width + 2;
}

/* A number with its unit; NaN: "-". */
static const char *unit_text(char out[NUMBER_TEXT_BYTES], double value, const char *unit)
{
	if (!isfinite(value))
		return format_value(out, NAN);
	snprintf(out, NUMBER_TEXT_BYTES, "%.10s %s", VALUE_TEXT(round(value)), unit);
	return out;
}

static enum style heat_style(double celsius)
{
	return celsius >= 90 ? STYLE_BAD : celsius >= 83 ? STYLE_WARN : STYLE_NORMAL;
}

static void draw_gpu_head(const struct list_row *row)
{
	static const struct {
		const char *name;
		int width;
	} heads[] = { { "works", 5 }, { "busy", 5 },   { "power", 8 },
		      { "temp", 5 },  { "memory", 7 }, { "clock", 8 } };
	int at = 1;

	put_piece(row, &at, 3, STYLE_DIM, "gpu");
	if (at + BAR_COLS < row->cols)
		row_text(row, at, BAR_COLS, STYLE_DIM, "working, waits");
	at += BAR_COLS + 2;
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		put_piece(row, &at, heads[i].width, STYLE_DIM, heads[i].name);
	if (at < row->cols - 6)
		row_text(row, at, row->cols - 1 - at, STYLE_DIM,
			 row->cols - 1 - at < NOTE_COLS ? "limit" : "throttled by, name");
}

static void draw_gpu(const struct list_row *row, const struct fleet_gpu *k, double work)
{
	const int end = row->cols - 1;
	bool throttled = *k->throttle && strcmp(k->throttle, "none");
	char text[NUMBER_TEXT_BYTES];
	double working = isnan(work) ? NAN : work * k->util;
	int at = 1, note;

	put_piece(row, &at, 3, STYLE_NORMAL, COUNT_TEXT(k->index));
	if (k->lost) {
		row_text(row, at, end - at, STYLE_BAD, "lost");
		return;
	}
	if (at + BAR_COLS <= end)
		time_split_draw_work(row->g, row->row, row->col + at, BAR_COLS, working, k->util);
	at += BAR_COLS + 2;
	put_piece(row, &at, 5, STYLE_BRIGHT, PERCENT_TEXT(working));
	put_piece(row, &at, 5, STYLE_NORMAL, PERCENT_TEXT(k->util));
	put_piece(row, &at, 8, STYLE_NORMAL, unit_text(text, k->power_w, "W"));
	if (isfinite(k->temperature_c))
		snprintf(text, sizeof(text), "%.0f C", MIN(MAX(k->temperature_c, -999.0), 9999.0));
	else
		format_value(text, NAN);
	put_piece(row, &at, 5, heat_style(k->temperature_c), text);
	put_piece(row, &at, 7, STYLE_NORMAL, BYTES_TEXT(k->memory_used));
	put_piece(row, &at, 8, STYLE_NORMAL, unit_text(text, k->sm_mhz, "MHz"));
	note = at;
	if (throttled && at < end - 1)
		at += row_text(row, at, end - at, STYLE_WARN, k->throttle) + 2;
	if (end - note >= NOTE_COLS && at < end - 5)
		row_text(row, at, end - at, STYLE_DIM, k->name);
}

void hosts_draw_gpus(struct grid *g, struct rect box, const struct run_history *h,
		     struct hosts_view_state *s)
{
	const struct fleet_host *k = hosts_chosen(h, s);
	struct rect r = layout_inside(box);
	struct list_row row = list_row_at(g, r, r.row);
	char title[FLEET_NAME + 32];
	double work[FLEET_GPUS];

	snprintf(title, sizeof(title), "GPUs%s%s", k ? " of " : "", k ? k->name : "");
	draw_box(g, box, title, s->focus == HOSTS_GPUS);
	if (!k || !k->n_gpus) {
		draw_centred(g, r, STYLE_DIM, "this host reported no GPU");
		return;
	}
	if (r.rows < 2)
		return;
	fleet_gpu_work(&h->fleet, (int)(k - h->fleet.hosts), work);
	draw_gpu_head(&row);
	r.row++;
	r.rows--;
	row = list_text(g, box, r, &s->lists[HOSTS_GPUS], k->n_gpus);
	while (list_row_next(&row))
		draw_gpu(&row, &k->gpus[row.i], work[row.i]);
}

/* ---- heat maps ---- */

static const char *const metric_names[HOSTS_METRICS] = {
	[METRIC_WORKING] = "working",	      [METRIC_UTIL] = "busy",
	[METRIC_MEMORY] = "memory",	      [METRIC_POWER] = "power / limit",
	[METRIC_TEMPERATURE] = "temperature", [METRIC_CLOCK] = "clock / maximum",
};

/* The metric of a GPU as 0..1; NaN: unknown. */
static double metric_of(const struct fleet_gpu *k, double work, enum hosts_metric metric)
{
	switch (metric) {
	case METRIC_UTIL:
		return k->util;
	case METRIC_MEMORY:
		return k->memory_used / k->memory_total;
	case METRIC_POWER:
		return k->power_w / k->power_limit_w;
	case METRIC_TEMPERATURE:
		return (k->temperature_c - COOL_C) / (HOT_C - COOL_C);
	case METRIC_CLOCK:
		return k->sm_mhz / k->sm_max_mhz;
	default:
		return isnan(work) ? k->util : work * k->util;
	}
}

/*
 * Write degrees or per cent into a drawn cell. The sign of an unusual value stays behind two digits:
 * in front of them it would look like a point or a minus.
 */
static void draw_figure(struct grid *g, struct span cell, const struct fleet_gpu *k, double share,
			const struct hosts_view_state *s, double median)
{
	bool usual = fabs(share - median) < HEAT_SPREAD / HEAT_LEVELS;
	double v = s->metric == METRIC_TEMPERATURE ? k->temperature_c : share * 100;
	char text[16];

	if (k->lost || !isfinite(v))
		return;
	snprintf(text, sizeof(text), usual ? "%2.0f " : "%2.0f", MIN(MAX(v, -99.0), 999.0));
	grid_text(g, cell.row, cell.col, cell.width, usual ? STYLE_NORMAL : cell.style, text);
}

static void draw_heat_row(struct grid *g, struct rect r, const struct run_history *h, int host,
			  const struct hosts_view_state *s, int cell, double median)
{
	const struct fleet_host *k = &h->fleet.hosts[host];
	int at = r.col + LABEL_COLS + 1;
	double work[FLEET_GPUS];

	assert(host >= 0 && host < (int)h->fleet.n_hosts && cell >= 1);
	draw_text(g, r.row, r.col + 1, LABEL_COLS - 1,
		  host == s->chosen ? STYLE_SELECTED : STYLE_NORMAL, k->name);
	fleet_gpu_work(&h->fleet, host, work);
	for (size_t n = 0; n < k->n_gpus && at + cell <= r.col + r.cols; n++, at += cell) {
		double share = metric_of(&k->gpus[n], work[n], s->metric);
		struct span span = { r.row, at, FIGURE_COLS - 1, STYLE_NORMAL };

		draw_deviation(g, r.row, at, MAX(cell - 1, 1), share - median, k->gpus[n].lost);
		if (grid_at(g, r.row, at))
			span.style = (enum style)grid_at(g, r.row, at)->style;
		if (s->drawn == MAP_FIGURES)
			draw_figure(g, span, &k->gpus[n], share, s, median);
	}
}

/* The value of a host's cell: of the GPU that is furthest from what one wishes. */
static double host_metric(const struct run_history *h, int host, enum hosts_metric metric,
			  bool *lost)
{
	const struct fleet_host *k = &h->fleet.hosts[host];
	bool highest =
		metric == METRIC_MEMORY || metric == METRIC_POWER || metric == METRIC_TEMPERATURE;
	double work[FLEET_GPUS], worst = NAN;

	*lost = false;
	fleet_gpu_work(&h->fleet, host, work);
	for (size_t i = 0; i < k->n_gpus; i++) {
		double v = metric_of(&k->gpus[i], work[i], metric);

		*lost |= k->gpus[i].lost;
		if (isfinite(v) && !(highest ? v <= worst : v >= worst))
			worst = v;
	}
	return worst;
}

static const struct fleet_trail *trail_of(const struct fleet_gpu *k,
					  const struct hosts_view_state *s)
{
	return s->metric == METRIC_POWER ? &k->power : &k->working;
}

/* A share of a trail; NaN: unknown. */
static double trail_share(const struct fleet_trail *t, int column)
{
	return t->share[column] == FLEET_UNKNOWN ? NAN : t->share[column] / 250.0;
}

/* Write the values of host i's cells, but unknown ones; returns their number. */
static size_t host_cells(const struct run_history *h, int host, const struct hosts_view_state *s,
			 double *out)
{
	const struct fleet_host *k = &h->fleet.hosts[host];
	double work[FLEET_GPUS], v = NAN;
	bool lost = false;
	size_t n = 0;

	fleet_gpu_work(&h->fleet, host, work);
	if (s->drawn == MAP_HOSTS)
		v = host_metric(h, host, s->metric, &lost);
	for (size_t i = 0; i < (s->drawn == MAP_HOSTS ? 1 : k->n_gpus); i++) {
		if (s->drawn != MAP_HOSTS) {
			v = metric_of(&k->gpus[i], work[i], s->metric);
			lost = k->gpus[i].lost;
		}
		if (isfinite(v) && !lost)
			out[n++] = v;
	}
	return n;
}

/* The median of the values of all cells, shown or scrolled away; NaN: none is known. */
static double map_median(const struct run_history *h, const struct fleet_host *k,
			 const struct hosts_view_state *s)
{
	struct err ignored; /* without memory, cells are unknown */
	size_t most = s->over_time ? k->n_gpus * FLEET_TRAIL : h->fleet.n_hosts * FLEET_GPUS, n = 0;
	double *values = mem_alloc(MAX(most, 1), sizeof(*values), &ignored), median;

	if (!values)
		return NAN;
	for (size_t i = 0; i < h->fleet.n_hosts && !s->over_time; i++)
		n += host_cells(h, (int)i, s, values + n);
	for (size_t i = 0; i < k->n_gpus && s->over_time; i++)
		for (int c = 0; c < MIN((int)k->columns, FLEET_TRAIL); c++) {
			double v = trail_share(trail_of(&k->gpus[i], s), c);

			if (isfinite(v))
				values[n++] = v;
		}
	median = n ? stat_median(values, n) : NAN;
	free(values);
	return median;
}

/* The median and how far the strongest colours are from it, in the unit of the metric. */
static void draw_map_scale(struct grid *g, struct rect box, const char *title, double median,
			   const struct hosts_view_state *s)
{
	const bool is_heat = s->metric == METRIC_TEMPERATURE && !s->over_time;
	const double unit = is_heat ? HOT_C - COOL_C : 100;
	char low[64], high[16], text[NUMBER_TEXT_BYTES];

	if (!isfinite(median))
		return;
	if (is_heat)
		snprintf(text, sizeof(text), "%.0f C", COOL_C + MIN(median, 1e3) * unit);
	else
		format_percent(text, median);
	snprintf(low, sizeof(low), " median %s  -%.0f ", text, HEAT_SPREAD * unit);
	snprintf(high, sizeof(high), " +%.0f ", HEAT_SPREAD * unit);
	draw_deviation_scale(g, box, title, low, high);
}

/* A cell for each host, line by line; a line begins with the name of its first host. */
static void draw_heat_of_hosts(struct grid *g, struct rect box, const struct run_history *h,
			       struct hosts_view_state *s, double median)
{
	struct rect r = layout_inside(box);
	int all = (int)h->fleet.n_hosts, cols = MAX(r.cols - LABEL_COLS - 2, 1);
	int lines = (all + cols - 1) / cols, *top = &s->map_top;
	char title[FLEET_NAME + 40];

	s->map_cols = cols;
	*top = MAX(MIN(*top, lines - r.rows), 0);
	if (s->chosen / cols < *top || s->chosen / cols >= *top + r.rows)
		*top = MAX(MIN(s->chosen / cols - r.rows / 2, lines - r.rows), 0);
	for (int i = *top * cols; i < all && i / cols - *top < r.rows; i++) {
		int row = r.row + i / cols - *top, at = r.col + LABEL_COLS + 1 + i % cols;
		bool lost;
		double share = host_metric(h, i, s->metric, &lost);

		if (i % cols == 0)
			draw_text(g, row, r.col + 1, LABEL_COLS - 1, STYLE_DIM,
				  h->fleet.hosts[i].name);
		draw_deviation(g, row, at, 1, share - median, lost);
		if (i != s->chosen)
			continue;
		if (grid_at(g, row, at))
			grid_put(g, row, at, STYLE_CURSOR, grid_at(g, row, at)->ch);
		snprintf(title, sizeof(title), " %s: %s ", h->fleet.hosts[i].name,
			 PERCENT_TEXT(share));
		draw_text(g, box.row + box.rows - 1, box.col + 2, box.cols - 4, STYLE_DIM, title);
	}
	draw_hidden_rows(g, box, *top, lines - r.rows - *top);
}

/*
 * One row per host, one cell per GPU. Many hosts use several columns; cells are as wide as
 * possible. The rows scroll with the chosen host.
 */
static void draw_heat_of_all(struct grid *g, struct rect box, const struct run_history *h,
			     struct hosts_view_state *s, double median)
{
	struct rect r = layout_inside(box);
	int all = (int)h->fleet.n_hosts, widest = 1, cell = FIGURE_COLS, across = 1;
	int *top = &s->map_top;

	for (int i = 0; i < all; i++)
		widest = MAX(widest, (int)h->fleet.hosts[i].n_gpus);
	s->map_cols = 1;
	for (; cell >= 1 && s->drawn != MAP_FIGURES; cell--) {
		across = MAX(r.cols / (LABEL_COLS + 2 + widest * cell), 1);
		if (LABEL_COLS + 2 + widest * cell <= r.cols && across * r.rows >= all)
			break;
	}
	cell = MAX(cell, 1);
	across = MAX(r.cols / (LABEL_COLS + 2 + widest * cell), 1);
	if (s->chosen < *top || s->chosen >= *top + across * r.rows)
		*top = s->chosen - across * r.rows / 2;
	*top = MAX(MIN(*top, all - across * r.rows), 0);
	for (int i = 0; i < across * r.rows && *top + i < all; i++) {
		struct rect row = { r.row + i % r.rows, r.col + i / r.rows * (r.cols / across), 1,
				    r.cols / across };

		draw_heat_row(g, row, h, *top + i, s, cell, median);
	}
	draw_hidden_rows(g, box, *top, all - across * r.rows - *top);
}

/* One row per GPU of the chosen host; the run goes from left to right. */
static void draw_heat_over_time(struct grid *g, struct rect box, const struct fleet_host *k,
				const struct hosts_view_state *s, double median)
{
	struct rect r = layout_inside(box);
	int room = r.cols - LABEL_COLS - 2, columns = MAX((int)k->columns, 1);

	for (int i = 0; i < r.rows && i < (int)k->n_gpus; i++) {
		const struct fleet_trail *t = trail_of(&k->gpus[i], s);

		draw_text(g, r.row + i, r.col + 1, 4, STYLE_DIM, "gpu");
		draw_text(g, r.row + i, r.col + 5, LABEL_COLS - 5, STYLE_NORMAL,
			  COUNT_TEXT(k->gpus[i].index));
		for (int c = 0; c < room; c++) {
			/* The trail fills at least half of the row; merging halves its length. */
			int width = columns > FLEET_TRAIL / 2 ? FLEET_TRAIL : FLEET_TRAIL / 2;
			int at = c * width / room;

			if (at >= columns)
				break;
			draw_deviation(g, r.row + i, r.col + LABEL_COLS + 1 + c, 1,
				       trail_share(t, at) - median, false);
		}
	}
	draw_hidden_rows(g, box, 0, (int)k->n_gpus - r.rows);
}

/* Are there far more hosts than rows for their GPUs? */
static bool needs_host_cells(struct rect r, const struct run_history *h)
{
	size_t widest = 1;

	for (size_t i = 0; i < h->fleet.n_hosts; i++)
		widest = MAX(widest, h->fleet.hosts[i].n_gpus);
	return (int)h->fleet.n_hosts > 4 * r.rows * MAX(r.cols / (LABEL_COLS + 2 + (int)widest), 1);
}

/* Has the map of all GPUs room for their numbers? */
static bool has_room_for_figures(struct rect r, const struct run_history *h)
{
	size_t widest = 1;

	for (size_t i = 0; i < h->fleet.n_hosts; i++)
		widest = MAX(widest, h->fleet.hosts[i].n_gpus);
	return (int)h->fleet.n_hosts <= r.rows &&
	       LABEL_COLS + 2 + (int)widest * FIGURE_COLS <= r.cols;
}

void hosts_draw_heat(struct grid *g, struct rect box, const struct run_history *h,
		     struct hosts_view_state *s)
{
	const struct fleet_host *k = hosts_chosen(h, s);
	struct rect r = layout_inside(box);
	char title[FLEET_NAME + 64];
	bool power = s->metric == METRIC_POWER;
	double median;

	s->drawn = s->scale			? s->scale
		   : needs_host_cells(r, h)	? MAP_HOSTS
		   : has_room_for_figures(r, h) ? MAP_FIGURES
						: MAP_GPUS;
	if (s->over_time && k)
		snprintf(title, sizeof(title), "%s over the run, GPUs of %s",
			 metric_names[power ? METRIC_POWER : METRIC_WORKING], k->name);
	else
		snprintf(title, sizeof(title), "%s: %s", s->drawn == MAP_HOSTS ? "hosts" : "GPUs",
			 metric_names[s->metric]);
	draw_box(g, box, title, s->focus == HOSTS_HEAT);
	if (!k || r.rows < 1 || r.cols < LABEL_COLS + 4)
		return;
	median = map_median(h, k, s);
	draw_map_scale(g, box, title, median, s);
	if (s->over_time)
		draw_heat_over_time(g, box, k, s, median);
	else if (s->drawn == MAP_HOSTS)
		draw_heat_of_hosts(g, box, h, s, median);
	else
		draw_heat_of_all(g, box, h, s, median);
	s->map_page = r.rows;
}

/* ---- over steps ---- */

struct host_plot {
	const char *title;
	struct plot_line lines[2];
	bool share; /* values are 0..1 and shown in per cent */
};

static bool choose_host_plot(const struct fleet_host *k, enum hosts_pane pane, struct host_plot *p)
{
	const bool is_net = pane == HOSTS_NET;

	*p = (struct host_plot){ .title = is_net ? "network, bit/s" : "work", .share = !is_net };
	if (!k)
		return false;
	p->lines[0] = (struct plot_line){ .series = is_net ? &k->rx : &k->working,
					  .pen = PLOT_LINE,
					  .style = STYLE_FIRST,
					  .name = is_net ? "in" : "works" };
	p->lines[1] = (struct plot_line){ .series = is_net ? &k->tx : &k->busy,
					  .pen = PLOT_DOTTED,
					  .style = STYLE_SECOND,
					  .name = is_net ? "out" : "busy" };
	return true;
}

static void draw_host_plot(struct grid *g, struct rect box, enum hosts_pane pane,
			   const struct run_history *h, struct hosts_view_state *s)
{
	const struct fleet_host *k = hosts_chosen(h, s);
	struct host_plot what;
	struct plot p = { .n = 2, .from_zero = true };
	struct legend pieces[3];
	char values[3][NUMBER_TEXT_BYTES];
	int n = 0;

	if (!choose_host_plot(k, pane, &what)) {
		draw_box(g, box, what.title, s->focus == pane);
		return;
	}
	p.lines = what.lines;
	p.is_share = what.share;
	viewport_apply(&s->plots, pane,
		       h->step > 0 ? plot_x_end((double)h->step, (double)h->plan.steps) : 0, &p);
	draw_box(g, box, what.title, s->focus == pane);
	plot_draw(g, box, &p);
	if (isfinite(s->plots.cursor))
		pieces[n++] = (struct legend){ 0, STYLE_BRIGHT, "step",
					       format_count(values[2], (int64_t)s->plots.cursor) };
	for (int i = 0; i < 2; i++) {
		double v = viewport_value_at(what.lines[i].series, s->plots.cursor);

		if (what.share)
			format_percent(values[i], v);
		else
			format_value(values[i], v);
		pieces[n++] =
			(struct legend){ 0, what.lines[i].style, what.lines[i].name, values[i] };
	}
	draw_legend(g, box, what.title, pieces, n);
}

void hosts_draw_net(struct grid *g, struct rect box, const struct run_history *h,
		    struct hosts_view_state *s)
{
	draw_host_plot(g, box, HOSTS_NET, h, s);
}

void hosts_draw_work(struct grid *g, struct rect box, const struct run_history *h,
		     struct hosts_view_state *s)
{
	draw_host_plot(g, box, HOSTS_WORK, h, s);
}

void hosts_export_picture(struct app_context *w, struct hosts_view_state *s)
{
	const struct run_history *h = w->history;
	const struct fleet_host *k = hosts_chosen(h, s);
	struct plot p = { .n = 2, .from_zero = true };
	struct host_plot what;
	char name[FLEET_NAME + 140], title[FLEET_NAME + 60];

	if (!choose_host_plot(k, s->focus == HOSTS_NET ? HOSTS_NET : HOSTS_WORK, &what))
		return;
	p.lines = what.lines;
	viewport_apply(&s->plots, s->focus == HOSTS_NET ? HOSTS_NET : HOSTS_WORK,
		       (double)MAX(h->step, 1), &p);
	snprintf(name, sizeof(name), "%.100s-%s-%s", h->name, k->name,
		 what.share ? "work" : "network");
	snprintf(title, sizeof(title), "%s of %s", what.title, k->name);
	svg_export_plot(
		w, &(struct svg_request){ name, title, "step", what.share ? "" : "bit/s", &p });
}

const struct series *hosts_line(const struct run_history *h, const struct hosts_view_state *s)
{
	const struct fleet_host *k = hosts_chosen(h, s);
	struct host_plot p;

	return choose_host_plot(k, s->focus == HOSTS_NET ? HOSTS_NET : HOSTS_WORK, &p)
		       ? p.lines[0].series
		       : NULL;
}
