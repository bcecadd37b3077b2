/* t_train.c - the schedule, Adam, and runs: resumed, killed, with two ranks */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "config.h"
#include "share/base/proc.h"
#include "share/base/text.h"
#include "share/format/json.h"
#include "share/workspace/journal.h"
#include "share/workspace/paths.h"
#include "share/workspace/run_end.h"
#include "tests/train/small_run.h"
#include "train/common/control.h"
#include "train/optim/adam.h"
#include "train/optim/schedule.h"
#include "train/record/evaluations.h"
#include "train/trainer/evaluate_internal.h"
#include "train/trainer/trainer_internal.h"

static bool same_to_4_digits(double x, const char *want)
{
	char text[32];

	snprintf(text, sizeof(text), "%.3e", x);
	return check_str(text, want);
}

/* OpenSeq2Seq's transformer-base: factor 2, 8000 steps of warm-up, d_model 512. */
TEST(sched_reference_values)
{
	struct rate_schedule s = { .factor = 2, .warmup = 8000, .d_model = 512 };

	same_to_4_digits(schedule_rate(&s, 0), "1.235e-07");
	same_to_4_digits(schedule_rate(&s, 999), "1.235e-04");
	same_to_4_digits(schedule_rate(&s, 7999), "9.882e-04");
	same_to_4_digits(schedule_rate(&s, 15999), "6.988e-04");
	same_to_4_digits(schedule_rate(&s, 49999), "3.953e-04");
	same_to_4_digits(schedule_rate(&s, 299999), "1.614e-04");
}

/* The last 4 of 10 planned steps are multiplied by 1, 3/4, 1/2 and 1/4; the others by 1. */
TEST(sched_cooldown)
{
	static const double factors[] = { 1, 1, 1, 1, 1, 1, 1, 0.75, 0.5, 0.25, 0.25 };
	const struct rate_schedule plain = { .factor = 2, .warmup = 2, .d_model = 512 };
	struct rate_schedule s = plain;

	s.cooldown = 4;
	s.steps = 10;
	for (size_t i = 0; i < ARRAY_LEN(factors); i++)
		check(fabs(schedule_rate(&s, (int64_t)i) / schedule_rate(&plain, (int64_t)i) -
			   factors[i]) < 1e-12);
}

/*
 * The first update moves each weight by the rate against its gradient's sign, whatever the
 * gradient's size.
 */
TEST(adam_first_step)
{
	struct model *m = small_model("cpu", false);
	struct adam a;
	struct err e;
	float *before, *after, *grad;

	if (!m || !check_err(adam_open(&a, m, 0.9, 0.997, 1e-9, &e), 0))
		return;
	check_err(model_init(m, 1, &e), 0);
	before = small_copy(m, model_param_arena(m));
	grad = small_copy(m, model_param_arena(m));
	for (int64_t i = 0; i < model_floats(m); i++)
		grad[i] = i % 3 ? (float)(i % 7) - 3 : 2;
	model_get_ops(m)->to_device(model_get_dev(m), model_grad_arena(m), grad,
				    (size_t)model_floats(m) * 4);
	adam_apply(&a, 0, 0.01, 0.25);
	after = small_copy(m, model_param_arena(m));
	for (int64_t i = 0; i < model_floats(m); i++) {
		double moved = (double)after[i] - before[i], want = grad[i] > 0	  ? -0.01
								    : grad[i] < 0 ? 0.01
										  : 0;

		if (!(fabs(moved - want) < 1e-5)) {
			test_fail(__FILE__, __LINE__, "weight %d moved by %g, not %g", (int)i,
				  moved, want);
			break;
		}
	}
	free(before);
	free(after);
	free(grad);
	adam_close(&a);
	model_free(m);
}

