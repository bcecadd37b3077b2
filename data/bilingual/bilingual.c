/* bilingual.c - beginning, encoding, format and counts of a bilingual file (see bilingual.h) */
#include "data/bilingual/bilingual.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "data/bilingual/bilingual_internal.h"
#include "data/text/encoding.h"
#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define HEAD_BYTES     ((size_t)16 << 10) /* of the file, to find its encoding and format */
#define MAX_LANGUAGES  40		  /* a message lists no more */
#define LANGUAGE_BYTES 24

struct bilingual {
	struct bilingual_options o;
	lines_read *read;
	void *from;
	struct buf head; /* beginning of the file; at: bytes of it that were read */
	size_t at;
	char encoding[64];		   /* of the file; "": UTF-8 */
	struct encoding_reader *converter; /* owned; NULL: the file is UTF-8 */
	const struct bilingual_format *format;
	void *reader;		     /* owned: of the format */
	struct buf *source, *target; /* of the current bilingual_read() */
	int64_t units, counts[BILINGUAL_N_REASONS];
	int64_t replaced; /* characters, by the reader of the format */
	char languages[MAX_LANGUAGES][LANGUAGE_BYTES];
	size_t n_languages;
	bool has_more_languages, is_at_end;
};

const struct bilingual_options *bilingual_opened_with(const struct bilingual *b)
{
	return &b->o;
}

/* ---- the bytes of the file ---- */

/* The beginning of the file, then the rest; a lines_read. */
static int64_t read_raw_bytes(void *from, void *to, size_t room, struct err *e)
{
	struct bilingual *b = from;
	const size_t n = MIN(room, b->head.len - b->at);

	if (!n)
		return b->read(b->from, to, room, e);
	memcpy(to, b->head.data + b->at, n);
	b->at += n;
	return (int64_t)n;
}

int64_t bilingual_read_text(void *from, void *to, size_t room, struct err *e)
{
	struct bilingual *b = from;

	return b->converter ? encoding_reader_read(b->converter, to, room, e)
			    : read_raw_bytes(b, to, room, e);
}

int64_t bilingual_replaced(const struct bilingual *b)
{
	return b->replaced + (b->converter ? encoding_reader_replaced(b->converter) : 0);
}

void bilingual_note_replaced(struct bilingual *b, int64_t n)
{
	b->replaced += n;
}

int bilingual_check_line(const struct lines *in, const char *name, struct err *e)
{
	if (strlen(in->text) == in->len)
		return 0;
	return err_set(e, ERR_DATA, "%s:%lld: contains a NUL byte: a text file was expected", name,
		       (long long)in->number);
}

static int read_file_head(struct bilingual *b, struct err *e)
{
	while (b->head.len < HEAD_BYTES) {
		char *room = buf_reserve(&b->head, HEAD_BYTES - b->head.len);
		int64_t got;

		if (!room)
			return buf_check(&b->head, e);
		got = b->read(b->from, room, HEAD_BYTES - b->head.len, e);
		if (got <= 0)
			return (int)got;
		b->head.len += (size_t)got;
	}
	return 0;
}

/* ---- encoding and format ---- */

static bool has_suffix_of(const char *name, const char *const *suffixes, size_t n)
{
	static const char *const packed[] = { "", ".gz", ".xz", ".bz2", ".zst" };
	const size_t length = strlen(name);

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < ARRAY_LEN(packed); k++) {
			const size_t a = strlen(suffixes[i]), z = strlen(packed[k]);

			if (length > a + z && !strcasecmp(name + length - z, packed[k]) &&
			    !strncasecmp(name + length - z - a, suffixes[i], a))
				return true;
		}
	return false;
}

#define HAS_SUFFIX(name, ...)                                                                      \
	has_suffix_of(name, (const char *const[]){ __VA_ARGS__ },                                  \
		      ARRAY_LEN(((const char *const[]){ __VA_ARGS__ })))

/* text: the beginning in UTF-8, without byte order mark. */
static bool is_head_of_xml(const char *name, const char *text)
{
	static const char *const beginnings[] = { "<?xml", "<!DOCTYPE", "<!--", "<tmx", "<xliff" };

	text += strspn(text, " \t\r\n");
	for (size_t i = 0; i < ARRAY_LEN(beginnings); i++)
		if (text_starts_with(text, beginnings[i]))
			return true;
	return *text == '<' &&
	       HAS_SUFFIX(name, ".tmx", ".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff");
}

