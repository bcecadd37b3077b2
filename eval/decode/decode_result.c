/* decode_result.c - memory of results; see decode.h and beam_internal.h */
#include <stdlib.h>
#include <string.h>

#include "eval/decode/beam_internal.h"
#include "share/base/mem.h"

int decode_hypothesis_alloc(struct decode_hypothesis *h, int32_t n, const struct decode_options *o,
			    struct err *e)
{
	const size_t room = (size_t)MAX(n, 1);

	h->n = n;
	h->tokens = mem_alloc(room, sizeof(*h->tokens), e);
	if (!h->tokens ||
	    (o->alignments && !(h->aligned = mem_alloc(room, sizeof(*h->aligned), e))) ||
	    (o->token_scores && !(h->log_probs = mem_alloc(room, sizeof(*h->log_probs), e))))
		return e->code;
	return 0;
}

void decode_results_free(struct decode_result *results, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (int32_t h = 0; results[i].hypotheses && h < results[i].n; h++) {
			free(results[i].hypotheses[h].tokens);
			free(results[i].hypotheses[h].aligned);
			free(results[i].hypotheses[h].log_probs);
		}
		free(results[i].hypotheses);
		memset(&results[i], 0, sizeof(results[i]));
	}
}
