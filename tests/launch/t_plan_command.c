/* t_plan_command.c - "werkbank plan": its lists, the measurements of a run, text and JSON */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "share/format/json.h"
#include "tests/launch/launch_bench.h"
#include "tests/test.h"
#include "train/launch/plan/plan_grid.h"
#include "train/launch/plan/plan_run.h"

#define GIVEN "plan --parameters 25000000 --compute-s 0.9 -C %s "

/* The number of a member of row i of the last --json output; NAN: absent. */
static double row_number(const char *text, size_t i, const char *key)
{
	struct err e = { 0 };
	struct json *tree = json_parse(text, strlen(text), &e);
	double x = json_number(json_get(json_at(json_get(tree, "rows"), i), key), NAN);

	check(tree != NULL);
	json_free(tree);
	return x;
}

TEST(plan_command_given_numbers)
{
	const char *out;

	check_int(bench_command(&out,
				GIVEN "--link 100mbit,10gbit --hosts-count 1,2,8 --price 2 "
				      "--target-tokens 1000 --steps 3600",
				test_folder()),
		  0);
	bench_has(out, "numbers from the command line");
	bench_has(out, "100.0 MB of gradients");
	bench_has(out, "With 8 hosts on 100 Mbit/s");
	check_int(bench_command(&out,
				GIVEN "--json --link 100MB/s --hosts-count 1,2 "
				      "--no-overlap-reduce --target-tokens 1000",
				test_folder()),
		  0);
	check_near(row_number(out, 0, "step_s"), 0.9, 1e-3);
	check_near(row_number(out, 1, "step_s"), 1.966, 0.02);
	check_near(row_number(out, 1, "sent_bytes"), 100e6, 1);
	check_near(row_number(out, 1, "ranks"), 2, 0);
	/* no link at all: usual speeds are assumed */
	check_int(bench_command(&out, GIVEN "--hosts-count 1", test_folder()), 0);
	bench_has(out, "links assumed");
	bench_has(out, "The network does not slow down any of these setups.");
}

TEST(plan_command_vary)
{
	const char *out;

	check_int(bench_command(&out,
				GIVEN "--json --link 1gbit --hosts-count 4 --vary wire=fp32,bf16 "
				      "--vary micro_batches=4,8 --vary local-steps=1,4 "
				      "--vary overlap-reduce=yes,no --vary bucket-mb=4,25 "
				      "--vary shard-optimizer=no,yes",
				test_folder()),
		  0);
	check(isfinite(row_number(out, 63, "step_s")));
	check(isnan(row_number(out, 64, "step_s")));
	check(row_number(out, 0, "sent_bytes") > row_number(out, 32, "sent_bytes"));
}

TEST(plan_command_refuses)
{
	static const struct {
		const char *options, *words;
	} cases[] = {
		{ "--hosts-count 0", "\"0\" is not a number of hosts (1 to 1000000)" },
		{ "--hosts-count ,", "--hosts-count: give at least one number" },
		{ "--link ,", "--link: give at least one speed" },
		{ "--link fast", "--link: \"fast\" is not a network speed" },
		{ "--vary wire", "expected NAME=VALUE,VALUE, for example wire=fp32,bf16" },
		{ "--vary wier=fp32", "a plan cannot vary \"wier\"" },
		{ "--vary beam=4", "it varies wire, micro-batches, local-steps" },
		{ "--vary wire=", "--vary wire: give at least one value" },
		{ "--vary wire=fp16", "--vary: " },
	};
	const char *out;
	char many[1000] = "1";

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		check_int(bench_command(&out, GIVEN "%s", test_folder(), cases[i].options), 64);
		bench_has(out, cases[i].words);
	}
	check_int(bench_command(&out, "plan -C %s", test_folder()), 64);
	bench_has(out, "plan: give --run NAME of a trained run");
	for (int i = 0; i < 64; i++)
		strcat(many, ",2");
	check_int(bench_command(&out, GIVEN "--hosts-count %s", test_folder(), many), 64);
	bench_has(out, "at most 64 values of each option");
}

#define RECIPE                                                                                     \
	"[model]\nsize = tiny\n[train]\nmicro_batches = 3\nsteps = 1000\nbucket_mb = 1000\n"       \
	"overlap_reduce = no\n"
#define TRAIN(step)                                                                                \
	"{\"v\":1,\"kind\":\"train\",\"t\":1,\"step\":" #step ",\"step_s\":1.2,"                   \
	"\"compute_s\":0.8,\"exposed_s\":0.25,\"wait_s\":0,\"update_s\":0.1,\"input_s\":0.02,"     \
	"\"target_tps\":2500}\n"                                                                   \
	"{\"v\":1,\"kind\":\"rank\",\"t\":1,\"step\":" #step ",\"rank\":0,\"host\":\"h0\","        \
	"\"compute_s\":0.8}\n"                                                                     \
	"{\"v\":1,\"kind\":\"rank\",\"t\":1,\"step\":" #step ",\"rank\":1,\"host\":\"h1\","        \
	"\"compute_s\":0.4}\n"

