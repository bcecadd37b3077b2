/*
 * json.h - JSON: a writer that appends to a buffer, a reader over a tree.
 *
 * Writer:
 *	struct json_writer w = { .out = &b };
 *	json_open(&w, '{'); json_put_int(&w, "step", 7); json_close(&w, '}');
 * The writer adds the commas. Non-finite numbers become null. Strings must be
 * UTF-8; control characters are escaped, invalid bytes become U+FFFD.
 *
 * Reader (json_read.c): json_parse() accepts one value of RFC 8259 from
 * untrusted bytes (depth at most 64), in one pass and two allocations, or none
 * with json_parse_reusing(), because the journal of a long run has a million
 * small objects. The caller owns the tree. All accessors accept NULL and the
 * wrong type and then return the fallback. Texts are UTF-8 without NUL bytes.
 * Access to a member or element is O(position).
 */
#ifndef WERKBANK_SHARE_FORMAT_JSON_H
#define WERKBANK_SHARE_FORMAT_JSON_H

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
void json_raw(struct json_writer *w, const char *json, size_t n); /* one value, already written */

/* A member: its key and its value. */
void json_put_str(struct json_writer *w, const char *key, const char *text);
void json_put_strn(struct json_writer *w, const char *key, const char *text, size_t n);
void json_put_int(struct json_writer *w, const char *key, int64_t value);
void json_put_real(struct json_writer *w, const char *key, double value);
void json_put_bool(struct json_writer *w, const char *key, bool value);
void json_put_count(struct json_writer *w, const char *key, int64_t count); /* negative: null */
void json_put_open(struct json_writer *w, const char *key, char bracket);   /* '{' or '[' */

struct json; /* a value in a tree */

struct json *json_parse(const char *text, size_t n,
			struct err *e); /* NULL: ERR_DATA with the position */
void json_free(struct json *root);	/* root: the root of a tree, or NULL */
/*
 * Parse a file of at most `limit` bytes that may be missing or damaged: then 0 with *root NULL. Any
 * other failure, as of memory or permissions, is returned. The caller frees *root.
 */
int json_read_optional(struct json **root, const char *path, size_t limit, struct err *e);
/*
 * json_parse() for a series of texts: reuses the memory of the tree `before` (NULL: none), which
 * becomes invalid; on failure it is freed.
 */
struct json *json_parse_reusing(struct json *before, const char *text, size_t n, struct err *e);

const struct json *json_get(const struct json *object, const char *key); /* NULL: none */
size_t json_len(const struct json *array_or_object);			 /* 0 for anything else */
const struct json *json_at(const struct json *array, size_t i);		 /* NULL: none */
/* Member number i of an object in file order: returns its key and sets *value; NULL: none. */
const char *json_member(const struct json *object, size_t i, const struct json **value);
/*
 * Walk over all children: for (c = json_first(v); c; c = json_next(v, c)). NULL: no more.
 * json_child_key() returns the key of a child of an object.
 */
const struct json *json_first(const struct json *array_or_object);
const struct json *json_next(const struct json *array_or_object, const struct json *child);
const char *json_child_key(const struct json *child);
/*
 * values[i] = the number of the member names[i], NAN if it is missing or no number. One pass,
 * fastest if names are in the order of the members.
 */
void json_numbers(const struct json *object, const char *const *names, size_t n, double *values);
/* The type of a value; a missing value (v NULL) counts as null. */
bool json_is_null(const struct json *v);
bool json_is_array(const struct json *v);
bool json_is_object(const struct json *v);
const char *json_text(const struct json *v, const char *fallback);
double json_number(const struct json *v, double fallback);
int64_t json_integer(const struct json *v, int64_t fallback);
bool json_boolean(const struct json *v, bool fallback);
/*
 * The digits of a number as they stand in the text of n bytes that was parsed, which may have more
 * of them than int64_t and double can hold. Returns their length and sets *digits (borrowed from
 * text); 0: v is not a number.
 */
size_t json_number_digits(const struct json *v, const char *text, size_t n, const char **digits);

#endif
