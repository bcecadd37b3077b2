/*
 * evidence.h - the records of a run as arrays of numbers: journal, recipe, corpus manifest.
 *
 * A number that the journal lacks is NAN, never 0. A restarted run repeats the steps after its
 * last checkpoint. Only the last repetition counts here; the time of the others is lost_s.
 */
#ifndef WERKBANK_EVAL_REPORT_EVIDENCE_H
#define WERKBANK_EVAL_REPORT_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eval/report/samples.h"
#include "share/base/err.h"
#include "share/conf/conf.h"
#include "share/format/json.h"
#include "share/workspace/run_end.h"
#include "train/record/learning.h"

/*
 * The numbers of a journal record, which struct NAME_point begins with; share/workspace/journal.h describes
 * them. Those of weights that are not listed here are read by themselves.
 */
/* clang-format off */
#define TRAIN_NUMBERS(X) \
	X(t) X(step) X(loss) X(nll) X(lr) X(grad_norm) X(source_tps) X(target_tps) X(step_s) \
	X(epoch) X(input_s) X(compute_s) X(exposed_s) X(wait_s) X(update_s) X(sent_bytes)
#define EVAL_NUMBERS(X) X(t) X(step) X(bleu) X(dev_nll) X(train_nll) X(seconds)
#define SAVE_NUMBERS(X) X(t) X(step) X(bytes) X(seconds)
#define RANK_NUMBERS(X) X(t) X(step) X(rank) X(compute_s) X(step_s) X(wait_s) X(input_s)
#define WEIGHTS_NUMBERS(X) X(t) X(step) X(since)
#define HOST_NUMBERS(X) \
	X(t) X(step) X(cpu) X(waits_cpu) X(tx_bytes_s) X(link_bytes_s) \
	X(retransmits_s) X(tx_step_bytes)
#define TUNE_NUMBERS(X) \
	X(t) X(sentences) X(before) X(before_interval) X(after) X(after_interval) X(p)
#define EVIDENCE_NUMBER(name) double name;
/* clang-format on */

/* Only double members: answer_steady_means() relies on that. */
struct train_point {
	TRAIN_NUMBERS(EVIDENCE_NUMBER)
	double steps; /* since the preceding train record */
};

struct eval_point { /* dev_nll: of an imported log without it, dev_loss */
	EVAL_NUMBERS(EVIDENCE_NUMBER)
};

struct save_point {
	SAVE_NUMBERS(EVIDENCE_NUMBER)
};

struct rank_point {
	RANK_NUMBERS(EVIDENCE_NUMBER)
	char host[64]; /* "": unknown */
};

/* A tuned model against the model before, on one held-out set: BLEU. */
struct tune_point {
	TUNE_NUMBERS(EVIDENCE_NUMBER)
	char set[32];
	bool is_general; /* text of another kind than that of the tuning */
};

/* The change of one weight matrix between two evaluations. */
struct weights_point {
	WEIGHTS_NUMBERS(EVIDENCE_NUMBER)
	double moved, still; /* as in share/workspace/journal.h */
	char matrix[64];
};

/* One host at one time; gpu_...: means over the GPUs of the host. */
struct host_point {
	HOST_NUMBERS(EVIDENCE_NUMBER)
	double gpus, gpu_util, gpu_power_w, gpu_power_limit_w;
	char host[64], gpu_name[64];
	size_t number; /* of the host, from 0: equal names have equal numbers */
};

/* The network between the hosts, as the last attempt measured it at its start; NAN: unknown. */
struct link_evidence {
	double latency_s, bytes_s, lost; /* as in the record link of the journal */
};

struct evidence {
	struct conf recipe;    /* the run's, sizes applied */
	char *folder, *corpus; /* owned paths: of the run and of its corpus */
	struct json *manifest; /* owned; the corpus manifest, NULL: see evidence_no_manifest() */
	/* Owned: a sentence if the corpus changed since the training began. Its files are not read. */
	char *corpus_changed;
	char run[128], precision[16], backend[16];
	char started_on[64];	       /* host of the last start record; "": unknown */
	char tok[16];		       /* tokenizer of the BLEU of evals; "": none yet */
	double parameters, vocabulary; /* NAN: unknown */
	double source_vocabulary;      /* of the source; that of both sides if they share one */
	/* stats.json of the corpus, source and target; NAN: unknown */
	double unknown_share;	    /* of the pieces of the development set, both sides */
	double words[2], pieces[2]; /* running words and their pieces, training text */
	double bytes_a_word[2];	    /* of the texts, before the rules of cleaning */
	double ranks;		    /* of the last attempt */
	struct link_evidence link;
	size_t hosts; /* different hosts among the host records */
	struct train_point *train;
	struct eval_point *evals;
	struct save_point *saves;
	struct rank_point *rank;
	struct host_point *host;
	struct weights_point *weights;
	struct tune_point *tune;
	double cooldown_from, cooldown_to;  /* decided because of the time limit; to 0: none */
	double schedule_from, schedule_end; /* the same: step of the decision; end 0: none */
	size_t n_attempts, n_train, n_evals, n_saves, n_rank, n_host, n_weights, n_tune;
	size_t cap_train, cap_evals, cap_saves, cap_rank, cap_host, cap_weights, cap_tune;
	double first_t, last_t; /* of all records; t of each record never falls, see set_back_s */
	double set_back_s;	/* by which the clock was set back; added to t of later records */
	double stop_step;	/* of the last stop record; NAN without one */
	double lost_s;		/* spent on steps that were repeated after a restart */
	int64_t nonfinite;
	int64_t skipped;    /* steps that were skipped because a number was not finite */
	bool has_plan;	    /* the recipe or a start record holds the options of the run */
	char reason[16];    /* how the last attempt stopped; "" without a stop record */
	struct run_end end; /* and why */
	char last_error[400];
	struct run_samples samples;  /* of the newest evaluation */
	struct learning_signs signs; /* how the run learned, with the trend */
};

/*
 * Reads the journal, recipe and corpus manifest of a run. ERR_NOINPUT if the run does not exist.
 * Call evidence_close() after a failure too.
 */
int evidence_open(struct evidence *v, const char *workspace, const char *run, struct err *e);
void evidence_close(struct evidence *v);

/* For evidence_open(): fills v->signs from the records. */
void evidence_find_signs(struct evidence *v);

/* Why manifest is NULL: a sentence. Borrowed. */
const char *evidence_no_manifest(const struct evidence *v);

/* Pairs of numbers for stat_...() and plots. */
struct evidence_series {
	double *x, *y; /* owned, one allocation: free(x) */
	size_t n;
};

/*
 * Copies two double members of n structs of size bytes into *c; offsets by offsetof(). Pairs with
 * a NAN or an absurdly large number are left out. The caller frees c->x, which may be NULL.
 */
int evidence_get_series(struct evidence_series *c, const void *array, size_t n, size_t size,
			size_t x_offset, size_t y_offset, struct err *e);

#endif
