/* data_queries.c - answers of "data list", "dropped", "vocab" and "split" (see data_command.h) */
#include <assert.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data_command.h"
#include "data/inspect/drop_ledger_read.h"
#include "data/pipeline/piece_trace.h"
#include "data/source/corpus.h"
#include "share/base/file.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/conf/text_facts.h"
#include "share/conf/text_sides.h"
#include "share/format/json.h"
#include "share/workspace/paths.h"

#define JSON_LIMIT	(64u << 20) /* bytes */
#define STEP_BYTES	((size_t)1 << 20)
#define DEFAULT_DROPPED 20 /* rows of "data dropped" without COUNT */

/* Print the answer unless rc is a failure, and free it. */
static int print_and_free(struct buf *out, int rc, struct err *e)
{
	if (!rc)
		rc = file_put_stdout(out, e);
	buf_free(out);
	return rc;
}

/* An empty answer as text would look like a failure: say on stderr that it is empty. */
static void PRINTF_LIKE(2, 3) note_empty_answer(const struct conf *c, const char *fmt, ...)
{
	va_list ap;

	if (c->quiet || c->json)
		return;
	fputs("note: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int data_count_argument(const struct conf *c, int i, const char *what, int64_t low, int64_t *value,
			struct err *e)
{
	if (i >= c->n_arguments || (text_to_int(c->arguments[i], value) && *value >= low))
		return 0;
	return err_set(e, ERR_USAGE, "%s must be a whole number of at least %lld, not '%s'", what,
		       (long long)low, c->arguments[i]);
}

/* The objects of an answer in JSON: a list; under a key, the list of an object. */
static void begin_list(const struct conf *c, struct json_writer *w, const char *key)
{
	if (!c->json)
		return;
	if (!key) {
		json_open(w, '[');
		return;
	}
	json_open(w, '{');
	json_put_open(w, key, '[');
}

static void end_list(const struct conf *c, struct json_writer *w, const char *key)
{
	if (!c->json)
		return;
	json_close(w, ']');
	if (key)
		json_close(w, '}');
	buf_add_char(w->out, '\n');
}

/* ---- list ---- */

/* manifest.json of a corpus, owned by the caller; NULL: not prepared, or damaged. */
static int read_corpus_manifest(struct json **root, const char *folder, struct err *e)
{
	char *path = file_path(e, "%s/manifest.json", folder);
	int rc = path ? json_read_optional(root, path, JSON_LIMIT, e) : e->code;

	free(path);
	return rc;
}

static void list_one_corpus(const char *name, const struct json *m, struct json_writer *w,
			    struct buf *out)
{
	const struct json *pairs = json_get(m, "pairs");
	int64_t train = json_integer(json_get(pairs, "train"), -1),
		vocabulary = json_integer(json_get(m, "vocabulary"), -1);
	const int verdicts = text_corpus_clear_verdicts(m);
	const char *source = json_text(json_get(m, "source_language"), "?"),
		   *target = json_text(json_get(m, "target_language"), "?");

	if (!w->out && !m) {
		buf_printf(out, "%s: not prepared\n", name);
	} else if (!w->out) {
		buf_printf(out, "%s: %s to %s, %s pairs of %s read, vocabulary of %s", name, source,
			   target, COUNT_TEXT(train),
			   COUNT_TEXT(json_integer(json_get(pairs, "read"), -1)),
			   COUNT_TEXT(vocabulary));
		if (verdicts > 0)
			buf_printf(out, ", %d clear verdict%s against it", verdicts,
				   text_plural(verdicts));
		buf_add_char(out, '\n');
	} else {
		json_open(w, '{');
		json_put_strn(w, "name", name, strlen(name));
		json_put_bool(w, "ready", m != NULL);
		json_put_strn(w, "source_language", source, strlen(source));
		json_put_strn(w, "target_language", target, strlen(target));
		json_put_count(w, "read", json_integer(json_get(pairs, "read"), -1));
		json_put_count(w, "train", train);
		json_put_count(w, "dev", json_integer(json_get(pairs, "dev"), -1));
		json_put_count(w, "test", json_integer(json_get(pairs, "test"), -1));
		json_put_count(w, "vocabulary", vocabulary);
		json_put_count(w, "clear_verdicts", verdicts);
		json_close(w, '}');
	}
}

int data_print_corpora(struct conf *c, struct err *e)
{
	char *workspace = paths_existing_workspace(c->workspace, e);
	char *corpora = workspace ? file_path(e, "%s/corpora", workspace) : NULL;
	struct dirent **found = NULL;
	struct buf out = { 0 };
	struct json_writer w = { .out = c->json ? &out : NULL };
	int n = corpora ? scandir(corpora, &found, NULL, alphasort) : 0, rc = corpora ? 0 : e->code;
	int n_corpora = 0;

	begin_list(c, &w, "corpora");
	for (int i = 0; i < n; i++) {
		struct err ignored;
		const bool is_corpus = !paths_check_name("corpus", found[i]->d_name, &ignored);
		char *folder = is_corpus ? file_path(e, "%s/%s", corpora, found[i]->d_name) : NULL;
		struct json *m = NULL;

		n_corpora += is_corpus;
		if (!rc && is_corpus)
			rc = folder ? read_corpus_manifest(&m, folder, e) : e->code;
		if (!rc && is_corpus)
			list_one_corpus(found[i]->d_name, m, &w, &out);
		json_free(m);
		free(folder);
		free(found[i]);
	}
	free(found);
	end_list(c, &w, "corpora");
	if (!rc && !n_corpora) {
		char *program = conf_typed_program(c);

		note_empty_answer(c, "%s: there is no corpus; '%s prep RECIPE' prepares one",
				  corpora, program ? program : "werkbank");
		free(program);
	}
	free(corpora);
	free(workspace);
	return print_and_free(&out, rc, e);
}

/* ---- dropped ---- */

static void dropped_row(const struct drop_row *r, struct json_writer *w, struct buf *out)
{
	if (w->out) {
		json_open(w, '{');
		json_put_strn(w, "file", r->file.text, r->file.n);
		json_put_strn(w, "line", r->line.text, r->line.n);
		json_put_str(w, "rule", clean_rule_name(r->rule));
		json_put_str(w, "meaning", clean_rule_meaning(r->rule));
		json_put_strn(w, "source", r->source.text, r->source.n);
		json_put_strn(w, "target", r->target.text, r->target.n);
		json_close(w, '}');
		return;
	}
	buf_printf(out, "%.*s:%.*s  %s: %s\n  source  ", (int)r->file.n, r->file.text,
		   (int)r->line.n, r->line.text, clean_rule_name(r->rule),
		   clean_rule_meaning(r->rule));
	utf8_repair(out, r->source.text, r->source.n);
	buf_add_str(out, "\n  target  ");
	utf8_repair(out, r->target.text, r->target.n);
	buf_add_char(out, '\n');
}

static void dropped_rules_json(const struct drop_rows *l, struct json_writer *w)
{
	json_open(w, '{');
	json_put_open(w, "dropped", '{');
	for (int rule = CLEAN_KEEP + 1; rule < CLEAN_N_RULES; rule++)
		json_put_count(w, clean_rule_name((enum clean_rule)rule),
			       drop_rows_of_rule(l, (enum clean_rule)rule));
	json_close(w, '}');
	json_put_open(w, "rows", '[');
}

static int unknown_rule_error(const char *rule, struct err *e)
{
	struct buf names = { 0 };

	for (int k = CLEAN_KEEP + 1; k < CLEAN_N_RULES; k++)
		buf_printf(&names, ", %s", clean_rule_name((enum clean_rule)k));
	err_set(e, ERR_USAGE, "there is no rule '%s'; the rules are all%s", rule, buf_text(&names));
	buf_free(&names);
	return e->code;
}

int data_print_dropped(struct conf *c, const char *folder, struct err *e)
{
	const char *rule = c->n_arguments > 2 ? c->arguments[2] : "all";
	char *path = file_path(e, "%s/ledger.tsv", folder);
	struct drop_rows *l = NULL;
	struct buf out = { 0 };
	struct json_writer w = { .out = c->json ? &out : NULL };
	int64_t count = DEFAULT_DROPPED;
	struct drop_row row;
	int rc = path ? 0 : e->code;

	if (!rc && strcmp(rule, "all") && clean_rule_find(rule) == CLEAN_KEEP)
		rc = unknown_rule_error(rule, e);
	if (!rc)
		rc = data_count_argument(c, 3, "COUNT", 1, &count, e);
	if (!rc && !(l = drop_rows_open(path, e)))
		rc = e->code;
	if (!rc)
		drop_rows_filter(l, clean_rule_find(rule), NULL);
	while (!rc && (rc = drop_rows_scan(l, STEP_BYTES, e)) > 0)
		rc = 0;
	if (!rc && c->json)
		dropped_rules_json(l, &w);
	for (size_t i = 0; !rc && i < drop_rows_n(l) && (int64_t)i < count; i++) {
		drop_rows_get(l, i, &row);
		dropped_row(&row, &w, &out);
	}
	if (!rc)
		end_list(c, &w, "rows");
	if (!rc && !drop_rows_n(l) && !strcmp(rule, "all"))
		note_empty_answer(c, "%s: no pair was dropped", path);
	else if (!rc && !drop_rows_n(l))
		note_empty_answer(c, "%s: the rule '%s' dropped no pair", path, rule);
	drop_rows_free(l);
	free(path);
	return print_and_free(&out, rc, e);
}

/* ---- vocab ---- */

/* Open the vocabulary of a side of the corpus. *path: its file, owned by the caller. NULL: failure. */
static struct vocab *open_corpus_vocab(const char *folder, enum pipeline_side side, char **path,
				       struct err *e)
{
	char *recipe = file_path(e, "%s/recipe.ini", folder);
	struct conf corpus = { 0 };
	struct vocab *v = NULL;

	if (recipe && !conf_init(&corpus, e) && !conf_load_recipe(&corpus, recipe, e) &&
	    (*path = file_path(e, "%s/%s", folder, text_vocabulary_file(&corpus, (int)side))))
		v = vocab_open(*path, e);
	conf_free(&corpus);
	free(recipe);
	return v;
}

/* The side that argument i names; without the argument, the source. */
static int side_argument(const struct conf *c, int i, enum pipeline_side *side, struct err *e)
{
	*side = SIDE_SOURCE;
	if (c->n_arguments <= i || !strcmp(c->arguments[i], "source"))
		return 0;
	*side = SIDE_TARGET;
	return strcmp(c->arguments[i], "target")
		       ? err_set(e, ERR_USAGE, "'%s' is neither source nor target", c->arguments[i])
		       : 0;
}

int data_print_vocabulary(struct conf *c, const char *folder, struct err *e)
{
	const char *word = c->n_arguments > 2 ? c->arguments[2] : "";
	const bool has_count = c->n_arguments > 3 && strcmp(c->arguments[3], "source") != 0 &&
			       strcmp(c->arguments[3], "target") != 0;
	enum pipeline_side side;
	char *path = NULL;
	struct vocab *v = side_argument(c, has_count ? 4 : 3, &side, e)
				  ? NULL
				  : open_corpus_vocab(folder, side, &path, e);
	struct buf out = { 0 };
	struct json_writer w = { .out = &out };
	int64_t count = INT64_MAX;
	bool is_empty = true;
	int rc = !v ? e->code : has_count ? data_count_argument(c, 3, "COUNT", 1, &count, e) : 0;

	if (!rc)
		begin_list(c, &w, NULL);
	for (int32_t id = 0; !rc && id < vocab_real_size(v) && count > 0; id++) {
		if (!strstr(vocab_piece(v, id), word))
			continue;
		count--;
		is_empty = false;
		if (!c->json) {
			buf_printf(&out, "%d\t%s\t%lld\n", (int)id, vocab_piece(v, id),
				   (long long)vocab_frequency(v, id));
			continue;
		}
		json_open(&w, '{');
		json_put_count(&w, "id", id);
		json_put_strn(&w, "piece", vocab_piece(v, id), strlen(vocab_piece(v, id)));
		json_put_count(&w, "count", vocab_frequency(v, id));
		json_close(&w, '}');
	}
	if (!rc)
		end_list(c, &w, NULL);
	if (!rc && is_empty)
		note_empty_answer(c, "%s: no entry contains '%s'", path, word);
	vocab_close(v);
	free(path);
	return print_and_free(&out, rc, e);
}

/* ---- split ---- */

static void steps_text(const struct bpe_trace *t, struct buf *out)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct bpe_step *s = &t->steps[i];

		if (s->rank < 0)
			buf_printf(out, "           %s\n", s->symbols);
		else
			buf_printf(out, "  %7d  %s    (%s + %s)\n", s->rank + 1, s->symbols,
				   s->left, s->right);
	}
}

