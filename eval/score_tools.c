/* score_tools.c - see score_tools.h */
#include "eval/score_tools.h"

#include <stdlib.h>
#include <string.h>

#include "eval/ter.h"
#include "share/base/lines.h"
#include "share/base/mem.h"

/* Hypotheses and references read side by side. */
struct sides {
	struct lines      *files;	/* (n) owned: the hypothesis first */
	const char       **names;	/* (n) owned array of borrowed names */
	struct score_text *texts;	/* (n) owned array, borrowed texts: the current lines */
	size_t n, n_open;
};

static void sides_close(struct sides *s)
{
	for (size_t i = 0; i < s->n_open; i++)
		lines_close(&s->files[i]);
	free(s->files);
	free(s->names);
	free(s->texts);
}

static int sides_open(struct sides *s, const struct conf *c, struct err *e)
{
	const char *hypothesis = c->n_arguments > 0 ? c->arguments[0] : "-";

	memset(s, 0, sizeof(*s));
	if (c->reference.n == 0)
		return err_set(e, ERR_USAGE,
			       "%s needs a reference translation: give --reference FILE",
			       c->command);
	if (c->n_arguments > 1)
		return err_set(e, ERR_USAGE,
			       "%s scores one file, and %d were given; references are named by "
			       "--reference",
			       c->command, c->n_arguments);
	s->n = c->reference.n + 1;
	s->files = mem_alloc(s->n, sizeof(*s->files), e);
	s->names = mem_alloc(s->n, sizeof(*s->names), e);
	s->texts = mem_alloc(s->n, sizeof(*s->texts), e);
	if (!s->files || !s->names || !s->texts)
		return e->code;
	for (size_t i = 0; i < s->n; i++) {
		const char *path = i ? c->reference.items[i - 1] : hypothesis;

		s->names[i] = strcmp(path, "-") ? path : "standard input";
		if (lines_open(&s->files[i], path, e))
			return e->code;
		s->files[i].repair = c->repair;
		s->n_open++;
	}
	return 0;
}

/* Sides ended at different lines: count the rest of each and say so. */
static int lengths_differ(struct sides *s, size_t shorter, size_t longer, struct err *e)
{
	int got;

	while ((got = lines_next(&s->files[longer], e)) > 0)
		;
	if (got < 0)
		return got;
	return err_set(
		e, ERR_DATA,
		"%s has %lld line%s, but %s has %lld: a score needs the same number on each side",
		s->names[shorter], (long long)s->files[shorter].number,
		s->files[shorter].number == 1 ? "" : "s", s->names[longer],
		(long long)s->files[longer].number);
}

/* 1: the next line of every side is in texts; 0: all ended; < 0: failure. */
static int sides_next(struct sides *s, struct err *e)
{
	size_t ended = s->n, going = s->n;

	for (size_t i = 0; i < s->n; i++) {
		int got = lines_next(&s->files[i], e);

		if (got < 0)
			return got;
		if (got == 0)
			ended = i;
		else
			going = i;
		s->texts[i] = (struct score_text){ s->files[i].text, s->files[i].len };
	}
	if (ended < s->n && going < s->n)
		return lengths_differ(s, ended, going, e);
	return going < s->n;
}

static int no_lines(const struct sides *s, struct err *e)
{
	return err_set(e, ERR_DATA, "%s and %s are empty: there is nothing to score", s->names[0],
		       s->names[1]);
}

static void integers(struct json_writer *w, const char *key, const int64_t *values, int n)
{
	json_key(w, key);
	json_open(w, '[');
	for (int i = 0; i < n; i++)
		json_int(w, values[i]);
	json_close(w, ']');
}

static double ratio(const struct bleu_score *s)
{
	return s->reference_length ? (double)s->hypothesis_length / (double)s->reference_length : 0;
}

void score_tools_bleu_json(struct json_writer *w, const struct bleu_score *s)
{
	integers(w, "counts", s->counts, BLEU_ORDER);
	integers(w, "totals", s->totals, BLEU_ORDER);
	json_key(w, "precisions");
	json_open(w, '[');
	for (int i = 0; i < BLEU_ORDER; i++)
		json_real(w, s->precisions[i]);
	json_close(w, ']');
	json_key(w, "bp");
	json_real(w, s->bp);
	json_key(w, "ratio");
	json_real(w, ratio(s));
	json_key(w, "hypothesis_length");
	json_int(w, s->hypothesis_length);
	json_key(w, "reference_length");
	json_int(w, s->reference_length);
}

void score_tools_bleu_text(struct buf *out, const struct bleu_score *s)
{
	buf_printf(
		out,
		"%.2f %.1f/%.1f/%.1f/%.1f (BP %.3f, ratio %.3f, hypothesis %lld, reference %lld)",
		s->score, s->precisions[0], s->precisions[1], s->precisions[2], s->precisions[3],
		s->bp, ratio(s), (long long)s->hypothesis_length, (long long)s->reference_length);
}

static void json_text_member(struct json_writer *w, const char *key, const char *text)
{
	json_key(w, key);
	json_str(w, text);
}

/* Print what a buffer holds and a line end; the caller's stream may be closed or full. */
static int print(FILE *out, struct buf *text, struct err *e)
{
	if (buf_check(text, e))
		return e->code;
	if (fprintf(out, "%s\n", buf_text(text)) < 0 || fflush(out))
		return err_set_errno(e, ERR_IO, "the score cannot be written");
	return 0;
}

