/* connection.c - see connection.h */
#include "eval/server/connection.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "eval/server/form_json.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define READ_BYTES ((size_t)65536)
/* Bytes a second: slower bodies above HTTP_MAX_BODY end after CONNECTION_BODY_S. */
#define SLOWEST_FILE 65536

void connection_begin(struct connection *c, int fd, uint64_t client, double now)
{
	*c = (struct connection){ .state = CONNECTION_READING, .fd = fd, .client = client };
	c->deadline = now + CONNECTION_IDLE_S;
}

void connection_close(struct server_state *s, struct connection *c)
{
	if (c->state == CONNECTION_WAITING)
		s->metrics.left++;
	close(c->fd);
	api_answer_free(s, &c->answer);
	buf_free(&c->in);
	buf_free(&c->out);
	*c = (struct connection){ .state = CONNECTION_FREE };
}

bool connection_is_idle(const struct connection *c)
{
	return (c->state == CONNECTION_READING && !c->in.len) || c->state == CONNECTION_DRAINING;
}

short connection_events(const struct connection *c)
{
	switch (c->state) {
	case CONNECTION_WAITING:
		return POLLRDHUP;
	case CONNECTION_WRITING:
		return POLLOUT;
	default:
		return POLLIN | POLLRDHUP;
	}
}

/* ---- answers ---- */

static void write_answer_head(const struct server_state *s, struct connection *c)
{
	const struct api_answer *a = &c->answer;

	buf_restart(&c->out);
	buf_printf(&c->out, "HTTP/1.1 %d %s\r\n", a->status, http_reason(a->status));
	if (a->status != 204)
		buf_printf(&c->out, "Content-Type: %s\r\nContent-Length: %zu\r\n", a->type,
			   a->body.len);
	buf_add_str(&c->out, "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n");
	if (a->is_page)
		buf_add_str(&c->out,
			    "Content-Security-Policy: default-src 'none'; script-src 'self'; "
			    "style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
			    "form-action 'none'; frame-ancestors 'none'\r\n"
			    "Referrer-Policy: no-referrer\r\n");
	if (a->is_download) {
		buf_add_str(&c->out, "Content-Disposition: attachment; filename=\"");
		files_put_name(a->file_name, false, &c->out);
		buf_add_str(&c->out, "\"; filename*=UTF-8''");
		files_put_name(a->file_name, true, &c->out);
		buf_add_str(&c->out, "\r\n");
	}
	if (a->allow)
		buf_printf(&c->out, "Allow: %s\r\n", a->allow);
	if (a->status == 429 || a->status == 503)
		buf_add_str(&c->out, "Retry-After: 1\r\n");
	if (a->status == 401)
		buf_add_str(&c->out, "WWW-Authenticate: Bearer\r\n");
	if (s->cors)
		buf_printf(&c->out,
			   "Access-Control-Allow-Origin: %s\r\n"
			   "Access-Control-Allow-Headers: Authorization, Content-Type\r\n"
			   "Access-Control-Allow-Methods: GET, POST\r\nVary: Origin\r\n",
			   s->cors);
	if (!c->keeps_open)
		buf_add_str(&c->out, "Connection: close\r\n");
	buf_add_str(&c->out, "\r\n");
}

static void write_bytes(struct server_state *s, struct connection *c, double now);

/* Begins to write the answer. */
static void begin_answer(struct server_state *s, struct connection *c, double now)
{
	c->keeps_open &= !s->is_ending;
	if (c->answer.body.failed)
		api_refuse(&c->answer, 500, "no memory for the answer");
	write_answer_head(s, c);
	if (!c->is_head)
		buf_add(&c->out, c->answer.body.data, c->answer.body.len);
	metrics_count_answer(&s->metrics, c->answer.path ? c->answer.path : "other",
			     c->answer.status);
	api_answer_free(s, &c->answer);
	c->state = CONNECTION_WRITING;
	c->deadline = now + CONNECTION_WRITE_S;
	c->sent = 0;
	if (c->out.failed)
		connection_close(s, c);
	else
		write_bytes(s, c, now);
}

