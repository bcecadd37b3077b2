/* app.h - (not written yet) */
#ifndef WERKBANK_TUI_APP_H
#define WERKBANK_TUI_APP_H

#endif
