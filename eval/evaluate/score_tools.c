/* score_tools.c - see score_tools.h */
#include "eval/evaluate/score_tools.h"

#include "eval/metrics/metric.h"
#include "eval/metrics/resample.h"
#include "eval/translate/segment_reader.h"

static void write_integers(struct json_writer *w, const char *key, const int64_t *values, int n)
{
	json_key(w, key);
	json_open(w, '[');
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
	json_key(w, "precisions");
	json_open(w, '[');
	for (int i = 0; i < BLEU_ORDER; i++)
		json_real(w, s->precisions[i]);
	json_close(w, ']');
	json_put_real(w, "bp", s->bp);
	json_put_real(w, "ratio", length_ratio(s));
	json_put_int(w, "hypothesis_length", s->hypothesis_length);
	json_put_int(w, "reference_length", s->reference_length);
}

void score_tools_bleu_text(struct buf *out, const struct bleu_score *s)
{
	buf_printf(
		out,
		"%.2f %.1f/%.1f/%.1f/%.1f (BP %.3f, ratio %.3f, hypothesis %lld, reference %lld)",
		s->score, s->precisions[0], s->precisions[1], s->precisions[2], s->precisions[3],
		s->bp, length_ratio(s), (long long)s->hypothesis_length,
		(long long)s->reference_length);
}

void score_tools_confidence_json(struct json_writer *w, const struct score_confidence *c)
{
	json_key(w, "confidence");
	json_open(w, '{');
	json_put_real(w, "mean", c->mean);
	json_put_real(w, "interval", c->interval);
	json_close(w, '}');
}

/* Print what a buffer holds and a line end; the caller's stream may be closed or full. */
static int print_score(FILE *out, struct buf *text, struct err *e)
{
	if (buf_check(text, e))
		return e->code;
	if (fprintf(out, "%s\n", buf_text(text)) < 0 || fflush(out))
		return err_set_errno(e, ERR_IO, "the score cannot be written");
	return 0;
}

/* What --confidence adds to a score. */
struct confidence_report {
	bool is_wanted;
	int64_t draws;
	uint64_t seed;
	struct score_confidence c;
};

static int measure_confidence(struct confidence_report *d, const struct metric *m,
			      const struct conf *c, struct err *e)
{
	*d = (struct confidence_report){ .is_wanted = c->confidence,
					 .draws = c->resamples ? c->resamples : RESAMPLE_DRAWS,
					 .seed = (uint64_t)c->resample_seed };
	return d->is_wanted ? resample_confidence(m, d->seed, d->draws, &d->c, e) : 0;
}

static void confidence_text(struct buf *out, const struct confidence_report *d)
{
	if (d->is_wanted)
		buf_printf(out, "mean of %lld resamples %.2f \xC2\xB1 %.2f (95 %%)\n",
			   (long long)d->draws, d->c.mean, d->c.interval);
}

/* The signature of the score, and of the resampling. */
static void score_signature(struct buf *out, const struct metric *m,
			    const struct confidence_report *d)
{
	metric_signature(m, out);
	if (d->is_wanted)
		buf_printf(out, "|bs:%lld|seed:%llu", (long long)d->draws,
			   (unsigned long long)d->seed);
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
	struct buf name = { 0 }, signature = { 0 };

	metric_name(m, &name);
	score_signature(&signature, m, d);
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
	json_close(&w, '}');
	buf_free(&name);
	buf_free(&signature);
}

static void score_print_text(const struct metric *m, const struct confidence_report *d,
			     struct buf *out)
{
	struct bleu_score bleu;
	struct ter_score ter;

	metric_name(m, out);
	buf_add_char(out, ' ');
	if (m->bleu) {
		bleu_score(m->bleu, &bleu);
		score_tools_bleu_text(out, &bleu);
	} else if (m->chrf) {
		buf_printf(out, "%.2f", metric_score(m));
	} else {
		ter_score(m->ter, &ter);
		buf_printf(out, "%.2f (edits %lld, reference %.2f)", ter.score,
			   (long long)ter.edits, ter.reference_length);
	}
	buf_add_char(out, '\n');
	confidence_text(out, d);
	score_signature(out, m, d);
}

static int run_score_command(enum metric_kind kind, const struct conf *c, FILE *out, struct err *e)
{
	struct metric_options o = metric_options_from_conf(kind, c);
	struct buf text = { 0 };
	struct metric m = { 0 };
	struct segment_reader s = { 0 };
	struct confidence_report d;
	int code = c->n_arguments > 1
			   ? err_set(e, ERR_USAGE,
				     "%s scores one file, and %d were given; references are named "
				     "by --reference",
				     c->command, c->n_arguments)
			   : segment_reader_open(&s, c, e);

	if (!code)
		code = metric_open(&m, &o, e);
	while (!code && (code = segment_reader_next(&s, e)) > 0)
		code = metric_add(&m, &s.texts[0], s.texts + 1, s.n - 1, e);
	if (!code)
		code = measure_confidence(&d, &m, c, e);
	if (!code) {
		if (c->json)
			score_print_json(&m, &d, &text);
		else
			score_print_text(&m, &d, &text);
		code = print_score(out, &text, e);
	}
	buf_free(&text);
	metric_close(&m);
	segment_reader_close(&s);
	return code;
}

int score_tools_bleu(const struct conf *c, FILE *out, struct err *e)
{
	return run_score_command(METRIC_BLEU, c, out, e);
}

int score_tools_chrf(const struct conf *c, FILE *out, struct err *e)
{
	return run_score_command(METRIC_CHRF, c, out, e);
}

int score_tools_ter(const struct conf *c, FILE *out, struct err *e)
{
	return run_score_command(METRIC_TER, c, out, e);
}
