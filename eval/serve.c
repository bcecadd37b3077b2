/* serve.c - see serve.h */
#include "eval/serve.h"

#include <math.h>
#include <string.h>

#include "share/base/json.h"
#include "share/base/lines.h"

static void write_id(struct json_writer *w, const struct json *request)
{
	const struct json *id = json_get(request, "id");
	double number = json_number(id, NAN);

	json_key(w, "id");
	if (json_text(id, NULL))
		json_str(w, json_text(id, NULL));
	else if (number == floor(number) && fabs(number) < 9e15)
		json_int(w, (int64_t)number);
	else if (!isnan(number))
		json_real(w, number);
	else
		json_null(w);
}

static void write_error(struct json_writer *w, const struct json *request, const char *text)
{
	json_open(w, '{');
	write_id(w, request);
	json_key(w, "error");
	json_str(w, text);
	json_close(w, '}');
}

static void write_pieces(struct json_writer *w, const struct engine *g, const char *key,
			 const int32_t *ids, int32_t n)
{
	json_key(w, key);
	json_open(w, '[');
	for (int32_t i = 0; i < n; i++)
		json_str(w, vocab_piece(pipeline_vocab(g->pipeline), ids[i]));
	json_close(w, ']');
}

/* The members of one translation. */
static void write_hypothesis(struct json_writer *w, const struct engine *g,
			     const struct engine_translation *t, int32_t h)
{
	const struct decode_hypothesis *y = &t->result.hypotheses[h];

	json_key(w, "text");
	json_str(w, t->texts[h]);
	json_key(w, "score");
	json_real(w, y->score);
	json_key(w, "log_prob");
	json_real(w, y->log_prob);
	write_pieces(w, g, "tokens", y->tokens, y->n);
	json_key(w, "token_log_probs");
	json_open(w, '[');
	for (int32_t i = 0; i < y->n; i++)
		json_real(w, (double)y->log_probs[i]);
	json_close(w, ']');
	json_key(w, "alignment");
	json_open(w, '[');
	for (int32_t i = 0; i < y->n; i++)
		json_int(w, y->aligned[i]);
	json_close(w, ']');
}

static void write_translation(struct json_writer *w, const struct engine *g,
			      const struct json *request, const struct engine_translation *t,
			      bool all)
{
	json_open(w, '{');
	write_id(w, request);
	write_hypothesis(w, g, t, 0);
	write_pieces(w, g, "source_tokens", t->source, t->n_source);
	if (t->result.truncated) {
		json_key(w, "truncated");
		json_bool(w, true);
	}
	if (all) {
		json_key(w, "n_best");
		json_open(w, '[');
		for (int32_t h = 0; h < t->result.n; h++) {
			json_open(w, '{');
			write_hypothesis(w, g, t, h);
			json_close(w, '}');
		}
		json_close(w, ']');
	}
	json_close(w, '}');
}

/* The options of one request. A value out of range: ERR_USAGE. */
static int read_options(struct decode_options *o, const struct json *request, struct err *e)
{
	int64_t n_best = json_integer(json_get(request, "n_best"), o->n_best);
	int64_t beam = json_integer(json_get(request, "beam"), MAX(o->beam, n_best));
	double alpha = json_number(json_get(request, "alpha"), o->alpha);

	if (beam < 1 || beam > DECODE_MAX_BEAM)
		return err_set(e, ERR_USAGE, "beam is %lld, but must be from 1 to %d",
			       (long long)beam, DECODE_MAX_BEAM);
	if (n_best < 1 || n_best > beam)
		return err_set(e, ERR_USAGE, "n_best is %lld, but must be from 1 to the beam, %lld",
			       (long long)n_best, (long long)beam);
	if (!(alpha >= 0 && alpha <= 10))
		return err_set(e, ERR_USAGE, "alpha is %g, but must be from 0 to 10", alpha);
	o->n_best = (int32_t)n_best;
	o->beam = (int32_t)beam;
	o->alpha = alpha;
	o->alignments = true;
	o->token_scores = true;
	return 0;
}

