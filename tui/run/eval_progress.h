/* eval_progress.h - an evaluation that a run makes now, by its journal */
#ifndef WERKBANK_TUI_RUN_EVAL_PROGRESS_H
#define WERKBANK_TUI_RUN_EVAL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "share/format/json.h"

struct eval_progress {
	double since;	   /* unix seconds; 0: no evaluation is under way */
	double expected_s; /* how long the one before took; 0: unknown */
};

/* Apply a record of the journal. */
void eval_progress_add_record(struct eval_progress *p, const struct json *record);

/* "40 s of about 2 min", or "40 s"; returns text. */
const char *eval_progress_text(const struct eval_progress *p, double now, char *text, size_t n);

#endif
