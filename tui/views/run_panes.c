/* run_panes.c - samples, log and head rows of the run view; see run_panes.h. */
#include "tui/views/run_panes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/number_format.h"
#include "share/base/util.h"
#include "tui/run/log_lines.h"
#include "tui/run/run_look.h"
#include "tui/term/draw.h"
#include "tui/views/sample_text.h"

#define LABEL_COLS 11 /* width of "hypothesis " */

/* ---- samples ---- */

struct sample_text {
	const char *label, *text;
	enum style style;
	const char *reference; /* words that it lacks are underlined; NULL: none are */
};

/*
 * Draw lines first..first+rows of a sample (source, reference, hypothesis); returns the number of
 * its lines, including the blank line below.
 */
static int draw_sample(struct grid *g, struct rect r, int first, const struct history_sample *s,
		       bool wrap, int left)
{
	const struct sample_text texts[] = {
		{ "source", s->source, STYLE_NORMAL, NULL },
		{ "reference", s->reference, STYLE_NORMAL, NULL },
		{ "hypothesis", s->hypothesis, STYLE_BRIGHT, s->reference },
	};
	int line = 0;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const char *text = texts[i].text ? texts[i].text : "";
		int row = r.row + line - first, rows = r.row + r.rows - row;
		struct span at = { row, r.col + LABEL_COLS + 1, r.cols - LABEL_COLS - 2,
				   texts[i].style };

		if (line >= first && line - first < r.rows)
			draw_text(g, row, r.col + 1, LABEL_COLS, STYLE_DIM, texts[i].label);
		if (!wrap) {
			if (line >= first && line - first < r.rows)
				sample_text_line(g, at, left, text, texts[i].reference);
			line++;
			continue;
		}
		at.row = MAX(row, r.row);
		line += sample_text_wrapped(g, at, MIN(rows, r.rows), MAX(first - line, 0), text,
					    (struct sample_marks){ NULL, texts[i].reference });
	}
	return line + 1;
}

void run_draw_samples(struct grid *g, struct rect box, const struct run_history *h,
		      struct run_view_state *s)
{
	struct rect r = layout_inside(box), none = { 0, 0, 0, r.cols };
	bool wrap = r.rows >= 6;
	int all = 0, line = 0, top;

	draw_box(g, box, "samples", s->focus == PANE_SAMPLES);
	if (!h->n_samples) {
		draw_centred(g, r, STYLE_DIM, "no sample translations recorded");
		return;
	}
	for (size_t i = 0; i < h->n_samples; i++)
		all += draw_sample(g, none, 0, &h->samples[i], wrap, 0);
	list_text(g, box, r, &s->lists[PANE_SAMPLES], (size_t)all - 1);
	top = (int)s->lists[PANE_SAMPLES].top;
	for (size_t i = 0; i < h->n_samples && line < top + r.rows; i++) {
		struct rect here = r;
		int first = MAX(top - line, 0);

		here.row += MAX(line - top, 0);
		here.rows = r.row + r.rows - here.row;
		line += draw_sample(g, here, first, &h->samples[i], wrap, s->left[PANE_SAMPLES]);
	}
	draw_legend(g, box, "samples",
		    (const struct legend[]){
			    { 0, STYLE_BRIGHT, "step", COUNT_TEXT(h->samples[0].step) },
			    { 0, STYLE_BRIGHT, "sentences", COUNT_TEXT(h->n_samples) } },
		    2);
}

/* ---- log ---- */

void run_draw_log(struct grid *g, struct rect box, const struct run_history *h,
		  struct run_view_state *s)
{
	struct rect r = layout_inside(box);
	struct list_row row;

	draw_box(g, box, "log", s->focus == PANE_LOG);
	s->lists[PANE_LOG].follows = true;
	row = list_text(g, box, r, &s->lists[PANE_LOG], h->n_lines);
	while (list_row_next(&row))
		log_draw_row(g, (struct rect){ row.row, r.col, 1, r.cols },
			     &(struct log_row){ history_line(h, row.i), h->first_t,
						s->left[PANE_LOG], NULL, false });
	if (!h->n_lines)
		draw_centred(g, r, STYLE_DIM, "no log lines yet");
	if (h->bad_lines)
		draw_legend(g, box, "log",
			    &(struct legend){ 0, STYLE_WARN, "unreadable records",
					      COUNT_TEXT(h->bad_lines) },
			    1);
}

/* ---- head rows ---- */

void run_draw_title(struct grid *g, struct rect r, const struct run_history *h)
{
	const struct run_end end = history_get_end(h);
	/* the row below shows how many steps are done */
	bool has_reason = *end.text && end.why != RUN_END_STEPS;
	char state[20 + sizeof(end.text)];
	int at = r.col + 1, right = r.col + r.cols - 2;

	/* the row of tabs shows the state alone */
	snprintf(state, sizeof(state), "%s: %s", run_state_name(h->state), end.text);
	if (h->is_gone)
		snprintf(state, sizeof(state), "the folder of this run is gone");
	has_reason |= h->is_gone;
	if (has_reason)
		right -= draw_text_right(g, r.row, right, r.cols,
					 run_look_of(h->state, &h->health).style, state) +
			 3;
	at += draw_text(g, r.row, at, right - at, STYLE_TITLE, h->name) + 3;
	if (h->parameters >= 0)
		draw_fact(g, r.row, &at, right, VALUE_TEXT((double)h->parameters), "parameters");
	if (*h->backend)
		draw_fact(g, r.row, &at, right, h->backend, h->precision);
	if (h->ranks > 1)
		draw_fact(g, r.row, &at, right, COUNT_TEXT(h->ranks), "ranks");
	if (h->attempt > 1)
		draw_fact(g, r.row, &at, right, "attempt", COUNT_TEXT(h->attempt));
	if (*h->host)
		draw_fact(g, r.row, &at, right, "on", h->host);
}

