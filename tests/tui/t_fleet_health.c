/* t_fleet_health.c - which hosts are late or odd, and when that cannot be said. */
#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/util.h"
#include "share/format/json.h"
#include "tui/run/fleet.h"
#include "tui/run/fleet_events.h"

static struct err e;

#define HOSTS 5

/* What a made-up host reports. */
struct made_host {
	double compute_s, mhz, celsius, link, resent;
	const char *gpu, *extra; /* extra: members of its GPU */
};

static const struct made_host usual_host = { 0.1, 1965, 60, 3.1e9, 0.1, "H100", "" };

static void add_text(struct fleet *f, const char *text, bool is_rank)
{
	struct json *r = json_parse(text, strlen(text), &e);

	check(r != NULL);
	check_int(is_rank ? fleet_add_rank_record(f, r, 100, &e)
			  : fleet_add_host_record(f, r, 100, 7, &e),
		  0);
	json_free(r);
}

static void add_verdict(struct fleet *f)
{
	struct json *r = json_parse("{\"network\":\"no\"}", 16, &e);

	fleet_set_verdict(f, r, 100, 7);
	json_free(r);
}

/* A report of all ranks and hosts; host i is called n1 … */
static void add_report(struct fleet *f, const struct made_host *hosts, int n)
{
	char text[600];

	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof(text),
			 "{\"rank\":%d,\"host\":\"n%d\",\"step_s\":1,\"compute_s\":%g}", i, i + 1,
			 hosts[i].compute_s);
		add_text(f, text, true);
	}
	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof(text),
			 "{\"host\":\"n%d\",\"link_bytes_s\":%g,\"link_from\":\"driver\","
			 "\"retransmits_s\":%g,\"gpus\":[{\"index\":0,\"name\":\"%s\",\"util\":0.9,"
			 "\"sm_mhz\":%g,\"temperature_c\":%g%s}]}",
			 i + 1, hosts[i].link, hosts[i].resent, hosts[i].gpu, hosts[i].mhz,
			 hosts[i].celsius, hosts[i].extra);
		add_text(f, text, false);
	}
	add_verdict(f);
	fleet_update_derived(f);
}

static void make_hosts(struct made_host hosts[HOSTS])
{
	for (int i = 0; i < HOSTS; i++)
		hosts[i] = usual_host;
}

/* Reports of HOSTS hosts; the third is odd. What is found of it, and whether it is first. */
static void check_odd(const struct made_host *odd, enum fleet_oddity oddity, const char *words)
{
	struct made_host hosts[HOSTS];
	struct fleet f;

	fleet_init(&f);
	make_hosts(hosts);
	hosts[2] = *odd;
	for (int round = 0; round < 5; round++)
		add_report(&f, hosts, HOSTS);
	check_int(f.comparison, FLEET_COMPARED);
	check_int(f.hosts[2].finding.oddity, oddity);
	check(strstr(f.hosts[2].finding.text, words) != NULL);
	check_int(f.n_odd, oddity != HOST_LIKE_OTHERS);
	check_int(f.odd_first[0], oddity != HOST_LIKE_OTHERS ? 2 : 0);
	check_int(f.odd_first[HOSTS - 1], HOSTS - 1);
	fleet_free(&f);
}

TEST(tui_fleet_odd_hosts_are_first)
{
	struct made_host k = usual_host;

	check_odd(&k, HOST_LIKE_OTHERS, "");
	k.compute_s = 0.15;
	check_odd(&k, HOST_LATE, "rank 2 computes 1.50 times as long as the median rank");
	k.mhz = 1200;
	k.extra = ",\"throttle\":\"heat\"";
	check_odd(&k, HOST_LATE, "rank; a GPU clocks 1200 MHz (heat), others 1965 MHz");
	k = usual_host;
	k.celsius = 85;
	check_odd(&k, HOST_ODD, "a GPU has 85 C, others 60 C");
	k.celsius = 66;
	check_odd(&k, HOST_LIKE_OTHERS, "");
	k = usual_host;
	k.link = 1.25e9;
	check_odd(&k, HOST_ODD, "its link has 10.0Gbit/s, others 24.8Gbit/s");
	k = usual_host;
	k.resent = 31.5;
	check_odd(&k, HOST_ODD, "retransmits 31.50 packets a second");
	k = usual_host;
	k.extra = ",\"lost\":true";
	check_odd(&k, HOST_BROKEN, "GPU 0 does not respond");
	/* another kind of GPU has other clocks and temperatures */
	k = usual_host;
	k.gpu = "A100";
	k.mhz = 1410;
	k.celsius = 80;
	check_odd(&k, HOST_LIKE_OTHERS, "");
}

