/* picture_code.c - see picture_code.h. */
#include "tui/term/picture_code.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/base64.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define KITTY_PIECE    4096
#define SEEN_ALPHA     24 /* pixels with less are left out of sixels */
#define COLOUR_BITS    4  /* of each channel, before colours are counted */
#define COLOUR_KINDS   (1 << (3 * COLOUR_BITS))
#define NO_COLOUR      0xFFFF /* a pixel that is left out */
#define LONGEST_MATCH  258
#define FARTHEST_MATCH 32768

/* ---- compression (RFC 1951, block type 01) ---- */

struct bit_writer {
	struct buf *out;
	uint32_t bits;
	int n;
};

/* The lowest n bits of value, the lowest first. */
static void add_bits(struct bit_writer *w, uint32_t value, int n)
{
	w->bits |= value << w->n;
	w->n += n;
	while (w->n >= 8) {
		buf_add_char(w->out, (char)(w->bits & 255));
		w->bits >>= 8;
		w->n -= 8;
	}
}

/* Huffman codes are stored with their highest bit first. */
static void add_huffman(struct bit_writer *w, uint32_t code, int n)
{
	for (int i = n - 1; i >= 0; i--)
		add_bits(w, code >> i & 1, 1);
}

/* A literal byte, the end of the block (256) or a length code (257 to 285). */
static void add_symbol(struct bit_writer *w, uint32_t symbol)
{
	if (symbol < 144)
		add_huffman(w, 0x30 + symbol, 8);
	else if (symbol < 256)
		add_huffman(w, 0x190 + symbol - 144, 9);
	else if (symbol < 280)
		add_huffman(w, symbol - 256, 7);
	else
		add_huffman(w, 0xC0 + symbol - 280, 8);
}

static void add_match(struct bit_writer *w, uint32_t length, uint32_t distance)
{
	uint32_t at = length - 3, d = distance - 1;
	int extra = 0;

	assert(length >= 3 && length <= LONGEST_MATCH && distance >= 1);
	if (length == LONGEST_MATCH) {
		add_symbol(w, 285);
	} else {
		/* four codes for each number of extra bits, but eight without any */
		while (at >> (extra + 3))
			extra++;
		add_symbol(w, 257 + 4 * (uint32_t)extra + (at >> extra));
		add_bits(w, at & ((1u << extra) - 1), extra);
	}
	/* two codes for each number of extra bits, but four without any */
	for (extra = 0; d >> (extra + 2);)
		extra++;
	add_huffman(w, 2 * (uint32_t)extra + (d >> extra), 5);
	add_bits(w, d & ((1u << extra) - 1), extra);
}

static size_t match_length(const uint8_t *data, size_t n, size_t at, size_t distance)
{
	size_t most = MIN(n - at, (size_t)LONGEST_MATCH), length = 0;

	if (!distance || distance > at || distance > FARTHEST_MATCH)
		return 0;
	while (length < most && data[at + length] == data[at + length - distance])
		length++;
	return length;
}

void code_add_zlib(struct buf *out, const uint8_t *data, size_t n, size_t row)
{
	struct bit_writer w = { .out = out };
	uint32_t a = 1, b = 0;

	buf_add(out, "\x78\x01", 2);
	add_bits(&w, 1, 1); /* the last block */
	add_bits(&w, 1, 2);
	for (size_t i = 0; i < n;) {
		size_t left = match_length(data, n, i, 4), above = match_length(data, n, i, row);
		size_t length = MAX(left, above);

		if (length < 3) {
			add_symbol(&w, data[i++]);
			continue;
		}
		add_match(&w, (uint32_t)length, left >= above ? 4 : (uint32_t)row);
		i += length;
	}
	add_symbol(&w, 256);
	add_bits(&w, 0, (8 - w.n) & 7);
	for (size_t i = 0; i < n; i++) { /* Adler-32 */
		a = (a + data[i]) % 65521;
		b = (b + a) % 65521;
	}
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_add_char(out, (char)((b << 16 | a) >> shift & 255));
}

/* ---- kitty ---- */

void code_add_kitty(struct buf *out, const struct picture *p, unsigned id)
{
	size_t row = 4 * (size_t)p->width;
	struct buf packed = { 0 }, text = { 0 };

	code_add_zlib(&packed, p->rgba, row * (size_t)p->height, row);
	base64_add(&text, packed.data, packed.len);
	if (packed.failed || text.failed)
		text.len = 0;
	for (size_t i = 0; i < text.len; i += KITTY_PIECE) {
		bool more = i + KITTY_PIECE < text.len;

		buf_add_str(out, "\033_G");
		if (!i)
			buf_printf(out, "a=T,f=32,o=z,q=2,C=1,i=%u,p=1,s=%d,v=%d,c=%d,r=%d,", id,
				   p->width, p->height, p->cells.cols, p->cells.rows);
		buf_printf(out, "m=%d;", more);
		buf_add(out, text.data + i, MIN(text.len - i, (size_t)KITTY_PIECE));
		buf_add_str(out, "\033\\");
	}
	buf_free(&packed);
	buf_free(&text);
}

void code_add_kitty_end(struct buf *out, unsigned id)
{
	buf_printf(out, "\033_Ga=d,d=I,i=%u,q=2\033\\", id);
}

/* ---- sixel ---- */

