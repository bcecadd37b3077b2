/*
 * run_history_records.c - turns journal records into series, event marks and log lines; see
 * run_history.h.
 *
 * One function for each kind of record: start, train, eval, save, event, stop (rank, host and
 * verdict go to fleet.c). Steps of an attempt only increase. A record whose step is not above
 * the last one, or a start record with a step, means that the run resumed from a checkpoint:
 * rewind_history() removes the samples that will be repeated.
 */
#include "tui/run/run_history_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/run/fleet_events.h"

#define SERIES(field) offsetof(struct run_history, field)

const struct history_quantity history_quantities[HISTORY_QUANTITIES] = {
	{ "train/loss", "nats a token", SERIES(loss) },
	{ "train/nll", "nats a token", SERIES(nll) },
	{ "train/learning_rate", "", SERIES(rate) },
	{ "train/gradient_norm", "", SERIES(grad_norm) },
	{ "speed/source_tokens_per_second", "tokens/s", SERIES(source_tps) },
	{ "speed/target_tokens_per_second", "tokens/s", SERIES(target_tps) },
	{ "speed/step_seconds", "s", SERIES(step_s) },
	{ "step/input_seconds", "s", SERIES(input_s) },
	{ "step/compute_seconds", "s", SERIES(compute_s) },
	{ "step/exposed_seconds", "s", SERIES(exposed_s) },
	{ "step/wait_seconds", "s", SERIES(wait_s) },
	{ "step/update_seconds", "s", SERIES(update_s) },
	{ "step/transfer_seconds", "s", SERIES(transfer_s) },
	{ "dev/nll", "nats a token", SERIES(dev_nll) },
	{ "dev/bleu", "", SERIES(bleu) },
	{ "dev/train_sample_nll", "nats a token", SERIES(sample_nll) },
	{ "time/wall", "s", SERIES(wall) },
	{ "time/training", "s", SERIES(elapsed) },
	{ "time/target_tokens", "tokens", SERIES(tokens) },
	{ "time/evaluation_wall", "s", SERIES(eval_wall) },
};

struct series *history_series(struct run_history *h, size_t quantity)
{
	assert(quantity < HISTORY_QUANTITIES);
	return (struct series *)((char *)h + history_quantities[quantity].offset);
}

#define MAX_STEP INT64_C(1000000000000) /* larger values are not step counts */

struct history_line *history_add_line(struct run_history *h, enum history_kind kind, double t,
				      int64_t step)
{
	struct history_line *line;

	assert(h->n_lines <= HISTORY_LINES && h->first_line < HISTORY_LINES);
	if (h->n_lines < HISTORY_LINES) {
		line = &h->lines[(h->first_line + h->n_lines++) % HISTORY_LINES];
	} else {
		line = &h->lines[h->first_line];
		h->first_line = (h->first_line + 1) % HISTORY_LINES;
	}
	*line = (struct history_line){ .kind = kind, .t = t, .step = step };
	return line;
}

/* With HISTORY_MARKS marks, a new mark replaces one of the least important kind. */
static int mark_importance(enum history_kind kind)
{
	return kind == LINE_ERROR			 ? 4
	       : kind == LINE_START || kind == LINE_STOP ? 3
	       : kind == LINE_WARNING			 ? 2
	       : kind == LINE_SAVE			 ? 0
							 : 1;
}

static void add_event_mark(struct run_history *h, enum history_kind kind, int64_t step)
{
	size_t at, least = 0;

	if (step < 0)
		return;
	if (h->n_marks == HISTORY_MARKS) {
		for (size_t i = 1; i < h->n_marks; i++)
			if (mark_importance(h->marks[i].kind) <
			    mark_importance(h->marks[least].kind))
				least = i;
		if (mark_importance(kind) < mark_importance(h->marks[least].kind))
			return;
		h->n_marks--;
		memmove(&h->marks[least], &h->marks[least + 1],
			(h->n_marks - least) * sizeof(*h->marks));
	}
	assert(h->n_marks < HISTORY_MARKS);
	for (at = h->n_marks; at > 0 && h->marks[at - 1].x > (double)step; at--)
		h->marks[at] = h->marks[at - 1];
	h->marks[at] = (struct history_mark){ (double)step, kind };
	h->n_marks++;
}

