/* t_document.c - a document that is translated sentence by sentence: stored, resumed, refused. */
#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/file.h"
#include "tui/translate/document.h"

static struct err e;
static char in[4200], out[4200], part[4300];

static void write_document(const char *text)
{
	snprintf(in, sizeof(in), "%s/in", test_folder());
	snprintf(out, sizeof(out), "%s/out", test_folder());
	snprintf(part, sizeof(part), "%s.part", out);
	check_int(file_write_all(in, text, strlen(text), &e), 0);
}

static void check_file(const char *path, const char *text)
{
	struct buf b = { 0 };

	check_int(file_read_all(path, 0, &b, &e), 0);
	check_str(buf_text(&b), text);
	buf_free(&b);
}

TEST(document_is_written_at_the_end)
{
	struct document *d;

	write_document("\xEF\xBB\xBFone\n\n  \ntwo\r\nthree"); /* the byte order mark is no text */
	d = document_open(in, out, NULL, "en", "", &e);
	if (!check(d != NULL))
		return;
	check_int((int64_t)d->n, 5);
	check_int(document_choose(d, "eins\tund\nmehr", NAN, &e), 0);
	/* empty lines are passed */
	check_int((int64_t)d->at, 3);
	check_str(d->sources[d->at], "two");
	check_int(document_choose(d, "zwei", NAN, &e), 0);
	check_file(part, "one\teins und mehr\n\t\n\t\ntwo\tzwei\n");
	/* back past the empty lines, and another choice there */
	document_move(d, -1);
	check_int((int64_t)d->at, 3);
	document_move(d, -1);
	check_int((int64_t)d->at, 0);
	document_move(d, -1);
	check_int((int64_t)d->at, 0);
	check_int(document_choose(d, "uno", NAN, &e), 0);
	check_int((int64_t)d->at, 3);
	document_move(d, 1);
	document_move(d, 1);
	check_int((int64_t)d->at, 4);
	check(!document_is_complete(d));
	check(!file_exists(out));
	check_int(document_choose(d, "drei", NAN, &e), 0);
	check(document_is_complete(d));
	check_int(document_finish(d, &e), 0);
	check_file(out, "uno\n\n  \nzwei\ndrei\n");
	check(!file_exists(part));
	document_free(d);
}

/* A line of several sentences is translated one by one, and stays a line, with its blanks. */
TEST(document_splits_lines_into_sentences)
{
	static const char *const sources[] = { "Dr. One.", "Two?", "Three" };
	struct document *d;

	write_document("  Dr. One.  Two?\t\nThree");
	d = document_open(in, out, NULL, "en", "", &e);
	if (!check(d != NULL))
		return;
	check_int((int64_t)d->n, 3);
	for (size_t i = 0; i < 3; i++) {
		check_str(d->sources[d->at], sources[i]);
		check_int(document_choose(d, i == 0 ? "A." : i == 1 ? "B?" : "C", NAN, &e), 0);
	}
	check_int(document_finish(d, &e), 0);
	check_file(out, "  A.  B?\t\nC\n");
	document_free(d);
}

/* ... unless the model learned from such lines, as werkbank translate does. */
TEST(document_keeps_lines_whole)
{
	struct document *d;

	write_document("  Dr. One.  Two?\t\n\nThree");
	d = document_open(in, out, NULL, NULL, "", &e);
	if (!check(d != NULL))
		return;
	check_int((int64_t)d->n, 3);
	check_str(d->sources[0], "  Dr. One.  Two? ");
	check_int(document_choose(d, "A. B?", NAN, &e), 0);
	check_int(document_choose(d, "C", NAN, &e), 0);
	check_int(document_finish(d, &e), 0);
	check_file(out, "A. B?\n\nC\n");
	document_free(d);
}

