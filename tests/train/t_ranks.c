/* t_ranks.c - runs of several ranks, which are threads of this process */
#include <sys/resource.h>

#include "tests/train/fake_ranks.h"
#include "tests/train/small_run.h"
#include "train/comm/compress.h"
#include "train/trainer/trainer_gpu.h"
#include "train/trainer/trainer_internal.h"

struct job {
	const struct conf *conf;
	int rc[8];
};

static void train_rank(struct comm *c, void *arg)
{
	static const struct trainer_signals never;
	struct job *j = arg;
	struct err e = { 0 };

	j->rc[c->rank] = without_evaluation(trainer_run(j->conf, c, &never, &e), &e);
	if (j->rc[c->rank])
		test_fail(__FILE__, __LINE__, "rank %d: %s", c->rank, e.text);
}

static void train_on(const struct conf *c, const char *run, int ranks)
{
	struct conf own = *c;
	struct job j = { .conf = &own };
	struct err e;

	own.run = mem_strdup(run, &e);
	if (own.run && write_recipe(&own, run))
		fake_ranks(ranks, train_rank, &j);
	free(own.run);
}

static bool make_shared_conf(struct conf *c)
{
	if (!make_corpus() || !make_conf(c, "unnamed"))
		return false;
	set(c, "micro_batches", "6");
	set(c, "bucket_mb", "0.01");
	set(c, "telemetry_every", "0");
	/* small steps, so that training does not amplify rounding errors */
	set(c, "warmup", "400");
	set(c, "steps", "30");
	return true;
}

/* The losses of all steps in the journal of a run. */
static int losses_of(const char *run, double *losses, int most)
{
	char path[600];
	struct err e;
	const struct json *record;
	struct journal_reader *r;
	int n = 0;

	snprintf(path, sizeof(path), "%s/runs/%s/journal.jsonl", test_folder(), run);
	r = journal_reader_open(path, &e);
	while (r && n < most && journal_next(r, &record, &e) > 0)
		if (!strcmp(json_text(json_get(record, "kind"), ""), "train"))
			losses[n++] = json_number(json_get(record, "loss"), NAN);
	journal_reader_free(r);
	return n;
}

static int count_events(const char *run, const char *about)
{
	char path[600];
	struct err e;
	const struct json *record;
	struct journal_reader *r;
	int n = 0;

	snprintf(path, sizeof(path), "%s/runs/%s/journal.jsonl", test_folder(), run);
	r = journal_reader_open(path, &e);
	while (r && journal_next(r, &record, &e) > 0)
		n += strstr(json_text(json_get(record, "text"), ""), about) != NULL;
	journal_reader_free(r);
	return n;
}

static void check_near_losses(const char *a, const char *b, int n, double tolerance)
{
	double x[100] = { 0 }, y[100] = { 0 }, worst = 0;

	check_int(losses_of(a, x, 100), n);
	check_int(losses_of(b, y, 100), n);
	for (int i = 0; i < n; i++)
		worst = fmax(worst, fabs(x[i] - y[i]));
	if (!(worst <= tolerance))
		test_fail(__FILE__, __LINE__, "losses of %s and %s differ by %g", a, b, worst);
}

/* Ranks share the GPUs of their host in order, unless each of them sees its own. */
TEST(ranks_choose_their_gpus)
{
	static const struct gpu_view
		plain[] = { { "a", "" }, { "b", "" }, { "a", "" }, { "b", "" } },
		own[] = { { "a", "0" }, { "a", "1" }, { "b", "0" }, { "b", "1" } },
		shared[] = { { "a", "0,1" }, { "a", "0,1" }, { "a", "2" } };
	static const int64_t of_plain[] = { 0, 0, 1, 1 }, of_shared[] = { 0, 1, 0 };

	for (int i = 0; i < 4; i++) {
		check_int(gpu_view_index(plain, 4, i, 0), of_plain[i]);
		check_int(gpu_view_index(plain, 4, i, 2), of_plain[i] + 2);
		check_int(gpu_view_index(own, 4, i, 0), 0);
	}
	for (int i = 0; i < 3; i++)
		check_int(gpu_view_index(shared, 3, i, 0), of_shared[i]);
	check_int(gpu_view_index(own, 1, 0, 3), 3);
}

