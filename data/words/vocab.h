/*
 * vocab.h - the vocabulary file: tokens and their ids.
 *
 * vocab.tsv: one "TOKEN<TAB>COUNT" a line, id = line number from 0. The first four tokens are
 * <pad> </s> <s> <unk>. Then come the pieces by falling count (ties: by bytes), or in the order
 * of a SentencePiece model, including pieces of count 0. Then <unused0> … pad the size to a
 * multiple of 8. A piece of the text that is spelled like one of these names is not counted and
 * gets the id of <unk>: no text can forge a sentence end.
 */
#ifndef WERKBANK_DATA_WORDS_VOCAB_H
#define WERKBANK_DATA_WORDS_VOCAB_H

#include <stdint.h>

#include "data/words/intern.h"
#include "share/base/buf.h"
#include "share/base/hash.h"

/* Ids of the special tokens, the first lines of every vocabulary. */
enum { TOKEN_PAD = 0, TOKEN_END = 1, TOKEN_START = 2, TOKEN_UNKNOWN = 3, N_SPECIAL_TOKENS = 4 };

struct vocab;

/* Counting: add pieces, then write the file. */
struct vocab_counter;
struct vocab_counter *vocab_counter_new(struct err *e); /* NULL: out of memory */
/* Count a piece of n bytes; n = 0: ignored. */
int vocab_count(struct vocab_counter *c, const char *piece, size_t n, int64_t times, struct err *e);
/* Write vocab.tsv atomically, pieces by falling count. */
int vocab_write(const struct vocab_counter *c, const char *path, struct err *e);
/* Write in a given order, which must begin with the four special tokens; else ERR_DATA. */
int vocab_write_in_order(const struct vocab_counter *c, const struct intern *order,
			 const char *path, struct err *e);
void vocab_counter_free(struct vocab_counter *c);

struct vocab *vocab_open(const char *path, struct err *e); /* NULL: failure, with the line */
int32_t vocab_size(const struct vocab *v);		   /* a multiple of 8 */
int32_t vocab_real_size(const struct vocab *v);		   /* without the <unused…> at the end */
const char *vocab_sha256(const struct vocab *v);	   /* of the file */
int32_t vocab_id(const struct vocab *v, const char *piece,
		 size_t n); /* unknown pieces, names of special tokens: TOKEN_UNKNOWN */
/* vocab_id() that knows the names of special tokens, too. */
int32_t vocab_named_id(const struct vocab *v, const char *name);
const char *vocab_piece(const struct vocab *v, int32_t id); /* borrowed; id must be in range */
int64_t vocab_frequency(const struct vocab *v, int32_t id);
void vocab_close(struct vocab *v);

#endif
