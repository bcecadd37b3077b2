/* t_app_states.c - the workbench by its keys: live runs, typing, forms, suggested steps. */
#include "tests/test.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/util.h"
#include "tests/tui/played_workbench.h"
#include "tui/app/frame.h"
#include "tui/run/run_history.h"
#include "tui/run/status.h"
#include "tui/term/keys.h"
#include "tui/term/list_widget.h"
#include "tui/term/theme.h"

static struct err e;

/* ---- a live run ---- */

TEST(workbench_reads_a_long_live_journal)
{
	enum { STEPS = 60000 };
	struct buf journal = { 0 };
	struct app a;
	int fd;

	for (int i = 1; i <= STEPS; i++)
		buf_printf(&journal,
			   "{\"v\":1,\"kind\":\"train\",\"t\":%d,\"step\":%d,\"loss\":5}\n",
			   1750000000 + i / 1000, i);
	append_run_file("live", "journal.jsonl", buf_text(&journal));
	buf_free(&journal);
	append_run_file("live", "state.json", "{'v':1,'state':'running','attempt':1}");
	fd = lock_run("live");
	if (open_workbench(&a, 30, 80, TAB_RUN)) {
		if (check(a.context.history != NULL)) {
			check_int(a.context.history->state, RUN_RUNNING);
			check_int(a.context.history->step, STEPS);
			check_near(a.context.history->read_share, 1, 0);
			screen_shows(&a, "step 60,000");
			screen_shows(&a, "S save");
			/* half read: its numbers are not those of now */
			a.context.history->read_share = 0.459;
			screen_shows(&a, "reading 45 %");
			screen_shows(&a, "reading the journal: 45 %");
			screen_lacks(&a, "step 60,000 /");
			screen_lacks(&a, "running");
		}
	}
	app_close(&a);
	close(fd);
}

/* ---- the tour ---- */

/* Each tab has its hint once, until a key, which acts as always; Alt-t shows them all again. */
TEST(workbench_shows_each_hint_once)
{
	static const int tabs[] = { TAB_HOME,	 TAB_DATA,    TAB_RUN,	     TAB_HOSTS,
				    TAB_COMPARE, TAB_SAMPLES, TAB_TRANSLATE, TAB_LOG };
	struct app a;
	char title[40];

	if (!open_workbench(&a, 30, 80, TAB_HOME))
		return;
	screen_lacks(&a, "hint 1 of 8"); /* none without a terminal */
	a.has_tour = true;
	for (size_t i = 0; i < ARRAY_LEN(tabs); i++) {
		snprintf(title, sizeof(title), "hint %zu of 8", i + 1);
		/* another tab is never reached by a letter while sentences are typed */
		show_workbench_tab(&a, tabs[i]);
		screen_shows(&a, title);
		play_keys(&a, i ? "<Alt-1>" : "<Alt-9>");
		show_workbench_tab(&a, tabs[i]);
		screen_lacks(&a, "any key hides it");
	}
	check_str(saved_state_get(&a.requests->saved, "tour.seen"),
		  "home data run hosts compare samples translate log");
	app_show_tab(&a, TAB_SETTINGS);
	screen_lacks(&a, "any key hides it");
	a.has_tour = false;
	play_keys(&a, "<Alt-t>");
	app_show_tab(&a, TAB_LOG);
	screen_shows(&a, "hint 8 of 8");
	/* a screen without room shows none, and does not count it as seen */
	check_int(grid_resize(&a.grid, 10, 80, &e), 0);
	screen_lacks(&a, "hint 8 of 8");
	play_keys(&a, "j");
	check_int(grid_resize(&a.grid, 30, 80, &e), 0);
	screen_shows(&a, "hint 8 of 8");
	play_keys(&a, "<F1>");
	screen_lacks(&a, "hint 8 of 8");
	app_close(&a);
}

TEST(workbench_help_begins_with_the_focused_pane)
{
	struct app a;

	if (!open_workbench(&a, 30, 80, TAB_DATA))
		return;
	play_keys(&a, "<Tab><Tab>?");
	screen_shows(&a, "  data: limits ");
	play_keys(&a, "<Esc>");
	play_keys(&a, "<Tab>?");
	screen_shows(&a, "  data: dropped ");
	app_close(&a);
}

