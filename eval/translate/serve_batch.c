/* serve_batch.c - see serve_batch.h */
#include "eval/translate/serve_batch.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"

/* The texts of a request as lines; whole lines must not have line ends, which become blanks. */
static int read_batch_lines(const struct serve_context *s, const struct json *texts, bool is_whole,
			    struct passage_line *lines, struct buf *copy, struct err *e)
{
	const bool is_split = !is_whole && !passages_keep_lines(s->passages);
	size_t n = 0, i = 0;

	for (const struct json *c = json_first(texts); c; c = json_next(texts, c)) {
		const char *text = json_text(c, NULL);

		if (!text)
			return err_set(e, ERR_USAGE, "texts must be a list of strings");
		lines[i].line.n = strlen(text);
		lines[i].terms = s->constraints.terms;
		lines[i].is_whole = is_whole;
		buf_add(copy, text, lines[i++].line.n);
	}
	if (buf_check(copy, e))
		return e->code;
	for (size_t k = 0; k < i; n += lines[k++].line.n)
		lines[k].line.text = buf_text(copy) + n;
	for (size_t k = 0; !is_split && k < copy->len; k++)
		if (copy->data[k] == '\n' || copy->data[k] == '\r')
			copy->data[k] = ' ';
	return 0;
}

static void write_batch_translation(struct json_writer *w, const struct passage_result *r,
				    int32_t n_best)
{
	const struct engine_translation *t = &r->joined;

	json_open(w, '{');
	json_put_open(w, "texts", '[');
	for (int32_t h = 0; h < t->result.n && h < n_best; h++)
		json_str(w, t->texts[h]);
	json_close(w, ']');
	json_put_int(w, "source_tokens", t->n_source);
	json_put_int(w, "target_tokens", t->result.hypotheses[0].n);
	if (t->result.truncated)
		json_put_bool(w, "truncated", true);
	json_close(w, '}');
}

static void write_batch_answer(struct json_writer *w, const struct serve_line *from,
			       const struct passage_result *results, size_t n, int32_t n_best)
{
	json_open(w, '{');
	serve_write_id(w, from);
	json_put_open(w, "translations", '[');
	for (size_t i = 0; i < n; i++)
		write_batch_translation(w, &results[i], n_best);
	json_close(w, ']');
	json_close(w, '}');
}

int serve_answer_batch(const struct serve_context *s, const struct serve_line *from,
		       struct json_writer *w, struct err *e)
{
	static const char *const known[] = { "id", "texts", "whole", "n_best", "beam", "alpha" };
	const struct json *texts = json_get(from->request, "texts");
	const size_t n = json_len(texts);
	struct decode_options o = s->default_options;
	struct passage_line *lines;
	struct passage_result *results;
	struct buf copy = { 0 };
	int rc;

	if (!json_is_array(texts) || !n || n > SERVE_MAX_TEXTS)
		return err_set(e, ERR_USAGE, "texts must be a list of 1 to %d strings",
			       SERVE_MAX_TEXTS);
	if (serve_check_members(from->request, known, ARRAY_LEN(known), e) ||
	    serve_read_options(&o, from->request, e))
		return e->code;
	o.forbid = s->constraints.forbid;
	lines = mem_alloc(n, sizeof(*lines), e);
	results = mem_alloc(n, sizeof(*results), e);
	rc = lines && results
		     ? read_batch_lines(s, texts,
					json_boolean(json_get(from->request, "whole"), false),
					lines, &copy, e)
		     : e->code;
	if (!rc)
		rc = passages_translate(s->passages, &o, lines, n, results, e);
	if (!rc) {
		write_batch_answer(w, from, results, n, o.n_best);
		passages_results_free(results, n);
	}
	free(results);
	free(lines);
	buf_free(&copy);
	return rc;
}
