/*
 * next_steps.h - suggested next steps in a workspace, the most useful first.
 *
 * The suggestions lead a new user from an empty folder to a translated sentence. They show
 * experienced users the commands that they would type.
 */
#ifndef WERKBANK_TUI_CONTEXT_NEXT_STEPS_H
#define WERKBANK_TUI_CONTEXT_NEXT_STEPS_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/run/workspace_index.h"

enum suggested_step_kind {
	NEXT_STEP_RUN,	/* run the command */
	NEXT_STEP_SHOW, /* show a tab, and choose run if it is set */
	NEXT_STEP_FORM, /* open the form of a command */
};

#define NEXT_STEPS_MAX	10
#define NEXT_STEP_WORDS 14
#define NEXT_STEP_BYTES 1024 /* of a word; a recipe's path can be long */

struct suggested_step {
	enum suggested_step_kind kind;
	char title[80], why[160];
	char run[101], corpus[101]; /* "": none */
	int tab;		    /* enum tab to show; -1: stay */
	/* the command without "-C WORKSPACE"; ends with NULL; words are constants or in text */
	const char *argv[NEXT_STEP_WORDS];
	char text[4][NEXT_STEP_BYTES]; /* words of the command that are not constants */
};

/*
 * Write the steps for the contents of the workspace; busy: a job prepares or trains. Returns their
 * number.
 */
size_t next_steps_find(const struct workspace_index *p, const char *workspace, bool busy,
		       struct suggested_step steps[NEXT_STEPS_MAX]);

/* The newest corpus that is ready; NULL: none. Borrowed from the index. */
const struct indexed_corpus *next_steps_corpus(const struct workspace_index *p);

/* A free name for a new run: base, or base-2, … */
void next_steps_run_name(const struct workspace_index *p, const char *base, char out[101]);

/*
 * The recipe of a corpus as an argument of a command: the name of a shipped recipe, a path, or
 * "small" if the recipe of the corpus is gone. Returns whether training also needs --corpus: the name
 * of the recipe is not the name of the corpus.
 */
bool next_steps_recipe(const char *workspace, const char *corpus, char *out, size_t size);

#endif
