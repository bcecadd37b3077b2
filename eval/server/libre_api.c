/* libre_api.c - the interface of LibreTranslate: /translate, /languages, /health, /frontend/settings */
#include <string.h>
#include <strings.h>

#include "eval/server/server_api.h"
#include "share/base/util.h"
#include "share/format/document_kind.h"
#include "share/format/language_name.h"

/* The key stands in the body; 400 without one, as LibreTranslate answers. */
bool libre_check_key(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	const char *key = json_text(json_get(call->body, "api_key"), "");

	return api_check_key(s, call, key, strlen(key), 400, a);
}

/* A member that must be a text; NULL: a is a refusal. */
static const char *needed_text(const struct api_call *call, const char *name, struct api_answer *a)
{
	const char *text = api_read_text(call->body, name, "", a);

	if (text && !*text)
		api_refuse(a, 400, "Invalid request: missing %s parameter", name);
	return text && *text ? text : NULL;
}

/* Finds the model of source and target; texts: for source "auto", NULL: there are none. False: a is a refusal. */
bool libre_choose_model(const struct server_state *s, const struct api_call *call,
			const struct json *texts, struct api_answer *a)
{
	struct detected_language found[API_MAX_DETECTED] = { { NULL, 0 } }, same = { NULL, 0 };
	const char *source = needed_text(call, "source", a);
	const char *target = source ? needed_text(call, "target", a) : NULL;
	size_t n;

	if (!target)
		return false;
	a->is_detected = !strcmp(source, "auto");
	n = a->is_detected ? api_detect(s, texts, target, found, &same) : 0;
	if (n > 1 && !texts) {
		api_refuse(a, 400, "the language of a file is not detected: set source");
		return false;
	}
	a->detected = found[0];
	if (texts && !strcasecmp(source, target) && api_keep_language(s, source, a))
		return true;
	if (!api_choose_models(s, n ? found[0].code : source, target, a))
		api_refuse(a, 400, "%.40s to %.40s is not supported", source, target);
	else if (texts && a->is_detected)
		api_keep_target(&same, a);
	return a->model != NULL;
}

void libre_translate(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	const struct json *q = json_get(call->body, "q");
	const char *format;
	struct job_kind kind = { .n_best = 1 };
	int64_t n = 0;

	if (!libre_check_key(s, call, a))
		return;
	if (json_is_null(q)) {
		api_refuse(a, 400, "Invalid request: missing q parameter");
		return;
	}
	if (!libre_choose_model(s, call, q, a) ||
	    !(format = api_read_text(call->body, "format", "text", a)))
		return;
	kind.markup = strcmp(format, "html") ? NULL : "html";
	if (!kind.markup && strcmp(format, "text") != 0) {
		api_refuse(a, 400, "%.20s format is not supported: it must be text or html",
			   format);
		return;
	}
	if (!api_read_int(call->body, "alternatives", &n) || n < 0 || n >= API_MAX_BEST) {
		api_refuse(a, 400, "alternatives must be from 0 to %d", API_MAX_BEST - 1);
		return;
	}
	if (!api_choose_glossary(call, "glossary", &kind, a))
		return;
	a->n_alternatives = (int)n;
	if (!kind.markup) /* else the lists of alternatives are empty, as LibreTranslate's */
		kind.n_best = (int)n + 1;
	api_submit(s, call, q, "q", &kind, false, a);
}

/* The other translations of a text, each once. */
static void write_libre_alternatives(struct json_writer *w, const struct api_answer *a,
				     size_t input)
{
	struct buf versions[API_MAX_BEST] = { { 0 } };

	json_open(w, '[');
	for (int h = 0; h <= a->n_alternatives; h++) {
		bool is_new = h > 0;

		layout_write(&a->layout, a->job, input, (size_t)h, &versions[h]);
		for (int k = 0; k < h; k++)
			is_new &= strcmp(buf_text(&versions[k]), buf_text(&versions[h])) != 0;
		if (is_new)
			json_str(w, buf_text(&versions[h]));
	}
	json_close(w, ']');
	for (int h = 0; h <= a->n_alternatives; h++)
		buf_free_part(&versions[h], w->out);
}

/* One value a text, in a list if the request had one. */
static void write_libre_texts(struct json_writer *w, const struct api_answer *a, const char *key,
			      void (*write)(struct json_writer *w, const struct api_answer *a,
					    size_t input))
{
	json_key(w, key);
	if (a->is_list)
		json_open(w, '[');
	for (size_t i = 0; i < a->layout.n_inputs; i++)
		write(w, a, i);
	if (a->is_list)
		json_close(w, ']');
}

