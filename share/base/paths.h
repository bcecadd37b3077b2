/*
 * paths.h - where things are: sister programs, shipped files, the workspace.
 */
#ifndef WERKBANK_BASE_PATHS_H
#define WERKBANK_BASE_PATHS_H

#include "share/base/err.h"

/*
 * The path of a sister program ("werkbank-data"): beside the running program,
 * else in the installation's bin folder. Owned by the caller; NULL: ERR_UNAVAILABLE.
 */
char *paths_program(const char *name, struct err *e);

/*
 * The path of a shipped file ("recipes/demo.ini"): in $WERKBANK_SHARE, else in
 * share/ beside the running program (a build in the source tree), else in
 * share/werkbank one level up (an installation, which may be moved), else where
 * it was installed. Owned by the caller; NULL: ERR_NOINPUT.
 */
char *paths_shipped(const char *name, struct err *e);

/*
 * The workspace folder: option (from -C; NULL: not given), else
 * $WERKBANK_HOME, else ./werkbank.d. Owned by the caller; NULL: ERR_NOMEM.
 */
char *paths_workspace(const char *option, struct err *e);

/*
 * The model folder that somebody names: with a / in it the path of one, or of a run's folder; else
 * NAME or NAME:CHECKPOINT (best, last or a step) of a run in the workspace (option as above).
 * Without a checkpoint the best, and the last where none was evaluated. Owned by the caller; NULL:
 * ERR_NOINPUT, saying what is missing.
 */
char *paths_model(const char *workspace, const char *name, struct err *e);

/*
 * A name of a run or corpus, as a folder name: letters, digits, . _ - and not
 * starting with a dot; at most 100 bytes. Else ERR_USAGE saying what is wrong.
 */
int paths_check_name(const char *what, const char *name, struct err *e);

#endif