/*
 * The losses do not depend on the number of ranks or the way of reduction. With overlapped
 * reduction or a sharded optimizer every bit is the same, with clipping too.
 */
TEST(ranks_train_like_one)
{
	struct conf c;

	if (!make_shared_conf(&c))
		return;
	set(&c, "steps", "100");
	set(&c, "log_every", "1");
	set(&c, "save_every", "1000");
	train_on(&c, "one", 1);
	for (int ranks = 2; ranks <= 3; ranks++) {
		set(&c, "overlap_reduce", "yes");
		set(&c, "shard_optimizer", "no");
		train_on(&c, ranks == 2 ? "two" : "three", ranks);
		set(&c, "overlap_reduce", "no");
		train_on(&c, "after", ranks);
		set(&c, "shard_optimizer", "yes");
		train_on(&c, "shards", ranks);
		check_near_losses("one", ranks == 2 ? "two" : "three", 100, 1e-6);
		check_same_run(ranks == 2 ? "two" : "three", "after", 100);
		check_same_run("after", "shards", 100);
		check_err(file_remove_tree(at("runs/after"), &(struct err){ 0 }), 0);
		check_err(file_remove_tree(at("runs/shards"), &(struct err){ 0 }), 0);
	}
	conf_free(&c);
}

/* With compressed gradients the losses stay near those of fp32. */
TEST(ranks_train_with_compression)
{
	static const struct {
		enum wire_format wire;
		double tolerance;
	} cases[] = {
		{ WIRE_BF16, 1e-3 },
		{ WIRE_INT8, 1e-3 },
		{ WIRE_2BIT, 0.05 },
		{ WIRE_1BIT, 0.08 },
	};
	double loss[100], exact[100], sent = 0, all = 0;
	struct conf c;

	if (!make_shared_conf(&c))
		return;
	set(&c, "steps", "100");
	set(&c, "log_every", "10");
	train_on(&c, "exact", 2);
	check_int(losses_of("exact", exact, 100), 11);
	count_records("exact", "train", "sent_bytes", &all);
	check(all > 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *name = compress_name(cases[i].wire);

		set(&c, "wire", name);
		set(&c, "wire_warmup", "0");
		train_on(&c, name, 2);
		check_int(losses_of(name, loss, 100), 11);
		check(loss[10] < loss[0] - 0.2);
		check_near(loss[10], exact[10], cases[i].tolerance);
		check(loss[10] != exact[10]);
		count_records(name, "train", "sent_bytes", &sent);
		check_near(sent / all, compress_ratio(cases[i].wire), 0.02);
	}
	/* the warm-up: 1bit begins after that of the learning rate, which is longer than this run */
	set(&c, "wire_warmup", "-1");
	train_on(&c, "exact_1bit", 2);
	check_int(losses_of("exact_1bit", loss, 100), 11);
	check(!memcmp(loss, exact, 11 * sizeof(*loss)));
	count_records("exact_1bit", "train", "sent_bytes", &sent);
	check_near(sent, all, 0);
	conf_free(&c);
}