/* A killed program loses at most the line that it was writing. */
TEST(document_is_resumed)
{
	struct document *d;
	FILE *f;

	write_document("one\ntwo\nthree\n");
	d = document_open(in, out, NULL, "en", "", &e);
	if (!check(d != NULL))
		return;
	check_int(document_choose(d, "eins", NAN, &e), 0);
	document_free(d);
	f = fopen(part, "a");
	fputs("two\tzw", f);
	fclose(f);
	d = document_open(in, out, NULL, "en", "", &e);
	if (!check(d != NULL))
		return;
	check_int((int64_t)d->at, 1);
	check_str(d->chosen[0], "eins");
	check_int(document_choose(d, "zwei", NAN, &e), 0);
	check_int(document_choose(d, "drei", NAN, &e), 0);
	check_file(part, "one\teins\ntwo\tzwei\nthree\tdrei\n");
	document_free(d);
	/* all was chosen, but the program was killed before it wrote the file */
	d = document_open(in, out, NULL, "en", "", &e);
	if (check(d && document_is_complete(d)))
		check_int(document_finish(d, &e), 0);
	check_file(out, "eins\nzwei\ndrei\n");
	document_free(d);
}

TEST(document_refuses)
{
	struct document *d;
	static char text[8200];

	write_document("one\ntwo\n");
	check(!document_open("/no such file", out, NULL, "en", "", &e) && e.code == ERR_NOINPUT);
	check(!document_open(test_folder(), out, NULL, "en", "", &e));
	check(!document_open(in, in, NULL, "en", "", &e) && e.code == ERR_CANTCREAT);
	check(!document_open(in, "/no such folder/out", NULL, "en", "", &e));
	snprintf(text, sizeof(text), "one\teins\nzwo\tzwei\n");
	check_int(file_write_all(part, text, strlen(text), &e), 0);
	check(!document_open(in, out, NULL, "en", "", &e) && e.code == ERR_DATA);
	check(strstr(e.text, "line 2: it belongs to another text") != NULL);
	check_file(part, text); /* it is still there */
	unlink(part);
	/* the file appears while the document is open: nothing is lost */
	d = document_open(in, out, NULL, "en", "", &e);
	if (!check(d != NULL))
		return;
	check_int(document_choose(d, "eins", NAN, &e), 0);
	check_int(document_choose(d, "zwei", NAN, &e), 0);
	check_int(file_write_all(out, "x", 1, &e), 0);
	check_err(document_finish(d, &e), ERR_CANTCREAT);
	check_file(out, "x");
	check_file(part, "one\teins\ntwo\tzwei\n");
	document_free(d);
	unlink(out);
	write_document("");
	unlink(part);
	check(!document_open(in, out, NULL, "en", "", &e) && e.code == ERR_DATA);
}

/* The tag of a line belongs to each of its sentences. */
TEST(document_repeats_tags)
{
	static const char *const sources[] = { "<2de> One.", "<2de> Two.", "Three.", "Four.",
					       "<2d> Five." };
	static const char text[] = "<2de> One. Two.\nThree. Four.\n<2d> Five.\n";
	struct document *d;

	snprintf(in, sizeof(in), "%s/tagged", test_folder());
	snprintf(out, sizeof(out), "%s/tagged.out", test_folder());
	check_int(file_write_all(in, text, strlen(text), &e), 0);
	d = document_open(in, out, NULL, "en", "<2en> <2de>", &e);
	if (!check(d != NULL))
		return;
	check_int((int64_t)d->n, 5);
	for (size_t i = 0; i < d->n && i < 5; i++)
		check_str(d->sources[i], sources[i]);
	document_free(d);
}

/* A failure to write leaves the choice unmade, and the next one writes OUT.part anew. */
TEST(document_survives_a_failed_write)
{
	struct document *d;

	write_document("one\ntwo\n");
	d = document_open(in, out, NULL, "en", "", &e);
	if (!check(d != NULL))
		return;
	unlink(part);
	check_int(mkdir(part, 0700), 0);
	check(document_choose(d, "eins", NAN, &e) != 0);
	check_int((int64_t)d->n_chosen, 0);
	check(!d->chosen[0]);
	check_int(rmdir(part), 0);
	check_int(document_choose(d, "eins", NAN, &e), 0);
	check_int(document_choose(d, "zwei", NAN, &e), 0);
	check_file(part, "one\teins\ntwo\tzwei\n");
	document_free(d);
}
