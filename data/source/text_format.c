/* text_format.c - see text_format.h */
#include "data/source/text_format.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/text/encoding.h"
#include "data/text/icu.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define HEAD_BYTES    (64u << 10)
#define LEAST_LINES   3	 /* fewer lines show no table */
#define LOOKED_LINES  50 /* at the beginning of the file */
#define LEAST_LETTERS 3	 /* beyond ASCII, to be sure that a text is UTF-8 */

/* What the first whole lines of a file have in common. */
struct head_counts {
	size_t lines, tabs; /* tabs: of each line; 0 if they differ */
	size_t quoted;	    /* lines such as "a","b" */
	size_t objects;	    /* lines such as {"en":...} */
};

static size_t count_tabs(const char *line, size_t n)
{
	size_t tabs = 0;

	for (size_t i = 0; i < n; i++)
		tabs += line[i] == '\t';
	return tabs;
}

static void count_head_line(struct head_counts *h, const char *line, size_t n)
{
	const size_t tabs = count_tabs(line, n);

	if (n && line[n - 1] == '\r')
		n--;
	h->tabs = h->lines && h->tabs != tabs ? 0 : tabs;
	h->quoted += n > 4 && line[0] == '"' && memmem(line, n, "\",\"", 3);
	h->objects += n > 4 && line[0] == '{' && line[1] == '"' && line[n - 1] == '}';
	h->lines++;
}

static struct head_counts count_head(const char *bytes, size_t n)
{
	struct head_counts h = { .lines = 0 };
	const char *end;

	for (const char *at = bytes; h.lines < LOOKED_LINES; at = end + 1) {
		end = memchr(at, '\n', n - (size_t)(at - bytes));
		if (!end)
			break;
		count_head_line(&h, at, (size_t)(end - at));
	}
	return h;
}

static bool begins_with_xml(const char *bytes, size_t n)
{
	static const char *const tags[] = { "<?xml", "<tmx", "<xliff", "<!DOCTYPE" };

	bytes += utf8_mark_bytes(bytes, n);
	for (size_t i = 0; i < ARRAY_LEN(tags); i++)
		if (text_starts_with(bytes, tags[i]))
			return true;
	return false;
}

static int judge_head(const char *path, const char *bytes, size_t n, struct err *e)
{
	const struct head_counts h = count_head(bytes, n);

	if (begins_with_xml(bytes, n))
		return err_set(
			e, ERR_DATA,
			"%s: is XML (TMX or XLIFF?), but plain text is expected, one sentence a "
			"line: give a file of both sides with train_pairs (dev_pairs, test_pairs)",
			path);
	if (!memchr(bytes, '\n', n) && memchr(bytes, '\r', n))
		return err_set(e, ERR_DATA,
			       "%s: its lines end in CR alone, as on old Macs: convert it with tr "
			       "'\\r' '\\n'",
			       path);
	if (h.lines < LEAST_LINES)
		return 0;
	if (h.tabs > 0)
		return err_set(
			e, ERR_DATA,
			"%s: each line has %zu tab%s, as in a table of columns (TSV), but one "
			"sentence a line is expected: take a column with cut -f 1, or give a table "
			"of both sides with train_pairs (dev_pairs, test_pairs)",
			path, h.tabs, text_plural((int64_t)h.tabs));
	if (h.quoted * 10 >= h.lines * 8)
		return err_set(
			e, ERR_DATA,
			"%s: lines have quoted cells with commas between them (CSV), but one "
			"sentence a line is expected: give a table of both sides with train_pairs "
			"(dev_pairs, test_pairs)",
			path);
	if (h.objects == h.lines)
		return err_set(
			e, ERR_DATA,
			"%s: each line is a JSON object, but one sentence a line is expected: "
			"take a member with jq -r .NAME",
			path);
	return 0;
}

/* Is text beyond ASCII valid UTF-8, up to a character that the end of the head cuts? */
static bool is_surely_utf8(const char *bytes, size_t n)
{
	size_t wide = 0;

	for (size_t i = 0; i < n; i++)
		wide += (unsigned char)bytes[i] >= 0xC0;
	return wide >= LEAST_LETTERS && utf8_valid_prefix(bytes, n) + 4 > n;
}

/* ERR_DATA: the bytes show another encoding than the user gave. */
static int judge_encoding(const char *path, const char *encoding, const char *bytes, size_t n,
			  struct err *e)
{
	const char *wide = encoding_of_wide_text(bytes, n);

	if (wide && (!encoding || !icu_is_same_encoding(wide, encoding)))
		return err_set(e, ERR_DATA, "%s: is %s text, not %s: give --encoding %s", path,
			       wide, encoding ? encoding : "UTF-8", wide);
	if (!encoding_is_foreign(encoding))
		return 0;
	if (!strncmp(bytes, "\xEF\xBB\xBF", 3) || is_surely_utf8(bytes, n))
		return err_set(e, ERR_DATA,
			       "%s: is UTF-8 text, but the option encoding says %s: all files of a "
			       "corpus need one encoding; convert the others with iconv -t UTF-8, "
			       "or leave the option out",
			       path, encoding);
	return 0;
}

/* Judge the head as text in UTF-8. */
static int judge_converted_head(const char *path, const char *encoding, const char *bytes, size_t n,
				struct err *e)
{
	struct buf text = { 0 };
	int rc;

	if (!encoding_is_foreign(encoding))
		return judge_head(path, bytes, n, e);
	rc = encoding_convert_head(encoding, bytes, n, &text, e);
	if (!rc)
		rc = judge_head(path, buf_text(&text), text.len, e);
	buf_free(&text);
	return rc;
}

int text_format_check(const char *path, const char *encoding, struct err *e)
{
	FILE *f;
	char *bytes;
	size_t n;
	int rc;

	if (text_ends_with(path, ".sgm") || text_ends_with(path, ".sgml"))
		return 0;
	f = file_open_stream(path, e);
	bytes = f ? mem_alloc(HEAD_BYTES + 1, 1, e) : NULL;
	if (!bytes) {
		if (f)
			fclose(f);
		return e->code;
	}
	n = fread(bytes, 1, HEAD_BYTES, f);
	fclose(f);
	bytes[n] = '\0';
	rc = judge_encoding(path, encoding, bytes, n, e);
	if (!rc)
		rc = judge_converted_head(path, encoding, bytes, n, e);
	free(bytes);
	return rc;
}
