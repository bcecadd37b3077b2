/* server_keys.h - the keys of clients */
#ifndef WERKBANK_EVAL_SERVER_SERVER_KEYS_H
#define WERKBANK_EVAL_SERVER_SERVER_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"

#define SERVER_MAX_KEYS	 256
#define SERVER_KEY_BYTES 128

struct server_keys {
	char keys[SERVER_MAX_KEYS][SERVER_KEY_BYTES]; /* padded with NUL */
	size_t n;
};

/*
 * Reads a file of keys, one a line; empty lines and lines that begin with # are left out. ERR_PERM: other users may
 * read or change the file. ERR_DATA: a key has other characters than letters, digits and -_.:, fewer than 8 or too many, or there is none.
 */
int server_keys_read(struct server_keys *k, const char *path, struct err *e);

/* The number of the key from 1; 0: there is no such key. The time does not depend on which bytes agree. */
size_t server_keys_find(const struct server_keys *k, const char *text, size_t n);

#endif
