/*
 * pair_repeats.h - counts how often keys occur, in bounded memory; used by pair_facts.c
 *
 * All keys are counted while there are at most PAIR_REPEAT_KEYS different ones. Then only keys of
 * one half of the hash space are, then of a quarter, and so on: every occurrence of such a key is
 * still counted, so what is counted times 2^shift estimates the whole.
 */
#ifndef WERKBANK_DATA_INSPECT_PAIR_REPEATS_H
#define WERKBANK_DATA_INSPECT_PAIR_REPEATS_H

#include "data/inspect/pair_facts.h"

struct repeat_slot {
	uint64_t key; /* 0: free */
	struct pair_repeat_example example;
};

struct repeat_counter {
	struct repeat_slot *slots; /* owned */
	size_t n;		   /* different keys */
	int shift;		   /* keys of 1 / 2^shift of the hash space are counted */
};

int repeat_counter_add(struct repeat_counter *c, uint64_t key, struct pair_place place,
		       struct err *e);
struct pair_estimate repeat_counter_estimate(const struct repeat_counter *c);
/* The keys that occur most, twice at least; at most max. Returns their number. */
int repeat_counter_examples(const struct repeat_counter *c, struct pair_repeat_example *out,
			    int max);
void repeat_counter_free(struct repeat_counter *c);

#endif
