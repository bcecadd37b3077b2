/* prep_filter.c - stage "judge": which training pairs are kept; counts of the words in them */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/prep/parallel.h"
#include "data/prep/prep_stages.h"
#include "data/prep/token_column.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/hash_index.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

/* ---- hashes of held-out pairs and of earlier pairs ---- */

/* The pairs of a held-out set: sorted keys, see pair_key(). */
struct held_out {
	uint64_t *keys; /* owned */
	size_t n, cap;
};

struct pair_filter {
	struct prep *p;
	struct clean_options options;
	struct held_out held[PREP_MAX_SETS]; /* by index of the set; train has none */
	struct hash_set seen; /* keys of the pairs so far; without slots: drop_duplicates is off */
	struct outfile verdicts;
	int64_t *counts; /* owned: [words.n] occurrences in kept pairs */
	int64_t n_pairs; /* pairs filtered so far */
};

/* Key of a pair. A plain sum of the hashes would be equal for exchanged sides. */
static uint64_t pair_key(uint64_t source, uint64_t target)
{
	return source * 0x9E3779B97F4A7C15u + target;
}

static int compare_keys(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int read_held_out(struct prep *p, const char *set, struct held_out *h, struct err *e)
{
	char *source = file_path(e, "%s/%s.%s", p->folder, set, p->c->source_language);
	char *target =
		source ? file_path(e, "%s/%s.%s", p->folder, set, p->c->target_language) : NULL;
	struct parallel_reader in;
	int got = target ? parallel_open(&in, source, target, false, e) : e->code;

	if (!got) {
		while ((got = parallel_next(&in, e)) > 0) {
			if (mem_grow(&h->keys, &h->cap, h->n + 1, sizeof(*h->keys), e)) {
				got = e->code;
				break;
			}
			h->keys[h->n++] = pair_key(hash_bytes(in.source.text, in.source.len),
						   hash_bytes(in.target.text, in.target.len));
		}
		parallel_close(&in);
	}
	if (!got && h->n)
		qsort(h->keys, h->n, sizeof(*h->keys), compare_keys);
	free(source);
	free(target);
	return got;
}

/* Is the pair in a held-out set? Counts it in in_train of each such set. */
static bool is_held_out(struct pair_filter *f, uint64_t key)
{
	bool found = false;
	int set;

	for (set = 1; set < f->p->texts.n_sets; set++) {
		const struct held_out *h = &f->held[set];

		if (!h->n || !bsearch(&key, h->keys, h->n, sizeof(key), compare_keys))
			continue;
		f->p->numbers.in_train[set]++;
		found = true;
	}
	return found;
}

/* ---- rules ---- */

static struct clean_side clean_side_of_line(const struct token_column_line *line)
{
	return (struct clean_side){ .words = line->n,
				    .longest = line->longest,
				    .characters = line->characters,
				    .letters = line->letters,
				    .foreign = line->foreign,
				    .hash = line->hash };
}

/* Rules that compare with other pairs come last: only pairs that passed the others are compared. */
static enum clean_rule pair_filter_rule(struct pair_filter *f,
					const struct token_column_line *source,
					const struct token_column_line *target)
{
	const struct conf *c = f->p->c;
	struct clean_side s = clean_side_of_line(source), t = clean_side_of_line(target);
	enum clean_rule rule = clean_check_pair(&f->options, &s, &t);
	uint64_t key = pair_key(source->hash, target->hash);

	if (rule)
		return rule;
	if (c->overlap != OVERLAP_IGNORE && is_held_out(f, key) && c->overlap == OVERLAP_DROP)
		return CLEAN_OVERLAP;
	if (f->seen.n_slots && !hash_set_add(&f->seen, key))
		return CLEAN_DUPLICATE;
	return CLEAN_KEEP;
}

static void count_kept_words(int64_t *counts, const struct token_column_line *line)
{
	uint32_t i;

	for (i = 0; i < line->n; i++)
		counts[line->words[i]]++;
}

static int pair_filter_next(struct pair_filter *f, const struct token_column_line *source,
			    const struct token_column_line *target, struct err *e)
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
	count_kept_words(f->counts, source);
	count_kept_words(f->counts, target);
	return 0;
}

static int pair_filter_readers(struct pair_filter *f, struct token_column_reader *source,
			       struct token_column_reader *target, size_t number, struct err *e)
{
	struct token_column_line s, t;
	int got;

	if (token_column_lines(source) != token_column_lines(target))
		return err_set(e, ERR_DATA,
			       "%s/side-%zu: %lld source and %lld target lines; prepare the corpus "
			       "again with --force",
			       f->p->work, number, (long long)token_column_lines(source),
			       (long long)token_column_lines(target));
	while ((got = token_column_next(source, &s, e)) > 0) {
		got = token_column_next(target, &t, e);
		if (got == 1)
			got = pair_filter_next(f, &s, &t, e);
		if (got < 0)
			break;
	}
	return got;
}

static int pair_filter_text(struct pair_filter *f, size_t number, struct err *e)
{
	struct prep *p = f->p;
	int32_t n_words = p->words.n;
	const char *path = prep_path(p, e, "work/side-%zu.source", number);
	struct token_column_reader *source = path ? token_column_open(path, n_words, e) : NULL,
				   *target = NULL;
	int rc;

	path = source ? prep_path(p, e, "work/side-%zu.target", number) : NULL;
	if (path)
		target = token_column_open(path, n_words, e);
	rc = target ? pair_filter_readers(f, source, target, number, e) : e->code;
	token_column_close(source);
	token_column_close(target);
	return rc;
}

/* ---- begin and end of the stage ---- */

static struct clean_options clean_options_of_conf(const struct conf *c)
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
	f->options = clean_options_of_conf(p->c);
	f->counts = mem_alloc((size_t)p->words.n, sizeof(*f->counts), e);
	if (!f->counts)
		return e->code;
	if (p->c->overlap != OVERLAP_IGNORE)
		for (set = 1; set < p->texts.n_sets; set++)
			if (n->pairs[set] && /* a set that was left out has no files */
			    read_held_out(p, p->texts.sets[set], &f->held[set], e))
				return e->code;
	if (p->c->drop_duplicates && hash_set_reserve(&f->seen, (size_t)MAX(n->read, 1), e))
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

static int write_counts(struct pair_filter *f, struct err *e)
{
	const char *path = prep_path(f->p, e, "work/counts");

	return path ? file_write_all(path, f->counts, (size_t)f->p->words.n * sizeof(*f->counts), e)
		    : e->code;
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
		rc = write_counts(&f, e);
	if (!rc)
		rc = outfile_commit(&f.verdicts, e);
	if (!rc) {
		progress_end(&p->progress, "%lld of %lld pairs kept",
			     (long long)p->numbers.pairs[0], (long long)f.n_pairs);
		report_overlap(p);
	}
	outfile_abandon(&f.verdicts);
	for (set = 0; set < PREP_MAX_SETS; set++)
		free(f.held[set].keys);
	hash_set_free(&f.seen);
	free(f.counts);
	return rc;
}
