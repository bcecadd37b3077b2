/*
 * fuzzy.h - rates how well typed letters fit a name, for lists that are searched while one types.
 *
 * The letters must occur in the name in the same order, others may be between them: "gh" fits
 * "go-home". Letters at the start of a word, and letters that follow each other, rate higher.
 */
#ifndef WERKBANK_TUI_TERM_FUZZY_H
#define WERKBANK_TUI_TERM_FUZZY_H

#include <stdint.h>

#define FUZZY_BYTES  64	 /* the bytes of a name that are looked at */
#define FUZZY_LETTER 256 /* the score of a letter in the middle of a word */

/*
 * Rate a name, ignoring case: > 0, the higher the better; 0 if the letters do not fit, or none are
 * typed. Bit i of *marks (if not NULL) is set for each byte i of the name that a letter matched;
 * other bits stay.
 */
int fuzzy_score(const char *name, const char *typed, uint64_t *marks);

#endif