/* The names of the panes of Data stand in the second row: a click on one shows its pane. */
TEST(workbench_shows_a_pane_of_data_by_a_click)
{
	struct mouse m = { .kind = MOUSE_PRESS, .row = 2, .col = 31, .button = 1 };
	struct app a;

	test_put_file("corpora/demo/manifest.json",
		      "{\"v\":2,\"recipe\":\"demo\",\"pairs\":{\"train\":7}}");
	if (!open_workbench(&a, 30, 100, TAB_DATA))
		return;
	update_workbench(&a);
	play_keys(&a, "<Ctrl-L>");
	screen_shows(&a, "[stages]  pairs   limits   dropped   repeats");
	app_mouse(&a, &m);
	play_keys(&a, "<Ctrl-L>");
	screen_shows(&a, " stages   pairs   limits  [dropped]  repeats");
	m.col = 99; /* no name is there */
	app_mouse(&a, &m);
	play_keys(&a, "<Ctrl-L>");
	screen_shows(&a, "[dropped]");
	app_close(&a);
}

/* ---- panes of the run view ---- */

/* w and a letter hide a pane, for screens of this width only; what is saved is read again. */
TEST(workbench_saves_the_panes_of_a_run_by_width)
{
	struct saved_state *saved;
	struct app a;

	append_run_file("done", "journal.jsonl",
			"{'v':1,'kind':'train','t':1750000001,'step':1,'loss':5}\n");
	append_run_file("done", "state.json", "{'v':1,'state':'finished','attempt':1}");
	if (!open_workbench(&a, 30, 80, NO_TAB))
		return;
	saved = &a.requests->saved;
	show_workbench_tab(&a, TAB_RUN);
	screen_shows(&a, "samples ---");
	play_keys(&a, "wmq");
	screen_shows(&a, "[ ] samples"); /* q is no letter of the menu, and does not leave */
	play_keys(&a, "<Esc>");
	screen_lacks(&a, "samples ---");
	check_str(saved_state_get(saved, "run.layout.narrow.1"),
		  "nll bleu speed step rate gradient log");
	play_keys(&a, "w4");
	screen_lacks(&a, "tokens/s");
	screen_shows(&a, "samples ---");
	check_str(saved_state_get(saved, "run.layout.narrow"), "4");
	/* the last pane stays, so there is always one with the keys */
	play_keys(&a, "wlm<Enter>");
	screen_shows(&a, "samples ---");
	screen_lacks(&a, "log ---");
	check_int(grid_resize(&a.grid, 30, 120, &e), 0);
	screen_shows(&a, "tokens/s");
	check(!saved_state_get(saved, "run.layout.middle"));
	check_int(grid_resize(&a.grid, 30, 80, &e), 0);
	play_keys(&a, "u"); /* each change is a step of undo */
	screen_shows(&a, "log ---");
	check_str(saved_state_get(saved, "run.layout.narrow"), "4");
	check(!saved_state_get(saved, "run.layout.narrow.4"));
	app_close(&a);
	/* the next session; instead of damaged values it has the program's own */
	if (!open_workbench(&a, 30, 80, NO_TAB))
		return;
	saved = &a.requests->saved;
	saved_state_set(saved, "run.layout.narrow", "99");
	saved_state_set(saved, "run.layout.narrow.1", "nonsense log");
	saved_state_set(saved, "run.layout.narrow.2", "");
	show_workbench_tab(&a, TAB_RUN);
	screen_shows(&a, "log ---");
	screen_lacks(&a, "tokens/s");
	play_keys(&a, "w2");
	screen_shows(&a, "samples ---");
	app_close(&a);
}

