/* metric.c - calls BLEU, chrF or TER and stores the contribution of each segment; see metric.h */
#include "eval/metrics/metric.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"

struct metric_options metric_options_from_conf(enum metric_kind kind, const struct conf *c)
{
	struct metric_options o = {
		.kind = kind,
		.bleu = { score_tokenizer_of(c), (enum bleu_smoothing)c->smoothing, c->smooth_value,
			  c->lowercase, false, c->split_compounds },
		.chrf = { (int)c->char_order, (int)c->word_order, c->beta, c->lowercase },
		.ter = { c->cased, c->normalized, c->drop_punctuation, c->asian },
	};

	return o;
}

int metric_open(struct metric *m, const struct metric_options *o, struct err *e)
{
	int64_t sums[METRIC_MAX_SUMS];

	memset(m, 0, sizeof(*m));
	m->kind = o->kind;
	switch (o->kind) {
	case METRIC_BLEU:
		m->bleu = bleu_new(&o->bleu, e);
		m->width = BLEU_SUMS;
		return m->bleu ? 0 : e->code;
	case METRIC_CHRF:
		m->chrf = chrf_new(&o->chrf, e);
		if (!m->chrf)
			return e->code;
		m->width = chrf_sums(m->chrf, sums);
		return 0;
	default:
		m->ter = ter_new(&o->ter, e);
		m->width = TER_SUMS;
		return m->ter ? 0 : e->code;
	}
}

void metric_close(struct metric *m)
{
	bleu_free(m->bleu);
	chrf_free(m->chrf);
	ter_free(m->ter);
	free(m->rows);
	memset(m, 0, sizeof(*m));
}

void metric_sums(const struct metric *m, int64_t *sums)
{
	if (m->bleu)
		bleu_sums(m->bleu, sums);
	else if (m->chrf)
		chrf_sums(m->chrf, sums);
	else
		ter_sums(m->ter, sums);
}

int metric_add(struct metric *m, const struct score_text *hypothesis,
	       const struct score_text *references, size_t n, struct err *e)
{
	int64_t before[METRIC_MAX_SUMS], after[METRIC_MAX_SUMS], *row;
	size_t want;

	assert(m->width > 0 && m->width <= METRIC_MAX_SUMS);
	if (!mem_mul(m->n + 1, m->width, &want) ||
	    mem_grow(&m->rows, &m->cap, want, sizeof(*m->rows), e))
		return err_set(e, ERR_NOMEM, "cannot allocate memory for %zu segments", m->n + 1);
	metric_sums(m, before);
	if (m->bleu   ? bleu_add(m->bleu, hypothesis, references, n, e)
	    : m->chrf ? chrf_add(m->chrf, hypothesis, references, n, e)
		      : ter_add(m->ter, hypothesis, references, n, e))
		return e->code;
	metric_sums(m, after);
	row = m->rows + m->n++ * m->width;
	for (size_t i = 0; i < m->width; i++)
		row[i] = after[i] - before[i];
	return 0;
}

double metric_of_sums(const struct metric *m, const int64_t *sums)
{
	struct bleu_score bleu;

	if (m->chrf)
		return chrf_of_sums(m->chrf, sums);
	if (m->ter)
		return ter_of_sums(m->ter, sums);
	bleu_of_sums(m->bleu, sums, &bleu);
	return bleu.score;
}

double metric_score(const struct metric *m)
{
	int64_t sums[METRIC_MAX_SUMS];
	struct ter_score ter;

	if (m->ter) { /* its length is a mean over references, which sums round */
		ter_score(m->ter, &ter);
		return ter.score;
	}
	metric_sums(m, sums);
	return metric_of_sums(m, sums);
}

bool metric_less_is_better(const struct metric *m)
{
	return m->kind == METRIC_TER;
}

void metric_name(const struct metric *m, struct buf *out)
{
	if (m->chrf)
		chrf_name(m->chrf, out);
	else
		buf_add_str(out, m->bleu ? "BLEU" : "TER");
}

void metric_signature(const struct metric *m, struct buf *out)
{
	if (m->bleu)
		bleu_signature(m->bleu, out);
	else if (m->chrf)
		chrf_signature(m->chrf, out);
	else
		ter_signature(m->ter, out);
}

void metric_sacrebleu_signature(const struct metric *m, const struct signature_trials *trials,
				struct buf *out)
{
	if (m->bleu)
		bleu_sacrebleu_signature(m->bleu, trials, out);
	else if (m->chrf)
		chrf_sacrebleu_signature(m->chrf, trials, out);
	else
		ter_sacrebleu_signature(m->ter, trials, out);
}
