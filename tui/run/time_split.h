/*
 * time_split.h - where the time of a step goes, drawn the same way everywhere: computing,
 * updating, waiting for the slowest rank, for the network, for a batch.
 */
#ifndef WERKBANK_TUI_RUN_TIME_SPLIT_H
#define WERKBANK_TUI_RUN_TIME_SPLIT_H

#include "share/base/number_format.h"
#include "tui/run/fleet.h"
#include "tui/term/draw.h"

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

/* The parts in the order of TIME_SPLIT_COMPUTE … TIME_SPLIT_INPUT. NaN: unknown. */
void time_split_values(const struct fleet_time_split *s, double parts[TIME_SPLIT_PARTS]);

/* A bar of width columns with the parts side by side; the unknown remainder stays empty. */
void time_split_draw_bar(struct grid *g, int row, int col, int width,
			 const struct fleet_time_split *s);

/*
 * Legend entries of the known parts; text is room for their values. Returns the number of entries.
 */
int time_split_legend(const struct grid *g, const struct fleet_time_split *s, bool narrow,
		      struct legend pieces[TIME_SPLIT_PARTS],
		      char text[TIME_SPLIT_PARTS][NUMBER_TEXT_BYTES]);

/* "71 %", "-" */
const char *format_percent(char out[NUMBER_TEXT_BYTES], double share);
#define PERCENT_TEXT(share) format_percent((char[NUMBER_TEXT_BYTES]){ 0 }, share)

/*
 * A bar of utilisation: the working part solid, the waiting part light. busy NaN: equal to working.
 */
void time_split_draw_work(struct grid *g, int row, int col, int width, double working, double busy);

#endif
