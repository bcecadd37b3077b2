/* score_tools.c - the commands "bleu", "chrf" and "ter"; see score_tools.h */
#include "eval/evaluate/score_tools.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/evaluate/score_warnings.h"
#include "eval/metrics/metric.h"
#include "eval/metrics/resample.h"
#include "eval/translate/segment_reader.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/conf/alias.h"

static void write_integers(struct json_writer *w, const char *key, const int64_t *values, int n)
{
	json_put_open(w, key, '[');
	for (int i = 0; i < n; i++)
		json_int(w, values[i]);
	json_close(w, ']');
}

static double length_ratio(const struct bleu_score *s)
{
	return s->reference_length ? (double)s->hypothesis_length / (double)s->reference_length : 0;
}

void score_tools_bleu_json(struct json_writer *w, const struct bleu_score *s)
{
	write_integers(w, "counts", s->counts, BLEU_ORDER);
	write_integers(w, "totals", s->totals, BLEU_ORDER);
	json_put_open(w, "precisions", '[');
	for (int i = 0; i < BLEU_ORDER; i++)
		json_real(w, s->precisions[i]);
	json_close(w, ']');
	json_put_real(w, "bp", s->bp);
	json_put_real(w, "ratio", length_ratio(s));
	json_put_int(w, "hypothesis_length", s->hypothesis_length);
	json_put_int(w, "reference_length", s->reference_length);
}

void score_tools_bleu_text(struct buf *out, const struct bleu_score *s, int width)
{
	buf_printf(
		out,
		"%.*f %.1f/%.1f/%.1f/%.1f (BP %.3f, ratio %.3f, hypothesis %lld, reference %lld)",
		width, s->score, s->precisions[0], s->precisions[1], s->precisions[2],
		s->precisions[3], s->bp, length_ratio(s), (long long)s->hypothesis_length,
		(long long)s->reference_length);
}

void score_tools_confidence_json(struct json_writer *w, const struct score_confidence *c)
{
	json_put_open(w, "confidence", '{');
	json_put_real(w, "mean", c->mean);
	json_put_real(w, "interval", c->interval);
	json_close(w, '}');
}

/* Prints the buffer and a line end. ERR_IO: the stream is closed or the disk is full. */
static int print_score(struct buf *text, struct err *e)
{
	buf_add_char(text, '\n');
	return file_put_stdout(text, e);
}

/* The confidence interval of --confidence. */
struct confidence_report {
	bool is_wanted;
	int width;			/* digits after the point */
	struct signature_trials trials; /* draws and seed; bs 0: not wanted */
	struct score_confidence c;
};

static int measure_confidence(struct confidence_report *d, const struct metric *m,
			      const struct conf *c, struct err *e)
{
	*d = (struct confidence_report){ .is_wanted = c->confidence,
					 .width = (int)c->width,
					 .trials.seed = (uint64_t)c->resample_seed };
	if (d->is_wanted)
		d->trials.bs = c->resamples ? c->resamples : RESAMPLE_DRAWS;
	return d->is_wanted ? resample_confidence(m, d->trials.seed, d->trials.bs, &d->c, e) : 0;
}

static void confidence_text(struct buf *out, const struct confidence_report *d)
{
	if (d->is_wanted)
		buf_printf(out, "mean of %lld resamples %.*f \xC2\xB1 %.*f (95 %%)\n",
			   (long long)d->trials.bs, d->width, d->c.mean, d->width, d->c.interval);
}

static void bleu_members(struct json_writer *w, const struct metric *m)
{
	struct bleu_score s;

	bleu_score(m->bleu, &s);
	score_tools_bleu_json(w, &s);
}

static void chrf_members(struct json_writer *w, const struct metric *m)
{
	struct chrf_score s;

	chrf_score(m->chrf, &s);
	write_integers(w, "hypothesis_counts", s.counts.hypothesis, s.orders);
	write_integers(w, "reference_counts", s.counts.reference, s.orders);
	write_integers(w, "matches", s.counts.matches, s.orders);
}

static void ter_members(struct json_writer *w, const struct metric *m)
{
	struct ter_score s;

	ter_score(m->ter, &s);
	json_put_int(w, "edits", s.edits);
	json_put_real(w, "reference_length", s.reference_length);
}

static void score_print_json(const struct metric *m, const struct confidence_report *d,
			     struct buf *out)
{
	struct json_writer w = { .out = out };
	struct buf name = { 0 }, signature = { 0 }, foreign = { 0 };

