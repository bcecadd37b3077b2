/*
 * t_attempts.c - the supervisor: restarts, stops and signals of a run whose ranks are shell scripts
 *
 * Each supervisor runs in a child process, because it blocks signals and adopts processes.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/workspace/paths.h"
#include "tests/launch/launch_bench.h"
#include "tests/test.h"
#include "train/launch/run/attempts.h"
#include "train/launch/run/host_return.h"
#include "train/launch/run/outcome.h"
#include "train/launch/run/roll_call.h"
#include "train/launch/run/run_handle.h"

/* The beginning of each script: arguments are _rank -C WORKSPACE --run NAME. */
#define RANK                                                                                       \
	"w=$3 run=$w/runs/$5\n"                                                                    \
	"says() { echo \"{\\\"v\\\":1,\\\"t\\\":1,\\\"step\\\":7,$1}\" >>\"$run/journal.jsonl\"; " \
	"}\n"                                                                                      \
	"starts() { says '\"kind\":\"start\"'; }\n"                                                \
	"stops() { says \"\\\"kind\\\":\\\"stop\\\",\\\"reason\\\":\\\"$1\\\",\\\"exit\\\":$2\"; " \
	"exit $2; }\n"                                                                             \
	"until_asked() { while :; do sleep 0.02; done; }\n"

struct training {
	const char *script; /* of the ranks */
	const char *hosts;  /* NULL: this host */
	const char *ssh;
	int64_t ranks;
	int restarts;
	double walltime; /* minutes; 0: none */
	bool elastic;
	/* expected: the exit status, or if not 0 the error code of attempts_run() */
	int status, error;
};

/* In a child process: supervise one run to its end. */
static void supervise(void *context)
{
	const struct training *t = context;
	const struct hosts_env none = { 0 };
	struct hosts hosts = { 0 };
	struct err e = { 0 };
	struct conf c;
	struct rundir d;
	struct attempts a = { .conf = &c,
			      .dir = &d,
			      .workspace = test_folder(),
			      .run = "r",
			      .launcher = "/no/werkbank-launch",
			      .ranks = t->ranks };
	int status = -1;

	setenv("WERKBANK_BACKOFF", "0", 1);
	a.trainer = bench_write_script("trainer", t->script);
	check_int(conf_init(&c, &e), 0);
	c.restarts = t->restarts;
	c.walltime = t->walltime;
	c.elastic = t->elastic;
	if (t->ssh)
		check_int(conf_set(&c, "ssh", t->ssh, "test", &e), 0);
	if (t->hosts && check_int(hosts_read(&hosts, t->hosts, &none, &e), 0))
		a.hosts = &hosts;
	check_int(rundir_open(&d, test_folder(), "r", &e), 0);
	if (!check_err(attempts_run(&a, &status, &e), t->error))
		printf("  %s\n", e.text);
	check(t->error || status == t->status);
	rundir_close(&d);
	hosts_free(&hosts);
	conf_free(&c);
}

/* Supervise a run and compare its last state: part of state.json. */
static void runs_to(struct training t, const char *state)
{
	check_int(bench_wait(bench_fork(supervise, &t)), 0);
	bench_has(bench_read("runs/r/state.json"), state);
}

TEST(attempts_finished)
{
	runs_to((struct training){ .script = RANK
				   "starts\nprintf 'step 1\\rstep 2\\n\\033[1mbold\\033[0m\\n' "
				   ">&2\nprintf 'half' >&2\nstops finished 0\n",
				   .ranks = 1 },
		"\"state\":\"finished\",");
	/* of a redrawn line the last version, no escape sequences, and a line without its end */
	check_str(bench_read("runs/r/console.log"), "step 2\nbold\nhalf\n");
}

TEST(attempts_crash_and_restart)
{
	runs_to(
		(struct training){
			.script = RANK
			"starts\n[ -e \"$w/again\" ] && stops finished 0\n>\"$w/again\"\n"
			"mkdir -p \"$run/checkpoints/50\"\nkill -9 $$\n",
			.ranks = 1,
			.restarts = 1 },
		"\"state\":\"finished\"");
	bench_has(bench_read("runs/r/state.json"), "\"attempt\":2,\"ranks\":1,\"exit\":0,"
						   "\"restarts\":1,");
	bench_has(bench_read("runs/r/journal.jsonl"),
		  "the training was ended by signal 9 (Killed); restart from its checkpoint of "
		  "step 50 in 0 s (1 of 1)");
}

