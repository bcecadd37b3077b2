/* serve_stream.c - see serve_stream.h */
#include "eval/translate/serve_stream.h"

#include <stdlib.h>
#include <string.h>

#include "data/pipeline/pipeline.h"
#include "eval/translate/translate_document.h"
#include "share/base/base64.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define PROGRESS_S	   1.0	  /* between two messages about a document */
#define DOCUMENT_SENTENCES 100000 /* of a document: more take too much memory */

/* A sentence of a request; `fed` is the first member, so that both have one address. */
struct stream_unit {
	struct decode_fed fed;
	struct decode_constraint constraint;
	struct join_request *request; /* borrowed: the owner */
	bool is_left_out;	      /* too long: it is not translated */
};

/* A request without its answer. */
struct join_request {
	struct join_request *next;
	int64_t id;
	int32_t beam, n_best;
	bool is_constrained; /* a sentence has terms */
	bool is_cancelled;
	struct buf text;  /* of one line, or of none: */
	bool is_document; /* the lines are the segments of a document: … */
	bool is_markup;	  /* … which is a text of HTML or XML */
	struct docfile document;
	struct passage_line *lines;    /* (n_lines) owned */
	struct passage_result *result; /* (n_lines) owned */
	size_t n_lines;
	struct passage_units units;
	struct stream_unit *fed;	  /* (units.n) owned */
	struct engine_translation *parts; /* (units.n) owned */
	size_t n_fed, n_left;		  /* sentences that the decoder got; without a result */
	double told_at;			  /* … how many are left */
};

struct serve_stream {
	const struct serve_context *context; /* borrowed */
	struct lines *in;		     /* borrowed */
	struct join_request *open;	     /* owned: all requests */
	struct join_request *waiting; /* owned: the first one, which was not fed yet; NULL: none */
	int32_t beam;		      /* of the running stream */
	bool is_constrained;
	bool has_other; /* a line of another kind was read: no further ones */
	int got;	/* … as lines_next() returned it */
	struct buf out;
};

struct json *serve_stream_request(const struct lines *in, int got)
{
	struct err ignored = { 0 };
	struct json *request;

	if (got != 1 || in->was_repaired)
		return NULL;
	request = json_parse(in->text, in->len, &ignored);
	if (request && (json_get(request, "join") || json_get(request, "cancel")))
		return request;
	json_free(request);
	return NULL;
}

static void free_join_request(struct join_request *r)
{
	if (!r)
		return;
	if (r->result)
		passages_results_free(r->result, r->n_lines);
	if (r->parts)
		engine_translations_free(r->parts, r->units.n);
	free(r->parts);
	free(r->fed);
	passage_units_free(&r->units);
	free(r->result);
	free(r->lines);
	docfile_close(&r->document);
	buf_free(&r->text);
	free(r);
}

/* ---- answers ---- */

static int write_stream_answer(struct serve_stream *s, struct err *e)
{
	buf_add_char(&s->out, '\n');
	if (buf_check(&s->out, e) || file_put_stdout(&s->out, e))
		return e->code;
	buf_restart(&s->out);
	return 0;
}

/* fault: why the request failed; NULL: it was cancelled. */
static int answer_fault(struct serve_stream *s, int64_t id, const struct err *fault, struct err *e)
{
	struct json_writer w = { .out = &s->out };

	json_open(&w, '{');
	json_put_int(&w, "id", id);
	if (fault)
		json_put_str(&w, "error", fault->text);
	else
		json_put_bool(&w, "cancelled", true);
	if (fault && fault->code == ERR_NOMEM)
		json_put_bool(&w, "too_large", true);
	json_close(&w, '}');
	return write_stream_answer(s, e);
}

/* A text with a sentence that is not translated, because it is too long. */
static int answer_too_long(struct serve_stream *s, int64_t id, struct err *e)
{
	struct json_writer w = { .out = &s->out };

	json_open(&w, '{');
	json_put_int(&w, "id", id);
	json_put_open(&w, "texts", '[');
	json_str(&w, "");
	json_close(&w, ']');
	json_put_bool(&w, "truncated", true);
	json_close(&w, '}');
	return write_stream_answer(s, e);
}

/* The tokens of all lines. */
static void put_token_counts(struct json_writer *w, const struct join_request *r)
{
	int64_t source = 0, target = 0;

	for (size_t i = 0; i < r->n_lines; i++) {
		source += r->result[i].joined.n_source;
		target += r->result[i].joined.result.hypotheses[0].n;
	}
	json_put_int(w, "source_tokens", source);
	json_put_int(w, "target_tokens", target);
}

