/* t_next_steps.c - the steps that the workbench suggests for the contents of a workspace */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "tui/context/next_steps.h"
#include "tui/context/view.h"
#include "tui/run/workspace_index.h"

static struct err e;

/* A user who always takes the first suggested step. */
TEST(steps_lead_from_nothing_to_a_translation)
{
	struct suggested_step steps[NEXT_STEPS_MAX];
	struct workspace_index p = { 0 };
	char workspace[300];
	size_t n;

	snprintf(workspace, sizeof(workspace), "%s", test_folder());
	workspace_index_update(&p, workspace, 1000, 1, &e);
	n = next_steps_find(&p, workspace, false, steps);
	check(n >= 2);
	check_str(steps[0].argv[1], "prep");
	check_str(steps[0].argv[2], "demo");
	check(!steps[0].argv[3]);
	/* not suggested while it is being prepared */
	n = next_steps_find(&p, workspace, true, steps);
	check(strcmp(steps[0].title, "Prepare the built-in corpus") != 0);
	test_put_file("corpora/demo/manifest.json",
		      "{\"v\":2,\"recipe\":\"demo\",\"pairs\":{\"train\":7}}");
	workspace_index_update(&p, workspace, 1010, 1, &e);
	next_steps_find(&p, workspace, false, steps);
	check_str(steps[0].title, "Train a model on demo");
	check_str(steps[0].argv[1], "train");
	check_str(steps[0].argv[4], "demo");
	check_str(steps[0].argv[5], "--detach");
	test_put_file("runs/demo/journal.jsonl",
		      "{\"v\":1,\"kind\":\"eval\",\"t\":6,\"step\":10,\"bleu\":12.5}\n");
	test_put_file("runs/demo/state.json", "{\"v\":1,\"state\":\"finished\"}");
	workspace_index_update(&p, workspace, 1020, 1, &e);
	next_steps_find(&p, workspace, false, steps);
	check_str(steps[0].title, "Translate with demo");
	check_int(steps[0].kind, NEXT_STEP_SHOW);
	check_int(steps[0].tab, TAB_TRANSLATE);
	test_put_file("runs/demo/state.json", "{\"v\":1,\"state\":\"stopped\"}");
	workspace_index_update(&p, workspace, 1030, 1, &e);
	n = next_steps_find(&p, workspace, false, steps);
	check_str(steps[1].title, "Resume training demo");
	next_steps_run_name(&p, "demo", steps[0].run);
	check_str(steps[0].run, "demo-2");
	/* The best run translates, not the newest one. */
	test_put_file("runs/newer/journal.jsonl",
		      "{\"v\":1,\"kind\":\"eval\",\"t\":9,\"step\":10,\"bleu\":1.25}\n");
	workspace_index_update(&p, workspace, 1040, 1, &e);
	check_str(p.runs[0].status.name, "newer");
	next_steps_find(&p, workspace, false, steps);
	check_str(steps[0].title, "Translate with demo");
	workspace_index_free(&p);
}

/* The run my2 does not belong to the corpus my, which has no run yet: its training comes first. */
TEST(steps_know_the_runs_of_a_corpus)
{
	static const char eval[] = "{\"v\":1,\"kind\":\"eval\",\"t\":6,\"step\":9,\"bleu\":1}\n";
	struct suggested_step steps[NEXT_STEPS_MAX];
	struct workspace_index p = { 0 };

	test_put_file("corpora/my/manifest.json",
		      "{\"v\":2,\"recipe\":\"small\",\"pairs\":{\"train\":7}}");
	test_put_file("runs/my2/journal.jsonl", eval);
	workspace_index_update(&p, test_folder(), 1000, 1, &e);
	next_steps_find(&p, test_folder(), false, steps);
	check_str(steps[1].title, "Train a model on my");
	test_put_file("runs/my-2/journal.jsonl", eval);
	workspace_index_update(&p, test_folder(), 1010, 1, &e);
	next_steps_find(&p, test_folder(), false, steps);
	check_str(steps[1].title, "Prepare the built-in corpus");
	workspace_index_free(&p);
}

