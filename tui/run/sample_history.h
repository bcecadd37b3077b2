/*
 * sample_history.h - the same development sentences, checkpoint after checkpoint.
 *
 *	struct sample_history *b = sample_history_open(run_folder, e);
 *	sample_history_update(b, 0.02, e);			again and again: samples.jsonl may grow
 *	… b->sentences[i].versions[v].hypothesis …
 *	sample_history_free(b);
 *
 * Memory is bounded: of a long run every second version in between is forgotten whenever
 * there would be more than SAMPLE_VERSIONS; the first and the newest stay. A run that resumes
 * does some steps again: versions from there on are replaced.
 */
#ifndef WERKBANK_TUI_RUN_SAMPLE_HISTORY_H
#define WERKBANK_TUI_RUN_SAMPLE_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

#define SAMPLE_SENTENCES 64   /* further ones are not kept */
#define SAMPLE_VERSIONS	 64   /* of each; even */
#define SAMPLE_TEXT	 2000 /* bytes of a text; the rest is cut */

struct sample_version {
	int64_t step;
	char *hypothesis; /* owned */
};

struct sample_sentence {
	int64_t id;
	char *source, *reference;			 /* owned */
	struct sample_version versions[SAMPLE_VERSIONS]; /* by step */
	size_t n;
};

struct sample_history {
	struct sample_sentence *sentences; /* owned: (SAMPLE_SENTENCES), as in the file */
	size_t n;
	struct journal_reader *reader; /* private, owned */
	char *path;		       /* private, owned */
};

struct sample_history *sample_history_open(const char *run_folder, struct err *e);

/* 1: something is new; 2: and there is more, call again; 0: nothing; < 0: failure. */
int sample_history_update(struct sample_history *b, double budget_s, struct err *e);
void sample_history_free(struct sample_history *b);

/* The version of step, else the last one before it; -1: none. */
int sample_version_at(const struct sample_sentence *s, int64_t step);

#endif
