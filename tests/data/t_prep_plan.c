/* t_prep_plan.c - which stages of a preparation run again, and for which reason */
#include <stdio.h>
#include <stdlib.h>

#include "data/prep/prep_plan.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "tests/test.h"

static int runs[3]; /* how often each stage ran */
static bool second_fails;

static int write_output(struct prep *p, const char *name, const char *text, struct err *e)
{
	const char *path = prep_path(p, e, "%s", name);

	return path ? file_write_all(path, text, strlen(text), e) : e->code;
}

static int first(struct prep *p, struct err *e)
{
	runs[0]++;
	p->numbers.read = 100 + p->c->max_words;
	p->numbers.pairs[0] = 7;
	p->numbers.pairs[1] = 1;
	return write_output(p, "work/words", "first", e);
}

static int second(struct prep *p, struct err *e)
{
	runs[1]++;
	p->numbers.dropped[CLEAN_LONG] = 3;
	p->numbers.pairs[0] = 4;
	if (second_fails)
		return err_set(e, ERR_IO, "the second stage fails");
	return write_output(p, "dev.en", "second", e);
}

static int third(struct prep *p, struct err *e)
{
	runs[2]++;
	return write_output(p, "bpe.codes", "third", e);
}

static const struct prep_stage table[] = {
	/* its name gives it the rows of text_facts.def, too */
	{ "read", first, 1, PREP_TEXTS_CONTENTS, "max_words", "", "work/words" },
	{ "second", second, 1, PREP_TEXTS_NONE, "max_tokens", "read", "%H.%S" },
	{ "third", third, 1, PREP_TEXTS_NAMES, "", "read", "%M" },
};

struct fixture {
	struct conf c;
	struct prep p;
	struct text_file file;
	struct text_pair pairs[2];
};

static void fixture_open(struct fixture *b)
{
	struct err e = { 0 };

	*b = (struct fixture){ .file.sha256 = "aa" };
	check_int(conf_init(&b->c, &e), 0);
	b->p.c = &b->c;
	b->p.threads = 1;
	progress_init(&b->p.progress, true);
	b->p.folder = file_path(&e, "%s", test_folder());
	b->p.work = file_path(&e, "%s/work", b->p.folder);
	check_int(file_make_folders(b->p.work, &e), 0);
	b->pairs[0] = (struct text_pair){ .set = "train", .name = (char *)"one.en" };
	b->pairs[1] = (struct text_pair){ .set = "dev", .name = (char *)"dev.en" };
	b->p.texts = (struct texts){ .pairs = b->pairs,
				     .n = 2,
				     .n_train = 1,
				     .n_sets = 2,
				     .sets = { "train", "dev" },
				     .files = &b->file,
				     .n_files = 1 };
	memset(runs, 0, sizeof(runs));
	second_fails = false;
}

static void fixture_close(struct fixture *b)
{
	free(b->p.folder);
	free(b->p.work);
	conf_free(&b->c);
}

/* Prepare. expected: start of the reason why a stage runs again; NULL: the stage does not run. */
static int prepare(struct fixture *b, const char *const expected[3])
{
	struct prep_plan plan = { .stages = table, .n = ARRAY_LEN(table) };
	struct err e = { 0 };
	int i, rc = 0, before[3];

	memcpy(before, runs, sizeof(runs));
	check_int(prep_plan_compare(&plan, &b->p, &e), 0);
	check_int(memcmp(before, runs, sizeof(runs)), 0);
	for (i = 0; i < 3; i++) {
		const char *want = expected[i] ? expected[i] : "", *reason = plan.steps[i].reason;

		check_int(plan.steps[i].run, expected[i] != NULL);
		if (!expected[i] || strncmp(reason, want, strlen(want)) != 0)
			check_str(reason, want);
	}
	rc = prep_plan_run(&plan, &b->p, &e);
	for (i = 0; !rc && i < 3; i++)
		check_int(runs[i] - before[i], expected[i] != NULL);
	if (!rc) {
		check_int(b->p.numbers.read, 100 + b->c.max_words);
		check_int(b->p.numbers.pairs[0], 4);
		check_int(b->p.numbers.dropped[CLEAN_LONG], 3);
	}
	prep_plan_free(&plan);
	return rc;
}

#define EXPECT(...) ((const char *const[3]){ __VA_ARGS__ })

