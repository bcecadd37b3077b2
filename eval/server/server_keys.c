/* server_keys.c - see server_keys.h */
#include "eval/server/server_keys.h"

#include <string.h>
#include <sys/stat.h>

#include "share/base/lines.h"
#include "share/base/util.h"

#define KEY_MIN 8

static bool is_key(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char c = text[i];

		if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		      (c && strchr("-_.:", c))))
			return false;
	}
	return n >= KEY_MIN && n < SERVER_KEY_BYTES;
}

int server_keys_read(struct server_keys *k, const char *path, struct err *e)
{
	struct lines in;
	struct stat st;
	int got;

	*k = (struct server_keys){ .n = 0 };
	if (lines_open_file(&in, path, e))
		return e->code;
	if (!stat(path, &st) && (st.st_mode & (S_IROTH | S_IWOTH | S_IWGRP))) {
		lines_close(&in);
		return err_set(e, ERR_PERM,
			       "%s: other users may read or change the keys: chmod o-rw,g-w %s",
			       path, path);
	}
	while ((got = lines_next(&in, e)) > 0) {
		if (!in.len || *in.text == '#')
			continue;
		if (k->n == SERVER_MAX_KEYS || !is_key(in.text, in.len)) {
			got = err_set(e, ERR_DATA,
				      "%s:%lld: a key has %d to %d letters, digits and -_.: and "
				      "there are at most %d",
				      path, (long long)in.number, KEY_MIN, SERVER_KEY_BYTES - 1,
				      SERVER_MAX_KEYS);
			break;
		}
		memcpy(k->keys[k->n++], in.text, in.len);
	}
	lines_close(&in);
	if (got == 0 && !k->n)
		return err_set(e, ERR_DATA, "%s has no key", path);
	return got;
}

size_t server_keys_find(const struct server_keys *k, const char *text, size_t n)
{
	char padded[SERVER_KEY_BYTES] = { 0 };
	size_t found = 0;

	if (n >= sizeof(padded))
		return 0;
	memcpy(padded, text, n);
	for (size_t i = 0; i < k->n; i++) {
		volatile unsigned char differs = 0;

		for (size_t b = 0; b < sizeof(padded); b++)
			differs = (unsigned char)(differs | (k->keys[i][b] ^ padded[b]));
		found |= differs ? 0 : i + 1;
	}
	return n ? found : 0;
}
