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
char *paths_sister(const char *name, struct err *e);

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
 * A name of a run or corpus, as a folder name: letters, digits, . _ - and not
 * starting with a dot; at most 100 bytes. Else ERR_USAGE saying what is wrong.
 */
int paths_check_name(const char *what, const char *name, struct err *e);

#endif
