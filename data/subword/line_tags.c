/* line_tags.c - see line_tags.h */
#include "data/subword/line_tags.h"

#include <string.h>

#include "share/base/util.h"

bool line_tag_is_none(const char *tag)
{
	return !strcmp(tag, "-");
}

static size_t count_blanks(const char *line, size_t n)
{
	size_t i = 0;

	while (i < n && line[i] == ' ')
		i++;
	return i;
}

/* The tag of the list that is this word. */
static const char *find_tag(const struct conf_list *tags, const char *word, size_t n)
{
	for (size_t i = 0; i < tags->n; i++)
		if (strlen(tags->items[i]) == n && !memcmp(tags->items[i], word, n) &&
		    !line_tag_is_none(tags->items[i]))
			return tags->items[i];
	return NULL;
}

const char *line_tag_find(const struct conf *c, const char *line, size_t n, size_t *bytes)
{
	const struct conf_list *const lists[] = { &c->dev_tags, &c->test_tags, &c->train_tags };
	const size_t from = count_blanks(line, n);
	size_t end = from;

	while (end < n && line[end] != ' ')
		end++;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		const char *tag = find_tag(lists[i], line + from, end - from);

		if (!tag)
			continue;
		*bytes = MIN(end + 1, n);
		return tag;
	}
	*bytes = 0;
	return "";
}

size_t line_tag_bytes(const struct conf *c, const char *line, size_t n)
{
	size_t bytes;

	(void)line_tag_find(c, line, n, &bytes);
	return bytes;
}