TEST(workbench_median_after_a_time_limit)
{
	char text[200];
	struct run_history *h;

	for (int rank = 0; rank < 64; rank++) {
		snprintf(text, sizeof(text),
			 "{\"v\":1,\"kind\":\"rank\",\"t\":100,\"rank\":%d,\"host\":\"a\","
			 "\"step_s\":2,\"compute_s\":1.5}\n",
			 rank);
		append_run_file("ranks", "journal.jsonl", text);
	}
	h = history_open(test_folder(), "ranks", &e);
	if (!check(h != NULL))
		return;
	/* The time limit ends the first call after its last record. */
	check_int(history_update(h, 100, -1, &e), HISTORY_MORE);
	check_int(history_update(h, 100, -1, &e), HISTORY_CHANGED);
	check_near(h->fleet.median_compute, 1.5, 1e-6);
	check_int(history_update(h, 100, -1, &e), HISTORY_SAME);
	history_free(h);
}

/* ---- typing ---- */

TEST(workbench_typed_text_never_leaves)
{
	struct app a;

	append_run_file("demo", "journal.jsonl",
			"{'v':1,'kind':'eval','t':125,'step':200,'bleu':12.5,'best':true}\n");
	append_run_file("demo", "checkpoints/200/x", "");
	if (!open_workbench(&a, 30, 120, TAB_HOME))
		return;
	screen_shows(&a, "Translate with demo");
	play_keys(&a, "<Enter>");
	check_int(a.front, TAB_TRANSLATE);
	screen_shows(&a, "typing: Esc ends it");
	/* Outside typing, q is refused; the last row names the keys that leave and type. */
	check(!(play_keys(&a, "<Esc>q") & REACT_QUIT));
	screen_shows(&a, "F10 leaves, i types");
	a.fixed_now += 10;
	play_keys(&a, "<Left>");
	screen_shows(&a, "F10 leave");
	screen_lacks(&a, "typing: ");
	/* The step starts typing again. */
	play_keys(&a, "1<Enter>");
	check_int(a.front, TAB_TRANSLATE);
	check(!(play_keys(&a, "A quick test") & REACT_QUIT));
	screen_shows(&a, "A quick test");
	check(play_keys(&a, "<Esc><F10>") & REACT_QUIT);
	app_close(&a);
}

/* A message about the keys of Translate does not stay over the keys of another tab. */
TEST(workbench_ends_messages_about_another_tab)
{
	struct app a;

	if (!open_workbench(&a, 30, 100, NO_TAB))
		return;
	a.context.readonly = true;
	app_show_tab(&a, TAB_TRANSLATE);
	play_keys(&a, "<Esc>q");
	screen_shows(&a, "letters do not leave from here");
	play_keys(&a, "1");
	screen_lacks(&a, "letters do not leave from here");
	screen_shows(&a, "q leave");
	app_close(&a);
}

/* The help shows the key < by its character. */
TEST(workbench_shows_keys_as_on_the_keyboard)
{
	static const struct {
		const char *key, *shown;
	} keys[] = { { "<lt>", "<" },	 { "<", "<" },
		     { "<Up>", "Up" },	 { "k", "k" },
		     { ">", ">" },	 { "<Alt-x>", "Alt-x" },
		     { "<F10>", "F10" }, { "<Ctrl-L>", "Ctrl-L" } };
	char out[20];

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		check_int(keys_show(keys[i].key, strlen(keys[i].key), out, sizeof(out)),
			  (int)strlen(keys[i].shown));
		check_str(out, keys[i].shown);
	}
}

/* Titles say "translation, demo step N"; the service cannot load these checkpoints, which does not matter. */
TEST(workbench_second_checkpoint_is_another)
{
	char folder[600], link[700];
	struct app a;

	append_run_file("demo", "journal.jsonl",
			"{'v':1,'kind':'eval','t':125,'step':100,'bleu':8,'best':true}\n"
			"{'v':1,'kind':'eval','t':126,'step':200,'bleu':12.5,'best':true}\n");
	append_run_file("demo", "checkpoints/100/x", "");
	append_run_file("demo", "checkpoints/200/x", "");
	snprintf(folder, sizeof(folder), "%s/runs/demo/checkpoints", test_folder());
	snprintf(link, sizeof(link), "%s/best", folder);
	check(!symlink("200", link));
	snprintf(link, sizeof(link), "%s/last", folder);
	check(!symlink("200", link));
	if (!open_workbench(&a, 30, 120, TAB_TRANSLATE))
		return;
	screen_shows(&a, "demo step 200");
	play_keys(&a, "<Esc>s");
	screen_shows(&a, "second checkpoint");
	/* the first one comes last: it can be compared with other settings */
	screen_shows(&a, "> demo 100");
	screen_shows(&a, "  demo 200  the same, for other settings");
	play_keys(&a, "<Enter>");
	screen_shows(&a, "translation, demo step 200");
	screen_shows(&a, "translation, demo step 100");
	/* Without the second one again, the first checkpoint can still be chosen again. */
	play_keys(&a, "s");
	screen_lacks(&a, "demo step 100");
	play_keys(&a, "c");
	screen_shows(&a, "demo 100");
	screen_shows(&a, "demo 200");
	app_close(&a);
}

