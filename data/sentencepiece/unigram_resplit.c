/*
 * unigram_resplit.c - samples the splits of sentences on token ids: see unigram_resplit.h
 *
 * No piece crosses "▁", so the words of a sentence are sampled one by one: the product of their
 * probabilities is that of the whole sentence.
 */
#include "data/sentencepiece/unigram_resplit.h"

#include <stdlib.h>
#include <string.h>

#include "data/sentencepiece/sp_lattice.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/conf/text_sides.h"

#define MAX_MODEL ((size_t)256 << 20) /* bytes */

struct unigram_resplit {
	struct sp_model model;
	struct unigram_table table;
	double theta;
	uint64_t seed;
	int32_t *id_of_piece; /* owned: (pieces) token id; -1: none */
	int32_t n_ids;
	struct piece_fact {
		const char *text; /* borrowed from the vocabulary */
		uint32_t n;
		bool is_normal;	  /* else its word keeps its pieces */
		bool begins_word; /* it begins with "▁" */
	} * facts;		  /* owned: (n_ids) by token id */
	struct sp_lattice lattice;
	struct sp_split split;
	struct buf text; /* of one word */
};

/* ---- opening ---- */

static int read_model_of(struct unigram_resplit *u, const char *folder, const struct conf *c,
			 int side, struct err *e)
{
	char *path = file_path(e, "%s/%s", folder, text_codes_file(c, side));
	struct buf bytes = { 0 };
	int rc = path ? file_read_all(path, MAX_MODEL, &bytes, e) : e->code;

	if (!rc)
		rc = sp_model_read(&u->model, bytes.data, bytes.len, path, e);
	if (!rc && !u->model.is_unigram)
		rc = err_set(e, ERR_DATA, "%s: a BPE model, expected a unigram model", path);
	if (!rc)
		rc = unigram_table_open(&u->table, &u->model, e);
	buf_free(&bytes);
	free(path);
	return rc;
}

static int find_piece_facts(struct unigram_resplit *u, const struct vocab *v, struct err *e)
{
	u->n_ids = vocab_size(v);
	u->facts = mem_alloc((size_t)u->n_ids, sizeof(*u->facts), e);
	u->id_of_piece = u->facts ? mem_alloc((size_t)u->model.pieces.n, sizeof(int32_t), e) : NULL;
	if (!u->id_of_piece)
		return e->code;
	for (int32_t i = 0; i < u->model.pieces.n; i++) {
		size_t n;
		const char *text = intern_text(&u->model.pieces, i, &n);
		int32_t id = vocab_id(v, text, n);

		u->id_of_piece[i] = id < N_SPECIAL_TOKENS ? -1 : id;
	}
	for (int32_t i = 0; i < u->n_ids; i++) {
		struct piece_fact *f = &u->facts[i];
		int32_t piece;

		f->text = vocab_piece(v, i);
		f->n = (uint32_t)strlen(f->text);
		piece = intern_find(&u->model.pieces, f->text, f->n);
		f->is_normal = i >= N_SPECIAL_TOKENS && piece >= 0 &&
			       u->model.entries[piece].type == SP_NORMAL;
		f->begins_word = !strncmp(f->text, SP_SPACE, SP_SPACE_BYTES);
	}
	return 0;
}

struct unigram_resplit *unigram_resplit_open(const char *folder, const struct conf *c, int side,
					     const struct vocab *v, struct err *e)
{
	struct unigram_resplit *u = mem_alloc(1, sizeof(*u), e);

	if (!u)
		return NULL;
	u->theta = c->unigram_sampling;
	u->seed = (uint64_t)c->seed;
	if (!read_model_of(u, folder, c, side, e) && !find_piece_facts(u, v, e))
		return u;
	unigram_resplit_close(u);
	return NULL;
}

void unigram_resplit_close(struct unigram_resplit *u)
{
	if (!u)
		return;
	unigram_table_free(&u->table);
	sp_model_free(&u->model);
	free(u->id_of_piece);
	free(u->facts);
	sp_lattice_free(&u->lattice);
	sp_split_free(&u->split);
	buf_free(&u->text);
	free(u);
}

/* ---- sentences ---- */

static bool join_normal_pieces(struct unigram_resplit *u, const int32_t *ids, int32_t n)
{
	buf_clear(&u->text);
	for (int32_t i = 0; i < n; i++) {
		if (!u->facts[ids[i]].is_normal)
			return false;
		buf_add(&u->text, u->facts[ids[i]].text, u->facts[ids[i]].n);
	}
	return u->text.len > 0;
}

/* Sample a split of a word into u->split. *good: it is one of pieces in the vocabulary. */
static int sample_word(struct unigram_resplit *u, const int32_t *ids, int32_t n, struct rng_key key,
		       uint64_t first_draw, bool *good, struct err *e)
{
	*good = join_normal_pieces(u, ids, n);
	if (buf_check(&u->text, e))
		return e->code;
	if (!*good)
		return 0;
	if (sp_lattice_fill(&u->lattice, &u->table, u->text.data, u->text.len, e) ||
	    sp_lattice_sample(&u->lattice, u->theta, key, first_draw, &u->split, e))
		return e->code;
	for (size_t i = 0; i < u->split.n; i++)
		*good &= u->split.parts[i].id >= 0 && u->id_of_piece[u->split.parts[i].id] >= 0;
	return 0;
}

static int resplit_word(struct unigram_resplit *u, const int32_t *ids, int32_t n,
			struct rng_key key, uint64_t first_draw, int32_t **out, size_t *n_out,
			size_t *cap, struct err *e)
{
	bool good;

	if (sample_word(u, ids, n, key, first_draw, &good, e) ||
	    mem_grow(out, cap, *n_out + (good ? u->split.n : (size_t)n), sizeof(**out), e))
		return e->code;
	if (good) {
		for (size_t i = 0; i < u->split.n; i++)
			(*out)[(*n_out)++] = u->id_of_piece[u->split.parts[i].id];
	} else {
		memcpy(*out + *n_out, ids, (size_t)n * sizeof(*ids));
		*n_out += (size_t)n;
	}
	return 0;
}

int unigram_resplit_sentence(struct unigram_resplit *u, const struct resplit_key *place,
			     const int32_t *ids, int32_t n, int32_t **out, size_t *n_out,
			     size_t *cap, struct err *e)
{
	uint32_t word = 0;

	for (int32_t i = 0, end; i < n; i = end, word++) {
		struct rng_key key =
			rng_key_make(u->seed, RNG_PIECES | place->side << 8, place->epoch, word);

		for (end = i + 1; end < n && !u->facts[ids[end]].begins_word;)
			end++;
		if (resplit_word(u, ids + i, end - i, key, (uint64_t)place->pair << 20, out, n_out,
				 cap, e))
			return e->code;
	}
	return 0;
}
