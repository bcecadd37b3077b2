/* view_home.c - the tab "home": corpora, runs, jobs, this host, suggested steps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "data/text/text_filter.h"
#include "share/base/cgroup.h"
#include "share/base/cores.h"
#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/context/jobs.h"
#include "tui/context/next_steps.h"
#include "tui/context/run_requests.h"
#include "tui/run/service_metrics.h"
#include "tui/term/draw.h"
#include "tui/term/list_widget.h"
#include "tui/views/home_forms.h"
#include "tui/views/home_preview.h"
#include "tui/views/home_rows.h"
#include "tui/views/home_runs.h"
#include "tui/views/views.h"

#define BUDGET_S 0.02
/* The size from which the chosen run is shown below the table, and corpora and jobs beside it. */
#define COCKPIT_ROWS 36 /* of the view; two more are the frame, two a hint */
#define COCKPIT_COLS 120
#define SIDE_COLS    180 /* from here a column at the side has room */
#define HOST_EVERY   2.0 /* seconds between reads of the host's load */

enum home_pane { HOME_NEXT, HOME_CORPORA, HOME_RUNS, HOME_JOBS, HOME_PANES };
enum home_question { ASK_JOB, ASK_STOP_JOB };

struct home {
	struct workspace_index ws_index;
	struct suggested_step steps[NEXT_STEPS_MAX];
	size_t n_steps;
	bool moved;	/* the user moved to a step: keep it chosen */
	bool run_moved; /* the same of a run */
	enum home_pane focus;
	struct list_widget lists[HOME_PANES];
	struct text_filter filter; /* of corpora and runs, by name */
	size_t *corpora, *runs;	   /* owned: indices of the entries that match the filter */
	size_t n_corpora, n_runs, cap_corpora, cap_runs;
	enum home_order order;
	struct home_preview preview;
	bool jobs_changed; /* since the last update; another tab may have been in front */
	char host[160];	   /* description of this host, one line */
	double host_seen;
	struct service_metrics service; /* of the newest server that runs as a job, */
	int service_job;		/* 0: there is none */
	int job_shown;			/* job that an open question is about */
};

static void home_close(void *state)
{
	struct home *h = state;

	home_preview_close(&h->preview);
	service_metrics_close(&h->service);
	workspace_index_free(&h->ws_index);
	free(h->corpora);
	free(h->runs);
}

/* ---- contents ---- */

static void read_host_load(struct home *h, const struct app_context *w)
{
	double load = NAN;
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	double memory = (double)pages * (double)page, ignored = memory;
	char name[64] = "";
	struct statvfs v;
	bool known;

	if (fabs(w->now - h->host_seen) < HOST_EVERY && *h->host)
		return;
	h->host_seen = w->now;
	cgroup_limit_memory(cgroup_proc_root(), cgroup_sys_root(), &memory, &ignored);
	gethostname(name, sizeof(name) - 1);
	known = !statvfs(w->workspace, &v) || !statvfs(".", &v);
	if (getloadavg(&load, 1) < 1)
		load = NAN;
	snprintf(h->host, sizeof(h->host), "%s: %d core%s, load %.1f, memory %s, disk %s free",
		 name, cores_count(), text_plural(cores_count()), load, BYTES_TEXT(memory),
		 BYTES_TEXT(known ? (double)v.f_bavail * (double)v.f_frsize : NAN));
}

static const struct run_status *chosen_run(const struct home *h)
{
	size_t at = h->lists[HOME_RUNS].at;

	return at < h->n_runs ? &h->ws_index.runs[h->runs[at]].status : NULL;
}

/* Select and sort the rows of corpora and runs. */
static void apply_home_filter(struct home *h, double now)
{
	struct err ignored;

	h->n_corpora = h->n_runs = 0;
	for (size_t i = 0; i < h->ws_index.n_corpora; i++)
		if (text_filter_matches(&h->filter, h->ws_index.corpora[i].name) &&
		    !mem_grow(&h->corpora, &h->cap_corpora, h->n_corpora + 1, sizeof(*h->corpora),
			      &ignored))
			h->corpora[h->n_corpora++] = i;
	for (size_t i = 0; i < h->ws_index.n_runs; i++)
		if (text_filter_matches(&h->filter, h->ws_index.runs[i].status.name) &&
		    !mem_grow(&h->runs, &h->cap_runs, h->n_runs + 1, sizeof(*h->runs), &ignored))
			h->runs[h->n_runs++] = i;
	home_sort_runs(&h->ws_index, h->runs, h->n_runs, h->order, now);
}

