/* view_report.c - the overlay "report": the output of "werkbank report --format text". */
#include <stdio.h>
#include <string.h>

#include "tui/context/jobs.h"
#include "tui/term/draw.h"
#include "tui/term/list_widget.h"
#include "tui/views/views.h"

struct report {
	char run[101];		 /* run of the report; "": none */
	int job;		 /* job that writes it; 0: none */
	struct list_widget list; /* of its lines */
};

static int report_open(void *state, struct app_context *w, struct err *e)
{
	struct report *r = state;
	const char *const argv[] = { "werkbank", "report",   "-C",   w->workspace, "--run",
				     w->run,	 "--format", "text", "all",	   NULL };
	char title[120];

	if (!w->run)
		return 0;
	snprintf(r->run, sizeof(r->run), "%s", w->run);
	snprintf(title, sizeof(title), "report of %.100s", w->run);
	r->job = jobs_start(w->jobs, title, argv, w->now, e);
	return r->job < 0 ? e->code : 0;
}

/* Write the report to a file. */
static void export_report(const struct report *r, struct app_context *w)
{
	const struct job *job = jobs_find(w->jobs, r->job);
	struct buf text = { 0 };
	char name[120];

	for (size_t i = 0; job && i < job->n_lines; i++)
		buf_printf(&text, "%s\n", job_line(job, i)->text);
	snprintf(name, sizeof(name), "%.100s-report.txt", r->run);
	context_write_file(w, name, buf_text(&text));
	buf_free(&text);
}

static unsigned report_act(void *state, struct app_context *w, enum action action)
{
	struct report *r = state;

	switch (action) {
	case ACTION_EXPORT:
		export_report(r, w);
		return REACT_REDRAW;
	case ACTION_REPORT:
	case ACTION_BACK:
	case ACTION_QUIT:
		jobs_stop(w->jobs, r->job); /* no effect on an ended job */
		return REACT_BACK;
	default:
		return REACT_UNKNOWN;
	}
}

static void draw_report_line(const struct list_row *row, const struct job_line *line)
{
	const char *text = line->text;
	enum style style = line->is_error	      ? STYLE_BAD
			   : *text && *text != ' '    ? STYLE_TITLE
			   : strncmp(text, "    ", 4) ? STYLE_BRIGHT
						      : STYLE_NORMAL;

	row_text(row, 1, 0, style, text);
}

static void report_draw(void *state, struct grid *g, struct rect body, const struct app_context *w)
{
	struct report *r = state;
	const struct job *job = jobs_find(w->jobs, r->job);
	struct rect in = layout_inside(body);
	struct list_row row;

	draw_box(g, body, "report", true);
	if (!*r->run)
		draw_centred(g, in, STYLE_TITLE, "There is no run yet: nothing to report.");
	else if (job && job->state == JOB_RUNNING && !job->n_lines)
		draw_centred(g, in, STYLE_DIM, "writing the report…");
	row = list_text(g, body, in, &r->list, job ? job->n_lines : 0);
	while (list_row_next(&row))
		draw_report_line(&row, job_line(job, row.i));
}

const struct view view_report = {
	.name = "report",
	.title = "report",
	.state_size = sizeof(struct report),
	.open = report_open,
	.act = report_act,
	.draw = report_draw,
	.lists = offsetof(struct report, list),
	.n_lists = 1,
	.hints = VIEW_ACTIONS(ACTION_BACK, ACTION_PAGE_DOWN, ACTION_PAGE_UP, ACTION_EXPORT),
};