/* MPI and Slurm's PMIx crash at times while they start the ranks. */
TEST(attempts_crash_before_the_start)
{
	runs_to((struct training){ .script = RANK
				   "[ -e \"$w/begun\" ] || { >\"$w/begun\"; kill -SEGV $$; }\n"
				   "starts\nstops finished 0\n",
				   .ranks = 1,
				   .restarts = 1 },
		"\"state\":\"finished\"");
	bench_has(bench_read("runs/r/console.log"),
		  "the training was ended by signal 11 (Segmentation fault) before the first step; "
		  "restart from its beginning in 0 s (1 of 1)");
}

TEST(attempts_give_up)
{
	runs_to((struct training){ .script = RANK "starts\nexit 75\n",
				   .ranks = 1,
				   .restarts = 1,
				   .status = 68 },
		"\"state\":\"failed\"");
	bench_has(bench_read("runs/r/state.json"),
		  "the training hung and its watchdog ended it; see hang.txt; giving up after 1 "
		  "restart without a new checkpoint");
	/* no restart: it never began, or the fault is permanent */
	runs_to(
		(struct training){
			.script = RANK "exit 3\n", .ranks = 1, .restarts = 5, .status = 3 },
		"\"state\":\"failed\"");
	runs_to((struct training){ .script = RANK "starts\nstops failed 65\n",
				   .ranks = 1,
				   .restarts = 5,
				   .status = 65 },
		"\"exit\":65,\"restarts\":0");
}

#define SAVES_AND_STOPS "trap 'stops asked 75' USR1\nstarts\n"

TEST(attempts_stop_on_signal)
{
	runs_to((struct training){ .script = RANK SAVES_AND_STOPS "kill -INT $PPID\nuntil_asked\n",
				   .ranks = 1,
				   .restarts = 5,
				   .status = 75 },
		"\"state\":\"stopped\"");
	bench_has(bench_read("runs/r/state.json"), "\"asked_by\":\"user\"");
	bench_has(bench_read("runs/r/console.log"),
		  "werkbank: asked the training to save and stop; Ctrl-C or \"werkbank stop "
		  "--now\" ends it at once\n");
}

TEST(attempts_end_at_once)
{
	static const char *const requests[] = { "kill -QUIT $PPID\n",
						": >\"$run/control.now\"\necho word >&2\n" };

	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		char script[2000];

		/* the leftover grandchild has to be ended, too */
		snprintf(script, sizeof(script),
			 "%strap '' TERM\nstarts\nsleep 1000 &\n%suntil_asked\n", RANK,
			 requests[i]);
		runs_to((struct training){ .script = script, .ranks = 1, .status = 75 },
			"\"event\":\"the training was ended at once on request\"");
	}
}

