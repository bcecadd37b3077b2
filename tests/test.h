/*
 * test.h - the test harness.
 *
 * Write TEST(name) { ... } in any tests/t_*.c; make gathers the names itself.
 * Checks go on after a failure, so that one run shows all that is wrong; both
 * sides are printed. Each test runs in a process of its own: a crash or a hang fails
 * that test alone. "tests/run bpe" runs the tests with "bpe" in their name;
 * "tests/run --no-fork bpe" runs them in one process, for a debugger.
 */
#ifndef WERKBANK_TESTS_TEST_H
#define WERKBANK_TESTS_TEST_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#define TEST(name)                                                                                 \
	void test_##name(void);                                                                    \
	void test_##name(void)

void test_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int test_failures(void);	 /* of this process, until now */
void test_skip(const char *why); /* the test counts as skipped; return after it */
bool test_check_int(const char *file, int line, const char *what, int64_t a, int64_t b);
bool test_check_str(const char *file, int line, const char *what, const char *a, const char *b);
bool test_check_near(const char *file, int line, const char *what, double a, double b,
		     double tolerance);
bool test_check_err(const char *file, int line, const char *what, int got, int code);

/* clang-format off */
#define check(cond) \
	((cond) ? true : (test_fail(__FILE__, __LINE__, "not so: %s", #cond), false))
#define check_int(a, b) \
	test_check_int(__FILE__, __LINE__, #a " == " #b, (int64_t)(a), (int64_t)(b))
/* clang-format on */
#define check_str(a, b)	      test_check_str(__FILE__, __LINE__, #a " == " #b, a, b)
#define check_near(a, b, tol) test_check_near(__FILE__, __LINE__, #a " ~ " #b, a, b, tol)
/* call must return this error code */
#define check_err(call, code) test_check_err(__FILE__, __LINE__, #call, call, code)

/*
 * The path of a file of the real data, in $WERKBANK_TEST_DATA or ../shared/data; NULL after
 * test_skip() when it is not there. A static buffer: copy it to keep it.
 */
const char *test_data(const char *name);

/*
 * Send a signal to a child of the test. Fails for pid <= 1, which kill() takes as a group of processes or as all of
 * them: that is what an unstarted child's pid of -1 would do.
 */
int test_kill(pid_t pid, int number);

/* A fresh empty folder, removed when the program ends. A static buffer, the same for one test. */
const char *test_folder(void);

/* Write the file test_folder()/NAME; makes its folders. */
void test_put_file(const char *name, const char *text);

#endif
