/*
 * form_forecast.h - what a training would take, shown while its form is filled in.
 *
 * Parameters and memory come from the trainer ("werkbank _memory", a child process); time and BLEU from earlier runs of
 * the workspace. What nobody has measured stays unknown.
 */
#ifndef WERKBANK_TUI_CONTEXT_FORM_FORECAST_H
#define WERKBANK_TUI_CONTEXT_FORM_FORECAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/context/app_context.h"
#include "tui/context/jobs.h"
#include "tui/context/wizard.h"

struct form_forecast {
	bool is_known;		   /* the command of the form is a training */
	double parameters, memory; /* of a rank, bytes; NaN: unknown */
	double memory_total;	   /* of this host; NaN: unknown */
	double gpu, gpu_total; /* bytes of a rank on its GPU, of that GPU; NaN: unknown; 0: none */
	double step_s;	       /* seconds a step, evaluations included; NaN: not measured */
	double bleu;	       /* NaN: no run with this corpus and recipe was evaluated */
	int64_t bleu_step;
	char trouble[JOB_TEXT];	      /* why the trainer refuses the options; "": it does not */
	char timed[101], scored[101]; /* the runs that step_s and bleu come from */
	/* private */
	struct jobs *asking; /* owned: runs the question to the trainer; NULL: there is none */
	int job;	     /* in asking; 0: the answer has been read */
	size_t next_run;     /* in w->index: the first that was not compared yet */
	bool is_searching;
};

/* The options of the form changed, or the form is new: forecast again. */
void form_forecast_start(struct form_forecast *f, const struct wizard *z,
			 const struct app_context *w);

/* Read answers and compare runs, for at most some milliseconds. Returns reaction bits. */
unsigned form_forecast_update(struct form_forecast *f, const struct wizard *z,
			      const struct app_context *w);

/* Append one line for people: "1.64M parameters   memory 91.0 MB   time not measured yet". */
void form_forecast_text(const struct form_forecast *f, const struct wizard *z, struct buf *out);

void form_forecast_close(struct form_forecast *f);

#endif
