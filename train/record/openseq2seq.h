/*
 * openseq2seq.h - the log of an OpenSeq2Seq training (its nohup.out) as records of a journal.
 *
 * Lines that are understood, behind "*** " and any blanks, wherever in a line that begins:
 *
 *	Global step N: [Train loss: | loss =] X … time per step = H:M:S     also "Epoch E, global step N:"
 *	Validation loss: X                 Eval BLUE score: X
 *	Total trainable parameters: N      Building graph on Horovod rank: N
 *	Finished training    Avg time per step: Xs    Avg objects per second: X
 *
 * All else is passed over. What comes out: start, train (loss, step_s), eval, event, stop, with
 *
 *	loss, dev_loss   as the log has them: label-smoothed, less the least value that smoothing
 *	                 allows; not comparable with a loss of ours, nor a likelihood
 *	pseudo_bleu      0..1: of pieces, the decoder forced to the reference; never "bleu"
 *	t                made up: the log has no times; steps last as long as it says, and the
 *	                 last record is at the end that the caller gives
 *	step of an eval  made up where it can be: see openseq2seq_read()
 */
#ifndef WERKBANK_TRAIN_RECORD_OPENSEQ2SEQ_H
#define WERKBANK_TRAIN_RECORD_OPENSEQ2SEQ_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"

/* What a log said. */
struct openseq2seq {
	int64_t trains, evals, starts;	/* records */
	int64_t last_step;		/* -1: none */
	int64_t eval_every;		/* steps between evaluations; 0: not to be found out */
	int64_t parameters, ranks;	/* -1: not said */
	double seconds;			/* of all steps */
	double avg_step_s, avg_objects; /* at the end; NAN: not said */
	bool finished;
};

/*
 * Append the records to journal. An evaluation happens between the step printed before it and the one
 * printed after it; its step is the multiple of the interval that fits all evaluations, the
 * roundest of these; where none does, the roundest number in between. end_t: unix seconds.
 * ERR_DATA: nothing in these bytes is of such a log.
 */
int openseq2seq_read(const char *bytes, size_t n, const char *run, double end_t,
		     struct buf *journal, struct openseq2seq *seen, struct err *e);

#endif
