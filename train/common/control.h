/* control.h - requests to a live run: words in the file runs/NAME/control, one a line. */
#ifndef WERKBANK_TRAIN_COMMON_CONTROL_H
#define WERKBANK_TRAIN_COMMON_CONTROL_H

#include <stdbool.h>

struct control {
	bool save, evaluate, stop;
};

/* Take the requests that wait in run_folder and remove them. Words that are none are ignored. */
struct control control_read_requests(const char *run_folder);

#endif
