/* tools.c - the pipe tools: Moses tools, clean, BPE, SentencePiece (see tools.h) */
#include "data/tools.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/sentencepiece/sp.h"
#include "data/subword/bpe.h"
#include "data/text/clean.h"
#include "data/text/tokenize.h"
#include "share/base/file.h"
#include "share/base/flow.h"
#include "share/base/hash.h"
#include "share/base/line_flow.h"
#include "share/base/lines.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

/* ---- output ---- */

struct tool_sink {
	struct outfile file; /* stream NULL: standard output */
	FILE *stream;
};

static int tool_sink_open(struct tool_sink *s, const struct conf *c, struct err *e)
{
	*s = (struct tool_sink){ .stream = stdout };
	if (!c->output)
		return 0;
	if (outfile_open(&s->file, c->output, e))
		return e->code;
	s->stream = s->file.stream;
	return 0;
}

/* rc: result of the work. Commits the output file if rc is 0, else discards it. */
static int tool_sink_close(struct tool_sink *s, int rc, struct err *e)
{
	rc = outfile_finish(&s->file, rc, e);
	return rc == 0 && s->stream == stdout ? file_flush_stdout(e) : rc;
}

/* Appends the LF to line first, so that one fwrite() is enough. */
static int tool_write_line(FILE *to, struct buf *line, struct err *e)
{
	buf_add_char(line, '\n');
	if (buf_check(line, e))
		return e->code;
	if (fwrite(line->data, 1, line->len, to) != line->len)
		return err_set_errno(e, ERR_IO, "the output cannot be written");
	return 0;
}

/* ---- line filters ---- */

struct tool_pool {
	const struct data_tool *kind;
	const struct conf *conf;
	struct protect *protect; /* owned; NULL: none */
	void **tools;		 /* owned: one for each worker, made on its first line */
	struct tool_mask {
		struct protect_masked line;
		struct buf out;
	} * masks; /* owned: one for each worker */
	struct tool_sink sink;
};

/* The one FILE of the command; NULL: standard input. */
static int one_argument(const struct conf *c, const char **path, struct err *e)
{
	if (c->n_arguments > 1)
		return err_set(e, ERR_USAGE, "expected one FILE, not %d (\"%s\" is the second)",
			       c->n_arguments, c->arguments[1]);
	*path = c->n_arguments ? c->arguments[0] : NULL;
	return 0;
}

/* Filter a line; the tool does not see protected symbols if its kind says so. */
static int tool_run_masked(struct tool_pool *t, int worker, const char *text, size_t n,
			   struct buf *out, struct err *e)
{
	const enum tool_masking masking = t->kind->masking;
	struct tool_mask *m = &t->masks[worker];

	if (masking == MASK_NOTHING)
		return t->kind->line(t->tools[worker], text, n, out, e);
	if (protect_mask(t->protect, masking == MASK_TEXT ? PROTECT_ANYWHERE : PROTECT_WORDS, text,
			 n, &m->line, e))
		return e->code;
	if (!m->line.n)
		return t->kind->line(t->tools[worker], text, n, out, e);
	buf_clear(&m->out);
	if (t->kind->line(t->tools[worker], m->line.line, m->line.n_line, &m->out, e))
		return e->code;
	return protect_unmask(t->protect, &m->line, buf_text(&m->out), m->out.len, out, e);
}

static int tool_run_line(void *context, int worker, const char *text, size_t n, struct buf *out,
			 struct err *e)
{
	struct tool_pool *t = context;
	void **tool = &t->tools[worker];

	if (!*tool)
		*tool = t->kind->make(t->conf, t->protect, t->tools[0], e);
	if (!*tool || tool_run_masked(t, worker, text, n, out, e))
		return e->code;
	buf_add_char(out, '\n');
	return 0;
}

static int tool_write_block(void *context, const struct buf *out, bool is_waiting, struct err *e)
{
	FILE *to = ((struct tool_pool *)context)->sink.stream;

	if (fwrite(out->data, 1, out->len, to) != out->len || (is_waiting && fflush(to)))
		return err_set_errno(e, ERR_IO, "the output cannot be written");
	return 0;
}

