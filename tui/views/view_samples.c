/* view_samples.c - the tab "samples": translations of development sentences at each checkpoint. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/text/text_filter.h"
#include "share/base/number_format.h"
#include "share/base/util.h"
#include "tui/run/run_history.h"
#include "tui/run/sample_history.h"
#include "tui/term/draw.h"
#include "tui/term/list_widget.h"
#include "tui/translate/attention_map.h"
#include "tui/views/sample_text.h"
#include "tui/views/samples_attention.h"
#include "tui/views/views.h"

#define BUDGET_S   0.02
#define GUTTER	   18 /* columns before a translation, for the step and chrF */
#define STEP_END   9  /* last column of the step */
#define MOST_CELLS 24 /* checkpoints in the matrix */

enum samples_pane {
	SAMPLES_SENTENCES,
	SAMPLES_VERSIONS_PANE,
	SAMPLES_LISTS,
	SAMPLES_MAP = SAMPLES_LISTS
};
/* The order of the sentences. */
enum samples_order { ORDER_READ, ORDER_WORST, ORDER_CHANGED, N_ORDERS };
enum samples_against { AGAINST_BEFORE, AGAINST_REFERENCE, AGAINST_NOTHING, N_AGAINST };

struct samples_view {
	struct sample_history *samples; /* owned; NULL: no run, or an unreadable file */
	char run[101];			/* run of the samples */
	struct list_widget lists[SAMPLES_LISTS];
	enum samples_pane focus;
	enum samples_against against;
	size_t shown[SAMPLE_SENTENCES]; /* indices of sentences that match the filter */
	size_t n_shown;
	struct text_filter filter;
	enum samples_order order;
	bool follow; /* the newest checkpoint stays chosen */
	struct samples_attention attention;
};

/* The change of chrF from the version before to the last one; NaN: unknown. */
static double last_change(const struct sample_sentence *x)
{
	return x->n < 2 ? NAN : fabs(x->versions[x->n - 1].chrf - x->versions[x->n - 2].chrf);
}

/* What the order compares, the smallest first; NaN: last. */
static double sentence_value(const struct sample_sentence *x, enum samples_order order)
{
	return !x->n || order == ORDER_READ ? NAN
	       : order == ORDER_WORST	    ? x->versions[x->n - 1].chrf
					    : -last_change(x);
}

static int compare_sentences(const void *left, const void *right, void *view)
{
	const struct samples_view *s = view;
	size_t i = *(const size_t *)left, j = *(const size_t *)right;
	double a = sentence_value(&s->samples->sentences[i], s->order);
	double b = sentence_value(&s->samples->sentences[j], s->order);

	if (isnan(a) != isnan(b))
		return isnan(a) ? 1 : -1;
	if (a < b || a > b)
		return a < b ? -1 : 1;
	return i < j ? -1 : i > j;
}

static void apply_samples_filter(struct samples_view *s)
{
	size_t chosen = s->lists[SAMPLES_SENTENCES].at;

	chosen = chosen < s->n_shown ? s->shown[chosen] : SIZE_MAX;
	s->n_shown = 0;
	for (size_t i = 0; s->samples && i < s->samples->n; i++) {
		const struct sample_sentence *x = &s->samples->sentences[i];
		bool passes = text_filter_matches(&s->filter, x->source) ||
			      text_filter_matches(&s->filter, x->reference);

		for (size_t v = 0; v < x->n && !passes; v++)
			passes = text_filter_matches(&s->filter, x->versions[v].hypothesis);
		if (passes)
			s->shown[s->n_shown++] = i;
	}
	qsort_r(s->shown, s->n_shown, sizeof(*s->shown), compare_sentences, s);
	for (size_t i = 0; i < s->n_shown; i++) /* the same sentence stays chosen */
		if (s->shown[i] == chosen)
			s->lists[SAMPLES_SENTENCES].at = i;
}

static const struct sample_sentence *chosen_sentence(const struct samples_view *s)
{
	size_t at = s->lists[SAMPLES_SENTENCES].at;

	return at < s->n_shown ? &s->samples->sentences[s->shown[at]] : NULL;
}

static size_t n_versions(const struct samples_view *s)
{
	const struct sample_sentence *x = chosen_sentence(s);

	return x ? x->n : 0;
}

static int samples_open(void *state, struct app_context *w, struct err *e)
{
	struct samples_view *s = state;

	(void)w;
	(void)e;
	s->follow = true;
	return 0;
}