static int64_t record_step(const struct json *r)
{
	int64_t step = json_integer(json_get(r, "step"), -1);

	return step < 0 || step > MAX_STEP ? -1 : step;
}

/* Remove the samples from step on, which will be repeated, and find the best BLEU again. */
static void rewind_history(struct run_history *h, int64_t step)
{
	for (size_t i = 0; i < HISTORY_QUANTITIES; i++)
		series_truncate(history_series(h, i), (double)step);
	fleet_truncate(&h->fleet, (double)step);
	if (h->best_step < step)
		return;
	h->best_bleu = NAN;
	h->best_step = -1;
	for (size_t i = 0; i < h->bleu.n; i++) {
		const struct series_point *p = &h->bleu.points[i];

		if (p->n && !(p->high <= h->best_bleu)) {
			h->best_bleu = (double)p->high;
			h->best_step = (int64_t)p->first;
		}
	}
}

/* The steps of the whole run, from the options of the record; option values are text. */
static int64_t record_total_steps(const struct json *r)
{
	const struct json *v = json_get(json_get(r, "options"), "steps");
	int64_t n = json_integer(v ? v : json_get(r, "steps"), -1);

	if (n < 0 && !text_to_int(json_text(v, ""), &n))
		return -1;
	return n > 0 && n <= MAX_STEP ? n : -1;
}

static void history_add_start(struct run_history *h, const struct json *r, double t)
{
	struct history_line *line = history_add_line(h, LINE_START, t, -1);
	int64_t step = record_step(r), total = record_total_steps(r);
	char parameters[NUMBER_TEXT_BYTES], attempt[NUMBER_TEXT_BYTES], ranks[48] = "";
	const double trained = json_number(json_get(r, "trained_s"), NAN);

	if (trained >= 0) /* work that was lost does not count, as for max_minutes */
		h->earlier_attempts_s = trained;
	else if (isfinite(h->attempt_t) && isfinite(h->last_t))
		h->earlier_attempts_s += MAX(h->last_t - h->attempt_t, 0);
	h->attempt_t = t;
	h->pace = (struct step_pace){ 0 };
	h->stop_state = RUN_UNKNOWN;
	h->end = (struct run_end){ 0 };
	if (!isfinite(h->first_t))
		h->first_t = t;
	h->attempt = json_integer(json_get(r, "attempt"), h->attempt);
	h->ranks = json_integer(json_get(r, "ranks"), -1);
	h->parameters = json_integer(json_get(r, "parameters"), -1);
	RECORD_COPY(h->host, r, "host");
	RECORD_COPY(h->precision, r, "precision");
	RECORD_COPY(h->backend, r, "backend");
	if (total >= 0)
		h->plan.steps = total;
	if (step >= 0) {
		line->step = h->step = step;
		rewind_history(h, step + 1);
	}
	if (h->step >= 0)
		add_event_mark(h, LINE_START, h->step);
	h->imported = json_boolean(json_get(r, "imported"), false) ||
		      *json_text(json_get(r, "imported"), "");
	fleet_begin_attempt(&h->fleet, t);
	if (h->ranks > 1)
		snprintf(ranks, sizeof(ranks), ", %" PRId64 " ranks", h->ranks);
	snprintf(line->text, sizeof(line->text), "attempt %s%s%s: %s parameters, %s, %s%s",
		 format_count(attempt, h->attempt), *h->host ? " on " : "", h->host,
		 format_value(parameters, h->parameters >= 0 ? (double)h->parameters : NAN),
		 *h->backend ? h->backend : "-", *h->precision ? h->precision : "-", ranks);
}