/* Filter each line of the command's FILE (or standard input) to c->output (or standard output). */
static int tool_each_line(const struct conf *c, const struct data_tool *kind, struct err *e)
{
	struct tool_pool t = { .kind = kind, .conf = c };
	struct line_flow f = { tool_run_line, tool_write_block, &t, c->repair,
			       flow_threads((int)c->threads) };
	const char *path = NULL;
	int rc = one_argument(c, &path, e);

	if (rc)
		return rc;
	rc = protect_open(&t.protect, c->protect.items, c->protect.n, e);
	if (rc)
		return rc;
	t.tools = mem_alloc((size_t)f.threads, sizeof(*t.tools), e);
	t.masks = t.tools ? mem_alloc((size_t)f.threads, sizeof(*t.masks), e) : NULL;
	/* The first tool is made here: it reports wrong options even if there are no lines. */
	if (t.masks)
		t.tools[0] = kind->make(c, t.protect, NULL, e);
	rc = t.masks && t.tools[0] ? tool_sink_open(&t.sink, c, e) : e->code;
	if (!rc)
		rc = tool_sink_close(&t.sink, line_flow_run(&f, path, e), e);
	for (int i = f.threads; t.masks && i-- > 0;) {
		kind->free(t.tools[i]);
		protect_masked_free(&t.masks[i].line);
		buf_free(&t.masks[i].out);
	}
	free(t.tools);
	free(t.masks);
	protect_close(t.protect);
	return rc;
}

/* A SentencePiece model, and how sp-apply splits with it. */
struct sp_tool {
	struct sp *sp;	 /* owned */
	double sampling; /* above 0: a random split, see sp_sample_line() */
	size_t n_best;	 /* above 1: number of splits; a random one is drawn among them */
	uint64_t seed;
};

static int sp_tool_line(void *tool, const char *line, size_t n, struct buf *out, struct err *e)
{
	const struct sp_tool *t = tool;
	uint64_t hash;

	if (t->sampling > 0) {
		hash = hash_bytes(line, n);
		return sp_sample_line(
			t->sp, line, n, t->sampling, t->n_best,
			rng_key_make(t->seed, RNG_PIECES, (uint32_t)hash, (uint32_t)(hash >> 32)),
			out, e);
	}
	if (t->n_best <= 1)
		return sp_apply_line(t->sp, line, n, out, e);
	if (sp_best_lines(t->sp, line, n, t->n_best, out, e))
		return e->code;
	buf_truncate(out, out->len - 1); /* the last newline is added by the caller */
	return 0;
}

static void sp_tool_close(void *tool)
{
	struct sp_tool *t = tool;

	if (!t)
		return;
	sp_close(t->sp);
	free(t);
}

/* run_NAME() and free_NAME(): the functions `process` and `release` of a tool, as functions of any tool. */
#define LINE_FUNCTIONS(name, process, release)                                                     \
	static int run_##name(void *tool, const char *line, size_t n, struct buf *out,             \
			      struct err *e)                                                       \
	{                                                                                          \
		return process(tool, line, n, out, e);                                             \
	}                                                                                          \
	static void free_##name(void *tool)                                                        \
	{                                                                                          \
		release(tool);                                                                     \
	}

LINE_FUNCTIONS(tokenizer, tokenizer_line, tokenizer_free)
LINE_FUNCTIONS(detokenizer, detokenizer_line, detokenizer_free)
LINE_FUNCTIONS(normalizer, normalizer_line, normalizer_free)
LINE_FUNCTIONS(bpe, bpe_apply_line, bpe_close)
LINE_FUNCTIONS(sp, sp_tool_line, sp_tool_close)
LINE_FUNCTIONS(sp_undo, sp_undo_line, sp_close)

static void *make_tokenizer(const struct conf *c, const struct protect *p, void *first,
			    struct err *e)
{
	struct tokenizer_options o = {
		.language = c->language,
		.escape = c->escape,
		.aggressive = c->aggressive,
	};

	(void)p;
	(void)first;
	return tokenizer_new(&o, e);
}

static void *make_detokenizer(const struct conf *c, const struct protect *p, void *first,
			      struct err *e)
{
	(void)p;
	(void)first;
	return detokenizer_new(c->language, e);
}

static void *make_normalizer(const struct conf *c, const struct protect *p, void *first,
			     struct err *e)
{
	(void)p;
	(void)first;
	return normalizer_new(c->language, e);
}

/* ---- pairs ---- */

/* The files of clean. */
struct clean_files {
	struct lines source, target;
	struct outfile out_source, out_target;
	struct drop_ledger *ledger; /* owned; NULL: none was asked for */
	struct protect *protect;    /* owned; NULL: none */
	struct tool_mask masks[2];  /* of source and target */
	struct buf text;	    /* of the side that is written */
	int64_t counts[CLEAN_N_RULES];
};

