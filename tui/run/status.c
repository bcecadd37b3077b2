/* status.c - the status of runs as text and JSON; see status.h. */
#include "tui/run/status.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "share/workspace/journal.h"
#include "share/workspace/paths.h"
#include "share/workspace/run_lease.h"
#include "share/workspace/workspace_names.h"
#include "tui/run/record_fields.h"
#include "tui/run/run_history.h"

#define STATE_MAX_BYTES (8 << 20) /* state.json names every host */
#define HOSTS_NAMED	8

/* ---- reading ---- */

/* Write the hosts of the ranks, "a, b:4 and 3 more". */
static void name_hosts(struct run_status *s, const struct json *hosts)
{
	size_t n = json_len(hosts), used = 0;

	s->n_hosts = (int64_t)n;
	for (size_t i = 0; i < n && i < HOSTS_NAMED && used < sizeof(s->hosts); i++) {
		const struct json *h = json_at(hosts, i);
		int64_t slots = json_integer(json_get(h, "slots"), 1);
		char count[24] = "";

		if (slots > 1)
			snprintf(count, sizeof(count), ":%lld", (long long)slots);
		used += (size_t)snprintf(s->hosts + used, sizeof(s->hosts) - used, "%s%.40s%s",
					 i ? ", " : "", json_text(json_get(h, "host"), "?"), count);
	}
	if (n > HOSTS_NAMED && used < sizeof(s->hosts))
		snprintf(s->hosts + used, sizeof(s->hosts) - used, " and %zu more",
			 n - HOSTS_NAMED);
}

static void read_launcher_state(struct run_status *s, const char *path)
{
	struct json *root = record_read_file(path, STATE_MAX_BYTES);

	snprintf(s->state, sizeof(s->state), "%s", json_text(json_get(root, "state"), "unknown"));
	s->pid = json_integer(json_get(root, "pid"), -1);
	s->attempt = json_integer(json_get(root, "attempt"), -1);
	s->ranks = json_integer(json_get(root, "ranks"), -1);
	s->exit = json_integer(json_get(root, "exit"), -1);
	s->started = json_number(json_get(root, "started"), NAN);
	s->restarts = json_integer(json_get(root, "restarts"), -1);
	RECORD_COPY(s->host, root, "host");
	RECORD_COPY(s->network, root, "network");
	RECORD_COPY(s->event, root, "event");
	RECORD_COPY(s->asked_by, root, "asked_by");
	name_hosts(s, json_get(root, "hosts"));
	json_free(root);
}

/* trained: seconds of training before it, without work that was lost; NaN in old records. */
static void begin_attempt(struct run_status *s, double t, double trained)
{
	if (trained >= 0)
		s->earlier_s = trained;
	else if (isfinite(s->attempt_t) && s->before_start > s->attempt_t)
		s->earlier_s += s->before_start - s->attempt_t;
	s->attempt_t = t;
	s->pace = (struct step_pace){ 0 };
	s->gpu_util = NAN;
	s->n_gpu_records = 0;
}

/* A running mean over as many records as there are hosts: each host writes its own. */
static void add_gpu_util(struct run_status *s, const struct json *gpus)
{
	size_t n = json_len(gpus), known = 0;
	double sum = 0, over;

	for (size_t i = 0; i < n; i++) {
		double util = json_number(json_get(json_at(gpus, i), "util"), NAN);

		known += isfinite(util);
		sum += isfinite(util) ? util : 0;
	}
	if (!known)
		return;
	s->n_gpu_records++;
	over = (double)MIN(s->n_gpu_records, MAX(s->n_hosts, 1));
	s->gpu_util = (isfinite(s->gpu_util) ? s->gpu_util : 0) * (1 - 1 / over) +
		      sum / (double)known / over;
}

