/*
 * http_request.h - the strict reader of HTTP/1.1 requests
 *
 * A server and its proxy must agree where each request ends. So every form on which servers differ is
 * refused: two lengths, a length together with a transfer coding, transfer codings at all, line ends without CR, blanks
 * before a colon, folded lines, control characters, no Host or two. RFC 9112 allows this strictness.
 */
#ifndef WERKBANK_EVAL_SERVER_HTTP_REQUEST_H
#define WERKBANK_EVAL_SERVER_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_MAX_HEAD	((size_t)16 << 10) /* bytes of the request line and all fields */
#define HTTP_MAX_FIELDS 64
#define HTTP_MAX_BODY	((size_t)1 << 20)  /* of a request without a file */
#define HTTP_MAX_FILE	((size_t)33 << 20) /* … of any request */

struct http_text {
	const char *text; /* (n) borrowed from the bytes that were read; NULL: absent */
	size_t n;
};

struct http_request {
	struct http_text method, path, query; /* query without '?' */
	struct http_text host, content_type, authorization, origin;
	struct http_text
		forwarded_scheme; /* X-Forwarded-Proto of a proxy: how the client reached it */
	size_t head_bytes, body_bytes;
	bool has_length;       /* a Content-Length was given */
	bool expects_continue; /* the client waits for "100 Continue" before it sends the body */
	bool keeps_open;       /* the connection may have further requests */
};

/*
 * Reads the head of a request, of which n bytes have come. 200: it is complete; 0: more bytes must come; else the status
 * of the refusal, after which the connection must be closed, because nobody knows where the next request begins.
 */
int http_request_read(const char *bytes, size_t n, struct http_request *r);

/* Compares with a text, exactly, and without regard to case (ASCII). */
bool http_text_is(const struct http_text *t, const char *text);
bool http_text_is_word(const struct http_text *t, const char *text);

/* The reason phrase of a status, "Error" for an unknown one. */
const char *http_reason(int status);

#endif
