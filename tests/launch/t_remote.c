/* t_remote.c - commands on many hosts: quoting, deadlines, and messages of ssh */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "tests/test.h"
#include "train/launch/remote/remote.h"

/* A program in the place of ssh that runs body; its path in quotes, for --ssh, or NULL. */
static char *fake_ssh(const char *body)
{
	struct err e = { 0 };
	struct buf text = { 0 };
	char *path = file_path(&e, "%s/ssh", test_folder()),
	     *quoted = file_path(&e, "'%s/ssh'", test_folder());

	/* set $host and $command like ssh */
	buf_printf(&text,
		   "#!/bin/sh\nwhile :; do case $1 in -o|-p|-i) shift 2;; -*) shift;; "
		   "*) break;; esac; done\nhost=$1; shift; command=$*\n%s\n",
		   body);
	if (path && (file_write_all(path, text.data, text.len, &e) || chmod(path, 0700))) {
		free(quoted);
		quoted = NULL;
	}
	buf_free(&text);
	free(path);
	check(quoted != NULL);
	return quoted;
}

static struct host host_named(const char *name, int32_t port)
{
	static char names[8][64];
	static int next;
	char *copy = names[next++ % 8];

	snprintf(copy, 64, "%s", name);
	return (struct host){ .name = copy, .slots = 1, .port = port };
}

/* Run one command on one host through a fake ssh; the caller frees the job. */
static struct remote_job one(const char *body, const char *name, int32_t port,
			     const char *const *argv, double deadline)
{
	static struct host host;
	char *ssh = fake_ssh(body);
	const struct remote_options how = { .ssh = ssh, .deadline_s = deadline };
	struct remote_job job = { .host = &host, .argv = argv };
	struct err e = { 0 };

	host = host_named(name, port);
	if (ssh)
		check_int(remote_run(&job, 1, &how, &e), 0);
	free(ssh);
	return job;
}

TEST(remote_words_arrive_whole)
{
	static const char *const argv[] = { "printf",  "%s\n", "a b", "it's", "$HOME `x` \"y\" \\",
					    "",	       "*",    "!",   "-n",   "line\nline",
					    "a;b|c&d", NULL };
	struct remote_job job = one("exec sh -c \"$command\"", "far", 0, argv, 10);

	check_int(job.status, 0);
	check_str(job.trouble, "");
	check_str(buf_text(&job.out),
		  "a b\nit's\n$HOME `x` \"y\" \\\n\n*\n!\n-n\nline\nline\na;b|c&d\n");
	check(job.last_byte_time > 1e9 && job.seconds > 0);
	remote_free(&job, 1);
}

TEST(remote_line_of_ssh)
{
	static const char *const argv[] = { "true", "a b", NULL };
	struct host far = host_named("far", 2222), here = host_named("localhost", 0);
	struct err e = { 0 };
	struct buf seen = { 0 };
	struct remote_options how = { .ssh = "ssh -i 'my key' -v", .deadline_s = 11 };
	struct command_line line = { 0 };

	check_int(remote_append_words(&line, &far, &how, argv, &e), 0);
	for (size_t i = 0; i < line.n; i++)
		buf_printf(&seen, "%s|", line.all[i]);
	check_str(buf_text(&seen), "ssh|-i|my key|-v|-x|-T|-o|BatchMode=yes|-o|ConnectTimeout=7|"
				   "-p|2222|far|true 'a b'|");
	command_line_free(&line);
	check_int(remote_append_words(&line, &here, &how, argv, &e), 0);
	check(line.n == 2 && !strcmp(line.all[0], "true") && !strcmp(line.all[1], "a b"));
	command_line_free(&line);
	how.ssh = "ssh 'a";
	check_err(remote_append_words(&line, &far, &how, argv, &e), ERR_USAGE);
	command_line_free(&line);
	how.ssh = " ";
	check_err(remote_append_words(&line, &far, &how, argv, &e), ERR_USAGE);
	command_line_free(&line);
	buf_free(&seen);
}