/* null is NaN: a gap. A missing member is unknown: no sample. */
static int add_field_sample(struct series *s, const struct json *r, const char *field, double x,
			    double y, struct err *e)
{
	return isfinite(y) || json_get(r, field) ? series_add(s, x, y, e) : 0;
}

/* Add a point to each clock: wall time, training time, target tokens. */
static int add_clock_points(struct run_history *h, double x, double t, double tps, double step_s,
			    struct err *e)
{
	const struct series *before = &h->tokens;
	double steps = x - (before->n ? before->points[before->n - 1].last : 0);
	double seen = before->n && isfinite(before->value) ? before->value : 0;
	double elapsed = isfinite(t) ? h->earlier_attempts_s + MAX(t - h->attempt_t, 0) : NAN;

	if (series_add(&h->wall, x, t, e) || series_add(&h->elapsed, x, elapsed, e) ||
	    series_add(&h->tokens, x, seen + tps * step_s * steps, e))
		return e->code;
	return 0;
}

/* In the order of the record's members, which makes the lookup fast. */
static const char *const train_fields[] = {
	"loss",	 "nll",	    "lr",	 "grad_norm", "source_tps", "target_tps", "step_s",
	"epoch", "input_s", "compute_s", "exposed_s", "wait_s",	    "update_s",
};
enum { AT_TPS = 5, AT_STEP_S = 6, AT_EPOCH = 7, AT_EXPOSED = 10, AT_WAIT = 11 };

static int history_add_train(struct run_history *h, const struct json *r, double t, int64_t step,
			     struct err *e)
{
	struct series *const to[ARRAY_LEN(train_fields)] = {
		&h->loss,	&h->nll,    &h->rate,	  &h->grad_norm, &h->source_tps,
		&h->target_tps, &h->step_s, NULL,	  &h->input_s,	 &h->compute_s,
		&h->exposed_s,	&h->wait_s, &h->update_s,
	};
	double v[ARRAY_LEN(train_fields)];

	if (step < 0)
		return 0;
	if (h->loss.n && (double)step <= h->loss.points[h->loss.n - 1].last)
		rewind_history(h, step);
	step_pace_add(&h->pace, t, step);
	assert(!strcmp(train_fields[AT_EXPOSED], "exposed_s") &&
	       !strcmp(train_fields[AT_WAIT], "wait_s"));
	json_numbers(r, train_fields, ARRAY_LEN(train_fields), v);
	if (isfinite(v[AT_EPOCH]))
		h->epoch = v[AT_EPOCH];
	if (v[AT_WAIT] > v[AT_EXPOSED])
		v[AT_WAIT] = v[AT_EXPOSED];
	for (size_t i = 0; i < ARRAY_LEN(to); i++)
		if (to[i] && add_field_sample(to[i], r, train_fields[i], (double)step, v[i], e))
			return e->code;
	if (isfinite(v[AT_EXPOSED]) &&
	    series_add(&h->transfer_s, (double)step,
		       v[AT_EXPOSED] - (isfinite(v[AT_WAIT]) ? v[AT_WAIT] : 0), e))
		return e->code;
	return add_clock_points(h, (double)step, t, v[AT_TPS], v[AT_STEP_S], e);
}

static int history_add_eval(struct run_history *h, const struct json *r, double t, int64_t step,
			    struct err *e)
{
	const char *bleu_field = h->imported ? "pseudo_bleu" : "bleu",
		   *dev_field = h->imported ? "dev_loss" : "dev_nll";
	double bleu = json_number(json_get(r, bleu_field), NAN),
	       dev = json_number(json_get(r, dev_field), NAN);
	bool best = json_boolean(json_get(r, "best"), false);
	const char *precision =
		json_text(json_get(r, "precision"), h->imported ? "" : h->precision);
	struct history_line *line;

