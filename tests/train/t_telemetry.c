/* t_telemetry.c - the records of ranks and hosts, from made-up rows and from this machine */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "tests/test.h"
#include "train/watch/telemetry.h"
#include "train/watch/telemetry_internal.h"

/* The result of a gather: rank 0 has its own row, the others are made up. */
static struct telemetry_row *others;

static int gather(struct comm *c, const void *mine, size_t n, void *all, struct err *e)
{
	(void)e;
	memcpy(all, mine, n);
	for (int i = 1; i < c->size; i++)
		memcpy((char *)all + (size_t)i * n, &others[i], n);
	return 0;
}

static void fill_row(struct telemetry_row *row, const char *host, int local_rank, double compute)
{
	memset(row, 0, sizeof(*row));
	snprintf(row->host, sizeof(row->host), "%s", host);
	row->steps = 4;
	row->local_rank = local_rank;
	row->local_size = 2;
	row->mean = (struct step_times){ .compute = compute,
					 .step = 1.5,
					 .exposed = 0.5,
					 .wait = 0.4,
					 .sent_bytes = 1000,
					 .wire_ratio = 1 };
	host_report_clear(&row->report);
}

/* The value of a field of the only record of a kind (and host or rank), as text. */
static const char *field(const char *path, const char *kind, const char *with, const char *name)
{
	static struct buf line;
	struct err e = { 0 };
	struct buf all = { 0 };
	char begin[60], key[60];
	const char *at, *end, *found = NULL;

	snprintf(begin, sizeof(begin), "\"kind\":\"%s\"", kind);
	snprintf(key, sizeof(key), "\"%s\":", name);
	check_int(file_read_all(path, 0, &all, &e), 0);
	for (at = buf_text(&all); *at; at = *end ? end + 1 : end) {
		end = at + strcspn(at, "\n");
		buf_clear(&line);
		buf_add(&line, at, (size_t)(end - at));
		if (strstr(buf_text(&line), begin) && strstr(buf_text(&line), with)) {
			found = strstr(buf_text(&line), key);
			break;
		}
	}
	buf_free(&all);
	if (!found)
		return "absent";
	found += strlen(key);
	line.data[(found - line.data) + (int)strcspn(found, ",}")] = 0;
	return found;
}

TEST(telemetry_records)
{
	struct telemetry_options how = {
		.every_s = 1e-9, .network = "lo", .workspace = test_folder(), .gradient_bytes = 1e6
	};
	struct step_times times[2] = { { 0.1, 1.0, 0.2, 0.1, 0.05, 1.4, 0, 1e6, 1 },
				       { 0.3, 1.2, 0.4, 0.3, 0.15, 2.2, 0, 2e6, 1 } };
	struct telemetry_row rows[4];
	struct err e = { 0 };
	struct comm c;
	struct telemetry *t;
	struct journal *j;
	char path[300];

	snprintf(path, sizeof(path), "%s/journal.jsonl", test_folder());
	check_int(comm_open(&c, "one", NULL, NULL, &e), 0);
	c.size = 4;
	c.gather = gather;
	others = rows;
	fill_row(&rows[1], "a", 1, 1.2);
	fill_row(&rows[2], "b", 0, 1.0);
	fill_row(&rows[3], "b", 1, 2.2);
	rows[2].report.cpu = 0.25;
	rows[2].report.tx_bytes_s = 5e6;
	rows[2].report.tx_step_bytes = 9e6;
	rows[2].report.link_bytes_s = 12.5e6;
	rows[2].report.link_from = HOST_LINK_DRIVER;
	snprintf(rows[2].report.trouble, sizeof(rows[2].report.trouble), "no driver");
	t = telemetry_open(&how, &c, &e);
	j = journal_open(path, &e);
	if (!check(t && j))
		return;
	telemetry_step(t, &times[0]);
	telemetry_step(t, &times[1]);
	check(telemetry_due(t));
	check_int(telemetry_report(t, 77, j, &e), 0);
	check_str(field(path, "rank", "\"rank\":0,", "step"), "77");
	check_str(field(path, "rank", "\"rank\":0,", "input_s"), "0.2");
	check_str(field(path, "rank", "\"rank\":0,", "compute_s"), "1.1");
	check_str(field(path, "rank", "\"rank\":0,", "step_s"), "1.8");
	check_str(field(path, "rank", "\"rank\":0,", "sent_bytes"), "1500000");
	check_str(field(path, "rank", "\"rank\":3,", "host"), "\"b\"");
	check_str(field(path, "rank", "\"rank\":3,", "compute_s"), "2.2");
	check_str(field(path, "host", "\"host\":\"b\"", "cpu"), "0.25");
	check_str(field(path, "host", "\"host\":\"b\"", "ranks"), "2");
	check_str(field(path, "host", "\"host\":\"b\"", "link_from"), "\"driver\"");
	check_str(field(path, "host", "\"host\":\"b\"", "load"), "absent");
	check_str(field(path, "verdict", "", "late_rank"), "3");
	check_str(field(path, "verdict", "", "late_host"), "\"b\"");
	check_str(field(path, "verdict", "", "observed_bytes"), "9000000");
	check_str(field(path, "verdict", "", "link_bytes_s"), "12500000");
	check_str(field(path, "event", "no driver", "level"), "\"warning\"");
	telemetry_free(t);
	journal_free(j);
}

