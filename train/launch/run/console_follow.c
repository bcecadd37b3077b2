/* console_follow.c - see console_follow.h */
#include "train/launch/run/console_follow.h"

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/guard/terminal_text.h"
#include "train/launch/run/supervise.h"

#define LOOK_MS	       250
#define READ_BYTES     65536
#define PROGRESS_BYTES 512

struct follow_view {
	const struct console_follow *f;
	int console, progress, signals;
	sigset_t before; /* the signal mask before */
	bool terminal;
	bool drawn;		    /* a progress line is on the terminal */
	char shown[PROGRESS_BYTES]; /* that line */
	double asked_at;	    /* clock_mono_s() of the first request to stop; 0: none */
	bool leave;
};

static void erase_progress_line(struct follow_view *v)
{
	if (v->drawn)
		terminal_send_control("\r\033[K");
	v->drawn = false;
	v->shown[0] = 0;
}

static void show_console_lines(struct follow_view *v)
{
	static char bytes[READ_BYTES];
	ssize_t n;

	while (v->console >= 0 && (n = read(v->console, bytes, sizeof(bytes))) > 0) {
		erase_progress_line(v);
		if (!v->f->quiet)
			fwrite(bytes, 1, (size_t)n, stderr);
	}
}

static int open_run_file(const char *folder, const char *name)
{
	struct err ignored;
	char *path = file_path(&ignored, "%s/%s", folder, name);
	int fd = -1;

	if (path)
		file_open_read(&fd, path, &ignored);
	free(path);
	return fd;
}

static size_t terminal_columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 8 ? 80 : size.ws_col;
}

/* Draw the progress line, cut to the width of the terminal (the line is ASCII). */
static void draw_progress_line(struct follow_view *v)
{
	char text[PROGRESS_BYTES], *line;
	ssize_t n;

	if (!v->terminal || v->f->quiet)
		return;
	if (v->progress < 0) /* the supervisor may not have created it yet */
		v->progress = open_run_file(v->f->run->folder, "progress");
	if (v->progress < 0)
		return;
	n = pread(v->progress, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	line = text_trim(text);
	assert(terminal_columns() > 1);
	line[MIN(strlen(line), terminal_columns() - 1)] = 0;
	if (!strcmp(line, v->shown))
		return;
	erase_progress_line(v);
	snprintf(v->shown, sizeof(v->shown), "%s", line);
	fputs(line, stderr);
	v->drawn = line[0] != 0;
}

/* Only a second Ctrl-C means "at once": other signals may come from a batch system, repeatedly. */
static bool asks_to_end_at_once(struct follow_view *v, int number)
{
	const double now = clock_mono_s();
	const bool again = v->asked_at > 0 && now - v->asked_at >= SUPERVISE_SAME_REQUEST_S;

	if (!(v->asked_at > 0))
		v->asked_at = now;
	return number == SIGQUIT || (number == SIGINT && again);
}

static void read_follow_signal(struct follow_view *v)
{
	struct signalfd_siginfo info;
	struct err trouble;

	if (read(v->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP || !v->f->owner) {
		v->leave = true;
		return;
	}
	if (v->drawn)
		fputc('\n', stderr);
	v->drawn = false;
	run_handle_refresh(v->f->run);
	if (v->f->run->alive &&
	    run_handle_stop(v->f->run, asks_to_end_at_once(v, (int)info.ssi_signo), &trouble))
		fprintf(stderr, "%s\n", trouble.text);
}

static const int SIGNALS[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP };

static int open_follow_view(struct follow_view *v, struct err *e)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(SIGNALS); i++)
		sigaddset(&set, SIGNALS[i]);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, &v->before))
		return err_set_errno(e, ERR_INTERNAL, "cannot block signals");
	v->signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (v->signals < 0)
		return err_set_errno(e, ERR_INTERNAL, "cannot open a signal descriptor");
	v->terminal = isatty(STDERR_FILENO) == 1;
	v->console = open_run_file(v->f->run->folder, "console.log");
	v->progress = open_run_file(v->f->run->folder, "progress");
	if (v->console >= 0)
		lseek(v->console, v->f->from < 0 ? 0 : v->f->from,
		      v->f->from < 0 ? SEEK_END : SEEK_SET);
	return 0;
}

/* Discard pending signals (a second Ctrl-C) by ignoring them before they are unblocked. */
static void close_follow_view(struct follow_view *v)
{
	const int fds[] = { v->console, v->progress, v->signals };

	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (v->signals < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(SIGNALS); i++)
		signal(SIGNALS[i], SIG_IGN);
	sigprocmask(SIG_SETMASK, &v->before, NULL);
}

int console_follow_run(const struct console_follow *f, bool *left, int *status, struct err *e)
{
	struct follow_view v = { .f = f, .console = -1, .progress = -1, .signals = -1 };
	int rc = open_follow_view(&v, e);

	while (!rc && !v.leave) {
		struct pollfd p = { v.signals, POLLIN, 0 };

		run_handle_refresh(f->run); /* before reading, so that the last lines are shown */
		show_console_lines(&v);
		if (!f->run->alive)
			break;
		draw_progress_line(&v);
		/* all that are pending: of Ctrl-C and a hang-up, the hang-up is read first */
		for (int wait = LOOK_MS; poll(&p, 1, wait) > 0; wait = 0)
			read_follow_signal(&v);
	}
	if (v.leave && v.drawn)
		fputc('\n', stderr);
	else
		erase_progress_line(&v);
	*left = v.leave;
	*status = 0;
	if (!rc && !v.leave) {
		*status = run_handle_exit_status(f->run, e);
		rc = MIN(*status, 0);
	}
	close_follow_view(&v);
	return rc;
}
