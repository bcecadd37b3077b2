/* translate.c - the command "translate": reads and translates lines in chunks; see translate.h */
#include "eval/translate/translate.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/pipeline/line_tags.h"
#include "eval/translate/constraint_options.h"
#include "eval/translate/engine.h"
#include "eval/translate/passages.h"
#include "eval/translate/translate_document.h"
#include "eval/translate/word_spans.h"
#include "share/base/file.h"
#include "share/base/lines.h"
#include "share/base/mem.h"
#include "share/base/text.h"

#define CHUNK_LINES 1024 /* lines of a chunk: enough to fill batches of similar length */
#define CHUNK_FIRST 64	 /* the first chunk is small (early output), each further one doubles */

/* Lines read but not yet translated. */
struct chunk {
	struct buf text;	  /* all lines, without line ends */
	size_t ends[CHUNK_LINES]; /* offset of the end of each line in text */
	size_t n;
	int64_t first; /* number of the first line */
};

struct translate {
	struct engine engine;
	struct decode_options options;
	const struct conf *conf; /* borrowed */
	struct constraint_options constraints;
	FILE *out;
	struct chunk chunk;
	struct passages *passages; /* owned */
	struct buf row;
	struct markup
		*markups; /* (CHUNK_LINES) owned: of the lines of a chunk; NULL: without --markup */
	int64_t n_long,
		first_long; /* lines with sentences longer than the training text's; the first */
	int32_t longest;    /* tokens of the longest one */
	int64_t n_untagged; /* lines that begin with no tag of the training text */
	int64_t first_untagged; /* number of the first of these lines */
};

static int cannot_write_translation(const struct translate *t, struct err *e)
{
	return err_set_errno(e, ERR_IO, "%s: the translation cannot be written",
			     t->conf->output ? t->conf->output : "standard output");
}

/* Appends the text of a hypothesis, with the mark-up of its line. */
static int add_text(struct translate *t, const struct markup *m, const struct engine_translation *x,
		    int32_t h, struct err *e)
{
	if (m)
		return segment_write(&t->engine, m, x, h, &t->row, e);
	buf_add_str(&t->row, x->texts[h]);
	return 0;
}

/* m: mark-up of the line; NULL: none. */
static int write_row(struct translate *t, int64_t line, const struct markup *m,
		     const struct engine_translation *x, int32_t h, struct err *e)
{
	const struct decode_hypothesis *y = &x->result.hypotheses[h];

	buf_clear(&t->row);
	if (t->conf->n_best > 1)
		buf_printf(&t->row, "%lld\t", (long long)line);
	if (t->conf->scores)
		buf_printf(&t->row, "%.6f\t", y->score);
	if (add_text(t, m, x, h, e))
		return e->code;
	if (t->conf->alignments) {
		buf_add_char(&t->row, '\t');
		engine_word_alignment(&t->engine, x, h, &t->row);
	}
	buf_add_char(&t->row, '\n');
	if (buf_check(&t->row, e))
		return e->code;
	if (fwrite(t->row.data, 1, t->row.len, t->out) != t->row.len)
		return cannot_write_translation(t, e);
	return 0;
}

/* With --prefix, the text after a tab is the prefix of the translation. */
static struct engine_line parse_input_line(const struct translate *t, const char *text, size_t n,
					   uint64_t number)
{
	const char *tab = t->conf->prefix ? memchr(text, '\t', n) : NULL;
	struct engine_line line = { .text = text, .n = n, .number = number };

	if (tab) {
		line.n = (size_t)(tab - text);
		line.prefix = tab + 1;
		line.n_prefix = n - line.n - 1;
	}
	return line;
}

/* With --markup: the text of a line without its mark-up. */
static int take_markup(struct translate *t, struct engine_line *line, size_t i, struct err *e)
{
	struct markup *m = &t->markups[i];

	if (markup_read(m, MARKUP_LINES, pipeline_protect(t->engine.pipeline), line->text, line->n,
			e))
		return e->code;
	line->text = buf_text(&m->text);
	line->n = m->text.len;
	return 0;
}

static void warn_terms_left(const struct translate *t, size_t i, const struct passage_result *x)
{
	if (x->terms_left > 0 && !t->conf->quiet)
		fprintf(stderr, "werkbank: line %lld has %d terms; only the first %d are used\n",
			(long long)(t->chunk.first + (int64_t)i),
			x->terms_left + DECODE_MAX_PHRASES, DECODE_MAX_PHRASES);
}

