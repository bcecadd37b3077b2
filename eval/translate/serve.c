/* serve.c - reads requests and writes answers of the translation service; see serve.h */
#include "eval/translate/serve.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/line_tags.h"
#include "eval/translate/serve_stream.h"
#include "eval/translate/suggest.h"
#include "share/base/file.h"
#include "share/base/lines.h"
#include "share/base/text.h"
#include "share/format/json.h"

static void write_id(struct json_writer *w, const struct serve_line *line)
{
	const struct json *id = json_get(line->request, "id");
	const char *digits;
	size_t n = json_number_digits(id, line->text, line->n, &digits);

	json_key(w, "id");
	if (json_text(id, NULL))
		json_str(w, json_text(id, NULL));
	else if (n)
		json_raw(w, digits, n);
	else
		json_null(w);
}

static void write_error(struct json_writer *w, const struct serve_line *line, const char *text)
{
	json_open(w, '{');
	write_id(w, line);
	json_put_str(w, "error", text);
	json_close(w, '}');
}

static void write_token_pieces(struct json_writer *w, const struct engine *g, const char *key,
			       enum pipeline_side side, const int32_t *ids, int32_t n)
{
	json_put_open(w, key, '[');
	for (int32_t i = 0; i < n; i++)
		json_str(w, vocab_piece(pipeline_vocab(g->pipeline, side), ids[i]));
	json_close(w, ']');
}

/* Maps of attention of all translations of an answer, and how much of them was written. */
struct serve_attention {
	bool wanted;
	struct decode_attention map;
	size_t n_cells;
};

/* Writes the map of one translation, of which the weights begin at row first. */
static void write_attention(struct json_writer *w, struct serve_attention *a, int64_t first,
			    int32_t n)
{
	const float *weights = a->map.weights ? a->map.weights + first * a->map.n_source : NULL;
	const size_t cells = (size_t)n * (size_t)a->map.n_source;

	json_key(w, "attention");
	if (!a->map.weights || a->n_cells + cells > SERVE_MAX_CELLS) {
		json_null(w);
		return;
	}
	a->n_cells += cells;
	json_open(w, '[');
	for (int32_t i = 0; i < n && weights; i++) {
		json_open(w, '[');
		for (int32_t j = 0; j < a->map.n_source; j++)
			json_real(w, round((double)*weights++ * 1e4) / 1e4);
		json_close(w, ']');
	}
	json_close(w, ']');
}

/* Writes the sentences of hypothesis h; -1: those of the source. */
static void write_sentence_parts(struct json_writer *w, const struct passage_result *r, int32_t h,
				 const char *text)
{
	const struct passage_part *part = &r->parts[MAX(h, 0) * r->n_parts];

	if (r->n_parts < 2)
		return;
	json_put_open(w, h < 0 ? "source_parts" : "parts", '[');
	for (int32_t i = 0; i < r->n_parts; i++, part++) {
		json_open(w, '{');
		json_put_strn(w, "text", text + (h < 0 ? part->source : part->text),
			      h < 0 ? part->source_bytes : part->text_bytes);
		json_put_int(w, "tokens", h < 0 ? part->n_source : part->n_tokens);
		json_close(w, '}');
	}
	json_close(w, ']');
}

/* Writes the JSON members of one translation. */
static void write_hypothesis(struct json_writer *w, const struct engine *g,
			     const struct passage_result *r, int32_t h, struct serve_attention *a)
{
	const struct engine_translation *t = &r->joined;
	const struct decode_hypothesis *y = &t->result.hypotheses[h];
	int64_t first = 0; /* row of the map */

	assert(h < t->result.n && (y->n == 0 || (y->log_probs && y->aligned)));

	json_put_str(w, "text", t->texts[h]);
	json_put_real(w, "score", y->score);
	json_put_real(w, "log_prob", y->log_prob);
	write_token_pieces(w, g, "tokens", SIDE_TARGET, y->tokens, y->n);
	json_put_open(w, "token_log_probs", '[');
	for (int32_t i = 0; i < y->n; i++)
		json_real(w, (double)y->log_probs[i]);
	json_close(w, ']');
	json_put_open(w, "alignment", '[');
	for (int32_t i = 0; i < y->n; i++)
		json_int(w, y->aligned[i]);
	json_close(w, ']');
	for (int32_t i = 0; i < h; i++)
		first += t->result.hypotheses[i].n;
	if (a->wanted)
		write_attention(w, a, first, y->n);
	write_sentence_parts(w, r, h, t->texts[h]);
}

