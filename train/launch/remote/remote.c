/* remote.c - see remote.h */
#include "train/launch/remote/remote.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/proc.h"
#include "share/base/util.h"

#define MAX_OUT	      (16u << 20)
#define MAX_ERR	      (64u << 10)
#define PIECE	      ((size_t)8192)
#define AT_ONCE	      32
#define CHILD_POLL_MS 20  /* interval of the checks whether a process has ended */
#define KILL_DELAY_S  0.3 /* between SIGTERM and SIGKILL */
#define CONNECT_S     10
#define CONNECT_SHARE 0.7 /* of the deadline, for the connection of ssh, at most */
#define GIVE_UP_SHARE 0.5 /* of the deadline: silence after which no more jobs start */
#define PROGRESS_S    2.0 /* between two calls of progress */
#define CANCEL_LOOK_S 0.2 /* between two calls of is_cancelled */

/* ---- the command line ---------------------------------------------------- */

int remote_append_words(struct command_line *c, const struct host *host,
			const struct remote_options *how, const char *const *argv, struct err *e)
{
	const double connect_s = MIN(how->deadline_s * CONNECT_SHARE, CONNECT_S);
	struct buf quoted = { 0 };
	int rc = 0;

	if (host_is_local(host)) {
		command_line_add_all(c, argv);
	} else if (how->srun) {
		/* srun starts the command without a shell. One task, whatever the job's options are. */
		COMMAND_LINE_ADD(c, "srun", "--nodes=1", "--ntasks=1", "--mpi=none", "--quiet");
		command_line_printf(c, "--nodelist=%s", host->name);
		command_line_add_all(c, argv);
	} else {
		/* Our options come last: ssh uses the first value of an option, so the user's values win. */
		rc = command_line_split(c, how->ssh, e);
		COMMAND_LINE_ADD(c, "-x", "-T", "-o", "BatchMode=yes", "-o");
		command_line_printf(c, "ConnectTimeout=%d", MAX(1, (int)connect_s));
		if (host->port) {
			command_line_add(c, "-p");
			command_line_printf(c, "%d", host->port);
		}
		command_line_add(c, host->name);
		command_line_quote(argv, &quoted);
		command_line_add(c, buf_text(&quoted));
	}
	if (!rc)
		rc = buf_check(&quoted, e);
	buf_free(&quoted);
	return rc ? rc : command_line_check(c, e);
}

/* ---- one running process --------------------------------------------------- */

struct remote_child {
	struct remote_job *job; /* NULL: this entry is free */
	struct proc proc;
	double began, until; /* monotonic seconds; until: deadline, then of SIGKILL */
	size_t input_sent;   /* bytes */
	bool sigterm_sent;
	bool ended;
};

static void close_pipe_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void set_child_nonblocking(int fd)
{
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* job->trouble: why the remote shell does not start, and how to get one. */
static void explain_no_shell(struct remote_job *job, const char *program, const struct err *e)
{
	char path[256];

	if (strchr(program, '/') || proc_find(program, path, sizeof(path)))
		snprintf(job->trouble, sizeof(job->trouble), "%.250s", e->text);
	else
		snprintf(job->trouble, sizeof(job->trouble),
			 "the program %.40s is not in PATH: install it (package openssh-client on "
			 "Debian, openssh-clients on Fedora, openssh on Arch), or name another "
			 "remote shell with --ssh COMMAND",
			 program);
}

/* limit_s: seconds until the job is ended. */
static int start_child(struct remote_child *c, struct remote_job *job, const char *const *line,
		       double limit_s)
{
	struct err e = { 0 };

	assert(!c->job); /* the entry is free */
	*c = (struct remote_child){ .began = clock_mono_s() };
	c->until = c->began + limit_s;
	job->limit_s = limit_s;
	job->status = -1;
	job->timed_out = false;
	job->trouble[0] = 0;
	job->last_byte_time = 0;
	if (proc_start(&c->proc, line,
		       PROC_PIPE_IN | PROC_PIPE_OUT | PROC_PIPE_ERR | PROC_OWN_GROUP |
			       PROC_DIE_WITH_PARENT,
		       &e)) {
		explain_no_shell(job, line[0], &e);
		return -1;
	}
	set_child_nonblocking(c->proc.in);
	set_child_nonblocking(c->proc.out);
	set_child_nonblocking(c->proc.err);
	c->job = job;
	return 0;
}

/* Read all available bytes; keep at most `most` of them, drop the rest; close at the end. */
static void drain_child_output(struct remote_child *c, int *fd, struct buf *to, size_t most)
{
	for (;;) {
		char dropped[4096]; /* output beyond `most` */
		char *room = to->len < most ? buf_reserve(to, PIECE) : NULL;
		ssize_t n = read(*fd, room ? room : dropped, room ? PIECE : sizeof(dropped));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (n == 0 || errno != EAGAIN)
				close_pipe_end(fd);
			return;
		}
		c->job->last_byte_time = clock_wall_s();
		if (room) {
			to->len = MIN(to->len + (size_t)n, most);
			to->data[to->len] = 0;
		}
	}
}

