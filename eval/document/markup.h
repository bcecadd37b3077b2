/*
 * markup.h - inline mark-up of a segment: taken out before translation, put back around the right words after it
 *
 *	struct markup m = { 0 };
 *	markup_read(&m, MARKUP_LINES, NULL, bytes, n, e);	m.text is the plain text to translate
 *	markup_write(&m, &target, &out, e);			the translation with all mark-up
 *	markup_free(&m);
 *
 * Mark-up is a tree of pairs (<b>…</b>), with items (<br/>, a placeholder, a comment, an element whose content is not
 * translated, a tag without partner) between the words. Each pair and each item comes back exactly once, with equal bytes, and the
 * tree keeps its nesting. The order of siblings follows the words of the translation.
 *
 * Placing: each target word has the place of the source word it is aligned to, so the innermost pair there. A pair gets
 * the run of target words that has the most of its own words and the fewest of others; small pairs choose first, since
 * a large one has more to choose from. A pair around all text of its parent gets all words of the parent. An item
 * stands before the target word whose source comes next after it, or after the word that it touched; a blank parts it from a
 * word that it did not touch. A pair without target
 * words is placed like an item, so it is never lost. A target word equal to its source word is cut where the source
 * has tags inside it (H<sub>2</sub>O).
 */
#ifndef WERKBANK_EVAL_DOCUMENT_MARKUP_H
#define WERKBANK_EVAL_DOCUMENT_MARKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/text/protect.h"
#include "eval/document/references.h"
#include "share/base/buf.h"
#include "share/base/err.h"

#define MARKUP_MAX_DEPTH 200 /* of pairs; deeper tags are items */

/* What a segment may hold; markup_rules.c has the table. */
enum markup_kind {
	MARKUP_NONE, /* plain text; addresses (http://…) are items in it and in all other kinds */
	MARKUP_LINES,	 /* lines of --markup: HTML or XML */
	MARKUP_HTML,	 /* a block of an HTML document: white space is collapsed */
	MARKUP_XML,	 /* XLIFF, TMX */
	MARKUP_ODT,	 /* a paragraph of an ODT document */
	MARKUP_RUNS,	 /* a paragraph of a DOCX document: text stands in w:t of w:r only */
	MARKUP_CUES,	 /* cues of subtitles with the lines between them */
	MARKUP_MARKDOWN, /* a paragraph of Markdown */
	MARKUP_MESSAGE	 /* a message of a program: placeholders (%s, {name}) and tags */
};

struct markup_bytes {
	const char *bytes; /* (n) borrowed: of the segment */
	size_t n;
};

struct markup_node {
	int32_t parent; /* the pair around it, -1: none; parents come before children */
	bool is_pair;
	bool by_length; /* item: at the same share of the length, instead of by alignment */
	bool breaks;	/* item: separates words, as <br/> */
	bool is_solid;	/* item: a reader sees it (a placeholder, code): no word joins it */
	bool blank_before, blank_after;	 /* item: white space touches it */
	struct markup_bytes open, close; /* close: of a pair */
	size_t at, end;			 /* bytes of the plain text before it, and up to its end */
};

struct markup {
	struct buf text; /* plain text */
	int32_t *inside; /* (text.len) owned: innermost pair of each byte, -1: none */
	size_t cap_inside;
	struct markup_node *nodes; /* (n) owned */
	size_t n, cap;
	struct markup_bytes source; /* the segment */
	struct spellings spellings;
	enum markup_kind kind;
	bool has_words; /* is there text to translate? */
};

/*
 * Reads the mark-up of n bytes of well-formed UTF-8, borrowed until markup_free(). symbols: protected symbols of the
 * model, which are text although they look like tags; NULL: none. m may be in use; it is cleared first.
 */
int markup_read(struct markup *m, enum markup_kind kind, const struct protect *symbols,
		const char *bytes, size_t n, struct err *e);
void markup_free(struct markup *m);

/* A word of the translation, and the word of the plain text that it is aligned to. */
struct markup_word {
	size_t at, end;		   /* bytes of the translation */
	size_t source, source_end; /* bytes of the plain text; equal: aligned to nothing */
};

struct markup_target {
	const char *text; /* (n) borrowed: the translation */
	size_t n;
	const struct markup_word
		*words; /* (n_words) borrowed, by rising place, none empty, none overlaps */
	size_t n_words;
};

/* Appends the translation with the mark-up to out. A translation equal to the plain text gives the segment as it was. */
int markup_write(const struct markup *m, const struct markup_target *t, struct buf *out,
		 struct err *e);

#endif
