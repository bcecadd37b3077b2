/*
 * workspace_index.h - what there is in a workspace: its corpora and its runs, kept up to date.
 *
 *	struct places p = { 0 };
 *	workspace_index_update(&p, workspace, now, 0.02, e);	again and again
 *	… p.corpora[i], p.runs[i] …
 *	workspace_index_free(&p);
 *
 * Folders are listed again every few seconds; of a run only what its journal has
 * grown by is read. What is not known is -1, NaN or "".
 */
#ifndef WERKBANK_TUI_RUN_WORKSPACE_INDEX_H
#define WERKBANK_TUI_RUN_WORKSPACE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "tui/run/status.h"

#define INDEX_ARCHIVES 16 /* shown of a fetch; further ones are not kept */

/* What a preparation or a fetch is at: its progress.json (data/source/progress.h). */
struct prep_progress {
	bool exists; /* there is such a file */
	bool alive;  /* whoever writes it is at work, as far as one can tell from here */
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

/* Read it; a file that is not there or damaged is one that is not there. */
void prep_progress_read(struct prep_progress *p, const char *path, double now);
double prep_progress_share(const struct prep_progress *p); /* 0..1, NaN: unknown */
double prep_progress_left(const struct prep_progress *p);  /* seconds, NaN: unknown */

enum corpus_state { CORPUS_READY, CORPUS_WORKING, CORPUS_UNFINISHED };

struct indexed_corpus {
	char name[101];
	enum corpus_state state;
	char source[16], target[16]; /* languages */
	int64_t read, train, dev, test, vocabulary;
	double changed; /* unix seconds: of manifest.json, or the folder */
	struct prep_progress progress;
	double manifest_mtime; /* private */
};

struct indexed_run {
	struct run_status status;
	double changed;			/* unix seconds: of the journal */
	bool is_fully_read;		/* the journal has been read to its end */
	struct journal_reader *journal; /* private, owned */
	char *folder;			/* private, owned */
	double checked_at;		/* private: when its files were read … */
	double state_mtime;		/* … and state.json of then */
};

struct workspace_index {
	struct indexed_corpus *corpora; /* owned; by name */
	struct indexed_run *runs;	/* owned; alive first, then the newest first */
	size_t n_corpora, n_runs;
	bool no_runs;	  /* set it where only corpora matter */
	double listed_at; /* private: when folders were listed; 0: never */
};

enum { INDEX_UNCHANGED = 0, INDEX_CHANGED = 1, INDEX_MORE = 2 };

/* As history_update(): one of these, or < 0. What cannot be read is as if it were not there. */
int workspace_index_update(struct workspace_index *p, const char *workspace, double now,
			   double budget_s, struct err *e);
void workspace_index_free(struct workspace_index *p);

const struct indexed_corpus *workspace_index_corpus(const struct workspace_index *p,
						    const char *name); /* or NULL */
const char *corpus_state_name(enum corpus_state state);

#endif
