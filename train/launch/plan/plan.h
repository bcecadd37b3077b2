/*
 * plan.h - how long a step takes on other hosts, links and ways to reduce: arithmetic only.
 *
 * A step of n ranks with A micro-batches (micro-batch i is rank i mod n's):
 *
 *	compute	ceil(A/n) * (micro + input), and by how much reductions beside it delay it
 *	exposed	what the reduction lasts beyond the end of backward. With local_steps the average of
 *		the weights (as wire says) and of both moments (fp32 or bf16), every so many steps.
 *	update	norm and optimizer; 1/n of the latter with shard_optimizer
 *
 * A reduction of S bytes as fp32, w of each on the wire, over links of B bytes/s, latency a:
 *
 *	direct	2 a + 2 (n-1) o + 2 (n-1)/n w S/B	each rank sends each other one its part and
 *							gets the sums back (train/comm/reduce.h)
 *	ring	2 (n-1) a + 2 (n-1)/n w S/B
 *	tree	2 ceil(log2 n) a + 2 w S/B
 *
 * for each bucket; o is what one message costs a processor. A few buckets are under way at a time,
 * so latencies overlap, and what packs and sums the bytes works while others travel: the slower of
 * both counts. Several ranks of one host share its link (network_bytes_left()).
 *
 * Where "hosts bandwidth" has measured our own reductions (way.measured), direct is T(S n'/m'): T
 * the curve measured with m hosts, n' = (n-1)/n, m' = (m-1)/m: the size at which a host there sends
 * as much as one here. So packing, summing, messages, waiting and what short bursts get of a link
 * are in it as they are.
 *
 * With overlap_reduce, buckets (as train/comm/buckets.h cuts them: the first is what is left over) follow
 * each other, each not before its gradients are ready: those of the arena from its end, evenly
 * through the backward of the last micro-batch, b = 2/3 micro; those of the embedding (tied with the
 * output) at its end. Each takes its share of T(S), and what comes last T(0), a reduction of next to
 * nothing, more. A reduction that takes T alone, T' beside computing, and delays that by L, goes on
 * at u = T/T' of its speed and leaves computing v = max(1 - L/T', 0.05) of its own; both are 1
 * where that was not measured.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_PLAN_PLAN_H
#define WERKBANK_TRAIN_LAUNCH_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "train/common/linkfile.h"

/* As the choices of --wire, and the forms of linkfile.h. */
enum plan_wire { PLAN_FP32, PLAN_BF16, PLAN_2BIT, PLAN_1BIT, PLAN_N_WIRES };

enum plan_allreduce { PLAN_DIRECT, PLAN_RING, PLAN_TREE, PLAN_N_ALLREDUCES };

enum plan_limit { PLAN_COMPUTE, PLAN_LINK, PLAN_LATENCY, PLAN_UPDATE };

/* What a training costs wherever it runs; seconds of one rank. */
struct plan_job {
	double micro_s;	 /* forward and backward of one micro-batch */
	double input_s;	 /* waiting for one micro-batch */
	double update_s; /* norm and optimizer on all weights, a step */
	double other_s;	 /* of a step, in none of these */
	double parameters;
	double late_parameters; /* whose gradient is ready only when backward ends */
	double target_tokens;	/* of one micro-batch; 0: unknown */
	double total_tokens;	/* of the whole training; 0: unknown */
	double price;		/* of a host for an hour; 0: unknown */
};

struct plan_setup {
	int64_t hosts, ranks_per_host;
	double link_bytes_s; /* payload, one direction */
	double latency_s;
	const struct link_curve *measured; /* on this link; borrowed; NULL: was not */
	enum plan_wire wire;
	int64_t micro_batches; /* fewer than the ranks: as many as the ranks */
	int64_t local_steps;
	bool overlap, shard;
	double bucket_bytes; /* as fp32 */
};

/* A number that cannot be known is NAN. */
struct plan_step {
	double compute_s, transfer_s, exposed_s, update_s, step_s;
	double exposed_share;
	double sent_bytes; /* by each host in a step */
	double efficiency; /* tokens/s over hosts times those of one host with as many ranks */
	double target_tps;
	double hours, cost;    /* of total_tokens */
	int64_t micro_batches; /* as it has to be */
	enum plan_limit limit;
};

void plan_step(const struct plan_job *job, const struct plan_setup *way,
	       enum plan_allreduce allreduce, struct plan_step *out);

/* The faster of ring and tree, its step in out. */
enum plan_allreduce plan_best_allreduce(const struct plan_job *job, const struct plan_setup *way,
					struct plan_step *out);

/*
 * The speed of the link at which a step of this way would wait exposed_s for its reductions;
 * NAN: no speed explains that (it waits less than latencies cost).
 */
double plan_fit_link(const struct plan_job *job, const struct plan_setup *way, double exposed_s);

/*
 * A better way for these hosts and this link. Gentle: the same steps, by overlap and bf16. Else
 * what changes the training as little as it can: then accumulation, 2 bits and 1 bit, local steps;
 * the first of them that leaves less than a fifth of a step exposed, else the fastest. Returns how
 * many times faster tokens go (1: nothing is worth its words; then better is the same way).
 */
double plan_advise_setup(const struct plan_job *job, const struct plan_setup *way, bool same_steps,
			 struct plan_setup *better);

const char *plan_wire_name(enum plan_wire w);
const char *plan_allreduce_name(enum plan_allreduce x);
const char *plan_limit_name(enum plan_limit l);

#endif
