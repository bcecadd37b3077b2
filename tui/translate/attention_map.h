/* attention_map.h - the pane that shows how much each target token attends to each source token. */
#ifndef WERKBANK_TUI_TRANSLATE_ATTENTION_MAP_H
#define WERKBANK_TUI_TRANSLATE_ATTENTION_MAP_H

#include "tui/term/grid.h"
#include "tui/term/layout.h"
#include "tui/translate/translate_console.h"

/*
 * Draw the map of the selected side's translation into a box: a row for each target token, a column
 * for each source token and one for the end of the source. The row of the cursor is marked, and the
 * last line names its greatest weights.
 */
void attention_map_draw(const struct console *c, struct grid *g, struct rect box);

/* Rows of the box that shows all of the map. */
int attention_map_rows(const struct console *c);

#endif
