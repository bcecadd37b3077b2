/* data_trial.c - trying other limits of the cleaning rules in the data view; see data_panes.h. */
#include <math.h>
#include <stdio.h>

#include "share/base/number_format.h"
#include "share/base/util.h"
#include "tui/term/draw.h"
#include "tui/views/data_panes.h"

static void want_trial_texts(struct corpus_details *b, const struct pair_trial *t)
{
	struct pair_place places[2 * PAIR_EXAMPLES];
	size_t n = 0;

	for (int i = 0; i < PAIR_EXAMPLES; i++) {
		if (i < t->n_dropped)
			places[n++] = t->dropped[i].place;
		if (i < t->n_kept)
			places[n++] = t->kept[i].place;
	}
	if (n)
		corpus_details_want_texts(b, places, n);
}

bool data_has_limits(const struct data_view_state *s)
{
	return s->tried.max_words > 0;
}

void data_update_trial(struct corpus_details *b, struct data_view_state *s)
{
	struct err e = { 0 };

	if (!b->facts)
		return;
	if (!data_has_limits(s)) {
		s->tried = pair_facts_counts(b->facts)->options;
		s->trial_is_late = true;
	}
	/* while pairs are read, a trial of each part would take the time of the reading */
	if (!s->trial_is_late || !b->facts_are_read)
		return;
	s->trial_is_late = false;
	if (pair_trial_run(&s->trial, b->facts, &s->tried, &e))
		snprintf(b->facts_trouble, sizeof(b->facts_trouble), "%.190s", e.text);
	want_trial_texts(b, &s->trial);
}

void data_trial_recipe(const struct corpus_details *b, const struct data_view_state *s,
		       struct buf *out)
{
	char value[32];

	for (int l = 0; b->facts && data_has_limits(s) && l < PAIR_N_LIMITS; l++)
		if (!pair_limits_equal(&s->tried, &pair_facts_counts(b->facts)->options,
				       (enum pair_limit)l)) {
			for (const char *c = pair_limit_name((enum pair_limit)l); *c; c++)
				buf_add_char(out, *c == '-' ? '_' : *c);
			buf_printf(out, " = %s\n",
				   pair_limit_text(&s->tried, (enum pair_limit)l, value));
		}
}

/* ---- drawing ---- */

/* "1,234", or in a sample "1,234 ± 56"; ASCII: "+-". */
static const char *estimate_text(const struct grid *g, struct pair_estimate x, char out[64])
{
	if (!isfinite(x.n))
		snprintf(out, 64, "-");
	else if (x.is_exact)
		snprintf(out, 64, "%s", COUNT_TEXT((int64_t)x.n));
	else
		snprintf(out, 64, "%s %s %s", COUNT_TEXT(llround(x.n)),
			 g->charset == GRID_ASCII ? "+-" : "\xc2\xb1",
			 COUNT_TEXT((int64_t)ceil(x.margin)));
	return out;
}

/* Whether some tried limit differs from the recipe's. */
static bool has_tried_limits(const struct corpus_details *b, const struct data_view_state *s)
{
	for (int i = 0; i < PAIR_N_LIMITS; i++)
		if (!pair_limits_equal(&s->tried, &pair_facts_counts(b->facts)->options,
				       (enum pair_limit)i))
			return true;
	return false;
}

/*
 * Pairs of the corpus with this verdict by the tried limits. Known without a sample: what the
 * recipe's own limits decided, and that a rule that is off drops nothing.
 */
static struct pair_estimate tried_estimate(const struct corpus_details *b,
					   const struct data_view_state *s, enum clean_rule rule)
{
	enum pair_limit l = pair_limit_of_rule(rule);

	if (!has_tried_limits(b, s))
		return (struct pair_estimate){ (double)pair_facts_counts(b->facts)->of_rule[rule],
					       0, true };
	if (l < PAIR_N_LIMITS && pair_limit_is_off(&s->tried, l))
		return (struct pair_estimate){ 0, 0, true };
	return pair_trial_estimate(&s->trial, s->trial.after[rule]);
}

