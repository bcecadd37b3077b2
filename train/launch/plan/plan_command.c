/* plan_command.c - see plan_command.h */
#include "train/launch/plan/plan_command.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "share/workspace/paths.h"
#include "train/common/linkfile.h"
#include "train/common/network.h"
#include "train/launch/plan/plan.h"
#include "train/launch/plan/plan_grid.h"
#include "train/launch/plan/plan_run.h"

#define USUAL_LATENCY_S 50e-6 /* Ethernet within one room */
#define TIED_SHARE	0.3   /* assumed share of the embedding in the parameters */

/* Where the link speed comes from; LINK_FITTED: from the exposed time of a run. */
enum link_origin { LINK_GIVEN, LINK_MEASURED, LINK_FITTED, LINK_ASSUMED };

struct plan {
	struct conf *conf; /* borrowed */
	struct plan_job job;
	struct plan_setup base; /* setup of options that no list varies */
	struct plan_grid grid;
	struct plan_run run;	 /* zeroed without --run */
	struct link_curve curve; /* measured times of reductions */
	enum link_origin link_origin;
};

/* ---- input -------------------------------------------------------------- */

static int read_plan_job(struct plan *p, const char *workspace, struct err *e)
{
	struct conf *c = p->conf;

	if (c->run && plan_run_read(&p->run, workspace, c->run, c, e))
		return e->code;
	p->job = p->run.job;
	p->base = p->run.way;
	plan_setup_from_conf(&p->base, c);
	if (!c->run) {
		if (c->parameters == 0 || c->compute_s <= 0)
			return err_set(e, ERR_USAGE,
				       "give --run NAME of a trained run, or --parameters N and "
				       "--compute-s SECONDS");
		p->base.hosts = p->base.ranks_per_host = 1;
	}
	if (c->parameters > 0) {
		p->job.late_parameters =
			c->run ? p->job.late_parameters / p->job.parameters * (double)c->parameters
			       : TIED_SHARE * (double)c->parameters;
		p->job.parameters = (double)c->parameters;
	}
	if (c->compute_s > 0)
		p->job.micro_s = c->compute_s;
	if (c->target_tokens > 0)
		p->job.target_tokens = c->target_tokens;
	p->job.total_tokens = p->job.target_tokens *
			      (double)(c->run ? p->run.way.micro_batches : c->micro_batches) *
			      (double)c->steps;
	for (int64_t i = 0; i < PLAN_N_WIRES && c->steps > 0; i++)
		p->job.exact_share[i] =
			fmin((double)network_exact_steps(c, i) / (double)c->steps, 1);
	p->job.price = c->price;
	return 0;
}

static void assume_plan_links(struct plan *p)
{
	static const double speeds[] = { 100e6 / 8, 1e9 / 8, 10e9 / 8, 100e9 / 8 };

	for (; p->grid.n_links < ARRAY_LEN(speeds); p->grid.n_links++)
		p->grid.links[p->grid.n_links] = speeds[p->grid.n_links] * PLAN_PAYLOAD;
	p->link_origin = LINK_ASSUMED;
}

static int find_plan_link(struct plan *p, const char *workspace, struct err *e)
{
	struct link_speed seen;
	double fitted = NAN;

	if (linkfile_read(&seen, workspace, e))
		return e->code;
	p->base.latency_s = p->conf->latency_us > 0    ? p->conf->latency_us * 1e-6
			    : isfinite(seen.latency_s) ? seen.latency_s
			    : p->run.latency_s > 0     ? p->run.latency_s
						       : USUAL_LATENCY_S;
	if (p->grid.n_links)
		return 0;
	p->link_origin = LINK_MEASURED;
	if (!(seen.bytes_s > 0) && p->run.ranks > 1 && p->run.way.hosts > 1 &&
	    isfinite(p->run.exposed_s)) {
		double wait = isfinite(p->run.wait_s) ? p->run.wait_s : 0;

		p->run.way.latency_s = p->base.latency_s;
		fitted = plan_fit_link(&p->run.job, &p->run.way, p->run.exposed_s - wait);
		p->link_origin = LINK_FITTED;
	}
	if (linkfile_read_curve(&p->curve, workspace, e))
		return e->code;
	if (seen.bytes_s > 0)
		p->base.measured = &p->curve;
	if (seen.bytes_s > 0 || fitted > 0) {
		p->grid.payload = 1; /* a measured speed is payload already */
		p->grid.links[p->grid.n_links++] = seen.bytes_s > 0 ? seen.bytes_s : fitted;
	} else {
		assume_plan_links(p);
	}
	return 0;
}

