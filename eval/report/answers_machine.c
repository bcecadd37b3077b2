/* answers_machine.c - answers about GPUs, network, input, stragglers and step time; answers.h */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/report/answers.h"
#include "eval/report/machine_signs.h"
#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/statistics.h"
#include "share/base/text.h"
#include "train/common/network.h"
#include "train/model/model.h"

#define BUSY_UTILISATION  0.9  /* least utilisation of a busy GPU */
#define COMPUTE_SHARE	  0.7  /* least share of a step that should be computing */
#define INPUT_SHARE	  0.1  /* of a step spent waiting for batches: above, input is slow */
#define SAVE_SHARE	  0.1  /* of the time spent on checkpoints: above, they are slow */
#define CLEAR_SHARE	  0.25 /* above, both are certain */
#define STRAGGLER_RECORDS 0.6  /* share of the records in which a straggler is slow */
#define STRAGGLER_LOST	  0.05 /* of a step: less does not matter */
#define MOST_RECORDS	  0.8
#define CPU_BUSY	  0.9 /* least use of all processors of a host that lacks some */
#define CPU_WAITS_CLEAR	  0.8
#define LEAST_RECORDS	  5
#define LEAST_SAVES	  3

/* ---- GPUs -------------------------------------------------------------- */

/* Peak of dense bf16 products (fp16 on GPUs without bf16), in FLOP/s; from NVIDIA's data sheets. */
static const struct {
	const char *name;
	double flops;
} peaks[] = {
	{ "P100", 19e12 },  { "V100", 125e12 },	 { "T4", 65e12 },   { "A100", 312e12 },
	{ "A10", 125e12 },  { "L4", 121e12 },	 { "L40", 181e12 }, { "H100", 989e12 },
	{ "H200", 989e12 }, { "B200", 2250e12 },
};

/* The peak of the longest table name within the GPU's name (L40 before L4); NAN if unknown. */
static double peak_of(const char *gpu)
{
	double flops = NAN;
	size_t longest = 0;

	for (size_t i = 0; i < ARRAY_LEN(peaks); i++)
		if (strlen(peaks[i].name) > longest && strstr(gpu, peaks[i].name)) {
			longest = strlen(peaks[i].name);
			flops = peaks[i].flops;
		}
	return flops;
}

/*
 * FLOP/s of training: each token costs 6 operations per weight (2 forward, 4 backward), in two passes with
 * R-Drop. LayerDrop skips a share of the layers; that the embeddings and the output layer remain is neglected.
 */
static double flops_done(const struct evidence *v, const struct train_point *mean)
{
	struct err ignored = { 0 };
	struct model_shape shape = { 0 };
	double source = NAN, target = NAN;

	if (isfinite(v->vocabulary)) {
		shape.vocabulary = (int32_t)CEIL_DIV((int64_t)v->vocabulary, 8) * 8;
		shape.real_vocabulary = (int32_t)v->vocabulary;
	}
	if (isfinite(v->vocabulary) && !model_shape_from_conf(&shape, &v->recipe, &ignored))
		model_product_weights(&shape, &source, &target);
	return 6 * (v->recipe.r_drop > 0 ? 2 : 1) * (1 - v->recipe.layer_drop) *
	       (mean->source_tps * source + mean->target_tps * target);
}

/* Means over the host records with GPU figures; NAN without any. */
static struct host_point gpu_means(const struct evidence *v)
{
	struct host_point m = { .gpu_util = 0, .gpu_power_w = 0, .gpu_power_limit_w = 0 };
	double util = 0, power = 0;

	for (size_t i = 0; i < v->n_host; i++) {
		const struct host_point *p = &v->host[i];

		m.gpus = MAX(m.gpus, p->gpus);
		if (p->gpus > 0 && isfinite(p->gpu_util)) {
			m.gpu_util += p->gpu_util;
			util++;
		}
		if (p->gpus > 0 && isfinite(p->gpu_power_w) && p->gpu_power_limit_w > 0) {
			m.gpu_power_w += p->gpu_power_w;
			m.gpu_power_limit_w += p->gpu_power_limit_w;
			power++;
		}
		if (*p->gpu_name)
			memcpy(m.gpu_name, p->gpu_name, sizeof(m.gpu_name));
	}
	m.gpu_util = util > 0 ? m.gpu_util / util : NAN;
	m.gpu_power_w = power > 0 ? m.gpu_power_w / power : NAN;
	m.gpu_power_limit_w = power > 0 ? m.gpu_power_limit_w / power : NAN;
	return m;
}

