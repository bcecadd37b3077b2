/*
 * t_workbench.c - the frame of the workbench: keys and themes from files, jobs, questions, and
 * every view at every size.
 */
#include "tests/test.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "tests/tui/played_workbench.h"
#include "tui/app/frame.h"
#include "tui/context/jobs.h"
#include "tui/context/prompt.h"
#include "tui/context/view.h"
#include "tui/context/view_requests.h"
#include "tui/context/wizard.h"
#include "tui/overlay/overlays.h"
#include "tui/run/run_history.h"
#include "tui/term/keys.h"
#include "tui/term/theme.h"
#include "tui/views/views.h"

static struct err e;

/* ---- keys ---- */

TEST(workbench_keymap_files)
{
	struct keymap map = { 0 };

	/* the same letter in the group of a view, only there */
	check_int(keys_action(&map, 'd', "form"), ACTION_FORM_RESET);
	check_int(keys_action(&map, 'd', "run"), keys_action(&map, 'd', NULL));
	check_int(keymap_read(&map, "keys", "# mine\n\nform.run = X <Alt-x>\n", &e), 0);
	check_int(keymap_read(&map, "keys", "workbench.quit=Q", &e), 0);
	check_int(keymap_read(&map, "keys", "translate.take = A", &e), 0); /* an old name */
	check_str(keymap_keys(&map, ACTION_ACCEPT), "A");
	check_int(keymap_read(&map, "keys", "translate.hold = B\ntranslate.free = C", &e), 0);
	check_str(keymap_keys(&map, ACTION_FIX_PREFIX), "B");
	check_str(keymap_keys(&map, ACTION_CLEAR), "C");
	check_str(keymap_keys(&map, ACTION_ACCEPT), "A");
	check(keys_action(&map, 'L', "form") != ACTION_FORM_RUN);
	/* actions that views once had as their own are common ones now */
	check_int(
		keymap_read(&map, "keys", "home.filter = F\nrun.save = M\ncompare.export = O", &e),
		0);
	check_int(keys_action(&map, 'F', "data"), ACTION_FIND);
	check_int(keys_action(&map, 'M', "home"), ACTION_SAVE);
	check_str(keymap_keys(&map, ACTION_EXPORT), "O");
	check_int(keys_action(&map, 'X', "form"), ACTION_FORM_RUN);
	check_int(keys_action(&map, KEY_ALT | 'x', "form"), ACTION_FORM_RUN);
	check_int(keys_action(&map, 'Q', "run"), ACTION_QUIT);
	check_int(keys_action(&map, 'q', "run"), ACTION_NONE);
	check_str(keymap_keys(&map, ACTION_QUIT), "Q");
	check_int(keymap_read(&map, "keys", "\nform.fly = x\n", &e), ERR_CONFIG);
	check(strstr(e.text, "keys:2") && strstr(e.text, "form.fly"));
	check_int(keymap_read(&map, "keys", "form.run = <Hyper-x>\n", &e), ERR_CONFIG);
	check(strstr(e.text, "<Hyper-x>"));
	check_int(keymap_read(&map, "keys", "form.run\n", &e), ERR_CONFIG);
	keymap_free(&map);
	check_int(keys_action(&map, 'q', "run"), ACTION_QUIT);
}

TEST(workbench_key_names)
{
	const char *p = "<Alt-x><Alt-ß>"
			"<Alt->><Alt-Left><Ctrl-Right><F12><Backspace><Alt-Backspace>";

	check_int(keys_next(&p), KEY_ALT | 'x');
	check_int(keys_next(&p), KEY_ALT | 0xDF);
	check_int(keys_next(&p), KEY_ALT | '>');
	check_int(keys_next(&p), KEY_ALT | KEY_NAME_LEFT);
	check_int(keys_next(&p), KEY_CTRL | KEY_NAME_RIGHT);
	check_int(keys_next(&p), KEY_NAME_F12);
	check_int(keys_next(&p), 0x7F);
	check_int(keys_next(&p), KEY_ALT | 0x7F);
	check_int(keys_next(&p), 0);
	check(key_is_text('a') && key_is_text(' ') && key_is_text(0x65E5));
	check(!key_is_text(0x1B) && !key_is_text(0x7F) && !key_is_text(0x9B));
	check(!key_is_text(KEY_NAME_UP) && !key_is_text(KEY_ALT | 'a'));
}

