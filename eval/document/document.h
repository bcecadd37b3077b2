/*
 * document.h - documents of several formats: what is to be translated in them, and the same document with translations
 *
 *	struct document d;
 *	document_open(&d, path, kind, &languages, e);	finds the segments of all parts
 *	d.segments[i].markup.text …			translate; put the result into d.segments[i].translation
 *	document_write(&d, stream, e);
 *	document_close(&d);				also after a failure
 *
 * A document is bytes. A format finds ranges of bytes to replace, each with its text, and all other bytes are copied. So what a
 * format does not know stays as it is. A document of several parts (DOCX, ODT) is a ZIP archive, whose other members
 * are copied as they are stored.
 */
#ifndef WERKBANK_EVAL_DOCUMENT_DOCUMENT_H
#define WERKBANK_EVAL_DOCUMENT_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "eval/document/markup.h"
#include "share/base/err.h"

#define DOCUMENT_MAX_BYTES ((size_t)256 << 20) /* of a file */
#define DOCUMENT_MAX_PART  ((size_t)64 << 20)  /* of an unpacked member of a ZIP archive */

struct document_languages {
	const char *source, *target; /* borrowed: codes such as "en" */
};

/* A range of bytes of a part that a translation replaces. */
struct segment {
	size_t part;
	size_t from, to;	    /* bytes of the part */
	const char *before, *after; /* borrowed: written around the translation */
	char *text;	      /* owned: the segment, if it is not the bytes from … to - 1; NULL */
	struct markup markup; /* its plain text is m.text */
	struct buf translation; /* with mark-up; empty: the bytes stay as they are */
};

struct document_part {
	const char *name;  /* borrowed: of a member; NULL: the document itself */
	const char *bytes; /* (n) */
	size_t n;
	char *owned; /* owned: unpacked bytes; NULL */
};

struct document_format;

struct document {
	const struct document_format *format;
	const char *path;	       /* borrowed: for messages */
	const struct protect *symbols; /* borrowed: text although they look like tags; NULL: none */
	struct document_languages languages;
	struct buf file;
	struct document_part *parts; /* (n_parts) owned */
	size_t n_parts;
	struct segment *segments; /* (n) owned, by part and place */
	size_t n, cap;
	char *before_target; /* owned: what a format writes before a translation */
};

struct document_format {
	const char *name;
	const char *suffixes; /* ".html .htm " */
	/* Adds the segments of part number `part` with document_add_segment(), in their order. */
	int (*find)(struct document *d, size_t part, struct err *e);
	/* Appends a translation as the format writes it; NULL: as it is. */
	void (*put)(const struct segment *s, struct buf *out);
	/* Unpacked members of a ZIP archive, "word/document.xml word/header* "; NULL: one text. */
	const char *members;
	bool is_xml; /* checked by expat first: well-formed, without declarations of a DTD */
};

extern const struct document_format document_txt, document_html, document_markdown, document_xliff,
	document_tmx, document_po, document_srt, document_vtt, document_docx, document_odt;

/* The format of this name, or of the ending of this path; NULL: none. */
const struct document_format *document_find_format(const char *name);
const struct document_format *document_format_of(const char *path);
/* "txt, html, …" */
void document_list_formats(struct buf *out);

/* ERR_DATA: damaged, hostile, too large, or no UTF-8. Borrows path, symbols and languages. */
int document_open(struct document *d, const char *path, const struct document_format *format,
		  const struct protect *symbols, const struct document_languages *languages,
		  struct err *e);
/* The same from n bytes, which are copied. */
int document_open_bytes(struct document *d, const char *path, const char *bytes, size_t n,
			const struct document_format *format, const struct protect *symbols,
			const struct document_languages *languages, struct err *e);
void document_close(struct document *d);

/*
 * For formats: add the bytes from … to - 1, trimmed of white space, if they hold text to translate. text: the segment, if it
 * is not these bytes; owned by the document from now on, also after a failure; NULL: the bytes.
 */
int document_add_segment(struct document *d, size_t part, size_t from, size_t to,
			 enum markup_kind kind, char *text, struct err *e);
/* The segment that was added last, if it was added after the document had n segments; NULL: nothing was added. */
struct segment *document_last_segment(struct document *d, size_t n);

/* Writes the document with its translations. The caller checks the stream. */
int document_write(const struct document *d, FILE *out, struct err *e);

#endif
