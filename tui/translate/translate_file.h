/*
 * translate_file.h - a text file translated by a child, line by line, while the screen goes on.
 *
 *	struct translate_file *f = translate_file_start(argv, in, out, now, e);
 *	translate_file_update(f, now)		each turn: true when something is new
 *	… translate_file_state(f)->done …
 *	translate_file_free(f);			ends it; what is not finished leaves no file
 *
 * The child writes the translations to its standard output, one for each line
 * of the file; they are written to a temporary that becomes out when all are there. Nothing waits.
 */
#ifndef WERKBANK_TUI_TRANSLATE_TRANSLATE_FILE_H
#define WERKBANK_TUI_TRANSLATE_TRANSLATE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

struct translate_file_state {
	const char *in, *out; /* paths; borrowed */
	int64_t done, lines;  /* translated; of the file, -1 while they are being counted */
	double seconds;	      /* from the start to the end, or to the last update */
	bool running;
	bool failed;
	const char *trouble; /* why; "" when it has not */
};

struct translate_file;

/*
 * argv, ending with NULL, is a command that translates the file named in it (copied). ERR_NOINPUT:
 * in cannot be read; ERR_CANTCREAT: there is a file out already, or it cannot be made.
 */
struct translate_file *translate_file_start(const char *const *argv, const char *in,
					    const char *out, double now, struct err *e);
void translate_file_free(struct translate_file *f);

bool translate_file_update(struct translate_file *f, double now);
const struct translate_file_state *translate_file_state(const struct translate_file *f);
/* Becomes readable when there is news; -1: none will come. */
int translate_file_fd(const struct translate_file *f);

#endif