/* A request without its text. */
struct serve_request {
	struct decode_options options;
	struct phrases phrases;
	struct terms *terms;	       /* owned: of this request; NULL: none */
	struct banned_phrases *forbid; /* owned: of this request; NULL: none */
	int32_t at, n_alternatives;    /* n_alternatives -1: not requested */
	struct word_suggestion alternatives[DECODE_MAX_ALTERNATIVES]; /* (n_alternatives) */
	struct serve_attention attention;			      /* owned */
};

static void write_alternatives(struct json_writer *w, const struct engine *g,
			       const struct serve_request *x)
{
	json_put_int(w, "at", x->at);
	json_put_open(w, "alternatives", '[');
	for (int32_t i = 0; i < x->n_alternatives; i++) {
		const struct word_suggestion *s = &x->alternatives[i];

		json_open(w, '{');
		json_put_str(w, "piece",
			     vocab_piece(pipeline_vocab(g->pipeline, SIDE_TARGET), s->token));
		json_put_str(w, "word", s->word);
		json_put_real(w, "log_prob", s->log_prob);
		json_put_str(w, "prefix", s->prefix);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void write_translation(struct json_writer *w, const struct engine *g,
			      const struct serve_line *line, const char *source,
			      const struct passage_result *r, struct serve_request *x)
{
	const struct engine_translation *t = &r->joined;

	json_open(w, '{');
	write_id(w, line);
	write_hypothesis(w, g, r, 0, &x->attention);
	write_token_pieces(w, g, "source_tokens", SIDE_SOURCE, t->source, t->n_source);
	if (r->terms_left > 0)
		json_put_int(w, "terms_left", r->terms_left);
	if (r->n_parts > 1)
		json_put_int(w, "sentences", r->n_parts);
	write_sentence_parts(w, r, -1, source);
	if (t->result.truncated)
		json_put_bool(w, "truncated", true);
	if (g->state.longest > 0 && r->longest > g->state.longest)
		json_put_bool(w, "long", true);
	if (x->n_alternatives >= 0)
		write_alternatives(w, g, x);
	if (x->options.n_best > 1) {
		json_put_open(w, "n_best", '[');
		for (int32_t h = 0; h < t->result.n; h++) {
			json_open(w, '{');
			write_hypothesis(w, g, r, h, &x->attention);
			json_close(w, '}');
		}
		json_close(w, ']');
	}
	json_close(w, '}');
}

/* ERR_USAGE: a number of a request is not between 1 and most. */
static int check_range(const char *name, int64_t value, int64_t most, struct err *e)
{
	return value >= 1 && value <= most
		       ? 0
		       : err_set(e, ERR_USAGE, "%s is %lld, but must be from 1 to %lld", name,
				 (long long)value, (long long)most);
}

int serve_read_options(struct decode_options *o, const struct json *request, struct err *e)
{
	int64_t n_best = json_integer(json_get(request, "n_best"), o->n_best);
	int64_t beam = json_integer(json_get(request, "beam"), MAX(o->beam, n_best));
	double alpha = json_number(json_get(request, "alpha"), o->alpha);

	if (check_range("beam", beam, DECODE_MAX_BEAM, e))
		return e->code;
	if (n_best < 1 || n_best > beam)
		return err_set(e, ERR_USAGE, "n_best is %lld, but must be from 1 to the beam, %lld",
			       (long long)n_best, (long long)beam);
	if (!(alpha >= 0 && alpha <= 10))
		return err_set(e, ERR_USAGE, "alpha is %g, but must be from 0 to 10", alpha);
	o->n_best = (int32_t)n_best;
	o->beam = (int32_t)beam;
	o->alpha = alpha;
	return 0;
}

int serve_check_members(const struct json *request, const char *const *known, size_t n,
			struct err *e)
{
	char hint[TEXT_HINT_MAX];

	for (const struct json *c = json_first(request); c; c = json_next(request, c)) {
		const char *key = json_child_key(c);
		size_t i = 0;

		while (i < n && strcmp(known[i], key) != 0)
			i++;
		if (i == n)
			return err_set(e, ERR_USAGE, "a request has no member \"%.40s\"%s", key,
				       text_hint(hint, text_nearest(key, known, n)));
	}
	return 0;
}

/* True for an array; null and a missing member count as an empty list. */
static bool is_json_list(const struct json *v)
{
	return json_is_null(v) || json_is_array(v);
}

/* A phrase of a list. NULL, ERR_USAGE: it is no string, or an empty one. */
static const char *phrase_of(const struct json *element, const char *name, struct err *e)
{
	const char *text = json_text(element, NULL);

	if (!text || !*text)
		err_set(e, ERR_USAGE, "%s must be a list of phrases: strings that are not empty",
			name);
	return text && *text ? text : NULL;
}

/* Reads force and forbid. */
static int read_phrases(struct serve_request *x, const struct serve_context *s,
			const struct json *request, struct err *e)
{
	const struct json *force = json_get(request, "force");
	const struct json *forbid = json_get(request, "forbid");
	const char *text;

	if (!is_json_list(force) || !is_json_list(forbid))
		return err_set(e, ERR_USAGE, "force and forbid must be lists of phrases");
	for (const struct json *c = json_first(force); c; c = json_next(force, c))
		if (!(text = phrase_of(c, "force", e)) ||
		    phrases_add(&x->phrases, s->engine, text, strlen(text), e))
			return e->code;
	x->options.forbid = s->constraints.forbid;
	if (json_len(forbid) == 0)
		return 0;
	x->forbid = banned_phrases_new(s->engine->pipeline, s->constraints.forbid, e);
	if (!x->forbid)
		return e->code;
	for (const struct json *c = json_first(forbid); c; c = json_next(forbid, c))
		if (!(text = phrase_of(c, "forbid", e)) ||
		    banned_phrases_add(x->forbid, text, strlen(text), e))
			return e->code;
	x->options.forbid = x->forbid;
	return 0;
}

/* Reads the request's own terms, which come before those of --terms. */
static int read_terms(struct serve_request *x, const struct serve_context *s,
		      const struct json *request, struct err *e)
{
	const struct json *terms = json_get(request, "terms");

	if (json_is_null(terms))
		return 0;
	if (!json_is_object(terms))
		return err_set(e, ERR_USAGE, "terms must be an object: {\"source\":\"target\"}");
	x->terms = terms_new(s->engine, s->constraints.terms, e);
	if (!x->terms)
		return e->code;
	for (const struct json *c = json_first(terms); c; c = json_next(terms, c)) {
		const char *source = json_child_key(c), *text = json_text(c, NULL);

		if (!text)
			return err_set(e, ERR_USAGE,
				       "terms must be an object: {\"source\":\"target\"}");
		if (terms_add(x->terms, source, strlen(source), text, strlen(text), e))
			return e->code;
	}
	return terms_finish(x->terms, x->options.forbid, e);
}

/* The terms of a request: its own, which lead to those of --terms, or the latter. */
static struct terms *request_terms(const struct serve_request *x, const struct serve_context *s)
{
	return x->terms ? x->terms : s->constraints.terms;
}

/* Reads all constraints. passages.h finds the terms of each sentence, and the sentence of a forced phrase. */
static int read_constraints(struct serve_request *x, const struct serve_context *s,
			    const struct json *request, struct err *e)
{
	if (read_phrases(x, s, request, e) || read_terms(x, s, request, e))
		return e->code;
	if (x->options.sample && (x->phrases.n > 0 || request_terms(x, s)))
		return err_set(e, ERR_USAGE, "force and terms cannot be used with --sample");
	return phrases_check_banned(&x->phrases, s->engine, x->options.forbid, e);
}

/* Reads alternatives and at. */
static int read_alternatives_request(struct serve_request *x, const struct json *request,
				     struct err *e)
{
	const int64_t n = json_integer(json_get(request, "alternatives"), -1);
	const int64_t at = json_integer(json_get(request, "at"), -1);

	x->n_alternatives = -1;
	if (!json_get(request, "alternatives"))
		return 0;
	if (n < 1 || n > DECODE_MAX_ALTERNATIVES || at < 0)
		return err_set(
			e, ERR_USAGE,
			"alternatives must be from 1 to %d, and at must be a token's number, "
			"from 0",
			DECODE_MAX_ALTERNATIVES);
	x->n_alternatives = (int32_t)n;
	x->at = (int32_t)MIN(at, INT32_MAX);
	return 0;
}

/* Reads attention. Numbers in requests are from 1. ERR_USAGE: there is no such layer or head. */
static int read_attention_request(struct serve_request *x, const struct engine *g,
				  const struct json *request, struct err *e)
{
	const struct model_shape *shape = model_get_shape(g->models[0].model);
	const struct json *wanted = json_get(request, "attention");
	const int64_t layer = json_integer(json_get(wanted, "layer"), shape->decoder_layers);
	const int64_t head = json_integer(json_get(wanted, "head"), 0);

	if (json_is_null(wanted))
		return 0;
	if (!json_is_object(wanted))
		return err_set(e, ERR_USAGE,
			       "attention must be an object: {\"layer\":1,\"head\":1}");
	if (check_range("the layer of attention", layer, shape->decoder_layers, e) ||
	    (json_get(wanted, "head") &&
	     check_range("the head of attention", head, model_heads(shape, STACK_DECODER), e)))
		return e->code;
	x->attention.wanted = true;
	x->attention.map.layer = (int32_t)layer - 1;
	x->attention.map.head = (int32_t)head - 1;
	return 0;
}

/* Maps of several sentences would have cells between them: they are left out (null). */
static int find_attention(struct serve_request *x, struct engine *g, const struct passage_result *r,
			  struct err *e)
{
	const struct engine_translation *t = &r->joined;
	const struct decode_source source = { t->source, t->n_source };

	if (r->n_parts > 1)
		x->attention.n_cells = SERVE_MAX_CELLS;
	return x->attention.wanted && r->n_parts == 1
		       ? decoder_attention(g->decoder, &source, &t->result, &x->attention.map, e)
		       : 0;
}

/* Prepend the n bytes of text that precede the translated part to the prefix of each alternative. */
static int add_earlier_text(struct serve_request *x, const char *text, size_t n, struct err *e)
{
	for (int32_t i = 0; i < x->n_alternatives && n; i++) {
		char *whole = file_path(e, "%.*s%s", (int)n, text, x->alternatives[i].prefix);

		if (!whole)
			return e->code;
		free(x->alternatives[i].prefix);
		x->alternatives[i].prefix = whole;
	}
	return 0;
}

/* Alternatives at a token, given its sentence only. */
static int find_alternatives(struct serve_request *x, struct engine *g,
			     const struct passage_result *r, struct err *e)
{
	const struct engine_translation *t = &r->joined;
	const struct decode_hypothesis *best = &t->result.hypotheses[0];
	const struct passage_part *part;
	struct decode_hypothesis of_part;
	struct engine_translation view;

	if (x->n_alternatives < 0)
		return 0;
	x->at = MIN(x->at, best->n);
	part = passage_part_at(r, x->at);
	of_part = *best;
	of_part.tokens += part->first_token;
	of_part.n = part->n_tokens;
	view = (struct engine_translation){ .source = t->source + part->first_source,
					    .n_source = part->n_source };
	if (suggest_words(g, &view, &of_part, x->at - part->first_token, x->alternatives,
			  &x->n_alternatives, e))
		return e->code;
	if (add_earlier_text(x, t->texts[0], part->text, e)) {
		suggestions_free(x->alternatives, x->n_alternatives);
		return e->code;
	}
	return 0;
}

/* Reads the text; with "whole" its line ends become blanks, because the pipeline works line by line. */
static int read_text(const struct json *request, struct passage_line *line, struct buf *text,
		     struct err *e)
{
	const char *raw = json_text(json_get(request, "text"), NULL);
	const struct json *whole = json_get(request, "whole");

	if (!raw)
		return err_set(e, ERR_USAGE,
			       "a request is a JSON object whose member text is a string");
	line->is_whole = json_boolean(whole, false);
	buf_add_str(text, raw);
	if (buf_check(text, e))
		return e->code;
	line->line.text = buf_text(text);
	line->line.n = text->len;
	line->line.prefix = json_text(json_get(request, "prefix"), "");
	line->line.n_prefix = strlen(line->line.prefix);
	return 0;
}

static void replace_line_ends(struct buf *text)
{
	for (size_t i = 0; i < text->len; i++)
		if (text->data[i] == '\n' || text->data[i] == '\r')
			text->data[i] = ' ';
}

static int answer_request(const struct serve_context *s, const struct serve_line *from,
			  struct json_writer *w, struct err *e)
{
	static const char *const known[] = { "id",    "text",	   "whole",  "prefix",
					     "force", "forbid",	   "terms",  "alternatives",
					     "at",    "attention", "n_best", "beam",
					     "alpha" };
	const struct json *request = from->request;
	struct serve_request x = { .options = s->default_options, .n_alternatives = -1 };
	struct passage_line line = { .is_whole = false };
	struct passage_result r = { .n_parts = 0 };
	struct buf text = { 0 };
	int rc;

	if (read_text(request, &line, &text, e) ||
	    serve_check_members(request, known, ARRAY_LEN(known), e) ||
	    serve_read_options(&x.options, request, e)) {
		buf_free(&text);
		return e->code;
	}
	x.options.alignments = x.options.token_scores = true;
	rc = read_alternatives_request(&x, request, e);
	if (!rc)
		rc = read_attention_request(&x, s->engine, request, e);
	if (!rc)
		rc = read_constraints(&x, s, request, e);
	line.terms = request_terms(&x, s);
	line.line.phrases = x.phrases.all;
	line.line.n_phrases = x.phrases.n;
	if (!passages_split(s->passages, &line))
		replace_line_ends(&text);
	if (!rc)
		rc = passages_translate(s->passages, &x.options, &line, 1, &r, e);
	if (!rc)
		rc = find_attention(&x, s->engine, &r, e);
	if (!rc)
		rc = find_alternatives(&x, s->engine, &r, e);
	if (!rc)
		write_translation(w, s->engine, from, buf_text(&text), &r, &x);
	if (!rc)
		suggestions_free(x.alternatives, x.n_alternatives);
	free(x.attention.map.weights);
	terms_free(x.terms);
	banned_phrases_free(x.forbid);
	phrases_free(&x.phrases);
	passages_results_free(&r, 1);
	buf_free(&text);
	return rc;
}

int serve_answer(const struct serve_context *s, const char *line, size_t n, struct buf *out,
		 struct err *e)
{
	struct json_writer w = { .out = out };
	struct err fault = { 0 }; /* becomes an answer, not a failure */
	struct json *request = json_parse(line, n, &fault);
	const struct serve_line from = { request, line, n };

	if (!request || answer_request(s, &from, &w, &fault))
		write_error(&w, &from, fault.text);
	json_free(request);
	buf_add_char(out, '\n');
	return buf_check(out, e);
}

static int write_response(struct buf *text, struct err *e)
{
	if (file_put_stdout(text, e))
		return e->code;
	buf_clear(text);
	return 0;
}

/* The names of glossaries and their numbers of terms. */
static void write_glossaries(struct json_writer *w, const struct constraint_options *o)
{
	json_put_open(w, "glossaries", '{');
	for (size_t i = 0; i < o->n_glossaries; i++)
		json_put_int(w, o->glossaries[i].name,
			     (int64_t)terms_count(o->glossaries[i].terms));
	json_close(w, '}');
}

static void write_ready_line(const struct serve_context *s, struct buf *out)
{
	const struct engine *g = s->engine;
	const struct decode_options *o = &s->default_options;
	struct json_writer w = { .out = out };
	struct buf tags = { 0 };

	line_tags_list(g->conf, &tags);
	json_open(&w, '{');
	json_put_bool(&w, "ready", true);
	json_put_str(&w, "source_language", g->conf->source_language);
	json_put_str(&w, "target_language", g->conf->target_language);
	json_put_int(&w, "step", g->state.step);
	json_put_int(&w, "beam", o->beam);
	json_put_real(&w, "alpha", o->alpha);
	json_put_bool(&w, "keeps_lines", passages_keep_lines(s->passages));
	json_put_int(&w, "decoder_layers", model_get_shape(g->models[0].model)->decoder_layers);
	json_put_int(&w, "heads", model_heads(model_get_shape(g->models[0].model), STACK_DECODER));
	if (tags.len)
		json_put_str(&w, "tags", buf_text(&tags) + 1);
	if (s->constraints.n_glossaries)
		write_glossaries(&w, &s->constraints);
	json_close(&w, '}');
	buf_free_part(&tags, out);
	buf_add_char(out, '\n');
}

static void write_line_error(struct buf *out, const char *sentence)
{
	const struct serve_line none = { NULL, "", 0 };
	struct json_writer w = { .out = out };

	write_error(&w, &none, sentence);
	buf_add_char(out, '\n');
}

/* Answers one line of input, as lines_next() returned it. */
static int answer_line(const struct serve_context *s, const struct lines *in, int got,
		       struct buf *out, struct err *e)
{
	char sentence[80];

	snprintf(sentence, sizeof(sentence), "a request may have at most %u bytes",
		 LINES_MAX_BYTES);
	if (got == LINES_SKIPPED)
		write_line_error(out, sentence);
	else if (in->was_repaired)
		write_line_error(out, "a request must be valid UTF-8");
	else
		return serve_answer(s, in->text, in->len, out, e);
	return buf_check(out, e);
}

/* SIGTERM and SIGINT wait while a request is answered: threads of the decoder inherit the mask. */
static void hold_signals(bool hold)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

static int serve_requests(const struct serve_context *s, struct err *e)
{
	struct buf text = { 0 };
	struct lines in;
	int rc, got = -1; /* of lines_next() for a line without answer; -1: there is none */

	if (lines_open(&in, NULL, e))
		return e->code;
	/* neither an invalid byte nor a line without an end may end the service */
	in.repair = in.skip_long = true;
	write_ready_line(s, &text);
	rc = buf_check(&text, e);
	if (!rc)
		rc = write_response(&text, e);
	while (!rc) {
		struct json *join;

		if (got < 0) {
			hold_signals(false); /* idle: they end the program at once */
			got = lines_next(&in, e);
			hold_signals(true);
		}
		if (got <= 0) {
			rc = got;
			break;
		}
		join = serve_stream_request(&in, got);
		if (join) {
			rc = serve_stream_run(s, &in, join, &got, e);
			continue;
		}
		rc = answer_line(s, &in, got, &text, e);
		got = -1;
		if (!rc)
			rc = write_response(&text, e);
	}
	hold_signals(false);
	lines_close(&in);
	buf_free(&text);
	return rc;
}

int serve_run(struct conf *c, struct err *e)
{
	struct serve_context s = { 0 };
	struct engine g;
	int rc;

	hold_signals(true);
	rc = engine_open(&g, c, ENGINE_TRANSLATE, e);
	s.engine = &g;
	if (!rc && !(s.passages = passages_new(&g, c, e)))
		rc = e->code;
	if (!rc)
		rc = decode_options_from_conf(&s.default_options, c, e);
	if (!rc)
		rc = constraint_options_open(&s.constraints, &g, c, e);
	if (!rc)
		rc = serve_requests(&s, e);
	constraint_options_close(&s.constraints);
	passages_free(s.passages);
	engine_close(&g);
	return rc;
}
