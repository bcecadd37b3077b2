/* t_pair_facts.c - facts of pairs, trials of other limits and texts, on token columns written here */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "data/inspect/pair_repeats.h"
#include "data/inspect/pair_texts.h"
#include "data/inspect/pair_trial.h"
#include "data/prep/prep_stages.h"
#include "data/prep/token_column.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tests/test.h"

#define N_PAIRS 600

struct facts_fixture {
	struct conf c;
	struct prep p;
};

static struct text_pair train_and_dev[] = { { .set = "train", .name = (char *)"one.en" },
					    { .set = "dev", .name = (char *)"dev.en" } };

/* Line number i of a side: words of 1 to 9 letters; some empty, some Cyrillic, some repeated. */
static void put_made_line(struct token_column_writer *w, struct intern *words, int i, int side)
{
	int32_t ids[64];
	char text[400] = "";
	size_t used = 0;
	int n = side ? (i * 7 + i / 13) % 23 : (i * 5) % 21, copy = i % 97;
	struct token_column_line l = { .words = ids };
	struct err e = { 0 };

	if (i % 50 == 49) /* repeats and copies of the text before */
		n = 3;
	for (int k = 0; k < n; k++) {
		char word[40];
		int letters = i % 50 == 49 ? 4 : 1 + (k * 3 + i) % 9;

		snprintf(word, sizeof(word), "%.*s", letters, i % 31 ? "abcdefghi" : "qwertzuio");
		if (!(i % 50 == 49))
			word[0] = (char)('a' + (k + copy + side) % 26);
		check_int(intern_add(words, word, strlen(word), &ids[l.n++], &e), 0);
		l.longest = MAX(l.longest, (uint32_t)letters);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", k ? " " : "",
					 word);
	}
	l.hash = hash_bytes(text, used);
	l.bytes = (uint32_t)used;
	l.characters = (uint32_t)used;
	l.letters = l.n ? (uint32_t)used - l.n + 1 : 0;
	l.foreign = i % 31 ? 0 : l.letters / 2;
	check_int(token_column_put(w, &l, &e), 0);
}

/* A folder after the stage "judge", and with what the later stages leave of it. */
static void make_corpus(struct facts_fixture *x)
{
	struct prep *p = &x->p;
	struct token_column_writer *sides[2];
	struct err e = { 0 };
	struct buf b = { 0 };

	*p = (struct prep){ .c = &x->c, .threads = 1 };
	progress_init(&p->progress, true);
	p->folder = file_path(&e, "%s", test_folder());
	p->work = file_path(&e, "%s/work", p->folder);
	check_int(file_make_folders(p->work, &e), 0);
	p->texts = (struct texts){ .pairs = train_and_dev,
				   .n = 2,
				   .n_train = 1,
				   .n_sets = 2,
				   .sets = { "train", "dev" } };
	sides[0] = token_column_create(prep_path(p, &e, "work/side-0.source"), &e);
	sides[1] = token_column_create(prep_path(p, &e, "work/side-0.target"), &e);
	for (int i = 0; i < N_PAIRS; i++)
		for (int side = 0; side < 2; side++)
			put_made_line(sides[side], &p->words, i, side);
	check_int(token_column_finish(sides[0], &e), 0);
	check_int(token_column_finish(sides[1], &e), 0);
	check_int(word_table_save(&p->words, prep_path(p, &e, "work/words"), &e), 0);
	p->numbers.read = N_PAIRS;
	/* the pair of the lines 50, 100, …, and the source alone */
	file_write_all(prep_path(p, &e, "dev.en"), "abcd abcd abcd\nother\n", 21, &e);
	file_write_all(prep_path(p, &e, "dev.de"), "abcd abcd abcd\nanders\n", 22, &e);
	p->numbers.pairs[1] = 2;
	conf_write_recipe(&x->c, &b);
	check_int(file_write_all(prep_path(p, &e, "recipe.ini"), b.data, b.len, &e), 0);
	buf_clear(&b);
	buf_printf(&b,
		   "{\"source_language\":\"en\",\"target_language\":\"de\",\"pairs\":{\"read\":%d},"
		   "\"texts\":[{\"name\":\"one\\ten\"}],\"held_out\":[{\"set\":\"dev\"},"
		   "{\"set\":\"../dev\"},{\"set\":\"gone\"},7]}",
		   N_PAIRS);
	check_int(file_write_all(prep_path(p, &e, "stats.json"), b.data, b.len, &e), 0);
	buf_free(&b);
}

static void judge_corpus(struct facts_fixture *x)
{
	struct err e = { 0 };
	char *from;

	make_corpus(x);
	check_int(prep_filter_pairs(&x->p, &e), 0);
	from = file_path(&e, "%s/verdicts", x->p.work);
	check_int(rename(from, prep_path(&x->p, &e, "work/verdicts.final")), 0);
	free(from);
}

