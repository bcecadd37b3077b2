/*
 * schedule.c - the learning rate of a step; see schedule.h for the formulas
 *
 * Adam's second moments are unreliable in the first steps, so the rate rises linearly until `warmup`;
 * then it does what its row of schedules.def says. A cool-down multiplies it by a line that falls to
 * almost 0: most of the gain of a slowly falling rate, at an end that may be decided late.
 */
#include "train/optim/schedule.h"

#include <math.h>
#include <string.h>

#include "share/base/util.h"

enum { USES_FLOOR = 1, USES_RESTART = 2, USES_END = 4 };

#define SUM_SAMPLES 4096

/* ---- the rows ------------------------------------------------------------ */

/* The last step of the way to the floor. */
static int64_t way_end(const struct rate_schedule *s)
{
	return s->end > 0 && s->end < s->steps ? s->end : s->steps;
}

/* How much of the way from the peak to the floor is passed before a step: 0 .. 1. */
static double passed_share(const struct rate_schedule *s, int64_t step)
{
	const int64_t all = s->restart > 0 ? s->restart : way_end(s) - s->warmup;
	int64_t passed = step - s->warmup;

	if (passed <= 0)
		return 0;
	if (s->restart > 0)
		passed %= s->restart;
	return passed < all ? (double)passed / (double)all : 1;
}

/* The rate of a schedule with a peak; share: of the peak, after the warm-up. */
static double warm_up(const struct rate_schedule *s, int64_t step, double share)
{
	return s->peak * (step < s->warmup ? ((double)step + 1) / (double)s->warmup : share);
}

static double noam_rate(const struct rate_schedule *s, int64_t step)
{
	const double n = (double)step + 1, warmup = (double)s->warmup;

	return s->factor / sqrt(s->d_model) * fmin(n / (warmup * sqrt(warmup)), 1 / sqrt(n));
}

static double inverse_sqrt_rate(const struct rate_schedule *s, int64_t step)
{
	return warm_up(s, step, sqrt((double)s->warmup / ((double)step + 1)));
}

static double cosine_rate(const struct rate_schedule *s, int64_t step)
{
	const double wave = (1 + cos(M_PI * passed_share(s, step))) / 2;

	return warm_up(s, step, s->floor + (1 - s->floor) * wave);
}

static double linear_rate(const struct rate_schedule *s, int64_t step)
{
	return warm_up(s, step, 1 - (1 - s->floor) * passed_share(s, step));
}

static double constant_rate(const struct rate_schedule *s, int64_t step)
{
	return warm_up(s, step, 1);
}

