/* sandbox_child.c - a child that reads one foreign file in a sandbox; see sandbox_child.h */
#include "share/guard/sandbox_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "share/base/proc.h"
#include "share/base/util.h"
#include "share/guard/sandbox.h"

#define CHILD_PIPE_SIZE (1 << 20)

/* ---- the child --------------------------------------------------------- */

/* Standard error stays, for what sanitizers and the C library say at an abort. */
static void close_other_descriptors(int keep)
{
	if (keep > 3)
		syscall(SYS_close_range, 3u, (unsigned)keep - 1, 0);
	if (syscall(SYS_close_range, (unsigned)keep + 1, ~0u, 0) != 0)
		for (int i = 3; i < 4096; i++) /* before Linux 5.9 */
			if (i != keep)
				close(i);
}

/* Ctrl-C is for the parent, which ends this child when it is done. */
static void prepare_child(int pipe, const char *path)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	struct sandbox s;

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	close_other_descriptors(pipe);
	sandbox_begin(&s);
	sandbox_allow_system(&s); /* tables of character sets, for names of members */
	sandbox_allow_read(&s, path);
	sandbox_enter(&s, SANDBOX_READER);
}

/* ---- the parent -------------------------------------------------------- */

int sandbox_child_start(struct sandbox_child *c, const char *path, const char *verb,
			sandbox_child_run *run, const void *with, struct err *e)
{
	int ends[2];

	*c = (struct sandbox_child){ .path = path, .verb = verb, .pipe = -1 };
	if (pipe2(ends, O_CLOEXEC))
		return err_set_errno(e, ERR_UNAVAILABLE, "%s: no pipe for the process that %s it",
				     path, verb);
	/* fewer switches between both, if allowed */
	fcntl(ends[1], F_SETPIPE_SZ, CHILD_PIPE_SIZE);
	c->pipe = ends[0];
	c->pid = fork();
	if (c->pid == 0) {
		prepare_child(ends[1], path);
		run(ends[1], with);
		_exit(0);
	}
	if (c->pid < 0)
		err_set_errno(e, ERR_UNAVAILABLE, "%s: the process that %s it cannot be started",
			      path, verb);
	close(ends[1]);
	return c->pid < 0 ? e->code : 0;
}

size_t sandbox_child_read(struct sandbox_child *c, void *to, size_t room)
{
	ssize_t got;

	do
		got = read(c->pipe, to, room);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		c->read_fault = errno;
	return got > 0 ? (size_t)got : 0;
}

bool sandbox_child_take(struct sandbox_child *c, void *to, size_t n)
{
	char *at = to;

	while (n > 0) {
		const size_t got = sandbox_child_read(c, at, n);

		if (!got)
			return false;
		at += got;
		n -= got;
	}
	return true;
}

static int wait_for_child(struct sandbox_child *c)
{
	int status = 0;

	while (c->pid > 1 && waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	c->pid = 0;
	return status;
}

int sandbox_child_report_end(struct sandbox_child *c, struct err *e)
{
	int status;

	if (c->read_fault) {
		errno = c->read_fault;
		return err_set_errno(e, ERR_IO,
				     "%s: the answers of the process that %s it cannot be read",
				     c->path, c->verb);
	}
	status = wait_for_child(c);
	if (WIFSIGNALED(status))
		return err_set(e, ERR_DATA,
			       "%s: the process that %s it was ended by signal %d (%s): the file "
			       "is damaged, or memory is short",
			       c->path, c->verb, WTERMSIG(status), strsignal(WTERMSIG(status)));
	return err_set(e, ERR_DATA, "%s: the process that %s it ended before its last answer",
		       c->path, c->verb);
}

int sandbox_child_report_wrong(const struct sandbox_child *c, struct err *e)
{
	return err_set(e, ERR_DATA,
		       "%s: the sandboxed process that %s it returned invalid data: the file has "
		       "attacked it, "
		       "or memory is damaged",
		       c->path, c->verb);
}

int sandbox_child_take_fault(struct sandbox_child *c, int64_t code, size_t bytes, struct err *e)
{
	char text[sizeof(e->text)];

	if (bytes >= sizeof(text) || code >= 0 || code <= -256 ||
	    err_exit_status((int)code) != -code)
		return sandbox_child_report_wrong(c, e);
	if (!sandbox_child_take(c, text, bytes))
		return sandbox_child_report_end(c, e);
	text[bytes] = '\0';
	return err_set(e, (int)code, "%s", text);
}

void sandbox_child_close(struct sandbox_child *c)
{
	if (c->pipe >= 0)
		close(c->pipe);
	c->pipe = -1;
	if (c->pid > 1)
		proc_signal(c->pid, SIGKILL);
	wait_for_child(c);
}
