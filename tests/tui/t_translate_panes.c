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

/* Words are shown; a key shows the model's pieces, and the cursor stays on its word. */
TEST(panes_words_before_pieces)
{
	const struct service_translation *t;
	struct console c;
	double sum = 0;

	open_fake_console(&c);
	type_text(&c, "two dogs in the park");
	settle_console(&c);
	t = console_shown_translation(&c, 0);
	check_int((int64_t)t->n, 5);
	check_str(t->tokens[1], "Hunde");
	check_int(t->aligned[1], 1);
	check_shows(&c, 22, 80, "- words -", true);
	check_shows(&c, 22, 80, "@@", false);
	console_move(&c, 2, 0);
	sum = t->log_probs[1];
	console_toggle_pieces(&c, 0);
	t = console_shown_translation(&c, 0);
	check_int((int64_t)t->n, 6);
	check_int(c.token, 3);
	check(fabs(t->log_probs[1] + t->log_probs[2] - sum) < 1e-9);
	check_shows(&c, 22, 80, "- pieces -", true);
	check_shows(&c, 22, 80, "zwei Hun@@ de   in", true);
	console_move(&c, 2, 0);
	console_toggle_pieces(&c, 0);
	check_int(c.token, 1);
	settle_console(&c);
	check_shows(&c, 22, 80, "instead of Hunde", true);
	console_close(&c);
}

/* Pieces of SentencePiece, of a script without blanks, and attention to words. */
TEST(panes_words_of_pieces)
{
	static const char line[] =
		"{\"id\":1,\"text\":\"Gr\u00FC\u00DFe aus \u5317\u4EAC.\",\"tokens\":"
		"[\"\u2581Gr\",\"\u00FC\u00DFe\",\"\u2581aus\",\"\u2581\u5317\",\"\u4EAC\","
		"\".\"],\"token_log_probs\":[-1,-2,-3,-4,-5,-6],\"alignment\":[0,-1,2,1,1,2],"
		"\"attention\":[[0.5,0.25,0,0.25],[0.25,0.5,0.25,0],[1,0,0,0],[0,1,0,0],[0,0,1,0],"
		"[0,0,0,1]],\"source_tokens\":[\"\u2581x\",\"y\",\"\u2581z\"]}";
	static const char *const words[] = { "Gr\u00FC\u00DFe", "aus", "\u5317", "\u4EAC", "." };
	static const int aligned[] = { 0, 1, 0, 0, 1 };
	const struct service_translation *t;
	struct service_answer a;

	if (!check_int(service_answer_read(&a, line, sizeof(line) - 1, &e), 0))
		return;
	t = &a.words->translations[0];
	check_int((int64_t)a.words->n_source, 2);
	check_str(a.words->source[0], "xy");
	if (check_int((int64_t)t->n, ARRAY_LEN(words)))
		for (size_t i = 0; i < t->n; i++) {
			check_str(t->tokens[i], words[i]);
			check_int(t->aligned[i], aligned[i]);
			check_int((int64_t)t->pieces[i], (int64_t)(i ? i + 1 : 0));
		}
	check(t->log_probs[0] == -3.0);
	check(t->attention[0] == 0.75 && t->attention[1] == 0.125 && t->attention[2] == 0.125);
	check(fabs(t->quality - exp(-3.5)) < 1e-9);
	service_answer_free(&a);
}

/* Several sentences are rows of two columns; the words are those of the sentence at the cursor. */
TEST(panes_sentences_of_a_text)
{
	struct console c;

	open_fake_console(&c);
	type_text(&c, "two dogs . a man reads the newspaper in the house .");
	settle_console(&c);
	check_shows(&c, 22, 80, " source, en -", true);
	c.focus = CONSOLE_WORDS;
	check_shows(&c, 22, 80, " source, en -", false); /* the desk has it */
	check_shows(&c, 22, 80, "- sentences, en to de -", true);
	check_shows(&c, 22, 80, "bar: mean probability of a token", true);
	check_shows(&c, 22, 80, ">   1 two dogs .                      | zwei Hunde .", true);
	check_shows(&c, 22, 80, "    2 a man reads the newspaper in    | ein Mann liest dem", true);
	check_shows(&c, 22, 80, "zwei Hunde .\n", false);
	check_shows(&c, 22, 200, " 84%  |", true);
	console_move_part(&c, 1, 0);
	check_int(c.token, 3);
	check_shows(&c, 22, 80, ">   2 a man reads", true);
	check_shows(&c, 22, 80, "|a  man reads the newspaper in the house .", true);
	console_move_part(&c, 1, 0);
	check_int(c.token, 3);
	/* of another translation, the cursor is in the same sentence */
	console_choose(&c, 3);
	check_int(c.token, 3);
	console_move_part(&c, -1, 0);
	check_int(c.token, 0);
	/* a text that is being edited is one */
	check_int(console_start_revision(&c, &e), 0);
	check_shows(&c, 22, 80, "- sentences", false);
	console_close(&c);
}