/* ---- themes ---- */

TEST(workbench_themes)
{
	struct theme t;
	const char *what;

	for (int i = 0; theme_name(i, &what); i++) {
		check(theme_builtin(&t, theme_name(i, NULL)) && *what);
		for (int s = 0; s < STYLE_COUNT; s++)
			for (int d = 0; d < THEME_DEPTHS; d++) {
				static const int most[] = { 256, 16, 8 };

				check(t.styles[s].colour[d] < most[d] &&
				      t.styles[s].ground[d] < most[d]);
			}
		/* Styles with a meaning differ without colours, too. */
		check(t.styles[STYLE_BAD].plain_attributes !=
		      t.styles[STYLE_GOOD].plain_attributes);
		check(t.styles[STYLE_ADDED].plain_attributes !=
		      t.styles[STYLE_REMOVED].plain_attributes);
		check(t.styles[STYLE_WRONG].plain_attributes !=
		      t.styles[STYLE_ADDED].plain_attributes);
		check(t.styles[STYLE_SELECTED].plain_attributes & THEME_REVERSE);
	}
	check(theme_builtin(&t, "mono") && t.styles[STYLE_BAD].colour[THEME_256] == -1);
	check(!theme_builtin(&t, "pink"));
	check_int(theme_tone_rgb(&t, 0), -1); /* mono: the default colour */
	check_int(theme_rgb(33), 0x0087ff);
	check(theme_builtin(&t, "dark"));
	check_int(theme_tone_rgb(&t, 0), theme_rgb(t.styles[STYLE_AREA].colour[THEME_256]));
	check_int(theme_tone_rgb(&t, THEME_TONES - 1),
		  theme_rgb(t.styles[STYLE_AREA_LOW].colour[THEME_256]));
}

TEST(workbench_theme_files)
{
	struct theme t;

	theme_builtin(&t, "auto");
	check_int(theme_read(&t, "t", "base = dark\nbad = 196 bold\n", &e), 0);
	check_int(theme_read(&t, "t", "# mine\nselected=black on bright-cyan", &e), 0);
	check_int(t.styles[STYLE_BAD].colour[THEME_256], 196);
	check_int(t.styles[STYLE_BAD].colour[THEME_16], 9);
	check_int(t.styles[STYLE_BAD].colour[THEME_8], 1);
	check_int(t.styles[STYLE_BAD].attributes, THEME_BOLD);
	check_int(t.styles[STYLE_SELECTED].ground[THEME_256], 14);
	check_int(t.styles[STYLE_SELECTED].ground[THEME_8], 6);
	check_int(t.styles[STYLE_FIRST].colour[THEME_256], 75); /* of dark */
	check_int(theme_read(&t, "t", "\nbda = 1\n", &e), ERR_CONFIG);
	check(strstr(e.text, "t:2") && strstr(e.text, "bad"));
	check_int(theme_read(&t, "t", "bad = 256\n", &e), ERR_CONFIG);
	check_int(theme_read(&t, "t", "bad = shiny\n", &e), ERR_CONFIG);
	check_int(theme_nearest(196, 8), 1);
	check_int(theme_nearest(21, 16), 4);
	check_int(theme_nearest(-1, 8), -1);
}

/* ---- jobs ---- */

/* Update until no job runs, at most ten seconds; returns the first job. */
static const struct job *finish(struct jobs *j)
{
	for (int i = 0; i < 1000 && jobs_running(j); i++) {
		jobs_update(j, 7);
		usleep(10000);
	}
	check_int((int)jobs_running(j), 0);
	return jobs_at(j, 0);
}

