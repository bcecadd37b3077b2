/*
 * json.h - JSON: a writer that appends to a buffer, a reader over a tree.
 *
 * Writer:
 *	struct json_writer w = { .out = &b };
 *	json_open(&w, '{'); json_put_int(&w, "step", 7); json_close(&w, '}');
 * Commas are its business. Non-finite numbers become null. Strings must be
 * UTF-8; control characters are escaped, invalid bytes become U+FFFD.
 *
 * Reader (json_read.c): json_parse() accepts one value of RFC 8259 from
 * untrusted bytes (depth at most 64), in one pass and two allocations, or none
 * (json_parse_reusing()): opening
 * the journal of a long run is parsing a million small objects. The tree
 * belongs to the caller; all accessors accept NULL and the wrong type and then
 * give the fallback. Texts are UTF-8 without NUL bytes. Members and elements
 * are found by walking: O(position).
 */
#ifndef WERKBANK_BASE_JSON_H
#define WERKBANK_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"

struct json_writer {
	struct buf *out; /* borrowed */
	bool need_comma;
};

void json_open(struct json_writer *w, char bracket);  /* '{' or '[' */
void json_close(struct json_writer *w, char bracket); /* '}' or ']' */
void json_key(struct json_writer *w, const char *key);
void json_str(struct json_writer *w, const char *text);
void json_strn(struct json_writer *w, const char *text, size_t n);
void json_int(struct json_writer *w, int64_t value);
void json_real(struct json_writer *w, double value); /* shortest text that reads back the same */
void json_bool(struct json_writer *w, bool value);
void json_null(struct json_writer *w);

/* A member: its key and its value. */
void json_put_str(struct json_writer *w, const char *key, const char *text);
void json_put_strn(struct json_writer *w, const char *key, const char *text, size_t n);
void json_put_int(struct json_writer *w, const char *key, int64_t value);
void json_put_real(struct json_writer *w, const char *key, double value);
void json_put_bool(struct json_writer *w, const char *key, bool value);

struct json; /* a value in a tree */

struct json *json_parse(const char *text, size_t n,
			struct err *e); /* NULL: ERR_DATA with the position */
void json_free(struct json *root);	/* of a tree's root only */
/*
 * The same for one text after another: the tree before (NULL: none) is given up and its memory
 * used again, or freed on failure.
 */
struct json *json_parse_reusing(struct json *before, const char *text, size_t n, struct err *e);

const struct json *json_get(const struct json *object, const char *key); /* NULL: none */
size_t json_len(const struct json *array_or_object);			 /* 0 for anything else */
const struct json *json_at(const struct json *array, size_t i);		 /* NULL: none */
/* Member number i of an object in file order: its key (NULL: none), its value through *value. */
const char *json_member(const struct json *object, size_t i, const struct json **value);
/*
 * All children in order: for (c = json_first(v); c; c = json_next(v, c)). NULL: none, none more.
 * The name of a child of an object; "" or another's for what is no such child.
 */
const struct json *json_first(const struct json *array_or_object);
const struct json *json_next(const struct json *array_or_object, const struct json *child);
const char *json_child_key(const struct json *child);
/*
 * The numbers among the members that have these names: values[i], NAN where there is none. In one
 * pass, and fastest when names come in the order of the members.
 */
void json_numbers(const struct json *object, const char *const *names, size_t n, double *values);
const char *json_text(const struct json *v, const char *fallback);
double json_number(const struct json *v, double fallback);
int64_t json_integer(const struct json *v, int64_t fallback);
bool json_boolean(const struct json *v, bool fallback);

#endif