/* Line ends inside a text are blanks to the pipeline, which works line by line. */
static void add_one_line(struct buf *b, const char *text)
{
	size_t start = b->len;

	buf_add_str(b, text);
	for (size_t i = start; i < b->len; i++)
		if (b->data[i] == '\n' || b->data[i] == '\r')
			b->data[i] = ' ';
}

static int answer(struct engine *g, const struct decode_options *usual, const struct json *request,
		  struct json_writer *w, struct err *e)
{
	const char *text = json_text(json_get(request, "text"), NULL);
	struct decode_options o = *usual;
	struct engine_translation t = { 0 };
	const char *prefix = json_text(json_get(request, "prefix"), NULL);
	struct engine_line input;
	struct buf line = { 0 };
	int code;

	if (!text)
		return err_set(e, ERR_USAGE,
			       "a request is one JSON object with the member text, a string");
	if (read_options(&o, request, e))
		return e->code;
	add_one_line(&line, text);
	code = buf_check(&line, e);
	input = (struct engine_line){ .text = buf_text(&line), .n = line.len };
	if (prefix) {
		input.prefix = prefix;
		input.n_prefix = strlen(prefix);
	}
	if (!code)
		code = engine_translate(g, &o, &input, 1, &t, e);
	if (!code)
		write_translation(w, g, request, &t, o.n_best > 1);
	engine_translations_free(&t, 1);
	buf_free(&line);
	return code;
}

int serve_answer(struct engine *g, const struct decode_options *usual, const char *line, size_t n,
		 struct buf *out, struct err *e)
{
	struct json_writer w = { .out = out };
	struct err trouble = { 0 };
	struct json *request = json_parse(line, n, &trouble);

	if (!request || answer(g, usual, request, &w, &trouble))
		write_error(&w, request, trouble.text);
	json_free(request);
	buf_add_char(out, '\n');
	return buf_check(out, e);
}

static int put(struct buf *text, struct err *e)
{
	if (fwrite(text->data, 1, text->len, stdout) != text->len || fflush(stdout))
		return err_set_errno(e, ERR_IO, "the answer cannot be written");
	buf_clear(text);
	return 0;
}

static void say_ready(const struct engine *g, const struct decode_options *o, struct buf *out)
{
	struct json_writer w = { .out = out };

	json_open(&w, '{');
	json_key(&w, "ready");
	json_bool(&w, true);
	json_key(&w, "source_language");
	json_str(&w, g->conf->source_language);
	json_key(&w, "target_language");
	json_str(&w, g->conf->target_language);
	json_key(&w, "step");
	json_int(&w, g->state.step);
	json_key(&w, "beam");
	json_int(&w, o->beam);
	json_key(&w, "alpha");
	json_real(&w, o->alpha);
	json_close(&w, '}');
	buf_add_char(out, '\n');
}

static int serve(struct engine *g, const struct decode_options *o, struct err *e)
{
	struct buf text = { 0 };
	struct lines in;
	int got;

	if (lines_open(&in, NULL, e))
		return e->code;
	in.repair = true;	/* one bad byte must not end the service */
	say_ready(g, o, &text);
	got = buf_check(&text, e);
	if (!got)
		got = put(&text, e);
	while (!got) {
		int more = lines_next(&in, e);

		if (more <= 0) {
			got = more;
			break;
		}
		got = serve_answer(g, o, in.text, in.len, &text, e);
		if (!got)
			got = put(&text, e);
	}
	lines_close(&in);
	buf_free(&text);
	return got;
}

int serve_run(struct conf *c, struct err *e)
{
	struct decode_options o;
	struct engine g;
	int code = engine_open(&g, c, ENGINE_TRANSLATE, e);

	if (!code)
		code = decode_options_from_conf(&o, c, e);
	if (!code)
		code = serve(&g, &o, e);
	engine_close(&g);
	return code;
}