static void judge_gpus(struct answer *a, const struct evidence *v)
{
	const struct host_point gpu = gpu_means(v);
	const struct train_point mean = answer_steady_means(v);
	double share = mean.compute_s / mean.step_s;
	double mfu = flops_done(v, &mean) / (peak_of(gpu.gpu_name) * v->ranks);

	answer_add_fact(a, "share of a step spent computing", share, "share");
	answer_add_fact(a, "FLOP/s, all ranks", flops_done(v, &mean), "FLOP/s");
	if (gpu.gpus < 1) {
		a->is_inapplicable = !strcmp(v->backend, "cpu") || !strcmp(v->backend, "ref");
		answer_open(a, "%s.",
			    !strcmp(v->backend, "cpu")
				    ? "No GPU took part: the run computed on the CPU"
				    : "No GPU took part, or no host record describes a GPU");
		return;
	}
	answer_add_text(a, "GPU", "%s", gpu.gpu_name);
	answer_add_fact(a, "utilisation", gpu.gpu_util, "share");
	answer_add_fact(a, "power", gpu.gpu_power_w, "W");
	answer_add_fact(a, "power limit", gpu.gpu_power_limit_w, "W");
	answer_add_fact(a, "model FLOP utilisation", mfu, "share");
	if (!isfinite(share) || !isfinite(gpu.gpu_util)) {
		answer_open(a, "The journal lacks the utilisation of the GPUs or the compute time "
			       "of a step.");
		return;
	}
	a->verdict = share >= COMPUTE_SHARE && gpu.gpu_util >= BUSY_UTILISATION ? VERDICT_YES
										: VERDICT_NO;
	if (a->verdict == VERDICT_NO && gpu.gpu_util >= BUSY_UTILISATION)
		answer_append(
			a,
			"nvidia-smi would show %.0f %% utilisation, but only %.0f %% of a step was "
			"computing: a GPU that waits in an all-reduce counts as busy",
			100 * gpu.gpu_util, 100 * share);
	else
		answer_append(a, "The GPUs were %.0f %% busy, and %.0f %% of a step was computing",
			      100 * gpu.gpu_util, 100 * share);
	if (isfinite(mfu))
		answer_append(a, ". Training reached %.1f %% of the peak FLOP/s", 100 * mfu);
	answer_append(a, ".");
}

void answer_gpus_used(struct answer *a, const struct evidence *v)
{
	judge_gpus(a, v);
	a->confidence = CONFIDENCE_UNSTATED; /* there is no rule for it */
}

/* ---- the network ------------------------------------------------------- */

/*
 * Bytes sent for each byte of fp32 gradients, by the records: they count the steps before compression
 * and whatever else a step sends. Logs of other programs do not say it: fp32.
 */
static double wire_ratio(const struct evidence *v, double sent_bytes)
{
	if (!(sent_bytes > 0))
		return 1;
	return sent_bytes * (double)MAX(v->recipe.local_steps, 1) /
	       network_bytes_sent(v->parameters * sizeof(float), v->ranks);
}

/* Of two speeds that may be unknown, 0 or NAN. */
static double smaller_speed(double a, double b)
{
	return a > 0 && b > 0 ? fmin(a, b) : a > 0 ? a : b;
}

static int gather_network_evidence(struct network_evidence *n, const struct evidence *v,
				   struct err *e)
{
	const struct train_point mean = answer_steady_means(v);
	struct traffic_signs busiest;

