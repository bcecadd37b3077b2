/* heldout_tools.c - the commands "eval" and "_evaluate"; see heldout.h */
#include "eval/evaluate/heldout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eval/evaluate/score_ledger.h"
#include "eval/evaluate/score_tools.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/format/json.h"

/*
 * The name of the evaluated weights if the checkpoint has both raw weights and their moving
 * average; else NULL.
 */
static const char *name_of_weights(const struct heldout *h)
{
	const struct ckpt_source own = { h->engine->models[0].folder, true };

	if (!strcmp(ckpt_weights_name(&own), "model.safetensors"))
		return NULL;
	return h->engine->conf->unaveraged ? "unaveraged" : "average";
}

static void eval_json(const struct heldout *h, const struct heldout_batches *b,
		      const struct score_ledger *l, struct buf *out)
{
	int64_t tokens;
	const double nll = heldout_mean(b, &tokens);
	struct json_writer w = { .out = out };
	const struct conf *c = h->engine->conf;

	json_open(&w, '{');
	json_put_real(&w, "t", floor(clock_wall_s()));
	json_put_str(&w, "set", h->set);
	json_put_str(&w, "model", h->engine->models[0].folder);
	json_put_int(&w, "step", h->engine->state.step);
	json_put_int(&w, "models", h->engine->n_models);
	json_put_int(&w, "sentences", h->n);
	json_put_int(&w, "beam", c->beam);
	json_put_real(&w, "alpha", c->alpha);
	json_put_real(&w, "bleu", h->bleu.score);
	json_put_str(&w, "tok", score_tokenizer_name(score_tokenizer_of(c)));
	json_put_str(&w, "signature", buf_text(&h->signature));
	json_put_str(&w, "sacrebleu_signature", buf_text(&h->sacrebleu_signature));
	json_put_str(&w, "precision", engine_precision(c));
	score_tools_bleu_json(&w, &h->bleu);
	json_put_real(&w, "chrf2", h->chrf);
	heldout_tags_json(h, &w);
	if (tokens > 0) {
		json_put_real(&w, "nll", nll);
		json_put_real(&w, "ppl", exp(nll));
		json_put_int(&w, "nll_tokens", tokens);
	}
	if (b->left_out)
		json_put_int(&w, "nll_left_out", b->left_out);
	if (h->n_cut)
		json_put_int(&w, "truncated", h->n_cut);
	if (name_of_weights(h))
		json_put_str(&w, "weights", name_of_weights(h));
	json_put_int(&w, "decoded_target_tokens", h->tokens);
	json_put_real(&w, "decode_seconds", h->seconds);
	json_put_real(&w, "decoded_target_tps", (double)h->tokens / h->seconds);
	if (c->ledger) {
		json_key(&w, "ledger");
		score_ledger_json(l, &w);
	}
	json_close(&w, '}');
	buf_add_char(out, '\n');
}

/* Sentences that are too long for the model. */
static void long_pairs_text(const struct heldout *h, int64_t left_out, struct buf *out)
{
	const int32_t most = h->engine->capacity - 1;

	if (h->n_cut)
		buf_printf(
			out,
			"%lld source%s longer than %d tokens: the model translated only the first "
			"%d of each\n",
			(long long)h->n_cut, h->n_cut == 1 ? " is" : "s are", most, most);
	if (left_out)
		buf_printf(out, "%lld pair%s a side longer than %d tokens: not part of the NLL\n",
			   (long long)left_out, left_out == 1 ? " has" : "s have", most);
}