/* The longest record of a host fits into a line. */
TEST(telemetry_many_gpus)
{
	struct telemetry_options how = { .every_s = 1e-9, .gradient_bytes = 1e6 };
	static struct telemetry_row rows[3];
	struct err e = { 0 };
	struct journal *j;
	struct buf text = { 0 };
	char path[300];

	snprintf(path, sizeof(path), "%s/journal.jsonl", test_folder());
	j = journal_open(path, &e);
	if (!check(j != NULL))
		return;
	for (int k = 0; k < 3; k++) {
		fill_row(&rows[k], "a-host-with-a-long-name.in.a.long.domain.example.org", 0, 1);
		rows[k].report = (struct host_report){ 0.12345,
						       123.45,
						       0.12345,
						       0.12345,
						       0.12345,
						       123456789012345,
						       12345678901234,
						       123456789012345,
						       123456789012,
						       123456789012,
						       123456789012,
						       123456789012,
						       123456789012,
						       123456789012,
						       12345.678,
						       123456789012,
						       12345,
						       123456789012,
						       HOST_LINK_MEASURED,
						       4 << k,
						       "an-interface-of-31-characters..",
						       "" };
		for (int i = 0; i < 16; i++) {
			struct host_gpu *g = &rows[k].gpus[i];

			host_gpu_clear(g, i);
			memset(g->name, 'N', sizeof(g->name) - 1);
			g->util = 0.123;
			g->memory_used = g->memory_total = 123456789012;
			g->power_w = g->power_limit_w = 1234.5;
			g->temperature_c = 101.5;
			g->sm_mhz = g->sm_max_mhz = 12345;
			g->pcie_tx_bytes_s = g->pcie_rx_bytes_s = 123456789012;
			g->nvlink_tx_bytes_s = g->nvlink_rx_bytes_s = 1234567890123;
			g->ecc_corrected = g->ecc_uncorrected = 123456789;
			g->throttle = 0xff;
			g->lost = i == 3;
		}
	}
	for (int k = 0; k < 3; k++) {
		struct telemetry_rows one = { (const char *)&rows[k], sizeof(rows[k]), 1 };
		double order[1];

		check_int(telemetry_write(&one, &how, order, 1234567, j, &e), 0);
		if (e.code)
			test_fail(__FILE__, __LINE__, "%s", e.text);
	}
	check_int(file_read_all(path, 0, &text, &e), 0);
	check(strstr(buf_text(&text), "\"index\":15") != NULL);
	check(strstr(buf_text(&text), "nvlink_rx_bytes_s") != NULL);
	check(strstr(buf_text(&text), "\"lost\":true") != NULL);
	check(strstr(buf_text(&text), "\"ecc_uncorrected\":123456789") != NULL);
	buf_free(&text);
	journal_free(j);
}

/* This machine itself: the thread runs, and numbers are in their ranges. */
TEST(telemetry_here)
{
	struct telemetry_options how = { .every_s = 1e-9,
					 .network = "lo",
					 .workspace = test_folder() };
	struct err e = { 0 };
	struct comm c;
	struct telemetry *t;
	struct journal *j;
	char path[300];
	const char *seen = "absent";

	snprintf(path, sizeof(path), "%s/journal.jsonl", test_folder());
	check_int(comm_open(&c, "one", NULL, NULL, &e), 0);
	t = telemetry_open(&how, &c, &e);
	j = journal_open(path, &e);
	if (!check(t && j))
		return;
	for (double end = clock_mono_s() + 10; !strcmp(seen, "absent") && clock_mono_s() < end;) {
		struct timespec pause = { 0, 20000000 };

		nanosleep(&pause, NULL);
		remove(path);
		journal_free(j);
		j = journal_open(path, &e);
		check_int(telemetry_report(t, 1, j, &e), 0);
		seen = field(path, "host", "", "memory_total");
	}
	check(strtod(seen, NULL) > 1e6);
	check_str(field(path, "verdict", "", "network"), "\"no\"");
	telemetry_free(t);
	journal_free(j);
	how.every_s = 0;
	t = telemetry_open(&how, &c, &e);
	check(t && !telemetry_due(t));
	check_int(telemetry_report(t, 1, NULL, &e), 0);
	telemetry_free(t);
	telemetry_free(NULL);
}
