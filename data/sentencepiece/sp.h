/*
 * sp.h - SentencePiece's BPE and unigram models: learns, applies and undoes them, reads and writes their files.
 *
 * Kudo and Richardson 2018, "SentencePiece: A simple and language independent subword tokenizer
 * and detokenizer". Text is normalised (by default with the rules nmt_nfkc), "▁" (U+2581) is put
 * before each word, and each word is split into pieces by merging its characters, best score
 * first. Model files are compatible with SentencePiece in both directions.
 */
#ifndef WERKBANK_DATA_SENTENCEPIECE_SP_H
#define WERKBANK_DATA_SENTENCEPIECE_SP_H

#include <stdbool.h>
#include <stdint.h>

#include "data/text/protect.h"
#include "data/words/intern.h"
#include "data/words/word_counter.h"
#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/rng.h"

/* ---- learning ---- */

/*
 * Count a raw word count times (count > 0): text between blanks, before any normalisation. The
 * same word may be added again. Words with U+2585 are skipped: SentencePiece reserves that
 * character.
 */
int sp_count_word(struct word_counter *c, const char *word, size_t n, int64_t count, struct err *e);

/*
 * Count the words of a raw line. As in SentencePiece, lines of more than 4192 bytes and lines
 * with U+2585 are skipped. *is_used: the line was not skipped.
 */
int sp_count_line(struct word_counter *c, const char *line, size_t n, bool *is_used, struct err *e);

/*
 * Count all lines of path (NULL or "-": standard input) on several threads; repair as in lines.h.
 * Adds the number of skipped lines to *skipped.
 */
int sp_count_file(struct word_counter *c, const char *path, bool repair, int threads,
		  int64_t *skipped, struct err *e);

/*
 * Learn a BPE model and write it to model_path, and lines "PIECE<TAB>SCORE" to vocab_path (NULL: no
 * such file), each atomically. vocabulary_size includes the four special tokens, the protected
 * symbols (user-defined symbols of the model; NULL: none) and the characters. *learned: pieces of the
 * model, fewer when no pair is left to merge. The counter is empty afterwards. ERR_CONFIG:
 * vocabulary_size is too small for the characters of the text; the message names the least size.
 * ERR_DATA: no text.
 */
int sp_learn(struct word_counter *words, int64_t vocabulary_size, const struct protect *symbols,
	     const char *model_path, const char *vocab_path, int64_t *learned, struct err *e);

/*
 * sp_learn() for a unigram model. threads: as in flow.h; the model does not depend on them. Memory: see
 * unigram_seeds.h, and about 150 bytes for each of the million first pieces.
 */
int sp_learn_unigram(struct word_counter *words, int64_t vocabulary_size,
		     const struct protect *symbols, int threads, const char *model_path,
		     const char *vocab_path, int64_t *learned, struct err *e);

/* ---- applying ---- */

struct sp; /* a model, with a cache of words */

/* NULL: failure. Word and character models are refused, with their type in the message. */
struct sp *sp_open(const char *model_path, struct err *e);
/* sp_open() for n bytes in memory, which are copied. name: for messages. */
struct sp *sp_open_memory(const void *bytes, size_t n, const char *name, struct err *e);

/* Is it a unigram model? Else it is BPE. */
bool sp_is_unigram(const struct sp *s);
/* All pieces, special tokens included, in the order of their ids. Borrowed. */
const struct intern *sp_pieces(const struct sp *s);

/*
 * Append the pieces of a raw line, joined by one blank. Characters that are not pieces are copied;
 * adjacent ones form one word. A line may have no pieces.
 */
int sp_apply_line(struct sp *s, const char *line, size_t n, struct buf *out, struct err *e);

/*
 * Unigram models only, else ERR_CONFIG: append the pieces of a random split of the line, as in
 * sp_lattice.h. n_best 1: of all splits; above: of the n_best best ones, at most SP_LATTICE_MOST.
 */
int sp_sample_line(struct sp *s, const char *line, size_t n, double theta, size_t n_best,
		   struct rng_key key, struct buf *out, struct err *e);
/*
 * Unigram models only, else ERR_CONFIG: append the best splits of the line, at most n_best, each
 * followed by a newline, the best first. An empty line has one split without pieces.
 */
int sp_best_lines(struct sp *s, const char *line, size_t n, size_t n_best, struct buf *out,
		  struct err *e);

/*
 * Append the text of pieces that are joined by one blank, without special tokens; <unk> becomes "
 * ⁇ ".
 */
int sp_undo_line(struct sp *s, const char *line, size_t n, struct buf *out, struct err *e);
void sp_close(struct sp *s);

#endif
