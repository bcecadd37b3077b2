/*
 * file_api.c - files: /translate_file and /download_file of LibreTranslate, /v2/document of DeepL
 *
 * A decoder reads the file and writes its translation: this process only passes the bytes on.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/server/server_api.h"
#include "share/base/mem.h"
#include "share/base/util.h"

/* The name of the file; DeepL's field "filename" takes precedence. */
static const char *name_of_file(const struct api_call *call)
{
	const char *name = json_text(json_get(call->body, "filename"), NULL);

	return name && *name ? name : json_text(json_get(call->body, "file"), "");
}

/* Is there a file of a known kind, and a model for it? Sets the kind of the job; false: a is a refusal. */
static bool choose_document(const struct server_state *s, const struct api_call *call,
			    struct job_kind *kind, struct api_answer *a)
{
	const struct docfile_format *format = docfile_format_of(name_of_file(call));

	if (!format) {
		api_refuse(a, 400, "Invalid request: file format not supported");
		return false;
	}
	if (call->file->n > s->limits.file_bytes) {
		api_refuse(a, 413, "the file has %zu bytes; at most %zu are allowed", call->file->n,
			   s->limits.file_bytes);
		return false;
	}
	kind->document = format->name;
	api_set_models(a, kind);
	return true;
}

/* Makes the job of a file and enters it into the queue. */
static void submit_file(struct server_state *s, const struct api_call *call,
			const struct job_kind *kind, struct api_answer *a)
{
	const struct http_text *host = &call->request->host;
	const bool is_secret = http_text_is_word(&call->request->forwarded_scheme, "https");
	struct buf address = { 0 };
	struct err e = { 0 };

	a->client = call->client;
	buf_printf(&address, "http%s://%.*s", is_secret ? "s" : "", host->text ? (int)host->n : 0,
		   host->text ? host->text : "");
	if (!buf_check(&address, &e))
		a->address = mem_strdup(buf_text(&address), &e);
	buf_free(&address);
	a->file_name = files_name(name_of_file(call), (a->then ? a->then : a->model)->target, &e);
	if (a->address && a->file_name)
		a->job = queue_job_new(kind, call->client, &e);
	if (!a->job || queue_job_add(a->job, call->file->bytes, call->file->n, &e))
		api_refuse(a, 500, "%s", e.text);
	else
		api_enter_job(s, API_FILE_S, call->now, a);
}

/* Does the request have a file, and does this server take files? */
static bool has_file(const struct server_state *s, const struct api_call *call,
		     struct api_answer *a)
{
	if (!s->limits.file_bytes)
		api_refuse(a, 403, "Files translation are disabled on this server.");
	else if (!call->file)
		api_refuse(a, 400, "Invalid request: missing file parameter");
	return !a->status;
}

/* ---- LibreTranslate ---- */

void file_translate(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	struct job_kind kind = { .n_best = 1 };

	if (libre_check_key(s, call, a) && has_file(s, call, a) &&
	    libre_choose_model(s, call, NULL, a) && choose_document(s, call, &kind, a) &&
	    api_choose_glossary(call, "glossary", &kind, a))
		submit_file(s, call, &kind, a);
}

void file_finish(struct server_state *s, struct api_answer *a, double now)
{
	struct json_writer w = { .out = &a->body };
	struct buf url = { 0 };
	struct err e = { 0 };
	struct server_file *file = files_add(&s->files, a->file_name, a->job, a->client, now, &e);

	if (!file) {
		api_refuse(a, 500, "%s", e.text);
		return;
	}
	buf_printf(&url, "%s/download_file/%s.", a->address, file->id);
	files_put_name(file->name, true, &url);
	a->file_name = NULL; /* the file owns both */
	a->job = NULL;
	json_open(&w, '{');
	json_put_str(&w, "translatedFileUrl", buf_text(&url));
	json_close(&w, '}');
	buf_free_part(&url, &a->body);
	files_update(&s->files, s->queue, now, s->key_chars, s->keys.n);
}

