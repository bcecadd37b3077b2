/*
 * vocabs.h - the vocabularies of both sides of a corpus or model: one for both, or one for each side
 */
#ifndef WERKBANK_DATA_PIPELINE_VOCABS_H
#define WERKBANK_DATA_PIPELINE_VOCABS_H

#include "data/subword/bpe_codes.h"
#include "data/words/vocab.h"
#include "share/base/err.h"
#include "share/conf/conf.h"
#include "share/conf/text_sides.h"

struct vocabs {
	struct vocab *source, *target; /* owned; one object if both sides share it */
	char id[TEXT_VOCABULARY_ID];   /* see text_sides.h */
};

/* Open the files in folder that the options of c name (text_vocabulary_file()). vocabs_close() in any case. */
int vocabs_open(struct vocabs *v, const char *folder, const struct conf *c, struct err *e);
/*
 * The merges of the side's subword model in folder: of its BPE codes, or of the pieces of v, the side's
 * vocabulary. ERR_UNAVAILABLE: a merged vocabulary does not have the order of the SentencePiece models.
 * bpe_codes_free() in any case.
 */
int vocabs_read_merges(struct bpe_codes *codes, const char *folder, const struct conf *c, int side,
		       const struct vocab *v, struct err *e);
/* Have the sides a vocabulary each? */
bool vocabs_are_separate(const struct vocabs *v);
/* Entries of the source's vocabulary if it has its own, else 0, as struct model_shape counts; real: without <unused…>. */
int32_t vocabs_own_source(const struct vocabs *v);
int32_t vocabs_own_real_source(const struct vocabs *v);
void vocabs_close(struct vocabs *v);

#endif
