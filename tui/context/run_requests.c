/* run_requests.c - see run_requests.h. */
#include "tui/context/run_requests.h"

#include <stdio.h>

#include "share/base/util.h"

static const struct run_request {
	enum action action;
	const char *command, *title, *participle;
} requests[] = {
	{ ACTION_SAVE, "save", "save", "saved" },
	{ ACTION_EVALUATE, "evaluate", "evaluate", "evaluated" },
	{ ACTION_STOP, "stop", "save and stop", "stopped" },
};

static void ask_request(struct app_context *w, const struct run_request *request, const char *run,
			bool is_alive, const char *state)
{
	char title[160];

	if (w->readonly) {
		context_notify(w, STYLE_WARN, "%s: no run is %s from here",
			       *w->addresses ? "watched over ssh" : "--readonly",
			       request->participle);
		return;
	}
	if (!run) {
		context_notify(w, STYLE_WARN, "there is no run yet");
		return;
	}
	if (!is_alive) {
		context_notify(w, STYLE_WARN, "%s is not being trained (%s): it cannot be %s", run,
			       state, request->participle);
		return;
	}
	snprintf(title, sizeof(title), "%s %s", request->title, run);
	context_run_in_workspace(w, title,
				 (const char *const[]){ "werkbank", request->command, run, NULL });
}

bool run_request_ask(struct app_context *w, enum action action, const char *run, bool is_alive,
		     const char *state)
{
	for (size_t i = 0; i < ARRAY_LEN(requests); i++)
		if (requests[i].action == action) {
			ask_request(w, &requests[i], run, is_alive, state);
			return true;
		}
	return false;
}