	metric_name(m, &name);
	metric_signature(m, &signature);
	signature_add_trials(&d->trials, &signature);
	metric_sacrebleu_signature(m, &d->trials, &foreign);
	json_open(&w, '{');
	json_put_str(&w, "name", buf_text(&name));
	json_put_real(&w, "score", metric_score(m));
	if (d->is_wanted)
		score_tools_confidence_json(&w, &d->c);
	if (m->bleu)
		bleu_members(&w, m);
	else if (m->chrf)
		chrf_members(&w, m);
	else
		ter_members(&w, m);
	json_put_int(&w, "segments", (int64_t)m->n);
	json_put_str(&w, "signature", buf_text(&signature));
	if (foreign.len)
		json_put_str(&w, "sacrebleu_signature", buf_text(&foreign));
	json_close(&w, '}');
	buf_free_part(&name, out);
	buf_free_part(&signature, out);
	buf_free_part(&foreign, out);
}

/* Appends the score without its details, as option -b of sacreBLEU does. */
static void score_print_only(const struct metric *m, const struct confidence_report *d,
			     struct buf *out)
{
	buf_printf(out, "%.*f", d->width, metric_score(m));
	if (d->is_wanted)
		buf_printf(out, " (\xCE\xBC = %.*f \xC2\xB1 %.*f)", d->width, d->c.mean, d->width,
			   d->c.interval);
}

static void score_print_text(const struct metric *m, const struct confidence_report *d,
			     struct buf *out)
{
	struct bleu_score bleu;
	struct ter_score ter;
	struct buf foreign = { 0 };

	metric_name(m, out);
	buf_add_char(out, ' ');
	if (m->bleu) {
		bleu_score(m->bleu, &bleu);
		score_tools_bleu_text(out, &bleu, d->width);
	} else if (m->chrf) {
		buf_printf(out, "%.*f", d->width, metric_score(m));
	} else {
		ter_score(m->ter, &ter);
		buf_printf(out, "%.*f (edits %lld, reference %.2f)", d->width, ter.score,
			   (long long)ter.edits, ter.reference_length);
	}
	buf_add_char(out, '\n');
	confidence_text(out, d);
	metric_signature(m, out);
	signature_add_trials(&d->trials, out);
	metric_sacrebleu_signature(m, &d->trials, &foreign);
	if (foreign.len) {
		buf_add_char(out, '\n');
		buf_add(out, foreign.data, foreign.len);
	}
	buf_free_part(&foreign, out);
}

/* The scores that one command computes in one pass over the files. */
struct score_run {
	struct metric metrics[3];
	size_t n;
};

/* Opens the metrics that --metrics names, each once; by default that of the command. */
static int open_score_metrics(struct score_run *r, const struct conf *c, struct err *e)
{
	static const char *const names[] = { "bleu", "chrf", "ter" }; /* as enum metric_kind */
	bool is_open[ARRAY_LEN(names)] = { false };

	for (size_t i = 0; i < MAX(c->metrics.n, 1); i++) {
		const char *name = c->metrics.n ? c->metrics.items[i] : c->command;
		struct metric_options o;
		size_t kind = 0;

		while (kind + 1 < ARRAY_LEN(names) && strcmp(name, names[kind]) != 0)
			kind++;
		if (is_open[kind])
			continue;
		is_open[kind] = true;
		o = metric_options_from_conf((enum metric_kind)kind, c);
		o.bleu.effective_order |= c->sentence;
		if (metric_open(&r->metrics[r->n++], &o, e))
			return e->code;
	}
	assert(r->n >= 1 && r->n <= ARRAY_LEN(r->metrics));
	return 0;
}

static int add_segment(struct score_run *r, const struct segment_reader *s, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < r->n; i++)
		rc = metric_add(&r->metrics[i], &s->texts[0], s->texts + 1, s->n - 1, e);
	return rc;
}

/* Appends one or more scores: one below the other, or as a JSON list. */
static int print_scores(const struct score_run *r, const struct conf *c, struct buf *out,
			struct err *e)
{
	const bool is_json = c->json && !c->score_only; /* as in sacreBLEU */
	const bool is_list = is_json && r->n > 1;

	for (size_t i = 0; i < r->n; i++) {
		struct confidence_report d;

		if (measure_confidence(&d, &r->metrics[i], c, e))
			return e->code;
		buf_add_str(out, is_list ? (i ? ",\n " : "[") : (i ? "\n" : ""));
		if (is_json)
			score_print_json(&r->metrics[i], &d, out);
		else if (c->score_only)
			score_print_only(&r->metrics[i], &d, out);
		else
			score_print_text(&r->metrics[i], &d, out);
	}
	if (is_list)
		buf_add_char(out, ']');
	return 0;
}

