/* run_ops.c - the operations of a step, from the profile of a run; see run_panes.h. */
#include "tui/views/run_panes.h"

#include <math.h>
#include <stdio.h>

#include "share/base/number_format.h"
#include "share/base/util.h"
#include "tui/run/time_split.h"
#include "tui/term/draw.h"

#define OP_COLS	    18
#define NUMBER_COLS 12
#define LEAST_BAR   8

/* Columns of numbers, the most important first: a narrow pane shows fewer of them. */
enum op_column { OP_SHARE, OP_TIME, OP_ROOF, OP_BOUND, OP_FLOPS, OP_BYTES, OP_CALLS, OP_COLUMNS };

static void format_op(char text[OP_COLUMNS][NUMBER_TEXT_BYTES], const struct run_history *h,
		      const struct history_op *op)
{
	static const char *const bounds[] = { [BOUND_UNKNOWN] = "not known",
					      [BOUND_COMPUTE] = "compute",
					      [BOUND_MEMORY] = "memory" };
	double steps = MAX(h->profile_steps, 1.0), share;

	snprintf(text[OP_BOUND], NUMBER_TEXT_BYTES, "%s", bounds[history_op_bound(h, op, &share)]);
	if (share > 1) /* the op read from caches, which are faster than memory */
		snprintf(text[OP_ROOF], NUMBER_TEXT_BYTES, ">100 %%");
	else
		format_percent(text[OP_ROOF], share);
	format_percent(text[OP_SHARE], op->share);
	format_value(text[OP_TIME], op->seconds / steps * 1000);
	format_value(text[OP_CALLS], op->calls / steps);
	format_value(text[OP_FLOPS], op->gflops > 0 ? op->gflops : NAN);
	format_value(text[OP_BYTES], op->gbs);
}

/* One row: the op, its bar, and its numbers, as many as there is room for; op NULL: the heads. */
static void draw_op_row(struct grid *g, struct rect r, int row, const struct run_history *h,
			const struct history_op *op)
{
	static const char *const heads[] = {
		[OP_SHARE] = "share",	  [OP_TIME] = "ms/step",  [OP_ROOF] = "of roof",
		[OP_BOUND] = "bound",	  [OP_FLOPS] = "GFLOP/s", [OP_BYTES] = "GB/s",
		[OP_CALLS] = "calls/step"
	};
	char text[OP_COLUMNS][NUMBER_TEXT_BYTES];
	int room = r.cols - 2 - OP_COLS - LEAST_BAR, n = 1, bar, right = r.col + r.cols - 2;

	while (n < OP_COLUMNS && (n + 1) * NUMBER_COLS <= room)
		n++;
	bar = MAX(r.cols - 4 - OP_COLS - n * NUMBER_COLS, 0);
	if (op) {
		format_op(text, h, op);
		draw_text(g, row, r.col + 1, OP_COLS - 1, STYLE_NORMAL, op->name);
		draw_bar(g, row, r.col + 1 + OP_COLS, bar, op->share);
	}
	for (int i = 0; i < n; i++)
		draw_text_right(g, row, right - (n - 1 - i) * NUMBER_COLS, NUMBER_COLS,
				op ? STYLE_BRIGHT : STYLE_DIM, op ? text[i] : heads[i]);
}

/* The device's own rates, to which the ops are compared. */
static void draw_roof(struct grid *g, struct rect box, const struct run_history *h,
		      const char *title)
{
	char text[2 * NUMBER_TEXT_BYTES + 20];

	if (!(h->roof_gflops > 0 && h->roof_gbs > 0))
		return;
	snprintf(text, sizeof(text), "%.20s GFLOP/s, %.20s GB/s", VALUE_TEXT(h->roof_gflops),
		 VALUE_TEXT(h->roof_gbs));
	draw_legend(g, box, title, &(struct legend){ 0, STYLE_BRIGHT, "roof", text }, 1);
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

	snprintf(title, sizeof(title), "operations, measured over %s steps",
		 format_count(steps, (int64_t)h->profile_steps));
	draw_box(g, box, title, false);
	draw_roof(g, box, h, title);
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
