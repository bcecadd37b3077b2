/* t_plan_net.c - predicted steps on other hosts and links: known answers and invariants */
#include "train/launch/plan/plan.h"

#include <math.h>
#include <stdio.h>

#include "share/base/util.h"
#include "tests/test.h"
#include "train/common/network.h"

/* 100 MB of gradients, 0.3 s forward and 0.6 s backward. */
static struct plan_job a_job(void)
{
	return (struct plan_job){ .micro_s = 0.9,
				  .parameters = 25e6,
				  .target_tokens = 1000,
				  .total_tokens = 3.6e9,
				  .price = 2 };
}

/* Two hosts with 100 MB/s between them, everything in one piece. */
static struct plan_setup a_way(void)
{
	return (struct plan_setup){ .hosts = 2,
				    .ranks_per_host = 1,
				    .link_bytes_s = 100e6,
				    .wire = PLAN_FP32,
				    .micro_batches = 2,
				    .local_steps = 1,
				    .overlap = true,
				    .bucket_bytes = 1e9 };
}

static struct plan_step planned(const struct plan_job *job, const struct plan_setup *way)
{
	struct plan_step s;

	plan_step(job, way, PLAN_DIRECT, &s);
	return s;
}

#define NEAR 6e-3 /* the values by hand leave out the cost of messages and packing */

TEST(plan_net_known_steps)
{
	struct plan_job job = a_job();
	struct plan_setup way = a_way();
	struct plan_step s = planned(&job, &way);

	/* 2 * 1/2 * 100 MB over 100 MB/s; a single bucket cannot overlap. */
	check_near(s.transfer_s, 1, NEAR);
	check_near(s.exposed_s, 1, NEAR);
	check_near(s.step_s, 1.9, NEAR);
	check_near(s.sent_bytes, 100e6, 1);
	check_near(s.efficiency, 0.9 / 1.9, NEAR);
	check_near(s.target_tps, 2000 / s.step_s, 1e-6);
	check_near(s.hours, 1e6 / (2000 / s.step_s), 1e-6);
	check_near(s.cost, s.hours * 4, 1e-6);
	check_int(s.limit, PLAN_LINK);
	/*
	 * Ten buckets of 0.1 s, one ready every 0.06 s: the last ends at 0.06 + 1.0, 0.46 s after
	 * backward.
	 */
	way.bucket_bytes = 10e6;
	check_near(planned(&job, &way).exposed_s, 0.46, NEAR);
	/* Four times as fast: only the last bucket ends after backward. */
	way.link_bytes_s = 400e6;
	check_near(planned(&job, &way).exposed_s, 0.025, NEAR);
	way.overlap = false;
	check_near(planned(&job, &way).exposed_s, 0.25, NEAR);
	/* Half of the gradients are ready at the end: the others end at 0.7, then 0.5 s follow. */
	way = a_way();
	way.bucket_bytes = 10e6;
	job.late_parameters = 12.5e6;
	check_near(planned(&job, &way).exposed_s, 0.7 + 0.5 - 0.6, NEAR);
}

/* The first steps of 1bit send fp32: they last as long as those of fp32. */
TEST(plan_net_steps_before_compression)
{
	struct plan_job job = a_job();
	struct plan_setup way = a_way();
	const struct plan_step fp32 = planned(&job, &way);
	struct plan_step all, half;

	way.wire = PLAN_1BIT;
	all = planned(&job, &way);
	job.exact_share[PLAN_1BIT] = 0.5;
	half = planned(&job, &way);
	check(all.hours < 0.8 * fp32.hours);
	check_near(half.step_s, all.step_s, 0);
	check_near(half.hours, (all.hours + fp32.hours) / 2, 1e-9);
	check_near(half.cost, 4 * half.hours, 1e-9);
	job.exact_share[PLAN_1BIT] = 1;
	check_near(planned(&job, &way).hours, fp32.hours, 1e-9);
}

