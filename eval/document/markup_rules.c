/* markup_rules.c - tags and their roles in each kind of mark-up; see markup_internal.h */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "eval/document/markup_internal.h"
#include "share/base/util.h"

#define HTML_EMPTY  "area base col embed hr img input link meta param source track wbr "
#define HTML_OPAQUE "code kbd samp var script style math svg textarea select object iframe "

static const struct markup_rules {
	const char *empty, *breaks, *opaque, *begin, *finish;
	bool folds_case;
} rules[] = {
	[MARKUP_LINES] = { HTML_EMPTY, "br ", HTML_OPAQUE, "", "", true },
	[MARKUP_HTML] = { HTML_EMPTY, "br ", HTML_OPAQUE, "", "", true },
	[MARKUP_MESSAGE] = { HTML_EMPTY, "br ", HTML_OPAQUE, "", "", true },
	[MARKUP_MARKDOWN] = { HTML_EMPTY, "br ", HTML_OPAQUE, "", "", true },
	[MARKUP_CUES] = { "", "br ", "", "", "", true },
	[MARKUP_XML] = { "x bx ex cp sm em ", "", "ph it ut sub hi:none ", "bpt ", "ept ", false },
	[MARKUP_ODT] = { "text:bookmark ", "text:line-break text:tab text:s ",
			 "text:note office:annotation draw:frame draw:custom-shape text:ruby-text "
			 "text:page-number ",
			 "", "", false },
};

bool markup_has_name(const char *list, const char *name, size_t n, bool folds_case)
{
	const char *end;

	for (; (end = strchr(list, ' ')) != NULL; list = end + 1)
		if ((size_t)(end - list) == n &&
		    !(folds_case ? strncasecmp(list, name, n) : strncmp(list, name, n)))
			return true;
	return false;
}

bool markup_folds_case(enum markup_kind kind)
{
	return (size_t)kind < ARRAY_LEN(rules) && rules[kind].folds_case;
}

static bool is_name_byte(char c)
{
	return isalnum((unsigned char)c) || strchr("-_:.", c) || (unsigned char)c >= 0x80;
}

/* Ends with `last`: bytes up to and with it; 0: it never comes. */
static size_t bytes_up_to(const char *text, size_t n, size_t from, const char *last)
{
	const char *found = from < n ? memmem(text + from, n - from, last, strlen(last)) : NULL;

	return found ? (size_t)(found - text) + strlen(last) : 0;
}

/* Bytes of a tag whose name ends at i: its > stands outside of quotation marks. 0: it never ends; n + 1: the text ends in it. */
static size_t find_tag_end(const char *text, size_t n, size_t i)
{
	char quote = 0;

	for (; i < n; i++)
		if (quote && text[i] == quote)
			quote = 0;
		else if (!quote && (text[i] == '"' || text[i] == '\'') && text[i - 1] == '=')
			quote = text[i];
		else if (!quote && text[i] == '>')
			return i + 1;
		else if (!quote && text[i] == '<')
			return 0;
	return n + 1;
}

static size_t tag_bytes(const char *text, size_t n, size_t i)
{
	const size_t bytes = find_tag_end(text, n, i);

	return bytes > n ? 0 : bytes;
}

bool markup_is_unfinished(const char *text, size_t n)
{
	const size_t i = 1 + (n > 1 && strchr("/!", text[1]) && text[1]);

	if (n >= 4 && !memcmp(text, "<!--", 4))
		return !bytes_up_to(text, n, 4, "-->");
	return i < n && isalpha((unsigned char)text[i]) && find_tag_end(text, n, i) > n;
}

