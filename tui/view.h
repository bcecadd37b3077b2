/* view.h - (not written yet) */
#ifndef WERKBANK_TUI_VIEW_H
#define WERKBANK_TUI_VIEW_H

#endif
