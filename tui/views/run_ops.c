/* run_ops.c - the operations of a step, from the profile of a run; see run_panes.h. */
#include "tui/views/run_panes.h"

#include <math.h>
#include <stdio.h>

#include "share/base/util.h"
#include "tui/run/time_split.h"
#include "tui/term/draw.h"
#include "tui/term/number_format.h"

#define OP_COLS	    18
#define NUMBER_COLS 12
#define LEAST_BAR   8

/* One row: the op, its bar, and its numbers, as many as there is room for; op NULL: the heads. */
static void draw_op_row(struct grid *g, struct rect r, int row, const struct run_history *h,
			const struct history_op *op)
{
	static const char *const heads[] = { "share", "ms/step", "calls/step", "GFLOP/s", "GB/s" };
	char text[ARRAY_LEN(heads)][NUMBER_TEXT_BYTES];
	double steps = MAX(h->profile_steps, 1.0);
	int room = r.cols - 2 - OP_COLS - LEAST_BAR, n = 1, bar, right = r.col + r.cols - 2;

	while (n < (int)ARRAY_LEN(heads) && (n + 1) * NUMBER_COLS <= room)
		n++;
	bar = MAX(r.cols - 4 - OP_COLS - n * NUMBER_COLS, 0);
	if (op) {
		format_percent(text[0], op->share);
		format_value(text[1], op->seconds / steps * 1000);
		format_value(text[2], op->calls / steps);
		format_value(text[3], op->gflops);
		format_value(text[4], op->gbs);
		draw_text(g, row, r.col + 1, OP_COLS - 1, STYLE_NORMAL, op->name);
		draw_bar(g, row, r.col + 1 + OP_COLS, bar, op->share);
	}
	for (int i = 0; i < n; i++)
		draw_text_right(g, row, right - (n - 1 - i) * NUMBER_COLS, NUMBER_COLS,
				op ? STYLE_BRIGHT : STYLE_DIM, op ? text[i] : heads[i]);
}

void run_draw_ops(struct grid *g, struct rect box, const struct run_history *h)
{
	struct rect r = layout_inside(box);
	struct history_op rest = { .name = "other work",
				   .share = 1,
				   .seconds = h->profile_seconds,
				   .calls = NAN,
				   .gflops = NAN,
				   .gbs = NAN };
	char steps[NUMBER_TEXT_BYTES], title[80];
	int shown;

	snprintf(title, sizeof(title), "operations of a step, measured over %s steps",
		 format_count(steps, (int64_t)h->profile_steps));
	draw_box(g, box, title, false);
	if (r.rows < 3 || r.cols < OP_COLS + LEAST_BAR + NUMBER_COLS + 2)
		return;
	shown = MIN((int)h->n_ops, r.rows - 2);
	draw_op_row(g, r, r.row, h, NULL);
	for (int i = 0; i < shown; i++)
		draw_op_row(g, r, r.row + 1 + i, h, &h->ops[i]);
	for (size_t i = 0; i < h->n_ops; i++) {
		rest.share -= h->ops[i].share;
		rest.seconds -= h->ops[i].seconds;
	}
	rest.share = MAX(rest.share, 0.0);
	rest.seconds = MAX(rest.seconds, 0.0);
	draw_op_row(g, r, r.row + 1 + shown, h, &rest);
	draw_hidden_rows(g, box, 0, (int)h->n_ops - shown);
}
