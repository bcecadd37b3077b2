/* draw.h - (not written yet) */
#ifndef WERKBANK_TUI_DRAW_H
#define WERKBANK_TUI_DRAW_H

#endif
