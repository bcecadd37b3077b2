/* http_request.c - see http_request.h; section numbers are those of RFC 9112 and RFC 9110 */
#include "eval/server/http_request.h"

#include <string.h>
#include <strings.h>

#include "share/base/util.h"

static const struct {
	int status;
	const char *reason;
} http_reasons[] = {
	/* clang-format off */
	{ 200, "OK" },
	{ 204, "No Content" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 408, "Request Timeout" },
	{ 411, "Length Required" },
	{ 413, "Content Too Large" },
	{ 415, "Unsupported Media Type" },
	{ 417, "Expectation Failed" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
	{ 505, "HTTP Version Not Supported" },
	/* clang-format on */
};

const char *http_reason(int status)
{
	for (size_t i = 0; i < ARRAY_LEN(http_reasons); i++)
		if (http_reasons[i].status == status)
			return http_reasons[i].reason;
	return "Error";
}

bool http_text_is(const struct http_text *t, const char *text)
{
	return t->text && t->n == strlen(text) && !memcmp(t->text, text, t->n);
}

bool http_text_is_word(const struct http_text *t, const char *text)
{
	return t->text && t->n == strlen(text) && !strncasecmp(t->text, text, t->n);
}

/* tchar of RFC 9110, 5.6.2 */
static bool is_token_char(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static size_t token_bytes(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && is_token_char((unsigned char)text[i]))
		i++;
	return i;
}

/* The request line: METHOD SP /PATH SP HTTP/1.1, with one blank each (3). */
static int read_request_line(const char *line, size_t n, struct http_request *r, bool *is_old)
{
	const size_t method = token_bytes(line, n);
	size_t end = method + 1;
	const char *query;

	if (!method || method > 16 || method + 1 >= n || line[method] != ' ' || line[end] != '/')
		return 400;
	while (end < n && line[end] > ' ' && line[end] < 0x7f)
		end++;
	if (n - end != 9 || memcmp(line + end, " HTTP/", 6) != 0 || line[end + 7] != '.')
		return 400;
	if (line[end + 6] != '1' || (line[end + 8] != '0' && line[end + 8] != '1'))
		return 505;
	*is_old = line[end + 8] == '0';
	r->method = (struct http_text){ line, method };
	r->path = (struct http_text){ line + method + 1, end - method - 1 };
	if (memchr(r->path.text, '#', r->path.n))
		return 400;
	query = memchr(r->path.text, '?', r->path.n);
	if (query) {
		r->query = (struct http_text){ query + 1, (size_t)(line + end - query) - 1 };
		r->path.n = (size_t)(query - r->path.text);
	}
	return 0;
}

/* Digits only, and not more than a body may have. */
static int read_length(const struct http_text *value, struct http_request *r)
{
	size_t bytes = 0;

	if (r->has_length || !value->n)
		return 400;
	for (size_t i = 0; i < value->n; i++) {
		const char c = value->text[i];

		if (c < '0' || c > '9')
			return 400;
		bytes = MIN(bytes * 10 + (size_t)(c - '0'), HTTP_MAX_FILE + 1);
	}
	r->has_length = true;
	r->body_bytes = bytes;
	return 0;
}

/* Connection: a list of words, of which "close" counts. */
static void read_connection(const struct http_text *value, bool *closes)
{
	for (size_t at = 0, end; at < value->n; at = end + 1) {
		struct http_text word;

		for (end = at; end < value->n && value->text[end] != ',';)
			end++;
		word = (struct http_text){ value->text + at, end - at };
		while (word.n && (*word.text == ' ' || *word.text == '\t'))
			word.text++, word.n--;
		while (word.n && (word.text[word.n - 1] == ' ' || word.text[word.n - 1] == '\t'))
			word.n--;
		*closes |= http_text_is_word(&word, "close");
	}
}

/* A field that may be given once. */
static int read_once(struct http_text *to, const struct http_text *value)
{
	if (to->text)
		return 400;
	*to = *value;
	return 0;
}

/* Several proxies make a list, in one field or in several; the first item is what the client used. */
static void read_first_item(struct http_text *to, const struct http_text *value)
{
	const char *comma = value->n ? memchr(value->text, ',', value->n) : NULL;

	if (to->text)
		return;
	*to = *value;
	if (comma)
		to->n = (size_t)(comma - value->text);
	while (to->n && (to->text[to->n - 1] == ' ' || to->text[to->n - 1] == '\t'))
		to->n--;
}

static bool is_host_letter(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
	       (c && strchr(".-_:[]", c));
}

/* A name or address, and a port. Other characters are refused: answers repeat the host in addresses of files. */
static int read_host(const struct http_text *value, struct http_request *r)
{
	for (size_t i = 0; i < value->n; i++)
		if (!is_host_letter(value->text[i]))
			return 400;
	return read_once(&r->host, value);
}

/* What the fields of a request have said that struct http_request does not keep. */
struct field_facts {
	bool closes, has_coding;
};

/* A field that decides something; all others are ignored. */
static int use_field(const struct http_text *name, const struct http_text *value,
		     struct http_request *r, struct field_facts *facts)
{
	if (http_text_is_word(name, "content-length"))
		return read_length(value, r);
	if (http_text_is_word(name, "host"))
		return read_host(value, r);
	if (http_text_is_word(name, "content-type"))
		return read_once(&r->content_type, value);
	if (http_text_is_word(name, "authorization"))
		return read_once(&r->authorization, value);
	if (http_text_is_word(name, "origin"))
		return read_once(&r->origin, value);
	if (http_text_is_word(name, "x-forwarded-proto"))
		read_first_item(&r->forwarded_scheme, value);
	else if (http_text_is_word(name, "transfer-encoding"))
		facts->has_coding = true;
	else if (http_text_is_word(name, "connection"))
		read_connection(value, &facts->closes);
	else if (http_text_is_word(name, "expect")) {
		if (!http_text_is_word(value, "100-continue"))
			return 417;
		r->expects_continue = true;
	}
	return 0;
}

/* NAME ":" blanks VALUE blanks, without control characters and without a blank before the colon (5). */
static int read_head_field(const char *line, size_t n, struct http_request *r,
			   struct field_facts *facts)
{
	const struct http_text name = { line, token_bytes(line, n) };
	struct http_text value = { line + name.n + 1, n - name.n - 1 };

	if (!name.n || name.n >= n || line[name.n] != ':')
		return 400;
	for (size_t i = 0; i < value.n; i++) {
		const unsigned char c = (unsigned char)value.text[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return 400;
	}
	while (value.n && (*value.text == ' ' || *value.text == '\t'))
		value.text++, value.n--;
	while (value.n && (value.text[value.n - 1] == ' ' || value.text[value.n - 1] == '\t'))
		value.n--;
	return use_field(&name, &value, r, facts);
}

/* What all fields together must fulfil. */
static int check_fields(struct http_request *r, const struct field_facts *facts, bool is_old)
{
	if (facts->has_coding)
		return r->has_length || is_old ? 400 : 501;
	if (!is_old && !r->host.text)
		return 400;
	if (r->body_bytes > HTTP_MAX_FILE)
		return 413;
	if (!r->has_length && http_text_is(&r->method, "POST"))
		return 411;
	r->keeps_open = !facts->closes && !is_old;
	if (is_old)
		r->expects_continue = false;
	return 200;
}

/* The length of the line at `at`, without CR LF; *status 0: its end has not come, 400: LF without CR. */
static size_t line_bytes(const char *bytes, size_t n, size_t at, int *status)
{
	const char *end = memchr(bytes + at, '\n', n - at);
	const size_t length = end ? (size_t)(end - bytes) - at : 0;

	*status = !end ? 0 : length && end[-1] == '\r' ? 200 : 400;
	return length ? length - 1 : 0;
}

int http_request_read(const char *bytes, size_t n, struct http_request *r)
{
	const size_t limit = MIN(n, HTTP_MAX_HEAD);
	struct field_facts facts = { false, false };
	bool is_old = false;
	size_t at = 0;
	int status;

	*r = (struct http_request){ .head_bytes = 0 };
	for (size_t lines = 0; lines <= HTTP_MAX_FIELDS + 1; lines++) {
		const size_t length = line_bytes(bytes, limit, at, &status);

		if (!status && !lines && n && !is_token_char((unsigned char)*bytes))
			return 400; /* TLS, say: no line end may ever come */
		if (!status)
			return n >= HTTP_MAX_HEAD ? 431 : 0;
		if (status != 200)
			return status;
		if (!length && lines) {
			r->head_bytes = at + 2;
			return check_fields(r, &facts, is_old);
		}
		status = lines ? read_head_field(bytes + at, length, r, &facts)
			       : read_request_line(bytes + at, length, r, &is_old);
		if (status)
			return status;
		at += length + 2;
	}
	return 431;
}