/* The same run stays chosen when runs are listed in another order, or new ones appear. */
static void list_again(struct home *h, double now, const char *chosen)
{
	apply_home_filter(h, now);
	for (size_t i = 0; *chosen && i < h->n_runs; i++)
		if (!strcmp(h->ws_index.runs[h->runs[i]].status.name, chosen))
			h->lists[HOME_RUNS].at = i;
}

static void find_steps(struct home *h, const struct app_context *w)
{
	char chosen[80] = "";

	if (h->moved && h->lists[HOME_NEXT].at < h->n_steps)
		snprintf(chosen, sizeof(chosen), "%s", h->steps[h->lists[HOME_NEXT].at].title);
	h->n_steps = 0; /* of a watched copy: what to do next is done on the other host */
	if (!*w->addresses)
		h->n_steps = next_steps_find(&h->ws_index, w->workspace, jobs_running(w->jobs) > 0,
					     h->steps);
	h->lists[HOME_NEXT].at = 0;
	for (size_t i = 0; *chosen && i < h->n_steps; i++)
		if (!strcmp(h->steps[i].title, chosen))
			h->lists[HOME_NEXT].at = i;
}

/* Ask the newest server among the running jobs what it does. */
static unsigned update_service(struct home *h, const struct app_context *w)
{
	const struct job *job = NULL;

	for (size_t i = 0; i < jobs_count(w->jobs) && !job; i++)
		if (jobs_at(w->jobs, i)->state == JOB_RUNNING &&
		    strstr(jobs_at(w->jobs, i)->command, " serve "))
			job = jobs_at(w->jobs, i);
	if (h->service_job != (job ? job->id : 0))
		service_metrics_close(&h->service);
	h->service_job = job ? job->id : 0;
	for (size_t i = 0; job && i < job->n_lines; i++)
		if (strstr(job_line(job, i)->text, "ready on http://"))
			return service_metrics_update(&h->service, job_line(job, i)->text, w->now)
				       ? REACT_REDRAW
				       : REACT_NOTHING;
	return REACT_NOTHING;
}

static bool is_cockpit(int rows, int cols)
{
	return rows >= COCKPIT_ROWS && cols >= COCKPIT_COLS;
}

static unsigned home_update(void *state, struct app_context *w)
{
	struct home *h = state;
	const struct run_status *run = chosen_run(h);
	unsigned reaction = REACT_NOTHING;
	struct err e = { 0 };
	char chosen[101] = "";
	int got;

	/* the first run stays first until the user moves */
	if (run && h->run_moved)
		snprintf(chosen, sizeof(chosen), "%s", run->name);
	h->jobs_changed |= (w->news & NEWS_JOBS) != 0;
	if (!w->front && h->n_steps)
		return REACT_NOTHING;
	read_host_load(h, w);
	/* show the results of a job at once */
	if (h->jobs_changed)
		h->ws_index.listed_at = 0;
	h->ws_index.judges_runs = true;
	w->index = &h->ws_index;
	got = workspace_index_update(&h->ws_index, w->workspace, w->now, BUDGET_S, &e);
	if (got != INDEX_UNCHANGED || h->jobs_changed || !h->n_steps) {
		list_again(h, w->now, chosen);
		find_steps(h, w);
		reaction = REACT_REDRAW | (got == INDEX_MORE ? REACT_AGAIN : 0);
	}
	h->jobs_changed = false;
	reaction |= update_service(h, w);
	run = chosen_run(h);
	if (is_cockpit(w->rows - 2, w->cols))
		reaction |= home_preview_update(&h->preview, w, run ? run->name : "");
	return reaction;
}

/* ---- commands ---- */

/* Send a request to the run that is chosen here, else to the run of the workbench. */
static void send_request(const struct home *h, struct app_context *w, enum action action)
{
	const struct list_widget *l = &h->lists[HOME_RUNS];
	const struct run_status *s = NULL;

	for (size_t i = 0; w->run && i < h->ws_index.n_runs; i++)
		if (!strcmp(h->ws_index.runs[i].status.name, w->run))
			s = &h->ws_index.runs[i].status;
	if (h->focus == HOME_RUNS && l->at < h->n_runs)
		s = &h->ws_index.runs[h->runs[l->at]].status;
	if (s)
		run_request_ask(w, action, s->name, s->alive, s->state);
	else
		run_request_ask(w, action, w->run, false, "unknown");
}

