/* t_run.c - the folder of a run, and the commands for a live run, which a child process plays */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/workspace/run_lease.h"
#include "tests/launch/launch_bench.h"
#include "tests/test.h"
#include "train/common/control.h"
#include "train/launch/run/console_follow.h"
#include "train/launch/run/run_handle.h"
#include "train/launch/run/rundir.h"

/* ---- the folder ---- */

TEST(rundir_lock_and_state)
{
	struct rundir d, other;
	struct err e = { 0 };
	char name[] = "a";
	struct host host = { .name = name, .slots = 2 };
	const struct hosts hosts = { .all = &host, .n = 1 };
	const struct run_state s = { .name = "running",
				     .ranks = 2,
				     .hosts = &hosts,
				     .status = -1,
				     .restarts = 1,
				     .event = "the training \"x\"" };
	char *path;

	check_int(rundir_open(&d, test_folder(), "r", &e), 0);
	check_int(d.attempt, 1);
	check_int(rundir_last_checkpoint(&d), -1);
	check_err(rundir_open(&other, test_folder(), "r", &e), ERR_TEMPFAIL);
	bench_has(e.text, "this run is being trained already, by process ");
	rundir_close(&other);
	check_int(rundir_write_state(&d, &s, &e), 0);
	bench_has(bench_read("runs/r/state.json"), "\"state\":\"running\",\"pid\":");
	bench_has(bench_read("runs/r/state.json"),
		  "\"attempt\":1,\"ranks\":2,\"exit\":null,\"restarts\":1,"
		  "\"hosts\":[{\"host\":\"a\",\"slots\":2}],\"network\":null,"
		  "\"event\":\"the training \\\"x\\\"\",\"asked_by\":null,\"detached\":false}\n");
	bench_write("runs/r/checkpoints/50/x", "");
	bench_write("runs/r/checkpoints/100/x", "");
	bench_write("runs/r/checkpoints/best/x", "");
	check_int(rundir_last_checkpoint(&d), 100);
	path = rundir_file_path(&d, "hosts", &e);
	bench_has(path, "/runs/r/hosts");
	free(path);
	rundir_close(&d);
	/* the next attempt counts on */
	check_int(rundir_open(&d, test_folder(), "r", &e), 0);
	check_int(d.attempt, 2);
	/* the lock file of another host's process: its pid does not exist here */
	check_int(pwrite(d.lock, "999999999\n", 10, 0), 10);
	check_err(rundir_open(&other, test_folder(), "r", &e), ERR_TEMPFAIL);
	bench_has(e.text, "by process 999999999 on another host");
	rundir_close(&other);
	rundir_close(&d);
}

#define LEASE_FORM                                                                                 \
	"werkbank lease 1\nid 00000000000000aa\nhost %s\nboot %s\npid 77\nattempt 3\nterm %.3f\n"  \
	"started %.3f\nrenewed %-30.3f\nrenewals %-9d\n"

/* The lease of another host: its name and the seconds since its last renewal. */
static void write_foreign_lease(const char *host, const char *boot, double age, double term)
{
	char text[400];
	double at = clock_wall_s() - age;

	snprintf(text, sizeof(text), LEASE_FORM, host, boot, term, at, at, 5);
	bench_write("runs/l/lease", text);
}

/* Renew it in place as its holder does, while the clock of the holder jumps by weeks. */
static void renew_with_bad_clock(const char *folder, int n, double term)
{
	struct err e;
	char text[400], *path = file_path(&e, "%s/lease", folder);
	double now = clock_wall_s();
	int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;
	int len = snprintf(text, sizeof(text), LEASE_FORM, "elsewhere", "1", term, now,
			   now + (n % 2 ? 1e6 : -1e6), n + 6);

	if (fd < 0 || pwrite(fd, text, (size_t)len, 0) != len)
		_exit(1);
	close(fd);
	free(path);
}

