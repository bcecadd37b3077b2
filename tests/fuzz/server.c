/* server.c - targets for requests over HTTP; see fuzz.h */
#include <stdlib.h>
#include <string.h>

#include "eval/server/form_json.h"
#include "eval/server/http_request.h"
#include "share/base/mem.h"
#include "share/format/json.h"
#include "tests/fuzz/fuzz.h"

static bool is_inside(const struct http_text *t, const char *bytes, size_t n)
{
	return !t->text || (t->text >= bytes && t->text + t->n <= bytes + n);
}

/* A head ends where its empty line ends, whatever follows, and never before. */
FUZZ(request)
{
	struct err e = { 0 };
	struct http_request r, part;
	char *bytes = mem_alloc(n + 1, 1, &e);
	int status;

	property(bytes != NULL);
	memcpy(bytes, data, n);
	status = http_request_read(bytes, n, &r);
	property(status == 0 || status == 200 || (status >= 400 && status <= 505));
	if (status == 200) {
		property(r.head_bytes >= 4 && r.head_bytes <= n && r.head_bytes <= HTTP_MAX_HEAD);
		property(!memcmp(bytes + r.head_bytes - 4, "\r\n\r\n", 4));
		property(r.body_bytes <= HTTP_MAX_FILE && (r.has_length || !r.body_bytes));
		property(is_inside(&r.path, bytes, r.head_bytes) &&
			 is_inside(&r.query, bytes, r.head_bytes) &&
			 is_inside(&r.authorization, bytes, r.head_bytes) &&
			 is_inside(&r.content_type, bytes, r.head_bytes));
		property(http_request_read(bytes, r.head_bytes, &part) == 200 &&
			 part.head_bytes == r.head_bytes && part.body_bytes == r.body_bytes);
		property(http_request_read(bytes, r.head_bytes - 1, &part) == 0);
	}
	free(bytes);
	return 0;
}

/* Every accepted form is a JSON object of strings and lists of strings. */
FUZZ(form)
{
	struct err e = { 0 };
	struct buf out = { 0 };
	struct json *root;

	if (!form_to_json((const char *)data, n, &out, &e)) {
		root = json_parse(out.data, out.len, &e);
		property(json_is_object(root));
		for (const struct json *c = json_first(root); c; c = json_next(root, c))
			property(json_text(c, NULL) || json_len(c) > 1);
		json_free(root);
	}
	buf_free(&out);
	return 0;
}

/* The first line is the Content-Type. Every accepted form is an object, and its file lies inside the body. */
FUZZ(multipart)
{
	const char *bytes = (const char *)data, *end = n ? memchr(bytes, '\n', n) : NULL;
	const size_t n_type = end ? (size_t)(end - bytes) : 0, n_body = end ? n - n_type - 1 : 0;
	struct form_file file;
	struct err e = { 0 };
	struct buf out = { 0 };
	struct json *root;

	if (end && !multipart_to_json(bytes, n_type, end + 1, n_body, &out, &file, &e)) {
		root = json_parse(out.data, out.len, &e);
		property(json_is_object(root));
		property(!file.bytes ||
			 (file.bytes > end && file.bytes + file.n <= end + 1 + n_body));
		json_free(root);
	}
	buf_free(&out);
	return 0;
}
