/* t_launch.c - the verdict on a job, and the warning about the end of a session at log-out */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/util.h"
#include "tests/test.h"
#include "train/launch/run/attempts.h"
#include "train/launch/run/detach.h"
#include "train/launch/run/end_cause.h"
#include "train/launch/run/outcome.h"

static char *write_file(const char *name, const char *text)
{
	struct err e;
	char *path = file_path(&e, "%s/%s", test_folder(), name);

	check_int(file_write_all(path, text, strlen(text), &e), 0);
	return path;
}

#define START "{\"v\":1,\"kind\":\"start\",\"t\":1,\"step\":0}\n"
#define STOP(reason, exit)                                                                         \
	"{\"v\":1,\"kind\":\"stop\",\"t\":2,\"step\":7,\"reason\":\"" reason "\",\"exit\":" #exit  \
	"}\n"

#define STOP_BY_RANK                                                                               \
	"{\"v\":1,\"kind\":\"stop\",\"t\":2,\"step\":7,\"reason\":\"asked\",\"exit\":75,\"rank\":" \
	"1}\n"

static const struct {
	const char *journal; /* records of the job */
	int status;
	bool asked, now;
	enum outcome_verdict verdict;
	int exit;
} outcome_cases[] = {
	{ START STOP("finished", 0), 0, false, false, OUTCOME_FINISHED, 0 },
	/* mpirun says 1 although all ranks ended well */
	{ START STOP("finished", 0), 1, false, false, OUTCOME_FINISHED, 0 },
	{ START STOP("asked", 75), 1, true, false, OUTCOME_STOPPED, 75 },
	{ START STOP("asked", 75), 75, false, false, OUTCOME_STOPPED, 75 },
	/* rank 1 got SIGTERM alone; or the supervisor, too */
	{ START STOP_BY_RANK, 0, false, false, OUTCOME_LEAVING, 75 },
	{ START STOP_BY_RANK, 0, true, false, OUTCOME_STOPPED, 75 },
	{ START STOP("diverged", 79), 79, false, false, OUTCOME_DIVERGED, 79 },
	{ START STOP("diverged", 79), 0, false, false, OUTCOME_DIVERGED, 79 }, /* mpirun */
	{ START STOP("diverged", 79), 0, true, false, OUTCOME_DIVERGED, 79 },
	{ START STOP("failed", 74), 74, false, false, OUTCOME_RESTART, 74 },
	{ START STOP("failed", 68), 1, false, false, OUTCOME_RESTART, 68 },
	{ START STOP("failed", 74), 74, true, false, OUTCOME_FAILED, 74 },
	/* mpirun was ended on request, and the ranks saved */
	{ START STOP("failed", 68), 1, true, false, OUTCOME_STOPPED, 75 },
	{ START STOP("failed", 65), 65, false, false, OUTCOME_FAILED, 65 },
	{ START STOP("failed", 78), 1, false, false, OUTCOME_FAILED, 78 },
	{ START STOP("failed", 0), 0, false, false, OUTCOME_FAILED, 70 },
	{ START, 137, false, false, OUTCOME_RESTART, 137 },
	{ START, 1, false, false, OUTCOME_RESTART, 1 },
	{ START, 0, false, false, OUTCOME_RESTART, 70 },
	/* no "stop": this 75 comes from a watchdog, not from a stop */
	{ START, 75, false, false, OUTCOME_RESTART, 68 },
	/* asked to stop, but ended before the record "stop": what was saved before remains */
	{ START, 137, true, false, OUTCOME_KILLED, 75 },
	{ START, 0, true, false, OUTCOME_KILLED, 75 },
	{ START, 1, true, false, OUTCOME_FAILED, 1 },
	{ START, 75, true, false, OUTCOME_FAILED, 68 },
	{ START, 137, true, true, OUTCOME_KILLED, 75 },
	/* mpirun's own statuses above 128 are no signals */
	{ START, 205, false, false, OUTCOME_RESTART, 205 },
	{ START, 65, false, false, OUTCOME_FAILED, 65 },
	/* resumed after an earlier stop */
	{ START STOP("asked", 75) START, 137, false, false, OUTCOME_RESTART, 137 },
	/* it never began: a restart would fail in the same way */
	{ "", 1, false, false, OUTCOME_FAILED, 1 },
	{ "", 255, false, false, OUTCOME_FAILED, 255 },
	{ "", 64, false, false, OUTCOME_FAILED, 64 },
	{ "", 0, false, false, OUTCOME_FAILED, 70 },
	{ "", 75, false, false, OUTCOME_FAILED, 68 },
	/* stopped before it began, whatever mpirun says */
	{ "", 0, true, false, OUTCOME_STOPPED, 75 },
	{ "", 1, true, false, OUTCOME_STOPPED, 75 },
	{ "", 137, true, true, OUTCOME_STOPPED, 75 },
	{ "", 65, true, false, OUTCOME_FAILED, 65 },
	/* a crash of MPI or Slurm while it starts the ranks */
	{ "", 139, false, false, OUTCOME_RESTART, 139 },
	/* an early stop of a run that an earlier job has finished */
	{ START STOP("finished", 0), 0, true, false, OUTCOME_FINISHED, 0 },
};

