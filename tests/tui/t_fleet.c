/* t_fleet.c - hosts, GPUs and ranks of a journal; smoothing; numbers of JSON. */
#include "tests/test.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/util.h"
#include "share/format/json.h"
#include "tui/plot/series.h"
#include "tui/run/fleet.h"

static struct err e;

static struct json *parse(const char *text)
{
	struct json *r = json_parse(text, strlen(text), &e);

	check(r != NULL);
	return r;
}

static void take_host(struct fleet *f, const char *text, int64_t step)
{
	struct json *r = parse(text);

	check_int(fleet_add_host_record(f, r, 100, step, &e), 0);
	json_free(r);
}

static void take_rank(struct fleet *f, const char *text)
{
	struct json *r = parse(text);

	check_int(fleet_add_rank_record(f, r, 100, &e), 0);
	json_free(r);
}

/* A rank that works for share of its step of a second. */
static void put_rank(struct fleet *f, int rank, const char *host, double share)
{
	char text[300];

	snprintf(text, sizeof(text),
		 "{\"rank\":%d,\"host\":\"%s\",\"step_s\":1,\"input_s\":0,\"compute_s\":%.3f,"
		 "\"exposed_s\":%.3f,\"wait_s\":%.3f,\"update_s\":0.1}",
		 rank, host, share - 0.1, 1 - share, (1 - share) / 2);
	take_rank(f, text);
}

