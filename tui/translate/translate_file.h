/*
 * translate_file.h - translates a text file line by line, or a document, in a child process.
 *
 *	struct translate_file *f = translate_file_start(argv, in, out, is_document, now, e);
 *	translate_file_update(f, now)		each turn: true if something changed
 *	… translate_file_state(f)->done …
 *	translate_file_free(f);			ends the child; an unfinished output is removed
 *
 * The child writes one translation per line, or the document, to its standard output. It goes to a temporary
 * file that is renamed to out when complete. A child with a long document says on standard error how much is done. No call waits.
 */
#ifndef WERKBANK_TUI_TRANSLATE_TRANSLATE_FILE_H
#define WERKBANK_TUI_TRANSLATE_TRANSLATE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

struct translate_file_state {
	const char *in, *out; /* paths; borrowed */
	bool is_document;     /* done and lines count segments, 0 for a short document */
	int64_t done, lines;  /* lines translated; lines of the file, -1 while they are counted */
	double seconds;	      /* from the start to the end, or to the last update */
	bool running;
	bool failed;
	const char *trouble; /* why it failed; "" if it did not */
};

struct translate_file;

/*
 * argv (ends with NULL, copied) is a command that translates the file named in it. ERR_NOINPUT: in
 * cannot be read; ERR_CANTCREAT: out exists or cannot be created.
 */
struct translate_file *translate_file_start(const char *const *argv, const char *in,
					    const char *out, bool is_document, double now,
					    struct err *e);
void translate_file_free(struct translate_file *f);

/* Read new translations; true: something changed. State borrowed until the next update. */
bool translate_file_update(struct translate_file *f, double now);
const struct translate_file_state *translate_file_state(const struct translate_file *f);
/* Readable when there is news; -1: no more news. */
int translate_file_fd(const struct translate_file *f);

#endif
