/* launch_bench.h - runs commands of the launcher in a test, on made-up programs, hosts and runs. */
#ifndef WERKBANK_TESTS_LAUNCH_LAUNCH_BENCH_H
#define WERKBANK_TESTS_LAUNCH_LAUNCH_BENCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "share/base/util.h"

/*
 * Run a command line such as "plan --json -C FOLDER" in this process. *output: what it wrote to
 * standard output and standard error, in a static buffer. Returns the exit status.
 */
int bench_command(const char **output, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Write a file below test_folder() and make its folders. */
void bench_write(const char *name, const char *text);

/* The same for a shell script; returns its path in a static buffer. */
const char *bench_write_script(const char *name, const char *body);

/* The contents of a file below test_folder(), "" if there is none. A static buffer. */
const char *bench_read(const char *name);

/* Does text contain words? Prints both if it does not. */
bool bench_has(const char *text, const char *words);

/*
 * Run body in a child process, which signals and adopted processes of the launcher cannot leave.
 * bench_wait() returns the child's exit status: 0 if none of its checks failed.
 */
pid_t bench_fork(void (*body)(void *context), void *context);
int bench_wait(pid_t pid);

#endif
