/* resplit.c - chooses how to split training sentences again: see resplit.h */
#include "data/pipeline/resplit.h"

#include <stdlib.h>
#include <string.h>

#include "data/pipeline/bpe_dropout.h"
#include "data/sentencepiece/unigram_resplit.h"
#include "share/base/mem.h"
#include "share/conf/text_sides.h"

/* At most one is not NULL. */
struct resplit {
	struct bpe_dropout *dropout;
	struct unigram_resplit *unigram;
	int32_t first; /* the token that begins each sentence, which stays; TOKEN_PAD: none */
};

bool resplit_is_wanted(const struct conf *c)
{
	return c->bpe_dropout > 0 || c->unigram_sampling > 0;
}

static int check_resplit_options(const struct conf *c, struct err *e)
{
	const bool source = text_segmentation(c, 0) == SEGMENTATION_UNIGRAM;
	const bool target = text_segmentation(c, 1) == SEGMENTATION_UNIGRAM;

	if (c->bpe_dropout > 0 && source && target)
		return err_set(e, ERR_CONFIG,
			       "bpe_dropout needs a corpus with BPE, this one has unigram pieces: "
			       "use unigram_sampling");
	if (c->unigram_sampling > 0 && !source && !target)
		return err_set(e, ERR_CONFIG,
			       "unigram_sampling needs a corpus with segmentation = unigram, this "
			       "one has BPE: use bpe_dropout");
	return 0;
}

struct resplit *resplit_open(const char *folder, const struct conf *c, int side,
			     const struct vocab *v, struct err *e)
{
	struct resplit *r = check_resplit_options(c, e) ? NULL : mem_alloc(1, sizeof(*r), e);
	const bool is_unigram = text_segmentation(c, side) == SEGMENTATION_UNIGRAM;
	const char *first = side ? c->target_first_token : c->source_first_token;

	if (r && first && *first)
		r->first = vocab_named_id(v, first);
	if (!r || (is_unigram ? c->unigram_sampling : c->bpe_dropout) <= 0)
		return r;
	if (is_unigram)
		r->unigram = unigram_resplit_open(folder, c, side, v, e);
	else
		r->dropout = bpe_dropout_open(folder, c, side, v, e);
	if (r->unigram || r->dropout)
		return r;
	free(r);
	return NULL;
}

int resplit_sentence(struct resplit *r, const struct resplit_key *place, const int32_t *ids,
		     int32_t n, int32_t **out, size_t *n_out, size_t *cap, struct err *e)
{
	if (r->first != TOKEN_PAD && n && ids[0] == r->first) {
		if (mem_grow(out, cap, *n_out + 1, sizeof(*ids), e))
			return e->code;
		(*out)[(*n_out)++] = *ids++;
		n--;
	}
	if (r->unigram)
		return unigram_resplit_sentence(r->unigram, place, ids, n, out, n_out, cap, e);
	if (r->dropout)
		return bpe_dropout_sentence(r->dropout, place, ids, n, out, n_out, cap, e);
	if (mem_grow(out, cap, *n_out + (size_t)n, sizeof(*ids), e))
		return e->code;
	if (n)
		memcpy(*out + *n_out, ids, (size_t)n * sizeof(*ids));
	*n_out += (size_t)n;
	return 0;
}

void resplit_close(struct resplit *r)
{
	if (!r)
		return;
	bpe_dropout_close(r->dropout);
	unigram_resplit_close(r->unigram);
	free(r);
}