TEST(plan_net_ways)
{
	struct plan_job job = a_job();
	struct plan_setup way = a_way();
	struct plan_step s;

	job.update_s = 0.2;
	job.input_s = 0.01;
	way.micro_batches = 5; /* three and two micro-batches */
	s = planned(&job, &way);
	check_near(s.compute_s, 3 * 0.91, 1e-9);
	check_near(s.step_s, 2.73 + 1 + 0.2, NEAR);
	way.micro_batches = 1; /* at least one for each rank is assumed */
	check_int(planned(&job, &way).micro_batches, 2);
	way.wire = PLAN_BF16;
	check_near(planned(&job, &way).sent_bytes, 50e6, 1);
	check_near(planned(&job, &way).exposed_s, 0.5, 0.07); /* packing is not free */
	way.wire = PLAN_2BIT;
	check_near(planned(&job, &way).sent_bytes, 100e6 * 132 / 2048, 1);
	way.wire = PLAN_1BIT;
	check_near(planned(&job, &way).sent_bytes, 100e6 * 68 / 2048, 1);
	way.wire = PLAN_INT8;
	check_near(planned(&job, &way).sent_bytes, 100e6 * 516 / 2048, 1);
	way.wire = PLAN_FP32;
	way.local_steps = 4; /* weights and moments, every fourth step */
	check_near(planned(&job, &way).exposed_s, 0.75, NEAR);
	check_near(planned(&job, &way).sent_bytes, 75e6, 1);
	way.local_steps = 1;
	way.shard = true;
	s = planned(&job, &way);
	check_near(s.update_s, 0.1, 1e-9);
	check_near(s.exposed_s, 1, 2 * NEAR); /* half before and half after the update */
	way.hosts = 1;
	s = planned(&job, &way);
	check_near(s.exposed_s, 0, 0);
	check_near(s.efficiency, 1, 1e-9);
	check_near(s.sent_bytes, 0, 0);
	check_int(s.limit, PLAN_COMPUTE);
}

TEST(plan_net_unknown)
{
	struct plan_job job = a_job();
	struct plan_setup way = a_way();
	struct plan_step s;

	job.target_tokens = job.total_tokens = job.price = 0;
	s = planned(&job, &way);
	check(isnan(s.target_tps) && isnan(s.hours) && isnan(s.cost));
	check_near(s.step_s, 1.9, NEAR);
}

/* The reference system: 0.33 s on one GPU, four of them 1.71 s through about 213.6 MB/s. */
TEST(plan_net_reference_system)
{
	struct plan_job job = { .micro_s = 0.33, .parameters = 60880896 };
	struct plan_setup way = { .hosts = 4,
				  .ranks_per_host = 1,
				  .link_bytes_s = 250e6 * 0.94,
				  .latency_s = 50e-6,
				  .micro_batches = 4,
				  .local_steps = 1,
				  .bucket_bytes = 64e6 };
	struct plan_step s;

	plan_step(&job, &way, PLAN_RING, &s);
	check_near(s.sent_bytes, 365.3e6, 0.03 * 365.3e6);
	check_near(s.step_s, 1.71, 0.15 * 1.71);
	/* Seed 001: three of them, 33 s through 100 Mbit/s. */
	way.hosts = way.micro_batches = 3;
	way.link_bytes_s = 12.5e6 * 0.94;
	plan_step(&job, &way, PLAN_RING, &s);
	check_near(s.sent_bytes, 324.7e6, 0.03 * 324.7e6);
	check_near(s.step_s, 33, 0.2 * 33);
}

TEST(plan_net_invariants)
{
	static const int64_t hosts[] = { 1, 2, 3, 4, 7, 8, 64, 1000, 4096 };
	struct plan_job job = a_job();
	struct plan_setup way = a_way();
	double before = 0;

	job.late_parameters = 5e6;
	way.latency_s = 50e-6;
	way.bucket_bytes = 4e6;
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		struct plan_step s, fast, slow, apart;
		struct plan_setup other;

		way.hosts = hosts[i];
		s = planned(&job, &way);
		if (s.exposed_s < before - 1e-12)
			test_fail(__FILE__, __LINE__, "%lld hosts wait less than fewer",
				  (long long)hosts[i]);
		before = s.exposed_s;
		check(s.efficiency <= 1 + 1e-9 && s.exposed_s <= s.transfer_s + 1e-12);
		other = way;
		other.link_bytes_s *= 10;
		fast = planned(&job, &other);
		other = way;
		other.wire = PLAN_BF16;
		slow = planned(&job, &other);
		other = way;
		other.overlap = false;
		apart = planned(&job, &other);
		check(fast.step_s <= s.step_s && slow.step_s <= s.step_s &&
		      apart.step_s >= s.step_s);
		for (int x = 0; x < PLAN_N_ALLREDUCES; x++) {
			struct plan_step any, best;

			plan_step(&job, &way, (enum plan_allreduce)x, &any);
			plan_best_allreduce(&job, &way, &best);
			check(x == PLAN_DIRECT || best.step_s <= any.step_s);
		}
	}
	/* A small model on very many hosts: messages count, so a tree. */
	job.parameters = 1e4;
	check_int(plan_best_allreduce(&job, &way, &(struct plan_step){ 0 }), PLAN_TREE);
}

