/* term.h - (not written yet) */
#ifndef WERKBANK_TUI_TERM_H
#define WERKBANK_TUI_TERM_H

#endif