/* One slow report is noise; three are needed, and a restart begins again. */
TEST(tui_fleet_needs_enough_reports)
{
	struct made_host hosts[HOSTS];
	struct fleet f;

	fleet_init(&f);
	make_hosts(hosts);
	hosts[3].compute_s = 0.3;
	for (int round = 1; round <= 3; round++) {
		add_report(&f, hosts, HOSTS);
		check_int(f.comparison, round < 3 ? FLEET_TOO_FEW_ROUNDS : FLEET_COMPARED);
		check_int(f.n_odd, round == 3);
		check_int(f.odd_first[0], round == 3 ? 3 : 0);
	}
	hosts[3].compute_s = 0.1;
	for (int round = 0; round < 8; round++)
		add_report(&f, hosts, HOSTS);
	check_int(f.n_odd, 0);
	hosts[1].compute_s = 0.3; /* once */
	add_report(&f, hosts, HOSTS);
	check_int(f.n_odd, 0);
	for (int round = 0; round < 8; round++)
		add_report(&f, hosts, HOSTS);
	check_int(f.odd_first[0], 1);
	fleet_begin_attempt(&f, 200);
	fleet_update_derived(&f);
	check_int(f.n_odd, 0);
	check_int(f.comparison, FLEET_ONE_HOST); /* none has reported since */
	fleet_free(&f);
}

/* Of two hosts the late one is known, for the other waits; which clock is right is not. */
TEST(tui_fleet_two_hosts)
{
	struct made_host hosts[2] = { usual_host, usual_host };
	struct fleet f;

	fleet_init(&f);
	hosts[1].mhz = 1000;
	for (int round = 0; round < 5; round++)
		add_report(&f, hosts, 2);
	check_int(f.n_odd, 0);
	hosts[1].compute_s = 0.2;
	for (int round = 0; round < 5; round++)
		add_report(&f, hosts, 2);
	check_int(f.odd_first[0], 1);
	check_str(f.hosts[1].finding.text, "rank 1 computes 2.00 times as long as the median rank");
	fleet_free(&f);
}

/* Of very many ranks only the late ones report: one that reports no more is late no more. */
TEST(tui_fleet_old_reports_of_ranks_are_dropped)
{
	struct made_host hosts[HOSTS];
	struct fleet f;
	int64_t slowest;

	fleet_init(&f);
	make_hosts(hosts);
	add_text(&f, "{\"rank\":40,\"host\":\"n2\",\"step_s\":1,\"compute_s\":0.4}", true);
	add_report(&f, hosts, HOSTS);
	check_near(fleet_rank_slowdown(&f, 40), 4, 1e-6);
	check_near(fleet_host_slowdown(&f, 1, &slowest), 4, 1e-6);
	add_report(&f, hosts, HOSTS);
	check(isnan(fleet_rank_slowdown(&f, 40)));
	check_near(fleet_host_slowdown(&f, 1, &slowest), 1, 1e-6);
	check_int(slowest, 1);
	fleet_free(&f);
}

#define LARGE_HOSTS 2000
#define LARGE_RANKS 8 /* of each host */
#define LARGE_LATE  12016

/* The verdict of the run names a rank of 16,000: the list has its host, and has it first. */
TEST(tui_fleet_thousands_of_hosts_and_ranks)
{
	struct fleet f;
	char text[300];

	fleet_init(&f);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < LARGE_HOSTS * LARGE_RANKS; i++) {
			snprintf(text, sizeof(text),
				 "{\"rank\":%d,\"host\":\"node%d\",\"step_s\":1,"
				 "\"compute_s\":%g}",
				 i, 1 + i / LARGE_RANKS, i == LARGE_LATE ? 0.148 : 0.1);
			add_text(&f, text, true);
		}
		for (int i = 1; i <= LARGE_HOSTS; i++) {
			snprintf(text, sizeof(text), "{\"host\":\"node%d\"}", i);
			add_text(&f, text, false);
		}
		add_verdict(&f);
	}
	fleet_update_derived(&f);
	check_int(f.n_hosts, LARGE_HOSTS);
	check_int(f.n_ranks, LARGE_HOSTS * LARGE_RANKS);
	check_int(f.left_out, 0);
	check_int(f.n_odd, 1);
	check_str(f.hosts[f.odd_first[0]].name, "node1503");
	check_int(f.hosts[f.odd_first[0]].finding.oddity, HOST_LATE);
	check(strstr(f.hosts[f.odd_first[0]].finding.text, "12,016") != NULL);
	fleet_free(&f);
}

