/*
 * side_order.h - pairs whose source and target are the other way round than in the rest
 *
 * Words that stand on one side only tell which side is which. Weights of words and the order of pairs are
 * estimated in turns: the weight of a word is the log ratio of its counts on both sides, and a pair is
 * swapped if its source consists of words of targets and its target of words of sources. So no list of
 * words is needed; where both languages have a list (language_words.def), it gives the first orders.
 */
#ifndef WERKBANK_DATA_JUDGE_SIDE_ORDER_H
#define WERKBANK_DATA_JUDGE_SIDE_ORDER_H

#include "data/judge/judged_lines.h"

struct side_order;

/*
 * Learn the order of sides from training text. source, target: rows of language_words.def; -1: none, then
 * the order of most pairs is the right one. Borrows m; later words have no weight. NULL: failure.
 */
struct side_order *side_order_new(const struct word_marks *m, const struct judged_lines *t,
				  int source, int target, struct err *e);
void side_order_free(struct side_order *o);

/* Set is_swapped[i] for each of the lines: the training text, or a held-out set. */
void side_order_mark(const struct side_order *o, const struct judged_lines *t, bool *is_swapped);

#endif