TEST(outcome_of_jobs)
{
	for (size_t i = 0; i < ARRAY_LEN(outcome_cases); i++) {
		char *path = write_file("journal.jsonl", START STOP("failed", 65)), why[160];
		struct outcome o;
		struct err e;
		FILE *f;
		int status = -1;

		check_int(outcome_open(&o, path, &e), 0);
		outcome_begin_job(&o);
		f = fopen(path, "a");
		fputs(outcome_cases[i].journal, f);
		fclose(f);
		outcome_update(&o);
		if (!check_int(outcome_classify(&o, outcome_cases[i].status, outcome_cases[i].asked,
						outcome_cases[i].now, &status, why),
			       outcome_cases[i].verdict) ||
		    !check_int(status, outcome_cases[i].exit))
			test_fail(__FILE__, __LINE__, "case %zu: %s", i, why);
		outcome_close(&o);
		free(path);
	}
}

/* Words of Open MPI 4.1 and 5 and of srun on standard error, line by line. */
TEST(mpirun_names_the_failure)
{
	static const struct {
		const char *lines[3];
		int rank, signal;
		bool is_host_lost;
		const char *host, *text;
	} cases[] = {
		{ { "mpirun noticed that process rank 1 with PID 2538 on node nodeb exited on "
		    "signal 9 (Killed)." },
		  1,
		  9,
		  false,
		  "nodeb",
		  " of rank 1 on nodeb" },
		{ { "prterun noticed that process rank 12 with PID 0 on node b.c exited on signal "
		    "11 (Segmentation fault)." },
		  12,
		  11,
		  false,
		  "b.c",
		  " of rank 12 on b.c" },
		{ { "  HNP daemon   : [[16859,0],0] on node vm",
		    "  Remote daemon: [[16859,0],2] on node nodeb",
		    "mpirun noticed that process rank 1 with PID 0 on node c exited on signal 9" },
		  -1,
		  0,
		  true,
		  "nodeb",
		  "" },
		/* rank 0 lost its connection to rank 1 before mpirun missed the daemon */
		{ { "  Process name: [[16859,1],0]", "  Exit code:    68",
		    "  Remote daemon: [[16859,0],1] on node nodeb" },
		  -1,
		  0,
		  true,
		  "nodeb",
		  "" },
		{ { "  Process name: [[57384,1],2]", "  Exit code:    7" },
		  2,
		  0,
		  false,
		  "",
		  " of rank 2" },
		{ { "srun: error: h1: task 0: Segmentation fault",
		    "srun: error: h2: task 1: Killed" },
		  0,
		  0,
		  false,
		  "h1",
		  " of rank 0 on h1" },
		{ { "srun: error: h2: tasks 4-7: Killed" }, 4, 0, false, "h2", " of rank 4 on h2" },
		{ { "srun: error: h2: task 1: Killed", "srun: error: Node failure on h2" },
		  -1,
		  0,
		  true,
		  "h2",
		  "" },
		{ { "rank 3 on node x", "  Process name: [[57384,1]", "Remote daemon: gone" },
		  -1,
		  0,
		  false,
		  "",
		  "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct mpirun_failure f = { .rank = -1 };
		char text[80];

		for (size_t k = 0; k < ARRAY_LEN(cases[i].lines) && cases[i].lines[k]; k++)
			mpirun_read_line(&f, cases[i].lines[k]);
		check_int(f.rank, cases[i].rank);
		check_int(f.signal, cases[i].signal);
		check_int(f.is_host_lost, cases[i].is_host_lost);
		check_str(f.host, cases[i].host);
		mpirun_describe_rank(&f, text, sizeof(text));
		check_str(text, cases[i].text);
	}
}

/* A job that ended well, but whose last record cannot be read, has no known end. */
TEST(outcome_of_an_unreadable_journal)
{
	char *path = write_file("journal.jsonl", ""), why[160];
	struct outcome o;
	struct err e;
	int status;

	check_int(unlink(path), 0);
	check_int(outcome_open(&o, path, &e), 0); /* there is none yet */
	outcome_begin_job(&o);
	check_int(mkdir(path, 0777), 0);
	outcome_update(&o);
	check_int(outcome_classify(&o, 0, false, false, &status, why), OUTCOME_FAILED);
	check_int(status, err_exit_status(ERR_NOINPUT));
	check(strstr(why, "its journal cannot be read: ") != NULL);
	check_int(outcome_classify(&o, 139, false, false, &status, why), OUTCOME_RESTART);
	check_int(status, 139);
	check_int(rmdir(path), 0);
	free(write_file("journal.jsonl", START STOP("finished", 0)));
	outcome_update(&o); /* it can be read again */
	check_int(outcome_classify(&o, 0, false, false, &status, why), OUTCOME_FINISHED);
	outcome_close(&o);
	free(path);
}

TEST(outcome_of_a_later_job)
{
	char *path = write_file("journal.jsonl", START), why[160];
	struct outcome o;
	struct err e;
	int status;

	check_int(outcome_open(&o, path, &e), 0);
	o.has_ever_begun = true; /* an earlier job of this supervisor did begin */
	outcome_begin_job(&o);
	/* a host that is away at the second attempt may be back at the third */
	check_int(outcome_classify(&o, 255, false, false, &status, why), OUTCOME_RESTART);
	outcome_close(&o);
	free(path);
}

/* mpirun of Open MPI 5 sends SIGTERM to ranks that can still agree on a stop, and save. */
TEST(outcome_of_a_lost_host_and_a_save)
{
	char *path = write_file("journal.jsonl", ""), why[160];
	struct outcome o;
	struct err e;
	FILE *f;
	int status;

	check_int(outcome_open(&o, path, &e), 0);
	outcome_begin_job(&o);
	f = fopen(path, "a");
	fputs(START STOP_BY_RANK, f);
	fclose(f);
	outcome_update(&o);
	mpirun_read_line(&o.failure, "  Remote daemon: [prterun-h1-1@0,2] on node h3");
	check_int(outcome_classify(&o, 0, false, false, &status, why), OUTCOME_RESTART);
	check_int(status, err_exit_status(ERR_NOHOST));
	check(strstr(why, "lost the connection to host h3") != NULL);
	/* somebody has asked the supervisor, too */
	check_int(outcome_classify(&o, 0, true, false, &status, why), OUTCOME_STOPPED);
	outcome_close(&o);
	free(path);
}

TEST(outcome_times)
{
	char *path = write_file(
		"journal.jsonl",
		"{\"v\":1,\"kind\":\"train\",\"t\":1,\"step\":10,\"step_s\":2}\n"
		"{\"v\":1,\"kind\":\"save\",\"t\":1,\"step\":12,\"path\":\"x\",\"seconds\":20}\n"
		"nonsense\n"
		"{\"v\":1,\"kind\":\"train\",\"t\":1,\"step\":20,\"step_s\":1}\n");
	struct outcome o;
	struct err e;

	check_int(outcome_open(&o, path, &e), 0);
	check_near(o.save_s, 20, 1e-9);
	check_near(o.step_s, 1.8, 1e-9);
	check_int(o.step, 20);
	check(!o.has_begun && !o.has_ever_begun);
	outcome_close(&o);
	free(path);
}

/* A job that has made a checkpoint works; one that the first rank saved when others were lost may not. */
TEST(outcome_counts_saves)
{
	char *path =
		write_file("journal.jsonl", "{\"v\":1,\"kind\":\"save\",\"t\":1,\"step\":9}\n");
	struct outcome o;
	struct err e;
	FILE *f;

	check_int(outcome_open(&o, path, &e), 0);
	check_int(o.saves, 0); /* that of an earlier job */
	f = fopen(path, "a");
	fputs("{\"v\":1,\"kind\":\"save\",\"t\":1,\"step\":12,\"alone\":true}\n", f);
	fflush(f);
	outcome_update(&o);
	check_int(o.saves, 0);
	fputs("{\"v\":1,\"kind\":\"save\",\"t\":1,\"step\":20}\n", f);
	fclose(f);
	outcome_update(&o);
	check_int(o.saves, 1);
	check_int(o.step, 20);
	outcome_begin_job(&o);
	check_int(o.saves, 0);
	outcome_close(&o);
	free(path);
}

TEST(detach_at_log_out)
{
	static const struct {
		const char *cgroup, *answer;
		bool doomed;
	} cases[] = {
		{ "0::/user.slice/user-1000.slice/session-4.scope\n", "b true", true },
		{ "0::/user.slice/user-1000.slice/session-4.scope\n", "b false", false },
		{ "0::/user.slice/user-1000.slice/session-4.scope\n", "", false },
		{ "1:name=systemd:/user.slice/session-c2.scope\n", "b true", true },
		{ "0::/user.slice/user@1000.service/app.slice/run-r1.scope\n", "b true", false },
		{ "0::/\n", "b true", false },
		{ "", "b true", false },
	};
	char cure[300];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *cgroup = write_file("cgroup", cases[i].cgroup), script[80], *query;

		snprintf(script, sizeof(script), "#!/bin/sh\necho '%s'\n", cases[i].answer);
		query = write_file("busctl", script);
		check_int(chmod(query, 0700), 0);
		check_int(detach_ends_at_logout(cgroup, query, cure), cases[i].doomed);
		free(cgroup);
		free(query);
	}
	check(!detach_ends_at_logout("/nowhere/cgroup", "/nowhere/busctl", cure));
}

