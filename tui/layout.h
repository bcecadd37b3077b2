/* layout.h - (not written yet) */
#ifndef WERKBANK_TUI_LAYOUT_H
#define WERKBANK_TUI_LAYOUT_H

#endif