TEST(remote_troubles_have_a_cure)
{
	static const struct {
		const char *says;
		int status;
		const char *words;
	} cases[] = {
		{ "ssh: connect to host far port 22: Connection refused", 255,
		  "no sshd listens on the port: start sshd" },
		{ "ssh: connect to host far port 22: No route to host", 255,
		  "is it switched on, and in this network?" },
		{ "connect to address 10.0.0.1 port 22: Connection timed out", 255,
		  "far does not answer: is it switched on" },
		{ "ssh: Could not resolve hostname far: Name or service not known", 255,
		  "the name far has no address: correct the name" },
		{ "Host key verification failed.", 255,
		  "ssh does not know the host key of far yet: type ssh far once" },
		{ "@  WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!  @\n"
		  "Host key verification failed.",
		  255, "type ssh-keygen -R '[far]:2222'" },
		{ "me@far: Permission denied (publickey,password).", 255,
		  "install your public key with ssh-copy-id far" },
		{ "@ WARNING: UNPROTECTED PRIVATE KEY FILE! @\nPermission denied (publickey).", 255,
		  "chmod 600" },
		{ "kex_exchange_identification: read: Connection reset by peer", 255,
		  "MaxStartups" },
		{ "unknown option -- Z", 255, "--ssh has an option that ssh does not know" },
		{ "something \033[31mnew", 255,
		  "far cannot be reached: something \xEF\xBF\xBD[31mnew" },
		{ "", 255, "far cannot be reached: ssh failed without a message" },
		{ "sh: 1: /opt/werkbank-launch: not found", 127,
		  "far has no /opt/werkbank-launch: install it at the same path as on this host, "
		  "or type: "
		  "werkbank hosts sync" },
		{ "/opt/werkbank-launch: error while loading shared libraries: libz.so.1: cannot "
		  "open",
		  127, "werkbank-launch on far needs libz.so.1, which is not installed" },
		{ "/opt/werkbank-launch: Exec format error", 126,
		  "is its processor type the same" },
	};
	static const char *const argv[] = { "/opt/werkbank-launch", "_probe", NULL };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf body = { 0 };
		struct remote_job job;

		buf_printf(&body, "cat >&2 <<'END'\n%s\nEND\nexit %d", cases[i].says,
			   cases[i].status);
		job = one(buf_text(&body), "far", 2222, argv, 10);
		if (!check(strstr(job.trouble, cases[i].words) != NULL))
			printf("  %s\n  is not in: %s\n", cases[i].words, job.trouble);
		remote_free(&job, 1);
		buf_free(&body);
	}
}

TEST(remote_own_failures_are_no_trouble)
{
	static const char *const argv[] = { "false", NULL };
	struct remote_job job = one("exit 3", "far", 0, argv, 10);

	check_int(job.status, 3);
	check_str(job.trouble, "");
	remote_free(&job, 1);
}

/* Zombies count as members of the group until their parent has waited for them. */
static bool is_group_gone(pid_t group)
{
	for (int i = 0; i < 200; i++) {
		if (kill(-group, 0) && errno == ESRCH)
			return true;
		usleep(20000);
	}
	return false;
}

TEST(remote_deadline)
{
	static const char *const argv[] = { "x", NULL };
	double began = clock_mono_s();
	struct remote_job job = one("echo begun; echo $$ >\"$0.pid\"; trap '' TERM; "
				    "while :; do sleep 60; done",
				    "far", 0, argv, 0.5);
	struct err e = { 0 };
	struct buf pid = { 0 };
	char *path = file_path(&e, "%s/ssh.pid", test_folder());

	check(clock_mono_s() - began < 50); /* the script would sleep for 60 s */
	check(job.timed_out);
	check_int(job.status, -1);
	check_str(buf_text(&job.out), "begun\n");
	check(strstr(job.trouble, "far did not answer within 0.5 s: check its load") != NULL);
	/* the process and its child are gone, although both ignore SIGTERM */
	if (path && check_int(file_read_all(path, 0, &pid, &e), 0))
		check(is_group_gone((pid_t)strtol(pid.data, NULL, 10)));
	free(path);
	buf_free(&pid);
	remote_free(&job, 1);
}

TEST(remote_holds_no_more_than_it_should)
{
	static const char *const argv[] = { "x", NULL };
	struct remote_job job = one("head -c 20000000 /dev/zero | tr '\\0' o; head -c 200000 "
				    "/dev/zero | tr '\\0' e >&2",
				    "far", 0, argv, 60);

	check_int(job.out.len, 16 << 20);
	check_int(job.err.len, 64 << 10);
	check(strstr(job.trouble, "far wrote more than 16 MiB") != NULL);
	remote_free(&job, 1);
}

static size_t reported_all, reported_ended, reported_succeeded;

static void keep_progress(size_t all, size_t ended, size_t succeeded, const struct remote_job *last)
{
	reported_all = all;
	reported_ended = ended;
	reported_succeeded = succeeded;
	check(last && last->host);
}