static void draw_limit_head(const struct list_row *row)
{
	row_text(row, 2, 14, STYLE_DIM, "limit");
	row_text_right(row, 25, 8, STYLE_DIM, "recipe");
	row_text_right(row, 34, 8, STYLE_DIM, "tried");
	row_text_right(row, 46, 11, STYLE_DIM, "drops now");
	row_text(row, 50, 0, STYLE_DIM, "would drop");
}

static void draw_limit_row(const struct list_row *row, const struct corpus_details *b,
			   const struct data_view_state *s)
{
	const struct clean_options *recipe = &pair_facts_counts(b->facts)->options;
	const enum pair_limit l = (enum pair_limit)row->i;
	bool changed = !pair_limits_equal(recipe, &s->tried, l);
	enum clean_rule rule = pair_limit_rule(l);
	char text[64], value[32];

	row_text(row, 2, 14, STYLE_NORMAL, pair_limit_name(l));
	row_text_right(row, 25, 8, STYLE_DIM, pair_limit_text(recipe, l, value));
	row_text_right(row, 34, 8, changed ? STYLE_BRIGHT : STYLE_NORMAL,
		       pair_limit_text(&s->tried, l, value));
	if (changed)
		row_text(row, 35, 1, STYLE_WARN, "*");
	row_text_right(row, 46, 11, STYLE_DIM,
		       COUNT_TEXT(pair_facts_counts(b->facts)->of_rule[rule]));
	if (b->facts_are_read)
		row_text(row, 50, 0, STYLE_BRIGHT,
			 estimate_text(row->g, tried_estimate(b, s, rule), text));
}

/* What the tried limits change in all, in up to three lines. */
static void draw_trial_sum(struct grid *g, struct rect in, int row, const struct corpus_details *b,
			   const struct data_view_state *s)
{
	const struct pair_trial *t = &s->trial;
	char a[64], c[64], d[64], text[240];
	int end = in.row + in.rows;

	if (!has_tried_limits(b, s)) {
		snprintf(text, sizeof(text), "kept: %s; unchanged, no other limit is tried",
			 format_count(d, pair_facts_counts(b->facts)->of_rule[CLEAN_KEEP]));
		if (row < end)
			draw_text(g, row, in.col + 2, in.cols - 2, STYLE_BRIGHT, text);
		return;
	}
	snprintf(text, sizeof(text), "kept: %s now, %s by the tried limits",
		 format_count(d, pair_facts_counts(b->facts)->of_rule[CLEAN_KEEP]),
		 estimate_text(g, tried_estimate(b, s, CLEAN_KEEP), a));
	if (row < end)
		draw_text(g, row++, in.col + 2, in.cols - 2, STYLE_BRIGHT, text);
	snprintf(text, sizeof(text), "%s more are dropped, %s are kept again",
		 estimate_text(g, pair_trial_estimate(t, t->n_dropped), a),
		 estimate_text(g, pair_trial_estimate(t, t->n_kept), c));
	if (row < end)
		draw_text(g, row++, in.col + 2, in.cols - 2, STYLE_NORMAL, text);
	snprintf(text, sizeof(text), "of these, %s may still be dropped by %s",
		 estimate_text(g, pair_trial_estimate(t, t->n_unsure), a),
		 t->is_exact || !pair_facts_counts(b->facts)->drop_duplicates
			 ? "max-tokens"
			 : "max-tokens or drop-duplicates");
	if (t->n_unsure && row < end)
		draw_text(g, row, in.col + 2, in.cols - 2, STYLE_WARN, text);
}

static void trial_title(const struct corpus_details *b, const struct data_view_state *s, char *out,
			size_t size)
{
	char n[NUMBER_TEXT_BYTES], all[NUMBER_TEXT_BYTES], extent[80];

	if (!b->facts_are_read)
		snprintf(out, size, "try limits; read %s",
			 data_facts_extent(b, extent, sizeof(extent)));
	else if (s->trial.is_exact)
		snprintf(out, size, "try limits; exact, all %s pairs",
			 format_count(n, s->trial.total));
	else
		snprintf(out, size, "try limits; sample of n = %s of %s pairs, 95 %%",
			 format_count(n, s->trial.n), format_count(all, s->trial.total));
}

