/* t_network.c - costs of reductions, speeds as text, verdicts with known answers */
#include "train/common/network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "share/base/util.h"
#include "tests/test.h"

#define GBIT 125e6

TEST(network_costs)
{
	/* By hand: 2 * 3/4 * 243.5 MB = 365.25 MB. */
	check_near(network_bytes_sent(243.5e6, 4), 365.25e6, 1);
	check_near(network_busbw(100e6, 2, 1), 100e6, 1e-3);
	check_near(network_busbw(100e6, 4, 1), 150e6, 1e-3);
	/* 2 hosts of 2 ranks: each of 2 ranks sends a quarter to 2 others, twice: 2 S. */
	check_near(network_bytes_left(100, 4, 2), 200, 1e-9);
	check_near(network_bytes_left(100, 4, 4), 150, 1e-9);
	check_near(network_bytes_left(100, 4, 1), 0, 0);
}

TEST(network_costs_invariants)
{
	double sent = 0;

	for (double n = 1; n <= 4096; n++) {
		if (network_bytes_sent(1e8, n) < sent)
			test_fail(__FILE__, __LINE__, "%.0f nodes are cheaper than one fewer", n);
		sent = network_bytes_sent(1e8, n);
	}
}

TEST(network_rates)
{
	static const struct {
		const char *text;
		double bytes_s;
	} good[] = {
		{ "1gbit", 125e6 },	   { "100mbit", 12.5e6 },      { "12.5GB/s", 12.5e9 },
		{ "2.5 Gbit/s", 312.5e6 }, { "100 MiB/s", 104857600 }, { "8bit/s", 1 },
		{ "1Gbps", 125e6 },	   { "0.5Tbit", 62.5e9 },      { "10kbit/s", 1250 },
		{ "10Gb/s", 1.25e9 },
	};
	static const char *const bad[] = {
		"",    "1",	  "gbit",    "1 furlong", "-1gbit", "0gbit", "1.2.3gbit",
		"nan", "infGB/s", "1gbit 2", "1e3mbit",	  "1g",	    "1M",
	};
	struct err e = { 0 };
	double x;

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		if (!check_int(network_rate_read(good[i].text, &x, &e), 0) ||
		    !check_near(x, good[i].bytes_s, 1e-6))
			test_fail(__FILE__, __LINE__, "that was %s", good[i].text);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (!check_err(network_rate_read(bad[i], &x, &e), ERR_USAGE))
			test_fail(__FILE__, __LINE__, "that was \"%s\"", bad[i]);
}

TEST(network_rate_text)
{
	char text[NETWORK_RATE_TEXT];

	check_str(network_rate_text(text, 213.6e6), "1.71 Gbit/s (214 MB/s)");
	check_str(network_rate_text(text, 12.5e6), "100 Mbit/s (12.5 MB/s)");
	check_str(network_rate_text(text, 125e6), "1.00 Gbit/s (125 MB/s)");
	check_str(network_rate_text(text, 0), "0.00 bit/s (0.00 B/s)");
	check_str(network_rate_text(text, NAN), "unknown");
}

static struct network_evidence nothing(void)
{
	return (struct network_evidence){
		.ranks = 4,
		.hosts = 4,
		.step_s = 1,
		.compute_s = NAN,
		.exposed_s = NAN,
		.wait_s = NAN,
		.gradient_bytes = 100e6,
		.wire_ratio = 1,
		.reductions = 1,
		.observed_bytes = NAN,
		.link_bytes_s = NAN,
		.latency_s = NAN,
		.buckets = NAN,
		.transfer_s = NAN,
		.retransmits_s = NAN,
		.light_lost = NAN,
		.slowest_share = NAN,
		.slowest_rank = -1,
	};
}

static bool judged(const struct network_evidence *v, enum network_answer answer, const char *part)
{
	struct network_verdict out;

	network_diagnose(v, &out);
	return check_str(network_answer_name(out.answer), network_answer_name(answer)) &&
	       (strstr(out.text, part) ||
		(test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", out.text, part),
		 false));
}