TEST(workbench_job_talks_and_ends)
{
	static const char *const argv[] = {
		"sh", "-c",
		"echo one; printf '10 %%\\r20 %%\\r30 %%\\n'; cat; echo bad >&2; exit 3", NULL
	};
	struct jobs *j = jobs_new(&e);
	const struct job *job;

	check_int(jobs_start(j, "talk", argv, 5, &e), 1);
	job = finish(j);
	check_int(job->state, JOB_FAILED);
	check_int(job->status, 3);
	check(job->started == 5 && job->ended == 7);
	check_int((int)job->n_lines, 3);
	for (size_t i = 0; i < job->n_lines; i++) {
		const struct job_line *line = job_line(job, i);

		check(!strcmp(line->text, "bad") == line->is_error);
		check(!strcmp(line->text, "one") || !strcmp(line->text, "30 %") ||
		      !strcmp(line->text, "bad"));
	}
	check_str(job->title, "talk");
	check(!jobs_find(j, 2) && jobs_find(j, 1) == job);
	jobs_free(j);
}

TEST(workbench_job_floods_and_is_stopped)
{
	static const char *const argv[] = { "sh", "-c", "yes 'much to say, all the time'", NULL };
	static const char *const stubborn[] = {
		"sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done", NULL
	};
	struct jobs *j = jobs_new(&e);
	int id = jobs_start(j, "flood", argv, 1, &e);

	/* one update reads a bounded amount; on a busy machine the job may begin late */
	for (int i = 0; i < 30000 && jobs_at(j, 0)->n_lines < JOB_LINES; i++) {
		jobs_update(j, 1);
		usleep(1000);
	}
	check_int((int)jobs_at(j, 0)->n_lines, JOB_LINES);
	check_str(jobs_at(j, 0)->last, "much to say, all the time");
	jobs_stop(j, id);
	check_int(finish(j)->state, JOB_STOPPED);
	id = jobs_start(j, "stubborn", stubborn, 1, &e);
	for (int i = 0; i < 500 && !*jobs_find(j, id)->last; i++) {
		jobs_update(j, 1);
		usleep(10000);
	}
	jobs_stop(j, id);
	jobs_update(j, 1);
	check_int((int)jobs_running(j), 1);
	jobs_stop(j, id); /* the second time it is killed */
	check_int(finish(j)->status, 128 + SIGKILL);
	jobs_free(j);
}

TEST(workbench_job_leaves_a_child_behind)
{
	static const char *const argv[] = { "sh", "-c", "sleep 100 & echo $!", NULL };
	static const char *const missing[] = { "/nonexistent/program", NULL };
	struct jobs *j = jobs_new(&e);
	double start = clock_mono_s();

	jobs_start(j, "detach", argv, 1, &e);
	check_int(finish(j)->state, JOB_DONE);
	check(clock_mono_s() - start < 90); /* the child that holds the pipe is not waited for */
	check_int(test_kill((pid_t)strtol(jobs_at(j, 0)->last, NULL, 10), SIGKILL), 0);
	check_int(jobs_start(j, "missing", missing, 1, &e), ERR_UNAVAILABLE);
	check(strstr(e.text, "/nonexistent/program"));
	for (int i = 0; i < JOB_MAX + 5; i++) {
		static const char *const quick[] = { "true", NULL };

		check(jobs_start(j, "quick", quick, 1, &e) > 0);
		finish(j);
	}
	check_int((int)jobs_count(j), JOB_MAX);
	jobs_free(j);
}

TEST(workbench_job_command_as_text)
{
	static const char *const argv[] = { "werkbank", "train", "a b", "it's", "", "--x=1", NULL };
	struct buf out = { 0 };

	jobs_command_text(argv, &out);
	check_str(buf_text(&out), "werkbank train 'a b' 'it'\\''s' '' --x=1");
	buf_free(&out);
}

/* ---- saved state ---- */

TEST(workbench_keeps)
{
	struct saved_state k = { 0 };
	struct buf text = { 0 };
	char key[32], longer[2000];

	saved_state_read(&k, "view = run\n# no\nnonsense\nbad key = 1\nrun.zoom=yes\n = x\n");
	check_int((int)k.n, 2);
	check(!k.changed);
	check_str(saved_state_get(&k, "view"), "run");
	check_str(saved_state_get(&k, "run.zoom"), "yes");
	saved_state_set(&k, "view", "run");
	check(!k.changed);
	saved_state_set(&k, "view", "log");
	saved_state_set(&k, "run.zoom", NULL);
	saved_state_set(&k, "evil", "a\nview = x");
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	saved_state_set(&k, "long", longer);
	saved_state_write(&k, &text);
	check_str(buf_text(&text), "view = log\n");
	check(k.changed && !saved_state_get(&k, "run.zoom"));
	for (int i = 0; i < SAVED_STATE_MAX + 20; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		saved_state_set(&k, key, "v");
	}
	check_int((int)k.n, SAVED_STATE_MAX);
	buf_free(&text);
	saved_state_free(&k);
}

