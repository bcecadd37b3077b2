/* network.c - see network.h */
#include "train/common/network.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "share/base/text.h"
#include "share/base/util.h"

#define SEGMENT_BYTES 1448.0 /* payload of a TCP segment on Ethernet */

/* ---- costs ------------------------------------------------------------- */

double network_bytes_sent(double bytes, double nodes)
{
	return nodes <= 1 ? 0 : 2 * (nodes - 1) / nodes * bytes;
}

double network_bytes_left(double bytes, double ranks, double hosts)
{
	double mine;

	if (hosts <= 1 || ranks < hosts)
		return hosts <= 1 ? 0 : network_bytes_sent(bytes, ranks);
	mine = ranks / hosts;
	return mine * 2 * (ranks - mine) / ranks * bytes;
}

int64_t network_exact_steps(const struct conf *c, int64_t wire)
{
	/* fp32, bf16, 2bit, 1bit, int8 */
	static const bool has_warmup[] = { false, false, true, true, false };

	assert(wire >= 0 && (size_t)wire < ARRAY_LEN(has_warmup));
	if (wire == 0)
		return 0;
	return c->wire_warmup >= 0 ? c->wire_warmup : has_warmup[wire] ? c->warmup : 0;
}

double network_busbw(double bytes, double nodes, double seconds)
{
	return network_bytes_sent(bytes, nodes) / seconds;
}

double network_latency_seconds(double buckets, double bytes, double link_bytes_s, double latency_s)
{
	double flight = link_bytes_s > 0 ? fmin(bytes, link_bytes_s * 2 * latency_s) : bytes;
	double round_trips = flight > NETWORK_WINDOW ? log2(flight / NETWORK_WINDOW) : 0;

	return 2 * latency_s * (ceil(buckets / NETWORK_DEPTH) + round_trips);
}

double network_ready_messages(double hosts)
{
	return hosts > 1 ? 2 * floor(log2(hosts)) : 0;
}

/* ---- units ------------------------------------------------------------- */

static const struct unit {
	const char *name;
	double bytes_s;
} UNITS[] = {
	/* as usual, b and bit are bits, B is bytes */
	/* clang-format off */
	{ "bit/s", 1 / 8.0 }, { "kbit/s", 1e3 / 8 }, { "Mbit/s", 1e6 / 8 }, { "Gbit/s", 1e9 / 8 },
	{ "Tbit/s", 1e12 / 8 }, { "bit", 1 / 8.0 }, { "kbit", 1e3 / 8 }, { "Mbit", 1e6 / 8 },
	{ "Gbit", 1e9 / 8 }, { "Tbit", 1e12 / 8 }, { "mbit", 1e6 / 8 }, { "gbit", 1e9 / 8 },
	{ "tbit", 1e12 / 8 }, { "mbit/s", 1e6 / 8 }, { "gbit/s", 1e9 / 8 }, { "tbit/s", 1e12 / 8 },
	{ "bps", 1 / 8.0 }, { "kbps", 1e3 / 8 }, { "Mbps", 1e6 / 8 }, { "Gbps", 1e9 / 8 },
	{ "mbps", 1e6 / 8 }, { "gbps", 1e9 / 8 }, { "Kbit/s", 1e3 / 8 }, { "Mb/s", 1e6 / 8 },
	{ "Gb/s", 1e9 / 8 }, { "B/s", 1 }, { "kB/s", 1e3 }, { "KB/s", 1e3 }, { "MB/s", 1e6 },
	{ "GB/s", 1e9 }, { "TB/s", 1e12 }, { "KiB/s", 1024.0 }, { "MiB/s", 1048576.0 },
	{ "GiB/s", 1073741824.0 },
	/* clang-format on */
};