/* A line for each segment: its scores, separated by tabs. */
static void print_sentences(const struct score_run *r, const struct conf *c, struct buf *out)
{
	for (size_t k = 0; k < r->metrics[0].n; k++)
		for (size_t i = 0; i < r->n; i++) {
			const struct metric *m = &r->metrics[i];

			buf_add_str(out, i ? "\t" : k ? "\n" : "");
			buf_printf(out, "%.*f", (int)c->width,
				   metric_of_sums(m, m->rows + k * m->width));
		}
}

/*
 * *out: c with the hypothesis as its only argument. With --input, the arguments of c are references
 * too; references gets the array, whose items the caller frees.
 */
static int score_files(const struct conf *c, struct conf_list *references, struct conf *out,
		       struct err *e)
{
	const size_t n_arguments = c->input ? (size_t)c->n_arguments : 0;

	*out = *c; /* borrowed */
	if (!c->input && c->n_arguments > 1)
		return err_set(e, ERR_USAGE,
			       "%s scores one file, but %d were given: name references with "
			       "--reference",
			       c->command, c->n_arguments);
	if (!c->input)
		return 0;
	references->items = mem_alloc(n_arguments + c->reference.n + 1, sizeof(char *), e);
	if (!references->items)
		return e->code;
	for (size_t i = 0; i < n_arguments; i++)
		references->items[references->n++] = c->arguments[i];
	for (size_t i = 0; i < c->reference.n; i++)
		references->items[references->n++] = c->reference.items[i];
	out->reference = *references;
	out->arguments = &out->input;
	out->n_arguments = 1;
	return 0;
}

/* Applies --format and --language-pair to the options. */
static int apply_score_habits(struct conf *c, struct err *e)
{
	const char *pair = c->language_pair ? strchr(c->language_pair, '-') : NULL;

	if (c->format && !strcmp(c->format, "json"))
		c->json = true;
	else if (c->format && strcmp(c->format, "text") != 0)
		return err_set(e, ERR_USAGE, "--format %.40s: %s prints text or json", c->format,
			       c->command);
	if (c->sentence && (c->json || c->confidence))
		return err_set(e, ERR_USAGE,
			       "--sentence prints lines of numbers: leave --json and --confidence "
			       "out");
	if (c->language_pair && !pair)
		return err_set(e, ERR_USAGE,
			       "--language-pair %.40s: write two languages, such as en-de",
			       c->language_pair);
	if (!pair || c->tokenizer != SCORE_AUTO)
		return 0;
	if (!strcmp(pair, "-zh"))
		c->tokenizer = SCORE_ZH;
	else if (!strcmp(pair, "-ja") || !strcmp(pair, "-ko"))
		return err_set(
			e, ERR_USAGE, "--language-pair %s selects --tokenizer %s-mecab: %s",
			c->language_pair, pair + 1,
			alias_refused("tokenizer", !strcmp(pair, "-ja") ? "ja-mecab" : "ko-mecab"));
	return 0;
}

int score_tools_run(struct conf *c, struct err *e)
{
	struct score_run r = { .n = 0 };
	struct conf_list references = { 0 }; /* owned array of borrowed names */
	struct segment_reader s = { 0 };
	struct score_warnings warnings = { 0 };
	struct buf text = { 0 };
	struct conf files;
	int rc = score_files(c, &references, &files, e);

	if (!rc)
		rc = apply_score_habits(&files, e);
	if (!rc)
		rc = segment_reader_open(&s, &files, e);
	if (!rc)
		rc = open_score_metrics(&r, &files, e);
	while (!rc && (rc = segment_reader_next(&s, e)) > 0) {
		score_warnings_add(&warnings, &s.texts[0], &s.texts[1]);
		rc = add_segment(&r, &s, e);
	}
	if (!rc && files.sentence)
		print_sentences(&r, &files, &text);
	else if (!rc)
		rc = print_scores(&r, &files, &text, e);
	for (size_t i = 0; !rc && !files.sentence && i < r.n; i++)
		score_warnings_print(&warnings, &r.metrics[i], &files);
	if (!rc)
		rc = print_score(&text, e);
	for (size_t i = 0; i < r.n; i++)
		metric_close(&r.metrics[i]);
	free(references.items);
	buf_free(&text);
	score_warnings_free(&warnings);
	segment_reader_close(&s);
	return rc;
}
