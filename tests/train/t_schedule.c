/* t_schedule.c - the schedules of schedules.def: their rates, cool-downs, refusals, formulas; t_train.c has Noam's */
#include <math.h>

#include "tests/train/small_run.h"
#include "train/optim/schedule.h"

/* 10 steps of warm-up of 110, peak 0.5, floor a tenth. */
static struct rate_schedule short_schedule(enum schedule_kind kind)
{
	struct rate_schedule s = { .kind = kind, .peak = 0.5, .warmup = 10, .steps = 110 };

	s.factor = 0.5 * sqrt(16) * sqrt(10); /* the same peak */
	s.d_model = 16;
	if (kind == SCHEDULE_cosine || kind == SCHEDULE_linear)
		s.floor = 0.1;
	return s;
}

TEST(sched_rates_of_each_row)
{
	static const struct {
		enum schedule_kind kind;
		int64_t restart, step;
		double rate;
	} cases[] = {
		{ SCHEDULE_inverse_sqrt, 0, 10, 0.5 * 0.953462589245592315 }, /* sqrt(10 / 11) */
		{ SCHEDULE_inverse_sqrt, 0, 39, 0.25 },
		{ SCHEDULE_inverse_sqrt, 0, 999, 0.05 },
		{ SCHEDULE_constant, 0, 10, 0.5 },
		{ SCHEDULE_constant, 0, 999, 0.5 },
		{ SCHEDULE_linear, 0, 10, 0.5 },
		{ SCHEDULE_linear, 0, 35, 0.3875 },
		{ SCHEDULE_linear, 0, 60, 0.275 },
		{ SCHEDULE_linear, 0, 109, 0.0545 }, /* the last step is a step before the floor */
		{ SCHEDULE_linear, 0, 110, 0.05 },
		{ SCHEDULE_linear, 0, 999, 0.05 },
		{ SCHEDULE_cosine, 0, 10, 0.5 },
		{ SCHEDULE_cosine, 0, 35,
		  0.434099025766973194 }, /* half of 0.1 + 0.9 (1 + cos(pi / 4)) / 2 */
		{ SCHEDULE_cosine, 0, 60, 0.275 },
		{ SCHEDULE_cosine, 0, 110, 0.05 },
		{ SCHEDULE_cosine, 0, 999, 0.05 },
		{ SCHEDULE_cosine, 20, 10, 0.5 },
		{ SCHEDULE_cosine, 20, 20, 0.275 },
		{ SCHEDULE_cosine, 20, 30, 0.5 },
		{ SCHEDULE_cosine, 20, 1000, 0.275 }, /* beyond the planned steps, too */
	};

	for (int k = 0; k < N_SCHEDULES; k++) {
		const struct rate_schedule s = short_schedule((enum schedule_kind)k);

		check_near(schedule_rate(&s, 0), 0.05, 1e-12);
		check_near(schedule_rate(&s, 4), 0.25, 1e-12);
		check_near(schedule_rate(&s, 9), 0.5, 1e-12);
	}
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rate_schedule s = short_schedule(cases[i].kind);

		s.restart = cases[i].restart;
		check_near(schedule_rate(&s, cases[i].step), cases[i].rate, 1e-12);
	}
}

/* The cool-down multiplies the rate of each row; one that is decided late begins without a jump. */
TEST(sched_cooldown_of_each_row)
{
	for (int k = 0; k < N_SCHEDULES; k++) {
		const struct rate_schedule plain = short_schedule((enum schedule_kind)k);
		struct rate_schedule s = plain;

		s.cooldown = 40;
		for (int64_t i = 0; i < 110; i++)
			check_near(schedule_rate(&s, i) / schedule_rate(&plain, i),
				   i < 70 ? 1 : (double)(110 - i) / 40, 1e-12);
		schedule_decide_cooldown(&s, 80, 90);
		check_near(schedule_rate(&s, 80), schedule_rate(&plain, 80) * 0.75, 1e-12);
		check_near(schedule_rate(&s, 89), schedule_rate(&plain, 89) * 0.075, 1e-12);
		schedule_decide_cooldown(&s, 85, 105); /* the pace has changed */
		check_near(schedule_rate(&s, 85), schedule_rate(&plain, 85) * 0.375, 1e-12);
		check_near(schedule_rate(&s, 104), schedule_rate(&plain, 104) * 0.375 / 20, 1e-12);
	}
}

/* A time limit that ends the run at step 60 gives the rates of a run of 60 steps. */
TEST(sched_end_by_time)
{
	for (int k = 0; k < N_SCHEDULES; k++) {
		struct rate_schedule limited = short_schedule((enum schedule_kind)k),
				     of_60 = limited;
		const bool moves = k == SCHEDULE_cosine || k == SCHEDULE_linear;

		limited.end = of_60.steps = 60;
		for (int64_t i = 0; i < 60; i++)
			check_near(schedule_rate(&limited, i), schedule_rate(&of_60, i), 0);
		check_int(schedule_has_end(&limited), moves);
		limited.restart = 7;
		check(!schedule_has_end(&limited));
	}
}

