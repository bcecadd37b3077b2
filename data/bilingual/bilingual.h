/*
 * bilingual.h - files that hold both sides of a text: TMX, XLIFF, PO (gettext), CSV and TSV
 *
 *	struct bilingual *b = bilingual_open(&options, read, from, e);
 *	while ((got = bilingual_read(b, want, &source, &target, e)) > 0)
 *		line n of source and line n of target are a pair
 *	bilingual_close(b);
 *
 * The file is read once, as a stream; memory does not depend on its size. The beginning of the file and
 * the end of its name show the format:
 *
 *	TMX	one pair a <tu>, from the <tuv> of both languages
 *	XLIFF	1.2: one pair a <trans-unit>, or one each <mrk mtype="seg">; 2: one pair a <segment>
 *	PO	one pair a message; each plural form is a pair of its own
 *	tables	one pair a row; cells are separated by tabs, or by , or ; with quotes as in RFC 4180
 *
 * Such a part of the file is a unit; units are numbered from 1. Markup inside a segment is left out,
 * with the codes that <ph>, <bpt>, <ept>, <it> and <ut> hold; text inside <hi>, <g>, <pc> and <mrk>
 * stays. Runs of white space, line ends included, become one blank.
 */
#ifndef WERKBANK_DATA_BILINGUAL_BILINGUAL_H
#define WERKBANK_DATA_BILINGUAL_BILINGUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/lines.h"

/* All texts are borrowed. */
struct bilingual_options {
	const char *name; /* of the file: for messages; its end helps to find the format */
	const char *source_language, *target_language;
	const char *encoding; /* of tables without byte order mark; NULL: UTF-8 */
	const char *columns;  /* of tables: "SOURCE,TARGET", numbers or names; NULL: find them */
	bool repair;	      /* replace invalid characters by U+FFFD instead of failing */
	bool keep_numbers;    /* a unit that is no pair gives two empty lines: line n is unit n */
};

struct bilingual;

/* Reads the beginning of the file by read(from, …). NULL: failure, such as an unknown format. */
struct bilingual *bilingual_open(const struct bilingual_options *o, lines_read *read, void *from,
				 struct err *e);

/*
 * Append lines to both: about `want` bytes, or up to the end. Returns 1; 0: the file has ended, maybe
 * after some lines; < 0: failure. ERR_DATA: the file is damaged, or has no pair of both languages; the
 * message lists its languages.
 */
int bilingual_read(struct bilingual *b, size_t want, struct buf *source, struct buf *target,
		   struct err *e);

/* Append a sentence: how many units are pairs, and why others are none. Nothing if all are pairs. */
void bilingual_describe(const struct bilingual *b, struct buf *out);

/*
 * Characters so far that repair replaced: U+FFFD for bytes that do not exist in the encoding, a blank for
 * a control character that XML forbids. Invalid UTF-8 in PO and tables counts in lines.h instead.
 */
int64_t bilingual_replaced(const struct bilingual *b);

void bilingual_close(struct bilingual *b); /* may be NULL */

#endif
