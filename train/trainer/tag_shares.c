/* tag_shares.c - see tag_shares.h */
#include "train/trainer/tag_shares.h"

#include <stdbool.h>
#include <string.h>

#include "data/pipeline/line_tags.h"
#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/text.h"

int tag_shares_options(struct tag_mix_options *o, const struct conf *c, const struct vocab *v,
		       struct err *e)
{
	int32_t *ids = mem_alloc(MAX(c->train_tags.n, 1), sizeof(*ids), e);

	*o = (struct tag_mix_options){ .temperature = c->pair_temperature, .tags = ids };
	if (!ids)
		return e->code;
	for (size_t i = 0; i < c->train_tags.n; i++) {
		const char *tag = c->train_tags.items[i];
		const int32_t id = vocab_id(v, tag, strlen(tag));
		bool is_known = line_tag_is_none(tag) || id == TOKEN_UNKNOWN;

		for (int32_t k = 0; k < o->n_tags; k++)
			is_known |= ids[k] == id;
		if (!is_known)
			ids[o->n_tags++] = id;
	}
	return 0;
}

static const char *group_tag(const struct tag_mix_group *g, const struct vocab *v)
{
	return g->tag < 0 ? "" : vocab_piece(v, g->tag);
}

static double group_passes(const struct tag_mix_group *g)
{
	return (double)g->draws / (double)g->pairs;
}

static double sum_draws(const struct tag_mix *m)
{
	int32_t n;
	const struct tag_mix_group *g = tag_mix_groups(m, &n);
	double sum = 0;

	for (int32_t k = 0; k < n; k++)
		sum += (double)g[k].draws;
	return sum;
}

void tag_shares_put_json(const struct tag_mix *m, const struct vocab *v, struct json_writer *w)
{
	const struct tag_mix_group *g;
	int32_t n;

	if (!m)
		return;
	g = tag_mix_groups(m, &n);
	json_put_open(w, "tags", '[');
	for (int32_t k = 0; k < n; k++) {
		json_open(w, '{');
		json_put_str(w, "tag", group_tag(&g[k], v));
		json_put_int(w, "pairs", g[k].pairs);
		json_put_real(w, "share", (double)g[k].draws / sum_draws(m));
		json_put_real(w, "passes", group_passes(&g[k]));
		json_close(w, '}');
	}
	json_close(w, ']');
}

void tag_shares_describe(const struct tag_mix *m, const struct vocab *v, struct buf *out)
{
	const struct tag_mix_group *g;
	int32_t n;

	g = tag_mix_groups(m, &n);
	for (int32_t k = 0; k < n; k++)
		buf_printf(out,
			   "%s%s: %s pair%s, %.1f %% of the sampled ones (each %.2f times an "
			   "epoch)",
			   k ? "; " : "", g[k].tag < 0 ? "without a tag" : group_tag(&g[k], v),
			   COUNT_TEXT((double)g[k].pairs), text_plural(g[k].pairs),
			   100 * (double)g[k].draws / sum_draws(m), group_passes(&g[k]));
}

double tag_shares_target_tokens(const struct tag_mix *m)
{
	const struct tag_mix_group *g;
	double sum = 0;
	int32_t n;

	g = tag_mix_groups(m, &n);
	for (int32_t k = 0; k < n; k++)
		sum += (double)g[k].target_tokens * group_passes(&g[k]);
	return sum;
}