TEST(network_judge_reference_system)
{
	/*
	 * 60,880,896 parameters as fp32; four GPUs 1.71 s a step, one alone 0.33 s; about
	 * 200 MB/s were seen, through a bonded pair of 1 Gbit/s ports.
	 */
	struct network_evidence v = nothing();
	struct network_verdict out;

	v.step_s = 1.71;
	v.compute_s = 0.33;
	v.gradient_bytes = 60880896 * 4.0;
	v.observed_bytes = 200e6 * 1.71;
	v.link_bytes_s = 2 * GBIT;
	network_diagnose(&v, &out);
	check_int(out.answer, NETWORK_LINK);
	check_near(out.predicted_bytes, 365.3e6, 0.03 * 365.3e6);
	check_near(out.observed_bytes / out.predicted_bytes, 1, 0.1);
	check_near(out.exposed_share, 1.38 / 1.71, 1e-9);
	check(strstr(out.text, "The network is the bottleneck: 81 %") != NULL);
	check(strstr(out.text, "2.00 Gbit/s (250 MB/s)") != NULL);
	v.link_bytes_s = NAN; /* as in the reports: the speed of the port was unknown */
	judged(&v, NETWORK_UNKNOWN, "hosts bandwidth");
}

TEST(network_judge_slow_port)
{
	/* Three GPUs, 33 s a step through what was most likely a port of 100 Mbit/s. */
	struct network_evidence v = nothing();
	struct network_verdict out;

	v.ranks = v.hosts = 3;
	v.step_s = 33;
	v.compute_s = 0.33;
	v.gradient_bytes = 243.5e6;
	v.link_bytes_s = GBIT / 10;
	network_diagnose(&v, &out);
	check_int(out.answer, NETWORK_LINK);
	check_near(out.predicted_bytes, 324.7e6, 0.01 * 324.7e6);
	check_near(network_bytes_sent(243.5e6, 3) / (GBIT / 10), 26, 0.3);
	/* After the upgrade. */
	v.step_s = 1.5;
	v.link_bytes_s = 2 * GBIT;
	network_diagnose(&v, &out);
	check_int(out.answer, NETWORK_LINK);
	check(out.exposed_share >= 0.78 - 1e-9);
}

TEST(network_judge_bytes_a_minute)
{
	/* Four GPUs, 1.28 s a step, 17.3 GB in each sample of a minute: 369 MB a step. */
	struct network_evidence v = nothing();
	struct network_verdict out;

	v.step_s = 1.28;
	v.exposed_s = 0.9;
	v.gradient_bytes = 243.5e6;
	v.observed_bytes = 17.3e9 / 60 * 1.28;
	v.link_bytes_s = 3.125e9; /* 25 Gbit/s: far from full */
	network_diagnose(&v, &out);
	check_near(out.observed_bytes, out.predicted_bytes, 0.02 * out.predicted_bytes);
	check_int(out.answer, NETWORK_LATENCY);
	v.observed_bytes = 17.3e9 / 300 * 1.28; /* samples of five minutes would not fit */
	network_diagnose(&v, &out);
	check(strstr(out.text, "the interface counts only a part") != NULL);
}