bool markup_read_tag(const char *text, size_t n, struct markup_tag *tag)
{
	size_t i = 1;

	*tag = (struct markup_tag){ 0 };
	if (n > 3 && !memcmp(text, "<!--", 4))
		tag->n = bytes_up_to(text, n, 4, "-->");
	else if (n > 8 && !memcmp(text, "<![CDATA[", 9))
		tag->n = bytes_up_to(text, n, 9, "]]>");
	else if (n > 1 && text[1] == '?')
		tag->n = bytes_up_to(text, n, 2, "?>");
	else if (n > 2 && text[1] == '!' && isalpha((unsigned char)text[2]))
		tag->n = tag_bytes(text, n, 2);
	if (tag->n || (n > 1 && (text[1] == '!' || text[1] == '?')))
		return tag->n > 0;
	tag->is_end = n > 1 && text[1] == '/';
	i += tag->is_end;
	if (i >= n || !isalpha((unsigned char)text[i]))
		return false;
	tag->name = text + i;
	while (i < n && is_name_byte(text[i]))
		i++;
	tag->n_name = (size_t)(text + i - tag->name);
	if (i < n && !isspace((unsigned char)text[i]) && text[i] != '>' && text[i] != '/')
		return false;
	tag->n = tag_bytes(text, n, i);
	tag->has_name = true;
	tag->is_empty = tag->n && !tag->is_end && text[tag->n - 2] == '/';
	return tag->n > 0;
}

const char *markup_tag_value(const char *tag, size_t n, const char *name, size_t *n_value)
{
	const size_t n_name = strlen(name);
	size_t i = 1;

	while (i < n && is_name_byte(tag[i]))
		i++;
	while (i < n) {
		size_t from, to, value, end;
		char quote;

		while (i < n && (isspace((unsigned char)tag[i]) || tag[i] == '/'))
			i++;
		from = i;
		while (i < n && !isspace((unsigned char)tag[i]) && !strchr("=>/", tag[i]))
			i++;
		to = i;
		if (i < n && tag[i] != '=') {
			i += to == from;
			continue;
		}
		if (++i >= n)
			return NULL;
		quote = tag[i] == '"' || tag[i] == '\'' ? tag[i++] : 0;
		value = i;
		while (i < n &&
		       (quote ? tag[i] != quote : !isspace((unsigned char)tag[i]) && tag[i] != '>'))
			i++;
		end = i;
		i += quote != 0;
		if (to - from == n_name && !strncasecmp(tag + from, name, n_name)) {
			*n_value = end - value;
			return tag + value;
		}
	}
	return NULL;
}

const char *markup_local_name(const struct markup_tag *tag, size_t *n)
{
	const char *colon = memchr(tag->name, ':', tag->n_name);

	*n = tag->n_name - (colon ? (size_t)(colon + 1 - tag->name) : 0);
	return colon ? colon + 1 : tag->name;
}

/* translate="no", class="notranslate" of machine translation on the web, or mtype="protected" of XLIFF. */
static bool is_untranslated(enum markup_kind kind, const char *bytes, const struct markup_tag *tag)
{
	size_t n;
	const char *value = markup_tag_value(bytes, tag->n, "translate", &n);

	if (value && n == 2 && !strncasecmp(value, "no", 2))
		return true;
	if (kind == MARKUP_XML) {
		value = markup_tag_value(bytes, tag->n, "mtype", &n);
		return value && n == 9 && !memcmp(value, "protected", 9);
	}
	value = markup_tag_value(bytes, tag->n, "class", &n);
	return value && memmem(value, n, "notranslate", 11);
}

enum markup_role markup_role_of(enum markup_kind kind, const char *bytes,
				const struct markup_tag *tag)
{
	const struct markup_rules *r = &rules[kind];
	const struct {
		const char *list;
		enum markup_role role;
	} lists[] = { { r->empty, ROLE_EMPTY },
		      { r->breaks, ROLE_BREAK },
		      { r->opaque, ROLE_OPAQUE },
		      { r->begin, ROLE_BEGIN },
		      { r->finish, ROLE_FINISH } };

	const char *name = tag->name;
	size_t n = tag->n_name;

	if (!tag->has_name)
		return ROLE_EMPTY;
	if (kind == MARKUP_XML)
		name = markup_local_name(tag, &n);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (lists[i].list && markup_has_name(lists[i].list, name, n, r->folds_case))
			return tag->is_empty && lists[i].role != ROLE_BREAK ? ROLE_EMPTY
									    : lists[i].role;
	if (tag->is_empty)
		return ROLE_EMPTY;
	return !tag->is_end && is_untranslated(kind, bytes, tag) ? ROLE_OPAQUE : ROLE_PAIR;
}

static bool is_same_name(const struct markup_tag *a, const struct markup_tag *b, bool folds_case)
{
	return a->n_name == b->n_name && !(folds_case ? strncasecmp(a->name, b->name, a->n_name)
						      : strncmp(a->name, b->name, a->n_name));
}