static void samples_close(void *state)
{
	struct samples_view *s = state;

	samples_attention_close(&s->attention);
	sample_history_free(s->samples);
}

/* Let the map follow the chosen sentence; the checkpoint stays the one that was asked for. */
static unsigned update_attention(struct samples_view *s, struct app_context *w)
{
	const struct sample_sentence *x = chosen_sentence(s);
	struct err e = { 0 };
	int at = x && s->attention.is_open ? sample_version_at(x, s->attention.step) : -1;

	if (at >= 0 && x->versions[at].step != s->attention.step)
		at = -1;
	if (x && samples_attention_ask(&s->attention, x->source,
				       at < 0 ? NULL : x->versions[at].hypothesis, &e))
		context_notify(w, STYLE_BAD, "%s", e.text);
	return samples_attention_update(&s->attention, w);
}

/* Show the map of the chosen checkpoint, or hide it if it is the one on the screen. */
static void toggle_attention(struct samples_view *s, struct app_context *w)
{
	const struct sample_sentence *x = chosen_sentence(s);
	size_t at = s->lists[SAMPLES_VERSIONS_PANE].at;
	struct err e = { 0 };

	if (!x || at >= x->n)
		return;
	if (s->attention.is_open && s->attention.step == x->versions[at].step) {
		samples_attention_close(&s->attention);
		s->focus = s->focus == SAMPLES_MAP ? SAMPLES_SENTENCES : s->focus;
	} else if (samples_attention_show(&s->attention, w, s->run, x->versions[at].step, &e)) {
		context_notify(w, STYLE_WARN, "%s", e.text);
	}
}

static unsigned samples_update(void *state, struct app_context *w)
{
	struct samples_view *s = state;
	struct err e = { 0 };
	unsigned reaction;
	int got;

	if (!w->front)
		return REACT_NOTHING;
	if (w->run && w->history && strcmp(w->run, s->run)) {
		sample_history_free(s->samples);
		s->samples = sample_history_open(w->history->folder, &e);
		snprintf(s->run, sizeof(s->run), "%s", w->run);
		memset(s->lists, 0, sizeof(s->lists));
		s->follow = true;
		samples_attention_close(&s->attention);
		s->focus = SAMPLES_SENTENCES;
	}
	if (!s->samples)
		return REACT_NOTHING;
	reaction = update_attention(s, w);
	got = sample_history_update(s->samples, BUDGET_S, &e);
	if (got <= 0)
		return reaction;
	apply_samples_filter(s);
	if (s->follow && n_versions(s))
		s->lists[SAMPLES_VERSIONS_PANE].at = n_versions(s) - 1;
	return reaction | REACT_REDRAW | (got == 2 ? REACT_AGAIN : 0);
}

/* ---- keys ---- */

/* After a change of sentence, keep the same checkpoint chosen. */
static void change_sentence(struct samples_view *s, size_t before)
{
	struct list_widget *l = &s->lists[SAMPLES_VERSIONS_PANE];
	const struct sample_sentence *old = before < s->n_shown
						    ? &s->samples->sentences[s->shown[before]]
						    : NULL,
				     *now = chosen_sentence(s);
	int at = old && now && l->at < old->n ? sample_version_at(now, old->versions[l->at].step)
					      : -1;

	l->at = at >= 0 ? (size_t)at : 0;
	if (s->follow && now && now->n)
		l->at = now->n - 1;
}

static void samples_moved(void *state, struct app_context *w, int pane, size_t before)
{
	struct samples_view *s = state;

	(void)w;
	if (pane == SAMPLES_SENTENCES)
		change_sentence(s, before);
	else
		s->follow = s->lists[pane].at + 1 >= n_versions(s);
}

/* Copy the chosen sentence: source, reference, all translations. */
static void copy_sentence(const struct samples_view *s, struct app_context *w)
{
	const struct sample_sentence *x = chosen_sentence(s);
	struct buf out = { 0 };

	if (!x)
		return;
	buf_printf(&out, "source\t%s\nreference\t%s\n", x->source, x->reference);
	for (size_t v = 0; v < x->n; v++)
		buf_printf(&out, "%lld\t%s\n", (long long)x->versions[v].step,
			   x->versions[v].hypothesis);
	context_copy_text(w, buf_text(&out));
	buf_free(&out);
}