static int answer_texts(struct serve_stream *s, const struct join_request *r, struct err *e)
{
	const struct engine_translation *t = &r->result->joined;
	struct json_writer w = { .out = &s->out };

	json_open(&w, '{');
	json_put_int(&w, "id", r->id);
	json_put_open(&w, "texts", '[');
	for (int32_t h = 0; h < t->result.n && h < r->n_best; h++)
		json_str(&w, t->texts[h]);
	json_close(&w, ']');
	put_token_counts(&w, r);
	if (t->result.truncated)
		json_put_bool(&w, "truncated", true);
	json_close(&w, '}');
	return write_stream_answer(s, e);
}

/* The bytes of the translated document, of a file in BASE64; segments with a sentence that is too long stay as they are. */
static int write_document(struct serve_stream *s, struct join_request *r, struct buf *bytes,
			  struct err *e)
{
	char *memory = NULL;
	size_t n = 0;
	FILE *out;
	int rc = document_take_results(s->context->engine, &r->document, 0, r->n_lines, r->result,
				       e);

	for (size_t i = 0; i < r->n_lines; i++)
		if (r->result[i].joined.result.truncated)
			buf_clear(&r->document.segments[i].translation);
	if (rc)
		return rc;
	out = open_memstream(&memory, &n);
	if (!out)
		return err_set_errno(e, ERR_NOMEM, "no memory for a document");
	rc = docfile_write(&r->document, out, e);
	if (fclose(out) && !rc)
		rc = err_set_errno(e, ERR_NOMEM, "no memory for a document");
	if (!rc && r->is_markup)
		buf_add(bytes, memory, n);
	else if (!rc)
		base64_add(bytes, memory, n);
	free(memory);
	return rc ? rc : buf_check(bytes, e);
}

/* The characters of the text to translate. */
static int64_t count_document_chars(const struct docfile *d)
{
	int64_t n = 0;

	for (size_t i = 0; i < d->n; i++)
		n += (int64_t)utf8_count(buf_text(&d->segments[i].markup.text),
					 d->segments[i].markup.text.len);
	return n;
}

static int answer_document(struct serve_stream *s, struct join_request *r, struct err *e)
{
	struct json_writer w = { .out = &s->out };
	struct buf bytes = { 0 };
	struct err fault = { 0 };
	int rc;

	if (write_document(s, r, &bytes, &fault)) {
		buf_free(&bytes);
		return answer_fault(s, r->id, &fault, e);
	}
	json_open(&w, '{');
	json_put_int(&w, "id", r->id);
	if (r->is_markup) {
		json_put_open(&w, "texts", '[');
		json_strn(&w, buf_text(&bytes), bytes.len);
		json_close(&w, ']');
	} else {
		json_put_strn(&w, "bytes", buf_text(&bytes), bytes.len);
	}
	put_token_counts(&w, r);
	if (!r->is_markup)
		json_put_int(&w, "source_chars", count_document_chars(&r->document));
	json_close(&w, '}');
	rc = write_stream_answer(s, e);
	buf_free(&bytes);
	return rc;
}

/* Says from time to time how many sentences of a document are done. */
static int tell_progress(struct serve_stream *s, struct join_request *r, struct err *e)
{
	const double now = clock_mono_s();
	struct json_writer w = { .out = &s->out };

	if (!r->is_document || r->is_markup || now < r->told_at + PROGRESS_S)
		return 0;
	r->told_at = now;
	json_open(&w, '{');
	json_put_int(&w, "id", r->id);
	json_put_int(&w, "done", (int64_t)(r->units.n - r->n_left));
	json_put_int(&w, "of", (int64_t)r->units.n);
	json_close(&w, '}');
	return write_stream_answer(s, e);
}

/* All sentences of a request have results: writes the answer and frees the request. */
static int end_join_request(struct serve_stream *s, struct join_request *r, struct err *e)
{
	struct join_request **at = &s->open;
	int rc = 0;

	for (size_t i = 0; i < r->units.n && !r->is_cancelled && !rc; i++)
		rc = engine_write_texts(s->context->engine, &r->units.all[i], &r->parts[i], e);
	if (!rc && !r->is_cancelled)
		rc = passages_join_units(r->lines, r->n_lines, &r->units, r->parts, r->result, e);
	if (!rc)
		rc = r->is_cancelled  ? answer_fault(s, r->id, NULL, e)
		     : r->is_document ? answer_document(s, r, e)
				      : answer_texts(s, r, e);
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	free_join_request(r);
	return rc;
}