/* ---- forms ---- */

TEST(workbench_previews_themes)
{
	struct app a;

	if (!open_workbench(&a, 30, 100, TAB_SETTINGS))
		return;
	play_keys(&a, "<Home><Enter>");
	screen_shows(&a, "safe");
	play_keys(&a, "<Down>");
	check_str(a.theme.name, theme_name(1, NULL));
	play_keys(&a, "<Down>");
	check_str(a.theme.name, theme_name(2, NULL));
	play_keys(&a, "<Esc>");
	check_str(a.theme.name, "auto");
	play_keys(&a, "<Enter><Down><Enter>");
	check_str(a.theme.name, theme_name(1, NULL));
	play_keys(&a, "<Enter>no such theme");
	check_str(a.theme.name, theme_name(1, NULL));
	play_keys(&a, "<Esc>");
	check_str(a.theme.name, theme_name(1, NULL));
	app_close(&a);
}

TEST(workbench_form_shows_the_recipes_values)
{
	struct app a;

	if (!open_workbench(&a, 30, 100, TAB_HOME))
		return;
	play_keys(&a, "t");
	screen_shows(&a, "T: train a model");
	play_keys(&a, "T/steps<Enter>");
	screen_lacks(&a, "--workspace"); /* -C says it */
	screen_shows(&a, "steps                   2000          demo.ini:");
	screen_shows(&a, "; default 100000");
	/* The user's value, then the recipe's again. */
	play_keys(&a, "<Enter><Ctrl-U>500<Enter>");
	screen_shows(&a, "= 500           command line; default 100000");
	play_keys(&a, "d");
	screen_shows(&a, "2000          demo.ini:");
	/* A form of another command, and an option that the recipe leaves alone. */
	play_keys(&a, "<Esc>P/merges<Enter>");
	screen_shows(&a, "1000          demo.ini:");
	play_keys(&a, "/<Ctrl-U>min-words<Enter>");
	screen_shows(&a, "min-words               1             default");
	app_close(&a);
}

/* The last row names only keys that have an effect in the form, or in the pane. */
TEST(workbench_hints_have_an_effect)
{
	struct app a;

	if (!open_workbench(&a, 30, 160, TAB_HOME))
		return;
	screen_shows(&a, "u undo");
	play_keys(&a, "T");
	screen_shows(&a, "L launch");
	screen_lacks(&a, "u undo");
	screen_lacks(&a, ": commands");
	test_put_file("corpora/tiny/progress.json", "{}");
	play_keys(&a, "<Esc>2");
	screen_shows(&a, "c corpus");
	screen_lacks(&a, "/ search");
	play_keys(&a, "<Shift-Tab><Esc><Shift-Tab>"); /* to the vocabulary */
	screen_shows(&a, "/ search");
	app_close(&a);
}

/* A filter chooses the row that has the text in its name, before one that has it in its help. */
TEST(workbench_form_filter_prefers_names)
{
	struct app a;

	if (!open_workbench(&a, 30, 160, TAB_HOME))
		return;
	play_keys(&a, "T/vocabular<Enter>");
	screen_shows(&a, "> vocabularies ");
	app_close(&a);
}

/* ---- the mouse in lists ---- */

/* The list of the first pane in front. */
static const struct list_widget *view_list_of(const struct app *a)
{
	return (const void *)((const char *)a->tabs[a->front].state + view_tabs[a->front]->lists);
}

