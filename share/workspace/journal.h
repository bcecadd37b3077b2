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
 *	start     program (version of Werkbank), run, attempt, trained_s (seconds of training before this attempt; steps after the
 *	          checkpoint that it resumes from do not count), host, pid, ranks, hosts (how
 *	          many), parameters, precision, backend, device (a sentence: the device and why),
 *	          processor (vector level of all ranks), threads (of a rank), memory (bytes a rank allocates there), vocabulary, pairs,
 *	          tags (with pair_temperature: tag ("": none), pairs, share (of an epoch), passes (an epoch) of each), options…
 *	train     loss (nats per target token, label-smoothed as trained),
 *	          nll (the same without smoothing), lr, grad_norm,
 *	          source_tps, target_tps (tokens per second of the whole step, all ranks),
 *	          step_s, epoch (pairs seen, divided by the pairs of the corpus)
 *	          and of the first rank, seconds a step: input_s (waiting for a
 *	          batch), compute_s (forward and backward), exposed_s (waiting for
 *	          reductions that backward did not hide), wait_s (of that, waiting for
 *	          the slowest rank to begin), update_s; sent_bytes (payload that a
 *	          rank sends in a step)
 *	rank      one rank, means since the last such record: rank, host, step_s,
 *	          input_s, compute_s, exposed_s, wait_s, update_s, sent_bytes
 *	host      one host, means since the last such record: host, ranks (how many),
 *	          cpu (0..1 of all cores), load, waits_cpu, waits_io, waits_memory (0..1
 *	          of the time some task waited for that), memory_used, memory_total,
 *	          disk_free (bytes), disk_read_bytes_s, disk_write_bytes_s, interface,
 *	          rx_bytes_s, tx_bytes_s, rx_peak_bytes_s, tx_peak_bytes_s (of one
 *	          second), link_bytes_s (its speed, one direction), link_from (driver,
 *	          measured, or seen: no less than that), retransmits_s (TCP segments),
 *	          tx_step_bytes (sent in a step, evaluations and checkpoints left out),
 *	          gpus: a list of index, name, util (0..1), memory_used, memory_total,
 *	          power_w, power_limit_w, temperature_c (highest), sm_mhz, sm_max_mhz,
 *	          throttle (words, "none"), ecc_corrected, ecc_uncorrected (memory
 *	          errors since the driver was loaded), pcie_tx_bytes_s, pcie_rx_bytes_s,
 *	          nvlink_tx_bytes_s, nvlink_rx_bytes_s, lost, mig (true); of many GPUs
 *	          a part of these
 *	link      at the start, of a job on several hosts: hosts (how many), latency_s (of a small
 *	          message, one way), link_bytes_s (one direction), both of the slowest pair of
 *	          neighbours, lost (share of TCP segments sent again while the link was nearly
 *	          idle), seconds (of the measurement)
 *	verdict   network (no, slightly, link, latency, straggler, loss, unknown), text
 *	          (one sentence), exposed_share, predicted_bytes, observed_bytes (a step
 *	          and host), busbw_bytes_s, link_bytes_s, late_rank, late_host
 *	evaluating  an evaluation begins; expected_s (how long the last one took)
 *	eval      bleu (0..100), tok (its tokenizer), signature, precision (of the products that decoded: fp32, bf16),
 *	          dev_nll, train_nll (no dropout, no smoothing, nats per token),
 *	          dev_ppl, seconds, weights ("average": the moving average; absent: the raw weights),
 *	          best (bool: by best-metric), shares (number of ranks that took part),
 *	          tags (of a development set with several tags: tag ("": none), sentences, bleu, chrf2, nll of each)
 *	          of an imported log (start: imported): dev_loss and pseudo_bleu instead, see
 *	          train/record/openseq2seq.h
 *	weights   since (step), and by weight matrix: moved (norm of its change since that
 *	          step, divided by its norm then), still (share of its sampled parts in
 *	          which no weight has changed; left out: 0). Large models: several records
 *	save      path, bytes, seconds; alone (true: by one rank alone, because others
 *	          seemed to be lost)
 *	tune      a tuned model against the model before: set (held-out set), role (own, general), sentences,
 *	          tok, before, after (BLEU), before_interval, after_interval (half of the 95 % interval),
 *	          p (paired bootstrap)
 *	profile   with --profile, at the end: seconds and steps of this attempt (the first
 *	          step apart), roof_gflops (rate of a large product on that device, measured then,
 *	          or of the fastest op) and roof_gbs (of a large addition; both are absent if
 *	          not measured), ops: a list, longest first, of op, calls, s (all of them), share (of seconds), gflops
 *	          (10^9 operations of products a second; 0: the op has none) and gbs (10^9
 *	          bytes a second), absent if unknown. What is missing from 1 is outside of ops
 *	event     level (info, warning, error), text; sign: name of what a warning about learning or
 *	          about the recipe found (werkbank-report(7)); of a cool-down that the time limit
 *	          asks for: cooldown_from, cooldown_to (steps), cooldown_factor (of the rate at cooldown_from);
 *	          of a schedule that the time limit ends earlier: schedule_from (step), schedule_end (steps)
 *	stop      reason (finished, asked, diverged, failed),
 *	          why (steps, minutes, patience, request, diverged, failed),
 *	          text (the reason in words), exit, rank (of a SIGTERM that nobody else sent),
 *	          by ("control": werkbank stop of another host asked); see run_end.h
 *
 * A value that is not finite is null, with a sibling "nonfinite":"FIELD". Unknown values are
 * absent. samples.jsonl beside it: {"v":1,"kind":"sample","t":…,"step":N,
 * "id":I,"source":…,"reference":…,"hypothesis":…}.
 */
