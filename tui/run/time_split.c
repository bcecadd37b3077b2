/* time_split.c - draws the parts of a step; see time_split.h. */
#include "tui/run/time_split.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "share/base/util.h"
#include "tui/plot/plot.h"

const struct time_split_look time_split_looks[TIME_SPLIT_PARTS] = {
	[TIME_SPLIT_COMPUTE] = { "compute", "comp", STYLE_FIRST },
	[TIME_SPLIT_UPDATE] = { "update", "upd", STYLE_THIRD },
	[TIME_SPLIT_LATE] = { "slowest", "slow", STYLE_BAD },
	[TIME_SPLIT_TRANSFER] = { "network", "net", STYLE_SECOND },
	[TIME_SPLIT_INPUT] = { "input", "in", STYLE_WARN },
};

void time_split_values(const struct fleet_time_split *s, double parts[TIME_SPLIT_PARTS])
{
	parts[TIME_SPLIT_COMPUTE] = s->compute;
	parts[TIME_SPLIT_UPDATE] = s->update;
	parts[TIME_SPLIT_LATE] = s->late;
	parts[TIME_SPLIT_TRANSFER] = s->transfer;
	parts[TIME_SPLIT_INPUT] = s->input;
}

const char *format_percent(char out[NUMBER_TEXT_BYTES], double share)
{
	if (!isfinite(share) || fabs(share) > 1e6)
		return format_value(out, NAN);
	snprintf(out, NUMBER_TEXT_BYTES, "%.0f %%", share * 100);
	return out;
}

void time_split_draw_bar(struct grid *g, int row, int col, int width,
			 const struct fleet_time_split *s)
{
	double parts[TIME_SPLIT_PARTS], end = 0;
	int at = 0;

	assert(TIME_SPLIT_PARTS <= PLOT_PARTS); /* plot_fill() has a shade for each */
	time_split_values(s, parts);
	for (size_t i = 0; i < TIME_SPLIT_PARTS; i++) {
		int until;

		end += parts[i] > 0 ? parts[i] : 0;
		until = (int)lround(MIN(end, 1.0) * width);
		for (; at < until; at++)
			grid_put(g, row, col + at, time_split_looks[i].style, plot_fill(g, i));
	}
}

int time_split_legend(const struct grid *g, const struct fleet_time_split *s, bool narrow,
		      struct legend pieces[TIME_SPLIT_PARTS],
		      char text[TIME_SPLIT_PARTS][NUMBER_TEXT_BYTES])
{
	double parts[TIME_SPLIT_PARTS];
	int n = 0;

	time_split_values(s, parts);
	for (size_t i = 0; i < TIME_SPLIT_PARTS; i++)
		if (isfinite(parts[i]))
			pieces[n++] = (struct legend){
				plot_fill(g, i),
				time_split_looks[i].style,
				narrow ? time_split_looks[i].shorter : time_split_looks[i].label,
				format_percent(text[i], parts[i]),
			};
	return n;
}

void time_split_draw_work(struct grid *g, int row, int col, int width, double working, double busy)
{
	int solid, light;

	if (!(working >= 0))
		working = busy;
	solid = working >= 0 ? (int)lround(MIN(working, 1.0) * width) : 0;
	light = busy >= 0 ? (int)lround(MIN(busy, 1.0) * width) : 0;
	for (int i = 0; i < width; i++)
		grid_put(g, row, col + i, i < solid ? STYLE_FIRST : STYLE_FAINT,
			 i < solid   ? 0x2501
			 : i < light ? 0x254D
				     : ' ');
}
