/*
 * intern.h - a string pool: numbers distinct strings 0, 1, … in the order in which they are added.
 *
 *	struct intern t = { 0 };
 *	if (intern_add(&t, text, n, &index, e)) …	a known number, or the next one
 *	intern_free(&t);				t is empty and reusable
 *
 * Strings are any bytes and are copied. At most 2^31 - 2 strings.
 */
#ifndef WERKBANK_DATA_WORDS_INTERN_H
#define WERKBANK_DATA_WORDS_INTERN_H

#include <assert.h>
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
	char *bytes; /* owned: all strings, without separators */
	size_t n_bytes, cap_bytes;
	struct intern_entry *entries; /* owned: (n) */
	size_t cap_entries;
	struct hash_index index; /* finds a string's number */
};

/* The number of a string; -1: unknown string. */
int32_t intern_find(const struct intern *t, const char *text, size_t n);

/* Add a string if it is new. *index: its number; *index == the old t->n: the string is new. */
int intern_add(struct intern *t, const char *text, size_t n, int32_t *index, struct err *e);

/* String number i; not NUL-terminated, borrowed until the next intern_add(). */
static inline const char *intern_text(const struct intern *t, int32_t i, size_t *n)
{
	assert(i >= 0 && i < t->n);
	*n = t->entries[i].len;
	return t->bytes + t->entries[i].start;
}

/* Bytes of memory in use. */
size_t intern_memory(const struct intern *t);

/* Forget the strings, keep the memory. */
void intern_clear(struct intern *t);

void intern_free(struct intern *t);

#endif
