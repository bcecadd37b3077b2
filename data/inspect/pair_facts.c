/* pair_facts.c - lengths, ratios, scripts, repeats and leaks of training pairs; see pair_facts.h. */
#include "data/inspect/pair_facts.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/inspect/pair_repeats.h"
#include "data/prep/column_pair.h"
#include "data/prep/pair_rules.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/rng.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "share/workspace/paths.h"

#define JSON_LIMIT     ((size_t)64 << 20)
#define HELD_OUT_LIMIT ((int64_t)16 << 20) /* bytes of a side of a held-out set that is read */
#define TEXTS_LIMIT    100000

struct pair_facts {
	char *folder;	    /* owned */
	struct conf conf;   /* the recipe of the corpus */
	struct json *stats; /* owned: names of texts and sets */
	struct pair_counts counts;
	/* the text being read */
	size_t n_texts, text;
	struct column_pair sides; /* closed between texts */
	int64_t line;
	FILE *verdicts; /* owned */
	bool is_complete;
	struct repeat_counter repeats[PAIR_REPEATS];
	/* facts of single pairs */
	struct pair_fact *sample, *dropped; /* owned */
	size_t cap_sample, n_dropped, cap_dropped;
	struct held_out held[PAIR_SETS_MAX]; /* (counts.n_sets) */
};

static const double bin_limits[PAIR_HISTOGRAMS][PAIR_BINS] = {
	[PAIR_SOURCE_WORDS] = { 0, 5, 10, 15, 20, 30, 40, 60, 80, INFINITY },
	[PAIR_TARGET_WORDS] = { 0, 5, 10, 15, 20, 30, 40, 60, 80, INFINITY },
	[PAIR_WORD_RATIO] = { 0, 1, 1.25, 1.5, 2, 3, 4, 6, 9, INFINITY },
	[PAIR_FOREIGN_SHARE] = { 0, 1, 2, 5, 10, 20, 30, 50, 75, INFINITY },
};

double pair_bin_limit(enum pair_histogram h, int bin)
{
	return bin_limits[h][bin];
}

/* ---- opening ---- */

static int facts_read_recipe(struct pair_facts *f, struct err *e)
{
	char *path = file_path(e, "%s/recipe.ini", f->folder);
	int rc = path ? conf_init(&f->conf, e) : e->code;

	if (!rc)
		rc = conf_load_recipe(&f->conf, path, e);
	if (!rc) {
		f->counts.options = pair_rules_options(&f->conf);
		f->counts.drop_duplicates = f->conf.drop_duplicates;
		f->counts.drop_overlap = f->conf.overlap == OVERLAP_DROP;
	}
	free(path);
	return rc;
}

/* Read a held-out set whose names can be file names; one that cannot be read has no leaks. */
static void facts_read_set(struct pair_facts *f, const struct json *set, const char *languages[2])
{
	struct pair_leaks *leaks = &f->counts.leaks[f->counts.n_sets];
	const char *name = json_text(json_get(set, "set"), "");
	struct err ignored = { 0 };
	bool fits = !paths_check_name("set", name, &ignored) && strlen(name) < sizeof(leaks->set);

	for (int i = 0; fits && i < 2; i++) {
		char *path = file_path(&ignored, "%s/%s.%s", f->folder, name, languages[i]);
		int64_t size = path ? file_size(path) : -1;

		fits = size >= 0 && size <= HELD_OUT_LIMIT;
		free(path);
	}
	if (!fits)
		return;
	if (held_out_read(&f->held[f->counts.n_sets], f->folder, name, &f->conf, &ignored)) {
		held_out_free(&f->held[f->counts.n_sets]);
		return;
	}
	snprintf(leaks->set, sizeof(leaks->set), "%s", name);
	leaks->n_lines = (int64_t)f->held[f->counts.n_sets].n;
	f->counts.n_sets++;
}