/* rundir_open() of the run l, in a folder whose lock nobody holds. */
static int open_leased(struct rundir *d, struct err *e)
{
	*e = (struct err){ 0 };
	return rundir_open(d, test_folder(), "l", e);
}

TEST(rundir_lease_is_of_one_host)
{
	struct rundir d, other;
	struct run_lease l;
	struct err e = { 0 };
	char *folder = file_path(&e, "%s/runs/l", test_folder());
	double begun;

	setenv("WERKBANK_LEASE", "0.6", 1);
	check_int(open_leased(&d, &e), 0);
	check_int(run_lease_read(folder, &l, &e), 0);
	check_str(l.id, d.lease.id);
	check_int(l.attempt, 1);
	check_int(run_lease_check(folder, d.lease.id, 1, &e), 0);
	check_err(run_lease_check(folder, d.lease.id, 2, &e), ERR_TEMPFAIL);
	check_err(run_lease_check(folder, "", 1, &e), ERR_TEMPFAIL);
	d.attempt = 2;
	check_int(rundir_renew_lease(&d, true, &e), 0);
	check_int(run_lease_check(folder, d.lease.id, 2, &e), 0);
	rundir_close(&d);
	check_int(run_lease_read(folder, &l, &e), 0);
	check_str(l.id, ""); /* given back */
	/* a holder that lost its power: the term ends, and this host takes it */
	write_foreign_lease("elsewhere", "1", 0, 0.6);
	begun = clock_mono_s();
	check_int(open_leased(&d, &e), 0);
	check(clock_mono_s() - begun >= 0.6);
	check_str(d.former.host, "elsewhere");
	/* the former holder comes back: it may not write, nor remove the lease of the new holder */
	check_err(run_lease_check(folder, "00000000000000aa", 3, &e), ERR_TEMPFAIL);
	bench_has(e.text, "lost the lease of its run to process ");
	l = d.former;
	check_err(run_lease_renew(folder, &l, &e), ERR_TEMPFAIL);
	run_lease_release(folder, &d.former);
	check_int(run_lease_check(folder, d.lease.id, d.lease.attempt, &e), 0);
	/* nor may this holder, once another one has it */
	write_foreign_lease("elsewhere", "1", 0, 0.6);
	check_err(rundir_renew_lease(&d, true, &e), ERR_TEMPFAIL);
	check_err(rundir_check(&d, &e), ERR_TEMPFAIL);
	rundir_close(&d);
	bench_has(bench_read("runs/l/lease"), "host elsewhere");
	/* an old lease is watched shortly: the clock of its holder may be wrong */
	write_foreign_lease("elsewhere", "1", 700 + 60, 2);
	begun = clock_mono_s();
	check_int(open_leased(&d, &e), 0);
	check(clock_mono_s() - begun >= 0.6);
	check_err(open_leased(&other, &e), ERR_TEMPFAIL); /* the lock of this host */
	rundir_close(&other);
	check_int(run_lease_check(folder, d.lease.id, d.lease.attempt, &e), 0);
	rundir_close(&d);
	/* a damaged one names no holder: it is taken at once */
	bench_write("runs/l/lease", "werkbank lease 1\nid x\nhost");
	check_int(open_leased(&d, &e), 0);
	rundir_close(&d);
	/* no start waits for a term of years, and none is written */
	write_foreign_lease("elsewhere", "1", 0, 1e9);
	setenv("WERKBANK_LEASE", "1e300", 1);
	check_int(open_leased(&d, &e), 0);
	check_near(d.lease.term_s, LEASE_TERM_S, 0);
	rundir_close(&d);
	unsetenv("WERKBANK_LEASE");
	free(folder);
}

