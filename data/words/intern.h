/*
 * intern.h - numbers for strings: the first one is 0, the next new one 1, …
 *
 *	struct intern t = { 0 };
 *	if (intern_add(&t, text, n, &index, e)) …	finds it, or gives it the next number
 *	intern_free(&t);				leaves it empty and reusable
 *
 * Strings are bytes of any kind, copied in. At most 2^31 - 2 of them.
 */
#ifndef WERKBANK_DATA_WORDS_INTERN_H
#define WERKBANK_DATA_WORDS_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/base/hash_index.h"

struct intern_entry {
	size_t start; /* in bytes */
	uint32_t len;
};

struct intern {
	int32_t n; /* strings */
	/* private */
	char *bytes; /* owned: all strings, one behind the other */
	size_t n_bytes, cap_bytes;
	struct intern_entry *entries; /* owned: (n) */
	size_t cap_entries;
	struct hash_index index; /* finds a string's number */
};

/* The number of a string, -1 when it is not there. */
int32_t intern_find(const struct intern *t, const char *text, size_t n);

/* The number of a string that is there afterwards. It was new when *index == t->n before. */
int intern_add(struct intern *t, const char *text, size_t n, int32_t *index, struct err *e);

/* String number i; not NUL-terminated, borrowed until the next intern_add(). */
static inline const char *intern_text(const struct intern *t, int32_t i, size_t *n)
{
	*n = t->entries[i].len;
	return t->bytes + t->entries[i].start;
}

/* Bytes of memory in use. */
size_t intern_memory(const struct intern *t);

/* Forget the strings, keep the memory. */
void intern_clear(struct intern *t);

void intern_free(struct intern *t);

#endif