#ifndef WERKBANK_SHARE_WORKSPACE_JOURNAL_H
#define WERKBANK_SHARE_WORKSPACE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/format/json.h"

#define JOURNAL_MAX_LINE 4096  /* bytes of a record that journal_end() writes */
#define JOURNAL_MAX_READ 65536 /* bytes of a line that journal_next() reads */

struct journal;

/* Open for appending; creates the file. Ends an incomplete last line of a killed writer. */
struct journal *journal_open(const char *path, struct err *e);

/*
 * Start a record: returns a writer inside an open object that already holds
 * v, kind, t and, unless negative, step. Add fields with json_key()…, then
 * journal_end().
 */
struct json_writer *journal_begin(struct journal *j, const char *kind, int64_t step);
int journal_end(struct journal *j, struct err *e);
/* A record "event": level is info, warning or error; text: a sentence. */
int journal_write_event(struct journal *j, const char *level, int64_t step, const char *text,
			struct err *e);

/* fsync: the records so far survive a power failure. File systems without this are no failure. NULL: nothing. */
void journal_sync(struct journal *j);

/*
 * Call listener with each record that this handle writes: the line without LF, borrowed. The
 * listener must not write to the same journal. NULL: no listener.
 */
typedef void journal_listener(void *arg, const char *line, size_t n);
void journal_listen(struct journal *j, journal_listener *listener, void *arg);

void journal_free(struct journal *j);

/*
 * Read a journal that may still grow. journal_next() returns 1 with the next complete
 * record as a parsed tree (borrowed until the next call), 0 if there is no more yet,
 * < 0 on failure: ERR_CONFIG, a newer program wrote the record (format_version.h). After ERR_NOMEM the next call goes on at the same place. A line that is not an
 * object, or too long, is counted in bad_lines and skipped.
 */
struct journal_reader;
struct journal_reader *
journal_reader_open(const char *path, struct err *e); /* the file may be missing and appear later */
int journal_next(struct journal_reader *r, const struct json **record, struct err *e);
/* Close the file and free memory until the next journal_next(), which goes on at the same place. */
void journal_reader_rest(struct journal_reader *r);
/* The share of the file that was read, 0 to 1; 1 for a file that is missing or empty. */
double journal_read_share(const struct journal_reader *r);
int64_t journal_bad_lines(const struct journal_reader *r);
void journal_reader_free(struct journal_reader *r);

#endif