TEST(remote_gives_up_dead_lists)
{
	static const char *const argv[] = { "true", NULL };
	enum { N = 60 };
	char *ssh = fake_ssh("case $host in h0) exit 0;; esac; sleep 0.5; exit 255");
	const struct remote_options how = { .ssh = ssh,
					    .deadline_s = 5,
					    .max_parallel = 2,
					    .give_up = true,
					    .progress = keep_progress };
	static struct host hosts[N];
	static char names[N][16];
	static struct remote_job jobs[N];
	struct err e = { 0 };
	double began = clock_mono_s();
	int skipped = 0;

	for (int i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "h%d", i);
		hosts[i] = (struct host){ .name = names[i], .slots = 1 };
		jobs[i] = (struct remote_job){ .host = &hosts[i], .argv = argv };
	}
	check_int(remote_run(jobs, N, &how, &e), 0);
	check(clock_mono_s() - began < 10); /* all of them need 15 seconds */
	check_int(jobs[0].status, 0);
	for (int i = 1; i < N; i++) {
		check_int(jobs[i].status, jobs[i].not_started ? -1 : 255);
		check(!jobs[i - 1].not_started || jobs[i].not_started);
		skipped += jobs[i].not_started;
	}
	check(skipped > N / 3);
	check_int(reported_all, N);
	check(reported_ended >= 2 && reported_ended < N);
	check_int(reported_succeeded, 1);
	remote_free(jobs, N);
	free(ssh);
}

static bool is_cancelled_at(void *context)
{
	return clock_mono_s() >= *(const double *)context;
}

/* A query that somebody cancels ends all its processes, long before their deadline. */
TEST(remote_is_cancelled)
{
	static const char *const argv[] = { "true", NULL };
	struct host host = host_named("a", 0);
	char *ssh = fake_ssh("exec sleep 20");
	double at = clock_mono_s() + 0.5;
	const struct remote_options how = { .ssh = ssh,
					    .deadline_s = 30,
					    .max_parallel = 2,
					    .is_cancelled = is_cancelled_at,
					    .context = &at };
	struct remote_job jobs[3];
	struct err e = { 0 };

	if (!ssh)
		return;
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
		jobs[i] = (struct remote_job){ .host = &host, .argv = argv };
	check_int(remote_run(jobs, ARRAY_LEN(jobs), &how, &e), 0);
	check(clock_mono_s() - at < 5);
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
		check(jobs[i].status == -1);
	check(jobs[2].not_started && !jobs[1].not_started);
	remote_free(jobs, ARRAY_LEN(jobs));
	free(ssh);
}

TEST(remote_input_and_many_hosts)
{
	static const char *const argv[] = { "wc", "-c", NULL };
	enum { N = 40, BYTES = 300000 };
	char *ssh = fake_ssh("case $host in h7) exit 255;; h9) exec cat >/dev/null;; h11) echo "
			     "deaf; exit 0;; *) exec sh -c \"$command\";; esac");
	const struct remote_options how = { .ssh = ssh, .deadline_s = 30, .max_parallel = 6 };
	static struct host hosts[N];
	static char names[N][16];
	static struct remote_job jobs[N];
	static char input[BYTES];
	struct err e = { 0 };

	memset(input, 'x', sizeof(input));
	for (int i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "h%d", i);
		hosts[i] = (struct host){ .name = names[i], .slots = 1 };
		jobs[i] = (struct remote_job){ .host = &hosts[i],
					       .argv = argv,
					       .input = input,
					       .input_bytes = sizeof(input) };
	}
	check_int(remote_run(jobs, N, &how, &e), 0);
	for (int i = 0; i < N; i++) {
		check_int(jobs[i].status, i == 7 ? 255 : 0);
		check_str(buf_text(&jobs[i].out), i == 7 || i == 9 ? ""
						  : i == 11	   ? "deaf\n"
								   : "300000\n");
	}
	remote_free(jobs, N);
	free(ssh);
}

TEST(remote_this_machine_and_no_ssh_at_all)
{
	static const char *const argv[] = { "cat", NULL };
	struct host hosts[] = { host_named("localhost", 0), host_named("far", 0) };
	const struct remote_options how = { .ssh = "/nowhere/ssh", .deadline_s = 10 };
	struct remote_job jobs[] = {
		{ .host = &hosts[0], .argv = argv, .input = "hi", .input_bytes = 2 },
		{ .host = &hosts[1], .argv = argv }
	};
	struct err e = { 0 };

	check_int(remote_run(jobs, 2, &how, &e), 0);
	check_str(buf_text(&jobs[0].out), "hi");
	check_int(jobs[1].status, -1);
	check(strstr(jobs[1].trouble, "/nowhere/ssh: cannot be run") != NULL);
	remote_free(jobs, 2);
}