/* Translate follows the newest checkpoint of a live run, and has the best of another. */
TEST(steps_name_the_checkpoint_that_translates)
{
	static const char *const texts[] = { "the best checkpoint", "the newest checkpoint" };
	struct suggested_step steps[NEXT_STEPS_MAX];
	struct indexed_run run = { 0 };
	struct workspace_index p = { .runs = &run, .n_runs = 1 };

	status_init(&run.status, "first");
	run.status.best_step = 100;
	run.status.best_bleu = 10;
	for (int alive = 0; alive < 2; alive++) {
		bool found = false;

		run.status.alive = alive;
		for (size_t i = next_steps_find(&p, test_folder(), true, steps); i-- > 0;)
			found |= strstr(steps[i].why, texts[alive]) != NULL;
		check(found);
	}
}

/* A recipe for any corpus names none: the command does. */
TEST(steps_name_the_corpus_of_a_general_recipe)
{
	struct suggested_step steps[NEXT_STEPS_MAX];
	struct workspace_index p = { 0 };
	char workspace[300], command[200] = "";

	snprintf(workspace, sizeof(workspace), "%s", test_folder());
	test_put_file("corpora/mine/manifest.json",
		      "{\"v\":2,\"recipe\":\"small\",\"pairs\":{\"train\":7}}");
	workspace_index_update(&p, workspace, 1000, 1, &e);
	next_steps_find(&p, workspace, false, steps);
	for (size_t i = 0; steps[0].argv[i]; i++) {
		const size_t n = strlen(command);

		snprintf(command + n, sizeof(command) - n, "%s%s", n ? " " : "", steps[0].argv[i]);
	}
	check_str(command, "werkbank train small --corpus mine --run mine --detach");
	/* the corpus folder's recipe.ini has no model: not offered if the recipe is gone */
	test_put_file("corpora/mine/manifest.json",
		      "{\"v\":2,\"recipe\":\"/gone/mine.ini\",\"pairs\":{\"train\":7}}");
	check(next_steps_recipe(workspace, "mine", command, sizeof(command)));
	check_str(command, "small");
	test_put_file("corpora/mine/manifest.json",
		      "{\"v\":2,\"recipe\":\"/gone/mine.ini\",\"pairs\":{\"train\":400000}}");
	check(next_steps_recipe(workspace, "mine", command, sizeof(command)));
	check_str(command, "medium");
	test_put_file("corpora/mine/manifest.json",
		      "{\"v\":2,\"recipe\":\"medium\",\"pairs\":{\"train\":5000}}");
	check(next_steps_recipe(workspace, "mine", command, sizeof(command)));
	check_str(command, "small");
	workspace_index_free(&p);
}

TEST(steps_resume_in_a_workspace_with_a_long_path)
{
	struct suggested_step steps[NEXT_STEPS_MAX];
	struct workspace_index p = { 0 };
	char workspace[NEXT_STEP_BYTES], recipe[NEXT_STEP_BYTES + 40];

	snprintf(workspace, sizeof(workspace), "%s/%0200d", test_folder(), 1);
	snprintf(recipe, sizeof(recipe), "%0200d/runs/a/journal.jsonl", 1);
	test_put_file(recipe, "{\"v\":1,\"kind\":\"eval\",\"t\":6,\"step\":10,\"bleu\":12.5}\n");
	snprintf(recipe, sizeof(recipe), "%0200d/runs/a/state.json", 1);
	test_put_file(recipe, "{\"v\":1,\"state\":\"stopped\"}");
	workspace_index_update(&p, workspace, 1000, 1, &e);
	next_steps_find(&p, workspace, false, steps);
	check_str(steps[1].title, "Resume training a");
	snprintf(recipe, sizeof(recipe), "%s/runs/a/recipe.ini", workspace);
	check_str(steps[1].argv[2], recipe);
	workspace_index_free(&p);
}