	if (find_traffic_signs(&busiest, v, mean.step_s, e))
		return e->code;
	*n = (struct network_evidence){
		.ranks = isfinite(v->ranks) ? (int64_t)v->ranks : 0,
		.hosts = (int64_t)v->hosts,
		.step_s = mean.step_s,
		.compute_s = mean.compute_s,
		.exposed_s = mean.exposed_s,
		.wait_s = mean.wait_s,
		.gradient_bytes = v->parameters * sizeof(float),
		.wire_ratio = wire_ratio(v, mean.sent_bytes),
		.reductions = 1.0 / (double)MAX(v->recipe.local_steps, 1),
		.observed_bytes = busiest.sent_bytes,
		/* the speed of a network card is an upper bound of what was measured */
		.link_bytes_s = smaller_speed(busiest.link_bytes_s, v->link.bytes_s),
		.latency_s = v->link.latency_s,
		.buckets = 1, /* at least */
		.light_lost = v->link.lost,
		.retransmits_s = busiest.retransmits_s,
		.transfer_s = NAN,
		.slowest_share = NAN,
		.slowest_rank = -1,
	};
	return 0;
}

/* What to do about a slow network, by its cause. */
static const char *network_remedy(enum network_answer cause)
{
	switch (cause) {
	case NETWORK_LINK:
		return " Gradient compression (wire = bf16, int8), more micro_batches a step or "
		       "local_steps send less.";
	case NETWORK_LATENCY:
		return " More micro_batches a step or local_steps reduce less often.";
	case NETWORK_LOSS:
		return " Check cables and switches; gradient compression (wire) and more "
		       "micro_batches a step send less.";
	default:
		return "";
	}
}

static void judge_network(struct answer *a, const struct network_evidence *n,
			  const struct network_verdict *found)
{
	const char *remedy = network_remedy(found->answer);
	const bool is_yes = *remedy != 0;

	/* runs that did not measure their network: the cause is open, the waiting is not */
	if (found->answer == NETWORK_UNKNOWN && n->ranks > 1 && isnan(n->latency_s) &&
	    !(n->link_bytes_s > 0) && found->exposed_share >= NETWORK_MAJOR_SHARE)
		answer_yes(a, false, "%s.", found->text);
	else if (found->answer == NETWORK_UNKNOWN)
		answer_open(a, "%s.", found->text);
	else if (n->ranks == 1)
		answer_no(a, CLEAR, "%s.", found->text);
	else if (is_yes)
		answer_yes(a, found->exposed_share > 2 * NETWORK_MAJOR_SHARE, "%s.%s", found->text,
			   remedy);
	else
		answer_no(a, found->exposed_share < NETWORK_SLIGHT_SHARE, "%s.", found->text);
}

/* Is one rank slow all the time, by more than the noise of the records? */
static bool is_straggler(const struct straggler_signs *s)
{
	return s->records >= LEAST_RECORDS && s->slow_share > STRAGGLER_RECORDS &&
	       s->lost_share * s->lost_least_s > STRAGGLER_LOST * s->lost_s;
}

/* The network, with the slowest rank that the whole run shows. */
static int diagnose_network(struct network_evidence *n, struct network_verdict *found,
			    const struct straggler_signs *slowest, const struct evidence *v,
			    struct err *e)
{
	if (gather_network_evidence(n, v, e))
		return e->code;
	if (slowest->records >= LEAST_RECORDS)
		n->slowest_share = is_straggler(slowest) ? slowest->ratio : 1;
	if (is_straggler(slowest))
		n->slowest_rank = (int32_t)slowest->rank;
	network_diagnose(n, found);
	return 0;
}

int answer_network_bound(struct answer *a, const struct evidence *v, struct err *e)
{
	struct network_evidence n;
	struct straggler_signs slowest;
	struct network_verdict found;

	if (find_straggler_signs(&slowest, v, e) || diagnose_network(&n, &found, &slowest, v, e))
		return e->code;
	a->is_inapplicable = n.ranks == 1;
	answer_add_fact(a, "ranks", (double)n.ranks, "");
	answer_add_fact(a, "hosts", n.hosts > 0 ? (double)n.hosts : NAN, "");
	answer_add_fact(a, "step", n.step_s, "s");
	answer_add_fact(a, "computing", n.compute_s, "s");
	answer_add_fact(a, "share of a step spent waiting for reductions", found.exposed_share,
			"share");
	answer_add_fact(a, "gradient size", n.gradient_bytes, "bytes");
	answer_add_fact(a, "bytes per step and host, predicted", found.predicted_bytes, "bytes");
	answer_add_fact(a, "bytes per step and host, observed", found.observed_bytes, "bytes");
	answer_add_fact(a, "link speed", n.link_bytes_s, "bytes/s");
	answer_add_fact(a, "latency between hosts", n.latency_s, "s");
	answer_add_fact(a, "retransmitted TCP segments", n.retransmits_s, "1/s");
	judge_network(a, &n, &found);
	return 0;
}

