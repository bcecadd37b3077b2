/* t_time.c - the time limit of a run, by simulated clocks: its cool-down, its last evaluation, its forecast */
#include "share/base/clock.h"
#include "tests/train/small_run.h"
#include "train/trainer/time_plan.h"
#include "train/trainer/trainer_internal.h"

/* A run whose clock is a number: nothing computes, and nothing waits. */
struct simulated {
	struct trainer t;
	struct comm comm;
	double clock, evaluation_s;
	double (*step_s)(int64_t step);
	double last_rate, full_rate; /* of the last step: as trained, and without a cool-down */
	int64_t cooled_at;	     /* step of the first decision; -1: none */
	int decisions, evaluations;
};

static bool simulated_open(struct simulated *s, const struct conf *c, double step_s(int64_t))
{
	struct err e = { 0 };

	*s = (struct simulated){ .step_s = step_s, .cooled_at = -1 };
	s->t.conf = c;
	s->t.comm = &s->comm;
	s->t.rate_schedule = schedule_from_conf(c, 16);
	if (!check_err(comm_open(&s->comm, "one", NULL, NULL, &e), 0))
		return false;
	s->t.records = (struct run_records){ .journal = journal_open(at("journal.jsonl"), &e),
					     .step = &s->t.state.step,
					     .is_quiet = c->quiet };
	s->t.time = (struct time_limit){ .conf = c,
					 .schedule = &s->t.rate_schedule,
					 .state = &s->t.state,
					 .records = &s->t.records };
	s->t.in_sync = true;
	return check(s->t.records.journal != NULL);
}

static void simulate_evaluation(struct simulated *s)
{
	s->clock += s->evaluation_s;
	s->evaluations++;
	s->t.progress.evaluated_step = s->t.state.step;
	time_limit_evaluated(&s->t.time, s->evaluation_s);
}

/* As run_training_loop(), until a step or the end. */
static void simulate_until(struct simulated *s, int64_t step)
{
	struct trainer *t = &s->t;

	while (t->state.step < t->conf->steps && t->state.step < step) {
		struct rate_schedule full = t->rate_schedule;
		int64_t asks[N_TIME_ASKS] = { 0 };

		t->time.started_at = clock_mono_s() - s->clock;
		time_limit_ask(&t->time, s->clock, asks);
		if (asks[TIME_IS_OVER])
			break;
		time_limit_obey(&t->time, asks);
		if (asks[TIME_COOLDOWN_TO] && s->decisions++ == 0)
			s->cooled_at = t->state.step;
		full.cooldown = full.decided.to = 0;
		s->last_rate = schedule_rate(&t->rate_schedule, t->state.step);
		s->full_rate = schedule_rate(&full, t->state.step);
		t->last_step.times.step = s->step_s(t->state.step);
		s->clock += t->last_step.times.step;
		t->state.step++;
		time_limit_step(&t->time, t->last_step.times.step, (double)t->state.step / 5000);
		if (t->state.step % t->conf->eval_every == 0 && !t->time.is_tight)
			simulate_evaluation(s);
	}
}

static void simulate(struct simulated *s)
{
	simulate_until(s, INT64_MAX);
	if (s->t.progress.evaluated_step != s->t.state.step)
		simulate_evaluation(s);
	journal_free(s->t.records.journal);
}

static double steady(int64_t step)
{
	return step == 0 ? 30 : 1; /* the first step is no measure */
}

static double slower(int64_t step)
{
	return step < 2200 ? 1 : 1.5;
}

static double faster(int64_t step)
{
	return step < 2200 ? 1 : 0.6;
}

static double uneven(int64_t step)
{
	return 0.5 + (double)rng_unit(rng_key_make(1, RNG_TEST, 1, 0), (uint64_t)step);
}

/* 9,000 steps of about 1 s are planned, with a cool-down over a third of them. */
static bool make_limited_conf(struct conf *c, const char *minutes)
{
	if (!make_conf(c, "limited"))
		return false;
	set(c, "steps", "9000");
	set(c, "cooldown", "3000");
	set(c, "warmup", "300");
	set(c, "eval_every", "250");
	set(c, "max_minutes", minutes);
	return true;
}

TEST(time_cooldown_ends_inside_the_limit)
{
	double (*const paces[])(int64_t) = { steady, slower, faster, uneven };
	struct conf c;

	if (!make_limited_conf(&c, "60"))
		return;
	for (size_t i = 0; i < ARRAY_LEN(paces); i++) {
		struct simulated s;

		if (!simulated_open(&s, &c, paces[i]))
			break;
		s.evaluation_s = 40;
		simulate(&s);
		check(s.clock <= 3600);
		check(s.clock > 3600 - 120); /* and the time is used */
		check(s.last_rate < 0.03 * s.full_rate);
		/* a third of the steps that the time holds, about */
		check(s.cooled_at > s.t.state.step / 2 && s.cooled_at < s.t.state.step * 3 / 4);
		check(s.decisions >= 1 && s.decisions < 40);
	}
	conf_free(&c);
}

