/*
 * next_steps.h - what to do next in a workspace: suggestions, the most sensible first.
 *
 * A person who has never seen Werkbank follows them from an empty folder to a
 * translated sentence; the others find there what they would type.
 */
#ifndef WERKBANK_TUI_APP_NEXT_STEPS_H
#define WERKBANK_TUI_APP_NEXT_STEPS_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/run/workspace_index.h"

enum suggested_step_kind {
	NEXT_STEP_RUN,	/* run the command */
	NEXT_STEP_SHOW, /* go to a tab, with run chosen when there is one */
	NEXT_STEP_FORM, /* open the form of a command */
};

#define NEXT_STEPS_MAX	10
#define NEXT_STEP_WORDS 14

struct suggested_step {
	enum suggested_step_kind kind;
	char title[80], why[160];
	char run[101], corpus[101]; /* "" none */
	int tab;		    /* NEXT_STEP_SHOW; after NEXT_STEP_RUN stay where we are */
	/* the command, without "-C WORKSPACE"; NULL-terminated; borrowed from text */
	const char *argv[NEXT_STEP_WORDS];
	char text[4][256]; /* words of it that are not constants */
};

/* The steps for what is there; busy: jobs of ours that prepare or train. Returns how many. */
size_t next_steps_find(const struct workspace_index *p, const char *workspace, bool busy,
		       struct suggested_step steps[NEXT_STEPS_MAX]);

/* A name for a new run: base, or base-2, … */
void next_steps_run_name(const struct workspace_index *p, const char *base, char out[101]);

/*
 * What to call the recipe of a corpus on a command line: the name of a shipped one, a path, or the
 * recipe kept with the corpus.
 */
void next_steps_recipe(const char *workspace, const char *corpus, char *out, size_t size);

#endif
