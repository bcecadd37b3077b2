/* test.c - runs every test of tests/list.h (or another list), which make writes. */
#include "tests/test.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "share/base/file.h"

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

static void remove_folder(void)
{
	struct err e;

	if (folder[0] && file_remove_tree(folder, &e))
		fprintf(stderr, "%s\n", e.text);
	folder[0] = 0;
}

int main(int argc, char **argv)
{
	int passed = 0, failed = 0, skips = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (argc > 1 && !strstr(all[i].name, argv[1]))
			continue;
		failures = skipped = 0;
		all[i].run();
		remove_folder();
		printf("%-8s %s\n", failures ? "FAILED" : skipped ? "skipped" : "ok", all[i].name);
		fflush(stdout);
		if (failures)
			failed++;
		else if (skipped)
			skips++;
		else
			passed++;
	}
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skips);
	return failed != 0;
}