static void click_on(struct app *a, int row)
{
	const struct mouse m = { .kind = MOUSE_PRESS, .row = row, .col = 9, .button = 1 };

	app_draw(a);
	app_mouse(a, &m);
	app_draw(a);
}

/* A click chooses a row, a second one opens it; headings and empty rows are no rows, and the wheel moves. */
TEST(workbench_lists_by_mouse)
{
	const struct mouse wheel = { .kind = MOUSE_WHEEL_DOWN, .row = 4, .col = 9 };
	struct app a;

	copy_recorded_run("r");
	if (!open_workbench(&a, 30, 100, TAB_LOG))
		return;
	play_keys(&a, "<Home>");
	click_on(&a, 4);
	check_int((int)view_list_of(&a)->at, 2);
	check(!a.requests->prompt.open);
	click_on(&a, 4);
	check_int((int)a.requests->prompt.kind, QUESTION_TEXT);
	play_keys(&a, "<Esc>");
	app_mouse(&a, &wheel);
	app_draw(&a);
	check_int((int)view_list_of(&a)->at, 5);
	click_on(&a, 29); /* the last row of the screen */
	check_int((int)view_list_of(&a)->at, 5);
	play_keys(&a, "9");
	click_on(&a, 2); /* a heading */
	check_int((int)view_list_of(&a)->at, 1);
	click_on(&a, 4);
	check_int((int)view_list_of(&a)->at, 2);
	play_keys(&a, "<Home>");
	check_int((int)view_list_of(&a)->at, 1);
	app_close(&a);
}

/* ---- limits of a run ---- */

TEST(workbench_names_the_limit_of_the_progress)
{
	struct app a;

	append_run_file("r", "recipe.ini", "[train]\nsteps = 2000\nmax_minutes = 2\n");
	append_run_file("r", "journal.jsonl",
			"{'v':1,'kind':'start','t':1750000000,'attempt':1}\n"
			"{'v':1,'kind':'train','t':1750000063,'step':100,'loss':5}\n");
	append_run_file("r", "state.json", "{'v':1,'state':'stopped','attempt':1}");
	if (!open_workbench(&a, 30, 100, TAB_RUN))
		return;
	screen_shows(&a, "52 % of time");
	append_run_file("r", "journal.jsonl",
			"{'v':1,'kind':'train','t':1750000065,'step':1900,'loss':5}\n");
	update_workbench(&a);
	screen_shows(&a, "95 % of steps");
	app_close(&a);
}

TEST(workbench_says_that_a_run_is_ending)
{
	struct app a;
	int fd;

	append_run_file("r", "recipe.ini", "[train]\nsteps = 20\n");
	append_run_file("r", "journal.jsonl",
			"{'v':1,'kind':'start','t':1750000000,'attempt':1}\n"
			"{'v':1,'kind':'train','t':1750000100,'step':10,'loss':5}\n"
			"{'v':1,'kind':'train','t':1750000200,'step':20,'loss':5}\n");
	append_run_file("r", "state.json", "{'v':1,'state':'running','attempt':1}");
	fd = lock_run("r");
	if (open_workbench(&a, 30, 140, TAB_RUN)) {
		screen_shows(&a, "now evaluating");
		screen_lacks(&a, "left 0:00");
		play_keys(&a, "1");
		screen_shows(&a, "ending");
		screen_lacks(&a, "0:00");
	}
	app_close(&a);
	close(fd);
}

TEST(workbench_says_that_a_folder_is_gone)
{
	char path[600];
	struct app a;

	append_run_file("r", "journal.jsonl",
			"{'v':1,'kind':'train','t':1750000100,'step':17,'loss':5}\n");
	if (!open_workbench(&a, 30, 140, TAB_RUN))
		return;
	screen_lacks(&a, "gone");
	snprintf(path, sizeof(path), "%s/runs/r", test_folder());
	check_int(file_remove_tree(path, &e), 0);
	update_workbench(&a);
	screen_shows(&a, "the folder of this run is gone");
	screen_shows(&a, "step 17");
	app_close(&a);
}