TEST(train_run_learns_and_reports)
{
	struct conf c;
	double loss = 0, exit_status = -1, step = 0;

	if (!make_corpus() || !make_conf(&c, "r"))
		return;
	set(&c, "steps", "200");
	set(&c, "warmup", "40");
	set(&c, "dropout", "0");
	set(&c, "attention_dropout", "0");
	set(&c, "relu_dropout", "0");
	set(&c, "label_smoothing", "0");
	if (trains(&c)) {
		check_int(count_records("r", "start", NULL, NULL), 1);
		check_int(count_records("r", "train", "loss", &loss), 1 + 40);
		check_int(count_records("r", "save", "step", &step), 20);
		check_near(step, 200, 0);
		check_int(count_records("r", "stop", "exit", &exit_status), 1);
		check_near(exit_status, NOT_EVALUATED, 0);
		check(loss > 0 && loss < 3.4); /* an untrained model: ln 41 = 3.71 */
		check(file_exists(at("runs/r/checkpoints/200/vocab.tsv")));
		check(!file_exists(at("runs/r/checkpoints/170")));
	}
	conf_free(&c);
}

/* Each evaluation records how far the weights have moved; all parts of a healthy model move. */
TEST(train_records_weight_changes)
{
	struct conf c;
	struct buf journal = { 0 };
	double since = -1;
	struct err e;

	if (!make_corpus() || !make_conf(&c, "moves"))
		return;
	set(&c, "steps", "20");
	set(&c, "eval_every", "10");
	check(trains(&c));
	conf_free(&c);
	check_int(count_records("moves", "weights", "since", &since), 2);
	check_near(since, 10, 0);
	check_err(file_read_all(at("runs/moves/journal.jsonl"), 0, &journal, &e), 0);
	check(strstr(buf_text(&journal), "\"moved\":{\"embed\":0.") != NULL);
	check(strstr(buf_text(&journal), "\"encoder.0.self.qkv\":0.") != NULL);
	check(strstr(buf_text(&journal), ".norm.scale\":") == NULL);
	check(strstr(buf_text(&journal), "\"encoder.0.self.qkv\":1") == NULL);
	buf_free(&journal);
}

TEST(train_weight_change)
{
	const float before[] = { 3, 0, 0, 4, 0, 0 }, now[] = { 3, 0, 0, 4, 1, 0 };
	struct weight_change x;

	weight_change_find(before, now, 3, 2, &x);
	check_near(x.moved, 0.2, 1e-12);
	check_near(x.still, 2.0 / 3, 1e-12);
	weight_change_find(before, before, 3, 2, &x);
	check_near(x.moved, 0, 0);
	check_near(x.still, 1, 0);
	weight_change_find((const float[]){ 0, 0 }, now, 1, 2, &x);
	check(isnan(x.moved)); /* no size to compare with */
	check_near(x.still, 0, 0);
}

/* Profiling does not change the weights, and the record covers the time of the steps. */
TEST(train_profile)
{
	struct conf c;
	struct buf journal = { 0 };
	double steps = 0, roof = 0;
	const char *adam;
	struct err e;

	if (!make_corpus() || !make_conf(&c, "plain"))
		return;
	check(trains(&c));
	conf_free(&c);
	if (!make_conf(&c, "watched"))
		return;
	set(&c, "profile", "yes");
	check(trains(&c));
	conf_free(&c);
	check_same_run("plain", "watched", 30);
	check_int(count_records("plain", "profile", NULL, NULL), 0);
	check_int(count_records("watched", "profile", "steps", &steps), 1);
	check_near(steps, 29, 0);
	check_err(file_read_all(at("runs/watched/journal.jsonl"), 0, &journal, &e), 0);
	check(strstr(buf_text(&journal), "{\"op\":\"adam\",\"calls\":29,"));
	/* the roof of this machine, and who reads the record knows that adam has no product */
	check_int(count_records("watched", "profile", "roof_gflops", &roof), 1);
	check(roof > 0);
	check_int(count_records("watched", "profile", "roof_gbs", &roof), 1);
	check(roof > 0);
	adam = strstr(buf_text(&journal), "{\"op\":\"adam\"");
	check(adam && strstr(adam, "\"gflops\":0") &&
	      strstr(adam, "\"gflops\":0") < strchr(adam, '}'));
	/* two micro-batches a step; 2 joins in the encoder, 3 in the decoder */
	check(strstr(buf_text(&journal), "{\"op\":\"add_norm\",\"calls\":290,"));
	buf_free(&journal);
}

