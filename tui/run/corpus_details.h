/*
 * corpus_details.h - one corpus as the data view shows it: stages, numbers, ledger, vocabulary, splitting.
 *
 *	corpus_details_choose(&b, workspace, name, e)	another corpus; the old one is let go
 *	corpus_details_update(&b, corpus, e)			what its files say now
 *	corpus_details_open(&b, DATA_DROPPED)		what a pane needs, when it is first looked at
 *	corpus_details_close(&b)
 */
#ifndef WERKBANK_TUI_RUN_CORPUS_DETAILS_H
#define WERKBANK_TUI_RUN_CORPUS_DETAILS_H

#include <stdbool.h>
#include <stdint.h>

#include "data/drop_ledger_read.h"
#include "data/subword/piece_trace.h"
#include "data/words/vocab.h"
#include "share/base/json.h"
#include "tui/run/workspace_index.h"

enum data_pane { DATA_STAGES, DATA_DROPPED, DATA_VOCABULARY, DATA_SPLIT, DATA_PANES };

enum stage_state { STAGE_WAITING, STAGE_RUNNING, STAGE_DONE, STAGE_ENDED };

#define DATA_N_STAGES 6

struct data_stage {
	const char *name, *does;
	enum stage_state state; /* ENDED: the preparation ended in it */
	bool is_reused;		/* it was done by an earlier preparation */
	double seconds;		/* NaN: unknown */
	int64_t in, out, bytes; /* pairs, pairs, bytes written; -1: unknown */
};

struct corpus_details {
	char name[101]; /* "" none chosen */
	char *folder;	/* owned */
	struct indexed_corpus corpus;
	struct data_stage stages[DATA_N_STAGES];
	struct json *stats;	  /* owned; NULL: there is none */
	struct drop_rows *ledger; /* owned; these three NULL until corpus_details_open() */
	struct vocab *vocab;
	struct piece_tracer *splitter;
	char trouble[DATA_PANES][200]; /* why a pane has nothing to show; "" */
	double seen;		       /* private: manifest.json when stats were read; NaN: none */
};

int corpus_details_choose(struct corpus_details *b, const char *workspace, const char *name,
			  struct err *e);
/* true: something has changed. */
bool corpus_details_update(struct corpus_details *b, const struct indexed_corpus *corpus);
/* What is open already stays; on failure trouble[pane] says why. */
void corpus_details_open(struct corpus_details *b, enum data_pane pane);
void corpus_details_close(struct corpus_details *b);

#endif
