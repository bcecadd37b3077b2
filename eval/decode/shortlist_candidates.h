/*
 * shortlist_candidates.h - the candidate tokens of the sentences of a batch.
 *
 * The candidates of a sentence depend on this sentence alone, so a translation does not depend on
 * the batch. Logits are computed for the union of all candidates of the batch.
 */
#ifndef WERKBANK_EVAL_DECODE_SHORTLIST_CANDIDATES_H
#define WERKBANK_EVAL_DECODE_SHORTLIST_CANDIDATES_H

#include <stddef.h>
#include <stdint.h>

#include "data/shard/shortlist.h"
#include "data/shard/token_batch.h"
#include "eval/decode/decode.h"
#include "share/base/err.h"

struct shortlist_candidates {
	int32_t n;    /* candidates of all sentences together */
	int32_t *ids; /* (n) owned: their token ids, rising */
	/* sentence s has the candidates ids[positions[i]] for i = start[s] ... start[s + 1] - 1 */
	int32_t *start;		  /* (sentences + 1) owned */
	int32_t *positions;	  /* (start[sentences]) owned */
	int32_t max_per_sentence; /* the greatest number of candidates of a sentence */
	/* private */
	size_t cap_ids, cap_start, cap_positions;
	uint64_t *sentence_set, *batch_set; /* (vocabulary / 64, rounded up) owned */
};

/*
 * Finds the candidates of a batch: the tokens that l has for the source tokens, its frequent
 * tokens, the tokens of constraints (one pointer per sentence, NULL: none; or NULL) and </s>.
 * *w must be zeroed before the first call; the caller frees it with shortlist_candidates_free().
 */
int shortlist_candidates_find(struct shortlist_candidates *w, const struct shortlist *l,
			      int32_t vocabulary, const struct batch *b,
			      const struct decode_constraint *const *constraints, struct err *e);
void shortlist_candidates_free(struct shortlist_candidates *w);

#endif
