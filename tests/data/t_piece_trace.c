/* t_piece_trace.c - merges step by step, reading the ledger, the progress file. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "data/inspect/drop_ledger_read.h"
#include "data/source/progress.h"
#include "data/subword/bpe.h"
#include "data/subword/bpe_trace.h"
#include "share/base/file.h"
#include "share/format/json.h"

static const char *in_folder(const char *name)
{
	static char path[2][300];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", test_folder(), name);
	return path[turn];
}

/* "a b c</w>" of the trace as bpe_apply writes it: "a@@ b@@ c". */
static void as_pieces(const char *symbols, struct buf *out)
{
	for (const char *p = symbols; *p; p++) {
		if (!strncmp(p, "</w>", 4))
			p += 3;
		else if (*p == ' ')
			buf_add_str(out, "@@ ");
		else
			buf_add_char(out, *p);
	}
}

static const char codes_text[] =
	"#version: 0.2\na b\nab c\nb c\nc a</w>\nab ab\na a\nb b</w>\nabc abc\naa aa\nc c\n"
	"cc a</w>\n\xC3\xA4 b\n";

/* All words of up to six letters over an alphabet of three, and some others. */
TEST(bpe_trace_ends_where_bpe_apply_does)
{
	static const char *const more[] = { "\xC3\xA4\x62", "x", "abxab", "\xC3\xA4",
					    "aaaaaaaaaaaa" };
	struct bpe_codes codes = { 0 };
	struct bpe_trace t = { 0 };
	struct err e = { 0 };
	struct bpe *b;
	int different = 0, n = 0;

	check_int(file_write_all(in_folder("codes"), codes_text, sizeof(codes_text) - 1, &e), 0);
	b = bpe_open(in_folder("codes"), &e);
	check(b != NULL);
	check_int(bpe_codes_read(&codes, in_folder("codes"), &e), 0);
	for (int i = 3; b && i < 3 * 729 + 5; i++) {
		struct buf applied = { 0 }, traced = { 0 };
		char word[32] = "";
		size_t len = 0;

		if (i >= 3 * 729)
			len = (size_t)snprintf(word, sizeof(word), "%s", more[i - 3 * 729]);
		for (int k = i; i < 3 * 729 && k; k /= 3)
			word[len++] = (char)('a' + k % 3);
		check_int(bpe_apply_line(b, word, len, &applied, &e), 0);
		check_int(bpe_trace_word(&codes, BPE_TRACE_SUBWORD_NMT, word, len, &t, &e), 0);
		as_pieces(t.steps[t.n - 1].symbols, &traced);
		different += strcmp(buf_text(&applied), buf_text(&traced)) != 0;
		n++;
		buf_free(&applied);
		buf_free(&traced);
	}
	check_int(n, 2189);
	check_int(different, 0);
	bpe_trace_free(&t);
	bpe_codes_free(&codes);
	bpe_close(b);
}

TEST(bpe_trace_says_each_merge)
{
	struct bpe_codes codes = { 0 };
	struct bpe_trace t = { 0 };
	struct err e = { 0 };
	char longest[BPE_TRACE_MAX_BYTES + 1];

	check_int(file_write_all(in_folder("codes"), codes_text, sizeof(codes_text) - 1, &e), 0);
	check_int(bpe_codes_read(&codes, in_folder("codes"), &e), 0);
	check_int(bpe_trace_word(&codes, BPE_TRACE_SUBWORD_NMT, "abab", 4, &t, &e), 0);
	check_int(t.n, 2);
	check_str(t.steps[0].symbols, "a b a b</w>");
	check(t.steps[0].left == NULL);
	check_int(t.steps[0].rank, -1);
	check_int(t.steps[1].rank, 0);
	check_str(t.steps[1].left, "a");
	check_str(t.steps[1].right, "b");
	check_str(t.steps[1].symbols, "ab a b</w>");
	memset(longest, 'a', sizeof(longest));
	check_err(bpe_trace_word(&codes, BPE_TRACE_SUBWORD_NMT, longest, sizeof(longest), &t, &e),
		  ERR_DATA);
	bpe_trace_free(&t);
	bpe_codes_free(&codes);
}

static void same_field(struct drop_row_field f, const char *text)
{
	char got[200];

	snprintf(got, sizeof(got), "%.*s", (int)f.n, f.text);
	check_str(got, text);
}

