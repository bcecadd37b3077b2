/*
 * paths.h - paths of the other programs, of shipped files, of the workspace and of models.
 */
#ifndef WERKBANK_SHARE_WORKSPACE_PATHS_H
#define WERKBANK_SHARE_WORKSPACE_PATHS_H

#include "share/base/err.h"

/*
 * The path of another program of Werkbank ("werkbank-data"): in the folder of the running program,
 * else in the installation's bin folder. Owned by the caller; NULL: ERR_UNAVAILABLE.
 */
char *paths_program(const char *name, struct err *e);

/*
 * What a user types to start werkbank: "werkbank" if $PATH has it, else its path, relative if it is
 * below the current folder. Owned by the caller; NULL: ERR_UNAVAILABLE, ERR_NOMEM.
 */
char *paths_typed_program(struct err *e);

/*
 * The path of a shipped file ("recipes/demo.ini"): in $WERKBANK_SHARE, else in
 * share/ beside the running program (a build in the source tree), else in
 * ../share/werkbank (a relocated installation), else in the configured data
 * folder. Owned by the caller; NULL: ERR_NOINPUT.
 */
char *paths_shipped(const char *name, struct err *e);

/*
 * The workspace folder: option (from -C; NULL: not given), else
 * $WERKBANK_HOME, else ./werkbank.d. It need not exist. Owned by the caller; NULL: ERR_NOINPUT (a
 * file that is not a folder), ERR_NOMEM.
 */
char *paths_workspace(const char *option, struct err *e);
/* The same for commands that only read it. NULL, ERR_NOINPUT: the folder does not exist. */
char *paths_existing_workspace(const char *option, struct err *e);

/* "$TMPDIR/NAME", or "/tmp/NAME". Owned by the caller; NULL: ERR_NOMEM. */
char *paths_temporary(const char *name, struct err *e);

/*
 * The current folder and the path, which stays as it is, with links and "./". Owned by the caller;
 * NULL: ERR_NOMEM. The path stays relative if the current folder is unknown.
 */
char *paths_absolute(const char *path, struct err *e);

/*
 * A file or folder of the user: "$VARIABLE/werkbank/NAME" of an XDG variable ("XDG_CACHE_HOME"), else
 * "$HOME/BELOW_HOME/werkbank/NAME". Owned by the caller; NULL: ERR_UNAVAILABLE (neither variable is an
 * absolute path), ERR_NOMEM.
 */
char *paths_user_file(const char *variable, const char *below_home, const char *name,
		      struct err *e);

/*
 * The model folder of a name. A name with a slash is the path of a model folder or of a run's
 * folder. Any other name is NAME or NAME:CHECKPOINT (best, last or a step) of a run in the
 * workspace (option as above); without CHECKPOINT the best one, or the last if none was evaluated.
 * Owned by the caller; NULL: ERR_NOINPUT, the message says what is missing.
 */
char *paths_model(const char *workspace, const char *name, struct err *e);

/*
 * Check the name of a run or corpus, which is a folder name: letters, digits, . _ - and no leading
 * dot or -; at most 100 bytes. Else ERR_USAGE with the reason. what: "run" or "corpus", for the message.
 */
int paths_check_name(const char *what, const char *name, struct err *e);

#endif