/* The colour of a pixel on the ground in COLOUR_BITS a channel; NO_COLOUR: transparent. */
static unsigned pixel_kind(const uint8_t *rgba, int ground)
{
	unsigned kind = 0;

	if (rgba[3] < SEEN_ALPHA)
		return NO_COLOUR;
	for (int c = 0; c < 3; c++) {
		int below = ground >> (16 - 8 * c) & 255;
		int value = (rgba[c] * rgba[3] + below * (255 - rgba[3]) + 127) / 255;

		kind = kind << COLOUR_BITS | (unsigned)value >> (8 - COLOUR_BITS);
	}
	return kind;
}

static int kind_channel(unsigned kind, int c)
{
	return (int)(kind >> (COLOUR_BITS * (2 - c)) & ((1 << COLOUR_BITS) - 1));
}

static int kind_distance(unsigned a, unsigned b)
{
	int sum = 0;

	for (int c = 0; c < 3; c++) {
		int d = kind_channel(a, c) - kind_channel(b, c);

		sum += d * d;
	}
	return sum;
}

/* The most frequent colours, and for each colour the nearest of them. */
struct sixel_palette {
	unsigned kinds[SIXEL_MAX_COLOURS];
	int n;
	uint16_t nearest[COLOUR_KINDS]; /* index into kinds */
};

static void choose_sixel_colours(struct sixel_palette *to, uint32_t counts[COLOUR_KINDS], int most)
{
	uint32_t left[COLOUR_KINDS];

	memcpy(left, counts, sizeof(left));
	for (to->n = 0; to->n < most; to->n++) {
		unsigned best = 0;

		for (unsigned k = 1; k < COLOUR_KINDS; k++)
			best = left[k] > left[best] ? k : best;
		if (!left[best])
			break;
		left[best] = 0;
		to->kinds[to->n] = best;
	}
	for (unsigned k = 0; k < COLOUR_KINDS; k++) {
		int near = 0;

		for (int i = 1; counts[k] && i < to->n; i++)
			if (kind_distance(k, to->kinds[i]) < kind_distance(k, to->kinds[near]))
				near = i;
		to->nearest[k] = (uint16_t)near;
	}
}

/* n times the sign of six pixels: from four on as a repetition. */
static void add_sixel_run(struct buf *out, int sign, int n)
{
	if (n > 3)
		buf_printf(out, "!%d%c", n, 0x3F + sign);
	else
		for (int i = 0; i < n; i++)
			buf_add_char(out, (char)(0x3F + sign));
}

/* The pixels of one colour in six rows from top on. */
static void add_sixel_row(struct buf *out, const struct picture *p, const uint16_t *pixels, int top,
			  int colour)
{
	int run = 0, before = 0;

	for (int x = 0; x < p->width; x++) {
		int sign = 0;

		for (int i = 0; i < 6 && top + i < p->height; i++)
			sign |= (pixels[(size_t)(top + i) * (size_t)p->width + (size_t)x] == colour)
				<< i;
		if (sign != before) {
			add_sixel_run(out, before, run);
			run = 0;
		}
		before = sign;
		run++;
	}
	if (before)
		add_sixel_run(out, before, run);
}

static void add_sixel_rows(struct buf *out, const struct picture *p, const uint16_t *pixels, int n)
{
	for (int top = 0; top < p->height; top += 6) {
		bool used[SIXEL_MAX_COLOURS] = { false }, first = true;
		size_t from = (size_t)top * (size_t)p->width;
		size_t end = (size_t)MIN(top + 6, p->height) * (size_t)p->width;

		for (size_t i = from; i < end; i++)
			if (pixels[i] != NO_COLOUR)
				used[pixels[i]] = true;
		for (int k = 0; k < n; k++) {
			if (!used[k])
				continue;
			buf_printf(out, "%s#%d", first ? "" : "$", k);
			add_sixel_row(out, p, pixels, top, k);
			first = false;
		}
		if (top + 6 < p->height)
			buf_add_char(out, '-');
	}
}

void code_add_sixel(struct buf *out, const struct picture *p, int ground, int colours)
{
	size_t n = (size_t)p->width * (size_t)p->height;
	struct err ignored; /* without memory there is no picture */
	uint32_t *counts = mem_alloc(COLOUR_KINDS, sizeof(*counts), &ignored);
	uint16_t *pixels = mem_alloc(n, sizeof(*pixels), &ignored);
	struct sixel_palette *palette = mem_alloc(1, sizeof(*palette), &ignored);

	assert(colours >= 2 && colours <= SIXEL_MAX_COLOURS);
	if (counts && pixels && palette) {
		for (size_t i = 0; i < n; i++) {
			pixels[i] = (uint16_t)pixel_kind(p->rgba + 4 * i, ground);
			if (pixels[i] != NO_COLOUR)
				counts[pixels[i]]++;
		}
		choose_sixel_colours(palette, counts, colours);
		/* 0;1: pixels that are not set keep what is there */
		buf_printf(out, "\033P0;1q\"1;1;%d;%d", p->width, p->height);
		for (int k = 0; k < palette->n; k++) {
			buf_printf(out, "#%d;2", k);
			for (int c = 0; c < 3; c++)
				buf_printf(out, ";%d",
					   (kind_channel(palette->kinds[k], c) * 100 + 7) / 15);
		}
		for (size_t i = 0; i < n; i++)
			if (pixels[i] != NO_COLOUR)
				pixels[i] = palette->nearest[pixels[i]];
		add_sixel_rows(out, p, pixels, palette->n);
		buf_add_str(out, "\033\\");
	}
	free(counts);
	free(pixels);
	free(palette);
}
