/* heldout_tags.c - scores of a held-out set by the tags of its source lines; see heldout.h */
#include <stdlib.h>
#include <string.h>

#include "eval/evaluate/heldout.h"
#include "eval/evaluate/score_tools.h"
#include "eval/metrics/chrf.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

/* The tag at the start of a source line, and its length; "" and 0: none. Borrowed from c. */
static const char *tag_of_line(const struct conf *c, const char *line, size_t *len)
{
	const struct conf_list *const lists[] = { &c->dev_tags, &c->test_tags, &c->train_tags };
	const size_t n = strcspn(line, " ");

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		for (size_t k = 0; k < lists[i]->n; k++) {
			const char *tag = lists[i]->items[k];

			if (strlen(tag) == n && !memcmp(tag, line, n) && strcmp(tag, "-") != 0) {
				*len = n;
				return tag;
			}
		}
	*len = 0;
	return "";
}

/* Append the tags of the lines, each once, by first appearance. */
static int list_tags(struct heldout *h, struct err *e)
{
	size_t cap = 0;

	for (int64_t i = 0; i < h->n; i++) {
		size_t len, k = 0;
		const char *tag = tag_of_line(h->engine->conf, h->sources[i], &len);

		while (k < h->n_tags && strcmp(h->tags[k].tag, tag) != 0)
			k++;
		if (k == h->n_tags) {
			if (mem_grow(&h->tags, &cap, k + 1, sizeof(*h->tags), e))
				return e->code;
			h->tags[h->n_tags++] = (struct heldout_tag){ .tag = tag };
		}
		h->tags[k].n++;
	}
	return 0;
}

static int score_tag(struct heldout *h, struct heldout_tag *t, struct err *e)
{
	struct bleu_options o = bleu_defaults;
	struct bleu *bleu;
	struct chrf *chrf = chrf_new(&chrf_defaults, e);
	struct chrf_score chrf_result;
	int rc;

	o.tokenizer = score_tokenizer_of(h->engine->conf);
	bleu = chrf ? bleu_new(&o, e) : NULL;
	rc = bleu ? 0 : e->code;
	for (int64_t i = 0; !rc && i < h->n; i++) {
		struct score_text hypothesis = { h->hypotheses[i], strlen(h->hypotheses[i]) };
		struct score_text reference = { h->references[i], strlen(h->references[i]) };
		size_t len;

		if (strcmp(tag_of_line(h->engine->conf, h->sources[i], &len), t->tag) != 0)
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
		json_close(w, '}');
	}
	json_close(w, ']');
}

void heldout_tags_text(const struct heldout *h, struct buf *out)
{
	for (size_t i = 0; i < h->n_tags; i++)
		buf_printf(out, "%s: BLEU %.2f, chrF2 %.2f (%lld sentence%s)\n",
			   *h->tags[i].tag ? h->tags[i].tag : "without a tag", h->tags[i].bleu,
			   h->tags[i].chrf, (long long)h->tags[i].n, text_plural(h->tags[i].n));
}