/* 1 s for 100 MB between two hosts, fp32 alone; known from 1 KB, 1 MB and 4 MB. */
static struct link_curve a_curve(void)
{
	struct link_curve c = { .hosts = 2, .n = 3 };

	for (int w = 0; w < LINK_WIRES; w++) {
		c.points[0].seconds[w] = c.points[1].seconds[w] = c.points[2].seconds[w] = NAN;
		c.beside[w].bytes = c.beside[w].seconds = c.beside[w].lost_s = NAN;
	}
	c.points[0].bytes = 1e3;
	c.points[0].seconds[PLAN_FP32] = 1e-3;
	c.points[1].bytes = 1e6;
	c.points[1].seconds[PLAN_FP32] = 1e-2;
	c.points[2].bytes = 4e6;
	c.points[2].seconds[PLAN_FP32] = 4e-2;
	return c;
}

#define EXACT 1e-9

TEST(plan_net_measured)
{
	struct plan_job job = a_job();
	struct plan_setup way = a_way();
	struct link_curve curve = a_curve();
	struct plan_step s;

	way.measured = &curve;
	way.link_bytes_s = 1; /* not used: the curve counts */
	way.overlap = false;
	check_near(planned(&job, &way).exposed_s, 1, EXACT);
	check_near(planned(&job, &way).transfer_s, 1, EXACT);
	/* A host of four sends 3/4 where one of two sends 1/2: 150 MB. */
	way.hosts = way.micro_batches = 4;
	check_near(planned(&job, &way).exposed_s, 1.5, EXACT);
	way.hosts = way.micro_batches = 2;
	/*
	 * Reduce-scatter, then all-gather of the weights. Weights and moments, every second step.
	 */
	way.shard = true;
	check_near(planned(&job, &way).exposed_s, 1, EXACT);
	way.shard = false;
	way.local_steps = 2;
	check_near(planned(&job, &way).exposed_s, 1.5, EXACT);
	way.local_steps = 1;
	/* From 1 KB to 1 MB ten times as long for a thousand times the bytes: 27 times, 3 times. */
	job.parameters = 27e3 / 4;
	check_near(planned(&job, &way).exposed_s, 3e-3, EXACT);
	job.parameters = 1; /* never shorter than the smallest measured size */
	check_near(planned(&job, &way).exposed_s, 1e-3, EXACT);
	job = a_job();
	/* bf16 was not measured: 50 MB at 100 MB/s, as without a curve. */
	way.wire = PLAN_BF16;
	way.link_bytes_s = 100e6;
	check_near(planned(&job, &way).exposed_s, 0.5, 0.07);
	/* Nor were rings: 2 * 1/2 * 100 MB at 50 MB/s. No transfer within a host. */
	way.wire = PLAN_FP32;
	way.link_bytes_s = 50e6;
	plan_step(&job, &way, PLAN_RING, &s);
	check_near(s.exposed_s, 2, 2 * NEAR);
	way.hosts = 1;
	check_near(planned(&job, &way).exposed_s, 0, 0);
}

