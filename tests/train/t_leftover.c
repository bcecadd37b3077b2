/* t_leftover.c - records of running processes; only the recorded processes are ended */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/util.h"
#include "tests/test.h"
#include "train/common/leftover.h"
#include "train/common/linkfile.h"

/* A folder for records; false: none. */
static bool runtime(void)
{
	struct err e = { 0 };
	char *path = file_path(&e, "%s/runtime", test_folder());
	bool ok = path && !setenv("WERKBANK_RUNTIME", path, 1);

	free(path);
	return check(ok);
}

/* A child that records itself and sleeps; deaf: SIGTERM does not end it. */
static pid_t sleeper(bool deaf)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	if (pipe(ready) || (pid = fork()) < 0)
		return -1;
	if (!pid) {
		struct err e = { 0 };

		if (deaf)
			signal(SIGTERM, SIG_IGN);
		byte = leftover_record("/some/run", "demo", 3, &e) ? 'y' : 'n';
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	check(read(ready[0], &byte, 1) == 1 && byte == 'y');
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static struct leftover *one(void)
{
	static struct leftover l;
	struct leftover *all;
	struct err e = { 0 };
	size_t n;

	l = (struct leftover){ 0 };
	if (check_int(leftover_read(&all, &n, &e), 0) && check_int(n, 1))
		l = all[0];
	free(all);
	return &l;
}

/* The module does not wait for the process it ends, so waitpid() collects the child here. */
static void end(const struct leftover *l, double grace, const char *how, pid_t child, int signal)
{
	const char *ended = "?";
	struct err e = { 0 };
	int raw = 0;

	check_int(leftover_end(l, grace, &ended, &e), 0);
	check_str(ended, how);
	if (child > 0) {
		check_int(waitpid(child, &raw, 0), child);
		check_int(WIFSIGNALED(raw) ? WTERMSIG(raw) : 0, signal);
	}
}

TEST(leftover_note_and_forget)
{
	struct err e = { 0 };
	struct leftover *all, *l;
	char *record;
	size_t n = 9;

	if (!runtime())
		return;
	check_int(leftover_read(&all, &n, &e), 0);
	check_int(n, 0);
	setenv(LEFTOVER_TAG, "login:77:abc", 1);
	record = leftover_record("/w/runs/demo", "demo", LEFTOVER_LAUNCHER, &e);
	unsetenv(LEFTOVER_TAG);
	if (!check(record != NULL))
		return;
	l = one();
	check_str(l->run, "demo");
	check_str(l->folder, "/w/runs/demo");
	check_str(l->tag, "login:77:abc");
	check_str(l->file, record);
	check_int(l->pid, getpid());
	check_int(l->rank, LEFTOVER_LAUNCHER);
	check_int(l->started, process_start_ticks(getpid()));
	check(l->alive && !l->orphan);
	leftover_remove_record(record);
	check_int(leftover_read(&all, &n, &e), 0);
	check_int(n, 0);
	leftover_remove_record(NULL);
}

TEST(leftover_ends_the_recorded_process)
{
	pid_t pid;

	if (!runtime())
		return;
	pid = sleeper(false);
	end(one(), 3, "terminated", pid, SIGTERM);
	pid = sleeper(true);
	check(one()->alive);
	end(one(), 0.2, "killed", pid, SIGKILL);
	pid = sleeper(false);
	test_kill(pid, SIGSTOP); /* a stopped process gets SIGTERM only when it is continued */
	end(one(), 3, "terminated", pid, SIGTERM);
}

TEST(leftover_never_touches_others)
{
	struct leftover l, *all;
	struct err e = { 0 };
	pid_t pid;
	size_t n;

	if (!runtime() || (pid = sleeper(false)) < 0)
		return;
	l = *one();
	l.file[0] = 0;
	l.started++; /* another process has the pid now */
	end(&l, 0.1, "gone", 0, 0);
	l = *one();
	l.file[0] = 0;
	l.boot[0] ^= 1; /* the machine was rebooted */
	end(&l, 0.1, "gone", 0, 0);
	l = *one();
	l.file[0] = 0;
	l.pid_space[6] ^= 1; /* of a container */
	end(&l, 0.1, "gone", 0, 0);
	check_int(kill(pid, 0), 0);
	test_kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	check(!one()->alive);
	end(one(), 0.1, "gone", 0, 0); /* its record is removed */
	check_int(leftover_read(&all, &n, &e), 0);
	check_int(n, 0);
}

TEST(leftover_orphans)
{
	struct leftover *l;
	pid_t middle;

	if (!runtime() || (middle = fork()) < 0)
		return;
	if (!middle)
		_exit(sleeper(false) < 0);
	waitpid(middle, NULL, 0);
	for (int i = 0; i < 100 && !one()->orphan; i++)
		usleep(10000);
	l = one();
	check(l->alive && l->orphan);
	end(l, 3, "terminated", 0, 0);
}

TEST(leftover_refuses_foreign_records)
{
	static const char *const rubbish[] = {
		"",
		"{",
		"[]",
		"{\"run\":\"a\",\"rank\":0,\"pid\":1,\"started\":5,\"boot\":\"x\"}",
		"{\"run\":\"a\",\"rank\":0,\"pid\":-1,\"started\":5,\"boot\":\"x\"}",
		"{\"run\":\"a\",\"rank\":-7,\"pid\":99,\"started\":5,\"boot\":\"x\"}",
		"{\"run\":\"a\",\"rank\":0,\"pid\":4294967297,\"started\":5,\"boot\":\"x\"}",
		"{\"run\":\"\",\"rank\":0,\"pid\":99,\"started\":5,\"boot\":\"x\"}",
	};
	const char *folder;
	struct leftover *all;
	struct err e = { 0 };
	char *path;
	size_t n;

	if (!runtime())
		return;
	folder = getenv("WERKBANK_RUNTIME");
	mkdir(folder, 0700);
	path = file_path(&e, "%s/a.0.99", folder);
	for (size_t i = 0; path && i < ARRAY_LEN(rubbish); i++) {
		check_int(file_write_all(path, rubbish[i], strlen(rubbish[i]), &e), 0);
		check_int(leftover_read(&all, &n, &e), 0);
		check_int(n, 0);
		free(all);
	}
	chmod(folder, 0770);
	check_err(leftover_read(&all, &n, &e), ERR_PERM);
	check(!leftover_record("/r", "a", 0, &e));
	free(path);
}

TEST(linkfile_reads_measurements)
{
	static const char text[] = "{\"v\":1,\"t\":5,\"network\":\"10.0.0.0/24\",\"hosts\":[\"a\","
				   "\"b\"],\"link_bytes_s\":1.25e8,\"latency_s\":-1}";
	struct buf b = { 0 };
	struct link_speed s;
	struct err e = { 0 };

	check_int(linkfile_read(&s, test_folder(), &e), 0);
	check(s.measured == 0 && s.bytes_s != s.bytes_s);
	buf_add_str(&b, text);
	check_int(linkfile_write(test_folder(), &b, &e), 0);
	check_int(linkfile_read(&s, test_folder(), &e), 0);
	check_int(s.hosts, 2);
	check_near(s.bytes_s, 1.25e8, 0);
	check(s.latency_s != s.latency_s); /* a negative time is unknown */
	check_str(s.network, "10.0.0.0/24");
	buf_clear(&b);
	buf_add_str(&b, "{\"t\":");
	check_int(linkfile_write(test_folder(), &b, &e), 0);
	check_err(linkfile_read(&s, test_folder(), &e), ERR_DATA);
	buf_free(&b);
}

TEST(linkfile_curve)
{
	static const char text[] =
		"{\"hosts\":[\"a\",\"b\",\"c\"],\"allreduce\":["
		"{\"bytes\":1000,\"seconds\":0.001},"
		"{\"bytes\":4000,\"seconds\":0.002,\"bf16_s\":0.0015,\"2bit_s\":-1},"
		"{\"bytes\":4000,\"seconds\":9},{\"bytes\":\"x\"},7,"
		"{\"bytes\":8000,\"seconds\":0.004,\"1bit_s\":0.001}],\"beside\":["
		"{\"wire\":\"bf16\",\"bytes\":4000,\"seconds\":0.5,\"lost_s\":0},"
		"{\"wire\":\"3bit\",\"bytes\":1},{\"wire\":\"fp32\",\"lost_s\":-1}]}";
	struct buf b = { 0 };
	struct link_curve c;
	struct err e = { 0 };

	check_int(linkfile_read_curve(&c, test_folder(), &e), 0);
	check_int(c.hosts, 0);
	check(isnan(link_curve_seconds(&c, 0, 1e6)));
	buf_add_str(&b, text);
	check_int(linkfile_write(test_folder(), &b, &e), 0);
	check_int(linkfile_read_curve(&c, test_folder(), &e), 0);
	check_int(c.hosts, 3);
	check_int(c.n, 3);
	check_near(link_curve_seconds(&c, 0, 10), 0.001, 1e-12);
	check_near(link_curve_seconds(&c, 0, 2000), 0.001 * sqrt(2), 1e-12);
	check_near(link_curve_seconds(&c, 0, 4000), 0.002, 1e-12);
	check_near(link_curve_seconds(&c, 0, 6000), 0.003, 1e-12);
	check_near(link_curve_seconds(&c, 0, 80000), 0.04, 1e-12);
	/* of the others one point is known */
	check_near(link_curve_seconds(&c, 1, 400), 0.0015, 1e-12);
	check_near(link_curve_seconds(&c, 1, 8000), 0.003, 1e-12);
	check(isnan(link_curve_seconds(&c, 2, 4000)));
	check_near(link_curve_seconds(&c, 3, 16000), 0.002, 1e-12);
	check_near(c.beside[1].seconds, 0.5, 0);
	check_near(c.beside[1].lost_s, 0, 0);
	check(isnan(c.beside[0].lost_s) && isnan(c.beside[2].bytes));
	buf_clear(&b);
	buf_add_str(&b, "[");
	check_int(linkfile_write(test_folder(), &b, &e), 0);
	check_err(linkfile_read_curve(&c, test_folder(), &e), ERR_DATA);
	buf_free(&b);
}
