/*
 * sample_history.h - translations of the same development sentences at each checkpoint.
 *
 *	struct sample_history *b = sample_history_open(run_folder, e);
 *	sample_history_update(b, 0.02, e);	repeatedly: samples.jsonl may grow
 *	… b->sentences[i].versions[v].hypothesis …
 *	sample_history_free(b);
 *
 * Memory is bounded: beyond SAMPLE_VERSIONS versions of a sentence, every second version is
 * dropped, except the first and the newest. When a run resumes, versions from its step on are
 * replaced.
 */
#ifndef WERKBANK_TUI_RUN_SAMPLE_HISTORY_H
#define WERKBANK_TUI_RUN_SAMPLE_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

#define SAMPLE_SENTENCES 64   /* sentences; further sentences are dropped */
#define SAMPLE_VERSIONS	 64   /* versions of a sentence; even */
#define SAMPLE_TEXT	 2000 /* bytes of a text; longer texts end with an ellipsis */

struct sample_version {
	int64_t step;
	char *hypothesis; /* owned */
	double chrf;	  /* of this sentence, 0..100; NaN: there is no reference */
};

struct sample_sentence {
	int64_t id;
	char *source, *reference;			 /* owned */
	struct sample_version versions[SAMPLE_VERSIONS]; /* sorted by step */
	size_t n;
};

struct sample_history {
	struct sample_sentence *sentences; /* owned (SAMPLE_SENTENCES), in the order of the file */
	size_t n;
	struct journal_reader *reader; /* private, owned */
	char *path;		       /* private, owned */
};

/* Open samples.jsonl of a run folder; the file may appear later. NULL: ERR_NOMEM, ERR_NOINPUT. */
struct sample_history *sample_history_open(const char *run_folder, struct err *e);

/*
 * Read for at most budget_s seconds. 1: new versions; 2: new versions, and more to read; 0: nothing
 * new; < 0: failure.
 */
int sample_history_update(struct sample_history *b, double budget_s, struct err *e);
void sample_history_free(struct sample_history *b);

/* chrF of the version at this very step; NaN: there is none. */
double sample_score_at(const struct sample_sentence *s, int64_t step);

/* Index of the version at step, else of the last version before it; -1: none. */
int sample_version_at(const struct sample_sentence *s, int64_t step);

#endif