static unsigned samples_act(void *state, struct app_context *w, enum action action)
{
	struct samples_view *s = state;
	const unsigned panes = SAMPLES_LISTS + s->attention.is_open;

	switch (action) {
	case ACTION_NEXT_PANE:
		s->focus = (s->focus + 1) % panes;
		return REACT_REDRAW;
	case ACTION_PREV_PANE:
		s->focus = (s->focus + panes - 1) % panes;
		return REACT_REDRAW;
	case ACTION_LEFT:
	case ACTION_RIGHT:
		list_widget_act(&s->lists[SAMPLES_VERSIONS_PANE],
				action == ACTION_LEFT ? ACTION_UP : ACTION_DOWN, n_versions(s));
		samples_moved(s, w, SAMPLES_VERSIONS_PANE, 0);
		return REACT_REDRAW;
	case ACTION_SAMPLES_MAP:
		toggle_attention(s, w);
		return REACT_REDRAW | REACT_SOON;
	case ACTION_COPY:
		copy_sentence(s, w);
		return REACT_REDRAW;
	case ACTION_SAMPLES_TRANSLATE:
		if (chosen_sentence(s))
			context_send_text(w, TAB_TRANSLATE, chosen_sentence(s)->source);
		return REACT_REDRAW;
	default:
		return s->focus == SAMPLES_MAP && samples_attention_act(&s->attention, action)
			       ? REACT_REDRAW
			       : REACT_UNKNOWN;
	}
}

static void show_order(void *state, struct app_context *w)
{
	struct samples_view *s = state;

	(void)w;
	s->n_shown = 0; /* the first sentence of the order becomes the chosen one */
	s->lists[SAMPLES_SENTENCES].at = 0;
	apply_samples_filter(s);
}

/* ---- drawing ---- */

static struct sample_marks marks_of(const struct samples_view *s, const struct sample_sentence *x,
				    size_t v)
{
	if (s->against == AGAINST_NOTHING)
		return (struct sample_marks){ 0 };
	if (s->against == AGAINST_REFERENCE)
		return (struct sample_marks){ x->reference, x->reference };
	return (struct sample_marks){ v ? x->versions[v - 1].hypothesis : NULL, x->reference };
}

/* The steps of the last checkpoints, for the columns of the matrix; returns their number. */
static size_t matrix_steps(const struct samples_view *s, size_t most, int64_t steps[MOST_CELLS])
{
	const struct sample_sentence *longest = &s->samples->sentences[0];
	size_t n;

	for (size_t i = 1; i < s->samples->n; i++)
		if (s->samples->sentences[i].n > longest->n)
			longest = &s->samples->sentences[i];
	n = MIN(MIN(longest->n, most), (size_t)MOST_CELLS);
	for (size_t i = 0; i < n; i++)
		steps[i] = longest->versions[longest->n - n + i].step;
	return n;
}

/* chrF of the last version, and a cell for each checkpoint; returns the columns used. */
static int draw_sentence_scores(struct grid *g, struct span at, const struct samples_view *s,
				const struct sample_sentence *x)
{
	int64_t steps[MOST_CELLS];
	size_t n = matrix_steps(s, (size_t)MAX(at.width / 4, 1), steps);

	draw_text_right(g, at.row, at.col + 4, 5, at.style,
			FIXED_TEXT(x->n ? x->versions[x->n - 1].chrf : NAN, 1));
	for (size_t i = 0; i < n; i++)
		if (isfinite(sample_score_at(x, steps[i])))
			draw_quality(g, at.row, at.col + 6 + (int)i,
				     sample_score_at(x, steps[i]) / 100);
	return 6 + (int)n + 2;
}

static void draw_sentences(struct grid *g, struct rect box, struct samples_view *s)
{
	struct list_widget *l = &s->lists[SAMPLES_SENTENCES];
	struct rect in = layout_inside(box);
	struct list_row row;
	static const char *const orders[] = { "", " by the worst chrF",
					      " by the largest change of chrF" };
	char title[140];
	int used;

	snprintf(title, sizeof(title), "sentences%s%s%.80s", orders[s->order],
		 *s->filter.text ? " with " : "", s->filter.text);
	row = list_box(g, box, title, l, s->n_shown, s->focus == SAMPLES_SENTENCES);
	draw_quality_scale(g, box, title);
	while (list_row_next(&row)) {
		const struct sample_sentence *x = &s->samples->sentences[s->shown[row.i]];

		if (row.is_at && !row.chosen)
			list_widget_draw_chosen(g, in, row.row, false);
		row_text_right(&row, 4, 3, STYLE_DIM, COUNT_TEXT(x->id));
		used = draw_sentence_scores(
			g,
			(struct span){ row.row, in.col + 6, in.cols - 6,
				       row.chosen ? STYLE_SELECTED : STYLE_NORMAL },
			s, x);
		row_text(&row, 6 + used, 0, row.is_at ? STYLE_BRIGHT : STYLE_NORMAL, x->source);
	}
	if (!s->n_shown)
		draw_text(g, in.row, in.col + 2, in.cols - 2, STYLE_DIM, "no sentence matches");
}

