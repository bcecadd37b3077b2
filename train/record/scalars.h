/*
 * scalars.h - the numbers in a record of the journal, with tags for plotting tools.
 *
 *	train      train/loss train/nll train/learning_rate train/gradient_norm train/epoch
 *	           speed/source_tokens_per_second speed/target_tokens_per_second speed/step_seconds
 *	           step/input_seconds step/compute_seconds step/exposed_seconds step/wait_seconds
 *	           step/update_seconds step/sent_bytes
 *	eval       dev/bleu dev/nll dev/perplexity dev/train_sample_nll dev/seconds
 *	           dev/loss dev/pseudo_bleu (of imported logs)
 *	verdict    network/exposed_share network/predicted_bytes_per_step …
 *	host       hosts/NAME/cpu hosts/NAME/sent_bytes_per_second … hosts/NAME/gpuN/power_watts …
 *	rank       ranks/N/step_seconds ranks/N/compute_seconds …
 *
 * The tables in scalars.c serve TensorBoard's event files and all exported files.
 */
#ifndef WERKBANK_TRAIN_RECORD_SCALARS_H
#define WERKBANK_TRAIN_RECORD_SCALARS_H

#include "share/base/err.h"
#include "share/format/json.h"

/* Called with a number; the tag is borrowed. A result other than 0 ends scalars_each(). */
typedef int scalars_fn(void *arg, const char *tag, double value, struct err *e);

/* Call f for each number of the record. Numbers that were not finite are null there, and omitted. */
int scalars_each(const struct json *record, scalars_fn *f, void *arg, struct err *e);

#endif