/* A child renews the lease of another host, until the parent has been refused. */
TEST(rundir_lease_renewed_elsewhere)
{
	struct rundir d;
	struct err e = { 0 };
	char *folder = file_path(&e, "%s/runs/l", test_folder());
	pid_t child;

	bench_write("runs/l/x", "");
	/* the clock of the holder, or of this host, is wrong: neither held for ever, nor lost while it is renewed */
	write_foreign_lease("elsewhere", "1", -1e6, 2);
	check_int(run_lease_state(folder), LOCK_FREE);
	check_int(run_lease_watch_state(folder), LOCK_FREE);
	write_foreign_lease("elsewhere", "1", 0, 30);
	check_int(run_lease_state(folder), LOCK_HELD);
	child = fork();
	if (!child) {
		for (int i = 0; i < 100; i++) {
			usleep(100000);
			renew_with_bad_clock(folder, i, 30);
		}
		_exit(0);
	}
	check_int(run_lease_watch_state(folder), LOCK_HELD);
	check_err(open_leased(&d, &e), ERR_TEMPFAIL);
	test_kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	bench_has(e.text, "by process 77 on host elsewhere, which has just renewed its lease");
	bench_has(e.text, "werkbank stop l first");
	rundir_close(&d);
	bench_has(bench_read("runs/l/lease"), "host elsewhere");
	free(folder);
}

/* Slurm has queued a job again while its first training lives on: it is asked to stop, and waited for. */
TEST(rundir_of_a_job_that_was_queued_again)
{
	struct run_lease was = { .id = "aa", .job = "17.0" }, now = { .id = "" };
	struct rundir d, again;
	struct err e = { 0 };
	pid_t child;
	int status = -1;

	setenv("SLURM_JOB_ID", "17", 1);
	setenv("WERKBANK_LEASE", "5", 1);
	check_int(open_leased(&d, &e), 0);
	check_str(d.lease.job, "17.0");
	check_err(open_leased(&again, &e), ERR_TEMPFAIL); /* the same job, not queued again */
	rundir_close(&again);
	child = fork();
	if (!child) {
		struct control wanted = { 0 };

		for (int i = 0; i < 100 && !wanted.stop; i++) {
			usleep(50000);
			if (i > 4) /* the first one writes its request before */
				wanted = control_read_requests(d.path);
		}
		rundir_close(&d);
		_exit(!wanted.stop);
	}
	rundir_pass_lease(&d); /* the child has it, as a detached supervisor */
	setenv("SLURM_RESTART_COUNT", "1", 1);
	check_int(open_leased(&again, &e), 0);
	check_str(again.lease.job, "17.1");
	check_int(waitpid(child, &status, 0), child);
	check_int(status, 0);
	rundir_close(&again);
	rundir_close(&d);
	unsetenv("SLURM_JOB_ID");
	unsetenv("SLURM_RESTART_COUNT");
	unsetenv("WERKBANK_LEASE");

	snprintf(now.job, sizeof(now.job), "17.1");
	check(run_lease_is_earlier(&was, &now) && !run_lease_is_earlier(&now, &was));
	snprintf(now.job, sizeof(now.job), "18.1");
	check(!run_lease_is_earlier(&was, &now));
	snprintf(now.job, sizeof(now.job), "-");
	check(!run_lease_is_earlier(&was, &now));
}

/* Merge a recipe whose one option is given on the command line; the error code. */
static int merge(struct rundir *d, const char *name, const char *value, struct conf *c,
		 struct err *e)
{
	check_int(conf_init(c, e), 0);
	check_int(conf_set(c, "corpus", "demo", "command line", e), 0);
	check_int(conf_set(c, name, value, "command line", e), 0);
	return rundir_merge_recipe(d, c, e);
}

