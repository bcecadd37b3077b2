/*
 * supervise.c - runs one job and forwards signals; see supervise.h
 *
 * Who is whose parent, and who restarts whom:
 *
 *	supervisor (attempts.c calls this file)	nobody restarts it; a user or a batch script may
 *	  |					type "werkbank train" again, which resumes the run
 *	  +-- job: mpirun or one rank		attempts.c restarts it (outcome.c decides)
 *	        +-- ranks			mpirun ends all ranks if one fails
 *
 * If the supervisor dies, the kernel sends SIGUSR1 to the job (PROC_DIE_WITH_PARENT): the ranks
 * save and stop. Processes that a job leaves behind become children of the supervisor
 * (PR_SET_CHILD_SUBREAPER), which ends them before the next job: a stale rank must not write into
 * the run.
 *
 * States of a job; is_asked and was_killed say which one:
 *
 *	            request to stop              SIGINT again, SIGQUIT, stop --now
 *	RUNNING ---------------------> STOPPING ----------------------------------> KILLING
 *	   |   before the ranks begin: like KILLING, but was_killed stays false        |
 *	   |   supervise_end_job() (hang): the same                                    |
 *	   v                              v                                            v
 *	ENDED: SIGCHLD for the job's first process; then read the rest of the pipe and end leftovers
 *
 * Signals to the supervisor: the table supervisor_signals. They are blocked and read from a
 * signalfd. SIGHUP and SIGPIPE are ignored: terminal or reader may go away. A batch system sends
 * SIGTERM to every process of a job, often twice (its own, and that of the job script's trap), and
 * SIGKILL when its patience ends. So SIGTERM never means "at once", however often it comes. Only a
 * person sends SIGINT twice; copies of one Ctrl-C arrive within SUPERVISE_SAME_REQUEST_S.
 *
 *	to the job	mpirun						single rank
 *	STOPPING	SIGUSR1, which it forwards to the ranks		SIGUSR1
 *			both again after ASK_AGAIN_S, then after twice that, and so on
 *	KILLING		SIGINT (srun: SIGTERM), after GRACE_S SIGKILL	SIGKILL
 *
 * The job starts with SIGTERM and SIGHUP blocked (PROC_HOLD_SIGTERM), because mpirun would end the
 * ranks within a second on either of them, before they can save. mpirun gives its ranks an empty
 * mask; they note a SIGTERM (train/main.c). The ranks save, write "stop" to the journal and exit
 * with 75 on SIGUSR1.
 */
#include "train/launch/run/supervise.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/proc.h"
#include "share/base/util.h"

#define READ_BYTES     4096
#define TICK_MS	       1000
#define LOG_REDRAWN_S  10.0 /* interval at which a redrawn line is copied to console.log */
#define GRACE_S	       5.0  /* time for mpirun to end its ranks on all hosts */
#define EARLY_GRACE_S  2.0  /* the same before the ranks have begun */
#define ASK_AGAIN_S    5.0  /* from a request to save to its first repetition */
#define LEAVE_S	       1.0  /* time for leftover processes to end, before and after SIGTERM */
#define PROGRESS_BYTES 256  /* size of the file "progress" */

/* What a signal requests: the first time, and again after SUPERVISE_SAME_REQUEST_S. */
static const struct {
	int number;
	enum supervise_request first, again;
} supervisor_signals[] = {
	{ SIGTERM, SUPERVISE_STOP, SUPERVISE_CONTINUE },
	{ SIGINT, SUPERVISE_STOP, SUPERVISE_KILL },
	{ SIGQUIT, SUPERVISE_KILL, SUPERVISE_KILL },
	/* batch systems announce the end of the time by one of these */
	{ SIGUSR1, SUPERVISE_STOP, SUPERVISE_CONTINUE },
	{ SIGXCPU, SUPERVISE_STOP, SUPERVISE_CONTINUE },
};

static sigset_t supervisor_signal_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < ARRAY_LEN(supervisor_signals); i++)
		sigaddset(&set, supervisor_signals[i].number);
	return set;
}

int supervise_block_signals(struct err *e)
{
	const sigset_t set = supervisor_signal_set();

	return sigprocmask(SIG_BLOCK, &set, NULL)
		       ? err_set_errno(e, ERR_INTERNAL, "cannot block signals")
		       : 0;
}

