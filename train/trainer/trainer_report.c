/*
 * trainer_report.c - the records "start", "train", "profile" and "stop", and the progress line
 */
#include "config.h"

#include "train/trainer/trainer_internal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/flow.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/guard/terminal_text.h"
#include "share/workspace/paths.h"
#include "train/common/network.h"
#include "train/model/frozen.h"
#include "train/trainer/tag_shares.h"

#define SHOW_TERMINAL_S 0.5 /* between progress lines */
#define SHOW_PIPE_S	10.0

/* How many times the run was started, including this time. */
static int64_t count_attempts(const struct trainer *t)
{
	struct err ignored;
	char *path = file_path(&ignored, "%s/journal.jsonl", t->folder);
	struct journal_reader *r = path ? journal_reader_open(path, &ignored) : NULL;
	const struct json *record;
	int64_t n = 1;

	while (r && journal_next(r, &record, &ignored) > 0)
		n += !strcmp(json_text(json_get(record, "kind"), ""), "start");
	journal_reader_free(r);
	free(path);
	return n;
}

static void put_option(struct json_writer *w, const struct conf *c, const char *name,
		       struct buf *value)
{
	buf_clear(value);
	conf_value(c, name, value);
	json_put_str(w, name, buf_text(value));
}

static void put_options(struct json_writer *w, const struct conf *c)
{
	static const char *const names[] = {
		"dropout",	"attention_dropout",
		"relu_dropout", "seed",
		"steps",	"max_minutes",
		"batch_tokens", "micro_batches",
		"schedule",	"noam_factor",
		"peak_rate",	"min_rate",
		"restart",	"warmup",
		"cooldown",	"optimizer",
		"freeze",	"weight_decay",
		"beta1",	"beta2",
		"clip",		"label_smoothing",
		"eval_every",	"save_every",
		"r_drop",	"layer_drop",
	};
	struct buf value = { 0 };
	const struct arch_row *row;

	json_put_open(w, "options", '{');
	put_option(w, c, "size", &value);
	for (size_t i = 0; (row = arch_at(i)) != NULL; i++)
		if (row->is_option)
			put_option(w, c, row->name, &value);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		put_option(w, c, names[i], &value);
	json_close(w, '}');
	buf_free_part(&value, w->out);
}

/* Threads of matrix products on this rank. */
static int64_t own_product_threads(const struct trainer *t)
{
	return flow_threads(trainer_threads(t));
}

static int print_tag_shares(const struct trainer *t, struct err *e)
{
	struct buf text = { 0 };
	int rc;

	tag_shares_describe(loader_tag_mix(t->loader), t->vocabs.source, &text);
	rc = buf_check(&text, e);
	if (!rc)
		fprintf(stderr, "pair_temperature %g: %s\n", t->conf->pair_temperature,
			buf_text(&text));
	buf_free(&text);
	return rc;
}

/* ERR_CONFIG: an impossible option freeze. */
static int print_frozen_parts(const struct trainer *t, struct err *e)
{
	const double all = (double)model_floats(t->model);
	int64_t floats;
	size_t n;

	if (!t->conf->freeze.n)
		return 0;
	if (frozen_count(&t->conf->freeze, &t->state.shape, &n, &floats, e))
		return e->code;
	if (!t->conf->quiet)
		fprintf(stderr,
			"freeze: %zu tensors stay as they are; %.1f %% of the weights are "
			"trained\n",
			n, 100 * (1 - (double)floats / all));
	return 0;
}

/* What was measured of the network between the hosts; nothing on a single host. */
static int report_link(struct trainer *t, struct err *e)
{
	const struct link_measure *m = &t->link;
	char rate[NETWORK_RATE_TEXT];
	struct json_writer *w;

	if (!(m->latency_s > 0))
		return 0;
	if (!t->conf->quiet)
		fprintf(stderr, "network between %lld hosts: a message takes %.3g ms, speed %s\n",
			(long long)t->hosts, 1e3 * m->latency_s,
			network_rate_text(rate, m->bytes_s));
	w = run_records_begin(&t->records, "link");
	json_put_int(w, "hosts", t->hosts);
	json_put_real(w, "latency_s", round(m->latency_s * 1e6) / 1e6);
	if (m->bytes_s > 0)
		json_put_int(w, "link_bytes_s", (int64_t)m->bytes_s);
	if (m->lost >= 0)
		json_put_real(w, "lost", round(m->lost * 1e5) / 1e5);
	json_put_real(w, "seconds", round(m->took_s * 1e3) / 1e3);
	return journal_end(t->records.journal, e);
}

