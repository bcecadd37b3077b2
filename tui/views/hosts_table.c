/* hosts_table.c - host table, network verdict and ranks of the hosts view; see hosts_panes.h. */
#include "tui/views/hosts_panes.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/number_format.h"
#include "share/base/util.h"
#include "tui/plot/sparkline.h"
#include "tui/run/time_split.h"
#include "tui/term/draw.h"
#include "tui/term/list_widget.h"

#define STALE_S	  60 /* a host of a running run without a record for so long is stale */
#define BAR_COLS  12
#define NAME_MIN  9
#define TREND_MIN 12
#define TREND_MAX 60

enum column {
	COL_CPU,
	COL_MEMORY,
	COL_IN,
	COL_OUT,
	COL_LINK,
	COL_RESENT,
	COL_UTIL,
	COL_WORKING,
	COL_TREND,
	COL_POWER,
	COL_STEP,
	COL_PACE,
	COLUMNS
};

/* The column with the highest rank is hidden first. */
static const struct {
	const char *title;
	int width, rank;
} columns[COLUMNS] = {
	[COL_CPU] = { "cpu", 5, 5 },	 [COL_MEMORY] = { "memory", 7, 9 },
	[COL_IN] = { "in bit/s", 9, 2 }, [COL_OUT] = { "out bit/s", 9, 1 },
	[COL_LINK] = { "link", 5, 3 },	 [COL_RESENT] = { "resent/s", 9, 4 },
	[COL_UTIL] = { "busy", 5, 8 },	 [COL_WORKING] = { "working, waits", BAR_COLS + 6, 0 },
	[COL_POWER] = { "power", 8, 7 }, [COL_STEP] = { "step", 8, 10 },
	[COL_PACE] = { "pace", 6, 1 },	 [COL_TREND] = { "over the run", TREND_MIN, 6 },
};

/* What of the table fits: columns of the names, and of each value; 0: hidden. */
struct table_widths {
	int name, values[COLUMNS];
};

/* The values of a row of the table. */
struct facts {
	const struct fleet_host *host;
	struct fleet_time_split split;
	double util, working, power, link, pace, step_s;
};

static struct facts gather_host_facts(const struct fleet *f, int host)
{
	const struct fleet_host *h = &f->hosts[host];
	int64_t slowest;
	struct facts k = {
		.host = h,
		.split = fleet_host_time_split(f, host),
		.util = h->n_gpus ? fleet_host_util(h) : h->cpu,
		.working = h->working.value,
		.power = fleet_host_power(h),
		.link = fleet_link_share(h),
		.pace = fleet_host_slowdown(f, host, &slowest),
	};

	k.step_s = h->first_rank >= 0 ? f->ranks[h->first_rank].step_s : NAN;
	return k;
}

/* Choose the columns that fit beside the names; names: columns of the longest one. */
static struct table_widths choose_columns(int width, int longest)
{
	struct table_widths w;
	int need = NAME_MIN + 3, left;

	for (int i = 0; i < COLUMNS; i++) {
		w.values[i] = columns[i].width;
		need += columns[i].width + 1;
	}
	while (need > width) {
		int worst = -1;

		for (int i = 0; i < COLUMNS; i++)
			if (w.values[i] && (worst < 0 || columns[i].rank > columns[worst].rank))
				worst = i;
		if (worst < 0)
			break;
		w.values[worst] = 0;
		need -= columns[worst].width + 1;
	}
	w.name = MIN(NAME_MIN + MAX(width - need, 0), longest);
	left = MAX(width - need, 0) - (w.name - NAME_MIN);
	if (w.values[COL_TREND])
		w.values[COL_TREND] = MIN(TREND_MIN + left, TREND_MAX);
	return w;
}

static int longest_name(const struct grid *g, const struct fleet *f)
{
	int most = NAME_MIN;

	for (size_t i = 0; i < f->n_hosts; i++)
		most = MAX(most, grid_text_width(g, f->hosts[i].name));
	return most;
}

