/*
 * evidence.h - what a run's folder holds, as numbers: the journal, the recipe, checkpoints, the corpus.
 *
 * What the journal does not say is NAN, never 0. Steps that a killed attempt had
 * done beyond its last checkpoint were done again: only the last time counts here, the
 * others are lost_s.
 */
#ifndef WERKBANK_EVAL_REPORT_EVIDENCE_H
#define WERKBANK_EVAL_REPORT_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/conf/conf.h"
#include "share/base/err.h"
#include "share/base/json.h"

/* One record each; fields as in share/base/journal.h. */
struct train_point {
	double t, step, loss, nll, lr, grad_norm, source_tps, target_tps, step_s, epoch;
	double input_s, compute_s, exposed_s, wait_s, update_s, sent_bytes;
	double steps; /* since the record before */
};

struct eval_point { /* dev_nll: where there is none, dev_loss of an imported log */
	double t, step, bleu, dev_nll, train_nll, dev_ppl, seconds;
};

struct save_point {
	double t, step, bytes, seconds;
};

struct rank_point {
	double t, step, rank, compute_s, step_s, wait_s;
};

/* One host at one time; of its GPUs the means. */
struct host_point {
	double t, step, cpu, rx_bytes_s, tx_bytes_s, link_bytes_s, retransmits_s;
	double tx_step_bytes;
	double gpus, gpu_util, gpu_power_w, gpu_power_limit_w;
	char host[64], gpu_name[64];
};

struct attempt_point {
	double t, step, ranks;
};

struct evidence {
	struct conf recipe;    /* the run's, sizes applied */
	char *folder, *corpus; /* owned paths: of the run and of its corpus */
	struct json *manifest; /* the corpus'; NULL: not there */
	char run[128], precision[16], backend[16];
	double parameters, vocabulary; /* NAN: unknown */
	double ranks;		       /* of the last attempt */
	int64_t hosts;		       /* that told something; 0: none did */
	struct attempt_point *attempts;
	struct train_point *train;
	struct eval_point *evals;
	struct save_point *saves;
	struct rank_point *rank;
	struct host_point *host;
	size_t n_attempts, n_train, n_evals, n_saves, n_rank, n_host;
	size_t cap_attempts, cap_train, cap_evals, cap_saves, cap_rank, cap_host;
	double first_t, last_t; /* of all records */
	double lost_s;		/* spent on steps that were done again */
	int64_t warnings, errors, nonfinite, bad_lines;
	char reason[16]; /* of the last attempt's end; "": it did not say */
	char last_error[400];
};

/* Reads all. evidence_close() in any case. A run that is not there: ERR_NOINPUT. */
int evidence_open(struct evidence *v, const char *workspace, const char *run, struct err *e);
void evidence_close(struct evidence *v);

/*
 * One field of every element of an array as a new array, those left out where it is NAN or absurd in either;
 * for stat_…() and plots. Offsets by offsetof(). Owned by the caller: free(*x). *n = 0 and NULL where
 * nothing is left.
 */
struct evidence_series {
	double *x, *y; /* owned, one allocation: free(x) */
	size_t n;
};

int evidence_get_series(struct evidence_series *c, const void *array, size_t n, size_t size,
			size_t x_offset, size_t y_offset, struct err *e);

#endif
