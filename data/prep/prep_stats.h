/*
 * prep_stats.h - statistics of all training pairs, counted by the ledger stage: stats.json
 *
 *	{"v":1, "name", "source_language", "target_language", "segmentation",
 *	 "pairs":{"read", "train", "dev", ...}, "dropped":{RULE: pairs, ...},
 *	 "texts":[{"name", "pairs", "kept", "source_bytes", "target_bytes", "source_words",
 *	           "target_words", "dropped":{RULE: pairs, where not 0}}, ...],
 *	 "distinct_words", "merges", "vocabulary",
 *	 "source":{"language", "words", "tokens", "one_piece", "tokens_per_word", "whole_words",
 *	           "words_a_line":{"step":5, "lines":[of 1 to 5 words, of 6 to 10, ...]},
 *	           "tokens_a_line":...}, "target":...,
 *	 "held_out":[{"set", "pairs", "source_tokens", "target_tokens", "unknown_tokens",
 *	              "in_train"}, ...],
 *	 "judged":{"pairs", "alignment": share of wins (data/judge/alignment.h), where known},
 *	 "verdicts":[{"rule", "confidence":"clear" or "likely", "set", "text", "first", "last": lines of
 *	              a bad stretch, where there is one, "bad", "judged": lines, "what", "cure",
 *	              "examples":[{"line", "source", "target"}, ...]}, ...]}
 *
 * "texts": the training texts in order; bytes and words count kept and dropped pairs. "source" and
 * "target" count kept pairs only. one_piece: running words that stay one piece; whole_words: their
 * share. tokens_per_word is also called fertility. No times are stored: equal corpora have equal
 * files.
 */
#ifndef WERKBANK_DATA_PREP_PREP_STATS_H
#define WERKBANK_DATA_PREP_PREP_STATS_H

#include "data/prep/prep_stages.h"
#include "data/prep/prep_verdicts.h"
#include "data/prep/token_column.h"
#include "data/prep/word_ids.h"

#define STATS_BIN_WIDTH 5   /* bins of lengths 1 ... 5, 6 ... 10, ... */
#define STATS_N_BINS	100 /* the last bin holds all longer lines */

struct side_stats {
	int64_t words, tokens, one_piece;
	int64_t by_words[STATS_N_BINS], by_tokens[STATS_N_BINS]; /* lines */
};

struct text_stats {
	int64_t pairs, kept, bytes[2], words[2];
	int64_t dropped[CLEAN_N_RULES];
};

struct prep_stats {
	struct side_stats sides[2];    /* source, target */
	const struct word_ids *ids[2]; /* borrowed: of each side; both may be one object */
	struct text_stats *texts;      /* owned: of each training text */
};

/* Count one pair of text t. A dropped pair counts for the text only, not for the sides. */
void prep_stats_add(struct prep_stats *s, struct text_stats *t, enum clean_rule rule,
		    const struct token_column_line *source, const struct token_column_line *target);

/* Write stats.json, with the verdicts of the judge. */
int prep_stats_write(struct prep *p, const struct prep_stats *s, const struct prep_judge *judge,
		     struct err *e);

#endif