static bool journal_has(const char *text)
{
	struct buf b = { 0 };
	struct err e;
	bool found = !file_read_all(at("journal.jsonl"), 0, &b, &e) && strstr(buf_text(&b), text);

	buf_free(&b);
	return found;
}

/* The rates of a cosine and of a line end at the floor when time ends the run, at any pace. */
TEST(time_moves_the_end_of_a_schedule)
{
	double (*const paces[])(int64_t) = { steady, slower, faster, uneven };
	static const char *const schedules[] = { "cosine", "linear" };
	struct conf c;

	if (!make_limited_conf(&c, "60"))
		return;
	set(&c, "cooldown", "0");
	set(&c, "peak_rate", "0.01");
	set(&c, "min_rate", "0.1");
	for (size_t i = 0; i < 2 * ARRAY_LEN(paces); i++) {
		struct simulated s;

		set(&c, "schedule", schedules[i % 2]);
		if (!simulated_open(&s, &c, paces[i / 2]))
			break;
		s.evaluation_s = 40;
		simulate(&s);
		check(s.clock <= 3600 && s.clock > 3600 - 120);
		check(s.last_rate > 0.00099 && s.last_rate < 0.0011);
		check(s.t.rate_schedule.end < 9000);
		check_int(s.t.state.schedule_end, s.t.rate_schedule.end);
		check(journal_has("the schedule") && journal_has("\"schedule_end\":"));
		unlink(at("journal.jsonl"));
	}
	conf_free(&c);
}

/* With a cool-down as well, the cool-down ends the run; a cosine with restarts has no end. */
TEST(time_cools_down_other_schedules)
{
	struct simulated s;
	struct conf c;

	if (!make_limited_conf(&c, "60"))
		return;
	set(&c, "peak_rate", "0.01");
	set(&c, "schedule", "cosine");
	for (int k = 0; k < 2; k++) {
		if (!simulated_open(&s, &c, slower))
			break;
		s.evaluation_s = 40;
		simulate(&s);
		check(s.clock <= 3600 && s.clock > 3600 - 120);
		check(s.last_rate < 0.03 * s.full_rate);
		check_int(s.t.rate_schedule.end > 0, k == 0);
		set(&c, "restart", "500");
	}
	conf_free(&c);
}

/* Steps end the run first, or there is no cool-down, or no limit: nothing is decided. */
TEST(time_decides_nothing_without_need)
{
	static const char *const cases[][3] = { { "60", "0", "9000" },
						{ "600", "3000", "9000" },
						{ "0", "3000", "9000" } };
	struct conf c;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct simulated s;

		if (!make_limited_conf(&c, cases[i][0]))
			return;
		set(&c, "cooldown", cases[i][1]);
		set(&c, "steps", cases[i][2]);
		if (simulated_open(&s, &c, steady))
			simulate(&s);
		check_int(s.decisions, 0);
		check_int(s.t.state.step, i == 0 ? s.t.state.step : 9000);
		conf_free(&c);
	}
}

/* Evaluations of 20 minutes: the last one ends inside the hour, and none before it takes its time. */
TEST(time_holds_the_last_evaluation)
{
	struct simulated s;
	struct conf c;

	if (!make_limited_conf(&c, "60"))
		return;
	if (simulated_open(&s, &c, steady)) {
		s.evaluation_s = 1000;
		simulate(&s);
		check_int(s.evaluations, 2);
		check(s.clock <= 3600);
		check(s.t.state.step > 1000);
		check_int(s.t.progress.evaluated_step, s.t.state.step);
	}
	conf_free(&c);
}

TEST(time_forecast_of_less_than_an_epoch)
{
	struct simulated s;
	struct conf c;

	if (!make_limited_conf(&c, "60"))
		return;
	if (simulated_open(&s, &c, steady))
		simulate(&s);
	check(journal_has("60 minutes hold about 0.71 epochs"));
	check(journal_has("give --max-minutes 84 or more"));
	unlink(at("journal.jsonl"));
	set(&c, "max_minutes", "100");
	if (simulated_open(&s, &c, steady))
		simulate(&s);
	check(!journal_has("epochs"));
	conf_free(&c);
}