void connection_refuse(struct server_state *s, struct connection *c, int status, const char *text,
		       double now)
{
	c->keeps_open = false;
	api_refuse(&c->answer, status, "%s", text);
	begin_answer(s, c, now);
}

/* ---- requests ---- */

static bool is_type(const struct http_text *type, const char *name)
{
	const size_t n = strlen(name);

	return type->n >= n && !strncasecmp(type->text, name, n) &&
	       (type->n == n || type->text[n] == ';' || type->text[n] == ' ');
}

/* The body, or without one the query, as a JSON object. NULL: a is a refusal. The caller frees it. */
static struct json *read_body(const struct http_request *r, const char *body, size_t n,
			      struct form_file *file, struct api_answer *a)
{
	struct err e = { 0 };
	struct buf form = { 0 };
	struct json *root = NULL;
	const bool is_json = n && is_type(&r->content_type, "application/json"),
		   has_parts = n && is_type(&r->content_type, "multipart/form-data");

	a->style = api_style_of(&r->path);
	if (n && !is_json && !has_parts &&
	    !is_type(&r->content_type, "application/x-www-form-urlencoded")) {
		api_refuse(a, 415,
			   "the body must be application/json, multipart/form-data or "
			   "application/x-www-form-urlencoded");
		return NULL;
	}
	if (is_json && !utf8_valid(body, n))
		err_set(&e, ERR_DATA, "the body must be valid UTF-8");
	else if (is_json)
		root = json_parse(body, n, &e);
	else if (!(has_parts
			   ? multipart_to_json(r->content_type.text, r->content_type.n, body, n,
					       &form, file, &e)
			   : form_to_json(n ? body : r->query.text, n ? n : r->query.n, &form, &e)))
		root = json_parse(form.data, form.len, &e);
	buf_free(&form);
	if (root && json_is_object(root))
		return root;
	json_free(root);
	api_refuse(a, 400, "Invalid request: %s", e.code ? e.text : "the body must be an object");
	return NULL;
}

/* The request has come completely. */
static void take_request(struct server_state *s, struct connection *c, double now)
{
	struct http_request r;
	const size_t n = c->head_bytes + c->body_bytes;
	struct api_call call = { .request = &r, .client = c->client, .now = now };
	const bool is_read = http_request_read(c->in.data, c->in.len, &r) == 200;
	struct form_file file = { NULL, 0 };
	struct json *body = NULL;

	if (is_read)
		body = read_body(&r, c->in.data + c->head_bytes, c->body_bytes, &file, &c->answer);
	call.file = file.bytes ? &file : NULL;
	c->keeps_open = r.keeps_open;
	c->is_head = http_text_is(&r.method, "HEAD");
	call.body = body;
	if (body)
		api_begin(s, &call, &c->answer);
	json_free(body);
	memmove(c->in.data, c->in.data + n, c->in.len - n);
	buf_truncate(&c->in, c->in.len - n);
	c->head_bytes = c->body_bytes = 0;
	if (c->answer.status) {
		begin_answer(s, c, now);
		return;
	}
	c->state = CONNECTION_WAITING;
	c->deadline = INFINITY;
}

/* A client that waits for leave to send its body gets it. */
static void send_continue(struct connection *c)
{
	static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";

	if (write(c->fd, line, sizeof(line) - 1) < 0)
		c->deadline = 0; /* a client that reads nothing */
}