/* ---- text -------------------------------------------------------------- */

/* "27.5 h", "3.2 d", "41 min" */
static void print_hours(struct buf *out, double hours)
{
	if (!isfinite(hours))
		buf_printf(out, "  %8s", "-");
	else if (hours < 2)
		buf_printf(out, "  %6.1f m", hours * 60);
	else if (hours < 100)
		buf_printf(out, "  %6.1f h", hours);
	else
		buf_printf(out, "  %6.0f d", hours / 24);
}

/* The nominal speed of a link, without the part in brackets. */
static void print_link_speed(struct buf *out, const struct plan *p, const struct plan_setup *w)
{
	char link[NETWORK_RATE_TEXT];

	network_rate_text(link, w->link_bytes_s / p->grid.payload);
	*strchr(link, '(') = 0;
	buf_printf(out, "%.*s", (int)strlen(link) - 1, link);
}

static void print_plan_row(struct buf *out, const struct plan *p, const struct plan_setup *w)
{
	struct plan_step s, other;
	enum plan_allreduce best = plan_best_allreduce(&p->job, w, &other);
	char link[NETWORK_RATE_TEXT];

	plan_step(&p->job, w, PLAN_DIRECT, &s);
	network_rate_text(link, w->link_bytes_s / p->grid.payload);
	*strchr(link, '(') = 0;
	buf_printf(out, "%6lld  %-12s %-4s  %6lld  %5lld  %-7s  %8.3g  %6.1f%%  %9.1f%%",
		   (long long)w->hosts, link, plan_wire_name(w->wire), (long long)s.micro_batches,
		   (long long)w->local_steps, w->overlap ? "yes" : "no", s.step_s,
		   100 * s.exposed_share, 100 * s.efficiency);
	buf_printf(out, "  %9s", COUNT_TEXT(s.target_tps));
	print_hours(out, s.hours);
	if (isfinite(s.cost))
		buf_printf(out, "  %9.2f", s.cost);
	else
		buf_printf(out, "  %9s", "-");
	buf_printf(out, "  %-7s  %s %.3g\n", plan_limit_name(s.limit),
		   w->hosts > 1 ? plan_allreduce_name(best) : "-", other.step_s);
}

static void print_plan_head(struct buf *out, const struct plan *p)
{
	static const char *const origins[] = { "as given", "as measured by hosts bandwidth",
					       "fitted to the run's waiting time", "assumed" };
	char link[NETWORK_RATE_TEXT];

	if (p->conf->run)
		buf_printf(out,
			   "run %s: %lld rank%s on %lld host%s, %.4g s a step (median of %lld "
			   "record%s)",
			   p->conf->run, (long long)p->run.ranks, text_plural(p->run.ranks),
			   (long long)p->run.way.hosts, text_plural(p->run.way.hosts),
			   p->run.step_s, (long long)p->run.records, text_plural(p->run.records));
	else
		buf_add_str(out, "numbers from the command line");
	buf_printf(out, "\n%.4g s of forward and backward per micro-batch, %.1f MB of gradients\n",
		   p->job.micro_s, 4 * p->job.parameters / 1e6);
	buf_printf(out, "links %s", origins[p->link_origin]);
	if (p->grid.payload < 1)
		buf_printf(out, ", %.0f %% of their speed is payload", 100 * p->grid.payload);
	else
		buf_printf(out, ": %s of payload", network_rate_text(link, p->grid.links[0]));
	buf_printf(out, "; latency %.0f us\n\n", p->base.latency_s * 1e6);
	buf_add_str(out, " hosts  link         wire    micro  local  overlap    step s  exposed  "
			 "efficiency   tokens/s      time       cost  limit    ring or tree, s\n");
}

/* ---- advice ------------------------------------------------------------ */

static void print_option_changes(struct buf *out, const struct plan_setup *was,
				 const struct plan_setup *is)
{
	if (is->overlap != was->overlap)
		buf_add_str(out, " --overlap-reduce");
	if (is->wire != was->wire)
		buf_printf(out, " --wire %s", plan_wire_name(is->wire));
	if (is->micro_batches != was->micro_batches)
		buf_printf(out, " --micro-batches %lld", (long long)is->micro_batches);
	if (is->local_steps != was->local_steps)
		buf_printf(out, " --local-steps %lld", (long long)is->local_steps);
}

