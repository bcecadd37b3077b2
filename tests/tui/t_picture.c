/* t_picture.c - pictures over cells: drawing, and both encodings against decoders written here. */
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/util.h"
#include "tui/term/grid.h"
#include "tui/term/picture.h"
#include "tui/term/picture_code.h"

static struct err e;

/* ---- a decoder of zlib streams with fixed codes, by RFC 1950 and 1951 ---- */

struct bit_reader {
	const uint8_t *data;
	size_t n, at; /* bits */
};

static unsigned take_bits(struct bit_reader *r, int n)
{
	unsigned value = 0;

	for (int i = 0; i < n; i++, r->at++)
		if (r->at / 8 < r->n)
			value |= (unsigned)(r->data[r->at / 8] >> (r->at % 8) & 1) << i;
	return value;
}

static unsigned take_code(struct bit_reader *r, int n)
{
	unsigned value = 0;

	for (int i = 0; i < n; i++)
		value = value << 1 | take_bits(r, 1);
	return value;
}

static unsigned take_symbol(struct bit_reader *r)
{
	unsigned code = take_code(r, 7);

	if (code < 24)
		return 256 + code;
	code = code << 1 | take_bits(r, 1);
	if (code >= 0x30 && code < 0xC0)
		return code - 0x30;
	if (code >= 0xC0 && code < 0xC8)
		return 280 + code - 0xC0;
	return 144 + (code << 1 | take_bits(r, 1)) - 0x190;
}

static void inflate_fixed(const uint8_t *data, size_t n, struct buf *out)
{
	static const unsigned lengths[] = { 3,	4,  5,	6,   7,	  8,   9,   10,	 11, 13,
					    15, 17, 19, 23,  27,  31,  35,  43,	 51, 59,
					    67, 83, 99, 115, 131, 163, 195, 227, 258 };
	static const int length_bits[] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
					   2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0 };
	static const unsigned distances[] = { 1,    2,	  3,	4,     5,     7,    9,	  13,
					      17,   25,	  33,	49,    65,    97,   129,  193,
					      257,  385,  513,	769,   1025,  1537, 2049, 3073,
					      4097, 6145, 8193, 12289, 16385, 24577 };
	struct bit_reader r = { data + 2, n - 2, 0 };
	uint32_t a = 1, b = 0, sum = 0;

	check_int((data[0] * 256 + data[1]) % 31, 0);
	check_int(data[0] & 15, 8);
	check_int((int)take_bits(&r, 3), 3); /* the last block, fixed codes */
	for (unsigned s; (s = take_symbol(&r)) != 256 && r.at / 8 < r.n;) {
		unsigned length, code, distance;

		if (s < 256) {
			buf_add_char(out, (char)s);
			continue;
		}
		length = lengths[s - 257] + take_bits(&r, length_bits[s - 257]);
		code = take_code(&r, 5);
		distance = distances[code] + take_bits(&r, code < 4 ? 0 : (int)code / 2 - 1);
		if (!check(distance <= out->len))
			return;
		while (length--)
			buf_add_char(out, out->data[out->len - distance]);
	}
	for (size_t i = 0; i < out->len; i++) {
		a = (a + (unsigned char)out->data[i]) % 65521;
		b = (b + a) % 65521;
	}
	for (size_t i = 0; i < 4; i++)
		sum = sum << 8 | r.data[(r.at + 7) / 8 + i];
	check(sum == (b << 16 | a));
	check_int((int)((r.at + 7) / 8 + 4), (int)r.n);
}

static void decode_base64(const char *text, size_t n, struct buf *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = 0;
	int have = 0;

	for (size_t i = 0; i < n && text[i] != '='; i++) {
		bits = bits << 6 | (uint32_t)(strchr(digits, text[i]) - digits);
		if ((have += 6) >= 8)
			buf_add_char(out, (char)(bits >> (have -= 8) & 255));
	}
}

/* ---- pictures ---- */

/* A picture of 20 x 4 cells of 9 x 17 pixels with a line, a disc and a faint area. */
static struct picture *make_picture(struct picture_list *list, struct grid *g)
{
	struct picture *p;

