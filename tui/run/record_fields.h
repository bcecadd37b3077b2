/* record_fields.h - members of JSON records copied into structs, by tables. */
#ifndef WERKBANK_TUI_RUN_RECORD_FIELDS_H
#define WERKBANK_TUI_RUN_RECORD_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "share/format/json.h"

/* A number of a record, and the place of its double in a struct. */
struct number_field {
	const char *name;
	size_t offset;
	bool is_constant; /* a record without it keeps the value of an earlier record */
};

/* The field of a struct whose name is also that of the member of the record. */
#define NUMBER_FIELD(type, member)                                                                 \
	{                                                                                          \
#member, offsetof(struct type, member), false                                      \
	}
#define CONSTANT_FIELD(type, member)                                                               \
	{                                                                                          \
#member, offsetof(struct type, member), true                                       \
	}

/*
 * Set the doubles of n fields, at most RECORD_FIELDS_MAX, in the struct `to`; a missing number is
 * NaN. Fastest if the fields are in the order of the record's members.
 */
#define RECORD_FIELDS_MAX 20
void record_read_numbers(const struct json *record, const struct number_field *fields, size_t n,
			 void *to);

/* Copy text into n bytes; longer text is cut before the character that does not fit. */
void record_copy_text(char *to, size_t n, const char *text);
/* record_copy_text() of a member of a record into an array; "" if it is missing. */
#define RECORD_COPY(to, record, name)                                                              \
	record_copy_text(to, sizeof(to), json_text(json_get(record, name), ""))

/* The JSON of a file; NULL: missing, unreadable or damaged. Owned by the caller. */
struct json *record_read_file(const char *path, size_t limit);

#endif