TEST(workbench_says_that_the_time_is_over)
{
	struct run_status s;
	struct app a;

	append_run_file("r", "recipe.ini", "[train]\nsteps = 2000\nmax_minutes = 3\n");
	append_run_file("r", "journal.jsonl",
			"{'v':1,'kind':'start','t':1750000000,'attempt':1}\n"
			"{'v':1,'kind':'train','t':1750000180,'step':184,'loss':5}\n"
			"{'v':1,'kind':'stop','t':1750000181,'step':184,"
			"'reason':'finished','exit':0}\n");
	append_run_file("r", "state.json", "{'v':1,'state':'finished','attempt':1}");
	check_int(status_read(&s, test_folder(), "r", &e), 0);
	check_str(status_get_end(&s).text, "3 minutes are over");
	if (!open_workbench(&a, 30, 140, TAB_RUN))
		return;
	screen_shows(&a, "finished: 3 minutes are over"); /* above the curves */
	screen_shows(&a, "100 % of time");
	screen_lacks(&a, "W save"); /* nothing trains that could save */
	play_keys(&a, "8");
	screen_shows(&a, "finished: 3 minutes are over"); /* in the log */
	play_keys(&a, "1");
	screen_shows(&a, "3 minutes are over");
	screen_shows(&a, "Go on training r");
	screen_shows(&a, "--run r --max-minutes 6 --detach");
	app_close(&a);
}

TEST(workbench_says_that_patience_is_over)
{
	struct app a;

	append_run_file("r", "recipe.ini",
			"[train]\nsteps = 2000\nmax_minutes = 3\npatience = 5\n");
	append_run_file("r", "journal.jsonl",
			"{'v':1,'kind':'start','t':1750000000,'attempt':1}\n"
			"{'v':1,'kind':'train','t':1750000180,'step':184,'loss':5}\n"
			"{'v':1,'kind':'stop','t':1750000181,'step':184,"
			"'reason':'finished','why':'patience','text':'no better BLEU in 5 "
			"evaluations (patience)','exit':0}\n");
	append_run_file("r", "state.json", "{'v':1,'state':'finished','attempt':1}");
	if (!open_workbench(&a, 30, 160, TAB_RUN))
		return;
	screen_shows(&a, "finished: no better BLEU in 5 evaluations (patience)");
	play_keys(&a, "1");
	screen_shows(&a, "no better BLEU in 5 evaluations (patience)");
	screen_shows(&a, "Go on training r");
	screen_shows(&a, "--run r --patience 10 --detach");
	app_close(&a);
}

/* Replace state.json of run r; returns the words for its end. */
static struct run_end end_with_state(const char *state)
{
	struct run_status s;

	put_run_file("r", "state.json", state);
	check_int(status_read(&s, test_folder(), "r", &e), 0);
	return status_get_end(&s);
}

/* The launcher knows who asked; the journal only knows that somebody did. */
TEST(status_says_who_stopped_a_run)
{
	append_run_file("r", "recipe.ini", "[train]\nsteps = 2000\n");
	append_run_file(
		"r", "journal.jsonl",
		"{'v':1,'kind':'start','t':1750000000,'attempt':1}\n"
		"{'v':1,'kind':'stop','t':1750000181,'step':184,'reason':'asked','exit':75}\n");
	check_str(end_with_state("{'state':'stopped','asked_by':null}").text, "on request");
	check_str(end_with_state("{'state':'stopped','asked_by':'user'}").text, "by the user");
	check_str(end_with_state("{'state':'stopped','asked_by':'walltime'}").text,
		  "the walltime is over");
	/* the record belongs to an earlier end */
	check_str(end_with_state("{'state':'failed','exit':70}").text, "exit status 70");
	check_str(end_with_state("{'state':'running'}").text, "");
}

/* ---- a workspace that cannot be read ---- */

