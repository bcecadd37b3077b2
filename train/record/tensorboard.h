/*
 * tensorboard.h - event files that TensorBoard reads, made of a run's journal.
 *
 * A file holds records of TFRecord's form (length, masked CRC-32C, protocol
 * buffer "Event"; tensorflow/core/lib/io/record_writer, event.proto,
 * summary.proto). One function turns a record of journal.jsonl or samples.jsonl
 * into events, so that a file written beside a live run and one made of an old
 * journal say the same:
 *
 *	train, eval, host, verdict	scalars: train/loss, dev/bleu, hosts/NAME/tx_bytes_s …
 *	sample				text: samples/ID
 *	start, stop			hparams: the options, and how it ended
 *
 * What a journal says twice, because an attempt was killed and its steps done again,
 * TensorBoard forgets: a file begins with a session that starts at its first step.
 */
#ifndef WERKBANK_TRAIN_RECORD_TENSORBOARD_H
#define WERKBANK_TRAIN_RECORD_TENSORBOARD_H

#include <stdint.h>

#include "share/base/err.h"
#include "share/base/json.h"

struct tensorboard;

/*
 * A new file events.out.tfevents.… in this folder, which is made when missing. first_step: of
 * the first record to come; what older files of the folder say of it and later ones is forgotten.
 * wall: unix seconds for the file's name and its first events. NULL: failure.
 */
struct tensorboard *tensorboard_open(const char *folder, int64_t first_step, double wall,
				     struct err *e);

/* One record; of kinds and fields that it does not know it says nothing. On the disk at once. */
int tensorboard_record(struct tensorboard *t, const struct json *record, struct err *e);

void tensorboard_free(struct tensorboard *t); /* may be NULL */

/* CRC-32C (Castagnoli), as in RFC 3720, B.4; and as TFRecord masks it. */
uint32_t tensorboard_crc(const void *bytes, size_t n);

#endif
