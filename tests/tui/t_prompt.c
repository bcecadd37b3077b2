/* t_prompt.c - questions: keys, pastes and the mouse. */
#include "tests/test.h"

#include <string.h>

#include "share/base/util.h"
#include "tui/context/prompt.h"
#include "tui/term/grid.h"
#include "tui/term/keys.h"

static struct err e;

static enum prompt_state type(struct prompt *p, const char *keys)
{
	enum prompt_state state = PROMPT_OPEN;

	while (*keys && state == PROMPT_OPEN)
		state = prompt_key(p, keys_next(&keys));
	return state;
}

TEST(prompt_questions)
{
	static const char *const choices[] = { "base", "tiny", "big" };
	struct question line = { .kind = QUESTION_LINE, .title = "name", .text = "demo" };
	struct question choice = {
		.kind = QUESTION_CHOICE, .title = "size", .choices = choices, .n_choices = 3
	};
	struct question sure = { .kind = QUESTION_YES_NO, .title = "sure?", .text = "rm" };
	struct prompt p = { 0 };

	check_int(prompt_ask(&p, &line, &e), 0);
	check_int(type(&p, "-2ü<Enter>"), PROMPT_ANSWERED);
	check_str(p.answer, "demo-2ü");
	prompt_ask(&p, &line, &e);
	check_int(type(&p, "x<Esc>"), PROMPT_ANSWERED);
	check(!p.answer);
	prompt_ask(&p, &choice, &e);
	check_int(type(&p, "b<Down><Enter>"), PROMPT_ANSWERED); /* base, big */
	check_str(p.answer, "big");
	prompt_ask(&p, &choice, &e);
	check_int(type(&p, "zzz<Enter>"), PROMPT_OPEN);
	check_int(type(&p, "<Backspace><Backspace><Backspace><Up><Enter>"), PROMPT_ANSWERED);
	check_str(p.answer, "base");
	/* A paste filters like typing: the first match is chosen. */
	prompt_ask(&p, &choice, &e);
	check_int(type(&p, "<Down><Down>"), PROMPT_OPEN);
	check_int(prompt_paste(&p, "tiny"), PROMPT_OPEN);
	check_int(type(&p, "<Enter>"), PROMPT_ANSWERED);
	check_str(p.answer ? p.answer : "nothing", "tiny");
	prompt_ask(&p, &sure, &e);
	check_int(type(&p, "x<Enter><Space>"), PROMPT_OPEN); /* only y means yes */
	check_int(prompt_paste(&p, "y\n"), PROMPT_OPEN);
	check_int(type(&p, "c"), PROMPT_COPY);
	check_int(type(&p, "y"), PROMPT_ANSWERED);
	check_str(p.answer, "yes");
	prompt_ask(&p, &sure, &e);
	check_int(type(&p, "n"), PROMPT_ANSWERED);
	check(!p.answer);
	prompt_close(&p);
}

/* Press the left button at the first place where the words appear. */
static enum prompt_state click(struct prompt *p, struct grid *g, const char *words)
{
	struct mouse m = { .kind = MOUSE_PRESS, .button = 1, .row = -1 };
	struct buf text = { 0 };
	const char *line, *found = NULL, *next;

	grid_clear(g);
	prompt_draw(p, g);
	grid_dump(g, &text);
	line = buf_text(&text);
	for (int row = 0; *line && !found; row++, line = next) {
		next = line + strcspn(line, "\n");
		next += *next == '\n';
		found = strstr(line, words);
		if (found && found >= next)
			found = NULL;
		if (found) {
			m.row = row;
			m.col = grid_text_width(g, line) - grid_text_width(g, found);
		}
	}
	if (!check(found != NULL))
		test_fail(__FILE__, __LINE__, "\"%s\" is not on the screen:\n%s", words,
			  buf_text(&text));
	buf_free(&text);
	return prompt_mouse(p, g, &m);
}

