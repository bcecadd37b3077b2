/* server_api.c - the table of routes, and what the interfaces have in common; see server_api.h */
#include "eval/server/server_api.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "share/base/util.h"

static void api_metrics(struct server_state *s, struct api_call *call, struct api_answer *a);
static void api_absent(struct server_state *s, struct api_call *call, struct api_answer *a);

static const struct {
	const char *path, *methods;
	api_handler *run;
} routes[] = {
	/* clang-format off */
	{ "/", "GET, HEAD", page_send },
	{ "/style.css", "GET, HEAD", page_send },
	{ "/script.js", "GET, HEAD", page_send },
	{ "/translate", "GET, POST", libre_translate }, /* OmegaT's plug-in sends GET */
	{ "/detect", "POST", libre_detect },
	{ "/languages", "GET, HEAD", libre_languages },
	{ "/health", "GET, HEAD", libre_health },
	{ "/frontend/settings", "GET, HEAD", libre_settings },
	{ "/translate_file", "POST", file_translate },
	{ "/download_file/*", "GET, HEAD", file_download },
	{ "/suggest", "POST", api_absent },
	{ "/metrics", "GET, HEAD", api_metrics },
	{ "/v2/translate", "POST", deepl_translate },
	{ "/v2/languages", "GET, HEAD, POST", deepl_languages },
	{ "/v2/document", "POST", file_deepl },
	{ "/v2/document/*", "GET, POST", file_deepl_state },
	{ "/v2/usage", "GET, HEAD, POST", deepl_usage },
	{ "/v2/glossaries", "GET, HEAD", deepl_glossaries },
	{ "/v2/glossary-language-pairs", "GET, HEAD", deepl_glossary_pairs },
	/* clang-format on */
};

enum api_style api_style_of(const struct http_text *path)
{
	return path->n >= 4 && !memcmp(path->text, "/v2/", 4) ? STYLE_DEEPL : STYLE_LIBRE;
}

void api_refuse(struct api_answer *a, int status, const char *fmt, ...)
{
	struct json_writer w = { .out = &a->body };
	char text[600];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	a->status = status;
	a->type = "application/json";
	buf_restart(&a->body);
	json_open(&w, '{');
	json_put_str(&w, a->style == STYLE_DEEPL ? "message" : "error", text);
	json_close(&w, '}');
}

/* Is the word one of a list with commas between them? */
static bool is_listed_word(const char *list, const char *word, size_t n_word)
{
	for (size_t n; (n = strcspn(list, ", ")) > 0; list += n + strspn(list + n, ", "))
		if (n == n_word && !strncasecmp(list, word, n))
			return true;
	return false;
}

/* Is the rest of host from at nothing, or a colon and a port? The address of a translated file repeats it. */
static bool is_port(const struct http_text *host, const char *at)
{
	const char *end = host->text + host->n;

	if (at < end && *at++ != ':')
		return false;
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return at == end;
}

/*
 * May the server have this name? A web page of another site can let its own name lead to 127.0.0.1 and then read answers,
 * as if this server were that site. So a server without keys has only names that no other site can have.
 */
static bool is_own_name(const struct server_state *s, const struct http_text *host)
{
	const bool is_ipv6 = host->n && *host->text == '[';
	const char *end = memchr(host->text, is_ipv6 ? ']' : ':', host->n);
	const size_t n = (end ? (size_t)(end - host->text) : host->n) - is_ipv6;
	unsigned char number[sizeof(struct in6_addr)];
	char name[256];

	if (n >= sizeof(name) || !is_port(host, end ? end + is_ipv6 : host->text + host->n))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)n, host->text + is_ipv6);
	return !strcasecmp(name, "localhost") ||
	       inet_pton(is_ipv6 ? AF_INET6 : AF_INET, name, number) == 1 ||
	       (s->host_names && *name && is_listed_word(s->host_names, name, n));
}

/* Is this the path of a route? *rest: what stands for its "*". */
static bool is_route(const char *route, const struct http_text *path, struct http_text *rest)
{
	const size_t n = strlen(route) - 1;

	*rest = (struct http_text){ NULL, 0 };
	if (route[n] != '*')
		return http_text_is(path, route);
	if (path->n < n || memcmp(path->text, route, n) != 0)
		return false;
	*rest = (struct http_text){ path->text + n, path->n - n };
	return true;
}

size_t api_max_body(const struct server_state *s, const struct http_request *r)
{
	const bool has_file =
		http_text_is(&r->path, "/translate_file") || http_text_is(&r->path, "/v2/document");

	return has_file && s->limits.file_bytes ? s->limits.file_bytes + API_FORM_BYTES
						: HTTP_MAX_BODY;
}