/* A resumed run equals the uninterrupted one bit for bit. */
TEST(train_resumes_bit_by_bit)
{
	struct conf straight, parts;
	struct err e = { 0 };
	double step = 0;

	if (!make_corpus() || !make_conf(&straight, "straight") || !make_conf(&parts, "parts"))
		return;
	trains(&straight);
	set(&parts, "steps", "10");
	trains(&parts);
	set(&parts, "steps", "30");
	trains(&parts);
	check_same_run("straight", "parts", 30);
	check_int(count_records("parts", "start", "attempt", &step), 2);
	check_near(step, 2, 0);

	/* the newest checkpoint is damaged: resume from the one before */
	check_err(file_write_all(at("runs/parts/checkpoints/30/optimizer.safetensors"), "x", 1, &e),
		  0);
	trains(&parts);
	check_same_run("straight", "parts", 30);
	conf_free(&straight);
	conf_free(&parts);
}

TEST(train_other_seeds_differ)
{
	struct conf c;
	char *a, *b;

	if (!make_corpus() || !make_conf(&c, "a"))
		return;
	set(&c, "steps", "5");
	trains(&c);
	set(&c, "run", "b");
	set(&c, "seed", "2");
	trains(&c);
	a = print_of("a", 5);
	b = print_of("b", 5);
	check(strcmp(a, b) != 0);
	free(a);
	free(b);
	conf_free(&c);
}

static int count_stops_by_control(const char *run)
{
	char path[600];
	struct err e;
	const struct json *record;
	struct journal_reader *r;
	int n = 0;

	snprintf(path, sizeof(path), "%s/runs/%s/journal.jsonl", test_folder(), run);
	r = journal_reader_open(path, &e);
	while (r && journal_next(r, &record, &e) > 0)
		n += !strcmp(json_text(json_get(record, "by"), ""), "control");
	journal_reader_free(r);
	return n;
}

TEST(train_stops_when_asked)
{
	static const struct trainer_signals now = { .stop = 1 }, never = { 0 };
	struct conf c;
	struct err e = { 0 };
	double exit_status = 0;

	if (!make_corpus() || !make_conf(&c, "r"))
		return;
	check_err(train(&c, &now, &e), ERR_TEMPFAIL);
	check(file_exists(at("runs/r/checkpoints/0/model.safetensors")));
	check_int(count_records("r", "stop", "exit", &exit_status), 1);
	check_near(exit_status, 75, 0);
	check_err(file_write_all(at("runs/r/control"), "save\nnonsense\nstop\n", 19, &e), 0);
	check_err(train(&c, &never, &e), ERR_TEMPFAIL);
	check(!file_exists(at("runs/r/control")) && !file_exists(at("runs/r/control.taken")));
	check_int(count_stops_by_control("r"), 1); /* of the two stops */
	set(&c, "max_minutes", "0.0000001");
	check_err(train(&c, &never, &e), 0);
	check(!file_exists(at("runs/r/checkpoints/30")));
	conf_free(&c);
}

/* The members why and text of the last record "stop". */
static void check_end(const char *run, const char *why, const char *text)
{
	struct err e;
	struct buf path = { 0 };
	const struct json *record;
	struct journal_reader *r;
	struct run_end end = { 0 };
	char found[20] = "";

	buf_printf(&path, "%s/runs/%s/journal.jsonl", test_folder(), run);
	r = journal_reader_open(buf_text(&path), &e);
	while (r && journal_next(r, &record, &e) > 0)
		if (!strcmp(json_text(json_get(record, "kind"), ""), "stop")) {
			run_end_read(&end, record);
			snprintf(found, sizeof(found), "%s",
				 json_text(json_get(record, "why"), ""));
		}
	check_str(found, why);
	check_str(end.text, text);
	journal_reader_free(r);
	buf_free(&path);
}

