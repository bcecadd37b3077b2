/* proc.c - see proc.h */
#include "share/base/proc.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/util.h"

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void proc_hold_sigterm(void)
{
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGHUP);
	sigprocmask(SIG_BLOCK, &held, NULL);
}

/*
 * In the child: connect the standard streams to the pipes, restore default signals, exec. A failed
 * exec sends errno to the parent through report.
 */
static void exec_in_child(const char *const *argv, int flags, int pipes[3][2], int report,
			  pid_t parent)
{
	const int death = flags & PROC_HOLD_SIGTERM ? SIGUSR1 : SIGTERM;
	sigset_t none;
	int number;

	for (int i = 0; i < 3; i++)
		if (pipes[i][0] >= 0)
			dup2(pipes[i][i == 0 ? 0 : 1], i);
	if (flags & PROC_OWN_GROUP)
		setpgid(0, 0);
	if (flags & PROC_DIE_WITH_PARENT && (prctl(PR_SET_PDEATHSIG, death) || getppid() != parent))
		_exit(127);
	signal(SIGPIPE, SIG_DFL);
	/* a shell starts background jobs with SIGINT ignored, and mpirun would ignore it until it has a handler */
	if (flags & PROC_OWN_GROUP)
		signal(SIGINT, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (flags & PROC_HOLD_SIGTERM)
		proc_hold_sigterm();
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	number = errno;
	if (write(report, &number, sizeof(number)) < 0)
		_exit(126);
	_exit(127);
}

bool proc_find(const char *name, char *path, size_t room)
{
	const char *at = getenv("PATH");

	for (at = at ? at : ""; *at; at += strcspn(at, ":"), at += *at == ':') {
		size_t n = strcspn(at, ":");

		if (n && (size_t)snprintf(path, room, "%.*s/%s", (int)n, at, name) < room &&
		    !access(path, X_OK))
			return true;
	}
	return false;
}

int proc_start(struct proc *p, const char *const *argv, int flags, struct err *e)
{
	int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } }, report[2] = { -1, -1 },
	    number = 0, failed = 0;
	pid_t parent = getpid();
	ssize_t n;

	assert(argv[0]);
	*p = (struct proc){ .pid = -1, .in = -1, .out = -1, .err = -1 };
	for (int i = 0; i < 3 && !failed; i++)
		if (flags & PROC_PIPE_IN << i && pipe2(pipes[i], O_CLOEXEC))
			failed = err_set_errno(e, ERR_NOMEM, "%s: cannot create a pipe", argv[0]);
	if (!failed && pipe2(report, O_CLOEXEC))
		failed = err_set_errno(e, ERR_NOMEM, "%s: cannot create a pipe", argv[0]);
	if (!failed) {
		p->pid = fork();
		if (p->pid == 0)
			exec_in_child(argv, flags, pipes, report[1], parent);
		if (p->pid < 0)
			failed = err_set_errno(e, ERR_NOMEM, "%s: cannot be started", argv[0]);
	}
	close_fd(&report[1]);
	if (!failed) {
		/* a successful exec closes the pipe without data */
		do
			n = read(report[0], &number, sizeof(number));
		while (n < 0 && errno == EINTR);
		if (n == (ssize_t)sizeof(number)) {
			waitpid(p->pid, NULL, 0);
			p->pid = -1;
			failed = err_set(e, ERR_UNAVAILABLE, "%s: cannot be run: %s", argv[0],
					 strerror(number));
		}
	}
	close_fd(&report[0]);
	for (int i = 0; i < 3; i++)
		close_fd(&pipes[i][i == 0 ? 0 : 1]);
	if (failed) {
		for (int i = 0; i < 3; i++)
			close_fd(&pipes[i][i == 0 ? 1 : 0]);
		return failed;
	}
	p->in = pipes[0][1];
	p->out = pipes[1][0];
	p->err = pipes[2][0];
	return 0;
}

static int exit_status_of(int raw)
{
	return WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
}

static void close_pipes(struct proc *p)
{
	close_fd(&p->in);
	close_fd(&p->out);
	close_fd(&p->err);
}

int proc_read_output(const struct proc *p, size_t limit, struct buf *out, struct err *e)
{
	char bytes[4096];
	ssize_t got;

	while ((got = read(p->out, bytes, sizeof(bytes))) > 0 || (got < 0 && errno == EINTR))
		if (got > 0 && out->len < limit)
			buf_add(out, bytes, MIN((size_t)got, limit - out->len));
	return got < 0 ? err_set_errno(e, ERR_IO, "cannot read the output of process %ld",
				       (long)p->pid)
		       : buf_check(out, e);
}

int proc_wait(struct proc *p, int *status, struct err *e)
{
	int raw;
	pid_t got;

	assert(p->pid > 0); /* started, and not waited for before */
	close_pipes(p);
	do
		got = waitpid(p->pid, &raw, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_set_errno(e, ERR_INTERNAL, "process %ld cannot be waited for",
				     (long)p->pid);
	p->pid = -1;
	*status = exit_status_of(raw);
	return 0;
}

bool proc_try_wait(struct proc *p, int *status)
{
	int raw;

	if (p->pid < 0 || waitpid(p->pid, &raw, WNOHANG) != p->pid)
		return false;
	p->pid = -1;
	*status = exit_status_of(raw);
	return true;
}

void proc_stop(struct proc *p, double grace_s)
{
	double deadline = clock_mono_s() + grace_s;
	int status;

	if (p->pid < 0) {
		close_pipes(p);
		return;
	}
	proc_signal(p->pid, SIGTERM);
	while (!proc_try_wait(p, &status)) {
		if (clock_mono_s() >= deadline) {
			struct err ignored;

			proc_signal(p->pid, SIGKILL);
			proc_wait(p, &status, &ignored);
			return;
		}
		usleep(10000);
	}
	close_pipes(p);
}

int proc_signal(pid_t pid, int number)
{
	if (pid <= 1) {
		errno = ESRCH;
		return -1;
	}
	return kill(pid, number);
}

int proc_handle_open(pid_t pid)
{
	const int handle = pid > 1 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	if (handle >= 0)
		(void)fcntl(handle, F_SETFD, FD_CLOEXEC);
	return handle;
}

int proc_handle_signal(int handle, pid_t pid, int number)
{
	if (handle >= 0)
		return syscall(SYS_pidfd_send_signal, handle, number, NULL, 0) ? errno : 0;
	return proc_signal(pid, number) ? errno : 0;
}

int proc_signal_group(pid_t pid, int number)
{
	if (pid <= 1) {
		errno = ESRCH;
		return -1;
	}
	return kill(-pid, number);
}

int proc_start_thread(pthread_t *thread, void *(*run)(void *context), void *context,
		      const char *purpose, struct err *e)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc ? err_set(e, ERR_NOMEM, "cannot start a thread that %s: %s", purpose,
			    strerror(rc))
		  : 0;
}
