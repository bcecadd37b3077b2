/* t_console.c - the translate console: requests, cursor and constraints, with a fake translator. */
#include "tests/test.h"

#include <locale.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "tui/run/checkpoints.h"
#include "tui/translate/translate_console.h"
#include "tui/translate/translate_console_panes.h"
#include "tui/translate/translate_undo.h"

static struct err e;

static const char *fake(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);

	path[MAX(n, 0)] = 0;
	*(strrchr(path, '/') + 1) = 0;
	return strncat(path, "fake_eval", 30);
}

/* A workspace whose run has checkpoints 100 and 200, last is 200. */
static void make_run(char workspace[4096])
{
	char path[4200];

	snprintf(workspace, 4096, "%s/w", test_folder());
	snprintf(path, sizeof(path), "%s/runs/demo/checkpoints/100", workspace);
	check_int(file_make_folders(path, &e), 0);
	snprintf(path, sizeof(path), "%s/runs/demo/checkpoints/200", workspace);
	check_int(file_make_folders(path, &e), 0);
	snprintf(path, sizeof(path), "%s/runs/demo/checkpoints/last", workspace);
	check_int(symlink("200", path), 0);
	snprintf(path, sizeof(path), "%s/runs/demo/checkpoints/best", workspace);
	check_int(symlink("100", path), 0);
}

static void open_console(struct console *c)
{
	static char workspace[4096];

	*c = (struct console){ 0 };
	make_run(workspace);
	check_int(console_open(c, workspace, &e), 0);
	c->program = fake();
	check_int(console_set_checkpoint(c, 0, "demo", 200, &e), 0);
}

/* Update until no answer is pending. */
static void settle(struct console *c)
{
	double end = clock_mono_s() + 10;

	do {
		console_update(c, clock_mono_s());
		poll(NULL, 0, 2);
	} while (console_busy(c) && clock_mono_s() < end);
	check(!console_busy(c));
}

static void type(struct console *c, const char *text)
{
	check_int(edit_set(&c->input, text, &e), 0);
	check_int(console_text_changed(c, clock_mono_s(), &e), 0);
	settle(c);
}

static const char *shown(const struct console *c)
{
	const struct service_translation *t = console_shown_translation(c, c->side);

	return t ? t->text : "(nothing)";
}

TEST(console_checkpoints)
{
	char workspace[4096];
	struct checkpoints list;

	make_run(workspace);
	check_int(checkpoints_list(&list, workspace, "demo", &e), 0);
	check_int((int64_t)list.n, 2);
	check_int(list.steps[0], 200);
	check_int(list.last, 200);
	check_int(list.best, 100);
	checkpoints_free(&list);
	check_int(checkpoints_list(&list, workspace, "other", &e), 0);
	check_int((int64_t)list.n, 0);
	check_int(list.last, -1);
	check_err(checkpoints_list(&list, workspace, "../demo", &e), ERR_USAGE);
}

TEST(console_translates)
{
	struct console c;

	open_console(&c);
	type(&c, "two dogs are running");
	check_str(shown(&c), "zwei Hunde rennen");
	check_int((int64_t)console_answer(&c, 0)->n, 4);
	console_choose(&c, 2);
	check_str(shown(&c), "zwei Rüden rennen");
	console_choose(&c, 99);
	check_int(c.choice, 4 - 1);
	type(&c, "");
	check_str(shown(&c), "(nothing)");
	console_close(&c);
}

TEST(console_alternatives_and_prefix)
{
	struct console c;

	open_console(&c);
	type(&c, "two dogs are running");
	console_move(&c, 0, clock_mono_s());
	settle(&c);
	if (check(console_alternatives(&c) != NULL))
		check_int((int64_t)console_alternatives(&c)->n_alternatives, 5);
	c.other = 3;
	check_int(console_use_alternative(&c, clock_mono_s(), &e), 0);
	settle(&c);
	check_str(c.prefix, "viele");
	check_str(shown(&c), "viele Hunde rennen");
	check(!console_alternatives(&c));
	/* on the words, alternatives are requested without a key */
	c.focus = CONSOLE_WORDS;
	settle(&c);
	check(console_alternatives(&c) != NULL);
	c.focus = CONSOLE_INPUT;
	/* the cursor within a word: the word is not cut */
	console_toggle_pieces(&c, clock_mono_s());
	console_move(&c, 2, clock_mono_s());
	check_int(console_fix_prefix(&c, clock_mono_s(), &e), 0);
	check_str(c.prefix, "viele");
	settle(&c);
	console_move(&c, 99, clock_mono_s());
	check_int(c.token, 4);
	check_int(console_fix_prefix(&c, clock_mono_s(), &e), 0);
	check_str(c.prefix, "viele Hunde rennen");
	settle(&c);
	/* a new text drops the prefix */
	type(&c, "a man");
	check(!c.prefix);
	check_str(shown(&c), "ein Mann");
	console_close(&c);
}