void api_begin(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	const struct http_request *r = call->request;

	*a = (struct api_answer){ .path = "other", .style = api_style_of(&r->path) };
	a->type = "application/json";
	if (!s->has_keys && r->host.text && !is_own_name(s, &r->host)) {
		s->metrics.refused[REFUSED_host]++;
		api_refuse(a, 403,
			   "this server is not called %.*s: start it with --host-names, or with "
			   "--key-file",
			   (int)MIN(r->host.n, 200), r->host.text);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
		if (!is_route(routes[i].path, &r->path, &call->rest))
			continue;
		a->path = routes[i].path;
		if (s->cors && http_text_is(&r->method, "OPTIONS")) {
			a->status = 204;
		} else if (!is_listed_word(routes[i].methods, r->method.text, r->method.n)) {
			a->allow = routes[i].methods;
			api_refuse(a, 405, "%s takes %s", routes[i].path, routes[i].methods);
		} else {
			routes[i].run(s, call, a);
		}
		return;
	}
	api_refuse(a, 404, "there is no such path");
}

/* Counts the characters of the request for its key. */
static void count_key_chars(struct server_state *s, const struct api_answer *a)
{
	if (s->has_keys && a->client >= 1 && a->client <= SERVER_MAX_KEYS)
		s->key_chars[a->client - 1] += (int64_t)a->n_chars;
}

void api_finish(struct server_state *s, struct api_answer *a, double now)
{
	if (a->job->fault) {
		api_refuse(a,
			   a->job->is_too_large	     ? 413
			   : a->job->is_refused	     ? 400
			   : a->job->deadline <= now ? 504
						     : 500,
			   "%s", a->job->fault);
	} else {
		metrics_count_seconds(&s->metrics, now - a->job->arrived);
		a->status = 200;
		if (a->file_name)
			file_finish(s, a, now);
		else if (a->style == STYLE_DEEPL)
			deepl_finish(s, a);
		else
			libre_finish(s, a);
	}
	count_key_chars(s, a);
	if (a->job)
		queue_leave(s->queue, a->job);
	a->job = NULL;
}

void api_answer_free(struct server_state *s, struct api_answer *a)
{
	if (a->job)
		queue_leave(s->queue, a->job);
	layout_free(&a->layout);
	buf_free(&a->body);
	free(a->file_name);
	free(a->address);
	*a = (struct api_answer){ .status = 0 };
}

/* ---- what handlers share ---- */

bool api_check_key(struct server_state *s, struct api_call *call, const char *key, size_t n,
		   int missing, struct api_answer *a)
{
	const size_t number = s->has_keys ? server_keys_find(&s->keys, key, n) : 0;

	if (!s->has_keys)
		return true;
	if (number) {
		call->client = number;
		return true;
	}
	s->metrics.refused[REFUSED_key]++;
	if (!n)
		api_refuse(a, missing, "this server needs a key");
	else
		api_refuse(a, 403, "the key is not valid");
	return false;
}

/* Equal codes, or with is_base: does the code begin with that of the model, as en-GB with en? */
static bool is_code(const char *code, const char *model, bool is_base)
{
	const size_t n = strlen(model);

	return !strncasecmp(code, model, n) && n &&
	       (!code[n] || (is_base && (code[n] == '-' || code[n] == '_')));
}

/* The model of this direction. Codes are compared without regard to case; en-GB is en where no model has en-GB. */
static const struct decoder_link *find_direct_model(const struct server_state *s,
						    const char *source, const char *target)
{
	for (int is_base = 0; is_base < 2; is_base++)
		for (size_t i = 0; i < s->n_decoders; i++)
			if (is_code(target, s->decoders[i].target, is_base) &&
			    is_code(source, s->decoders[i].source, true))
				return &s->decoders[i];
	return NULL;
}

bool api_choose_models(const struct server_state *s, const char *source, const char *target,
		       struct api_answer *a)
{
	a->then = NULL;
	a->model = find_direct_model(s, source, target);
	for (int is_base = 0; is_base < 2 && s->pivots && !a->model; is_base++)
		for (size_t i = 0; i < s->n_decoders && !a->model; i++) {
			const struct decoder_link *first = &s->decoders[i];

			if (!is_code(source, first->source, is_base))
				continue;
			a->then =
				*first->target ? find_direct_model(s, first->target, target) : NULL;
			a->model = a->then && a->then != first ? first : NULL;
		}
	a->source = a->model ? a->model->source : NULL;
	return a->model != NULL;
}

bool api_has_direction(const struct server_state *s, const char *source, const char *target)
{
	struct api_answer a = { .status = 0 };

	return strcasecmp(source, target) != 0 && api_choose_models(s, source, target, &a);
}

bool api_keep_language(const struct server_state *s, const char *code, struct api_answer *a)
{
	for (size_t i = 0; i < s->n_decoders && !a->model; i++) {
		const struct decoder_link *d = &s->decoders[i];

		if (!is_code(code, d->source, true) && !is_code(code, d->target, true))
			continue;
		a->model = d;
		a->source = is_code(code, d->source, true) ? d->source : d->target;
		a->is_unchanged = true;
	}
	return a->is_unchanged;
}

bool api_choose_glossary(const struct api_call *call, const char *member, struct job_kind *kind,
			 struct api_answer *a)
{
	const char *name = api_read_text(call->body, member, "", a);

