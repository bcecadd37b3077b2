/* service_answer.c - formats requests and parses answers; see service.h. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "tui/translate/service.h"

static void write_terms(struct json_writer *w, const char *key, const char *const *terms, size_t n)
{
	if (!n)
		return;
	json_put_open(w, key, '[');
	for (size_t i = 0; i < n; i++)
		json_str(w, terms[i]);
	json_close(w, ']');
}

static void write_glossary(struct json_writer *w, const struct service_request *r)
{
	size_t found[GLOSSARY_OF_A_TEXT], n = glossary_find(r->glossary, r->text, found);

	if (!n)
		return;
	json_put_open(w, "terms", '{');
	for (size_t i = 0; i < n; i++)
		json_put_str(w, r->glossary->terms[found[i]].source,
			     r->glossary->terms[found[i]].target);
	json_close(w, '}');
}

int service_request_write(const struct service_request *r, int64_t id, struct buf *out,
			  struct err *e)
{
	struct json_writer w = { .out = out };

	json_open(&w, '{');
	json_put_int(&w, "id", id);
	json_put_str(&w, "text", r->text);
	if (r->prefix && *r->prefix)
		json_put_str(&w, "prefix", r->prefix);
	write_terms(&w, "force", r->force, r->n_force);
	write_terms(&w, "forbid", r->forbid, r->n_forbid);
	if (r->glossary)
		write_glossary(&w, r);
	if (r->beam > 0)
		json_put_int(&w, "beam", r->beam);
	if (r->sets_alpha)
		json_put_real(&w, "alpha", r->alpha);
	if (r->alternatives > 0) {
		json_put_int(&w, "alternatives", r->alternatives);
		json_put_int(&w, "at", r->at);
	}
	if (r->attention) {
		json_put_open(&w, "attention", '{');
		if (r->layer > 0)
			json_put_int(&w, "layer", r->layer);
		if (r->head > 0)
			json_put_int(&w, "head", r->head);
		json_close(&w, '}');
	}
	json_close(&w, '}');
	buf_add_char(out, '\n');
	return buf_check(out, e);
}

/* ---- reading ---- */

/* Arena for all arrays of an answer; its size is computed first. */
struct room {
	char *at;
};

static void *carve_array(struct room *room, size_t n, size_t size)
{
	void *p = room->at;

	room->at += n * size; /* within the sum of sum_answer_bytes() */
	return p;
}

static size_t text_count(const struct json *array)
{
	return json_len(array);
}

/* Whether a translation has a complete map of attention: rows by columns. */
static bool has_attention(const struct json *t, size_t rows, size_t cols)
{
	const struct json *map = json_get(t, "attention");

	if (!rows || !json_is_array(map) || json_len(map) != rows)
		return false;
	for (const struct json *row = json_first(map); row; row = json_next(map, row))
		if (json_len(row) != cols)
			return false;
	return true;
}

/* The sentences of a translation; 1 unless source and translation have the same number, with all of its tokens. */
static size_t count_parts(const struct json *t, const struct json *sources)
{
	const struct json *parts = json_get(t, "parts");
	const size_t n = json_len(parts), n_tokens = json_len(json_get(t, "tokens"));
	size_t sum = 0;

	if (!json_is_array(parts) || n < 2 || n != json_len(sources))
		return 1;
	for (const struct json *c = json_first(parts); c; c = json_next(parts, c)) {
		const int64_t tokens = json_integer(json_get(c, "tokens"), -1);

		if (tokens < 0 || (uint64_t)tokens > n_tokens - sum)
			return 1;
		sum += (size_t)tokens;
	}
	return sum == n_tokens ? n : 1;
}

