/*
 * mbr.c - see mbr.h
 *
 * Samples repeat: each different text is compared once with each other one, weighted by how often it came. The n-grams
 * of a text are counted once as those of a hypothesis.
 */
#include "eval/translate/mbr.h"

#include <stdlib.h>
#include <string.h>

#include "eval/metrics/chrf.h"
#include "share/base/mem.h"

/* The different texts of a translation. */
struct mbr_texts {
	struct score_text text[DECODE_MAX_BEAM];
	int32_t times[DECODE_MAX_BEAM];
	double utility[DECODE_MAX_BEAM];
	size_t n;
	size_t of[DECODE_MAX_BEAM]; /* text of each hypothesis */
};

static void list_texts(struct mbr_texts *m, const struct engine_translation *t)
{
	m->n = 0;
	for (int32_t h = 0; h < t->result.n; h++) {
		size_t i = 0;

		while (i < m->n && strcmp(m->text[i].text, t->texts[h]) != 0)
			i++;
		if (i == m->n) {
			m->text[m->n] = (struct score_text){ t->texts[h], strlen(t->texts[h]) };
			m->times[m->n++] = 0;
		}
		m->times[i]++;
		m->of[h] = i;
	}
}

static int find_utilities(struct mbr_texts *m, struct chrf *c, int32_t hypotheses, struct err *e)
{
	double scores[DECODE_MAX_BEAM];

	for (size_t i = 0; i < m->n; i++) {
		if (chrf_each(c, &m->text[i], m->text, m->n, scores, e))
			return e->code;
		m->utility[i] = 0;
		for (size_t k = 0; k < m->n; k++)
			m->utility[i] += m->times[k] * scores[k] / hypotheses;
	}
	return 0;
}

/* Moves hypothesis `from` to the place `to`, before it. */
static void move_hypothesis(struct engine_translation *t, int32_t from, int32_t to)
{
	const struct decode_hypothesis h = t->result.hypotheses[from];
	char *text = t->texts[from];

	for (int32_t i = from; i > to; i--) {
		t->result.hypotheses[i] = t->result.hypotheses[i - 1];
		t->texts[i] = t->texts[i - 1];
	}
	t->result.hypotheses[to] = h;
	t->texts[to] = text;
}

static void sort_hypotheses(struct engine_translation *t, int32_t keep)
{
	for (int32_t i = 1; i < t->result.n; i++) {
		int32_t to = i;

		while (to > 0 && t->result.hypotheses[i].score > t->result.hypotheses[to - 1].score)
			to--;
		move_hypothesis(t, i, to);
	}
	for (; t->result.n > keep; t->result.n--) {
		const struct decode_hypothesis *h = &t->result.hypotheses[t->result.n - 1];

		free(h->tokens);
		free(h->aligned);
		free(h->log_probs);
		free(t->texts[t->result.n - 1]);
	}
}

int mbr_choose(struct engine_translation *translations, size_t n, int32_t keep, struct err *e)
{
	struct chrf *c = chrf_new(&chrf_defaults, e);
	struct mbr_texts m;
	int rc = c ? 0 : e->code;

	for (size_t i = 0; i < n && !rc; i++) {
		struct engine_translation *t = &translations[i];

		list_texts(&m, t);
		rc = find_utilities(&m, c, t->result.n, e);
		for (int32_t h = 0; h < t->result.n && !rc; h++)
			t->result.hypotheses[h].score = m.utility[m.of[h]];
		if (!rc)
			sort_hypotheses(t, keep);
	}
	chrf_free(c);
	return rc;
}
