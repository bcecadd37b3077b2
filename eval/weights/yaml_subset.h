/*
 * yaml_subset.h - the YAML that Marian writes: one mapping of scalars or lists of scalars.
 *
 *	key: value		plain, 'quoted' or "quoted" keys and values
 *	key:			a list, whose items are joined by blanks
 *	  - item
 *	key: [a, b]
 *	? key			a long key
 *	: value
 *
 * All values are texts; "null", "1.0" and "no" are texts, too, as Marian's vocabularies need. Anchors, tags, block
 * texts and nested mappings are refused with their line.
 */
#ifndef WERKBANK_EVAL_WEIGHTS_YAML_SUBSET_H
#define WERKBANK_EVAL_WEIGHTS_YAML_SUBSET_H

#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"

struct yaml_pair {
	size_t key, value; /* offsets in the text */
};

struct yaml {
	struct buf text;	 /* owned: keys and values, each with a NUL */
	struct yaml_pair *pairs; /* owned */
	size_t n, cap;
};

/* Reads n bytes, up to the first NUL. path: for messages. ERR_DATA with the line. yaml_close() in any case. */
int yaml_read(struct yaml *y, const char *path, const char *bytes, size_t n, struct err *e);
const char *yaml_key(const struct yaml *y, size_t i);
const char *yaml_value(const struct yaml *y, size_t i);
/* The value of a key, or the fallback. */
const char *yaml_get(const struct yaml *y, const char *key, const char *fallback);
void yaml_close(struct yaml *y);

#endif