static void make_run(const char *journal)
{
	bench_write("runs/two/recipe.ini", RECIPE);
	bench_write("runs/two/journal.jsonl", journal);
}

#define START_TWO                                                                                  \
	"{\"v\":1,\"kind\":\"start\",\"t\":1,\"step\":0,\"ranks\":2,\"parameters\":25000000,"      \
	"\"vocabulary\":100}\n"

TEST(plan_command_of_a_run)
{
	const char *out;

	make_run("{\"v\":1,\"kind\":\"start\",\"t\":1,\"step\":0,\"ranks\":1,\"parameters\":1}\n"
		 "{\"v\":1,\"kind\":\"train\",\"t\":1,\"step\":1,\"step_s\":77,\"compute_s\":70}"
		 "\n" START_TWO "{\"v\":1,\"kind\":\"train\",\"t\":1,\"step\":1,\"step_s\":9,"
		 "\"compute_s\":8}\n" TRAIN(2) TRAIN(3) TRAIN(4));
	check_int(bench_command(&out, "plan --json --run two --hosts-count 1,2,3 -C %s",
				test_folder()),
		  0);
	/* the run's own step, and the link that explains its waiting: 100 MB in 0.25 s */
	check_near(row_number(out, 1, "step_s"), 1.2, 1e-3);
	check_near(row_number(out, 1, "link_bytes_s"), 400e6, 10e6);
	check_near(row_number(out, 0, "step_s"), 3 * 0.41 + 0.13, 1e-3);
	bench_has(out, "\"link\":\"fitted\"");
	check_int(bench_command(&out, "plan --run two --hosts-count 2 -C %s", test_folder()), 0);
	bench_has(out, "run two: 2 ranks on 2 hosts, 1.2 s a step (median of 3 records)");
	bench_has(out, "links fitted to the run's waiting time");
	/* a measured link comes before a fitted one */
	bench_write("network.json", "{\"v\":1,\"t\":1,\"hosts\":[\"a\",\"b\"],"
				    "\"link_bytes_s\":200e6,\"latency_s\":1e-4,\"allreduce\":["
				    "{\"bytes\":1e6,\"seconds\":0.003},"
				    "{\"bytes\":1e8,\"seconds\":0.3}],\"beside\":[{\"wire\":"
				    "\"fp32\",\"bytes\":1e8,\"seconds\":0.4,\"lost_s\":0.1}]}");
	check_int(bench_command(&out, "plan --run two --hosts-count 2 -C %s", test_folder()), 0);
	bench_has(out, "links as measured by hosts bandwidth: 1.60 Gbit/s");
	check_int(bench_command(&out, "plan --json --run two --hosts-count 2 -C %s", test_folder()),
		  0);
	check_near(row_number(out, 0, "exposed_s"), 0.3, 0.01);
}

TEST(plan_command_of_an_unfit_run)
{
	struct conf c;
	struct plan_run r;
	struct err e = { 0 };

	check_int(conf_init(&c, &e), 0);
	check_err(plan_run_read(&r, test_folder(), "none", &c, &e), ERR_NOINPUT);
	bench_has(e.text, "has no run 'none'");
	make_run(START_TWO);
	check_err(plan_run_read(&r, test_folder(), "two", &c, &e), ERR_DATA);
	bench_has(e.text, "has no record of a step yet");
	make_run(START_TWO "{\"v\":1,\"kind\":\"train\",\"t\":1,\"step\":1,\"step_s\":9}\n");
	check_err(plan_run_read(&r, test_folder(), "two", &c, &e), ERR_DATA);
	bench_has(e.text, "lacks the compute time of its ranks");
	/* one rank never waits: all of its step is its own work; hosts come from "start" */
	make_run("{\"v\":1,\"kind\":\"start\",\"t\":1,\"step\":0,\"ranks\":1,\"hosts\":1,"
		 "\"parameters\":1000,\"vocabulary\":10}\n"
		 "{\"v\":1,\"kind\":\"train\",\"t\":1,\"step\":1,\"step_s\":6}\n");
	check_int(plan_run_read(&r, test_folder(), "two", &c, &e), 0);
	check_near(r.job.micro_s, 2, 1e-9);
	check_int(r.way.hosts, 1);
	check_int(r.records, 1);
	conf_free(&c);
}