/* The decoder's feed: a sentence has its result, or was cancelled. */
static int take_unit_result(void *context, struct decode_fed *fed, struct decode_result *result,
			    struct err *e)
{
	struct serve_stream *s = context;
	struct stream_unit *unit = (struct stream_unit *)fed;
	struct join_request *r = unit->request;

	if (result)
		r->parts[unit - r->fed].result = *result;
	if (result && unit->is_left_out)
		r->parts[unit - r->fed].result.truncated = true;
	return --r->n_left ? tell_progress(s, r, e) : end_join_request(s, r, e);
}

/* ---- requests ---- */

/* Finds the glossary of the request. ERR_USAGE: there is none of this name. */
static int choose_request_terms(const struct serve_stream *s, const struct json *request,
				struct terms **terms, struct err *e)
{
	const char *glossary = json_text(json_get(request, "glossary"), NULL);

	*terms = glossary ? constraint_find_glossary(&s->context->constraints, glossary)
			  : s->context->constraints.terms;
	if (glossary && !*terms)
		return err_set(e, ERR_USAGE, "there is no glossary %s", glossary);
	return 0;
}

/* Makes room for n lines. */
static int allocate_lines(struct join_request *r, size_t n, struct err *e)
{
	r->lines = mem_alloc(MAX(n, (size_t)1), sizeof(*r->lines), e);
	r->result = mem_alloc(MAX(n, (size_t)1), sizeof(*r->result), e);
	r->n_lines = r->lines && r->result ? n : 0;
	return r->lines && r->result ? 0 : e->code;
}

/* The text, as lines of the pipeline have it: without line ends, unless it is split into sentences. */
static int read_join_text(struct serve_stream *s, const struct json *request,
			  struct join_request *r, struct err *e)
{
	const char *text = json_text(json_get(request, "text"), NULL);

	if (!text)
		return err_set(e, ERR_USAGE, "text must be a string");
	buf_add_str(&r->text, text);
	if (buf_check(&r->text, e) || allocate_lines(r, 1, e) ||
	    choose_request_terms(s, request, &r->lines->terms, e))
		return e->code;
	r->lines->is_whole = json_boolean(json_get(request, "whole"), false);
	r->lines->line.text = buf_text(&r->text);
	r->lines->line.n = r->text.len;
	for (size_t i = 0; !passages_split(s->context->passages, r->lines) && i < r->text.len; i++)
		if (r->text.data[i] == '\n' || r->text.data[i] == '\r')
			r->text.data[i] = ' ';
	return 0;
}

/* A document of n bytes: its segments become lines. */
static int open_join_document(struct serve_stream *s, const struct json *request,
			      struct join_request *r, const struct docfile_format *format,
			      const char *bytes, size_t n, struct err *e)
{
	const struct engine *g = s->context->engine;
	const struct docfile_languages languages = { g->conf->source_language,
						     g->conf->target_language, DOCUMENT_SENTENCES };
	struct terms *terms;

	r->is_document = true;
	r->told_at = clock_mono_s();
	if (choose_request_terms(s, request, &terms, e) ||
	    docfile_open_bytes(&r->document, "the file", bytes, n, format,
			       pipeline_protect(g->pipeline), &languages, e) ||
	    allocate_lines(r, r->document.n, e))
		return e->code;
	document_list_lines(&r->document, 0, r->n_lines, terms, r->lines);
	for (size_t i = 0; i < r->n_lines; i++)
		r->lines[i].is_whole = json_boolean(json_get(request, "whole"), false);
	return 0;
}

static int read_join_document(struct serve_stream *s, const struct json *request,
			      struct join_request *r, struct err *e)
{
	const struct docfile_format *format =
		docfile_find_format(json_text(json_get(request, "document"), ""));
	const char *text = json_text(json_get(request, "bytes"), NULL);
	struct buf bytes = { 0 };
	int rc;

	if (!format || !text)
		return err_set(e, ERR_USAGE,
			       "document must be a kind of document, bytes its bytes");
	rc = base64_read(&bytes, text, strlen(text), e);
	if (!rc)
		rc = open_join_document(s, request, r, format, buf_text(&bytes), bytes.len, e);
	buf_free(&bytes);
	return rc;
}