static void warn_truncated(const struct translate *t, size_t i, const struct passage_result *x)
{
	const int64_t capacity = t->engine.capacity;
	char cure[80] = "";

	if (!x->joined.result.truncated || t->conf->quiet)
		return;
	if (capacity == t->conf->decode_tokens / t->conf->beam) /* else the model's positions end */
		snprintf(cure, sizeof(cure), ": give --decode-tokens %lld",
			 (x->longest + 1LL) * (long long)t->conf->beam);
	fprintf(stderr,
		"werkbank: line %lld has a sentence of %d tokens; only the first %lld are "
		"translated%s\n",
		(long long)(t->chunk.first + (int64_t)i), x->longest, (long long)capacity - 1,
		cure);
}

/* Sentences that are longer than all of the training text are often translated in part only. */
static void count_long_line(struct translate *t, size_t i, const struct passage_result *x)
{
	if (t->engine.state.longest <= 0 || x->longest <= t->engine.state.longest)
		return;
	if (!t->n_long++)
		t->first_long = t->chunk.first + (int64_t)i;
	t->longest = MAX(t->longest, x->longest);
}

static void warn_long(const struct translate *t)
{
	if (t->n_long && !t->conf->quiet)
		fprintf(stderr,
			"werkbank: warning: %lld line%s with a sentence that is longer than all of "
			"the "
			"training text (up to %d tokens; the model has seen at most %d), the first "
			"is "
			"line %lld: words may be missing in the translation\n",
			(long long)t->n_long, t->n_long == 1 ? "" : "s", t->longest,
			t->engine.state.longest, (long long)t->first_long);
}

/* Does every line of the training text have a tag, and this line none of them? */
static bool lacks_tag(const struct conf *c, const struct engine_line *line)
{
	const struct conf_list *tags = &c->train_tags;
	size_t bytes;
	const char *tag = line_tag_find(c, line->text, line->n, &bytes);
	bool is_blank = true, is_known = false;

	for (size_t i = 0; i < line->n; i++)
		is_blank &= isspace((unsigned char)line->text[i]) != 0;
	for (size_t i = 0; i < tags->n; i++) {
		if (line_tag_is_none(tags->items[i]))
			return false;
		is_known |= !strcmp(tags->items[i], tag);
	}
	return tags->n > 0 && !is_known && !is_blank;
}

static void count_untagged_line(struct translate *t, size_t i, const struct engine_line *line)
{
	if (lacks_tag(t->engine.conf, line) && !t->n_untagged++)
		t->first_untagged = t->chunk.first + (int64_t)i;
}

static void warn_untagged(const struct translate *t)
{
	struct buf tags = { 0 };

	if (!t->n_untagged || t->conf->quiet)
		return;
	line_tags_list(t->engine.conf, &tags);
	fprintf(stderr,
		"werkbank: warning: %lld line%s without a tag of the training text, the first is "
		"line %lld: begin each line with one of%s, or the language of its translation is "
		"left to chance\n",
		(long long)t->n_untagged, t->n_untagged == 1 ? "" : "s",
		(long long)t->first_untagged, buf_text(&tags));
	buf_free(&tags);
}

static int flush_chunk(struct translate *t, struct err *e)
{
	struct chunk *c = &t->chunk;
	struct passage_line *lines;
	struct passage_result *results;
	int rc = 0;

	assert(c->n <= CHUNK_LINES);
	if (c->n == 0)
		return 0;
	lines = mem_alloc(c->n, sizeof(*lines), e);
	results = lines ? mem_alloc(c->n, sizeof(*results), e) : NULL;
	if (!results) {
		free(lines);
		return e->code;
	}
	for (size_t i = 0, at = 0; i < c->n; at = c->ends[i++])
		lines[i] = (struct passage_line){ .line = parse_input_line(
							  t, buf_text(&c->text) + at,
							  c->ends[i] - at, (uint64_t)c->first + i),
						  .terms = t->constraints.terms };
	for (size_t i = 0; t->markups && i < c->n && !rc; i++)
		rc = take_markup(t, &lines[i].line, i, e);
	if (rc)
		memset(results, 0, c->n * sizeof(*results));
	else
		rc = passages_translate(t->passages, &t->options, lines, c->n, results, e);
	for (size_t i = 0; i < c->n && !rc; i++) {
		const struct decode_result *r = &results[i].joined.result;

		warn_terms_left(t, i, &results[i]);
		warn_truncated(t, i, &results[i]);
		count_long_line(t, i, &results[i]);
		count_untagged_line(t, i, &lines[i].line);
		for (int32_t h = 0; h < r->n && !rc; h++)
			rc = write_row(t, c->first + (int64_t)i, t->markups ? &t->markups[i] : NULL,
				       &results[i].joined, h, e);
	}
	if (!rc && fflush(t->out))
		rc = cannot_write_translation(t, e);
	passages_results_free(results, c->n);
	free(results);
	free(lines);
	c->n = 0;
	buf_clear(&c->text);
	return rc;
}