int report_start(struct trainer *t, struct err *e)
{
	const struct product_format format = trainer_format(t);
	const struct conf *c = t->conf;
	struct json_writer *w;
	char host[256] = "";
	int64_t attempt;

	if (!trainer_is_first(t))
		return 0;
	attempt = count_attempts(t);
	t->records.metric_sinks = metric_sinks_open(c, t->folder, t->state.step + 1,
						    t->records.journal, t->records.samples, e);
	if (!t->records.metric_sinks)
		return e->code;
	gethostname(host, sizeof(host) - 1);
	if (!c->quiet)
		fprintf(stderr, "training on %s%s%s; needs %.2f GiB%s\n", t->device,
			c->precision != PRECISION_AUTO ? ""
			: t->is_bf16		       ? ", products in bf16"
						       : ", products in fp32",
			c->precision == PRECISION_AUTO ? " (precision auto)" : "",
			t->memory_bytes / (1 << 30), t->comm->size > 1 ? " for each rank" : "");
	if (!c->quiet && loader_tag_mix(t->loader) && print_tag_shares(t, e))
		return e->code;
	if (print_frozen_parts(t, e))
		return e->code;
	w = run_records_begin(&t->records, "start");
	json_put_str(w, "program", PACKAGE_VERSION);
	json_put_str(w, "run", c->run);
	json_put_int(w, "attempt", attempt);
	json_put_real(w, "trained_s", time_limit_seconds(&t->time));
	json_put_str(w, "host", host);
	json_put_int(w, "pid", getpid());
	json_put_int(w, "ranks", t->comm->size);
	json_put_int(w, "hosts", t->hosts);
	json_put_int(w, "parameters", model_floats(t->model));
	json_put_str(w, "precision", t->is_bf16 ? "bf16" : "fp32");
	json_put_str(w, "backend", model_get_ops(t->model)->name);
	json_put_str(w, "device", t->device);
	json_put_str(w, "processor", ops_cpu_level_name(t->processor.common));
	json_put_int(w, "threads", own_product_threads(t));
	json_put_int(w, "memory", (int64_t)t->memory_bytes);
	json_put_int(w, "vocabulary", t->state.shape.vocabulary);
	if (t->state.shape.source_vocabulary)
		json_put_int(w, "source_vocabulary", t->state.shape.source_vocabulary);
	json_put_int(w, "pairs", shard_pairs(t->shard));
	tag_shares_put_json(loader_tag_mix(t->loader), t->vocabs.source, w);
	put_options(w, c);
	if (journal_end(t->records.journal, e) || report_link(t, e))
		return e->code;
	if (t->state.step == 0 && t->is_bf16)
		product_format_warn(&format, model_get_ops(t->model));
	return 0;
}

/* Means over steps. */
static void put_times(struct json_writer *w, const struct step_times *sums, double steps)
{
	json_put_real(w, "input_s", sums->input / steps);
	json_put_real(w, "compute_s", sums->compute / steps);
	json_put_real(w, "exposed_s", sums->exposed / steps);
	json_put_real(w, "wait_s", sums->wait / steps);
	json_put_real(w, "update_s", sums->update / steps);
	json_put_real(w, "sent_bytes", sums->sent_bytes / steps);
}

