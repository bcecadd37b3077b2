/* overlays.h - what the workbench shows over a tab; each is defined in its view_*.c. */
#ifndef WERKBANK_TUI_OVERLAY_OVERLAYS_H
#define WERKBANK_TUI_OVERLAY_OVERLAYS_H

#include "tui/context/view.h"

/* The keys, the commands and actions by name, and the form of a command (context_open_wizard()). */
extern const struct view view_help, view_palette, view_wizard;

#endif