TEST(train_records_why_it_ended)
{
	static const struct trainer_signals now = { .stop = 1 };
	struct conf c;
	struct err e = { 0 };

	if (!make_corpus() || !make_conf(&c, "r"))
		return;
	check_err(train(&c, &now, &e), ERR_TEMPFAIL);
	check_end("r", "request", "on request");
	set(&c, "steps", "2");
	trains(&c);
	check_end("r", "failed", "exit status 66"); /* the others: tests/program/damage.sh */
	conf_free(&c);
}

TEST(train_refuses_a_mismatch)
{
	static const struct trainer_signals never;
	struct conf c;
	struct err e = { 0 };

	if (!make_corpus() || !make_conf(&c, "r"))
		return;
	set(&c, "steps", "2");
	trains(&c);
	set(&c, "d_ff", "48");
	check_err(train(&c, &never, &e), ERR_DATA);
	check(strstr(e.text, "d_ff 32") != NULL);
	set(&c, "d_ff", "32");
	set(&c, "seed", "9");
	check_err(train(&c, &never, &e), ERR_CONFIG);
	set(&c, "seed", "1");

	/* the corpus was prepared anew with other words */
	check(make_corpus_of('x'));
	check_err(train(&c, &never, &e), ERR_DATA);
	check(strstr(e.text, "another vocabulary") != NULL);
	/* the vocabulary is not that of the shard */
	check(make_vocabulary(at("corpora/c/vocab.tsv"), 'y'));
	check_err(train(&c, &never, &e), ERR_DATA);
	check(strstr(e.text, "SHA-256") != NULL);
	check_err(unlink(at("corpora/c/vocab.tsv")), 0);
	check_err(train(&c, &never, &e), ERR_NOINPUT);
	check(make_corpus());
	trains(&c);
	/* a damaged vocabulary of the run is repaired before the evaluations need it */
	check(!truncate(at("runs/r/vocab.tsv"), 0));
	trains(&c);
	check_int(file_size(at("runs/r/vocab.tsv")), file_size(at("corpora/c/vocab.tsv")));
	check_err(truncate(at("corpora/c/train.shard"), 1000), 0);
	check_err(train(&c, &never, &e), ERR_DATA);
	set(&c, "run", "../elsewhere");
	check_err(train(&c, &never, &e), ERR_USAGE);
	conf_free(&c);
}

/*
 * With weights that are not finite, steps are skipped, and finally the run ends with the message
 * that it has diverged.
 */
TEST(train_notices_divergence)
{
	static const struct trainer_signals never;
	struct dev_options options = { .threads = 1 };
	struct conf c;
	struct ckpt_state s = { 0 };
	struct err e = { 0 };
	struct model *m;
	double exit_status = 0, last_step = 0;
	int64_t bytes;
	float *w;

	if (!make_corpus() || !make_conf(&c, "r"))
		return;
	set(&c, "steps", "2");
	trains(&c);
	check_err(ckpt_read_state(at("runs/r/checkpoints/2"), true, &s, &e), 0);
	m = model_new(&s.shape, ops_cpu(), &options, &e);
	w = check(m) ? small_copy(m, model_param_arena(m)) : NULL;
	if (w) {
		for (int64_t i = 0; i < model_floats(m); i++)
			w[i] = NAN;
		small_set(m, w);
		check_err(ckpt_save(at("runs/r"), &s, m, w, w, 3, &bytes, &e), 0);
		set(&c, "steps", "100");
		check_err(train(&c, &never, &e), ERR_DATA);
		check(strstr(e.text, "diverged") != NULL);
		check_int(count_records("r", "stop", "exit", &exit_status), 2);
		check_near(exit_status, 65, 0);
		/* no evaluation, resumed; 1, 2, 4, 8, 16 skipped steps, diverged; the error */
		check_int(count_records("r", "event", "step", &last_step), 2 + 5 + 1 + 2);
		check_int(count_records("r", "train", NULL, NULL),
			  2 + 19); /* each skipped step has a record */
		check(!file_exists(at("runs/r/checkpoints/21")));
	}
	free(w);
	model_free(m);
	conf_free(&c);
}

