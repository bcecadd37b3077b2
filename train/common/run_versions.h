/*
 * run_versions.h - refuses the folder of a run that a newer Werkbank wrote, before anything in it changes
 */
#ifndef WERKBANK_TRAIN_COMMON_RUN_VERSIONS_H
#define WERKBANK_TRAIN_COMMON_RUN_VERSIONS_H

#include "share/format/format_version.h"

extern const struct file_format run_state_format;	/* state.json */
extern const struct file_format run_evaluations_format; /* checkpoints/evaluated.json */

/*
 * ERR_CONFIG: the state, the list of evaluations or the journal of the run needs a newer program, which
 * the message names. Missing and damaged files pass: their readers decide.
 */
int run_check_versions(const char *folder, struct err *e);

#endif
