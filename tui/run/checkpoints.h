/* checkpoints.h - the checkpoints of a run, listed from its folder. */
#ifndef WERKBANK_TUI_RUN_CHECKPOINTS_H
#define WERKBANK_TUI_RUN_CHECKPOINTS_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

struct checkpoints {
	int64_t *steps; /* owned, newest first */
	size_t n;
	int64_t best, last; /* targets of the links; -1: no such link */
};

/* List the checkpoints; a run without any gives an empty list. ERR_NOMEM, ERR_USAGE (bad name). */
int checkpoints_list(struct checkpoints *c, const char *workspace, const char *run, struct err *e);
void checkpoints_free(struct checkpoints *c);

/* The step that the link runs/RUN/checkpoints/LINK ("last", "best") points to; -1: none. */
int64_t checkpoints_link(const char *workspace, const char *run, const char *link);

#endif