/* ---- as processes ------------------------------------------------------ */

static bool start_rank(struct proc *p, const char *program, const char *run)
{
	const char *const argv[] = { program, "_rank", "-C",	  test_folder(),
				     "--run", run,     "--quiet", NULL };
	struct err e = { 0 };

	return check_err(proc_start(p, argv, PROC_OWN_GROUP, &e), 0);
}

/* The run is killed with SIGKILL four times, then it finishes. */
TEST(train_survives_kill)
{
	struct conf c;
	struct err e = { 0 };
	struct proc p;
	char *program = paths_program("werkbank-train", &e);
	int status = -1;

	if (!program) {
		test_skip("werkbank-train is not built");
		return;
	}
	if (!make_corpus() || !make_conf(&c, "straight"))
		goto done;
	set(&c, "steps", "300");
	trains(&c);
	write_recipe(&c, "killed");
	for (int i = 0; i < 4 && start_rank(&p, program, "killed"); i++) {
		int seen = count_records("killed", "train", NULL, NULL);

		for (int wait = 0; wait < 20000 &&
				   count_records("killed", "train", NULL, NULL) < seen + 3 + 3 * i;
		     wait++)
			usleep(1000);
		test_kill(p.pid, SIGKILL);
		check_err(proc_wait(&p, &status, &e), 0);
		check_int(status, 128 + SIGKILL);
	}
	if (start_rank(&p, program, "killed")) {
		check_err(proc_wait(&p, &status, &e), 0);
		check_int(status, NOT_EVALUATED);
		check_same_run("straight", "killed", 300);
		check_int(count_records("killed", "start", NULL, NULL), 5);
	}
	conf_free(&c);
done:
	free(program);
}

TEST(train_saves_at_sigterm)
{
	struct conf c;
	struct err e = { 0 };
	struct proc p;
	char *program = paths_program("werkbank-train", &e);
	int status = -1;

	if (!program) {
		test_skip("werkbank-train is not built");
		return;
	}
	if (make_corpus() && make_conf(&c, "r")) {
		set(&c, "steps", "100000000");
		set(&c, "save_every", "100000000");
		write_recipe(&c, "r");
		if (start_rank(&p, program, "r")) {
			for (int i = 0; i < 500 && count_records("r", "train", NULL, NULL) == 0;
			     i++)
				usleep(10000);
			test_kill(p.pid, SIGTERM);
			check_err(proc_wait(&p, &status, &e), 0);
			check_int(status, 75);
			check_int(count_records("r", "save", NULL, NULL), 1);
		}
		conf_free(&c);
	}
	free(program);
}

#ifdef HAVE_MPI
static const bool built_with_mpi = true;
#else
static const bool built_with_mpi = false;
#endif

static bool open_mpi_is_here(void)
{
	const char *const argv[] = { "mpirun", "--version", NULL };
	struct proc p;
	struct err e;
	char text[200];
	ssize_t n;
	int status = 1;

	if (proc_start(&p, argv, PROC_PIPE_OUT, &e))
		return false;
	n = read(p.out, text, sizeof(text) - 1);
	text[MAX(n, 0)] = 0;
	return !proc_wait(&p, &status, &e) && status == 0 && strstr(text, "Open MPI");
}

/*
 * Two ranks train on the same micro-batches as one, so the weights differ only by the order of
 * additions.
 */
