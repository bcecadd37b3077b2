/* saved_state.c - key-value lines of the saved state; see saved_state.h. */
#include "tui/context/saved_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define KEY_MAX_BYTES	80
#define VALUE_MAX_BYTES 1000

static bool is_state_key(const char *key)
{
	size_t n = strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			       "0123456789._-");

	return n && n <= KEY_MAX_BYTES && !key[n];
}

static bool is_state_value(const char *value)
{
	return strlen(value) <= VALUE_MAX_BYTES && !strpbrk(value, "\r\n") &&
	       utf8_valid(value, strlen(value));
}

static size_t find_saved_key(const struct saved_state *k, const char *key)
{
	size_t i = 0;

	while (i < k->n && strcmp(k->items[i].key, key))
		i++;
	return i;
}

const char *saved_state_get(const struct saved_state *k, const char *key)
{
	size_t i = find_saved_key(k, key);

	return i < k->n ? k->items[i].value : NULL;
}

void saved_state_set(struct saved_state *k, const char *key, const char *value)
{
	size_t i = find_saved_key(k, key);
	struct err ignored;
	char *copy;

	if (i < k->n && value && !strcmp(k->items[i].value, value))
		return;
	if (i < k->n && !value) {
		free(k->items[i].key);
		free(k->items[i].value);
		k->items[i] = k->items[--k->n];
		k->changed = true;
		return;
	}
	if (!value || i == SAVED_STATE_MAX || !is_state_key(key) || !is_state_value(value) ||
	    !(copy = mem_strdup(value, &ignored)))
		return;
	assert(i <= k->n && k->n <= SAVED_STATE_MAX);
	if (i == k->n) {
		if (!(k->items[i].key = mem_strdup(key, &ignored))) {
			free(copy);
			return;
		}
		k->n++;
	} else {
		free(k->items[i].value);
	}
	k->items[i].value = copy;
	k->changed = true;
}

void saved_state_read(struct saved_state *k, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		char line[KEY_MAX_BYTES + VALUE_MAX_BYTES + 8], *equals;

		if (n < sizeof(line)) {
			memcpy(line, text, n);
			line[n] = 0;
			equals = strchr(line, '=');
			if (equals && *line != '#') {
				*equals = 0;
				saved_state_set(k, text_trim(line), text_trim(equals + 1));
			}
		}
		text += n + (text[n] == '\n');
	}
	k->changed = false;
}

void saved_state_write(const struct saved_state *k, struct buf *out)
{
	for (size_t i = 0; i < k->n; i++)
		buf_printf(out, "%s = %s\n", k->items[i].key, k->items[i].value);
}

void saved_state_free(struct saved_state *k)
{
	for (size_t i = 0; i < k->n; i++) {
		free(k->items[i].key);
		free(k->items[i].value);
	}
	*k = (struct saved_state){ 0 };
}
