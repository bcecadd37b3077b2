/* status.h - (not written yet) */
#ifndef WERKBANK_TUI_STATUS_H
#define WERKBANK_TUI_STATUS_H

#endif
