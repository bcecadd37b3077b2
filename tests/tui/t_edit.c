/* t_edit.c - the line editor: what keys do to a text, and where it is drawn. */
#include "tests/test.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/context/line_history.h"
#include "tui/term/edit.h"
#include "tui/term/keys.h"

static struct err e;

/* Press keys as actions.def names them; the result of the last one. */
static enum edit_result press(struct edit *d, const char *keys)
{
	enum edit_result r = EDIT_IGNORED;

	while (*keys) {
		int key = keys_next(&keys);

		if (!check(key > 0))
			break;
		r = edit_key(d, key);
	}
	return r;
}

/* The text with | at the cursor. */
static const char *seen(const struct edit *d)
{
	static char out[500];

	snprintf(out, sizeof(out), "%.*s|%s", (int)d->at, edit_text(d), edit_text(d) + d->at);
	return out;
}

TEST(edit_keys)
{
	static const struct {
		const char *keys, *want;
	} cases[] = {
		{ "abc", "abc|" },
		{ "abc<Left><Left>x", "ax|bc" },
		{ "abc<Home>x<End>y", "xabcy|" },
		{ "abc<Ctrl-A><Ctrl-F><Ctrl-D>", "a|c" },
		{ "abc<Backspace><Backspace>", "a|" },
		{ "abc<Ctrl-H>", "ab|" },
		{ "<Backspace><Delete><Left><Right>", "|" },
		{ "abc<Home><Delete>", "|bc" },
		{ "two dogs run<Ctrl-Left>", "two dogs |run" },
		{ "two dogs run<Alt-b><Alt-b>", "two |dogs run" },
		{ "two dogs run<Home><Alt-f><Alt-f>", "two dogs| run" },
		{ "it's (so) <Alt-b>", "it's (|so) " },
		{ "two dogs run<Ctrl-W>", "two dogs |" },
		{ "two dogs run<Alt-Backspace><Alt-Backspace>", "two |" },
		{ "two dogs run<Home><Alt-d>", "| dogs run" },
		{ "two dogs<Alt-b><Ctrl-K>", "two |" },
		{ "two dogs<Alt-b><Ctrl-U>", "|dogs" },
		{ "two dogs<Ctrl-W><Ctrl-W><Ctrl-Y><Ctrl-Y>", "two dogstwo dogs|" },
		{ "two dogs<Home><Alt-d><Alt-d><End><Ctrl-Y>", "two dogs|" },
		{ "one two<Ctrl-W>x<Ctrl-W><Ctrl-Y>", "one x|" },
		{ "ab<Ctrl-T>", "ba|" },
		{ "abc<Home><Right><Ctrl-T>", "ba|c" },
		{ "a<Ctrl-T>", "a|" },
		{ "one two<Ctrl-_>", "one|" },
		{ "one<Ctrl-U><Ctrl-_>", "one|" },
		{ "<Ctrl-_>", "|" },
		{ "tschüß<Backspace><Backspace>", "tsch|" },
		{ "日本語<Left><Backspace>", "日|語" },
		{ "e\u0301a\u0308\u0323x<Left><Backspace>", "e\u0301|x" },
		{ "e\u0301x<Home><Right>", "e\u0301|x" },
		{ "e\u0301x<Home><Delete>", "|x" },
		{ "e\u0301x<Ctrl-T>", "xe\u0301|" },
		{ "Größe 日本<Alt-b><Alt-b>", "|Größe 日本" },
		{ "\u0301<Home>e", "e\u0301|" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct edit d = { 0 };

		press(&d, cases[i].keys);
		if (!check_str(seen(&d), cases[i].want))
			printf("after %s\n", cases[i].keys);
		edit_close(&d);
	}
}

TEST(edit_results)
{
	struct edit d = { 0 };

	check_int(press(&d, "a"), EDIT_CHANGED);
	check_int(press(&d, "<Left>"), EDIT_MOVED);
	check_int(press(&d, "<Backspace>"), EDIT_MOVED);
	check_int(press(&d, "<Delete>"), EDIT_CHANGED);
	check_int(press(&d, "<Enter>"), EDIT_DONE);
	check_int(press(&d, "<Esc>"), EDIT_LEFT);
	check_int(press(&d, "<Ctrl-G>"), EDIT_LEFT);
	check_int(press(&d, "<Tab>"), EDIT_IGNORED);
	check_int(press(&d, "<PageUp>"), EDIT_IGNORED);
	check_int(press(&d, "<Ctrl-L>"), EDIT_IGNORED);
	check_int(edit_key(&d, 0x9B), EDIT_MOVED); /* the start of an escape sequence */
	check_int(edit_key(&d, 0xD800), EDIT_MOVED);
	check_str(edit_text(&d), "");
	edit_close(&d);
}

TEST(edit_history)
{
	struct edit d = { 0 };
	char line[32];

	check_int(press(&d, "<Up>"), EDIT_MOVED);
	check_int(edit_remember(&d, "first", &e), 0);
	check_int(edit_remember(&d, "second", &e), 0);
	check_int(edit_remember(&d, "second", &e), 0);
	check_int(edit_remember(&d, "", &e), 0);
	/* a line that is there already moves to the end */
	check_int(edit_remember(&d, "first", &e), 0);
	check_int((int64_t)d.n_history, 2);
	check_str(d.history[1], "first");
	check_int(edit_remember(&d, "second", &e), 0);
	press(&d, "draft<Up>");
	check_str(seen(&d), "second|");
	press(&d, "<Up><Up>");
	check_str(seen(&d), "first|");
	press(&d, "<Down><Down><Down>");
	check_str(seen(&d), "draft|");
	for (int i = 0; i < 2 * EDIT_HISTORY; i++) {
		snprintf(line, sizeof(line), "line %d", i);
		check_int(edit_remember(&d, line, &e), 0);
	}
	for (int i = 0; i < 2 * EDIT_HISTORY; i++)
		press(&d, "<Ctrl-P>");
	check_str(edit_text(&d), "line 200");
	edit_close(&d);
}

TEST(edit_lines_are_kept)
{
	struct edit d = { 0 };
	char path[400], line[1200];
	struct stat st;

	snprintf(path, sizeof(path), "%s/state/werkbank/sentences", test_folder());
	line_history_read(&d, path);
	check_int(d.n_history, 0);
	check_int(line_history_add(path, "two dogs", &e), 0);
	check_int(line_history_add(path, "", &e), 0);
	check_int(line_history_add(path, "größe 日本", &e), 0);
	check(!stat(path, &st) && (st.st_mode & 0777) == 0600);
	line_history_read(&d, path);
	check_int(d.n_history, 2);
	press(&d, "<Up><Up>");
	check_str(seen(&d), "two dogs|");
	edit_close(&d);

	/* a file changed by others: no control characters, no invalid UTF-8, mode restored */
	check_int(file_write_all(path, "a\x1b[31mb\n\xff\xfe\n\0c\nlast", 18, &e), 0);
	check(!chmod(path, 0644));
	line_history_read(&d, path);
	press(&d, "<Up>");
	check_str(seen(&d), "last|");
	press(&d, "<Up>");
	check_str(seen(&d), "a[31mb|");
	edit_close(&d);
	check_int(line_history_add(path, "more", &e), 0);
	check(!stat(path, &st) && (st.st_mode & 0777) == 0600);

	/* the file stays bounded */
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = 0;
	for (int i = 0; i < 1000; i++) {
		char number[16];

		snprintf(number, sizeof(number), "%05d", i);
		memcpy(line, number, 5);
		check_int(line_history_add(path, line, &e), 0);
	}
	check(!stat(path, &st) && (st.st_mode & 0777) == 0600);
	check(st.st_size < (off_t)LINE_HISTORY_BYTES + (off_t)sizeof(line) + 1);
	line_history_read(&d, path);
	check(d.n_history > 50 && !strncmp(d.history[d.n_history - 1], "00999x", 6));
	edit_close(&d);
	/* a link is not followed */
	check(!unlink(path) && !symlink("elsewhere", path));
	check_int(line_history_add(path, "x", &e), ERR_CANTCREAT);
}

TEST(edit_paste)
{
	struct edit d = { 0 };
	char *big = malloc(10001);

	check_int(edit_paste(&d, "one\r\ntwo\tthree\x1b[31m\x07\xff"), EDIT_CHANGED);
	check_str(seen(&d), "one two three[31m|");
	check_int(edit_paste(&d, "\x07"), EDIT_IGNORED);
	press(&d, "<Ctrl-_>");
	check_str(seen(&d), "|");
	check_int(edit_set(&d, "a\nb", &e), 0);
	check_str(seen(&d), "a b|");
	press(&d, "<Ctrl-U>");
	for (int i = 0; i < 10000; i++)
		big[i] = (char)('a' + i % 26);
	big[10000] = 0;
	check_int(edit_paste(&d, big), EDIT_CHANGED);
	check_str(edit_text(&d), big);
	for (int i = 0; i < 8; i++)
		edit_paste(&d, big);
	check_int((int64_t)d.text.len, EDIT_MAX);
	check_int(edit_paste(&d, "x"), EDIT_IGNORED);
	press(&d, "<Backspace>");
	check_int(edit_paste(&d, "ü"), EDIT_IGNORED); /* no half characters */
	press(&d, "<Backspace>");
	check_int(edit_paste(&d, "üx"), EDIT_CHANGED);
	check_int((int64_t)d.text.len, EDIT_MAX);
	check(utf8_valid(edit_text(&d), d.text.len));
	free(big);
	edit_close(&d);
}

static void check_screen(const struct grid *g, const char *want)
{
	struct buf out = { 0 };

	grid_dump(g, &out);
	check_str(buf_text(&out), want);
	buf_free(&out);
}

/* The position of the cursor on the screen: row * 100 + column; -1: none. */
static int cursor_at(const struct grid *g)
{
	for (int row = 0; row < g->rows; row++)
		for (int col = 0; col < g->cols; col++)
			if (grid_at(g, row, col)->style == STYLE_CURSOR)
				return row * 100 + col;
	return -1;
}

static void draw(struct edit *d, struct grid *g, struct rect r)
{
	grid_clear(g);
	edit_draw(d, g, r, STYLE_NORMAL, true);
}

TEST(edit_drawn_in_rows)
{
	struct grid g = { .charset = GRID_ASCII };
	struct rect all = { 0, 0, 3, 10 };
	struct edit d = { 0 };

	check_int(grid_resize(&g, 3, 10, &e), 0);
	press(&d, "two dogs are running home");
	draw(&d, &g, all);
	check_screen(&g, "are\nrunning\nhome\n");
	check_int(cursor_at(&g), 204);
	check_int(edit_rows(&d, &g, 10), 4);
	press(&d, "<Home>");
	draw(&d, &g, all);
	check_screen(&g, "two dogs\nare\nrunning\n");
	check_int(cursor_at(&g), 0);
	edit_point(&d, &g, all, 2, 3);
	check_str(seen(&d), "two dogs are run|ning home");
	edit_close(&d);
	grid_free(&g);
}

TEST(edit_drawn_in_one_row)
{
	struct grid g = { .charset = GRID_ASCII };
	struct rect all = { 0, 0, 1, 10 };
	struct edit d = { 0 };

	check_int(grid_resize(&g, 1, 10, &e), 0);
	press(&d, "abcdefghijklmnop");
	draw(&d, &g, all);
	check_screen(&g, "<ijklmnop\n");
	press(&d, "<Home>");
	draw(&d, &g, all);
	check_screen(&g, "abcdefghi>\n");
	check_int(cursor_at(&g), 0);
	press(&d, "<Right><Right><Ctrl-K>");
	draw(&d, &g, all);
	check_screen(&g, "ab\n");
	check_int(cursor_at(&g), 2);
	edit_point(&d, &g, all, 0, 1);
	check_str(seen(&d), "a|b");
	edit_close(&d);
	grid_free(&g);
}

/* For any text and size: the cursor is visible, and every byte of the text is in a row. */
TEST(edit_cursor_always_in_sight)
{
	static const char *const pieces[] = { "a", " ", "日", "e\u0301", "longerword", "  ", "ß" };
	struct edit d = { 0 };
	unsigned random = 1;

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return test_skip("this machine has no locale C.UTF-8");
	for (int i = 0; i < 400; i++) {
		struct grid g = { .charset = i % 2 ? GRID_FULL : GRID_ASCII };
		struct rect r = { 1, 1, 1 + i % 4, 1 + i % 23 };

		random = random * 1103515245 + 12345;
		edit_paste(&d, pieces[(random >> 16) % ARRAY_LEN(pieces)]);
		if (i % 3 == 0)
			press(&d, "<Left><Left><Left>");
		if (i % 50 == 49)
			press(&d, "<Home>");
		check_int(grid_resize(&g, r.rows + 2, r.cols + 2, &e), 0);
		draw(&d, &g, r);
		check(cursor_at(&g) >= 0);
		for (int col = 0; col < g.cols; col++)
			check(grid_at(&g, 0, col)->ch == ' ' &&
			      grid_at(&g, g.rows - 1, col)->ch == ' ');
		for (int row = 0; row < g.rows; row++)
			check(grid_at(&g, row, 0)->ch == ' ');
		grid_free(&g);
	}
	edit_close(&d);
}

/* A text that was replaced since it was drawn is shorter than what was scrolled out of it. */
TEST(edit_point_in_a_replaced_text)
{
	struct grid g = { .charset = GRID_ASCII };
	struct rect r = { 0, 0, 1, 10 };
	struct edit d = { 0 };

	check_int(grid_resize(&g, 1, 10, &e), 0);
	check_int(edit_set(&d, "a long text, of which the end is shown", &e), 0);
	edit_draw(&d, &g, r, STYLE_NORMAL, true);
	check_int(edit_set(&d, "short", &e), 0);
	edit_point(&d, &g, r, 0, 2);
	check_int((int64_t)edit_cursor(&d), 2);
	grid_free(&g);
	edit_close(&d);
}
