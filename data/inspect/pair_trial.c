/* pair_trial.c - what other limits of the cleaning rules would drop; see pair_trial.h. */
#include "data/inspect/pair_trial.h"

#include <math.h>

#include "data/prep/pair_rules.h"
#include "share/base/util.h"

#define Z_95 1.96 /* half-width of a 95 % interval in standard errors */

/* The verdict on a pair that the rules about single pairs keep. *unsure: others may still drop it. */
static enum clean_rule trial_compare(const struct pair_facts *f, const struct pair_fact *p,
				     struct pair_rules_memory *m, bool is_exact, bool *unsure)
{
	enum clean_rule rule =
		pair_rules_repeat(m, pair_rules_key(p->sides[0].hash, p->sides[1].hash),
				  m->drop_overlap && pair_facts_is_held_out(f, p));

	*unsure = false;
	if (rule)
		return rule;
	/* the rules that cannot be applied to the facts in memory keep their verdict */
	if (p->rule == CLEAN_TOKENS || (p->rule == CLEAN_DUPLICATE && !is_exact))
		return p->rule;
	*unsure = p->rule != CLEAN_KEEP;
	return CLEAN_KEEP;
}

static void trial_count(struct pair_trial *t, const struct pair_fact *p, enum clean_rule rule,
			bool unsure)
{
	t->before[p->rule]++;
	t->after[rule]++;
	if (!p->rule && rule) {
		if (t->n_dropped < PAIR_EXAMPLES) {
			t->dropped[t->n_dropped] = *p;
			t->dropped_by[t->n_dropped] = rule;
		}
		t->n_dropped++;
	} else if (p->rule && !rule) {
		if (t->n_kept < PAIR_EXAMPLES)
			t->kept[t->n_kept] = *p;
		t->n_kept++;
		t->n_unsure += unsure;
	}
}

int pair_trial_run(struct pair_trial *t, const struct pair_facts *f, const struct clean_options *o,
		   struct err *e)
{
	struct pair_rules_memory memory = { .drop_overlap = pair_facts_counts(f)->drop_overlap };
	int64_t n = pair_facts_counts(f)->n_sample;

	*t = (struct pair_trial){ .n = n,
				  .total = pair_facts_counts(f)->total,
				  .is_exact = pair_facts_are_whole(f) };
	if (t->is_exact && pair_facts_counts(f)->drop_duplicates &&
	    hash_set_reserve(&memory.seen, (size_t)MAX(n, 1), e))
		return e->code;
	for (int64_t i = 0; i < n; i++) {
		const struct pair_fact *p = pair_facts_at(f, i);
		enum clean_rule rule = clean_check_pair(o, &p->sides[0], &p->sides[1]);
		bool unsure = false;

		if (!rule)
			rule = trial_compare(f, p, &memory, t->is_exact, &unsure);
		trial_count(t, p, rule, unsure);
	}
	hash_set_free(&memory.seen);
	return 0;
}

/* Wilson's interval of a share, narrowed by the part of the corpus that was not judged. */
struct pair_estimate pair_trial_estimate(const struct pair_trial *t, int64_t n)
{
	double of = (double)t->n, share = t->n ? (double)n / of : 0;
	double z2 = Z_95 * Z_95, middle, half, rest;

	if (t->is_exact)
		return (struct pair_estimate){ (double)n, 0, true };
	if (!t->n)
		return (struct pair_estimate){ NAN, NAN, false };
	rest = sqrt(MAX(1 - of / (double)MAX(t->total, t->n), 0));
	middle = (share + z2 / (2 * of)) / (1 + z2 / of);
	half = Z_95 * sqrt(share * (1 - share) / of + z2 / (4 * of * of)) / (1 + z2 / of);
	return (struct pair_estimate){ share * (double)t->total,
				       (fabs(middle - share) + half) * rest * (double)t->total,
				       false };
}