TEST(console_terms)
{
	struct console c;

	open_console(&c);
	type(&c, "two dogs");
	check_int(console_add_term(&c, &c.force, "heute", 0, &e), 0);
	check_int(console_add_term(&c, &c.forbid, "zwei", 0, &e), 0);
	check_err(console_add_term(&c, &c.forbid, "zwei", 0, &e), ERR_USAGE);
	check_int(console_add_term(&c, &c.forbid, "  ", 0, &e), 0);
	settle(&c);
	check_str(shown(&c), "zwo Hunde heute");
	check_int(console_clear_constraints(&c, 0, &e), 0);
	settle(&c);
	check_str(shown(&c), "zwei Hunde");
	for (int i = 0; i < CONSOLE_TERMS; i++) {
		char term[16];

		snprintf(term, sizeof(term), "w%d", i);
		check_int(console_add_term(&c, &c.force, term, 0, &e), 0);
	}
	check_err(console_add_term(&c, &c.force, "one more", 0, &e), ERR_USAGE);
	console_close(&c);
}

TEST(console_follows)
{
	struct console c;
	char link[4200], other[4200];

	open_console(&c);
	check_int(console_set_checkpoint(&c, 0, "demo", 100, &e), 0);
	c.follow = false;
	type(&c, "two");
	check_int(c.sides[0].step, 100);
	c.follow = true;
	c.checked_at = -INFINITY;
	settle(&c);
	check_int(c.sides[0].step, 200);
	check_str(shown(&c), "zwei");
	/* a checkpoint that appears later */
	snprintf(other, sizeof(other), "%s/runs/demo/checkpoints/new", c.workspace);
	snprintf(link, sizeof(link), "%s/runs/demo/checkpoints/last", c.workspace);
	check_int(symlink("300", other), 0);
	check_int(rename(other, link), 0);
	c.checked_at = -INFINITY;
	settle(&c);
	check_int(c.sides[0].step, 300);
	check_int(service_model(c.sides[0].service)->step, 300);
	/* a checkpoint that cannot be loaded: the old one stays, and the error is shown */
	c.program = "/no such program";
	check_int(symlink("400", other), 0);
	check_int(rename(other, link), 0);
	c.checked_at = -INFINITY;
	settle(&c);
	check_int(c.sides[0].step, 300);
	check(strstr(c.trouble, "checkpoint 400") != NULL);
	check_str(shown(&c), "zwei");
	console_close(&c);
}

TEST(console_killed_in_the_middle)
{
	struct console c;

	open_console(&c);
	type(&c, "two");
	check_int(edit_set(&c.input, "slow two dogs", &e), 0);
	check_int(console_ask(&c, 0, &e), 0);
	console_update(&c, clock_mono_s());
	test_kill((pid_t)service_pid(c.sides[0].service), SIGKILL);
	while (!service_deaths(c.sides[0].service))
		console_update(&c, clock_mono_s());
	check_int(service_state(c.sides[0].service), SERVICE_DOWN);
	check_str(shown(&c), "zwei"); /* still there */
	for (int i = 0; i < 500 && strcmp(shown(&c), "slow zwei Hunde"); i++) {
		console_update(&c, clock_mono_s());
		poll(NULL, 0, 10);
	}
	check_str(shown(&c), "slow zwei Hunde");
	console_close(&c);
}

