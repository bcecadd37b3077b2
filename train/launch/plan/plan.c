/* plan.c - see plan.h */
#include "train/launch/plan/plan.h"

#include <assert.h>
#include <math.h>

#include "share/base/util.h"
#include "train/common/network.h"

#define BACKWARD_SHARE	   (2 / 3.0) /* share of backward in a micro-batch */
#define MESSAGE_S	   10e-6     /* CPU time to send and receive one message */
#define MEMORY_BYTES_S	   4e9	     /* summing and copying between the ranks of one host */
#define MAX_BUCKETS	   20000
#define DEPTH		   4	 /* buckets in flight, see train/comm/reduce.c */
#define GOOD_SHARE	   0.20	 /* a smaller exposed share needs no further change */
#define WORTH		   1.1	 /* smallest speed-up that is worth advice */
#define MOST_MICROS	   65536 /* maximum of the option micro_batches */
#define SAME_STEPS_CHANGES 2	 /* the first rows of changes[] change no step but for rounding */

/*
 * Formats of train/comm/compress.h; code_s was measured for pack, add and unpack on a Zen 5 core.
 */
static const struct {
	const char *name;
	double ratio;  /* bytes on the wire for one byte of fp32 */
	double code_s; /* CPU seconds for one byte of fp32 */
} WIRES[] = {
	[PLAN_FP32] = { "fp32", 1, 0.05e-9 },
	[PLAN_BF16] = { "bf16", 1 / 2.0, 0.6e-9 },
	[PLAN_2BIT] = { "2bit", 132 / 2048.0, 1.2e-9 },
	[PLAN_1BIT] = { "1bit", 68 / 2048.0, 0.4e-9 },
	[PLAN_INT8] = { "int8", 516 / 2048.0, 1.1e-9 },
};

const char *plan_wire_name(enum plan_wire w)
{
	return (size_t)w < ARRAY_LEN(WIRES) ? WIRES[w].name : "unknown";
}

const char *plan_allreduce_name(enum plan_allreduce x)
{
	static const char *const names[] = { "direct", "ring", "tree" };

	return (size_t)x < ARRAY_LEN(names) ? names[x] : "unknown";
}

const char *plan_limit_name(enum plan_limit l)
{
	static const char *const names[] = { "compute", "link", "latency", "update" };

	return (size_t)l < ARRAY_LEN(names) ? names[l] : "unknown";
}

/* ---- one reduction ----------------------------------------------------- */

struct cost {
	double each;	/* seconds from one bucket to the next, with several in flight */
	double once;	/* additional seconds of the first bucket */
	double latency; /* part of each that depends on neither bytes nor CPU */
};

#define LEAST_SPEED 0.05 /* smallest relative speed of computing during a reduction */

/* Seconds of an all-reduce of a few bytes: a tree adds them up, and the sum comes back. */
static double small_reduce_s(const struct plan_setup *w)
{
	return w->hosts > 1 ? 2 * ceil(log2((double)w->hosts)) * w->latency_s : 0;
}

static double setup_ranks(const struct plan_setup *w)
{
	return (double)w->hosts * (double)w->ranks_per_host;
}

/* Bytes that a host sends in a reduction of this many bytes on the wire. */
static double host_sent_bytes(const struct plan_setup *w, enum plan_allreduce x, double bytes)
{
	if (w->hosts == 1)
		return 0;
	if (x == PLAN_DIRECT)
		return network_bytes_left(bytes, setup_ranks(w), (double)w->hosts);
	return x == PLAN_TREE ? 2 * bytes : network_bytes_sent(bytes, setup_ranks(w));
}

/* Measured seconds of a reduction; NAN: not measured. */
static double measured_reduce_s(const struct plan_setup *w, enum plan_allreduce x, double bytes,
				enum plan_wire wire)
{
	const struct link_curve *c = w->measured;
	double m;

	if (!c || c->hosts < 2 || w->hosts < 2 || x != PLAN_DIRECT)
		return NAN;
	m = (double)c->hosts;
	return link_curve_seconds(c, (int)wire,
				  host_sent_bytes(w, x, bytes) / network_bytes_sent(1, m));
}

/* Cost of one reduction of bytes of fp32; share 1/2: only reduce-scatter or only all-gather. */
static struct cost reduce_bytes(const struct plan_setup *w, enum plan_allreduce x, double bytes,
				enum plan_wire wire, double share)
{
	const double n = setup_ranks(w), hosts = (double)w->hosts;
	double wire_bytes = bytes * WIRES[wire].ratio, link, code = bytes * WIRES[wire].code_s;
	double seen = measured_reduce_s(w, x, bytes, wire);
	struct cost c = { 0 };

