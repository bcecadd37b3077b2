/* plan_run.c - see plan_run.h */
#include "train/launch/plan/plan_run.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/workspace/journal.h"
#include "share/workspace/paths.h"
#include "share/workspace/workspace_names.h"

#define MAX_RANKS 65536 /* a record with a larger rank is invalid */

enum { STEP, COMPUTE, EXPOSED, WAIT, UPDATE, INPUT, TPS, N_FIELDS };

static const char *const FIELDS[N_FIELDS] = {
	"step_s", "compute_s", "exposed_s", "wait_s", "update_s", "input_s", "target_tps",
};

struct sample_series {
	double *x; /* owned: (n) */
	size_t n, cap;
};

struct rank_samples {
	struct sample_series compute;
	char *host; /* owned; NULL: no record */
};

struct run_measurements {
	struct sample_series fields[N_FIELDS];
	struct rank_samples *ranks; /* owned */
	size_t n_ranks, cap_ranks;
	int64_t train_records;
	double latency_s; /* of the last "verdict"; NAN: not recorded */
	double started_ranks, hosts, parameters, vocabulary; /* of "start"; hosts 0: not recorded */
	/* The record of an attempt that has not trained a step yet is kept apart: a resumed run may
	 * end without one, and then the measurements of the attempt before it remain. */
	struct {
		bool is_set;
		double ranks, hosts, parameters, vocabulary;
	} next;
};

static void clear_measurements(struct run_measurements *r)
{
	for (size_t i = 0; i < r->n_ranks; i++) {
		free(r->ranks[i].host);
		free(r->ranks[i].compute.x);
	}
	r->n_ranks = 0;
	r->train_records = 0;
	for (size_t i = 0; i < N_FIELDS; i++)
		r->fields[i].n = 0;
}

static void free_measurements(struct run_measurements *r)
{
	clear_measurements(r);
	free(r->ranks);
	for (size_t i = 0; i < N_FIELDS; i++)
		free(r->fields[i].x);
}

static int add_series_value(struct sample_series *s, double x, struct err *e)
{
	if (!isfinite(x) || x < 0)
		return 0;
	if (mem_grow(&s->x, &s->cap, s->n + 1, sizeof(*s->x), e))
		return e->code;
	s->x[s->n++] = x;
	return 0;
}

