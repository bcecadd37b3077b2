/*
 * prep_pieces.h - pieces_from: codes and vocabulary that another preparation learnt, so that what
 * is prepared can be read by a model that was trained on that.
 *
 * The folder is a run's, a model's or a corpus's. Its recipe.ini must split text into words as this
 * one does (languages, normalize, tokenize, escape, aggressive, segmentation). Pieces that its
 * vocabulary does not have are unknown.
 */
#ifndef WERKBANK_DATA_PREP_PREP_PIECES_H
#define WERKBANK_DATA_PREP_PREP_PIECES_H

#include "data/prep/prep_stages.h"

/*
 * What of it a preparation depends on, appended: names and SHA-256 of both files. ERR_NOINPUT,
 * ERR_CONFIG: it is not there, or of other text.
 */
int prep_pieces_describe(const struct prep *p, struct buf *out, struct err *e);

/* Copy bpe.codes or sentencepiece.model, or vocab.tsv, into the folder of the corpus. */
int prep_pieces_copy_codes(struct prep *p, struct err *e);
int prep_pieces_copy_vocab(const struct prep *p, struct err *e);

#endif
