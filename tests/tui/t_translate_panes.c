/* t_translate_panes.c - what the panes of the translate console show, with a fake translator. */
#include "tests/test.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "tui/translate/translate_console.h"
#include "tui/translate/translate_console_panes.h"
#include "tui/translate/translate_console_words.h"

static struct err e;
static char program[4096];

/* A console with checkpoint 200 of a run. */
static void open_fake_console(struct console *c)
{
	char workspace[4096], path[4200];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 32);

	program[MAX(n, 0)] = 0;
	*(strrchr(program, '/') + 1) = 0;
	strncat(program, "fake_eval", 30);
	snprintf(workspace, sizeof(workspace), "%s/w", test_folder());
	snprintf(path, sizeof(path), "%s/runs/demo/checkpoints/200", workspace);
	check_int(file_make_folders(path, &e), 0);
	*c = (struct console){ 0 };
	check_int(console_open(c, workspace, &e), 0);
	c->program = program;
	c->follow = false;
	check_int(console_set_checkpoint(c, 0, "demo", 200, &e), 0);
}

/* Update until no answer is pending. */
static void settle_console(struct console *c)
{
	double end = clock_mono_s() + 10;

	do {
		console_update(c, clock_mono_s());
		poll(NULL, 0, 2);
	} while (console_busy(c) && clock_mono_s() < end);
	check(!console_busy(c));
}

static void type_text(struct console *c, const char *text)
{
	check_int(edit_set(&c->input, text, &e), 0);
	check_int(console_text_changed(c, clock_mono_s(), &e), 0);
}

/* The screen of the console; the caller frees it. */
static char *draw_screen(struct console *c, int rows, int cols)
{
	struct grid g = { .charset = GRID_ASCII };
	struct console_screen s = { 0 };
	struct buf out = { 0 };

	check_int(grid_resize(&g, rows, cols, &e), 0);
	console_layout(c, &g, (struct rect){ 0, 0, rows, cols }, &s);
	console_draw(c, &g, &s, 0);
	grid_dump(&g, &out);
	grid_free(&g);
	return buf_detach(&out, &e);
}

static void check_shows(struct console *c, int rows, int cols, const char *text, bool wanted)
{
	char *screen = draw_screen(c, rows, cols);

	if (!check((strstr(screen, text) != NULL) == wanted))
		printf("\"%s\" in:\n%s", text, screen);
	free(screen);
}

/* The border of the translation says whether it is of the text above. */
TEST(panes_badge_of_typing)
{
	struct console c;

	open_fake_console(&c);
	type_text(&c, "two dogs");
	check_shows(&c, 24, 80, "translating -+", true);
	check_shows(&c, 24, 80, "of the text before", false);
	settle_console(&c);
	check_shows(&c, 24, 80, "of this text", true);
	type_text(&c, "two dogs in");
	check_shows(&c, 24, 80, "of the text before, translating", true);
	check_shows(&c, 24, 80, "of this text", false);
	settle_console(&c);
	check_shows(&c, 24, 80, "of this text", true);
	console_close(&c);
}

/* A line that is too long begins near its first difference, and a moved word is a difference. */
TEST(panes_line_of_differences)
{
	static const char best[] = "eins zwei drei vier acht neun zehn elf",
			  other[] = "eins zwei drei vier fuenf sechs neun zehn elf";
	struct grid g = { .charset = GRID_ASCII };
	struct buf out = { 0 };

	check_int(grid_resize(&g, 3, 24, &e), 0);
	console_draw_line(&g, (struct span){ 0, 0, 24, STYLE_NORMAL }, best, NULL);
	console_draw_line(&g, (struct span){ 1, 0, 24, STYLE_NORMAL }, other, best);
	console_draw_line(&g, (struct span){ 2, 0, 24, STYLE_NORMAL }, "b a", "a b");
	grid_dump(&g, &out);
	check_str(buf_text(&out), "eins zwei drei vier .\n. vier fuenf sechs neun.\nb a\n");
	check_int(grid_at(&g, 1, 2)->style, STYLE_NORMAL);
	check_int(grid_at(&g, 1, 7)->style, STYLE_ADDED);
	check_int(grid_at(&g, 1, 13)->style, STYLE_ADDED);
	check_int(grid_at(&g, 1, 19)->style, STYLE_NORMAL);
	check(grid_at(&g, 2, 0)->style != grid_at(&g, 2, 2)->style);
	buf_free(&out);
	grid_free(&g);
}
