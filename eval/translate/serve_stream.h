/*
 * serve_stream.h - requests that join the sentences which are being decoded: what "werkbank serve" sends
 *
 *	{"id":7,"join":true,"text":"A dog. A cat.","n_best":2}
 *	{"id":7,"texts":["Ein Hund. Eine Katze.","Der Hund. Die Katze."],"source_tokens":6,"target_tokens":8}
 *	{"id":9,"join":true,"text":"A <b>dog</b>.","markup":"html"}	or xml, xml-lines: answered like a text
 *	{"id":8,"join":true,"document":"docx","bytes":"BASE64"}
 *	{"id":8,"done":120,"of":400}	each second: sentences
 *	{"id":8,"bytes":"BASE64","source_tokens":6000,"target_tokens":6500}
 *	{"cancel":7}			{"id":7,"cancelled":true}, unless the answer has been written
 *
 * Answers come as they are ready, not in the order of requests. Each text gets the translation that a request of its own
 * would get. A segment of a document with a sentence that is too long stays as it is. A request that cannot share steps with the open ones (another beam, or constraints) waits until those are
 * answered, and so does what comes after it. werkbank-serve(7) describes requests for users, which have no "join".
 */
#ifndef WERKBANK_EVAL_TRANSLATE_SERVE_STREAM_H
#define WERKBANK_EVAL_TRANSLATE_SERVE_STREAM_H

#include "eval/translate/serve.h"
#include "share/base/lines.h"
#include "share/format/json.h"

/* A request, and the line that it was parsed from. */
struct serve_line {
	const struct json *request; /* NULL: the line is not JSON */
	const char *text;
	size_t n;
};

/* The line that lines_next() returned `got` for, if it has "join" or "cancel"; else NULL. The caller frees it. */
struct json *serve_stream_request(const struct lines *in, int got);
/*
 * Answers `first` (owned by the call) and the requests after it, until none is open and no line waits, or until a line of
 * another kind has been read: *got is then what lines_next() returned for it; else -1. Writes to standard output.
 */
int serve_stream_run(const struct serve_context *s, struct lines *in, struct json *first, int *got,
		     struct err *e);

/* ---- serve.c ---- */

/* ERR_USAGE: the request has a member that is not among the n known ones, and that nothing would read. */
int serve_check_members(const struct json *request, const char *const *known, size_t n,
			struct err *e);
/* Reads n_best, beam and alpha. ERR_USAGE: a value is out of range. */
int serve_read_options(struct decode_options *o, const struct json *request, struct err *e);

#endif