static void put_train_record(struct trainer *t)
{
	const struct step_meter *m = &t->meter;
	const double loss = m->loss / m->target_tokens, nll = m->nll / m->target_tokens;
	const char *nonfinite = !isfinite(loss)			    ? "loss"
				: !isfinite(nll)		    ? "nll"
				: !isfinite(t->last_step.grad_norm) ? "grad_norm"
								    : NULL;
	struct json_writer *w = run_records_begin(&t->records, "train");

	json_put_real(w, "loss", loss);
	json_put_real(w, "nll", nll);
	json_put_real(w, "lr", t->last_step.rate);
	json_put_real(w, "grad_norm", t->last_step.grad_norm);
	if (nonfinite)
		json_put_str(w, "nonfinite", nonfinite);
	json_put_real(w, "source_tps", m->source_tokens / m->seconds);
	json_put_real(w, "target_tps", m->target_tokens / m->seconds);
	json_put_real(w, "step_s", m->seconds / (double)m->steps);
	json_put_real(w, "epoch", t->last_step.epoch);
	put_times(w, &m->times, (double)m->steps);
	run_records_end(&t->records);
	run_watch_step(&t->watch, &(struct learning_step){ .step = (double)t->state.step,
							   .steps = (double)m->steps,
							   .nll = nll,
							   .rate = t->last_step.rate,
							   .grad_norm = t->last_step.grad_norm,
							   .epoch = t->last_step.epoch,
							   .is_skipped = !t->last_step.is_finite });
}

/* Time left by `steps` or by `max_minutes`, whichever is less. */
static double seconds_left(const struct trainer *t)
{
	double pace = step_pace_seconds(&t->display.pace);

	if (isnan(pace)) /* after the first step of an attempt */
		pace = t->meter.seconds / (double)t->meter.steps;
	return step_pace_left(pace, (double)(t->conf->steps - t->state.step), t->conf->max_minutes,
			      time_limit_seconds(&t->time));
}

static void print_progress_line(struct trainer *t)
{
	const struct step_meter *m = &t->meter;
	double now = clock_mono_s();

	if (t->conf->quiet || m->steps == 0 ||
	    now - t->records.shown_at < (t->records.is_terminal ? SHOW_TERMINAL_S : SHOW_PIPE_S))
		return;
	t->records.shown_at = now;
	if (t->records.is_terminal)
		terminal_send_control("\r\033[K");
	fprintf(stderr,
		"step %lld/%lld  nll %.3f  ppl %s  lr %.2e  %s target tok/s  epoch %.2f  %s "
		"left%s",
		(long long)t->state.step, (long long)t->conf->steps, m->nll / m->target_tokens,
		PERPLEXITY_TEXT(m->nll / m->target_tokens), t->last_step.rate,
		COUNT_TEXT(m->target_tokens / m->seconds), t->last_step.epoch,
		run_records_duration((char[RECORDS_DURATION_BYTES]){ 0 }, seconds_left(t)),
		t->records.is_terminal ? "" : "\n");
}

/* Once a process: the run goes on, far slower than it could. */
static void report_slow_products(struct trainer *t)
{
	if (t->display.slow_products_reported || !model_count_slow_products(t->model))
		return;
	t->display.slow_products_reported = true;
	run_records_event(&t->records, "warning", "%s", MODEL_SLOW_PRODUCTS);
}

int report_step(struct trainer *t)
{
	const int64_t step = t->state.step;
	struct err trouble;

	if (!trainer_is_first(t) || !t->in_sync)
		return 0;
	step_pace_add(&t->display.pace, clock_mono_s(), step);
	print_progress_line(t);
	if (step == 1 ||
	    step / t->conf->log_every > t->display.recorded_step / t->conf->log_every ||
	    step == t->conf->steps || !t->last_step.is_finite) {
		put_train_record(t);
		t->display.recorded_step = step;
		t->meter = (struct step_meter){ 0 };
	}
	report_slow_products(t);
	while (metric_sinks_failure(t->records.metric_sinks, &trouble))
		run_records_event(&t->records, "warning", "%s", trouble.text);
	return 0;
}

/* The roof of the device, which is idle now. NULL: it could not be measured. */
static const struct device_roof *measure_roof(const struct trainer *t, struct device_roof *roof)
{
	const struct dev_options options = { .threads = trainer_threads(t),
					     .device = t->gpu,
					     .bf16 = t->is_bf16 };
	const struct ops *ops = ops_find(profile_ops(t->profile)->name, &(struct err){ 0 });
	struct err ignored;

	if (!ops || device_roof_measure(ops, &options, roof, &ignored))
		return NULL;
	profile_raise_roof(t->profile, roof);
	return roof;
}