/* ---- input and checkpoints --------------------------------------------- */

void answer_input_bound(struct answer *a, const struct evidence *v)
{
	struct input_signs s;

	find_input_signs(&s, v);
	answer_add_fact(a, "waiting for a batch", s.input_s, "s");
	answer_add_fact(a, "share of a step spent waiting for a batch", s.share, "share");
	answer_add_fact(a, "share of the records with more than 10 % of waiting", s.slow_share,
			"share");
	if (s.records < LEAST_RECORDS)
		answer_open(a,
			    "%zu records say how long steps waited for batches; at least %d are "
			    "needed.",
			    s.records, LEAST_RECORDS);
	else if (s.share > INPUT_SHARE)
		answer_yes(a, s.share > CLEAR_SHARE && s.slow_share > MOST_RECORDS,
			   "The trainer spent %.0f %% of a step waiting for the next batch; a "
			   "faster disk or more processors for the loader would help.",
			   100 * s.share);
	else
		answer_no(a, s.share < INPUT_SHARE / 2,
			  "The trainer spent %.1f %% of a step waiting for the next batch.",
			  100 * s.share);
}

static void judge_cpu(struct answer *a, const struct cpu_signs *s)
{
	if (s->waits > SIGNS_CPU_WAITS && !(s->busy < CPU_BUSY))
		answer_yes(
			a, s->waits > CPU_WAITS_CLEAR && s->slow_share > MOST_RECORDS,
			"On host %s, some task waited for a processor in %.0f %% of the time: "
			"training shares the processors with other programs, or runs more threads "
			"than there are processors. Stop the other programs, or set fewer threads.",
			s->host, 100 * s->waits);
	else if (s->waits > SIGNS_CPU_WAITS)
		answer_no(a, LIKELY,
			  "On host %s, some task waited for a processor in %.0f %% of the time, "
			  "but %.0f %% of the processors were free on average.",
			  s->host, 100 * s->waits, 100 * (1 - s->busy));
	else
		answer_no(a, s->waits < SIGNS_CPU_WAITS / 2,
			  "Some task waited for a processor in %.0f %% of the time, on the host "
			  "where tasks waited most.",
			  100 * s->waits);
}

int answer_cpu_starved(struct answer *a, const struct evidence *v, struct err *e)
{
	struct cpu_signs s;

	if (find_cpu_signs(&s, v, e))
		return e->code;
	if (*s.host)
		answer_add_text(a, "host that waits most", "%s", s.host);
	answer_add_fact(a, "some task waits for a processor", s.waits, "share");
	answer_add_fact(a, "share of the records with more than 50 % of waiting", s.slow_share,
			"share");
	answer_add_fact(a, "use of all processors", s.busy, "share");
	if (s.records < LEAST_RECORDS)
		answer_open(a,
			    "%zu host record%s say how long tasks waited for a processor; at least "
			    "%d are needed (Linux counts this in /proc/pressure/cpu).",
			    s.records, text_plural((double)s.records), LEAST_RECORDS);
	else
		judge_cpu(a, &s);
	return 0;
}

