/* keys.c - key names, key maps, actions; see keys.h. */
#include "tui/term/keys.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/term/settings.h"

const struct action_info action_infos[ACTION_COUNT] = {
#define ACT(id, name, group, keys, help) [ACTION_##id] = { name, group, keys, help },
#include "tui/term/actions.def"
#undef ACT
};

static const struct {
	const char *name;
	int key;
} names[] = {
	{ "Up", KEY_NAME_UP },
	{ "Down", KEY_NAME_DOWN },
	{ "Left", KEY_NAME_LEFT },
	{ "Right", KEY_NAME_RIGHT },
	{ "Home", KEY_NAME_HOME },
	{ "End", KEY_NAME_END },
	{ "PageUp", KEY_NAME_PAGE_UP },
	{ "PageDown", KEY_NAME_PAGE_DOWN },
	{ "Shift-Tab", KEY_NAME_BACKTAB },
	{ "Insert", KEY_NAME_INSERT },
	{ "Delete", KEY_NAME_DELETE },
	{ "F1", KEY_NAME_F1 },
	{ "F2", KEY_NAME_F2 },
	{ "F3", KEY_NAME_F3 },
	{ "F4", KEY_NAME_F4 },
	{ "F5", KEY_NAME_F5 },
	{ "F6", KEY_NAME_F6 },
	{ "F7", KEY_NAME_F7 },
	{ "F8", KEY_NAME_F8 },
	{ "F9", KEY_NAME_F9 },
	{ "F10", KEY_NAME_F10 },
	{ "F11", KEY_NAME_F11 },
	{ "F12", KEY_NAME_F12 },
	{ "Wait", KEY_NAME_WAIT },
	{ "Ctrl-_", 0x1F },
	{ "Tab", '\t' },
	{ "Enter", '\r' },
	{ "Esc", 0x1B },
	{ "Space", ' ' },
	{ "Backspace", KEY_BACKSPACE_CHAR },
	{ "lt", '<' },
};

static int named_key(const char *name, size_t n)
{
	int key;
	uint32_t c;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i].name) == n && !memcmp(names[i].name, name, n))
			return names[i].key;
	if (n == 6 && !memcmp(name, "Ctrl-", 5) && isalpha((unsigned char)name[5]))
		return name[5] & 0x1F;
	if (n > 5 && !memcmp(name, "Ctrl-", 5)) {
		key = named_key(name + 5, n - 5);
		return key >= KEY_NAME_UP && key <= KEY_NAME_END ? key | KEY_CTRL : -1;
	}
	if (n < 5 || memcmp(name, "Alt-", 4) || !utf8_valid(name + 4, n - 4))
		return -1;
	if (utf8_count(name + 4, n - 4) == 1) {
		utf8_decode(name + 4, n - 4, &c);
		return (int)c | KEY_ALT;
	}
	key = named_key(name + 4, n - 4);
	return key > 0 && !(key & KEY_ALT) ? key | KEY_ALT : -1;
}

int keys_next(const char **text)
{
	const char *end;
	uint32_t c;
	int key;

	if (!**text)
		return 0;
	/* the name <Alt->> ends at its second bracket */
	if (**text == '<' && (end = strchr(*text + 1, '>'))) {
		if (end[1] == '>' && end[-1] == '-')
			end++;
		key = named_key(*text + 1, (size_t)(end - *text - 1));
		if (key > 0)
			*text = end + 1;
		return key;
	}
	if (!utf8_valid_prefix(*text, strlen(*text)))
		return -1;
	*text += utf8_decode(*text, strlen(*text), &c);
	return (int)c;
}

enum action mouse_wheel_action(const struct mouse *m)
{
	return m->kind == MOUSE_WHEEL_UP     ? ACTION_UP
	       : m->kind == MOUSE_WHEEL_DOWN ? ACTION_DOWN
					     : ACTION_NONE;
}

bool keys_group_is_common(const char *group)
{
	return !strcmp(group, "Panes") || !strcmp(group, "Plots") || !strcmp(group, "Training") ||
	       !strcmp(group, "Workbench");
}

const char *keymap_keys(const struct keymap *map, enum action action)
{
	assert(action > ACTION_NONE && action < ACTION_COUNT);
	return map && map->keys[action] ? map->keys[action] : action_infos[action].keys;
}