/* The corpus of the form "train a model": the chosen one, or the newest ready one; NULL: none. */
static const struct indexed_corpus *form_corpus(const struct home *h)
{
	const struct list_widget *l = &h->lists[HOME_CORPORA];

	return h->focus == HOME_CORPORA && l->at < h->n_corpora
		       ? &h->ws_index.corpora[h->corpora[l->at]]
		       : next_steps_corpus(&h->ws_index);
}

static unsigned open_run_tab(struct app_context *w, const char *run, int tab)
{
	struct err e = { 0 };

	if (*run && (!w->run || strcmp(w->run, run)) && context_choose_run(w, run, &e)) {
		context_notify(w, STYLE_BAD, "%s", e.text);
		return REACT_REDRAW;
	}
	context_go_to_tab(w, tab);
	return REACT_REDRAW;
}

static unsigned run_suggested_step(struct home *h, struct app_context *w)
{
	const struct list_widget *l = &h->lists[HOME_NEXT];
	const struct suggested_step *s = l->at < h->n_steps ? &h->steps[l->at] : NULL;

	if (!s)
		return REACT_NOTHING;
	if (s->kind == NEXT_STEP_SHOW) {
		h->moved = false;
		return open_run_tab(w, s->run, s->tab);
	}
	/* the step stays chosen after the question or the form, and after a no */
	if (s->kind == NEXT_STEP_FORM && !strcmp(s->argv[0], "tune"))
		home_open_tuning(&h->ws_index, w);
	else if (s->kind == NEXT_STEP_FORM)
		home_open_form(&h->ws_index, w, s->argv[0], form_corpus(h));
	else
		context_run_in_workspace(w, s->title, s->argv);
	return REACT_REDRAW;
}

/* Show the last lines of a job's output. */
static void show_job(struct home *h, struct app_context *w, const struct job *job)
{
	struct buf text = { 0 };

	jobs_output_text(job, &text);
	h->job_shown = job->id;
	context_ask_text(w, QUESTION_TEXT, ASK_JOB, job->title, buf_text(&text));
	buf_free(&text);
}

static unsigned open_chosen(struct home *h, struct app_context *w)
{
	size_t at = h->lists[h->focus].at;

	if (h->focus == HOME_NEXT)
		return run_suggested_step(h, w);
	if (h->focus == HOME_RUNS && at < h->n_runs)
		return open_run_tab(w, h->ws_index.runs[h->runs[at]].status.name, TAB_RUN);
	if (h->focus == HOME_CORPORA && at < h->n_corpora) {
		snprintf(w->corpus, sizeof(w->corpus), "%s",
			 h->ws_index.corpora[h->corpora[at]].name);
		return open_run_tab(w, "", TAB_DATA);
	}
	if (h->focus == HOME_JOBS && jobs_at(w->jobs, at))
		show_job(h, w, jobs_at(w->jobs, at));
	return REACT_REDRAW;
}

static size_t rows_of(const struct home *h, enum home_pane pane, const struct app_context *w)
{
	return pane == HOME_NEXT      ? h->n_steps
	       : pane == HOME_CORPORA ? h->n_corpora
	       : pane == HOME_RUNS    ? h->n_runs
				      : jobs_count(w->jobs);
}

static void copy_command(const struct home *h, struct app_context *w)
{
	const struct list_widget *l = &h->lists[HOME_NEXT];
	struct buf text = { 0 };

	if (l->at < h->n_steps && h->steps[l->at].kind == NEXT_STEP_RUN) {
		jobs_command_text(h->steps[l->at].argv, &text);
		context_copy_text(w, buf_text(&text));
	}
	buf_free(&text);
}

static unsigned stop_chosen(struct home *h, struct app_context *w)
{
	const struct job *job =
		h->focus == HOME_JOBS ? jobs_at(w->jobs, h->lists[HOME_JOBS].at) : NULL;

	if (!job) {
		send_request(h, w, ACTION_STOP);
		return REACT_REDRAW;
	}
	if (job->state != JOB_RUNNING || w->readonly)
		return REACT_NOTHING;
	h->job_shown = job->id;
	context_ask_text(w, QUESTION_YES_NO, ASK_STOP_JOB, "end this job?", job->command);
	return REACT_REDRAW;
}

