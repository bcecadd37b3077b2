/*
 * split.h - what becomes of a sentence on its way into a model: words, pieces, ids, and how the
 * merges get there.
 *
 *	struct splitter *s = splitter_open(corpus_folder, e);
 *	struct split out = { 0 };
 *	splitter_line(s, SIDE_SOURCE, text, n, &out, e);
 *	splitter_trace(s, &out, word, &trace, e);		of one of its words
 *	split_free(&out); splitter_close(s);
 *
 * The same tools as preparation uses (pipeline.h), so that nothing shown differs from what
 * is done.
 */
#ifndef WERKBANK_DATA_SUBWORD_PIECE_TRACE_H
#define WERKBANK_DATA_SUBWORD_PIECE_TRACE_H

#include "data/subword/bpe_trace.h"
#include "data/subword/pipeline.h"

struct splitter;

/* folder: of a prepared corpus, or a model. NULL: failure. */
struct splitter *splitter_open(const char *folder, struct err *e);
void splitter_close(struct splitter *s);
const struct vocab *splitter_vocab(const struct splitter *s);
bool splitter_is_bpe(const struct splitter *s);		/* else SentencePiece */

struct split_piece {
	size_t  start, len;	/* in split.pieces */
	int32_t id;
	int64_t count;		/* in the training text */
};

struct split_word {
	size_t start, len;	/* in split.tokens */
	size_t first, n;	/* its pieces */
};

struct split {
	struct buf tokens;	/* the tokenised line */
	struct buf pieces;	/* with blanks between */
	struct split_word  *word;	/* owned */
	struct split_piece *piece;	/* owned */
	size_t n_words, cap_words, n_pieces, cap_pieces;
};

int  splitter_line(struct splitter *s, enum pipeline_side side, const char *line, size_t n,
		   struct split *out, struct err *e);
/* Step by step, word number w of out. */
int  splitter_trace(struct splitter *s, const struct split *out, size_t w, struct bpe_trace *t,
		    struct err *e);
void split_free(struct split *out);

#endif