void answer_checkpoint_bound(struct answer *a, const struct evidence *v)
{
	struct save_signs s;
	char text[3][ANSWER_TEXT];

	find_save_signs(&s, v);
	answer_add_fact(a, "checkpoints", (double)s.saves, "");
	answer_add_fact(a, "saving a checkpoint", s.seconds, "s");
	answer_add_fact(a, "size of a checkpoint", s.bytes, "bytes");
	answer_add_fact(a, "speed", s.bytes / s.seconds, "bytes/s");
	answer_add_fact(a, "share of the time of steps and checkpoints", s.share, "share");
	answer_seconds(text[0], s.seconds);
	answer_bytes(text[1], s.bytes);
	answer_bytes(text[2], s.bytes / s.seconds);
	if (s.saves < LEAST_SAVES || isnan(s.share))
		answer_open(a,
			    "The journal records %zu checkpoint%s and %.3g s of steps; at least %d "
			    "checkpoints with their seconds are needed.",
			    s.saves, text_plural(s.saves), s.step_seconds, LEAST_SAVES);
	else if (s.share > SAVE_SHARE)
		answer_yes(a, s.share > CLEAR_SHARE,
			   "Checkpoints took %.0f %% of the time of steps and checkpoints: each "
			   "takes %s for %s (%s/s). Save less often (save_every, eval_every), or "
			   "use a faster disk.",
			   100 * s.share, text[0], text[1], text[2]);
	else
		answer_no(a, s.share < SAVE_SHARE / 2,
			  "Checkpoints took %.1f %% of the time of steps and checkpoints: each "
			  "takes %s for %s.",
			  100 * s.share, text[0], text[1]);
}

/* ---- stragglers -------------------------------------------------------- */

/* waits: the diagnosis of the network says that ranks wait for the slowest; else NULL. */
static void judge_straggler(struct answer *a, const struct straggler_signs *s,
			    const struct network_verdict *waits)
{
	const bool has_host = *s->host != 0;
	char text[ANSWER_TEXT];

	if (is_straggler(s))
		answer_yes(a,
			   s->records >= 2 * LEAST_RECORDS && s->slow_share > MOST_RECORDS &&
				   s->lost_share > 2 * STRAGGLER_LOST,
			   "Rank %s%s%s works %.2f times as long as the other ranks, which loses "
			   "%s of each step (%.0f %%); it was slow in %.0f %% of %zu records. "
			   "Check other programs, clock rate and temperature of its host, or leave "
			   "the host out.",
			   COUNT_TEXT(s->rank), has_host ? " on host " : "", s->host, s->ratio,
			   answer_seconds(text, s->lost_s), 100 * s->lost_share,
			   100 * s->slow_share, s->records);
	else
		answer_no(a,
			  s->slow_share < STRAGGLER_RECORDS / 2 &&
				  s->lost_share < 2 * STRAGGLER_LOST && !waits,
			  "No rank is slow all the time: rank %s loses most, %.0f %% of a step, "
			  "and worked more than %.1f times as long as the others in %.0f %% of %zu "
			  "records.",
			  COUNT_TEXT(s->rank), 100 * s->lost_share, SIGNS_SLOW_RATIO,
			  100 * s->slow_share, s->records);
	if (waits && a->verdict == VERDICT_NO)
		answer_append(a, " %s.", waits->text);
}

int answer_stragglers(struct answer *a, const struct evidence *v, struct err *e)
{
	struct network_evidence n;
	struct network_verdict found;
	struct straggler_signs s;

	if (find_straggler_signs(&s, v, e) || diagnose_network(&n, &found, &s, v, e))
		return e->code;
	answer_add_fact(a, "steps with records of several ranks", (double)s.records, "");
	if (isfinite(v->ranks) && v->ranks == 1) {
		a->is_inapplicable = true;
		answer_no(a, CLEAR, "Only one rank trained.");
		return 0;
	}
	answer_add_fact(a, "slowest rank", s.rank, "");
	if (*s.host)
		answer_add_text(a, "its host", "%s", s.host);
	answer_add_fact(a, "its work, relative to the other ranks", s.ratio, "");
	answer_add_fact(a, "share of the records in which it was slow", s.slow_share, "share");
	answer_add_fact(a, "lost by it in a step", s.lost_s, "s");
	answer_add_fact(a, "lost by it in a step, less two standard errors", s.lost_least_s, "s");
	answer_add_fact(a, "share of a step lost by it", s.lost_share, "share");
	if (s.records < LEAST_RECORDS || isnan(s.lost_share))
		answer_open(a,
			    "%zu steps have records of several ranks; at least %d are needed "
			    "(telemetry_every sets the seconds between records).",
			    s.records, LEAST_RECORDS);
	else
		judge_straggler(a, &s, found.answer == NETWORK_STRAGGLER ? &found : NULL);
	return 0;
}

