/* t_home.c - the table of runs: what its columns mean, its order, many runs; sparklines. */
#include "tests/test.h"

#include <arpa/inet.h>
#include <locale.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "tests/tui/played_workbench.h"
#include "tui/plot/sparkline.h"
#include "tui/run/service_metrics.h"
#include "tui/run/workspace_index.h"
#include "tui/views/home_runs.h"

static struct err e;

static void add(struct run_status *s, const char *record)
{
	struct json *r = json_parse(record, strlen(record), &e);

	if (check(r != NULL))
		status_add_record(s, r);
	json_free(r);
}

/* The speed of a run that trains is whole in 120 columns. */
TEST(home_speed_is_whole)
{
	struct list_row row;
	struct indexed_run run = { 0 };
	struct grid g = { .charset = GRID_ASCII };

	status_init(&run.status, "a");
	run.status.alive = true;
	run.status.target_tps = 4941.7;
	check_int(grid_resize(&g, 1, 118, &e), 0);
	row = list_row_at(&g, (struct rect){ 0, 0, 1, 118 }, 0);
	home_draw_run(&row, &run, 0);
	check(grid_shows(&g, " 4941.7 tok/s"));
	grid_free(&g);
}

TEST(home_time_left_and_change)
{
	struct run_status s;

	status_init(&s, "a");
	check(isnan(status_progress(&s, 0)) && isnan(status_elapsed(&s, 0)));
	check(isnan(status_remaining(&s, 0)) && isnan(s.gpu_util) && isnan(s.bleu_change));
	s.alive = true;
	s.plan.steps = 1000;
	add(&s, "{\"kind\":\"start\",\"t\":100}");
	add(&s, "{\"kind\":\"train\",\"t\":110,\"step\":100,\"loss\":5}");
	check(isnan(status_remaining(&s, 120))); /* no speed after one record */
	add(&s, "{\"kind\":\"train\",\"t\":130,\"step\":200,\"loss\":4}");
	check_near(status_remaining(&s, 130), 160, 1e-9); /* 800 steps, 0.2 s each */
	check_near(status_elapsed(&s, 131), 31, 1e-9);
	check_near(status_progress(&s, 131), 0.2, 1e-9);
	s.plan.minutes = 1; /* the time limit comes first */
	check_near(status_remaining(&s, 130), 30, 1e-9);
	check_near(status_progress(&s, 130), 0.5, 1e-9);
	add(&s, "{\"kind\":\"eval\",\"t\":131,\"step\":200,\"bleu\":10}");
	check(isnan(s.bleu_change));
	add(&s, "{\"kind\":\"eval\",\"t\":132,\"step\":300,\"bleu\":9.5}");
	check_near(s.bleu_change, -0.5, 1e-9);
	check_near(s.best_bleu, 10, 0);
	/* a pause between attempts is no training, and the speed is measured anew */
	add(&s, "{\"kind\":\"start\",\"t\":1000}");
	check_near(status_elapsed(&s, 1010), 42, 1e-9);
	/* after a kill, steps since the checkpoint are repeated: max_minutes does not count them */
	add(&s, "{\"kind\":\"start\",\"t\":2000,\"trained_s\":20}");
	check_near(status_elapsed(&s, 2010), 30, 1e-9);
	check_near(status_remaining(&s, 2010), 30, 1e-9);
	s.plan.minutes = 0;
	check(isnan(status_remaining(&s, 1010)));
	s.alive = false;
	check(isnan(status_remaining(&s, 1010)));
}

/* A run that became four times faster ends earlier than its mean speed says. */
TEST(home_time_left_follows_the_recent_pace)
{
	struct run_status s;
	char record[100];

	status_init(&s, "a");
	s.alive = true;
	s.plan.steps = 20000;
	add(&s, "{\"kind\":\"start\",\"t\":0}");
	for (int i = 0; i <= 120; i++) { /* an hour with 0.4 s a step, half an hour with 0.1 s */
		int step = i < 60 ? i * 150 : 9000 + (i - 60) * 150;

		snprintf(record, sizeof(record),
			 "{\"kind\":\"train\",\"t\":%d,\"step\":%d,\"loss\":5}",
			 i < 60 ? i * 60 : 3600 + (i - 60) * 15, step);
		add(&s, record);
	}
	check_int(s.step, 18000);
	/* exp(-900 / 600) of the weight lies in the first hour: 0.22 of the seconds */
	check(status_remaining(&s, 4500) > 2000 * 0.1);
	check(status_remaining(&s, 4500) < 2000 * 0.13);
	/* a damaged journal overflows nothing */
	add(&s, "{\"kind\":\"train\",\"t\":4501,\"step\":-9223372036854775808}");
	add(&s, "{\"kind\":\"train\",\"t\":4502,\"step\":-9000000000000000000}");
	check(status_remaining(&s, 4502) > 0);
}