/* ---- context ---- */

/* A workspace with the recorded run. false: the test has failed. */
static bool open_context(struct app_context *w)
{
	copy_recorded_run("demo");
	if (!check_int(context_open(w, test_folder(), &e), 0))
		return false;
	w->now = 1750000210;
	w->keymap = NULL;
	w->view = "run";
	return check_int(context_choose_run(w, "demo", &e), 0);
}

TEST(workbench_context)
{
	char path[600], name[64];
	struct app_context w;
	struct buf text = { 0 };
	char **names;
	size_t n;

	if (!open_context(&w))
		return;
	check(w.run && !strcmp(w.run, "demo") && w.requests->news & NEWS_RUN);
	check_int(context_choose_run(&w, "nobody", &e), ERR_NOINPUT);
	check_str(w.run, "demo");
	names = context_run_names(&w, &n, &e);
	if (check(names && n == 1))
		check_str(names[0], "demo");
	for (size_t i = 0; names && i < n; i++)
		free(names[i]);
	free(names);
	/* an export never overwrites */
	snprintf(name, sizeof(name), "export-%ld.csv", (long)getpid());
	context_write_file(&w, name, "first");
	context_write_file(&w, name, "second");
	check_int(file_read_all(name, 100, &text, &e), 0);
	check_str(buf_text(&text), "first");
	check(strstr(w.requests->message, "-2.csv") != NULL);
	unlink(name);
	snprintf(path, sizeof(path), "export-%ld-2.csv", (long)getpid());
	check_int(unlink(path), 0);
	/* readonly: a command is shown, not run */
	w.readonly = true;
	context_run_command(&w, "x", (const char *const[]){ "werkbank", "stop", "demo", NULL });
	check(w.has_question && w.requests->prompt.kind == QUESTION_TEXT);
	check_str(w.requests->prompt.text, "werkbank stop demo");
	buf_free(&text);
	context_close(&w);
}

/* ---- every view at every size ---- */

#define SENTINEL 0x7E /* '~', drawn by no view */

/* A margin of a row and two columns on every side reveals cells outside the body. */
#define MARGIN_ROWS 1
#define MARGIN_COLS 2

static bool is_margin(const struct grid *g, int row, int col)
{
	return row < MARGIN_ROWS || row >= g->rows - MARGIN_ROWS || col < MARGIN_COLS ||
	       col >= g->cols - MARGIN_COLS;
}

/* The next column of the margin; inner rows have margin columns only at their ends. */
static int next_margin_col(const struct grid *g, int row, int col)
{
	col++;
	return is_margin(g, row, col) ? col : g->cols - MARGIN_COLS;
}

/* The first changed cell of the margin; NULL: none. */
static const struct cell *spilled(const struct grid *g)
{
	for (int row = 0; row < g->rows; row++)
		for (int col = 0; col < g->cols; col = next_margin_col(g, row, col))
			if (grid_at(g, row, col)->ch != SENTINEL)
				return grid_at(g, row, col);
	return NULL;
}

static int n_spilled; /* spilled cells of a view; only a few are reported */

static void draw_at(const struct view *v, void *state, struct app_context *w, struct grid *g)
{
	struct rect body = { MARGIN_ROWS, MARGIN_COLS, g->rows - 2 * MARGIN_ROWS,
			     g->cols - 2 * MARGIN_COLS };
	const struct cell *c;

	for (int row = 0; row < g->rows; row++)
		for (int col = 0; col < g->cols; col = next_margin_col(g, row, col))
			g->cells[row * g->cols + col].ch = SENTINEL;
	view_draw(v, state, g, body, w);
	/* on smaller screens the clip rectangle does the work */
	if (body.rows >= 8 && body.cols >= 30 && (c = spilled(g)) && n_spilled++ < 5)
		test_fail(__FILE__, __LINE__, "%s at %d x %d draws outside, at %d, %d", v->name,
			  body.rows, body.cols, (int)((c - g->cells) / g->cols),
			  (int)((c - g->cells) % g->cols));
}

