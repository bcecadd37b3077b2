/*
 * token_column.h - one side of a training text as numbers of words: what reading a corpus leaves behind.
 *
 * Each text is read once. What later stages ask of a line is noted here, so that
 * none of them has to see the text again; the words are numbers of a table
 * (struct intern, kept in a file of its own), so that "a sentence" is a few
 * bytes a word and whatever is done to a word is done once.
 *
 *	byte  0	"WBSIDE\n\0"		8 bytes
 *	      8	version, 1		uint32, little-endian, as is all below
 *	     12	0			4 bytes
 *	     16	lines			uint64
 *	     24	words			uint64, of all lines
 *	     32	lines			one behind the other, each:
 *		    hash		8 bytes
 *		    bytes characters letters foreign longest n, then the n words: LEB128 each
 *
 * Numbers grow in the order of first appearance, so frequent words have short ones.
 * Nothing is trusted: a file that ends early, a number of a word beyond the table,
 * an over-long LEB128 are ERR_DATA.
 */
#ifndef WERKBANK_DATA_PREP_TOKEN_COLUMN_H
#define WERKBANK_DATA_PREP_TOKEN_COLUMN_H

#include <stdint.h>

#include "data/words/intern.h"
#include "share/base/err.h"

struct token_column_line {
	uint64_t hash;	/* hash_bytes() of the raw line */
	uint32_t bytes; /* of the raw line, as are the next three */
	uint32_t characters;
	uint32_t letters; /* characters that are letters … */
	uint32_t foreign; /* … and those of them of another script than the language has */
	uint32_t longest; /* characters of its longest word after tokenising */
	uint32_t n;
	const int32_t *
		words; /* (n) borrowed: during token_column_put(), until the next token_column_next() */
};

struct token_column_writer;
struct token_column_writer *token_column_create(const char *path, struct err *e);
int token_column_put(struct token_column_writer *w, const struct token_column_line *line,
		     struct err *e);
int token_column_finish(struct token_column_writer *w,
			struct err *e); /* the file appears; frees w in any case */
void token_column_cancel(struct token_column_writer *w);

/* Reading, front to back, in little memory. n_words: entries of the table of words. */
struct token_column_reader;
struct token_column_reader *token_column_open(const char *path, int32_t n_words, struct err *e);
int64_t token_column_lines(const struct token_column_reader *r);
/* 1; 0: the end; < 0 */
int token_column_next(struct token_column_reader *r, struct token_column_line *line, struct err *e);
void token_column_close(struct token_column_reader *r);

/* The table of words on disk; the reader checks every length. word_table_load() fills a zeroed table. */
int word_table_save(const struct intern *words, const char *path, struct err *e);
int word_table_load(struct intern *words, const char *path, struct err *e);

#endif
