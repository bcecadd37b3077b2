/* home_rows.c - see home_rows.h. */
#include "tui/views/home_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/run/run_look.h"
#include "tui/term/draw.h"

void home_draw_step(const struct list_row *row, const struct suggested_step *s)
{
	struct buf command = { 0 };
	int col = MAX(4 + row_text(row, 2, 0, STYLE_BRIGHT, s->title), 34);

	if (s->kind == NEXT_STEP_RUN)
		jobs_command_text(s->argv, &command);
	if (row->cols - col > 12)
		row_text(row, col, 0, s->kind == NEXT_STEP_RUN ? STYLE_FIRST : STYLE_DIM,
			 s->kind == NEXT_STEP_RUN ? buf_text(&command) : s->why);
	buf_free(&command);
}

void home_draw_corpus(const struct list_row *row, const struct indexed_corpus *c)
{
	const struct run_look look = corpus_state_look(c->state);
	char text[320], words[60], share[16] = "";
	char mark[40] = "";
	int marked = 0;
	double done = prep_progress_share(&c->progress);
	int col = 23;

	row_sign(row, 2, look.style, look.sign);
	row_text(row, 4, 18, STYLE_BRIGHT, c->name);
	if (isfinite(done))
		snprintf(share, sizeof(share), ", %.0f %%", 100 * done);
	if (c->state == CORPUS_READY) {
		int pairs = snprintf(text, sizeof(text), "%s to %s, %s pairs", c->source, c->target,
				     COUNT_TEXT(c->train));

		if (c->clear_verdicts > 0)
			marked = snprintf(mark, sizeof(mark), "! %d verdict%s  ", c->clear_verdicts,
					  text_plural(c->clear_verdicts));
		snprintf(words, sizeof(words), ", vocabulary %s", COUNT_TEXT(c->vocabulary));
		if (pairs + (int)strlen(words) + marked <= row->cols - col) /* not half of it */
			snprintf(text + pairs, sizeof(text) - (size_t)pairs, "%s", words);
	} else if (c->state == CORPUS_WORKING)
		snprintf(text, sizeof(text), "%s: %s%s", corpus_state_name(c->state),
			 c->progress.stage, share);
	else
		snprintf(text, sizeof(text), "%s%s%s", corpus_state_name(c->state),
			 c->progress.exists ? ", stopped in " : "", c->progress.stage);
	col += row_text(row, col, 0, STYLE_WARN, mark);
	row_text(row, col, 0, STYLE_NORMAL, text);
}

void home_draw_job(const struct list_row *row, const struct job *job,
		   const struct service_metrics *service, double now)
{
	char text[NUMBER_TEXT_BYTES + 40];
	struct buf served = { 0 };
	bool runs = job->state == JOB_RUNNING;
	enum style style = runs ? STYLE_FIRST : job->state == JOB_DONE ? STYLE_GOOD : STYLE_BAD;
	int col = 6;

	row_sign(row, 2, style, runs ? 0x25CF : job->state == JOB_DONE ? 0x2713 : 0x2717);
	col += row_text(row, 4, service && service->is_known ? 8 : 30, STYLE_BRIGHT, job->title);
	snprintf(text, sizeof(text), "%s %s", job_state_name(job->state),
		 DURATION_TEXT((runs ? now : job->ended) - job->started));
	col += row_text(row, col, 0, style, text) + 2;
	if (runs && service)
		service_metrics_text(service, &served);
	row_text(row, col, 0, STYLE_DIM, served.len ? buf_text(&served) : job->last);
	buf_free(&served);
}
