/* test.c - runs every test of tests/list.h (or another list), which make writes. */
#include "tests/test.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "share/base/file.h"

/* A test that runs longer hangs: sanitizers on a slow machine are included. */
#define TEST_SECONDS 900
#define MAX_JOBS     64

#ifndef TEST_LIST
#define TEST_LIST "tests/list.h"
#endif

#undef TEST
#define TEST(name) void test_##name(void);
#include TEST_LIST

static const struct {
	const char *name;
	void (*run)(void);
} all[] = {
#undef TEST
#define TEST(name) { #name, test_##name },
#include TEST_LIST
};

static int failures, skipped;
static char folder[200];

void test_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	failures++;
	fprintf(stderr, "%s:%d: ", file, line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int test_failures(void)
{
	return failures;
}

void test_skip(const char *why)
{
	skipped = 1;
	fprintf(stderr, "skipped: %s\n", why);
}

bool test_check_int(const char *file, int line, const char *what, int64_t a, int64_t b)
{
	if (a != b)
		test_fail(file, line, "not so: %s (%lld, %lld)", what, (long long)a, (long long)b);
	return a == b;
}

bool test_check_str(const char *file, int line, const char *what, const char *a, const char *b)
{
	bool same = a && b ? !strcmp(a, b) : a == b;

	if (!same)
		test_fail(file, line, "not so: %s\n\t\"%s\"\n\t\"%s\"", what, a ? a : "(null)",
			  b ? b : "(null)");
	return same;
}

bool test_check_near(const char *file, int line, const char *what, double a, double b,
		     double tolerance)
{
	bool near = fabs(a - b) <= tolerance;

	if (!near)
		test_fail(file, line, "not so: %s (%.17g, %.17g, allowed %g)", what, a, b,
			  tolerance);
	return near;
}

bool test_check_err(const char *file, int line, const char *what, int got, int code)
{
	if (got != code)
		test_fail(file, line, "%s: gave %d, not %d", what, got, code);
	return got == code;
}

int test_kill(pid_t pid, int number)
{
	if (pid <= 1) {
		test_fail(__FILE__, __LINE__, "no child to send signal %d to: pid %ld", number,
			  (long)pid);
		return -1;
	}
	return kill(pid, number);
}

const char *test_data(const char *name)
{
	static char path[1000], real[PATH_MAX];
	const char *root = getenv("WERKBANK_TEST_DATA"), *srcdir = getenv("srcdir");

	if (root)
		snprintf(path, sizeof(path), "%s/%s", root, name);
	else
		snprintf(path, sizeof(path), "%s/../shared/data/%s", srcdir ? srcdir : ".", name);
	/* whole, because some tests pass it on as a name in a manifest */
	if (access(path, R_OK) == 0 && realpath(path, real))
		return real;
	test_skip("the real data is not here (set WERKBANK_TEST_DATA)");
	return NULL;
}

const char *test_folder(void)
{
	if (!folder[0]) {
		const char *tmp = getenv("TMPDIR");

		snprintf(folder, sizeof(folder), "%s/werkbank-test-XXXXXX", tmp ? tmp : "/tmp");
		if (!mkdtemp(folder)) {
			perror("mkdtemp");
			abort();
		}
	}
	return folder;
}

void test_put_file(const char *name, const char *text)
{
	struct err e = { 0 };
	char path[PATH_MAX], above[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", test_folder(), name);
	snprintf(above, sizeof(above), "%s", path);
	*strrchr(above, '/') = 0;
	check_int(file_make_folders(above, &e), 0);
	check_int(file_write_all(path, text, strlen(text), &e), 0);
}

static void remove_folder(void)
{
	struct err e;

	if (folder[0] && file_remove_tree(folder, &e))
		fprintf(stderr, "%s\n", e.text);
	folder[0] = 0;
}

/* How one test ended: the exit status of its process. */
enum test_result { RESULT_PASSED = 0, RESULT_FAILED = 1, RESULT_SKIPPED = 77 };

/* A test that runs in a process of its own. */
struct test_child {
	pid_t pid; /* 0: the place is free */
	size_t test;
	FILE *output; /* owned: what the test writes */
};

/* In the child process: run test i, remove its folder, leave. */
static void test_run_child(size_t i, FILE *output)
{
	dup2(fileno(output), STDOUT_FILENO);
	dup2(fileno(output), STDERR_FILENO);
	alarm(TEST_SECONDS);
	all[i].run();
	remove_folder();
	fflush(stdout);
	exit(failures ? RESULT_FAILED : skipped ? RESULT_SKIPPED : RESULT_PASSED);
}

/*
 * Start test i in a process of its own, so that a crash or a hang fails this test alone. The folder
 * of a test that crashed stays for whoever looks into the crash.
 */
static void test_start_child(struct test_child *c, size_t i)
{
	c->output = tmpfile();
	if (!c->output) {
		perror("tmpfile");
		exit(1);
	}
	fflush(stdout);
	c->test = i;
	c->pid = fork();
	if (c->pid < 0) {
		perror("fork");
		exit(1);
	}
	if (c->pid == 0)
		test_run_child(i, c->output);
}

/* The result of a child that has ended with this status; prints what it wrote. */
static enum test_result test_end_child(struct test_child *c, int status)
{
	char text[4096];
	size_t n;

	c->pid = 0;
	rewind(c->output);
	while ((n = fread(text, 1, sizeof(text), c->output)) > 0)
		fwrite(text, 1, n, stderr);
	fclose(c->output);
	if (WIFSIGNALED(status)) {
		fprintf(stderr, "%s: ended by signal %d (%s)%s\n", all[c->test].name,
			WTERMSIG(status), strsignal(WTERMSIG(status)),
			WTERMSIG(status) == SIGALRM ? ": it hung" : "");
		return RESULT_FAILED;
	}
	switch (WEXITSTATUS(status)) {
	case RESULT_PASSED:
		return RESULT_PASSED;
	case RESULT_SKIPPED:
		return RESULT_SKIPPED;
	case RESULT_FAILED:
		return RESULT_FAILED;
	default: /* a sanitizer's report, or exit() in the program */
		fprintf(stderr, "%s: exit status %d\n", all[c->test].name, WEXITSTATUS(status));
		return RESULT_FAILED;
	}
}

static int counts[3]; /* passed, failed, skipped */

/* seconds: processor time, printed if TEST_TIMES is in the environment */
static void test_count(size_t i, enum test_result result, double seconds)
{
	static const char *const names[] = { "ok", "FAILED", "skipped" };
	int column = result == RESULT_PASSED ? 0 : result == RESULT_SKIPPED ? 2 : 1;

	counts[column]++;
	printf("%-8s %s", names[column], all[i].name);
	if (getenv("TEST_TIMES"))
		printf("  %.2f s", seconds);
	putchar('\n');
	fflush(stdout);
}

static double time_seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

/* Wait until one of the n places is free, and count its test. False when none was busy. */
static bool test_wait_child(struct test_child *children, int n)
{
	struct rusage used;
	int status;
	pid_t pid;

	do
		pid = wait4(-1, &status, 0, &used);
	while (pid < 0 && errno == EINTR);
	for (int k = 0; pid > 0 && k < n; k++) {
		if (children[k].pid == pid) {
			size_t test = children[k].test;

			test_count(test, test_end_child(&children[k], status),
				   time_seconds(&used.ru_utime) + time_seconds(&used.ru_stime));
		}
	}
	return pid > 0;
}

/* Start test i as soon as one of the n places is free. */
static void test_run_forked(struct test_child *children, int n, size_t i)
{
	for (;;) {
		for (int k = 0; k < n; k++) {
			if (!children[k].pid) {
				test_start_child(&children[k], i);
				return;
			}
		}
		test_wait_child(children, n);
	}
}

/* The same without a process of its own, for debuggers. */
static enum test_result test_run_here(size_t i)
{
	failures = skipped = 0;
	all[i].run();
	remove_folder();
	return failures ? RESULT_FAILED : skipped ? RESULT_SKIPPED : RESULT_PASSED;
}

/* Is the name one of those in TEST_WITHOUT, which are separated by blanks? */
static bool test_is_left_out(const char *name)
{
	const char *list = getenv("TEST_WITHOUT"), *at = list;
	const size_t n = strlen(name);

	for (; at && (at = strstr(at, name)); at += n)
		if ((at == list || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

static bool test_is_wanted(const char *name, char **words)
{
	if (test_is_left_out(name))
		return false;
	if (!*words)
		return true;
	for (; *words; words++) {
		if (strstr(name, *words))
			return true;
	}
	return false;
}

/*
 * run [--no-fork] [WORD...]: the tests with one of the words in their name, or all. TEST_JOBS in the
 * environment is how many run at a time (1); TEST_WITHOUT has names of tests that do not run; with TEST_TIMES the line
 * of a test ends with its processor time.
 */
int main(int argc, char **argv)
{
	bool forks = argc < 2 || strcmp(argv[1], "--no-fork") != 0;
	struct test_child children[MAX_JOBS] = { 0 };
	const char *jobs = getenv("TEST_JOBS");
	int n = jobs ? (int)strtol(jobs, NULL, 10) : 1;

	n = n < 1 ? 1 : n > MAX_JOBS ? MAX_JOBS : n;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!test_is_wanted(all[i].name, argv + (forks ? 1 : 2)))
			continue;
		if (forks)
			test_run_forked(children, n, i);
		else
			test_count(i, test_run_here(i), 0);
	}
	while (forks && test_wait_child(children, n))
		;
	printf("%d passed, %d failed, %d skipped\n", counts[0], counts[1], counts[2]);
	return counts[1] != 0;
}
