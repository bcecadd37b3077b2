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
#include "tui/term/keys.h"
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

TEST(panes_map_of_attention)
{
	struct console c;

	open_fake_console(&c);
	type_text(&c, "two dogs in the park");
	settle_console(&c);
	/* a small screen shows the map only when it is asked for */
	check_shows(&c, 22, 80, "attention", false);
	check(!console_shown_translation(&c, 0)->attention);
	console_toggle_extra(&c, EXTRA_MAP);
	check_shows(&c, 22, 80, "waiting for the translator", true);
	settle_console(&c);
	check_shows(&c, 22, 80, "attention, layer 6 of 6, mean of heads", true);
	check_shows(&c, 22, 80, "zwei attends to two 88 %   </s> 12 %", true);
	check_shows(&c, 22, 80, "best translations", false);
	check_int(console_next_layer(&c, 0, &e), 0);
	check_int(console_next_head(&c, 0, &e), 0);
	settle_console(&c);
	check_shows(&c, 22, 80, "attention, layer 1 of 6, head 1 of 8", true);
	check_shows(&c, 22, 80, "zwei attends to two 62 %   in 25 %   </s> 12 %", true);
	for (int i = 0; i < 8; i++)
		check_int(console_next_head(&c, 0, &e), 0);
	check_int(c.head, 0);
	console_toggle_extra(&c, EXTRA_MAP);
	check_shows(&c, 22, 80, "attention", false);
	check_int(c.focus, CONSOLE_WORDS);
	console_close(&c);
}

