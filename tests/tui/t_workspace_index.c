/* t_workspace_index.c - workspace index, samples over checkpoints, differing words and options. */
#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/workspace/workspace_names.h"
#include "tui/run/option_diff.h"
#include "tui/run/sample_history.h"
#include "tui/run/word_diff.h"
#include "tui/run/workspace_index.h"

/* The words, with the differing ones in braces. */
static const char *marked(const char *text, const char *other)
{
	static char out[500];
	struct word_part parts[WORD_DIFF_MAX];
	size_t n = word_diff(text, other, parts), used = 0;

	*out = 0;
	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(out + used, sizeof(out) - used,
					 parts[i].differs ? "{%.*s}" : "(%.*s)", (int)parts[i].len,
					 text + parts[i].at);
	return out;
}

TEST(word_diff_marks_what_is_new)
{
	check_str(marked("the old house", "the house"), "(the){old}(house)");
	check_str(marked("the house", "the old house"), "(the)(house)");
	check_str(marked(" a  b c ", "c b a"), "(a){b}{c}");
	check_str(marked("a b", ""), "(a)(b)");
	check_str(marked("a b", NULL), "(a)(b)");
	check_str(marked("", "a"), "");
	check_str(marked("x y", "a b"), "{x}{y}");
	check_str(marked("house", "houses"), "{house}");
}

TEST(word_diff_of_very_many_words)
{
	struct word_part parts[WORD_DIFF_MAX];
	char text[4 * WORD_DIFF_MAX + 1];

	for (int i = 0; i < 2 * WORD_DIFF_MAX; i++)
		memcpy(text + 2 * i, "a ", 3);
	check_int(word_diff(text, text, parts), WORD_DIFF_MAX);
	check_int(parts[WORD_DIFF_MAX - 1].len, 2 * WORD_DIFF_MAX + 2);
	check(!parts[0].differs && !parts[WORD_DIFF_MAX - 1].differs);
}

TEST(names_are_of_folders)
{
	struct err e = { 0 };
	char path[400];
	struct workspace_names l;

	snprintf(path, sizeof(path), "%s/nowhere", test_folder());
	check_int(workspace_run_names(&l, path, &e), 0);
	check_int((int64_t)l.n, 0);
	workspace_names_free(&l);
	test_put_file("runs/two/state.json", "{}");
	test_put_file("runs/One/state.json", "{}");
	test_put_file("runs/.hidden/state.json", "{}");
	test_put_file("runs/notes.txt", "a file is no run");
	check_int(workspace_run_names(&l, test_folder(), &e), 0);
	if (check_int((int64_t)l.n, 2)) {
		check_str(l.items[0], "One");
		check_str(l.items[1], "two");
	}
	workspace_names_free(&l);
	test_put_file("corpora/done/manifest.json", "{}");
	test_put_file("corpora/begun/progress.json", "{}");
	test_put_file("corpora/failed/lock", "");
	check_int(workspace_corpus_names(&l, test_folder(), &e), 0);
	if (check_int((int64_t)l.n, 1))
		check_str(l.items[0], "done");
	workspace_names_free(&l);
	check_int(workspace_begun_corpora(&l, test_folder(), &e), 0);
	check_int((int64_t)l.n, 2);
	workspace_names_free(&l);
	snprintf(path, sizeof(path), "%s/corpora", test_folder());
	check_int(file_remove_tree(path, &e), 0);
	test_put_file("corpora", "no folder");
	check_int(workspace_corpus_names(&l, test_folder(), &e), 0);
	check_int((int64_t)l.n, 0);
	workspace_names_free(&l);
}