TEST(tui_fleet_sorts_hosts_as_people_count)
{
	static const char *const names[] = { "n10", "n2", "a", "n1", "n02", "n2b" },
				 *const want[] = { "a", "n1", "n2", "n2b", "n02", "n10" };
	struct fleet f;

	fleet_init(&f);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		put_rank(&f, (int)i, names[i], 0.5);
	check_int(f.n_hosts, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		check_str(f.hosts[i].name, want[i]);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		check_str(f.hosts[f.ranks[i].host].name, names[i]);
	put_rank(&f, 0, "n1", 0.5); /* the rank moved to another host */
	check_int(f.hosts[5].first_rank, -1);
	check_int(f.hosts[1].first_rank, 0);
	check_int(f.ranks[0].next, 3);
	/* f.order, the scratch space of medians, grows with the number of ranks. */
	for (int i = 6; i < 300; i += 7)
		put_rank(&f, i, "n1", 0.5);
	check(f.cap_order >= f.n_ranks);
	fleet_update_derived(&f);
	check_near(f.median_compute, 0.4, 1e-6);
	fleet_free(&f);
}

TEST(tui_fleet_waiting_is_not_work)
{
	struct fleet f;
	struct fleet_time_split s;
	double work[FLEET_GPUS];
	int64_t slowest;

	fleet_init(&f);
	put_rank(&f, 0, "h", 0.3);
	put_rank(&f, 1, "h", 0.9);
	put_rank(&f, 2, "i", 0.3);
	fleet_update_derived(&f);
	take_host(&f,
		  "{\"host\":\"h\",\"ranks\":2,\"rx_bytes_s\":5e8,\"tx_bytes_s\":1e9,"
		  "\"link_bytes_s\":1.25e9,\"gpus\":[{\"index\":0,\"util\":1,\"power_w\":200,"
		  "\"power_limit_w\":400},{\"index\":1,\"util\":1,\"power_w\":400,"
		  "\"power_limit_w\":400}]}",
		  7);
	fleet_gpu_work(&f, 0, work);
	check_near(work[0], 0.3, 1e-9);
	check_near(work[1], 0.9, 1e-9);
	check_int(f.hosts[0].gpus[0].working.share[0], 75); /* of 250 */
	check_int(f.hosts[0].gpus[1].power.share[0], 250);
	check_near(f.hosts[0].working.value, 0.6, 1e-9);
	check_near(fleet_host_util(&f.hosts[0]), 1, 1e-9);
	check_near(fleet_host_power(&f.hosts[0]), 600, 1e-9);
	check_near(fleet_link_share(&f.hosts[0]), 0.8, 1e-9);
	check_near(fleet_host_slowdown(&f, 0, &slowest), 4, 1e-9);
	check_int(slowest, 1);
	s = fleet_host_time_split(&f, 0);
	check_near(s.compute + s.update + s.late + s.transfer + s.input, 1, 1e-9);
	check_near(s.late, s.transfer, 1e-9);
	/* One rank, two GPUs: both get the mean of the host. */
	take_host(&f, "{\"host\":\"i\",\"gpus\":[{\"util\":1},{\"util\":0.5}]}", 7);
	check_int(f.hosts[1].gpus[1].working.share[0], 38);
	fleet_begin_attempt(&f, 200);
	check(!f.hosts[0].present && f.hosts[0].first_rank == -1 && !f.n_ranks);
	fleet_free(&f);
}

TEST(tui_fleet_trails_are_compressed)
{
	struct fleet f;
	const struct fleet_gpu *g;

	fleet_init(&f);
	for (int i = 0; i < 10 * FLEET_TRAIL; i++)
		take_host(&f,
			  i < 5 * FLEET_TRAIL ? "{\"host\":\"h\",\"gpus\":[{\"util\":0.2}]}"
					      : "{\"host\":\"h\",\"gpus\":[{\"util\":0.8}]}",
			  i);
	g = &f.hosts[0].gpus[0];
	check_int(f.hosts[0].rounds_a_column, 16);
	check_int(f.hosts[0].columns, 10 * FLEET_TRAIL / 16);
	check_int(g->working.share[0], 50);
	check_int(g->working.share[39], 50);
	check_int(g->working.share[40], 200);
	check_int(g->working.share[f.hosts[0].columns - 1], 200);
	check_int(g->working.share[f.hosts[0].columns], FLEET_UNKNOWN);
	check_int(g->power.share[0], FLEET_UNKNOWN);
	fleet_truncate(&f, 3);
	check(f.hosts[0].working.points[f.hosts[0].working.n - 1].last < 3);
	fleet_free(&f);
}

TEST(tui_fleet_hostile)
{
	static const char *const records[] = {
		"{}",
		"[]",
		"{\"host\":7,\"rank\":\"x\",\"gpus\":{}}",
		"{\"host\":\"\",\"rank\":0,\"gpus\":[1,[],{},null]}",
		"{\"host\":\"h\",\"rank\":1e300,\"gpus\":[{\"index\":-1e300,\"util\":-5,"
		"\"power_w\":1e300,\"power_limit_w\":0}],\"rx_bytes_s\":-1e300}",
		"{\"host\":\"h\",\"rank\":-1,\"step_s\":0,\"compute_s\":-3,\"wait_s\":9e99}",
		"{\"host\":\"h\",\"rank\":131071,\"step_s\":1e-300,\"compute_s\":1e300}",
		"{\"host\":\"a name so long that it does not fit into its sixty-four bytes, by "
		"far: \\u00fc\\u00fc\\u00fc\",\"rank\":3,\"late_rank\":1e99}",
	};
	struct fleet f;
	char text[100];

	fleet_init(&f);
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < ARRAY_LEN(records); i++) {
			struct json *r = parse(records[i]);

			check_int(fleet_add_rank_record(&f, r, NAN, &e), 0);
			check_int(fleet_add_host_record(&f, r, NAN, round ? (int)i : -1, &e), 0);
			fleet_set_verdict(&f, r, NAN, -1);
			json_free(r);
			fleet_update_derived(&f);
			for (size_t k = 0; k < f.n_hosts; k++) {
				double work[FLEET_GPUS];
				int64_t who;

				fleet_gpu_work(&f, (int)k, work);
				check(!(fleet_host_slowdown(&f, (int)k, &who) < 0));
				check(!(fleet_link_share(&f.hosts[k]) > 1));
			}
		}
	check_int(f.n_ranks, FLEET_RANKS);
	check(f.left_out > 0);
	for (int i = 0; i < FLEET_HOSTS + 10; i++) {
		snprintf(text, sizeof(text), "{\"host\":\"x%d\",\"rank\":%d}", i, i);
		take_host(&f, text, i);
		take_rank(&f, text);
	}
	check_int(f.n_hosts, FLEET_HOSTS);
	fleet_free(&f);
	check_int(f.n_hosts, 0);
	fleet_free(&f);
}

/* ---- series ---- */

