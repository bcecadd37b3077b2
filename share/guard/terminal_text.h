/*
 * terminal_text.h - text that may be foreign, on a terminal
 *
 * Text of files, hosts and servers can hold bytes that a terminal obeys: escape sequences, C0 and
 * C1 controls, characters that change the direction of a line. One table says which characters
 * these are; the workbench's grid and all printed text use it.
 *
 * main() calls terminal_guard_streams() first. From then on, whatever the program prints to stderr,
 * and to stdout if that is a terminal, passes terminal_add_text(). A stdout that is a file or a
 * pipe holds data and stays as it is. The program's own control sequences (a progress bar) go
 * through terminal_send_control().
 */
#ifndef WERKBANK_SHARE_GUARD_TERMINAL_TEXT_H
#define WERKBANK_SHARE_GUARD_TERMINAL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"

#define TERMINAL_REPLACEMENT 0xFFFD /* shown in place of a character that is not printed */

enum terminal_class {
	TERMINAL_PLAIN,
	TERMINAL_BREAK,	    /* tab, LF, CR, U+2028, U+2029 */
	TERMINAL_CONTROL,   /* other C0, DEL, C1 */
	TERMINAL_DIRECTION, /* embeds, overrides or isolates a direction of writing */
	TERMINAL_INVISIBLE, /* joiners, marks of direction, variation selectors, tags */
};

enum terminal_class terminal_class_of(uint32_t codepoint);

/*
 * Append text with every control and direction character, and every byte that is not part of
 * well-formed UTF-8, replaced by U+FFFD. TERMINAL_LINES keeps tabs and line feeds; TERMINAL_SENTENCE
 * replaces them, so that the text cannot look like two messages.
 */
enum terminal_breaks { TERMINAL_LINES, TERMINAL_SENTENCE };
void terminal_add_text(struct buf *out, const char *text, size_t n, enum terminal_breaks breaks);

/*
 * Replace stderr, and stdout if it is a terminal, by streams that pass terminal_add_text(). Called
 * once, before anything is printed or opened; without memory the streams stay as they are. A closed
 * standard stream stays useless, but no file gets its number.
 */
void terminal_guard_streams(void);

/* Write one of the program's own control sequences to stderr, as it is. */
void terminal_send_control(const char *sequence);

#endif