TEST(train_two_ranks_equal_one)
{
	struct conf c;
	struct err e = { 0 };
	struct proc p;
	char *program = paths_program("werkbank-train", &e);
	const char *const argv[] = { "mpirun",
				     "-n",
				     "2",
				     "--allow-run-as-root",
				     "--oversubscribe",
				     "--bind-to",
				     "none",
				     program,
				     "_rank",
				     "-C",
				     test_folder(),
				     "--run",
				     "two",
				     "--quiet",
				     NULL };
	int status = -1;
	int64_t n = 0;
	double worst = 0;
	float *x, *y;

	if (!program || !built_with_mpi || !open_mpi_is_here()) {
		test_skip("built without MPI, or Open MPI's mpirun is not here");
		free(program);
		return;
	}
	if (make_corpus() && make_conf(&c, "one")) {
		set(&c, "steps", "12");
		trains(&c);
		write_recipe(&c, "two");
		if (check_err(proc_start(&p, argv, 0, &e), 0) &&
		    check_err(proc_wait(&p, &status, &e), 0) && check_int(status, NOT_EVALUATED)) {
			x = weights_of(&c, "one", 12, &n);
			y = weights_of(&c, "two", 12, &n);
			for (int64_t i = 0; x && y && i < n; i++)
				worst = fmax(worst, fabs((double)x[i] - y[i]));
			check(n > 1000);
			check_near(worst, 0,
				   /* Adam's first steps magnify the last bits of small gradients */
				   1e-3);
			free(x);
			free(y);
		}
		conf_free(&c);
	}
	free(program);
}

TEST(train_more_ranks_than_micro_batches)
{
	static const struct trainer_signals never;
	struct comm comm;
	struct conf c;
	struct err e = { 0 };

	if (!make_corpus() || !make_conf(&c, "r"))
		return;
	check_err(comm_open(&comm, "one", NULL, NULL, &e), 0);
	comm.size = 3;
	check_err(trainer_run(&c, &comm, &never, &e), ERR_CONFIG);
	check_err(comm_open(&comm, "telepathy", NULL, NULL, &e), ERR_USAGE);
	conf_free(&c);
}

TEST(evaluations_are_resumed)
{
	struct evaluations v = { 0 }, again = { 0 };
	struct err e = { 0 };

	check_err(file_make_folders(at("checkpoints"), &e), 0);
	check_err(evaluations_read(test_folder(), &v, &e), 0);
	check_int(v.n, 0);
	check(evaluations_best(&v, BEST_BLEU) == NULL);
	check_int(evaluations_waited(&v, BEST_LOSS), 0);
	check_err(evaluations_note(&v, (struct evaluated){ 100, 30.5, 1.75, "13a" }, &e), 0);
	check(evaluations_would_be_best(&v, BEST_LOSS, &(struct evaluated){ 0, 1, 1.5, "13a" }));
	check(!evaluations_would_be_best(&v, BEST_LOSS, &(struct evaluated){ 0, 99, 1.75, "13a" }));
	check_err(evaluations_note(&v, (struct evaluated){ 200, 31.25, 1.5, "13a" }, &e), 0);
	check_err(evaluations_note(&v, (struct evaluated){ 300, 31.25, NAN, "13a" }, &e), 0);
	check_err(evaluations_note(&v, (struct evaluated){ 400, 31, 1.25, "13a" }, &e), 0);
	check_err(evaluations_write(test_folder(), &v, &e), 0);
	check_err(evaluations_read(test_folder(), &again, &e), 0);
	check_int(again.n, 4);
	check_int(evaluations_best(&again, BEST_BLEU)->step, 200);
	check_int(evaluations_best(&again, BEST_LOSS)->step, 400);
	check_int(evaluations_waited(&again, BEST_BLEU), 2);
	check_int(evaluations_waited(&again, BEST_LOSS), 0);
	check(isnan(again.all[2].nll));
	evaluations_cut(&again, 350);
	check_int(evaluations_waited(&again, BEST_LOSS), 1);
	check_err(evaluations_note(&again, (struct evaluated){ 200, 1, 1, "13a" }, &e), 0);
	check_int(again.n, 2);
	check_err(file_write_all(at("checkpoints/evaluated.json"), "{\"step", 6, &e), 0);
	check_err(evaluations_read(test_folder(), &again, &e), ERR_DATA);
	evaluations_free(&again);
	evaluations_free(&v);
}