/* Maps that do not fit the tokens are not used. */
TEST(panes_wrong_maps)
{
	static const struct {
		const char *map;
		bool good;
	} cases[] = {
		{ "[[0.5,0.5,0],[1,0,0]]", true },
		{ "[[0.5,0.5],[1,0]]", false },
		{ "[[0.5,0.5,0]]", false },
		{ "[[0.5,0.5,0],[1,0,0],[1,0,0]]", false },
		{ "[[0.5,0.5,0],7]", false },
		{ "7", false },
		{ "[[null,\"x\",0],[1,0,0]]", true },
		{ "{\"a\":[1,2,3],\"b\":[1,2,3]}", false },
		{ "null", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct service_answer a;
		char line[400];

		snprintf(line, sizeof(line),
			 "{\"id\":1,\"text\":\"a b\",\"tokens\":[\"a\",\"b\"],\"attention\":%s,"
			 "\"source_tokens\":[\"x\",\"y\"]}",
			 cases[i].map);
		if (!check_int(service_answer_read(&a, line, strlen(line), &e), 0))
			continue;
		if (!check((a.translations[0].attention != NULL) == cases[i].good))
			printf("%s\n", cases[i].map);
		if (a.translations[0].attention)
			check(a.translations[0].attention[3] == 1.0);
		service_answer_free(&a);
	}
}

TEST(panes_settings_side_by_side)
{
	struct console c;

	open_fake_console(&c);
	check_int(console_set_checkpoint(&c, 1, "demo", 200, &e), 0);
	type_text(&c, "two dogs in the park");
	settle_console(&c);
	check_shows(&c, 22, 80, "0 words differ", true);
	console_select_side(&c, 1);
	check_int(console_set_search(&c, " beam 1  alpha 0.5 ", 0, &e), 0);
	settle_console(&c);
	check_int((int64_t)console_answer(&c, 1)->n, 1);
	check_int((int64_t)console_answer(&c, 0)->n, 4);
	check_shows(&c, 22, 80, "demo step 200, beam 1 alpha 0.5", true);
	check_shows(&c, 22, 80, "1 word differs", true);
	check_err(console_set_search(&c, "beam 65", 0, &e), ERR_USAGE);
	check_err(console_set_search(&c, "beam 1.5", 0, &e), ERR_USAGE);
	check_err(console_set_search(&c, "alpha", 0, &e), ERR_USAGE);
	check_err(console_set_search(&c, "alpha -1", 0, &e), ERR_USAGE);
	check_err(console_set_search(&c, "width 3", 0, &e), ERR_USAGE);
	check_shows(&c, 22, 80, "beam 1 alpha 0.5", true);
	check_int(console_set_search(&c, "", 0, &e), 0);
	settle_console(&c);
	check_shows(&c, 22, 80, "beam", false);
	check_shows(&c, 22, 80, "0 words differ", true);
	console_close(&c);
}

static void press_keys(struct console *c, const char *keys)
{
	for (; *keys; keys++)
		console_revision_key(c, *keys, clock_mono_s(), &e);
}

#define CTRL(letter) ((letter)&0x1F)

TEST(panes_edit_the_translation)
{
	const char cut[] = { CTRL('k'), 0 }, word[] = { CTRL('w'), 0 }, enter[] = { '\r', 0 },
		   escape[] = { 0x1B, 0 };
	struct console c;

	open_fake_console(&c);
	check_int(console_start_revision(&c, &e), 0); /* there is nothing to edit */
	check(!c.revision.is_edited);
	type_text(&c, "two dogs in the park");
	settle_console(&c);
	check_int(console_start_revision(&c, &e), 0);
	check_int(c.focus, CONSOLE_PANE_TEXT);
	edit_set_cursor(&c.revision.edit, 5);
	/* a word that is not complete takes the place of the next one, and is no prefix yet */
	press_keys(&c, "viele");
	check_str(c.prefix, "zwei");
	check_str(console_chosen_text(&c), "zwei vieleHunde in dem Park");
	settle_console(&c);
	check_str(console_chosen_text(&c), "zwei viele in dem Park");
	press_keys(&c, " ");
	check_str(c.prefix, "zwei viele");
	settle_console(&c);
	check_str(console_chosen_text(&c), "zwei viele in dem Park");
	check_int((int64_t)edit_cursor(&c.revision.edit), 11);
	check_shows(&c, 22, 80, "edited  + of this text", true);
	/* the end can be cut off */
	press_keys(&c, cut);
	settle_console(&c);
	check_str(console_chosen_text(&c), "zwei viele ");
	/* a word is deleted, and the next one is completed by the answer */
	press_keys(&c, word);
	check_str(c.prefix, "zwei");
	press_keys(&c, "Hu");
	settle_console(&c);
	check_str(console_chosen_text(&c), "zwei Hunde in dem Park");
	check_int((int64_t)edit_cursor(&c.revision.edit), 7);
	press_keys(&c, word);
	press_keys(&c, "Kat");
	settle_console(&c);
	check_str(console_chosen_text(&c), "zwei Katnde in dem Park");
	press_keys(&c, enter);
	check_int(c.focus, CONSOLE_WORDS);
	check_str(console_chosen_text(&c), "zwei Katnde in dem Park");
	/* Esc drops the edited text and the prefix */
	check_int(console_start_revision(&c, &e), 0);
	press_keys(&c, escape);
	check(!c.prefix && !c.revision.is_edited);
	settle_console(&c);
	check_str(console_chosen_text(&c), "zwei Hunde in dem Park");
	/* another text drops it too */
	check_int(console_start_revision(&c, &e), 0);
	press_keys(&c, "So ");
	settle_console(&c);
	check_str(console_chosen_text(&c), "So Hunde in dem Park");
	type_text(&c, "a man");
	settle_console(&c);
	check_str(console_chosen_text(&c), "ein Mann");
	console_close(&c);
}

/* Hostile words and all kinds of keys: the text stays valid and fits every size. */
TEST(panes_edit_hostile_text)
{
	static const int keys[] = { 'x',  ' ',	CTRL('w'),     0x301, 0x65E5,	     0x202E,
				    0x7F, 0x00, KEY_NAME_LEFT, ' ',   KEY_NAME_HOME, 0x1F600 };
	struct console c;

	open_fake_console(&c);
	type_text(&c, "dogs \u202Eabc a\u0301\u0301\u0301 \u65E5\u672C\u8A9E \u05D0\u05D1 the the");
	settle_console(&c);
	check_int(console_start_revision(&c, &e), 0);
	for (size_t i = 0; i < 200; i++) {
		int key = keys[i * 7 % ARRAY_LEN(keys)];

		if (key)
			console_revision_key(&c, key, 0, &e);
		if (i % 10 == 0)
			settle_console(&c);
		free(draw_screen(&c, 1 + (int)i % 24, 1 + (int)i * 3 % 90));
		check(edit_cursor(&c.revision.edit) <= strlen(edit_text(&c.revision.edit)));
	}
	console_close(&c);
}

TEST(panes_glossary)
{
	struct console c;
	char path[4200];
	static const char good[] = "dogs\tK\u00F6ter\n \n  in the \t im \n",
			  bad[] = "dogs\tHunde\nno tab here\n";

	open_fake_console(&c);
	type_text(&c, "two dogs in the park");
	settle_console(&c);
	snprintf(path, sizeof(path), "%s/terms", test_folder());
	check_int(file_write_all(path, good, sizeof(good) - 1, &e), 0);
	check_int(console_add_glossary(&c, path, 0, &e), 0);
	check_int(console_add_glossary(&c, "park = Wald", 0, &e), 0);
	check_int(console_add_glossary(&c, " park  =  Forst ", 0, &e), 0);
	check_int(console_add_glossary(&c, "sea = Meer", 0, &e), 0);
	check_int((int64_t)c.glossary.n, 4);
	check_str(c.glossary.terms[1].source, "in the");
	check_str(c.glossary.terms[1].target, "im");
	settle_console(&c);
	check_str(console_shown_translation(&c, 0)->text, "zwei K\u00F6ter in dem Forst");
	check_shows(&c, 22, 120, "glossary of 4 terms: ", true);
	check_shows(&c, 22, 120, "? in the im  + park Forst", true);
	check_shows(&c, 22, 120, "sea", false);
	/* a file with an error changes nothing */
	check_int(file_write_all(path, bad, sizeof(bad) - 1, &e), 0);
	check_err(console_add_glossary(&c, path, 0, &e), ERR_DATA);
	check(strstr(e.text, "line 2: a term is SOURCE TAB TARGET") != NULL);
	check_err(console_add_glossary(&c, "/no such file", 0, &e), ERR_NOINPUT);
	check_err(console_add_glossary(&c, "a = ", 0, &e), ERR_USAGE);
	check_int((int64_t)c.glossary.n, 4);
	console_close(&c);
}

/* The history of sentences: in the place of words and lists on a small screen, below them on a large one. */
TEST(panes_earlier_sentences)
{
	struct console c;

	open_fake_console(&c);
	type_text(&c, "two dogs");
	settle_console(&c);
	check_shows(&c, 60, 200, "earlier sentences", false);
	check_int(edit_remember(&c.input, "a man reads", &e), 0);
	check_int(edit_remember(&c.input, "the house", &e), 0);
	check_shows(&c, 60, 200, "earlier sentences", true);
	check_shows(&c, 60, 200, "best translations", true);
	check_shows(&c, 22, 80, "earlier sentences", false);
	console_toggle_extra(&c, EXTRA_EARLIER);
	check_shows(&c, 22, 80, "> the house", true);
	check_shows(&c, 22, 80, "best translations", false);
	check(console_move_list(&c, ACTION_DOWN));
	check_str(console_earlier_sentence(&c), "a man reads");
	check_shows(&c, 22, 80, "> a man reads", true);
	/* another pane takes the place */
	console_toggle_extra(&c, EXTRA_MAP);
	check_shows(&c, 22, 80, "earlier sentences", false);
	/* a pane that has no place any more leaves the keys */
	console_toggle_extra(&c, EXTRA_MAP);
	check_shows(&c, 60, 200, "earlier sentences", true);
	c.focus = CONSOLE_PANE_EARLIER;
	check_shows(&c, 22, 80, "best translations", true);
	check_int(c.focus, CONSOLE_WORDS);
	check(!console_move_list(&c, ACTION_DOWN));
	console_close(&c);
}

/* Terms that are in the text as words are listed, used or not. */
TEST(panes_terms_of_the_glossary)
{
	struct console c;

	open_fake_console(&c);
	type_text(&c, "two dogs in the park");
	settle_console(&c);
	check_int(console_add_glossary(&c, "Dogs = Hunde", 0, &e), 0);
	check_int(console_add_glossary(&c, "in the = im", 0, &e), 0);
	check_int(console_add_glossary(&c, "par = Gleichstand", 0, &e), 0);
	settle_console(&c);
	check_shows(&c, 22, 80, "glossary of 3 terms:", true); /* the row */
	console_toggle_extra(&c, EXTRA_TERMS);
	check_shows(&c, 22, 80, "glossary of 3 terms -", true);
	check_shows(&c, 22, 80, "+ Dogs ", true);
	check_shows(&c, 22, 80, "? in the ", true);
	check_shows(&c, 22, 80, "Gleichstand", false);
	check_shows(&c, 22, 80, "glossary of 3 terms:", false);
	type_text(&c, "a man");
	settle_console(&c);
	check_shows(&c, 22, 80, "no term of the glossary is in this text", true);
	console_close(&c);
}

TEST(glossary_whole_words)
{
	check(glossary_has_words("two Dogs run", "dogs", true));
	check(!glossary_has_words("two Dogs run", "dogs", false));
	check(!glossary_has_words("two hotdogs run", "dogs", false));
	check(!glossary_has_words("dogsled, dog", "dogs", false));
	check(glossary_has_words("dogsled, dogs", "dogs", false));
	check(!glossary_has_words("größe", "gr", false));
	check(glossary_has_words("我喜欢北京", "北京", false));
	check(!glossary_has_words("a", "", false));
}