	assert(bytes >= 0 && share > 0 && share <= 1);
	if (n <= 1)
		return c;
	if (isfinite(seen)) {
		c.latency = fmin(measured_reduce_s(w, x, 0, wire), seen) * share;
		c.each = seen * share;
		return c;
	}
	if (w->hosts > 1)
		c.latency = x == PLAN_RING   ? 2 * (hosts - 1) * w->latency_s
			    : x == PLAN_TREE ? 2 * ceil(log2(hosts)) * w->latency_s
					     : 2 * w->latency_s;
	if (x == PLAN_DIRECT)
		c.latency += 2 * (n - 1) * MESSAGE_S;
	c.latency *= share;
	link = w->hosts > 1 ? host_sent_bytes(w, x, wire_bytes) / w->link_bytes_s : 0;
	if (w->ranks_per_host >
	    1) /* memory and link work at the same time: the slower one counts */
		link = fmax(link, network_bytes_sent(wire_bytes, (double)w->ranks_per_host) *
					  (double)w->ranks_per_host / MEMORY_BYTES_S);
	/* packing of one bucket overlaps with the transfer of another one */
	link *= share;
	c.once = fmin(link, code) + c.latency * (1 - 1.0 / DEPTH);
	c.latency /= DEPTH;
	c.each = fmax(link, code) + c.latency;
	return c;
}

/* ---- the exposed part -------------------------------------------------- */

struct exchange_cost {
	double transfer_s, exposed_s, latency_s;
	double control_s; /* all-reduce of the requests to the run, between two steps */
	double delay_s;	  /* delay of the computation by overlapping reductions */
};

/* Speeds of reduction and computation while they overlap, relative to their speeds alone. */
struct overlap_speeds {
	double reduce, compute; /* 0 … 1 */
};

static struct overlap_speeds overlap_speed(const struct plan_setup *w, enum plan_allreduce x)
{
	const struct link_curve *c = w->measured;
	struct overlap_speeds p = { 1, 1 };
	double alone, beside, lost;

	if (!c || !isfinite(measured_reduce_s(w, x, 0, w->wire)))
		return p;
	beside = c->beside[w->wire].seconds;
	lost = c->beside[w->wire].lost_s;
	alone = link_curve_seconds(c, (int)w->wire, c->beside[w->wire].bytes);
	if (isfinite(beside) && isfinite(lost) && isfinite(alone)) {
		p.reduce = fmin(alone / beside, 1);
		p.compute = fmax(1 - lost / beside, LEAST_SPEED);
		assert(p.reduce > 0 && p.compute <= 1);
	}
	return p;
}

/* Cost of a whole reduction of `bytes` in n buckets; once: additional time of the last bucket. */
static struct cost all_buckets_cost(const struct plan_setup *w, enum plan_allreduce x, double bytes,
				    double n, double share)
{
	struct cost c;

	if (isfinite(measured_reduce_s(w, x, bytes, w->wire))) {
		c = reduce_bytes(w, x, bytes, w->wire, share);
		c.once = c.latency;
		c.each = c.each - c.once;
		c.latency *= ceil(n / DEPTH);
		return c;
	}
	c = reduce_bytes(w, x, bytes / n, w->wire, share);
	c.each *= n;
	c.latency *= n;
	return c;
}

/* Reduce the buckets one after the other, each as soon as its gradients are ready. */
static void reduce_buckets(const struct plan_job *job, const struct plan_setup *w,
			   enum plan_allreduce x, double share, struct exchange_cost *out)
{
	const double backward = BACKWARD_SHARE * job->micro_s;
	const double bytes = 4 * job->parameters;
	const double late = 4 * fmin(job->late_parameters, job->parameters);
	const double n = fmin(fmax(ceil(bytes / w->bucket_bytes), 1), MAX_BUCKETS);
	const double size = n < MAX_BUCKETS ? fmin(w->bucket_bytes, bytes) : bytes / n;
	const struct cost c = all_buckets_cost(w, x, bytes, n, share);
	const struct overlap_speeds pace = overlap_speed(w, x);
	double now = 0, computed = 0, ended = backward, at = bytes;

