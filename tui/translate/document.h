/*
 * document.h - a text file that the user translates sentence by sentence.
 *
 *	struct document *d = document_open(in, out, NULL, language, tags, e);	also resumes
 *	… document_source(d, d->at) …
 *	document_choose(d, translation, e)		of sentence d->at; d->at moves on
 *	document_is_complete(d) … document_finish(d, e)
 *	document_free(d)
 *
 * What was chosen is stored at once in OUT.part, a line "SOURCE TAB TRANSLATION" for each sentence from
 * the first on, so a killed program loses nothing. Opening the same file again resumes there. When
 * all sentences have a translation, OUT is written under a temporary name and renamed, and OUT.part
 * is removed. A line of several sentences is split (data/text/sentences.h), unless the translator keeps
 * lines whole: in OUT their translations stand in one line again, with the blanks of the source between
 * them. An empty line is translated by an empty line.
 *
 * A document with mark-up is a list of sentences that the translator made ("translate --list-sentences"); OUT.part is what its
 * "--post-edited" reads, and the translator writes OUT (console_write_document()).
 */
#ifndef WERKBANK_TUI_TRANSLATE_DOCUMENT_H
#define WERKBANK_TUI_TRANSLATE_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/err.h"

#define DOCUMENT_MAX_BYTES (16u << 20) /* of the file, and of OUT.part */

struct document {
	char *in, *out, *part; /* owned: paths */
	char **sources;	       /* (n) owned: sentences */
	char **before;	       /* (n) owned: blanks and line ends before each one */
	char *tail;	       /* owned: after the last one */
	char **chosen;	       /* (n) owned; NULL from n_chosen on */
	char **drafts;	       /* (n) owned: translations made ahead; NULL: none */
	double *qualities;     /* (n) mean probability of a token; NaN: unknown */
	size_t n, n_chosen;
	size_t at;	 /* sentence on the screen, at most n_chosen and below n */
	bool has_markup; /* its sentences were listed, and the translator writes OUT */
	bool rewrites;	 /* OUT.part may end in a part of a line: it is written anew */
};

/*
 * sentences: file with the sentences of a document with mark-up, one a line; NULL: in is a text. language: of in; NULL: lines stay whole. tags: with blanks between them; one that begins a line is put before each of its sentences. Returns NULL with ERR_NOINPUT: in cannot be read; ERR_DATA: it is empty or too long, or OUT.part belongs to
 * another text; ERR_CANTCREAT: out exists or cannot be written.
 */
struct document *document_open(const char *in, const char *out, const char *sentences,
			       const char *language, const char *tags, struct err *e);
void document_free(struct document *d);

/*
 * Store the translation of the sentence at d->at and move on to the next one, past empty lines. Line
 * ends and tabs in it become blanks. quality: NaN if the user edited it. ERR_IO, ERR_NOMEM: it is not stored.
 */
int document_choose(struct document *d, const char *translation, double quality, struct err *e);
/* Is sentence i an empty line, which needs no translation? */
bool document_is_blank(const struct document *d, size_t i);
/* Forget what was translated ahead: the translator is another one now. */
void document_forget_drafts(struct document *d);
/* Forget the translation of sentence `at` and of all after it. ERR_IO: they stay. */
int document_forget_choice(struct document *d, size_t at, struct err *e);
/* Move by one sentence, to the first one without a translation at most. */
void document_move(struct document *d, int by);
bool document_is_complete(const struct document *d);
/* OUT is written: remove OUT.part. */
void document_remove_part(const struct document *d);
/* Write OUT of a text and remove OUT.part. ERR_CANTCREAT: OUT exists by now; OUT.part stays. */
int document_finish(struct document *d, struct err *e);

#endif