static void change_order(struct home *h, struct app_context *w)
{
	const struct run_status *run = chosen_run(h);
	char chosen[101];

	snprintf(chosen, sizeof(chosen), "%s", run && h->run_moved ? run->name : "");
	h->order = (h->order + 1) % HOME_ORDERS;
	context_set_saved(w, "home.order", h->order ? home_order_name(h->order) : NULL);
	list_again(h, w->now, chosen);
	context_notify(w, STYLE_NORMAL, "runs by %s", home_order_name(h->order));
}

static unsigned home_act(void *state, struct app_context *w, enum action action)
{
	struct home *h = state;

	switch (action) {
	case ACTION_HOME_OPEN:
		return open_chosen(h, w);
	case ACTION_HOME_PREPARE:
	case ACTION_HOME_TRAIN:
		home_open_form(&h->ws_index, w, action == ACTION_HOME_TRAIN ? "train" : "prep",
			       form_corpus(h));
		return REACT_REDRAW;
	case ACTION_EVALUATE:
	case ACTION_SAVE:
		send_request(h, w, action);
		return REACT_REDRAW;
	case ACTION_STOP:
		return stop_chosen(h, w);
	case ACTION_ORDER:
		change_order(h, w);
		return REACT_REDRAW;
	case ACTION_COPY:
		copy_command(h, w);
		return REACT_REDRAW;
	default:
		return REACT_UNKNOWN;
	}
}

static unsigned home_answer(void *state, struct app_context *w, int question, const char *text)
{
	struct home *h = state;

	if (question == ASK_STOP_JOB && text)
		jobs_stop(w->jobs, h->job_shown);
	return REACT_REDRAW;
}

static void home_moved(void *state, struct app_context *w, int pane, size_t before)
{
	struct home *h = state;

	(void)w;
	(void)before;
	h->moved |= pane == HOME_NEXT;
	h->run_moved |= pane == HOME_RUNS;
}

/* ---- drawing ---- */

static void draw_home_row(const struct list_row *row, const struct home *h, enum home_pane pane,
			  const struct app_context *w)
{
	const struct job *job = pane == HOME_JOBS ? jobs_at(w->jobs, row->i) : NULL;

	if (pane == HOME_NEXT)
		home_draw_step(row, &h->steps[row->i]);
	else if (pane == HOME_CORPORA)
		home_draw_corpus(row, &h->ws_index.corpora[h->corpora[row->i]]);
	else if (pane == HOME_RUNS)
		home_draw_run(row, &h->ws_index.runs[h->runs[row->i]], w->now);
	else
		home_draw_job(row, job, job->id == h->service_job ? &h->service : NULL, w->now);
}

/*
 * In a workspace without runs: the keys that lead to a first model. They follow the first step, which
 * is chosen from the start.
 */
static void draw_first_minute(const struct home *h, struct grid *g, struct rect in,
			      const struct app_context *w)
{
	const struct suggested_step *step = &h->steps[0];
	const bool has_corpus = h->ws_index.n_corpora > 0;
	/* the first step is the first key only if it is what the words say */
	const bool is_right = h->n_steps && step->argv[0] && step->argv[1] &&
			      !strcmp(step->argv[1], has_corpus ? "train" : "prep") &&
			      !jobs_running(w->jobs) && !w->readonly && !h->moved;
	static const char *const what[] = { "prepare a corpus: some seconds, shown below in jobs",
					    "train a model on it", "watch it learn" };
	static const char *const keys[] = { "Enter, y", "Enter, y", "3" };

	if (!is_right || in.rows < 4) {
		draw_text(g, in.row, in.col + 2, in.cols - 2, STYLE_DIM, "none yet");
		return;
	}
	draw_text(g, in.row, in.col + 2, in.cols - 2, STYLE_TITLE,
		  has_corpus ? "Two keys to a model:" : "Four keys to a model:");
	for (int i = has_corpus; i < 3; i++) {
		int row = in.row + 1 + i - has_corpus;

		draw_text(g, row, in.col + 2, 10, STYLE_BRIGHT, keys[i]);
		draw_text(g, row, in.col + 13, in.cols - 13, STYLE_DIM, what[i]);
	}
}

static const struct view_pane home_panes[HOME_PANES] = {
	[HOME_NEXT] = VIEW_PANE("next", ACTION_HOME_OPEN, ACTION_COPY, ACTION_HOME_PREPARE,
				ACTION_HOME_TRAIN),
	[HOME_CORPORA] = VIEW_PANE("corpora", ACTION_HOME_OPEN, ACTION_HOME_TRAIN,
				   ACTION_HOME_PREPARE, ACTION_FIND),
	[HOME_RUNS] = VIEW_PANE("runs", ACTION_HOME_OPEN, ACTION_ORDER, ACTION_FIND, ACTION_SAVE,
				ACTION_EVALUATE, ACTION_STOP),
	[HOME_JOBS] = VIEW_PANE("jobs", ACTION_HOME_OPEN, ACTION_STOP),
};

