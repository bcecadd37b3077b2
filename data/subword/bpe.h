/*
 * bpe.h - byte-pair encoding as subword-nmt 0.3.8 does it (codes version 0.2).
 *
 * Sennrich et al. 2016, "Neural machine translation of rare words with
 * subword units", algorithm 1. A word's last character carries "</w>".
 */
#ifndef WERKBANK_DATA_SUBWORD_BPE_H
#define WERKBANK_DATA_SUBWORD_BPE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "data/text/protect.h"
#include "data/words/word_counter.h"
#include "share/base/buf.h"
#include "share/base/err.h"

/* ---- learning ---- */
/*
 * Count the words of a text `count` times (count > 0): a line, or a word that was counted elsewhere. Lines
 * and words are split as in subword-nmt (bpe_line.h).
 */
int bpe_count_words(struct word_counter *c, const char *text, size_t n, int64_t count,
		    struct err *e);
/*
 * Count all lines of a file (NULL or "-": standard input) by several threads, without the protected
 * symbols p (NULL: none). Errors in lines, and
 * repair, as in lines.h.
 */
int bpe_count_file(struct word_counter *c, const char *path, const struct protect *p, bool repair,
		   int threads, struct err *e);
/*
 * Learn at most `merges` merges and write the codes file to out. *learned: merges written. The
 * counter is empty afterwards. Text without any word of two characters: ERR_DATA.
 */
int bpe_learn(struct word_counter *words, int64_t merges, int64_t min_frequency, FILE *out,
	      int64_t *learned, struct err *e);

/* ---- applying ---- */
struct bpe;						     /* codes, and a cache of words */
struct bpe *bpe_open(const char *codes_path, struct err *e); /* NULL: failure, with file and line */
/*
 * Undo the merges of pieces that are rarer than threshold in this file of lines "PIECE COUNT"
 * (option --vocabulary of subword-nmt).
 */
int bpe_limit_vocabulary(struct bpe *b, const char *path, int64_t threshold, struct err *e);
int bpe_set_separator(struct bpe *b, const char *separator, struct err *e); /* default "@@" */
/*
 * Never split these symbols (borrowed; NULL: none). PROTECT_ANYWHERE: also inside a word, which is cut there, as by
 * option --glossaries of subword-nmt; PROTECT_WORDS: only symbols that are whole words.
 */
void bpe_protect(struct bpe *b, const struct protect *p, enum protect_where where);
/*
 * A struct bpe for another thread. It borrows codes and settings of first: first must live longer
 * and must not change.
 */
struct bpe *bpe_open_shared(const struct bpe *first, struct err *e);
/* Append the pieces of the line, joined by one blank; blanks at both ends are copied. */
int bpe_apply_line(struct bpe *b, const char *line, size_t n, struct buf *out, struct err *e);
void bpe_close(struct bpe *b);

/* Append the line without the marks "@@ " (and "@@" at its end). */
void bpe_undo_line(const char *separator, const char *line, size_t n, struct buf *out);

#endif