TEST(rundir_resumed_recipe)
{
	struct rundir d;
	struct conf c;
	struct err e = { 0 };

	check_int(rundir_open(&d, test_folder(), "r", &e), 0);
	check_int(merge(&d, "d_model", "64", &c, &e), 0);
	check(!d.resumed);
	bench_has(bench_read("runs/r/recipe.ini"), "d_model = 64");
	conf_free(&c);
	/* without a step the run begins anew, whatever its recipe.ini says */
	check_int(merge(&d, "d_model", "32", &c, &e), 0);
	check(!d.resumed);
	conf_free(&c);
	check_int(merge(&d, "d_model", "64", &c, &e), 0);
	conf_free(&c);
	bench_write("runs/r/journal.jsonl", "{\"v\":1,\"kind\":\"start\",\"t\":1}\n"
					    "{\"v\":1,\"kind\":\"train\",\"t\":2,\"step\":1}\n");
	/* an option of the first command line stays in force, others may change */
	check_int(merge(&d, "steps", "77", &c, &e), 0);
	check(d.resumed);
	check_int(c.d_model, 64);
	check_int(c.steps, 77);
	conf_free(&c);
	check_err(merge(&d, "d_model", "128", &c, &e), ERR_CONFIG);
	bench_has(e.text, "this run began with --d-model '64' and cannot continue with '128' "
			  "(command line): give another --run NAME");
	conf_free(&c);
	/* fewer steps than are made: refused, and recipe.ini stays */
	bench_write("runs/r/checkpoints/78/state.json", "{}");
	check_err(merge(&d, "steps", "76", &c, &e), ERR_CONFIG);
	bench_has(e.text, "this run has made 78 steps already, more than --steps 76: nothing was "
			  "changed; to train on, give --steps 79 or more");
	bench_has(bench_read("runs/r/recipe.ini"), "steps = 77");
	conf_free(&c);
	check_int(merge(&d, "steps", "78", &c, &e), 0);
	conf_free(&c);
	rundir_close(&d);
}

/* ---- a run that has ended ---- */

TEST(run_commands_after_the_end)
{
	const char *out, *f = test_folder();

	check_int(bench_command(&out, "logs -C %s", f), 66);
	bench_has(out, " has no run");
	bench_write("runs/old/state.json", "{\"state\":\"failed\",\"started\":5,\"exit\":74}");
	bench_write("runs/old/console.log", "old line\n");
	bench_write("runs/new/state.json", "{\"state\":\"finished\",\"started\":9,\"exit\":0}");
	bench_write("runs/new/console.log", "new line\n");
	bench_write("runs/none/x", "");
	check_int(bench_command(&out, "logs -C %s", f), 0);
	check_str(out, "new line\n");
	check_int(bench_command(&out, "logs -C %s old --follow", f), 0);
	check_str(out, "old line\n");
	check_int(bench_command(&out, "logs -C %s none", f), 66);
	bench_has(out, "cannot be read");
	check_int(bench_command(&out, "logs -C %s other", f), 66);
	bench_has(out, "has no run 'other'");
	check_int(bench_command(&out, "stop -C %s", f), 66);
	bench_has(out, "no run in the workspace");
	check_int(bench_command(&out, "attach -C %s old", f), 66);
	bench_has(out, "the run old is not being trained; its state is: failed");
	check_int(bench_command(&out, "save -C %s ../old", f), 64);
}

TEST(run_handle_exit_statuses)
{
	static const struct {
		const char *state;
		int exit, status;
	} cases[] = {
		/* clang-format off */
		{ "finished", 0, 0 },
		{ "stopped", 75, 75 },
		{ "failed", 65, 65 },
		{ "failed", -1, 70 },
		{ "running", -1, ERR_UNAVAILABLE },
		{ "unknown", -1, ERR_UNAVAILABLE },
		/* clang-format on */
	};
	struct run_handle l = { .name = "r" };
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(l.state, sizeof(l.state), "%s", cases[i].state);
		l.exit = cases[i].exit;
		check_int(run_handle_exit_status(&l, &e), cases[i].status);
	}
	bench_has(e.text, "the supervisor of the run r ended without a final state");
}

/* ---- a live run ---- */

/* What the supervisor in a child process does: it answers requests until it is asked to stop. */
struct live_run {
	bool elsewhere;	      /* its state names another host: only request files reach it */
	bool ends_at_save;    /* it fails when it is asked to save */
	bool cannot_evaluate; /* it answers with a warning */
	int ready[2];	      /* pipe: one byte when the state is written */
};

static volatile sig_atomic_t stopped_by;

static void note_signal(int number)
{
	stopped_by = number;
}

