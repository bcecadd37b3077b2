/* heldout_slices.c - evaluation by several processes, a slice each; see heldout.h */
#include "eval/evaluate/heldout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/line_tags.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/lines.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/format/json.h"

static const struct {
	const char *name;
	int64_t sample;
} SHARDS[] = { { "dev.shard", 0 }, { "train.shard", HELDOUT_TRAIN_SAMPLE } }; /* 0: all pairs */

static void open_json_line(struct json_writer *w, const char *kind)
{
	json_open(w, '{');
	json_put_str(w, "kind", kind);
}

static void close_json_line(struct json_writer *w)
{
	json_close(w, '}');
	buf_add_char(w->out, '\n');
	w->need_comma = false;
}

/* ---- one slice --------------------------------------------------------- */

static int read_slice(const char *text, struct heldout_slice *s, struct err *e)
{
	const char *slash = strchr(text, '/');
	char index[24];
	size_t n = slash ? (size_t)(slash - text) : 0;

	if (slash && n < sizeof(index)) {
		memcpy(index, text, n);
		index[n] = 0;
		if (text_to_int(index, &s->index) && text_to_int(slash + 1, &s->count) &&
		    s->index >= 0 && s->count > s->index)
			return 0;
	}
	return err_set(e, ERR_USAGE, "--slice \"%s\": write I/N with I from 0 to N - 1", text);
}

static void write_hypothesis_lines(const struct heldout *h, struct heldout_slice slice,
				   struct json_writer *w)
{
	for (int64_t i = slice.index; i < h->n; i += slice.count) {
		open_json_line(w, "hypothesis");
		json_put_int(w, "id", i);
		json_put_str(w, "text", h->hypotheses[i]);
		close_json_line(w);
	}
	open_json_line(w, "decoded");
	json_put_int(w, "tokens", h->tokens);
	json_put_real(w, "seconds", h->seconds);
	close_json_line(w);
}

static void write_batch_lines(const struct heldout_batches *b, const char *shard,
			      struct json_writer *w)
{
	for (int64_t i = 0; i < b->n; i++) {
		if (b->tokens[i] < 0)
			continue;
		open_json_line(w, "batch");
		json_put_str(w, "shard", shard);
		json_put_int(w, "n", i);
		json_put_real(w, "nll", b->nll[i]);
		json_put_int(w, "tokens", b->tokens[i]);
		if (*b->tags[i])
			json_put_str(w, "tag", b->tags[i]);
		close_json_line(w);
	}
	open_json_line(w, "batches");
	json_put_str(w, "shard", shard);
	json_put_int(w, "n", b->n);
	close_json_line(w);
}

static int evaluate_slice(struct heldout *h, const void *arg, struct buf *out, struct err *e)
{
	const struct heldout_slice slice = *(const struct heldout_slice *)arg;
	struct json_writer w = { .out = out };
	int rc = heldout_translate(h, slice, false, e);

	if (rc)
		return rc;
	write_hypothesis_lines(h, slice, &w);
	for (size_t i = 0; !rc && i < ARRAY_LEN(SHARDS); i++) {
		struct heldout_batches b = { 0 };

		rc = heldout_measure(h, SHARDS[i].name, SHARDS[i].sample, slice, &b, e);
		if (!rc)
			write_batch_lines(&b, SHARDS[i].name, &w);
		heldout_batches_free(&b);
	}
	open_json_line(&w, "slice");
	json_put_int(&w, "step", h->engine->state.step);
	json_put_int(&w, "index", slice.index);
	json_put_int(&w, "count", slice.count);
	close_json_line(&w);
	return rc;
}

int heldout_run_slice(struct conf *c, struct err *e)
{
	struct heldout_slice slice;

	if (read_slice(c->slice, &slice, e))
		return e->code;
	return heldout_print_dev(c, evaluate_slice, &slice, e);
}

/* ---- merging all slices ------------------------------------------------ */

struct slice_merge {
	struct engine engine; /* its weights are opened only if something is missing */
	bool is_open;
	struct heldout h;
	struct heldout_batches shards[ARRAY_LEN(SHARDS)];
	int64_t lengths[ARRAY_LEN(SHARDS)]; /* number of batches; -1: no slice has reported it */
	double seconds;			    /* decoding time of the slowest slice */
	int64_t shares;			    /* complete slices */
};

static int merge_hypothesis(struct heldout *h, const struct json *line, struct err *e)
{
	int64_t id = json_integer(json_get(line, "id"), -1);
	const char *text = json_text(json_get(line, "text"), NULL);

	if (id < 0 || id >= h->n || !text || h->hypotheses[id])
		return 0;
	h->hypotheses[id] = mem_strdup(text, e);
	return h->hypotheses[id] ? 0 : e->code;
}

