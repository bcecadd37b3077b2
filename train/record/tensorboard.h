/*
 * tensorboard.h - writes event files for TensorBoard from the records of a run.
 *
 * A file is a sequence of TFRecords: length, masked CRC-32C, protocol buffer "Event"
 * (tensorflow/core/lib/io/record_writer, event.proto, summary.proto). One function turns a record
 * of journal.jsonl or samples.jsonl into events, so a file of a live run and a file made from an
 * old journal have the same contents:
 *
 *	train, eval, host, verdict	scalars: train/loss, dev/bleu, hosts/NAME/tx_bytes_s …
 *	sample				text: samples/ID
 *	start, stop			hparams: the options, and how it ended
 *
 * After a killed attempt some steps are trained and recorded twice. Each file begins with a session
 * start at its first step, so TensorBoard drops the older values of these steps.
 */
#ifndef WERKBANK_TRAIN_RECORD_TENSORBOARD_H
#define WERKBANK_TRAIN_RECORD_TENSORBOARD_H

#include <stdint.h>

#include "share/base/err.h"
#include "share/format/json.h"

struct tensorboard;

/*
 * Create a file events.out.tfevents.… in this folder, which is created if missing. first_step: of
 * the first record to come; TensorBoard drops values of older files from this step on. wall: unix
 * time for the file's name and its first events. NULL: failure.
 */
struct tensorboard *tensorboard_open(const char *folder, int64_t first_step, double wall,
				     struct err *e);

/* Write the events of a record to the file, without buffering. Unknown kinds and fields: none. */
int tensorboard_record(struct tensorboard *t, const struct json *record, struct err *e);

void tensorboard_free(struct tensorboard *t); /* may be NULL */

#endif