/* A rank that needs two seconds to save, while signals arrive again after the first second. */
TEST(attempts_signal_again)
{
	static const struct {
		const char *first, *again, *state;
	} cases[] = {
		{ "TERM", "TERM", "\"event\":null,\"asked_by\":\"user\"" },
		{ "USR1", "TERM", "\"event\":null,\"asked_by\":\"walltime\"" },
		{ "TERM", "INT", "\"event\":\"the training was ended at once on request\"" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char script[2000];

		snprintf(
			script, sizeof(script),
			"%strap 'sleep 1.2; kill -%s $PPID; sleep 1; stops asked 75' USR1\nstarts\n"
			"kill -%s $PPID\nuntil_asked\n",
			RANK, cases[i].again, cases[i].first);
		runs_to((struct training){ .script = script, .ranks = 1, .status = 75 },
			cases[i].state);
	}
}

/* A request that the rank misses, or gets while it is suspended. The second one also comes in the file "control". */
TEST(attempts_ask_again)
{
	runs_to((struct training){ .script = RANK
				   "n=0\ntrap 'n=$((n + 1)); [ $n -lt 2 ] || ! grep -q stop "
				   "\"$run/control\" || stops asked 75' USR1\nstarts\n"
				   "kill -TERM $PPID\nuntil_asked\n",
				   .ranks = 1,
				   .status = 75 },
		"\"event\":null,\"asked_by\":\"user\"");
	runs_to(
		(struct training){
			.script = RANK
			"trap 'stops asked 75' USR1\nstarts\nsupervisor=$PPID\n"
			"(sleep 0.3; kill -TERM $supervisor) &\nkill -STOP $$\nuntil_asked\n",
			.ranks = 1,
			.status = 75 },
		"\"event\":null,\"asked_by\":\"user\"");
}

/* A request that comes when the rank has crashed, while its output is still being read: no restart. */
TEST(attempts_request_after_crash)
{
	runs_to(
		(struct training){
			.script = RANK
			"starts\nline=$(printf %1000d 0)\n[ -e \"$w/again\" ] && stops finished 0\n"
			">\"$w/again\"\nsupervisor=$PPID\n{ yes $line | head -c 50000; kill "
			"-TERM $supervisor; yes $line | head -c 300000; } >&2 &\nkill -9 $$\n",
			.ranks = 1,
			.restarts = 1,
			.status = 75 },
		"\"state\":\"stopped\"");
}

TEST(attempts_walltime)
{
	/* the time is over when the first output comes: the request must not get lost */
	runs_to((struct training){ .script = RANK SAVES_AND_STOPS "echo word >&2\nuntil_asked\n",
				   .ranks = 1,
				   .walltime = 1e-6,
				   .status = 75 },
		"\"asked_by\":\"walltime\"");
	bench_has(bench_read("runs/r/console.log"), "werkbank: the walltime of 1e-06 minutes ends");
}

TEST(attempts_missing_trainer)
{
	struct training t = { .script = "", .ranks = 2, .error = ERR_UNAVAILABLE };
	char *path = getenv("PATH"), *kept = path ? strdup(path) : NULL;

	/* several ranks need mpirun, and there is none in this PATH */
	setenv("PATH", "/nowhere", 1);
	check_int(bench_wait(bench_fork(supervise, &t)), 0);
	setenv("PATH", kept ? kept : "/bin", 1);
	free(kept);
	bench_has(bench_read("runs/r/state.json"), "\"state\":\"failed\"");
	bench_has(bench_read("runs/r/state.json"), "several ranks or hosts need Open MPI");
}

/* ---- several hosts ---- */

/* mpirun in PATH: says its version, else runs the ranks' program once; ssh: see below. */
static char *put_mpirun_in_path(void)
{
	char path[4096];
	const char *old = getenv("PATH");
	char *kept = strdup(old ? old : "/bin:/usr/bin");

	bench_write_script("bin/mpirun",
			   "[ \"$1\" = --version ] && { echo 'mpirun (Open MPI) "
			   "4.1.4'; exit 0; }\n"
			   "while [ \"${1##*/}\" != trainer ]; do shift; done\nexec \"$@\"\n");
	snprintf(path, sizeof(path), "%s/bin:%s", test_folder(), kept);
	setenv("PATH", path, 1);
	return kept;
}

/* A host is away while there is a file HOST.away. */
#define SSH                                                                                        \
	"while :; do case $1 in -o|-p|-i) shift 2;; -*) shift;; *) break;; esac; done\n"           \
	"dir=${0%/*} host=$1\nshift\n"                                                             \
	"[ -e \"$dir/$host.away\" ] && { echo 'ssh: connect to host: No route to host' >&2; "      \
	"exit 255; }\nexec sh -c \"$*\"\n"

TEST(attempts_elastic)
{
	char *kept = put_mpirun_in_path(), ssh[400];

	snprintf(ssh, sizeof(ssh), "'%s'", bench_write_script("ssh", SSH));
	runs_to((struct training){ .script = RANK
				   "starts\n[ -e \"$w/b.away\" ] && stops finished 0\n: "
				   ">\"$w/b.away\"\nexit 1\n",
				   .hosts = "a,b",
				   .ssh = ssh,
				   .restarts = 2,
				   .elastic = true },
		"\"state\":\"finished\"");
	bench_has(bench_read("runs/r/state.json"), "\"hosts\":[{\"host\":\"a\",\"slots\":1}]");
	bench_has(bench_read("runs/r/journal.jsonl"), "going on without b: 1 of 2 hosts");
	check_str(bench_read("runs/r/hosts"), "a slots=1\n");
	setenv("PATH", kept, 1);
	free(kept);
}

/* Looks at one moment until there is news or a host may be taken back; false: neither in 5 s. */
static bool look_until(struct host_return *r, int64_t saves, double now, char news[200], bool *back)
{
	for (int i = 0; i < 1000; i++) {
		*back = host_return_look(r, saves, now, news);
		if (*back || news[0])
			return true;
		usleep(5000);
	}
	return false;
}

/* At this moment, no look begins, and no earlier one has brought news. */
static void check_no_look(struct host_return *r, int64_t saves, double now)
{
	char news[200];

	bench_write("asked", "");
	for (int i = 0; i < 10; i++) {
		check(!host_return_look(r, saves, now, news));
		check_str(news, "");
		usleep(2000);
	}
	check_str(bench_read("asked"), "");
}

TEST(host_return_looks)
{
	const struct hosts_env none = { 0 };
	struct hosts all = { 0 }, some = { 0 };
	struct conf c;
	struct attempts a = { .conf = &c, .hosts = &all };
	struct host_return r;
	struct err e = { 0 };
	bool back, left_out[3] = { false };
	char news[200], path[400], ssh[400];

	check_int(conf_init(&c, &e), 0);
	snprintf(ssh, sizeof(ssh), "'%s'",
		 bench_write_script("ssh", "echo >>\"${0%/*}/asked\"\n" SSH));
	check_int(conf_set(&c, "ssh", ssh, "test", &e), 0);
	check_int(hosts_read(&all, "a,b,c", &none, &e), 0);
	check_int(hosts_read(&some, "a,c", &none, &e), 0);
	c.elastic = true;
	check_int(host_return_open(&r, &a, 10, &e), 0);
	host_return_begin_job(&r, &all, 1000);
	check_no_look(&r, 0, 5000); /* nobody is lost */
	host_return_begin_job(&r, &some, 10000);
	check_no_look(&r, 0, 10009);
	check(look_until(&r, 0, 10010, news, &back) && !back);
	check_str(news,
		  "b answers again: the training continues with it after the next checkpoint");
	check_no_look(&r, 0, 10100);
	check(look_until(&r, 1, 10101, news, &back) && back);
	host_return_end_job(&r);

	/* lost again within ten times its wait: waits twice as long */
	host_return_begin_job(&r, &all, 10200);
	host_return_suspects(&r, left_out);
	check(left_out[1] && !left_out[0] && !left_out[2]);
	host_return_begin_job(&r, &some, 10299);
	check_no_look(&r, 0, 10318);
	check(look_until(&r, 0, 10319, news, &back) && news[0]);
	/* it answers, but the next job begins without it: twice as long again */
	host_return_end_job(&r);
	host_return_begin_job(&r, &some, 10400);
	check_no_look(&r, 0, 10439);
	/* no answer: the next look comes after the pause */
	bench_write("b.away", "");
	check(!host_return_look(&r, 0, 10440, news));
	usleep(1000000);
	check(!host_return_look(&r, 0, 10441, news));
	snprintf(path, sizeof(path), "%s/b.away", test_folder());
	unlink(path);
	check_no_look(&r, 0, 10450);
	check(look_until(&r, 0, 10451, news, &back) && news[0]);

	/* it stayed for long: the first wait */
	host_return_begin_job(&r, &all, 11000);
	host_return_begin_job(&r, &all, 11500);
	left_out[1] = false;
	host_return_suspects(&r, left_out);
	check(!left_out[1]);
	host_return_begin_job(&r, &some, 20000);
	check_no_look(&r, 0, 20009);
	check(look_until(&r, 0, 20010, news, &back) && news[0]);
	host_return_close(&r);

	/* without --elastic nobody is taken back */
	c.elastic = false;
	check_int(host_return_open(&r, &a, 10, &e), 0);
	host_return_begin_job(&r, &some, 10000);
	check_no_look(&r, 0, 20000);
	host_return_close(&r);
	hosts_free(&all);
	hosts_free(&some);
	conf_free(&c);
}

/*
 * b answers and its rank crashes each time before a checkpoint. The run goes on with a alone after
 * the first time, so two restarts are enough.
 */
TEST(attempts_returned_host_fails)
{
	char *kept = put_mpirun_in_path(), ssh[400];

	snprintf(ssh, sizeof(ssh), "'%s'", bench_write_script("ssh", SSH));
	setenv("WERKBANK_RETURN", "0", 1);
	runs_to((struct training){ .script = RANK
				   "starts\necho x >>\"$w/starts\"\nn=$(wc -l <\"$w/starts\")\n"
				   "[ $n != 1 ] || { >\"$w/b.away\"; exit 1; }\n" /* b is lost */
				   "[ $n != 2 ] || { rm \"$w/b.away\"; trap 'stops asked 75' USR1\n"
				   "while :; do says '\"kind\":\"save\"'; sleep 0.1; done; }\n"
				   "[ $n != 3 ] || exit 1\n" /* b is there again, and fails */
				   "says '\"kind\":\"save\"'\nstops finished 0\n",
				   .hosts = "a,b",
				   .ssh = ssh,
				   .restarts = 2,
				   .elastic = true },
		"\"state\":\"finished\"");
	unsetenv("WERKBANK_RETURN");
	bench_has(bench_read("runs/r/state.json"), "\"attempt\":4,\"ranks\":1,");
	bench_has(bench_read("runs/r/state.json"), "\"restarts\":2,");
	bench_has(bench_read("runs/r/journal.jsonl"),
		  "the training saved and stopped at step 7 to continue with the hosts that answer "
		  "again");
	bench_has(bench_read("runs/r/journal.jsonl"), "all 2 hosts answer again");
	setenv("PATH", kept, 1);
	free(kept);
}

/* Somebody on another host asks to stop just when a host is taken back: the run stops. */
TEST(attempts_stop_while_taking_back)
{
	char *kept = put_mpirun_in_path(), ssh[400];

	snprintf(ssh, sizeof(ssh), "'%s'", bench_write_script("ssh", SSH));
	setenv("WERKBANK_RETURN", "0", 1);
	runs_to(
		(struct training){
			.script = RANK
			"starts\n"
			"[ -e \"$w/again\" ] || { >\"$w/again\"; >\"$w/b.away\"; exit 1; }\n"
			"rm \"$w/b.away\"\n"
			"trap 'says \"\\\"kind\\\":\\\"stop\\\",\\\"reason\\\":\\\"asked\\\","
			"\\\"exit\\\":75,\\\"by\\\":\\\"control\\\"\"; exit 75' USR1\n"
			"while :; do says '\"kind\":\"save\"'; sleep 0.1; done\n",
			.hosts = "a,b",
			.ssh = ssh,
			.restarts = 2,
			.elastic = true,
			.status = 75 },
		"\"state\":\"stopped\"");
	unsetenv("WERKBANK_RETURN");
	bench_has(bench_read("runs/r/console.log"), "to continue with the hosts that answer again");
	setenv("PATH", kept, 1);
	free(kept);
}

TEST(roll_call_answers)
{
	const struct hosts_env none = { 0 };
	struct hosts hosts = { 0 };
	struct conf c;
	struct attempts a = { .conf = &c, .hosts = &hosts };
	struct roll_call r;
	struct err e = { 0 };
	char news[300] = "x", ssh[400];

	check_int(conf_init(&c, &e), 0);
	snprintf(ssh, sizeof(ssh), "'%s'", bench_write_script("ssh", SSH));
	check_int(conf_set(&c, "ssh", ssh, "test", &e), 0);
	check_int(hosts_read(&hosts, "a:2,b,c,d,e,f", &none, &e), 0);
	check_int(roll_call_open(&r, &a, &e), 0);
	check_int(r.hosts.n, 6);
	check_int(roll_call_query(&r, news), ROLL_CALL_READY);
	check_str(news, "");
	for (const char *h = "bcdef"; *h; h++) {
		char name[20];

		snprintf(name, sizeof(name), "%c.away", *h);
		bench_write(name, "");
	}
	check_int(roll_call_query(&r, news), ROLL_CALL_WAIT);
	check_str(news, "waiting for b, c, d and 2 more to answer (--elastic goes on without)");
	check_str(r.trouble, "there is no route to b: is it switched on, and in this network?");
	check_int(r.hosts.n, 6);
	c.elastic = true;
	check_int(roll_call_query(&r, news), ROLL_CALL_READY);
	check_str(news, "going on without b, c, d and 2 more: 1 of 6 hosts");
	check_int(r.hosts.n, 1);
	check_int(r.hosts.all[0].slots, 2);
	bench_write("a.away", "");
	check_int(roll_call_query(&r, news), ROLL_CALL_WAIT);
	check_str(news, "waiting for a, b, c and 3 more to answer");
	for (const char *h = "abcdef"; *h; h++) {
		char path[400];

		snprintf(path, sizeof(path), "%s/%c.away", test_folder(), *h);
		unlink(path);
	}
	check_int(roll_call_query(&r, news), ROLL_CALL_READY);
	check_str(news, "all 6 hosts answer again");
	/* a host that leaves, or that came back and failed */
	roll_call_leave_out(&r, "c");
	check_int(roll_call_query(&r, news), ROLL_CALL_READY);
	check_str(news, "going on without c: 5 of 6 hosts");
	check_int(roll_call_query(&r, news), ROLL_CALL_READY);
	check_str(news, "all 6 hosts answer again");
	check_str(r.trouble, "");
	/* a host gets as long as logins took before, within limits */
	c.deadline = 30;
	r.login_s = 0;
	check_near(roll_call_limit_s(&r), 30, 0);
	r.login_s = 0.1;
	check_near(roll_call_limit_s(&r), 5, 0);
	r.login_s = 4;
	check_near(roll_call_limit_s(&r), 20, 0);
	r.login_s = 10;
	check_near(roll_call_limit_s(&r), 30, 0);
	roll_call_close(&r);
	/* without a list there is nobody to ask */
	a.hosts = NULL;
	check_int(roll_call_open(&r, &a, &e), 0);
	check_int(roll_call_query(&r, news), ROLL_CALL_READY);
	roll_call_close(&r);
	hosts_free(&hosts);
	conf_free(&c);
}

/* ---- the command ---- */

static bool has_programs(void)
{
	struct err e = { 0 };
	char *trainer = paths_program("werkbank-train", &e);
	char *launcher = paths_program("werkbank-launch", &e);
	bool has = trainer && launcher;

	free(trainer);
	free(launcher);
	if (!has)
		test_skip("werkbank-train and werkbank-launch are not built");
	return has;
}

#define RECIPE                                                                                     \
	"[data]\ncorpus = demo\n[model]\nsize = tiny\n[train]\nmicro_batches = 2\nsteps = 3\n"

TEST(train_command_refuses)
{
	const char *out, *f = test_folder();

	if (!has_programs())
		return;
	bench_write("my.ini", RECIPE);
	check_int(bench_command(&out, "train %s/my.ini -C %s", f, f), 66);
	bench_has(out, " has no corpus demo: type: werkbank prep ");
	bench_write("corpora/demo/manifest.json", "{}");
	bench_write("corpora/demo/recipe.ini", "");
	check_int(bench_command(&out, "train %s/my.ini -C %s --precision int8", f, f), 78);
	bench_has(out, "precision = int8 is for translation only");
	check_int(bench_command(&out, "train %s/my.ini -C %s --ranks 3", f, f), 78);
	bench_has(out, "set ");
	check_int(bench_command(&out, "train %s/my.ini -C %s --run ../x", f, f), 64);
	check_int(bench_command(&out, "train %s/my.ini -C %s --start-from none", f, f), 66);
	check_int(bench_command(&out, "train %s/my.ini -C %s --hosts a:0", f, f), 64);
}

TEST(train_command_show)
{
	const char *out, *f = test_folder();
	char *kept;
	bool has_plain_path;
	int status;

	if (!has_programs())
		return;
	kept = put_mpirun_in_path();
	bench_write("my.ini", RECIPE);
	bench_write("corpora/demo/manifest.json", "{}");
	bench_write("corpora/demo/recipe.ini", "");
	check_int(bench_command(&out, "train %s/my.ini -C %s --show", f, f), 0);
	/* a path with blanks is quoted, and mpirun refuses it */
	has_plain_path = strstr(out, "werkbank-train' _rank") == NULL;
	bench_has(out, has_plain_path ? "/werkbank-train _rank -C " : "/werkbank-train' _rank -C ");
	bench_has(out, " --run my\n");
	status = bench_command(&out, "train %s/my.ini -C %s --show -q --hosts a,b --run x", f, f);
	check_int(status, has_plain_path ? 0 : 78);
	if (has_plain_path) {
		bench_has(out, "mpirun -n 2 ");
		bench_has(out, "/runs/x/hosts");
		bench_has(out, " --run x --quiet\n");
	} else {
		bench_has(out, "mpirun cannot run a program with a blank or a colon in its path");
	}
	setenv("PATH", kept, 1);
	free(kept);
}

/* In a child process: train without a corpus: the ranks fail at once. */
static void train_and_fail(void *context)
{
	const char *options = context, *out, *f = test_folder();
	const pid_t first = getpid();
	struct run_handle l = { .pid = -1 };
	struct err e = { 0 };
	int status = bench_command(&out, "train %s/my.ini -C %s %s", f, f, options);

	if (getpid() != first) /* the detached supervisor */
		exit(0);
	if (!strcmp(options, "--detach")) {
		check_int(status, 0);
		bench_has(out, "my is being trained by process ");
		l.folder = file_path(&e, "%s/runs/my", f);
		do {
			usleep(10000);
			run_handle_refresh(&l);
		} while (l.alive);
		check_str(l.state, "failed");
		run_handle_close(&l);
	} else {
		check(status != 0);
		bench_has(out, "werkbank train: the training ended with status ");
	}
}

TEST(train_command_runs)
{
	static char in_process[] = "--restarts 0", detached[] = "--detach";
	char runtime[300];

	if (!has_programs())
		return;
	snprintf(runtime, sizeof(runtime), "%s/runtime", test_folder());
	setenv("WERKBANK_RUNTIME", runtime, 1);
	bench_write("my.ini", RECIPE);
	bench_write("corpora/demo/manifest.json", "{}");
	bench_write("corpora/demo/recipe.ini", "");
	check_int(bench_wait(bench_fork(train_and_fail, in_process)), 0);
	bench_has(bench_read("runs/my/state.json"), "\"state\":\"failed\"");
	check_int(bench_wait(bench_fork(train_and_fail, detached)), 0);
	bench_has(bench_read("runs/my/state.json"), "\"detached\":true");
	unsetenv("WERKBANK_RUNTIME");
}

static void append_records(const char *path, const char *text)
{
	FILE *f = fopen(path, "a");

	if (!check(f != NULL))
		return;
	fputs(text, f);
	fclose(f);
}

/* What a rank saved alone is the last step only until the run goes on. */
TEST(outcome_rescue_of_the_last_step)
{
	struct outcome o;
	struct err e = { 0 };
	char *path, why[160];
	int status;

	bench_write("j.jsonl", "");
	path = file_path(&e, "%s/j.jsonl", test_folder());
	check_int(outcome_open(&o, path, &e), 0);
	append_records(path, "{\"v\":1,\"kind\":\"start\",\"t\":1}\n"
			     "{\"v\":1,\"kind\":\"train\",\"t\":2,\"step\":7}\n"
			     "{\"v\":1,\"kind\":\"save\",\"t\":2,\"step\":7,\"alone\":true}\n");
	outcome_update(&o);
	check(o.is_rescued);
	check_int(o.saves, 0);
	append_records(path, "{\"v\":1,\"kind\":\"train\",\"t\":3,\"step\":8}\n");
	outcome_update(&o);
	check(!o.is_rescued);
	append_records(path, "{\"v\":1,\"kind\":\"save\",\"t\":3,\"step\":8,\"alone\":true}\n");
	outcome_update(&o);
	check(o.is_rescued);
	/* the ranks stopped on a request: of a user, or of the supervisor that has lost srun */
	append_records(path, "{\"v\":1,\"kind\":\"stop\",\"t\":4,\"step\":8,\"reason\":\"asked\","
			     "\"exit\":75}\n");
	outcome_update(&o);
	check_int(outcome_classify(&o, 137, false, false, &status, why), OUTCOME_STOPPED);
	o.is_orphaned = true;
	check_int(outcome_classify(&o, 137, false, false, &status, why), OUTCOME_RESTART);
	bench_has(why, "was ended by signal 9 (Killed)");
	check_int(outcome_classify(&o, 137, true, false, &status, why), OUTCOME_STOPPED);
	outcome_begin_job(&o);
	check(!o.is_orphaned);
	outcome_close(&o);
	free(path);
}
