/* markup_internal.h - rules of mark-up for markup.c */
#ifndef WERKBANK_EVAL_DOCUMENT_MARKUP_INTERNAL_H
#define WERKBANK_EVAL_DOCUMENT_MARKUP_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "eval/document/markup.h"

/* What an element is in a kind of mark-up. */
enum markup_role {
	ROLE_PAIR,   /* a start tag and an end tag around text */
	ROLE_EMPTY,  /* one tag */
	ROLE_BREAK,  /* one tag that separates words */
	ROLE_OPAQUE, /* the element with its content is an item */
	ROLE_BEGIN,  /* <bpt>…</bpt>: an element that begins a pair … */
	ROLE_FINISH, /* … <ept>…</ept> and one that ends it */
	ROLE_SKIP    /* the tag is part of the mark-up around it: no pair, no item of its own */
};

/* Is the text a list entry of "a b c " (each name ends with a blank)? */
bool markup_has_name(const char *list, const char *name, size_t n, bool folds_case);

/* A tag of the source. */
struct markup_tag {
	const char *name; /* (n_name) with its prefix */
	size_t n_name;
	size_t n; /* bytes of the tag */
	bool is_end, is_empty, has_name;
};

/* The name of a tag without its prefix (x:source): its bytes in *n. */
const char *markup_local_name(const struct markup_tag *tag, size_t *n);

/* The tag, comment, declaration or processing instruction at text, which begins with <. false: it is none. */
bool markup_read_tag(const char *text, size_t n, struct markup_tag *tag);
/* Does a tag or a comment begin at text, that lasts to the end of the text without its own end? */
bool markup_is_unfinished(const char *text, size_t n);
/* The value of an attribute of a tag; NULL: none. */
const char *markup_tag_value(const char *tag, size_t n, const char *name, size_t *n_value);
enum markup_role markup_role_of(enum markup_kind kind, const char *bytes,
				const struct markup_tag *tag);
bool markup_folds_case(enum markup_kind kind);
/* Bytes of the element that begins with this start tag; to the end of the text if it has no end tag. */
size_t markup_element_bytes(enum markup_kind kind, const char *text, size_t n,
			    const struct markup_tag *tag);
/* Does a reader see an item of this tag: code, a placeholder? */
bool markup_is_solid(enum markup_kind kind, enum markup_role role, const struct markup_tag *tag);
/* Bytes of a placeholder (%1$s, %(name)s, {name}, %%) at text, or of several with signs between; 0: none. */
size_t markup_placeholder(const char *text, size_t n);

/* Bytes of a time in a cue (<00:01.500>), a code of its format ({\an8}) or a note of music at text; 0: none. */
size_t markup_cue_tag(const char *text, size_t n);

/* Bytes of an address (http://…, www.…) at text; 0: none. */
size_t markup_url(const char *text, size_t n);

/* What Markdown has at a place. */
enum markdown_role {
	MARKDOWN_TEXT,
	MARKDOWN_ITEM,	 /* n bytes */
	MARKDOWN_NOTE,	 /* n bytes that refer to a footnote */
	MARKDOWN_OPEN,	 /* n bytes begin a pair named by n_name bytes */
	MARKDOWN_TOGGLE, /* n bytes end the pair of this name, or begin it */
	MARKDOWN_CLOSE,	 /* n bytes end the pair named [ */
	MARKDOWN_ESCAPED /* a backslash and the character that it makes text */
};
struct markdown_mark {
	enum markdown_role role;
	size_t n;
	bool can_open; /* of MARKDOWN_TOGGLE */
};
/* The mark at `at` in a paragraph. */
struct markdown_mark markup_read_markdown(const char *begin, const char *at, const char *end);

/* Is there anything to translate in a plain text? */
bool markup_has_letters(const struct buf *text);
/* markup_read() of MARKUP_RUNS; m is cleared and has its source. */
int markup_read_runs(struct markup *m, struct err *e);

#endif
