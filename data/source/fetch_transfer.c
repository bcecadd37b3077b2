/*
 * fetch_transfer.c - one HTTP request for the rest of a part, and the verdict on it
 *
 *	request		Range: bytes=OFFSET-	(only if OFFSET > 0)
 *			If-Range: "etag" or a date
 *	response	206	Content-Range must start at OFFSET, total and ETag must match:
 *				append to the part, else RESTART
 *			200	the whole file (it has changed, or the server ignores Range):
 *				empty the part and write from byte 0
 *			416	OFFSET is at the end: COMPLETE if the total says so, else RESTART
 *			others	the body is an error page: discard it; RETRY or NEXT_ADDRESS
 *
 * libcurl calls receive_header() and receive_body(). The first body byte decides between 206 and
 * 200 (transfer_begin_body()); only then is the part touched.
 */
#include "config.h"

#include "data/source/fetch_transfer.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "share/base/text.h"

#define CONNECT_S     30L
#define STALL_BYTES   1024L /* a transfer below this rate in bytes a second has stalled */
#define MAX_REDIRECTS 10L
#define BLOCK_BYTES   (256L << 10) /* buffer of libcurl */
#define MAX_IGNORED   (256 << 10)  /* bytes of an error page to read before closing */

static long transfer_status(const struct transfer *t)
{
	long status = 0;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

/* ---- the header ---- */

/*
 * true if the header line is called name. value: its value without blanks around it; "" if it is
 * longer than size or holds control characters.
 */
static bool header_value(const char *line, size_t n, const char *name, char *value, size_t size)
{
	size_t len = strlen(name), i;

	if (n <= len || line[len] != ':' || strncasecmp(line, name, len))
		return false;
	line += len + 1;
	n -= len + 1;
	while (n && isspace((unsigned char)*line)) {
		line++;
		n--;
	}
	while (n && isspace((unsigned char)line[n - 1]))
		n--;
	*value = 0;
	if (n >= size)
		return true;
	for (i = 0; i < n; i++)
		if (iscntrl((unsigned char)line[i]))
			return true;
	memcpy(value, line, n);
	value[n] = 0;
	return true;
}

/* Parse decimal digits at *text and advance *text past them; -1: no number, or too large. */
static int64_t parse_range_number(const char **text)
{
	int64_t n = 0;

	if (!isdigit((unsigned char)**text))
		return -1;
	for (; isdigit((unsigned char)**text); (*text)++) {
		if (n > (INT64_MAX - 9) / 10)
			return -1;
		n = n * 10 + (**text - '0');
	}
	return n;
}

/* "bytes 5-9/10", where the total may be "*"; a 416 has "bytes", a blank, a star, "/10". */
static void read_content_range(struct http_response *h, const char *value)
{
	int64_t start = -1;

	if (strncasecmp(value, "bytes ", 6))
		return;
	value += 6;
	if (*value == '*') {
		value++;
	} else {
		start = parse_range_number(&value);
		if (start < 0 || *value++ != '-' || parse_range_number(&value) < start)
			return;
	}
	if (*value++ != '/')
		return;
	h->range_start = start;
	h->range_total = parse_range_number(&value);
}

static size_t receive_header(char *line, size_t size, size_t n, void *closure)
{
	struct transfer *t = closure;
	struct http_response *h = &t->response;
	char value[300];

	(void)size; /* libcurl always passes 1 */
	if (n > 5 && !strncmp(line, "HTTP/", 5))
		*h = (struct http_response){ .range_start = -1, .range_total = -1 };
	else if (header_value(line, n, "ETag", value, sizeof(h->etag)))
		memcpy(h->etag, value, strlen(value) + 1);
	else if (header_value(line, n, "Last-Modified", value, sizeof(h->last_modified)))
		memcpy(h->last_modified, value, strlen(value) + 1);
	else if (header_value(line, n, "Content-Range", value, sizeof(value)))
		read_content_range(h, value);
	else if (header_value(line, n, "Content-Type", value, sizeof(value)))
		h->is_html = !strncasecmp(value, "text/html", 9) ||
			     !strncasecmp(value, "application/xhtml", 17);
	return n;
}

/* ---- the body ---- */

/* Decide before the transfer has ended; t->err is set. Returns -1, which makes libcurl abort. */
static int transfer_set_verdict(struct transfer *t, enum transfer_verdict verdict)
{
	assert(t->err.code);
	t->is_decided = true;
	t->verdict = verdict;
	return -1;
}

static int refuse_page(struct transfer *t)
{
	err_set(&t->err, ERR_DATA, "%s: is a web page, not an archive (a log-in or error page?)",
		t->address->url);
	return transfer_set_verdict(t, TRANSFER_NEXT_ADDRESS);
}

static bool looks_like_page(const char *bytes, size_t n)
{
	while (n && isspace((unsigned char)*bytes)) {
		bytes++;
		n--;
	}
	return n && *bytes == '<';
}

static int check_total(struct transfer *t)
{
	if (t->address->bytes < 0 || t->total < 0 || t->total == t->address->bytes)
		return 0;
	err_set(&t->err, ERR_DATA, "%s: has %lld bytes, should have %lld", t->address->url,
		(long long)t->total, (long long)t->address->bytes);
	return transfer_set_verdict(t, TRANSFER_NEXT_ADDRESS);
}

/* 200: the response is the whole file, even if a range was requested. */
static int begin_whole(struct transfer *t)
{
	curl_off_t length = -1;
	struct fetch_part_origin o = { .url = (char *)t->address->url,
				       .etag = t->response.etag,
				       .last_modified = t->response.last_modified,
				       .total = -1 };

	if (!curl_easy_getinfo(t->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length))
		o.total = t->total = length;
	if (strlen(t->address->content) < sizeof(o.content))
		memcpy(o.content, t->address->content, strlen(t->address->content));
	if (check_total(t))
		return -1;
	if (fetch_part_begin(t->part, &o, &t->err) || t->check_room(t->closure, &t->err))
		return transfer_set_verdict(t, TRANSFER_STOP);
	return 0;
}

/* 206: check that the response continues the same version of the file at the same byte. */
static int begin_rest(struct transfer *t)
{
	const struct fetch_part_origin *o = &t->part->origin;
	const struct http_response *h = &t->response;
	bool same_url = o->url && !strcmp(o->url, t->address->url);

	t->total = h->range_total >= 0 ? h->range_total : o->total;
	if (check_total(t))
		return -1;
	if (h->range_start != t->offset || (o->total >= 0 && t->total != o->total) ||
	    (same_url && o->etag && h->etag[0] && strcmp(o->etag, h->etag))) {
		err_set(&t->err, ERR_PROTOCOL,
			"%s: the server continues with another version of the file than the part",
			t->address->url);
		return transfer_set_verdict(t, TRANSFER_RESTART);
	}
	if (t->check_room(t->closure, &t->err))
		return transfer_set_verdict(t, TRANSFER_STOP);
	return 0;
}

/* Called once, before the first body byte, when all header fields are known. */
static int transfer_begin_body(struct transfer *t, const char *bytes, size_t n)
{
	long status = transfer_status(t);

	assert(!t->is_body_begun);
	t->is_body_begun = true;
	if (status == 206 && !t->offset) {
		err_set(&t->err, ERR_PROTOCOL,
			"%s: the server sends a part (206), but the whole file was requested",
			t->address->url);
		return transfer_set_verdict(t, TRANSFER_NEXT_ADDRESS);
	}
	if (status != 206 && (t->response.is_html || looks_like_page(bytes, n)))
		return refuse_page(t);
	return status == 206 ? begin_rest(t) : begin_whole(t);
}

static bool is_success(long status)
{
	return !status || status == 200 || status == 206; /* 0: a file:// address */
}

/* ERR_DATA: n bytes more are more than the file has, or may have. */
static int check_length(struct transfer *t, size_t n)
{
	const int64_t published = t->address->bytes, bytes = t->part->bytes + (int64_t)n;

	if (published >= 0 && bytes > published)
		return err_set(&t->err, ERR_DATA,
			       "%s: is longer than the %lld bytes it should have", t->address->url,
			       (long long)published);
	if (published < 0 && t->total < 0 && t->most_bytes && bytes > t->most_bytes)
		return err_set(
			&t->err, ERR_DATA,
			"%s: is longer than %lld bytes, the limit for a file whose length "
			"neither server nor manifest tells: give \"bytes = N\" in the manifest",
			t->address->url, (long long)t->most_bytes);
	return 0;
}

/* n bytes more have come: is there room for the rest of a file whose length nobody announced? */
static int check_unannounced(struct transfer *t, size_t n)
{
	t->unchecked_bytes += (int64_t)n;
	if (MAX(t->total, t->address->bytes) >= 0 || t->unchecked_bytes < TRANSFER_UNCHECKED)
		return 0;
	t->unchecked_bytes = 0;
	return t->check_room(t->closure, &t->err);
}

/* A return value other than n aborts the transfer; then t->verdict and t->err are set. */
static size_t receive_body(char *bytes, size_t size, size_t n, void *closure)
{
	struct transfer *t = closure;

	(void)size; /* libcurl always passes 1 */
	if (!is_success(transfer_status(t))) {
		t->discarded_bytes += (int64_t)n;
		return t->discarded_bytes <= MAX_IGNORED ? n : 0;
	}
	if (!t->is_body_begun && transfer_begin_body(t, bytes, n))
		return 0;
	if (check_length(t, n)) {
		transfer_set_verdict(t, TRANSFER_NEXT_ADDRESS);
		return 0;
	}
	if (fetch_part_append(t->part, bytes, n, &t->err) || check_unannounced(t, n)) {
		transfer_set_verdict(t, TRANSFER_STOP);
		return 0;
	}
	return n;
}

/* ---- starting ---- */

bool transfer_may_redirect_to_http(const char *request)
{
	return strncasecmp(request, "https:", 6) != 0;
}

static int set_protocols(CURL *easy, const char *request)
{
	const bool http = transfer_may_redirect_to_http(request);

#if LIBCURL_VERSION_NUM >= 0x075500
	return (int)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https,file") |
	       (int)curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR,
				     http ? "http,https" : "https");
#else
	return (int)curl_easy_setopt(easy, CURLOPT_PROTOCOLS,
				     (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS | CURLPROTO_FILE)) |
	       (int)curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS,
				     (long)(CURLPROTO_HTTPS | (http ? CURLPROTO_HTTP : 0)));
