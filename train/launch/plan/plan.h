/*
 * plan.h - predicts the time of a step for other hosts, links and reductions: arithmetic only.
 *
 * A step of n ranks with A micro-batches (micro-batch i runs on rank i mod n):
 *
 *	compute	ceil(A/n) * (micro + input), plus the delay by reductions that overlap with it
 *	exposed	time of the reduction after the end of backward. With local_steps: the average of
 *		the weights (in the format of --wire) and of both moments (fp32 or bf16), once in
 *		that many steps.
 *		At least one tiny all-reduce, that of the loss, which runs at the same time as that of the gradients.
 *	control	between two steps, a tiny all-reduce of the requests to the run: 2 ceil(log2 hosts) a.
 *		It counts for tokens/s and hours, not for the time of a step, as in the journal.
 *	update	gradient norm and optimizer; 1/n of the optimizer with shard_optimizer
 *
 * A reduction of S bytes as fp32, w bytes on the wire for each byte, over links of B bytes/s and
 * latency a:
 *
 *	direct	2 a + 2 (n-1) o + 2 (n-1)/n w S/B	each rank sends each other rank its part and
 *							receives the sums (train/comm/reduce.h)
 *	ring	2 (n-1) a + 2 (n-1)/n w S/B
 *	tree	2 ceil(log2 n) a + 2 w S/B
 *
 * for each bucket; o is the CPU time of one message. Several buckets are in flight, so their
 * latencies overlap. Packing and summing of one bucket overlaps with the transfer of another one:
 * the slower of both counts. Several ranks of one host share its link (network_bytes_left()).
 *
 * If "hosts bandwidth" has measured our reductions (setup.measured), direct is T(S n'/m'): T is the
 * curve measured with m hosts, n' = (n-1)/n, m' = (m-1)/m. This is the size at which a host of the
 * measurement sends as much as a host of the plan. So T contains packing, summing, messages, skew,
 * and the real speed of a link in short bursts.
 *
 * With overlap_reduce, the buckets are reduced one after the other, each as soon as its gradients
 * are ready (train/comm/buckets.h; the first bucket has the remainder). The gradients become ready
 * from the end of the arena to its beginning, evenly over the backward pass of the last
 * micro-batch, b = 2/3 micro; those of the embedding (tied with the output) at its end. Each
 * bucket takes its share of T(S); the last one takes T(0), the time of a tiny reduction, in
 * addition.
 *
 * A reduction that takes T alone, T' with overlap, and then delays the computation by L, runs at
 * u = T/T' of its speed and leaves the computation v = max(1 - L/T', 0.05) of its speed. Both are 1
 * if that was not measured.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_PLAN_PLAN_H
#define WERKBANK_TRAIN_LAUNCH_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "train/common/linkfile.h"

/* In the order of the values of --wire and of LINK_WIRES (linkfile.h). */
enum plan_wire { PLAN_FP32, PLAN_BF16, PLAN_2BIT, PLAN_1BIT, PLAN_INT8, PLAN_N_WIRES };

/* Algorithms of an all-reduce; Werkbank uses PLAN_DIRECT. */
enum plan_allreduce { PLAN_DIRECT, PLAN_RING, PLAN_TREE, PLAN_N_ALLREDUCES };

/* What limits the speed of a step. */
enum plan_limit { PLAN_COMPUTE, PLAN_LINK, PLAN_LATENCY, PLAN_UPDATE };

/* Costs of a training that do not depend on hosts and links; seconds of one rank. */
struct plan_job {
	double micro_s;	 /* forward and backward of one micro-batch */
	double input_s;	 /* wait for the input of one micro-batch */
	double update_s; /* gradient norm and optimizer on all weights, per step */
	double other_s;	 /* rest of a step */
	double parameters;
	double late_parameters; /* those whose gradient is ready only at the end of backward */
	double target_tokens;	/* of one micro-batch; 0: unknown */
	double total_tokens;	/* of the whole training; 0: unknown */
	/* share of the training's steps that send fp32 before compression begins, by wire */
	double exact_share[PLAN_N_WIRES];
	double price; /* of one host for one hour; 0: unknown */
};

/* Hosts, link and options of one row of a plan. */
struct plan_setup {
	int64_t hosts, ranks_per_host;
	double link_bytes_s; /* payload, one direction */
	double latency_s;
	const struct link_curve *measured; /* on this link; borrowed; NULL: not measured */
	enum plan_wire wire;
	int64_t micro_batches; /* micro-batches of a step; at least one for each rank is assumed */
	int64_t local_steps;
	bool overlap, shard;
	double bucket_bytes; /* of fp32 gradients */
};

/* The prediction for one setup; an unknown number is NAN. */
struct plan_step {
	double compute_s, transfer_s, exposed_s, update_s, step_s;
	double exposed_share;
	double sent_bytes;     /* by each host in a step */
	double efficiency;     /* tokens/s, divided by hosts and by the tokens/s of one such host */
	double target_tps;     /* target tokens a second */
	double hours, cost;    /* for total_tokens, with the steps before compression */
	int64_t micro_batches; /* at least one micro-batch for each rank */
	enum plan_limit limit;
};

void plan_step(const struct plan_job *job, const struct plan_setup *way,
	       enum plan_allreduce allreduce, struct plan_step *out);

/* The faster one of ring and tree; out: its step. */
enum plan_allreduce plan_best_allreduce(const struct plan_job *job, const struct plan_setup *way,
					struct plan_step *out);

/*
 * Bytes/s of the link at which a step of this setup has exposed_s of exposed reductions. NAN: no
 * speed gives that time, for example because the latencies alone take longer.
 */
double plan_fit_link(const struct plan_job *job, const struct plan_setup *way, double exposed_s);

/*
 * Find better options for these hosts and this link. same_steps: only overlap and bf16, which keep
 * the steps the same. Else also options that change the training, in this order: accumulation,
 * 2 bit and 1 bit, local steps. Chooses the first option that leaves less than a fifth of a step
 * exposed, else the fastest. Returns the speed-up in tokens/s; 1: no option is worth it, and better
 * equals way.
 */
double plan_advise_setup(const struct plan_job *job, const struct plan_setup *way, bool same_steps,
			 struct plan_setup *better);

const char *plan_wire_name(enum plan_wire w);
const char *plan_allreduce_name(enum plan_allreduce x);
const char *plan_limit_name(enum plan_limit l);

#endif