static void write_libre_text(struct json_writer *w, const struct api_answer *a, size_t input)
{
	struct buf text = { 0 };

	layout_write(&a->layout, a->job, input, 0, &text);
	json_str(w, buf_text(&text));
	buf_free_part(&text, w->out);
}

static void write_libre_detected(struct json_writer *w, const struct api_answer *a, size_t input)
{
	(void)input;
	api_write_detected(w, &a->detected);
}

void libre_finish(const struct server_state *s, struct api_answer *a)
{
	struct json_writer w = { .out = &a->body };

	(void)s;
	json_open(&w, '{');
	if (a->n_alternatives)
		write_libre_texts(&w, a, "alternatives", write_libre_alternatives);
	if (a->is_detected)
		write_libre_texts(&w, a, "detectedLanguage", write_libre_detected);
	write_libre_texts(&w, a, "translatedText", write_libre_text);
	json_close(&w, '}');
}

/* ---- what needs no decoder ---- */

/* Is this the first model with its source language? */
static bool is_first_source(const struct server_state *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(s->decoders[k].source, s->decoders[i].source))
			return false;
	return true;
}

/* Is this the first model with its target language, which is known? */
static bool is_first_target(const struct server_state *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(s->decoders[k].target, s->decoders[i].target))
			return false;
	return *s->decoders[i].target;
}

void libre_languages(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	struct json_writer w = { .out = &a->body };

	(void)call;
	a->status = 200;
	json_open(&w, '[');
	for (size_t i = 0; i < s->n_decoders; i++) {
		const char *source = s->decoders[i].source;

		if (!*source || !is_first_source(s, i))
			continue;
		json_open(&w, '{');
		json_put_str(&w, "code", source);
		json_put_str(&w, "name", language_name_of(source));
		json_put_open(&w, "targets", '[');
		for (size_t k = 0; k < s->n_decoders; k++)
			if (is_first_target(s, k) &&
			    api_has_direction(s, source, s->decoders[k].target))
				json_str(&w, s->decoders[k].target);
		json_close(&w, ']');
		json_close(&w, '}');
	}
	json_close(&w, ']');
}

void libre_health(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	(void)call;
	for (size_t i = 0; i < s->n_decoders; i++)
		if (!decoder_link_is_ready(&s->decoders[i]) && !a->status)
			api_refuse(a, 503, "a model is being loaded");
	if (a->status)
		return;
	a->status = 200;
	buf_add_str(&a->body, "{\"status\":\"ok\"}");
}

static void write_language(struct json_writer *w, const char *key, const char *code)
{
	json_put_open(w, key, '{');
	json_put_str(w, "code", code);
	json_put_str(w, "name", language_name_of(code));
	json_close(w, '}');
}

/* The endings of files that can be translated. */
static void write_suffixes(struct json_writer *w)
{
	const struct docfile_format *format;
	const struct document_kind *kind;

	for (size_t i = 0; (format = docfile_format_at(i)) != NULL; i++)
		for (size_t k = 0; (kind = document_kind_at(k)) != NULL; k++)
			for (const char *at = kind->suffixes, *end;
			     !strcmp(kind->name, format->name) && (end = strchr(at, ' ')) != NULL;
			     at = end + 1)
				json_strn(w, at, (size_t)(end - at));
}

void libre_settings(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	struct json_writer w = { .out = &a->body };

	(void)call;
	a->status = 200;
	json_open(&w, '{');
	json_put_int(&w, "charLimit", s->limits.chars);
	json_put_int(&w, "frontendTimeout", 500);
	json_put_bool(&w, "apiKeys", s->has_keys);
	json_put_bool(&w, "keyRequired", s->has_keys);
	json_put_open(&w, "glossaries", '[');
	for (size_t i = 0; i < s->n_decoders; i++)
		for (size_t k = 0; k < s->decoders[i].n_glossaries; k++) {
			json_open(&w, '{');
			json_put_str(&w, "name", s->decoders[i].glossaries[k].name);
			json_put_str(&w, "source", s->decoders[i].source);
			json_put_str(&w, "target", s->decoders[i].target);
			json_close(&w, '}');
		}
	json_close(&w, ']');
	json_put_bool(&w, "suggestions", false);
	json_put_bool(&w, "filesTranslation", s->limits.file_bytes > 0);
	json_put_open(&w, "supportedFilesFormat", '[');
	if (s->limits.file_bytes)
		write_suffixes(&w);
	json_close(&w, ']');
	json_put_int(&w, "fileBytes", (int64_t)s->limits.file_bytes);
	json_put_open(&w, "language", '{');
	write_language(&w, "source", s->decoders[0].source);
	write_language(&w, "target", s->decoders[0].target);
	json_close(&w, '}');
	json_close(&w, '}');
}
