/* t_line_flow.c - lines worked on by threads come out as they went in */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/line_flow.h"
#include "share/base/lines.h"
#include "tests/test.h"

struct job {
	struct buf got;
	int threads;
	bool are_workers_known;
};

static int echo(void *context, int worker, const char *text, size_t n, struct buf *out,
		struct err *e)
{
	struct job *j = context;

	if (worker < 0 || worker >= j->threads)
		j->are_workers_known = false;
	if (!strcmp(text, "fail"))
		return err_set(e, ERR_UNAVAILABLE, "told to fail");
	buf_printf(out, "<%zu", n);
	buf_add(out, text, n);
	buf_add_char(out, '>');
	return 0;
}

static int keep(void *context, const struct buf *out, bool is_waiting, struct err *e)
{
	struct job *j = context;

	(void)is_waiting;
	buf_add(&j->got, out->data, out->len);
	return buf_check(&j->got, e);
}

/* Lines enough for many blocks; line number odd (from 1) is another one. */
static const char *text_file(int lines, int odd, const char *what)
{
	static char path[300];
	struct buf text = { 0 };
	struct err e = { 0 };

	for (int i = 1; i <= lines; i++) {
		if (i == odd)
			buf_add_str(&text, what);
		else
			buf_printf(&text, "line %d %*s", i, i * 7919 % 200, "");
		buf_add_str(&text, i % 5 ? "\n" : "\r\n");
	}
	buf_add_str(&text, "the end");
	snprintf(path, sizeof(path), "%s/text", test_folder());
	check(!file_write_all(path, text.data, text.len, &e));
	buf_free(&text);
	return path;
}

static int run(struct job *j, const char *path, int threads, struct err *e)
{
	struct line_flow f = { echo, keep, j, false, threads };

	*j = (struct job){ .threads = threads, .are_workers_known = true };
	*e = (struct err){ 0 };
	return line_flow_run(&f, path, e);
}

TEST(line_flow_is_the_same_for_any_threads)
{
	static const struct {
		const char *odd;
		int code;
		const char *says;
	} cases[] = {
		{ "", 0, "" },
		{ "fail", ERR_UNAVAILABLE, "told to fail" },
		{ "a\xff"
		  "b",
		  ERR_DATA, "text:15000: byte 2 is not valid UTF-8" },
	};
	static const int threads[] = { 1, 2, 5 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *path = text_file(20000, 15000, cases[i].odd);
		struct buf first = { 0 };

		for (size_t k = 0; k < ARRAY_LEN(threads); k++) {
			struct job j;
			struct err e;

			check_int(run(&j, path, threads[k], &e), cases[i].code);
			check(strstr(e.text, cases[i].says) != NULL);
			check(j.are_workers_known);
			if (!k)
				buf_add(&first, j.got.data, j.got.len);
			check(first.len > 1000000 && j.got.len == first.len &&
			      !memcmp(first.data, j.got.data, first.len));
			buf_free(&j.got);
		}
		if (!cases[i].code)
			check_str(first.data + first.len - 10, "<7the end>");
		buf_free(&first);
	}
}

TEST(line_flow_needs_a_file)
{
	struct job j;
	struct err e;

	check_err(run(&j, "/no/such/file", 2, &e), ERR_NOINPUT);
	check_err(run(&j, test_folder(), 1, &e), ERR_NOINPUT);
}

TEST(lines_take_what_a_pipe_has)
{
	struct lines in;
	struct buf block = { 0 };
	struct err e = { 0 };
	bool is_waiting = false;
	char path[40];
	int ends[2];

	if (!check(pipe(ends) == 0))
		return;
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	if (access(path, R_OK)) {
		test_skip("no /dev/fd");
		return;
	}
	check(!lines_open(&in, path, &e));
	check(write(ends[1], "one\ntw", 6) == 6);
	check_int(lines_read_block(&in, 1000, &block, &is_waiting, &e), 1);
	check_str(buf_text(&block), "one\n");
	check(is_waiting);
	check_int(in.number, 1);
	check(write(ends[1], "o\n\nthr", 6) == 6);
	check_int(lines_read_block(&in, 1000, &block, &is_waiting, &e), 1);
	check_str(buf_text(&block), "two\n\n");
	check_int(in.number, 3);
	check(write(ends[1], "ee", 2) == 2);
	close(ends[1]);
	close(ends[0]);
	check_int(lines_read_block(&in, 1000, &block, &is_waiting, &e), 1);
	check_str(buf_text(&block), "three");
	check(!is_waiting);
	check_int(lines_read_block(&in, 1000, &block, &is_waiting, &e), 0);
	lines_close(&in);
	buf_free(&block);
}

TEST(lines_take_blocks_of_memory)
{
	static const char text[] = "a\nbb\n\nccc\nd";
	static const char *const want[] = { "a\nbb\n\nccc\n", "d" };
	struct lines in;
	struct buf block = { 0 };
	struct err e = { 0 };
	bool is_waiting = true;
	size_t n = 0;

	check(!lines_open_memory(&in, "memory", text, strlen(text), 1, &e));
	for (; lines_read_block(&in, 4, &block, &is_waiting, &e) > 0 && n < ARRAY_LEN(want); n++)
		check_str(buf_text(&block), want[n]); /* as much as is there, and the rest */
	check_int(n, 2);
	check(!is_waiting);
	lines_close(&in);
	buf_free(&block);
}
