/*
 * score_passes.h - substitutions over a whole line that several tokenisers share.
 *
 * sacreBLEU defines a tokeniser as a list of regular-expression substitutions. Each substitution is
 * one pass here. As in Python, matches of a pass do not overlap: a pass does not look again at
 * characters that a match has consumed. Passes work on s->a, with s->b as scratch; the text is
 * well-formed UTF-8. Out of memory: a buffer of s has failed set.
 */
#ifndef WERKBANK_EVAL_METRICS_SCORE_PASSES_H
#define WERKBANK_EVAL_METRICS_SCORE_PASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eval/metrics/score_tokenize.h"
#include "share/base/buf.h"

/* Clears b and makes room for n bytes. NULL: out of memory, and b->failed is set. */
char *score_pass_start(struct buf *b, size_t n);
/* Ends the text of b at end. */
void score_pass_end(struct buf *b, const char *end);

/* Replaces every occurrence of word in s->a by with. */
void score_pass_replace(struct score_scratch *s, const char *word, const char *with);

/* Replaces &quot; &amp; &lt; &gt; in s->a, in this order. */
void score_pass_entities(struct score_scratch *s);

/*
 * Splits s->a as mteval-v13a.pl does Western languages: ASCII punctuation stands alone, except a
 * period or comma between digits, and a hyphen that no digit precedes. possessives: "'s" before a
 * blank stands alone too.
 */
void score_pass_western(struct score_scratch *s, bool possessives);

/* The characters first ... last. */
struct score_range {
	uint32_t first, last;
};

enum score_action { SCORE_ISOLATE, SCORE_REMOVE };

/* Appends the line to out, with blanks around the characters of the ranges, or without them. */
void score_pass_ranges(const char *line, size_t n, const struct score_range *ranges,
		       size_t n_ranges, enum score_action action, struct buf *out);

#endif
