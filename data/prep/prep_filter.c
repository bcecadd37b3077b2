/* prep_filter.c - stage "judge": which training pairs are kept; counts of the words in them */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/prep/column_pair.h"
#include "data/prep/pair_rules.h"
#include "data/prep/prep_pairs.h"
#include "data/prep/prep_stages.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"

struct pair_filter {
	struct prep *p;
	struct clean_options options;
	struct held_out held[PREP_MAX_SETS]; /* by index of the set; train has none */
	struct pair_rules_memory memory;
	struct outfile verdicts;
	int64_t *counts; /* owned: [text_subword_models() * words.n] occurrences in kept pairs */
	int64_t *target_counts; /* of the target, in counts: the same if both sides share a model */
	int64_t n_pairs;	/* pairs filtered so far */
};

/* Is the pair in a held-out set? Counts it in in_train of each such set. */
static bool is_held_out(struct pair_filter *f, uint64_t key)
{
	bool found = false;
	int set;

	for (set = 1; set < f->p->texts.n_sets; set++) {
		if (!held_out_find(&f->held[set], HELD_OUT_PAIR, key))
			continue;
		f->p->numbers.in_train[set]++;
		found = true;
	}
	return found;
}

/* Rules that compare with other pairs come last: only pairs that passed the others are compared. */
static enum clean_rule pair_filter_rule(struct pair_filter *f,
					const struct token_column_line *source,
					const struct token_column_line *target)
{
	struct clean_side s = pair_rules_side(source), t = pair_rules_side(target);
	enum clean_rule rule = clean_check_pair(&f->options, &s, &t);
	uint64_t key = pair_rules_key(source->hash, target->hash);

	if (rule)
		return rule;
	return pair_rules_repeat(&f->memory, key,
				 f->p->c->overlap != OVERLAP_IGNORE && is_held_out(f, key));
}

static void count_kept_words(int64_t *counts, const struct token_column_line *line)
{
	uint32_t i;

	for (i = 0; i < line->n; i++)
		counts[line->words[i]]++;
}

static int pair_filter_next(struct pair_filter *f, const struct token_column_line *source,
			    const struct token_column_line *target, int32_t tag, struct err *e)
{
	struct prep_numbers *n = &f->p->numbers;
	enum clean_rule rule = pair_filter_rule(f, source, target);

	assert(rule >= CLEAN_KEEP && rule < CLEAN_N_RULES);
	progress_at(&f->p->progress, ++f->n_pairs);
	if (putc((int)rule, f->verdicts.stream) == EOF)
		return err_set_errno(e, ERR_IO, "%s: cannot be written", f->verdicts.path);
	if (rule) {
		n->dropped[rule]++;
		return 0;
	}
	n->pairs[0]++;
	if (tag >= 0)
		f->counts[tag]++;
	count_kept_words(f->counts, source);
	count_kept_words(f->target_counts, target);
	return 0;
}

static int pair_filter_text(struct pair_filter *f, size_t number, struct err *e)
{
	const int32_t tag = prep_tag_word(f->p, number);
	struct column_pair c = { 0 };
	struct token_column_line sides[2];
	int rc = column_pair_open(&c, f->p->work, number, f->p->words.n, e);

	while (!rc && (rc = column_pair_next(&c, sides, e)) > 0)
		rc = pair_filter_next(f, &sides[0], &sides[1], tag, e);
	column_pair_close(&c);
	return rc;
}

/* ---- begin and end of the stage ---- */

static int pair_filter_begin(struct pair_filter *f, struct err *e)
{
	struct prep *p = f->p;
	struct prep_numbers *n = &p->numbers;
	const char *path;
	int set;

	memset(n->dropped, 0, sizeof(n->dropped));
	memset(n->in_train, 0, sizeof(n->in_train));
	n->pairs[0] = 0;
	if (!prep_words(p, e))
		return e->code;
	f->options = pair_rules_options(p->c);
	f->memory.drop_overlap = p->c->overlap == OVERLAP_DROP;
	f->counts = mem_alloc(prep_counts(p, p->words.n), sizeof(*f->counts), e);
	if (!f->counts)
		return e->code;
	f->target_counts = f->counts + prep_counts(p, p->words.n) - p->words.n;
	if (p->c->overlap != OVERLAP_IGNORE)
		for (set = 1; set < p->texts.n_sets; set++)
			if (n->pairs[set] && /* a set that was left out has no files */
			    held_out_read(&f->held[set], p->folder, p->texts.sets[set], p->c, e))
				return e->code;
	if (p->c->drop_duplicates && hash_set_reserve(&f->memory.seen, (size_t)MAX(n->read, 1), e))
		return e->code;
	path = prep_path(p, e, "work/verdicts");
	return path ? outfile_open(&f->verdicts, path, e) : e->code;
}

static int check_pairs_remain(const struct prep *p, int64_t n_pairs, struct err *e)
{
	const char *first = p->texts.pairs[0].name;

	if (!n_pairs)
		return err_set(e, ERR_DATA, "%s: the training text is empty", first);
	if (!p->numbers.pairs[0])
		return err_set(e, ERR_DATA,
			       "%s: the rules dropped all %lld training pairs: check min_words, "
			       "max_words, max_ratio and the languages",
			       first, (long long)n_pairs);
	return 0;
}

static void report_overlap(struct prep *p)
{
	int set;

	for (set = 1; set < p->texts.n_sets; set++)
		if (p->numbers.in_train[set] && p->c->overlap == OVERLAP_WARN)
			progress_print_line(&p->progress,
					    "note: %lld training pairs are also in the %s set: its "
					    "score will be "
					    "too high; overlap = drop removes them",
					    (long long)p->numbers.in_train[set],
					    p->texts.sets[set]);
		else if (p->numbers.in_train[set])
			progress_print_line(
				&p->progress,
				"note: dropped %lld training pair%s found in the %s set",
				(long long)p->numbers.in_train[set],
				text_plural(p->numbers.in_train[set]), p->texts.sets[set]);
}

int prep_filter_pairs(struct prep *p, struct err *e)
{
	struct pair_filter f = { .p = p };
	size_t i;
	int rc, set;

	progress_begin(&p->progress, "judge", p->numbers.read, "pairs");
	rc = pair_filter_begin(&f, e);
	for (i = 0; !rc && i < p->texts.n_train; i++)
		rc = pair_filter_text(&f, i, e);
	if (!rc)
		rc = check_pairs_remain(p, f.n_pairs, e);
	if (!rc)
		rc = prep_write_file(p, "work/counts", f.counts,
				     prep_counts(p, p->words.n) * sizeof(*f.counts), e);
	if (!rc)
		rc = outfile_commit(&f.verdicts, e);
	if (!rc) {
		progress_end(&p->progress, "%s of %s pairs kept", COUNT_TEXT(p->numbers.pairs[0]),
			     COUNT_TEXT(f.n_pairs));
		report_overlap(p);
	}
	outfile_abandon(&f.verdicts);
	for (set = 0; set < PREP_MAX_SETS; set++)
		held_out_free(&f.held[set]);
	hash_set_free(&f.memory.seen);
	free(f.counts);
	return rc;
}