static const char *format_milliseconds(char out[NUMBER_TEXT_BYTES], double s)
{
	if (!(s >= 0 && s < 1e6))
		return format_value(out, NAN);
	snprintf(out, NUMBER_TEXT_BYTES, "%.12s ms", VALUE_TEXT(s * 1000));
	return out;
}

/* The text of a cell; *style changes if the value is unusual. */
static const char *cell_text(const struct facts *k, enum column c, char out[NUMBER_TEXT_BYTES],
			     enum style *style)
{
	const struct fleet_host *h = k->host;

	*style = STYLE_NORMAL;
	switch (c) {
	case COL_CPU:
		return format_percent(out, h->cpu);
	case COL_MEMORY:
		if (h->memory_used > 0.95 * h->memory_total)
			*style = STYLE_WARN;
		return format_percent(out, h->memory_used / h->memory_total);
	case COL_IN:
		return format_value(out, h->rx_bytes_s * 8);
	case COL_OUT:
		return format_value(out, h->tx_bytes_s * 8);
	case COL_LINK:
		if (k->link > 0.9)
			*style = STYLE_WARN;
		return format_percent(out, k->link);
	case COL_RESENT:
		if (h->retransmits_s >= 1)
			*style = STYLE_WARN;
		return format_value(out, h->retransmits_s);
	case COL_UTIL:
		return format_percent(out, k->util);
	case COL_POWER:
		if (!isfinite(k->power))
			return format_value(out, NAN);
		snprintf(out, NUMBER_TEXT_BYTES, "%.12s W", VALUE_TEXT(round(k->power)));
		return out;
	case COL_STEP:
		return format_milliseconds(out, k->step_s);
	case COL_PACE:
		if (!isfinite(k->pace))
			return format_value(out, NAN);
		if (k->pace > FLEET_LATE)
			*style = STYLE_BAD;
		snprintf(out, NUMBER_TEXT_BYTES, "x%.2f", MIN(k->pace, 99.0));
		return out;
	default:
		return format_value(out, NAN);
	}
}

static void draw_sign(const struct list_row *row, const struct facts *k,
		      const struct run_history *h, double now)
{
	bool stale = h->state == RUN_RUNNING && now - k->host->t > STALE_S;

	if (!k->host->present)
		row_sign(row, 1, STYLE_DIM, '-');
	else if (k->host->finding.oddity >= HOST_LATE)
		row_sign(row, 1, STYLE_BAD, '!');
	else if (k->host->finding.oddity == HOST_ODD)
		row_sign(row, 1, STYLE_WARN, '~');
	else if (stale)
		row_sign(row, 1, STYLE_WARN, '?');
	else
		row_sign(row, 1, STYLE_GOOD, 0x25CF);
}

static void draw_host_row(const struct list_row *row, const struct facts *k,
			  const struct table_widths *w, enum style name_style)
{
	int at = 4 + w->name;
	char text[NUMBER_TEXT_BYTES];

	row_text(row, 3, w->name, k->host->present ? name_style : STYLE_DIM, k->host->name);
	for (int c = 0; c < COLUMNS; c++) {
		enum style style;

		if (!w->values[c])
			continue;
		if (c == COL_TREND) {
			sparkline_draw_share(row->g,
					     (struct span){ row->row, row->col + at, w->values[c],
							    STYLE_FIRST_RAW },
					     &k->host->working);
		} else if (c == COL_WORKING) {
			time_split_draw_work(row->g, row->row, row->col + at, BAR_COLS, k->working,
					     k->util);
			row_text_right(row, at + w->values[c] - 1, 5, STYLE_BRIGHT,
				       PERCENT_TEXT(k->working));
		} else {
			const char *value = cell_text(k, (enum column)c, text, &style);

			row_text_right(row, at + w->values[c] - 1, w->values[c],
				       k->host->present ? style : STYLE_DIM, value);
		}
		at += w->values[c] + 1;
	}
}

