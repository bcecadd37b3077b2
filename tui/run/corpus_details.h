/*
 * corpus_details.h - one corpus for the data view: stages, statistics, ledger, vocabulary, splits.
 *
 *	corpus_details_choose(&b, workspace, name, e)	select a corpus; releases the old one
 *	corpus_details_update(&b, corpus, e)		read its files if they changed
 *	corpus_details_open(&b, DATA_DROPPED)		load the data of a pane on first use
 *	corpus_details_close(&b)
 */
#ifndef WERKBANK_TUI_RUN_CORPUS_DETAILS_H
#define WERKBANK_TUI_RUN_CORPUS_DETAILS_H

#include <stdbool.h>
#include <stdint.h>

#include "data/inspect/drop_ledger_read.h"
#include "data/inspect/pair_texts.h"
#include "data/inspect/pair_trial.h"
#include "data/pipeline/piece_trace.h"
#include "data/words/vocab.h"
#include "share/format/json.h"
#include "tui/run/workspace_index.h"

enum data_pane {
	DATA_STAGES,
	DATA_PAIRS,
	DATA_RULES,
	DATA_DROPPED,
	DATA_REPEATS,
	DATA_VOCABULARY,
	DATA_SPLIT,
	DATA_PANES
};

enum stage_state { STAGE_WAITING, STAGE_RUNNING, STAGE_DONE, STAGE_ENDED };

#define DATA_N_STAGES 6

struct data_stage {
	const char *name, *does;
	enum stage_state state; /* STAGE_ENDED: the preparation stopped in this stage */
	bool is_reused;		/* reused from an earlier preparation */
	double seconds;		/* NaN: unknown */
	int64_t in, out, bytes; /* pairs, pairs, bytes written; -1: unknown */
};

struct corpus_details {
	char name[101]; /* "": no corpus chosen */
	char *folder;	/* owned */
	struct indexed_corpus corpus;
	struct data_stage stages[DATA_N_STAGES];
	struct json *stats;	  /* owned; NULL: no stats.json */
	struct drop_rows *ledger; /* owned; these four are NULL until corpus_details_open() */
	struct pair_facts *facts; /* for the panes pairs, rules, dropped and repeats */
	struct vocab *vocab;
	struct piece_tracer *tracer;
	struct pair_texts *texts; /* owned; NULL until the first texts are wanted */
	bool facts_are_read, texts_are_read;
	char trouble[DATA_PANES][200]; /* why a pane is empty; "" */
	char facts_trouble[200];       /* why there are no facts, or not all; "" */
	double seen; /* private: mtime of manifest.json when stats were read; NaN: not read */
};

/* Select a corpus by name ("": none). ERR_NOMEM. */
int corpus_details_choose(struct corpus_details *b, const char *workspace, const char *name,
			  struct err *e);
/* Returns true if something changed. */
bool corpus_details_update(struct corpus_details *b, const struct indexed_corpus *corpus);
/* Load what the pane needs, once; on failure trouble[pane] says why. */
void corpus_details_open(struct corpus_details *b, enum data_pane pane);
/*
 * Read more of the facts and texts, for about budget_s seconds. Returns true if something was read;
 * failures are in facts_trouble.
 */
bool corpus_details_read_facts(struct corpus_details *b, double budget_s);
/* Read the texts of these pairs next; what cannot be read stays without text. */
void corpus_details_want_texts(struct corpus_details *b, const struct pair_place *places, size_t n);
/* Is there something left to read by corpus_details_read_facts()? */
bool corpus_details_is_reading(const struct corpus_details *b);
void corpus_details_close(struct corpus_details *b);

/* What speaks against the corpus, from its stats.json: the number of verdicts. */
int corpus_details_n_verdicts(const struct corpus_details *b);
/* Append verdict i as text to out; foreign words are in it. Returns whether the verdict is clear. */
bool corpus_details_describe_verdict(const struct corpus_details *b, int i, struct buf *out);

#endif
