/*
 * references.h - character references of HTML and XML (&amp; &#228; &auml;), read and written back
 *
 * A text comes back with the spelling it had: a character that the source wrote as a reference is written as the same
 * reference, a bare & or > stays bare where the source had it bare.
 */
#ifndef WERKBANK_EVAL_DOCUMENT_REFERENCES_H
#define WERKBANK_EVAL_DOCUMENT_REFERENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"

#define SPELLINGS_MAX                                                                              \
	64 /* different references of a segment that come back; others become characters */

/* How a segment writes its characters. Zeroed: no character was seen. */
struct spellings {
	struct {
		uint32_t c;
		unsigned char n;
		char text[14]; /* (n) "&auml;" */
	} seen[SPELLINGS_MAX];
	int n;
	bool bare_and, bare_less, bare_greater;
};

/*
 * Bytes of the reference at text, which begins with &, and its character in *c. 0: this is no reference. is_xml: only the
 * five names of XML count.
 */
size_t reference_read(const char *text, size_t n, bool is_xml, uint32_t *c);
/* Remembers the reference (n bytes) of a character. */
void spellings_note(struct spellings *s, uint32_t c, const char *text, size_t n);
/* Appends the bytes from … to - 1 of a text of n bytes as the segment would write them. */
void spellings_write(const struct spellings *s, const char *text, size_t from, size_t to, size_t n,
		     struct buf *out);

#endif