static void draw_hosts_head(const struct list_row *row, const struct table_widths *w)
{
	int at = 4 + w->name;

	row_text(row, 3, w->name, STYLE_DIM, "host");
	for (int c = 0; c < COLUMNS; c++) {
		int width = w->values[c];

		if (!width)
			continue;
		if (c == COL_WORKING || c == COL_TREND)
			row_text(row, at, width, STYLE_DIM, columns[c].title);
		else
			row_text_right(row, at + width - 1, width, STYLE_DIM, columns[c].title);
		at += width + 1;
	}
}

int hosts_of_row(const struct fleet *f, const struct hosts_view_state *s, int row)
{
	assert(row >= 0 && row < (int)f->n_hosts);
	return s->by_name ? row : f->odd_first[row];
}

int hosts_chosen_row(const struct fleet *f, const struct hosts_view_state *s)
{
	for (int row = 0; row < (int)f->n_hosts; row++)
		if (hosts_of_row(f, s, row) == s->chosen)
			return row;
	return 0;
}

void hosts_settle_choice(const struct fleet *f, struct hosts_view_state *s)
{
	s->chosen = MAX(MIN(s->chosen, (int)f->n_hosts - 1), 0);
	if (!s->has_moved && f->n_hosts)
		s->chosen = hosts_of_row(f, s, 0);
}

/* Say why the chosen host is odd, else how the rows are ordered: in the lower border, left of taken columns. */
static void draw_order(struct grid *g, struct rect box, const struct fleet *f,
		       const struct hosts_view_state *s, int taken)
{
	const struct fleet_host *k = &f->hosts[s->chosen];
	char text[FLEET_NAME + 220];

	if (k->finding.oddity > HOST_LIKE_OTHERS)
		snprintf(text, sizeof(text), " %s: %s ", k->name, k->finding.text);
	else if (s->by_name)
		snprintf(text, sizeof(text), " by name ");
	else if (f->comparison == FLEET_TOO_FEW_ROUNDS)
		snprintf(text, sizeof(text), " by name: too few reports to compare hosts ");
	else if (f->comparison == FLEET_COMPARED && !f->n_odd)
		snprintf(text, sizeof(text), " by name: no host differs from the others ");
	else
		return;
	draw_text(g, box.row + box.rows - 1, box.col + 2, box.cols - 4 - taken, STYLE_DIM, text);
}

static int count_late_hosts(const struct fleet *f)
{
	int n = 0;

	for (size_t i = 0; i < f->n_odd; i++)
		n += f->hosts[f->odd_first[i]].finding.oddity >= HOST_LATE;
	return n;
}

void hosts_draw_table(struct grid *g, struct rect box, const struct run_history *h, double now,
		      struct hosts_view_state *s)
{
	const struct fleet *f = &h->fleet;
	struct rect r = layout_inside(box);
	struct list_widget *l = &s->lists[HOSTS_TABLE];
	char count[NUMBER_TEXT_BYTES], late_text[NUMBER_TEXT_BYTES], odd_text[NUMBER_TEXT_BYTES];
	struct table_widths widths;
	char left_out[NUMBER_TEXT_BYTES];
	char kinds[NUMBER_TEXT_BYTES];
	struct legend pieces[5];
	struct list_row row = list_row_at(g, r, r.row);
	int n = 0, late = count_late_hosts(f), odd = (int)f->n_odd - late;

