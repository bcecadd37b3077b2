/* t_side_likeness.c - swapped source and target of a held-out set */
#include "tests/test.h"

#include "data/prep/side_likeness.h"
#include "share/base/util.h"

static struct err e;

/* n pairs whose source has the ids 0 to 9 and whose target 5 to 14; swapped: the other way round. */
static void add_pairs(struct side_likeness *l, bool is_training, bool is_swapped, int n)
{
	int32_t low[10], high[10];

	for (int i = 0; i < 10; i++) {
		low[i] = i;
		high[i] = i + 5;
	}
	for (int k = 0; k < n; k++)
		side_likeness_add(l, is_training, is_swapped ? high : low, 10,
				  is_swapped ? low : high, 10);
}

static bool is_swapped_set(struct side_likeness *l, bool is_swapped, int n, double likeness[2][2])
{
	side_likeness_begin_set(l);
	add_pairs(l, false, is_swapped, n);
	return side_likeness_is_swapped(l, likeness);
}

TEST(side_likeness_of_swapped_files)
{
	struct side_likeness l;
	double likeness[2][2];

	if (!check_int(side_likeness_open(&l, 16, &e), 0))
		return;
	check(!is_swapped_set(&l, true, 30, likeness)); /* no training text yet: not enough data */
	add_pairs(&l, true, false, 30);
	check(is_swapped_set(&l, true, 30, likeness));
	check_near(likeness[0][1], 1, 1e-12);
	check_near(likeness[0][0], 0.5, 1e-12); /* five of ten tokens are common to both */
	check_near(likeness[1][0], 1, 1e-12);
	check(!is_swapped_set(&l, false, 30, likeness));
	check_near(likeness[0][0], 1, 1e-12);
	check(!is_swapped_set(&l, true, 19, likeness)); /* 190 tokens are not enough */
	check(!is_swapped_set(&l, true, 0, likeness));
	check_near(likeness[1][0], 0, 0);
	side_likeness_free(&l);
}

/* A corpus from a language into itself has no sides to swap, and one wrong side proves nothing. */
TEST(side_likeness_of_equal_sides)
{
	static const int32_t ids[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, other[10] = { 15 };
	struct side_likeness l;
	double likeness[2][2];

	if (!check_int(side_likeness_open(&l, 16, &e), 0))
		return;
	for (int k = 0; k < 30; k++) {
		side_likeness_add(&l, true, ids, 10, ids, 10);
		side_likeness_add(&l, false, ids, 10, ids, 10);
	}
	check(!side_likeness_is_swapped(&l, likeness));
	side_likeness_begin_set(&l);
	for (int k = 0; k < 60; k++) {
		side_likeness_add(&l, true, ids, 10, other, 10);
		side_likeness_add(&l, false, other, 10, other, 10);
	}
	check(!side_likeness_is_swapped(&l, likeness));
	side_likeness_free(&l);
}
