/*
 * language_guess.h - how probable it is that a text is in each of some languages
 *
 *	struct language_guess *g = language_guess_new(e);
 *	language_guess_text(g, text, n, codes, n_codes, shares);
 *
 * Evidence: frequent words (language_words.def), scripts, and the letters beyond ASCII that a language uses. The other rows of
 * language_words.def take part too, so a text in none of the asked languages has a small share for all of them.
 */
#ifndef WERKBANK_DATA_JUDGE_LANGUAGE_GUESS_H
#define WERKBANK_DATA_JUDGE_LANGUAGE_GUESS_H

#include <stddef.h>

#include "share/base/err.h"

#define LANGUAGE_GUESS_MAX   64	  /* languages of a question; further ones get 0 */
#define LANGUAGE_GUESS_BYTES 4000 /* of a text that are looked at */

struct language_guess; /* constant tables; threads may share it */

struct language_guess *language_guess_new(struct err *e); /* NULL: ERR_NOMEM */
void language_guess_free(struct language_guess *g);
/* shares: (n_codes) from 0 to 1, together at most 1; all 0 for a text without letters. codes: ISO 639. The text is well-formed UTF-8. */
void language_guess_text(const struct language_guess *g, const char *text, size_t n,
			 const char *const *codes, size_t n_codes, double *shares);

#endif
