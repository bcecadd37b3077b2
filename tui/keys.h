/*
 * keys.h - from a key to what it does.
 *
 * A key is a code point, or one of enum key for keys without a character.
 * Written out (actions.def, --keys) a key is its character or <Name>:
 * <Down> <Tab> <Space> <lt> <Ctrl-L> <Alt-f> …
 */
#ifndef WERKBANK_TUI_KEYS_H
#define WERKBANK_TUI_KEYS_H

#include <stdbool.h>
#include <stddef.h>

enum key {
	KEY_NAMED = 0x110000,	/* beyond the last code point */
	KEY_NAME_UP, KEY_NAME_DOWN, KEY_NAME_LEFT, KEY_NAME_RIGHT, KEY_NAME_HOME, KEY_NAME_END,
	KEY_NAME_PAGE_UP, KEY_NAME_PAGE_DOWN, KEY_NAME_BACKTAB, KEY_NAME_F1, KEY_NAME_F10,
	KEY_NAME_DELETE, KEY_NAME_WORD_LEFT, KEY_NAME_WORD_RIGHT,
	KEY_ALT = 0x400000,	/* added to a key that came with Alt */
};

enum action {
	ACTION_NONE,
#define ACT(id, name, group, keys, help) ACTION_##id,
#include "tui/actions.def"
#undef ACT
	ACTION_COUNT
};

struct action_info { const char *name, *group, *keys, *help; };

extern const struct action_info action_infos[ACTION_COUNT];	/* [ACTION_NONE] is all NULL */

/* What a key does; ACTION_NONE: nothing. */
enum action keys_action(int key);

/*
 * Read the key at *text and move *text behind it; 0 at the end, and -1 with *text
 * unmoved for a <Name> that does not exist.
 */
int keys_next(const char **text);

/* The keys of an action as people read them, "k  Up", or only the first of them. */
void keys_describe(enum action action, bool all, char *out, size_t size);

#endif