/* A text of HTML or XML, whose tags and entities are kept; "markup" names its kind. */
static int read_join_markup(struct serve_stream *s, const struct json *request,
			    struct join_request *r, struct err *e)
{
	static const struct docfile_format *const formats[] = { &docfile_html, &docfile_xml_text,
								&docfile_xml_lines };
	const char *text = json_text(json_get(request, "text"), NULL);
	const char *kind = json_text(json_get(request, "markup"), "");

	for (size_t i = 0; text && i < ARRAY_LEN(formats); i++)
		if (!strcmp(kind, formats[i]->name)) {
			r->is_markup = true;
			return open_join_document(s, request, r, formats[i], text, strlen(text), e);
		}
	return err_set(e, ERR_USAGE, "text must be a string, and markup html, xml or xml-lines");
}

/* A longer sentence would leave no room for those of others. */
static int32_t most_tokens(const struct serve_stream *s)
{
	return s->context->engine->capacity / 2;
}

/* Has a sentence more tokens than a request may have? */
static bool is_too_long(const struct serve_stream *s, const struct join_request *r)
{
	for (size_t i = 0; i < r->units.n && !r->is_document; i++)
		if (r->parts[i].n_source >= most_tokens(s))
			return true;
	return false;
}

/* Encodes sentence i, which can be fed then. */
static int encode_unit(struct serve_stream *s, struct join_request *r, size_t i, struct err *e)
{
	struct engine *g = s->context->engine;
	struct stream_unit *u = &r->fed[i];
	int32_t *prefix = NULL; /* a request has none */

	if (engine_encode_line(g, &r->units.all[i], &r->parts[i], e) ||
	    engine_constrain_line(g, &r->units.all[i], &u->constraint, &prefix, e))
		return e->code;
	u->request = r;
	u->is_left_out = r->is_document && r->parts[i].n_source >= most_tokens(s);
	u->fed.source = (struct decode_source){ r->parts[i].source,
						u->is_left_out ? 0 : r->parts[i].n_source };
	u->fed.n_best = r->n_best;
	u->fed.alignments = r->is_document;
	u->fed.constraint = r->is_constrained ? &u->constraint : NULL;
	return 0;
}

/* Prepares the sentences. Those of a document are encoded one by one when their turn comes. */
static int prepare_units(struct serve_stream *s, struct join_request *r, struct err *e)
{
	const size_t n = r->units.n;

	if (r->is_document && n > DOCUMENT_SENTENCES)
		return err_set(e, ERR_NOMEM,
			       "the file has %zu sentences; at most %d are allowed: divide it into "
			       "smaller files",
			       n, DOCUMENT_SENTENCES);
	r->fed = mem_alloc(MAX(n, (size_t)1), sizeof(*r->fed), e);
	r->parts = mem_alloc(MAX(n, (size_t)1), sizeof(*r->parts), e);
	if (!r->fed || !r->parts)
		return e->code;
	r->is_constrained = s->context->default_options.sample;
	for (size_t i = 0; i < n; i++)
		r->is_constrained |= r->units.all[i].n_phrases > 0;
	for (size_t i = 0; i < n && !r->is_document; i++)
		if (encode_unit(s, r, i, e))
			return e->code;
	return 0;
}

static int read_join_request(struct serve_stream *s, const struct json *request,
			     struct join_request *r, struct err *e)
{
	static const char *const known[] = { "id",	 "join",     "text",  "whole", "n_best",
					     "glossary", "document", "bytes", "markup" };
	struct decode_options o = s->context->default_options;

	if (serve_check_members(request, known, ARRAY_LEN(known), e) ||
	    serve_read_options(&o, request, e))
		return e->code;
	r->beam = o.beam;
	r->n_best = o.n_best;
	if ((json_get(request, "document") ? read_join_document(s, request, r, e)
	     : json_get(request, "markup") ? read_join_markup(s, request, r, e)
					   : read_join_text(s, request, r, e)) ||
	    passages_list_units(s->context->passages, r->lines, r->n_lines, &r->units, r->result,
				e))
		return e->code;
	return prepare_units(s, r, e);
}

/* Cancels the request of this number: the decoder drops its sentences before its next step. */
static int cancel_request(struct serve_stream *s, int64_t id, struct err *e)
{
	struct join_request *waiting = s->waiting, *next;
	int rc = 0;

	for (struct join_request *r = s->open; r && !rc; r = next) {
		next = r->next;
		if (r->id != id || r->is_cancelled)
			continue;
		r->is_cancelled = true;
		for (size_t i = 0; i < r->n_fed; i++)
			r->fed[i].fed.is_cancelled = true;
		r->n_left -= r->units.n - r->n_fed;
		r->n_fed = r->units.n;
		if (!r->n_left)
			rc = end_join_request(s, r, e);
	}
	if (rc || !waiting || waiting->id != id)
		return rc;
	s->waiting = NULL;
	free_join_request(waiting);
	return answer_fault(s, id, NULL, e);
}

