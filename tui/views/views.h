/* views.h - the tabs that this room draws (tabs.def), and the report over them; each is defined in its view_*.c. */
#ifndef WERKBANK_TUI_VIEWS_VIEWS_H
#define WERKBANK_TUI_VIEWS_VIEWS_H

#include "tui/context/view.h"

extern const struct view view_home, view_data, view_run, view_hosts, view_compare, view_samples,
	view_log, view_settings;
extern const struct view view_report;

#endif
