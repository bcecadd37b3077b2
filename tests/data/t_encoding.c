/* t_encoding.c - text in other encodings, read in pieces of any size. */
#include <string.h>

#include "data/text/encoding.h"
#include "share/base/util.h"
#include "tests/test.h"

#define check_has(text, part) check(strstr(text, part) != NULL)

/* A text that is read in pieces of `piece` bytes. */
struct piecewise_text {
	const char *text;
	size_t n, piece;
};

static int64_t read_piece(void *from, void *to, size_t room, struct err *e)
{
	struct piecewise_text *p = from;
	const size_t n = MIN(MIN(p->piece, room), p->n);

	(void)e;
	memcpy(to, p->text, n);
	p->text += n;
	p->n -= n;
	return (int64_t)n;
}

/* The whole text in UTF-8, read in pieces; the code of the failure. */
static int convert_pieces(const char *encoding, struct piecewise_text p, bool repair,
			  struct buf *to, struct err *e)
{
	struct encoding_reader *r = encoding_reader_open(encoding, "x", read_piece, &p, repair, e);
	char bytes[5];
	int64_t got = r ? 1 : e->code;

	buf_clear(to);
	while (got > 0 && (got = encoding_reader_read(r, bytes, sizeof(bytes), e)) > 0)
		buf_add(to, bytes, (size_t)got);
	if (repair && r)
		check_int(encoding_reader_replaced(r), 2);
	encoding_reader_close(r);
	return (int)got;
}

static const struct {
	const char *encoding, *bytes;
	size_t n;
	const char *utf8;
} texts[] = {
	{ "latin1", "K\xE4se\n", 5, "K\xC3\xA4se\n" },
	{ "windows-1252", "\x84gut\x93", 5, "\xE2\x80\x9Egut\xE2\x80\x9C" },
	{ "macintosh", "K\x8Ase", 4, "K\xC3\xA4se" },
	{ "KOI8-R", "\xC4\xC1", 2, "\xD0\xB4\xD0\xB0" },
	{ "Shift_JIS", "\x93\xFA\x96\x7B", 4, "\xE6\x97\xA5\xE6\x9C\xAC" },
	{ "GB18030", "\xD6\xD0\x95\x32\x82\x36", 6, "\xE4\xB8\xAD\xF0\xA0\x80\x80" },
	/* a pair of surrogates; the byte order mark is left out */
	{ "UTF-16", "\xFF\xFE=\xD8\x00\xDE", 6, "\xF0\x9F\x98\x80" },
	{ "UTF-16LE",
	  "\xFF\xFE"
	  "a\0",
	  4, "a" },
	{ "UTF-16BE", "\0a\0\n\0b", 6, "a\nb" },
	{ "UTF-16", "", 0, "" },
};

TEST(encoding_converts_pieces_of_any_size)
{
	struct buf out = { 0 };
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		for (size_t piece = 1; piece <= 8; piece++) {
			check_int(encoding_check(texts[i].encoding, &e), 0);
			check_int(convert_pieces(texts[i].encoding,
						 (struct piecewise_text){ texts[i].bytes,
									  texts[i].n, piece },
						 false, &out, &e),
				  0);
			check_str(buf_text(&out), texts[i].utf8);
		}
	buf_free(&out);
}

TEST(encoding_names_line_of_invalid_bytes)
{
	/* 0xFC begins nothing; at the end, the second byte of a character is missing */
	static const char bad[] = "a\nb\xFC\x20"
				  "c\n\x93";
	struct buf out = { 0 };
	struct err e = { 0 };

	for (size_t piece = 1; piece <= 8; piece++) {
		const struct piecewise_text p = { bad, sizeof(bad) - 1, piece };

		check_err(convert_pieces("Shift_JIS", p, false, &out, &e), ERR_DATA);
		check_has(e.text, "x:2: the bytes 0xFC");
		e = (struct err){ 0 };
		check_int(convert_pieces("Shift_JIS", p, true, &out, &e), 0);
		check_str(buf_text(&out), "a\nb\xEF\xBF\xBD c\n\xEF\xBF\xBD");
	}
	buf_free(&out);
}

TEST(encoding_knows_names)
{
	struct err e = { 0 };

	check_int(encoding_check(NULL, &e), 0);
	check(!encoding_is_foreign(NULL) && !encoding_is_foreign("utf8"));
	check(encoding_is_foreign("UTF-16") && encoding_is_foreign("latin1"));
	check_err(encoding_check("latin-7b", &e), ERR_CONFIG);
	check_has(e.text, "did you mean latin");
	check_has(e.text, "KOI8-R");
	e = (struct err){ 0 };
	check_err(encoding_check("", &e), ERR_CONFIG);
	e = (struct err){ 0 };
	check_err(encoding_check("latin1,swaplfnl", &e), ERR_CONFIG);
	e = (struct err){ 0 };
	check_err(encoding_check("../../tmp/x", &e), ERR_CONFIG);
}

TEST(encoding_recognises_wide_text)
{
	/* "да, да" and an ASCII text */
	static const char cyrillic[] = "4\x04"
				       "0\x04,\0 \0"
				       "4\x04"
				       "0\x04";
	static const char ascii[] = "\0a\0b\0\n";

	check_str(encoding_of_wide_text(cyrillic, sizeof(cyrillic) - 1), "UTF-16LE");
	check_str(encoding_of_wide_text(ascii, sizeof(ascii) - 1), "UTF-16BE");
	check_str(encoding_of_wide_text("a\0\0\0b\0\0\0", 8), "UTF-32LE");
	check_str(encoding_of_wide_text("\0\0\0a\0\0\0b", 8), "UTF-32BE");
	check_str(encoding_of_wide_text("\xFE\xFF\0a", 4), "UTF-16");
	check_str(encoding_of_wide_text("\xFF\xFE\0\0a\0\0\0", 8), "UTF-32");
	check(!encoding_of_wide_text("", 0));
	check(!encoding_of_wide_text("a text with one \0 in it, and another \0!", 40));
}