void status_add_record(struct run_status *s, const struct json *r)
{
	const char *kind = json_text(json_get(r, "kind"), "");

	run_health_add_record(&s->health, r);
	eval_progress_add_record(&s->evaluation, r);
	s->before_start = s->latest;
	s->latest = json_number(json_get(r, "t"), s->latest);
	if (!strcmp(kind, "train") || !strcmp(kind, "eval") || !strcmp(kind, "save"))
		s->step = json_integer(json_get(r, "step"), s->step);
	if (!strcmp(kind, "start")) {
		s->end = (struct run_end){ 0 };
		*s->stop_state = 0;
		begin_attempt(s, json_number(json_get(r, "t"), NAN),
			      json_number(json_get(r, "trained_s"), NAN));
		snprintf(s->precision, sizeof(s->precision), "%.7s",
			 json_text(json_get(r, "precision"), ""));
	} else if (!strcmp(kind, "stop")) {
		run_end_read(&s->end, r);
		snprintf(s->stop_state, sizeof(s->stop_state), "%s",
			 run_state_name(run_state_by_reason(json_text(json_get(r, "reason"), ""))));
	}
	if (!strcmp(kind, "host"))
		add_gpu_util(s, json_get(r, "gpus"));
	if (!strcmp(kind, "train")) {
		step_pace_add(&s->pace, s->latest, s->step);
		s->loss = json_number(json_get(r, "loss"), NAN);
		s->nll = json_number(json_get(r, "nll"), NAN);
		s->lr = json_number(json_get(r, "lr"), NAN);
		s->source_tps = json_number(json_get(r, "source_tps"), NAN);
		s->target_tps = json_number(json_get(r, "target_tps"), NAN);
	} else if (!strcmp(kind, "event") && json_get(r, "sign")) {
		RECORD_COPY(s->warning, r, "text");
		s->warning_step = json_integer(json_get(r, "step"), -1);
	} else if (!strcmp(kind, "eval")) {
		s->bleu_change = json_number(json_get(r, "bleu"), NAN) - s->bleu;
		s->bleu = json_number(json_get(r, "bleu"), NAN);
		s->bleu_step = s->step;
		/* evaluations decode as the run trains; older records do not say it */
		snprintf(s->bleu_precision, sizeof(s->bleu_precision), "%.7s",
			 json_text(json_get(r, "precision"), s->precision));
		if (!isnan(s->bleu) && !(s->best_bleu >= s->bleu)) {
			s->best_bleu = s->bleu;
			s->best_step = s->step;
			memcpy(s->best_precision, s->bleu_precision, sizeof(s->best_precision));
		}
	}
}

static int read_status_journal(struct run_status *s, const char *path, struct err *e)
{
	struct journal_reader *r = journal_reader_open(path, e);
	const struct json *record;
	int got;

	if (!r)
		return e->code;
	while ((got = journal_next(r, &record, e)) > 0)
		status_add_record(s, record);
	journal_reader_free(r);
	return got;
}

struct run_limits status_limits(const struct run_status *s)
{
	struct run_limits limits = s->plan;

	limits.step = s->step;
	limits.exit = s->exit;
	return limits;
}

struct run_end status_get_end(const struct run_status *s)
{
	const struct run_limits limits = status_limits(s);
	struct run_end end = s->end;

	run_end_complete(&end, s->alive ? "running" : s->state, s->asked_by, &limits);
	return end;
}

/* Whether the state is one of a living launcher. */
static bool is_under_way(const char *state)
{
	static const char *const words[] = { "queued", "starting", "running", "restarting",
					     "stopping" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(state, words[i]))
			return true;
	return false;
}

void status_init(struct run_status *s, const char *name)
{
	*s = (struct run_status){ .pid = -1,
				  .restarts = -1,
				  .step = -1,
				  .plan = { .steps = -1 },
				  .bleu_step = -1,
				  .best_step = -1,
				  .warning_step = -1,
				  .latest = NAN,
				  .loss = NAN,
				  .nll = NAN,
				  .lr = NAN,
				  .source_tps = NAN,
				  .target_tps = NAN,
				  .bleu = NAN,
				  .best_bleu = NAN,
				  .bleu_change = NAN,
				  .gpu_util = NAN,
				  .attempt_t = NAN,
				  .before_start = NAN };
	snprintf(s->name, sizeof(s->name), "%s", name);
}