/* A resumed run equals an uninterrupted one: sharded moments, error feedback, averages. */
TEST(ranks_resume_bit_by_bit)
{
	static const char *const cases[][8] = {
		{ "wire", "2bit", "shard_optimizer", "no", "local_steps", "1", "ema", "0" },
		{ "wire", "1bit", "shard_optimizer", "yes", "local_steps", "1", "ema", "0.9" },
		{ "wire", "fp32", "shard_optimizer", "yes", "local_steps", "1", "ema", "0" },
		{ "wire", "2bit", "shard_optimizer", "no", "local_steps", "4", "ema", "0.9" },
		{ "wire", "fp32", "shard_optimizer", "no", "local_steps", "1", "ema", "0.9" },
	};
	struct conf c;

	if (!make_shared_conf(&c))
		return;
	set(&c, "wire_warmup", "8");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (int k = 0; k < 8; k += 2)
			set(&c, cases[i][k], cases[i][k + 1]);
		set(&c, "steps", "30");
		train_on(&c, "straight", 3);
		set(&c, "steps", "10");
		train_on(&c, "parts", 3);
		set(&c, "steps", "30");
		train_on(&c, "parts", 3);
		check_same_run("straight", "parts", 30);
		check(file_exists(at("runs/parts/checkpoints/30/error_feedback.safetensors")) ==
		      (cases[i][1][0] != 'f'));
		check(file_exists(at("runs/parts/checkpoints/30/training.safetensors")) ==
		      (strlen(cases[i][7]) > 1));
		check_err(file_remove_tree(at("runs/straight"), &(struct err){ 0 }), 0);
		check_err(file_remove_tree(at("runs/parts"), &(struct err){ 0 }), 0);
	}
	conf_free(&c);
}

/* AdamW with and without shards has the same bits; AdamW's and Adafactor's runs resume on several ranks. */
TEST(ranks_resume_other_optimizers)
{
	static const char *const cases[][6] = {
		{ "optimizer", "adamw", "weight_decay", "0.1", "shard_optimizer", "no" },
		{ "optimizer", "adamw", "weight_decay", "0.1", "shard_optimizer", "yes" },
		{ "optimizer", "adafactor", "weight_decay", "0", "shard_optimizer", "no" },
	};
	static const char *const names[] = { "plain", "shards", "factored" };
	struct conf c;

	if (!make_shared_conf(&c))
		return;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (int k = 0; k < 6; k += 2)
			set(&c, cases[i][k], cases[i][k + 1]);
		set(&c, "steps", "30");
		train_on(&c, names[i], 3);
		set(&c, "steps", "10");
		train_on(&c, "parts", 3);
		set(&c, "steps", "30");
		train_on(&c, "parts", 3);
		check_same_run(names[i], "parts", 30);
		check_err(file_remove_tree(at("runs/parts"), &(struct err){ 0 }), 0);
	}
	check_same_run("plain", "shards", 30);
	conf_free(&c);
}

/* A checkpoint of a sharded optimizer can be resumed by one rank, by more, and without shards. */
TEST(ranks_may_change_between_attempts)
{
	struct conf c;

	if (!make_shared_conf(&c))
		return;
	set(&c, "log_every", "1");
	train_on(&c, "one", 1);
	set(&c, "steps", "10");
	set(&c, "shard_optimizer", "yes");
	set(&c, "wire", "fp32");
	train_on(&c, "r", 3);
	set(&c, "steps", "20");
	train_on(&c, "r", 2);
	set(&c, "steps", "30");
	set(&c, "shard_optimizer", "no");
	train_on(&c, "r", 1);
	check_near_losses("one", "r", 30, 1e-4);
	/* error feedback needs the same number of ranks: it is dropped with a warning */
	set(&c, "wire", "2bit");
	set(&c, "steps", "40");
	train_on(&c, "r", 2);
	set(&c, "steps", "41");
	train_on(&c, "r", 3);
	check_int(count_events("r", "is not used"), 1);
	conf_free(&c);
}

/* ---- a state that the first rank saves alone ---- */

/* Of rank 1, in this step: a signal tells the first rank that it may be lost. */
static struct {
	int step;
	unsigned us;
} lossy_pause = { 13, 1100000 };

#define FAILED_CALL 20 /* of max_ints(), in which all ranks lose the others */

static struct {
	struct trainer_signals signals;
	int steps, calls[8];
	/* of each rank, which is a thread */
	int (*begin_sum[8])(struct comm *c, double *x, size_t n, struct comm_request **r,
			    struct err *e);
	int (*max_ints[8])(struct comm *c, int64_t *x, size_t n, struct err *e);
} lossy;