TEST(workbench_names_an_unreadable_workspace)
{
	char path[600], corpora[600];
	struct app a;

	/* A symbolic link to itself: open() fails for every user, root included. */
	snprintf(path, sizeof(path), "%s/runs", test_folder());
	snprintf(corpora, sizeof(corpora), "%s/corpora", test_folder());
	check(!symlink("runs", path) && !symlink("corpora", corpora));
	if (!open_workbench(&a, 30, 140, TAB_RUN))
		return;
	screen_shows(&a, "/runs: cannot be listed");
	play_keys(&a, "1");
	screen_shows(&a, "/corpora: cannot be listed");
	/* The workbench goes on once the workspace can be read. */
	check(!unlink(path) && !unlink(corpora));
	append_run_file("r", "journal.jsonl",
			"{'v':1,'kind':'start','t':1750000000,'attempt':1}\n");
	a.fixed_now += 10;
	update_workbench(&a);
	screen_lacks(&a, "cannot be listed");
	app_close(&a);
}

/* ---- extremes ---- */

TEST(workbench_form_of_a_thousand_rows)
{
	struct wizard_value values[1000];
	struct app a;

	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		values[i] = (struct wizard_value){ "steps", NULL };
	if (!open_workbench(&a, 30, 100, TAB_HOME))
		return;
	context_open_wizard(&a.context, &(struct wizard_form){ .title = "many",
							       .command = "train",
							       .values = values,
							       .n_values = ARRAY_LEN(values),
							       .show_tab = -1 });
	play_keys(&a, "<Ctrl-L>");
	screen_shows(&a, "steps                   100000");
	app_close(&a);
}

TEST(workbench_heat_of_impossible_shares)
{
	struct app a;

	append_run_file("r", "journal.jsonl",
			"{'v':1,'kind':'start','t':1750000000,'attempt':1}\n"
			"{'v':1,'kind':'host','t':1750000001,'step':1,'host':'huge',"
			"'gpus':[{'util':1,'memory_used':1e18,'memory_total':1}]}\n"
			"{'v':1,'kind':'host','t':1750000001,'step':1,'host':'none',"
			"'gpus':[{'util':1,'memory_used':1e18,'memory_total':0}]}\n");
	if (!open_workbench(&a, 30, 140, TAB_HOSTS))
		return;
	play_keys(&a, "<Ctrl-L>mm");
	screen_shows(&a, "huge        999");
	screen_shows(&a, "none        ???");
	app_close(&a);
}

TEST(workbench_leaves_in_spite_of_a_question)
{
	static const struct question questions[] = {
		{ .kind = QUESTION_LINE, .title = "name" },
		{ .kind = QUESTION_YES_NO, .title = "sure?" },
		{ .kind = QUESTION_TEXT, .title = "read", .text = "x" },
	};
	struct app a;

	if (!open_workbench(&a, 30, 80, NO_TAB))
		return;
	for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
		context_ask(&a.context, &questions[i]);
		check(a.requests->prompt.open);
		check(app_key(&a, KEY_NAME_F10) & REACT_QUIT);
		check(!a.requests->prompt.open);
	}
	/* a letter is text for the question, and Esc cancels only */
	context_ask(&a.context, &questions[0]);
	check(!(app_key(&a, 'q') & REACT_QUIT));
	check(a.requests->prompt.open);
	check(!(app_key(&a, 0x1B) & REACT_QUIT));
	app_close(&a);
}

/* Writes the row of tab labels, with tab number `front` in front (0: the first), as text. */
static void dump_tabs(struct app *a, int front, int cols, char *out, size_t size)
{
	struct frame frame;
	struct buf text = { 0 };

	frame_layout(a->grid.rows, cols, &frame);
	grid_clear(&a->grid);
	frame_draw_tabs(&a->grid, frame.tabs, &a->context, front);
	grid_dump(&a->grid, &text);
	snprintf(out, size, "%.*s", (int)strcspn(buf_text(&text), "\n"), buf_text(&text));
	buf_free(&text);
}

