/* t_sandbox.c - tests of sandbox.h: which system calls each kind of sandbox refuses. tests/program/sandbox.sh tries files */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "share/base/util.h"
#include "share/guard/sandbox.h"

#include "tests/test.h"

static bool try_family(int family)
{
	const int fd = socket(family, SOCK_DGRAM, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno != EPERM;
}

static bool try_internet(void)
{
	return try_family(AF_INET) || try_family(AF_INET6);
}

/* The kernel looks at 32 bits of the family only. */
static bool try_long_family(void)
{
	return syscall(SYS_socket, AF_INET | 1l << 32, (long)SOCK_STREAM, 0l) >= 0 ||
	       errno != EPERM;
}

static bool try_rare_network(void)
{
	return try_family(AF_PACKET) || try_family(AF_VSOCK);
}

static bool try_local(void)
{
	return try_family(AF_UNIX);
}

static bool try_ptrace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
}

static bool try_namespace(void)
{
	return unshare(CLONE_NEWUSER) == 0;
}

static bool try_program(void)
{
	int status = 0;
	const pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(9);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void *run_nothing(void *unused)
{
	return unused;
}

static bool try_thread(void)
{
	pthread_t thread;

	return !pthread_create(&thread, NULL, run_nothing, NULL) && !pthread_join(thread, NULL);
}

/* A socket that is no socket: the kernel says so, if it is asked. */
static bool try_accepting(void)
{
	return accept4(STDIN_FILENO, NULL, NULL, SOCK_CLOEXEC) < 0 && errno != EPERM;
}

static bool try_reading(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0;
}

static bool try_writing(void)
{
	return open("/dev/null", O_WRONLY | O_CLOEXEC) >= 0;
}

/* Whether it is allowed to a reader, to a server, to a program, to a program with a GPU. */
static const struct sandbox_row {
	const char *name;
	bool (*try)(void);
	bool allowed[4];
} sandbox_rows[] = {
	/* clang-format off */
	{ "an internet socket",		try_internet,	  { false, false, false, false } },
	{ "one with more bits",		try_long_family,  { false, false, false, false } },
	{ "packets, virtual machines",	try_rare_network, { false, false, false, false } },
	{ "a local socket",		try_local,	  { false, false, false, true } },
	{ "ptrace",			try_ptrace,	  { false, false, false, false } },
	{ "a namespace",		try_namespace,	  { false, false, false, false } },
	{ "a program",			try_program,	  { false, false, false, true } },
	{ "a thread",			try_thread,	  { false, false, true, true } },
	{ "accepting",			try_accepting,	  { false, true, false, true } },
	{ "reading",			try_reading,	  { true, true, true, true } },
	{ "writing",			try_writing,	  { false, false, true, true } },
	/* clang-format on */
};

/* Whether a child in this sandbox could do it; 2: no sandbox. */
static int try_inside(enum sandbox_calls calls, const struct sandbox_row *row)
{
	struct sandbox s = { .ruleset = -1 };
	int status = 0;
	const pid_t pid = fork();

	if (pid == 0)
		_exit(sandbox_enter(&s, calls) ? row->try() : 2);
	check(pid > 0 && waitpid(pid, &status, 0) == pid);
	return check(WIFEXITED(status)) ? WEXITSTATUS(status) : -1;
}

TEST(sandbox_refuses_calls)
{
	if (!sandbox_has_seccomp() || sandbox_is_off()) {
		test_skip("no seccomp in this build or kernel, or WERKBANK_SANDBOX=off");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(sandbox_rows); i++)
		for (int calls = SANDBOX_READER; calls <= SANDBOX_GPU; calls++) {
			const int got = try_inside((enum sandbox_calls)calls, &sandbox_rows[i]);

			if (!check_int(got, sandbox_rows[i].allowed[calls]))
				fprintf(stderr, "%s, sandbox %d\n", sandbox_rows[i].name, calls);
		}
}
