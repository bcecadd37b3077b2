/* t_split.c - lines chosen from a text: held-out sets and a sample of general text */
#include "tests/test.h"

#include <stdlib.h>

#include "data/source/texts_split.h"
#include "share/base/mem.h"

/* Exactly `chosen` lines, one in each stretch; the two draws never choose the same line. */
TEST(split_chooses_one_line_a_stretch)
{
	static const int64_t cases[][2] = { { 1, 1 },	    { 10, 1 },	   { 11, 1 },
					    { 100, 10 },    { 101, 10 },   { 999, 97 },
					    { 1000, 1000 }, { 1000, 999 }, { 4000000000, 3 },
					    { 12345, 1000 } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const int64_t n = cases[i][0], wanted = cases[i][1];
		const struct line_choice first = { .is_part = true, .lines = n, .chosen = wanted };
		struct line_choice second = first;
		int64_t found = 0, other = 0, last = 0;

		second.draw = 1;
		if (n > 1000000) { /* only that the numbers fit */
			check(!line_choice_has(&first, 0) && !line_choice_has(&first, n + 1));
			continue;
		}
		for (int64_t line = 1; line <= n; line++) {
			const bool has = line_choice_has(&first, line);

			if (has && last)
				check(line - last < 2 * (n / wanted + 1));
			last = has ? line : last;
			found += has;
			other += line_choice_has(&second, line);
			if (n >= 2 * wanted)
				check(!has || !line_choice_has(&second, line));
		}
		check_int(found, wanted);
		check_int(other, wanted);
		check(!line_choice_has(&first, 0) && !line_choice_has(&first, n + 1));
	}
}

TEST(split_without_a_choice_has_all_lines)
{
	const struct line_choice all = { 0 }, none = { .is_part = true, .lines = 100 };

	check(line_choice_has(&all, 1) && line_choice_has(&all, 1000));
	check(!line_choice_has(&none, 1) && !line_choice_has(&none, 100));
}

/* Texts of several files: their parts add up, and a tenth is the most. */
TEST(split_shares_lines_among_files)
{
	static const int64_t lines[] = { 700, 300, 5000 };
	struct text_pair pairs[7] = { 0 };
	struct texts t = { .pairs = pairs, .n = 7, .n_train = 3 };
	struct conf c;
	struct err e = { 0 };

	if (!check_err(conf_init(&c, &e), 0))
		return;
	pairs[2].is_general = pairs[6].is_general = true;
	for (size_t i = 3; i < 7; i++)
		pairs[i].choice =
			(struct line_choice){ .is_part = true, .text = i == 6 ? 2 : (i - 3) % 2 };
	check(texts_need_counts(&t, &c));
	conf_set(&c, "hold_out", "1000", "test", &e);
	conf_set(&c, "general_share", "0.5", "test", &e);
	texts_choose_lines(&t, &c, lines);
	check(!pairs[0].choice.is_part && !pairs[1].choice.is_part);
	check_int(pairs[2].choice.chosen, 1000); /* as many as the others */
	check_int(pairs[3].choice.chosen + pairs[4].choice.chosen, 100);
	check_int(pairs[3].choice.chosen, 70);
	check_int(pairs[6].choice.chosen, 500);
	conf_set(&c, "hold_out", "50", "test", &e);
	conf_set(&c, "general_share", "0.9", "test", &e); /* more than there is */
	texts_choose_lines(&t, &c, lines);
	check_int(pairs[2].choice.chosen, 5000);
	check_int(pairs[3].choice.chosen + pairs[4].choice.chosen, 50);
	check_int(pairs[6].choice.chosen, 50);
	conf_free(&c);
}