TEST(workbench_tab_labels_stay_in_place)
{
	static const int widths[] = { 80, 100, 120, 200 };
	char run[400], first[300], now[300];
	struct app a;

	if (!open_workbench(&a, 30, 80, NO_TAB))
		return;
	snprintf(run, sizeof(run), "%s/runs/a-run-with-a-long-name", test_folder());
	check_int(file_make_folders(run, &e), 0);
	check_int(context_choose_run(&a.context, "a-run-with-a-long-name", &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
		check_int(grid_resize(&a.grid, 24, widths[i], &e), 0);
		dump_tabs(&a, 0, widths[i], first, sizeof(first));
		for (int front = 1; front < TAB_COUNT; front++) {
			dump_tabs(&a, front, widths[i], now, sizeof(now));
			check_str(now, first);
		}
		/* every state has its word */
		for (int state = RUN_UNKNOWN; state <= RUN_LOST; state++) {
			a.context.history->state = (enum run_state)state;
			dump_tabs(&a, TAB_TRANSLATE, widths[i], now, sizeof(now));
			check(strstr(now, run_state_name((enum run_state)state)) != NULL);
		}
	}
	app_close(&a);
}

/* ---- undo ---- */

TEST(workbench_undoes_toggles_and_filters)
{
	struct app a;

	append_run_file("one", "journal.jsonl",
			"{'v':1,'kind':'train','t':1750000000,'step':1,'loss':5}\n"
			"{'v':1,'kind':'train','t':1750000001,'step':9,'loss':4}\n"
			"{'v':1,'kind':'event','t':1750000002,'text':'alpha'}\n"
			"{'v':1,'kind':'event','t':1750000003,'text':'beta'}\n");
	if (!open_workbench(&a, 30, 120, NO_TAB))
		return;
	update_workbench(&a);
	play_keys(&a, "3u");
	screen_shows(&a, "no toggle, order, zoom or filter of this view was changed");
	a.fixed_now += 10;
	play_keys(&a, "yz<Left>"); /* a logarithm, the zoom; the cursor is no step */
	screen_shows(&a, ", log");
	screen_lacks(&a, "gradient norm");
	play_keys(&a, "u");
	screen_shows(&a, "undone: zoom");
	screen_shows(&a, "gradient norm");
	screen_shows(&a, ", log");
	play_keys(&a, "u");
	screen_shows(&a, "undone: log y");
	screen_lacks(&a, ", log");
	play_keys(&a, "8"); /* the message is about the run view: it does not cover the next one */
	screen_lacks(&a, "undone");
	screen_shows(&a, "? keys");
	/* filters come back with their text; each view has its own steps */
	a.fixed_now += 10;
	play_keys(&a, "8&alpha<Enter>");
	screen_shows(&a, "lines 1  only alpha");
	play_keys(&a, "&<Ctrl-U>beta<Enter>");
	screen_shows(&a, "lines 1  only beta");
	play_keys(&a, "3xu8u");
	screen_shows(&a, "undone: only");
	screen_shows(&a, "lines 1  only alpha");
	play_keys(&a, "u");
	screen_shows(&a, "lines 2 ");
	/* more steps than are kept */
	for (int i = 0; i < UNDO_STEPS + 5; i++)
		play_keys(&a, "t");
	check_int((int)a.n_undo, UNDO_STEPS);
	/* every view with toggles survives undoing all of them */
	for (char tab = '1'; tab <= '9'; tab++)
		if (tab != '7')
			play_keys(&a, (char[]){ tab, 'o', 'd', 'i', 'm', 's', 'x', 'u', 'u', 'u',
						'u', 'u', 0 });
	app_close(&a);
}

/* ---- notices ---- */

TEST(workbench_tells_the_end_of_a_run_once)
{
	enum term_toast kind = TOAST_BELL;

	check_int(app_choose_toast(NULL, &kind, &e), 0);
	check_int(kind, TOAST_NONE);
	check_int(app_choose_toast("osc777", &kind, &e), 0);
	check_int(kind, TOAST_OSC777);
	check_int(app_choose_toast("loud", &kind, &e), ERR_USAGE);
	check(strstr(e.text, "off, osc9, osc777 or bell") != NULL);
	check(app_run_has_ended(RUN_RUNNING, RUN_FAILED));
	check(app_run_has_ended(RUN_RUNNING, RUN_LOST));
	check(!app_run_has_ended(RUN_RUNNING, RUN_RUNNING));
	check(!app_run_has_ended(RUN_FINISHED, RUN_FINISHED)); /* a run that is opened later */
	check(!app_run_has_ended(RUN_UNKNOWN, RUN_FINISHED));
	check(!app_run_has_ended(RUN_RUNNING, RUN_UNKNOWN)); /* its files cannot be read for now */
}