static int compare_samples(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median without the first value (warm-up), if there are more; NAN: no value. Sorts the series. */
static double series_median(struct sample_series *s)
{
	double *x = s->x + (s->n > 1);
	size_t n = s->n - (s->n > 1);

	if (n == 0)
		return NAN;
	qsort(x, n, sizeof(*x), compare_samples);
	return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static int store_rank_record(struct run_measurements *r, const struct json *record, struct err *e)
{
	int64_t rank = json_integer(json_get(record, "rank"), -1);
	double compute = json_number(json_get(record, "compute_s"), NAN);
	const char *host = json_text(json_get(record, "host"), NULL);
	struct rank_samples *at;

	if (rank < 0 || rank >= MAX_RANKS || !isfinite(compute) || compute < 0 || !host)
		return 0;
	assert(!r->n_ranks || r->ranks);
	if (mem_grow(&r->ranks, &r->cap_ranks, (size_t)rank + 1, sizeof(*r->ranks), e))
		return e->code;
	while (r->n_ranks <= (size_t)rank)
		r->ranks[r->n_ranks++] = (struct rank_samples){ 0 };
	at = &r->ranks[rank];
	if (!at->host && !(at->host = mem_strdup(host, e)))
		return e->code;
	return add_series_value(&at->compute, compute, e);
}

static void begin_measuring(struct run_measurements *r)
{
	clear_measurements(r);
	r->started_ranks = r->next.ranks;
	r->hosts = r->next.hosts;
	r->parameters = r->next.parameters;
	r->vocabulary = r->next.vocabulary;
	r->next.is_set = false;
}

static int store_measurement(struct run_measurements *r, const struct json *record, struct err *e)
{
	const char *kind = json_text(json_get(record, "kind"), "");
	int rc = 0;

	if (!strcmp(kind, "start")) {
		r->next.is_set = true;
		r->next.ranks = json_number(json_get(record, "ranks"), 1);
		r->next.hosts = json_number(json_get(record, "hosts"), 0);
		r->next.parameters = json_number(json_get(record, "parameters"), 0);
		r->next.vocabulary = json_number(json_get(record, "vocabulary"), 0);
		if (!r->train_records)
			begin_measuring(r);
	} else if (!strcmp(kind, "train")) {
		if (r->next.is_set)
			begin_measuring(r);
		r->train_records++;
		for (size_t i = 0; !rc && i < N_FIELDS; i++)
			rc = add_series_value(&r->fields[i],
					      json_number(json_get(record, FIELDS[i]), NAN), e);
	} else if (!strcmp(kind, "rank") && !r->next.is_set) {
		rc = store_rank_record(r, record, e);
	} else if (!strcmp(kind, "verdict") && !r->next.is_set) {
		r->latency_s = json_number(json_get(record, "latency_s"), NAN);
	}
	return rc;
}

static int read_measurements(struct run_measurements *r, const char *path, struct err *e)
{
	struct journal_reader *in = journal_reader_open(path, e);
	const struct json *record;
	int rc = in ? 1 : e->code;

	while (rc > 0) {
		rc = journal_next(in, &record, e);
		if (rc > 0 && store_measurement(r, record, e))
			rc = e->code;
	}
	journal_reader_free(in);
	return rc;
}

/* ---- result ------------------------------------------------------------ */

/* Micro-batches of a rank in a step. */
static int64_t rank_micro_batches(int64_t micro_batches, int64_t ranks, int64_t rank)
{
	assert(ranks >= 1 && rank >= 0);
	return MAX(micro_batches / ranks + (rank < micro_batches % ranks), 1);
}

/*
 * Seconds of a micro-batch on the slowest rank, from the records "rank": the median over the
 * records of the maximum over the ranks, because the slowest rank may change. NAN: no such records.
 */
static double slowest_rank_micro_s(struct run_measurements *r, int64_t micro_batches, int64_t ranks)
{
	struct sample_series *first = r->n_ranks ? &r->ranks[0].compute : NULL;

	for (size_t k = 0; first && k < first->n; k++)
		for (size_t i = 0; i < r->n_ranks; i++) {
			const struct sample_series *s = &r->ranks[i].compute;

			if (k < s->n)
				first->x[k] =
					fmax(i ? first->x[k] : 0,
					     s->x[k] / (double)rank_micro_batches(
							       micro_batches, ranks, (int64_t)i));
		}
	return first ? series_median(first) : NAN;
}

static int64_t count_rank_hosts(const struct run_measurements *r)
{
	int64_t hosts = 0;

	for (size_t i = 0; i < r->n_ranks; i++) {
		size_t j = 0;

		if (!r->ranks[i].host)
			continue;
		while (j < i && (!r->ranks[j].host || strcmp(r->ranks[i].host, r->ranks[j].host)))
			j++;
		hosts += j == i;
	}
	return MAX(hosts, 1);
}

static double zero_if_nan(double x)
{
	return isfinite(x) ? x : 0;
}

static int compute_plan_run(struct plan_run *out, struct run_measurements *r, const struct conf *c,
			    const char *run, struct err *e)
{
	double m[N_FIELDS], micro;
	int64_t micros;

	for (size_t i = 0; i < N_FIELDS; i++)
		m[i] = series_median(&r->fields[i]);
	out->records = r->train_records - (r->train_records > 1);
	out->ranks = r->started_ranks >= 1 && r->started_ranks <= MAX_RANKS
			     ? (int64_t)r->started_ranks
			     : 1;
	out->step_s = m[STEP];
	out->exposed_s = m[EXPOSED];
	out->wait_s = m[WAIT];
	out->latency_s = r->latency_s > 0 ? r->latency_s : NAN;
	if (!(m[STEP] > 0) || !(r->parameters > 0))
		return err_set(
			e, ERR_DATA,
			"the journal of the run \"%s\" has no record of a step yet: train it "
			"longer (it writes a record every log_every = %lld steps)",
			run, (long long)c->log_every);
	micros = rank_micro_batches(c->micro_batches, out->ranks, 0);
	micro = slowest_rank_micro_s(r, c->micro_batches, out->ranks);
	if (!(micro > 0))
		micro = m[COMPUTE] / (double)micros;
	if (!(micro > 0) && out->ranks == 1) /* a single rank never waits for others */
		micro = (m[STEP] - zero_if_nan(m[UPDATE]) - zero_if_nan(m[INPUT])) / (double)micros;
	if (!(micro > 0))
		return err_set(e, ERR_DATA,
			       "the journal of the run \"%s\" lacks the compute time of its ranks "
			       "(compute_s): train it with this version, or give --compute-s and "
			       "--parameters instead",
			       run);
	plan_setup_from_conf(&out->way, c);
	out->way.hosts = r->hosts >= 1 && r->hosts <= r->started_ranks ? (int64_t)r->hosts
								       : count_rank_hosts(r);
	out->way.ranks_per_host = CEIL_DIV(out->ranks, out->way.hosts);
	assert(out->way.hosts >= 1 && out->way.ranks_per_host >= 1);
	out->job.micro_s = micro;
	out->job.update_s = zero_if_nan(m[UPDATE]) * (c->shard_optimizer ? (double)out->ranks : 1);
	out->job.input_s = zero_if_nan(m[INPUT]) / (double)micros;
	if (isfinite(m[COMPUTE]) && isfinite(m[EXPOSED]))
		out->job.other_s = fmax(m[STEP] - m[COMPUTE] - m[EXPOSED] - zero_if_nan(m[UPDATE]) -
						zero_if_nan(m[INPUT]),
					0);
	out->job.parameters = r->parameters;
	out->job.late_parameters = r->vocabulary * (double)c->d_model;
	out->job.target_tokens = zero_if_nan(m[TPS] * m[STEP] / (double)c->micro_batches);
	return 0;
}

void plan_setup_from_conf(struct plan_setup *way, const struct conf *c)
{
	way->wire = (enum plan_wire)c->wire;
	way->micro_batches = c->micro_batches;
	way->local_steps = c->local_steps;
	way->overlap = c->overlap_reduce;
	way->shard = c->shard_optimizer;
	way->bucket_bytes = c->bucket_mb * 1e6;
}

int plan_run_read(struct plan_run *out, const char *workspace, const char *run, struct conf *c,
		  struct err *e)
{
	struct run_measurements r = { 0 };
	struct conf was = { 0 }; /* options of the run, without the command line of the plan */
	char *recipe = NULL, *journal = NULL;
	int rc = paths_check_name("run", run, e);

	memset(out, 0, sizeof(*out));
	if (!rc)
		rc = conf_init(&was, e);
	if (!rc) {
		recipe = file_path(e, "%s/runs/%s/recipe.ini", workspace, run);
		journal = file_path(e, "%s/runs/%s/journal.jsonl", workspace, run);
		rc = recipe && journal ? 0 : e->code;
	}
	if (!rc && !file_exists(recipe))
		rc = workspace_unknown_run(workspace, run, e);
	if (!rc)
		rc = conf_load_recipe(&was, recipe, e);
	if (!rc)
		rc = conf_load_recipe(c, recipe, e);
	if (!rc) {
		conf_apply_size(&was);
		rc = read_measurements(&r, journal, e);
	}
	if (!rc)
		rc = compute_plan_run(out, &r, &was, run, e);
	free_measurements(&r);
	conf_free(&was);
	free(recipe);
	free(journal);
	return rc;
}
