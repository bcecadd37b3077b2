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

#endif