static void draw_every_size(const struct view *v, struct app_context *w)
{
	bool all = getenv("WERKBANK_EVERY_SIZE") != NULL;
	void *state = calloc(1, MAX(v->state_size, (size_t)1));
	struct grid g = { .charset = w->charset };

	n_spilled = 0;
	w->view = v->name;
	w->front = true;
	w->news = NEWS_RUN | NEWS_HISTORY | NEWS_JOBS;
	if (!check_int(view_open(v, state, w, &e), 0)) {
		free(state);
		return;
	}
	for (int i = 0; i < 100; i++, w->news = 0)
		if (!(view_update(v, state, w) & REACT_AGAIN))
			break;
	for (int rows = 1; rows <= 200; rows += all || rows < 12 ? 1 : 1 + rows / 5)
		for (int cols = 1; cols <= 400; cols += all || cols < 48 ? 1 : 1 + cols / 7)
			if (!grid_resize(&g, rows + 2 * MARGIN_ROWS, cols + 2 * MARGIN_COLS, &e))
				draw_at(v, state, w, &g);
	grid_free(&g);
	view_close(v, state);
	free(state);
}

TEST(workbench_views_at_every_size)
{
	static const enum grid_charset charsets[] = { GRID_ASCII, GRID_FULL };
	struct app_context w;

	if (!setlocale(LC_CTYPE, "C.UTF-8")) {
		test_skip("this machine has no locale C.UTF-8");
		return;
	}
	if (!open_context(&w))
		return;
	read_whole_history(w.history, w.now);
	for (size_t k = 0; k < ARRAY_LEN(charsets); k++) {
		w.charset = charsets[k];
		for (int tab = 0; tab < TAB_COUNT; tab++) {
			w.requests->caller = tab;
			draw_every_size(view_tabs[tab], &w);
		}
		draw_every_size(&view_help, &w);
		draw_every_size(&view_report, &w);
	}
	context_close(&w);
}

/* ---- random keys ---- */

/* A random key: letters and named keys. */
static int any_key(unsigned *seed)
{
	static const int named[] = {
		KEY_NAME_UP,
		KEY_NAME_DOWN,
		KEY_NAME_LEFT,
		KEY_NAME_RIGHT,
		KEY_NAME_HOME,
		KEY_NAME_END,
		KEY_NAME_PAGE_UP,
		KEY_NAME_PAGE_DOWN,
		KEY_NAME_BACKTAB,
		KEY_NAME_DELETE,
		KEY_NAME_F1,
		'\t',
		'\r',
		0x1B,
		KEY_BACKSPACE_CHAR,
		0x0C,
		KEY_ALT | KEY_NAME_RIGHT,
		KEY_ALT | 's',
		KEY_CTRL | KEY_NAME_LEFT,
		0x17,
		0x19,
		0x1F,
		0x65E5,
		0x301,
	};

	*seed = *seed * 1103515245 + 12345;
	if (*seed >> 16 & 1)
		return named[(*seed >> 17) % ARRAY_LEN(named)];
	return ' ' + 1 + (int)((*seed >> 17) % 94);
}

/* Random keys, clicks, pastes and sizes: no crash. RANDOM_KEYS=N plays N keys in each tab. */
static void play(struct app *a, unsigned seed, int n)
{
	for (int i = 0; i < n; i++) {
		struct mouse m = { .kind = (enum mouse_kind)(i % 5), .button = 1 };
		unsigned reaction = app_key(a, any_key(&seed));

		m.row = (int)(seed >> 8) % (a->grid.rows + 2) - 1;
		m.col = (int)(seed >> 12) % (a->grid.cols + 2) - 1;
		if (seed >> 20 & 1)
			reaction |= app_mouse(a, &m);
		if (i % 50 == 49)
			reaction |= app_paste(a, "pasted \xC3\xA4\nlines\n");
		(void)reaction;
		for (int k = 0; k < 5 && app_update(a) & REACT_AGAIN; k++)
			;
		if (i % 40 == 39)
			grid_resize(&a->grid, 1 + (int)(seed >> 9) % 50,
				    1 + (int)(seed >> 15) % 150, &e);
		app_draw(a);
	}
}