static void append_record(const char *folder, const char *text)
{
	char path[400];
	FILE *f;

	snprintf(path, sizeof(path), "%s/journal.jsonl", folder);
	f = fopen(path, "ae");
	if (check(f != NULL)) {
		fprintf(f, "{\"v\":1,\"t\":%.6f,\"step\":7,%s}\n", clock_wall_s(), text);
		fclose(f);
	}
}

static const char *answer_requests(const struct live_run *r, const struct rundir *d)
{
	for (;;) {
		struct control asked = control_read_requests(d->path);

		if (asked.save && r->ends_at_save)
			return "failed";
		if (asked.save)
			append_record(d->path, "\"kind\":\"save\"");
		if (asked.evaluate)
			append_record(d->path, r->cannot_evaluate
						       ? "\"kind\":\"event\",\"level\":\"warning\","
							 "\"text\":\"cannot evaluate now\""
						       : "\"kind\":\"eval\",\"bleu\":31.5");
		if (asked.stop || stopped_by)
			return "stopped";
		usleep(1000);
	}
}

static void play_supervisor(void *context)
{
	const struct live_run *r = context;
	struct run_state s = { .name = "running", .ranks = 1, .status = -1 };
	struct rundir d;
	struct err e = { 0 };

	close(r->ready[0]);
	signal(SIGTERM, note_signal);
	signal(SIGQUIT, note_signal);
	check_int(rundir_open(&d, test_folder(), "live", &e), 0);
	check_int(rundir_write_state(&d, &s, &e), 0);
	if (r->elsewhere)
		bench_write("runs/live/state.json", "{\"state\":\"running\",\"started\":1,"
						    "\"pid\":77,\"host\":\"elsewhere\"}");
	bench_write("runs/live/console.log", "line 1\nline 2\n");
	append_record(d.path, "\"kind\":\"start\"");
	check_int(write(r->ready[1], "r", 1), 1);
	close(r->ready[1]);
	s.name = answer_requests(r, &d);
	s.status = stopped_by == SIGQUIT ? 137 : !strcmp(s.name, "failed") ? 74 : 75;
	check_int(rundir_write_state(&d, &s, &e), 0);
	rundir_close(&d);
}

static pid_t start_live_run(struct live_run *r)
{
	char byte;
	pid_t pid;

	check_int(pipe(r->ready), 0);
	pid = bench_fork(play_supervisor, r);
	close(r->ready[1]);
	check_int(read(r->ready[0], &byte, 1), 1);
	close(r->ready[0]);
	return pid;
}

TEST(run_commands_of_a_live_run)
{
	struct live_run r = { 0 };
	const char *out, *f = test_folder();
	pid_t pid = start_live_run(&r);

	check_int(bench_command(&out, "save -C %s", f), 0);
	check_str(out, "live is saved at step 7\n");
	check_int(bench_command(&out, "save -q --json -C %s live", f), 0);
	check_str(out, "{\"v\":1,\"run\":\"live\",\"done\":\"saved\",\"step\":7}\n");
	check_int(bench_command(&out, "evaluate --json -C %s live", f), 0);
	bench_has(out, "live is evaluated at step 7: BLEU 31.50\n");
	bench_has(out, "\"run\":\"live\",\"done\":\"evaluated\",\"step\":7,\"bleu\":31.5}");
	check_int(bench_command(&out, "stop --json -C %s live", f), 0);
	bench_has(out, "live is stopped\n");
	bench_has(out, "{\"v\":1,\"run\":\"live\",\"state\":\"stopped\",\"exit\":75}\n");
	check_int(bench_wait(pid), 0);
	/* stop --now: SIGQUIT */
	pid = start_live_run(&r);
	check_int(bench_command(&out, "stop --now --json -q -C %s", f), 0);
	check_str(out, "{\"v\":1,\"run\":\"live\",\"state\":\"stopped\",\"exit\":137}\n");
	check_int(bench_wait(pid), 0);
}