static void draw_home_pane(struct home *h, struct grid *g, enum home_pane pane, struct rect box,
			   const struct app_context *w)
{
	static const char *const nothing[] = { "the workspace is on another host", "none yet",
					       "none yet", "no job was started here" };
	size_t n = rows_of(h, pane, w);
	struct rect in = layout_inside(box);
	struct list_row row;
	char title[40];
	int heads;
	const char *trouble = pane == HOME_CORPORA ? h->ws_index.corpora_trouble.text
			      : pane == HOME_RUNS  ? h->ws_index.runs_trouble.text
						   : "";

	if (box.rows < 3 || in.cols < 1)
		return;
	/* the table of runs has the names of its columns above it */
	heads = pane == HOME_RUNS && in.rows > (h->n_runs > 1 ? 2 : 1);
	in.row += heads;
	in.rows -= heads;
	snprintf(title, sizeof(title), "%s%s%s", home_panes[pane].name,
		 pane == HOME_RUNS && h->order ? " by " : "",
		 pane == HOME_RUNS && h->order ? home_order_name(h->order) : "");
	draw_box(g, box, title, h->focus == pane);
	if (heads && n)
		home_draw_heads(g, (struct rect){ box.row + 1, in.col, 1, in.cols }, h->order);
	row = list_rows(g, in, &h->lists[pane], n, h->focus == pane);
	while (list_row_next(&row)) {
		if (pane == HOME_RUNS && row.is_at && !row.chosen &&
		    is_cockpit(w->rows - 2, w->cols))
			list_widget_draw_chosen(g, in, row.row, false); /* the run shown below */
		draw_home_row(&row, h, pane, w);
	}
	if (*trouble)
		draw_text(g, in.row + in.rows - 1, in.col + 2, in.cols - 2, STYLE_BAD, trouble);
	else if (!n && pane == HOME_RUNS && !*h->filter.text && !*w->addresses &&
		 !h->ws_index.n_runs)
		draw_first_minute(h, g, in, w);
	else if (!n)
		draw_text(g, in.row, in.col + 2, in.cols - 2, STYLE_DIM,
			  *h->filter.text && pane != HOME_JOBS ? "no name matches" : nothing[pane]);
	list_widget_draw_place(g, box, &h->lists[pane]);
}

static void draw_home_head(const struct home *h, struct grid *g, struct rect r,
			   const struct app_context *w)
{
	int col = r.col + 2, right = r.col + r.cols - 1;

	if (r.rows < 1)
		return;
	col += draw_text(g, r.row, col, right - col, STYLE_DIM, "workspace ");
	col += draw_text(g, r.row, col, right - col, STYLE_BRIGHT,
			 *w->addresses ? w->addresses : w->workspace);
	if (*h->filter.text) {
		col += draw_text(g, r.row, col, right - col, STYLE_DIM, "   names that contain ");
		draw_text(g, r.row, col, right - col, STYLE_WARN, h->filter.text);
	}
	if (r.rows > 1)
		draw_text(g, r.row + 1, r.col + 2, r.cols - 3, STYLE_DIM,
			  *w->addresses ? "watched over ssh: nothing can be started or changed here"
					: h->host);
}

/* Place the panes one below the other. */
static void place_stack(const struct home *h, struct rect body, size_t jobs,
			struct rect r[HOME_PANES + 1])
{
	const struct layout_part parts[] = {
		{ .min = 2, .max = 2, .weight = 0, .rank = 4 },
		{ .min = 3, .max = (int)h->n_steps + 2, .weight = 2, .rank = 0 },
		{ .min = 3, .max = (int)MAX(h->n_corpora, 1) + 3, .weight = 1, .rank = 1 },
		{ .min = 3, .max = 0, .weight = 2, .rank = 2 },
		{ .min = 3, .max = (int)MAX(jobs, 1) + 2, .weight = 1, .rank = 3 },
	};

	layout_rows(body, parts, ARRAY_LEN(parts), r);
}

/*
 * Place the panes of a large screen: what to do next on top; corpora and jobs in a column at the
 * right, or beside each other; the runs; the chosen run in the rest.
 */