/* Merges a line "batch", or "batches" if is_length. */
static void merge_batch(struct slice_merge *m, const struct json *line, bool is_length)
{
	const char *shard = json_text(json_get(line, "shard"), "");
	int64_t n = json_integer(json_get(line, "n"), -1);
	int64_t tokens = json_integer(json_get(line, "tokens"), -1);
	double nll = json_number(json_get(line, "nll"), NAN);
	const char *text = json_text(json_get(line, "tag"), "");
	size_t bytes;
	const char *tag = line_tag_find(m->engine.conf, text, strlen(text), &bytes);

	for (size_t i = 0; i < ARRAY_LEN(SHARDS); i++)
		if (!strcmp(shard, SHARDS[i].name)) {
			if (is_length)
				m->lengths[i] = n;
			else if (tokens >= 0) /* nll may be NAN: the model has diverged */
				heldout_set_batch(&m->shards[i], n, nll, tokens, tag);
		}
}

static int merge_line(struct slice_merge *m, const char *text, size_t n, struct err *e)
{
	struct json *line = json_parse(text, n, e);
	const char *kind = json_text(json_get(line, "kind"), "");
	int rc = 0;

	if (!line) { /* a slice that was killed while writing: evaluate_missing() does the rest */
		e->code = 0;
	} else if (!strcmp(kind, "hypothesis")) {
		rc = merge_hypothesis(&m->h, line, e);
	} else if (!strcmp(kind, "batch") || !strcmp(kind, "batches")) {
		merge_batch(m, line, !strcmp(kind, "batches"));
	} else if (!strcmp(kind, "decoded")) {
		m->h.tokens += json_integer(json_get(line, "tokens"), 0);
		m->seconds = fmax(m->seconds, json_number(json_get(line, "seconds"), 0));
	} else if (!strcmp(kind, "slice")) {
		m->shares++;
	}
	json_free(line);
	return rc;
}

static int read_parts(struct slice_merge *m, const char *path, struct err *e)
{
	struct lines in;
	int got;

	if (lines_open_file(&in, path, e))
		return e->code;
	while ((got = lines_next(&in, e)) > 0)
		if (merge_line(m, in.text, in.len, e)) {
			got = e->code;
			break;
		}
	lines_close(&in);
	return MIN(got, 0);
}

/* Opens the model at its first use: if no slice is missing, weights are not needed. */
static int open_engine_once(struct slice_merge *m, struct conf *c, struct err *e)
{
	if (m->is_open)
		return 0;
	free(m->engine.models[0].folder);
	m->is_open = true;
	return heldout_open_engine(&m->engine, c, e);
}

static int evaluate_missing(struct slice_merge *m, struct conf *c, struct err *e)
{
	const struct heldout_slice all = { 0, 1 };
	bool is_missing = false;

	for (int64_t i = 0; i < m->h.n; i++)
		is_missing |= !m->h.hypotheses[i];
	if (is_missing && (open_engine_once(m, c, e) || heldout_translate(&m->h, all, false, e)))
		return e->code;
	for (size_t s = 0; s < ARRAY_LEN(SHARDS); s++) {
		struct heldout_batches *b = &m->shards[s];

		is_missing = m->lengths[s] < 0 || m->lengths[s] != b->n;
		for (int64_t i = 0; i < b->n; i++)
			is_missing |= b->tokens[i] < 0;
		if (!is_missing)
			continue;
		if (open_engine_once(m, c, e) ||
		    heldout_measure(&m->h, SHARDS[s].name, SHARDS[s].sample, all, b, e))
			return e->code;
	}
	return 0;
}

/* Opens the recipe and state of the checkpoint and the development set, without weights. */
static int open_without_weights(struct slice_merge *m, struct conf *c, struct err *e)
{
	struct engine *g = &m->engine;
	char *recipe;
	int rc;

	g->conf = c;
	g->n_models = 1;
	g->models[0].folder = ckpt_resolve(c, e);
	if (!g->models[0].folder || ckpt_read_state(g->models[0].folder, false, &g->state, e))
		return e->code;
	recipe = file_path(e, "%s/recipe.ini", g->models[0].folder);
	rc = recipe ? conf_load_recipe(c, recipe, e) : e->code;
	free(recipe);
	if (!rc)
		rc = engine_choose_format(c, &g->state, true, e);
	return rc ? rc : heldout_open(&m->h, g, "dev", c->eval_sentences, e);
}

int heldout_run_parts(struct conf *c, struct err *e)
{
	struct slice_merge m = { .lengths = { -1, -1 } };
	struct buf text = { 0 };
	double start = clock_mono_s(), nll[ARRAY_LEN(SHARDS)];
	int64_t tokens;
	int rc = open_without_weights(&m, c, e);

	if (!rc)
		rc = read_parts(&m, c->parts, e);
	if (!rc)
		rc = evaluate_missing(&m, c, e);
	if (!rc)
		rc = heldout_score(&m.h, e);
	heldout_tags_nll(&m.h, &m.shards[0]);
	for (size_t i = 0; i < ARRAY_LEN(SHARDS); i++) {
		nll[i] = heldout_mean(&m.shards[i], &tokens);
		heldout_batches_free(&m.shards[i]);
	}
	m.h.seconds = fmax(m.seconds, m.h.seconds);
	m.h.shares = m.shares;

	if (!rc) {
		heldout_records(&m.h, nll[0], nll[1], clock_mono_s() - start, &text);
		rc = file_put_stdout(&text, e);
	}
	buf_free(&text);
	heldout_close(&m.h);
	engine_close(&m.engine);
	return rc;
}