bool supervise_is_request_pending(void)
{
	sigset_t pending;
	bool found = false;

	sigpending(&pending);
	for (size_t i = 0; i < ARRAY_LEN(supervisor_signals); i++)
		found = found || sigismember(&pending, supervisor_signals[i].number) == 1;
	return found;
}

int supervise_open(struct supervisor *s, const char *console, const char *progress, struct err *e)
{
	const sigset_t set = supervisor_signal_set();

	s->proc = (struct proc){ .pid = -1, .in = -1, .out = -1, .err = -1 };
	s->signals = s->console = s->progress = -1;
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (supervise_block_signals(e))
		return e->code;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		return err_set_errno(e, ERR_INTERNAL, "cannot adopt orphaned processes");
	s->signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (s->signals < 0)
		return err_set_errno(e, ERR_INTERNAL, "cannot open a signal descriptor");
	if (file_open_in_place(&s->console, console, O_WRONLY | O_APPEND, e))
		return e->code;
	/* the file "progress" is optional */
	if (!file_open_in_place(&s->progress, progress, O_WRONLY, &(struct err){ 0 }) &&
	    ftruncate(s->progress, 0)) {
		close(s->progress);
		s->progress = -1;
	}
	return 0;
}

/* ---- stopping ---- */

/* SIGCONT: a suspended job cannot save. */
static void ask_job_to_save(struct supervisor *s)
{
	const double now = clock_mono_s();

	if (s->ask_at > 0 && s->ask_again)
		s->ask_again(s->context);
	proc_signal_group(s->proc.pid, SIGCONT);
	proc_signal(s->proc.pid, SIGUSR1);
	s->ask_at = now + MAX(now - s->asked_at, ASK_AGAIN_S);
}

/*
 * SIGINT lets mpirun end its ranks on all hosts; after SIGKILL it cannot. srun only prints the state
 * of its step on SIGINT; on SIGTERM it kills the ranks at once.
 */
void supervise_end_job(struct supervisor *s)
{
	if (s->proc.pid < 0)
		return;
	if (s->mpirun && !(s->kill_at > 0)) {
		proc_signal(s->proc.pid, s->is_srun ? SIGTERM : SIGINT);
		s->kill_at = clock_mono_s() + GRACE_S;
	} else {
		proc_signal_group(s->proc.pid, SIGKILL);
	}
}

/*
 * Ask the job to save and stop, and again from time to time until it ends: a signal may be lost on
 * its way to the ranks. A repeated call has no effect. signal: the request's signal; 0: a tick.
 * Ranks that have not begun have nothing to save, and SIGUSR1 would kill some of them before they can
 * handle it, so that mpirun may hang or return 0: such a job ends at once.
 */
static void stop_job_on_request(struct supervisor *s, int signal)
{
	if (s->is_asked)
		return;
	s->is_asked = true;
	s->asked_by = signal;
	s->asked_at = clock_mono_s();
	if (s->proc.pid >= 0 && s->has_begun && !s->has_begun(s->context)) {
		supervise_end_job(s);
		if (s->mpirun)
			s->kill_at = s->asked_at + EARLY_GRACE_S;
		supervise_log(s, "ending the training, which has not begun");
		return;
	}
	if (s->proc.pid >= 0)
		ask_job_to_save(s);
	supervise_log(s, "asked the training to save and stop; Ctrl-C or \"werkbank stop --now\" "
			 "ends it at once");
}

void supervise_interrupt_job(struct supervisor *s)
{
	if (s->proc.pid >= 0 && !s->is_asked)
		proc_signal(s->proc.pid, SIGUSR1);
}

/* End the job at once on request: was_killed. */
static void kill_job_on_request(struct supervisor *s)
{
	if (!s->is_asked)
		s->asked_at = clock_mono_s();
	s->is_asked = s->was_killed = true;
	supervise_end_job(s);
	supervise_log(s, "ending the training at once");
}

/* ---- ticks ---- */

/* Also sends what is due: a repeated request to save, the SIGKILL that supervise_end_job() planned. */
static void obey_tick_request(struct supervisor *s, enum supervise_request request)
{
	if (request == SUPERVISE_STOP)
		stop_job_on_request(s, 0);
	else if (request == SUPERVISE_KILL && !s->was_killed)
		kill_job_on_request(s);
	if (s->proc.pid < 0)
		return;
	if (s->kill_at > 0 && clock_mono_s() >= s->kill_at)
		proc_signal_group(s->proc.pid, SIGKILL);
	else if (s->ask_at > 0 && !(s->kill_at > 0) && clock_mono_s() >= s->ask_at)
		ask_job_to_save(s);
}