/* Each step begins one such sum, after the backward pass. */
static int begin_sum_late(struct comm *c, double *x, size_t n, struct comm_request **r,
			  struct err *e)
{
	if (c->rank == 1 && ++lossy.steps == lossy_pause.step) {
		lossy.signals.continued++;
		usleep(lossy_pause.us);
	}
	return lossy.begin_sum[c->rank](c, x, n, r, e);
}

static int max_ints_of_lost_ranks(struct comm *c, int64_t *x, size_t n, struct err *e)
{
	if (++lossy.calls[c->rank] >= FAILED_CALL)
		return err_set(e, ERR_NOHOST, "the connection is gone");
	return lossy.max_ints[c->rank](c, x, n, e);
}

/* Only ranks in the middle of a step agree on three numbers. */
static int max_ints_then_stop(struct comm *c, int64_t *x, size_t n, struct err *e)
{
	const int rc = lossy.max_ints[c->rank](c, x, n, e);

	if (n == N_STOP_ASKS + 1 && c->rank == 1)
		lossy.signals.stop = SIGUSR1;
	return rc;
}

static void train_until_asked(struct comm *c, void *arg)
{
	struct job *j = arg;
	struct err e = { 0 };

	lossy.max_ints[c->rank] = c->max_ints;
	c->max_ints = max_ints_then_stop;
	j->rc[c->rank] = trainer_run(j->conf, c, &lossy.signals, &e);
}

static void train_with_pause(struct comm *c, void *arg)
{
	struct job *j = arg;
	struct err e = { 0 };

	lossy.begin_sum[c->rank] = c->begin_sum;
	c->begin_sum = begin_sum_late;
	j->rc[c->rank] = without_evaluation(trainer_run(j->conf, c, &lossy.signals, &e), &e);
	if (j->rc[c->rank])
		test_fail(__FILE__, __LINE__, "rank %d: %s", c->rank, e.text);
}

static void train_until_lost(struct comm *c, void *arg)
{
	struct job *j = arg;
	struct err e = { 0 };

	lossy.max_ints[c->rank] = c->max_ints;
	c->max_ints = max_ints_of_lost_ranks;
	j->rc[c->rank] = without_evaluation(trainer_run(j->conf, c, &lossy.signals, &e), &e);
}

static void run_lossy_ranks(struct conf *c, const char *run,
			    void (*body)(struct comm *c, void *arg), struct job *j)
{
	memset(&lossy, 0, sizeof(lossy));
	*j = (struct job){ .conf = c };
	set(c, "run", run);
	if (write_recipe(c, run))
		fake_ranks(2, body, j);
}

/* Number of checkpoints that the first rank saved alone; *step: of the last record "save". */
static int count_lone_saves(const char *run, double *step)
{
	count_records(run, "save", "step", step);
	return count_events(run, "rank 0 saved the state of step");
}

/* A rank that only seemed to be lost: one more checkpoint, which has the right bits, and no harm. */
TEST(ranks_save_a_state_alone)
{
	struct conf c;
	struct job j;
	double step = 0;

	if (!make_shared_conf(&c))
		return;
	set(&c, "save_every", "12");
	set(&c, "keep", "9");
	train_on(&c, "calm", 2);
	set(&c, "save_every", "1000");
	run_lossy_ranks(&c, "r", train_with_pause, &j);
	check_int(count_lone_saves("r", &step), 1);
	check_int(count_events("r", "saved the state of step 12 alone"), 1);
	check_same_run("calm", "r", 12);
	check_same_run("calm", "r", 30);
	conf_free(&c);
}

