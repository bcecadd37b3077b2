/*
 * run_health.h - the verdicts of the report about a run, in a few words for lists and headers.
 *
 * The rules are those of eval/report; this module chooses the words.
 */
#ifndef WERKBANK_TUI_RUN_RUN_HEALTH_H
#define WERKBANK_TUI_RUN_RUN_HEALTH_H

#include <stdbool.h>

#include "tui/term/grid.h"

enum health_state {
	HEALTH_UNKNOWN,	 /* nothing is known yet, or there is not enough data */
	HEALTH_GOOD,	 /* no check found a problem */
	HEALTH_PROBLEM,	 /* a check found a problem */
	HEALTH_DIVERGED, /* the model is worthless */
};

/* All zeros: nothing is known. */
struct run_health {
	enum health_state state;
	char text[64]; /* "diverged after 250", "learning, not full yet"; "": nothing to say */
	/* private: what came since the run was judged: training records; evaluations or the end */
	bool has_steps, has_news;
	double judged_at; /* private: unix seconds; 0: never */
};

#define HEALTH_JOURNAL_BYTES (8 << 20) /* longer journals are not read once more to be judged */
#define HEALTH_EVERY_S	     60	       /* between verdicts that no evaluation asks for */

/*
 * Apply one record of the journal. A warning that training has diverged counts at once, and in
 * journals of any length.
 */
struct json;
void run_health_add_record(struct run_health *h, const struct json *record);

/*
 * Judge the run if its records ask for it. Call it when the journal has been read to its end. Costs
 * up to a tenth of a second. True: the verdict is new. A run that cannot be read keeps its verdict.
 */
bool run_health_update(struct run_health *h, const char *workspace, const char *run, double now);

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
