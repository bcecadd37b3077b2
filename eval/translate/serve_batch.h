/*
 * serve_batch.h - requests of several texts, which are decoded together: what "werkbank serve" sends
 *
 *	{"id":7,"texts":["A dog.","A cat."],"n_best":2}
 *	{"id":7,"translations":[{"texts":["Ein Hund.","Der Hund."],"source_tokens":3,"target_tokens":4},...]}
 *
 * Each text gets the translation that a request of its own would get. werkbank-serve(7) describes requests for users.
 */
#ifndef WERKBANK_EVAL_TRANSLATE_SERVE_BATCH_H
#define WERKBANK_EVAL_TRANSLATE_SERVE_BATCH_H

#include "eval/translate/serve.h"
#include "share/format/json.h"

#define SERVE_MAX_TEXTS 4096 /* of a request */

/* A request, and the line that it was parsed from. */
struct serve_line {
	const struct json *request; /* NULL: the line is not JSON */
	const char *text;
	size_t n;
};

/* Writes the answer to a request with the member "texts". ERR_USAGE: a member is wrong. */
int serve_answer_batch(const struct serve_context *s, const struct serve_line *from,
		       struct json_writer *w, struct err *e);

/* ---- serve.c ---- */

/* Writes the member id. An id that is a number comes back with the digits that it had. */
void serve_write_id(struct json_writer *w, const struct serve_line *line);
/* ERR_USAGE: the request has a member that is not among the n known ones, and that nothing would read. */
int serve_check_members(const struct json *request, const char *const *known, size_t n,
			struct err *e);
/* Reads n_best, beam and alpha. ERR_USAGE: a value is out of range. */
int serve_read_options(struct decode_options *o, const struct json *request, struct err *e);

#endif
