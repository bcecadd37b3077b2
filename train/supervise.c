/* supervise.c - see supervise.h */
#include "train/supervise.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "share/base/buf.h"
#include "share/base/proc.h"

#define READ_BYTES 4096

struct watch {
	const struct supervise *s;
	struct proc proc;
	int signals;		/* signalfd */
	int console;		/* descriptor of console.log */
	struct buf line;	/* what has not been ended by LF yet */
	bool redraw;		/* the last byte was CR */
	bool escape;		/* inside an escape sequence for the terminal */
	int asked;		/* how often we were asked to stop */
};

static sigset_t wanted(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	return set;
}

int supervise_prepare(struct err *e)
{
	sigset_t set = wanted();

	/* Our own terminal or reader may go away; the training stays. */
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return err_set_errno(e, ERR_INTERNAL, "signals cannot be blocked");
	return 0;
}

/* A whole write; what cannot be written (terminal gone, disk full) must not stop a training. */
static void put(int fd, const char *text, size_t n)
{
	while (n) {
		ssize_t done = write(fd, text, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		text += done;
		n -= (size_t)done;
	}
}

/*
 * console.log gets whole lines, without escape sequences (which end with a
 * letter); of a line that was redrawn with CR only its last state.
 */
static void log_lines(struct watch *w, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (w->redraw && text[i] != '\n')
			buf_clear(&w->line);
		w->redraw = text[i] == '\r';
		if (text[i] == '\033')
			w->escape = true;
		else if (w->escape)
			w->escape = !isalpha((unsigned char)text[i]);
		else if (!w->redraw)
			buf_add_char(&w->line, text[i]);
		if (text[i] == '\n') {
			put(w->console, buf_text(&w->line), w->line.len);
			buf_clear(&w->line);
			w->escape = false;
		}
	}
}

/* Pass on what is there; false at the end of the stream. */
static bool pass_on(struct watch *w)
{
	char bytes[READ_BYTES];
	ssize_t n = read(w->proc.err, bytes, sizeof(bytes));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n <= 0)
		return false;
	put(STDERR_FILENO, bytes, (size_t)n);
	log_lines(w, bytes, (size_t)n);
	return true;
}

/* Asked to stop: politely first, then with force. The ranks are a process group of their own. */
static void stop(struct watch *w)
{
	static const char *const says[] = {
		"werkbank: asked the training to save and stop; once more ends it at once\n",
		"werkbank: ending the training at once\n",
	};
	const char *text = says[w->asked ? 1 : 0];

	if (w->asked++ == 0)
		kill(w->proc.pid, w->s->stop_signal);
	else
		kill(-w->proc.pid, SIGKILL);
	if (isatty(STDERR_FILENO))
		put(STDERR_FILENO, "\n", 1);	/* below the line of progress */
	put(STDERR_FILENO, text, strlen(text));
}

static void take_signal(struct watch *w, int *status, bool *ended)
{
	struct signalfd_siginfo info;

	if (read(w->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGCHLD)
		*ended = *ended || proc_ended(&w->proc, status);
	else if (!*ended)
		stop(w);
}

static void follow(struct watch *w, int *status)
{
	bool ended = proc_ended(&w->proc, status), open = true;

	/*
	 * When it has ended, what is still in the pipe is taken, but nobody waits for a stray grandchild
	 * to close it.
	 */
	while (!ended || open) {
		struct pollfd p[2] = {{w->signals, POLLIN, 0},
				      {open ? w->proc.err : -1, POLLIN, 0}};

		if (poll(p, 2, ended ? 0 : -1) < 0 && errno != EINTR)
			break;
		if (p[1].revents)
			open = pass_on(w);
		else if (ended)
			break;
		if (p[0].revents)
			take_signal(w, status, &ended);
	}
}

int supervise_run(const struct supervise *s, int *status, struct err *e)
{
	sigset_t set = wanted();
	struct watch w = {
		.s = s, .proc = {.pid = -1, .in = -1, .out = -1, .err = -1}, .console = -1};
	int code = 0;

	w.signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (w.signals < 0)
		code = err_set_errno(e, ERR_INTERNAL, "signals cannot be read");
	if (!code) {
		w.console = open(s->console, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
		if (w.console < 0)
			code = err_set_errno(e, ERR_CANTCREAT, "%s: cannot be written", s->console);
	}
	if (!code)
		code = proc_start(&w.proc, s->argv,
				  PROC_PIPE_ERR | PROC_OWN_GROUP | PROC_DIE_WITH_PARENT, e);
	if (!code)
		follow(&w, status);
	if (w.line.len) {
		buf_add_char(&w.line, '\n');
		put(w.console, buf_text(&w.line), w.line.len);
	}
	buf_free(&w.line);
	if (w.proc.err >= 0)
		close(w.proc.err);
	if (w.console >= 0)
		close(w.console);
	if (w.signals >= 0)
		close(w.signals);
	return code;
}