	*list = (struct picture_list){ .cell_width = 9, .cell_height = 17 };
	if (!check_int(grid_resize(g, 6, 30, &e), 0))
		return NULL;
	p = picture_add(list, g, (struct rect){ 1, 2, 4, 20 });
	if (!check(p != NULL))
		return NULL;
	for (int x = 0; x < p->width; x++)
		picture_column(p, x, 30.5 + x / 10.0, p->height);
	picture_paint(p, 0x204060, 0.3);
	picture_stroke(p, 0, 60, 179, 5, 2);
	picture_disc(p, 90, 30, 5);
	picture_paint(p, 0xE06010, 1);
	return p;
}

static const uint8_t *pixel(const struct picture *p, int x, int y)
{
	return p->rgba + 4 * ((size_t)y * (size_t)p->width + (size_t)x);
}

TEST(picture_lines_are_smooth)
{
	struct picture_list list;
	struct grid g = { .charset = GRID_ASCII };
	struct picture *p = make_picture(&list, &g);
	double sum = 0;

	if (!p)
		return;
	check_int(p->width, 180);
	check_int(p->height, 68);
	check_int(pixel(p, 90, 30)[3], 255); /* in the disc */
	check_int(pixel(p, 90, 30)[0], 0xE0);
	check_int(pixel(p, 5, 2)[3], 0);
	check_near(pixel(p, 170, 66)[3], 0.3 * 255, 1); /* the area */
	check_int(pixel(p, 170, 66)[2], 0x60);
	check_int(pixel(p, 40, 34)[3], pixel(p, 41, 34)[3] == 255 ? 255 : pixel(p, 40, 34)[3]);
	/* the part of a pixel: 30.5 + 4 = 34.5 */
	check_near(pixel(p, 40, 34)[3], 0.5 * 0.3 * 255, 2);
	picture_list_clear(&list);
	/* a level line of width 2 covers as much as 2 rows, wherever it lies between pixels */
	p = picture_add(&list, &g, (struct rect){ 0, 0, 2, 8 });
	picture_stroke(p, -10, 11.3, 100, 11.3, 2);
	picture_paint(p, 0xFFFFFF, 1);
	for (int y = 0; y < p->height; y++)
		sum += pixel(p, 30, y)[3] / 255.0;
	check_near(sum, 2, 0.02);
	/* a picture stands while its cells are the same */
	check(picture_is_free(p, &g));
	grid_put(&g, 3, 0, STYLE_NORMAL, 'x');
	check(picture_is_free(p, &g));
	grid_put(&g, 1, 7, STYLE_NORMAL, 'x');
	check(!picture_is_free(p, &g));
	picture_list_clear(&list);
	list.cell_width = 0;
	check(picture_add(&list, &g, (struct rect){ 0, 0, 2, 8 }) == NULL);
	list.cell_width = 1000000;
	check(picture_add(&list, &g, (struct rect){ 0, 0, 2, 8 }) == NULL);
	grid_free(&g);
}

/* Random data with repetitions of all lengths and of both distances. */
TEST(picture_zlib_is_lossless)
{
	static uint8_t data[70000];
	uint32_t random = 1;

	for (size_t rows = 4; rows <= 4 * 2000; rows = rows * 3 + 4) {
		struct buf packed = { 0 }, out = { 0 };
		size_t n = 60000 + rows;

		for (size_t i = 0; i < n;) {
			random = random * 1103515245 + 12345;
			for (size_t k = random >> 16 & 511, way = random >> 28; k-- && i < n; i++)
				data[i] = way < 5 && i >= 4	  ? data[i - 4]
					  : way < 10 && i >= rows ? data[i - rows]
								  : (uint8_t)(random >> (k & 15));
		}
		code_add_zlib(&packed, data, n, rows);
		inflate_fixed((const uint8_t *)packed.data, packed.len, &out);
		check_int((int)out.len, (int)n);
		check(out.len == n && !memcmp(out.data, data, n));
		check(packed.len < n);
		buf_free(&packed);
		buf_free(&out);
	}
}