/* A filter is checked while it is typed; Enter does not accept a bad one. */
TEST(prompt_filters)
{
	static const char *const choices[] = { "base", "tiny", "big" };
	struct question filter = { .kind = QUESTION_FILTER, .title = "only", .text = "old" };
	struct question choice = {
		.kind = QUESTION_CHOICE, .title = "size", .choices = choices, .n_choices = 3
	};
	struct grid g = { .charset = GRID_ASCII };
	struct buf shown = { 0 };
	struct prompt p = { 0 };

	check_int(grid_resize(&g, 24, 80, &e), 0);
	check_int(prompt_ask(&p, &filter, &e), 0);
	check_int(type(&p, "<Enter>"), PROMPT_ANSWERED);
	check_str(p.answer, "old");
	prompt_ask(&p, &filter, &e);
	check_int(type(&p, "<Ctrl-U>~(a<Enter>"), PROMPT_OPEN);
	prompt_draw(&p, &g);
	grid_dump(&g, &shown);
	check(strstr(buf_text(&shown), "missing closing parenthesis"));
	check_int(type(&p, "|b)<Enter>"), PROMPT_ANSWERED);
	check_str(p.answer, "~(a|b)");
	prompt_ask(&p, &choice, &e);
	check_int(type(&p, "~^.i<Down><Enter>"), PROMPT_ANSWERED); /* tiny, big */
	check_str(p.answer, "big");
	prompt_ask(&p, &choice, &e);
	check_int(prompt_paste(&p, "~s.$"), PROMPT_OPEN);
	check_int(type(&p, "<Enter>"), PROMPT_ANSWERED);
	check_str(p.answer, "base");
	prompt_close(&p);
	buf_free(&shown);
	grid_free(&g);
}

TEST(prompt_questions_by_mouse)
{
	static const char *const choices[] = { "base", "tiny", "big" };
	struct question line = { .kind = QUESTION_LINE, .title = "name", .text = "demo" };
	struct question choice = {
		.kind = QUESTION_CHOICE, .title = "size", .choices = choices, .n_choices = 3
	};
	struct question sure = { .kind = QUESTION_YES_NO, .title = "sure?", .text = "rm" };
	static const int sizes[][2] = { { 24, 80 }, { 6, 24 }, { 5, 60 } };
	struct mouse wheel = { .kind = MOUSE_WHEEL_DOWN };
	struct grid g = { .charset = GRID_ASCII };
	struct prompt p = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		check_int(grid_resize(&g, sizes[i][0], sizes[i][1], &e), 0);
		prompt_ask(&p, &sure, &e);
		check_int(click(&p, &g, "sure?"), PROMPT_OPEN);
		check_int(click(&p, &g, "  n no"), PROMPT_OPEN); /* between the words */
		/* a click starts nothing: yes needs the key */
		check_int(click(&p, &g, "y yes"), PROMPT_OPEN);
		check(!p.answer);
		check_int(click(&p, &g, "press the key y"), PROMPT_OPEN);
		check_int(prompt_key(&p, 'y'), PROMPT_ANSWERED);
		check_str(p.answer, "yes");
		prompt_ask(&p, &sure, &e);
		check_int(click(&p, &g, "no"), PROMPT_ANSWERED);
		check(!p.answer);
	}
	check_int(grid_resize(&g, 24, 80, &e), 0);
	prompt_ask(&p, &sure, &e);
	check_int(click(&p, &g, "C copy"), PROMPT_COPY);
	prompt_ask(&p, &choice, &e);
	check_int(click(&p, &g, "big"), PROMPT_ANSWERED);
	check_str(p.answer, "big");
	prompt_ask(&p, &choice, &e);
	check_int(prompt_mouse(&p, &g, &wheel), PROMPT_OPEN);
	check_int(click(&p, &g, "Up Down"), PROMPT_OPEN); /* names no single key */
	check_int(click(&p, &g, "Enter choose"), PROMPT_ANSWERED);
	check_str(p.answer, "tiny");
	prompt_ask(&p, &line, &e);
	check_int(click(&p, &g, "mo"), PROMPT_OPEN); /* the cursor goes there */
	check_int(type(&p, "x"), PROMPT_OPEN);
	check_int(click(&p, &g, "Enter done"), PROMPT_ANSWERED);
	check_str(p.answer, "dexmo");
	prompt_ask(&p, &line, &e);
	check_int(click(&p, &g, "Esc back"), PROMPT_ANSWERED);
	check(!p.answer);
	prompt_close(&p);
	grid_free(&g);
}