	if (step < 0)
		return 0;
	if (h->bleu.n && (double)step <= h->bleu.points[h->bleu.n - 1].last)
		rewind_history(h, step);
	h->train_nll = json_number(json_get(r, "train_nll"), NAN);
	if (add_field_sample(&h->bleu, r, bleu_field, (double)step, bleu, e) ||
	    add_field_sample(&h->dev_nll, r, dev_field, (double)step, dev, e) ||
	    add_field_sample(&h->sample_nll, r, "train_nll", (double)step, h->train_nll, e) ||
	    series_add(&h->eval_wall, (double)step, t, e))
		return e->code;
	if (isfinite(bleu) && !(bleu <= h->best_bleu)) {
		h->best_bleu = bleu;
		h->best_step = step;
	}
	line = history_add_line(h, best ? LINE_BEST : LINE_EVAL, t, step);
	snprintf(line->text, sizeof(line->text),
		 "BLEU %s%s%.7s%s   dev NLL %s   train NLL %s   %s s", FIXED_TEXT(bleu, 2),
		 *precision ? " (" : "", precision, *precision ? ")" : "", FIXED_TEXT(dev, 3),
		 FIXED_TEXT(h->train_nll, 3),
		 FIXED_TEXT(json_number(json_get(r, "seconds"), NAN), 1));
	return 0;
}

static void history_add_save(struct run_history *h, const struct json *r, double t, int64_t step)
{
	struct history_line *line = history_add_line(h, LINE_SAVE, t, step);
	const char *path = json_text(json_get(r, "path"), "checkpoint"),
		   *folder = strstr(path, "checkpoints/");

	add_event_mark(h, LINE_SAVE, step);
	/* Keep the end of the path, which names the checkpoint. */
	snprintf(line->text, sizeof(line->text), "%.*s   %s   %s s", 150, folder ? folder : path,
		 BYTES_TEXT(json_number(json_get(r, "bytes"), NAN)),
		 FIXED_TEXT(json_number(json_get(r, "seconds"), NAN), 1));
}

static void history_add_event(struct run_history *h, const struct json *r, double t, int64_t step)
{
	const char *level = json_text(json_get(r, "level"), "info");
	enum history_kind kind = !strcmp(level, "error")     ? LINE_ERROR
				 : !strcmp(level, "warning") ? LINE_WARNING
							     : LINE_INFO;
	struct history_line *line = history_add_line(h, kind, t, step);

	RECORD_COPY(line->text, r, "text");
	if (kind != LINE_INFO)
		fleet_add_warning(&h->fleet, t, line->text);
	if (kind == LINE_WARNING && json_get(r, "sign"))
		h->warning = *line;
	add_event_mark(h, kind, step >= 0 ? step : h->step);
}

static void history_add_profile(struct run_history *h, const struct json *r)
{
	const struct json *ops = json_get(r, "ops");
	size_t n = 0;

	h->profile_steps = json_number(json_get(r, "steps"), NAN);
	h->profile_seconds = json_number(json_get(r, "seconds"), NAN);
	h->roof_gflops = json_number(json_get(r, "roof_gflops"), NAN);
	h->roof_gbs = json_number(json_get(r, "roof_gbs"), NAN);
	for (size_t i = 0; n < HISTORY_OPS && json_at(ops, i); i++) {
		const struct json *o = json_at(ops, i);
		struct history_op *op = &h->ops[n];

		op->share = json_number(json_get(o, "share"), NAN);
		/* a share outside of 0..1 is none of ours */
		if (!(op->share >= 0 && op->share <= 1))
			continue;
		RECORD_COPY(op->name, o, "op");
		op->calls = json_number(json_get(o, "calls"), NAN);
		op->seconds = json_number(json_get(o, "s"), NAN);
		op->gflops = json_number(json_get(o, "gflops"), NAN);
		op->gbs = json_number(json_get(o, "gbs"), NAN);
		n++;
	}
	h->n_ops = n;
}