static void begin_facts(struct facts_fixture *x)
{
	struct err e = { 0 };

	check_int(conf_init(&x->c, &e), 0);
	x->c.max_words = 18;
	x->c.max_ratio = 4;
	x->c.overlap = OVERLAP_IGNORE;
}

static void release_prep(struct facts_fixture *x)
{
	intern_free(&x->p.words);
	free(x->p.folder);
	free(x->p.work);
}

static void end_facts(struct facts_fixture *x)
{
	release_prep(x);
	conf_free(&x->c);
}

static struct pair_facts *read_facts(struct facts_fixture *x)
{
	struct err e = { 0 };
	struct pair_facts *f = pair_facts_open(x->p.folder, &e);

	check_str(e.text, "");
	while (f && pair_facts_read(f, 100, &e) > 0)
		check(!pair_facts_are_whole(f));
	check_str(e.text, "");
	check(f && pair_facts_are_whole(f));
	return f;
}

/* Verdicts of the stage "judge" by rule. */
static void check_rules(const int64_t *got, const struct prep_numbers *n)
{
	check_int(got[CLEAN_KEEP], n->pairs[0]);
	for (int rule = CLEAN_KEEP + 1; rule < CLEAN_N_RULES; rule++)
		check_int(got[rule], n->dropped[rule]);
}

TEST(pair_facts_count_what_judge_decided)
{
	struct facts_fixture x;
	struct pair_facts *f;
	int64_t sum, cells = 0;

	begin_facts(&x);
	judge_corpus(&x);
	f = read_facts(&x);
	for (int rule = CLEAN_KEEP + 1; rule < CLEAN_N_RULES; rule++)
		check_int(pair_facts_counts(f)->of_rule[rule], x.p.numbers.dropped[rule]);
	check(x.p.numbers.dropped[CLEAN_LONG] > 0 && x.p.numbers.dropped[CLEAN_RATIO] > 0);
	for (int h = 0; h < PAIR_HISTOGRAMS; h++) {
		sum = 0;
		for (int bin = 0; bin < PAIR_BINS; bin++)
			for (int rule = 0; rule < CLEAN_N_RULES; rule++)
				sum += pair_facts_counts(f)->in_bin[h][bin][rule];
		check_int(sum, N_PAIRS);
	}
	/* every pair that max-ratio dropped is in a bin above 4 */
	for (int bin = 0; bin < PAIR_BINS; bin++)
		if (pair_bin_limit(PAIR_WORD_RATIO, bin) <= 4)
			check_int(pair_facts_counts(f)->in_bin[PAIR_WORD_RATIO][bin][CLEAN_RATIO],
				  0);
	for (int s = 0; s < PAIR_GRID; s++)
		for (int t = 0; t < PAIR_GRID; t++)
			cells += pair_facts_counts(f)->density[true][s][t];
	check_int(cells, N_PAIRS - x.p.numbers.pairs[0]);
	pair_facts_free(f);
	end_facts(&x);
}

TEST(pair_facts_find_repeats_and_leaks)
{
	struct facts_fixture x;
	struct pair_facts *f;
	struct pair_repeat_example best[3];
	const struct pair_leaks *l;
	struct pair_estimate n;

	begin_facts(&x);
	judge_corpus(&x);
	f = read_facts(&x);
	n = pair_facts_repeats(f, PAIR_REPEATED);
	check(n.is_exact && n.margin == 0 && n.n >= N_PAIRS / 50 - 1);
	check_int(pair_facts_repeat_examples(f, PAIR_REPEATED, best, 1), 1);
	check_int(best[0].n, N_PAIRS / 50);
	check_int(best[0].first.line, 50);
	/* a set in another folder and one without files are left out */
	check_int(pair_facts_counts(f)->n_sets, 1);
	l = &pair_facts_counts(f)->leaks[0];
	check_str(l->set, "dev");
	check_int(l->n[0], N_PAIRS / 50);
	check_int(l->n_lines, 2);
	check_int(l->examples[0].place.line, 50);
	check_int(l->examples[0].line, 1);
	pair_facts_free(f);
	end_facts(&x);
}

static void set_limit(struct conf *c, enum pair_limit l, const char *value)
{
	struct err e = { 0 };

	check_int(conf_set(c, pair_limit_name(l), value, "test", &e), 0);
}