/* Looks whether the head or the request is complete; `fresh` bytes are new. */
static void read_request(struct server_state *s, struct connection *c, size_t fresh, double now)
{
	struct http_request r;
	int status;

	if (c->in.len == fresh) {
		c->began = now;
		c->deadline = now + CONNECTION_HEAD_S;
	}
	if (!c->head_bytes) {
		/* it begins, or a line has ended: else there is nothing new to see */
		if (c->in.len > fresh && c->in.len < HTTP_MAX_HEAD &&
		    !memchr(c->in.data + c->in.len - fresh, '\n', fresh))
			return;
		status = http_request_read(c->in.data, c->in.len, &r);
		if (status == 0)
			return;
		if (status == 200 && r.body_bytes > api_max_body(s, &r))
			status = 413;
		if (status != 200) {
			s->metrics.refused[status == 413 || status == 431 ? REFUSED_size
									  : REFUSED_form]++;
			c->answer.style = r.path.text ? api_style_of(&r.path) : STYLE_LIBRE;
			connection_refuse(s, c, status, http_reason(status), now);
			return;
		}
		c->head_bytes = r.head_bytes;
		c->body_bytes = r.body_bytes;
		if (r.expects_continue && c->in.len == r.head_bytes && r.body_bytes)
			send_continue(c);
	}
	if (c->in.len >= c->head_bytes + c->body_bytes) {
		take_request(s, c, now);
		return;
	}
	c->deadline = c->began + CONNECTION_BODY_S;
	if (c->body_bytes > HTTP_MAX_BODY)
		c->deadline += (double)c->in.len / SLOWEST_FILE;
}

/* Reads what has come, at most a part, so that no client keeps the others waiting. */
static void read_client_bytes(struct server_state *s, struct connection *c, double now)
{
	char *room = buf_reserve(&c->in, READ_BYTES);
	const ssize_t n = room ? read(c->fd, room, READ_BYTES) : 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		connection_close(s, c);
		return;
	}
	if (c->state == CONNECTION_DRAINING)
		return;
	c->in.len += (size_t)n;
	read_request(s, c, (size_t)n, now);
}

/* The answer is written: the next request, or the end. */
static void end_answer(struct connection *c, double now)
{
	buf_free(&c->out);
	c->is_head = false;
	if (!c->keeps_open) {
		shutdown(c->fd, SHUT_WR);
		c->state = CONNECTION_DRAINING;
		c->deadline = now + CONNECTION_DRAIN_S;
		buf_free(&c->in);
		return;
	}
	c->state = CONNECTION_READING;
	c->deadline = now + CONNECTION_IDLE_S;
	c->is_unread = c->in.len > 0;
	if (!c->in.len)
		buf_free(&c->in);
}

static void write_bytes(struct server_state *s, struct connection *c, double now)
{
	const ssize_t n = write(c->fd, c->out.data + c->sent, c->out.len - c->sent);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		connection_close(s, c);
		return;
	}
	c->sent += (size_t)n;
	if (c->sent == c->out.len)
		end_answer(c, now);
}

void connection_handle(struct server_state *s, struct connection *c, short events, double now)
{
	if (c->state == CONNECTION_WAITING) {
		if (events & (POLLRDHUP | POLLHUP | POLLERR))
			connection_close(s, c); /* its texts that wait are dropped */
	} else if (c->state == CONNECTION_WRITING) {
		if (events)
			write_bytes(s, c, now);
	} else if (events) {
		read_client_bytes(s, c, now);
	}
}

void connection_check(struct server_state *s, struct connection *c, double now)
{
	if (c->is_unread) {
		c->is_unread = false;
		read_request(s, c, c->in.len, now);
	} else if (c->state == CONNECTION_WAITING && queue_job_is_done(c->answer.job)) {
		api_finish(s, &c->answer, now);
		begin_answer(s, c, now);
	} else if (c->state == CONNECTION_READING && c->in.len && now >= c->deadline) {
		s->metrics.refused[REFUSED_slow]++;
		connection_refuse(s, c, 408, "the request took too long to arrive", now);
	} else if (c->state != CONNECTION_FREE && now >= c->deadline) {
		connection_close(s, c);
	}
}