static int facts_read_stats(struct pair_facts *f, struct err *e)
{
	char *path = file_path(e, "%s/stats.json", f->folder);
	const char *languages[2];
	const struct json *sets;

	if (!path || json_read_optional(&f->stats, path, JSON_LIMIT, e)) {
		free(path);
		return e->code;
	}
	free(path);
	f->n_texts = json_len(json_get(f->stats, "texts"));
	f->counts.total = json_integer(json_get(json_get(f->stats, "pairs"), "read"), -1);
	if (!f->n_texts || f->n_texts > TEXTS_LIMIT || f->counts.total < 0)
		return err_set(e, ERR_DATA,
			       "%s/stats.json: does not say how many pairs of which texts were "
			       "read; prepare the corpus again with --force",
			       f->folder);
	languages[0] = json_text(json_get(f->stats, "source_language"), "");
	languages[1] = json_text(json_get(f->stats, "target_language"), "");
	for (int i = 0; i < 2; i++)
		if (paths_check_name("language", languages[i], e))
			return e->code;
	sets = json_get(f->stats, "held_out");
	for (size_t i = 0; i < json_len(sets) && f->counts.n_sets < PAIR_SETS_MAX; i++)
		facts_read_set(f, json_at(sets, i), languages);
	return 0;
}

static int facts_open_verdicts(struct pair_facts *f, struct err *e)
{
	char *path = file_path(e, "%s/work/verdicts.final", f->folder);

	if (!path)
		return e->code;
	if (!file_exists(path)) {
		err_set(e, ERR_NOINPUT,
			"the corpus was prepared without its work folder: prepare it again with "
			"--keep-work yes to see its pairs");
	} else if (file_size(path) != f->counts.total) {
		err_set(e, ERR_DATA,
			"%s: has %lld verdicts, but %lld pairs were read; prepare the corpus "
			"again with --force",
			path, (long long)file_size(path), (long long)f->counts.total);
	} else {
		f->verdicts = file_open_stream(path, e);
	}
	free(path);
	return f->verdicts ? 0 : e->code;
}

struct pair_facts *pair_facts_open(const char *folder, struct err *e)
{
	struct pair_facts *f = mem_alloc(1, sizeof(*f), e);

	if (!f)
		return NULL;
	f->folder = mem_strdup(folder, e);
	if (!f->folder || facts_read_recipe(f, e) || facts_read_stats(f, e) ||
	    facts_open_verdicts(f, e)) {
		pair_facts_free(f);
		return NULL;
	}
	return f;
}

void pair_facts_free(struct pair_facts *f)
{
	if (!f)
		return;
	column_pair_close(&f->sides);
	conf_free(&f->conf);
	if (f->verdicts)
		fclose(f->verdicts);
	for (int i = 0; i < PAIR_REPEATS; i++)
		repeat_counter_free(&f->repeats[i]);
	for (int i = 0; i < f->counts.n_sets; i++)
		held_out_free(&f->held[i]);
	json_free(f->stats);
	free(f->folder);
	free(f->sample);
	free(f->dropped);
	free(f);
}

/* ---- reading ---- */

static int facts_open_text(struct pair_facts *f, struct err *e)
{
	char *work = file_path(e, "%s/work", f->folder);
	/* the words are not looked at, so no word table limits their numbers */
	int rc = work ? column_pair_open(&f->sides, work, f->text, INT32_MAX, e) : e->code;

	free(work);
	f->line = 0;
	return rc;
}

static int bin_of_value(enum pair_histogram h, double value)
{
	int bin = 0;

	while (bin < PAIR_BINS - 1 && value > bin_limits[h][bin])
		bin++;
	return bin;
}

static double foreign_per_cent(const struct clean_side *s)
{
	return s->letters ? 100.0 * s->foreign / s->letters : 0;
}

