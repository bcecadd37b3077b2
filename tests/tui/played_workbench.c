/* played_workbench.c - see played_workbench.h. */
#include "tests/tui/played_workbench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/util.h"
#include "tests/test.h"
#include "tui/run/run_history.h"
#include "tui/term/theme.h"

#define PATH_BYTES 600

static struct err e;

void append_run_file(const char *run, const char *name, const char *text)
{
	char path[PATH_BYTES];
	FILE *f;

	snprintf(path, sizeof(path), "%s/runs/%s/%s", test_folder(), run, name);
	*strrchr(path, '/') = 0;
	file_make_folders(path, &e);
	path[strlen(path)] = '/';
	f = fopen(path, "a");
	if (!check(f != NULL))
		return;
	for (; *text; text++)
		fputc(*text == '\'' ? '"' : *text, f);
	fclose(f);
}

void put_run_file(const char *run, const char *name, const char *text)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "%s/runs/%s/%s", test_folder(), run, name);
	unlink(path);
	append_run_file(run, name, text);
}

void copy_golden_files(const char *from, const char *const *names, size_t n, const char *to)
{
	const char *source = getenv("srcdir");
	char here[PATH_BYTES], there[PATH_BYTES];

	snprintf(there, sizeof(there), "%s/%s", test_folder(), to);
	check_int(file_make_folders(there, &e), 0);
	for (size_t i = 0; i < n; i++) {
		snprintf(here, sizeof(here), "%s/tests/golden/%s/%s", source ? source : ".", from,
			 names[i]);
		snprintf(there, sizeof(there), "%s/%s/%s", test_folder(), to, names[i]);
		check_int(file_copy(here, there, &e), 0);
	}
}

void copy_recorded_run(const char *run)
{
	static const char *const files[] = { "journal.jsonl", "samples.jsonl", "recipe.ini",
					     "state.json" };
	char to[PATH_BYTES];

	snprintf(to, sizeof(to), "runs/%s", run);
	copy_golden_files("run", files, ARRAY_LEN(files), to);
}

int lock_run(const char *run)
{
	char path[PATH_BYTES];
	int fd;

	append_run_file(run, "lock", "");
	snprintf(path, sizeof(path), "%s/runs/%s/lock", test_folder(), run);
	fd = open(path, O_RDWR | O_CLOEXEC);
	check(fd >= 0 && !flock(fd, LOCK_EX));
	return fd;
}

void read_whole_history(struct run_history *h, double now)
{
	int got;

	while ((got = history_update(h, now, 1, &e)) == HISTORY_MORE)
		;
	if (got < 0)
		test_fail(__FILE__, __LINE__, "%s", e.text);
}

/* ---- the workbench ---- */

bool open_workbench(struct app *a, int rows, int cols, int tab)
{
	*a = (struct app){ .fixed_now = 1750000210 };
	if (!check_int(context_open(&a->context, test_folder(), &e), 0))
		return false;
	a->requests = a->context.requests;
	a->context.keymap = &a->keymap;
	a->context.now = a->fixed_now;
	theme_builtin(&a->theme, "auto");
	if (!check_int(grid_resize(&a->grid, rows, cols, &e), 0))
		return false;
	if (tab != NO_TAB)
		show_workbench_tab(a, tab);
	return true;
}

void update_workbench(struct app *a)
{
	for (int i = 0; i < 100000 && app_update(a) & REACT_AGAIN; i++)
		;
}

void show_workbench_tab(struct app *a, int tab)
{
	app_show_tab(a, tab);
	update_workbench(a);
}

unsigned play_keys(struct app *a, const char *keys)
{
	unsigned reaction = 0;

	while (*keys) {
		reaction |= app_key(a, keys_next(&keys));
		update_workbench(a);
		app_draw(a);
	}
	return reaction;
}

bool grid_shows(const struct grid *g, const char *words)
{
	struct buf text = { 0 };
	bool found;

	grid_dump(g, &text);
	found = strstr(buf_text(&text), words) != NULL;
	buf_free(&text);
	return found;
}

bool check_played_screen(const char *file, int line, struct app *a, const char *words,
			 bool expected)
{
	struct buf text = { 0 };

	app_draw(a);
	if (grid_shows(&a->grid, words) == expected)
		return true;
	grid_dump(&a->grid, &text);
	test_fail(file, line, "\"%s\" is %s this screen:\n%s", words, expected ? "not on" : "on",
		  buf_text(&text));
	buf_free(&text);
	return false;
}