static int clean_open(struct clean_files *f, const struct conf *c, struct err *e)
{
	if (c->n_arguments < 4 || c->n_arguments > 5)
		return err_set(e, ERR_USAGE,
			       "expected four or five files, SOURCE TARGET OUT-SOURCE OUT-TARGET "
			       "[LEDGER]; "
			       "the command names %d file%s",
			       c->n_arguments, text_plural(c->n_arguments));
	if (lines_open(&f->source, c->arguments[0], e) ||
	    lines_open(&f->target, c->arguments[1], e) ||
	    outfile_open(&f->out_source, c->arguments[2], e) ||
	    outfile_open(&f->out_target, c->arguments[3], e))
		return e->code;
	if (c->n_arguments == 5) {
		f->ledger = drop_ledger_create(c->arguments[4], e);
		if (!f->ledger)
			return e->code;
	}
	f->source.repair = f->target.repair = c->repair;
	return protect_open(&f->protect, c->protect.items, c->protect.n, e);
}

static int clean_record_drop(struct clean_files *f, const char *name, enum clean_rule rule,
			     struct err *e)
{
	struct dropped_pair line = { .file = name,
				     .line = f->source.number,
				     .rule = rule,
				     .source = f->source.text,
				     .n_source = f->source.len,
				     .target = f->target.text,
				     .n_target = f->target.len };

	return f->ledger ? drop_ledger_add(f->ledger, &line, e) : 0;
}

static int clean_write_pair(struct clean_files *f, struct err *e)
{
	FILE *const to[] = { f->out_source.stream, f->out_target.stream };

	for (size_t i = 0; i < ARRAY_LEN(to); i++) {
		struct tool_mask *m = &f->masks[i];

		buf_clear(&f->text);
		if (protect_unmask(f->protect, &m->line, buf_text(&m->out), m->out.len, &f->text,
				   e) ||
		    tool_write_line(to[i], &f->text, e))
			return e->code;
	}
	return 0;
}

/* The rules do not see protected symbols: for them each is a word, or a part of one, of a single character. */
static int clean_next_pair(struct clean_files *f, struct clean_options *o, const char *name,
			   struct err *e)
{
	const struct protect_masked *source = &f->masks[0].line, *target = &f->masks[1].line;
	enum clean_rule rule;

	assert(f->source.number == f->target.number);
	if (protect_mask(f->protect, PROTECT_ANYWHERE, f->source.text, f->source.len,
			 &f->masks[0].line, e) ||
	    protect_mask(f->protect, PROTECT_ANYWHERE, f->target.text, f->target.len,
			 &f->masks[1].line, e))
		return e->code;
	if (f->source.number == 1)
		o->factored = clean_is_factored(source->line, source->n_line, target->line,
						target->n_line);
	rule = clean_pair(o, source->line, source->n_line, target->line, target->n_line,
			  &f->masks[0].out, &f->masks[1].out);
	if (buf_check(&f->masks[0].out, e) || buf_check(&f->masks[1].out, e))
		return e->code;
	f->counts[rule]++;
	return rule == CLEAN_KEEP ? clean_write_pair(f, e) : clean_record_drop(f, name, rule, e);
}

static int clean_all(struct clean_files *f, const struct conf *c, struct err *e)
{
	struct clean_options o = {
		.min_words = c->min_words,
		.max_words = c->max_words,
		.max_word_chars = c->max_word_chars,
		.max_ratio = c->max_ratio,
	};

	if (o.min_words > o.max_words)
		return err_set(e, ERR_USAGE,
			       "--min-words %lld is more than --max-words %lld: no pair could be "
			       "kept",
			       (long long)o.min_words, (long long)o.max_words);
	for (;;) {
		int a = lines_next(&f->source, e), b = a < 0 ? 0 : lines_next(&f->target, e);

		if (a < 0 || b < 0)
			return e->code;
		if (a != b)
			return err_set(e, ERR_DATA,
				       "%s ends after line %lld, but %s has more lines; "
				       "both sides must have the same number of lines",
				       c->arguments[a ? 1 : 0],
				       (long long)(a ? f->target : f->source).number,
				       c->arguments[a ? 0 : 1]);
		if (a == 0)
			return 0;
		if (clean_next_pair(f, &o, c->arguments[0], e))
			return e->code;
	}
}