/* Reads a request into s->waiting, or answers it at once. Frees `request`. */
static int accept_request(struct serve_stream *s, struct json *request, struct err *e)
{
	const int64_t id = json_integer(json_get(request, "id"), -1),
		      cancelled = json_integer(json_get(request, "cancel"), -1);
	struct err fault = { 0 };
	struct join_request *r = NULL;
	int rc = 0;

	if (json_get(request, "cancel")) {
		rc = cancel_request(s, cancelled, e);
	} else if (!(r = mem_alloc(1, sizeof(*r), e))) {
		rc = e->code;
	} else if (r->id = id, read_join_request(s, request, r, &fault)) {
		free_join_request(r);
		rc = answer_fault(s, id, &fault, e);
	} else if (is_too_long(s, r)) {
		free_join_request(r);
		rc = answer_too_long(s, id, e);
	} else {
		s->waiting = r;
	}
	json_free(request);
	return rc;
}

/* Lets the sentences of s->waiting join, after the open requests. */
static int open_request(struct serve_stream *s, struct err *e)
{
	struct join_request **end = &s->open, *r = s->waiting;

	while (*end)
		end = &(*end)->next;
	*end = r;
	r->n_left = r->units.n;
	s->waiting = NULL;
	return r->n_left ? 0 : end_join_request(s, r, e); /* a document without text */
}

/* Gives sentences to the decoder, one of each request in turn, so that a long text does not delay short ones. */
static int feed_sentences(struct serve_stream *s, struct decode_job *job, struct err *e)
{
	bool has_fed = true;

	while (has_fed && decoder_feed_room(job)) {
		struct join_request *next;

		has_fed = false;
		for (struct join_request *r = s->open; r; r = next) {
			next = r->next; /* a request of an empty text ends at once */
			if (r->n_fed == r->units.n)
				continue;
			has_fed = true;
			if ((r->is_document && encode_unit(s, r, r->n_fed, e)) ||
			    decoder_feed(job, &r->fed[r->n_fed++].fed, e))
				return e->code;
		}
	}
	return 0;
}

/* The decoder's feed: takes the lines that have come, up to one that must wait. */
static int take_lines(void *context, struct decode_job *job, struct err *e)
{
	struct serve_stream *s = context;

	for (;;) {
		struct json *request;

		if (s->waiting && (s->waiting->beam != s->beam ||
				   s->waiting->is_constrained != s->is_constrained))
			break;
		if (s->waiting && open_request(s, e))
			return e->code;
		if (s->has_other || !lines_has_next(s->in))
			break;
		s->got = lines_next(s->in, e);
		request = s->got < 0 ? NULL : serve_stream_request(s->in, s->got);
		s->has_other = !request;
		if (s->got < 0 || (request && accept_request(s, request, e)))
			return e->code;
	}
	return feed_sentences(s, job, e);
}

/* Decodes with the options of the first waiting request until a request with others waits, or none. */
static int run_stream_of_kind(struct serve_stream *s, struct err *e)
{
	static const struct decode_constraint some = { .number = 0 };
	const struct decode_feed feed = { s, take_lines, take_unit_result };
	struct decode_options o = s->context->default_options;

	s->beam = s->waiting->beam;
	s->is_constrained = s->waiting->is_constrained;
	o.beam = s->beam;
	o.constraints = s->is_constrained ? &some : NULL;
	o.forbid = s->context->constraints.forbid;
	engine_complete_options(s->context->engine, &o);
	return decoder_run_feed(s->context->engine->decoder, &o, &feed, e);
}

int serve_stream_run(const struct serve_context *context, struct lines *in, struct json *first,
		     int *got, struct err *e)
{
	struct serve_stream s = { .context = context, .in = in, .got = -1 };
	struct join_request *next;
	int rc = engine_check(context->engine, e);

	if (!rc)
		rc = accept_request(&s, first, e);
	else
		json_free(first);
	while (!rc && s.waiting)
		rc = run_stream_of_kind(&s, e);
	*got = s.has_other ? s.got : -1;
	for (struct join_request *r = s.open; r; r = next) {
		next = r->next;
		free_join_request(r);
	}
	free_join_request(s.waiting);
	buf_free(&s.out);
	return rc;
}
