/*
 * saved_state.h - what the workbench remembers from one time to the next, as "key = value" lines.
 *
 *	keep_read(&k, text);			lines that make no sense are left out
 *	keep_get(&k, "run.zoom"); keep_set(&k, "run.zoom", "yes");
 *	keep_write(&k, &out);
 *	keep_free(&k);
 *
 * Keys are "view.what", of letters, digits, . _ -; values hold no line ends.
 * At most KEEP_MAX; what comes after is not kept.
 */
#ifndef WERKBANK_TUI_APP_SAVED_STATE_H
#define WERKBANK_TUI_APP_SAVED_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"

#define KEEP_MAX 200

struct keep {
	struct { char *key, *value; } items[KEEP_MAX];	/* owned */
	size_t n;
	bool changed;	/* since keep_read() */
};

void keep_read(struct keep *k, const char *text);
void keep_write(const struct keep *k, struct buf *out);
void keep_free(struct keep *k);

/* The value of a key, NULL: none. Borrowed until the next keep_set(). */
const char *keep_get(const struct keep *k, const char *key);

/* Value NULL: forget it. */
void keep_set(struct keep *k, const char *key, const char *value);

#endif