TEST(network_judge_rules)
{
	struct network_evidence v = nothing();

	judged(&v, NETWORK_UNKNOWN, "is missing");
	v.exposed_s = 0.049;
	judged(&v, NETWORK_NO, "4.9 %");
	v.exposed_s = 0.051;
	judged(&v, NETWORK_SLIGHTLY, "150 MB a step and host are expected");
	v.exposed_s = 0.199;
	judged(&v, NETWORK_SLIGHTLY, "19.9 %");
	v.exposed_s = 0.5;
	v.transfer_s = 0.5;
	v.observed_bytes = 150e6;
	v.link_bytes_s = 150e6 / 0.5 / 0.61; /* 61 % of it is used */
	judged(&v, NETWORK_LINK, "61 %");
	v.link_bytes_s = 150e6 / 0.5 / 0.59;
	judged(&v, NETWORK_LATENCY, "do not fill the link");
	v.retransmits_s = 150e6 / 1448 * 0.0011;
	judged(&v, NETWORK_LOSS, "0.11 %");
	v.retransmits_s = 150e6 / 1448 * 0.0009;
	judged(&v, NETWORK_LATENCY, "150 MB a step");
	v.link_bytes_s = NAN; /* a full link loses some, too */
	v.retransmits_s = 150e6 / 1448 * 0.011;
	judged(&v, NETWORK_UNKNOWN, "the link's speed is unknown");
	v.light_lost = 0.02;
	judged(&v, NETWORK_LOSS, "1.1 % of the segments are retransmitted (2 % while");
	v.light_lost = 0.002; /* of a link that is nearly idle */
	judged(&v, NETWORK_UNKNOWN, "Not enough data");
	v.link_bytes_s = 150e6 / 0.5 / 0.61;
	judged(&v, NETWORK_LINK, "61 %");
	v.light_lost = 0.012; /* also if the link is full */
	judged(&v, NETWORK_LOSS, "1.2 % while");
	/* a link of hosts that are far too busy: its queue overflows at times, and TCP waits then */
	v.light_lost = 0;
	v.link_bytes_s = 150e6 / 0.5 / 0.11;
	v.retransmits_s = 150e6 / 1448 * 0.25;
	v.latency_s = 1e-5, v.buckets = 1;
	judged(&v, NETWORK_UNKNOWN, "; 25 % of the segments are retransmitted, but few were while");
	v.latency_s = v.buckets = v.light_lost = NAN;
	v.link_bytes_s = 150e6 / 0.5 / 0.59;
	v.retransmits_s = 150e6; /* counters that do not fit together: no share is above 100 % */
	judged(&v, NETWORK_LOSS, "1e+02 % of the segments");
	v.link_bytes_s = 150e6 / 0.5 / 0.59;
	v.retransmits_s = 0;
	v.wait_s = 0.26;
	v.slowest_share = 1.1;
	judged(&v, NETWORK_STRAGGLER, "the slowest rank changes");
	v.slowest_share = 1.5;
	v.slowest_rank = 2;
	judged(&v, NETWORK_STRAGGLER, "rank 2 computes 1.50 times");
	v.wait_s = 0.24;
	judged(&v, NETWORK_LATENCY, "50 %");
	v.wait_s = NAN; /* not measured: derived from the slowest rank */
	v.compute_s = 0.5;
	judged(&v, NETWORK_STRAGGLER, "rank 2");
	v.slowest_share = 1.4;
	judged(&v, NETWORK_LATENCY, "50 %");
	v.hosts = 1;
	judged(&v, NETWORK_NO, "on one host");
	v.ranks = 1;
	judged(&v, NETWORK_NO, "A single rank");
}

TEST(network_latency_formula)
{
	/* two messages one after the other; no more bytes than the first window */
	check_near(network_latency_seconds(1, 1000, NAN, 0.02), 0.04, 1e-12);
	check_near(network_latency_seconds(9, 1000, NAN, 0.02), 0.12, 1e-12);
	/* eight times the first window: three more round trips */
	check_near(network_latency_seconds(1, 8 * NETWORK_WINDOW, NAN, 0.02), 0.16, 1e-12);
	/* the link is full after one more */
	check_near(network_latency_seconds(1, 1e9, 2 * NETWORK_WINDOW / 0.04, 0.02), 0.08, 1e-12);
}

