/*
 * run_records.h - the journals of a run, its metric sinks, and messages on standard error.
 *
 * Only the first rank has journals: on other ranks all functions do nothing and return 0.
 */
#ifndef WERKBANK_TRAIN_TRAINER_RUN_RECORDS_H
#define WERKBANK_TRAIN_TRAINER_RUN_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/base/util.h"
#include "share/workspace/journal.h"
#include "train/record/metric_sinks.h"

struct run_records {
	struct journal *journal, *samples; /* owned; NULL: not the first rank */
	struct metric_sinks *metric_sinks; /* owned; get every record of the journals */
	const int64_t *step;		   /* borrowed: step of the run, written into each record */
	bool is_quiet;
	bool is_terminal;    /* standard error is a terminal */
	bool journal_failed; /* the last record could not be written */
	double shown_at;     /* clock_mono_s() of the last progress line; 0: the line has ended */
};

/* First rank: open the journals of the run's folder. After a failure call run_records_close(), too. */
int run_records_open(struct run_records *r, const char *folder, struct err *e);
void run_records_close(struct run_records *r);

/*
 * A record that cannot be written does not end the training, because a full disk may get free space
 * again. The user is warned once, and the functions return 0; a failed checkpoint is an error anyway.
 */
struct json_writer *run_records_begin(struct run_records *r, const char *kind);
int run_records_end(struct run_records *r);

/* The sentence that ends the training, in the journal. The process itself prints it at its end. */
int run_records_failure(struct run_records *r, const char *text);

/* An event in the journal and on standard error. */
int run_records_event(struct run_records *r, const char *level, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
/* A warning about a sign of learning_watch.h: an event with the name of the sign. */
int run_records_warning(struct run_records *r, const char *sign, const char *text);
/* A saved checkpoint; is_alone: by rescue.c */
int run_records_checkpoint(struct run_records *r, int64_t bytes, double seconds, bool is_alone);

/* An evaluation begins: a record, and on a terminal a line. expected_s 0: unknown. */
int run_records_evaluating(struct run_records *r, double expected_s);
/* "2 h 05 min", "7 min", "40 s" */
#define RECORDS_DURATION_BYTES 40
const char *run_records_duration(char text[RECORDS_DURATION_BYTES], double s);

/* End the progress line of a terminal, so that other text can follow. */
void run_records_end_line(struct run_records *r);

#endif
