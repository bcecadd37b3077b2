/* control.h - requests to a live run: words in the file runs/NAME/control, one on each line. */
#ifndef WERKBANK_TRAIN_COMMON_CONTROL_H
#define WERKBANK_TRAIN_COMMON_CONTROL_H

#include <stdbool.h>

#include "share/base/err.h"

struct control {
	bool save, evaluate, stop;
};

/* Read and remove the pending requests of a run. Unknown words are ignored. A file that its writer locks waits for a later call. */
struct control control_read_requests(const char *run_folder);

/*
 * Add one line to a request file of a run: to "control", or to another one that only has to exist. The writer locks the
 * file while it writes, so no reader removes it unread. On a file system without locks, a line that the reader may have
 * missed is written again.
 */
int control_write_request(const char *run_folder, const char *file, const char *word,
			  struct err *e);

#endif
