/* checkpoints.h - which checkpoints a run has, by a look into its folder. */
#ifndef WERKBANK_TUI_RUN_CHECKPOINTS_H
#define WERKBANK_TUI_RUN_CHECKPOINTS_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

struct checkpoints {
	int64_t *steps; /* owned, the newest first */
	size_t n;
	int64_t best, last; /* what the links point to; -1: there is none */
};

/* Look. A run without checkpoints, or none at all, has none: no failure. ERR_NOMEM, ERR_USAGE. */
int checkpoints_list(struct checkpoints *c, const char *workspace, const char *run, struct err *e);
void checkpoints_free(struct checkpoints *c);

/* The step that runs/RUN/checkpoints/LINK ("last", "best") points to; -1: none. */
int64_t checkpoints_link(const char *workspace, const char *run, const char *link);

#endif
