/* token_batch.c - packs token ids into a batch: see token_batch.h */
#include "data/shard/token_batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"

int batch_alloc(struct batch *b, int32_t max_sentences, int32_t max_tokens, struct err *e)
{
	/* In int32_t: pair (two each), two starts (one more each), five rows of tokens. */
	uint64_t units = (uint64_t)max_sentences * 4 + 2 + (uint64_t)max_tokens * 5;
	int32_t *p;

	memset(b, 0, sizeof(*b));
	if (max_sentences < 1 || max_tokens < 1 || units > SIZE_MAX)
		return err_set(e, ERR_INTERNAL,
			       "cannot allocate a batch of %d sentences and %d tokens",
			       max_sentences, max_tokens);
	p = b->memory = mem_alloc_aligned((size_t)units, sizeof(*p), e);
	if (!p)
		return e->code;
	b->pair = b->memory;
	b->source_start = p + 2 * (size_t)max_sentences;
	b->target_start = b->source_start + max_sentences + 1;
	b->source = b->target_start + max_sentences + 1;
	b->source_position = b->source + max_tokens;
	b->target_in = b->source_position + max_tokens;
	b->target_out = b->target_in + max_tokens;
	b->target_position = b->target_out + max_tokens;
	b->cap_n = max_sentences;
	b->cap_tokens = max_tokens;
	return 0;
}

void batch_clear(struct batch *b)
{
	b->n = b->n_source = b->n_target = b->max_source = b->max_target = 0;
	if (b->memory)
		b->source_start[0] = b->target_start[0] = 0;
}

static void fill_positions(int32_t *position, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		position[i] = i;
}

int64_t batch_source_tokens(const struct batch *b, int32_t n)
{
	return (int64_t)n + (!b->without_source_end || n == 0);
}

bool batch_add(struct batch *b, int64_t pair, const int32_t *source, int32_t n_source,
	       const int32_t *target, int32_t n_target)
{
	/* 64 bits: lengths come from files, and one special token is added to each. */
	int64_t ns = batch_source_tokens(b, n_source), nt = target ? (int64_t)n_target + 1 : 0;
	int32_t *in = b->target_in + b->n_target, *out = b->target_out + b->n_target;

	if (b->n >= b->cap_n || n_source < 0 || nt < 0 || b->n_source + ns > b->cap_tokens ||
	    b->n_target + nt > b->cap_tokens)
		return false;
	if (n_source)
		memcpy(b->source + b->n_source, source, (size_t)n_source * sizeof(*source));
	if (ns > n_source)
		b->source[b->n_source + n_source] = TOKEN_END;
	fill_positions(b->source_position + b->n_source, (int32_t)ns);
	if (target) {
		in[0] = TOKEN_START;
		if (n_target) {
			memcpy(in + 1, target, (size_t)n_target * sizeof(*target));
			memcpy(out, target, (size_t)n_target * sizeof(*target));
		}
		out[n_target] = TOKEN_END;
		fill_positions(b->target_position + b->n_target, (int32_t)nt);
	}
	assert(b->source_start[b->n] == b->n_source && b->target_start[b->n] == b->n_target);
	b->pair[b->n++] = pair;
	b->n_source += (int32_t)ns;
	b->n_target += (int32_t)nt;
	b->source_start[b->n] = b->n_source;
	b->target_start[b->n] = b->n_target;
	b->max_source = MAX(b->max_source, (int32_t)ns);
	b->max_target = MAX(b->max_target, (int32_t)nt);
	return true;
}

void batch_free(struct batch *b)
{
	free(b->memory);
	memset(b, 0, sizeof(*b));
}
