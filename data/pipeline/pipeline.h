/*
 * pipeline.h - raw text to token ids and back, with the steps of a corpus or a model.
 *
 * Encoding: normalise (optional), tokenise, split into pieces, look up ids. Decoding: look up
 * pieces, join them, detokenise. Preparation and translation both use this module, so they cannot
 * differ. Protected symbols (option protect) pass all steps unchanged: see pipeline_symbols(). A
 * pipeline is opened from a folder (a corpus or a model). The options of its recipe.ini select the steps and
 * the files of subword models and vocabularies: see text_sides.h. Source and target may share them.
 */
#ifndef WERKBANK_DATA_PIPELINE_PIPELINE_H
#define WERKBANK_DATA_PIPELINE_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "data/pipeline/vocabs.h"
#include "data/text/protect.h"
#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

struct pipeline;

/*
 * Read the folder's files, with the [data] options of c (languages, tokenize, escape,
 * segmentation, …). folder NULL: only pipeline_tokenize() works, which is enough to begin a
 * preparation. NULL: failure.
 */
struct pipeline *pipeline_open(const char *folder, const struct conf *c, struct err *e);
/*
 * Without vocabulary, which preparation writes later: only tokenising and splitting into pieces
 * work.
 */
struct pipeline *pipeline_open_pieces(const char *folder, const struct conf *c, struct err *e);
/*
 * *out: the symbols of the option protect of c, then the tags of its texts (train_tags, …); NULL: none.
 * Freed by protect_close(). ERR_CONFIG: a bad symbol, also one that the tokenizer writes itself, such as
 * &amp; or @-@.
 *
 * Each symbol is an entry of the vocabulary. With the option tokenize a symbol is a token: it is split off
 * from text that touches it, and the detokenised text has a blank on both sides, unless the other token
 * is punctuation that joins. Without tokenize the text comes back exactly: BPE then has a second entry,
 * the symbol with "@@", for symbols that touch the text after them.
 */
int pipeline_symbols(struct protect **out, const struct conf *c, struct err *e);
enum pipeline_side { SIDE_SOURCE, SIDE_TARGET, N_SIDES };

/* Where BPE finds symbols in the tokenised text of a side. */
enum protect_where pipeline_where(const struct conf *c, enum pipeline_side side);
/* The symbols; NULL: none. Borrowed. */
const struct protect *pipeline_protect(const struct pipeline *p);
/* Borrowed; without vocabularies if it was opened so. */
const struct vocabs *pipeline_vocabs(const struct pipeline *p);
/* Borrowed; NULL: opened without a vocabulary. */
const struct vocab *pipeline_vocab(const struct pipeline *p, enum pipeline_side side);
/* Is the subword model of the side a SentencePiece model? Else it is BPE. */
bool pipeline_is_sentencepiece(const struct pipeline *p, enum pipeline_side side);
/*
 * The pieces in the order that the vocabulary file must have, for vocab_write_in_order(). NULL: any order,
 * use vocab_write(). Borrowed.
 */
const struct intern *pipeline_piece_order(const struct pipeline *p, enum pipeline_side side);

/*
 * The languages of a pair are those of the tag of its source (option tag_languages). Source lines select them themselves,
 * and they hold for targets until the next source line; this call selects them for targets whose source came earlier.
 * line: the source line, or only its tag.
 */
void pipeline_follow_line(struct pipeline *p, const char *line, size_t n);

/* Append the tokens of a raw line to out, before the split into pieces. */
int pipeline_tokenize(struct pipeline *p, enum pipeline_side side, const char *line, size_t n,
		      struct buf *out, struct err *e);

/* The token that begins each sentence of a side (options source_first_token, target_first_token); TOKEN_PAD: none. */
int32_t pipeline_first_token(const struct pipeline *p, enum pipeline_side side);

/*
 * Append the ids of a raw line to *ids (grown with mem_grow(); *n_ids, *cap in elements): the first token of the side, if
 * it has one, then those of the text, without other special tokens.
 */
int pipeline_encode(struct pipeline *p, enum pipeline_side side, const char *line, size_t n,
		    int32_t **ids, size_t *n_ids, size_t *cap, struct err *e);

/* The same for a part of a line, without the first token. */
int pipeline_encode_part(struct pipeline *p, enum pipeline_side side, const char *line, size_t n,
			 int32_t **ids, size_t *n_ids, size_t *cap, struct err *e);

/* Append the raw text of ids to out. Special tokens are skipped, except <unk>, and so is the first token of the side. */
int pipeline_decode(struct pipeline *p, enum pipeline_side side, const int32_t *ids, size_t n,
		    struct buf *out, struct err *e);

/* The same with words[i], if not NULL, in place of the piece of ids[i]; "": nothing. words: (n) borrowed; NULL: none. */
int pipeline_decode_words(struct pipeline *p, enum pipeline_side side, const int32_t *ids, size_t n,
			  char *const *words, struct buf *out, struct err *e);

/*
 * Append the pieces of one token to out, joined by one blank; there may be none. A whole
 * tokenised line gives the pieces of its tokens, joined by blanks, since no piece spans a blank.
 */
int pipeline_word_pieces(struct pipeline *p, enum pipeline_side side, const char *word, size_t n,
			 struct buf *out, struct err *e);

/* The last step of encoding: append the ids of pieces that are separated by blanks to *ids. */
int pipeline_pieces_to_ids(const struct vocab *v, const char *pieces, size_t n, int32_t **ids,
			   size_t *n_ids, size_t *cap, struct err *e);

void pipeline_close(struct pipeline *p);

#endif
