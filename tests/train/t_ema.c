/* t_ema.c - the moving average of weights: its formula, resuming, checkpoints */
#include "tests/train/small_run.h"

#include "share/base/file.h"
#include "train/optim/ema.h"

#define STEPS 20

/* The average over the checkpoints of a run that saved every step, computed in double. */
static double *average_of(const struct conf *c, const char *run, double decay, int steps,
			  int64_t *n)
{
	double *average = NULL;
	struct err e;

	for (int t = 0; t <= steps; t++) {
		float *w = weights_of(c, run, t, n);
		const double kept = t ? fmin(decay, (1.0 + t) / (10.0 + t)) : 0;

		if (!average)
			average = mem_alloc((size_t)*n, sizeof(*average), &e);
		for (int64_t i = 0; w && average && i < *n; i++)
			average[i] = kept * average[i] + (1 - kept) * (double)w[i];
		free(w);
	}
	return average;
}

static void check_average(const struct conf *c, const char *run, int step, const double *want,
			  int64_t n)
{
	int64_t have = 0;
	float *w = weights_of(c, run, step, &have);
	double worst = 0;

	check_int(have, n);
	for (int64_t i = 0; w && want && i < MIN(n, have); i++)
		worst = fmax(worst, fabs((double)w[i] - want[i]));
	if (!(worst < 1e-6))
		test_fail(__FILE__, __LINE__, "%s: the average is off by %g", run, worst);
	free(w);
}

static bool same_file(const char *a, const char *b)
{
	struct buf x = { 0 }, y = { 0 };
	struct err e = { 0 };
	char path[600];
	bool same;

	snprintf(path, sizeof(path), "%s", at(a));
	same = !file_read_all(path, 0, &x, &e) && !file_read_all(at(b), 0, &y, &e) &&
	       x.len == y.len && !memcmp(x.data, y.data, x.len);
	if (e.code)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	buf_free(&x);
	buf_free(&y);
	return same;
}

/* Weights at every step, from the random ones of step 0 on. */
static bool train_plain(struct conf *c, const char *run)
{
	if (!make_conf(c, run))
		return false;
	set(c, "save_every", "1");
	set(c, "keep", "100");
	set(c, "steps", "0");
	if (!trains(c))
		return false;
	set(c, "steps", "20");
	return trains(c);
}

TEST(ema_follows_the_formula)
{
	static const double decays[] = { 0.3, 0.999 }; /* the second: the beginning's alone */
	struct conf plain, c;
	int64_t n = 0;

	if (!make_corpus() || !train_plain(&plain, "plain"))
		return;
	for (int i = 0; i < 2; i++) {
		double *want = average_of(&plain, "plain", decays[i], STEPS, &n);

		if (!make_conf(&c, i ? "slow" : "fast"))
			break;
		set(&c, "steps", "20");
		set(&c, "ema", i ? "0.999" : "0.3");
		check(trains(&c));
		check_average(&c, i ? "slow" : "fast", STEPS, want, n);
		free(want);
		conf_free(&c);
	}
	/* the averages do not change the training */
	check(same_file("runs/plain/checkpoints/20/model.safetensors",
			"runs/fast/checkpoints/20/training.safetensors"));
	check(same_file("runs/plain/checkpoints/20/optimizer.safetensors",
			"runs/slow/checkpoints/20/optimizer.safetensors"));
	check(!file_exists(at("runs/plain/checkpoints/20/training.safetensors")));
	conf_free(&plain);
}

TEST(ema_resumes_bit_by_bit)
{
	struct conf straight, parts;

	if (!make_corpus() || !make_conf(&straight, "straight") || !make_conf(&parts, "parts"))
		return;
	set(&straight, "ema", "0.95");
	set(&parts, "ema", "0.95");
	trains(&straight);
	set(&parts, "steps", "10");
	trains(&parts);
	set(&parts, "steps", "30");
	trains(&parts);
	check_same_run("straight", "parts", 30);
	check(same_file("runs/straight/checkpoints/30/training.safetensors",
			"runs/parts/checkpoints/30/training.safetensors"));
	conf_free(&straight);
	conf_free(&parts);
}

/* Switched on later, the average starts from the weights; switched off, training uses its weights. */
TEST(ema_switched_on_and_off)
{
	struct conf plain, c;
	int64_t n = 0;
	float *before, *after;

	if (!make_corpus() || !train_plain(&plain, "plain") || !make_conf(&c, "r"))
		return;
	set(&c, "steps", "10");
	trains(&c);
	set(&c, "ema", "0.5");
	set(&c, "steps", "11");
	trains(&c);
	before = weights_of(&c, "plain", 10, &n);
	after = weights_of(&c, "plain", 11, &n);
	if (before && after) {
		double *want = mem_alloc((size_t)n, sizeof(*want), &(struct err){ 0 });

		for (int64_t i = 0; want && i < n; i++)
			want[i] = 0.5 * ((double)before[i] + (double)after[i]);
		check_average(&c, "r", 11, want, n);
		free(want);
	}
	set(&c, "ema", "0");
	set(&c, "steps", "20");
	trains(&c);
	check(same_file("runs/plain/checkpoints/20/model.safetensors",
			"runs/r/checkpoints/20/model.safetensors"));
	check(!file_exists(at("runs/r/checkpoints/20/training.safetensors")));
	free(before);
	free(after);
	conf_free(&c);
	conf_free(&plain);
}

/* A checkpoint that lacks the averaged weights it lists is not used. */
TEST(ema_checkpoint_is_checked)
{
	struct conf c;
	struct err e = { 0 };
	double step = 0;

	if (!make_corpus() || !make_conf(&c, "r"))
		return;
	set(&c, "ema", "0.9");
	trains(&c);
	check_err(file_write_all(at("runs/r/checkpoints/30/training.safetensors"), "x", 1, &e), 0);
	set(&c, "steps", "31");
	trains(&c);
	count_records("r", "train", "step", &step);
	check(step > 20);
	check_int(count_records("r", "start", "attempt", &step), 2);
	conf_free(&c);
}
