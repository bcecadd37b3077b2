/* run_requests.h - asks a live run to save, to evaluate or to stop, from any view. */
#ifndef WERKBANK_TUI_CONTEXT_RUN_REQUESTS_H
#define WERKBANK_TUI_CONTEXT_RUN_REQUESTS_H

#include <stdbool.h>

#include "tui/context/app_context.h"
#include "tui/term/keys.h"

/*
 * Ask the user whether to send the request of an action of the group Training; a yes starts
 * "werkbank save", "evaluate" or "stop" as a job. state is the state of the run in a word, for the
 * message when is_alive is false. With --readonly, without a run (NULL) and for a run that is not
 * being trained, only a message says why nothing is sent. false: another action.
 */
bool run_request_ask(struct app_context *w, enum action action, const char *run, bool is_alive,
		     const char *state);

#endif