/* A tick asks for a stop only once: its answer must never be dropped. */
static void run_supervisor_tick(struct supervisor *s)
{
	if (s->tick)
		obey_tick_request(s, s->tick(s->context));
}

/*
 * ---- output ----
 *
 * A failed write (terminal gone, disk full) must not stop a training: nobody looks at the result of
 * file_write_fd() here.
 */

/* Write the current line, padded to a fixed size, so that it overwrites a longer old line. */
static void write_progress_file(struct supervisor *s)
{
	char text[PROGRESS_BYTES];
	size_t n = MIN(s->line.len, sizeof(text) - 1);

	if (s->progress < 0)
		return;
	memset(text, ' ', sizeof(text));
	if (n)
		memcpy(text, buf_text(&s->line), n);
	text[sizeof(text) - 1] = '\n';
	if (lseek(s->progress, 0, SEEK_SET) == 0)
		(void)file_write_fd(s->progress, text, sizeof(text));
}

static void end_console_line(struct supervisor *s)
{
	buf_add_char(&s->line, '\n');
	file_write_fd(s->console, buf_text(&s->line), s->line.len);
	buf_restart(&s->line);
	s->logged = clock_mono_s();
}

/* The line is redrawn: from time to time, log the old one. */
static void restart_console_line(struct supervisor *s)
{
	if (s->line.len && clock_mono_s() - s->logged >= LOG_REDRAWN_S)
		end_console_line(s);
	buf_restart(&s->line);
}

/*
 * console.log gets whole lines without escape sequences (which end with a letter). Of a line that
 * was redrawn with CR, it gets the last version.
 */
static void log_job_output(struct supervisor *s, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (s->redraw && text[i] != '\n' && text[i] != '\r')
			restart_console_line(s);
		if (text[i] == '\n' && s->line_seen)
			s->line_seen(s->context, buf_text(&s->line));
		if (text[i] == '\n')
			end_console_line(s);
		else if (text[i] == '\033')
			s->escape = true;
		else if (s->escape)
			s->escape = !isalpha((unsigned char)text[i]);
		else if (text[i] != '\r')
			buf_add_char(&s->line, text[i]);
		s->redraw = text[i] == '\r';
		if (text[i] == '\n')
			s->escape = false;
	}
	write_progress_file(s);
}

/* Read and log the available output; false at the end of the stream. */
static bool forward_job_output(struct supervisor *s)
{
	char bytes[READ_BYTES];
	ssize_t n = read(s->proc.err, bytes, sizeof(bytes));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n <= 0)
		return false;
	if (!s->has_output && s->tick) {
		s->has_output = true;
		run_supervisor_tick(s); /* update state.json before a follower reads the output */
	}
	if (s->echo)
		file_write_fd(STDERR_FILENO, bytes, (size_t)n);
	log_job_output(s, bytes, (size_t)n);
	return true;
}

void supervise_log(struct supervisor *s, const char *fmt, ...)
{
	char message[600], text[620]; /* no memory is allocated: its lack may be the message */
	size_t n;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	n = (size_t)snprintf(text, sizeof(text), "werkbank: %s\n", message);
	if (s->echo) {
		if (isatty(STDERR_FILENO) && s->line.len)
			file_write_fd(STDERR_FILENO, "\n", 1); /* keep the progress line */
		file_write_fd(STDERR_FILENO, text, n);
	}
	if (s->line.len)
		end_console_line(s);
	file_write_fd(s->console, text, n);
	write_progress_file(s);
}

static enum supervise_request request_of_signal(const struct supervisor *s, int number)
{
	for (size_t i = 0; i < ARRAY_LEN(supervisor_signals); i++)
		if (supervisor_signals[i].number == number)
			return s->is_asked && clock_mono_s() - s->asked_at >=
						       SUPERVISE_SAME_REQUEST_S
				       ? supervisor_signals[i].again
				       : supervisor_signals[i].first;
	return SUPERVISE_CONTINUE;
}

