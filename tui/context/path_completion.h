/* path_completion.h - completes the path of a file that the user types, as a shell does */
#ifndef WERKBANK_TUI_CONTEXT_PATH_COMPLETION_H
#define WERKBANK_TUI_CONTEXT_PATH_COMPLETION_H

#include "share/base/buf.h"

/*
 * Appends the path, extended by what all entries of its folder that begin with it have in common; a folder that is the only one ends
 * in "/". Hidden entries count if the path names a dot. Without entries, and after a failure, it is the path as it was.
 */
void path_complete(const char *typed, struct buf *out);

#endif