	draw_box(g, box, "hosts", s->focus == HOSTS_TABLE);
	if (r.rows < 2)
		return;
	widths = choose_columns(r.cols - 1, longest_name(g, f));
	draw_hosts_head(&row, &widths);
	r.row++;
	r.rows--;
	l->at = (size_t)hosts_chosen_row(f, s);
	row = list_rows(g, r, l, f->n_hosts, false);
	while (list_row_next(&row)) {
		int which = hosts_of_row(f, s, (int)row.i);
		struct facts k = gather_host_facts(f, which);

		draw_sign(&row, &k, h, now);
		draw_host_row(&row, &k, &widths,
			      which == s->chosen ? STYLE_SELECTED : STYLE_NORMAL);
		if (which == s->chosen)
			row_sign(&row, 0, STYLE_FOCUS, 0x25B8);
	}
	if (late)
		pieces[n++] =
			(struct legend){ '!', STYLE_BAD, "late", format_count(late_text, late) };
	if (odd)
		pieces[n++] =
			(struct legend){ '~', STYLE_WARN, "odd", format_count(odd_text, odd) };
	if (f->n_uncompared)
		pieces[n++] = (struct legend){ '?', STYLE_WARN, "not compared: too many GPU kinds",
					       format_count(kinds, (int64_t)f->n_uncompared) };
	if (f->left_out)
		pieces[n++] = (struct legend){ '!', STYLE_WARN, "records left out",
					       format_count(left_out, f->left_out) };
	pieces[n++] = (struct legend){ 0, STYLE_BRIGHT, "hosts",
				       format_count(count, (int64_t)f->n_hosts) };
	draw_legend(g, box, "hosts", pieces, n);
	draw_order(g, box, f, s, list_widget_draw_hidden(g, box, l));
}

/* ---- the verdict ---- */

/* Is the diagnosis that ranks wait for the slowest, and is that another one in each report? */
static bool is_slowest_changing(const struct fleet *f)
{
	return !strcmp(f->verdict.network, "straggler") && f->comparison == FLEET_COMPARED &&
	       !count_late_hosts(f);
}

static enum style verdict_style(const struct fleet *f)
{
	const char *network = f->verdict.network;

	if (!strcmp(network, "no"))
		return STYLE_GOOD;
	if (!strcmp(network, "slightly") || is_slowest_changing(f))
		return STYLE_WARN;
	return !strcmp(network, "unknown") ? STYLE_DIM : STYLE_BAD;
}

/* The answer of network_answer_name() as words that fit after "bottleneck:". */
static const char *verdict_words(const struct fleet *f)
{
	const char *network = f->verdict.network;
	static const char *const words[][2] = {
		{ "no", "not the network" },	     { "slightly", "partly the network" },
		{ "link", "network bandwidth" },     { "latency", "network latency" },
		{ "straggler", "the slowest rank" }, { "loss", "lost packets" },
	};

	if (is_slowest_changing(f))
		return "a slowest rank that changes";
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(network, words[i][0]))
			return words[i][1];
	return network;
}

void hosts_draw_verdict(struct grid *g, struct rect r, const struct fleet *f)
{
	const struct fleet_verdict *v = &f->verdict;
	struct fleet_time_split all = fleet_host_time_split(f, -1);
	char text[TIME_SPLIT_PARTS][NUMBER_TEXT_BYTES], late[32 + FLEET_NAME];
	int at = r.col + 1, right = r.col + r.cols - 2;
	double parts[TIME_SPLIT_PARTS];

	if (!isfinite(v->t) && !*v->text) {
		draw_text(g, r.row, at, r.cols - 2, STYLE_DIM, "no network verdict yet");
	} else {
		at += draw_text(g, r.row, at, 40, STYLE_DIM, "bottleneck: ");
		at += draw_text(g, r.row, at, right - at, verdict_style(f), verdict_words(f));
		draw_text(g, r.row, at + 3, right - at - 2, STYLE_NORMAL, v->text);
	}
	if (r.rows < 2)
		return;
	at = r.col + 1;
	r.row++;
	if (v->late_rank >= 0) {
		snprintf(late, sizeof(late), "rank %" PRId64 " %s %s", v->late_rank,
			 *v->late_host ? "on" : "", v->late_host);
		at += draw_text(g, r.row, at, right - at, STYLE_BAD, "late: ");
		at += draw_text(g, r.row, at, right - at, STYLE_BRIGHT, late) + 3;
	}
	time_split_values(&all, parts);
	for (size_t i = 0; i < TIME_SPLIT_PARTS; i++)
		if (isfinite(parts[i]))
			draw_fact(g, r.row, &at, right, time_split_looks[i].label,
				  format_percent(text[i], parts[i]));
	if (v->predicted_bytes > 0)
		draw_fact(g, r.row, &at, right, "predicted per step",
			  format_bytes(text[0], v->predicted_bytes));
	if (v->observed_bytes > 0)
		draw_fact(g, r.row, &at, right, "measured",
			  format_bytes(text[0], v->observed_bytes));
	if (v->busbw_bytes_s > 0) {
		snprintf(late, sizeof(late), "%.20sbit/s",
			 format_value(text[0], v->busbw_bytes_s * 8));
		draw_fact(g, r.row, &at, right, "bus", late);
	}
}