TEST(prep_plan_runs_dependent_stages)
{
	struct fixture b;

	fixture_open(&b);
	check_int(prepare(&b, EXPECT("never run", "never run", "never run")), 0);
	check_int(prepare(&b, EXPECT(NULL, NULL, NULL)), 0);
	b.c.max_tokens = 99;
	check_int(prepare(&b, EXPECT(NULL, "option max_tokens was 250, is 99", NULL)), 0);
	b.c.max_words = 70;
	check_int(prepare(&b, EXPECT("option max_words was 80, is 70", "reads from read",
				     "reads from read")),
		  0);
	/* merges belongs to no stage; escape counts only with tokenize */
	b.c.merges = 5;
	check_int(prepare(&b, EXPECT(NULL, NULL, NULL)), 0);
	b.c.tokenize = false;
	check_int(prepare(&b, EXPECT("option tokenize was yes, is no", "reads from read",
				     "reads from read")),
		  0);
	b.c.escape = false;
	check_int(prepare(&b, EXPECT(NULL, NULL, NULL)), 0);
	b.c.tokenize = true;
	check_int(prepare(&b, EXPECT("option tokenize was no, is yes", "reads from read",
				     "reads from read")),
		  0);
	fixture_close(&b);
}

TEST(prep_plan_compares_texts)
{
	struct fixture b;

	fixture_open(&b);
	check_int(prepare(&b, EXPECT("never run", "never run", "never run")), 0);
	memcpy(b.file.sha256, "bb", 3);
	check_int(prepare(&b,
			  EXPECT("sources changed: one.en", "reads from read", "reads from read")),
		  0);
	b.pairs[0].name = (char *)"other.en"; /* the same text under another name */
	check_int(prepare(&b, EXPECT(NULL, NULL, "sources changed: other.en")), 0);
	b.p.texts.n = 1;
	check_int(prepare(&b, EXPECT("sources changed: 1 pair of texts instead of 2",
				     "reads from read", "sources changed: 1")),
		  0);
	fixture_close(&b);
}

static void put(struct fixture *b, const char *name, const char *text)
{
	struct err e = { 0 };

	check_int(write_output(&b->p, name, text, &e), 0);
}

TEST(prep_plan_compares_files)
{
	struct fixture b;
	struct err e = { 0 };

	fixture_open(&b);
	check_int(prepare(&b, EXPECT("never run", "never run", "never run")), 0);
	/* a lost file is made again with the same contents: later stages do not run */
	check_int(remove(prep_path(&b.p, &e, "work/words")), 0);
	check_int(prepare(&b, EXPECT("output work/words is missing", NULL, NULL)), 0);
	put(&b, "dev.en", "longer than before");
	check_int(prepare(&b, EXPECT(NULL, "output dev.en has changed", NULL)), 0);
	put(&b, "bpe.codes", "THIRD");
	check_int(prepare(&b, EXPECT(NULL, NULL, NULL)), 0);
	b.c.force = true;
	check_int(prepare(&b, EXPECT(NULL, NULL, "output bpe.codes has changed")), 0);
	check_int(prepare(&b, EXPECT(NULL, NULL, NULL)), 0);
	b.c.segmentation = SEGMENTATION_SENTENCEPIECE; /* belongs to none of these stages */
	check_int(prepare(&b, EXPECT(NULL, NULL, NULL)), 0);
	fixture_close(&b);
}

TEST(prep_plan_continues_after_a_failure)
{
	struct fixture b;
	struct err e = { 0 };

	fixture_open(&b);
	second_fails = true;
	check_int(prepare(&b, EXPECT("never run", "never run", "never run")), ERR_IO);
	check_int(runs[0], 1);
	check_int(runs[2], 0);
	second_fails = false;
	check_int(prepare(&b, EXPECT(NULL, "never run", "never run")), 0);
	/* a stage that fails has removed its earlier output */
	b.c.max_tokens = 99;
	second_fails = true;
	check_int(prepare(&b, EXPECT(NULL, "option max_tokens", NULL)), ERR_IO);
	check(!file_exists(prep_path(&b.p, &e, "dev.en")));
	second_fails = false;
	b.c.max_tokens = 250;
	check_int(prepare(&b, EXPECT(NULL, "never run", NULL)), 0);
	fixture_close(&b);
}

TEST(prep_plan_checks_its_records)
{
	static const char *const bad[] = {
		"", "{", "[]", "{\"v\":1}", "{\"v\":2}", "{\"v\":1,\"key\":\"\",\"depends\":7}",
	};
	struct prep_plan plan = { .stages = table, .n = ARRAY_LEN(table) };
	struct fixture b;
	struct buf text = { 0 };
	struct err e = { 0 };
	char *name;
	size_t i;

	fixture_open(&b);
	check_int(prepare(&b, EXPECT("never run", "never run", "never run")), 0);
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		put(&b, "work/second.json", bad[i]);
		check_int(prepare(&b, EXPECT(NULL, "", NULL)), 0);
	}
	/* a record that names a file outside the folder is refused */
	check_int(file_read_all(prep_path(&b.p, &e, "work/second.json"), 0, &text, &e), 0);
	name = strstr(text.data, "dev.en");
	check(name != NULL);
	memcpy(name, "../../", 6);
	put(&b, "work/second.json", text.data);
	check_err(prep_plan_compare(&plan, &b.p, &e), ERR_DATA);
	prep_plan_free(&plan);
	buf_free(&text);
	fixture_close(&b);
}