static void clean_report(const struct clean_files *f)
{
	int64_t dropped = 0;

	for (int r = CLEAN_KEEP + 1; r < CLEAN_N_RULES; r++)
		dropped += f->counts[r];
	fprintf(stderr, "%lld pair%s kept, %lld dropped", (long long)f->counts[CLEAN_KEEP],
		text_plural(f->counts[CLEAN_KEEP]), (long long)dropped);
	for (int r = CLEAN_KEEP + 1; r < CLEAN_N_RULES; r++)
		if (f->counts[r])
			fprintf(stderr, ", %s %lld", clean_rule_name((enum clean_rule)r),
				(long long)f->counts[r]);
	fputc('\n', stderr);
}

static int tool_clean(const struct conf *c, struct err *e)
{
	struct clean_files f = { 0 };
	int rc = clean_open(&f, c, e);

	if (!rc)
		rc = clean_all(&f, c, e);
	/* commit the ledger first: the output must not appear without it */
	if (!rc && f.ledger) {
		rc = drop_ledger_finish(f.ledger, e);
		f.ledger = NULL;
	}
	if (!rc)
		rc = outfile_commit(&f.out_source, e);
	if (!rc)
		rc = outfile_commit(&f.out_target, e);
	if (!rc && !c->quiet)
		clean_report(&f);
	drop_ledger_cancel(f.ledger);
	outfile_abandon(&f.out_source);
	outfile_abandon(&f.out_target);
	lines_close(&f.source);
	lines_close(&f.target);
	for (size_t i = 0; i < ARRAY_LEN(f.masks); i++) {
		protect_masked_free(&f.masks[i].line);
		buf_free(&f.masks[i].out);
	}
	protect_close(f.protect);
	buf_free(&f.text);
	return rc;
}

/* File number i to learn from; NULL, for standard input, if the command names none. */
static const char *nth_file(const struct conf *c, int i)
{
	return i < c->n_arguments ? c->arguments[i] : NULL;
}

/* ---- BPE ---- */

static int bpe_learn_files(const struct conf *c, struct err *e)
{
	struct word_counter *l = word_counter_new(e);
	struct protect *p = NULL;
	struct tool_sink sink;
	int64_t learned = 0;
	int rc = l ? protect_open(&p, c->protect.items, c->protect.n, e) : e->code,
	    threads = flow_threads((int)c->threads);

	for (int i = 0; !rc && i < MAX(c->n_arguments, 1); i++)
		rc = bpe_count_file(l, nth_file(c, i), p, c->repair, threads, e);
	if (!rc)
		rc = tool_sink_open(&sink, c, e);
	if (!rc) {
		rc = bpe_learn(l, c->merges, c->min_frequency, sink.stream, &learned, e);
		rc = tool_sink_close(&sink, rc, e);
	}
	if (!rc && !c->quiet && learned < c->merges)
		fprintf(stderr,
			"learned %lld of %lld merges: no other pair of symbols occurs %lld "
			"time%s\n",
			(long long)learned, (long long)c->merges, (long long)c->min_frequency,
			text_plural(c->min_frequency));
	word_counter_free(l);
	protect_close(p);
	return rc;
}

static void *make_bpe(const struct conf *c, const struct protect *p, void *first, struct err *e)
{
	struct bpe *b;

	if (first)
		return bpe_open_shared(first, e);
	if (!c->codes) {
		err_set(e, ERR_USAGE, "the file of BPE codes is missing: give it with -c FILE");
		return NULL;
	}
	b = bpe_open(c->codes, e);
	if (!b)
		return NULL;
	bpe_protect(b, p, PROTECT_ANYWHERE);
	if (!bpe_set_separator(b, c->separator, e) &&
	    (!c->vocabulary || !bpe_limit_vocabulary(b, c->vocabulary, c->threshold, e)))
		return b;
	bpe_close(b);
	return NULL;
}

static void *make_bpe_separator(const struct conf *c, const struct protect *p, void *first,
				struct err *e)
{
	(void)p;
	(void)first;
	return mem_strdup(c->separator, e);
}

static int tool_bpe_undo_line(void *tool, const char *line, size_t n, struct buf *out,
			      struct err *e)
{
	bpe_undo_line(tool, line, n, out);
	return buf_check(out, e);
}

/* ---- SentencePiece ---- */

static int sp_learn_to_files(struct word_counter *l, const struct conf *c, int64_t *learned,
			     struct err *e)
{
	char *model = file_path(e, "%s.model", c->output);
	char *vocab = model ? file_path(e, "%s.vocab", c->output) : NULL;
	struct protect *p = NULL;
	int rc = vocab ? protect_open(&p, c->protect.items, c->protect.n, e) : e->code;