static void facts_count_pair(struct pair_facts *f, const struct pair_fact *p)
{
	const struct clean_side *s = &p->sides[0], *t = &p->sides[1];
	uint32_t least = MIN(s->words, t->words), most = MAX(s->words, t->words);
	const double values[PAIR_HISTOGRAMS] = {
		[PAIR_SOURCE_WORDS] = s->words,
		[PAIR_TARGET_WORDS] = t->words,
		[PAIR_WORD_RATIO] = least ? (double)most / least : 0,
		[PAIR_FOREIGN_SHARE] = MAX(foreign_per_cent(s), foreign_per_cent(t)),
	};

	for (int h = 0; h < PAIR_HISTOGRAMS; h++)
		f->counts.in_bin[h][bin_of_value((enum pair_histogram)h, values[h])][p->rule]++;
	f->counts.of_rule[p->rule]++;
	f->counts.density[p->rule != CLEAN_KEEP][MIN(s->words, PAIR_GRID - 1u)]
			 [MIN(t->words, PAIR_GRID - 1u)]++;
}

static void facts_count_leaks(struct pair_facts *f, const struct pair_fact *p)
{
	const uint64_t keys[HELD_OUT_PARTS] = { pair_rules_key(p->sides[0].hash, p->sides[1].hash),
						p->sides[0].hash, p->sides[1].hash };

	for (int set = 0; set < f->counts.n_sets; set++) {
		struct pair_leaks *l = &f->counts.leaks[set];
		bool has_example = false;

		for (int part = 0; part < HELD_OUT_PARTS; part++) {
			int64_t line =
				held_out_find(&f->held[set], (enum held_out_part)part, keys[part]);

			if (!line)
				continue;
			l->n[part]++;
			if (!has_example && l->n_examples < PAIR_EXAMPLES) {
				l->examples[l->n_examples].place = p->place;
				l->examples[l->n_examples].line = line;
				l->examples[l->n_examples++].part = part;
			}
			has_example = true;
		}
	}
}

static int facts_count_kept(struct pair_facts *f, const struct pair_fact *p, struct err *e)
{
	uint64_t source = p->sides[0].hash, target = p->sides[1].hash;

	facts_count_leaks(f, p);
	if (repeat_counter_add(&f->repeats[PAIR_REPEATED], pair_rules_key(source, target), p->place,
			       e) ||
	    repeat_counter_add(&f->repeats[PAIR_SOURCE_REPEATED], source, p->place, e) ||
	    repeat_counter_add(&f->repeats[PAIR_TARGET_REPEATED], target, p->place, e))
		return e->code;
	return 0;
}

/* Keep every pair while there is room, then each of the pairs so far with equal probability. */
static int facts_keep_sample(struct pair_facts *f, const struct pair_fact *p, struct err *e)
{
	uint64_t place = (uint64_t)f->counts.done;

	if (f->counts.n_sample < PAIR_FACTS_MAX) {
		if (mem_grow(&f->sample, &f->cap_sample, (size_t)f->counts.n_sample + 1,
			     sizeof(*f->sample), e))
			return e->code;
		f->sample[f->counts.n_sample++] = *p;
	} else {
		struct rng_block r = rng_block_at(rng_key_make(1, RNG_SAMPLE, 0, 0), place);

		place = ((uint64_t)r.v[0] << 31 ^ r.v[1]) % (place + 1);
		if (place < PAIR_FACTS_MAX)
			f->sample[place] = *p;
	}
	if (p->rule == CLEAN_KEEP || f->n_dropped >= PAIR_DROPPED_MAX)
		return 0;
	if (mem_grow(&f->dropped, &f->cap_dropped, f->n_dropped + 1, sizeof(*f->dropped), e))
		return e->code;
	f->dropped[f->n_dropped++] = *p;
	return 0;
}

static int facts_add_pair(struct pair_facts *f, const struct token_column_line lines[2],
			  struct err *e)
{
	struct pair_fact p = { .place = { (uint32_t)f->text, ++f->line },
			       .sides = { pair_rules_side(&lines[0]),
					  pair_rules_side(&lines[1]) } };
	int rule = getc(f->verdicts);