/* Thousands of hosts of many kinds: it ends, soon, and knows those of the kinds it compares. */
TEST(tui_fleet_many_hosts)
{
	struct fleet f;
	char text[300];

	fleet_init(&f);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < FLEET_HOSTS; i++) {
			snprintf(text, sizeof(text),
				 "{\"host\":\"h%d\",\"gpus\":[{\"name\":\"kind %d\",\"util\":1,"
				 "\"sm_mhz\":%d}]}",
				 i, i % 20, i == 42 ? 900 : 1500);
			add_text(&f, text, false);
		}
		add_verdict(&f);
	}
	for (int i = 0; i < 20; i++)
		fleet_update_derived(&f);
	check_int(f.n_odd, 1);
	check_str(f.hosts[f.odd_first[0]].name, "h42");
	check_int(f.n_uncompared, FLEET_HOSTS / 20 * 12); /* 8 of 20 kinds are compared */
	fleet_free(&f);
}

/* ---- events ---- */

/* The latest event is of that kind and host. */
static void check_event(const struct fleet *f, size_t n, enum fleet_event_kind kind, int host,
			const char *words)
{
	const struct fleet_event *event;

	check_int(f->n_events, n);
	if (f->n_events != n)
		return;
	event = fleet_event_at(f, n - 1);
	check_int(event->kind, kind);
	check_int(event->host, host);
	check(strstr(event->text, words) != NULL);
}

TEST(tui_fleet_events_of_memory_and_links)
{
	struct made_host hosts[HOSTS];
	struct fleet f;

	fleet_init(&f);
	make_hosts(hosts);
	/* what was there before the run is no event; what a record leaves out is not known */
	hosts[1].extra = ",\"ecc_uncorrected\":3,\"ecc_corrected\":100";
	hosts[2].extra = ",\"ecc_uncorrected\":0,\"ecc_corrected\":0";
	add_report(&f, hosts, HOSTS);
	add_report(&f, hosts, HOSTS);
	hosts[1].extra = "";
	add_report(&f, hosts, HOSTS);
	hosts[1].extra = ",\"ecc_uncorrected\":3,\"ecc_corrected\":100";
	add_report(&f, hosts, HOSTS);
	check_int(f.n_events, 0);
	hosts[1].extra = ",\"ecc_uncorrected\":4,\"ecc_corrected\":100";
	add_report(&f, hosts, HOSTS);
	check_event(&f, 1, EVENT_ECC, 1, "GPU 0 has 1 uncorrected memory error (ECC)");
	/* corrected ones: the first, then each doubling */
	for (int n = 1; n <= 8; n++) {
		char text[80];

		snprintf(text, sizeof(text), ",\"ecc_uncorrected\":0,\"ecc_corrected\":%d", n);
		hosts[2].extra = text;
		add_report(&f, hosts, HOSTS);
	}
	check_event(&f, 5, EVENT_ECC_CORRECTED, 2, "GPU 0 has corrected 8 memory errors (ECC)");
	/* the driver was loaded again */
	hosts[2].extra = ",\"ecc_uncorrected\":0,\"ecc_corrected\":2";
	add_report(&f, hosts, HOSTS);
	check_int(f.n_events, 5);
	hosts[2].extra = ",\"ecc_uncorrected\":0,\"ecc_corrected\":3";
	add_report(&f, hosts, HOSTS);
	check_event(&f, 6, EVENT_ECC_CORRECTED, 2, "GPU 0 has corrected 1 memory error (ECC)");
	/* a link whose driver has no speed any more, and has it again */
	hosts[0].link = 0;
	add_report(&f, hosts, HOSTS);
	check_event(&f, 7, EVENT_LINK, 0, "its link has no speed any more");
	add_report(&f, hosts, HOSTS);
	check_int(f.n_events, 7);
	make_hosts(hosts);
	add_report(&f, hosts, HOSTS);
	check_event(&f, 8, EVENT_LINK_FASTER, 0, "its link has a speed again");
	fleet_free(&f);
}