static void print_prompt(const struct translate *t)
{
	fprintf(stderr, "%s> ", t->conf->source_language);
	fflush(stderr);
}

static int translate_lines(struct translate *t, struct lines *in, bool interactive, struct err *e)
{
	size_t at_once = interactive ? 1 : CHUNK_FIRST;
	int got;

	if (interactive)
		print_prompt(t);
	while ((got = lines_next(in, e)) > 0) {
		struct chunk *c = &t->chunk;
		if (c->n == 0)
			c->first = in->number;
		buf_add(&c->text, in->text, in->len);
		if (buf_check(&c->text, e))
			return e->code;
		c->ends[c->n++] = c->text.len;
		if (c->n == at_once) {
			if (flush_chunk(t, e))
				return e->code;
			at_once = interactive ? 1 : MIN(2 * at_once, (size_t)CHUNK_LINES);
		}
		if (interactive)
			print_prompt(t);
	}
	if (interactive && got == 0)
		fputc('\n', stderr);
	if (got == 0)
		return flush_chunk(t, e);
	/* an invalid line: translate the lines before it, then report the error */
	flush_chunk(t, &(struct err){ 0 });
	return got;
}

static int run_translation(struct translate *t, struct conf *c, struct err *e)
{
	const char *path = c->n_arguments > 0 ? c->arguments[0] : "-";
	bool interactive =
		!strcmp(path, "-") && !c->output && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	struct outfile file = { 0 };
	struct lines in;
	int rc;

	if (lines_open(&in, path, e))
		return e->code;
	in.repair = c->repair;
	in.drops_mark = true;
	if (c->output && outfile_open(&file, c->output, e)) {
		lines_close(&in);
		return e->code;
	}
	t->out = c->output ? file.stream : stdout;
	rc = translate_lines(t, &in, interactive, e);
	lines_close(&in);
	return outfile_finish(&file, rc, e);
}

/* A document goes to --output, or to standard output. */
static int run_document(struct translate *t, const struct docfile_format *format,
			const struct conf *c, struct err *e)
{
	const char *path = c->n_arguments > 0 ? c->arguments[0] : "-";
	struct outfile file = { 0 };
	int rc;

	if (c->output && outfile_open(&file, c->output, e))
		return e->code;
	t->out = c->output ? file.stream : stdout;
	rc = document_translate(t->passages, &t->engine, &t->options, t->constraints.terms, format,
				strcmp(path, "-") ? path : NULL, t->out, e);
	if (!rc && (fflush(t->out) || ferror(t->out)))
		rc = cannot_write_translation(t, e);
	return outfile_finish(&file, rc, e);
}

int translate_run(struct conf *c, struct err *e)
{
	const struct docfile_format *format;
	struct translate *t = mem_alloc(1, sizeof(*t), e);
	int rc;

	if (!t)
		return e->code;
	t->conf = c;
	rc = document_format_wanted(c, &format, e);
	if (!rc)
		rc = engine_open(&t->engine, c, ENGINE_TRANSLATE, e);
	if (!rc)
		rc = decode_options_from_conf(&t->options, c, e);
	if (!rc)
		rc = constraint_options_open(&t->constraints, &t->engine, c, e);
	t->options.forbid = t->constraints.forbid;
	t->options.alignments |= c->markup;
	if (!rc && !(t->passages = passages_new(&t->engine, c, e)))
		rc = e->code;
	if (!rc && c->markup && !(t->markups = mem_alloc(CHUNK_LINES, sizeof(*t->markups), e)))
		rc = e->code;
	if (!rc)
		rc = format ? run_document(t, format, c, e) : run_translation(t, c, e);
	warn_long(t);
	warn_untagged(t);
	if (!rc && !c->quiet && model_count_slow_products(t->engine.models[0].model))
		fprintf(stderr, "werkbank: warning: " MODEL_SLOW_PRODUCTS "\n");
	constraint_options_close(&t->constraints);
	passages_free(t->passages);
	engine_close(&t->engine);
	buf_free(&t->chunk.text);
	buf_free(&t->row);
	for (size_t i = 0; t->markups && i < CHUNK_LINES; i++)
		markup_free(&t->markups[i]);
	free(t->markups);
	free(t);
	return rc;
}
