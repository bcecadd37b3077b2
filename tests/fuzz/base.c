/* base.c - targets for lines, JSON, recipes and journals; see fuzz.h */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/buf.h"
#include "share/base/lines.h"
#include "share/base/text.h"
#include "share/conf/conf.h"
#include "share/format/json.h"
#include "share/workspace/journal.h"
#include "tests/fuzz/fuzz.h"

/* ---- lines: equal from a file, from memory, and byte by byte; repaired text is valid UTF-8 ---- */

struct rest {
	const uint8_t *data;
	size_t n;
};

static int64_t read_some(void *from, void *to, size_t room, struct err *e)
{
	struct rest *r = from;
	size_t n = r->n < 3 ? r->n : 3;

	(void)e;
	n = n < room ? n : room;
	if (n)
		memcpy(to, r->data, n);
	r->data += n;
	r->n -= n;
	return (int64_t)n;
}

/* Returns whether all lines were read. */
static bool compare_lines(struct lines *in[3], struct err e[3])
{
	int got[3];

	do {
		for (int i = 0; i < 3; i++)
			got[i] = lines_next(in[i], &e[i]);
		property(got[0] == got[1] && got[1] == got[2]);
		for (int i = 0; i < 3 && got[0] > 0; i++) {
			property(in[i]->text[in[i]->len] == 0);
			property(in[i]->len == in[0]->len && in[i]->number == in[0]->number);
			property(!memcmp(in[i]->text, in[0]->text, in[0]->len));
			property(utf8_valid(in[i]->text, in[i]->len));
		}
	} while (got[0] > 0);
	/* with repair, only a file that is no text at all is refused */
	property(got[0] == 0 || !in[0]->repair || strstr(e[0].text, "not UTF-8 text"));
	return got[0] == 0;
}

/* The same text in blocks of whole lines, each read from memory. */
static void compare_blocks(const char *path, const uint8_t *data, size_t n)
{
	struct err e = { 0 };
	struct lines in, part;
	struct buf block = { 0 };
	bool is_waiting;
	size_t at = 0;
	int64_t before = 0;

	property(!lines_open(&in, path, &e));
	while (lines_read_block(&in, 5, &block, &is_waiting, &e) > 0) {
		property(block.len && at + block.len <= n);
		property(!memcmp(block.data, data + at, block.len));
		at += block.len;
		property(!lines_open_memory(&part, path, block.data, block.len, before + 1, &e));
		part.repair = true;
		while (lines_next(&part, &e) > 0)
			before++;
		property(part.number == before && in.number == before);
		lines_close(&part);
	}
	property(at == n);
	lines_close(&in);
	buf_free(&block);
}

FUZZ(lines)
{
	const char *path = fuzz_file(data, n);
	bool is_text = false;

	for (int repair = 0; repair < 2; repair++) {
		struct lines file, memory, reader;
		struct lines *in[3] = { &file, &memory, &reader };
		struct rest rest = { data, n };
		struct err e[3] = { { 0 }, { 0 }, { 0 } };

		property(!lines_open(&file, path, &e[0]));
		property(!lines_open_memory(&memory, "memory", (const char *)data, n, 1, &e[1]));
		property(!lines_open_reader(&reader, "reader", read_some, &rest, &e[2]));
		for (int i = 0; i < 3; i++)
			in[i]->repair = repair;
		is_text = compare_lines(in, e);
		for (int i = 0; i < 3; i++)
			lines_close(in[i]);
	}
	if (is_text)
		compare_blocks(path, data, n);
	return 0;
}

/* ---- JSON: all ways to read a parsed tree agree ---- */

static void walk(const struct json *v)
{
	const struct json *member;

	json_text(v, NULL);
	json_number(v, 0);
	json_integer(v, 0);
	json_boolean(v, false);
	json_get(v, "kind");
	for (size_t i = 0; i < json_len(v); i++) {
		const char *key = json_member(v, i, &member);

		if (key)
			property(strlen(key) < SIZE_MAX);
		walk(key ? member : json_at(v, i));
	}
}

/* Iteration, access by number, and json_numbers() give the same members. */
static void compare_walks(const struct json *v)
{
	static const char *const names[] = { "loss", "t", "step", "a" };
	double numbers[4];
	size_t i = 0;

	for (const struct json *c = json_first(v); c; c = json_next(v, c), i++) {
		const struct json *member = json_at(v, i);
		const char *key = json_member(v, i, &member);

		property(c == member);
		property(!key || !strcmp(key, json_child_key(c)));
	}
	property(i == json_len(v));
	json_numbers(v, names, 4, numbers);
	for (i = 0; i < 4; i++) {
		double one = json_number(json_get(v, names[i]), NAN);

		property(isnan(one) || one == numbers[i]);
	}
}

FUZZ(json)
{
	struct err e = { 0 };
	struct json *root = json_parse((const char *)data, n, &e), *again;

	property(root || e.code == ERR_DATA);
	walk(root);
	compare_walks(root);
	/* A tree in reused memory equals one in fresh memory. */
	again = json_parse("{\"a\":[\"b\",1.5,{}]}", 19, &e);
	again = json_parse_reusing(again, (const char *)data, n, &e);
	property(!root == !again);
	walk(again);
	compare_walks(again);
	json_free(root);
	json_free(again);
	return 0;
}

/* ---- recipes: a written recipe reads as the same values ---- */

FUZZ(recipe)
{
	struct err e = { 0 };
	struct conf a, b;
	struct buf first = { 0 }, second = { 0 };

	property(!conf_init(&a, &e) && !conf_init(&b, &e));
	if (!conf_load_named_recipe(&a, fuzz_file(data, n), &e)) {
		conf_write_recipe(&a, &first);
		property(!conf_load_recipe(&b, fuzz_file(first.data, first.len), &e));
		conf_write_recipe(&b, &second);
		property(first.len == second.len && !memcmp(first.data, second.data, first.len));
	}
	conf_free(&a);
	conf_free(&b);
	buf_free(&first);
	buf_free(&second);
	return 0;
}

/* ---- journals ---- */

FUZZ(journal)
{
	struct err e = { 0 };
	struct journal_reader *r = journal_reader_open(fuzz_file(data, n), &e);
	const struct json *record;
	int64_t records = 0;

	property(r);
	while (journal_next(r, &record, &e) > 0) {
		walk(record);
		records++;
	}
	property(records + journal_bad_lines(r) <= (int64_t)n + 1);
	journal_reader_free(r);
	return 0;
}