/* The connection to other ranks fails: the state of the last step is there. */
TEST(ranks_save_after_a_failure)
{
	struct conf c;
	struct job j;
	double step = 0, at_end = 0;

	if (!make_shared_conf(&c))
		return;
	set(&c, "save_every", "1000");
	run_lossy_ranks(&c, "r", train_until_lost, &j);
	check_int(j.rc[0], ERR_NOHOST);
	check_int(count_lone_saves("r", &step), 1);
	count_records("r", "stop", "step", &at_end);
	check(step > 0);
	check_near(step, at_end, 0);
	train_on(&c, "r", 2);
	check_int(count_events("r", "resumed from the checkpoint of step"), 1);
	set(&c, "save_every", "30");
	train_on(&c, "calm", 2);
	check_same_run("calm", "r", 30);
	conf_free(&c);
}

/* Ranks that are alive agree on a stop later than after a signal; the first rank waits for them. */
TEST(ranks_wait_for_an_agreement)
{
	struct conf c;
	struct job j;
	double step = 0;

	if (!make_shared_conf(&c))
		return;
	set(&c, "steps", "3");
	lossy_pause.step = 1; /* its length is unknown: half a second is normal */
	lossy_pause.us = 400000;
	run_lossy_ranks(&c, "r", train_with_pause, &j);
	check_int(lossy.signals.continued, 1);
	check_int(count_lone_saves("r", &step), 0);
	conf_free(&c);
}

/* The first step of an attempt may last for minutes: a stop ends it, too. */
TEST(ranks_stop_in_the_first_step)
{
	struct conf c;
	struct job j;
	double step = -1;

	if (!make_shared_conf(&c))
		return;
	set(&c, "micro_batches", "60");
	run_lossy_ranks(&c, "r", train_until_asked, &j);
	check_int(j.rc[0], ERR_TEMPFAIL);
	check_int(count_records("r", "stop", "step", &step), 1);
	check_near(step, 0, 0);
	check_int(count_records("r", "train", "step", &step), 0);
	conf_free(&c);
}

/* No rank has the whole state alone. */
TEST(ranks_save_together_only)
{
	static const char *const options[][2] = { { "shard_optimizer", "yes" },
						  { "wire", "2bit" },
						  { "ema", "0.9" } };

	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		struct conf c;
		struct job j;
		double step = 0;
		char run[8];

		if (!make_shared_conf(&c))
			return;
		set(&c, options[i][0], options[i][1]);
		set(&c, "steps", "15");
		snprintf(run, sizeof(run), "r%zu", i);
		run_lossy_ranks(&c, run, train_with_pause, &j);
		check_int(lossy.signals.continued, 1);
		check_int(count_lone_saves(run, &step), 0);
		conf_free(&c);
	}
}

/* With local steps ranks learn too, send less, and have equal weights at checkpoints. */
TEST(ranks_take_local_steps)
{
	double exact[20], loss[20], sent = 0, all = 0;
	struct conf c;

	if (!make_shared_conf(&c))
		return;
	set(&c, "steps", "100");
	set(&c, "save_every", "50");
	set(&c, "log_every", "20");
	train_on(&c, "exact", 3);
	set(&c, "local_steps", "12");
	train_on(&c, "local", 3);
	check_int(losses_of("exact", exact, 20), 6);
	/* records come when losses are known: at 24, 48, 60, 84, 100 */
	check_int(losses_of("local", loss, 20), 5);
	check_near(loss[4], exact[5], 0.05);
	check(loss[4] < loss[0] - 0.1);
	count_records("exact", "train", "sent_bytes", &all);
	count_records("local", "train", "sent_bytes", &sent);
	check(sent > 0 && sent < all * 0.6);
	conf_free(&c);
}

static void fail_to_save(struct comm *c, void *arg)
{
	static const struct trainer_signals never;
	struct job *j = arg;
	struct err e = { 0 };

	j->rc[c->rank] = without_evaluation(trainer_run(j->conf, c, &never, &e), &e);
	check(strstr(e.text, "nor the one before") != NULL);
	check(strstr(e.text, "the newest is of step 10") != NULL);
}

