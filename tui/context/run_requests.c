/* run_requests.c - see run_requests.h. */
#include "tui/context/run_requests.h"

#include <assert.h>
#include <stdio.h>

#include "share/base/util.h"

static const struct {
	const char *command, *title, *participle;
} requests[] = {
	[REQUEST_SAVE] = { "save", "save", "saved" },
	[REQUEST_EVALUATE] = { "evaluate", "evaluate", "evaluated" },
	[REQUEST_STOP] = { "stop", "save and stop", "stopped" },
};

void run_request_ask(struct app_context *w, enum run_request request, const char *run,
		     bool is_alive, const char *state)
{
	char title[160];

	assert(request < (int)ARRAY_LEN(requests));
	if (w->readonly) {
		context_notify(w, STYLE_WARN, "%s: no run is %s from here",
			       *w->addresses ? "watched over ssh" : "--readonly",
			       requests[request].participle);
		return;
	}
	if (!run) {
		context_notify(w, STYLE_WARN, "there is no run yet");
		return;
	}
	if (!is_alive) {
		context_notify(w, STYLE_WARN, "%s is not being trained (%s): it cannot be %s", run,
			       state, requests[request].participle);
		return;
	}
	snprintf(title, sizeof(title), "%s %s", requests[request].title, run);
	context_run_in_workspace(
		w, title,
		(const char *const[]){ "werkbank", requests[request].command, run, NULL });
}