/* The answer is the bytes of a file. */
static void send_file(const struct server_file *file, struct api_answer *a)
{
	struct err e = { 0 };

	a->file_name = mem_strdup(file->name, &e);
	if (!a->file_name) {
		api_refuse(a, 500, "%s", e.text);
		return;
	}
	a->status = 200;
	a->type = "application/octet-stream";
	a->is_download = true;
	buf_add(&a->body, buf_text(&file->bytes), file->bytes.len);
}

/* /download_file/ID.NAME: the name is for people, the identifier decides. */
void file_download(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	const char *dot = call->rest.n ? memchr(call->rest.text, '.', call->rest.n) : NULL;
	const size_t n = dot ? (size_t)(dot - call->rest.text) : call->rest.n;
	const struct server_file *file = files_find(&s->files, call->rest.text, n);

	if (!file || file->job || *file->fault)
		api_refuse(a, 404, "there is no such file, or it was removed");
	else
		send_file(file, a);
}

/* ---- DeepL ---- */

void file_deepl(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	struct job_kind kind = { .n_best = 1 };
	struct json_writer w = { .out = &a->body };
	struct server_file *file;
	struct err e = { 0 };

	if (!deepl_check_key(s, call, a) || !has_file(s, call, a) ||
	    !deepl_choose_models(s, call, NULL, a) || !deepl_check_options(call, a) ||
	    !choose_document(s, call, &kind, a) ||
	    !api_choose_glossary(call, "glossary_id", &kind, a))
		return;
	if (json_text(json_get(call->body, "output_format"), NULL)) {
		api_refuse(a, 400, "Value for 'output_format' not supported.");
		return;
	}
	submit_file(s, call, &kind, a);
	if (a->status)
		return;
	file = files_add(&s->files, a->file_name, a->job, a->client, call->now, &e);
	if (!file) {
		api_refuse(a, e.code == ERR_TEMPFAIL ? 429 : 500, "%s", e.text);
		return;
	}
	a->file_name = NULL; /* the file owns both */
	a->job = NULL;
	a->status = 200;
	json_open(&w, '{');
	json_put_str(&w, "document_id", file->id);
	json_put_str(&w, "document_key", file->key);
	json_close(&w, '}');
}

/* How far the translation of a file is. */
static void write_state(const struct server_file *file, double now, struct api_answer *a)
{
	const struct translation_job *job = file->job;
	const double share = job ? queue_job_share(job) : 0;
	struct json_writer w = { .out = &a->body };

	a->status = 200;
	json_open(&w, '{');
	json_put_str(&w, "document_id", file->id);
	json_put_str(&w, "status",
		     *file->fault    ? "error"
		     : !job	     ? "done"
		     : job->is_begun ? "translating"
				     : "queued");
	if (job && share > 0)
		json_put_int(&w, "seconds_remaining",
			     (int64_t)ceil((now - file->began) * (1 / share - 1)));
	if (*file->fault)
		json_put_str(&w, "error_message", file->fault);
	else if (!job)
		json_put_int(&w, "billed_characters", (int64_t)file->n_chars);
	json_close(&w, '}');
}

/* /v2/document/ID: the state; /v2/document/ID/result: the file, once. */
void file_deepl_state(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	static const char result[] = "/result";
	const struct http_text *rest = &call->rest;
	const size_t n_result = sizeof(result) - 1;
	const bool is_result =
		rest->n > n_result && !memcmp(rest->text + rest->n - n_result, result, n_result);
	struct server_file *file;

	if (!deepl_check_key(s, call, a))
		return;
	file = files_find(&s->files, rest->text, rest->n - (is_result ? n_result : 0));
	if (!file || (s->has_keys && file->client != call->client) ||
	    !files_has_key(file, json_text(json_get(call->body, "document_key"), ""))) {
		api_refuse(a, 404, "Document not found.");
	} else if (!is_result) {
		write_state(file, call->now, a);
	} else if (file->job || *file->fault) {
		api_refuse(a, 503, "Document not ready.");
	} else {
		send_file(file, a);
		if (a->status == 200)
			files_remove(s->queue, file);
	}
}
