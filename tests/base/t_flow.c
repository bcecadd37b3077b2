/* t_flow.c - work spread over threads keeps its order, also when it fails */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "share/base/flow.h"
#include "share/base/util.h"
#include "tests/test.h"

struct item {
	int number, square, worker;
};

struct job {
	int n, made, taken;
	int fail_make, fail_work, fail_take; /* at this number; -1: never */
	bool in_order, are_workers_known;
	int threads;
};

static int make(void *context, void *slot, struct err *e)
{
	struct job *j = context;
	struct item *it = slot;

	if (j->made == j->fail_make)
		return err_set(e, ERR_DATA, "make %d", j->made);
	if (j->made == j->n)
		return 0;
	*it = (struct item){ .number = j->made++, .worker = -1 };
	return 1;
}

static int work(void *context, int worker, void *slot, struct err *e)
{
	const struct job *j = context;
	struct item *it = slot;

	if (it->number % 7 == 0)
		usleep(300); /* so that others overtake it */
	if (it->number == j->fail_work)
		return err_set(e, ERR_IO, "work %d", it->number);
	it->square = it->number * it->number;
	it->worker = worker;
	return 0;
}

static int take(void *context, void *slot, struct err *e)
{
	struct job *j = context;
	const struct item *it = slot;

	if (it->number == j->fail_take)
		return err_set(e, ERR_NOMEM, "take %d", it->number);
	j->in_order =
		j->in_order && it->number == j->taken && it->square == it->number * it->number;
	j->are_workers_known =
		j->are_workers_known && it->worker >= 0 && it->worker < MAX(j->threads, 1);
	j->taken++;
	return 0;
}

static int run(struct job *j, int slots, struct err *e)
{
	struct item ring[8] = { 0 };
	struct flow f = { make, work, take, j, ring, sizeof(ring[0]), slots, j->threads };

	j->in_order = j->are_workers_known = true;
	return flow_run(&f, e);
}

TEST(flow_keeps_order)
{
	struct err e = { 0 };

	for (int threads = 0; threads <= 5; threads++)
		for (int n = 0; n <= 200; n += 40) {
			struct job j = { .n = n,
					 .threads = threads,
					 .fail_make = -1,
					 .fail_work = -1,
					 .fail_take = -1 };

			check_int(run(&j, 1 + threads % 8, &e), 0);
			check_int(j.taken, n);
			check(j.in_order);
			check(j.are_workers_known);
		}
}

TEST(flow_reports_the_earliest_failure)
{
	static const struct {
		int make, work, take, code, taken;
		const char *text;
	} cases[] = {
		/* clang-format off */
		{ 30, -1, -1, ERR_DATA, 30, "make 30" },
		{ 0, -1, -1, ERR_DATA, 0, "make 0" },
		{ -1, 30, -1, ERR_IO, 30, "work 30" },
		{ -1, -1, 30, ERR_NOMEM, 30, "take 30" },
		{ 31, 30, -1, ERR_IO, 30, "work 30" },
		{ 31, 30, 29, ERR_NOMEM, 29, "take 29" },
		/* clang-format on */
	};

	for (int threads = 0; threads <= 4; threads += 2)
		for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
			struct err e = { 0 };
			struct job j = { .n = 60,
					 .threads = threads,
					 .fail_make = cases[i].make,
					 .fail_work = cases[i].work,
					 .fail_take = cases[i].take };

			check_int(run(&j, 6, &e), cases[i].code);
			check_str(e.text, cases[i].text);
			check_int(j.taken, cases[i].taken);
			check(j.in_order);
		}
}

TEST(flow_counts_processors)
{
	check_int(flow_threads(3), 3);
	check(flow_threads(0) >= 1);
}
