/* score_ledger.c - the table of score variants, and the command "ledger"; see score_ledger.h */
#include "eval/evaluate/score_ledger.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "eval/evaluate/score_tools.h"
#include "eval/translate/segment_reader.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define BLEU_WITH(tokenizer, lowercase, split)                                                     \
	{                                                                                          \
		.kind = METRIC_BLEU, .bleu = { tokenizer, BLEU_EXP, -1, lowercase, false, split }  \
	}
#define CHRF_WITH(words)                                                                           \
	{                                                                                          \
		.kind = METRIC_CHRF, .chrf = { 6, words, 2, false }                                \
	}

/* The rows, in the order of enum score_ledger_row. */
static const struct kind {
	const char *id, *name;
	bool is_tokenised; /* scores the output of the Moses tokenizer, not raw text */
	double unit;	   /* a score of 100 is printed as this number */
	struct metric_options options;
	const char *compare; /* scores that the row can be compared with */
} kinds[LEDGER_ROWS] = {
	{ "bleu", "BLEU", false, 100, BLEU_WITH(SCORE_13A, false, false),
	  "the one to publish; any sacreBLEU score of this test set" },
	{ "bleu-lc", "BLEU, lower case", false, 100, BLEU_WITH(SCORE_13A, true, false),
	  "sacreBLEU -lc and uncased scores of WMT" },
	{ "bleu-intl", "BLEU, international", false, 100, BLEU_WITH(SCORE_INTL, false, false),
	  "sacreBLEU --tokenize intl and mteval-v14 --international-tokenization" },
	{ "multi-bleu", "multi-bleu", true, 100, BLEU_WITH(SCORE_MULTI_BLEU, false, false),
	  "multi-bleu.perl after Moses' tokenizer, reference tokenised the same way" },
	{ "multi-bleu-lc", "multi-bleu, lower case", true, 100,
	  BLEU_WITH(SCORE_MULTI_BLEU, true, false), "multi-bleu.perl -lc, the same way" },
	{ "compound-split", "multi-bleu, compounds split", true, 100,
	  BLEU_WITH(SCORE_MULTI_BLEU, false, true),
	  "older papers that split hyphens before multi-bleu.perl (Vaswani et al. 2017)" },
	{ "chrf2", "chrF2", false, 100, CHRF_WITH(0), "sacreBLEU -m chrf" },
	{ "chrf2++", "chrF2++", false, 100, CHRF_WITH(2), "sacreBLEU -m chrf --chrf-word-order 2" },
	{ "ter",
	  "TER (less is better)",
	  false,
	  100,
	  { .kind = METRIC_TER, .ter = { false } },
	  "sacreBLEU -m ter" },
	{ "pseudo-bleu", "pseudo-BLEU, teacher-forced", false, 1,
	  BLEU_WITH(SCORE_MULTI_BLEU, false, false),
	  "\"Eval BLUE score\" of OpenSeq2Seq logs (0 to 1); not with BLEU: nothing is "
	  "translated" },
};

int score_ledger_open(struct score_ledger *l, const char *language, struct err *e)
{
	struct tokenizer_options o = { language, true, false };

	memset(l, 0, sizeof(*l));
	l->language = mem_strdup(language, e);
	l->tokenizer = l->language ? tokenizer_new(&o, e) : NULL;
	if (!l->tokenizer)
		return e->code;
	for (int i = 0; i < LEDGER_ROWS; i++)
		if (metric_open(&l->metrics[i], &kinds[i].options, e))
			return e->code;
	return 0;
}

void score_ledger_close(struct score_ledger *l)
{
	for (int i = 0; i < LEDGER_ROWS; i++)
		metric_close(&l->metrics[i]);
	for (size_t i = 0; i < l->cap_tokens; i++)
		buf_free(&l->tokens[i]);
	free(l->tokens);
	free(l->texts);
	free(l->language);
	tokenizer_free(l->tokenizer);
	memset(l, 0, sizeof(*l));
}

static int tokenise_segment_text(struct score_ledger *l, size_t i, const struct score_text *text,
				 struct err *e)
{
	buf_clear(&l->tokens[i]);
	if (tokenizer_line(l->tokenizer, text->text, text->n, &l->tokens[i], e) ||
	    buf_check(&l->tokens[i], e))
		return e->code;
	l->texts[i] = (struct score_text){ buf_text(&l->tokens[i]), l->tokens[i].len };
	return 0;
}

/* Fills l->texts with the tokenised hypothesis and its n references. */
static int tokenise_segment(struct score_ledger *l, const struct score_text *hypothesis,
			    const struct score_text *references, size_t n, struct err *e)
{
	size_t had = l->cap_tokens;

	if (mem_grow(&l->tokens, &l->cap_tokens, n + 1, sizeof(*l->tokens), e))
		return e->code;
	if (l->cap_tokens > had)
		memset(l->tokens + had, 0, (l->cap_tokens - had) * sizeof(*l->tokens));
	if (mem_grow(&l->texts, &l->cap_texts, n + 1, sizeof(*l->texts), e) ||
	    tokenise_segment_text(l, 0, hypothesis, e))
		return e->code;
	for (size_t i = 0; i < n; i++)
		if (tokenise_segment_text(l, i + 1, &references[i], e))
			return e->code;
	return 0;
}