#endif
}

/* ERR_DATA if a file:// address names a device, pipe or folder, which may have no end. */
static int check_local_file(const struct transfer *t, struct err *e)
{
	CURLU *u = NULL;
	char *path = NULL;
	struct stat s;
	int rc = 0;

	if (strncasecmp(t->address->request, "file:", 5))
		return 0;
	u = curl_url();
	if (!u || curl_url_set(u, CURLUPART_URL, t->address->request, 0) ||
	    curl_url_get(u, CURLUPART_PATH, &path, CURLU_URLDECODE))
		rc = err_set(e, ERR_USAGE, "%s: is not an address", t->address->url);
	else if (!stat(path, &s) && !S_ISREG(s.st_mode))
		rc = err_set(e, ERR_DATA, "%s: is not a regular file", t->address->url);
	curl_free(path);
	curl_url_cleanup(u);
	return rc;
}

static int set_options(struct transfer *t, long stall_s)
{
	CURL *easy = t->easy;
	int bad = set_protocols(easy, t->address->request);

	bad |= (int)curl_easy_setopt(easy, CURLOPT_URL, t->address->request);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->curl_error);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_PRIVATE, t);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive_body);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, receive_header);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_HEADERDATA, t);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_MAXREDIRS, MAX_REDIRECTS);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, STALL_BYTES);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, stall_s);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, BLOCK_BYTES);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_USERAGENT, "werkbank/" PACKAGE_VERSION);
	return bad;
}