static void place_cockpit(const struct home *h, struct rect body, struct rect r[HOME_PANES + 1],
			  struct rect *preview)
{
	bool side = body.cols >= SIDE_COLS;
	int list = MIN((int)MIN(h->n_runs, (size_t)1000) + 3, body.rows * 2 / 5);
	const struct layout_part rows[] = {
		{ .min = 2, .max = 2 },
		{ .min = 3, .max = MIN((int)h->n_steps, 5) + 2, .weight = 8 },
		{ .min = side ? 0 : 4, .max = side ? 1 : 6, .weight = !side },
		{ .min = 4, .max = MAX(list, 4), .weight = 8 },
		{ .min = 8, .weight = 4 },
	};
	const struct layout_part cols[] = { { .min = 100, .weight = 3 },
					    { .min = 50, .max = 60, .weight = 1 } };
	const struct layout_part halves[] = { { .min = 40, .weight = 1 },
					      { .min = 40, .weight = 1 } };
	struct rect part[5], beside[2] = { body };

	if (side)
		layout_cols(body, cols, 2, beside);
	layout_rows(beside[0], rows, ARRAY_LEN(rows), part);
	r[0] = part[0];
	r[1 + HOME_NEXT] = part[1];
	r[1 + HOME_RUNS] = part[3];
	*preview = part[4];
	if (!side) {
		layout_cols(part[2], halves, 2, beside);
		r[1 + HOME_CORPORA] = beside[0];
		r[1 + HOME_JOBS] = beside[1];
		return;
	}
	beside[1].row += part[0].rows;
	beside[1].rows -= part[0].rows;
	r[0].cols = body.cols;
	r[1 + HOME_CORPORA] = r[1 + HOME_JOBS] = beside[1];
	r[1 + HOME_CORPORA].rows = beside[1].rows * 2 / 3;
	r[1 + HOME_JOBS].row += r[1 + HOME_CORPORA].rows;
	r[1 + HOME_JOBS].rows -= r[1 + HOME_CORPORA].rows;
}

static void home_draw(void *state, struct grid *g, struct rect body, const struct app_context *w)
{
	struct home *h = state;
	struct rect r[HOME_PANES + 1], preview = { 0 };

	if (is_cockpit(body.rows, body.cols) && h->n_runs)
		place_cockpit(h, body, r, &preview);
	else
		place_stack(h, body, jobs_count(w->jobs), r);
	draw_home_head(h, g, r[0], w);
	for (int pane = 0; pane < HOME_PANES; pane++)
		draw_home_pane(h, g, (enum home_pane)pane, r[pane + 1], w);
	if (preview.rows)
		home_preview_draw(&h->preview, g, preview, w);
}

static int home_open(void *state, struct app_context *w, struct err *e)
{
	struct home *h = state;
	const char *order = context_get_saved(w, "home.order");

	(void)e;
	for (int i = 0; order && i < HOME_ORDERS; i++)
		if (!strcmp(order, home_order_name((enum home_order)i)))
			h->order = (enum home_order)i;
	return 0;
}

static void home_restored(void *state, struct app_context *w)
{
	struct home *h = state;

	context_set_saved(w, "home.order", h->order ? home_order_name(h->order) : NULL);
	apply_home_filter(h, w->now);
}

static const struct view_toggle home_toggles[] = {
	VIEW_TOGGLE(struct home, order),
	VIEW_FILTER(struct home, filter, ACTION_FIND, 0, "only names that contain", home_restored),
};

const struct view view_home = {
	.name = "home",
	.title = "home",
	.state_size = sizeof(struct home),
	.open = home_open,
	.update = home_update,
	.act = home_act,
	.draw = home_draw,
	.close = home_close,
	.answer = home_answer,
	.panes = home_panes,
	.n_panes = HOME_PANES,
	.focus = offsetof(struct home, focus),
	.lists = offsetof(struct home, lists),
	.n_lists = HOME_PANES,
	.list_moved = home_moved,
	.list_open = ACTION_HOME_OPEN,
	.hints = VIEW_ACTIONS(ACTION_HOME_OPEN, ACTION_DOWN, ACTION_NEXT_PANE, ACTION_HOME_PREPARE,
			      ACTION_HOME_TRAIN, ACTION_EVALUATE, ACTION_SAVE, ACTION_STOP,
			      ACTION_ORDER, ACTION_COPY, ACTION_FIND),
	.toggles = home_toggles,
	.n_toggles = ARRAY_LEN(home_toggles),
	.restored = home_restored,
};
