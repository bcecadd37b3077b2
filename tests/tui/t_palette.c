/* t_palette.c - the command palette: fuzzy search, command lines, recent items, what Enter does. */
#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/util.h"
#include "share/conf/conf.h"
#include "share/help/help.h"
#include "tests/tui/played_workbench.h"
#include "tui/context/jobs.h"
#include "tui/context/view_requests.h"
#include "tui/overlay/overlays.h"
#include "tui/overlay/palette.h"
#include "tui/term/fuzzy.h"

static struct err e;

TEST(palette_fuzzy_scores)
{
	static const struct {
		const char *typed, *better, *worse;
	} cases[] = {
		{ "gh", "go-home", "goh-x-long-name" }, { "run", "run", "runs" },
		{ "run", "go-run", "choose-xrxuxn" },	{ "save", "save", "s-a-v-e" },
		{ "EVAL", "evaluate", "re-v-a-l" },	{ "ho", "hosts", "choose-run" },
	};
	uint64_t marks = 0;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int better = fuzzy_score(cases[i].better, cases[i].typed, NULL);
		int worse = fuzzy_score(cases[i].worse, cases[i].typed, NULL);

		if (better <= worse)
			check_str(cases[i].better, cases[i].worse);
	}
	check(fuzzy_score("go-hosts", "goho", &marks) > 0);
	check_int(marks, 1 | 2 | 8 | 16); /* "go" and "ho" */
	check_int(fuzzy_score("go-home", "hg", NULL), 0);
	check_int(fuzzy_score("go", "gone", NULL), 0);
	check_int(fuzzy_score("go", "", NULL), 0);
	check_int(fuzzy_score("", "a", NULL), 0);
	check(fuzzy_score(
		      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
		      "aab", NULL) == 0); /* behind FUZZY_BYTES */
}

/* The candidates of a line as text: "a b +runs". */
static const char *complete(const char *line, char out[4000])
{
	struct conf_candidates c = { 0 };
	const char *words[10];
	char copy[200], *rest, *w;
	size_t n = 0, len = strlen(line), at = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	for (w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
		words[n++] = w;
	if (line[len - 1] != ' ')
		n--;
	check_int(conf_complete_word(words, n, line[len - 1] == ' ' ? "" : words[n], &c, &e), 0);
	*out = 0;
	for (size_t i = 0; i < c.n; i++)
		at += (size_t)snprintf(out + at, 4000 - at, "%s%s", i ? " " : "", c.items[i].word);
	if (c.names)
		snprintf(out + at, 4000 - at, "+%s", c.names);
	conf_candidates_free(&c);
	return out;
}

TEST(palette_completes_as_the_shell)
{
	char out[4000];

	check_str(complete("train ", out), "+recipes");
	check_str(complete("save ", out), "+runs");
	check_str(complete("shortlist ", out), "+corpora");
	check_str(complete("fetch ", out), "+manifests");
	check_str(complete("job ", out), "slurm pbs k8s");
	check_str(complete("job slurm ", out), "+recipes");
	check_str(complete("job --hosts a,b slurm ", out), "+recipes");
	check_str(complete("train --precision ", out), "fp32 bf16 auto");
	check_str(complete("eval --run ", out), "+runs");
	check_str(complete("report demo ", out), "");
	check_str(complete("stop --", out),
		  "--workspace --run --json --quiet --help --version --now");
	check_str(complete("nothing ", out), "");
	check(strstr(complete("help ", out), "train"));
	check(!strstr(complete("help ", out), "_probe"));
}

TEST(palette_words_of_a_line)
{
	char **words = palette_words("  eval --set 'a b'c \"d\\\"e\" f\\ g", &e),
	     line[200] = "eval";

	if (!check(words != NULL))
		return;
	check_str(words[0], "eval");
	check_str(words[2], "a bc");
	check_str(words[3], "d\"e");
	check_str(words[4], "f g");
	check(!words[5]);
	jobs_free_words(words);
	check(!palette_words("eval 'a", &e));
	check_int(e.code, ERR_USAGE);
	check(!palette_words("nosuch a", &e));
	check(strstr(e.text, "nosuch"));
	check(!palette_words("  ", &e));
	for (int i = 0; i < PALETTE_WORDS; i++)
		strcat(line, " x");
	check(!palette_words(line, &e));
}

/* ---- in the workbench ---- */

static bool open_palette_app(struct app *a)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/runs/fox", test_folder());
	file_make_folders(path, &e);
	snprintf(path, sizeof(path), "%s/runs/owl", test_folder());
	file_make_folders(path, &e);
	if (!open_workbench(a, 30, 100, TAB_HOME))
		return false;
	a->requests->state_folder = file_path(&e, "%s/state/", test_folder());
	return true;
}

TEST(palette_does_it)
{
	struct app a;

	if (!open_palette_app(&a))
		return;
	play_keys(&a, ":");
	check(a.overlay == &view_palette &&
	      screen_shows(&a, "suggested")); /* the tab stays visible */
	play_keys(&a, "go-lo<Enter>");
	check(!a.overlay && a.front == TAB_LOG);
	play_keys(&a, ":hosts met<Down><Enter>"); /* an action of another tab goes there */
	check(!a.overlay && a.front == TAB_HOSTS);
	play_keys(&a, ":run owl<Enter>");
	check(a.front == TAB_RUN);
	check_str(a.context.run, "owl");
	play_keys(&a, "7:ab"); /* where one types, : is text */
	check(!a.overlay && a.front == TAB_TRANSLATE);
	play_keys(&a, "<Alt-x>help<Esc>");
	check(!a.overlay);
	play_keys(&a, "<Alt-x>show each key<Enter>");
	check(a.overlay == &view_help);
	play_keys(&a, "<Esc><Alt-1>T:"); /* a form keeps its values */
	check(a.overlay == &view_wizard);
	play_keys(&a, "<Esc>:<F10>");
	app_close(&a);
}