TEST(console_file)
{
	struct console c;
	char in[4200], out[4200];
	struct buf text = { 0 };
	const struct translate_file_state *f;

	open_console(&c);
	snprintf(in, sizeof(in), "%s/in", c.workspace);
	snprintf(out, sizeof(out), "%s/out", c.workspace);
	for (int i = 0; i < 50000; i++)
		buf_add_str(&text, "two dogs\n");
	buf_add_str(&text, "a man");
	check_int(file_write_all(in, text.data, text.len, &e), 0);
	check_err(console_start_file(&c, "/no such file", out, clock_mono_s(), &e), ERR_NOINPUT);
	check_int(console_start_file(&c, in, out, clock_mono_s(), &e), 0);
	check_err(console_start_file(&c, in, out, clock_mono_s(), &e), ERR_TEMPFAIL);
	check(!file_exists(out));
	settle(&c);
	f = translate_file_state(c.file);
	if (!check(f != NULL))
		return;
	check(!f->failed && !f->running);
	check_int(f->lines, 50001);
	check_int(f->done, 50001);
	buf_clear(&text);
	check_int(file_read_all(out, 0, &text, &e), 0);
	check(strstr(buf_text(&text), "zwei Hunde\nein Mann\n") != NULL);
	check_err(console_start_file(&c, in, out, clock_mono_s(), &e), ERR_CANTCREAT);
	/* a translator that dies leaves no file */
	buf_clear(&text);
	buf_add_str(&text, "two\ndie\n");
	check_int(file_write_all(in, text.data, text.len, &e), 0);
	snprintf(out, sizeof(out), "%s/out2", c.workspace);
	check_int(console_start_file(&c, in, out, clock_mono_s(), &e), 0);
	settle(&c);
	f = translate_file_state(c.file);
	check(f->failed);
	check_str(f->trouble, "the translator was killed by signal 9: the fake was asked to die");
	check(!file_exists(out));
	buf_free(&text);
	console_close(&c);
}

/* Words have no marks of pieces and no entities of the tokenizer; SentencePiece's text is as it is. */
TEST(console_words_of_pieces)
{
	static const char
		bpe[] = "{\"id\":1,\"text\":\"man's "
			"dogs\",\"score\":-1,\"tokens\":[\"man\",\"&ap@@\",\"os;s\",\"do@@\","
			"\"gs\"],\"source_tokens\":[\"&quot;\"]}",
		raw[] = "{\"id\":1,\"text\":\"a &amp;\",\"score\":-1,\"tokens\":[\"\u2581a\","
			"\"\u2581&amp;\"],\"source_tokens\":[\"\u2581a\"]}";
	struct service_answer a;
	struct buf b = { 0 };

	if (!check_int(service_answer_read(&a, bpe, sizeof(bpe) - 1, &e), 0))
		return;
	check_int((int64_t)a.words->translations[0].n, 3);
	check_str(a.words->translations[0].tokens[1], "'s");
	check_str(a.words->source[0], "\"");
	console_text_before(&a.words->translations[0], 2, &b);
	check_str(buf_text(&b), "man's");
	buf_free(&b);
	service_answer_free(&a);
	if (!check_int(service_answer_read(&a, raw, sizeof(raw) - 1, &e), 0))
		return;
	check_str(a.words->translations[0].tokens[1], "&amp;");
	service_answer_free(&a);
}

TEST(console_finds_the_text_before_a_word)
{
	const char *words[] = { "man", "'s", "\"", "Hey", "\"", "." };
	struct service_translation t = { .text = "man's \"Hey\".", .tokens = words, .n = 6 };
	struct buf b = { 0 };

	console_text_before(&t, 2, &b);
	check_str(buf_text(&b), "man's");
	buf_clear(&b);
	console_text_before(&t, 4, &b);
	check_str(buf_text(&b), "man's \"Hey");
	buf_clear(&b);
	console_text_before(&t, 0, &b);
	check_str(buf_text(&b), "");
	buf_clear(&b);
	t.text = "another text";
	console_text_before(&t, 4, &b);
	check_str(buf_text(&b), "man 's \" Hey");
	buf_free(&b);
}

/* An action of the user, as the view carries it out. */
static void change(struct console *c, void (*act)(struct console *c), bool with_glossary)
{
	struct console_step before;

	console_undo_look(c, with_glossary, &before);
	act(c);
	console_undo_keep(c, &before, 0);
}

static void type_key(struct console *c, int key)
{
	struct console_step before;

	console_undo_look(c, false, &before);
	if (edit_key(&c->input, key) == EDIT_CHANGED)
		check_int(console_text_changed(c, 0, &e), 0);
	console_undo_keep(c, &before, key);
}

static void type_keys(struct console *c, const char *keys)
{
	for (; *keys; keys++)
		type_key(c, *keys);
}

/* Goes n steps; the last one succeeds or not. */
static void go(struct console *c, int n, bool succeeds)
{
	int status = 1;

	for (int i = 0; i < (n < 0 ? -n : n); i++)
		status = console_undo_go(c, n < 0 ? -1 : 1, 0, &e);
	check_int(status, succeeds);
	settle(c);
}

