/* home_runs.c - columns, order and rows of the table of runs; see home_runs.h. */
#include "tui/views/home_runs.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/number_format.h"
#include "share/base/util.h"
#include "share/workspace/journal.h"
#include "tui/plot/sparkline.h"
#include "tui/run/run_look.h"
#include "tui/term/draw.h"

/* ---- order ---- */

const char *home_order_name(enum home_order order)
{
	static const char *const names[] = { "activity", "name",     "best BLEU", "change",
					     "NLL",	 "progress", "time left", "GPU" };

	assert((size_t)order < ARRAY_LEN(names));
	return names[order];
}

/* The value that an order compares, the smallest first; NaN: last. */
static double order_value(const struct run_status *s, enum home_order order, double now)
{
	switch (order) {
	case ORDER_BLEU:
		return -s->best_bleu;
	case ORDER_CHANGE:
		return -s->bleu_change;
	case ORDER_LOSS:
		return isnan(s->nll) ? s->loss : s->nll;
	case ORDER_PROGRESS:
		return -status_progress(s, now);
	case ORDER_LEFT:
		return status_remaining(s, now);
	case ORDER_GPU:
		return -s->gpu_util;
	default:
		return 0;
	}
}

struct sort_key {
	const struct workspace_index *index;
	enum home_order order;
	double now;
};

static int compare_home_runs(const void *left, const void *right, void *key_of)
{
	const struct sort_key *k = key_of;
	size_t i = *(const size_t *)left, j = *(const size_t *)right;
	const struct run_status *a = &k->index->runs[i].status, *b = &k->index->runs[j].status;
	double x = order_value(a, k->order, k->now), y = order_value(b, k->order, k->now);

	if (k->order == ORDER_NAME)
		return strcmp(a->name, b->name);
	if (isnan(x) != isnan(y))
		return isnan(x) ? 1 : -1;
	if (x < y || x > y)
		return x < y ? -1 : 1;
	return i < j ? -1 : i > j; /* the index is sorted by activity */
}

void home_sort_runs(const struct workspace_index *p, size_t *rows, size_t n, enum home_order order,
		    double now)
{
	struct sort_key key = { p, order, now };

	if (n > 1) /* no null pointer for qsort_r() */
		qsort_r(rows, n, sizeof(*rows), compare_home_runs, &key);
}

/* ---- columns ---- */

enum home_column {
	COLUMN_NAME,
	COLUMN_STATE,
	COLUMN_HEALTH,
	COLUMN_BLEU,
	COLUMN_CHANGE,
	COLUMN_CURVE,
	COLUMN_LOSS,
	COLUMN_BAR,
	COLUMN_DONE,
	COLUMN_STEP,
	COLUMN_LEFT,
	COLUMN_AGE,
	COLUMN_HOST,
	COLUMN_GPU,
	COLUMN_NOTE,
	N_COLUMNS
};

/* width without the two blanks after it; rank: columns of a higher rank are left out first. */
static const struct {
	const char *head;
	int width, rank;
	bool is_right; /* right-aligned */
	enum home_order order;
} columns[] = {
	[COLUMN_NAME] = { "run", 16, 0, false, ORDER_NAME },
	[COLUMN_STATE] = { "state", 8, 1, false, HOME_ORDERS },
	[COLUMN_HEALTH] = { "health", 22, 2, false, HOME_ORDERS },
	[COLUMN_BLEU] = { "BLEU", 5, 1, true, ORDER_BLEU },
	[COLUMN_CHANGE] = { "change", 6, 3, true, ORDER_CHANGE },
	[COLUMN_CURVE] = { "NLL", 8, 4, false, HOME_ORDERS },
	[COLUMN_LOSS] = { "NLL now", 7, 9, true, ORDER_LOSS },
	[COLUMN_BAR] = { "", 10, 10, false, HOME_ORDERS },
	[COLUMN_DONE] = { "done", 5, 1, true, ORDER_PROGRESS },
	[COLUMN_STEP] = { "step", 9, 11, true, HOME_ORDERS },
	[COLUMN_LEFT] = { "left", 8, 5, true, ORDER_LEFT },
	[COLUMN_AGE] = { "age", 5, 6, true, ORDER_ACTIVITY },
	[COLUMN_HOST] = { "host", 12, 7, false, HOME_ORDERS },
	[COLUMN_GPU] = { "GPU", 5, 8, true, ORDER_GPU },
	[COLUMN_NOTE] = { "", 12, 2, false, HOME_ORDERS },
};

