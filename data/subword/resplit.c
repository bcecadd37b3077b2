/* resplit.c - chooses how to split training sentences again: see resplit.h */
#include "data/subword/resplit.h"

#include <assert.h>
#include <stdlib.h>

#include "data/subword/bpe_dropout.h"
#include "data/subword/unigram_resplit.h"
#include "share/base/mem.h"

/* Exactly one is not NULL. */
struct resplit {
	struct bpe_dropout *dropout;
	struct unigram_resplit *unigram;
};

bool resplit_is_wanted(const struct conf *c)
{
	return c->bpe_dropout > 0 || c->unigram_sampling > 0;
}

static int check_resplit_options(const struct conf *c, struct err *e)
{
	bool is_unigram = c->segmentation == SEGMENTATION_UNIGRAM;

	if (is_unigram ? c->bpe_dropout > 0 : c->unigram_sampling > 0)
		return err_set(
			e, ERR_CONFIG,
			is_unigram ? "bpe_dropout needs a corpus with BPE, this one has unigram "
				     "pieces: use unigram_sampling"
				   : "unigram_sampling needs a corpus with segmentation = "
				     "unigram, this one has BPE: use bpe_dropout");
	return 0;
}

struct resplit *resplit_open(const char *folder, const struct conf *c, const struct vocab *v,
			     struct err *e)
{
	struct resplit *r = check_resplit_options(c, e) ? NULL : mem_alloc(1, sizeof(*r), e);

	if (!r)
		return NULL;
	if (c->segmentation == SEGMENTATION_UNIGRAM)
		r->unigram = unigram_resplit_open(folder, c, v, e);
	else
		r->dropout = bpe_dropout_open(folder, c, v, e);
	if (r->unigram || r->dropout)
		return r;
	free(r);
	return NULL;
}

int resplit_sentence(struct resplit *r, const struct resplit_key *place, const int32_t *ids,
		     int32_t n, int32_t **out, size_t *n_out, size_t *cap, struct err *e)
{
	assert(!r->unigram != !r->dropout);
	return r->unigram ? unigram_resplit_sentence(r->unigram, place, ids, n, out, n_out, cap, e)
			  : bpe_dropout_sentence(r->dropout, place, ids, n, out, n_out, cap, e);
}

void resplit_close(struct resplit *r)
{
	if (!r)
		return;
	bpe_dropout_close(r->dropout);
	unigram_resplit_close(r->unigram);
	free(r);
}
