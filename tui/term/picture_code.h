/*
 * picture_code.h - pictures as sequences for terminals: the kitty graphics protocol and sixel.
 */
#ifndef WERKBANK_TUI_TERM_PICTURE_CODE_H
#define WERKBANK_TUI_TERM_PICTURE_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "tui/term/picture.h"

#define SIXEL_MAX_COLOURS 256

/*
 * Append n bytes as a zlib stream (RFC 1950) with fixed Huffman codes. Repetitions are looked for at
 * distances of one pixel (4 bytes) and of `row` bytes only, which is enough for plots.
 */
void code_add_zlib(struct buf *out, const uint8_t *data, size_t n, size_t row);

/*
 * Append the sequences that show p at the cursor over its cells and replace picture `id`; the terminal
 * answers nothing and does not move the cursor. The pixels are compressed RGBA in pieces of 4,096 bytes.
 */
void code_add_kitty(struct buf *out, const struct picture *p, unsigned id);
void code_add_kitty_end(struct buf *out, unsigned id); /* remove it, and free its memory there */

/*
 * Append p as sixels with at most `colours` colours (2 to SIXEL_MAX_COLOURS), the most frequent ones.
 * Pixels are mixed with the ground (0xRRGGBB) by their alpha; almost transparent ones are left out.
 */
void code_add_sixel(struct buf *out, const struct picture *p, int ground, int colours);

#endif