TEST(picture_kitty_round_trip)
{
	struct picture_list list;
	struct grid g = { .charset = GRID_ASCII };
	struct picture *p = make_picture(&list, &g);
	struct buf out = { 0 }, packed = { 0 }, rgba = { 0 };
	int pieces = 0, more = 1;

	if (!p)
		return;
	/* noise, so that there are several pieces */
	for (int i = 0; i < 4000; i++)
		p->rgba[i * 7] = (uint8_t)(i * i * 31);
	code_add_kitty(&out, p, 77);
	check(strstr(buf_text(&out), "a=T,f=32,o=z,q=2,C=1,i=77,p=1,s=180,v=68,c=20,r=4,m=1;") !=
	      NULL);
	for (const char *at = buf_text(&out); *at; pieces++) {
		const char *data = strchr(at, ';'), *end = strstr(at, "\033\\");

		if (!check(!strncmp(at, "\033_G", 3) && data && end && data < end))
			break;
		check_int(more, 1);
		more = data[-1] - '0';
		check(end - data - 1 <= 4096 && (!more || (end - data - 1) % 4 == 0));
		decode_base64(data + 1, (size_t)(end - data - 1), &packed);
		at = end + 2;
	}
	check(pieces > 1);
	check_int(more, 0);
	inflate_fixed((const uint8_t *)packed.data, packed.len, &rgba);
	check_int((int)rgba.len, 180 * 68 * 4);
	check(rgba.len == 180 * 68 * 4 && !memcmp(rgba.data, p->rgba, rgba.len));
	buf_free(&out);
	buf_free(&packed);
	buf_free(&rgba);
	picture_list_clear(&list);
	grid_free(&g);
}

/* ---- a decoder of sixels ---- */

static int take_number(const char **at)
{
	return (int)strtol(*at, (char **)at, 10);
}

/* Colours of the pixels in per cent (0xRRGGBB); -1: not set. */
static int decode_sixels(const char *at, int width, int height, int *pixels)
{
	int colours[SIXEL_MAX_COLOURS] = { 0 }, x = 0, top = 0, now = 0, n = 0;

	for (int i = 0; i < width * height; i++)
		pixels[i] = -1;
	while (*at && *at != '\033') {
		int repeat = 1, c = *at++;

		if (c == '#') {
			now = take_number(&at);
			if (*at == ';') {
				int v[4];

				for (int i = 0; i < 4; i++, at += *at == ';' && i < 4)
					v[i] = take_number(i ? &at : (at++, &at));
				colours[now] = v[1] << 16 | v[2] << 8 | v[3];
				n = MAX(n, now + 1);
			}
			continue;
		}
		if (c == '$' || c == '-') {
			x = 0;
			top += c == '-' ? 6 : 0;
			continue;
		}
		if (c == '!') {
			repeat = take_number(&at);
			c = *at++;
		}
		for (; repeat > 0; repeat--, x++)
			for (int i = 0; i < 6; i++)
				if ((c - 0x3F) >> i & 1) {
					if (!check(x < width && top + i < height))
						return n;
					pixels[(top + i) * width + x] = colours[now];
				}
	}
	return n;
}

TEST(picture_sixel_round_trip)
{
	struct picture_list list;
	struct grid g = { .charset = GRID_ASCII };
	struct picture *p = make_picture(&list, &g);
	static int pixels[180 * 68];
	static const char head[] = "\033P0;1q\"1;1;180;68";
	int wrong = 0, most = 0;

	for (int colours = 256; p && colours >= 2; colours /= 2) {
		struct buf out = { 0 };

		wrong = 0;
		code_add_sixel(&out, p, 0x000000, colours);
		if (!check(!strncmp(buf_text(&out), head, sizeof(head) - 1)))
			return;
		check(decode_sixels(buf_text(&out) + sizeof(head) - 1, 180, 68, pixels) <= colours);
		for (int i = 0; i < 180 * 68; i++) {
			const uint8_t *q = p->rgba + 4 * i;

			/* what is almost transparent is left out, all else is there */
			check_int(pixels[i] < 0, q[3] < 24);
			for (int c = 0; c < 3 && pixels[i] >= 0; c++) {
				int percent = pixels[i] >> (16 - 8 * c) & 255;
				double wanted = q[c] * q[3] / 255.0;

				most = MAX(most, (int)fabs(percent * 2.55 - wanted));
				wrong += fabs(percent * 2.55 - wanted) > 17;
			}
		}
		if (colours == 256) {
			check_int(wrong, 0); /* a step of 4 bits */
			check(most <= 17);
		}
		check(wrong < 1500);
		buf_free(&out);
	}
	picture_list_clear(&list);
	grid_free(&g);
}
