/*
 * workspace_index.h - the corpora and runs of a workspace, kept up to date.
 *
 *	struct workspace_index p = { 0 };
 *	workspace_index_update(&p, workspace, now, 0.02, e);	repeatedly
 *	… p.corpora[i], p.runs[i] …
 *	workspace_index_free(&p);
 *
 * Folders are listed every few seconds. Of a run's journal only the new part is read. Unknown
 * values are -1, NaN or "".
 */
#ifndef WERKBANK_TUI_RUN_WORKSPACE_INDEX_H
#define WERKBANK_TUI_RUN_WORKSPACE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "tui/plot/series.h"
#include "tui/run/status.h"

#define INDEX_POINTS   64 /* points of a loss curve */
#define INDEX_ARCHIVES 16 /* archives of a fetch; further archives are dropped */

/* The progress of a preparation or fetch, from progress.json (data/source/progress.h). */
struct prep_progress {
	bool exists; /* progress.json exists */
	bool alive;  /* its writer runs, as far as this host can tell */
	char stage[24], unit[16];
	int64_t done, total; /* total 0: unknown */
	double rate, began, t;
	size_t n_archives;
	struct {
		char name[64], words[24];
		int64_t done, total;
		double rate;
	} archives[INDEX_ARCHIVES];
};

/* Read progress.json; a missing or damaged file gives exists = false. */
void prep_progress_read(struct prep_progress *p, const char *path, double now);
double prep_progress_share(const struct prep_progress *p); /* 0..1, NaN: unknown */
double prep_progress_left(const struct prep_progress *p);  /* seconds, NaN: unknown */

enum corpus_state { CORPUS_READY, CORPUS_WORKING, CORPUS_UNFINISHED };

struct indexed_corpus {
	char name[101];
	enum corpus_state state;
	char source[16], target[16]; /* languages */
	int64_t read, train, dev, test, vocabulary;
	int clear_verdicts; /* against the corpus; -1: not judged */
	double changed;	    /* unix seconds: mtime of manifest.json, else of the folder */
	struct prep_progress progress;
	double manifest_mtime; /* private */
};

struct indexed_run {
	struct run_status status;
	double changed;			/* unix seconds: mtime of the journal */
	bool is_fully_read;		/* the journal has been read to its end */
	struct series loss;		/* NLL of training over steps, INDEX_POINTS points; owned */
	struct journal_reader *journal; /* private, owned */
	char *folder;			/* private, owned */
	double checked_at;		/* private: when its files were read last */
	double state_mtime;		/* private: mtime of state.json at that time */
	double read_mtime; /* private: mtime of the journal when it was read to its end */
};

struct workspace_index {
	struct indexed_corpus *corpora; /* owned; sorted by name */
	struct indexed_run *runs;	/* owned; running ones first, then newest first */
	size_t n_corpora, n_runs;
	/* Why corpora or runs cannot be listed; text "": they can. */
	struct err corpora_trouble, runs_trouble;
	bool no_runs;	  /* set by callers that need only corpora */
	bool judges_runs; /* set by callers that need status.health of the runs */
	size_t next_run;  /* private: the run to read first at the next update */
	double listed_at; /* private: when the folders were listed; 0: never */
};

enum { INDEX_UNCHANGED = 0, INDEX_CHANGED = 1, INDEX_MORE = 2 };

/* now: unix seconds, above 0. Returns one of the values above, or < 0. Files that cannot be read are treated as missing. */
int workspace_index_update(struct workspace_index *p, const char *workspace, double now,
			   double budget_s, struct err *e);
void workspace_index_free(struct workspace_index *p);

/* The corpus of that name; NULL: none. Borrowed until the next update. */
const struct indexed_corpus *workspace_index_corpus(const struct workspace_index *p,
						    const char *name); /* NULL: not found */
const char *corpus_state_name(enum corpus_state state);

#endif