/* With CURLOPT_RESUME_FROM libcurl fails on a 200; with CURLOPT_RANGE the 200 is delivered. */
static int set_range(struct transfer *t, const char *if_range)
{
	char text[400];
	int bad;

	snprintf(text, sizeof(text), "%lld-", (long long)t->offset);
	bad = (int)curl_easy_setopt(t->easy, CURLOPT_RANGE, text);
	if (!if_range)
		return bad;
	snprintf(text, sizeof(text), "If-Range: %.300s", if_range);
	t->headers = curl_slist_append(NULL, text);
	bad |= (int)curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
	return bad || !t->headers;
}

int transfer_start(struct transfer *t, const char *if_range, long stall_s, CURLM *multi,
		   struct err *e)
{
	t->easy = curl_easy_init();
	t->total = -1;
	t->response = (struct http_response){ .range_start = -1, .range_total = -1 };
	if (!t->easy)
		return err_set(e, ERR_NOMEM, "out of memory for a transfer");
	if (check_local_file(t, e)) {
		transfer_close(t, NULL);
		return e->code;
	}
	if (set_options(t, stall_s) || (t->offset && set_range(t, if_range)) ||
	    curl_multi_add_handle(multi, t->easy)) {
		transfer_close(t, NULL);
		return err_set(e, ERR_INTERNAL, "%s: libcurl rejects an option", t->address->url);
	}
	return 0;
}

void transfer_close(struct transfer *t, CURLM *multi)
{
	if (t->easy && multi)
		curl_multi_remove_handle(multi, t->easy);
	curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	t->easy = NULL;
	t->headers = NULL;
}

/* ---- the end ---- */

