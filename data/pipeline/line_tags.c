/* line_tags.c - see line_tags.h */
#include "data/pipeline/line_tags.h"

#include <stdio.h>
#include <string.h>

#include "share/base/util.h"

bool line_tag_is_none(const char *tag)
{
	return !strcmp(tag, "-");
}

const char *line_first_word(const char *line, size_t n, size_t *len)
{
	size_t from = 0, end;

	while (from < n && line[from] == ' ')
		from++;
	for (end = from; end < n && line[end] != ' ';)
		end++;
	*len = end - from;
	return line + from;
}

/* The item of the list that is this word. */
static const char *find_list_word(const struct conf_list *list, const char *word, size_t n)
{
	for (size_t i = 0; i < list->n; i++)
		if (strlen(list->items[i]) == n && !memcmp(list->items[i], word, n) &&
		    !line_tag_is_none(list->items[i]))
			return list->items[i];
	return NULL;
}

/* The tag among those of texts; NULL: none of them. */
static const char *find_text_tag(const struct conf *c, const char *word, size_t n)
{
	const struct conf_list *const lists[] = { &c->dev_tags, &c->test_tags, &c->train_tags };
	const char *tag = NULL;

	for (size_t i = 0; i < ARRAY_LEN(lists) && !tag; i++)
		tag = find_list_word(lists[i], word, n);
	return tag;
}

/* Bytes of the tag of an item TAG=SOURCE-TARGET; 0: it has none. */
static size_t item_tag_bytes(const char *item)
{
	const char *equals = strrchr(item, '=');

	return equals ? (size_t)(equals - item) : 0;
}

/* The item of tag_languages with this tag; NULL: none. */
static const char *find_tag_item(const struct conf *c, const char *tag, size_t n)
{
	for (size_t i = 0; i < c->tag_languages.n; i++) {
		const char *item = c->tag_languages.items[i];

		if (n && item_tag_bytes(item) == n && !memcmp(item, tag, n))
			return item;
	}
	return NULL;
}

const char *line_tag_find(const struct conf *c, const char *line, size_t n, size_t *bytes)
{
	size_t len;
	const char *word = line_first_word(line, n, &len), *tag = find_text_tag(c, word, len);

	if (!tag && find_tag_item(c, word, len))
		tag = find_list_word(&c->protect, word, len);
	*bytes = tag ? MIN((size_t)(word - line) + len + 1, n) : 0;
	return tag ? tag : "";
}

size_t line_tag_bytes(const struct conf *c, const char *line, size_t n)
{
	size_t bytes;

	(void)line_tag_find(c, line, n, &bytes);
	return bytes;
}

static bool is_listed(const char *tags, const char *tag)
{
	const size_t n = strlen(tag);

	for (const char *at = tags; (at = strstr(at, tag)) != NULL; at++)
		if (at > tags && at[-1] == ' ' && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

void line_tags_list(const struct conf *c, struct buf *out)
{
	const struct conf_list *const lists[] = { &c->train_tags, &c->dev_tags, &c->test_tags,
						  &c->protect };

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		for (size_t k = 0; k < lists[i]->n; k++) {
			const char *tag = lists[i]->items[k];
			size_t bytes;

			if (*line_tag_find(c, tag, strlen(tag), &bytes) &&
			    !is_listed(buf_text(out), tag))
				buf_printf(out, " %s", tag);
		}
}

/* Copy a code of n bytes. False: it is empty or too long. */
static bool copy_language(char to[LANGUAGE_BYTES], const char *code, size_t n)
{
	if (!n || n >= LANGUAGE_BYTES)
		return false;
	memcpy(to, code, n);
	to[n] = '\0';
	return true;
}

/* Read the languages of an item. */
static bool parse_tag_languages(const char *item, struct pair_languages *l)
{
	const char *from = item + item_tag_bytes(item) + 1, *hyphen = strchr(from, '-');

	return hyphen && !strchr(hyphen + 1, '-') &&
	       copy_language(l->source, from, (size_t)(hyphen - from)) &&
	       copy_language(l->target, hyphen + 1, strlen(hyphen + 1)) &&
	       strcmp(l->source, l->target) != 0;
}

int line_tag_read(const struct conf *c, size_t i, const char **tag, struct pair_languages *l,
		  struct err *e)
{
	const char *item = c->tag_languages.items[i];
	const size_t n = item_tag_bytes(item);

	if (!n || !parse_tag_languages(item, l))
		return err_set(e, ERR_CONFIG,
			       "tag_languages: \"%s\" is not TAG=SOURCE-TARGET with two languages, "
			       "such as <2en>=de-en",
			       item);
	if (find_tag_item(c, item, n) != item)
		return err_set(e, ERR_CONFIG, "tag_languages: the tag %.*s is given twice", (int)n,
			       item);
	*tag = find_text_tag(c, item, n);
	if (!*tag)
		*tag = find_list_word(&c->protect, item, n);
	if (!*tag)
		return err_set(e, ERR_CONFIG,
			       "tag_languages: %.*s is neither a tag of a text (train_tags, "
			       "dev_tags, test_tags) nor a symbol of protect",
			       (int)n, item);
	return 0;
}

struct pair_languages line_tag_languages(const struct conf *c, const char *tag)
{
	const char *item = tag ? find_tag_item(c, tag, strlen(tag)) : NULL;
	struct pair_languages l;

	if (item && parse_tag_languages(item, &l))
		return l;
	snprintf(l.source, sizeof(l.source), "%s", c->source_language);
	snprintf(l.target, sizeof(l.target), "%s", c->target_language);
	return l;
}

int line_tags_check_texts(const struct conf *c, struct err *e)
{
	for (size_t i = 0; i < c->tag_languages.n; i++) {
		struct pair_languages l;
		const char *tag;

		if (line_tag_read(c, i, &tag, &l, e))
			return e->code;
		if (!find_text_tag(c, tag, strlen(tag)))
			return err_set(
				e, ERR_CONFIG,
				"tag_languages: no text has the tag %s: name the tag of each "
				"file in train_tags, dev_tags or test_tags",
				tag);
	}
	return 0;
}
