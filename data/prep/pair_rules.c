/* pair_rules.c - how a training pair is judged; see pair_rules.h. */
#include "data/prep/pair_rules.h"

#include <stdlib.h>
#include <string.h>

#include "data/pipeline/line_tags.h"
#include "data/prep/parallel.h"
#include "share/base/hash.h"
#include "share/base/mem.h"

struct clean_options pair_rules_options(const struct conf *c)
{
	return (struct clean_options){ .min_words = c->min_words,
				       .max_words = c->max_words,
				       .max_word_chars = c->max_word_chars,
				       .max_ratio = c->max_ratio,
				       .drop_copies = c->drop_copies,
				       .check_script = c->max_foreign < 1,
				       .max_foreign = c->max_foreign,
				       .max_char_ratio = c->max_char_ratio };
}

struct clean_side pair_rules_side(const struct token_column_line *line)
{
	return (struct clean_side){ .words = line->n,
				    .longest = line->longest,
				    .characters = line->characters,
				    .letters = line->letters,
				    .foreign = line->foreign,
				    .hash = line->hash };
}

/* A plain sum of the hashes would be equal for exchanged sides. */
uint64_t pair_rules_key(uint64_t source, uint64_t target)
{
	return source * 0x9E3779B97F4A7C15u + target;
}

enum clean_rule pair_rules_repeat(struct pair_rules_memory *m, uint64_t key, bool is_held_out)
{
	if (m->drop_overlap && is_held_out)
		return CLEAN_OVERLAP;
	if (m->seen.n_slots && !hash_set_add(&m->seen, key))
		return CLEAN_DUPLICATE;
	return CLEAN_KEEP;
}

/* ---- held-out sets ---- */

static int compare_held_out_keys(const void *a, const void *b)
{
	const struct held_out_key *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

struct held_out_reading {
	struct held_out *set;
	const struct conf *conf;
	size_t caps[HELD_OUT_PARTS];
};

static int held_out_add(void *context, const struct parallel_reader *in, struct err *e)
{
	struct held_out_reading *r = context;
	struct held_out *h = r->set;
	const size_t tag = line_tag_bytes(r->conf, in->source.text, in->source.len);
	uint64_t source = hash_bytes(in->source.text + tag, in->source.len - tag),
		 target = hash_bytes(in->target.text, in->target.len);
	const uint64_t keys[HELD_OUT_PARTS] = { pair_rules_key(source, target), source, target };

	for (int i = 0; i < HELD_OUT_PARTS; i++) {
		if (mem_grow(&h->keys[i], &r->caps[i], h->n + 1, sizeof(*h->keys[i]), e))
			return e->code;
		h->keys[i][h->n] = (struct held_out_key){ keys[i], in->number };
	}
	h->n++;
	return 0;
}

int held_out_read(struct held_out *h, const char *folder, const char *set, const struct conf *c,
		  struct err *e)
{
	struct held_out_reading r = { .set = h, .conf = c };
	int rc = parallel_each_pair(folder, set, c->source_language, c->target_language,
				    held_out_add, &r, e);

	for (int i = 0; !rc && h->n && i < HELD_OUT_PARTS; i++)
		qsort(h->keys[i], h->n, sizeof(*h->keys[i]), compare_held_out_keys);
	return rc;
}

int64_t held_out_find(const struct held_out *h, enum held_out_part part, uint64_t key)
{
	const struct held_out_key *keys = h->keys[part];
	size_t low = 0, high = h->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (keys[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low < h->n && keys[low].key == key ? keys[low].line : 0;
}

void held_out_free(struct held_out *h)
{
	for (int i = 0; i < HELD_OUT_PARTS; i++)
		free(h->keys[i]);
	*h = (struct held_out){ 0 };
}
