/*
 * texts_split.h - lines of a text: held-out sets taken from the training text, and a sample of general text
 *
 * Options hold_out and general_share. A text is cut into as many stretches of equal length as lines are wanted;
 * one line of each stretch is chosen by a fixed random number. So the choice depends only on the number of lines,
 * covers the text evenly, and is the same in both languages.
 *
 *	texts_add_splits()	adds held-out texts that read the files of training texts again
 *	texts_choose_lines()	once the lines are counted: which lines each of these texts has
 */
#ifndef WERKBANK_DATA_SOURCE_TEXTS_SPLIT_H
#define WERKBANK_DATA_SOURCE_TEXTS_SPLIT_H

#include "data/source/texts.h"

/* The set of general text that shows what a model forgets. */
#define TEXTS_GENERAL_SET "general"

/* Is line number `line` (from 1) chosen? Without a choice all lines are. */
bool line_choice_has(const struct line_choice *c, int64_t line);

/*
 * With hold_out: a dev and a test text for each training text of the user, and a general text for each general
 * training text, unless the recipe names such sets. Call before the pairs are ordered.
 */
int texts_add_splits(struct texts *t, const struct conf *c, struct err *e);

/* Must the lines of the training texts be counted before texts_choose_lines()? */
bool texts_need_counts(const struct texts *t, const struct conf *c);

/* lines: (n_train) number of lines of each training text. */
void texts_choose_lines(struct texts *t, const struct conf *c, const int64_t *lines);

#endif