TEST(tui_fleet_events_of_records)
{
	struct made_host hosts[HOSTS];
	struct fleet f;

	fleet_init(&f);
	make_hosts(hosts);
	hosts[0].extra = ",\"throttle\":\"power cap, application clocks\""; /* routine */
	add_report(&f, hosts, HOSTS);
	check_int(f.n_events, 0);
	hosts[2].extra = ",\"throttle\":\"power cap, heat\"";
	add_report(&f, hosts, HOSTS);
	check_event(&f, 1, EVENT_THROTTLED, 2, "GPU 0 throttled: power cap, heat");
	/* one record without it is no end */
	hosts[2].extra = "";
	add_report(&f, hosts, HOSTS);
	hosts[2].extra = ",\"throttle\":\"heat\"";
	add_report(&f, hosts, HOSTS);
	hosts[2].extra = "";
	add_report(&f, hosts, HOSTS);
	add_report(&f, hosts, HOSTS);
	check_int(f.n_events, 1);
	add_report(&f, hosts, HOSTS);
	check_event(&f, 2, EVENT_UNTHROTTLED, 2, "");
	hosts[1].link = 1.25e9;
	add_report(&f, hosts, HOSTS);
	check_event(&f, 3, EVENT_LINK, 1, "its link has 10.0Gbit/s, before 24.8Gbit/s");
	hosts[1].link = 3.1e9;
	add_report(&f, hosts, HOSTS);
	check_event(&f, 4, EVENT_LINK_FASTER, 1, "24.8Gbit/s");
	hosts[3].extra = ",\"lost\":true";
	add_report(&f, hosts, HOSTS);
	add_report(&f, hosts, HOSTS);
	check_event(&f, 5, EVENT_GPU_LOST, 3, "GPU 0 does not respond");
	fleet_free(&f);
	check_int(f.n_events, 0);
}

TEST(tui_fleet_events_of_the_run)
{
	struct made_host hosts[HOSTS];
	struct fleet f;

	fleet_init(&f);
	make_hosts(hosts);
	fleet_begin_attempt(&f, 50); /* the first start is no restart */
	for (int i = 0; i < 4; i++)
		add_report(&f, hosts, HOSTS);
	check_int(f.n_events, 0);
	hosts[4].compute_s = 0.2;
	for (int i = 0; i < 8; i++)
		add_report(&f, hosts, HOSTS);
	check_event(&f, 1, EVENT_LATE, 4, "late");
	fleet_begin_attempt(&f, 200);
	check_event(&f, 2, EVENT_RESTART, -1, "restarted");
	add_report(&f, hosts, HOSTS - 1); /* the late host was left out */
	check_event(&f, 3, EVENT_GONE, 4, "left out");
	add_report(&f, hosts, HOSTS - 1);
	check_int(f.n_events, 3);
	fleet_begin_attempt(&f, 300);
	hosts[4].compute_s = 0.1;
	add_report(&f, hosts, HOSTS);
	check_event(&f, 5, EVENT_BACK, 4, "again");
	/* warnings are of the hosts that they name, not of others that begin alike */
	fleet_add_warning(&f, 400, "rank 7 on n10 sends no heartbeats");
	fleet_add_warning(&f, 400, "the disk of n1-b is full");
	check_int(f.n_events, 5);
	fleet_add_warning(&f, 400, "rank 7 on n2: ECC errors");
	check_event(&f, 6, EVENT_WARNING, 1, "ECC errors");
	fleet_add_warning(&f, NAN, "n2");
	check_int(f.n_events, 6);
	/* the oldest are dropped; a host that is inserted moves the others' */
	for (int i = 0; i < FLEET_EVENTS; i++)
		fleet_add_warning(&f, 500 + i, "n2.");
	check_int(f.n_events, FLEET_EVENTS);
	check_near(fleet_event_at(&f, 0)->t, 500, 0);
	add_text(&f, "{\"host\":\"a\"}", false);
	check_str(f.hosts[fleet_event_at(&f, 9)->host].name, "n2");
	fleet_free(&f);
}
