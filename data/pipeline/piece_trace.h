/*
 * piece_trace.h - the words, pieces and ids of a sentence, and the merges of each word, for
 * display.
 *
 *	struct piece_tracer *t = piece_tracer_open(corpus_folder, e);
 *	struct line_pieces out = { 0 };
 *	piece_tracer_encode_line(t, SIDE_SOURCE, text, n, &out, e);
 *	piece_tracer_trace_word(t, &out, word, &trace, e);		one of its words
 *	line_pieces_free(&out); piece_tracer_close(t);
 *
 * Uses the same pipeline.h as preparation, so both always agree.
 */
#ifndef WERKBANK_DATA_PIPELINE_PIECE_TRACE_H
#define WERKBANK_DATA_PIPELINE_PIECE_TRACE_H

#include "data/pipeline/pipeline.h"
#include "data/subword/bpe_trace.h"

struct piece_tracer;

/* folder: a prepared corpus or a model. NULL: failure. */
struct piece_tracer *piece_tracer_open(const char *folder, struct err *e);
void piece_tracer_close(struct piece_tracer *s);

struct line_piece {
	size_t start, len; /* in line_pieces.pieces */
	int32_t id;
	int64_t count; /* in the training text */
};

struct line_word {
	size_t start, len; /* in line_pieces.tokens */
	size_t first, n;   /* its pieces: piece[first … first + n - 1] */
};

struct line_pieces {
	enum pipeline_side side;  /* whose tools split the line */
	struct buf tokens;	  /* the tokenised line */
	struct buf pieces;	  /* separated by blanks */
	struct line_word *word;	  /* owned */
	struct line_piece *piece; /* owned */
	size_t n_words, cap_words, n_pieces, cap_pieces;
};

/* Split a raw line of n bytes; out is overwritten. */
int piece_tracer_encode_line(struct piece_tracer *s, enum pipeline_side side, const char *line,
			     size_t n, struct line_pieces *out, struct err *e);
/* Trace the merges of word number w of out; of a unigram model only its pieces. */
int piece_tracer_trace_word(struct piece_tracer *s, const struct line_pieces *out, size_t w,
			    struct bpe_trace *t, struct err *e);
void line_pieces_free(struct line_pieces *out);

#endif