TEST(run_commands_without_an_answer)
{
	struct live_run r = { .elsewhere = true, .ends_at_save = true, .cannot_evaluate = true };
	const char *out, *f = test_folder();
	pid_t pid = start_live_run(&r);

	check_int(bench_command(&out, "evaluate -C %s live", f), 75);
	bench_has(out, "live: cannot evaluate now");
	check_int(bench_command(&out, "save -C %s live", f), 69);
	bench_has(out, "the run live has ended (failed) before it was saved");
	check_int(bench_wait(pid), 0);
	/* no time to wait at all; the requests remain for the ranks */
	r.ends_at_save = false;
	pid = start_live_run(&r);
	test_kill(pid, SIGSTOP);
	setenv("WERKBANK_PATIENCE", "0", 1);
	check_int(bench_command(&out, "save -C %s live", f), 75);
	bench_has(out, "the run live was not saved within 0 s");
	check_int(bench_command(&out, "stop -C %s live", f), 75);
	bench_has(out, "has not ended within 0 s; the request remains");
	unsetenv("WERKBANK_PATIENCE");
	test_kill(pid, SIGCONT);
	check_int(bench_wait(pid), 0);
}

/* In a child process: write one byte for each request; the request "stop" ends it. */
static void acknowledge_requests(void *context)
{
	const int *answers = context;
	struct control asked = { 0 };

	while (!asked.stop) {
		asked = control_read_requests(test_folder());
		if (asked.save || asked.stop)
			check_int(write(answers[1], "a", 1), 1);
	}
}

/* A reader without a pause: each request is read once, also between the open() and the write() of its writer. */
TEST(run_requests_are_never_lost)
{
	struct err e = { 0 };
	struct pollfd p = { .events = POLLIN };
	int answers[2];
	pid_t reader;
	char byte;

	check_int(pipe(answers), 0);
	p.fd = answers[0];
	reader = bench_fork(acknowledge_requests, answers);
	for (int i = 0; i <= 3000; i++) {
		const char *word = i < 3000 ? "save" : "stop";

		check_int(control_write_request(test_folder(), "control", word, &e), 0);
		if (!check_int(poll(&p, 1, 20000), 1)) { /* lost */
			test_kill(reader, SIGKILL);
			break;
		}
		check_int(read(answers[0], &byte, 1), 1);
	}
	check_int(bench_wait(reader), 0);
	check_int(poll(&p, 1, 0), 0);
	close(answers[0]);
	close(answers[1]);
}

/* ---- following ---- */

/* In a child process: follow the run as its owner, with a SIGINT that is pending already. */
static void follow_as_owner(void *context)
{
	struct run_handle l = { .pid = -1 };
	const struct console_follow f = { .run = &l, .from = 0, .owner = true, .quiet = true };
	struct err e = { 0 };
	sigset_t set;
	bool left = true;
	int status = -1;

	(void)context;
	l.folder = file_path(&e, "%s/runs/live", test_folder());
	snprintf(l.name, sizeof(l.name), "live");
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGINT);
	check_int(console_follow_run(&f, &left, &status, &e), 0);
	check(!left);
	check_int(status, 75);
	run_handle_close(&l);
}

/* In a child process: attach, with a SIGTERM that is pending already; the run goes on. */
static void attach_and_leave(void *context)
{
	const char *out;
	sigset_t set;

	(void)context;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGTERM);
	check_int(bench_command(&out, "attach -C %s live", test_folder()), 0);
	bench_has(out, "live: running; Ctrl-C leaves it running\nline 1\nline 2\n");
	bench_has(out, "live continues; to follow it again: ");
	bench_has(out, "werkbank attach live\n");
}

TEST(run_follow)
{
	struct live_run r = { .elsewhere = true };
	pid_t pid = start_live_run(&r);

	check_int(bench_wait(bench_fork(attach_and_leave, NULL)), 0);
	check_int(bench_wait(bench_fork(follow_as_owner, NULL)), 0);
	check_int(bench_wait(pid), 0);
}