/* Parts that do not fit the tokens are not used. */
TEST(panes_wrong_parts)
{
	static const struct {
		const char *sources, *parts;
		size_t n;
	} cases[] = {
		{ "[{\"text\":\"x\",\"tokens\":1},{}]",
		  "[{\"text\":\"a\",\"tokens\":1},{\"text\":\"b\",\"tokens\":1}]", 2 },
		{ "[{\"tokens\":-7},{\"tokens\":99}]", "[{\"tokens\":2},{\"tokens\":0}]", 2 },
		{ "[{},{}]", "[{\"tokens\":2},{\"tokens\":-1}]", 1 },
		{ "[{},{}]", "[{\"tokens\":2},{\"tokens\":9223372036854775807}]", 1 },
		{ "[{},{}]", "[{\"tokens\":1},{}]", 1 },
		{ "[{},{},{}]", "[{\"tokens\":1},{\"tokens\":1}]", 1 },
		{ "7", "[{\"tokens\":1},{\"tokens\":1}]", 1 },
		{ "{\"a\":1,\"b\":2}", "{\"a\":{\"tokens\":1},\"b\":{\"tokens\":1}}", 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct service_answer a;
		char line[400];

		snprintf(line, sizeof(line),
			 "{\"id\":1,\"text\":\"a b\",\"tokens\":[\"a\",\"b\"],\"parts\":%s,"
			 "\"source_tokens\":[\"x\",\"y\"],\"source_parts\":%s}",
			 cases[i].parts, cases[i].sources);
		if (!check_int(service_answer_read(&a, line, strlen(line), &e), 0))
			continue;
		check_int((int64_t)a.translations[0].n_parts, (int64_t)cases[i].n);
		for (size_t k = 0; k < a.translations[0].n_parts; k++)
			check(a.translations[0].parts[k].first_source +
				      a.translations[0].parts[k].n_source <=
			      2);
		service_answer_free(&a);
	}
}

/* The sentences of a document with their translations: stored, edited, the open one, and those made ahead. */
TEST(panes_sentences_of_a_document)
{
	static const char text[] = "two dogs\n\na man reads the newspaper in the house\nthe park\n";
	struct console c;
	char in[4200], out[4200];

	open_fake_console(&c);
	snprintf(in, sizeof(in), "%s/desk", test_folder());
	snprintf(out, sizeof(out), "%s/desk.out", test_folder());
	check_int(file_write_all(in, text, sizeof(text) - 1, &e), 0);
	if (!check((c.document = document_open(in, out, NULL, "en", "", &e)) != NULL))
		return;
	c.focus = CONSOLE_WORDS;
	check_int(console_show_sentence(&c, 0, &e), 0);
	settle_console(&c);
	check_shows(&c, 22, 80, "sentence 1 of 4, 0 done", true);
	check_shows(&c, 22, 80, ">   1 two dogs                        | zwei Hunde", true);
	check_shows(&c, 22, 80, "    3 a man reads the newspaper in    | ein Mann liest dem", true);
	check_shows(&c, 22, 80, "    4 the park                        | dem Park", true);
	check_shows(&c, 22, 80, "|    2 ", false);
	check_int(document_choose(c.document, "zwei Hunde", 0.9, &e), 0);
	check_int(console_show_sentence(&c, 0, &e), 0);
	settle_console(&c);
	check_shows(&c, 22, 80, "+   1 two dogs                        | zwei Hunde", true);
	check_shows(&c, 22, 80, ">   3 a man reads", true);
	check_int(console_start_revision(&c, &e), 0);
	console_revision_key(&c, 'X', 0, &e);
	check_shows(&c, 22, 80, "| Xein Mann", true);
	check_shows(&c, 22, 80, " edit ", true);
	/* drafts of another model are forgotten */
	check(c.document->drafts[3] != NULL);
	console_forget_drafts(&c);
	check(!c.document->drafts[3] && isnan(c.document->qualities[3]) &&
	      c.document->qualities[0] == 0.9);
	console_close(&c);
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