TEST(places_finds_corpora_and_runs)
{
	char text[400], workspace[300];
	struct workspace_index p = { 0 };
	struct err e = { 0 };

	snprintf(workspace, sizeof(workspace), "%s", test_folder());
	check_int(workspace_index_update(&p, workspace, 1000, 1, &e), INDEX_CHANGED);
	check_int(p.n_corpora, 0);
	check_int(p.n_runs, 0);
	test_put_file("corpora/ready/manifest.json",
		      "{\"v\":2,\"pairs\":{\"read\":9,\"train\":7,\"dev\":1,\"test\":1},"
		      "\"vocabulary\":304,"
		      "\"source_language\":\"en\",\"target_language\":\"de\"}");
	snprintf(text, sizeof(text),
		 "{\"v\":1,\"pid\":%ld,\"host\":\"\",\"t\":1000,\"began\":990,"
		 "\"stage\":\"judge\",\"unit\":\"pairs\",\"done\":25,\"total\":100,\"rate\":2.5}",
		 (long)getpid());
	test_put_file("corpora/busy/progress.json", text);
	test_put_file("corpora/left/progress.json", "{\"v\":1,\"t\":10,\"stage\":\"learn\"");
	test_put_file("corpora/.hidden/manifest.json", "{}");
	test_put_file("corpora/file", "no folder");
	test_put_file("runs/first/journal.jsonl",
		      "{\"v\":1,\"kind\":\"train\",\"t\":5,\"step\":10,\"loss\":4.5}\n"
		      "{\"v\":1,\"kind\":\"eval\",\"t\":6,\"step\":10,\"bleu\":12.5}\n");
	test_put_file("runs/first/state.json", "{\"v\":1,\"state\":\"finished\"}");
	test_put_file("runs/empty/recipe.ini", "[train]\nsteps = 7\n");
	check(workspace_index_update(&p, workspace, 1010, 1, &e) >= INDEX_CHANGED);
	check_int(p.n_corpora, 3);
	check_int(p.n_runs, 2);
	check_str(p.corpora[0].name, "busy");
	check_int(p.corpora[0].state, CORPUS_WORKING);
	check_near(prep_progress_share(&p.corpora[0].progress), 0.25, 1e-12);
	check_near(prep_progress_left(&p.corpora[0].progress), 30, 1e-9);
	check_int(p.corpora[1].state, CORPUS_UNFINISHED);
	check(isnan(prep_progress_share(&p.corpora[1].progress)));
	check_int(workspace_index_corpus(&p, "ready")->train, 7);
	check_str(workspace_index_corpus(&p, "ready")->target, "de");
	check(!workspace_index_corpus(&p, "none"));
	for (size_t i = 0; i < p.n_runs; i++) {
		const struct run_status *s = &p.runs[i].status;

		if (!strcmp(s->name, "first")) {
			check_near(s->best_bleu, 12.5, 0);
			check_str(s->state, "finished");
		} else {
			check_int(s->plan.steps, 7);
			check_int(s->step, -1);
		}
	}
	/* new records are read, removed runs disappear */
	test_put_file("runs/first/journal.jsonl",
		      "{\"v\":1,\"kind\":\"train\",\"t\":5,\"step\":10,\"loss\":4.5}\n"
		      "{\"v\":1,\"kind\":\"eval\",\"t\":6,\"step\":10,\"bleu\":12.5}\n"
		      "{\"v\":1,\"kind\":\"eval\",\"t\":7,\"step\":20,\"bleu\":13.5}\n");
	snprintf(text, sizeof(text), "%s/runs/empty", workspace);
	check_int(file_remove_tree(text, &e), 0);
	workspace_index_update(&p, workspace, 1020, 1, &e);
	check_int(p.n_runs, 1);
	workspace_index_free(&p);
}

static void sample(FILE *f, int step, int id, const char *text)
{
	fprintf(f,
		"{\"v\":1,\"kind\":\"sample\",\"t\":1,\"step\":%d,\"id\":%d,\"source\":\"s\","
		"\"reference\":\"r\",\"hypothesis\":\"%s %d\"}\n",
		step, id, text, step);
}

TEST(sample_book_keeps_versions)
{
	struct sample_history *b;
	struct err e = { 0 };
	char path[400], folder[300];
	FILE *f;
	int got;

	snprintf(folder, sizeof(folder), "%s", test_folder());
	snprintf(path, sizeof(path), "%s/samples.jsonl", folder);
	b = sample_history_open(folder, &e);
	if (!check(b != NULL))
		return;
	check_int(sample_history_update(b, 1, &e), 0);
	f = fopen(path, "w");
	for (int step = 1; step <= 200; step++)
		sample(f, step * 10, 3, "first");
	sample(f, 10, 4, "other");
	fprintf(f, "{\"kind\":\"sample\",\"step\":-1,\"id\":9}\n[]\n");
	fclose(f);
	while ((got = sample_history_update(b, 1, &e)) > 0)
		;
	check_int(got, 0);
	check_int(b->n, 2);
	check(b->sentences[0].n <= SAMPLE_VERSIONS && b->sentences[0].n >= SAMPLE_VERSIONS / 2);
	check_int(b->sentences[0].versions[0].step, 10);
	check_int(b->sentences[0].versions[b->sentences[0].n - 1].step, 2000);
	check_str(b->sentences[0].versions[b->sentences[0].n - 1].hypothesis, "first 2000");
	for (size_t v = 1; v < b->sentences[0].n; v++)
		check(b->sentences[0].versions[v - 1].step < b->sentences[0].versions[v].step);
	/* a resumed run repeats those steps */
	f = fopen(path, "a");
	sample(f, 1500, 3, "again");
	fclose(f);
	check_int(sample_history_update(b, 1, &e), 1);
	check_str(b->sentences[0].versions[b->sentences[0].n - 1].hypothesis, "again 1500");
	check_int(sample_version_at(&b->sentences[0], 5), -1);
	check_int(sample_version_at(&b->sentences[0], 10), 0);
	check_int(sample_version_at(&b->sentences[0], 99999), (int)b->sentences[0].n - 1);
	sample_history_free(b);
}

