/* home_preview.c - see home_preview.h. */
#include "tui/views/home_preview.h"

#include <stdio.h>
#include <string.h>

#include "share/base/util.h"
#include "tui/run/run_history.h"
#include "tui/term/draw.h"
#include "tui/term/reaction.h"

#define PREVIEW_BUDGET_S 0.015
#define WIDE_PREVIEW	 150 /* columns from which a third plot has room */
#define TEXT_ROWS	 5   /* least rows of samples and log, with their border */

void home_preview_close(struct home_preview *p)
{
	history_free(p->history);
	*p = (struct home_preview){ 0 };
}

static void choose_preview(struct home_preview *p, const struct app_context *w, const char *run)
{
	bool shared = w->run && !strcmp(w->run, run);
	struct err e = { 0 };

	home_preview_close(p);
	p->panes.focus = PANE_COUNT; /* no pane has the keys */
	viewport_init(&p->panes.plots);
	snprintf(p->run, sizeof(p->run), "%s", run);
	p->is_shared = shared;
	if (*run && !shared && !(p->history = history_open(w->workspace, run, &e)))
		snprintf(p->trouble, sizeof(p->trouble), "%.199s", e.text);
}

unsigned home_preview_update(struct home_preview *p, const struct app_context *w, const char *run)
{
	bool shared = w->run && !strcmp(w->run, run);
	unsigned reaction = REACT_NOTHING;
	struct err e = { 0 };
	int got;

	if (strcmp(p->run, run) || p->is_shared != shared) {
		choose_preview(p, w, run);
		reaction = REACT_REDRAW;
	}
	if (!p->history)
		return reaction;
	got = history_update(p->history, w->now, PREVIEW_BUDGET_S, &e);
	if (got < 0)
		snprintf(p->trouble, sizeof(p->trouble), "%.199s", e.text);
	if (got != HISTORY_SAME)
		reaction |= REACT_REDRAW;
	return got == HISTORY_MORE ? reaction | REACT_AGAIN : reaction;
}

void home_preview_draw(struct home_preview *p, struct grid *g, struct rect r,
		       const struct app_context *w)
{
	const struct run_history *h = p->is_shared ? w->history : p->history;
	const struct layout_part rows[] = {
		{ .min = 2, .max = 2, .rank = 2 },
		{ .min = 7, .weight = 3, .rank = 0 },
		{ .min = TEXT_ROWS, .weight = 2, .rank = 1 },
	};
	const struct layout_part cols[] = {
		{ .min = 40, .weight = 1, .rank = 0 },
		{ .min = 40, .weight = 1, .rank = 1 },
		{ .min = 40, .weight = r.cols >= WIDE_PREVIEW, .rank = 2 },
	};
	size_t n_plots = r.cols >= WIDE_PREVIEW ? 3 : 2;
	struct rect part[3], plot[3], text[2];

	if (r.rows < 1 || (!h && !*p->trouble))
		return;
	if (!h) {
		draw_text(g, r.row, r.col + 2, r.cols - 3, STYLE_BAD, p->trouble);
		return;
	}
	layout_rows(r, rows, ARRAY_LEN(rows), part);
	layout_cols(part[1], cols, n_plots, plot);
	layout_cols(part[2], cols, 2, text);
	run_collect_marks(h, &p->panes);
	if (part[0].rows == 2) {
		struct rect line = { part[0].row, part[0].col, 1, part[0].cols };

		run_draw_title(g, line, h);
		line.row++;
		run_draw_facts(g, line, h, &p->panes, w->now);
	}
	for (size_t i = 0; i < n_plots && part[1].rows > 0; i++)
		if (plot[i].cols > 0)
			run_draw_plot(g, plot[i], (enum run_pane)i, h, &p->panes);
	if (part[2].rows > 0 && text[0].cols > 0)
		run_draw_samples(g, text[0], h, &p->panes);
	if (part[2].rows > 0 && text[1].cols > 0)
		run_draw_log(g, text[1], h, &p->panes);
}
