/* grid.h - (not written yet) */
#ifndef WERKBANK_TUI_GRID_H
#define WERKBANK_TUI_GRID_H

#endif
