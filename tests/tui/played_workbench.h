/*
 * played_workbench.h - a workbench that tests play by its keys, and the runs that it shows.
 *
 *	struct app a;
 *	if (!open_workbench(&a, 30, 80, TAB_RUN))
 *		return;
 *	play_keys(&a, "zj<Enter>");
 *	screen_shows(&a, "NLL");
 *	app_close(&a);
 */
#ifndef WERKBANK_TESTS_TUI_PLAYED_WORKBENCH_H
#define WERKBANK_TESTS_TUI_PLAYED_WORKBENCH_H

#include "tui/app/app_internal.h"

/* ---- runs in test_folder() ---- */

/* Append text to runs/RUN/NAME; in the text, ' stands for ". */
void append_run_file(const char *run, const char *name, const char *text);
/* The same with a new file instead of an old one. */
void put_run_file(const char *run, const char *name, const char *text);
/* Make runs/RUN a copy of tests/golden/run. */
void copy_recorded_run(const char *run);
/* Copy files of tests/golden/FROM to the folder TO. */
void copy_golden_files(const char *from, const char *const *names, size_t n, const char *to);
/* Hold the lock of a run, as its launcher does, until the descriptor is closed. */
int lock_run(const char *run);
/* Read all records of a history. */
void read_whole_history(struct run_history *h, double now);

/* ---- the workbench ---- */

#define NO_TAB -1
/* A workbench of test_folder() at 1750000210, with a tab in front. false: the test has failed. */
bool open_workbench(struct app *a, int rows, int cols, int tab);
/* Update until nothing more is to be done at once. */
void update_workbench(struct app *a);
/* Show a tab and update it. */
void show_workbench_tab(struct app *a, int tab);
/* Press keys, such as "ab<Enter>"; returns the bits of all reactions. */
unsigned play_keys(struct app *a, const char *keys);
/* The test fails unless the screen has the words, or lacks them. */
#define screen_shows(a, words) check_played_screen(__FILE__, __LINE__, a, words, true)
#define screen_lacks(a, words) check_played_screen(__FILE__, __LINE__, a, words, false)
bool check_played_screen(const char *file, int line, struct app *a, const char *words,
			 bool expected);
/* Whether a grid has the words. */
bool grid_shows(const struct grid *g, const char *words);

#endif