static void eval_text(const struct heldout *h, const struct heldout_batches *b,
		      const struct score_ledger *l, struct buf *out)
{
	int64_t tokens;
	const double nll = heldout_mean(b, &tokens);

	buf_printf(out, "%s: %lld sentence%s, step %lld, beam %lld", h->set, (long long)h->n,
		   text_plural(h->n), (long long)h->engine->state.step,
		   (long long)h->engine->conf->beam);
	if (name_of_weights(h))
		buf_printf(out, ", weights %s", name_of_weights(h));
	if (h->engine->n_models > 1)
		buf_printf(out, ", with %d more model%s", h->engine->n_models - 1,
			   text_plural(h->engine->n_models - 1));
	buf_add_str(out, "\nBLEU ");
	score_tools_bleu_text(out, &h->bleu, 2);
	buf_printf(out, " (%s)", engine_precision(h->engine->conf));
	buf_printf(out, "\n%s\n%s\nchrF2 %.2f\n", buf_text(&h->signature),
		   buf_text(&h->sacrebleu_signature), h->chrf);
	heldout_tags_text(h, out);
	if (tokens > 0)
		buf_printf(out, "NLL %.4f nats per target token, perplexity %s\n", nll,
			   PERPLEXITY_TEXT(nll));
	long_pairs_text(h, b->left_out, out);
	buf_printf(out, "%s target tokens/s (%s in %.1f s)\n",
		   COUNT_TEXT((double)h->tokens / h->seconds), COUNT_TEXT(h->tokens), h->seconds);
	if (h->engine->conf->ledger) {
		buf_add_char(out, '\n');
		score_ledger_text(l, out);
	}
}

/*
 * Measures the set's shard; b stays empty if the set has no shard. pseudo: gets the pseudo-BLEU too
 * (NULL: not wanted).
 */
static int set_nll(struct heldout *h, struct metric *pseudo, struct heldout_batches *b,
		   struct err *e)
{
	char *name = file_path(e, "%s.shard", h->set);
	char *path = file_path(e, "%s/%s.shard", h->folder, h->set);
	int rc = name && path ? 0 : e->code;

	/* not for ensembles: model_evaluate() measures a single model */
	if (!rc && h->engine->n_models == 1 && file_exists(path))
		rc = pseudo ? heldout_teacher_forced(h, name, pseudo, b, e)
			    : heldout_measure(h, name, 0, (struct heldout_slice){ 0, 1 }, b, e);
	if (!rc)
		heldout_tags_nll(h, b);
	free(name);
	free(path);
	return rc;
}

/* Adds all segments to the ledger and computes its confidence intervals. */
static int fill_score_ledger(const struct heldout *h, struct score_ledger *l, struct err *e)
{
	const struct conf *c = h->engine->conf;

	for (int64_t i = 0; i < h->n; i++) {
		struct score_text hypothesis = { h->hypotheses[i], strlen(h->hypotheses[i]) };
		struct score_text reference = { h->references[i], strlen(h->references[i]) };

		if (score_ledger_add(l, &hypothesis, &reference, 1, e))
			return e->code;
	}
	return score_ledger_resample(l, (uint64_t)c->resample_seed,
				     c->resamples ? c->resamples : RESAMPLE_DRAWS, e);
}

int heldout_run_eval(struct conf *c, struct err *e)
{
	struct err none = { 0 };
	char *path = conf_score_path(c, &none);
	struct engine g;
	struct heldout h = { 0 };
	struct score_ledger l = { 0 };
	struct heldout_batches b = { 0 };
	struct buf json = { 0 }, text = { 0 };
	int rc = engine_open(&g, c, ENGINE_EVALUATE, e);

	if (!rc)
		rc = engine_check(&g, e);
	if (!rc)
		rc = heldout_open(&h, &g, c->set, 0, e);
	if (!rc && c->ledger)
		rc = score_ledger_open(&l, c->target_language, e);
	if (!rc)
		rc = heldout_decode(&h, isatty(STDERR_FILENO) && !c->quiet, e);
	if (!rc)
		rc = set_nll(&h, c->ledger ? &l.metrics[LEDGER_PSEUDO] : NULL, &b, e);
	if (!rc && c->ledger)
		rc = fill_score_ledger(&h, &l, e);
	if (!rc) {
		eval_json(&h, &b, &l, &json);
		eval_text(&h, &b, &l, &text);
		rc = file_put_stdout(c->json ? &json : &text, e);
	}
	if (!rc && path)
		rc = file_write_buf(path, &json, e);
	buf_free(&json);
	buf_free(&text);
	free(path);
	heldout_batches_free(&b);
	score_ledger_close(&l);
	heldout_close(&h);
	engine_close(&g);
	return rc;
}