static void play_in(const char *workspace, int n)
{
	struct app a = { .fixed_now = 1750000210, .grid = { .charset = GRID_FULL } };

	if (!check_int(context_open(&a.context, workspace, &e), 0))
		return;
	a.requests = a.context.requests;
	a.context.keymap = &a.keymap;
	a.context.readonly = true; /* no command is started */
	theme_builtin(&a.theme, "auto");
	grid_resize(&a.grid, 24, 80, &e);
	for (int tab = 0; tab < TAB_COUNT; tab++) {
		app_show_tab(&a, tab);
		play(&a, (unsigned)tab + 1, n);
	}
	/* only jobs that read */
	for (size_t i = 0; i < jobs_count(a.context.jobs); i++)
		check(!strncmp(jobs_at(a.context.jobs, i)->title, "report of ", 10));
	app_close(&a);
}

TEST(workbench_survives_any_keys)
{
	const char *more = getenv("RANDOM_KEYS");
	char empty[400], here[4096];
	struct app_context w;

	if (!setlocale(LC_CTYPE, "C.UTF-8")) {
		test_skip("this machine has no locale C.UTF-8");
		return;
	}
	if (!open_context(&w) || !getcwd(here, sizeof(here)))
		return;
	context_close(&w);
	snprintf(empty, sizeof(empty), "%s/empty", test_folder());
	file_make_folders(empty, &e);
	/* what is exported goes into the test's folder */
	if (!check(!chdir(empty)))
		return;
	play_in(test_folder(), more ? atoi(more) : 400);
	play_in(empty, more ? atoi(more) : 200);
	check(!chdir(here));
}

/* ---- the workbench as a whole, by its keys ---- */

TEST(workbench_runs_a_command_after_a_yes)
{
	static const char *const argv[] = { "sh", "-c", "echo said; sleep 100", NULL };
	struct app a;

	if (!open_workbench(&a, 24, 80, TAB_LOG))
		return;
	context_run_command(&a.context, "talk", argv);
	screen_shows(&a, "sh -c 'echo said; sleep 100'");
	play_keys(&a, "n");
	check_int((int)jobs_count(a.context.jobs), 0);
	context_run_command(&a.context, "talk", argv);
	play_keys(&a, "<Enter>"); /* not a yes */
	check_int((int)jobs_count(a.context.jobs), 0);
	play_keys(&a, "y");
	check_int((int)jobs_running(a.context.jobs), 1);
	screen_shows(&a, "started: talk");
	a.fixed_now += 10;
	play_keys(&a, "l");
	screen_shows(&a, "1 job");
	/* leaving asks, because the job would end */
	check(!(app_key(&a, 'q') & REACT_QUIT));
	screen_shows(&a, "end the running job?");
	check(!(app_key(&a, 'n') & REACT_QUIT));
	app_key(&a, 'q');
	check(app_key(&a, 'y') & REACT_QUIT);
	app_close(&a);
}

TEST(workbench_only_looks)
{
	static const char *const argv[] = { "touch", "werkbank-was-not-readonly", NULL };
	struct app a;

	if (!open_workbench(&a, 24, 80, TAB_LOG))
		return;
	a.context.readonly = true;
	context_run_command(&a.context, "write", argv);
	play_keys(&a, "yy<Enter>");
	context_open_wizard(
		&a.context,
		&(struct wizard_form){ .title = "Look", .command = "status", .show_tab = -1 });
	play_keys(&a, "<Ctrl-L>L");
	screen_shows(&a, "readonly: nothing is started");
	/* only jobs that read */
	for (size_t i = 0; i < jobs_count(a.context.jobs); i++)
		check(!strncmp(jobs_at(a.context.jobs, i)->title, "report of ", 10));
	app_close(&a);
}