TEST(home_gpu_share_of_all_hosts)
{
	struct run_status s;

	status_init(&s, "a");
	s.n_hosts = 2;
	add(&s, "{\"kind\":\"host\",\"t\":1,\"gpus\":[{\"util\":0.8},{\"util\":0.6}]}");
	check_near(s.gpu_util, 0.7, 1e-9);
	add(&s, "{\"kind\":\"host\",\"t\":1,\"gpus\":[{\"util\":0.1},{\"lost\":true}]}");
	check_near(s.gpu_util, 0.4, 1e-9);
	add(&s, "{\"kind\":\"host\",\"t\":2}"); /* a host without GPUs */
	check_near(s.gpu_util, 0.4, 1e-9);
	add(&s, "{\"kind\":\"start\",\"t\":3}");
	check(isnan(s.gpu_util));
}

TEST(home_order_of_runs)
{
	static const struct {
		enum home_order order;
		const char *expected;
	} cases[] = {
		{ ORDER_ACTIVITY, "cab" }, { ORDER_NAME, "abc" },     { ORDER_BLEU, "bca" },
		{ ORDER_LOSS, "abc" },	   { ORDER_PROGRESS, "bac" }, { ORDER_CHANGE, "cab" },
	};
	struct indexed_run runs[3] = { 0 };
	struct workspace_index p = { .runs = runs, .n_runs = 3 };

	status_init(&runs[0].status, "c");
	status_init(&runs[1].status, "a");
	status_init(&runs[2].status, "b");
	runs[0].status.best_bleu = 5;
	runs[2].status.best_bleu = 7; /* a: unknown, so last */
	runs[1].status.nll = 1;
	runs[2].status.loss = 2; /* a record of an older version */
	runs[1].status.step = 10;
	runs[1].status.plan.steps = 100;
	runs[2].status.step = 90;
	runs[2].status.plan.steps = 100;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t rows[3] = { 0, 1, 2 };
		char names[4] = "";

		home_sort_runs(&p, rows, 3, cases[i].order, 0);
		for (int k = 0; k < 3; k++)
			names[k] = *runs[rows[k]].status.name;
		check_str(names, cases[i].expected);
	}
}

/* More runs than files that may be open, in short updates; nothing is lost. */
TEST(home_many_runs_with_few_files)
{
	struct rlimit old, few;
	struct workspace_index p = { 0 };
	char path[400], text[200];
	int n, calls = 0;

	for (int i = 0; i < 60; i++) {
		snprintf(path, sizeof(path), "%s/runs/r%02d", test_folder(), i);
		file_make_folders(path, &e);
		snprintf(path, sizeof(path), "%s/runs/r%02d/journal.jsonl", test_folder(), i);
		n = snprintf(text, sizeof(text),
			     "{\"v\":1,\"kind\":\"train\",\"t\":1,\"step\":1,\"nll\":9}\n"
			     "{\"v\":1,\"kind\":\"train\",\"t\":2,\"step\":%d,\"nll\":8}\n",
			     i + 2);
		check_int(file_write_all(path, text, (size_t)n, &e), 0);
	}
	getrlimit(RLIMIT_NOFILE, &old);
	few = old;
	few.rlim_cur = 40;
	setrlimit(RLIMIT_NOFILE, &few);
	while (workspace_index_update(&p, test_folder(), 1000, 0, &e) == INDEX_MORE)
		calls++;
	check(calls >= 30); /* without time, each call reads little */
	check_int((int64_t)p.n_runs, 60);
	for (size_t i = 0; i < p.n_runs; i++) {
		check_int(p.runs[i].status.step, atoi(p.runs[i].status.name + 1) + 2);
		check_int((int64_t)p.runs[i].loss.n, 2);
	}
	/* a run that is at rest is followed when it goes on, with the steps that it repeats */
	snprintf(path, sizeof(path), "%s/runs/r07/journal.jsonl", test_folder());
	n = snprintf(text, sizeof(text),
		     "{\"v\":1,\"kind\":\"train\",\"t\":1,\"step\":1,\"nll\":9}\n"
		     "{\"v\":1,\"kind\":\"train\",\"t\":2,\"step\":9,\"nll\":8}\n"
		     "{\"v\":1,\"kind\":\"train\",\"t\":3,\"step\":5,\"nll\":7}\n");
	check_int(file_write_all(path, text, (size_t)n, &e), 0);
	while (workspace_index_update(&p, test_folder(), 1100, 0, &e) == INDEX_MORE)
		;
	setrlimit(RLIMIT_NOFILE, &old);
	for (size_t i = 0; i < p.n_runs; i++)
		if (!strcmp(p.runs[i].status.name, "r07")) {
			check_int(p.runs[i].status.step, 5);
			check_int((int64_t)p.runs[i].loss.n, 2);
			check_near(p.runs[i].loss.value, 7, 0);
		}
	workspace_index_free(&p);
}

static const char *spark(enum grid_charset charset, const double *values, size_t n, char out[200])
{
	struct grid g = { .charset = charset };
	struct buf text = { 0 };
	struct series s;

	series_init_small(&s, 64);
	for (size_t i = 0; i < n; i++)
		series_add(&s, (double)i, values[i], &e);
	grid_resize(&g, 1, 8, &e);
	sparkline_draw(&g, (struct span){ 0, 0, 8, STYLE_FIRST }, &s);
	grid_dump(&g, &text);
	snprintf(out, 200, "%s", buf_text(&text));
	buf_free(&text);
	grid_free(&g);
	series_free(&s);
	return out;
}