	if (rule == EOF && ferror(f->verdicts))
		return err_set_errno(e, ERR_IO, "%s/work/verdicts.final: cannot be read",
				     f->folder);
	if (rule == EOF || rule >= CLEAN_N_RULES || f->counts.done >= f->counts.total)
		return err_set(e, ERR_DATA,
			       "%s/work/verdicts.final: does not fit the texts; prepare the corpus "
			       "again with --force",
			       f->folder);
	p.rule = (enum clean_rule)rule;
	facts_count_pair(f, &p);
	if (facts_keep_sample(f, &p, e) || (!rule && facts_count_kept(f, &p, e)))
		return e->code;
	f->counts.done++;
	return 0;
}

/* The next pair of the open text: 1; 0: its end. */
static int facts_next_pair(struct pair_facts *f, struct err *e)
{
	struct token_column_line lines[2];
	int got = column_pair_next(&f->sides, lines, e);

	return got <= 0 ? got : facts_add_pair(f, lines, e) ? e->code : 1;
}

int pair_facts_read(struct pair_facts *f, int64_t n, struct err *e)
{
	int got;

	while (n > 0 && f->text < f->n_texts) {
		if (!f->sides.sides[0] && facts_open_text(f, e))
			return e->code;
		got = facts_next_pair(f, e);
		if (got < 0)
			return got;
		n -= got;
		if (!got) {
			column_pair_close(&f->sides);
			f->text++;
		}
	}
	if (f->text < f->n_texts)
		return 1;
	if (f->counts.done != f->counts.total)
		return err_set(e, ERR_DATA,
			       "%s/work: has %lld pairs, but %lld were read; prepare the corpus "
			       "again with --force",
			       f->folder, (long long)f->counts.done, (long long)f->counts.total);
	f->is_complete = true;
	return 0;
}

/* ---- answers ---- */

const struct pair_counts *pair_facts_counts(const struct pair_facts *f)
{
	return &f->counts;
}

bool pair_facts_are_whole(const struct pair_facts *f)
{
	return f->is_complete && f->counts.total <= PAIR_FACTS_MAX;
}

const struct pair_fact *pair_facts_at(const struct pair_facts *f, int64_t i)
{
	assert(i >= 0 && i < f->counts.n_sample);
	return &f->sample[i];
}

bool pair_facts_is_held_out(const struct pair_facts *f, const struct pair_fact *p)
{
	uint64_t key = pair_rules_key(p->sides[0].hash, p->sides[1].hash);

	for (int set = 0; set < f->counts.n_sets; set++)
		if (held_out_find(&f->held[set], HELD_OUT_PAIR, key))
			return true;
	return false;
}

const char *pair_facts_text_name(const struct pair_facts *f, uint32_t text)
{
	return json_text(json_get(json_at(json_get(f->stats, "texts"), text), "name"), "");
}

/* Does the ledger's name of a file mean this text? Control characters are '?' there. */
static bool is_ledger_name(const char *name, const char *text, size_t n)
{
	if (strlen(name) != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)name[i];

		if ((c < ' ' || c == 0x7F ? '?' : name[i]) != text[i])
			return false;
	}
	return true;
}

const struct pair_fact *pair_facts_find(const struct pair_facts *f, const char *text, size_t n_text,
					int64_t line)
{
	for (uint32_t i = 0; i < f->n_texts; i++) {
		size_t low = 0, high = f->n_dropped;

		if (!is_ledger_name(pair_facts_text_name(f, i), text, n_text))
			continue;
		while (low < high) {
			size_t middle = low + (high - low) / 2;
			const struct pair_place *at = &f->dropped[middle].place;

			if (at->text < i || (at->text == i && at->line < line))
				low = middle + 1;
			else
				high = middle;
		}
		if (low < f->n_dropped && f->dropped[low].place.text == i &&
		    f->dropped[low].place.line == line)
			return &f->dropped[low];
	}
	return NULL;
}

struct pair_estimate pair_facts_repeats(const struct pair_facts *f, enum pair_repeat what)
{
	return repeat_counter_estimate(&f->repeats[what]);
}

int pair_facts_repeat_examples(const struct pair_facts *f, enum pair_repeat what,
			       struct pair_repeat_example *out, int max)
{
	return repeat_counter_examples(&f->repeats[what], out, max);
}