static double micro_batch_rate(const struct plan_step *s)
{
	return (double)s->micro_batches / s->step_s;
}

/* Write a sentence of advice for one setup; nothing if the network is no problem. */
static void advise_plan_row(struct buf *out, const struct plan *p, struct plan_setup way)
{
	struct plan_setup same_steps, best, alone = way;
	struct plan_step as_is, then, one;
	double times, more;

	if (way.hosts == 1)
		return;
	alone.hosts = 1;
	plan_step(&p->job, &alone, PLAN_DIRECT, &one);
	plan_step(&p->job, &way, PLAN_DIRECT, &as_is);
	way.micro_batches = as_is.micro_batches;
	times = plan_advise_setup(&p->job, &way, true, &same_steps);
	more = plan_advise_setup(&p->job, &way, false, &best);
	plan_step(&p->job, more > times ? &best : &same_steps, PLAN_DIRECT, &then);
	if (more <= 1 && as_is.exposed_share < NETWORK_MAJOR_SHARE)
		return;
	buf_printf(out, "With %lld hosts on ", (long long)way.hosts);
	print_link_speed(out, p, &way);
	if (times > 1) {
		buf_add_str(out, " use");
		print_option_changes(out, &way, &same_steps);
		buf_printf(out, ": %.1fx faster", times);
	}
	if (more > times * 1.1) {
		buf_add_str(out, times > 1 ? "; or" : " use");
		print_option_changes(out, &way, &best);
		buf_printf(out, ": %.1fx, but that changes the training", more);
	}
	if (micro_batch_rate(&then) <= micro_batch_rate(&one))
		buf_printf(out, "%sthey train no faster than one host",
			   more > 1 ? "; even so " : " ");
	else if (more <= 1)
		buf_printf(out,
			   " %.0f %% of a step is waiting for the network, and no option "
			   "helps",
			   100 * as_is.exposed_share);
}

/* One sentence for the first row of each link and number of hosts. */
static int advise_all_rows(const struct plan *p, struct buf *out, struct json_writer *json,
			   struct err *e)
{
	size_t rows = plan_grid_row_count(&p->grid);
	size_t block = rows / (MAX(p->grid.n_links, 1) * p->grid.n_hosts);
	struct buf sentence = { 0 };

	assert(block > 0 && rows % block == 0);
	for (size_t i = 0; i < rows; i += block) {
		struct plan_setup w;

		plan_grid_row(&p->grid, i, &p->base, &w);
		buf_clear(&sentence);
		advise_plan_row(&sentence, p, w);
		if (sentence.len == 0)
			continue;
		if (json)
			json_str(json, buf_text(&sentence));
		else
			buf_printf(out, "%s.\n", buf_text(&sentence));
	}
	if (buf_check(&sentence, e))
		return e->code;
	buf_free(&sentence);
	return 0;
}

/* ---- JSON -------------------------------------------------------------- */

/* An unknown number is absent. */
static void put_finite_real(struct json_writer *w, const char *key, double x)
{
	if (!isfinite(x))
		return;
	json_put_real(w, key, x);
}

