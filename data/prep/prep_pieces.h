/*
 * prep_pieces.h - option pieces_from: reuse codes and vocabulary of another corpus, run or model
 *
 * A model that was trained with those pieces can then read the new corpus. The recipe.ini of the
 * folder must split text into words in the same way (languages, normalize, tokenize, escape,
 * aggressive, segmentation). Pieces missing in its vocabulary become unknown tokens.
 */
#ifndef WERKBANK_DATA_PREP_PREP_PIECES_H
#define WERKBANK_DATA_PREP_PREP_PIECES_H

#include "data/prep/prep_stages.h"

/*
 * Append names and SHA-256 of codes and vocabulary, on which the stage "learn" depends.
 * ERR_NOINPUT: no such files; ERR_CONFIG: their text was split into words in another way.
 */
int prep_pieces_describe(const struct prep *p, struct buf *out, struct err *e);

/* Copy the subword models, or the vocabularies, of all sides into the corpus folder. */
int prep_pieces_copy_codes(struct prep *p, struct err *e);
int prep_pieces_copy_vocab(const struct prep *p, struct err *e);

#endif