TEST(home_sparklines)
{
	const double falls[] = { 8, 7, 6, 5, 4, 3, 2, 1 },
		     gap[] = { 1, 2, NAN, NAN, NAN, NAN, 7, 8 };
	const double same[] = { 3, 3, 3, 3, 3, 3, 3, 3 }, two[] = { 1, 2 };
	char out[200];

	setlocale(LC_CTYPE, "C.UTF-8");
	check_str(spark(GRID_FULL, falls, 8, out), "▇▆▅▄▃▂▁▁\n");
	check_str(spark(GRID_ASCII, falls, 8, out), "^--..___\n");
	check_str(spark(GRID_FULL, gap, 8, out), "▁▁    ▆▇\n");
	check_str(spark(GRID_FULL, same, 8, out), "▁▁▁▁▁▁▁▁\n");
	check_str(spark(GRID_FULL, two, 2, out), "▁▁▁▁▁▁▁▇\n");
	check_str(spark(GRID_FULL, two, 1, out), "\n");
}

/* While a run evaluates, it says so, and for how long, instead of a time left that does not fall. */
TEST(home_says_that_a_run_evaluates)
{
	struct run_status s;
	char text[80];

	status_init(&s, "a");
	s.alive = true;
	s.plan.steps = 1000;
	add(&s, "{\"kind\":\"train\",\"t\":110,\"step\":100,\"loss\":5}");
	check(!status_is_evaluating(&s, 120));
	add(&s, "{\"kind\":\"evaluating\",\"t\":130,\"step\":200}");
	add(&s, "{\"kind\":\"host\",\"t\":150,\"step\":200}");
	check(status_is_evaluating(&s, 170));
	check_str(eval_progress_text(&s.evaluation, 170, text, sizeof(text)), "0:40");
	add(&s, "{\"kind\":\"eval\",\"t\":190,\"step\":200,\"bleu\":30}");
	check(!status_is_evaluating(&s, 191));
	add(&s, "{\"kind\":\"evaluating\",\"t\":230,\"step\":300,\"expected_s\":60}");
	check_str(eval_progress_text(&s.evaluation, 245, text, sizeof(text)), "0:15 of about 1:00");
	s.alive = false;
	check(!status_is_evaluating(&s, 245));
}

/* ---- a server as a job ---- */

/* Answer the question that m sends to a listener, and let m read it. */
static bool answer_metrics(struct service_metrics *m, int listener, const char *address, double now,
			   const char *answer)
{
	char question[400] = "";
	int fd;

	check(!service_metrics_update(m, address, now));
	fd = accept(listener, NULL, NULL);
	check(!service_metrics_update(m, address, now)); /* nothing has come yet */
	check(fd >= 0 && recv(fd, question, sizeof(question) - 1, 0) > 0);
	check(!strncmp(question, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n", 40));
	check(send(fd, answer, strlen(answer), 0) > 0);
	close(fd);
	for (int i = 0; i < 1000 && m->is_asking; i++) {
		if (service_metrics_update(m, address, now))
			return true;
		usleep(1000);
	}
	return false;
}

TEST(home_reads_what_a_server_does)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	struct service_metrics m = { 0 };
	struct buf text = { 0 };
	char address[60];
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	check(!bind(listener, (const struct sockaddr *)&a, n) && !listen(listener, 1) &&
	      !getsockname(listener, (struct sockaddr *)&a, &n));
	snprintf(address, sizeof(address), "werkbank serve: ready on http://127.0.0.1:%d",
		 ntohs(a.sin_port));
	check(answer_metrics(&m, listener, address, 100,
			     "HTTP/1.1 200 OK\r\n\r\nwerkbank_connections 3\n"
			     "werkbank_requests_in_flight 1\nwerkbank_queue_characters 120\n"
			     "werkbank_refused_total{reason=\"form\"} 2\n"
			     "werkbank_refused_total{reason=\"slow\"} 4\n"
			     "werkbank_translation_seconds_sum 9\n"
			     "werkbank_translation_seconds_count 200\n"
			     "werkbank_target_tokens_total 1000\n"));
	service_metrics_text(&m, &text);
	check_str(buf_text(&text),
		  "2 clients, 1 request, queue 120 characters, 45 ms each, 6 refused");
	check(!service_metrics_update(&m, address, 101)); /* every two seconds */
	check(!m.is_asking);
	check(answer_metrics(&m, listener, address, 104,
			     "HTTP/1.1 200 OK\r\n\r\nwerkbank_connections 1\n"
			     "werkbank_target_tokens_total 2000\n"));
	check_near(m.tokens_s, 250, 1e-9);
	/* a refusal changes nothing; a closed port is no failure */
	check(!answer_metrics(&m, listener, address, 110, "HTTP/1.1 401 Unauthorized\r\n\r\n"));
	check_near(m.tokens_s, 250, 1e-9);
	close(listener);
	check(!service_metrics_update(&m, address, 120) &&
	      !service_metrics_update(&m, address, 121));
	service_metrics_close(&m);
	buf_free(&text);
}
