/*
 * pipeline.h - raw text to token ids and back, as a model was trained.
 *
 * Encoding: (normalise) tokenise, BPE, ids. Decoding: pieces, undo BPE,
 * detokenise. Preparation and translation both use this, so that they cannot
 * differ. Opened from a folder that holds vocab.tsv and recipe.ini (a corpus or
 * a model folder) and, as recipe.ini's segmentation says, bpe.codes or
 * sentencepiece.model; recipe.ini says which steps apply.
 */
#ifndef WERKBANK_DATA_SUBWORD_PIPELINE_H
#define WERKBANK_DATA_SUBWORD_PIPELINE_H

#include <stdint.h>

#include "data/words/vocab.h"
#include "share/base/buf.h"
#include "share/conf/conf.h"
#include "share/base/err.h"

struct pipeline;

/*
 * From the folder's files with the [data] options of c (languages, tokenize,
 * escape, segmentation, …). Without a folder (NULL) only
 * pipeline_tokenize() works: preparation begins like that.
 */
struct pipeline *pipeline_open(const char *folder, const struct conf *c, struct err *e);
/* The same without vocab.tsv, which preparation makes from pieces: encoding to ids does not work. */
struct pipeline *pipeline_open_pieces(const char *folder, const struct conf *c, struct err *e);
const struct vocab *pipeline_vocab(const struct pipeline *p);
/*
 * The pieces in the order that vocab.tsv must have, for vocab_write_in_order(). NULL: any, so that
 * vocab_write() does. Borrowed.
 */
const struct intern *pipeline_piece_order(const struct pipeline *p);

enum pipeline_side { SIDE_SOURCE, SIDE_TARGET };

/* The tokenised (not yet BPE'd) form of a raw line, appended to out. */
int pipeline_tokenize(struct pipeline *p, enum pipeline_side side, const char *line, size_t n,
		      struct buf *out, struct err *e);

/*
 * Ids of a raw line, appended to *ids (grown with mem_grow; *n_ids, *cap in elements). No special
 * tokens.
 */
int pipeline_encode(struct pipeline *p, enum pipeline_side side, const char *line, size_t n,
		    int32_t **ids, size_t *n_ids, size_t *cap, struct err *e);

/* Raw text of ids (special tokens are skipped), appended to out. */
int pipeline_decode(struct pipeline *p, enum pipeline_side side, const int32_t *ids, size_t n,
		    struct buf *out, struct err *e);

/*
 * Pieces of one word of the tokenised line, joined by one blank, appended to out. Nothing is a
 * possible answer. A whole tokenised line gives the same as its words one by one with blanks
 * between, since no piece spans blanks.
 */
int pipeline_word_pieces(struct pipeline *p, const char *word, size_t n, struct buf *out,
			 struct err *e);

/* The last step of encoding alone: ids of pieces with blanks between, appended to *ids as above. */
int pipeline_pieces_to_ids(const struct vocab *v, const char *pieces, size_t n, int32_t **ids,
			   size_t *n_ids, size_t *cap, struct err *e);

void pipeline_close(struct pipeline *p);

#endif
