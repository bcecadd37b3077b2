/*
 * prep_stages.h - what the stages of preparation share; only prep*.c include this.
 *
 * A stage reads files that earlier stages wrote and writes files of its own;
 * nothing else passes between them but struct prep_numbers, which is kept in the
 * record of each stage (work/STAGE.json). So a stage whose key - the keys of the
 * stages it reads from, and the options it asks for - has not changed is not run
 * again, after a kill as after a change of options (prep_plan.h). Which options a stage depends on
 * stands in the table in prep.c.
 *
 *	stage	reads			writes
 *	read	archives or files	work/words, work/side-K.source, work/side-K.target
 *					(K: number of the training text), SET.LANG
 *	judge	words, sides, SET.LANG	work/verdicts, work/counts
 *	learn	words, counts		bpe.codes, or sentencepiece.model and work/sentencepiece.vocab
 *	encode	words, sides, verdicts,	vocab.tsv, work/ids, work/verdicts.final
 *		counts, codes
 *	pack	sides, ids, final,	train.shard dev.shard test.shard
 *		SET.LANG, codes
 *	ledger	words, sides, ids,	ledger.tsv stats.json
 *		final, numbers
 *
 * work/verdicts and work/verdicts.final hold one byte a training pair, in the order
 * of the sources: enum clean_rule. work/counts holds an int64 a word: how often it
 * stands in the pairs that judge kept.
 */
#ifndef WERKBANK_DATA_PREP_PREP_STAGES_H
#define WERKBANK_DATA_PREP_PREP_STAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "data/text/clean.h"
#include "data/words/intern.h"
#include "data/source/progress.h"
#include "data/source/texts.h"
#include "share/conf/conf.h"
#include "share/base/err.h"

#define PREP_MAX_SETS TEXTS_MAX_SETS

/* What stages found out. Plain numbers only: prep_record.c has the table that keeps them in files. */
struct prep_numbers {
	int64_t read;			    /* training pairs in the sources */
	int64_t source_bytes, target_bytes; /* of training text, raw */
	int64_t distinct_words;		    /* in the table, of both sides */
	int64_t dropped[CLEAN_N_RULES];
	int64_t merges, vocabulary;
	/* of each set, in the order of texts.sets; pairs of train: after cleaning */
	int64_t pairs[PREP_MAX_SETS], source_tokens[PREP_MAX_SETS], target_tokens[PREP_MAX_SETS];
	int64_t unknown_tokens[PREP_MAX_SETS];
	int64_t in_train[PREP_MAX_SETS]; /* training pairs equal to one of this set */
};

struct prep {
	const struct conf *c;
	char *folder, *work; /* owned */
	int threads;
	struct progress progress;
	struct texts texts; /* sets after train, dev, test: kept as text only */
	struct prep_numbers numbers;
	struct intern words; /* owned; empty until prep_words() */
	char path[4096];     /* of prep_path() */
};

/*
 * folder/NAME, formatted into p->path: valid until the next call. A name too long: NULL and
 * ERR_CONFIG.
 */
const char *prep_path(struct prep *p, struct err *e, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The table of words, loaded when it is not there yet; borrowed. NULL: failure. */
const struct intern *prep_words(struct prep *p, struct err *e);

/* The stages. Each starts and ends its own progress. */
int prep_read(struct prep *p, struct err *e);
int prep_filter_pairs(struct prep *p, struct err *e);
int prep_learn_pieces(struct prep *p, struct err *e);
int prep_encode(struct prep *p, struct err *e);
int prep_pack_shards(struct prep *p, struct err *e);
int prep_write_ledger(struct prep *p, struct err *e);
/* --keep-text: the training text after each step, under the names of the reference scripts. */
int prep_export_text(struct prep *p, struct err *e);

#endif