	for (double k = n - 1; k >= 0; k--) {
		const double from = k * size; /* the bucket is from here to at */
		double ready = from > late ? backward * (bytes - from) / (bytes - late) : backward;
		double work = c.each * (at - from) / bytes, beside;

		at = from;
		if (computed < ready) { /* no reduction is running: wait for the gradients */
			now += ready - computed;
			computed = ready;
			ended = now;
		}
		beside = fmin(work / pace.reduce, (backward - computed) / pace.compute);
		computed += beside * pace.compute;
		now += beside;
		ended = beside > 0 ? now : ended;
		now += fmax(work - beside * pace.reduce, 0);
	}
	out->transfer_s = c.each + c.once;
	out->latency_s = c.latency;
	out->exposed_s = w->overlap ? now + c.once - ended : out->transfer_s;
	out->delay_s = w->overlap ? ended - backward : 0;
}

/* The format in which train/trainer/local_steps.c sends the moments. */
static enum plan_wire moments_wire(const struct plan_setup *w)
{
	return w->wire == PLAN_FP32 ? PLAN_FP32 : PLAN_BF16;
}

static void step_exchange_cost(const struct plan_job *job, const struct plan_setup *w,
			       enum plan_allreduce x, struct exchange_cost *out)
{
	const double small = small_reduce_s(w);
	struct cost c;

	*out = (struct exchange_cost){ 0 };
	if (setup_ranks(w) <= 1)
		return;
	if (w->local_steps > 1) { /* weights and both moments of Adam */
		struct cost m = reduce_bytes(w, x, 4 * job->parameters, moments_wire(w), 1);

		c = reduce_bytes(w, x, 4 * job->parameters, w->wire, 1);
		out->transfer_s = out->exposed_s =
			(c.each + c.once + 2 * (m.each + m.once) + small) / (double)w->local_steps;
		out->latency_s = (c.latency + 2 * m.latency) / (double)w->local_steps;
	} else {
		reduce_buckets(job, w, x, w->shard ? 0.5 : 1, out);
		if (w->shard) { /* all-gather of the new weights after the update */
			c = reduce_bytes(w, x, 4 * job->parameters, PLAN_FP32, 0.5);
			out->transfer_s += c.each + c.once;
			out->exposed_s += c.each + c.once;
			out->latency_s += c.latency;
		}
	}
	/* the sums of the loss are sent at the same time as the gradients */
	if (w->local_steps <= 1)
		out->exposed_s = fmax(out->exposed_s, small);
	out->control_s = small;
	out->transfer_s += small;
	out->latency_s += small;
}

static double step_sent_bytes(const struct plan_job *job, const struct plan_setup *w,
			      enum plan_allreduce x)
{
	const double bytes = 4 * job->parameters, ratio = WIRES[w->wire].ratio;

	if (w->local_steps > 1)
		return host_sent_bytes(w, x, bytes * (ratio + 2 * WIRES[moments_wire(w)].ratio)) /
		       (double)w->local_steps;
	if (w->shard)
		return (host_sent_bytes(w, x, bytes * ratio) + host_sent_bytes(w, x, bytes)) / 2;
	return host_sent_bytes(w, x, bytes * ratio);
}

/* ---- a step ------------------------------------------------------------ */

static enum plan_limit step_limit(const struct plan_step *s, const struct exchange_cost *x)
{
	if (s->exposed_s > fmax(s->compute_s, s->update_s) || s->exposed_share >= GOOD_SHARE)
		return x->latency_s > x->transfer_s / 2 ? PLAN_LATENCY : PLAN_LINK;
	return s->update_s > s->compute_s ? PLAN_UPDATE : PLAN_COMPUTE;
}

static double nan_if_zero(double x)
{
	return x > 0 ? x : NAN;
}

static void estimate_step(const struct plan_job *job, const struct plan_setup *w,
			  enum plan_allreduce x, struct plan_step *out)
{
	const double n = setup_ranks(w);
	struct exchange_cost moved;

	assert(w->hosts >= 1 && w->ranks_per_host >= 1 && w->wire < PLAN_N_WIRES);
	out->micro_batches = MAX(w->micro_batches, w->hosts * w->ranks_per_host);
	out->compute_s = ceil((double)out->micro_batches / n) * (job->micro_s + job->input_s);
	step_exchange_cost(job, w, x, &moved);
	out->transfer_s = moved.transfer_s;
	out->exposed_s = moved.exposed_s;
	out->compute_s += moved.delay_s;
	out->update_s = w->shard ? job->update_s / n : job->update_s;
	out->step_s = out->compute_s + out->exposed_s + out->update_s + job->other_s;
	out->exposed_share = out->exposed_s / out->step_s;
	out->sent_bytes = step_sent_bytes(job, w, x);
	out->target_tps = nan_if_zero(job->target_tokens) * (double)out->micro_batches /
			  (out->step_s + moved.control_s);
	out->hours = nan_if_zero(job->total_tokens) / out->target_tps / 3600;
	out->limit = step_limit(out, &moved);
}