static void write_child_input(struct remote_child *c)
{
	const struct remote_job *job = c->job;

	while (c->proc.in >= 0) {
		size_t left = job->input ? job->input_bytes - c->input_sent : 0;
		ssize_t n = left ? write(c->proc.in, job->input + c->input_sent, left) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0)
			close_pipe_end(&c->proc.in);
		else
			c->input_sent += (size_t)n;
	}
}

/* Signal the process group, because ssh may run a ProxyCommand, and rsync runs ssh. */
static void kill_timed_out_child(struct remote_child *c, double now)
{
	if (now < c->until)
		return;
	proc_signal_group(c->proc.pid, c->sigterm_sent ? SIGKILL : SIGTERM);
	c->job->timed_out = true;
	c->sigterm_sent = true;
	c->until = now + KILL_DELAY_S;
}

/* Clean up after a process that has ended; false: it still runs. */
static bool finish_child(struct remote_child *c, const struct remote_options *how)
{
	struct remote_job *job = c->job;
	int status = -1;

	if (!c->ended && !proc_try_wait(&c->proc, &status))
		return false;
	c->ended = true;
	/* Do not wait for the end of file: a shared ssh connection may keep the pipe open. */
	if (c->proc.out >= 0)
		drain_child_output(c, &c->proc.out, &job->out, MAX_OUT);
	if (c->proc.err >= 0)
		drain_child_output(c, &c->proc.err, &job->err, MAX_ERR);
	close_pipe_end(&c->proc.in);
	close_pipe_end(&c->proc.out);
	close_pipe_end(&c->proc.err);
	job->status = job->timed_out ? -1 : status;
	job->end_s = clock_mono_s();
	job->seconds = job->end_s - c->began;
	remote_explain(job, how);
	if (!job->trouble[0] && job->out.len >= MAX_OUT)
		snprintf(job->trouble, sizeof(job->trouble),
			 "%.200s wrote more than %u MiB, which is not an answer of Werkbank: look "
			 "at the "
			 "start-up files of its shell",
			 job->host->name, MAX_OUT >> 20);
	c->job = NULL;
	return true;
}

/* ---- the pool of processes --------------------------------------------------- */

struct remote_pool {
	struct remote_job *jobs;
	struct command_line *lines;    /* (n) argv of each job; NULL: use the job's own */
	size_t n, next, busy;	       /* jobs; first one not started; running */
	struct remote_child *children; /* owned: (n_children) */
	size_t n_children;
	struct pollfd *fds; /* owned: (3 * n_children) */
	const struct remote_options *how;
	size_t ended, succeeded;       /* jobs */
	const struct remote_job *last; /* ended last; NULL: none yet */
	double success_s, progress_s;  /* monotonic: last success or start; last call of progress */
	double cancel_look_s;	       /* monotonic: last call of is_cancelled */
	bool is_cancelled;
};

/* With give_up, a job may not last longer than a deadline after the last success. */
static double remaining_time(const struct remote_pool *w, double now)
{
	return w->how->deadline_s - (w->how->give_up ? now - w->success_s : 0);
}

static void skip_waiting_jobs(struct remote_pool *w)
{
	for (; w->next < w->n; w->next++) {
		w->jobs[w->next].status = -1;
		w->jobs[w->next].not_started = true;
	}
}

static void start_waiting_jobs(struct remote_pool *w)
{
	double now = clock_mono_s();

	if (w->how->give_up && now - w->success_s > GIVE_UP_SHARE * w->how->deadline_s)
		skip_waiting_jobs(w);
	for (size_t i = 0; i < w->n_children; i++)
		while (!w->children[i].job && w->next < w->n) {
			size_t k = w->next++;
			const char *const *line = w->lines ? w->lines[k].all : w->jobs[k].argv;

			if (start_child(&w->children[i], &w->jobs[k], line, remaining_time(w, now)))
				w->ended++;
		}
}

static void count_ended_job(struct remote_pool *w, const struct remote_job *job)
{
	w->ended++;
	w->last = job;
	if (job->status == 0 && !job->trouble[0]) {
		w->succeeded++;
		w->success_s = clock_mono_s();
	}
}

static void report_progress(struct remote_pool *w)
{
	double now = clock_mono_s();

	if (!w->how->progress || now - w->progress_s < PROGRESS_S)
		return;
	w->progress_s = now;
	w->how->progress(w->n, w->ended, w->succeeded, w->last);
}