	if (!name || !*name || a->is_unchanged)
		return name != NULL;
	if (a->then) {
		api_refuse(a, 400, "a translation by way of a third language has no glossary");
		return false;
	}
	if (!decoder_link_glossary(a->model, name)) {
		api_refuse(a, a->style == STYLE_DEEPL ? 404 : 400,
			   "there is no glossary %.64s for these languages", name);
		return false;
	}
	snprintf(kind->glossary, sizeof(kind->glossary), "%s", name);
	return true;
}

const char *api_read_text(const struct json *body, const char *name, const char *missing,
			  struct api_answer *a)
{
	const struct json *v = json_get(body, name);
	const char *text = json_text(v, json_is_null(v) ? missing : NULL);

	if (!text)
		api_refuse(a, 400, "%s must be a text", name);
	return text;
}

bool api_read_int(const struct json *body, const char *name, int64_t *value)
{
	const struct json *v = json_get(body, name);
	const char *text = json_text(v, NULL);
	char *end;

	*value = json_integer(v, text ? 0 : INT64_MIN);
	if (json_is_null(v))
		*value = 0;
	if (text && *text) {
		errno = 0;
		*value = strtoll(text, &end, 10);
		return !*end && !errno;
	}
	return *value != INT64_MIN;
}

bool api_check_texts(const struct json *texts, const char *name, struct api_answer *a)
{
	if (json_text(texts, NULL))
		return true;
	if (!json_is_array(texts) || json_is_null(texts) || json_len(texts) > API_MAX_TEXTS) {
		api_refuse(a, 400, "%s must be a text or a list of at most %d texts", name,
			   API_MAX_TEXTS);
		return false;
	}
	for (const struct json *c = json_first(texts); c; c = json_next(texts, c))
		if (!json_text(c, NULL)) {
			api_refuse(a, 400, "%s must be a list of texts", name);
			return false;
		}
	return true;
}

static int add_request_text(const char *text, bool is_whole, struct api_answer *a, struct err *e)
{
	return a->is_unchanged ? layout_add_kept(&a->layout, text, e)
			       : layout_add(&a->layout, a->job, text, is_whole, e);
}

/* Adds the text or texts; false: a is a refusal, or e says why. */
static bool add_texts(const struct json *texts, const char *name, bool is_whole,
		      struct api_answer *a, struct err *e)
{
	const char *one = json_text(texts, NULL);

	if (!api_check_texts(texts, name, a))
		return false;
	if (one)
		return !add_request_text(one, is_whole, a, e);
	a->is_list = true;
	for (const struct json *c = json_first(texts); c; c = json_next(texts, c))
		if (add_request_text(json_text(c, NULL), is_whole, a, e))
			return false;
	return true;
}

void api_set_models(const struct api_answer *a, struct job_kind *kind)
{
	kind->model = a->model->flight.model;
	kind->has_second = a->then != NULL;
	kind->second = a->then ? a->then->flight.model : 0;
}

void api_submit(struct server_state *s, const struct api_call *call, const struct json *texts,
		const char *name, const struct job_kind *kind, bool joins_lines,
		struct api_answer *a)
{
	struct job_kind of_models = *kind;
	struct err e = { 0 };

	a->client = call->client;
	api_set_models(a, &of_models);
	a->job = queue_job_new(&of_models, call->client, &e);
	if (!a->job ||
	    !add_texts(texts, name, kind->is_whole || kind->markup || joins_lines, a, &e)) {
		if (!a->status)
			api_refuse(a, 500, "%s", e.text);
		return;
	}
	a->n_chars = a->job->n_chars;
	if ((int64_t)a->n_chars > s->limits.chars) {
		s->metrics.refused[REFUSED_size]++;
		api_refuse(a, a->style == STYLE_DEEPL ? 413 : 400,
			   "the request has %zu characters; at most %lld are allowed",
			   a->job->n_chars, (long long)s->limits.chars);
		return;
	}
	api_enter_job(s, s->limits.seconds, call->now, a);
}

void api_enter_job(struct server_state *s, double seconds, double now, struct api_answer *a)
{
	struct err e = { 0 };

	a->job->deadline = now + seconds;
	if (queue_submit(s->queue, a->job, now, &e)) {
		s->metrics.refused[REFUSED_queue]++;
		api_refuse(a, 429, "Slowdown: %s", e.text);
	}
}

/* ---- routes of both ---- */

static void api_absent(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	(void)s;
	(void)call;
	api_refuse(a, 403, "this server does not offer %s", a->path);
}

static void api_metrics(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	static const char bearer[] = "Bearer ";
	const struct http_text *key = &call->request->authorization;
	const size_t skip = sizeof(bearer) - 1;
	const bool has_key = key->n > skip && !strncasecmp(key->text, bearer, skip);
	const struct metrics_state state = { s->queue,	       s->decoders, s->n_decoders,
					     s->n_connections, call->now,   s->key_chars,
					     s->keys.n };

	if (!api_check_key(s, call, has_key ? key->text + skip : "", has_key ? key->n - skip : 0,
			   401, a))
		return;
	a->status = 200;
	a->type = "text/plain; version=0.0.4; charset=utf-8";
	metrics_write(&s->metrics, &state, &a->body);
}
