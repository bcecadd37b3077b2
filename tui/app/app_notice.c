/*
 * app_notice.c - what the window of the terminal shows of the chosen run: title, progress, its
 * end; see app_internal.h.
 */
#include "tui/app/app_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/util.h"
#include "tui/run/run_history.h"

int app_choose_toast(const char *name, enum term_toast *kind, struct err *e)
{
	static const char *const names[] = { "off", "osc9", "osc777", "bell" };

	*kind = TOAST_NONE;
	for (size_t i = 0; name && i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i], name)) {
			*kind = (enum term_toast)i;
			return 0;
		}
	return !name ? 0
		     : err_set(e, ERR_USAGE, "--notify: \"%.40s\" is not off, osc9, osc777 or bell",
			       name);
}

bool app_run_has_ended(enum run_state before, enum run_state now)
{
	return before == RUN_RUNNING && now != RUN_RUNNING && now != RUN_UNKNOWN;
}

void app_show_notices(struct app *a)
{
	const struct run_history *h = a->context.history;
	bool is_same = a->context.run && !strcmp(a->noticed_run, a->context.run);
	char title[200] = "werkbank";
	const char *of;
	double done = NAN;

	if (h)
		done = history_progress(h, history_elapsed(h, a->context.now), &of);
	if (h && h->state == RUN_RUNNING && isfinite(done))
		snprintf(title, sizeof(title), "%.100s %.0f %% - werkbank", h->name,
			 floor(MIN(MAX(done, 0.0), 1.0) * 100));
	else if (h)
		snprintf(title, sizeof(title), "%.100s %s - werkbank", h->name,
			 run_state_name(h->state));
	term_set_title(a->term, title);
	if (a->toast != TOAST_NONE && a->toast != TOAST_BELL) {
		bool failed = h && (h->state == RUN_FAILED || h->state == RUN_LOST);

		term_set_progress(a->term,
				  h && isfinite(done) && (h->state == RUN_RUNNING || failed)
					  ? (int)floor(MIN(MAX(done, 0.0), 1.0) * 100)
					  : -1,
				  failed);
	}
	if (h && is_same && app_run_has_ended(a->noticed_state, h->state))
		term_send_toast(a->term, a->toast, h->name, run_state_name(h->state));
	snprintf(a->noticed_run, sizeof(a->noticed_run), "%s",
		 a->context.run ? a->context.run : "");
	a->noticed_state = h ? h->state : RUN_UNKNOWN;
}