	if (!rc && c->segmentation == SEGMENTATION_UNIGRAM)
		rc = sp_learn_unigram(l, c->vocabulary_size, p, flow_threads((int)c->threads),
				      model, vocab, learned, e);
	else if (!rc)
		rc = sp_learn(l, c->vocabulary_size, p, model, vocab, learned, e);
	protect_close(p);
	free(model);
	free(vocab);
	return rc;
}

static int tool_sp_learn(const struct conf *c, struct err *e)
{
	struct word_counter *l;
	int64_t skipped = 0, learned = 0;
	int rc, threads = flow_threads((int)c->threads);

	if (!c->output)
		return err_set(e, ERR_USAGE,
			       "the name of the model is missing: "
			       "give it with -o PREFIX, for PREFIX.model and PREFIX.vocab");
	l = word_counter_new(e);
	rc = l ? 0 : e->code;
	for (int i = 0; !rc && i < MAX(c->n_arguments, 1); i++)
		rc = sp_count_file(l, nth_file(c, i), c->repair, threads, &skipped, e);
	if (!rc)
		rc = sp_learn_to_files(l, c, &learned, e);
	if (!rc && !c->quiet && skipped)
		fprintf(stderr,
			"%lld line%s skipped: longer than 4192 bytes, "
			"or with the reserved character U+2585\n",
			(long long)skipped, text_plural(skipped));
	if (!rc && !c->quiet && learned < c->vocabulary_size)
		fprintf(stderr,
			"learned %lld of %lld pieces: no pair of symbols is left to merge\n",
			(long long)learned, (long long)c->vocabulary_size);
	word_counter_free(l);
	return rc;
}

static struct sp *open_sp_model(const struct conf *c, struct err *e)
{
	if (c->model)
		return sp_open(c->model, e);
	err_set(e, ERR_USAGE, "the SentencePiece model is missing: give it with -m FILE.model");
	return NULL;
}

static void *make_sp_undo(const struct conf *c, const struct protect *p, void *first, struct err *e)
{
	(void)p;
	(void)first;
	return open_sp_model(c, e);
}

static void *make_sp(const struct conf *c, const struct protect *p, void *first, struct err *e)
{
	struct sp_tool *t = mem_alloc(1, sizeof(*t), e);

	(void)p;
	(void)first;
	if (!t)
		return NULL;
	*t = (struct sp_tool){ open_sp_model(c, e), c->unigram_sampling, (size_t)c->n_best,
			       (uint64_t)c->seed };
	if (t->sp)
		return t;
	free(t);
	return NULL;
}

/* ---- all of them ---- */

static const struct data_tool tools[] = {
	/* clang-format off */
	{ "tokenize", make_tokenizer, run_tokenizer, free_tokenizer, true, MASK_TEXT, NULL },
	{ "detokenize", make_detokenizer, run_detokenizer, free_detokenizer, true, MASK_WORDS,
	  NULL },
	{ "normalize", make_normalizer, run_normalizer, free_normalizer, false, MASK_TEXT, NULL },
	{ "bpe-apply", make_bpe, run_bpe, free_bpe, false, MASK_NOTHING, NULL },
	{ "bpe-undo", make_bpe_separator, tool_bpe_undo_line, free, false, MASK_NOTHING, NULL },
	{ "sp-apply", make_sp, run_sp, free_sp, false, MASK_NOTHING, NULL },
	{ "sp-undo", make_sp_undo, run_sp_undo, free_sp_undo, false, MASK_NOTHING, NULL },
	{ .command = "clean", .run = tool_clean },
	{ .command = "bpe-learn", .run = bpe_learn_files },
	{ .command = "sp-learn", .run = tool_sp_learn },
	/* clang-format on */
};

const struct data_tool *data_tool_find(const char *command)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (!strcmp(tools[i].command, command))
			return &tools[i];
	return NULL;
}

static void warn_unknown_language(const struct conf *c)
{
	struct buf note = { 0 };

	tokenizer_note_language(c->language, &note);
	if (!c->quiet && note.len)
		fprintf(stderr, "werkbank %s: %s\n", c->command, buf_text(&note));
	buf_free(&note);
}

int data_tool_run(const struct data_tool *t, const struct conf *c, struct err *e)
{
	if (t->needs_language)
		warn_unknown_language(c);
	return t->run ? t->run(c, e) : tool_each_line(c, t, e);
}
