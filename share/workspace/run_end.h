/*
 * run_end.h - why a run ended: the reasons and their words, for all programs.
 *
 * The trainer writes the reason into the record "stop" of the journal. All other programs read it
 * from there, so that each of them prints the same words: "finished: 42 minutes are over".
 */
#ifndef WERKBANK_SHARE_WORKSPACE_RUN_END_H
#define WERKBANK_SHARE_WORKSPACE_RUN_END_H

#include <stdbool.h>
#include <stdint.h>

#include "share/format/json.h"

enum run_end_why {
	RUN_END_UNKNOWN,   /* the run has not ended, or its record gives no reason */
	RUN_END_STEPS,	   /* finished: all steps are done */
	RUN_END_MINUTES,   /* finished: max_minutes */
	RUN_END_PATIENCE,  /* finished: patience */
	RUN_END_REQUEST,   /* stopped: somebody asked; state.json may say who */
	RUN_END_USER,	   /* stopped: the user asked */
	RUN_END_WALLTIME,  /* stopped: the launcher asked at the end of walltime */
	RUN_END_PREEMPTED, /* stopped: the batch system gave the hosts to another job */
	RUN_END_DIVERGED,  /* stopped: training diverged, and stop_on asked to stop */
	RUN_END_FAILED,
	N_RUN_ENDS
};

/* What the words of a reason mention. Unknown: -1, for minutes 0. */
struct run_limits {
	int64_t step;	   /* at the end */
	int64_t steps;	   /* planned for the whole run */
	double minutes;	   /* max_minutes; 0: none */
	int64_t patience;  /* evaluations */
	bool loss_decides; /* patience compares the loss, not BLEU */
	int64_t exit;	   /* exit status */
};

struct run_end {
	enum run_end_why why;
	char reason
		[12]; /* of the record: "finished", "asked", "diverged", "failed"; "": no record */
	char text[120]; /* what follows "finished: "; "" for RUN_END_UNKNOWN */
};

/* The reason in words. */
void run_end_set(struct run_end *end, enum run_end_why why, const struct run_limits *limits);

/* Write the members reason, why and text of an open record. */
void run_end_put(const struct run_end *end, struct json_writer *w);

/* Read the reason from a record "stop". */
void run_end_read(struct run_end *end, const struct json *stop);

/*
 * Complete a reason that was read. Journals of older versions have the member reason only: then
 * the limits of the run decide. state and asked_by are members of state.json; NULL: there is none.
 * A reason that belongs to another state does not count. asked_by says who asked the run to stop.
 */
void run_end_complete(struct run_end *end, const char *state, const char *asked_by,
		      const struct run_limits *limits);

/*
 * The option that lets a finished run go on, "--max-minutes 84": twice the limit that ended the run.
 * *option: its name; returns value, or NULL if the run did not finish or
 * its limit is not above 0.
 */
const char *run_end_longer(const struct run_end *end, const struct run_limits *limits,
			   const char **option, char value[32]);

#endif