/* A full disk: one warning, one retry, then the run ends; the previous checkpoint stays. */
TEST(ranks_outlive_one_failed_save)
{
	struct rlimit limit, small;
	struct conf c;
	struct job j = { .conf = &c };
	double status = 0, step = 0;

	if (!make_shared_conf(&c) || !check_err(getrlimit(RLIMIT_FSIZE, &limit), 0))
		return;
	set(&c, "steps", "10");
	set(&c, "shard_optimizer", "yes");
	set(&c, "wire", "2bit");
	train_on(&c, "r", 2);
	set(&c, "run", "r");
	set(&c, "steps", "100");
	small = limit;
	small.rlim_cur = 12000;
	signal(SIGXFSZ, SIG_IGN);
	check_err(setrlimit(RLIMIT_FSIZE, &small), 0);
	fake_ranks(2, fail_to_save, &j);
	check_err(setrlimit(RLIMIT_FSIZE, &limit), 0);
	signal(SIGXFSZ, SIG_DFL);
	check_int(j.rc[0], ERR_IO);
	check_int(j.rc[1], ERR_IO);
	count_records("r", "event", "step", &step);
	check_near(step, 30, 0);
	count_records("r", "stop", "exit", &status);
	check_near(status, 74, 0);
	check(!file_exists(at("runs/r/checkpoints/20.tmp")));
	train_on(&c, "r", 2); /* the disk has space again */
	count_records("r", "save", "step", &step);
	check_near(step, 100, 0);
	conf_free(&c);
}

/* Impossible combinations are refused before anything is made. */
static void refuse(struct comm *c, void *arg)
{
	static const struct trainer_signals never;
	struct job *j = arg;
	struct err e = { 0 };

	j->rc[c->rank] = without_evaluation(trainer_run(j->conf, c, &never, &e), &e);
	check(strstr(e.text, "local_steps") != NULL);
}

TEST(ranks_refuse_impossible_options)
{
	struct conf c;
	struct job j = { .conf = &c };

	if (!make_shared_conf(&c))
		return;
	set(&c, "run", "r");
	set(&c, "local_steps", "2");
	set(&c, "shard_optimizer", "yes");
	fake_ranks(2, refuse, &j);
	check_int(j.rc[0], ERR_CONFIG);
	check_int(j.rc[1], ERR_CONFIG);
	check(!file_exists(at("runs/r")));
	conf_free(&c);
}

/* The distance between the models of two runs at a checkpoint. */
static double apart(const struct conf *c, const char *a, const char *b, int step)
{
	int64_t n = 0;
	float *x = weights_of(c, a, step, &n), *y = weights_of(c, b, step, &n);
	double worst = 0;

	for (int64_t i = 0; x && y && i < n; i++)
		worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
	free(x);
	free(y);
	return x && y ? worst : INFINITY;
}

/* The average does not depend on the number of ranks, also if that number changes. */
TEST(ranks_average_like_one)
{
	struct conf c;

	if (!make_shared_conf(&c))
		return;
	train_on(&c, "plain", 1);
	set(&c, "ema", "0.95");
	train_on(&c, "one", 1);
	check(apart(&c, "one", "plain", 30) > 1e-4);
	for (int ranks = 2; ranks <= 3; ranks++) {
		set(&c, "shard_optimizer", "no");
		train_on(&c, "many", ranks);
		set(&c, "shard_optimizer", "yes");
		train_on(&c, "shards", ranks);
		check_same_run("many", "shards", 30);
		check(apart(&c, "one", "many", 30) < 1e-5);
		check_err(file_remove_tree(at("runs/many"), &(struct err){ 0 }), 0);
		check_err(file_remove_tree(at("runs/shards"), &(struct err){ 0 }), 0);
	}
	for (int i = 1; i <= 3; i++) {
		set(&c, "steps", i == 1 ? "10" : i == 2 ? "20" : "30");
		set(&c, "shard_optimizer", i == 2 ? "no" : "yes");
		train_on(&c, "changing", 4 - i);
	}
	check(apart(&c, "one", "changing", 30) < 1e-5);
	conf_free(&c);
}