static void steps_json(const struct bpe_trace *t, struct json_writer *w)
{
	json_put_open(w, "steps", '[');
	for (size_t i = 0; i < t->n; i++) {
		const struct bpe_step *s = &t->steps[i];

		json_open(w, '{');
		if (s->rank >= 0) {
			json_put_count(w, "merge", s->rank + 1);
			json_put_strn(w, "left", s->left, strlen(s->left));
			json_put_strn(w, "right", s->right, strlen(s->right));
		}
		json_put_strn(w, "symbols", s->symbols, strlen(s->symbols));
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void word_json(const struct line_pieces *pieces, size_t at, const struct bpe_trace *t,
		      struct json_writer *w)
{
	const struct line_word *word = &pieces->word[at];

	assert(at < pieces->n_words);
	json_open(w, '{');
	json_put_strn(w, "word", buf_text(&pieces->tokens) + word->start, word->len);
	json_put_open(w, "pieces", '[');
	for (size_t i = word->first; i < word->first + word->n; i++) {
		const struct line_piece *p = &pieces->piece[i];

		json_open(w, '{');
		json_put_strn(w, "piece", buf_text(&pieces->pieces) + p->start, p->len);
		json_put_count(w, "id", p->id);
		json_put_count(w, "count", p->count);
		json_close(w, '}');
	}
	json_close(w, ']');
	steps_json(t, w);
	json_close(w, '}');
}

static void word_text(const struct line_pieces *pieces, size_t at, const struct bpe_trace *t,
		      struct buf *out)
{
	const struct line_word *word = &pieces->word[at];

	buf_add(out, buf_text(&pieces->tokens) + word->start, word->len);
	buf_add_str(out, "  =");
	for (size_t i = word->first; i < word->first + word->n; i++)
		buf_printf(out, "  %.*s (id %d, %lld time%s)", (int)pieces->piece[i].len,
			   buf_text(&pieces->pieces) + pieces->piece[i].start,
			   (int)pieces->piece[i].id, (long long)pieces->piece[i].count,
			   text_plural(pieces->piece[i].count));
	buf_add_char(out, '\n');
	steps_text(t, out);
}

int data_print_split(struct conf *c, const char *folder, struct err *e)
{
	struct piece_tracer *tracer = NULL;
	struct line_pieces pieces = { 0 };
	struct bpe_trace trace = { 0 };
	struct buf out = { 0 };
	struct json_writer w = { .out = &out };
	enum pipeline_side side;
	int rc = side_argument(c, 3, &side, e);

	if (!rc && c->n_arguments < 3)
		rc = err_set(e, ERR_USAGE, "data split needs CORPUS and a SENTENCE in quotes");
	if (!rc && !(tracer = piece_tracer_open(folder, e)))
		rc = e->code;
	if (!rc)
		rc = piece_tracer_encode_line(tracer, side, c->arguments[2],
					      strlen(c->arguments[2]), &pieces, e);
	if (!rc)
		begin_list(c, &w, NULL);
	for (size_t i = 0; !rc && i < pieces.n_words; i++) {
		rc = piece_tracer_trace_word(tracer, &pieces, i, &trace, e);
		if (!rc && c->json)
			word_json(&pieces, i, &trace, &w);
		else if (!rc)
			word_text(&pieces, i, &trace, &out);
	}
	if (!rc)
		end_list(c, &w, NULL);
	if (!rc && !pieces.n_words)
		note_empty_answer(c, "the sentence has no words");
	bpe_trace_free(&trace);
	line_pieces_free(&pieces);
	piece_tracer_close(tracer);
	return print_and_free(&out, rc, e);
}