/* Slurm names the lack of memory; mpirun says only signal 9, and the cgroup tells why. */
TEST(outcome_of_a_lack_of_memory)
{
	char *path = write_file("journal.jsonl", START), why[160];
	struct outcome o;
	struct err e;
	int status;

	check_int(outcome_open(&o, path, &e), 0);
	o.has_begun = true;
	o.failure = (struct mpirun_failure){ .rank = -1 };
	mpirun_read_line(&o.failure, "srun: error: h2: task 1: Killed");
	check_int(outcome_classify(&o, 137, false, false, &status, why), OUTCOME_RESTART);
	check_str(why, "was ended by signal 9 (Killed) of rank 1 on h2");
	o.failure = (struct mpirun_failure){ .rank = -1 };
	mpirun_read_line(&o.failure, "srun: error: h2: task 1: Out Of Memory");
	check_int(outcome_classify(&o, 137, false, false, &status, why), OUTCOME_RESTART);
	check_str(why, "ran out of memory: the kernel ended a process of rank 1 on h2; lower "
		       "--batch-tokens");
	outcome_close(&o);
	free(path);
}

static void write_deep(const char *folder, const char *name, const char *text)
{
	struct err e;
	char *path = file_path(&e, "%s/%s", test_folder(), folder);

	check_int(file_make_folders(path, &e), 0);
	free(path);
	path = file_path(&e, "%s/%s", folder, name);
	free(write_file(path, text));
	free(path);
}

TEST(end_cause_counts_kills_for_memory)
{
	const char *f = test_folder();

	check_int(end_cause_memory_kills(f), -1);
	write_deep("proc/self", "cgroup", "0::/job/step\n");
	check_int(end_cause_memory_kills(f), -1);
	write_deep("sys/fs/cgroup/job/step", "memory.events", "low 0\noom 4\noom_kill 3\n");
	check_int(end_cause_memory_kills(f), 3);
	write_deep("proc/self", "cgroup", "2:cpu:/x\nnot a line\n1:memory:/job\n0::/\n");
	write_deep("sys/fs/cgroup/memory/job", "memory.oom_control",
		   "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n");
	check_int(end_cause_memory_kills(f), 7);
}
