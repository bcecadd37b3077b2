/*
 * openseq2seq.h - converts the log of an OpenSeq2Seq training (its nohup.out) to a journal.
 *
 * It reads these lines, after "*** " and blanks, which may be anywhere in a line:
 *
 *	Global step N: [Train loss: | loss =] X … time per step = H:M:S     also "Epoch E, global step N:"
 *	Validation loss: X                 Eval BLUE score: X
 *	Total trainable parameters: N      Building graph on Horovod rank: N
 *	Finished training    Avg time per step: Xs    Avg objects per second: X
 *
 * Other lines are ignored. The records are start, train (loss, step_s), eval, event and stop, with
 *
 *	loss, dev_loss   as in the log: label-smoothed, minus the minimum that smoothing allows; not
 *	                 comparable with Werkbank's losses, and not a likelihood
 *	pseudo_bleu      0..1: BLEU of subwords with teacher forcing; so it is not called "bleu"
 *	t                reconstructed, because the log has no times: from the durations of steps,
 *	                 backwards from the end that the caller gives
 *	step of an eval  estimated: see openseq2seq_read()
 */
#ifndef WERKBANK_TRAIN_RECORD_OPENSEQ2SEQ_H
#define WERKBANK_TRAIN_RECORD_OPENSEQ2SEQ_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"

/* Summary of a log. */
struct openseq2seq {
	int64_t trains, evals, starts;	/* number of records */
	int64_t last_step;		/* -1: none */
	int64_t eval_every;		/* steps between evaluations; 0: unknown */
	int64_t parameters, ranks;	/* -1: not in the log */
	double seconds;			/* of all steps */
	double avg_step_s, avg_objects; /* from the end of the log; NAN: not in the log */
	bool finished;
};

/*
 * Append the records of the log bytes (n) to journal. end_t: unix time of the last record.
 *
 * An evaluation happens between the steps printed before and after it. Its step is a multiple of an
 * interval that fits all evaluations; of several such intervals the roundest one counts. If no
 * interval fits, the step is the roundest number between the two steps. ERR_DATA: not such a log.
 */
int openseq2seq_read(const char *bytes, size_t n, const char *run, double end_t,
		     struct buf *journal, struct openseq2seq *seen, struct err *e);

#endif