static int version_rows(struct grid *g, const struct samples_view *s,
			const struct sample_sentence *x, size_t v, int width)
{
	struct span at = { 0, 0, width, STYLE_NORMAL };

	return sample_text_wrapped(g, at, 0, 0, x->versions[v].hypothesis, marks_of(s, x, v));
}

/* The first visible version so that the chosen one is completely visible if possible. */
static size_t first_seen(struct grid *g, struct samples_view *s, const struct sample_sentence *x,
			 int width, int rows)
{
	struct list_widget *l = &s->lists[SAMPLES_VERSIONS_PANE];
	int used = 0;
	size_t v;

	l->page = MAX(rows / 2, 1);
	l->at = MIN(l->at, x->n - 1);
	for (v = l->at + 1; v > 0; v--) {
		used += version_rows(g, s, x, v - 1, width);
		if (used > rows && v <= l->at)
			break;
	}
	/* keep the scroll position while the chosen version is visible */
	if (l->top > v && l->top <= l->at)
		v = l->top;
	l->top = v;
	return v;
}

/* Draw the translations of a sentence into the part in of a box. */
static void draw_versions(struct grid *g, struct rect box, struct rect in, struct samples_view *s,
			  const struct sample_sentence *x)
{
	int row = in.row, width = in.cols - GUTTER - 1;
	size_t v, first;

	if (!x->n || width < 4)
		return;
	first = first_seen(g, s, x, width, in.rows);
	for (v = first; v < x->n && row < in.row + in.rows; v++) {
		bool at = v == s->lists[SAMPLES_VERSIONS_PANE].at,
		     front = at && s->focus == SAMPLES_VERSIONS_PANE;
		struct span to = { row, in.col + GUTTER, width, at ? STYLE_BRIGHT : STYLE_NORMAL };

		if (at)
			grid_put(g, row, in.col, front ? STYLE_FOCUS : STYLE_DIM, '>');
		draw_text_right(g, row, in.col + STEP_END, STEP_END, at ? STYLE_BRIGHT : STYLE_DIM,
				COUNT_TEXT(x->versions[v].step));
		draw_text_right(g, row, in.col + GUTTER - 3, GUTTER - 4 - STEP_END,
				at ? STYLE_BRIGHT : STYLE_DIM, FIXED_TEXT(x->versions[v].chrf, 1));
		row += sample_text_wrapped(g, to, in.row + in.rows - row, 0,
					   x->versions[v].hypothesis, marks_of(s, x, v));
	}
	/* a translation that is visible in part counts as below */
	draw_hidden_rows(g, box, (int)first, (int)(x->n - v) + (row > in.row + in.rows));
}

static void draw_sentence(struct grid *g, struct rect box, struct samples_view *s)
{
	static const char *const against[] = {
		"step, chrF; + new, underlined: not in the reference",
		"step, chrF; + and underlined: not in the reference", "step, chrF, translation"
	};
	const struct sample_sentence *x = chosen_sentence(s);
	struct rect in = layout_inside(box);

	draw_box(g, box, against[s->against], s->focus == SAMPLES_VERSIONS_PANE);
	if (!x || in.rows < 1)
		return;
	for (int side = 0; side < 2 && in.rows > 2; side++) {
		struct span at = { in.row, in.col + GUTTER, in.cols - GUTTER - 1,
				   side ? STYLE_GOOD : STYLE_TITLE };
		int used;

		draw_text_right(g, in.row, in.col + GUTTER - 3, GUTTER - 3, STYLE_DIM,
				side ? "reference" : "source");
		if (at.width < 1)
			return;
		used = MIN(draw_text_wrapped(g, at, MAX(in.rows / 3, 1), 0,
					     side ? x->reference : x->source),
			   MAX(in.rows / 3, 1));
		in.row += used;
		in.rows -= used;
	}
	if (in.rows > 3) {
		in.row++;
		in.rows--;
	}
	draw_versions(g, box, in, s, x);
}