/* ---- the time of a step ------------------------------------------------ */

void answer_step_time(struct answer *a, const struct evidence *v)
{
	const struct evidence_series *c = &a->curves[0].points; /* seconds of each step */
	const struct train_point mean = answer_steady_means(v);
	char text[3][ANSWER_TEXT];

	if (!a->n_curves) {
		answer_open(a, "The journal records no step time.");
		return;
	}
	answer_add_fact(a, "mean", stat_mean(c->y, c->n), "s");
	answer_add_fact(a, "median", stat_median(c->y, c->n), "s");
	answer_add_fact(a, "95th percentile", stat_quantile(c->y, c->n, 0.95), "s");
	answer_add_fact(a, "source tokens per second, all ranks", mean.source_tps, "tokens/s");
	answer_add_fact(a, "target tokens per second, all ranks", mean.target_tps, "tokens/s");
	answer_add_fact(a, "waiting for a batch", mean.input_s, "s");
	answer_add_fact(a, "computing", mean.compute_s, "s");
	answer_add_fact(a, "waiting for reductions", mean.exposed_s, "s");
	answer_add_fact(a, "updating", mean.update_s, "s");
	answer_append(a,
		      "One step (one update over all ranks) takes %s on average and %s in the "
		      "median; 95 %% of the steps take less than %s. Training processes %s target "
		      "tokens per second.",
		      answer_seconds(text[0], stat_mean(c->y, c->n)),
		      answer_seconds(text[1], stat_median(c->y, c->n)),
		      answer_seconds(text[2], stat_quantile(c->y, c->n, 0.95)),
		      COUNT_TEXT(mean.target_tps));
}

/* ---- step time against the network ------------------------------------- */

/* Pairs the step time of each train record with the highest host rate of the 5 s after it. */
static size_t pair_step_and_rate(const struct evidence *v, double *step_s, double *rate)
{
	size_t n = 0, h = 0;

	for (size_t i = 0; i < v->n_train; i++) {
		double most = NAN;

		while (h < v->n_host && v->host[h].t < v->train[i].t)
			h++;
		for (size_t k = h; k < v->n_host && v->host[k].t - v->train[i].t < 5; k++)
			if (!(v->host[k].tx_bytes_s <= most))
				most = v->host[k].tx_bytes_s;
		if (!isfinite(most) || !isfinite(v->train[i].step_s))
			continue;
		step_s[n] = v->train[i].step_s;
		rate[n++] = most;
	}
	return n;
}

int answer_correlation(struct answer *a, const struct evidence *v, struct err *e)
{
	struct network_evidence seen;
	struct network_verdict found;
	double *x, r;
	size_t n;
	char bytes[2][ANSWER_TEXT];

	if (gather_network_evidence(&seen, v, e) ||
	    !(x = mem_alloc(MAX(v->n_train, 1), 2 * sizeof(*x), e)))
		return e->code;
	n = pair_step_and_rate(v, x, x + v->n_train);
	r = stat_correlation(x, x + v->n_train, n);
	network_diagnose(&seen, &found);
	answer_add_fact(a, "records with step time and network rate", (double)n, "");
	answer_add_fact(a, "Pearson's r of step time and network rate", r, "");
	answer_add_fact(a, "bytes per step and host, predicted", found.predicted_bytes, "bytes");
	answer_add_fact(a, "bytes per step and host, observed", found.observed_bytes, "bytes");
	a->is_inapplicable = v->ranks == 1;
	if (a->is_inapplicable)
		answer_append(a, "Only one rank trained: its steps send no data.");
	else if (n < 8 || !isfinite(r))
		answer_open(a,
			    "%zu records hold both a step time and a network rate; at least 8 with "
			    "different values are needed.",
			    n);
	else
		answer_append(a,
			      "%s (Pearson's r = %.2f). Each host should send %s per step; %s were "
			      "observed.",
			      r < -0.5	? "The network carries less during slow steps"
			      : r > 0.5 ? "The network carries more during slow steps"
					: "The step time hardly depends on the network rate",
			      r, answer_bytes(bytes[0], found.predicted_bytes),
			      answer_bytes(bytes[1], found.observed_bytes));
	free(x);
	return 0;
}