static int report_profile(struct trainer *t, enum run_end_why why, struct err *e)
{
	const struct device_roof *known;
	struct device_roof roof;
	struct json_writer *w;

	if (!t->profile || t->profiled_steps < 1 || !trainer_is_first(t))
		return 0;
	run_records_end_line(&t->records);
	/* who asks a run to stop does not wait for that */
	known = why == RUN_END_REQUEST ? NULL : measure_roof(t, &roof);
	if (!t->conf->quiet)
		profile_print(stderr, t->profile, t->profiled_s, t->profiled_steps, known);
	w = run_records_begin(&t->records, "profile");
	profile_json(w, t->profile, t->profiled_s, t->profiled_steps, known);
	return journal_end(t->records.journal, e);
}

/* Does the command tune make this run? Its comparison follows only if tune goes on with the run. */
static bool is_made_by_tune(const struct trainer *t)
{
	struct err ignored;
	char *path = file_path(&ignored, "%s/tune/tune.ini", t->folder);
	const bool is = path && file_exists(path);

	free(path);
	return is;
}

/* Print the command that continues the run, with one more option; option "": none. */
static void print_train_command(const struct trainer *t, const char *purpose, const char *option,
				const char *value)
{
	struct buf command = { 0 };
	char *program;

	if (is_made_by_tune(t)) {
		fprintf(stderr, "%s, type the same werkbank tune command again%s%s%s%s\n", purpose,
			*option ? ", with " : "", option, *option ? " " : "", value);
		return;
	}
	program = conf_typed_program(t->conf);
	text_quote_shell(&command, program ? program : "werkbank");
	free(program);
	buf_add_str(&command, " train -C ");
	text_quote_shell(&command, t->workspace);
	buf_add_char(&command, ' ');
	text_quote_shell(&command, t->folder);
	buf_printf(&command, "/recipe.ini --run %s", t->conf->run);
	if (*option)
		buf_printf(&command, " %s %s", option, value);
	fprintf(stderr, "%s, type: %s\n", purpose, buf_text(&command));
	buf_free(&command);
}

/*
 * "finished: 42 minutes are over", and the command that trains on: after a limit that the user may
 * have set too low, and when there was nothing left to do.
 */
static void print_finish(const struct trainer *t, const struct run_end *end,
			 const struct run_limits *limits)
{
	const char *option;
	char value[32];

	fprintf(stderr, "finished: %s\n", end->text);
	if (run_end_longer(end, limits, &option, value) &&
	    (end->why != RUN_END_STEPS || !t->progress.has_stepped))
		print_train_command(t, "to train on", option, value);
}

int report_stop(struct trainer *t, enum run_end_why why, int exit_status, struct err *e)
{
	const struct conf *c = t->conf;
	const struct run_limits limits = { .step = t->state.step,
					   .steps = c->steps,
					   .minutes = c->max_minutes,
					   .patience = c->patience,
					   .loss_decides = c->stop_metric == BEST_LOSS,
					   .exit = exit_status };
	struct json_writer *w;
	struct run_end end;

	if (!trainer_is_first(t))
		return 0;
	run_records_end_line(&t->records);
	if (report_profile(t, why, e))
		return e->code;
	run_end_set(&end, why, &limits);
	w = run_records_begin(&t->records, "stop");
	run_end_put(&end, w);
	json_put_int(w, "exit", exit_status);
	if (why == RUN_END_REQUEST && t->stopping.signalled_rank >= 0)
		json_put_int(w, "rank", t->stopping.signalled_rank);
	if (why == RUN_END_REQUEST && t->stopping.is_by_file)
		json_put_str(w, "by", "control");
	if (journal_end(t->records.journal, e))
		return e->code;
	if (!exit_status && !c->quiet)
		print_finish(t, &end, &limits);
	else if (why == RUN_END_REQUEST && !c->quiet)
		print_train_command(t, "to resume later", "", "");
	return 0;
}