/* Without state.json the stop record decides. */
static void use_stop_state(struct run_status *s)
{
	if (!s->alive && *s->stop_state && !strcmp(s->state, run_state_name(RUN_UNKNOWN)))
		memcpy(s->state, s->stop_state, sizeof(s->state));
}

int status_read_files(struct run_status *s, const char *folder, struct err *e)
{
	static const char *const files[] = { "state.json", "recipe.ini" };

	s->n_hosts = 0;
	s->hosts[0] = 0;
	s->plan = (struct run_limits){ .steps = -1 };
	s->alive = run_lease_state(folder) != LOCK_FREE; /* unknown: what state.json says */
	for (int i = 0; i < 2; i++) {
		char *path = file_path(e, "%s/%s", folder, files[i]);

		if (!path)
			return e->code;
		if (i == 0)
			read_launcher_state(s, path);
		else
			history_read_plan(&s->plan, path);
		free(path);
	}
	if (!s->alive && is_under_way(s->state))
		snprintf(s->state, sizeof(s->state), "lost");
	use_stop_state(s);
	return 0;
}

int status_read(struct run_status *s, const char *workspace, const char *name, struct err *e)
{
	char *folder = file_path(e, "%s/runs/%s", workspace, name);
	char *path = folder ? file_path(e, "%s/journal.jsonl", folder) : NULL;
	int rc = path ? 0 : e->code;

	status_init(s, name);
	if (!rc)
		rc = status_read_files(s, folder, e);
	if (!rc)
		rc = read_status_journal(s, path, e);
	if (!rc)
		use_stop_state(s);
	if (!rc)
		run_health_update(&s->health, workspace, name, s->latest);
	free(path);
	free(folder);
	return rc;
}

double status_elapsed(const struct run_status *s, double now)
{
	double end = s->alive ? now : s->latest;

	return end >= s->attempt_t ? s->earlier_s + end - s->attempt_t : NAN;
}

double status_remaining(const struct run_status *s, double now)
{
	if (!s->alive)
		return NAN;
	return step_pace_left(step_pace_seconds(&s->pace), (double)s->plan.steps - (double)s->step,
			      s->plan.minutes, status_elapsed(s, now));
}

bool status_is_evaluating(const struct run_status *s, double now)
{
	return s->alive && (s->evaluation.since > 0 || status_remaining(s, now) < 0.5);
}

double status_progress(const struct run_status *s, double now)
{
	double by_steps =
		s->plan.steps > 0 && s->step >= 0 ? (double)s->step / (double)s->plan.steps : NAN;
	double by_time =
		s->plan.minutes > 0 ? status_elapsed(s, now) / (s->plan.minutes * 60) : NAN;
	double share = by_time > by_steps || isnan(by_steps) ? by_time : by_steps;

	return share > 1 ? 1 : share;
}

/* ---- showing ---- */

static void add_age(struct buf *out, double seconds)
{
	if (seconds < 120)
		buf_printf(out, "%.0f s", seconds);
	else if (seconds < 7200)
		buf_printf(out, "%.0f min", seconds / 60);
	else if (seconds < 172800)
		buf_printf(out, "%.1f h", seconds / 3600);
	else
		buf_printf(out, "%.1f days", seconds / 86400);
}

/*
 * Append ranks, hosts and attempts, unless they are the default (one rank, this host, first
 * attempt).
 */