/* Two hosts with 20 ms between them; 4.6 MB of gradients in two buckets. */
TEST(network_judge_latency)
{
	struct network_evidence v = nothing();
	struct network_verdict out;

	v.ranks = v.hosts = 2;
	v.step_s = 0.72;
	v.compute_s = 0.2;
	v.exposed_s = 0.5;
	v.transfer_s = 0.105;
	v.gradient_bytes = v.observed_bytes = 4.6e6;
	v.link_bytes_s = 91.1e6 / 8; /* as one slow stream measured it */
	v.latency_s = 0.0203;
	v.buckets = 2;
	network_diagnose(&v, &out);
	check_int(out.answer, NETWORK_LATENCY);
	check(strstr(out.text, "Latency is the bottleneck: 69 % of a step is waiting") != NULL);
	check(strstr(out.text, "a message takes 20.3 ms from host to host") != NULL);
	check(strstr(out.text, "explain up to 76 % of this time") != NULL);
	check(isnan(out.link_bytes_s));
	/* latency unknown: the measured speed cannot be true, and the verdict does not build on it */
	v.latency_s = NAN;
	judged(&v, NETWORK_UNKNOWN, "the link's speed is higher than measured");
	/* a link of known speed that explains little, as little as latency does: no cause */
	v.latency_s = 0.0203;
	v.exposed_s = 2;
	v.step_s = 2.2;
	v.transfer_s = 1;
	judged(&v, NETWORK_UNKNOWN, "latency explains up to");
	v.latency_s = NAN;
	v.exposed_s = 0.5;
	v.step_s = 0.72;
	v.transfer_s = 0.105;
	/* a little more than the link's speed is an error of the measurement */
	v.link_bytes_s = 4.6e6 / 0.105 / 1.05;
	judged(&v, NETWORK_LINK, ", 100 % of the link's 334 Mbit/s");
	/* a link that is full has a larger share */
	v.latency_s = 0.001;
	judged(&v, NETWORK_LINK, "100 % of the link's");
	/* ranks that wait for each other do not wait for messages */
	v.latency_s = 0.0203;
	v.wait_s = 0.3;
	v.slowest_share = 1.5;
	v.slowest_rank = 1;
	v.link_bytes_s = 125e6;
	judged(&v, NETWORK_STRAGGLER, "rank 1 computes 1.50 times");
	/* the message that all are ready takes 41 ms itself */
	v.exposed_s = 0.08;
	v.step_s = 0.11;
	v.wait_s = 0.045;
	v.slowest_share = NAN;
	judged(&v, NETWORK_LATENCY, "Latency is the bottleneck: 73 %");
	v.exposed_s = 0.5;
	v.step_s = 0.72;
	/* never more than all of it */
	v.wait_s = NAN;
	v.slowest_share = NAN;
	v.latency_s = 0.5;
	judged(&v, NETWORK_LATENCY, "explain up to 100 % of this time");
	for (double link = 1e3; link < 1e12; link *= 1.7)
		for (double latency = 1e-6; latency < 1; latency *= 2.3) {
			const char *percent;

			v.link_bytes_s = link;
			v.latency_s = latency;
			network_diagnose(&v, &out);
			for (percent = out.text; (percent = strstr(percent, " %")) != NULL;
			     percent++) {
				const char *digits = percent;

				while (digits > out.text && strchr("0123456789.", digits[-1]))
					digits--;
				check(strtod(digits, NULL) <= 100);
			}
		}
}

TEST(network_ready_messages)
{
	check_near(network_ready_messages(1), 0, 0);
	check_near(network_ready_messages(2), 2, 0);
	check_near(network_ready_messages(3), 2, 0);
	check_near(network_ready_messages(4), 4, 0);
}

TEST(network_judge_unknown)
{
	struct network_evidence v = nothing();
	struct network_verdict out;

	v.step_s = NAN;
	judged(&v, NETWORK_UNKNOWN, "time of a step");
	v = nothing();
	v.exposed_s = 0.5;
	v.step_s = 1;
	v.observed_bytes = 1e6;
	v.gradient_bytes = NAN;
	judged(&v, NETWORK_UNKNOWN, "hosts bandwidth");
	v.exposed_s = 0.02; /* 40 % of a short step: may be latency */
	v.step_s = 0.05;
	judged(&v, NETWORK_UNKNOWN, "hosts bandwidth");
	memset(&v, 0, sizeof(v));
	judged(&v, NETWORK_UNKNOWN, "missing");
	/* The longest sentence fits. */
	v = nothing();
	v.ranks = v.hosts = INT32_MAX;
	v.exposed_s = 0.9;
	v.link_bytes_s = 1e15;
	v.observed_bytes = 1e12;
	network_diagnose(&v, &out);
	check(strlen(out.text) < sizeof(out.text) - 40);
}
