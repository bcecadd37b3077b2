/* history.c - target: the journal of a run, shown by the views of the workbench; see fuzz.h */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/util.h"
#include "share/format/json.h"
#include "tests/fuzz/fuzz.h"
#include "tui/app/frame.h"
#include "tui/run/run_history.h"

#define ROWS 24
#define COLS 80

/* Conditions that hold for every journal. */
static void check_history(const struct run_history *h)
{
	property(h->n_lines <= HISTORY_LINES && h->n_marks <= HISTORY_MARKS);
	property(h->n_samples <= HISTORY_SAMPLES);
	for (size_t i = 0; i < HISTORY_QUANTITIES; i++) {
		const struct series *s = history_series((struct run_history *)(uintptr_t)h, i);

		property(s->n <= s->cap);
		for (size_t k = 1; k < s->n; k++)
			property(s->points[k].first >= s->points[k - 1].last);
	}
	property(h->fleet.n_hosts <= FLEET_HOSTS && h->fleet.n_ranks <= FLEET_RANKS);
	for (size_t i = 0; i < h->fleet.n_hosts; i++) {
		const struct fleet_host *k = &h->fleet.hosts[i];

		property(k->n_gpus <= FLEET_GPUS && k->columns <= FLEET_TRAIL);
		for (int r = k->first_rank, before = -1; r >= 0; r = h->fleet.ranks[r].next) {
			property(r > before && h->fleet.ranks[r].host == (int)i);
			before = r;
		}
	}
}

/* Draw each view into an empty grid; no control character gets into it. */
static void draw_views(struct app_context *w)
{
	static const enum tab tabs[] = { TAB_RUN, TAB_HOSTS, TAB_LOG };
	struct grid g = { .charset = GRID_ASCII };
	struct err e = { 0 };

	property(!grid_resize(&g, ROWS, COLS, &e));
	for (size_t i = 0; i < ARRAY_LEN(tabs); i++) {
		const struct view *v = view_tabs[tabs[i]];
		void *state = calloc(1, v->state_size);

		property(state && !view_open(v, state, w, &e));
		grid_clear(&g);
		view_draw(v, state, &g, (struct rect){ 1, 0, ROWS - 2, COLS }, w);
		view_act(v, state, w, ACTION_LEFT);
		view_act(v, state, w, ACTION_PLOT_IN);
		view_act(v, state, w, ACTION_PLOT_LOG_X);
		view_act(v, state, w, ACTION_ZOOM);
		view_draw(v, state, &g, (struct rect){ 1, 0, ROWS - 2, COLS }, w);
		for (int k = 0; k < ROWS * COLS; k++)
			property(g.cells[k].ch >= 0x20 && g.cells[k].ch < 0x7F);
		for (int k = 0; k < COLS; k++)
			property(g.cells[k].ch == ' ' && g.cells[(ROWS - 1) * COLS + k].ch == ' ');
		view_close(v, state);
		free(state);
	}
	grid_free(&g);
}

static void put(const char *path, const uint8_t *data, size_t n)
{
	FILE *out = fopen(path, "we");

	property(out && fwrite(data, 1, n, out) == n && !fclose(out));
}

/* One workspace for all inputs; it is gone when the process ends. */
static char folder[FUZZ_FOLDER_BYTES], runs[80], run[100], path[130];

static void remove_workspace(void)
{
	unlink(path);
	rmdir(run);
	rmdir(runs);
	rmdir(folder);
}

static void make_workspace(void)
{
	if (*folder)
		return;
	fuzz_make_folder(folder);
	snprintf(runs, sizeof(runs), "%s/runs", folder);
	snprintf(run, sizeof(run), "%s/r", runs);
	snprintf(path, sizeof(path), "%s/journal.jsonl", run);
	property(!mkdir(runs, 0700) && !mkdir(run, 0700));
	atexit(remove_workspace);
}

FUZZ(history)
{
	struct err e = { 0 };
	struct run_history *h;
	struct app_context w;

	make_workspace();
	put(path, data, n);
	h = history_open(folder, "r", &e);
	property(h);
	while (history_update(h, 1e9, 1, &e) == HISTORY_MORE)
		;
	check_history(h);
	property(!context_open(&w, folder, &e));
	w.history = h;
	w.now = 1e9;
	draw_views(&w);
	w.history = NULL;
	context_close(&w);
	history_free(h);
	return 0;
}