/* What a trial finds is what "judge" decides with these limits: for all rules, on all pairs. */
TEST(pair_trial_decides_as_judge)
{
	static const struct {
		enum pair_limit limit;
		const char *value;
	} tries[] = { { PAIR_LIMIT_MAX_WORDS, "9" }, { PAIR_LIMIT_MAX_WORDS, "100" },
		      { PAIR_LIMIT_MIN_WORDS, "6" }, { PAIR_LIMIT_RATIO, "1.3" },
		      { PAIR_LIMIT_RATIO, "100" },   { PAIR_LIMIT_WORD_CHARS, "5" },
		      { PAIR_LIMIT_COPIES, "yes" },  { PAIR_LIMIT_FOREIGN, "0.25" },
		      { PAIR_LIMIT_CHAR_RATIO, "2" } };
	struct facts_fixture x;
	struct pair_facts *f;
	struct pair_trial t;
	struct clean_options o;
	struct err e = { 0 };
	int64_t kept;

	for (int mode = 0; mode < 2; mode++) {
		begin_facts(&x);
		x.c.drop_duplicates = mode;
		x.c.overlap = mode ? OVERLAP_DROP : OVERLAP_WARN;
		judge_corpus(&x);
		f = read_facts(&x);
		o = pair_facts_counts(f)->options;
		check_int(pair_trial_run(&t, f, &o, &e), 0);
		check(t.is_exact && !t.n_dropped && !t.n_kept);
		kept = x.p.numbers.pairs[0];
		check_rules(t.after, &x.p.numbers);
		for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
			char recipe[32];

			pair_limit_text(&pair_facts_counts(f)->options, tries[i].limit, recipe);
			o = pair_facts_counts(f)->options;
			check_int(pair_limit_set(&o, tries[i].limit, tries[i].value, &e), 0);
			check(!pair_limits_equal(&o, &pair_facts_counts(f)->options,
						 tries[i].limit));
			check_int(pair_trial_run(&t, f, &o, &e), 0);
			set_limit(&x.c, tries[i].limit, tries[i].value);
			check_int(prep_filter_pairs(&x.p, &e), 0);
			check_rules(t.after, &x.p.numbers);
			check_int(t.n_kept - t.n_dropped, x.p.numbers.pairs[0] - kept);
			set_limit(&x.c, tries[i].limit, recipe);
		}
		check_err(pair_limit_set(&o, PAIR_LIMIT_RATIO, "0.5", &e), ERR_USAGE);
		check_err(pair_limit_set(&o, PAIR_LIMIT_MAX_WORDS, "many", &e), ERR_USAGE);
		e = (struct err){ 0 };
		pair_facts_free(f);
		end_facts(&x);
	}
}

TEST(pair_reasons_name_the_value_and_the_limit)
{
	struct clean_options o = { .max_words = 18, .max_ratio = 4, .max_foreign = 0.25 };
	struct pair_fact p = { .sides = { { .words = 3, .letters = 8, .foreign = 6 },
					  { .words = 31, .letters = 9 } } };
	char text[200];

	pair_limit_reason(&p, CLEAN_RATIO, &o, text, sizeof(text));
	check_str(text, "source 3 words, target 31: ratio 10.3; max-ratio = 4");
	pair_limit_reason(&p, CLEAN_LONG, &o, text, sizeof(text));
	check_str(text, "source 3 words, target 31; max-words = 18");
	pair_limit_reason(&p, CLEAN_SCRIPT, &o, text, sizeof(text));
	check_str(text, "75 % of the letters of a side are foreign; max-foreign = 0.25");
	pair_limit_reason(&p, CLEAN_DUPLICATE, &o, text, sizeof(text));
	check_str(text, "");
}

TEST(pair_limits_step_along_usual_values)
{
	struct clean_options o = { .max_words = 80, .max_foreign = 1, .max_ratio = 7 };
	char text[32];

	pair_limit_step(&o, PAIR_LIMIT_MAX_WORDS, -1);
	check_str(pair_limit_text(&o, PAIR_LIMIT_MAX_WORDS, text), "60");
	pair_limit_step(&o, PAIR_LIMIT_RATIO, 1);
	check_str(pair_limit_text(&o, PAIR_LIMIT_RATIO, text), "9");
	pair_limit_step(&o, PAIR_LIMIT_FOREIGN, 1); /* the end of the ladder */
	check_str(pair_limit_text(&o, PAIR_LIMIT_FOREIGN, text), "1");
	check(!o.check_script);
	pair_limit_step(&o, PAIR_LIMIT_FOREIGN, -1);
	check(o.check_script && o.max_foreign == 0.75);
	pair_limit_step(&o, PAIR_LIMIT_COPIES, 1);
	check(o.drop_copies);
	check(!pair_limit_is_off(&o, PAIR_LIMIT_COPIES));
	check(!pair_limit_is_off(&o, PAIR_LIMIT_FOREIGN));
	check(pair_limit_is_off(&o, PAIR_LIMIT_CHAR_RATIO));
	check(!pair_limit_is_off(&o, PAIR_LIMIT_MAX_WORDS));
	check(pair_limit_of_rule(CLEAN_COPY) == PAIR_LIMIT_COPIES);
	check(pair_limit_of_rule(CLEAN_TOKENS) == PAIR_N_LIMITS);
}