TEST(sched_sums_and_peaks)
{
	for (int k = 0; k < N_SCHEDULES; k++) {
		struct rate_schedule s = short_schedule((enum schedule_kind)k);

		for (int n = 0; n < 2; n++) {
			const int64_t steps = n ? 100000 : 110;
			double sum = 0;

			s.steps = steps;
			s.cooldown = steps / 5;
			for (int64_t i = 0; i < steps; i++)
				sum += schedule_rate(&s, i);
			check_near(schedule_sum(&s, steps) / sum, 1, 0.01);
		}
		check_near(schedule_unit_peak(&s) * (k == SCHEDULE_noam ? s.factor : s.peak), 0.5,
			   1e-12);
	}
	check_near(
		schedule_sum(&(struct rate_schedule){ .factor = 1, .warmup = 1, .d_model = 4 }, 0),
		0, 0);
}

/* The choices of the option are the rows of the table, in its order. */
TEST(sched_choices_are_the_table)
{
	struct conf_row row;
	struct conf c;
	struct err e = { 0 };
	size_t n;

	if (!check(conf_find_row("schedule", &row)) || !check_err(conf_init(&c, &e), 0))
		return;
	check_int(c.schedule, SCHEDULE_noam);
	for (int k = 0; k < N_SCHEDULES; k++) {
		const char *choice = conf_choice(row.detail, k, &n),
			   *name = schedule_name((enum schedule_kind)k);

		check(choice && n == strlen(name) && !memcmp(choice, name, n));
		set(&c, "schedule", name);
		check_int(c.schedule, k);
		check(conf_find_row(schedule_rate_option((enum schedule_kind)k), &row));
		check(conf_find_row("schedule", &row));
	}
	check(!conf_choice(row.detail, N_SCHEDULES, &n));
	check(!schedule_name(N_SCHEDULES));
	conf_free(&c);
}

TEST(sched_refusals)
{
	static const struct {
		const char *options[6], *text; /* NULL: accepted */
	} cases[] = {
		{ { "schedule", "noam" }, NULL },
		{ { "schedule", "cosine" }, "the schedule cosine needs peak_rate" },
		{ { "schedule", "constant", "peak_rate", "0" },
		  "the schedule constant needs peak_rate" },
		{ { "schedule", "inverse-sqrt", "learning_rate", "0.001" },
		  "learning_rate is a former name of noam_factor" },
		{ { "peak_rate", "0.001" },
		  "peak_rate is 0.001, but the schedule noam has its rate from noam_factor" },
		{ { "schedule", "cosine", "peak_rate", "1e-3", "min_rate", "0.1" }, NULL },
		{ { "schedule", "cosine", "peak_rate", "1e-3", "restart", "100" }, NULL },
		{ { "schedule", "linear", "peak_rate", "1e-3", "min_rate", "0.1" }, NULL },
		{ { "schedule", "linear", "peak_rate", "1e-3", "restart", "100" },
		  "restart is 100, but the schedule linear has no restart: set restart to 0, or "
		  "schedule to cosine" },
		{ { "schedule", "constant", "peak_rate", "1e-3", "min_rate", "0.1" },
		  "min_rate is 0.1, but the schedule constant has no min_rate: set min_rate to 0, "
		  "or "
		  "schedule to cosine or linear" },
		{ { "min_rate", "0.1" }, "the schedule noam has no min_rate" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct conf c;
		struct err e = { 0 };

		if (!make_conf(&c, "r"))
			return;
		for (size_t k = 0; k < 6 && cases[i].options[k]; k += 2)
			set(&c, cases[i].options[k], cases[i].options[k + 1]);
		check_err(schedule_check_conf(&c, &e), cases[i].text ? ERR_CONFIG : 0);
		if (cases[i].text && !strstr(e.text, cases[i].text))
			test_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", e.text, cases[i].text);
		conf_free(&c);
	}
}

static void check_formula(const struct rate_schedule *s, bool has_numbers, const char *want)
{
	struct buf text = { 0 };

	schedule_put_formula(s, has_numbers, &text);
	check_str(buf_text(&text), want);
	buf_free(&text);
}

TEST(sched_formulas)
{
	struct rate_schedule s = { .factor = 2, .warmup = 8000, .d_model = 512 };

	check_formula(&s, false, "factor * d_model^-0.5 * min(step * warmup^-1.5, step^-0.5)");
	check_formula(&s, true, "2 * 512^-0.5 * min(step * 8000^-1.5, step^-0.5)");
	s = short_schedule(SCHEDULE_linear);
	check_formula(
		&s, false,
		"peak * min(step / warmup, 1 - (1 - floor) * x), x = max(0, step - 1 - warmup) / "
		"(steps - warmup)");
	check_formula(
		&s, true,
		"0.5 * min(step / 10, 1 - (1 - 0.1) * x), x = max(0, step - 1 - 10) / (110 - 10)");
	s = short_schedule(SCHEDULE_cosine);
	s.restart = 20;
	check_formula(
		&s, true,
		"0.5 * min(step / 10, 0.1 + (1 - 0.1) * (1 + cos(pi * x)) / 2), x = (max(0, step - "
		"1 - 10) mod 20) / 20");
}

/* A run refuses such a recipe before it makes its folder. */
TEST(sched_refused_before_the_run)
{
	static const struct trainer_signals never;
	struct conf c;
	struct err e = { 0 };

	if (!make_corpus() || !make_conf(&c, "r"))
		return;
	set(&c, "schedule", "cosine");
	check_err(train(&c, &never, &e), ERR_CONFIG);
	check(strstr(e.text, "needs peak_rate") != NULL);
	check(!file_exists(at("runs/r")));
	conf_free(&c);
}