/* An evaluation that nothing announced is longer than the limit: said afterwards. */
TEST(time_of_an_unknown_evaluation_is_said)
{
	struct simulated s;
	struct conf c;

	if (!make_limited_conf(&c, "10"))
		return;
	set(&c, "eval_every", "5000");
	if (simulated_open(&s, &c, steady)) {
		s.evaluation_s = 1185;
		simulate_until(&s, INT64_MAX);
		s.t.time.started_at = clock_mono_s() - s.clock - s.evaluation_s;
		simulate_evaluation(&s);
		journal_free(s.t.records.journal);
	}
	check(journal_has("no earlier evaluation showed how long they take"));
	conf_free(&c);
}

/* ---- the decision is a part of the state --------------------------------- */

/*
 * Train a run from its last checkpoint to a step; decides: after step 5, the cool-down, or the way of a
 * schedule that has an end, ends at 15.
 */
static void train_to(struct conf *c, const char *run, int64_t step, bool decides)
{
	struct comm comm;
	static const struct trainer_signals never;
	struct trainer t = { .conf = c, .comm = &comm, .signals = &never };
	int64_t asks[N_TIME_ASKS] = { 0 };
	struct err e = { 0 };

	set(c, "run", run);
	if (!write_recipe(c, run) || !check_err(comm_open(&comm, "one", NULL, NULL, &e), 0))
		return;
	check_err(trainer_open(&t, &e), 0);
	asks[schedule_has_end(&t.rate_schedule) ? TIME_SCHEDULE_END : TIME_COOLDOWN_TO] = 15;
	if (!decides)
		check_int(MAX(t.rate_schedule.decided.to, t.rate_schedule.end), 15);
	while (!e.code && t.state.step < step) {

		if (decides && t.state.step == 5)
			time_limit_obey(&t.time, asks);
		check_err(trainer_step(&t, &e), 0);
	}
	if (!schedule_has_end(&t.rate_schedule))
		check_near(t.rate_schedule.decided.factor, 1, 0);
	check_err(trainer_save(&t, true, &e), 0);
	trainer_close(&t);
}

TEST(time_cooldown_is_resumed_exactly)
{
	struct conf c;

	if (!make_corpus() || !make_conf(&c, "a"))
		return;
	set(&c, "max_minutes", "1000");
	set(&c, "cooldown", "20");
	train_to(&c, "a", 14, true);
	train_to(&c, "b", 10, true);
	train_to(&c, "b", 14, false);
	check_same_run("a", "b", 14);
	set(&c, "cooldown", "0");
	set(&c, "schedule", "linear");
	set(&c, "peak_rate", "0.01");
	train_to(&c, "c", 14, true);
	train_to(&c, "d", 12, true);
	train_to(&c, "d", 14, false);
	check_same_run("c", "d", 14);
	conf_free(&c);
}

/* Another limit is another plan: the run that ended trains on at its full rate. */
TEST(time_cooldown_of_another_limit_is_forgotten)
{
	struct conf c;
	struct trainer t = { .time = { .conf = &c,
				       .schedule = &t.rate_schedule,
				       .state = &t.state,
				       .records = &t.records } };

	if (!make_limited_conf(&c, "60"))
		return;
	t.state.cooldown = (struct schedule_cooldown){ 5, 15, 1 };
	t.state.schedule_end = 20;
	t.state.cooldown_minutes = 60;
	time_limit_begin(&t.time);
	check_int(t.rate_schedule.decided.to, 15);
	check_int(t.rate_schedule.end, 20);
	set(&c, "max_minutes", "120");
	time_limit_begin(&t.time);
	check_int(t.rate_schedule.decided.to, 0);
	check_int(t.state.cooldown.to, 0);
	check_int(t.rate_schedule.end, 0);
	check_int(t.state.schedule_end, 0);
	conf_free(&c);
}

/* A micro-batch that holds the whole text: each step is a pass, also while the next one is loaded ahead. */
TEST(time_epoch_counts_passes_that_are_made)
{
	const struct json *record;
	struct journal_reader *r;
	struct err e = { 0 };
	struct conf c;
	int passes = 0;

	if (!make_corpus() || !make_conf(&c, "whole"))
		return;
	set(&c, "batch_tokens", "4096");
	set(&c, "micro_batches", "1");
	set(&c, "steps", "3");
	set(&c, "log_every", "1");
	check(write_recipe(&c, "whole") && trains(&c));
	r = journal_reader_open(at("runs/whole/journal.jsonl"), &e);
	while (r && journal_next(r, &record, &e) > 0)
		if (!strcmp(json_text(json_get(record, "kind"), ""), "train"))
			check_near(json_number(json_get(record, "epoch"), NAN), ++passes, 1e-9);
	check_int(passes, 3);
	journal_reader_free(r);
	conf_free(&c);
}