/* A run of an older release scored Chinese in 13a: its scores say nothing about those that follow. */
TEST(evaluations_of_two_tokenizers_are_not_compared)
{
	static const char old[] = "{\"v\":2,\"evaluations\":[[100,60,2.5],[200,70,2]]}\n";
	const struct evaluated third = { 300, 12, 2.25, "zh" }, fourth = { 400, 11, 2.25, "zh" };
	struct evaluations v = { 0 };
	struct err e = { 0 };

	check_err(file_make_folders(at("checkpoints"), &e), 0);
	check_err(file_write_all(at("checkpoints/evaluated.json"), old, strlen(old), &e), 0);
	check_err(evaluations_read(test_folder(), &v, &e), 0);
	check_str(v.all[1].tok, "13a");
	check(evaluations_would_be_best(&v, BEST_BLEU, &third));
	check(!evaluations_would_be_best(&v, BEST_LOSS, &third));
	check_err(evaluations_note(&v, third, &e), 0);
	check(!evaluations_would_be_best(&v, BEST_BLEU, &fourth));
	check_err(evaluations_note(&v, fourth, &e), 0);
	check_err(evaluations_write(test_folder(), &v, &e), 0);
	check_err(evaluations_read(test_folder(), &v, &e), 0);
	check_int(evaluations_best(&v, BEST_BLEU)->step, 300);
	check_int(evaluations_best(&v, BEST_LOSS)->step, 200);
	check_int(evaluations_waited(&v, BEST_BLEU), 1);
	check_str(v.all[3].tok, "zh");
	evaluations_free(&v);
}

TEST(evaluations_of_the_first_version_are_resumed)
{
	static const char text[] = "{\"step\":300,\"best_step\":200,\"best_bleu\":31.25}\n";
	struct evaluations v = { 0 };
	struct err e = { 0 };

	check_err(file_make_folders(at("checkpoints"), &e), 0);
	check_err(file_write_all(at("checkpoints/evaluated.json"), text, sizeof(text) - 1, &e), 0);
	check_err(evaluations_read(test_folder(), &v, &e), 0);
	if (check_int(v.n, 2)) {
		check_int(v.all[1].step, 300);
		check_int(evaluations_best(&v, BEST_BLEU)->step, 200);
		check_near(evaluations_best(&v, BEST_BLEU)->bleu, 31.25, 0);
	}
	evaluations_free(&v);
}

/* Texts that grow when they are written as JSON still fit in a record of samples.jsonl. */
TEST(train_long_samples_fit_in_a_record)
{
	static const char *const letters[] = { "x", "\\u0001", "\\\"", "\xC3\xA4" };
	struct err e = { 0 };
	struct evaluation v = { .step = 7 };
	struct journal_reader *r;
	const struct json *record;
	char path[600];

	snprintf(path, sizeof(path), "%s/samples.jsonl", test_folder());
	v.samples = journal_open(path, &e);
	r = journal_reader_open(path, &e);
	if (!check(v.samples && r))
		return;
	for (size_t i = 0; i < ARRAY_LEN(letters); i++) {
		struct buf text = { 0 }, line = { 0 };

		for (int k = 0; k < 5000; k++)
			buf_add_str(&text, letters[i]);
		buf_printf(&line, "{\"kind\":\"sample\",\"id\":%zu,\"source\":\"%s\"", i,
			   buf_text(&text));
		buf_printf(&line, ",\"reference\":\"%s\",\"hypothesis\":\"%s\"}", buf_text(&text),
			   buf_text(&text));
		check_err(evaluate_write_record(&v, buf_text(&line), line.len, &e), 0);
		if (check_int(journal_next(r, &record, &e), 1)) {
			const char *got = json_text(json_get(record, "hypothesis"), "");

			check(strlen(got) > 100 && text_ends_with(got, "\xE2\x80\xA6"));
		}
		buf_free(&text);
		buf_free(&line);
	}
	check_err(evaluate_write_record(&v, "{\"kind\":\"sample\",\"source\":\"ab\"}", 31, &e), 0);
	if (check_int(journal_next(r, &record, &e), 1))
		check_str(json_text(json_get(record, "source"), ""), "ab");
	journal_reader_free(r);
	journal_free(v.samples);
}
