/* pair_repeats.c - counts how often keys occur, in bounded memory; see pair_repeats.h. */
#include "data/inspect/pair_repeats.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/hash_index.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define REPEAT_SLOTS ((size_t)PAIR_REPEAT_KEYS * 2)
#define Z_95	     1.96 /* half-width of a 95 % interval in standard errors */

static bool repeat_slot_ends(const void *table, size_t at, const void *key)
{
	const struct repeat_slot *slots = table;

	return !slots[at].key || slots[at].key == *(const uint64_t *)key;
}

/* The hash is not that of the slots, so that the kept keys still spread over all of them. */
static bool is_repeat_key_counted(uint64_t key, int shift)
{
	uint64_t bits = hash_integer(key ^ 0xD6E8FEB86659FD93u) >> 24;

	return !(bits & ((UINT64_C(1) << shift) - 1));
}

static struct repeat_slot *repeat_slot_of(struct repeat_slot *slots, uint64_t key)
{
	return &slots[hash_probe(REPEAT_SLOTS, hash_integer(key), repeat_slot_ends, slots, &key)];
}

/* Halve the counted part of the hash space. */
static int repeat_counter_halve(struct repeat_counter *c, struct err *e)
{
	struct repeat_slot *slots = mem_alloc(REPEAT_SLOTS, sizeof(*slots), e);

	if (!slots)
		return e->code;
	c->shift++;
	c->n = 0;
	for (size_t i = 0; i < REPEAT_SLOTS; i++)
		if (c->slots[i].key && is_repeat_key_counted(c->slots[i].key, c->shift)) {
			*repeat_slot_of(slots, c->slots[i].key) = c->slots[i];
			c->n++;
		}
	free(c->slots);
	c->slots = slots;
	return 0;
}

int repeat_counter_add(struct repeat_counter *c, uint64_t key, struct pair_place place,
		       struct err *e)
{
	struct repeat_slot *slot;

	if (!c->slots && !(c->slots = mem_alloc(REPEAT_SLOTS, sizeof(*c->slots), e)))
		return e->code;
	key = key ? key : 1;
	if (!is_repeat_key_counted(key, c->shift))
		return 0;
	slot = repeat_slot_of(c->slots, key);
	if (slot->key) {
		slot->example.n++;
		return 0;
	}
	*slot = (struct repeat_slot){ key, { place, 1 } };
	c->n++;
	/* hostile keys may all lie in one half: then the next key halves again */
	return c->n > PAIR_REPEAT_KEYS && c->shift < 32 ? repeat_counter_halve(c, e) : 0;
}

struct pair_estimate repeat_counter_estimate(const struct repeat_counter *c)
{
	double scale = ldexp(1, c->shift), extra = 0, squares = 0;

	for (size_t i = 0; c->slots && i < REPEAT_SLOTS; i++)
		if (c->slots[i].key) {
			double more = (double)(c->slots[i].example.n - 1);

			extra += more;
			squares += more * more;
		}
	/* with none found, three of the whole space may be there (95 %) */
	return (struct pair_estimate){
		extra * scale,
		!c->shift ? 0 : MAX(Z_95 * scale * sqrt((1 - 1 / scale) * squares), 3 * scale),
		!c->shift
	};
}

int repeat_counter_examples(const struct repeat_counter *c, struct pair_repeat_example *out,
			    int max)
{
	int n = 0;

	for (size_t i = 0; c->slots && i < REPEAT_SLOTS; i++) {
		struct pair_repeat_example x = c->slots[i].example;
		int at = n;

		if (!c->slots[i].key || x.n < 2)
			continue;
		/* insertion into a short sorted list: by count, then by place */
		while (at > 0 &&
		       (x.n > out[at - 1].n ||
			(x.n == out[at - 1].n && (x.first.text < out[at - 1].first.text ||
						  (x.first.text == out[at - 1].first.text &&
						   x.first.line < out[at - 1].first.line))))) {
			if (at < max)
				out[at] = out[at - 1];
			at--;
		}
		if (at < max)
			out[at] = x;
		n = MIN(n + (at < max), max);
	}
	return n;
}

void repeat_counter_free(struct repeat_counter *c)
{
	free(c->slots);
	*c = (struct repeat_counter){ 0 };
}