/* A number goes to a step of the run, n and N from event to event, s of the log to the step of its line. */
TEST(palette_goes_to_a_step)
{
	static const char journal[] =
		"{\"v\":1,\"kind\":\"start\",\"t\":1750000000,\"step\":0,\"steps\":900}\n"
		"{\"v\":1,\"kind\":\"step\",\"t\":1750000010,\"step\":100,\"loss\":5}\n"
		"{\"v\":1,\"kind\":\"event\",\"t\":1750000015,\"step\":150,\"level\":\"warning\","
		"\"text\":\"first\"}\n"
		"{\"v\":1,\"kind\":\"step\",\"t\":1750000020,\"step\":200,\"loss\":4}\n"
		"{\"v\":1,\"kind\":\"event\",\"t\":1750000025,\"step\":250,\"level\":\"warning\","
		"\"text\":\"second\"}\n"
		"{\"v\":1,\"kind\":\"step\",\"t\":1750000030,\"step\":300,\"loss\":3}\n";
	char path[300];
	struct app a;

	if (!open_palette_app(&a))
		return;
	snprintf(path, sizeof(path), "%s/runs/owl/journal.jsonl", test_folder());
	check_int(file_write_all(path, journal, strlen(journal), &e), 0);
	play_keys(&a, ":run owl<Enter><Alt-1>:150<Enter>");
	check(a.front == TAB_RUN && a.context.plot_step == 150);
	screen_shows(&a, "first");
	play_keys(&a, "n");
	check(a.context.plot_step == 250);
	play_keys(&a, "n"); /* none after it */
	check(a.context.plot_step == 250 && screen_shows(&a, "no event after this step"));
	play_keys(&a, "N");
	check(a.context.plot_step == 150);
	play_keys(&a, ":301");
	screen_shows(&a, "nothing fits");
	play_keys(&a, "<Esc><Esc>");
	check(!isfinite(a.context.plot_step));
	play_keys(&a, "N"); /* without a cursor: the last one */
	check(a.context.plot_step == 250);
	play_keys(&a, "8gjs");
	check(a.front == TAB_RUN && a.context.plot_step == 150);
	app_close(&a);
}

TEST(palette_command_lines)
{
	struct app a;

	if (!open_palette_app(&a))
		return;
	context_choose_run(&a.context, "owl", &e);
	play_keys(&a, ":status<Enter>");
	check(a.overlay && screen_shows(&a, ":status "));
	play_keys(&a, "<Tab>"); /* the chosen run comes first */
	screen_shows(&a, ":status owl ");
	play_keys(&a, "'<Enter>");
	check(a.overlay && screen_shows(&a, "is not closed"));
	play_keys(&a, "<Backspace>--qui<Tab><Enter>");
	check(!a.overlay && a.requests->prompt.open);
	check(strstr(a.requests->prompt.text, "werkbank status -C "));
	check(strstr(a.requests->prompt.text, " owl --quiet"));
	play_keys(&a, "n");
	check(!a.requests->command);
	play_keys(&a, ":");
	screen_shows(&a, "$ status owl --quiet");
	screen_shows(&a, "recent");
	play_keys(&a, "<Enter>"); /* the latest is chosen */
	check(a.requests->prompt.open);
	play_keys(&a, "n:go-log<Enter>:");
	check(grid_shows(&a.grid, "▸ go-log") || grid_shows(&a.grid, "> go-log"));
	play_keys(&a, "nosuchthing");
	screen_shows(&a, "nothing fits");
	play_keys(&a, "<Ctrl-U>train demo --steps <Enter>");
	check(a.requests->prompt.open);
	app_close(&a);
}

/* Every size, with and without rows. */
TEST(palette_at_every_size)
{
	struct app a;

	if (!open_palette_app(&a))
		return;
	play_keys(&a, ":");
	for (int rows = 1; rows < 40; rows += 3)
		for (int cols = 1; cols < 140; cols += 9) {
			grid_resize(&a.grid, rows, cols, &e);
			app_draw(&a);
			play_keys(&a, "<PageDown><End>e<Up><Backspace>");
		}
	app_close(&a);
}

TEST(workbench_filters_take_effect_while_they_are_typed)
{
	struct app a;

	if (!open_palette_app(&a))
		return;
	show_workbench_tab(&a, TAB_SETTINGS);
	play_keys(&a, "/max-w");
	screen_shows(&a, "max-words");
	screen_lacks(&a, "min-words");
	screen_shows(&a, "options that contain  max-w");
	/* an invalid one leaves the list as it is */
	play_keys(&a, "<Ctrl-U>~max-[");
	screen_lacks(&a, "min-words");
	play_keys(&a, "<Ctrl-U>min-w");
	screen_shows(&a, "min-words");
	/* cancelled: all options; nothing to undo */
	play_keys(&a, "<Esc>");
	screen_lacks(&a, "that contain");
	play_keys(&a, "u");
	screen_shows(&a, "was changed");
	/* one step of undo for all letters */
	play_keys(&a, "/max-words<Enter>/<Ctrl-U>min-words<Enter>u");
	screen_shows(&a, "that contain: max-words");
	play_keys(&a, "u");
	screen_lacks(&a, "that contain");
	app_close(&a);
}