void plan_step(const struct plan_job *job, const struct plan_setup *way, enum plan_allreduce x,
	       struct plan_step *out)
{
	const double exact_share = job->exact_share[way->wire];
	struct plan_setup alone = *way, exact = *way;
	struct plan_step one;

	estimate_step(job, way, x, out);
	if (exact_share > 0) {
		exact.wire = PLAN_FP32;
		estimate_step(job, &exact, x, &one);
		out->hours += exact_share * (one.hours - out->hours);
	}
	out->cost = out->hours * (double)way->hosts * nan_if_zero(job->price);
	alone.hosts = 1;
	estimate_step(job, &alone, x, &one);
	out->efficiency = (double)out->micro_batches / out->step_s /
			  ((double)way->hosts * (double)one.micro_batches / one.step_s);
}

enum plan_allreduce plan_best_allreduce(const struct plan_job *job, const struct plan_setup *way,
					struct plan_step *out)
{
	struct plan_step tree;

	plan_step(job, way, PLAN_RING, out);
	plan_step(job, way, PLAN_TREE, &tree);
	if (tree.step_s >= out->step_s)
		return PLAN_RING;
	*out = tree;
	return PLAN_TREE;
}

double plan_fit_link(const struct plan_job *job, const struct plan_setup *way, double exposed_s)
{
	double low = 1e3, high = 1e13;
	struct plan_setup w = *way;
	struct exchange_cost moved;

	for (int i = 0; i < 200; i++) {
		w.link_bytes_s = sqrt(low * high);
		step_exchange_cost(job, &w, PLAN_DIRECT, &moved);
		*(moved.exposed_s > exposed_s ? &low : &high) = w.link_bytes_s;
	}
	assert(low <= high * (1 + 1e-9)); /* bisection has converged, up to rounding */
	return low > 1.01e3 && high < 0.99e13 ? sqrt(low * high) : NAN;
}

/* ---- advice ------------------------------------------------------------ */

/* Speed of a setup in micro-batches a second. */
static double micro_batches_per_s(const struct plan_job *job, const struct plan_setup *w,
				  struct plan_step *s)
{
	estimate_step(job, w, PLAN_DIRECT, s);
	return (double)s->micro_batches / s->step_s;
}

double plan_advise_setup(const struct plan_job *job, const struct plan_setup *way, bool same_steps,
			 struct plan_setup *better)
{
	/* Each row changes the training a little more than the row before. */
	static const struct {
		enum plan_wire wire;
		int64_t micro_batches_factor, local_steps;
	} changes[] = {
		{ PLAN_FP32, 1, 1 }, { PLAN_BF16, 1, 1 }, { PLAN_BF16, 2, 1 },
		{ PLAN_BF16, 4, 1 }, { PLAN_INT8, 4, 1 }, { PLAN_2BIT, 1, 1 },
		{ PLAN_2BIT, 4, 1 }, { PLAN_1BIT, 4, 1 }, { PLAN_FP32, 1, 16 },
	};
	struct plan_step s;
	double before = micro_batches_per_s(job, way, &s), best = before;
	int64_t micro_batches = s.micro_batches;
	bool good = s.exposed_share < GOOD_SHARE;

	*better = *way;
	for (size_t i = 0; i < (same_steps ? SAME_STEPS_CHANGES : ARRAY_LEN(changes)) && !good;
	     i++) {
		struct plan_setup w = *way;
		double x;

		w.overlap = true;
		if (WIRES[changes[i].wire].ratio < WIRES[way->wire].ratio)
			w.wire = changes[i].wire;
		w.micro_batches =
			MAX(MIN(micro_batches * changes[i].micro_batches_factor, MOST_MICROS),
			    micro_batches);
		w.local_steps = MAX(way->local_steps, changes[i].local_steps);
		x = micro_batches_per_s(job, &w, &s);
		if (x > best * 1.02) {
			best = x;
			*better = w;
			good = s.exposed_share < GOOD_SHARE;
		}
	}
	if (best < before * WORTH) {
		*better = *way;
		return 1;
	}
	return best / before;
}
