/*
 * text_sides.h - the subword models, vocabularies and options of the two sides of a text
 *
 *	vocabularies	subword models			vocabularies
 *	joint		bpe.codes			vocab.tsv
 *	separate	bpe.source.codes		vocab.source.tsv
 *			bpe.target.codes		vocab.target.tsv
 *	merged		as separate			vocab.tsv, with the pieces of both
 *
 * With SentencePiece, BPE or unigram, the subword model is sentencepiece.model, or sentencepiece.source.model and
 * sentencepiece.target.model. A side is 0 for the source and 1 for the target (enum pipeline_side). The options
 * source_… hold for the source; the others hold for both sides, or for the target.
 */
#ifndef WERKBANK_SHARE_CONF_TEXT_SIDES_H
#define WERKBANK_SHARE_CONF_TEXT_SIDES_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/base/hash.h"
#include "share/conf/conf.h"

/* Numbers of subword models and of vocabularies: 1 or 2. The one of both sides counts as the source's. */
int text_subword_models(const struct conf *c);
int text_vocabularies(const struct conf *c);

/* Names of files in a folder of model_files.h; both sides have the same name if they share the file. */
const char *text_codes_file(const struct conf *c, int side);
const char *text_vocabulary_file(const struct conf *c, int side);

enum conf_segmentation text_segmentation(const struct conf *c, int side);
bool text_is_tokenized(const struct conf *c, int side);
int64_t text_merges(const struct conf *c, int side);
int64_t text_vocabulary_size(const struct conf *c, int side);

/* ERR_CONFIG: an option source_… is set, but both sides share one subword model. */
int text_sides_check(const struct conf *c, struct err *e);

/*
 * What identifies the vocabularies of a corpus or model: the SHA-256 of vocab.tsv, or of vocab.source.tsv and
 * then of vocab.target.tsv. A string of 64 or 128 hexadecimal digits.
 */
#define TEXT_VOCABULARY_ID (2 * (HASH_SHA256_HEX - 1) + 1) /* bytes, with the final 0 */

/* Of the files in folder. A file of more than HASH_PIECES_LIMIT bytes: ERR_DATA. */
int text_vocabulary_id(const struct conf *c, const char *folder, char id[TEXT_VOCABULARY_ID],
		       struct err *e);
/* Is it 64 or 128 digits long? */
bool text_is_vocabulary_id(const char *id);

#endif