static const struct schedule_row {
	double (*rate)(const struct rate_schedule *s, int64_t step);
	const char *choice, *rate_option;
	unsigned uses;
	const char *fall, *formula;
} rows[N_SCHEDULES] = {
#define SCHEDULE(name, choice, rate_option, uses, fall, formula)                                   \
	[SCHEDULE_##name] = { name##_rate, choice, rate_option, uses, fall, formula },
#include "train/optim/schedules.def"
};

/* ---- rates --------------------------------------------------------------- */

/* x, a rate or 1, at a step of the cool-down. */
static double cool_down(const struct rate_schedule *s, int64_t step, double x)
{
	const struct schedule_cooldown *d = &s->decided;
	const int64_t all = d->to > 0 ? d->to - d->from : s->cooldown;
	const int64_t left = (d->to > 0 ? d->to : s->steps) - step; /* this step is one of them */

	if (d->to > 0)
		x *= d->factor;
	return all <= 0 || left >= all ? x : x * (double)(left > 1 ? left : 1) / (double)all;
}

void schedule_decide_cooldown(struct rate_schedule *s, int64_t step, int64_t to)
{
	const double factor = cool_down(s, step, 1);

	s->decided = (struct schedule_cooldown){ .from = step, .to = to, .factor = factor };
}

double schedule_rate(const struct rate_schedule *s, int64_t step)
{
	return cool_down(s, step, rows[s->kind].rate(s, step));
}

double schedule_sum(const struct rate_schedule *s, int64_t steps)
{
	const int64_t n = MIN(steps, SUM_SAMPLES);
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += schedule_rate(s, (int64_t)(((double)i + 0.5) / (double)n * (double)steps));
	return n > 0 ? sum / (double)n * (double)steps : 0;
}

double schedule_unit_peak(const struct rate_schedule *s)
{
	struct rate_schedule unit = *s;

	unit.factor = unit.peak = 1;
	return rows[s->kind].rate(&unit, s->warmup - 1);
}

bool schedule_has_end(const struct rate_schedule *s)
{
	return (rows[s->kind].uses & USES_END) && s->restart == 0;
}

/* ---- options ------------------------------------------------------------- */

struct rate_schedule schedule_from_conf(const struct conf *c, int32_t d_model)
{
	return (struct rate_schedule){ .kind = (enum schedule_kind)c->schedule,
				       .factor = c->noam_factor,
				       .peak = c->peak_rate,
				       .floor = c->min_rate,
				       .restart = c->restart,
				       .warmup = MAX(c->warmup, 1),
				       .cooldown = c->cooldown,
				       .steps = c->steps,
				       .d_model = d_model };
}

/* The choices of the rows that use an option, as "a or b". */
static void list_users(unsigned use, struct buf *out)
{
	for (size_t i = 0, n = 0; i < N_SCHEDULES; i++)
		if (rows[i].uses & use)
			buf_printf(out, "%s%s", n++ ? " or " : "", rows[i].choice);
}

static int refuse_unused(const struct schedule_row *row, unsigned use, const char *option,
			 double value, struct err *e)
{
	struct buf users = { 0 };

	if (!(value > 0) || (row->uses & use))
		return 0;
	list_users(use, &users);
	err_set(e, ERR_CONFIG,
		"%s is %.6g, but the schedule %s has no %s: set %s to 0, or schedule to %s", option,
		value, row->choice, option, option, buf_text(&users));
	buf_free(&users);
	return e->code;
}

int schedule_check_conf(const struct conf *c, struct err *e)
{
	const struct schedule_row *row = &rows[c->schedule];
	const bool has_peak = !strcmp(row->rate_option, "peak_rate");

	if (has_peak && !(c->peak_rate > 0))
		return err_set(e, ERR_CONFIG,
			       "the schedule %s needs peak_rate, the largest learning rate, and "
			       "peak_rate is not given: add for example --peak-rate 0.0005 "
			       "(learning_rate is a former name of noam_factor, which only the "
			       "schedule noam uses)",
			       row->choice);
	if (!has_peak && c->peak_rate > 0)
		return err_set(
			e, ERR_CONFIG,
			"peak_rate is %.6g, but the schedule %s has its rate from %s: remove "
			"peak_rate, or choose another schedule, such as --schedule cosine",
			c->peak_rate, row->choice, row->rate_option);
	return refuse_unused(row, USES_FLOOR, "min_rate", c->min_rate, e) ||
			       refuse_unused(row, USES_RESTART, "restart", (double)c->restart, e)
		       ? e->code
		       : 0;
}

/* ---- texts --------------------------------------------------------------- */

const char *schedule_name(enum schedule_kind kind)
{
	return kind < N_SCHEDULES ? rows[kind].choice : NULL;
}

const char *schedule_rate_option(enum schedule_kind kind)
{
	return rows[kind].rate_option;
}

const char *schedule_fall(enum schedule_kind kind)
{
	return rows[kind].fall;
}

static void put_formula(const struct rate_schedule *s, const char *formula, bool has_numbers,
			struct buf *out);

/* A name in braces: itself, or its number. */
static void put_name(const struct rate_schedule *s, const char *name, size_t n, bool has_numbers,
		     struct buf *out)
{
	const struct {
		const char *name;
		double value;
		bool is_count;
	} numbers[] = {
		{ "factor", s->factor, false },	       { "peak", s->peak, false },
		{ "floor", s->floor, false },	       { "d_model", s->d_model, true },
		{ "warmup", (double)s->warmup, true }, { "restart", (double)s->restart, true },
		{ "steps", (double)way_end(s), true },
	};

	if (n == 1 && *name == 'x')
		put_formula(s,
			    s->restart > 0
				    ? "(max(0, step - 1 - {warmup}) mod {restart}) / {restart}"
				    : "max(0, step - 1 - {warmup}) / ({steps} - {warmup})",
			    has_numbers, out);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		char number[32];

		if (strlen(numbers[i].name) != n || memcmp(numbers[i].name, name, n) != 0)
			continue;
		snprintf(number, sizeof(number), numbers[i].is_count ? "%.0f" : "%.4g",
			 numbers[i].value);
		buf_add_str(out, has_numbers ? number : numbers[i].name);
	}
}

static void put_formula(const struct rate_schedule *s, const char *formula, bool has_numbers,
			struct buf *out)
{
	for (const char *p = formula; *p; p++) {
		const char *end = *p == '{' ? strchr(p, '}') : NULL;

		if (!end) {
			buf_add_char(out, *p);
			continue;
		}
		put_name(s, p + 1, (size_t)(end - p - 1), has_numbers, out);
		p = end;
	}
}

void schedule_put_formula(const struct rate_schedule *s, bool has_numbers, struct buf *out)
{
	put_formula(s, rows[s->kind].formula, has_numbers, out);
}