/* A 416 means that the part is complete, or longer than the file. */
static enum transfer_verdict evaluate_unsatisfiable(struct transfer *t, struct err *e)
{
	if (t->offset && t->response.range_total == t->offset)
		return TRANSFER_COMPLETE;
	err_set(e, ERR_PROTOCOL, "%s: the server cannot continue at byte %lld (416)",
		t->address->url, (long long)t->offset);
	return t->offset ? TRANSFER_RESTART : TRANSFER_NEXT_ADDRESS;
}

static enum transfer_verdict evaluate_status(struct transfer *t, double *retry_after_s,
					     struct err *e)
{
	long status = transfer_status(t);
	curl_off_t wait = 0;
	int64_t all;

	if (is_success(status)) {
		if (!t->is_body_begun && transfer_begin_body(t, "", 0)) { /* empty body */
			*e = t->err;
			return t->verdict;
		}
		/* without a Content-Length, the end of the connection must count as the end */
		all = t->total >= 0 ? t->total : t->address->bytes;
		if (all < 0 || t->part->bytes >= all)
			return TRANSFER_COMPLETE;
		err_set(e, ERR_PROTOCOL, "%s: cannot be fetched: received %lld of %lld bytes",
			t->address->url, (long long)t->part->bytes, (long long)all);
		return TRANSFER_RETRY;
	}
	if (status == 416)
		return evaluate_unsatisfiable(t, e);
	err_set(e, ERR_UNAVAILABLE, "%s: the server answers %ld", t->address->url, status);
	if (!curl_easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &wait) && wait > 0)
		*retry_after_s = (double)wait;
	return status == 408 || status == 425 || status == 429 ||
			       (status >= 500 && status != 501 && status != 505)
		       ? TRANSFER_RETRY
		       : TRANSFER_NEXT_ADDRESS;
}

/* Did the server send us elsewhere? Then a bad address is its fault. */
static bool was_redirected(const struct transfer *t)
{
	char *target = NULL;
	long n = 0;

	curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_COUNT, &n);
	curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &target);
	return n > 0 || target;
}

/*
 * Is this failure libcurl's answer to a line of the response that is longer than it allows, in the
 * header or in the trailers of a chunked body? libcurl gives the same code when memory runs out.
 */
static bool is_line_too_long(const struct transfer *t, CURLcode result)
{
	if (result == CURLE_RECV_ERROR) /* of a trailer; the text is libcurl's own */
		return strstr(t->curl_error, "Out of memory in chunked") != NULL;
	return result == CURLE_OUT_OF_MEMORY && transfer_status(t) && !t->is_body_begun;
}

/* Did a server answer at all? Then CURLE_UNSUPPORTED_PROTOCOL is about the answer: HTTP/0.9. */
static bool was_connected(const struct transfer *t)
{
	long connections = 0;

	curl_easy_getinfo(t->easy, CURLINFO_NUM_CONNECTS, &connections);
	return connections > 0;
}

/* The error code for a failure of libcurl; *verdict: whether to retry. */
static int classify_curl_error(const struct transfer *t, CURLcode result,
			       enum transfer_verdict *verdict)
{
	*verdict = TRANSFER_RETRY;
	switch (result) {
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
		return ERR_NOHOST;
	case CURLE_OPERATION_TIMEDOUT:
		return ERR_TEMPFAIL;
	case CURLE_PARTIAL_FILE:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
	case CURLE_SSL_CONNECT_ERROR:
		return ERR_PROTOCOL;
	default:
		break;
	}
	*verdict = TRANSFER_NEXT_ADDRESS;
	switch (result) {
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_URL_MALFORMAT:
		return was_redirected(t) || was_connected(t) ? ERR_PROTOCOL : ERR_USAGE;
	case CURLE_FILE_COULDNT_READ_FILE:
		return ERR_NOINPUT;
	case CURLE_OUT_OF_MEMORY:
		if (is_line_too_long(t, result))
			return ERR_PROTOCOL;
		*verdict = TRANSFER_STOP;
		return ERR_NOMEM;
	default:
		return ERR_PROTOCOL;
	}
}

enum transfer_verdict transfer_evaluate(struct transfer *t, CURLcode result, double *retry_after_s,
					struct err *e)
{
	enum transfer_verdict verdict;
	int rc;

	*retry_after_s = 0;
	if (t->is_decided) {
		*e = t->err;
		return t->verdict;
	}
	if (!result || t->discarded_bytes > MAX_IGNORED)
		return evaluate_status(t, retry_after_s, e);
	rc = classify_curl_error(t, result, &verdict);
	err_set(e, rc, "%s: cannot be fetched: %s", t->address->url,
		is_line_too_long(t, result) ? "the answer has a line that is too long"
		: t->curl_error[0]	    ? t->curl_error
					    : curl_easy_strerror(result));
	return verdict;
}