enum history_bound history_op_bound(const struct run_history *h, const struct history_op *op,
				    double *share)
{
	double compute = op->gflops / h->roof_gflops, memory = op->gbs / h->roof_gbs;

	*share = NAN;
	if (!(h->roof_gflops > 0 && h->roof_gbs > 0 && op->gflops >= 0 && op->gbs > 0) ||
	    !isfinite(compute) || !isfinite(memory))
		return BOUND_UNKNOWN;
	*share = MAX(compute, memory);
	return compute > memory ? BOUND_COMPUTE : BOUND_MEMORY;
}

static void history_add_stop(struct run_history *h, const struct json *r, double t, int64_t step)
{
	const char *reason = json_text(json_get(r, "reason"), "-");
	struct history_line *line = history_add_line(h, LINE_STOP, t, step);
	struct run_limits limits = h->plan;
	struct run_end end;

	limits.step = step;
	limits.exit = json_integer(json_get(r, "exit"), -1);
	add_event_mark(h, LINE_STOP, step >= 0 ? step : h->step);
	h->exit_status = limits.exit;
	h->stop_state = run_state_by_reason(reason);
	run_end_read(&h->end, r);
	end = h->end;
	run_end_complete(&end, NULL, NULL, &limits);
	snprintf(line->text, sizeof(line->text), "%s%s%.100s", run_state_name(h->stop_state),
		 *end.text ? ": " : "", end.text);
}

int history_add_record(struct run_history *h, const struct json *r, struct err *e)
{
	const char *kind = json_text(json_get(r, "kind"), "");
	double t = json_number(json_get(r, "t"), NAN);
	int64_t step = record_step(r);
	int status = 0;

	if (fabs(t) > 1e12)
		t = NAN;
	run_health_add_record(&h->health, r);
	eval_progress_add_record(&h->evaluation, r);
	/* Frequent kinds first. */
	if (!strcmp(kind, "rank"))
		return fleet_add_rank_record(&h->fleet, r, t, e);
	if (!strcmp(kind, "host"))
		return fleet_add_host_record(&h->fleet, r, t, step, e);
	if (!strcmp(kind, "start"))
		history_add_start(h, r, t);
	else if (!strcmp(kind, "train"))
		status = history_add_train(h, r, t, step, e);
	else if (!strcmp(kind, "profile"))
		history_add_profile(h, r);
	else if (!strcmp(kind, "eval"))
		status = history_add_eval(h, r, t, step, e);
	else if (!strcmp(kind, "save"))
		history_add_save(h, r, t, step);
	else if (!strcmp(kind, "event"))
		history_add_event(h, r, t, step);
	else if (!strcmp(kind, "verdict"))
		fleet_set_verdict(&h->fleet, r, t, step);
	else if (!strcmp(kind, "stop"))
		history_add_stop(h, r, t, step);
	else
		return 0;
	if (step >= 0)
		h->step = step;
	if (isfinite(t))
		h->last_t = t;
	return status;
}

static int set_text(char **field, const struct json *r, const char *key, struct err *e)
{
	char *text = mem_strdup(json_text(json_get(r, key), ""), e);

	if (!text)
		return e->code;
	free(*field);
	*field = text;
	return 0;
}

int history_add_sample(struct run_history *h, const struct json *r, struct err *e)
{
	int64_t id = json_integer(json_get(r, "id"), -1);
	struct history_sample *s = NULL;

	if (strcmp(json_text(json_get(r, "kind"), ""), "sample"))
		return 0;
	for (size_t i = 0; i < h->n_samples && !s; i++)
		if (h->samples[i].id == id)
			s = &h->samples[i];
	if (!s && h->n_samples == HISTORY_SAMPLES)
		return 0;
	if (!s) {
		assert(h->n_samples < HISTORY_SAMPLES);
		s = &h->samples[h->n_samples];
		*s = (struct history_sample){ .id = id };
		h->n_samples++;
	}
	s->step = record_step(r);
	if (set_text(&s->source, r, "source", e) || set_text(&s->reference, r, "reference", e) ||
	    set_text(&s->hypothesis, r, "hypothesis", e))
		return e->code;
	return 0;
}
