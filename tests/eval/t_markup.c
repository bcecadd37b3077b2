/* t_markup.c - inline mark-up: reading it, and placing it around the words of a translation */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/document/markup.h"
#include "share/base/mem.h"
#include "tests/test.h"

#define MAX_WORDS 64

/* The words of a text: letters and digits, or one other character. */
static size_t split_words(const char *text, size_t *at, size_t *end)
{
	size_t n = 0;

	for (size_t i = 0; text[i];) {
		if (isspace((unsigned char)text[i])) {
			i++;
			continue;
		}
		at[n] = i;
		while (text[i] &&
		       (isalnum((unsigned char)text[i]) || (unsigned char)text[i] >= 0x80))
			i++;
		i += i == at[n];
		end[n++] = i;
	}
	return n;
}

/* Source word of each target word, by position; -1: none. */
static void place_as(struct markup *m, const char *target, const int *aligned, struct buf *out)
{
	size_t at[MAX_WORDS], end[MAX_WORDS], source_at[MAX_WORDS], source_end[MAX_WORDS];
	struct markup_word words[MAX_WORDS];
	const size_t n = split_words(target, at, end);
	const size_t n_source = split_words(buf_text(&m->text), source_at, source_end);
	struct markup_target t = { target, strlen(target), words, n };
	struct err e = { 0 };

	for (size_t i = 0; i < n; i++) {
		const int s = aligned ? aligned[i] : i < n_source ? (int)i : -1;

		words[i] = (struct markup_word){ at[i], end[i], s < 0 ? 0 : source_at[s],
						 s < 0 ? 0 : source_end[s] };
	}
	buf_clear(out);
	check_int(markup_write(m, &t, out, &e), 0);
}

static const struct {
	enum markup_kind kind;
	const char *source, *plain, *target;
	int aligned[12];
	const char *expected;
} placements[] = {
#include "tests/eval/markup_cases.def"
};

TEST(markup_placements)
{
	struct markup m = { 0 };
	struct buf out = { 0 };
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(placements); i++) {
		check_int(markup_read(&m, placements[i].kind, NULL, placements[i].source,
				      strlen(placements[i].source), &e),
			  0);
		check_str(buf_text(&m.text), placements[i].plain);
		place_as(&m, placements[i].target, placements[i].aligned, &out);
		check_str(buf_text(&out), placements[i].expected);
	}
	buf_free(&out);
	markup_free(&m);
}

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* Appends words with random tags around them; a name is a letter and a number, so each tag occurs once. */
static void add_nesting(struct buf *out, uint64_t *random, int depth, int *number)
{
	const int n = 1 + (int)(next_random(random) % 4);

	for (int i = 0; i < n; i++) {
		const int id = ++*number;

		if (i)
			buf_add_char(out, ' ');
		if (next_random(random) % 5 == 0)
			buf_printf(out, "<x id=\"%d\"/>", id);
		if (depth < 4 && next_random(random) % 2 && id < 30) {
			buf_printf(out, "<t%d a='%d'>", id, id);
			add_nesting(out, random, depth + 1, number);
			buf_printf(out, "</t%d>", id);
		} else {
			buf_printf(out, "w%d", id);
		}
	}
}

