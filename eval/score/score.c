/* score.c - the command "score"; see score.h */
#include "eval/score/score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/score/pair_reader.h"
#include "eval/score/score_models.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/format/json.h"

#define CHUNK_PAIRS 1024 /* pairs that are read and scored together */

/* Where a pair lies in the text of the chunk. */
struct chunk_pair {
	int64_t line;
	size_t source, n_source, target, n_target; /* bytes */
};

struct score {
	const struct conf *conf; /* borrowed */
	struct score_models models;
	struct pair_reader in;
	FILE *out;
	struct buf text; /* of the pairs of the chunk */
	struct chunk_pair chunk[CHUNK_PAIRS];
	struct model_scores *pairs; /* (CHUNK_PAIRS) owned: their scores */
	size_t n;
	struct buf row;
	/* with rerank: the best candidate so far of the line */
	int64_t line; /* 0: none */
	double best;  /* NAN: no candidate has a score */
	struct buf best_text;
	/* over all pairs */
	int64_t n_scored, n_tokens, n_unscored, first_unscored;
	int64_t n_missing, first_missing; /* with rerank: source lines without candidates */
	double sum;
	struct buf reason; /* of the first pair without score */
};

static int write_score_row(struct score *s, struct err *e)
{
	if (buf_check(&s->row, e))
		return e->code;
	if (fwrite(s->row.data, 1, s->row.len, s->out) != s->row.len)
		return err_set_errno(e, ERR_IO, "%s: the scores cannot be written",
				     s->conf->output ? s->conf->output : "standard output");
	return 0;
}

/* A log-probability that -0.0 would spoil. */
static double shown_number(double x)
{
	return x == 0 ? 0 : x;
}

static void score_line_text(const struct score *s, const struct model_scores *p, struct buf *out)
{
	const struct scored_pair *first = &p->of_model[0];

	if (isnan(p->score))
		buf_add_str(out, "nan");
	else
		buf_printf(out, "%.6f", shown_number(p->score));
	if (s->conf->word_scores)
		buf_add_str(out, " ||| WordScores=");
	for (int32_t i = 0; s->conf->word_scores && i < first->n_tokens; i++)
		buf_printf(out, " %.5f", shown_number((double)first->log_probs[i]));
	buf_add_char(out, '\n');
}

static void score_line_json(const struct score *s, int64_t line, const struct model_scores *p,
			    struct buf *out)
{
	const struct vocab *v = pipeline_vocab(s->models.engine.pipeline, SIDE_TARGET);
	const struct scored_pair *first = &p->of_model[0];
	struct json_writer w = { .out = out };
	struct buf reason = { 0 };

	json_open(&w, '{');
	json_put_int(&w, "line", line);
	json_put_real(&w, "score", p->score);
	json_put_real(&w, "log_prob", first->log_prob);
	if (s->models.n > 1) {
		json_put_open(&w, "model_scores", '[');
		for (size_t i = 0; i < s->models.n; i++)
			json_real(&w, p->value[i]);
		json_close(&w, ']');
	}
	json_put_int(&w, "n_tokens", first->n_tokens);
	json_put_open(&w, "tokens", '[');
	for (int32_t i = 0; i < first->n_tokens; i++)
		json_str(&w, vocab_piece(v, first->tokens[i]));
	json_close(&w, ']');
	json_put_open(&w, "token_log_probs", '[');
	for (int32_t i = 0; i < first->n_tokens; i++)
		json_real(&w, (double)first->log_probs[i]);
	json_close(&w, ']');
	if (isnan(p->score)) {
		score_models_fault(&s->models, p, &reason);
		json_put_str(&w, "error", buf_text(&reason));
	}
	json_close(&w, '}');
	buf_add_char(out, '\n');
	buf_free_part(&reason, out);
}

static void count_pair(struct score *s, int64_t line, const struct model_scores *p)
{
	if (!isnan(p->score)) {
		s->n_scored++;
		s->n_tokens += p->of_model[0].n_tokens;
		s->sum += p->of_model[0].log_prob;
	} else if (!s->n_unscored++) {
		s->first_unscored = line;
		score_models_fault(&s->models, p, &s->reason);
	}
}

/* Ends the list of the line: prints its best candidate, and empty lines for lines without candidates up to `next`. */
static int end_candidates(struct score *s, int64_t next, struct err *e)
{
	buf_clear(&s->row);
	if (s->line)
		buf_printf(&s->row, "%s\n", buf_text(&s->best_text));
	for (int64_t i = s->line + 1; i < next; i++) {
		buf_add_char(&s->row, '\n');
		if (!s->n_missing++)
			s->first_missing = i;
	}
	s->line = next;
	return write_score_row(s, e);
}

/* Is this the best candidate of its list so far? Of equal scores the first one is. */
static int rerank_candidate(struct score *s, const struct chunk_pair *c, double value,
			    struct err *e)
{
	const bool is_first = c->line != s->line;

	if (is_first && end_candidates(s, c->line, e))
		return e->code;
	if (!is_first && !(value > s->best) && !(isnan(s->best) && !isnan(value)))
		return 0;
	s->best = value;
	buf_clear(&s->best_text);
	buf_add(&s->best_text, s->text.data + c->target, c->n_target);
	return buf_check(&s->best_text, e);
}

