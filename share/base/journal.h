/*
 * journal.h - the record of a run: append-only JSON Lines.
 *
 * One object a line, at most 4 KiB, written by a single write(2) on a
 * descriptor opened with O_APPEND, so that lines never interleave and a killed
 * writer leaves at most one unterminated tail, which readers skip and the next
 * writer ends. Every record has
 *
 *	"v":1  "kind":KIND  "t":unix seconds  "step":optimizer step (where one applies)
 *
 * and by kind
 *
 *	start     run, attempt, host, pid, ranks, parameters, precision, backend, options…
 *	train     loss (nats per target token, label-smoothed as trained),
 *	          nll (the same without smoothing), lr, grad_norm,
 *	          source_tps, target_tps (tokens per second of the whole step, all ranks),
 *	          step_s, epoch
 *	eval      bleu (0..100), signature,
 *	          dev_nll, train_nll (no dropout, no smoothing, nats per token),
 *	          dev_ppl, seconds, best (bool)
 *	save      path, bytes, seconds
 *	event     level (info, warning, error), text
 *	stop      reason (finished, asked, failed), exit
 *
 * Not-a-number is null with a sibling "nonfinite":"FIELD". What is unknown is
 * absent. samples.jsonl beside it: {"v":1,"kind":"sample","t":…,"step":N,
 * "id":I,"source":…,"reference":…,"hypothesis":…}.
 */
#ifndef WERKBANK_BASE_JOURNAL_H
#define WERKBANK_BASE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/base/json.h"

#define JOURNAL_MAX_LINE 4096

struct journal;

/*
 * Open for appending (made when missing); an unterminated tail of a killed writer is ended first.
 */
struct journal *journal_open(const char *path, struct err *e);

/*
 * Start a record: returns a writer inside an open object that already holds
 * v, kind, t and, unless negative, step. Add fields with json_key()…, then
 * journal_end().
 */
struct json_writer *journal_begin(struct journal *j, const char *kind, int64_t step);
int  journal_end(struct journal *j, struct err *e);
void journal_free(struct journal *j);

/*
 * Follow a journal that may still grow. journal_next() gives the next whole
 * record as a parsed tree (borrowed until the next call), 0 when there is
 * nothing yet, < 0 on failure. A line that is not an object, or too long, is
 * counted in bad_lines and skipped.
 */
struct journal_reader;
struct journal_reader *
journal_reader_open(const char *path, struct err *e); /* missing file: fine, may appear later */
int  journal_next(struct journal_reader *r, const struct json **record, struct err *e);
int64_t journal_bad_lines(const struct journal_reader *r);
void journal_reader_free(struct journal_reader *r);

#endif
