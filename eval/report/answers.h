/*
 * answers.h - questions about a run, answered from its evidence.
 *
 * An answer has a verdict, one sentence with numbers, the facts behind the sentence and
 * often a plot. Each question is a row of the table in answers.c; its function is in the
 * answers_*.c of its subject. Missing evidence gives the verdict "not enough data", never a guess.
 */
#ifndef WERKBANK_EVAL_REPORT_ANSWERS_H
#define WERKBANK_EVAL_REPORT_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>

#include "eval/report/evidence.h"
#include "share/base/util.h"

enum answer_verdict { VERDICT_UNKNOWN, VERDICT_YES, VERDICT_NO, VERDICT_STATEMENT };

/* How sure a verdict is. UNSTATED: the question has no rule for it. NONE: not enough data. */
enum answer_confidence {
	CONFIDENCE_UNSTATED,
	CONFIDENCE_NONE,
	CONFIDENCE_LIKELY,
	CONFIDENCE_CLEAR
};

/* One number or text that supports the sentence. */
struct named_fact {
	char name[72];
	char unit[16];	/* "" for texts and counts */
	char text[160]; /* "" if the fact is a number */
	double value;	/* NAN if the fact is a text */
};

#define ANSWER_MAX_FACTS  24
#define ANSWER_MAX_CURVES 3

struct answer_plot_curve {
	const char *name;	       /* a string constant */
	struct evidence_series points; /* owned */
};

struct answer {
	const char *id, *question; /* constants of the table */
	const char *short_name; /* the problem in a few words; NULL: the question has no problem */
	bool is_illness;	/* its problem keeps the model from learning well */
	enum answer_verdict verdict;
	enum answer_confidence confidence;
	enum answer_verdict
		bad;	      /* the verdict that asks for action; VERDICT_STATEMENT: none does */
	bool is_hidden;	      /* a document leaves this answer out; its overview does not */
	bool is_inapplicable; /* of GPUs or several ranks, which the run does not have */
	char sentence[800];
	struct named_fact facts[ANSWER_MAX_FACTS];
	size_t n_facts;
	const char *y_name; /* of the plot, over the step: a constant */
	struct answer_plot_curve curves[ANSWER_MAX_CURVES];
	size_t n_curves;
};

struct answers {
	struct answer *all; /* owned */
	size_t n;
	bool has_overview; /* documents begin with the verdicts of all questions */
	/* why the run is too short for questions without an answer; "": it is not */
	char early[200];
};

/* Answers all questions in the order of the table. Call answers_free() after a failure too. */
int answers_find(struct answers *a, const struct evidence *v, struct err *e);
void answers_free(struct answers *a);

/*
 * What a verdict asks of the reader: to act, nothing, or more data. NONE: the answer is no verdict, or
 * the question does not apply to the run.
 */
enum answer_state { ANSWER_STATE_NONE, ANSWER_PROBLEM, ANSWER_FINE, ANSWER_OPEN };
enum answer_state answer_state_of(const struct answer *a);
/*
 * Hides all answers but the n named ones and the overview; "all" names all answers and the overview.
 * An unknown name: ERR_USAGE.
 */
int answers_choose(struct answers *a, char *const *ids, size_t n, struct err *e);
/* Hides all answers but problems; the overview stays. */
void answers_choose_problems(struct answers *a);
/* Does it not apply, or is it open because the run is early? The overview has a line for these. */
bool answer_is_useless(const struct answers *all, const struct answer *a);
/* Hides these answers; the overview stays. */
void answers_choose_useful(struct answers *a);

/* "yes", "no", "not enough data", or "statement" for a question without yes or no. A constant. */
const char *answer_verdict_name(enum answer_verdict v);
/* "clear", "likely", "not enough data", or "" for UNSTATED. A constant. */
const char *answer_confidence_name(enum answer_confidence c);
/* " (clear)" or " (likely)", which follows a yes or no; else "". A constant. */
const char *answer_confidence_note(const struct answer *a);

/* ---- for answers_*.c ---- */

/*
 * Each fills *a from v; missing evidence is a verdict. The functions with e fail if memory is short. The
 * curves of the table are in *a already. A question without verdict is a statement at first.
 */
typedef void judge_fn(struct answer *a, const struct evidence *v);
typedef int find_fn(struct answer *a, const struct evidence *v, struct err *e);

judge_fn answer_duration, answer_diverged, answer_stopped_early, answer_overfitting, answer_stable,
	answer_rate_too_large, answer_rate_too_small, answer_model_too_small, answer_data_problem,
	answer_regularisation, answer_dev_in_train, answer_learning_rate, answer_gpus_used,
	answer_input_bound, answer_checkpoint_bound, answer_vocabulary_small, answer_step_time,
	answer_data_size, answer_tuning_helped, answer_tuning_forgot;
find_fn answer_fully_trained, answer_network_bound, answer_cpu_starved, answer_dead_part,
	answer_stragglers, answer_correlation, answer_checkpoint_contents, answer_checkpoint_size;

/* Judges the run by the other answers, which are all found. */
int answer_healthy(struct answer *a, const struct evidence *v, const struct answers *others,
		   struct err *e);

/* How sure a yes or no is; most callers give a condition that makes it clear. */
enum { LIKELY, CLEAR };
/* Each sets the verdict and appends to the sentence (cut off at its size); open: not enough data. */
void answer_yes(struct answer *a, bool is_clear, const char *fmt, ...) PRINTF_LIKE(3, 4);
void answer_no(struct answer *a, bool is_clear, const char *fmt, ...) PRINTF_LIKE(3, 4);
void answer_open(struct answer *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Appends to the sentence. */
void answer_append(struct answer *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* If training diverged: gives the verdict v with the reason, and returns true. */
bool answer_if_diverged(struct answer *a, enum answer_verdict v, const struct learning_signs *s);
/* Adds a number with its unit; a value that is not finite is unknown and left out. */
void answer_add_fact(struct answer *a, const char *name, double value, const char *unit);
void answer_add_text(struct answer *a, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Each member's mean over the later half of the train records: the start-up phase is left out. */
struct train_point answer_steady_means(const struct evidence *v);

#define ANSWER_TEXT 32
/* Text for people: "2 h 05 min", "3.4 s"; "243 MB", "1.2 GB"; "unknown" for NAN. Return out. */
char *answer_seconds(char out[ANSWER_TEXT], double s);
char *answer_bytes(char out[ANSWER_TEXT], double bytes);

#endif