static int compare_tags(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The tags of a text, sorted, as one string. Checks that they are well nested. */
static void sorted_tags(const char *text, struct buf *to)
{
	char *tags[200];
	int stack[200], depth = 0;
	size_t n = 0;

	buf_clear(to);
	for (const char *at = text; (at = strchr(at, '<')) != NULL; at++) {
		const size_t len = (size_t)(strchr(at, '>') + 1 - at);

		tags[n] = strndup(at, len);
		if (at[1] == '/')
			check(depth > 0 && stack[--depth] == atoi(at + 3));
		else if (at[1] == 't')
			stack[depth++] = atoi(at + 2);
		n++;
	}
	check_int(depth, 0);
	qsort(tags, n, sizeof(*tags), compare_tags);
	for (size_t i = 0; i < n; i++) {
		buf_add_str(to, tags[i]);
		free(tags[i]);
	}
}

/* Whatever the alignment: equal tags, well nested, and the words of the translation in their order. */
TEST(markup_random_nestings)
{
	uint64_t random = 7;
	struct markup m = { 0 };
	struct buf source = { 0 }, target = { 0 }, out = { 0 }, before = { 0 }, after = { 0 };
	struct err e = { 0 };

	for (int k = 0; k < 5000; k++) {
		int number = 0, aligned[MAX_WORDS];
		size_t n_words = 1 + next_random(&random) % 20, at[MAX_WORDS], end[MAX_WORDS],
		       n_source;

		buf_clear(&source);
		buf_clear(&target);
		add_nesting(&source, &random, 0, &number);
		check_int(markup_read(&m, MARKUP_LINES, NULL, source.data, source.len, &e), 0);
		n_source = split_words(buf_text(&m.text), at, end);
		if (n_source >= MAX_WORDS)
			continue;
		for (size_t i = 0; i < n_words; i++) {
			buf_printf(&target, "%sz%zu", i ? " " : "", i);
			aligned[i] = (int)(next_random(&random) % (n_source + 1)) - 1;
		}
		place_as(&m, buf_text(&target), aligned, &out);
		sorted_tags(buf_text(&source), &before);
		sorted_tags(buf_text(&out), &after);
		check_str(buf_text(&after), buf_text(&before));
		check_int(markup_read(&m, MARKUP_LINES, NULL, out.data, out.len, &e), 0);
		for (size_t i = 0, from = 0; i < n_words; i++) { /* all words, in order */
			char word[32];
			const char *found;

			snprintf(word, sizeof(word), "z%zu", i);
			found = strstr(buf_text(&m.text) + from, word);
			check(found != NULL);
			from = found ? (size_t)(found - buf_text(&m.text)) : from;
		}
	}
	buf_free(&source);
	buf_free(&target);
	buf_free(&out);
	buf_free(&before);
	buf_free(&after);
	markup_free(&m);
}

/* 100,000 tags in one segment, side by side and nested, take linear time: the test would not end otherwise. */
TEST(markup_many_tags)
{
	struct markup m = { 0 };
	struct buf source = { 0 }, target = { 0 }, out = { 0 };
	struct markup_word *words = calloc(100000, sizeof(*words));
	struct markup_target t = { .words = words, .n_words = 100000 };
	struct err e = { 0 };

	check(words != NULL);
	for (int i = 0; i < 100000; i++) {
		buf_add_str(&source, "<b>a</b> ");
		buf_add_str(&target, "b ");
		words[i] = (struct markup_word){ 2 * (size_t)i, 2 * (size_t)i + 1, 2 * (size_t)i,
						 2 * (size_t)i + 1 };
	}
	t.text = target.data;
	t.n = target.len;
	check_int(markup_read(&m, MARKUP_LINES, NULL, source.data, source.len, &e), 0);
	check_int(markup_write(&m, &t, &out, &e), 0);
	check_int(out.len, source.len);
	buf_clear(&source);
	for (int i = 0; i < 100000; i++)
		buf_add_str(&source, "<b><code>");
	buf_add_str(&source, "word");
	for (int i = 0; i < 100000; i++)
		buf_add_str(&source, "</b></i>");
	buf_clear(&out);
	t.n_words = 1;
	t.n = 1;
	words[0] = (struct markup_word){ 0, 1, 0, 4 };
	check_int(markup_read(&m, MARKUP_LINES, NULL, source.data, source.len, &e), 0);
	check_str(buf_text(&m.text), "word");
	check_int(markup_write(&m, &t, &out, &e), 0);
	check_int(out.len, source.len - 3);
	buf_free(&source);
	buf_free(&target);
	buf_free(&out);
	markup_free(&m);
	free(words);
}