/* Add the bytes of the arrays of one translation; false on overflow. */
static bool sum_translation(const struct json *t, const struct json *sources, size_t n_source,
			    size_t *bytes)
{
	size_t rows = text_count(json_get(t, "tokens")), n;

	if (!mem_mul(rows, sizeof(char *) + 2 * sizeof(double), &n))
		return false;
	*bytes += n + count_parts(t, sources) * sizeof(struct service_part);
	/* a map that is there cannot be too large: the answer has each of its numbers */
	if (has_attention(t, rows, n_source + 1))
		*bytes += rows * (n_source + 1) * sizeof(double);
	return true;
}

static const double *read_attention(const struct json *map, size_t rows, size_t cols,
				    struct room *room)
{
	double *all = carve_array(room, rows * cols, sizeof(double)), *at = all;

	for (const struct json *row = json_first(map); row; row = json_next(map, row))
		for (const struct json *x = json_first(row); x; x = json_next(row, x))
			*at++ = json_number(x, NAN);
	return all;
}

static void read_texts(const struct json *array, const char **out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = json_text(json_at(array, i), "");
}

/* The geometric mean of n probabilities; NaN: there is none, or one is unknown. */
static double mean_probability(const double *log_probs, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += log_probs[i];
	return exp(sum / (double)n);
}

/* sources: the sentences of the source, which have n_source tokens. */
static void read_sentence_parts(const struct json *j, struct service_translation *t,
				const struct json *sources, size_t n_source, struct room *room)
{
	const struct json *source = json_first(sources), *part = json_first(json_get(j, "parts"));
	size_t at = 0, at_source = 0;

	t->n_parts = count_parts(j, sources);
	t->parts = carve_array(room, t->n_parts, sizeof(*t->parts));
	t->parts[0] = (struct service_part){ .text = t->text, .n = t->n, .n_source = n_source };
	t->quality = mean_probability(t->log_probs, t->n);
	for (size_t i = 0; i < t->n_parts; i++) {
		struct service_part *p = &t->parts[i];

		if (t->n_parts > 1) {
			int64_t tokens = json_integer(json_get(source, "tokens"), 0);

			p->source = json_text(json_get(source, "text"), "");
			p->text = json_text(json_get(part, "text"), "");
			p->n = (size_t)json_integer(json_get(part, "tokens"), 0);
			p->n_source = MIN((size_t)MAX(tokens, 0), n_source - at_source);
			source = json_next(sources, source);
			part = json_next(json_get(j, "parts"), part);
		}
		p->first = at;
		p->first_source = at_source;
		p->quality = mean_probability(t->log_probs + at, p->n);
		at += p->n;
		at_source += p->n_source;
	}
}

static void read_translation(const struct json *j, struct service_translation *t,
			     const struct json *sources, size_t n_source, struct room *room)
{
	const struct json *tokens = json_get(j, "tokens"), *probs = json_get(j, "token_log_probs"),
			  *aligned = json_get(j, "alignment");

	t->text = json_text(json_get(j, "text"), "");
	t->score = json_number(json_get(j, "score"), NAN);
	t->log_prob = json_number(json_get(j, "log_prob"), NAN);
	t->n = json_len(tokens);
	t->tokens = carve_array(room, t->n, sizeof(char *));
	t->log_probs = carve_array(room, t->n, sizeof(double));
	t->aligned = carve_array(room, t->n, sizeof(double));
	read_texts(tokens, t->tokens, t->n);
	for (size_t i = 0; i < t->n; i++) {
		int64_t a = json_integer(json_at(aligned, i), -1);

		t->log_probs[i] = json_number(json_at(probs, i), NAN);
		t->aligned[i] = a >= 0 && (uint64_t)a < n_source ? (int)a : -1;
	}
	t->attention = has_attention(j, t->n, n_source + 1)
			       ? read_attention(json_get(j, "attention"), t->n, n_source + 1, room)
			       : NULL;
	t->pieces = NULL;
	read_sentence_parts(j, t, sources, n_source, room);
}

