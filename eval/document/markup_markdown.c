/* markup_markdown.c - marks inside a paragraph of Markdown: emphasis, links, code; see markup_internal.h */
#include <ctype.h>
#include <string.h>

#include "eval/document/markup_internal.h"
#include "share/base/util.h"

#define LOOK_AHEAD 2000 /* bytes of the text of a link */

static struct markdown_mark code_mark(const char *at, const char *end)
{
	size_t n = 0, run;

	while (at + n < end && at[n] == '`')
		n++;
	for (const char *p = at + n; p < end && (p = memchr(p, '`', (size_t)(end - p))) != NULL;
	     p += run) {
		for (run = 0; p + run < end && p[run] == '`';)
			run++;
		if (run == n)
			return (struct markdown_mark){ .role = MARKDOWN_ITEM,
						       .n = (size_t)(p + run - at) };
	}
	return (struct markdown_mark){ .role = MARKDOWN_ITEM, .n = n };
}

/* Bytes of "](address)" or "][name]" at the ] of a link; 0: it ends no link. */
static size_t link_end(const char *at, const char *end)
{
	const char open = at + 1 < end ? at[1] : 0, close = open == '(' ? ')' : ']';
	int depth = 0;

	if (open != '(' && open != '[')
		return 0;
	for (const char *p = at + 1; p < end && p - at < LOOK_AHEAD; p++) {
		depth += (*p == open) - (*p == close);
		if (!depth)
			return (size_t)(p + 1 - at);
	}
	return 0;
}

/* The ] of the bracket at `at`; NULL: none. */
static const char *closing_bracket(const char *at, const char *end)
{
	int depth = 0;

	for (const char *p = at; p < end && p - at < LOOK_AHEAD; p++) {
		if (*p == '\\' && p + 1 < end) {
			p++;
			continue;
		}
		depth += (*p == '[') - (*p == ']');
		if (!depth)
			return p;
	}
	return NULL;
}

static struct markdown_mark bracket_mark(const char *at, const char *end)
{
	const bool is_image = *at == '!';
	const char *close = closing_bracket(at + is_image, end);
	const size_t n = close ? link_end(close, end) : 0;

	if (close && !n && !is_image && at[1] == '^')
		return (struct markdown_mark){ .role = MARKDOWN_NOTE,
					       .n = (size_t)(close + 1 - at) };

	if (!n)
		return (struct markdown_mark){ .role = MARKDOWN_TEXT };
	if (is_image)
		return (struct markdown_mark){ .role = MARKDOWN_ITEM,
					       .n = (size_t)(close - at) + n };
	return (struct markdown_mark){ .role = MARKDOWN_OPEN, .n = 1 };
}

static struct markdown_mark emphasis_mark(const char *begin, const char *at, const char *end)
{
	struct markdown_mark mark = { .role = MARKDOWN_TEXT };
	bool blank_before, blank_after;
	size_t n = 0;

	while (at + n < end && at[n] == *at && n < 4)
		n++;
	blank_before = at == begin || isspace((unsigned char)at[-1]);
	blank_after = at + n >= end || isspace((unsigned char)at[n]);
	if (n > 3 || (*at == '~' && n != 2) || (blank_before && blank_after))
		return mark;
	if (*at == '_' && at > begin && at + n < end && isalnum((unsigned char)at[-1]) &&
	    isalnum((unsigned char)at[n]))
		return mark;
	return (struct markdown_mark){ .role = MARKDOWN_TOGGLE, .n = n, .can_open = !blank_after };
}

struct markdown_mark markup_read_markdown(const char *begin, const char *at, const char *end)
{
	const char *stop;
	size_t n;

	switch (*at) {
	case '\\':
		if (at + 1 < end && ispunct((unsigned char)at[1]))
			return (struct markdown_mark){ .role = MARKDOWN_ESCAPED, .n = 2 };
		break;
	case '`':
		return code_mark(at, end);
	case '$': /* $$x = 1$$ */
		stop = end - at > 4 && at[1] == '$'
			       ? memmem(at + 2, (size_t)(end - at - 2), "$$", 2)
			       : NULL;
		if (stop)
			return (struct markdown_mark){ .role = MARKDOWN_ITEM,
						       .n = (size_t)(stop + 2 - at) };
		break;
	case '!':
		if (at + 1 < end && at[1] == '[')
			return bracket_mark(at, end);
		break;
	case '[':
		return bracket_mark(at, end);
	case ']':
		n = link_end(at, end);
		if (n)
			return (struct markdown_mark){ .role = MARKDOWN_CLOSE, .n = n };
		break;
	case '*':
	case '_':
	case '~':
		return emphasis_mark(begin, at, end);
	case '<': /* <https://…>, <name@host> */
		stop = memchr(at, '>', (size_t)MIN(end - at, 200));
		if (stop && !memchr(at, ' ', (size_t)(stop - at)) &&
		    (memchr(at, '@', (size_t)(stop - at)) ||
		     memmem(at, (size_t)(stop - at), "://", 3)) &&
		    !memchr(at, '"', (size_t)(stop - at)))
			return (struct markdown_mark){ .role = MARKDOWN_ITEM,
						       .n = (size_t)(stop + 1 - at) };
		break;
	default:
		break;
	}
	return (struct markdown_mark){ .role = MARKDOWN_TEXT };
}