static bool is_head_of_po(const char *name, const char *text)
{
	if (HAS_SUFFIX(name, ".po", ".pot"))
		return true;
	if (HAS_SUFFIX(name, ".csv", ".tsv", ".tab"))
		return false;
	while (*text == '#' || *text == '\n' || *text == '\r') {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return text_starts_with(text, "msgid \"") || text_starts_with(text, "msgctxt \"");
}

/* Copy the name of an encoding that begins at text. */
static void copy_encoding(struct bilingual *b, const char *text)
{
	const size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789-_.:");

	if (n && n < sizeof(b->encoding))
		snprintf(b->encoding, sizeof(b->encoding), "%.*s", (int)n, text);
}

/* <?xml version="1.0" encoding="ISO-8859-1"?> */
static void find_xml_encoding(struct bilingual *b, const char *text)
{
	const char *end = text_starts_with(text, "<?xml") ? strstr(text, "?>") : NULL;
	const char *at = end ? strstr(text, "encoding") : NULL;

	if (!at || at > end)
		return;
	at += strlen("encoding");
	at += strspn(at, " \t\r\n=");
	if (*at == '"' || *at == '\'')
		copy_encoding(b, at + 1);
}

/* "Content-Type: text/plain; charset=ISO-8859-1\n" */
static void find_po_encoding(struct bilingual *b, const char *text)
{
	const char *type = strstr(text, "\"Content-Type:");
	const char *at = type ? strstr(type, "charset=") : NULL;

	if (at && at < type + strcspn(type, "\r\n") && !text_starts_with(at, "charset=CHARSET"))
		copy_encoding(b, at + strlen("charset="));
}

/* The beginning in UTF-8, for finding the format. text: [as long as b->head]. */
static int convert_head(struct bilingual *b, struct buf *text, struct err *e)
{
	const char *head = buf_text(&b->head);
	const char *wide = encoding_of_wide_text(head, b->head.len);

	if (wide)
		snprintf(b->encoding, sizeof(b->encoding), "%s", wide);
	else
		buf_add(text, head + utf8_mark_bytes(head, b->head.len),
			b->head.len - utf8_mark_bytes(head, b->head.len));
	if (wide && encoding_convert_head(wide, head, b->head.len, text, e))
		return e->code;
	if (utf8_mark_bytes(buf_text(text), text->len)) {
		memmove(text->data, text->data + 3, text->len - 3);
		buf_truncate(text, text->len - 3);
	}
	return buf_check(text, e);
}

static int find_format(struct bilingual *b, struct err *e)
{
	const char *head = buf_text(&b->head), *encoding = b->o.encoding;
	struct buf text = { 0 };
	int rc = convert_head(b, &text, e);

	if (!rc && is_head_of_xml(b->o.name, buf_text(&text)))
		b->format = &bilingual_xml;
	else if (!rc && is_head_of_po(b->o.name, buf_text(&text)))
		b->format = &bilingual_po;
	else
		b->format = &bilingual_table;
	if (b->encoding[0] || utf8_mark_bytes(head, b->head.len) || rc) {
		/* the byte order mark says it */
	} else if (b->format == &bilingual_xml) {
		find_xml_encoding(b, buf_text(&text));
	} else if (b->format == &bilingual_po) {
		find_po_encoding(b, buf_text(&text));
	} else if (encoding_is_foreign(encoding)) {
		snprintf(b->encoding, sizeof(b->encoding), "%s", encoding);
	}
	buf_free(&text);
	return rc;
}

static int open_converter(struct bilingual *b, struct err *e)
{
	if (!b->encoding[0] || !encoding_is_foreign(b->encoding))
		return 0;
	if (encoding_check(b->encoding, e))
		return err_prefix(e, "%s", b->o.name);
	b->converter =
		encoding_reader_open(b->encoding, b->o.name, read_raw_bytes, b, b->o.repair, e);
	return b->converter ? 0 : e->code;
}

struct bilingual *bilingual_open(const struct bilingual_options *o, lines_read *read, void *from,
				 struct err *e)
{
	struct bilingual *b = mem_alloc(1, sizeof(*b), e);

	if (!b)
		return NULL;
	*b = (struct bilingual){ .o = *o, .read = read, .from = from };
	if (!read_file_head(b, e) && !find_format(b, e) && !open_converter(b, e) &&
	    (b->reader = b->format->open(b, e)))
		return b;
	bilingual_close(b);
	return NULL;
}

void bilingual_close(struct bilingual *b)
{
	if (!b)
		return;
	if (b->reader)
		b->format->close(b->reader);
	encoding_reader_close(b->converter);
	buf_free(&b->head);
	free(b);
}

/* ---- units ---- */

static bool is_white(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Append text; runs of white space become one blank, at its ends they are left out. */
static void add_squeezed(struct buf *out, struct text_span from)
{
	const char *at = from.text, *end = at + from.n;
	const size_t begin = out->len;

	while (at < end) {
		const char *word;

		while (at < end && is_white(*at))
			at++;
		word = at;
		while (at < end && !is_white(*at))
			at++;
		if (at > word && out->len > begin)
			buf_add_char(out, ' ');
		buf_add(out, word, (size_t)(at - word));
	}
}

int bilingual_add(struct bilingual *b, enum bilingual_reason reason, struct text_span source,
		  struct text_span target, struct err *e)
{
	struct buf *const to[] = { b->source, b->target };
	const size_t begin[] = { to[0]->len, to[1]->len };

	if (reason == BILINGUAL_PAIR) {
		add_squeezed(to[0], source);
		add_squeezed(to[1], target);
		if (to[0]->len == begin[0])
			reason = BILINGUAL_NO_SOURCE;
		else if (to[1]->len == begin[1])
			reason = BILINGUAL_NO_TARGET;
	}
	b->units++;
	b->counts[reason]++;
	for (size_t i = 0; i < ARRAY_LEN(to); i++) {
		if (reason != BILINGUAL_PAIR)
			buf_truncate(to[i], begin[i]);
		if (reason == BILINGUAL_PAIR || b->o.keep_numbers)
			buf_add_char(to[i], '\n');
		if (buf_check(to[i], e))
			return e->code;
	}
	return 0;
}

void bilingual_note_language(struct bilingual *b, const char *tag)
{
	if (!*tag || strlen(tag) >= LANGUAGE_BYTES)
		return;
	for (size_t i = 0; i < b->n_languages; i++)
		if (!strcmp(b->languages[i], tag))
			return;
	b->has_more_languages = b->n_languages == MAX_LANGUAGES;
	if (!b->has_more_languages)
		snprintf(b->languages[b->n_languages++], LANGUAGE_BYTES, "%s", tag);
}

/* ---- counts ---- */

/* "2 without text in de, 1 fuzzy" */
static void describe_reasons(const struct bilingual *b, struct buf *out)
{
	static const char *const texts[] = { "",
#define X(id, text) text,
					     BILINGUAL_REASONS(X)
#undef X
	};
	const char *separator = "";

	for (size_t i = 1; i < ARRAY_LEN(texts); i++) {
		if (!b->counts[i])
			continue;
		buf_printf(out, "%s%s ", separator, COUNT_TEXT(b->counts[i]));
		if (i == BILINGUAL_NO_SOURCE || i == BILINGUAL_NO_TARGET)
			buf_printf(out, "without text in %s",
				   i == BILINGUAL_NO_SOURCE ? b->o.source_language
							    : b->o.target_language);
		else
			buf_add_str(out, texts[i]);
		separator = ", ";
	}
}

void bilingual_describe(const struct bilingual *b, struct buf *out)
{
	if (b->counts[BILINGUAL_PAIR] == b->units)
		return;
	buf_printf(out, "%s: %s of %s units are pairs of %s and %s; not used: ", b->o.name,
		   COUNT_TEXT(b->counts[BILINGUAL_PAIR]), COUNT_TEXT(b->units),
		   b->o.source_language, b->o.target_language);
	describe_reasons(b, out);
}

static int refuse_file_without_pairs(const struct bilingual *b, struct err *e)
{
	struct buf why = { 0 };

	if (!b->units)
		return err_set(e, ERR_DATA, "%s: has no units, so no pairs of %s and %s", b->o.name,
			       b->o.source_language, b->o.target_language);
	describe_reasons(b, &why);
	for (size_t i = 0; i < b->n_languages; i++)
		buf_printf(&why, "%s%s", i ? ", " : "; the languages of the file are ",
			   b->languages[i]);
	if (b->has_more_languages)
		buf_add_str(&why, " and others");
	if (b->n_languages)
		buf_add_str(&why, " (see --source-language and --target-language)");
	err_set(e, ERR_DATA, "%s: none of its %s unit%s is a pair of %s and %s: %s", b->o.name,
		COUNT_TEXT(b->units), text_plural((double)b->units), b->o.source_language,
		b->o.target_language, buf_text(&why));
	buf_free(&why);
	return e->code;
}

int bilingual_read(struct bilingual *b, size_t want, struct buf *source, struct buf *target,
		   struct err *e)
{
	const size_t begin = source->len;
	int got = !b->is_at_end;

	b->source = source;
	b->target = target;
	while (got > 0 && source->len - begin < want)
		got = b->format->step(b->reader, e);
	b->is_at_end |= !got;
	if (!got && !b->counts[BILINGUAL_PAIR])
		return refuse_file_without_pairs(b, e);
	return got;
}