static void sample_record(const struct heldout *h, int64_t i, struct buf *out)
{
	struct json_writer w = { .out = out };

	json_open(&w, '{');
	json_put_str(&w, "kind", "sample");
	json_put_int(&w, "id", i);
	json_put_str(&w, "source", h->sources[i]);
	json_put_str(&w, "reference", h->references[i]);
	json_put_str(&w, "hypothesis", h->hypotheses[i]);
	json_close(&w, '}');
	buf_add_char(out, '\n');
}

void heldout_records(const struct heldout *h, double dev_nll, double train_nll, double seconds,
		     struct buf *out)
{
	const struct conf *c = h->engine->conf;
	struct json_writer w = { .out = out };

	json_open(&w, '{');
	json_put_str(&w, "kind", "eval");
	json_put_int(&w, "step", h->engine->state.step);
	json_put_real(&w, "bleu", h->bleu.score);
	json_put_str(&w, "tok", score_tokenizer_name(score_tokenizer_of(c)));
	json_put_str(&w, "signature", buf_text(&h->signature));
	json_put_str(&w, "precision", engine_precision(c));
	json_put_real(&w, "chrf2", h->chrf);
	heldout_tags_json(h, &w);
	json_put_real(&w, "dev_nll", dev_nll);
	json_put_real(&w, "train_nll", train_nll);
	json_put_real(&w, "dev_ppl", exp(dev_nll));
	json_put_int(&w, "sentences", h->n);
	if (h->seconds > 0)
		json_put_real(&w, "decoded_target_tps", (double)h->tokens / h->seconds);
	json_put_real(&w, "seconds", seconds);
	if (h->shares > 0)
		json_put_int(&w, "shares", h->shares);
	json_close(&w, '}');
	buf_add_char(out, '\n');
	for (int64_t i = 0; i < MIN(c->samples, h->n); i++)
		sample_record(h, i, out);
}

/* start: seconds of the clock when the evaluation began. */
static int evaluate_dev_set(struct heldout *h, const void *start, struct buf *out, struct err *e)
{
	const struct heldout_slice all = { 0, 1 };
	struct heldout_batches dev = { 0 }, train = { 0 };
	int64_t tokens;
	int rc = heldout_decode(h, false, e);

	if (!rc)
		rc = heldout_measure(h, "dev.shard", 0, all, &dev, e);
	if (!rc)
		rc = heldout_measure(h, "train.shard", HELDOUT_TRAIN_SAMPLE, all, &train, e);
	if (!rc) {
		heldout_tags_nll(h, &dev);
		heldout_records(h, heldout_mean(&dev, &tokens), heldout_mean(&train, &tokens),
				clock_mono_s() - *(const double *)start, out);
	}
	heldout_batches_free(&dev);
	heldout_batches_free(&train);
	return rc;
}

int heldout_open_engine(struct engine *g, struct conf *c, struct err *e)
{
	return engine_open(g, c, ENGINE_AS_TRAINED, e) ? e->code : engine_check(g, e);
}

int heldout_print_dev(struct conf *c, heldout_fill *fill, const void *arg, struct err *e)
{
	struct engine g;
	struct heldout h = { 0 };
	struct buf text = { 0 };
	int rc = heldout_open_engine(&g, c, e);

	if (!rc)
		rc = heldout_open(&h, &g, "dev", c->eval_sentences, e);
	if (!rc)
		rc = fill(&h, arg, &text, e);
	if (!rc)
		rc = file_put_stdout(&text, e);
	buf_free(&text);
	heldout_close(&h);
	engine_close(&g);
	return rc;
}

int heldout_run_evaluate(struct conf *c, struct err *e)
{
	const double start = clock_mono_s();

	return c->slice	  ? heldout_run_slice(c, e)
	       : c->parts ? heldout_run_parts(c, e)
			  : heldout_print_dev(c, evaluate_dev_set, &start, e);
}
