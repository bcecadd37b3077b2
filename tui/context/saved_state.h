/*
 * saved_state.h - state of the workbench that outlives a session, as lines "key = value".
 *
 *	saved_state_read(&k, text);		invalid lines are skipped
 *	saved_state_get(&k, "run.zoom"); saved_state_set(&k, "run.zoom", "yes");
 *	saved_state_write(&k, &out);
 *	saved_state_free(&k);
 *
 * Keys are "view.name" of letters, digits, . _ -; values hold no line ends. Entries beyond
 * SAVED_STATE_MAX are dropped.
 */
#ifndef WERKBANK_TUI_CONTEXT_SAVED_STATE_H
#define WERKBANK_TUI_CONTEXT_SAVED_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"

#define SAVED_STATE_MAX 200

struct saved_state {
	struct {
		char *key, *value;
	} items[SAVED_STATE_MAX]; /* owned */
	size_t n;
	bool changed; /* changed since saved_state_read() */
};

/* Read, write and free all entries; see above. */
void saved_state_read(struct saved_state *k, const char *text);
void saved_state_write(const struct saved_state *k, struct buf *out);
void saved_state_free(struct saved_state *k);

/* The value of a key; NULL: not set. Borrowed until the next saved_state_set(). */
const char *saved_state_get(const struct saved_state *k, const char *key);

/* value NULL removes the key. */
void saved_state_set(struct saved_state *k, const char *key, const char *value);

#endif