static void put_plan_row(struct json_writer *w, const struct plan *p, const struct plan_setup *way)
{
	struct plan_step s;

	plan_step(&p->job, way, PLAN_DIRECT, &s);
	json_open(w, '{');
	json_put_int(w, "hosts", way->hosts);
	json_put_int(w, "ranks", way->hosts * way->ranks_per_host);
	put_finite_real(w, "link_bytes_s", way->link_bytes_s);
	put_finite_real(w, "latency_s", way->latency_s);
	json_put_str(w, "wire", plan_wire_name(way->wire));
	json_put_int(w, "micro_batches", s.micro_batches);
	json_put_int(w, "local_steps", way->local_steps);
	json_put_bool(w, "overlap_reduce", way->overlap);
	json_put_bool(w, "shard_optimizer", way->shard);
	put_finite_real(w, "bucket_bytes", way->bucket_bytes);
	put_finite_real(w, "step_s", s.step_s);
	put_finite_real(w, "compute_s", s.compute_s);
	put_finite_real(w, "transfer_s", s.transfer_s);
	put_finite_real(w, "exposed_s", s.exposed_s);
	put_finite_real(w, "update_s", s.update_s);
	put_finite_real(w, "exposed_share", s.exposed_share);
	put_finite_real(w, "sent_bytes", s.sent_bytes);
	put_finite_real(w, "efficiency", s.efficiency);
	put_finite_real(w, "target_tps", s.target_tps);
	put_finite_real(w, "hours", s.hours);
	put_finite_real(w, "cost", s.cost);
	json_put_str(w, "limit", plan_limit_name(s.limit));
	if (way->hosts > 1) {
		json_put_str(w, "best_exchange",
			     plan_allreduce_name(plan_best_allreduce(&p->job, way, &s)));
		plan_step(&p->job, way, PLAN_RING, &s);
		put_finite_real(w, "ring_step_s", s.step_s);
		plan_step(&p->job, way, PLAN_TREE, &s);
		put_finite_real(w, "tree_step_s", s.step_s);
	}
	json_close(w, '}');
}

static void put_plan_base(struct json_writer *w, const struct plan *p)
{
	static const char *const origins[] = { "given", "measured", "fitted", "assumed" };

	json_put_open(w, "base", '{');
	if (p->conf->run) {
		json_put_str(w, "run", p->conf->run);
		json_put_int(w, "ranks", p->run.ranks);
		json_put_int(w, "hosts", p->run.way.hosts);
		put_finite_real(w, "step_s", p->run.step_s);
		put_finite_real(w, "exposed_s", p->run.exposed_s);
	}
	put_finite_real(w, "micro_s", p->job.micro_s);
	put_finite_real(w, "input_s", p->job.input_s);
	put_finite_real(w, "update_s", p->job.update_s);
	put_finite_real(w, "other_s", p->job.other_s);
	put_finite_real(w, "gradient_bytes", 4 * p->job.parameters);
	put_finite_real(w, "late_bytes", 4 * p->job.late_parameters);
	if (p->job.target_tokens > 0)
		put_finite_real(w, "target_tokens", p->job.target_tokens);
	json_put_str(w, "link", origins[p->link_origin]);
	json_close(w, '}');
}

static int print_plan_json(const struct plan *p, struct buf *out, struct err *e)
{
	struct json_writer w = { .out = out };
	struct plan_setup way;
	int rc;

	json_open(&w, '{');
	put_plan_base(&w, p);
	json_put_open(&w, "rows", '[');
	for (size_t i = 0; i < plan_grid_row_count(&p->grid); i++) {
		plan_grid_row(&p->grid, i, &p->base, &way);
		put_plan_row(&w, p, &way);
	}
	json_close(&w, ']');
	json_put_open(&w, "advice", '[');
	rc = advise_all_rows(p, out, &w, e);
	json_close(&w, ']');
	json_close(&w, '}');
	buf_add_char(out, '\n');
	return rc;
}

static int print_plan_text(const struct plan *p, struct buf *out, struct err *e)
{
	struct plan_setup way;
	size_t end;
	int rc;

	print_plan_head(out, p);
	for (size_t i = 0; i < plan_grid_row_count(&p->grid); i++) {
		plan_grid_row(&p->grid, i, &p->base, &way);
		print_plan_row(out, p, &way);
	}
	buf_add_char(out, '\n');
	end = out->len;
	rc = advise_all_rows(p, out, NULL, e);
	if (!rc && out->len == end)
		buf_add_str(out, "The network does not slow down any of these setups.\n");
	return rc;
}

int plan_command_run(struct conf *c, int *status, struct err *e)
{
	struct plan p = { .conf = c };
	struct buf out = { 0 };
	char *workspace = paths_workspace(c->workspace, e);
	int rc = workspace ? 0 : e->code;

	*status = 0;
	if (!rc)
		rc = read_plan_job(&p, workspace, e);
	if (!rc)
		rc = plan_grid_read(&p.grid, c, &p.base, e);
	if (!rc)
		rc = find_plan_link(&p, workspace, e);
	if (!rc)
		rc = c->json ? print_plan_json(&p, &out, e) : print_plan_text(&p, &out, e);
	if (!rc)
		rc = file_put_stdout(&out, e);
	buf_free(&out);
	free(workspace);
	return rc;
}
