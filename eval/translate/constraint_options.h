/*
 * constraint_options.h - what users want of translations: terms, phrases that must be in them, phrases that
 * must not.
 *
 * Terms are lines "source TAB target". Where the words of source are in a line, target must be in
 * its translation, as often as they are. The words are compared as tokens, as they are written,
 * but the first of a line may begin with a capital. At each word the longest term counts, and no
 * word counts for two.
 */
#ifndef WERKBANK_EVAL_TRANSLATE_CONSTRAINT_OPTIONS_H
#define WERKBANK_EVAL_TRANSLATE_CONSTRAINT_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "eval/decode/decode.h"
#include "eval/translate/engine.h"
#include "eval/decode/banned_phrases.h"
#include "share/conf/conf.h"
#include "share/base/err.h"

/* ---- phrases of the target language, as a search wants them ---- */

/* Zeroed: none. */
struct phrases {
	struct decode_phrase all[DECODE_MAX_PHRASES];
	int32_t n;
	int32_t n_own; /* the first ones: their tokens are owned */
};

/*
 * One more, raw text. ERR_DATA: more than DECODE_MAX_PHRASES; nothing in it; not in the model's
 * vocabulary. Before any terms.
 */
int phrases_add(struct phrases *p, struct engine *g, const char *text, size_t n, struct err *e);
/* ERR_DATA: one of them contains what is forbidden. f may be NULL. */
int phrases_check_banned(const struct phrases *p, const struct engine *g,
			 const struct banned_phrases *f, struct err *e);
void phrases_free(struct phrases *p);

/* ---- terms ---- */

struct terms;

/*
 * None yet, besides those of more, finished (borrowed, NULL: none), which count for less. Borrows
 * the engine. NULL: failure.
 */
struct terms *terms_new(struct engine *g, const struct terms *more, struct err *e);
/* One more. ERR_DATA: a side is empty, or the model's vocabulary cannot write the target. */
int terms_add(struct terms *t, const char *source, size_t n_source, const char *target,
	      size_t n_target, struct err *e);
/* The lines of a file; empty ones are passed over. */
int terms_read(struct terms *t, const char *path, struct err *e);
/*
 * Call after the last term. ERR_DATA: a source with two targets, or a target that contains what
 * is forbidden (f: NULL, nothing).
 */
int terms_finish(struct terms *t, const struct banned_phrases *f, struct err *e);
/*
 * Add what a raw line asks for to p, which borrows it. *left: how many more found no room. t may
 * be NULL.
 */
int terms_find(struct terms *t, const char *line, size_t n, struct phrases *p, int32_t *left,
	       struct err *e);
void terms_free(struct terms *t);

/* ---- from the command line ---- */

/* --terms and --forbid; each NULL: not given. Owned. */
struct constraint_options {
	struct terms *terms;
	struct banned_phrases *forbid;
};

/*
 * Zeroed by failure too. ERR_USAGE: --terms with --sample, which cannot wait for a place. A --forbid that
 * begins with "@" names a file of one phrase a line.
 */
int constraint_options_open(struct constraint_options *s, struct engine *g, const struct conf *c,
			    struct err *e);
void constraint_options_close(struct constraint_options *s);

#endif
