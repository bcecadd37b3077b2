/*
 * run_health.h - the verdicts of the report about a run, in a few words for lists and headers.
 *
 * The rules are those of eval/report; this module chooses the words.
 */
#ifndef WERKBANK_TUI_RUN_RUN_HEALTH_H
#define WERKBANK_TUI_RUN_RUN_HEALTH_H

#include <stdbool.h>

#include "share/base/err.h"
#include "tui/term/grid.h"

enum health_state {
	HEALTH_UNKNOWN,	 /* nothing is known yet, or there is not enough data */
	HEALTH_GOOD,	 /* no check found a problem */
	HEALTH_PROBLEM,	 /* a check found a problem */
	HEALTH_DIVERGED, /* the model is worthless */
};

struct run_health {
	enum health_state state;
	char text[64]; /* "diverged after step 250", "learning, not full yet"; "": nothing to say */
};

/*
 * Read a run and judge it. Costs up to a tenth of a second; a journal of more than
 * HEALTH_JOURNAL_BYTES is not read, and *h is unknown. ERR_NOINPUT: no such run; ERR_NOMEM.
 */
#define HEALTH_JOURNAL_BYTES (8 << 20)
int run_health_find(struct run_health *h, const char *workspace, const char *run, struct err *e);

/* Is something wrong with the run? */
bool run_health_is_bad(const struct run_health *h);

/* "unknown", "good", "problem", "diverged": the names of the states in JSON. A constant. */
const char *run_health_name(enum health_state state);

struct run_look {
	uint32_t sign;
	enum style style;
};

/* Sign and style of a state, the same in every view: never colour alone. */
struct run_look run_health_look(enum health_state state);

#endif
