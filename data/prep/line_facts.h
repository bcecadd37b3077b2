/*
 * line_facts.h - what the lines of a training text are: sentences or paragraphs, and how long
 *
 * A model that learned from sentences loses text if it is given paragraphs, so translation splits
 * lines, unless the training text had lines of several sentences itself.
 */
#ifndef WERKBANK_DATA_PREP_LINE_FACTS_H
#define WERKBANK_DATA_PREP_LINE_FACTS_H

#include <stdint.h>

#include "share/base/err.h"
#include "share/conf/conf.h"

struct line_facts {
	int64_t sampled; /* source lines that were split, spread evenly over the training text */
	double several;	 /* share of them that have several sentences; 0 without lines */
	int32_t longest; /* tokens of the longest source line of all */
};

/* Read them from the corpus in `folder`, whose shards are finished. c: its options. */
int line_facts_read(struct line_facts *f, const char *folder, const struct conf *c, struct err *e);

#endif