#define SIGN_COLS  4 /* mark of the chosen row, sign of the state */
#define NAME_MORE  12
#define CURVE_MORE 10
#define NOTE_MORE  30 /* columns that a note of usual length needs above its least width */
#define EXTRA_RANK 7  /* columns from this rank on are shown only together with a whole note */
#define LAST_RANK  11

/* Widths of the columns in a table of that width; 0: left out. */
static void column_widths(int width, int widths[N_COLUMNS])
{
	int left = width - SIGN_COLS, more, spare;

	memset(widths, 0, N_COLUMNS * sizeof(*widths));
	for (int rank = 0; rank <= LAST_RANK; rank++)
		for (int c = 0; c < N_COLUMNS; c++) {
			int kept = rank >= EXTRA_RANK ? NOTE_MORE : 0;

			if (columns[c].rank != rank || columns[c].width + 2 + kept > left)
				continue;
			widths[c] = columns[c].width;
			left -= columns[c].width + 2;
		}
	if (!widths[COLUMN_NAME]) {
		widths[COLUMN_NAME] = MAX(width - SIGN_COLS, 0);
		return;
	}
	/* of the rest the note gets what a whole reason needs, then the name and the curve */
	spare = left > NOTE_MORE ? left - NOTE_MORE : left / 2;
	more = MIN(spare, NAME_MORE);
	widths[COLUMN_NAME] += more;
	left -= more;
	more = widths[COLUMN_CURVE] ? MIN(spare - more, CURVE_MORE) : 0;
	widths[COLUMN_CURVE] += more;
	left -= more;
	if (widths[COLUMN_NOTE])
		widths[COLUMN_NOTE] += left;
}

void home_draw_heads(struct grid *g, struct rect r, enum home_order order)
{
	int widths[N_COLUMNS], at = r.col + SIGN_COLS;

	column_widths(r.cols, widths);
	for (int c = 0; c < N_COLUMNS; c++) {
		bool sorted = columns[c].order == order;
		enum style style = sorted ? STYLE_BRIGHT : STYLE_DIM;

		if (!widths[c])
			continue;
		if (columns[c].is_right)
			draw_text_right(g, r.row, at + widths[c] - 1, widths[c], style,
					columns[c].head);
		else
			draw_text(g, r.row, at, widths[c], style, columns[c].head);
		at += widths[c] + 2;
		if (sorted && order != ORDER_ACTIVITY && g->charset != GRID_ASCII)
			grid_put(g, r.row, at - 2, STYLE_BRIGHT, 0x25BC);
	}
}

/* ---- cells ---- */

/* "12 s", "5 min", "3 h", "2 d", without blanks. */
static const char *format_age(char out[NUMBER_TEXT_BYTES], double seconds)
{
	static const struct {
		double below, unit;
		const char *name;
	} units[] = { { 120, 1, "s" },
		      { 7200, 60, "min" },
		      { 172800, 3600, "h" },
		      { 8.64e7, 86400, "d" },
		      { INFINITY, 31557600, "y" } };

	if (!(seconds >= 0))
		return format_value(out, NAN);
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (seconds < units[i].below) {
			snprintf(out, NUMBER_TEXT_BYTES, "%.0f%s", seconds / units[i].unit,
				 units[i].name);
			break;
		}
	return out;
}

static const char *format_share(char out[NUMBER_TEXT_BYTES], double share)
{
	if (!isfinite(share))
		return format_value(out, NAN);
	/* 99.9 % are not 100 % */
	snprintf(out, NUMBER_TEXT_BYTES, "%.0f %%", share < 1 ? floor(100 * share) : 100.0);
	return out;
}

static const char *change_text(char out[NUMBER_TEXT_BYTES], double change)
{
	if (!isfinite(change))
		return format_value(out, NAN);
	snprintf(out, NUMBER_TEXT_BYTES, "%+.2f", change);
	return out;
}

/* The host, without its domain, or how many there are. */
static void host_text(const struct run_status *s, char *out, size_t size)
{
	const char *name = s->host;

	if (s->n_hosts > 1)
		snprintf(out, size, "%lld hosts", (long long)s->n_hosts);
	else
		snprintf(out, size, "%.*s", *name ? (int)strcspn(name, ".") : 1,
			 *name ? name : "-");
}

/*
 * What no column says: of a run that trains the time left, or its speed; else why it ended, or when.
 */