static int print_bleu(const struct bleu *b, bool json, FILE *out, struct err *e)
{
	struct buf text = { 0 }, signature = { 0 };
	struct json_writer w = { .out = &text };
	struct bleu_score s;
	int code;

	bleu_score(b, &s);
	bleu_signature(b, &signature);
	if (json) {
		json_open(&w, '{');
		json_text_member(&w, "name", "BLEU");
		json_key(&w, "score");
		json_real(&w, s.score);
		score_tools_bleu_json(&w, &s);
		json_key(&w, "segments");
		json_int(&w, s.segments);
		json_text_member(&w, "signature", buf_text(&signature));
		json_close(&w, '}');
	} else {
		buf_add_str(&text, "BLEU ");
		score_tools_bleu_text(&text, &s);
		buf_printf(&text, "\n%s", buf_text(&signature));
	}
	code = print(out, &text, e);
	buf_free(&text);
	buf_free(&signature);
	return code;
}

int score_tools_bleu(const struct conf *c, FILE *out, struct err *e)
{
	struct bleu_options o = { (enum score_tokenizer)c->tokenizer,
				  (enum bleu_smoothing)c->smoothing, c->smooth_value, c->lowercase,
				  false };
	struct bleu *b = NULL;
	struct sides s;
	int code = sides_open(&s, c, e);

	if (code)
		goto out;
	b = bleu_new(&o, e);
	if (!b) {
		code = e->code;
		goto out;
	}
	while ((code = sides_next(&s, e)) > 0) {
		code = bleu_add(b, &s.texts[0], s.texts + 1, s.n - 1, e);
		if (code)
			goto out;
	}
	if (!code && s.files[0].number == 0)
		code = no_lines(&s, e);
	if (!code)
		code = print_bleu(b, c->json, out, e);
out:
	bleu_free(b);
	sides_close(&s);
	return code;
}

static int print_chrf(const struct chrf *x, bool json, FILE *out, struct err *e)
{
	struct buf text = { 0 }, signature = { 0 }, name = { 0 };
	struct json_writer w = { .out = &text };
	struct chrf_score s;
	int code;

	chrf_score(x, &s);
	chrf_signature(x, &signature);
	chrf_name(x, &name);
	if (json) {
		json_open(&w, '{');
		json_text_member(&w, "name", buf_text(&name));
		json_key(&w, "score");
		json_real(&w, s.score);
		integers(&w, "hypothesis_counts", s.counts.hypothesis, s.orders);
		integers(&w, "reference_counts", s.counts.reference, s.orders);
		integers(&w, "matches", s.counts.matches, s.orders);
		json_key(&w, "segments");
		json_int(&w, s.segments);
		json_text_member(&w, "signature", buf_text(&signature));
		json_close(&w, '}');
	} else {
		buf_printf(&text, "%s %.2f\n%s", buf_text(&name), s.score, buf_text(&signature));
	}
	code = print(out, &text, e);
	buf_free(&text);
	buf_free(&signature);
	buf_free(&name);
	return code;
}

int score_tools_chrf(const struct conf *c, FILE *out, struct err *e)
{
	struct chrf_options o = { (int)c->char_order, (int)c->word_order, c->beta, c->lowercase };
	struct chrf *x = NULL;
	struct sides s;
	int code = sides_open(&s, c, e);

	if (code)
		goto out;
	x = chrf_new(&o, e);
	if (!x) {
		code = e->code;
		goto out;
	}
	while ((code = sides_next(&s, e)) > 0) {
		code = chrf_add(x, &s.texts[0], s.texts + 1, s.n - 1, e);
		if (code)
			goto out;
	}
	if (!code && s.files[0].number == 0)
		code = no_lines(&s, e);
	if (!code)
		code = print_chrf(x, c->json, out, e);
out:
	chrf_free(x);
	sides_close(&s);
	return code;
}

static int print_ter(const struct ter *t, bool json, FILE *out, struct err *e)
{
	struct buf text = { 0 }, signature = { 0 };
	struct json_writer w = { .out = &text };
	struct ter_score s;
	int code;

	ter_score(t, &s);
	ter_signature(t, &signature);
	if (json) {
		json_open(&w, '{');
		json_text_member(&w, "name", "TER");
		json_key(&w, "score");
		json_real(&w, s.score);
		json_key(&w, "edits");
		json_int(&w, s.edits);
		json_key(&w, "reference_length");
		json_real(&w, s.reference_length);
		json_key(&w, "segments");
		json_int(&w, s.segments);
		json_text_member(&w, "signature", buf_text(&signature));
		json_close(&w, '}');
	} else {
		buf_printf(&text, "TER %.2f (edits %lld, reference %.2f)\n%s", s.score,
			   (long long)s.edits, s.reference_length, buf_text(&signature));
	}
	code = print(out, &text, e);
	buf_free(&text);
	buf_free(&signature);
	return code;
}

int score_tools_ter(const struct conf *c, FILE *out, struct err *e)
{
	struct ter_options o = { c->cased };
	struct ter *t = NULL;
	struct sides s;
	int code = sides_open(&s, c, e);

	if (!code && !(t = ter_new(&o, e)))
		code = e->code;
	while (!code && (code = sides_next(&s, e)) > 0)
		code = ter_add(t, &s.texts[0], s.texts + 1, s.n - 1, e);
	if (!code && s.files[0].number == 0)
		code = no_lines(&s, e);
	if (!code)
		code = print_ter(t, c->json, out, e);
	ter_free(t);
	sides_close(&s);
	return code;
}