static const struct history_line *line_at(const struct run_history *h, double step, double within)
{
	const struct history_line *best = NULL;

	for (size_t i = 0; i < h->n_lines; i++) {
		const struct history_line *l = history_line(h, i);
		bool tells = l->kind == LINE_INFO || l->kind == LINE_WARNING ||
			     l->kind == LINE_ERROR || l->kind == LINE_START || l->kind == LINE_SAVE;

		if (tells && l->step >= 0 && fabs((double)l->step - step) <= within &&
		    (!best || fabs((double)l->step - step) < fabs((double)best->step - step)))
			best = l;
	}
	return best;
}

/* The second row while a cursor is set: time and events at its step. */
static void draw_cursor_facts(struct grid *g, struct rect r, const struct run_history *h,
			      const struct plot_viewport *s)
{
	int at = r.col + 1, right = r.col + r.cols - 2;
	const struct history_line *l;
	char text[NUMBER_TEXT_BYTES];

	draw_fact(g, r.row, &at, right, "at step", format_count(text, (int64_t)s->cursor));
	draw_fact(g, r.row, &at, right, "after",
		  format_duration(text, viewport_value_at(&h->elapsed, s->cursor)));
	draw_fact(g, r.row, &at, right, "tokens",
		  format_value(text, viewport_value_at(&h->tokens, s->cursor)));
	draw_fact(g, r.row, &at, right, "UTC",
		  log_clock(text, viewport_value_at(&h->wall, s->cursor)));
	l = line_at(h, s->cursor, s->whole / 60);
	if (l && right - at > 12) {
		at += draw_text(g, r.row, at, right - at, log_style(l->kind),
				log_kind_name(l->kind));
		at += draw_text(g, r.row, at, right - at, STYLE_DIM, " at ");
		at += draw_text(g, r.row, at, right - at, STYLE_DIM, format_count(text, l->step)) +
		      1;
		draw_text(g, r.row, at, right - at + 1, STYLE_NORMAL, l->text);
	}
}

/* Draw epoch, training time and time left. A narrow screen shows the time left instead of the epoch. */
static void draw_times(struct grid *g, int row, int *at, int right, const struct run_history *h,
		       double now)
{
	char epoch[NUMBER_TEXT_BYTES], trained[NUMBER_TEXT_BYTES], left[NUMBER_TEXT_BYTES] = "";
	size_t need;

	format_fixed(epoch, h->epoch, 2);
	format_duration(trained, history_elapsed(h, now));
	if (history_is_ending(h, now))
		snprintf(left, sizeof(left), "evaluating");
	else if (h->state == RUN_RUNNING)
		format_duration(left, history_remaining(h, now));
	need = strlen("epoch    trained    left ") + strlen(epoch) + strlen(trained) + strlen(left);
	if (!*left || *at + (int)need - 1 <= right)
		draw_fact(g, row, at, right, "epoch", epoch);
	draw_fact(g, row, at, right, "trained", trained);
	if (history_is_ending(h, now))
		draw_fact(g, row, at, right, "now", left);
	else if (*left)
		draw_fact(g, row, at, right, "left", left);
}

void run_draw_facts(struct grid *g, struct rect r, const struct run_history *h,
		    const struct run_view_state *s, double now)
{
	int at = r.col + 1, right = r.col + r.cols - 2;
	const char *of;
	double done = history_progress(h, history_elapsed(h, now), &of);
	char step[NUMBER_TEXT_BYTES], text[3 * NUMBER_TEXT_BYTES];

	if (isfinite(s->plots.cursor)) {
		draw_cursor_facts(g, r, h, &s->plots);
		return;
	}
	format_count(step, h->step);
	if (h->read_share < 1) {
		snprintf(text, sizeof(text), "%.0f %%", floor(100 * h->read_share));
		draw_fact(g, r.row, &at, right, "reading the journal:", text);
		draw_bar(g, r.row, at, 12, h->read_share);
		at += 15;
		draw_fact(g, r.row, &at, right, "so far up to step", step);
		return;
	}
	if (h->plan.steps > 0)
		snprintf(text, sizeof(text), "%s / %s", step, COUNT_TEXT(h->plan.steps));
	else
		snprintf(text, sizeof(text), "%s", step);
	draw_fact(g, r.row, &at, right, "step", text);
	if (isfinite(done) && at + 20 < right) {
		int width = r.cols >= 110 ? 24 : 12;

		draw_bar(g, r.row, at - 1, width, done);
		at += width;
		snprintf(text, sizeof(text), "%.0f %%", floor(MIN(MAX(done, 0.0), 1.0) * 100));
		at += draw_text(g, r.row, at, 6, STYLE_BRIGHT, text);
		at += draw_text(g, r.row, at, right - at, STYLE_DIM, of) + 3;
	}
	draw_times(g, r.row, &at, right, h, now);
	if (h->state == RUN_FAILED && h->exit_status > 0)
		draw_fact(g, r.row, &at, right, "exit", COUNT_TEXT(h->exit_status));
	draw_fact(g, r.row, &at, right, "best BLEU", FIXED_TEXT(h->best_bleu, 2));
}