static void read_alternatives(const struct json *array, struct service_answer *a, struct room *room)
{
	a->has_alternatives = array != NULL;
	a->n_alternatives = json_len(array);
	a->alternatives = carve_array(room, a->n_alternatives, sizeof(*a->alternatives));
	for (size_t i = 0; i < a->n_alternatives; i++) {
		const struct json *j = json_at(array, i);

		a->alternatives[i] = (struct service_alternative){
			.piece = json_text(json_get(j, "piece"), ""),
			.word = json_text(json_get(j, "word"), ""),
			.log_prob = json_number(json_get(j, "log_prob"), NAN),
			.prefix = json_text(json_get(j, "prefix"), NULL),
		};
	}
}

/* Compute the bytes of all arrays of an answer; false on overflow. */
static bool sum_answer_bytes(const struct json *root, size_t *bytes)
{
	const struct json *list = json_get(root, "n_best");
	const struct json *sources = json_get(root, "source_parts");
	const size_t n_source = json_len(json_get(root, "source_tokens"));
	size_t n;

	*bytes = 0;
	if (!mem_mul(MAX(json_len(list), (size_t)1), sizeof(struct service_translation), &n))
		return false;
	*bytes += n;
	if (!mem_mul(n_source, sizeof(char *), &n))
		return false;
	*bytes += n;
	if (!mem_mul(json_len(json_get(root, "alternatives")), sizeof(struct service_alternative),
		     &n))
		return false;
	*bytes += n;
	if (!json_len(list))
		return sum_translation(root, sources, n_source, bytes);
	for (size_t i = 0; i < json_len(list); i++)
		if (!sum_translation(json_at(list, i), sources, n_source, bytes))
			return false;
	return true;
}

static int fill_answer_arrays(struct service_answer *a, struct err *e)
{
	const struct json *root = a->tree, *list = json_get(root, "n_best"),
			  *source = json_get(root, "source_tokens"),
			  *sources = json_get(root, "source_parts");
	struct room room;
	size_t bytes;

	if (!sum_answer_bytes(root, &bytes) || !(a->memory = mem_alloc(bytes, 1, e)))
		return err_set(e, ERR_NOMEM, "no memory for the answer");
	room.at = a->memory;
	a->n = MAX(json_len(list), (size_t)1);
	a->translations = carve_array(&room, a->n, sizeof(*a->translations));
	a->n_source = json_len(source);
	a->source = carve_array(&room, a->n_source, sizeof(char *));
	read_texts(source, a->source, a->n_source);
	read_alternatives(json_get(root, "alternatives"), a, &room);
	if (!json_len(list))
		read_translation(root, &a->translations[0], sources, a->n_source, &room);
	for (size_t i = 0; i < json_len(list); i++)
		read_translation(json_at(list, i), &a->translations[i], sources, a->n_source,
				 &room);
	assert(room.at ==
	       (char *)a->memory + bytes); /* sum_answer_bytes() counted the same arrays */
	return 0;
}

int service_answer_read(struct service_answer *a, const char *line, size_t n, struct err *e)
{
	*a = (struct service_answer){ 0 };
	if (!(a->tree = json_parse(line, n, e)))
		return e->code;
	a->id = json_integer(json_get(a->tree, "id"), -1);
	a->error = json_text(json_get(a->tree, "error"), NULL);
	a->truncated = json_boolean(json_get(a->tree, "truncated"), false);
	a->is_long = json_boolean(json_get(a->tree, "long"), false);
	if (a->error)
		return 0;
	if (!json_text(json_get(a->tree, "text"), NULL)) {
		service_answer_free(a);
		return err_set(e, ERR_PROTOCOL, "an answer has neither a text nor an error");
	}
	if (fill_answer_arrays(a, e) || service_answer_add_words(a, e)) {
		service_answer_free(a);
		return e->code;
	}
	return 0;
}

void service_answer_free(struct service_answer *a)
{
	if (a->words)
		free(a->words->memory);
	free(a->words);
	json_free(a->tree);
	free(a->memory);
	*a = (struct service_answer){ 0 };
}