int score_ledger_add(struct score_ledger *l, const struct score_text *hypothesis,
		     const struct score_text *references, size_t n, struct err *e)
{
	int rc = tokenise_segment(l, hypothesis, references, n, e);

	_Static_assert(LEDGER_PSEUDO == LEDGER_ROWS - 1, "the loop covers all other rows");

	for (int i = 0; i < LEDGER_PSEUDO && !rc; i++)
		rc = kinds[i].is_tokenised
			     ? metric_add(&l->metrics[i], &l->texts[0], l->texts + 1, n, e)
			     : metric_add(&l->metrics[i], hypothesis, references, n, e);
	return rc;
}

int score_ledger_resample(struct score_ledger *l, uint64_t seed, int64_t draws, struct err *e)
{
	assert(draws > 0);
	l->seed = seed;
	l->draws = draws;
	for (int i = 0; i < LEDGER_ROWS; i++)
		if (l->metrics[i].n &&
		    resample_confidence(&l->metrics[i], seed, draws, &l->confidence[i], e))
			return e->code;
	return 0;
}

static void score_row_signature(const struct score_ledger *l, int i, struct buf *out)
{
	metric_signature(&l->metrics[i], out);
	if (kinds[i].is_tokenised)
		buf_printf(out, "|text:moses-%s", l->language);
	if (i == LEDGER_PSEUDO)
		buf_add_str(out, "|text:pieces|teacher-forced:yes");
	signature_add_trials(&(struct signature_trials){ l->draws, 0, l->seed }, out);
}

void score_ledger_text(const struct score_ledger *l, struct buf *out)
{
	buf_printf(out, "%-28s   score   mean \xC2\xB1 95 %%      compare with\n", "");
	for (int i = 0; i < LEDGER_ROWS; i++) {
		const struct score_confidence *c = &l->confidence[i];
		const double unit = kinds[i].unit / 100;
		const int digits = unit < 1 ? 4 : 2;

		if (l->metrics[i].n == 0)
			continue;
		buf_printf(out, "%-28s  %6.*f  %6.*f \xC2\xB1 %6.*f  %s\n  ", kinds[i].name, digits,
			   metric_score(&l->metrics[i]) * unit, digits, c->mean * unit, digits,
			   c->interval * unit, kinds[i].compare);
		score_row_signature(l, i, out);
		buf_add_char(out, '\n');
	}
}

void score_ledger_json(const struct score_ledger *l, struct json_writer *w)
{
	struct buf signature = { 0 };

	json_open(w, '[');
	for (int i = 0; i < LEDGER_ROWS; i++) {
		const double unit = kinds[i].unit / 100;
		struct score_confidence c = { l->confidence[i].mean * unit,
					      l->confidence[i].interval * unit };

		if (l->metrics[i].n == 0)
			continue;
		json_open(w, '{');
		json_put_str(w, "id", kinds[i].id);
		json_put_str(w, "name", kinds[i].name);
		json_put_real(w, "score", metric_score(&l->metrics[i]) * unit);
		score_tools_confidence_json(w, &c);
		buf_clear(&signature);
		score_row_signature(l, i, &signature);
		json_put_str(w, "signature", buf_text(&signature));
		json_put_str(w, "compare", kinds[i].compare);
		json_close(w, '}');
	}
	json_close(w, ']');
	buf_free_part(&signature, w->out);
}

/* ---- the command ------------------------------------------------------- */

static int score_ledger_systems(struct score_ledger *ledgers, struct segment_reader *s,
				const struct conf *c, struct err *e)
{
	const size_t n = s->n_hypotheses;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = score_ledger_open(&ledgers[i], c->language, e);
	while (!rc && (rc = segment_reader_next(s, e)) > 0) {
		rc = 0;
		for (size_t i = 0; i < n && !rc; i++)
			rc = score_ledger_add(&ledgers[i], &s->texts[i], s->texts + n, s->n - n, e);
	}
	for (size_t i = 0; i < n && !rc; i++)
		rc = score_ledger_resample(&ledgers[i], (uint64_t)c->resample_seed,
					   c->resamples ? c->resamples : RESAMPLE_DRAWS, e);
	return rc;
}

static void print_all(const struct score_ledger *ledgers, const struct segment_reader *s, bool json,
		      struct buf *out)
{
	struct json_writer w = { .out = out };

	if (json)
		json_open(&w, '[');
	for (size_t i = 0; i < s->n_hypotheses; i++) {
		if (json) {
			json_open(&w, '{');
			json_put_str(&w, "system", s->names[i]);
			json_key(&w, "ledger");
			score_ledger_json(&ledgers[i], &w);
			json_close(&w, '}');
		} else {
			buf_printf(out, "%s%s\n", i ? "\n" : "", s->names[i]);
			score_ledger_text(&ledgers[i], out);
		}
	}
	if (json) {
		json_close(&w, ']');
		buf_add_char(out, '\n');
	}
}

int score_ledger_run(struct conf *c, struct err *e)
{
	struct score_ledger *ledgers = NULL;
	struct buf text = { 0 };
	struct segment_reader s = { 0 };
	int rc = segment_reader_open(&s, c, e);

	if (!rc && !(ledgers = mem_alloc(s.n_hypotheses, sizeof(*ledgers), e)))
		rc = e->code;
	if (!rc)
		rc = score_ledger_systems(ledgers, &s, c, e);
	if (!rc) {
		print_all(ledgers, &s, c->json, &text);
		rc = file_put_stdout(&text, e);
	}
	for (size_t i = 0; ledgers && i < s.n_hypotheses; i++)
		score_ledger_close(&ledgers[i]);
	free(ledgers);
	buf_free(&text);
	segment_reader_close(&s);
	return rc;
}
