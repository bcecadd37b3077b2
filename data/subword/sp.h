/*
 * sp.h - SentencePiece's BPE: learning, applying and undoing it, its model files.
 *
 * Kudo and Richardson 2018, "SentencePiece: A simple and language independent
 * subword tokenizer and detokenizer". Text is normalised (by default as nmt_nfkc
 * does), "▁" (U+2581) goes before each word, and words are split into pieces by
 * merging, best score first. Model files are the same as SentencePiece's: each
 * reads what the other wrote.
 */
#ifndef WERKBANK_DATA_SUBWORD_SP_H
#define WERKBANK_DATA_SUBWORD_SP_H

#include <stdbool.h>
#include <stdint.h>

#include "data/words/intern.h"
#include "share/base/buf.h"
#include "share/base/err.h"

/* ---- learn ---- */

struct sp_learner; /* counts words, then learns */

struct sp_learner *sp_learner_new(struct err *e);

/*
 * count more occurrences (count > 0) of a raw word: what stands between blanks in the text, before
 * any normalisation. The same word may come again. A word with U+2585 is left out: SentencePiece
 * keeps that character for what is unknown.
 */
int sp_learner_add_word(struct sp_learner *l, const char *word, size_t n, int64_t count,
			struct err *e);

/*
 * The words of a raw line, each once. As SentencePiece does, lines of more than 4192 bytes and
 * those with U+2585 are left out: *is_used, unless NULL, says whether this one was.
 */
int sp_learner_add_line(struct sp_learner *l, const char *line, size_t n, bool *is_used,
			struct err *e);

/*
 * All lines of path (NULL or "-": standard input), on several threads; repair as in lines.h.
 * *skipped grows by the lines that were left out.
 */
int sp_learner_add_file(struct sp_learner *l, const char *path, bool repair, int threads,
			int64_t *skipped, struct err *e);

/*
 * Learn, and write the model to model_path and, unless NULL, "PIECE<TAB>SCORE" lines to vocab_path,
 * each atomically. vocabulary_size counts the four special tokens and the characters too; when there
 * are no more pairs to merge there are fewer pieces: *learned says how many. The learner has
 * forgotten its words afterwards. Less than the characters of the text need: ERR_CONFIG that names
 * the least size. No text: ERR_DATA.
 */
int sp_learn(struct sp_learner *l, int64_t vocabulary_size, const char *model_path,
	     const char *vocab_path, int64_t *learned, struct err *e);
void sp_learner_free(struct sp_learner *l);

/* ---- apply ---- */

struct sp; /* a model, with a cache of words */

/* NULL: failure; what is no BPE model is refused by name. */
struct sp *sp_open(const char *model_path, struct err *e);
/* The same of n bytes in memory, copied; name is what messages call them. */
struct sp *sp_open_memory(const void *bytes, size_t n, const char *name, struct err *e);

/* All pieces, special ones too, in the order of their ids. Borrowed. */
const struct intern *sp_pieces(const struct sp *s);

/*
 * Append the pieces of a raw line, joined by one blank; characters that are no pieces stand as they
 * are, neighbours among them together. A line may have no pieces.
 */
int sp_apply_line(struct sp *s, const char *line, size_t n, struct buf *out, struct err *e);

/* Append the text of pieces joined by one blank. Special tokens vanish, <unk> becomes " ⁇ ". */
int sp_undo_line(struct sp *s, const char *line, size_t n, struct buf *out, struct err *e);
void sp_close(struct sp *s);

#endif
