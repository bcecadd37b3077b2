/*
 * translate_command.h - command lines of the console's translators, which are child processes.
 *
 *	translate_command_make(&m, &task, e);
 *	… m.argv …
 *	free(m.program);
 */
#ifndef WERKBANK_TUI_TRANSLATE_TRANSLATE_COMMAND_H
#define WERKBANK_TUI_TRANSLATE_TRANSLATE_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"

/* What a checkpoint of a run does. All texts are borrowed. */
struct translate_task {
	const char *workspace, *run;
	int64_t step;
	const char *program; /* translator program; NULL: this werkbank */
	const char *file;    /* to translate; NULL: the translator is a service */
	bool lists;	     /* it prints the sentences of the document instead */
	const char *edited;  /* translations that it puts into the document; NULL: it translates */
};

struct translate_command {
	char *program; /* owned by the caller */
	char step[24];
	const char *argv[16]; /* ends with NULL; points into the command, which must not move */
};

/* Is the file a document with mark-up? Others are lines of text, whatever they are called. */
bool translate_is_document(const char *file);

/* The command runs werkbank, which sets up the environment of its sister program. ERR_NOMEM. */
int translate_command_make(struct translate_command *m, const struct translate_task *task,
			   struct err *e);

#endif
