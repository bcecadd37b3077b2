/* t_origin.c - tests of origin.h: position in the shard to line of a text, and back */
#include <stdio.h>
#include <stdlib.h>

#include "data/inspect/origin.h"
#include "data/shard/shuffle.h"
#include "data/text/clean.h"
#include "share/base/file.h"
#include "tests/test.h"

#define LINES 97 /* of each text */
#define TEXTS 3

static const char *const names[TEXTS] = { "a/one.en", "a/one.en", "b\tc/two.en" };

/* Three texts, two of the same name. Drops about every third line; of the second, all but one. */
static bool is_dropped(int text, int line)
{
	return text == 1 ? line != 50 : (line * 7 + text) % 3 == 0;
}

static void write_file(const char *name, const char *text)
{
	struct err e = { 0 };
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", test_folder(), name);
	check_int(file_write_all(path, text, strlen(text), &e), 0);
}

/* Returns the number of kept pairs. */
static int write_corpus(void)
{
	struct err e = { 0 };
	struct buf stats = { 0 };
	struct dropped_pair row = { .source = "s", .n_source = 1, .target = "t", .n_target = 1 };
	struct drop_ledger *ledger;
	char path[300];
	int kept = 0, text, line, here;

	snprintf(path, sizeof(path), "%s/ledger.tsv", test_folder());
	ledger = drop_ledger_create(path, &e);
	buf_add_str(&stats, "{\"texts\":[");
	for (text = 0; text < TEXTS; text++) {
		here = 0;
		for (line = 1; line <= LINES; line++) {
			row.file = names[text];
			row.line = line;
			row.rule = line % 2 ? CLEAN_LONG : CLEAN_RATIO;
			if (is_dropped(text, line))
				check_int(drop_ledger_add(ledger, &row, &e), 0);
			else
				here++;
		}
		buf_printf(&stats, "%s{\"name\":\"%s\",\"pairs\":%d,\"kept\":%d}", text ? "," : "",
			   text < 2 ? names[text] : "b\\tc/two.en", LINES, here);
		kept += here;
	}
	check_int(drop_ledger_finish(ledger, &e), 0);
	write_file("manifest.json", "{\"seed\":5}");
	buf_add_str(&stats, "]}");
	write_file("stats.json", buf_text(&stats));
	buf_free(&stats);
	return kept;
}

TEST(origin_there_and_back)
{
	struct origins o;
	struct err e = { 0 };
	struct origin from, *list;
	struct shuffle order;
	int kept = write_corpus(), text, line, i = 0;

	if (!check_int(origins_load(&o, test_folder(), &e), 0)) {
		fprintf(stderr, "%s\n", e.text);
		return;
	}
	check_int(o.kept, kept);
	/* the definition: all kept pairs in order, then shuffled */
	list = calloc((size_t)kept, sizeof(*list));
	for (text = 0; text < TEXTS; text++)
		for (line = 1; line <= LINES; line++)
			if (!is_dropped(text, line))
				list[i++] = (struct origin){ (size_t)text, line };
	order = shuffle_make(kept, rng_key_make(5, RNG_SHUFFLE, UINT32_MAX, 0));
	for (i = 0; i < kept; i++) {
		from = origin_at_position(&o, i);
		check_int(from.text, list[shuffle_at(&order, i)].text);
		check_int(from.line, list[shuffle_at(&order, i)].line);
		check_int(origin_find_position(&o, from), i);
	}
	for (line = 1; line <= LINES; line++)
		if (is_dropped(1, line))
			check_int(origin_find_position(&o, (struct origin){ 1, line }), -1);
	free(list);
	origins_free(&o);
}

TEST(origin_by_name)
{
	struct origins o;
	struct err e = { 0 };
	struct origin from;
	struct origin_row row;

	write_corpus();
	if (!check_int(origins_load(&o, test_folder(), &e), 0))
		return;
	check_int(origin_parse(&o, "two.en:96", &from, &e), 0);
	check_int(from.text, 2);
	check_int(from.line, 96);
	check_int(origin_read_row(&o, test_folder(), (struct origin){ 2, 97 }, &row, &e),
		  is_dropped(2, 97) ? 0 : ERR_DATA);
	origin_row_free(&row);
	check_int(origin_read_row(&o, test_folder(), (struct origin){ 1, 3 }, &row, &e), 0);
	check_str(buf_text(&row.rule), "long");
	check_str(buf_text(&row.source), "s");
	check_str(buf_text(&row.target), "t");
	origin_row_free(&row);
	check_err(origin_parse(&o, "two.en:98", &from, &e), ERR_USAGE);
	check_err(origin_parse(&o, "two.en:0", &from, &e), ERR_USAGE);
	check_err(origin_parse(&o, "two.en:1x", &from, &e), ERR_USAGE);
	check_err(origin_parse(&o, "7", &from, &e), ERR_USAGE);
	check(strstr(e.text, "the corpus has 3 texts") != NULL);
	check_err(origin_parse(&o, "three.en:7", &from, &e), ERR_USAGE);
	check_err(origin_parse(&o, ".en:7", &from, &e), ERR_USAGE);
	check(strstr(e.text, "is the end of 3 names") != NULL);
	origins_free(&o);
}

TEST(origin_refuses_what_does_not_fit)
{
	static const char *const ledgers[] = {
		"file\tline\trule\tsource\ttarget\n",			/* rows missing */
		"file\tline\trule\nf\t2\tlong\ns\tx\nf\t4\tlong\t\t\n", /* no number */
		"file\tline\trule\nf\t4\tlong\t\t\nf\t2\tlong\t\t\n",	/* not rising */
		"file\tline\trule\nf\t2\tlong\t\t\nf\t6\tlong\t\t\n",	/* beyond the end */
		"file\tline\trule\nf\t2\tlong\t\t\ng\t4\tlong\t\t\n",	/* another text */
		"file\tline\trule\nf\t1\tlong\t\t\nf\t2\tlong\t\t\nf\t3\tlong\t\t\n",
	};
	struct origins o;
	struct err e = { 0 };
	size_t i;

	write_file("manifest.json", "{\"seed\":5}");
	write_file("stats.json", "{\"texts\":[{\"name\":\"f\",\"pairs\":5,\"kept\":3}]}");
	write_file("ledger.tsv", "file\tline\trule\nf\t2\tlong\t\t\nf\t4\tlong\t\t\n");
	check_int(origins_load(&o, test_folder(), &e), 0);
	check_int(origin_at_position(&o, 0).text, 0);
	origins_free(&o);
	for (i = 0; i < sizeof(ledgers) / sizeof(ledgers[0]); i++) {
		write_file("ledger.tsv", ledgers[i]);
		check_err(origins_load(&o, test_folder(), &e), ERR_DATA);
	}
	write_file("stats.json", "{\"texts\":[{\"name\":\"f\",\"pairs\":2,\"kept\":3}]}");
	check_err(origins_load(&o, test_folder(), &e), ERR_DATA);
	write_file("stats.json", "{}");
	check_err(origins_load(&o, test_folder(), &e), ERR_DATA);
}
