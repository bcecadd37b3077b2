/*
 * split.h - where the time of a step goes, drawn the same everywhere: work of its own (computing,
 * updating), waiting for the slowest rank, for the network, for a batch.
 */
#ifndef WERKBANK_TUI_RUN_TIME_SPLIT_H
#define WERKBANK_TUI_RUN_TIME_SPLIT_H

#include "tui/term/draw.h"
#include "tui/run/fleet.h"
#include "tui/term/number_format.h"

enum {
	TIME_SPLIT_COMPUTE,
	TIME_SPLIT_UPDATE,
	TIME_SPLIT_LATE,
	TIME_SPLIT_TRANSFER,
	TIME_SPLIT_INPUT,
	TIME_SPLIT_PARTS
};

struct time_split_look {
	const char *label, *shorter;
	enum style style;
};
extern const struct time_split_look time_split_looks[TIME_SPLIT_PARTS];

/* The parts in order. NaN: not known. */
void time_split_values(const struct fleet_time_split *s, double parts[TIME_SPLIT_PARTS]);

/* One row, the parts side by side; what is left of the step stays empty. */
void time_split_draw_bar(struct grid *g, int row, int col, int width,
			 const struct fleet_time_split *s);

/* A legend of signs and shares; text is room for their figures. Returns how many pieces: those known. */
int time_split_legend(const struct grid *g, const struct fleet_time_split *s, bool narrow,
		      struct legend pieces[TIME_SPLIT_PARTS],
		      char text[TIME_SPLIT_PARTS][NUMBER_TEXT_BYTES]);

/* "71 %", "-" */
const char *format_percent(char out[NUMBER_TEXT_BYTES], double share);

/*
 * How busy something is: the part that works solid, the part that only waits light, so that what
 * waits does not look busy. busy NaN: as much as works.
 */
void time_split_draw_work(struct grid *g, int row, int col, int width, double working, double busy);

#endif