TEST(plan_net_overlap_measured)
{
	struct plan_job job = a_job();
	struct plan_setup way = a_way();
	struct link_curve curve = a_curve();
	struct plan_step s;

	way.measured = &curve;
	/* One bucket, and its last message. */
	check_near(planned(&job, &way).exposed_s, 1, EXACT);
	check_near(planned(&job, &way).compute_s, 0.9, EXACT);
	/* Ten of 0.0999 s, one ready every 0.06 s, and 0.001 s at the end: 0.06 + 1 - 0.6. */
	way.bucket_bytes = 10e6;
	check_near(planned(&job, &way).exposed_s, 0.46, EXACT);
	/*
	 * 20, 40, 40 MB, ready at 0.12, 0.36, 0.6: the first has ended at 0.3198, then 0.36 +
	 * 0.3996, and 0.3996 and 0.001.
	 */
	way.bucket_bytes = 40e6;
	check_near(planned(&job, &way).exposed_s, 0.36 + 2 * 0.3996 + 0.001 - 0.6, EXACT);
	/* The last 50 MB are ready only at the end: 20 MB at 0.24, the others at 0.6. */
	job.late_parameters = 12.5e6;
	check_near(planned(&job, &way).exposed_s, 2 * 0.3996 + 0.001, EXACT);
	job.late_parameters = 0;
	/*
	 * With overlap the reduction and the computation run at half of their speeds. From 0.06 on,
	 * the remaining 0.54 s of backward take 1.08 s and do 0.54 s of the 0.999 s of reductions.
	 */
	way.bucket_bytes = 10e6;
	curve.beside[PLAN_FP32].bytes = 4e6;
	curve.beside[PLAN_FP32].seconds = 0.08;
	curve.beside[PLAN_FP32].lost_s = 0.04;
	s = planned(&job, &way);
	check_near(s.exposed_s, 0.999 - 0.54 + 0.001, EXACT);
	check_near(s.compute_s, 0.9 + 0.54, EXACT);
	check_near(s.step_s, 0.9 + 0.54 + 0.46, EXACT);
	/* No overlap: as if all gradients were ready at the end; computing is not delayed. */
	curve.beside[PLAN_FP32].seconds = 1e9;
	curve.beside[PLAN_FP32].lost_s = 0;
	s = planned(&job, &way);
	check_near(s.exposed_s, 1, 1e-6);
	check_near(s.compute_s, 0.9, 1e-6);
	/*
	 * Never below a twentieth of its speed: 0.54 s take 10.8, in them all of the 0.999 s are
	 * done.
	 */
	curve.beside[PLAN_FP32].seconds = curve.beside[PLAN_FP32].lost_s = 0.04;
	s = planned(&job, &way);
	check(isfinite(s.step_s) && s.compute_s > 0.9 && s.compute_s < 0.9 + 10.8);
	way.overlap = false;
	check_near(planned(&job, &way).step_s, 1.9, EXACT);
}

TEST(plan_net_fit)
{
	struct plan_job job = a_job();
	struct plan_setup way = a_way();
	double speeds[] = { 12.5e6, 125e6, 1.25e9 };

	way.bucket_bytes = 4e6;
	way.latency_s = 1e-4;
	for (size_t i = 0; i < ARRAY_LEN(speeds); i++) {
		way.link_bytes_s = speeds[i];
		way.overlap = i < 2;
		check_near(plan_fit_link(&job, &way, planned(&job, &way).exposed_s) / speeds[i], 1,
			   1e-3);
	}
	check(isnan(plan_fit_link(&job, &way, 1e-9)));
}

TEST(plan_net_advice)
{
	struct plan_job job = a_job();
	struct plan_setup way = a_way(), better;
	double times;

	way.bucket_bytes = 4e6;
	way.overlap = false;
	way.link_bytes_s = 1e12;
	check_near(plan_advise_setup(&job, &way, false, &better), 1, 0); /* nothing to improve */
	way.link_bytes_s = 250e6; /* 0.4 s: hiding it is enough */
	times = plan_advise_setup(&job, &way, true, &better);
	check(times > 1.3 && better.overlap && better.wire == PLAN_FP32);
	way.link_bytes_s = 100e6; /* 1 s: half as many bytes are hidden */
	times = plan_advise_setup(&job, &way, true, &better);
	check(times > 1.8 && better.overlap && better.wire == PLAN_BF16);
	check_int(better.micro_batches, way.micro_batches);
	way.link_bytes_s = 5e6; /* 20 s: more than bf16 is needed */
	check(plan_advise_setup(&job, &way, false, &better) >
	      2 * plan_advise_setup(&job, &way, true, &way));
	check(better.wire >= PLAN_2BIT || better.micro_batches > 2 || better.local_steps > 1);
}
