/* split.c - see split.h */
#include "tui/run/time_split.h"

#include <math.h>
#include <stdio.h>

#include "share/base/util.h"
#include "tui/plot/plot.h"

const struct split_look split_looks[SPLIT_PARTS] = {
	[SPLIT_COMPUTE] = { "compute", "comp", STYLE_FIRST },
	[SPLIT_UPDATE] = { "update", "upd", STYLE_THIRD },
	[SPLIT_LATE] = { "slowest", "slow", STYLE_BAD },
	[SPLIT_TRANSFER] = { "network", "net", STYLE_SECOND },
	[SPLIT_INPUT] = { "input", "in", STYLE_WARN },
};

void split_list(const struct fleet_split *s, double parts[SPLIT_PARTS])
{
	parts[SPLIT_COMPUTE] = s->compute;
	parts[SPLIT_UPDATE] = s->update;
	parts[SPLIT_LATE] = s->late;
	parts[SPLIT_TRANSFER] = s->transfer;
	parts[SPLIT_INPUT] = s->input;
}

const char *split_percent(char out[FIGURE_BYTES], double share)
{
	if (!isfinite(share) || fabs(share) > 1e6)
		return figure_value(out, NAN);
	snprintf(out, FIGURE_BYTES, "%.0f %%", share * 100);
	return out;
}

void split_draw_bar(struct grid *g, int row, int col, int width, const struct fleet_split *s)
{
	double parts[SPLIT_PARTS], end = 0;
	int at = 0;

	split_list(s, parts);
	for (size_t i = 0; i < SPLIT_PARTS; i++) {
		int until;

		end += parts[i] > 0 ? parts[i] : 0;
		until = (int)lround(MIN(end, 1.0) * width);
		for (; at < until; at++)
			grid_put(g, row, col + at, split_looks[i].style, plot_fill(g, i));
	}
}

int split_legend(const struct grid *g, const struct fleet_split *s, bool narrow,
		 struct legend pieces[SPLIT_PARTS], char text[SPLIT_PARTS][FIGURE_BYTES])
{
	double parts[SPLIT_PARTS];
	int n = 0;

	split_list(s, parts);
	for (size_t i = 0; i < SPLIT_PARTS; i++)
		if (isfinite(parts[i]))
			pieces[n++] = (struct legend){
				plot_fill(g, i), split_looks[i].style,
				narrow ? split_looks[i].shorter : split_looks[i].label,
				split_percent(text[i], parts[i]),
			};
	return n;
}

void split_draw_work(struct grid *g, int row, int col, int width, double working, double busy)
{
	bool ascii = g->charset == GRID_ASCII;
	int solid, light;

	if (!(working >= 0))
		working = busy;
	solid = working >= 0 ? (int)lround(MIN(working, 1.0) * width) : 0;
	light = busy >= 0 ? (int)lround(MIN(busy, 1.0) * width) : 0;
	for (int i = 0; i < width; i++)
		grid_put(g, row, col + i, i < solid ? STYLE_FIRST : STYLE_FAINT,
			 i < solid ? ascii ? '#' : 0x2588
			 : i < light ? ascii ? '.' : 0x2591
				     : ' ');
}