size_t markup_element_bytes(enum markup_kind kind, const char *text, size_t n,
			    const struct markup_tag *tag)
{
	const bool folds = markup_folds_case(kind);
	const bool is_raw =
		folds && (markup_has_name("script style textarea ", tag->name, tag->n_name, true));
	size_t depth = 1, i = tag->n;

	while (i < n) {
		const char *next = memchr(text + i, '<', n - i);
		struct markup_tag t;

		if (!next)
			break;
		i = (size_t)(next - text);
		if (!markup_read_tag(next, n - i, &t)) {
			i++;
			continue;
		}
		i += is_raw && !(t.is_end && is_same_name(tag, &t, folds)) ? 1 : t.n;
		if (!t.has_name || t.is_empty || !is_same_name(tag, &t, folds))
			continue;
		if (!t.is_end)
			depth += !is_raw;
		else if (--depth == 0)
			return i;
	}
	return 0;
}

/* %[n$][flags][width][.precision][length]letter */
static size_t format_bytes(const char *text, size_t n)
{
	size_t i = 1;

	if (n > 1 && text[1] == '(') {
		const char *end = memchr(text, ')', n);

		if (!end)
			return 0;
		i = (size_t)(end - text) + 1;
	}
	while (i < n && i < 24 && strchr("0123456789$-+#'.*", text[i]))
		i++;
	while (i < n && i < 28 && strchr("hlqjzt", text[i]))
		i++;
	return i < n && strchr("diouxXeEfFgGcsSp@", text[i]) ? i + 1 : 0;
}

static size_t one_placeholder(const char *text, size_t n)
{
	size_t i = 1;

	if (*text == '%')
		return n > 1 && text[1] == '%' ? 2 : format_bytes(text, n);
	if (*text != '{')
		return 0;
	while (i < n && i < 64 && (is_name_byte(text[i]) || strchr("[]!", text[i])))
		i++;
	return i < n && text[i] == '}' ? i + 1 : 0;
}

size_t markup_placeholder(const char *text, size_t n)
{
	size_t i = one_placeholder(text, n), k = i, more;

	while (i && k < n && k < i + 8) {
		more = strchr("%{", text[k]) ? one_placeholder(text + k, n - k) : 0;
		if (more)
			i = k = k + more;
		else if (ispunct((unsigned char)text[k]) && !strchr("<&", text[k]))
			k++;
		else
			break;
	}
	return i;
}

bool markup_is_solid(enum markup_kind kind, enum markup_role role, const struct markup_tag *tag)
{
	size_t n;
	const char *name = tag->name;

	if (!tag->has_name)
		return false;
	if (kind == MARKUP_XML) {
		name = markup_local_name(tag, &n);
		return markup_has_name("x ph mrk ", name, n, false);
	}
	return role == ROLE_OPAQUE &&
	       !markup_has_name("script style text:note office:annotation draw:frame "
				"draw:custom-shape text:ruby-text ",
				name, tag->n_name, true);
}

size_t markup_cue_tag(const char *text, size_t n)
{
	const char *stop = NULL;

	if (n > 2 && *text == '<' && isdigit((unsigned char)text[1]))
		stop = memchr(text, '>', n < 20 ? n : 20);
	else if (n > 2 && *text == '{' && text[1] == '\\')
		stop = memchr(text, '}', n);
	else if (n > 2 && (!memcmp(text, "\xe2\x99\xaa", 3) || !memcmp(text, "\xe2\x99\xab", 3)))
		return 3;
	return stop ? (size_t)(stop + 1 - text) : 0;
}

size_t markup_url(const char *text, size_t n)
{
	static const char *const begins[] = { "http://", "https://", "ftp://", "www." };
	size_t i = 0;

	for (size_t k = 0; k < ARRAY_LEN(begins) && !i; k++)
		if (n > strlen(begins[k]) && !memcmp(text, begins[k], strlen(begins[k])))
			i = strlen(begins[k]);
	if (!i)
		return 0;
	while (i < n && !isspace((unsigned char)text[i]) && !strchr("<>\"`|", text[i]) &&
	       (text[i] != ')' || memchr(text, '(', i)))
		i++;
	while (i && strchr(".,;:!?'*_", text[i - 1]))
		i--;
	return i;
}