static void use_fourth(struct console *c)
{
	c->other = 3;
	check_int(console_use_alternative(c, 0, &e), 0);
}

static void edit_first_word(struct console *c)
{
	if (!c->revision.is_edited)
		check_int(console_start_revision(c, &e), 0);
	console_revision_key(c, 'S', 0, &e);
	console_revision_key(c, 'o', 0, &e);
	console_revision_key(c, ' ', 0, &e);
}

static void force_today(struct console *c)
{
	check_int(console_add_term(c, &c->force, "heute", 0, &e), 0);
}

static void add_glossary_term(struct console *c)
{
	check_int(console_add_glossary(c, "dogs = Doggen", 0, &e), 0);
}

static void replace_glossary_term(struct console *c)
{
	check_int(console_add_glossary(c, "dogs = Welpen", 0, &e), 0);
}

TEST(console_undo_of_all_changes)
{
	struct console c;

	open_console(&c);
	go(&c, -1, false);
	type_keys(&c, "two dogs");
	settle(&c);
	type_key(&c, 0x7F);
	type_key(&c, 0x7F);
	check_str(edit_text(&c.input), "two do");
	/* a word, and a run of deletions, is one step */
	go(&c, -1, true);
	check_str(shown(&c), "zwei Hunde");
	go(&c, -1, true);
	check_str(edit_text(&c.input), "two ");
	go(&c, 2, true);
	check_str(edit_text(&c.input), "two do");
	go(&c, 1, false);
	go(&c, -1, true);
	/* an alternative, edited words, a forced word, and terms of the glossary */
	console_move(&c, 0, 0);
	settle(&c);
	change(&c, use_fourth, false);
	settle(&c);
	check_str(shown(&c), "viele Hunde");
	change(&c, edit_first_word, false);
	settle(&c);
	check_str(console_chosen_text(&c), "So Hunde");
	c.focus = CONSOLE_WORDS;
	change(&c, force_today, false);
	change(&c, add_glossary_term, true);
	change(&c, replace_glossary_term, true);
	settle(&c);
	check_int((int64_t)c.glossary.n, 1);
	go(&c, -1, true);
	check_str(c.glossary.terms[0].target, "Doggen");
	go(&c, -1, true);
	check_int((int64_t)c.glossary.n, 0);
	check_int((int64_t)c.force.n, 1);
	go(&c, -1, true);
	check_int((int64_t)c.force.n, 0);
	check_str(console_chosen_text(&c), "So Hunde");
	go(&c, -1, true);
	check(!c.revision.is_edited);
	check_str(c.prefix, "viele");
	check_str(shown(&c), "viele Hunde");
	go(&c, -1, true);
	check(!c.prefix);
	check_str(shown(&c), "zwei Hunde");
	go(&c, 5, true);
	check_str(c.glossary.terms[0].target, "Welpen");
	check_str(c.force.terms[0], "heute");
	check_str(console_chosen_text(&c), "So Hunde");
	/* a new change ends the way forward */
	go(&c, -3, true);
	type_keys(&c, " in");
	go(&c, 1, false);
	console_close(&c);
}

TEST(console_undo_is_bounded)
{
	struct console c;

	open_console(&c);
	for (int i = 0; i < 3 * CONSOLE_UNDO; i++)
		type_keys(&c, "a ");
	check_int((int64_t)c.undo.n, CONSOLE_UNDO);
	go(&c, -CONSOLE_UNDO, true);
	go(&c, -1, false);
	/* a letter and a blank are two steps */
	check_int((int64_t)strlen(edit_text(&c.input)), 6 * CONSOLE_UNDO - CONSOLE_UNDO);
	console_close(&c);
}

static void store_sentence(struct console *c)
{
	check_int(document_choose(c->document, console_chosen_text(c), 0.5, &e), 0);
	if (!document_is_complete(c->document))
		check_int(console_show_sentence(c, 0, &e), 0);
}

static void go_back(struct console *c)
{
	document_move(c->document, -1);
	check_int(console_show_sentence(c, 0, &e), 0);
}

static void check_stored_part(const struct console *c, const char *text)
{
	struct buf b = { 0 };

	check_int(file_read_all(c->document->part, 0, &b, &e), 0);
	check_str(buf_text(&b), text);
	buf_free(&b);
}

