/*
 * docfile.h - documents of several formats: what is to be translated in them, and the same document with translations
 *
 *	struct docfile d;
 *	docfile_open_bytes(&d, path, bytes, n, kind, NULL, &languages, e);	finds the segments of all parts
 *	d.segments[i].markup.text …			translate; put the result into d.segments[i].translation
 *	docfile_write(&d, stream, e);
 *	docfile_close(&d);				also after a failure
 *
 * A document is bytes. A format finds ranges of bytes to replace, each with its text, and all other bytes are copied. So what a
 * format does not know stays as it is. A document of several parts (DOCX, ODT) is a ZIP archive, whose other members
 * are copied as they are stored.
 */
#ifndef WERKBANK_EVAL_DOCUMENT_DOCFILE_H
#define WERKBANK_EVAL_DOCUMENT_DOCFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "eval/document/markup.h"
#include "share/base/err.h"

#define DOCFILE_MAX_BYTES ((size_t)256 << 20) /* of a file */
#define DOCFILE_MAX_PART  ((size_t)64 << 20)  /* of an unpacked member of a ZIP archive */
#define DOCFILE_MAX_PARTS ((size_t)128 << 20) /* … of all unpacked members together */
#define DOCFILE_TAGS	  4		      /* most tags, as a multiple of max_segments */

struct docfile_languages {
	const char *source, *target; /* borrowed: codes such as "en" */
	size_t max_segments;	     /* of a document; 0: no limit */
};

/* A range of bytes of a part that a translation replaces. */
struct segment {
	size_t part;
	size_t from, to;	    /* bytes of the part */
	const char *before, *after; /* borrowed: written around the translation */
	char *around;		    /* owned: what before and after point into; NULL: constants */
	size_t lead, trail;   /* bytes of white space at the ends of `text`, written as they are */
	char *text;	      /* owned: the segment, if it is not the bytes from … to - 1; NULL */
	struct markup markup; /* its plain text is m.text */
	bool is_line;	      /* one line of a message; it may stay untranslated beside others */
	struct buf translation; /* with mark-up; empty: the bytes stay as they are */
};

struct docfile_part {
	const char *name;  /* borrowed: of a member; NULL: the document itself */
	const char *bytes; /* (n) */
	size_t n;
	char *owned; /* owned: unpacked bytes; NULL */
};

struct docfile_format;

struct docfile {
	const struct docfile_format *format;
	const char *path;	       /* borrowed: for messages */
	const struct protect *symbols; /* borrowed: text although they look like tags; NULL: none */
	struct docfile_languages languages;
	struct buf file;
	struct docfile_part *parts; /* (n_parts) owned */
	size_t n_parts;
	struct segment *segments; /* (n) owned, by part and place */
	size_t n, cap;
	size_t n_tags;	/* in the mark-up of all segments */
	size_t n_units; /* units of XLIFF, TMX and PO, also those that are not translated; else 0 */
	char encoding[24]; /* that the document declares, if it is not UTF-8; "": UTF-8 */
	char *remark;	   /* owned: tells the user what stays untranslated; NULL: nothing */
};

struct docfile_format {
	const char *name; /* of document_kind.h */
	/* Adds the segments of part number `part` with docfile_add_segment(), in their order. */
	int (*find)(struct docfile *d, size_t part, struct err *e);
	/* Appends a translation as the format writes it; NULL: as it is. */
	void (*put)(const char *text, size_t n, struct buf *out);
	/* Unpacked members of a ZIP archive, "word/document.xml word/header* "; NULL: one text. */
	const char *members;
	bool has_references; /* characters that an encoding lacks are written as &#228; */
	bool is_xml; /* checked by expat first: well-formed, without declarations of a DTD */
};

extern const struct docfile_format docfile_txt, docfile_html, docfile_markdown, docfile_xliff,
	docfile_tmx, docfile_po, docfile_srt, docfile_vtt, docfile_docx, docfile_odt;
/* Texts of XML in requests to a server, with any elements; xml_lines: line ends stay. No file has these kinds. */
extern const struct docfile_format docfile_xml_text, docfile_xml_lines;

/* Format number i of those that this build can read; NULL: there are fewer. */
const struct docfile_format *docfile_format_at(size_t i);
/* The format of this name, or of the ending of this path; NULL: none. */
const struct docfile_format *docfile_find_format(const char *name);
const struct docfile_format *docfile_format_of(const char *path);

/*
 * Opens n bytes, which are copied. ERR_DATA: damaged, hostile, too large, or no UTF-8. ERR_NOMEM also: more segments than
 * languages->max_segments, or more than DOCFILE_TAGS times as many tags. Borrows path, symbols and languages.
 */
int docfile_open_bytes(struct docfile *d, const char *path, const char *bytes, size_t n,
		       const struct docfile_format *format, const struct protect *symbols,
		       const struct docfile_languages *languages, struct err *e);
void docfile_close(struct docfile *d);

/*
 * For formats: add the bytes from … to - 1, trimmed of white space, if they hold text to translate. text: the segment, if it
 * is not these bytes; owned by the document from now on, also after a failure, its white space at the ends stays; NULL: the bytes.
 */
int docfile_add_segment(struct docfile *d, size_t part, size_t from, size_t to,
			enum markup_kind kind, char *text, struct err *e);
/*
 * A message whose lines are segments: all between them stands around these. Begin with DOCFILE_MESSAGE, fill `literal` with what comes
 * before the first line. docfile_message_line() adds a line like docfile_add_segment(); without words it is added to nothing, and
 * *is_added is false. docfile_message_end() frees the message; after: what comes after the last line beside `literal`.
 */
struct docfile_message {
	size_t last;	    /* index of the last segment; SIZE_MAX: none */
	struct buf before;  /* what stands before that segment */
	struct buf literal; /* what comes after it so far */
};
#define DOCFILE_MESSAGE                                                                            \
	{                                                                                          \
		.last = SIZE_MAX                                                                   \
	}
int docfile_message_line(struct docfile *d, struct docfile_message *m, size_t part, size_t from,
			 size_t to, enum markup_kind kind, char *text, bool *is_added,
			 struct err *e);
int docfile_message_end(struct docfile *d, struct docfile_message *m, const char *after,
			struct err *e);
/* The segment that was added last, if it was added after the document had n segments; NULL: nothing was added. */
struct segment *docfile_last_segment(struct docfile *d, size_t n);

/* A format calls it with the encoding that the document declares. */
void docfile_note_encoding(struct docfile *d, const char *name, size_t n);

/* Writes the document with its translations. The caller checks the stream. ERR_DATA: its encoding lacks their letters. */
int docfile_write(const struct docfile *d, FILE *out, struct err *e);

#endif
