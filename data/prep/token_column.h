/*
 * token_column.h - tokenised column: one side of a training text as word numbers, on the disk
 *
 * The read stage reads each text once and stores here all that later stages need of a line, so that
 * no stage reads the text again. Words are numbers of a table (struct intern, a file of its own),
 * so a sentence takes one to three bytes a word, and work on a word is done once for each distinct
 * word.
 *
 *	byte  0	"WBSIDE\n\0"		8 bytes
 *	      8	version, 1		uint32, little-endian like all below
 *	     12	0			4 bytes
 *	     16	lines			uint64
 *	     24	words			uint64, sum over all lines
 *	     32	lines			concatenated, each:
 *		    hash		8 bytes
 *		    bytes characters letters foreign longest n, then the n words: LEB128 each
 *
 * Words are numbered by first appearance, so frequent words have short numbers. The file is
 * untrusted input: an early end, a word number beyond the table, an over-long LEB128 are ERR_DATA.
 */
#ifndef WERKBANK_DATA_PREP_TOKEN_COLUMN_H
#define WERKBANK_DATA_PREP_TOKEN_COLUMN_H

#include <stdint.h>

#include "data/words/intern.h"
#include "share/base/err.h"

struct token_column_line {
	uint64_t hash;	     /* hash_bytes() of the raw line */
	uint32_t bytes;	     /* of the raw line */
	uint32_t characters; /* of the raw line, <= bytes */
	uint32_t letters;    /* characters that are letters, <= characters */
	uint32_t foreign;    /* letters of a script that the language does not use, <= letters */
	uint32_t longest;    /* characters of the longest word after tokenising */
	uint32_t n;	     /* words */
	/* [n] borrowed: for token_column_put(); after token_column_next() until the next call */
	const int32_t *words;
};

struct token_column_writer;
struct token_column_writer *token_column_create(const char *path, struct err *e);
int token_column_put(struct token_column_writer *w, const struct token_column_line *line,
		     struct err *e);
/* Complete the file, which appears under its path only now. Frees w, also after a failure. */
int token_column_finish(struct token_column_writer *w, struct err *e);
void token_column_cancel(struct token_column_writer *w);

/* Sequential reader with a small buffer. n_words: entries of the word table. */
struct token_column_reader;
struct token_column_reader *token_column_open(const char *path, int32_t n_words, struct err *e);
int64_t token_column_lines(const struct token_column_reader *r);
/* 1: a line; 0: the end; < 0: failure. */
int token_column_next(struct token_column_reader *r, struct token_column_line *line, struct err *e);
void token_column_close(struct token_column_reader *r);

/* The word table on the disk. word_table_load() fills a zeroed table and checks every length. */
int word_table_save(const struct intern *words, const char *path, struct err *e);
int word_table_load(struct intern *words, const char *path, struct err *e);

/* The same in steps: each call of word_table_read() adds up to n words. */
struct word_table_reader;
struct word_table_reader *word_table_open(const char *path, struct err *e);
/* 1: there are more words; 0: the table is complete; < 0: failure. */
int word_table_read(struct word_table_reader *r, struct intern *words, uint64_t n, struct err *e);
void word_table_close(struct word_table_reader *r);

#endif
