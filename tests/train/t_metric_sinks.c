/* t_metric_sinks.c - event files for TensorBoard and the page for Prometheus */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/train/small_run.h"
#include "train/record/metric_sinks.h"
#include "train/record/prometheus.h"

/* Number of event files of a run; *bytes: their total size. */
static int count_event_files(const char *run, int64_t *bytes)
{
	char folder[600], path[900];
	struct dirent *entry;
	int n = 0;
	DIR *d;

	snprintf(folder, sizeof(folder), "%s/runs/%s/tensorboard", test_folder(), run);
	d = opendir(folder);
	*bytes = 0;
	while (d && (entry = readdir(d)) != NULL) {
		if (!strstr(entry->d_name, "tfevents"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		*bytes += file_size(path);
		n++;
	}
	if (d)
		closedir(d);
	return n;
}

static bool page_has(const char *path, const char *line)
{
	struct buf page = { 0 };
	struct err e;
	bool found = !file_read_all(path, 1 << 20, &page, &e) && strstr(buf_text(&page), line);

	if (!found)
		test_fail(__FILE__, __LINE__, "no \"%s\" in:\n%s", line, buf_text(&page));
	buf_free(&page);
	return found;
}

TEST(metric_sinks_of_a_run_and_its_restart)
{
	struct conf c;
	int64_t bytes;

	if (!make_corpus() || !make_conf(&c, "live"))
		return;
	set(&c, "prometheus", at("live.prom"));
	set(&c, "steps", "20");
	check(trains(&c));
	check_int(count_event_files("live", &bytes), 1);
	check(bytes > 500);
	check(page_has(at("live.prom"), "\nwerkbank_step{run=\"live\"} 20\n"));
	check(page_has(at("live.prom"), "\nwerkbank_running{run=\"live\"} 0\n"));
	check(page_has(at("live.prom"), "\nwerkbank_planned_steps{run=\"live\"} 20\n"));
	set(&c, "steps", "30");
	check(trains(&c));
	check_int(count_event_files("live", &bytes), 2);
	check(page_has(at("live.prom"), "# TYPE werkbank_attempts_total counter\n"
					"werkbank_attempts_total{run=\"live\"} 2\n"));
	check(page_has(at("live.prom"), "\nwerkbank_step{run=\"live\"} 30\n"));
	conf_free(&c);
}

TEST(metric_sinks_switched_off)
{
	struct conf c;
	int64_t bytes;

	if (!make_corpus() || !make_conf(&c, "plain"))
		return;
	set(&c, "steps", "5");
	set(&c, "tensorboard", "no");
	check(trains(&c));
	check_int(count_event_files("plain", &bytes), 0);
	conf_free(&c);
}

/* A sink that cannot write causes one warning, and the training goes on. */
TEST(metric_sinks_that_cannot_write)
{
	struct conf c;
	struct err e = { 0 };
	double none = 0;

	if (!make_corpus() || !make_conf(&c, "bad"))
		return;
	set(&c, "prometheus", "/dev/null/x.prom");
	check_err(file_make_folders(at("runs/bad"), &e), 0);
	check_err(file_write_all(at("runs/bad/tensorboard"), "x", 1, &e), 0);
	check(trains(&c));
	check_int(count_records("bad", "stop", "exit", &none), 1);
	check(none == NOT_EVALUATED);
	/* two are about the evaluation, which fails: there is no development set */
	check_int(count_records("bad", "event", NULL, NULL), 4);
	conf_free(&c);
}

static void record(struct prometheus *p, const char *text)
{
	struct err e = { 0 };
	struct json *root = json_parse(text, strlen(text), &e);

	check(root != NULL);
	check_err(prometheus_record(p, root, &e), 0);
	json_free(root);
}

static void check_page(const struct prometheus *p, const char *expected)
{
	struct buf page = { 0 };

	prometheus_page(p, &page);
	if (!strstr(buf_text(&page), expected))
		test_fail(__FILE__, __LINE__, "no \"%s\" in:\n%s", expected, buf_text(&page));
	buf_free(&page);
}

TEST(prometheus_values_and_labels)
{
	struct err e = { 0 };
	struct prometheus *p = prometheus_new("a\"b\\c\nd", &e);
	struct buf page = { 0 };

	if (!check(p != NULL))
		return;
	prometheus_page(p, &page);
	check_int((int)page.len, 0);
	record(p, "{\"kind\":\"start\",\"t\":1700000000.25,\"ranks\":2,"
		  "\"options\":{\"steps\":\"300000\"}}");
	record(p, "{\"kind\":\"train\",\"t\":1700000001,\"step\":7,\"loss\":null,\"lr\":1e-7,"
		  "\"nonfinite\":\"loss\"}");
	record(p, "{\"kind\":\"event\",\"level\":\"warning\"}");
	record(p, "{\"kind\":\"event\",\"level\":\"warning\"}");
	record(p, "{\"kind\":\"host\",\"host\":\"h\",\"cpu\":0.5,\"gpus\":[{\"index\":3,"
		  "\"name\":\"V100\",\"util\":0.25,\"sm_mhz\":1500},7,null]}");
	record(p, "{\"kind\":\"rank\",\"rank\":1,\"host\":\"h\",\"step_s\":0.125}");
	record(p, "{\"kind\":\"verdict\",\"network\":\"no\",\"exposed_share\":0.1}");
	record(p, "{\"kind\":\"verdict\",\"network\":\"link\",\"exposed_share\":0.6}");
	record(p, "[7]");
	check_page(p, "# TYPE werkbank_attempts_total counter\n"
		      "werkbank_attempts_total{run=\"a\\\"b\\\\c\\nd\"} 1\n");
	check_page(p, "} 1700000000.25\n");
	check_page(p, "werkbank_train_loss_nats{run=\"a\\\"b\\\\c\\nd\"} NaN\n");
	check_page(p, "werkbank_learning_rate{run=\"a\\\"b\\\\c\\nd\"} 1e-07\n");
	check_page(p, "werkbank_nonfinite_records_total{run=\"a\\\"b\\\\c\\nd\"} 1\n");
	check_page(p, "werkbank_events_total{run=\"a\\\"b\\\\c\\nd\",level=\"warning\"} 2\n");
	check_page(p, "host=\"h\",gpu=\"3\",name=\"V100\"} 1500000000\n");
	check_page(p, "werkbank_rank_step_seconds{run=\"a\\\"b\\\\c\\nd\",rank=\"1\",host=\"h\"} "
		      "0.125\n");
	check_page(p, ",verdict=\"no\"} 0\n");
	check_page(p, ",verdict=\"link\"} 1\n");
	prometheus_free(p);
	buf_free(&page);
}