TEST(tui_smoothing_is_without_bias)
{
	struct smoother f = { .weight = 0.6 }, g = { .weight = 0.6 }, none = { .weight = 0 };
	double last = 0;
	int n = 0;

	for (int i = 0; i < 50; i++) {
		double y = i == 7 ? NAN : sin(i);
		struct series_point p = { i, i, isnan(y) ? 0 : y, 0, 0, isnan(y) ? 0 : 1, 1 },
				    constant = { i, i, 8, 0, 0, 2, 2 };
		double shown = series_smooth(&f, &p);

		if (!isnan(y))
			last = last * 0.6 + 0.4 * y;
		check(isnan(y) ? isnan(shown) : fabs(shown - last / (1 - pow(0.6, ++n))) < 1e-12);
		check_near(series_smooth(&g, &constant), 4, 1e-12);
		check(isnan(y) || series_smooth(&none, &p) == y);
	}
}

TEST(tui_series_nearest)
{
	struct series s;

	series_init_small(&s, 4);
	check(!series_nearest(&s, 3));
	for (int i = 0; i < 4; i++)
		series_add(&s, i * 10, i, &e);
	check_near(series_nearest(&s, -5)->first, 0, 0);
	check_near(series_nearest(&s, 14)->first, 10, 0);
	check_near(series_nearest(&s, 16)->first, 20, 0);
	check_near(series_nearest(&s, 1e9)->first, 30, 0);
	series_add(&s, 40, 4, &e);
	check_int(s.n, 3); /* merged pairwise, plus a new point */
	check_int(s.samples_a_point, 2);
	series_free(&s);
	check_int(s.cap, 4);
}

/* ---- numbers of JSON: quick, and exactly what strtod() says ---- */

static void same_as_strtod(const char *text)
{
	struct json *r = json_parse(text, strlen(text), &e);
	double got = json_number(r, NAN), want = strtod(text, NULL);

	if (!r || memcmp(&got, &want, sizeof(got)))
		test_fail(__FILE__, __LINE__, "%s was read as %.17g instead of %.17g", text, got,
			  want);
	json_free(r);
}

TEST(json_numbers_are_exact)
{
	static const char *const texts[] = {
		"0.1",
		"-0.0",
		"1.5",
		"9007199254740993.0",
		"9007199254740992.5",
		"0.3e1",
		"123456789012345678",
		"1234567890123456789",
		"12345678901234567890",
		"0.000000000000000001",
		"0.1234567890123456789",
		"179769313486231570000.5",
		"4.35",
		"1e22",
		"1e23",
		"123456.789012",
		"0.30000000000000004",
		"1750000000.1234567",
		"99999999999999.9999",
	};
	uint64_t seed = 9;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		same_as_strtod(texts[i]);
	for (int i = 0; i < 20000; i++) {
		char text[60];
		uint64_t a, b;

		a = (seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u) >> 11;
		b = (seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u) >> 11;
		snprintf(text, sizeof(text), "%s%" PRIu64 ".%0*" PRIu64, i % 3 ? "" : "-",
			 a >> (i * 7 % 53), i % 11 + 1, (b >> 20) % 1000000000);
		same_as_strtod(text);
	}
}

TEST(json_numbers_by_name)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	struct json *r = parse("{\"c\":3,\"x\":9,\"a\":1.5,\"d\":\"4\",\"a\":7,\"cc\":1}");
	const struct json *c = json_first(r);
	double v[4];
	int n = 0;

	json_numbers(r, names, 4, v);
	check(v[0] == 1.5 && isnan(v[1]) && v[2] == 3 && isnan(v[3]));
	check_str(json_child_key(c), "c");
	for (; c; c = json_next(r, c))
		n++;
	check_int(n, 6);
	r = json_parse_reusing(r, "[1,[2,3],{}]", 12, &e);
	check(r && !json_first(json_at(r, 2)) && !json_next(r, json_at(r, 2)));
	json_numbers(r, names, 4, v);
	check(isnan(v[0]));
	check(!json_parse_reusing(r, "[1,", 3, &e) && e.code == ERR_DATA);
	r = json_parse_reusing(NULL, "{}", 2, &e);
	check(r && !json_first(r));
	json_free(r);
}
