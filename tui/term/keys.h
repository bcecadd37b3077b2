/*
 * keys.h - keys, key maps, and the actions that keys start.
 *
 * A key is a code point, or a value of enum key for keys without a character. KEY_ALT is
 * added when Alt was held, or Esc was pressed just before. actions.def, --keys and key-map
 * files write a key as its character or as <Name>:
 * <Down> <Tab> <Space> <lt> <Ctrl-L> <Alt-x> <F5> …
 *
 * Each row of actions.def belongs to a group. The groups "Panes", "Plots" and "Workbench"
 * work in every view. A group with the name of a view works only in that view and takes
 * precedence, so views may give the same letter different meanings.
 *
 * A key-map file has lines GROUP.NAME = KEYS, for example "run.zoom = z <Enter>". A line
 * replaces all keys of that action. # begins a comment.
 */
#ifndef WERKBANK_TUI_TERM_KEYS_H
#define WERKBANK_TUI_TERM_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/err.h"

enum key {
	KEY_NAMED = 0x110000, /* above the last code point */
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
	KEY_NAME_WAIT,	    /* only in --keys: wait until no view and no job has work left */
	KEY_ALT = 0x200000, /* added to any key */
	KEY_CTRL =
		0x400000, /* added to arrows, <Home>, <End>; Ctrl-letters are control characters */
	KEY_BACKSPACE_CHAR = 0x7F, /* the code of <Backspace> on every terminal */
	KEY_NAME_WORD_LEFT = KEY_CTRL | KEY_NAME_LEFT,
	KEY_NAME_WORD_RIGHT = KEY_CTRL | KEY_NAME_RIGHT,
};

/* true if the key is a printable character or a blank */
static inline bool key_is_text(int key)
{
	return key >= 0x20 && key < KEY_NAMED && key != 0x7F && !(key >= 0x80 && key < 0xA0);
}

enum mouse_kind { MOUSE_PRESS, MOUSE_DRAG, MOUSE_RELEASE, MOUSE_WHEEL_UP, MOUSE_WHEEL_DOWN };

struct mouse {
	enum mouse_kind kind;
	int row, col; /* screen coordinates, from 0 */
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

/* The list action of a turn of the wheel; ACTION_NONE: the mouse did something else. */
enum action mouse_wheel_action(const struct mouse *m);

struct action_info {
	const char *name, *group, *keys, *help;
};

extern const struct action_info action_infos[ACTION_COUNT]; /* ACTION_NONE: all NULL */

/* true if the group works in every view */
bool keys_group_is_common(const char *group);

struct keymap {
	char *keys[ACTION_COUNT]; /* owned; NULL: the keys of actions.def */
};

/* The keys of an action, separated by blanks; borrowed. map NULL: the defaults of actions.def. */
const char *keymap_keys(const struct keymap *map, enum action action);

/* Apply the text of a key-map file; path appears in messages. ERR_CONFIG names file and line. */
int keymap_read(struct keymap *map, const char *path, const char *text, struct err *e);
void keymap_free(struct keymap *map);

/* The action of a key in a view (NULL: only the common groups). ACTION_NONE if it has none. */
enum action keys_action(const struct keymap *map, int key, const char *view);

/*
 * Read the key at *text and advance *text. Returns 0 at the end, -1 for an unknown <Name> (*text
 * stays).
 */
int keys_next(const char **text);

/*
 * Write a key of the notation (n bytes of text) for display: "<Up>" as "Up", "<lt>" as "<". Returns
 * the length like snprintf().
 */
int keys_show(const char *text, size_t n, char *out, size_t size);

/* Write the first key of an action for display: "k", "Up". */
void keys_describe(const struct keymap *map, enum action action, char *out, size_t size);

#endif