/* The map beside or below the versions, or in their place; *r becomes what is left for them. */
static void draw_attention(struct grid *g, struct rect *r, struct samples_view *s)
{
	const struct layout_part halves[] = { { .min = 60, .weight = 1, .rank = 1 },
					      { .min = 60, .weight = 1 } };
	const struct layout_part rows[] = {
		{ .min = 8, .weight = 2, .rank = 1 },
		{ .min = 10, .max = attention_map_rows(&s->attention.console), .weight = 3 }
	};
	struct rect cut[2];

	if (r->cols >= 2 * halves[0].min)
		layout_cols(*r, halves, 2, cut);
	else if (r->rows >= rows[0].min + rows[1].min)
		layout_rows(*r, rows, 2, cut);
	else
		cut[0] = (struct rect){ 0 }, cut[1] = *r;
	samples_attention_draw(&s->attention, g, cut[1], s->focus == SAMPLES_MAP);
	*r = cut[0];
}

static void samples_draw(void *state, struct grid *g, struct rect body, const struct app_context *w)
{
	struct samples_view *s = state;
	const struct layout_part parts[] = { { .min = 3,
					       .max = (int)MIN(MAX(s->n_shown, 1), (size_t)12) + 2,
					       .weight = 1,
					       .rank = 1 },
					     { .min = 3, .weight = 2 } };
	struct rect r[2];

	if (!w->run) {
		draw_centred(g, body, STYLE_TITLE,
			     "There is no run yet. Start one in the home view.");
		return;
	}
	if (!s->samples || !s->samples->n) {
		draw_centred(
			g, body, STYLE_TITLE,
			w->history && (w->history->bleu.n || w->history->dev_nll.n)
				? "This run was evaluated, but has no sample translations:\n"
				  "samples.jsonl in its folder is missing, empty or unreadable."
				: "No sample translations yet. Each evaluation writes some.\n\n"
				  "E in the run view requests an evaluation now.");
		return;
	}
	layout_rows(body, parts, 2, r);
	if (r[0].rows > 2 && r[0].cols > 2)
		draw_sentences(g, r[0], s);
	if (s->attention.is_open)
		draw_attention(g, &r[1], s);
	if (r[1].rows > 2 && r[1].cols > 2)
		draw_sentence(g, r[1], s);
}

static const struct view_pane samples_panes[] = {
	[SAMPLES_SENTENCES] = VIEW_PANE("sentences", ACTION_ORDER, ACTION_FIND,
					ACTION_SAMPLES_TRANSLATE, ACTION_COPY),
	[SAMPLES_VERSIONS_PANE] =
		VIEW_PANE("translations", ACTION_SAMPLES_AGAINST, ACTION_SAMPLES_MAP, ACTION_COPY),
	[SAMPLES_MAP] = VIEW_PANE("attention", ACTION_SAMPLES_MAP),
};

static void samples_restored(void *state, struct app_context *w)
{
	(void)w;
	apply_samples_filter(state);
}

static const struct view_toggle samples_toggles[] = {
	VIEW_KEY(struct samples_view, against, ACTION_SAMPLES_AGAINST, N_AGAINST, NULL),
	VIEW_KEY(struct samples_view, order, ACTION_ORDER, N_ORDERS, show_order),
	VIEW_FILTER(struct samples_view, filter, ACTION_FIND, 0, "only sentences that contain",
		    samples_restored),
};

const struct view view_samples = {
	.name = "samples",
	.title = "samples",
	.state_size = sizeof(struct samples_view),
	.open = samples_open,
	.update = samples_update,
	.act = samples_act,
	.draw = samples_draw,
	.close = samples_close,
	.panes = samples_panes,
	.n_panes = ARRAY_LEN(samples_panes),
	.focus = offsetof(struct samples_view, focus),
	.lists = offsetof(struct samples_view, lists),
	.n_lists = SAMPLES_LISTS,
	.list_moved = samples_moved,
	.hints = VIEW_ACTIONS(ACTION_DOWN, ACTION_RIGHT, ACTION_SAMPLES_TRANSLATE,
			      ACTION_SAMPLES_AGAINST, ACTION_ORDER, ACTION_NEXT_PANE, ACTION_FIND,
			      ACTION_SAMPLES_MAP, ACTION_COPY),
	.toggles = samples_toggles,
	.n_toggles = ARRAY_LEN(samples_toggles),
	.restored = samples_restored,
};
