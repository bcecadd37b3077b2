/* launch_bench.c - see launch_bench.h */
#include "tests/launch/launch_bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/conf/conf.h"
#include "tests/test.h"
#include "train/launch/hosts/hosts_command.h"
#include "train/launch/job/job_command.h"
#include "train/launch/plan/plan_command.h"
#include "train/launch/preflight/probe.h"
#include "train/launch/remote/command_line.h"
#include "train/launch/run/run_commands.h"
#include "train/launch/run/train_command.h"

#define MAX_READ  (1u << 20)
#define MAX_WORDS 100

static int run_one(struct conf *c, int *status, struct err *e)
{
	const char *name = c->command;

	return !strcmp(name, "plan")	   ? plan_command_run(c, status, e)
	       : !strcmp(name, "job")	   ? job_command_run(c, status, e)
	       : !strcmp(name, "_probe")   ? probe_command_run(c, status, e)
	       : !strcmp(name, "hosts")	   ? hosts_command_run(c, status, e)
	       : !strcmp(name, "train")	   ? train_command_run(c, status, e)
	       : !strcmp(name, "attach")   ? run_command_attach(c, status, e)
	       : !strcmp(name, "save")	   ? run_command_save(c, status, e)
	       : !strcmp(name, "evaluate") ? run_command_evaluate(c, status, e)
	       : !strcmp(name, "stop")	   ? run_command_stop(c, status, e)
	       : !strcmp(name, "logs")	   ? run_command_logs(c, status, e)
					   : err_set(e, ERR_INTERNAL, "no command %s", name);
}

static int run_line(const char *line)
{
	struct command_line words = { 0 };
	struct err e = { 0 };
	struct conf c;
	char *argv[MAX_WORDS + 1];
	int status = 0, rc = conf_init(&c, &e);

	command_line_add(&words, "werkbank-launch");
	if (!rc)
		rc = command_line_split(&words, line, &e);
	/* conf_parse_command() moves the words about: it gets an array of its own */
	if (!rc && check(words.n <= MAX_WORDS)) {
		memcpy(argv, words.all, (words.n + 1) * sizeof(*argv));
		rc = conf_parse_command(&c, "launch", (int)words.n, argv, &e);
	}
	if (!rc)
		rc = run_one(&c, &status, &e);
	if (rc)
		status = conf_exit_status(&c, rc, &e);
	conf_free(&c);
	command_line_free(&words);
	return status;
}

/* The folder of the test as a shell writes it: $TMPDIR may contain blanks. */
static void escape_test_folder(const char *line, struct buf *out)
{
	const char *folder = test_folder();
	const size_t n = strlen(folder);

	while (*line) {
		if (strncmp(line, folder, n) != 0) {
			buf_add_char(out, *line++);
			continue;
		}
		for (size_t i = 0; i < n; i++) {
			if (folder[i] == ' ')
				buf_add_char(out, '\\');
			buf_add_char(out, folder[i]);
		}
		line += n;
	}
}

int bench_command(const char **output, const char *fmt, ...)
{
	struct buf escaped = { 0 };
	char line[4000], path[300];
	int kept[2], status;
	FILE *f;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	snprintf(path, sizeof(path), "%s/command-output", test_folder());
	f = fopen(path, "we");
	if (!check(f != NULL))
		return -1;
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		kept[i] = dup(i + 1);
		dup2(fileno(f), i + 1);
	}
	fclose(f);
	escape_test_folder(line, &escaped);
	status = run_line(buf_text(&escaped));
	buf_free(&escaped);
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		dup2(kept[i], i + 1);
		close(kept[i]);
	}
	*output = bench_read("command-output");
	return status;
}

void bench_write(const char *name, const char *text)
{
	struct err e = { 0 };
	char *path = file_path(&e, "%s/%s", test_folder(), name);

	if (!check(path != NULL))
		return;
	*strrchr(path, '/') = 0;
	check_int(file_make_folders(path, &e), 0);
	path[strlen(path)] = '/';
	check_int(file_write_all(path, text, strlen(text), &e), 0);
	free(path);
}

const char *bench_write_script(const char *name, const char *body)
{
	static char path[400];
	struct buf text = { 0 };

	buf_printf(&text, "#!/bin/sh\n%s", body);
	bench_write(name, buf_text(&text));
	buf_free(&text);
	snprintf(path, sizeof(path), "%s/%s", test_folder(), name);
	check_int(chmod(path, 0700), 0);
	return path;
}

const char *bench_read(const char *name)
{
	static struct buf text;
	struct err e = { 0 };
	char *path = file_path(&e, "%s/%s", test_folder(), name);

	buf_clear(&text);
	if (path && file_exists(path))
		check_int(file_read_all(path, MAX_READ, &text, &e), 0);
	free(path);
	return buf_text(&text);
}

bool bench_has(const char *text, const char *words)
{
	bool has = strstr(text, words) != NULL;

	if (!has)
		test_fail(__FILE__, __LINE__, "not in the text: \"%s\"\n\t\"%s\"", words, text);
	return has;
}

pid_t bench_fork(void (*body)(void *context), void *context)
{
	pid_t pid;

	test_folder(); /* the same one in both processes */
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int before = test_failures();

		body(context);
		fflush(NULL);
		exit(test_failures() > before);
	}
	check(pid > 0);
	return pid;
}

int bench_wait(pid_t pid)
{
	int status = -1;

	while (pid > 0 && waitpid(pid, &status, 0) != pid)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
