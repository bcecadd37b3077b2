/*
 * prep_stages.h - the stages of preparation, their files, and the state they share
 *
 * Only prep*.c include this. A stage reads files of earlier stages and writes files of its own;
 * besides files only struct prep_numbers passes between stages, and it is saved in the record of
 * each stage (work/STAGE.json). A stage runs again only if its key changes: its options (table in
 * prep.c) or the keys of the stages it reads from (prep_plan.h).
 *
 *	stage	reads			writes
 *	read	archives or files	work/words, work/side-K.source, work/side-K.target
 *					(K: number of the training text), SET.LANG
 *	judge	words, sides, SET.LANG	work/verdicts, work/counts
 *	learn	words, counts		bpe.codes, or sentencepiece.model and
 *					work/sentencepiece.vocab; of each subword model
 *	encode	words, sides, verdicts,	vocab.tsv, work/ids, work/verdicts.final; ids of
 *		counts, codes		each subword model, vocab.tsv of each vocabulary
 *	pack	sides, ids, final,	train.shard dev.shard test.shard
 *		SET.LANG, codes
 *	ledger	words, sides, ids,	ledger.tsv stats.json
 *		final, numbers
 *
 * work/verdicts and work/verdicts.final: one byte (enum clean_rule) for each training pair, in the
 * order of the sources. work/counts: an int64 for each word, its occurrences in the pairs that
 * judge kept; of the source side, then of the target side, if each side has a subword model.
 */
#ifndef WERKBANK_DATA_PREP_PREP_STAGES_H
#define WERKBANK_DATA_PREP_PREP_STAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "data/source/progress.h"
#include "data/source/texts.h"
#include "data/text/clean.h"
#include "data/words/intern.h"
#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"
#include "share/conf/text_sides.h"
#include "share/format/json.h"

#define PREP_MAX_SETS TEXTS_MAX_SETS

/* Results of stages: integers only, each listed in the table of prep_record.c that saves them. */
struct prep_numbers {
	int64_t read;			    /* training pairs in the sources */
	int64_t source_bytes, target_bytes; /* of the raw training text */
	int64_t distinct_words;		    /* entries of the word table, both sides together */
	int64_t dropped[CLEAN_N_RULES];
	int64_t merges; /* BPE merges, or SentencePiece pieces, that were learned */
	int64_t vocabulary;
	/* of the source alone; 0: both sides share the model, or the vocabulary */
	int64_t source_merges, source_vocabulary;
	/* for each set, in the order of texts.sets; train counts the kept pairs */
	int64_t pairs[PREP_MAX_SETS], source_tokens[PREP_MAX_SETS], target_tokens[PREP_MAX_SETS];
	int64_t unknown_tokens[PREP_MAX_SETS];
	int64_t in_train[PREP_MAX_SETS]; /* training pairs equal to one of this set */
};

struct prep {
	const struct conf *c;
	char *folder, *work; /* owned */
	int threads;
	struct progress progress;
	struct texts texts; /* further sets (besides train, dev, test) stay text only */
	struct prep_numbers numbers;
	struct intern words; /* owned: the word table; empty until prep_words() */
	char path[4096];     /* result of prep_path() */
};

/*
 * Format folder/NAME into p->path, valid until the next call; for the main thread only. A path that
 * is too long: NULL and ERR_CONFIG.
 */
const char *prep_path(struct prep *p, struct err *e, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Replace folder/NAME by these bytes, atomically. */
int prep_write_file(struct prep *p, const char *name, const void *bytes, size_t n, struct err *e);
/* The same with the contents of a buffer; ERR_NOMEM if an addition to it failed. */
int prep_write_buf(struct prep *p, const char *name, const struct buf *b, struct err *e);
/* Remove folder/NAME, if it is there. */
int prep_remove_file(struct prep *p, struct err *e, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The word of the tag of training text i; -1: it has none. The word table is loaded. */
int32_t prep_tag_word(const struct prep *p, size_t i);

/* Of the subword model of a side: p->numbers.merges, or source_merges. */
int64_t *prep_merges(struct prep *p, int side);
/* For stats.json and manifest.json: merges and vocabulary of the source, if it has its own. */
void prep_put_source_counts(struct json_writer *w, const struct prep *p);
/* Names in work/: the ids of all words, and the pieces with scores of a SentencePiece model, of a side. */
const char *prep_ids_name(const struct prep *p, int side);
const char *prep_piece_list(const struct prep *p, int side);

/* The word table p->words, loaded from work/words if necessary. NULL: failure. */
const struct intern *prep_words(struct prep *p, struct err *e);

/* The stages. Each starts and ends its own progress. */
int prep_read(struct prep *p, struct err *e);
int prep_filter_pairs(struct prep *p, struct err *e);
int prep_learn_pieces(struct prep *p, struct err *e);
int prep_encode(struct prep *p, struct err *e);
int prep_pack_shards(struct prep *p, struct err *e);
int prep_write_ledger(struct prep *p, struct err *e);
/* --keep-text: write the text after each step, with the file names of the reference scripts. */
int prep_export_text(struct prep *p, struct err *e);

#endif