static void handle_supervisor_signal(struct supervisor *s, int *status, bool *ended)
{
	struct signalfd_siginfo info;

	if (read(s->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGCHLD) {
		*ended = *ended || proc_try_wait(&s->proc, status);
		return;
	}
	switch (request_of_signal(s, (int)info.ssi_signo)) {
	case SUPERVISE_STOP:
		stop_job_on_request(s, (int)info.ssi_signo);
		break;
	case SUPERVISE_KILL:
		kill_job_on_request(s);
		break;
	case SUPERVISE_CONTINUE:
		break;
	}
	run_supervisor_tick(s);
}

/* ---- processes that a job leaves behind ---- */

static void signal_child_processes(int number)
{
	char path[64], word[24];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/children", (long)getpid());
	f = fopen(path, "re");
	while (f && fscanf(f, "%23s", word) == 1)
		proc_signal((pid_t)strtol(word, NULL, 10), number);
	if (f)
		fclose(f);
}

/* waitpid() knows whether a child is left; the list in /proc may lack some while others end. */
static bool wait_children_gone(double seconds)
{
	double end = clock_mono_s() + seconds;

	for (;;) {
		pid_t pid;

		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0 && errno == ECHILD)
			return true;
		if (clock_mono_s() >= end)
			return false;
		usleep(20000);
	}
}

/*
 * Orphans of the job are our children: wait, then SIGTERM, then SIGKILL until all have ended. seconds: of
 * the first wait.
 */
static void end_leftover_children(double seconds)
{
	if (wait_children_gone(seconds))
		return;
	signal_child_processes(SIGCONT);
	signal_child_processes(SIGTERM);
	for (int i = 0; i < 50 && !wait_children_gone(i ? 0.1 : LEAVE_S); i++)
		signal_child_processes(SIGKILL);
}

/* ---- running ---- */

static void watch_job(struct supervisor *s, int *status)
{
	bool ended = proc_try_wait(&s->proc, status), open = true;
	double ticked = clock_mono_s();

	/*
	 * After the end of the job, read the rest of the pipe, but do not wait for the end of file:
	 * a leftover grandchild may keep it open. A signal that arrives then waits for
	 * supervise_pause(), so that a job that is to be restarted stops.
	 */
	while (!ended || open) {
		struct pollfd p[2] = { { ended ? -1 : s->signals, POLLIN, 0 },
				       { open ? s->proc.err : -1, POLLIN, 0 } };

		if (poll(p, 2, ended ? 0 : TICK_MS) < 0 && errno != EINTR)
			break;
		if (p[1].revents)
			open = forward_job_output(s);
		else if (ended)
			break;
		if (p[0].revents)
			handle_supervisor_signal(s, status, &ended);
		if (!ended && clock_mono_s() - ticked >= TICK_MS / 1000.0) {
			ticked = clock_mono_s();
			run_supervisor_tick(s);
		}
	}
}

int supervise_run_job(struct supervisor *s, const char *const *argv, int *status, struct err *e)
{
	int rc;

	assert(s->signals >= 0 && s->proc.err < 0); /* open, and no job is running */
	s->has_output = false;
	s->kill_at = s->ask_at = 0;
	s->logged = clock_mono_s();
	rc = proc_start(&s->proc, argv,
			PROC_PIPE_ERR | PROC_OWN_GROUP | PROC_DIE_WITH_PARENT | PROC_HOLD_SIGTERM,
			e);
	if (rc)
		return rc;
	watch_job(s, status);
	if (s->ended)
		s->ended(s->context);
	/* ranks whose mpirun has died save, and then end by themselves (stop_requests.h) */
	end_leftover_children(*status > 128 && !s->was_killed ? MAX(s->rescue_s, LEAVE_S)
							      : LEAVE_S);
	if (s->line.len)
		end_console_line(s);
	write_progress_file(s);
	if (s->proc.err >= 0)
		close(s->proc.err);
	s->proc.err = -1;
	return 0;
}

bool supervise_pause(struct supervisor *s, double seconds)
{
	double end = clock_mono_s() + seconds;
	int ignored;

	if (s->is_asked)
		return false;
	do { /* once in any case: a request may have come while the job ended */
		struct pollfd p = { s->signals, POLLIN, 0 };
		double left = MIN(end - clock_mono_s(), TICK_MS / 1000.0);
		bool ended = false;

		if (poll(&p, 1, (int)(MAX(left, 0.0) * 1000) + 1) > 0)
			handle_supervisor_signal(s, &ignored, &ended);
		run_supervisor_tick(s);
	} while (!s->is_asked && clock_mono_s() < end);
	return !s->is_asked;
}

void supervise_close(struct supervisor *s)
{
	int *const all[] = { &s->console, &s->progress, &s->signals };

	buf_free(&s->line);
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (*all[i] >= 0)
			close(*all[i]);
		*all[i] = -1;
	}
}