static void show_launch(const struct run_status *s, struct buf *out)
{
	const char *comma = "  ";

	if (s->ranks > 1 || s->n_hosts) {
		buf_printf(out, "%s%lld rank%s", comma, (long long)s->ranks, text_plural(s->ranks));
		comma = ", ";
	}
	if (s->n_hosts)
		buf_printf(out, " on %s%s%s%s", s->hosts, s->network[0] ? " (" : "", s->network,
			   s->network[0] ? ")" : "");
	if (s->attempt > 1) {
		buf_printf(out, "%sattempt %lld", comma, (long long)s->attempt);
		comma = ", ";
	}
	if (s->restarts > 0)
		buf_printf(out, ", %lld restart%s", (long long)s->restarts,
			   text_plural(s->restarts));
	if (comma[0] == ',')
		buf_add_char(out, '\n');
	if (s->event[0])
		buf_printf(out, "  last event: %s\n", s->event);
	if (!strcmp(s->state, "lost"))
		buf_add_str(out, "  the launcher ended without writing the final state; run the "
				 "same \"werkbank train\" command "
				 "again to resume "
				 "from its last checkpoint\n");
}

void status_add_bleu(struct buf *out, double bleu, const char *precision)
{
	buf_add_str(out, FIXED_TEXT(bleu, 2));
	if (isfinite(bleu) && *precision)
		buf_printf(out, " (%s)", precision);
}

static void show_text(const struct run_status *s, double now, struct buf *out)
{
	const struct run_end end = status_get_end(s);
	char here[256] = "", evaluation[80];

	gethostname(here, sizeof(here) - 1);
	buf_printf(out, "%s: %s", s->name, s->state);
	if (*end.text)
		buf_printf(out, ": %s", end.text);
	if (s->alive && s->pid > 0)
		buf_printf(out, " (pid %lld%s%s)", (long long)s->pid,
			   s->host[0] && strcmp(s->host, here) ? " on " : "",
			   s->host[0] && strcmp(s->host, here) ? s->host : "");
	if (!isnan(s->latest)) {
		buf_add_str(out, ", last record ");
		add_age(out, MAX(0.0, now - s->latest));
		buf_add_str(out, " ago");
	}
	buf_printf(out, "\n  step %s", COUNT_TEXT(s->step));
	if (s->plan.steps >= 0)
		buf_printf(out, " of %s", COUNT_TEXT(s->plan.steps));
	if (!isnan(s->nll))
		buf_printf(out, ", training NLL %.3f, perplexity %s", s->nll,
			   PERPLEXITY_TEXT(s->nll));
	if (!isnan(s->target_tps))
		buf_printf(out, ", %s target tokens/s", COUNT_TEXT(s->target_tps));
	buf_add_char(out, '\n');
	if (s->alive && s->evaluation.since > 0)
		buf_printf(out, "  evaluating for %s\n",
			   eval_progress_text(&s->evaluation, now, evaluation, sizeof(evaluation)));
	show_launch(s, out);
	if (!isnan(s->bleu)) {
		buf_printf(out, "  dev BLEU ");
		status_add_bleu(out, s->bleu, s->bleu_precision);
		buf_printf(out, " at step %s, best ", COUNT_TEXT(s->bleu_step));
		status_add_bleu(out, s->best_bleu, s->best_precision);
		buf_printf(out, " at step %s\n", COUNT_TEXT(s->best_step));
	}
	if (*s->health.text)
		buf_printf(out, "  health: %s\n", s->health.text);
	if (s->warning_step > 0)
		buf_printf(out, "  warning at step %s: %s\n", COUNT_TEXT(s->warning_step),
			   s->warning);
	else if (s->warning_step == 0) /* of the recipe */
		buf_printf(out, "  warning before the first step: %s\n", s->warning);
}