static bool has_key(const char *keys, int key)
{
	while (*keys) {
		int one;

		if (*keys == ' ') {
			keys++;
			continue;
		}
		if ((one = keys_next(&keys)) == key)
			return true;
		if (one < 0)
			return false;
	}
	return false;
}

enum action keys_action(const struct keymap *map, int key, const char *view)
{
	enum action common = ACTION_NONE;

	for (int a = 1; a < ACTION_COUNT; a++) {
		const char *group = action_infos[a].group;
		bool own = view && !strcmp(group, view);

		if (!own && (common || !keys_group_is_common(group)))
			continue;
		if (!has_key(keymap_keys(map, (enum action)a), key))
			continue;
		if (own)
			return (enum action)a;
		common = (enum action)a;
	}
	return common;
}

int keys_show(const char *text, size_t n, char *out, size_t size)
{
	bool is_named = *text == '<' && n > 1;

	assert(size > 0);
	if (n == 4 && !memcmp(text, "<lt>", 4))
		return snprintf(out, size, "<");
	return snprintf(out, size, "%.*s", (int)n - 2 * is_named, text + is_named);
}

void keys_describe(const struct keymap *map, enum action action, char *out, size_t size)
{
	const char *keys = keymap_keys(map, action);

	keys_show(keys, strcspn(keys, " "), out, size);
}

/* ---- key-map files ---- */

/* GROUP.NAME of each action, as key-map files write it. */
static const char *const action_full_names[ACTION_COUNT] = {
#define ACT(id, name, group, keys, help) [ACTION_##id] = group "." name,
#include "tui/term/actions.def"
#undef ACT
};

/* Names that key-map files may still use for actions with a new name. */
static const struct {
	const char *old_name;
	enum action action;
} action_aliases[] = {
	{ "hosts.hosts-order", ACTION_ORDER },
	{ "translate.take", ACTION_ACCEPT },
	{ "translate.hold", ACTION_FIX_PREFIX },
	{ "translate.free", ACTION_CLEAR },
};

/*
 * An action by its name in a key-map file. VIEW.NAME is also that of a common action, which several views
 * once had as their own; a filter is a search.
 */
static enum action find_action(const char *name)
{
	const char *own = strchr(name, '.');

	for (size_t i = 0; i < ARRAY_LEN(action_aliases); i++)
		if (!strcasecmp(action_aliases[i].old_name, name))
			return action_aliases[i].action;
	for (int a = 1; a < ACTION_COUNT; a++)
		if (!strcasecmp(action_full_names[a], name))
			return (enum action)a;
	if (own && !strcasecmp(own, ".filter"))
		own = ".search";
	for (int a = 1; own && a < ACTION_COUNT; a++)
		if (keys_group_is_common(action_infos[a].group) &&
		    !strcasecmp(action_infos[a].name, own + 1))
			return (enum action)a;
	return ACTION_NONE;
}

static int read_keys_setting(void *to, const struct setting *s, struct err *e)
{
	struct keymap *map = to;
	enum action action = find_action(s->name);
	char *copy, hint[TEXT_HINT_MAX];

	if (!action)
		return err_set(e, ERR_CONFIG, "%s: no action is called %.60s%s", s->where, s->name,
			       text_hint(hint, text_nearest(s->name, action_full_names + 1,
							    ACTION_COUNT - 1)));
	for (const char *p = s->value; *p;) {
		if (*p == ' ')
			p++;
		else if (keys_next(&p) < 0)
			return err_set(e, ERR_CONFIG,
				       "%s: unknown key at \"%.60s\"; a key is a "
				       "character, <Tab>, <Ctrl-L>, <Alt-x>, and < itself is <lt>",
				       s->where, p);
	}
	if (!(copy = mem_strdup(s->value, e)))
		return e->code;
	free(map->keys[action]);
	map->keys[action] = copy;
	return 0;
}

int keymap_read(struct keymap *map, const char *path, const char *text, struct err *e)
{
	return settings_read(path, text, "GROUP.NAME = KEYS", read_keys_setting, map, e);
}

void keymap_free(struct keymap *map)
{
	for (int a = 0; a < ACTION_COUNT; a++) {
		free(map->keys[a]);
		map->keys[a] = NULL;
	}
}
