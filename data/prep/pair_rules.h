/*
 * pair_rules.h - how a training pair is judged: one way for the stage "judge" and for those who try
 * other limits on a prepared corpus.
 *
 *	o = pair_rules_options(conf)			the limits of a recipe
 *	s = pair_rules_side(&line)			what the rules need of a line of a token column
 *	rule = clean_check_pair(&o, &s, &t)		the rules about one pair (clean.h)
 *	rule = pair_rules_repeat(&r, key, is_held_out)	then those that compare with other pairs
 */
#ifndef WERKBANK_DATA_PREP_PAIR_RULES_H
#define WERKBANK_DATA_PREP_PAIR_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/prep/token_column.h"
#include "data/text/clean.h"
#include "share/base/err.h"
#include "share/base/hash_index.h"
#include "share/conf/conf.h"

struct clean_options pair_rules_options(const struct conf *c);
struct clean_side pair_rules_side(const struct token_column_line *line);

/* Key of a pair by the hashes of its raw lines. Exchanged sides have another key. */
uint64_t pair_rules_key(uint64_t source, uint64_t target);

/* The rules that compare with other pairs, in the order of the texts. */
struct pair_rules_memory {
	bool drop_overlap;    /* overlap = drop */
	struct hash_set seen; /* keys of the pairs so far; without slots: drop_duplicates is off */
};

/* Judge a pair that passed clean_check_pair(); the pair is remembered in seen if it is kept. */
enum clean_rule pair_rules_repeat(struct pair_rules_memory *m, uint64_t key, bool is_held_out);

/* ---- held-out sets ---- */

enum held_out_part { HELD_OUT_PAIR, HELD_OUT_SOURCE, HELD_OUT_TARGET, HELD_OUT_PARTS };

struct held_out_key {
	uint64_t key; /* of a pair, or the hash of a raw line */
	int64_t line; /* from 1 */
};

/* The pairs of a held-out set, sorted by key: as pairs, and by each side alone. */
struct held_out {
	struct held_out_key *keys[HELD_OUT_PARTS]; /* owned: [n] each */
	size_t n;
};

/*
 * Read folder/SET.SOURCE and folder/SET.TARGET, in the languages of c, into a zeroed *h, without the tags of source
 * lines. Free *h after a failure too.
 */
int held_out_read(struct held_out *h, const char *folder, const char *set, const struct conf *c,
		  struct err *e);
/* A line of the set with this key; 0: none. */
int64_t held_out_find(const struct held_out *h, enum held_out_part part, uint64_t key);
void held_out_free(struct held_out *h);

#endif
