/*
 * split.h - where the time of a step goes, drawn the same everywhere: work of its own (computing,
 * updating), waiting for the slowest rank, for the network, for a batch.
 */
#ifndef WERKBANK_TUI_RUN_TIME_SPLIT_H
#define WERKBANK_TUI_RUN_TIME_SPLIT_H

#include "tui/term/draw.h"
#include "tui/run/fleet.h"
#include "tui/term/number_format.h"

enum { SPLIT_COMPUTE, SPLIT_UPDATE, SPLIT_LATE, SPLIT_TRANSFER, SPLIT_INPUT, SPLIT_PARTS };

struct split_look { const char *label, *shorter; enum style style; };
extern const struct split_look split_looks[SPLIT_PARTS];

/* The parts in order. NaN: not known. */
void split_list(const struct fleet_split *s, double parts[SPLIT_PARTS]);

/* One row, the parts side by side; what is left of the step stays empty. */
void split_draw_bar(struct grid *g, int row, int col, int width, const struct fleet_split *s);

/* A legend of signs and shares; text is room for their figures. Returns how many pieces: those known. */
int split_legend(const struct grid *g, const struct fleet_split *s, bool narrow,
		 struct legend pieces[SPLIT_PARTS], char text[SPLIT_PARTS][FIGURE_BYTES]);

/* "71 %", "-" */
const char *split_percent(char out[FIGURE_BYTES], double share);

/*
 * How busy something is: the part that works solid, the part that only waits light, so that what
 * waits does not look busy. busy NaN: as much as works.
 */
void split_draw_work(struct grid *g, int row, int col, int width, double working, double busy);

#endif