static void show_json(const struct run_status *s, struct json_writer *w)
{
	const struct run_end end = status_get_end(s);

	json_open(w, '{');
	json_put_str(w, "run", s->name);
	json_put_str(w, "state", s->state);
	json_put_bool(w, "alive", s->alive);
	json_put_count(w, "pid", s->pid);
	json_put_count(w, "attempt", s->attempt);
	json_put_count(w, "ranks", s->ranks);
	json_put_count(w, "exit", s->exit);
	json_put_str(w, "end", end.text);
	json_put_count(w, "restarts", s->restarts);
	json_put_str(w, "host", s->host);
	json_put_count(w, "hosts", s->n_hosts);
	json_put_str(w, "network", s->network);
	json_put_str(w, "event", s->event);
	json_put_real(w, "started", s->started);
	json_put_real(w, "latest", s->latest);
	json_put_count(w, "step", s->step);
	json_put_count(w, "steps", s->plan.steps);
	json_put_real(w, "loss", s->loss);
	json_put_real(w, "nll", s->nll);
	json_put_real(w, "lr", s->lr);
	json_put_real(w, "source_tps", s->source_tps);
	json_put_real(w, "target_tps", s->target_tps);
	json_put_real(w, "bleu", s->bleu);
	json_put_count(w, "bleu_step", s->bleu_step);
	json_put_str(w, "bleu_precision", s->bleu_precision);
	json_put_real(w, "best_bleu", s->best_bleu);
	json_put_str(w, "best_precision", s->best_precision);
	json_put_count(w, "best_step", s->best_step);
	json_put_real(w, "evaluating_since",
		      s->alive && s->evaluation.since > 0 ? s->evaluation.since : NAN);
	json_put_str(w, "health", run_health_name(s->health.state));
	json_put_str(w, "health_text", s->health.text);
	json_put_count(w, "warning_step", s->warning_step);
	json_put_str(w, "warning", s->warning);
	json_close(w, '}');
}

/* ---- all runs ---- */

/* The index of the wanted run; on failure the message lists the runs. */
static int find_named_run(const struct workspace_names *l, const char *wanted,
			  const char *workspace, size_t *at, struct err *e)
{
	for (*at = 0; *at < l->n; ++*at)
		if (!strcmp(l->items[*at], wanted))
			return 0;
	return workspace_unknown_run(workspace, wanted, e);
}

int status_skip_newer(int code, const struct err *e)
{
	if (code != ERR_CONFIG)
		return code;
	fprintf(stderr, "note: %s\n", e->text);
	return 0;
}

static int show_all(const struct workspace_names *l, size_t first, size_t last,
		    const char *workspace, bool as_json, struct buf *out, struct err *e)
{
	struct json_writer w = { .out = out };
	double now = clock_wall_s();
	struct run_status s;

	if (as_json) {
		json_open(&w, '{');
		json_put_int(&w, "v", 1);
		json_put_str(&w, "workspace", workspace);
		json_put_open(&w, "runs", '[');
	}
	for (size_t i = first; i < last; i++) {
		int rc = status_read(&s, workspace, l->items[i], e);

		if (rc && last - first > 1 && !status_skip_newer(rc, e))
			continue;
		if (rc)
			return rc;
		if (as_json)
			show_json(&s, &w);
		else
			show_text(&s, now, out);
	}
	if (as_json) {
		json_close(&w, ']');
		json_close(&w, '}');
		buf_add_char(out, '\n');
	}
	return buf_check(out, e);
}

void status_add_no_runs(const struct conf *c, const char *workspace, struct buf *out)
{
	char *program = conf_typed_program(c);

	buf_printf(out, "no runs in %s; %s train RECIPE starts one\n", workspace,
		   program ? program : "werkbank");
	free(program);
}

int status_report(const struct conf *c, struct buf *out, struct err *e)
{
	const char *wanted = c->n_arguments ? c->arguments[0] : c->run;
	char *workspace = paths_existing_workspace(c->workspace, e);
	struct workspace_names l;
	size_t first = 0, last;
	int rc;

	if (!workspace)
		return e->code;
	rc = workspace_run_names(&l, workspace, e);
	last = l.n;
	if (!rc && wanted) {
		rc = find_named_run(&l, wanted, workspace, &first, e);
		last = first + 1;
	}
	if (!rc)
		rc = show_all(&l, first, last, workspace, c->json, out, e);
	if (!rc && !l.n && !c->json)
		status_add_no_runs(c, workspace, out);
	workspace_names_free(&l);
	free(workspace);
	return rc;
}