TEST(option_diff_groups_seeds)
{
	static const char *const names[] = { "a", "b", "c", "d", "none", "same", "f" };
	static const size_t wanted[] = { 0, 0, 2, 3, 4, 3, 2 };
	size_t group[OPTION_DIFF_MAX_RUNS];
	struct option_diff c = { 0 };
	struct err e = { 0 };

	test_put_file("runs/a/recipe.ini", "[train]\nwarmup = 100\nseed = 1\n");
	test_put_file("runs/b/recipe.ini", "[train]\nwarmup = 100\nseed = 2\n");
	test_put_file("runs/c/recipe.ini", "[train]\nwarmup = 200\nseed = 3\n");
	test_put_file("runs/d/recipe.ini",
		      "[train]\nwarmup = 100\n"); /* the seed of a: another group */
	test_put_file("runs/same/recipe.ini", "[train]\nwarmup = 100\nseed = 2\n");
	test_put_file("runs/f/recipe.ini", "[train]\nwarmup = 200\nseed = 1\n");
	check_int(option_diff_make(&c, test_folder(), names, ARRAY_LEN(names), &e), 0);
	option_diff_group_seeds(&c, ARRAY_LEN(names), group);
	for (size_t k = 0; k < ARRAY_LEN(names); k++)
		check_int(group[k], wanted[k]);
	option_diff_free(&c);
}

TEST(contrast_says_what_differs)
{
	static const char *const names[] = { "a", "b", "c" };
	struct option_diff c = { 0 };
	struct err e = { 0 };

	test_put_file("runs/a/recipe.ini",
		      "[train]\nwarmup = 100\nsteps = 5\n[model]\nsize = tiny\n");
	test_put_file("runs/b/recipe.ini",
		      "[train]\nwarmup = 200\nsteps = 5\n[model]\nsize = tiny\n");
	check_int(option_diff_make(&c, test_folder(), names, 2, &e), 0);
	check_int(c.n, 1);
	for (size_t i = 0; i < c.n; i++)
		if (!strcmp(c.rows[i].option, "warmup")) {
			check_str(c.rows[i].values[0], "100");
			check_str(c.rows[i].values[1], "200");
		}
	check_int(option_diff_make(&c, test_folder(), names, 3, &e), 0);
	check(c.n > 20);
	check(c.rows[0].values[2] == NULL);
	check_int(option_diff_make(&c, test_folder(), names, 1, &e), 0);
	check_int(c.n, 0);
	option_diff_free(&c);
}

/* Each version has the chrF that "werkbank chrf" gives for this sentence alone. */
TEST(sample_book_scores_versions)
{
	static const char text[] =
		"{\"kind\":\"sample\",\"step\":10,\"id\":0,\"source\":\"a\",\"reference\":\"Das "
		"Haus ist alt.\",\"hypothesis\":\"Das Haus ist neu.\"}\n"
		"{\"kind\":\"sample\",\"step\":20,\"id\":0,\"source\":\"a\",\"reference\":\"Das "
		"Haus ist alt.\",\"hypothesis\":\"Das Haus ist alt.\"}\n"
		"{\"kind\":\"sample\",\"step\":20,\"id\":1,\"source\":\"b\",\"hypothesis\":\"x\"}"
		"\n";
	struct sample_history *b;
	struct err e = { 0 };
	char folder[400];

	test_put_file("scores/samples.jsonl", text);
	snprintf(folder, sizeof(folder), "%s/scores", test_folder());
	b = sample_history_open(folder, &e);
	if (!check(b != NULL))
		return;
	check_int(sample_history_update(b, 1, &e), 1);
	check_near(b->sentences[0].versions[0].chrf, 65.610131, 1e-5); /* sacreBLEU's */
	check_near(sample_score_at(&b->sentences[0], 20), 100, 1e-9);
	check(isnan(sample_score_at(&b->sentences[0], 15)));
	check(isnan(sample_score_at(&b->sentences[0], 5)));
	check(isnan(b->sentences[1].versions[0].chrf)); /* no reference */
	sample_history_free(b);
}
