/*
 * constraint_options.h - constraints of users: terms, forced phrases, forbidden phrases.
 *
 * A term is a line "source TAB target". The translation of a line contains target as often as the
 * line contains the words of source. Words are compared as tokens and case-sensitively, but the
 * first word of a line may begin with a capital. Terms do not overlap; at each word the longest
 * term wins.
 */
#ifndef WERKBANK_EVAL_TRANSLATE_CONSTRAINT_OPTIONS_H
#define WERKBANK_EVAL_TRANSLATE_CONSTRAINT_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "eval/decode/banned_phrases.h"
#include "eval/decode/decode.h"
#include "eval/translate/engine.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

/* ---- forced phrases, as tokens ---- */

/*
 * Encodes n bytes of raw target text; the caller frees phrase->tokens. ERR_DATA: the text has no
 * words, is too long, or needs a character that the vocabulary lacks.
 */
int encode_target_phrase(struct engine *g, const char *text, size_t n, struct decode_phrase *phrase,
			 struct err *e);

/* Zeroed: no phrases. */
struct phrases {
	struct decode_phrase all[DECODE_MAX_PHRASES];
	int32_t n;
	int32_t n_own; /* the tokens of the first n_own phrases are owned, the others borrowed */
};

/*
 * Adds a phrase of n bytes of raw text; call it before terms_find(). ERR_DATA: there are
 * DECODE_MAX_PHRASES already, or encode_target_phrase() fails.
 */
int phrases_add(struct phrases *p, struct engine *g, const char *text, size_t n, struct err *e);
/* ERR_DATA: a phrase contains a forbidden phrase of f (NULL: none). */
int phrases_check_banned(const struct phrases *p, const struct engine *g,
			 const struct banned_phrases *f, struct err *e);
void phrases_free(struct phrases *p);

/* ---- terms ---- */

struct terms;

/*
 * A list without own terms. more (borrowed, finished; NULL: none): further terms, used where no own
 * term has the same source. Borrows the engine. Free with terms_free(). NULL: out of memory.
 */
struct terms *terms_new(struct engine *g, const struct terms *more, struct err *e);
/* Adds a term of raw texts. ERR_DATA: a text has no words, or the target cannot be encoded. */
int terms_add(struct terms *t, const char *source, size_t n_source, const char *target,
	      size_t n_target, struct err *e);
/* Adds the lines of a file; skips empty lines. Errors name the file and the line. */
int terms_read(struct terms *t, const char *path, struct err *e);
/*
 * Call after the last term. ERR_DATA: a source has two targets, or a target contains a forbidden
 * phrase of f (NULL: none).
 */
int terms_finish(struct terms *t, const struct banned_phrases *f, struct err *e);
/*
 * Adds the targets of the terms in a raw line to p, which borrows their tokens. *left: the number
 * of terms beyond DECODE_MAX_PHRASES. t may be NULL.
 */
int terms_find(struct terms *t, const char *line, size_t n, struct phrases *p, int32_t *left,
	       struct err *e);
size_t terms_count(const struct terms *t);
void terms_free(struct terms *t);

/* ---- from the command line ---- */

#define GLOSSARY_NAME 64 /* bytes of a name, with the NUL */

/* Terms that a request chooses. */
struct glossary {
	char name[GLOSSARY_NAME];
	struct terms *terms; /* owned */
};

/* --terms and --forbid (owned; NULL: not given), and --glossary. */
struct constraint_options {
	struct terms *terms;
	struct banned_phrases *forbid;
	struct glossary *glossaries; /* (n_glossaries) owned; those of the languages of the model */
	size_t n_glossaries;
};

/*
 * Reads --terms FILE, --glossary [SOURCE-TARGET:]NAME=FILE and --forbid PHRASE; --forbid @FILE names a file with one
 * phrase per line. Terms of a glossary precede those of --terms. ERR_USAGE: terms with --sample, a name of a
 * glossary with other characters than letters, digits and -_., or given twice. Zeroes *s on failure.
 */
int constraint_options_open(struct constraint_options *s, struct engine *g, const struct conf *c,
			    struct err *e);
/* The terms of this glossary; NULL: there is none. */
struct terms *constraint_find_glossary(const struct constraint_options *s, const char *name);
void constraint_options_close(struct constraint_options *s);

#endif
