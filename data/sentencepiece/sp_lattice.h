/*
 * sp_lattice.h - all splits of a text by a unigram model: a random one, or the N best ones.
 *
 * Kudo 2018, "Subword regularization", section 3. The pieces that occur in the text are arcs of a
 * lattice between its bytes.
 */
#ifndef WERKBANK_DATA_SENTENCEPIECE_SP_LATTICE_H
#define WERKBANK_DATA_SENTENCEPIECE_SP_LATTICE_H

#include "data/sentencepiece/sp_unigram.h"
#include "share/base/rng.h"

#define SP_LATTICE_MOST 1024 /* splits that sp_lattice_find_best() lists */

/* Work space for one text after another; zero at first. */
struct sp_lattice {
	struct lattice_arc {
		int32_t start, end; /* bytes */
		int32_t id;	    /* -1: the unknown token */
		int32_t previous;   /* arc with the same end; -1: none */
		double score;
	} * arcs; /* owned: (n_arcs) by start */
	size_t n_arcs, cap_arcs;
	int32_t n; /* bytes of the text */
	struct lattice_end {
		int32_t last; /* arc with this end; -1: none */
		double alpha; /* log of the sum of exp(theta * score) over all splits up to here */
		size_t paths, n_paths; /* the best splits up to here */
	} * ends;		       /* owned: (n + 1) */
	size_t cap_ends;
	struct lattice_path {
		double score;
		int32_t arc, rank; /* the last part, and the path before it */
	} * paths;		   /* owned: (n_paths), in groups by end, best first */
	size_t n_paths, cap_paths;
};

/* Find the arcs of a text (n >= 1). ERR_DATA: it has 2^31 bytes or more. */
int sp_lattice_fill(struct sp_lattice *l, const struct unigram_table *t, const char *text, size_t n,
		    struct err *e);
void sp_lattice_free(struct sp_lattice *l);

/*
 * Replace the parts of *to by a random split, with probability proportional to exp(theta * score): forward
 * filtering and backward sampling. theta > 0; small values come near to the uniform distribution. Each
 * part uses one random number of key, from number first on.
 */
int sp_lattice_sample(struct sp_lattice *l, double theta, struct rng_key key, uint64_t first,
		      struct sp_split *to, struct err *e);

/*
 * Find the splits with the best scores, at most wanted (1 to SP_LATTICE_MOST). *found: their number. Memory:
 * up to wanted * 16 bytes for each byte of text.
 */
int sp_lattice_find_best(struct sp_lattice *l, size_t wanted, size_t *found, struct err *e);
/* Draw one of the found splits, with probability proportional to exp(theta * score): its rank. */
size_t sp_lattice_draw_rank(const struct sp_lattice *l, double theta, struct rng_key key);
/* Replace the parts of *to by split number rank that was found, 0: the best. *score: its score. */
int sp_lattice_get_best(const struct sp_lattice *l, size_t rank, struct sp_split *to, double *score,
			struct err *e);

#endif
