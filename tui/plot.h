/* plot.h - (not written yet) */
#ifndef WERKBANK_TUI_PLOT_H
#define WERKBANK_TUI_PLOT_H

#endif
