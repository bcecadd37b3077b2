/* control.h - requests to a live run: words in the file runs/NAME/control, one on each line. */
#ifndef WERKBANK_TRAIN_COMMON_CONTROL_H
#define WERKBANK_TRAIN_COMMON_CONTROL_H

#include <stdbool.h>

struct control {
	bool save, evaluate, stop;
};

/* Read and remove the pending requests of a run. Unknown words are ignored. */
struct control control_read_requests(const char *run_folder);

#endif