/* After is_cancelled every running process is over its deadline. */
static void look_for_cancel(struct remote_pool *w)
{
	double now = clock_mono_s();

	if (!w->how->is_cancelled || w->is_cancelled || now - w->cancel_look_s < CANCEL_LOOK_S)
		return;
	w->cancel_look_s = now;
	w->is_cancelled = w->how->is_cancelled(w->how->context);
	if (!w->is_cancelled)
		return;
	skip_waiting_jobs(w);
	for (size_t i = 0; i < w->n_children; i++)
		w->children[i].until = MIN(w->children[i].until, now);
}

/* Each running process has three entries, in the order in, out, err; poll() skips fd -1. */
static size_t gather_child_fds(struct remote_pool *w)
{
	size_t n = 0;

	w->busy = 0;
	for (size_t i = 0; i < w->n_children; i++) {
		const struct remote_child *c = &w->children[i];

		if (!c->job)
			continue;
		w->busy++;
		w->fds[n++] = (struct pollfd){ .fd = c->proc.in, .events = POLLOUT };
		w->fds[n++] = (struct pollfd){ .fd = c->proc.out, .events = POLLIN };
		w->fds[n++] = (struct pollfd){ .fd = c->proc.err, .events = POLLIN };
	}
	assert(n == 3 * w->busy && w->busy <= w->n_children);
	return n;
}

static void serve_children(struct remote_pool *w)
{
	double now = clock_mono_s();
	size_t k = 0;

	for (size_t i = 0; i < w->n_children; i++) {
		struct remote_child *c = &w->children[i];
		const struct remote_job *job = c->job;

		if (!job)
			continue;
		if (c->proc.in >= 0 && w->fds[k].revents)
			write_child_input(c);
		if (c->proc.out >= 0 && w->fds[k + 1].revents)
			drain_child_output(c, &c->proc.out, &c->job->out, MAX_OUT);
		if (c->proc.err >= 0 && w->fds[k + 2].revents)
			drain_child_output(c, &c->proc.err, &c->job->err, MAX_ERR);
		k += 3;
		assert(k <= 3 * w->n_children);
		kill_timed_out_child(c, now);
		if (finish_child(c, w->how))
			count_ended_job(w, job);
	}
}

static int run_remote_jobs(struct remote_pool *w, struct err *e)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	size_t n;
	int rc = 0;

	w->success_s = w->progress_s = clock_mono_s();
	w->n_children =
		MIN(w->n, (size_t)(w->how->max_parallel > 0 ? w->how->max_parallel : AT_ONCE));
	w->children = mem_alloc(w->n_children, sizeof(*w->children), e);
	w->fds = w->children ? mem_alloc(3 * w->n_children, sizeof(*w->fds), e) : NULL;
	if (!w->fds)
		rc = e->code;
	sigaction(SIGPIPE, &ignore, &before); /* a process may end before it has read its input */
	while (!rc) {
		start_waiting_jobs(w);
		n = gather_child_fds(w);
		if (!w->busy)
			break;
		if (poll(w->fds, n, CHILD_POLL_MS) < 0)
			for (size_t i = 0; i < n; i++)
				w->fds[i].revents = 0;
		look_for_cancel(w);
		serve_children(w);
		report_progress(w);
	}
	sigaction(SIGPIPE, &before, NULL);
	free(w->children);
	free(w->fds);
	return rc;
}

int remote_run_local(struct remote_job *jobs, size_t n, const struct remote_options *how,
		     struct err *e)
{
	struct remote_pool w = { .jobs = jobs, .n = n, .how = how };

	return run_remote_jobs(&w, e);
}

int remote_run_here(struct remote_job *jobs, size_t n, double deadline_s, struct err *e)
{
	static char name[] = "localhost";
	static const struct host here = { .name = name, .slots = 1 };
	const struct remote_options how = { .deadline_s = deadline_s };

	for (size_t i = 0; i < n; i++)
		jobs[i].host = &here;
	return remote_run_local(jobs, n, &how, e);
}

int remote_run(struct remote_job *jobs, size_t n, const struct remote_options *how, struct err *e)
{
	struct remote_pool w = { .jobs = jobs, .n = n, .how = how };
	int rc = 0;

	w.lines = mem_alloc(n, sizeof(*w.lines), e);
	if (!w.lines)
		return e->code;
	for (size_t i = 0; !rc && i < n; i++)
		rc = remote_append_words(&w.lines[i], jobs[i].host, how, jobs[i].argv, e);
	if (!rc)
		rc = run_remote_jobs(&w, e);
	for (size_t i = 0; i < n; i++)
		command_line_free(&w.lines[i]);
	free(w.lines);
	return rc;
}

void remote_free(struct remote_job *jobs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		buf_free(&jobs[i].out);
		buf_free(&jobs[i].err);
	}
}
