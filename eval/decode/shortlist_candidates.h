/*
 * shortlist_candidates.h - the tokens that the sentences of a batch may be translated with.
 *
 * A sentence's tokens depend on itself alone; what is computed for the batch are those of all its
 * sentences together.
 */
#ifndef WERKBANK_EVAL_DECODE_SHORTLIST_CANDIDATES_H
#define WERKBANK_EVAL_DECODE_SHORTLIST_CANDIDATES_H

#include <stddef.h>
#include <stdint.h>

#include "data/shard/token_batch.h"
#include "data/shard/shortlist.h"
#include "eval/decode/decode.h"
#include "share/base/err.h"

struct shortlist_candidates {
	int32_t n;		  /* tokens of all sentences together */
	int32_t *ids;		  /* (n) owned, rising */
	int32_t *start;		  /* (sentences + 1) owned */
	int32_t *positions;	  /* (start[sentences]) owned: where each one's are in ids */
	int32_t max_per_sentence; /* tokens of one sentence, at most */
	/* private */
	size_t cap_ids, cap_start, cap_positions;
	uint64_t *sentence_set, *batch_set; /* (vocabulary / 64, rounded up) owned */
};

/*
 * Those of a batch: what l allows for its sources, and the tokens of the wishes, of which there are
 * as many as sentences, NULL where there is none; </s> always. Zeroed before the first call.
 */
int shortlist_candidates_find(struct shortlist_candidates *w, const struct shortlist *l,
			      int32_t vocabulary, const struct batch *b,
			      const struct decode_constraint *const *constraints, struct err *e);
void shortlist_candidates_free(struct shortlist_candidates *w);

#endif
