/*
 * keys.h - from a key to what it does.
 *
 * A key is a code point, or one of enum key for keys without a character, with
 * KEY_ALT added when Alt (or Esc just before) was held. Written out
 * (actions.def, --keys, key-map files) a key is its character or <Name>:
 * <Down> <Tab> <Space> <lt> <Ctrl-L> <Alt-x> <F5> …
 *
 * The rows of actions.def are groups: the common ones, "Panes" and "Workbench",
 * count in every view, a group that is called like a view only there, and
 * before the common ones. So views may give the same letter different meanings.
 *
 * A key-map file has lines GROUP.NAME = KEYS, as "run.zoom = z <Enter>"; they
 * replace the keys of that action. # begins a comment.
 */
#ifndef WERKBANK_TUI_TERM_KEYS_H
#define WERKBANK_TUI_TERM_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/err.h"

enum key {
	KEY_NAMED = 0x110000, /* beyond the last code point */
	KEY_NAME_UP,
	KEY_NAME_DOWN,
	KEY_NAME_LEFT,
	KEY_NAME_RIGHT,
	KEY_NAME_HOME,
	KEY_NAME_END,
	KEY_NAME_PAGE_UP,
	KEY_NAME_PAGE_DOWN,
	KEY_NAME_BACKTAB,
	KEY_NAME_INSERT,
	KEY_NAME_DELETE,
	KEY_NAME_F1,
	KEY_NAME_F2,
	KEY_NAME_F3,
	KEY_NAME_F4,
	KEY_NAME_F5,
	KEY_NAME_F6,
	KEY_NAME_F7,
	KEY_NAME_F8,
	KEY_NAME_F9,
	KEY_NAME_F10,
	KEY_NAME_F11,
	KEY_NAME_F12,
	KEY_NAME_WAIT,		   /* only in --keys: let things come to rest first */
	KEY_ALT = 0x200000,	   /* added to any of them */
	KEY_CTRL = 0x400000,	   /* added to arrows, <Home>, <End>; letters: <Ctrl-X> */
	KEY_BACKSPACE_CHAR = 0x7F, /* what <Backspace> always is */
	KEY_NAME_WORD_LEFT = KEY_CTRL | KEY_NAME_LEFT,
	KEY_NAME_WORD_RIGHT = KEY_CTRL | KEY_NAME_RIGHT,
};

/* true for a key that is text: a character one can see, or a blank. */
static inline bool key_is_text(int key)
{
	return key >= 0x20 && key < KEY_NAMED && key != 0x7F && !(key >= 0x80 && key < 0xA0);
}

enum mouse_kind { MOUSE_PRESS, MOUSE_DRAG, MOUSE_RELEASE, MOUSE_WHEEL_UP, MOUSE_WHEEL_DOWN };

struct mouse {
	enum mouse_kind kind;
	int row, col; /* of the whole screen, from 0 */
	int button;   /* 1 left, 2 middle, 3 right; 0 for the wheel */
	bool shift, alt, ctrl;
};

enum action {
	ACTION_NONE,
#define ACT(id, name, group, keys, help) ACTION_##id,
#include "tui/term/actions.def"
#undef ACT
	ACTION_COUNT
};

struct action_info {
	const char *name, *group, *keys, *help;
};

extern const struct action_info action_infos[ACTION_COUNT]; /* [ACTION_NONE] is all NULL */

/* true for the groups that count in every view. */
bool keys_group_is_common(const char *group);

struct keymap {
	char *keys[ACTION_COUNT]; /* owned; NULL: as in actions.def */
};

/* The keys of an action. Borrowed; map NULL: those of actions.def. */
const char *keymap_keys(const struct keymap *map, enum action action);

/* Take in the text of a key-map file; path is for messages. ERR_CONFIG names file and line. */
int keymap_read(struct keymap *map, const char *path, const char *text, struct err *e);
void keymap_free(struct keymap *map);

/* What a key does in a view (NULL: only the common groups count); ACTION_NONE: nothing. */
enum action keys_action(const struct keymap *map, int key, const char *view);

/*
 * Read the key at *text and move *text behind it; 0 at the end, and -1 with *text
 * unmoved for a <Name> that does not exist.
 */
int keys_next(const char **text);

/* The keys of an action as people read them, "k  Up", or only the first of them. */
void keys_describe(const struct keymap *map, enum action action, bool all, char *out, size_t size);

#endif