int network_rate_read(const char *text, double *bytes_s, struct err *e)
{
	char number[64];
	size_t n = strspn(text, "0123456789.");
	const char *unit = text + n + strspn(text + n, " ");
	double x;

	if (n == 0 || n >= sizeof(number))
		return err_set(e, ERR_USAGE,
			       "\"%s\" is not a network speed: expected for example "
			       "1gbit, 100mbit or 12.5GB/s",
			       text);
	memcpy(number, text, n);
	number[n] = 0;
	if (!text_to_real(number, &x) || !(x > 0) || !isfinite(x))
		return err_set(e, ERR_USAGE,
			       "\"%s\" is not a network speed: %s is not a number "
			       "above 0",
			       text, number);
	for (size_t i = 0; i < ARRAY_LEN(UNITS); i++)
		if (!strcmp(unit, UNITS[i].name)) {
			*bytes_s = x * UNITS[i].bytes_s;
			return 0;
		}
	return err_set(e, ERR_USAGE,
		       "\"%s\" %s: expected bits or bytes, for example 1gbit, 100mbit, "
		       "125MB/s or 12.5GB/s",
		       text, *unit ? "has an unknown unit" : "has no unit");
}

/* Three figures and a prefix: "1.73 G". */
static const char *format_with_prefix(char out[32], double x)
{
	static const struct {
		double size;
		const char *name;
	} prefixes[] = { { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" }, { 1, "" } };
	size_t i = 0;

	while (i + 1 < ARRAY_LEN(prefixes) && x < prefixes[i].size * 0.9995)
		i++;
	x /= prefixes[i].size;
	snprintf(out, 32, "%.*f %s", x < 9.995 ? 2 : x < 99.95 ? 1 : 0, x, prefixes[i].name);
	return out;
}

char *network_rate_text(char out[NETWORK_RATE_TEXT], double bytes_s)
{
	char bits[32], bytes[32];

	if (!isfinite(bytes_s) || bytes_s < 0)
		snprintf(out, NETWORK_RATE_TEXT, "unknown");
	else
		snprintf(out, NETWORK_RATE_TEXT, "%sbit/s (%sB/s)",
			 format_with_prefix(bits, bytes_s * 8), format_with_prefix(bytes, bytes_s));
	return out;
}

/* ---- the verdict ------------------------------------------------------- */

const char *network_answer_name(enum network_answer a)
{
	static const char *const names[] = {
		[NETWORK_UNKNOWN] = "unknown",	 [NETWORK_NO] = "no",
		[NETWORK_SLIGHTLY] = "slightly", [NETWORK_LINK] = "link",
		[NETWORK_LATENCY] = "latency",	 [NETWORK_STRAGGLER] = "straggler",
		[NETWORK_LOSS] = "loss",
	};

	return (size_t)a < ARRAY_LEN(names) ? names[a] : "unknown";
}

/* Numbers for the rules, derived from the evidence; NAN: unknown. */
struct network_cost {
	double exposed_s, wait_s;
	double rate;	    /* bytes/s during reductions */
	double fill;	    /* rate divided by the link's speed */
	double lost;	    /* share of retransmitted segments */
	double latency_s;   /* part of exposed_s that latency explains; NAN: unknown */
	bool is_link_wrong; /* reductions are faster than the link's speed */
};

static bool is_known_number(double x)
{
	return isfinite(x) && x >= 0;
}

static double known_hosts(const struct network_evidence *v)
{
	return (double)(v->hosts > 0 ? v->hosts : v->ranks);
}

static void find_reduction_cost(const struct network_evidence *v, const struct network_verdict *out,
				struct network_cost *f)
{
	double bytes =
		is_known_number(v->observed_bytes) ? v->observed_bytes : out->predicted_bytes;
	double during;

	f->exposed_s = v->exposed_s;
	if (!is_known_number(f->exposed_s) &&
	    is_known_number(v->compute_s)) /* all time that is not computation */
		f->exposed_s = v->step_s - v->compute_s;
	/* ranks learn that all are ready from an all-reduce, which takes its time as well */
	f->wait_s = v->wait_s;
	if (is_known_number(v->latency_s) && is_known_number(v->wait_s))
		f->wait_s =
			fmax(v->wait_s - network_ready_messages(known_hosts(v)) * v->latency_s, 0);
	during = is_known_number(v->transfer_s) && v->transfer_s > 0 ? v->transfer_s : f->exposed_s;
	f->rate = during > 0 ? bytes / during : NAN;
	/*
	 * without transfer_s, the rate is too high: part of the transfer is hidden behind backward
	 */
	if (!(v->transfer_s > 0) && f->rate > v->link_bytes_s)
		f->rate = v->link_bytes_s;
	f->fill = v->link_bytes_s > 0 ? f->rate / v->link_bytes_s : NAN;
	f->is_link_wrong = f->fill > NETWORK_LINK_WRONG_SHARE;
	if (f->is_link_wrong)
		f->fill = NAN;
	f->latency_s =
		v->reductions * network_latency_seconds(v->buckets, bytes,
							f->is_link_wrong ? NAN : v->link_bytes_s,
							v->latency_s);
	f->lost = is_known_number(v->retransmits_s) && is_known_number(v->observed_bytes) &&
				  v->observed_bytes > 0
			  ? fmin(v->retransmits_s * v->step_s / (v->observed_bytes / SEGMENT_BYTES),
				 1)
			  : NAN;
}

/* Is skew between ranks the main cost? */
static bool is_straggler_bound(const struct network_evidence *v, const struct network_cost *f)
{
	if (is_known_number(f->wait_s))
		return f->wait_s >= 0.5 * f->exposed_s;
	return is_known_number(v->compute_s) && v->slowest_share >= NETWORK_STRAGGLER_SHARE &&
	       (v->slowest_share - 1) * v->compute_s >= 0.5 * f->exposed_s;
}

static bool is_latency_bound(const struct network_evidence *v, const struct network_cost *f)
{
	return v->hosts != 1 && f->latency_s >= NETWORK_LATENCY_SHARE * f->exposed_s &&
	       !is_straggler_bound(v, f);
}

/* Are packets lost that the link itself does not drop because it is full? */
static bool is_loss_proven(const struct network_evidence *v, const struct network_cost *f)
{
	return v->hosts != 1 && v->light_lost >= NETWORK_LOSS_SHARE_LIGHT &&
	       f->lost >= NETWORK_LOSS_SHARE_LIGHT;
}

/* Without a measurement of a nearly idle link, which tells losses from the drops of a full link. */
static bool is_loss_likely(const struct network_evidence *v, const struct network_cost *f)
{
	return is_known_number(f->fill) && !is_known_number(v->light_lost) &&
	       f->lost >= NETWORK_LOSS_SHARE;
}

/* The cause of an exposed share above NETWORK_MAJOR_SHARE. */
static enum network_answer network_find_cause(const struct network_evidence *v,
					      const struct network_cost *f)
{
	if (is_loss_proven(v, f))
		return NETWORK_LOSS;
	if (is_latency_bound(v, f))
		return NETWORK_LATENCY;
	/* check the link first: with a full link, messages of the slowest rank may be late, too */
	if (v->hosts != 1 && f->fill >= NETWORK_LINK_FULL_SHARE)
		return NETWORK_LINK;
	if (is_straggler_bound(v, f))
		return NETWORK_STRAGGLER;
	if (v->hosts == 1)
		return NETWORK_NO;
	if (is_loss_likely(v, f))
		return NETWORK_LOSS;
	return is_known_number(f->fill) && (!is_known_number(f->latency_s) ||
					    f->latency_s >= NETWORK_LATENCY_LEAST * f->exposed_s)
		       ? NETWORK_LATENCY
		       : NETWORK_UNKNOWN;
}

static void network_add_text(struct network_verdict *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void network_add_text(struct network_verdict *out, const char *fmt, ...)
{
	size_t n = strlen(out->text);
	va_list ap;

	assert(n < sizeof(out->text));
	va_start(ap, fmt);
	vsnprintf(out->text + n, sizeof(out->text) - n, fmt, ap);
	va_end(ap);
}

static void network_add_bytes(struct network_verdict *out)
{
	char observed[32], predicted[32];

	if (is_known_number(out->observed_bytes) && is_known_number(out->predicted_bytes))
		network_add_text(out, "; a host sends %sB a step, %sB are expected%s",
				 format_with_prefix(observed, out->observed_bytes),
				 format_with_prefix(predicted, out->predicted_bytes),
				 out->observed_bytes > 1.3 * out->predicted_bytes
					 ? ": other programs send, too"
				 : out->observed_bytes < 0.9 * out->predicted_bytes
					 ? ": the interface counts only a part"
					 : "");
	else if (is_known_number(out->predicted_bytes))
		network_add_text(out, "; %sB a step and host are expected",
				 format_with_prefix(predicted, out->predicted_bytes));
}

static void network_add_straggler(const struct network_evidence *v, const struct network_cost *f,
				  struct network_verdict *out)
{
	double share =
		is_known_number(f->wait_s) ? f->wait_s : (v->slowest_share - 1) * v->compute_s;

	network_add_text(out, "Ranks wait for the slowest: %.0f %% of a step",
			 100 * fmin(share / v->step_s, 1));
	if (v->slowest_rank >= 0 && v->slowest_share >= NETWORK_STRAGGLER_SHARE)
		network_add_text(
			out,
			"; rank %d computes %.2f times as long as the median rank: look at its "
			"host",
			(int)v->slowest_rank, v->slowest_share);
	else if (v->slowest_share >= NETWORK_STRAGGLER_SHARE)
		network_add_text(out,
				 "; the slowest computes %.2f times as long as the median rank",
				 v->slowest_share);
	else if (is_known_number(v->slowest_share))
		network_add_text(
			out, "; the slowest rank changes: the work or the cores of the ranks vary");
}

static void network_add_latency(const struct network_evidence *v, const struct network_cost *f,
				struct network_verdict *out)
{
	network_add_text(
		out,
		"Latency is the bottleneck: %.0f %% of a step is waiting for reductions, "
		"and a message takes %.3g ms from host to host: messages that wait for each "
		"other, and TCP that begins slowly, explain up to %.0f %% of this time. Reduce "
		"less often (more micro_batches or local_steps), or use hosts that are closer",
		100 * out->exposed_share, 1e3 * v->latency_s,
		100 * fmin(f->latency_s / f->exposed_s, 1));
}

/* After a rate: the link's speed, as far as it is known. */
static void network_add_link(const struct network_evidence *v, const struct network_cost *f,
			     struct network_verdict *out)
{
	char link[NETWORK_RATE_TEXT];

	network_rate_text(link, v->link_bytes_s);
	if (f->is_link_wrong)
		network_add_text(out,
				 " (more than the link's measured %s: measure it again with "
				 "werkbank hosts bandwidth)",
				 link);
	else if (v->link_bytes_s > 0)
		network_add_text(out, ", %.0f %% of the link's %s", 100 * fmin(f->fill, 1), link);
	else
		network_add_text(out, " (the link's speed is unknown: measure it with werkbank "
				      "hosts bandwidth)");
}

/* No cause is proven: say what was excluded, and what would tell more. */
static void network_add_unexplained(const struct network_evidence *v, const struct network_cost *f,
				    struct network_verdict *out)
{
	char link[NETWORK_RATE_TEXT];

	network_add_text(out,
			 "Not enough data to name a cause: %.0f %% of a step is waiting for "
			 "reductions",
			 100 * out->exposed_share);
	if (is_known_number(f->fill))
		network_add_text(out, ", which use %.0f %% of the link's %s", 100 * f->fill,
				 network_rate_text(link, v->link_bytes_s));
	else
		network_add_text(out,
				 "; the link's speed is %s (werkbank hosts bandwidth measures it)",
				 f->is_link_wrong ? "higher than measured" : "unknown");
	if (is_known_number(f->latency_s))
		network_add_text(out, "; latency explains up to %.0f %% of this time",
				 100 * fmin(f->latency_s / f->exposed_s, 1));
	if (f->lost >= NETWORK_LOSS_SHARE_LIGHT)
		network_add_text(out,
				 "; %.2g %% of the segments are retransmitted, but few were "
				 "while the link was nearly idle",
				 100 * f->lost);
	else if (is_known_number(f->fill))
		network_add_text(out, ": ranks that share processors may be the cause");
}

static void network_add_cause(const struct network_evidence *v, const struct network_cost *f,
			      struct network_verdict *out)
{
	double percent = 100 * out->exposed_share;
	char rate[NETWORK_RATE_TEXT], link[NETWORK_RATE_TEXT];

	network_rate_text(rate, f->rate);
	network_rate_text(link, v->link_bytes_s);
	switch (out->answer) {
	case NETWORK_LINK:
		network_add_text(
			out,
			"The network is the bottleneck: %.0f %% of a step is waiting for it, at "
			"%s while it sends",
			percent, rate);
		network_add_link(v, f, out);
		break;
	case NETWORK_LOSS:
		network_add_text(
			out,
			"The network loses packets: %.0f %% of a step is waiting for it, at %s",
			percent, rate);
		if (is_known_number(f->fill))
			network_add_text(out, " of %s", link);
		network_add_text(out, ", and %.2g %% of the segments are retransmitted",
				 100 * f->lost);
		if (is_known_number(v->light_lost))
			network_add_text(out, " (%.2g %% while the link was nearly idle)",
					 100 * v->light_lost);
		break;
	case NETWORK_LATENCY:
		if (is_latency_bound(v, f)) {
			network_add_latency(v, f, out);
			break;
		}
		network_add_text(
			out,
			"Reductions are slow but do not fill the link: %.0f %% of a step is "
			"waiting for them, at %s of %s: the cause is latency, CPU time, or a link "
			"that is slower than reported",
			percent, rate, link);
		break;
	case NETWORK_NO:
		network_add_text(
			out,
			"All %lld ranks are on one host, so they use no network; %.0f %% of a step "
			"is waiting for each other",
			(long long)v->ranks, percent);
		return;
	default:
		network_add_unexplained(v, f, out);
	}
	network_add_bytes(out);
}

static void network_find_answer(const struct network_evidence *v, struct network_verdict *out)
{
	struct network_cost f;

	assert(v->ranks > 1 && v->step_s > 0);
	find_reduction_cost(v, out, &f);
	if (f.is_link_wrong)
		out->link_bytes_s = NAN;
	if (!is_known_number(f.exposed_s)) {
		network_add_text(
			out,
			"Unknown whether the network is the bottleneck: the time that steps wait "
			"for reductions is missing");
		return;
	}
	out->exposed_share = fmin(f.exposed_s / v->step_s, 1);
	if (out->exposed_share >= NETWORK_MAJOR_SHARE) {
		out->answer = network_find_cause(v, &f);
		if (out->answer == NETWORK_STRAGGLER)
			network_add_straggler(v, &f, out);
		else
			network_add_cause(v, &f, out);
		return;
	}
	out->answer = out->exposed_share < NETWORK_SLIGHT_SHARE ? NETWORK_NO : NETWORK_SLIGHTLY;
	network_add_text(out, "The network is %s: %.1f %% of a step is waiting for reductions",
			 out->answer == NETWORK_NO ? "not the bottleneck"
						   : "a small part of the cost",
			 100 * out->exposed_share);
	if (v->hosts != 1)
		network_add_bytes(out);
}

void network_diagnose(const struct network_evidence *v, struct network_verdict *out)
{
	const double hosts = known_hosts(v);

	memset(out, 0, sizeof(*out));
	out->exposed_share = NAN;
	out->observed_bytes = v->observed_bytes;
	out->link_bytes_s = v->link_bytes_s > 0 ? v->link_bytes_s : NAN;
	out->predicted_bytes = network_bytes_left(v->gradient_bytes * v->wire_ratio * v->reductions,
						  (double)v->ranks, hosts);
	out->busbw_bytes_s =
		v->transfer_s > 0 ? network_busbw(v->gradient_bytes * v->wire_ratio * v->reductions,
						  (double)v->ranks, v->transfer_s)
				  : NAN;
	if (v->ranks == 1) {
		out->answer = NETWORK_NO;
		out->exposed_share = 0;
		network_add_text(out, "A single rank uses no network");
	} else if (v->ranks < 1 || !(v->step_s > 0)) {
		network_add_text(
			out, "Unknown whether the network is the bottleneck: the time of a step is "
			     "missing");
	} else {
		network_find_answer(v, out);
	}
}
