/* t_pair_rules.c - tests of prep_filter_pairs() on token columns written here */
#include <stdio.h>
#include <stdlib.h>

#include "data/prep/prep_stages.h"
#include "data/prep/token_column.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tests/test.h"

struct pair {
	const char *source, *target;
};

/* Two training texts; the second contains the first dev pair twice. */
static const struct pair first[] = {
	{ "a b c", "x y" },
	{ "", "x" },
	{ "a", "a" },
	{ "a b c", "x y" },
	{ "a a a a a a a a a a a a", "x" },
};
static const struct pair second[] = {
	{ "held out", "zuvor" },
	{ "held out", "zuvor" },
	{ "\xd0\xb1\xd0\xb1 b", "x y" },
};

static uint32_t add_words(struct intern *words, const char *text, int32_t *ids)
{
	struct err e = { 0 };
	uint32_t n = 0;
	size_t len;

	for (text += strspn(text, " "); *text; text += len, text += strspn(text, " ")) {
		len = strcspn(text, " ");
		check_int(intern_add(words, text, len, &ids[n++], &e), 0);
	}
	return n;
}

/* The line as the stage "read" stores it; words of Cyrillic letters are foreign. */
static void put_side(struct token_column_writer *w, struct intern *words, const char *text)
{
	struct err e = { 0 };
	int32_t ids[32];
	struct token_column_line l = { .hash = hash_bytes(text, strlen(text)),
				       .bytes = (uint32_t)strlen(text),
				       .characters = (uint32_t)utf8_count(text, strlen(text)),
				       .words = ids };

	l.n = add_words(words, text, ids);
	l.longest = l.n ? 4 : 0;
	l.foreign = text[0] & 0x80 ? 2 : 0;
	l.letters = l.foreign + (uint32_t)(l.characters > 3);
	check_int(token_column_put(w, &l, &e), 0);
}

static void write_sides(struct prep *p, int number, const struct pair *pairs, size_t n)
{
	struct err e = { 0 };
	struct token_column_writer *source, *target;

	source = token_column_create(prep_path(p, &e, "work/side-%d.source", number), &e);
	target = token_column_create(prep_path(p, &e, "work/side-%d.target", number), &e);
	for (size_t i = 0; i < n; i++) {
		put_side(source, &p->words, pairs[i].source);
		put_side(target, &p->words, pairs[i].target);
	}
	check_int(token_column_finish(source, &e), 0);
	check_int(token_column_finish(target, &e), 0);
	p->numbers.read += (int64_t)n;
}

static struct text_pair texts[] = { { .set = "train", .name = (char *)"one.en" },
				    { .set = "train", .name = (char *)"two.en" },
				    { .set = "dev", .name = (char *)"dev.en" } };

/* A corpus folder with all inputs of the stage "judge". */
static void begin(struct prep *p, struct conf *c)
{
	struct err e = { 0 };

	check_int(conf_init(c, &e), 0);
	*p = (struct prep){ .c = c, .threads = 1 };
	progress_init(&p->progress, true);
	p->folder = file_path(&e, "%s", test_folder());
	p->work = file_path(&e, "%s/work", p->folder);
	check_int(file_make_folders(p->work, &e), 0);
	p->texts = (struct texts){
		.pairs = texts, .n = 3, .n_train = 2, .n_sets = 2, .sets = { "train", "dev" }
	};
	write_sides(p, 0, first, ARRAY_LEN(first));
	write_sides(p, 1, second, ARRAY_LEN(second));
	check_int(file_write_all(prep_path(p, &e, "dev.en"), "held out\nother\n", 15, &e), 0);
	check_int(file_write_all(prep_path(p, &e, "dev.de"), "zuvor\nanders\n", 13, &e), 0);
	p->numbers.pairs[1] = 2;
}

static void end(struct prep *p, struct conf *c)
{
	intern_free(&p->words);
	free(p->folder);
	free(p->work);
	conf_free(c);
}

/* One letter a pair: its verdict. */
static void check_verdicts(struct prep *p, const char *expected)
{
	static const char letters[CLEAN_N_RULES + 1] = ".eslrwcfhod#";
	struct buf got = { 0 };
	struct err e = { 0 };

	check_int(prep_filter_pairs(p, &e), 0);
	check_int(file_read_all(prep_path(p, &e, "work/verdicts"), 100, &got, &e), 0);
	for (size_t i = 0; i < got.len; i++)
		got.data[i] = letters[(unsigned char)got.data[i] % CLEAN_N_RULES];
	check_str(buf_text(&got), expected);
	buf_free(&got);
}

TEST(judge_by_the_rules)
{
	struct conf c;
	struct prep p;
	struct err e = { 0 };
	struct buf counts = { 0 };
	int64_t n;
	int32_t word;

	begin(&p, &c);
	check_verdicts(&p, ".e..r...");
	check_int(p.numbers.pairs[0], 6);
	check_int(p.numbers.dropped[CLEAN_EMPTY], 1);
	check_int(p.numbers.dropped[CLEAN_RATIO], 1);
	check_int(p.numbers.in_train[1], 2);
	/* words of dropped pairs do not count: one of them has "a" 12 times */
	check_int(file_read_all(prep_path(&p, &e, "work/counts"), 0, &counts, &e), 0);
	check_int(counts.len, (size_t)p.words.n * sizeof(n));
	word = intern_find(&p.words, "a", 1);
	memcpy(&n, counts.data + (size_t)word * sizeof(n), sizeof(n));
	check_int(n, 4);
	/* a second run sets the numbers, it does not add to them */
	check_verdicts(&p, ".e..r...");
	check_int(p.numbers.pairs[0], 6);
	check_int(p.numbers.in_train[1], 2);
	buf_free(&counts);
	end(&p, &c);
}

TEST(judge_by_filters)
{
	struct conf c;
	struct prep p;

	begin(&p, &c);
	c.drop_duplicates = true;
	check_verdicts(&p, ".e.dr.d.");
	c.drop_copies = true;
	check_verdicts(&p, ".ecdr.d.");
	c.overlap = OVERLAP_DROP;
	check_verdicts(&p, ".ecdroo.");
	check_int(p.numbers.in_train[1], 2);
	c.max_foreign = 0.5;
	check_verdicts(&p, ".ecdroof");
	c.overlap = OVERLAP_IGNORE;
	check_verdicts(&p, ".ecdr.df");
	check_int(p.numbers.in_train[1], 0);
	c.drop_duplicates = c.drop_copies = false;
	c.max_char_ratio = 1.6;
	check_verdicts(&p, "he.hr..f");
	end(&p, &c);
}

TEST(judge_says_when_nothing_is_left)
{
	struct conf c;
	struct prep p;
	struct err e = { 0 };

	begin(&p, &c);
	c.min_words = 20;
	check_err(prep_filter_pairs(&p, &e), ERR_DATA);
	check(strstr(e.text, "one.en: the rules dropped all 8 training pairs") != NULL);
	check(!file_exists(prep_path(&p, &e, "work/verdicts")));
	p.texts.n_train = 0;
	check_err(prep_filter_pairs(&p, &e), ERR_DATA);
	check(strstr(e.text, "one.en: the training text is empty") != NULL);
	end(&p, &c);
}