static void draw_trial_pair(const struct list_row *row, const struct corpus_details *b,
			    const struct pair_fact *p, enum clean_rule rule, enum style style)
{
	const char *source = b->texts ? pair_texts_get(b->texts, p->place, 0) : NULL;
	const char *target = source ? pair_texts_get(b->texts, p->place, 1) : NULL;
	char text[120], place[90];

	snprintf(text, sizeof(text), "%s %s", rule ? clean_rule_name(rule) : "kept",
		 data_place_text(b, p->place, place, sizeof(place)));
	row_text(row, 1, 22, style, text);
	row_pair(row, 25, STYLE_NORMAL, source ? source : "-", target ? target : "-");
}

static void draw_trial_examples(struct grid *g, struct rect box, const struct corpus_details *b,
				const struct data_view_state *s)
{
	const struct pair_trial *t = &s->trial;
	struct rect in = layout_inside(box);
	int n_dropped = (int)MIN(t->n_dropped, PAIR_EXAMPLES),
	    n_kept = (int)MIN(t->n_kept, PAIR_EXAMPLES);
	struct list_row row = list_row_at(g, in, in.row);

	draw_box(g, box, "pairs whose verdict changes", false);
	if (!n_dropped && !n_kept && in.rows > 0)
		draw_text(g, in.row, in.col + 1, in.cols - 1, STYLE_DIM,
			  "none; Left and Right change the chosen limit, Enter types a value");
	for (int i = 0; i < PAIR_EXAMPLES; i++) {
		if (i < n_dropped && row.row < in.row + in.rows) {
			draw_trial_pair(&row, b, &t->dropped[i], t->dropped_by[i], STYLE_WARN);
			row.row++;
		}
		if (i < n_kept && row.row < in.row + in.rows) {
			draw_trial_pair(&row, b, &t->kept[i], CLEAN_KEEP, STYLE_GOOD);
			row.row++;
		}
	}
}

void data_draw_trial(struct grid *g, struct rect r, const struct corpus_details *b,
		     struct data_view_state *s)
{
	const struct layout_part parts[] = {
		{ .min = 4, .max = PAIR_N_LIMITS + 6, .weight = 3 },
		{ .min = 3, .max = 2 * PAIR_EXAMPLES + 2, .weight = 1, .rank = 1 },
	};
	struct list_widget *l = &s->lists[DATA_RULES];
	struct rect rows[2], in, list;
	char title[120] = "try limits";
	struct list_row row;
	int sum;

	layout_rows(r, parts, 2, rows);
	if (b->facts)
		trial_title(b, s, title, sizeof(title));
	draw_box(g, rows[0], title, true);
	in = list = layout_inside(rows[0]);
	if (!b->facts || !data_has_limits(s)) {
		data_draw_no_facts(g, in, b);
		return;
	}
	sum = in.rows >= PAIR_N_LIMITS + 3 ? 3 : 0;
	list.row += in.rows > 4;
	list.rows = MIN(in.rows - (in.rows > 4) - sum, (int)PAIR_N_LIMITS);
	row = list_row_at(g, in, in.row);
	if (in.rows > 4)
		draw_limit_head(&row);
	row = list_rows(g, list, l, PAIR_N_LIMITS, true);
	while (list_row_next(&row))
		draw_limit_row(&row, b, s);
	list_widget_draw_place(g, rows[0], l);
	if (*b->facts_trouble && sum)
		draw_text(g, list.row + list.rows, in.col + 2, in.cols - 2, STYLE_WARN,
			  b->facts_trouble);
	else if (b->facts_are_read && sum)
		draw_trial_sum(g, in, list.row + list.rows, b, s);
	if (rows[1].rows > 2 && b->facts_are_read)
		draw_trial_examples(g, rows[1], b, s);
}
