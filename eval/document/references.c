/* references.c - see references.h */
#include "eval/document/references.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/text.h"
#include "share/base/util.h"

struct named_reference {
	const char *name;
	uint32_t c;
};

static const struct named_reference named[] = {
#define REFERENCE(name, code) { #name, code },
#include "eval/document/references.def"
#undef REFERENCE
};

static int compare_references(const void *a, const void *b)
{
	return strcmp(((const struct named_reference *)a)->name,
		      ((const struct named_reference *)b)->name);
}

/* A character that XML allows and that is no control character. */
static bool is_plain_character(uint32_t c)
{
	return c >= 0x20 && c != 0x7f && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) &&
	       (c & 0xfffe) != 0xfffe;
}

static size_t read_number(const char *text, size_t n, uint32_t *c)
{
	const bool is_hex = n > 3 && (text[2] == 'x' || text[2] == 'X');
	size_t i = is_hex ? 3 : 2;
	const size_t first = i;
	uint32_t value = 0;

	for (; i < n && i < first + 8 &&
	       (is_hex ? isxdigit((unsigned char)text[i]) : isdigit((unsigned char)text[i]));
	     i++) {
		const int digit = tolower((unsigned char)text[i]);

		value = value * (is_hex ? 16 : 10) +
			(uint32_t)(digit > '9' ? digit - 'a' + 10 : digit - '0');
	}
	if (i == first || i >= n || text[i] != ';' || !is_plain_character(value))
		return 0;
	*c = value;
	return i + 1;
}

size_t reference_read(const char *text, size_t n, bool is_xml, uint32_t *c)
{
	char name[12];
	struct named_reference key = { .name = name };
	const struct named_reference *found;
	size_t i = 1;

	if (n > 2 && text[1] == '#')
		return read_number(text, n, c);
	while (i < n && i < sizeof(name) && isalnum((unsigned char)text[i])) {
		name[i - 1] = text[i];
		i++;
	}
	if (i >= n || text[i] != ';')
		return 0;
	name[i - 1] = '\0';
	found = bsearch(&key, named, ARRAY_LEN(named), sizeof(*named), compare_references);
	if (!found || (is_xml && strcmp(name, "amp") && strcmp(name, "lt") && strcmp(name, "gt") &&
		       strcmp(name, "quot") && strcmp(name, "apos")))
		return 0;
	*c = found->c;
	return i + 1;
}

void spellings_note(struct spellings *s, uint32_t c, const char *text, size_t n)
{
	for (int i = 0; i < s->n; i++)
		if (s->seen[i].c == c)
			return;
	if (s->n == SPELLINGS_MAX || n > sizeof(s->seen[0].text))
		return;
	s->seen[s->n].c = c;
	s->seen[s->n].n = (unsigned char)n;
	memcpy(s->seen[s->n++].text, text, n);
}

/* Would the bytes from here on read as a reference or a tag? */
static bool begins_markup(const char *text, size_t n)
{
	uint32_t c;

	if (*text == '&')
		return reference_read(text, n, false, &c) != 0;
	return n > 1 && (isalpha((unsigned char)text[1]) || strchr("/!?", text[1]));
}

void spellings_write(const struct spellings *s, const char *text, size_t from, size_t to, size_t n,
		     struct buf *out)
{
	for (size_t i = from, len; i < to; i += len) {
		const char *spelled = NULL;
		size_t n_spelled = 0;
		uint32_t c = (unsigned char)text[i];

		len = c < 0x80 ? 1 : utf8_decode(text + i, n - i, &c);
		for (int k = 0; k < s->n && !spelled; k++)
			if (s->seen[k].c == c) {
				spelled = s->seen[k].text;
				n_spelled = s->seen[k].n;
			}
		if (spelled)
			buf_add(out, spelled, n_spelled);
		else if (c == '&' && (!s->bare_and || begins_markup(text + i, n - i)))
			buf_add_str(out, "&amp;");
		else if (c == '<' && (!s->bare_less || begins_markup(text + i, n - i)))
			buf_add_str(out, "&lt;");
		else if (c == '>' && !s->bare_greater)
			buf_add_str(out, "&gt;");
		else
			buf_add(out, text + i, len);
	}
}