TEST(workbench_fills_a_form)
{
	static const struct wizard_value values[] = { { "run", "first" },
						      { "max_minutes", "2" },
						      { "detach", "yes" } };
	static const char *const recipes[] = { "demo", "multi30k" };
	const struct wizard_form form = {
		.title = "Train a model",
		.command = "train",
		.argument = "demo",
		.argument_label = "recipe",
		.argument_choices = recipes,
		.n_choices = 2,
		.values = values,
		.n_values = 3,
		.show_tab = TAB_RUN,
	};
	const struct mouse click = { .kind = MOUSE_PRESS, .row = 3, .col = 9, .button = 1 };
	struct app a;

	if (!open_workbench(&a, 24, 80, TAB_LOG))
		return;
	context_open_wizard(&a.context, &form);
	play_keys(&a, "<Ctrl-L>"); /* the loop executes the request */
	screen_shows(&a, "Train a model");
	screen_shows(&a, "demo --run first");
	play_keys(&a, "<Enter>mul<Enter>");
	screen_shows(&a, "multi30k --run first");
	play_keys(&a, "/zzzz<Enter>d"); /* no row is visible: none changes */
	screen_shows(&a, "multi30k --run first");
	screen_shows(&a, "no option matches");
	play_keys(&a, "/<Ctrl-U><Enter>");
	play_keys(&a, "j<Enter><Ctrl-U>second<Enter>");
	screen_shows(&a, "--run second");
	play_keys(&a, "j<Enter><Ctrl-U>-3<Enter>"); /* out of range */
	screen_shows(&a, "--max-minutes 2");
	play_keys(&a, "4.5<Enter>k"); /* a digit begins a new number */
	screen_shows(&a, "--max-minutes 4.5");
	play_keys(&a, "jd/beam<Enter><Enter><Ctrl-U>7<Enter>");
	screen_shows(&a, "--beam 7");
	screen_lacks(&a, "--detach");
	check(grid_shows(&a.grid, "beam width") || grid_shows(&a.grid, "default 4"));
	/* a click chooses the row of the run, another one asks for its value */
	play_keys(&a, "/<Ctrl-U><Enter>");
	app_mouse(&a, &click);
	play_keys(&a, "d");
	screen_lacks(&a, "--run");
	screen_shows(&a, "werkbank train");
	app_mouse(&a, &click);
	play_keys(&a, "third<Enter>");
	screen_shows(&a, "--run third");
	play_keys(&a, "<Esc>");
	screen_lacks(&a, "Train a model");
	check_int((int)jobs_count(a.context.jobs), 0);
	/* an unknown command gives a message, not a form */
	context_open_wizard(&a.context, &(struct wizard_form){ .title = "x",
							       .command = "fly",
							       .values = values,
							       .n_values = 1 });
	play_keys(&a, "<Ctrl-L>");
	screen_shows(&a, "fly");
	app_close(&a);
}

TEST(workbench_frame_at_every_size)
{
	struct app_context w;

	if (!open_context(&w))
		return;
	for (int rows = 1; rows <= 200; rows++)
		for (int cols = 1; cols <= 400; cols += rows < 8 ? 1 : 37) {
			struct grid g = { .charset = GRID_ASCII };
			struct frame f;

			frame_layout(rows, cols, &f);
			check(f.tabs.rows + f.body.rows + f.foot.rows == rows && f.body.rows > 0);
			if (!f.tabs.rows || rows > 8)
				continue;
			grid_resize(&g, rows, cols, &e);
			for (int front = 0; front < TAB_COUNT; front++) {
				int seen = 0;

				grid_clear(&g);
				frame_draw_tabs(&g, f.tabs, &w, front);
				frame_draw_foot(&g, f.foot, &w, view_tabs[front], NULL, 0,
						rows % 2);
				/* a click on a drawn tab finds it */
				for (int col = 0; col < cols; col++)
					if (frame_tab_at(f.tabs, front, col) == front)
						seen++;
				check(seen > 0 || cols < 24);
			}
			grid_free(&g);
		}
	context_close(&w);
}