static void note_text(const struct run_status *s, const int *widths, double now, char *out,
		      size_t size)
{
	const struct run_end end = status_get_end(s);
	char n[NUMBER_TEXT_BYTES];

	*out = 0;
	if (status_is_evaluating(s, now))
		snprintf(out, size, "evaluating");
	else if (s->alive && !widths[COLUMN_LEFT])
		snprintf(out, size, "%s left", format_duration(n, status_remaining(s, now)));
	else if (s->alive)
		snprintf(out, size, "%s tok/s", format_value(n, s->target_tps));
	else if (*end.text && end.why != RUN_END_STEPS)
		snprintf(out, size, "%s", end.text);
	else if (!widths[COLUMN_AGE] && isfinite(s->latest))
		snprintf(out, size, "%s ago", format_age(n, now - s->latest));
}

/* The text of a cell, and its style. */
static enum style run_cell_text(const struct run_status *s, enum home_column c, const int *widths,
				double now, char *out, size_t size)
{
	struct run_look look =
		run_look_of(s->alive ? RUN_RUNNING : run_state_by_name(s->state), &s->health);
	char n[NUMBER_TEXT_BYTES];
	const char *text = n;
	enum style style = STYLE_NORMAL;

	switch (c) {
	case COLUMN_NAME:
		style = STYLE_BRIGHT;
		text = s->name;
		break;
	case COLUMN_STATE:
		style = look.style;
		text = s->state;
		break;
	case COLUMN_HEALTH:
		style = run_health_look(s->health.state).style;
		text = s->health.text;
		break;
	case COLUMN_BLEU:
		style = STYLE_BRIGHT;
		format_fixed(n, s->best_bleu, 2);
		break;
	case COLUMN_CHANGE:
		style = s->bleu_change > 0   ? STYLE_GOOD
			: s->bleu_change < 0 ? STYLE_WARN
					     : STYLE_NORMAL;
		change_text(n, s->bleu_change);
		break;
	case COLUMN_LOSS:
		format_fixed(n, isnan(s->nll) ? s->loss : s->nll, 3);
		break;
	case COLUMN_DONE:
		format_share(n, status_progress(s, now));
		break;
	case COLUMN_STEP:
		format_count(n, s->step);
		break;
	case COLUMN_LEFT:
		if (status_remaining(s, now) < 0.5)
			text = "ending";
		else if (s->alive)
			format_duration(n, status_remaining(s, now));
		else
			*n = 0;
		break;
	case COLUMN_AGE:
		style = STYLE_DIM;
		format_age(n, now - s->latest);
		break;
	case COLUMN_HOST:
		host_text(s, out, size);
		return STYLE_DIM;
	case COLUMN_GPU:
		format_share(n, s->gpu_util);
		break;
	case COLUMN_NOTE:
		note_text(s, widths, now, out, size);
		return STYLE_NORMAL;
	default:
		*n = 0;
	}
	snprintf(out, size, "%s", text);
	return style;
}

void home_draw_run(const struct list_row *row, const struct indexed_run *run, double now)
{
	const struct run_status *s = &run->status;
	struct run_look look =
		run_look_of(s->alive ? RUN_RUNNING : run_state_by_name(s->state), &s->health);
	int widths[N_COLUMNS], at = SIGN_COLS;

	column_widths(row->cols, widths);
	row_sign(row, 2, look.style, look.sign);
	for (int c = 0; c < N_COLUMNS; c++) {
		char text[160];
		enum style style =
			run_cell_text(s, (enum home_column)c, widths, now, text, sizeof(text));

		/* until it is read, its numbers are those of an earlier time */
		if (c == COLUMN_HEALTH && run->journal && !run->is_fully_read) {
			snprintf(text, sizeof(text), "reading %.0f %%",
				 floor(100 * journal_read_share(run->journal)));
			style = STYLE_WARN;
		}
		if (!widths[c])
			continue;
		if (c == COLUMN_CURVE)
			sparkline_draw(row->g,
				       (struct span){ row->row, row->col + at, widths[c],
						      row->chosen ? STYLE_SELECTED : STYLE_FIRST },
				       &run->loss);
		else if (c == COLUMN_BAR)
			draw_bar(row->g, row->row, row->col + at, widths[c],
				 status_progress(s, now));
		else if (columns[c].is_right)
			row_text_right(row, at + widths[c] - 1, widths[c], style, text);
		else
			row_text(row, at, widths[c], style, text);
		at += widths[c] + 2;
	}
}
