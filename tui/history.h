/* history.h - (not written yet) */
#ifndef WERKBANK_TUI_HISTORY_H
#define WERKBANK_TUI_HISTORY_H

#endif
