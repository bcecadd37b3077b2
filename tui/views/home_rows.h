/* home_rows.h - rows of the lists of Home: a suggested step, a corpus, a job (home_runs.h: a run). */
#ifndef WERKBANK_TUI_VIEWS_HOME_ROWS_H
#define WERKBANK_TUI_VIEWS_HOME_ROWS_H

#include "tui/context/jobs.h"
#include "tui/context/next_steps.h"
#include "tui/run/service_metrics.h"
#include "tui/run/workspace_index.h"
#include "tui/term/list_widget.h"

void home_draw_step(const struct list_row *row, const struct suggested_step *s);
void home_draw_corpus(const struct list_row *row, const struct indexed_corpus *c);
/* service: of a job that serves; NULL: the job's last line is shown. */
void home_draw_job(const struct list_row *row, const struct job *job,
		   const struct service_metrics *service, double now);

#endif
