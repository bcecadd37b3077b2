/* form_json.h - an HTML form or the query of an address as JSON, so that requests are read in one way */
#ifndef WERKBANK_EVAL_SERVER_FORM_JSON_H
#define WERKBANK_EVAL_SERVER_FORM_JSON_H

#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"

#define FORM_MAX_FIELDS 1024

/*
 * Appends a JSON object to out: each name of application/x-www-form-urlencoded bytes with its value, a string, or with a
 * list of strings if the name occurs several times. ERR_DATA: an escape is incomplete, a character is NUL, the text is not
 * UTF-8, or there are too many fields.
 */
int form_to_json(const char *form, size_t n, struct buf *out, struct err *e);

/* A file of a form. */
struct form_file {
	const char *bytes; /* (n) borrowed: of the body; NULL: the form has none */
	size_t n;
};

/*
 * The same for multipart/form-data (RFC 7578): `type` is the Content-Type, which names the boundary. The value of the field with
 * the file is its name. ERR_DATA also: several files, or a part has no name or no end.
 */
int multipart_to_json(const char *type, size_t n_type, const char *body, size_t n, struct buf *out,
		      struct form_file *file, struct err *e);

#endif
