/* heldout_tags.c - scores of a held-out set by the tags of its source lines; see heldout.h */
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/line_tags.h"
#include "eval/evaluate/heldout.h"
#include "eval/evaluate/score_tools.h"
#include "eval/metrics/chrf.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

/* The number of the tag in list, which has n; n: it is new. */
static size_t tag_index(const char *const *list, size_t n, const char *tag)
{
	size_t k = 0;

	while (k < n && strcmp(list[k], tag) != 0)
		k++;
	return k;
}

int heldout_choose_lines(const char *const *tags, int64_t n, int64_t limit, bool *chosen,
			 struct err *e)
{
	const char **list = mem_alloc((size_t)n, sizeof(*list), e);
	int64_t *lines = list ? mem_alloc((size_t)n, sizeof(*lines), e) : NULL; /* of each tag */
	int64_t *wanted = lines ? mem_alloc((size_t)n, sizeof(*wanted), e) : NULL;
	size_t n_list = 0;

	for (int64_t i = 0; wanted && i < n; i++) {
		const size_t k = tag_index(list, n_list, tags[i]);

		if (k == n_list)
			list[n_list++] = tags[i];
		lines[k]++;
	}
	for (int64_t left = MIN(limit, n); wanted && left > 0;) /* rounds: one line of each tag */
		for (size_t k = 0; k < n_list && left > 0; k++)
			if (wanted[k] < lines[k]) {
				wanted[k]++;
				left--;
			}
	for (int64_t i = 0; wanted && i < n; i++)
		chosen[i] = wanted[tag_index(list, n_list, tags[i])]-- > 0;
	free(list);
	free(lines);
	free(wanted);
	return wanted ? 0 : e->code;
}

static const char *tag_of_source(const struct heldout *h, int64_t i)
{
	size_t bytes;

	return line_tag_find(h->engine->conf, h->sources[i], strlen(h->sources[i]), &bytes);
}

static struct heldout_tag *find_tag(const struct heldout *h, const char *tag)
{
	for (size_t k = 0; k < h->n_tags; k++)
		if (!strcmp(h->tags[k].tag, tag))
			return &h->tags[k];
	return NULL;
}

/* Append the tags of the set, each once, by first appearance, with the number of lines to score. */
static int list_tags(struct heldout *h, struct err *e)
{
	size_t cap = 0;

	for (int64_t i = 0; i < h->n_set; i++) {
		if (find_tag(h, h->set_tags[i]))
			continue;
		if (mem_grow(&h->tags, &cap, h->n_tags + 1, sizeof(*h->tags), e))
			return e->code;
		h->tags[h->n_tags++] = (struct heldout_tag){ .tag = h->set_tags[i] };
	}
	for (int64_t i = 0; i < h->n; i++)
		find_tag(h, tag_of_source(h, i))->n++;
	return 0;
}

void heldout_tags_nll(struct heldout *h, const struct heldout_batches *b)
{
	for (size_t k = 0; k < h->n_tags; k++) {
		struct heldout_tag *t = &h->tags[k];

		t->nll = 0;
		t->nll_tokens = 0;
		for (int64_t i = 0; i < b->n; i++)
			if (!strcmp(b->tags[i], t->tag)) {
				t->nll += b->nll[i];
				t->nll_tokens += b->tokens[i];
			}
		if (t->nll_tokens)
			t->nll /= (double)t->nll_tokens;
	}
}

static int score_tag(struct heldout *h, struct heldout_tag *t, struct err *e)
{
	struct bleu_options o = bleu_defaults;
	struct bleu *bleu;
	struct chrf *chrf = chrf_new(&chrf_defaults, e);
	struct chrf_score chrf_result;
	int rc;

	o.tokenizer = score_tokenizer_of_language(
		h->engine->conf, line_tag_languages(h->engine->conf, t->tag).target);
	bleu = chrf ? bleu_new(&o, e) : NULL;
	rc = bleu ? 0 : e->code;
	for (int64_t i = 0; !rc && i < h->n; i++) {
		struct score_text hypothesis = { h->hypotheses[i], strlen(h->hypotheses[i]) };
		struct score_text reference = { h->references[i], strlen(h->references[i]) };

		if (strcmp(tag_of_source(h, i), t->tag) != 0)
			continue;
		rc = bleu_add(bleu, &hypothesis, &reference, 1, e);
		if (!rc)
			rc = chrf_add(chrf, &hypothesis, &reference, 1, e);
	}
	if (!rc) {
		struct bleu_score score;

		bleu_score(bleu, &score);
		chrf_score(chrf, &chrf_result);
		t->bleu = score.score;
		t->chrf = chrf_result.score;
	}
	bleu_free(bleu);
	chrf_free(chrf);
	return rc;
}

int heldout_score_tags(struct heldout *h, struct err *e)
{
	int rc;

	free(h->tags);
	h->tags = NULL;
	h->n_tags = 0;
	rc = list_tags(h, e);
	if (h->n_tags < 2) /* one score says all */
		h->n_tags = 0;
	for (size_t i = 0; !rc && i < h->n_tags; i++)
		rc = score_tag(h, &h->tags[i], e);
	return rc;
}

void heldout_tags_json(const struct heldout *h, struct json_writer *w)
{
	if (!h->n_tags)
		return;
	json_put_open(w, "tags", '[');
	for (size_t i = 0; i < h->n_tags; i++) {
		json_open(w, '{');
		json_put_str(w, "tag", h->tags[i].tag);
		json_put_int(w, "sentences", h->tags[i].n);
		json_put_real(w, "bleu", h->tags[i].bleu);
		json_put_real(w, "chrf2", h->tags[i].chrf);
		if (h->tags[i].nll_tokens)
			json_put_real(w, "nll", h->tags[i].nll);
		json_close(w, '}');
	}
	json_close(w, ']');
}

void heldout_tags_text(const struct heldout *h, struct buf *out)
{
	for (size_t i = 0; i < h->n_tags; i++) {
		const struct heldout_tag *t = &h->tags[i];

		buf_printf(out, "%s: BLEU %.2f, chrF2 %.2f", *t->tag ? t->tag : "without a tag",
			   t->bleu, t->chrf);
		if (t->nll_tokens)
			buf_printf(out, ", NLL %.4f", t->nll);
		buf_printf(out, " (%lld sentence%s)\n", (long long)t->n, text_plural(t->n));
	}
}
