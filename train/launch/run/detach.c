/* detach.c - see detach.h */
#include "train/launch/run/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/proc.h"

#define QUERY_MS 2000

/* The report through the pipe: one write, smaller than PIPE_BUF and so atomic. */
struct detach_message {
	pid_t pid;
	struct err trouble; /* code 0: none */
};

_Static_assert(sizeof(struct detach_message) <= PIPE_BUF, "a report is one atomic write");

static void close_other_fds(int keep, int report)
{
	long most = sysconf(_SC_OPEN_MAX);

	if (most < 0 || most > 4096)
		most = 4096;
	for (int fd = 3; fd < most; fd++)
		if (fd != keep && fd != report)
			close(fd);
}

static int redirect_streams(const char *console, struct err *e)
{
	int in = open("/dev/null", O_RDONLY), out;
	int rc = file_open_in_place(&out, console, O_WRONLY | O_APPEND, e);

	if (!rc && in < 0)
		rc = err_set_errno(e, ERR_UNAVAILABLE, "/dev/null: cannot be read");
	if (!rc &&
	    (fcntl(out, F_SETFD, 0) || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0))
		rc = err_set_errno(e, ERR_NOMEM, "cannot redirect the standard streams");
	if (in > 2)
		close(in);
	if (out > 2)
		close(out);
	return rc;
}

/* Fork twice: the second child is not a session leader, so it can never get a terminal. */
static int become_supervisor(struct detach_supervisor *d, const char *console, const char *folder,
			     int keep, struct err *e)
{
	pid_t pid;

	if (setsid() < 0)
		err_set_errno(e, ERR_INTERNAL, "cannot create a session");
	pid = fork();
	if (pid > 0)
		_exit(0);
	if (pid < 0)
		err_set_errno(e, ERR_NOMEM, "cannot start the supervisor");
	d->pid = getpid();
	signal(SIGHUP, SIG_IGN);
	if (!e->code && chdir(folder))
		err_set_errno(e, ERR_NOINPUT, "%s: cannot change to this folder", folder);
	if (!e->code)
		redirect_streams(console, e);
	close_other_fds(keep, d->report);
	if (e->code) {
		detach_report_failure(d, e);
		_exit(err_exit_status(e->code));
	}
	return DETACH_SUPERVISOR;
}

static int await_detach_report(struct detach_supervisor *d, pid_t first, struct err *e)
{
	struct detach_message r;
	ssize_t n;

	while (waitpid(first, NULL, 0) < 0 && errno == EINTR)
		;
	do
		n = read(d->report, &r, sizeof(r));
	while (n < 0 && errno == EINTR);
	close(d->report);
	d->report = -1;
	if (n != (ssize_t)sizeof(r))
		return err_set(e, ERR_INTERNAL, "the supervisor ended before its report");
	d->pid = r.pid;
	if (r.trouble.code) {
		r.trouble.text[sizeof(r.trouble.text) - 1] = 0;
		return err_set(e, r.trouble.code, "%s", r.trouble.text);
	}
	return DETACH_STARTED;
}

int detach_supervisor(struct detach_supervisor *d, const char *console, const char *folder,
		      int keep, struct err *e)
{
	int ends[2];
	pid_t pid;

	*d = (struct detach_supervisor){ .pid = -1, .report = -1 };
	e->code = 0;
	if (pipe2(ends, O_CLOEXEC))
		return err_set_errno(e, ERR_NOMEM, "cannot create a pipe");
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		d->report = ends[1];
		return become_supervisor(d, console, folder, keep, e);
	}
	close(ends[1]);
	d->report = ends[0];
	if (pid < 0) {
		close(ends[0]);
		return err_set_errno(e, ERR_NOMEM, "cannot start the supervisor");
	}
	return await_detach_report(d, pid, e);
}

/* trouble: code 0: none. */
static void send_detach_report(struct detach_supervisor *d, const struct err *trouble)
{
	struct detach_message r;

	if (d->report < 0)
		return;
	memset(&r, 0, sizeof(r)); /* the padding, too, is sent */
	r.pid = getpid();
	r.trouble = *trouble;
	if (write(d->report, &r, sizeof(r)) < 0)
		signal(SIGPIPE, SIG_IGN); /* the old process is gone: go on without it */
	close(d->report);
	d->report = -1;
}

void detach_report_ready(struct detach_supervisor *d)
{
	send_detach_report(d, &(struct err){ 0 });
}

void detach_report_failure(struct detach_supervisor *d, const struct err *e)
{
	send_detach_report(d, e);
}

/* ---- log-out ---- */

/* systemd ends the processes of the unit "session-N.scope" with the log-in session. */
static bool is_in_session(const char *cgroup)
{
	struct buf text = { 0 };
	struct err ignored;
	const char *at;
	bool found = false;

	if (!file_read_all(cgroup, 1 << 16, &text, &ignored))
		for (at = buf_text(&text); !found && (at = strstr(at, "/session-")) != NULL; at++)
			found = strstr(at, ".scope") != NULL;
	buf_free(&text);
	return found;
}

/* logind answers "b true" or "b false"; without an answer assume false, the usual default. */
static bool logind_kills_processes(const char *query)
{
	const char *const argv[] = { query,
				     "get-property",
				     "org.freedesktop.login1",
				     "/org/freedesktop/login1",
				     "org.freedesktop.login1.Manager",
				     "KillUserProcesses",
				     NULL };
	struct pollfd p = { .events = POLLIN };
	struct err ignored;
	struct proc child;
	char text[100];
	ssize_t n = 0;

	if (proc_start(&child, argv, PROC_PIPE_OUT | PROC_PIPE_ERR, &ignored))
		return false;
	p.fd = child.out;
	if (poll(&p, 1, QUERY_MS) > 0)
		n = read(child.out, text, sizeof(text) - 1);
	proc_stop(&child, 0.2);
	text[n > 0 ? n : 0] = 0;
	return strstr(text, "true") != NULL;
}

bool detach_ends_at_logout(const char *cgroup, const char *query, char cure[300])
{
	if (!is_in_session(cgroup) || !logind_kills_processes(query))
		return false;
	snprintf(cure, 300,
		 "systemd ends this training when you log out (KillUserProcesses=yes): stop it and "
		 "start it by \"systemd-run --user --scope werkbank train ...\", after \"loginctl "
		 "enable-linger\" once");
	return true;
}