/* The rows are equal for any size of the parts that are read. */
TEST(ledger_rows_are_found_by_rule_and_word)
{
	static const char text[] = "file\tline\trule\tsource\ttarget\n"
				   "a.en\t3\tlong\tone two\teins zwei\n"
				   "a.en\t5\tratio\tx\tEuropa und so weiter\n"
				   "b.en\t1\tlong\tEuropa\ty\n"
				   "b.en\t9\tunheard\t\t\n"
				   "b.en\t10";
	struct err e = { 0 };

	check_int(file_write_all(in_folder("ledger.tsv"), text, sizeof(text) - 1, &e), 0);
	for (size_t part = 1; part < 200; part += 7) {
		struct drop_rows *l = drop_rows_open(in_folder("ledger.tsv"), &e);
		struct text_filter filter = { 0 };
		struct drop_row row;

		if (!check(l != NULL))
			return;
		while (drop_rows_scan(l, part, &e) > 0)
			;
		check_int(drop_rows_n(l), 5);
		check_near(drop_rows_scanned(l), 1, 0);
		check_int(drop_rows_of_rule(l, CLEAN_LONG), 2);
		check_int(drop_rows_of_rule(l, CLEAN_KEEP), 5);
		drop_rows_get(l, 4, &row);
		same_field(row.line, "10");
		same_field(row.target, "");
		check_int(row.rule, CLEAN_KEEP);
		drop_rows_filter(l, CLEAN_LONG, NULL);
		while (drop_rows_scan(l, part, &e) > 0)
			;
		check_int(drop_rows_n(l), 2);
		drop_rows_get(l, 1, &row);
		same_field(row.file, "b.en");
		same_field(row.source, "Europa");
		check_int(text_filter_set(&filter, "~Euro[p]a", &e), 0);
		drop_rows_filter(l, CLEAN_KEEP, &filter);
		while (drop_rows_scan(l, part, &e) > 0)
			;
		check_int(drop_rows_n(l), 2);
		drop_rows_get(l, 0, &row);
		same_field(row.target, "Europa und so weiter");
		drop_rows_free(l);
		text_filter_clear(&filter);
	}
	check(drop_rows_open(in_folder("none"), &e) == NULL);
}

TEST(ledger_rows_of_an_empty_file)
{
	struct err e = { 0 };
	struct drop_rows *l;

	check_int(file_write_all(in_folder("empty.tsv"), "", 0, &e), 0);
	l = drop_rows_open(in_folder("empty.tsv"), &e);
	if (!check(l != NULL))
		return;
	check_int(drop_rows_scan(l, 100, &e), 0);
	check_int(drop_rows_n(l), 0);
	drop_rows_free(l);
}

/* The contents of the progress file, also without progress on the terminal. */
TEST(progress_is_kept_in_a_file)
{
	struct progress p;
	struct buf text = { 0 };
	struct err e = { 0 };
	struct json *root;
	char path[300];
	struct progress_archive archives[2] = { { "a.tgz", NULL, 10, 40, 5 },
						{ "b.tgz", "waiting", 0, -1, 0 } };

	snprintf(path, sizeof(path), "%s/progress.json", test_folder());
	progress_init(&p, true);
	p.path = path;
	progress_begin(&p, "judge", 200, "pairs");
	progress_write_file(&p, 50, true);
	check_int(file_read_all(path, 0, &text, &e), 0);
	root = json_parse(buf_text(&text), text.len, &e);
	check_str(json_text(json_get(root, "stage"), ""), "judge");
	check_int(json_integer(json_get(root, "done"), -1), 50);
	check_int(json_integer(json_get(root, "total"), -1), 200);
	check_int(json_integer(json_get(root, "pid"), -1), getpid());
	check(json_number(json_get(root, "rate"), -1) > 0);
	json_free(root);
	buf_clear(&text);
	p.written_s = 0;
	progress_write_archives(&p, archives, 2);
	check_int(file_read_all(path, 0, &text, &e), 0);
	root = json_parse(buf_text(&text), text.len, &e);
	check_str(json_text(json_get(root, "stage"), ""), "fetch");
	check_int(json_len(json_get(root, "archives")), 2);
	check_int(json_integer(json_get(root, "total"), -1), 0);
	check_str(json_text(json_get(json_at(json_get(root, "archives"), 1), "words"), ""),
		  "waiting");
	json_free(root);
	buf_free(&text);
}