TEST(console_undo_of_stored_sentences)
{
	static const char text[] = "two dogs\n\na man reads\nthe park\n";
	struct console c;
	char in[4200], out[4200];

	open_console(&c);
	snprintf(in, sizeof(in), "%s/undo", test_folder());
	snprintf(out, sizeof(out), "%s/undo.out", test_folder());
	check_int(file_write_all(in, text, sizeof(text) - 1, &e), 0);
	if (!check((c.document = document_open(in, out, NULL, "en", "", &e)) != NULL))
		return;
	check_int(console_show_sentence(&c, 0, &e), 0);
	settle(&c);
	change(&c, edit_first_word, false);
	settle(&c);
	c.focus = CONSOLE_WORDS;
	change(&c, store_sentence, false);
	check_stored_part(&c, "two dogs\tSo Hunde\n\t\n");
	settle(&c);
	change(&c, store_sentence, false);
	settle(&c);
	check_int((int64_t)c.document->at, 3);
	/* to look at another sentence is no change */
	change(&c, go_back, false);
	settle(&c);
	check_int((int64_t)c.undo.n, 3);
	go(&c, -1, true);
	check_int((int64_t)c.document->at, 2);
	check_int((int64_t)c.document->n_chosen, 2);
	check_stored_part(&c, "two dogs\tSo Hunde\n\t\n");
	go(&c, -1, true);
	check_int((int64_t)c.document->n_chosen, 0);
	check_str(edit_text(&c.input), "two dogs");
	check_str(console_chosen_text(&c), "So Hunde");
	check_stored_part(&c, "");
	go(&c, 2, true);
	check_int((int64_t)c.document->n_chosen, 3);
	check_stored_part(&c, "two dogs\tSo Hunde\n\t\na man reads\tein Mann liest\n");
	/* what cannot be written stays stored */
	check_int(unlink(c.document->part), 0);
	check_int(mkdir(c.document->part, 0700), 0);
	check(console_undo_go(&c, -1, 0, &e) < 0);
	check_int((int64_t)c.document->n_chosen, 3);
	check_str(c.document->chosen[2], "ein Mann liest");
	check_int(rmdir(c.document->part), 0);
	go(&c, -2, true);
	check_stored_part(&c, "");
	console_close(&c);
}

/* In every size, focus and state, nothing is drawn outside the body. */
TEST(console_fits_everywhere)
{
	struct console c;

	open_console(&c);
	check_int(console_set_checkpoint(&c, 1, "demo", 100, &e), 0);
	check_int(console_add_term(&c, &c.force, "heute", 0, &e), 0);
	c.has_extra[EXTRA_MAP] = true;
	check_int(console_add_glossary(&c, "dogs = Hunde", 0, &e), 0);
	check_int(edit_remember(&c.input, "a man reads", &e), 0);
	type(&c, "two dogs are running in the park and a man reads the newspaper in the house "
		 "averyveryveryverylongwordthatdoesnotfitanywhereinanarrowscreenofanykind");
	console_move(&c, 3, 0);
	settle(&c);
	check(console_shown_translation(&c, 0)->attention != NULL);
	for (int rows = 1; rows <= 70; rows += rows < 30 ? 1 : 7)
		for (int cols = 1; cols <= 210; cols += cols < 60 ? 1 : 13) {
			struct grid g = { .charset = GRID_ASCII };
			struct console_screen s = { 0 };
			struct rect body = { 1, 2, rows, cols };
			bool outside = false;

			c.focus = (enum console_pane)(cols % CONSOLE_PANES);
			c.wanted[EXTRA_MAP] = (enum console_showing)((rows + cols / 7) % 3);
			c.wanted[EXTRA_EARLIER] = (enum console_showing)((rows + cols / 5) % 3);
			c.wanted[EXTRA_TERMS] = (enum console_showing)((rows + cols / 3) % 3);
			c.side = rows % 2;
			check_int(grid_resize(&g, rows + 2, cols + 4, &e), 0);
			console_layout(&c, &g, body, &s);
			console_draw(&c, &g, &s, 0);
			for (int y = 0; y < g.rows; y++)
				for (int x = 0; x < g.cols; x++)
					if (y < 1 || y > rows || x < 2 || x >= cols + 2)
						outside |= grid_at(&g, y, x)->ch != ' ';
			if (!check(!outside))
				printf("at %d x %d\n", rows, cols);
			grid_free(&g);
		}
	console_close(&c);
}