static int write_pair(struct score *s, size_t i, struct err *e)
{
	const struct model_scores *p = &s->pairs[i];
	const struct chunk_pair *c = &s->chunk[i];

	count_pair(s, c->line, p);
	if (s->conf->rerank)
		return rerank_candidate(s, c, p->score, e);
	if (s->conf->summary)
		return 0;
	buf_clear(&s->row);
	if (s->conf->json)
		score_line_json(s, c->line, p, &s->row);
	else
		score_line_text(s, p, &s->row);
	return write_score_row(s, e);
}

static int score_chunk(struct score *s, struct err *e)
{
	int rc;

	for (size_t i = 0; i < s->n; i++) {
		const struct chunk_pair *c = &s->chunk[i];

		s->pairs[i] =
			(struct model_scores){ .of_model[0] = { .source = s->text.data + c->source,
								.n_source = c->n_source,
								.target = s->text.data + c->target,
								.n_target = c->n_target } };
	}
	rc = score_models_run(&s->models, s->pairs, s->n, e);
	for (size_t i = 0; i < s->n && !rc; i++)
		rc = write_pair(s, i, e);
	score_models_free_pairs(&s->models, s->pairs, s->n);
	s->n = 0;
	buf_clear(&s->text);
	return rc;
}

static void print_summary(const struct score *s, struct buf *out)
{
	const double mean = s->n_tokens ? s->sum / (double)s->n_tokens : (double)NAN;
	struct json_writer w = { .out = out };

	if (!s->conf->json) {
		buf_printf(out, "%lld pair%s, %lld target tokens, %lld without score\n",
			   (long long)s->n_scored, text_plural(s->n_scored), (long long)s->n_tokens,
			   (long long)s->n_unscored);
		if (s->n_tokens)
			buf_printf(out, "NLL %.4f nats per target token, perplexity %s\n", -mean,
				   PERPLEXITY_TEXT(-mean));
		return;
	}
	json_open(&w, '{');
	json_put_int(&w, "pairs", s->n_scored);
	json_put_int(&w, "without_score", s->n_unscored);
	json_put_int(&w, "n_tokens", s->n_tokens);
	json_put_real(&w, "log_prob", s->sum);
	json_put_real(&w, "nll", -mean);
	json_put_real(&w, "ppl", exp(-mean));
	json_close(&w, '}');
	buf_add_char(out, '\n');
}

/* Output after the last pair. */
static int finish_scores(struct score *s, struct err *e)
{
	if (s->conf->rerank)
		return end_candidates(s, (int64_t)s->in.n_sources + 1, e);
	if (!s->conf->summary)
		return 0;
	buf_clear(&s->row);
	print_summary(s, &s->row);
	return write_score_row(s, e);
}

static int score_pairs(struct score *s, struct err *e)
{
	struct read_pair p;
	int got;

	while ((got = pair_reader_next(&s->in, &p, e)) > 0) {
		struct chunk_pair *c = &s->chunk[s->n++];

		*c = (struct chunk_pair){ p.line, s->text.len, p.source.n, s->text.len + p.source.n,
					  p.target.n };
		buf_add(&s->text, p.source.text, p.source.n);
		buf_add(&s->text, p.target.text, p.target.n);
		if (buf_check(&s->text, e) || (s->n == CHUNK_PAIRS && score_chunk(s, e)))
			return e->code;
	}
	if (score_chunk(s, got < 0 ? &(struct err){ 0 } : e) && got == 0)
		return e->code;
	if (got < 0)
		return got;
	if (finish_scores(s, e))
		return e->code;
	return fflush(s->out) ? err_set_errno(e, ERR_IO, "the scores cannot be written") : 0;
}

static void warn_unscored(const struct score *s)
{
	if (s->n_unscored && !s->conf->quiet)
		fprintf(stderr,
			"werkbank: warning: %lld pair%s no score, the first is of line %lld: %s\n",
			(long long)s->n_unscored, s->n_unscored == 1 ? " has" : "s have",
			(long long)s->first_unscored, buf_text(&s->reason));
	if (s->n_missing && !s->conf->quiet)
		fprintf(stderr,
			"werkbank: warning: the list has no candidate for %lld source line%s, the "
			"first "
			"is line %lld: the output has an empty line there\n",
			(long long)s->n_missing, text_plural((double)s->n_missing),
			(long long)s->first_missing);
}

static int run_scores(struct score *s, struct conf *c, struct err *e)
{
	struct outfile file = { 0 };

	if (c->output && outfile_open(&file, c->output, e))
		return e->code;
	s->out = c->output ? file.stream : stdout;
	return outfile_finish(&file, score_pairs(s, e), e);
}

int score_run(struct conf *c, struct err *e)
{
	struct score *s = mem_alloc(1, sizeof(*s), e);
	int rc;

	if (!s)
		return e->code;
	s->conf = c;
	s->pairs = mem_alloc(CHUNK_PAIRS, sizeof(*s->pairs), e);
	rc = s->pairs ? pair_reader_open(&s->in, c, e) : e->code;
	if (!rc)
		rc = score_models_open(&s->models, c, e);
	if (!rc)
		rc = run_scores(s, c, e);
	warn_unscored(s);
	score_models_close(&s->models);
	pair_reader_close(&s->in);
	buf_free(&s->text);
	buf_free(&s->row);
	buf_free(&s->best_text);
	buf_free(&s->reason);
	free(s->pairs);
	free(s);
	return rc;
}
