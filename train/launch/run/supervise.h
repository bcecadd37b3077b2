/*
 * supervise.h - start the ranks of a run, pass on what they say, stop them when asked.
 *
 *	supervise_open()	signals wait to be read; what descendants leave behind becomes ours
 *	supervise_run_job()		one job from its start to the end of its last process here
 *	supervise_pause()	wait between two of them
 *	supervise_close()
 *
 * What the ranks write to standard error goes to console.log and, with echo, to ours. A
 * line that they redraw is kept in the file "progress" for those who follow the run. SIGINT
 * and SIGTERM ask them to save and end (they then exit with 75); a second one, or SIGQUIT,
 * ends them at once. A hang-up does not end anything.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_SUPERVISE_H
#define WERKBANK_TRAIN_LAUNCH_RUN_SUPERVISE_H

#include <stdbool.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/proc.h"

/* What the caller wants done with the ranks. */
enum supervise_request { SUPERVISE_CONTINUE, SUPERVISE_STOP, SUPERVISE_KILL };

struct supervisor {
	bool echo;   /* set by the caller: to our standard error as well */
	bool mpirun; /* set by the caller: the job is mpirun's, not one rank */
	enum supervise_request (*tick)(void *context); /* about once a second; NULL: none */
	void *context;
	/* for the caller to read */
	bool has_output;   /* the job said something */
	int stop_requests; /* how often it was asked to stop, all jobs together */
	bool was_killed;   /* it was ended without saving because that was asked for */
	/* private */
	struct proc proc;
	int signals, console, progress;
	struct buf line;	/* what has not been ended by LF yet */
	bool redraw, escape;	/* the last byte was CR; inside an escape sequence */
	double logged, kill_at; /* monotonic seconds */
};

/* console and progress: paths. Before anything is started. */
int supervise_open(struct supervisor *s, const char *console, const char *progress, struct err *e);

/*
 * Run argv to its end; *status is 0..255, 128 + signal for a death by signal. Whatever it
 * left behind on this host is ended then.
 */
int supervise_run_job(struct supervisor *s, const char *const *argv, int *status, struct err *e);

/* Wait; false: less, because somebody asked to stop. */
bool supervise_pause(struct supervisor *s, double seconds);

/* The same as SIGTERM: ask to save and stop; again: end it at once. */
void supervise_stop_job(struct supervisor *s);

/* End the job because it does not go on by itself: mpirun may first end its ranks elsewhere. */
void supervise_end_job(struct supervisor *s);

/* A line "werkbank: …" for console.log and, with echo, for standard error. */
void supervise_log(struct supervisor *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

void supervise_close(struct supervisor *s);

#endif