/* The margin of a sample: it covers the truth about 95 times in 100, and none found is not none. */
TEST(pair_trial_margin_covers_the_truth)
{
	struct pair_trial t = { .n = 1000, .total = 100000 };
	struct pair_estimate x = pair_trial_estimate(&t, 100);
	uint64_t state = 1;
	int covered = 0;

	check(x.n == 10000 && !x.is_exact);
	check(x.margin > 1700 && x.margin < 2100);
	x = pair_trial_estimate(&t, 0);
	check(x.n == 0 && x.margin > 300 && x.margin < 400);
	for (int trial = 0; trial < 400; trial++) {
		int64_t found = 0;

		for (int i = 0; i < 1000; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			found += (state >> 33) % 100 < 10;
		}
		x = pair_trial_estimate(&t, found);
		covered += fabs(x.n - 10000) <= x.margin;
	}
	check(covered > 370);
	t.n = t.total;
	check(pair_trial_estimate(&t, 5).margin < 1);
	t.n = 0;
	check(isnan(pair_trial_estimate(&t, 0).n));
}

/* More keys than fit: the estimate is near the truth and says how near. */
TEST(pair_repeats_are_estimated_beyond_the_limit)
{
	struct repeat_counter c = { 0 };
	struct pair_repeat_example best[2];
	struct pair_estimate x;
	struct err e = { 0 };
	const int n = 4 * PAIR_REPEAT_KEYS;
	int failed = 0;

	for (int i = 0; i < n; i++) { /* every third key twice: n / 3 repeats */
		uint64_t key = hash_integer((uint64_t)i + 1);

		failed |= repeat_counter_add(&c, key, (struct pair_place){ 0, i }, &e);
		if (i % 3 == 0)
			failed |= repeat_counter_add(&c, key, (struct pair_place){ 0, i }, &e);
	}
	check_int(failed, 0);
	x = repeat_counter_estimate(&c);
	check(!x.is_exact && c.n <= PAIR_REPEAT_KEYS);
	check(fabs(x.n - n / 3.0) < 2 * x.margin && x.margin < n / 100.0);
	check_int(repeat_counter_examples(&c, best, 2), 2);
	check(best[0].n == 2 && best[0].first.line < best[1].first.line);
	repeat_counter_free(&c);
}

TEST(pair_texts_are_those_of_their_places)
{
	struct facts_fixture x;
	struct err e = { 0 };
	const struct pair_place wanted[] = { { 0, 100 }, { 0, 3 }, { 0, N_PAIRS + 5 }, { 0, 100 } };
	struct pair_texts *t;

	begin_facts(&x);
	judge_corpus(&x);
	t = pair_texts_open(x.p.folder, &e);
	check(t != NULL);
	check_int(pair_texts_want(t, wanted, ARRAY_LEN(wanted), &e), 0);
	while (pair_texts_read(t, 10, &e) > 0)
		;
	check_str(e.text, "");
	check_str(pair_texts_get(t, wanted[0], 0), "abcd abcd abcd");
	check_str(pair_texts_get(t, wanted[0], 1), "abcd abcd abcd");
	check(pair_texts_get(t, wanted[1], 0) && *pair_texts_get(t, wanted[1], 0));
	check(!pair_texts_get(t, wanted[2], 0));
	check(!pair_texts_get(t, (struct pair_place){ 1, 1 }, 0));
	pair_texts_free(t);
	end_facts(&x);
}

static void check_facts_fail(struct facts_fixture *x, const char *why)
{
	struct err e = { 0 };
	struct pair_facts *f = pair_facts_open(x->p.folder, &e);
	int got = 1;

	while (f && (got = pair_facts_read(f, 100, &e)) > 0)
		;
	check(!f || got < 0);
	check(strstr(e.text, why) != NULL);
	pair_facts_free(f);
}

TEST(pair_facts_refuse_damaged_folders)
{
	struct facts_fixture x;
	struct err e = { 0 };
	char verdicts[N_PAIRS];

	begin_facts(&x);
	judge_corpus(&x);
	memset(verdicts, 0, sizeof(verdicts));
	verdicts[300] = 99;
	file_write_all(prep_path(&x.p, &e, "work/verdicts.final"), verdicts, N_PAIRS, &e);
	check_facts_fail(&x, "does not fit the texts");
	file_write_all(prep_path(&x.p, &e, "work/verdicts.final"), verdicts, N_PAIRS - 1, &e);
	check_facts_fail(&x, "599 verdicts, but 600 pairs were read");
	unlink(prep_path(&x.p, &e, "work/verdicts.final"));
	check_facts_fail(&x, "without its work folder");
	file_write_all(prep_path(&x.p, &e, "stats.json"), "{}", 2, &e);
	check_facts_fail(&x, "does not say how many pairs");
	end_facts(&x);
}
