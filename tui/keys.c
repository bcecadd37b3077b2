/* keys.c - see keys.h */
#include "tui/keys.h"

#include <ctype.h>
#include <string.h>

#include "share/base/text.h"
#include "share/base/util.h"

const struct action_info action_infos[ACTION_COUNT] = {
#define ACT(id, name, group, keys, help) [ACTION_##id] = { name, group, keys, help },
#include "tui/actions.def"
#undef ACT
};

static const struct { const char *name; int key;
} names[] = {
	{"Up", KEY_NAME_UP},
	{"Down", KEY_NAME_DOWN},
	{"Left", KEY_NAME_LEFT},
	{"Right", KEY_NAME_RIGHT},
	{"Home", KEY_NAME_HOME},
	{"End", KEY_NAME_END},
	{"PageUp", KEY_NAME_PAGE_UP},
	{"PageDown", KEY_NAME_PAGE_DOWN},
	{"Shift-Tab", KEY_NAME_BACKTAB},
	{"F1", KEY_NAME_F1},
	{"F10", KEY_NAME_F10},
	{"Delete", KEY_NAME_DELETE},
	{"Ctrl-Left", KEY_NAME_WORD_LEFT},
	{"Ctrl-Right", KEY_NAME_WORD_RIGHT},
	{"Backspace", 0x7F},
	{"Ctrl-_", 0x1F},
	{"Alt-Backspace", KEY_ALT | 0x7F},
	{"Tab", '\t'},
	{"Enter", '\r'},
	{"Esc", 0x1B},
	{"Space", ' '},
	{"lt", '<'},
};

static int named_key(const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i].name) == n && !memcmp(names[i].name, name, n))
			return names[i].key;
	if (n == 6 && !memcmp(name, "Ctrl-", 5) && isalpha((unsigned char)name[5]))
		return name[5] & 0x1F;
	if (n == 5 && !memcmp(name, "Alt-", 4) && name[4] > ' ')
		return KEY_ALT | name[4];
	return -1;
}

int keys_next(const char **text)
{
	const char *end;
	uint32_t c;
	int key;

	if (!**text)
		return 0;
	if (**text == '<' && (end = strchr(*text, '>'))) {
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

enum action keys_action(int key)
{
	for (int a = 1; a < ACTION_COUNT; a++)
		for (const char *p = action_infos[a].keys; *p;) {
			if (*p == ' ')
				p++;
			else if (keys_next(&p) == key)
				return (enum action)a;
		}
	return ACTION_NONE;
}

void keys_describe(enum action action, bool all, char *out, size_t size)
{
	const char *keys = action_infos[action].keys;
	size_t n = 0;

	for (const char *p = keys; *p && n + 3 < size; p++) {
		if (*p == ' ' && !all)
			break;
		/* Brackets of a <Name> are left out. */
		if ((*p == '<' && p[1] && p[1] != ' ') || (*p == '>' && p > keys && p[-1] != ' '))
			continue;
		out[n++] = *p;
		if (*p == ' ')
			out[n++] = ' ';
	}
	out[n] = 0;
}