/* ---- ranks ---- */

static void draw_rank(const struct list_row *row, const struct fleet *f, int rank)
{
	const struct fleet_rank *k = &f->ranks[rank];
	struct fleet_time_split split = fleet_rank_time_split(k);
	double pace = fleet_rank_slowdown(f, (size_t)rank);
	char text[NUMBER_TEXT_BYTES];

	row_text_right(row, 5, 5, STYLE_NORMAL, COUNT_TEXT(rank));
	row_text_right(row, 15, 9, STYLE_NORMAL, format_milliseconds(text, k->step_s));
	if (isfinite(pace)) {
		snprintf(text, sizeof(text), "x%.2f", MIN(pace, 99.0));
		row_text_right(row, row->cols - 2, 6, pace > FLEET_LATE ? STYLE_BAD : STYLE_NORMAL,
			       text);
	}
	if (row->cols > 28)
		time_split_draw_bar(row->g, row->row, row->col + 17, row->cols - 26, &split);
}

void hosts_draw_ranks(struct grid *g, struct rect box, const struct run_history *h,
		      struct hosts_view_state *s)
{
	const struct fleet *f = &h->fleet;
	const struct fleet_host *host = hosts_chosen(h, s);
	struct rect r = layout_inside(box);
	char title[FLEET_NAME + 32], text[TIME_SPLIT_PARTS][NUMBER_TEXT_BYTES];
	struct legend pieces[TIME_SPLIT_PARTS];
	struct fleet_time_split split;
	struct list_row row;
	size_t all = 0, skip;
	bool is_spaced;
	int n;

	snprintf(title, sizeof(title), "ranks%s%s", host ? " of " : "", host ? host->name : "");
	draw_box(g, box, title, s->focus == HOSTS_RANKS);
	for (int i = host ? host->first_rank : -1; i >= 0; i = f->ranks[i].next)
		all++;
	if (!all) {
		draw_centred(g, r, STYLE_DIM, "no rank has reported yet");
		return;
	}
	is_spaced = 2 * (int)all - 1 <= r.rows; /* bars apart are easier to compare */
	row = list_text(g, box, r, &s->lists[HOSTS_RANKS], all);
	skip = s->lists[HOSTS_RANKS].top;
	for (int i = host->first_rank; i >= 0; i = f->ranks[i].next) {
		if (skip) {
			skip--;
		} else if (list_row_next(&row)) {
			draw_rank(&row, f, i);
			row.row += is_spaced;
		}
	}
	split = fleet_host_time_split(f, s->chosen);
	n = time_split_legend(g, &split, box.cols < 100, pieces, text);
	if (!draw_bar_legend(g, box, title, pieces, n, 0))
		draw_bar_pieces(g, box.row + box.rows - 1, box.col + 3, box.cols - 6, pieces, n);
}
