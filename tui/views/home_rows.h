/* home_rows.h - rows of the lists of Home: a suggested step, a corpus, a job (home_runs.h: a run). */
#ifndef WERKBANK_TUI_VIEWS_HOME_ROWS_H
#define WERKBANK_TUI_VIEWS_HOME_ROWS_H

#include "tui/context/jobs.h"
#include "tui/context/next_steps.h"
#include "tui/run/service_metrics.h"
#include "tui/run/workspace_index.h"
#include "tui/term/grid.h"
#include "tui/term/layout.h"

struct home_row {
	struct rect r; /* the rows of the list */
	int row;       /* of the screen */
	bool chosen;
};

void home_draw_step(struct grid *g, const struct home_row *at, const struct suggested_step *s);
void home_draw_corpus(struct grid *g, const struct home_row *at, const struct indexed_corpus *c);
/* service: of a job that serves; NULL: the job's last line is shown. */
void home_draw_job(struct grid *g, const struct home_row *at, const struct job *job,
		   const struct service_metrics *service, double now);

#endif
