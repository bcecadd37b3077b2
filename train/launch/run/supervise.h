/*
 * supervise.h - runs one job (mpirun, or a single rank), logs its output and forwards signals.
 *
 *	supervise_open()	block signals and become the parent of orphaned descendants
 *	supervise_run_job()	run one job until its last process on this host has ended
 *	supervise_pause()	wait between two jobs
 *	supervise_close()
 *
 * The standard error of the ranks goes to console.log and, with echo, to our standard error. A line
 * that they redraw with CR is in the file "progress", for console_follow.h. SIGTERM and SIGINT ask
 * the ranks to save and stop. SIGQUIT, or SIGINT after another request, ends them at once. SIGHUP
 * has no effect. The head of supervise.c has the states and the table of signals.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_SUPERVISE_H
#define WERKBANK_TRAIN_LAUNCH_RUN_SUPERVISE_H

#include <stdbool.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/proc.h"

/* What a tick tells the supervisor to do with the job. */
enum supervise_request { SUPERVISE_CONTINUE, SUPERVISE_STOP, SUPERVISE_KILL };

/* Signals within this time of a request belong to it: the copies of one Ctrl-C or scancel. */
#define SUPERVISE_SAME_REQUEST_S 1.0

struct supervisor {
	bool echo;    /* set by the caller: copy output to our standard error, too */
	bool mpirun;  /* set by the caller: the job is mpirun or srun, not a single rank */
	bool is_srun; /* set by the caller: it is srun */
	enum supervise_request (*tick)(void *context); /* called about once a second; NULL: none */
	void (*line_seen)(void *context,
			  const char *text); /* a line of the job's output; NULL: none */
	bool (*has_begun)(void *context);    /* can the ranks save now? NULL: yes */
	void (*ended)(void *context);	     /* the job's first process has ended; NULL: none */
	void (*ask_again)(void *context); /* a request to save is repeated; NULL: by signal only */
	void *context;
	double rescue_s; /* time for the ranks to save if a signal ends mpirun */
	/* for the caller to read */
	bool has_output; /* the job wrote to standard error */
	bool is_asked;	 /* a request asked to stop, in this job or an earlier one */
	int asked_by;	 /* signal of the first request; 0: a tick */
	bool was_killed; /* a request ended the job at once */
	/* private */
	struct proc proc;
	int signals, console, progress;
	struct buf line;     /* current line of output, without its LF */
	bool redraw, escape; /* the last byte was CR; inside an escape sequence */
	double logged;	     /* monotonic seconds of the last line in console.log */
	double asked_at;     /* monotonic seconds of the first request */
	double kill_at;	     /* monotonic seconds of SIGKILL; 0: none planned */
	double ask_at;	     /* monotonic seconds of the next request to save; 0: none asked */
};

/*
 * Block the signals that the supervisor reads. supervise_open() does it too; call it earlier so that
 * a request that arrives before waits for the supervisor instead of ending this process.
 */
int supervise_block_signals(struct err *e);

/* console, progress: paths. Call it before the first job. Call supervise_close() in any case. */
int supervise_open(struct supervisor *s, const char *console, const char *progress, struct err *e);

/*
 * Run argv to its end; *status is 0..255, or 128 + signal for a death by signal. Then end all
 * processes that the job left behind on this host. An error: the job was not started.
 */
int supervise_run_job(struct supervisor *s, const char *const *argv, int *status, struct err *e);

/* Has a signal arrived that asks for a stop? supervise_pause() or the next job obeys it. */
bool supervise_is_request_pending(void);

/* Wait this number of seconds; false: a stop request ended the pause. */
bool supervise_pause(struct supervisor *s, double seconds);

/*
 * Ask the ranks to save and stop although nobody asked for the end of the run: the caller starts
 * another job. A request to stop may still come.
 */
void supervise_interrupt_job(struct supervisor *s);

/* End the job without a checkpoint; mpirun gets GRACE_S to end its ranks on other hosts. */
void supervise_end_job(struct supervisor *s);

/* Write a line "werkbank: …" to console.log and, with echo, to standard error. */
void supervise_log(struct supervisor *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

void supervise_close(struct supervisor *s);

#endif
