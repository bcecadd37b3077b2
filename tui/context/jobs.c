/* jobs.c - starts, reads and ends child processes; see jobs.h. */
#include "tui/context/jobs.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/mem.h"
#include "share/base/proc.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/workspace/paths.h"

#define JOB_SHOWN    200   /* lines of output in jobs_output_text() */
#define READ_AT_ONCE 65536 /* bytes read from one job per update, so that no job blocks the loop */
#define GRACE_S	     3	   /* delay between SIGTERM and SIGKILL when the workbench ends */

struct stream {
	int fd; /* -1: end of file */
	bool is_error;
	bool replace;	     /* after a carriage return: new text replaces the last line */
	char part[JOB_TEXT]; /* an unfinished line */
	size_t n;
};

struct job_private {
	struct proc proc;
	pid_t group;
	bool asked; /* SIGTERM was sent */
	bool over;  /* the program has ended; its pipes may still hold output */
	struct stream streams[2];
	struct job_line lines[JOB_LINES]; /* ring buffer: lines[first] is the oldest */
	size_t first, n;
};

struct jobs {
	struct job *list[JOB_MAX]; /* owned, newest first */
	size_t n;
	int last_id;
};

struct jobs *jobs_new(struct err *e)
{
	return mem_alloc(1, sizeof(struct jobs), e);
}

static void job_free(struct job *job)
{
	for (int i = 0; i < 2; i++)
		if (job->p->streams[i].fd >= 0)
			close(job->p->streams[i].fd);
	free(job->p);
	free(job->title);
	free(job->command);
	free(job);
}

void jobs_free(struct jobs *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->n; i++)
		if (j->list[i]->state == JOB_RUNNING)
			proc_signal_group(j->list[i]->p->group, SIGTERM);
	for (size_t i = 0; i < j->n; i++) {
		if (j->list[i]->state == JOB_RUNNING)
			proc_stop(&j->list[i]->p->proc, GRACE_S);
		job_free(j->list[i]);
	}
	free(j);
}

/* ---- starting ---- */

/* Make room for a job: drop the oldest one that has ended. */
static bool drop_oldest_job(struct jobs *j)
{
	if (j->n < JOB_MAX)
		return true;
	for (size_t i = j->n; i-- > 0;)
		if (j->list[i]->state != JOB_RUNNING) {
			job_free(j->list[i]);
			memmove(&j->list[i], &j->list[i + 1],
				(j->n - i - 1) * sizeof(struct job *));
			j->n--;
			return true;
		}
	return false;
}

bool jobs_set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) >= 0;
}

void jobs_free_words(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

char **jobs_copy_words(const char *const *argv, struct err *e)
{
	size_t n = 0;
	char **words;

	while (argv[n])
		n++;
	words = mem_alloc(n + 1, sizeof(*words), e);
	for (size_t i = 0; words && i < n; i++)
		if (!(words[i] = mem_strdup(argv[i], e))) {
			jobs_free_words(words);
			return NULL;
		}
	return words;
}

void jobs_command_text(const char *const *argv, struct buf *out)
{
	for (size_t i = 0; argv[i]; i++) {
		if (i)
			buf_add_char(out, ' ');
		text_quote_shell(out, argv[i]);
	}
}

static int start_job_process(struct job *job, const char *const *argv, struct err *e)
{
	const char *own[64];
	char *self = NULL;
	size_t n = 0;
	int status;

	while (argv[n] && n + 1 < ARRAY_LEN(own)) {
		own[n] = argv[n];
		n++;
	}
	own[n] = NULL;
	if (argv[n])
		return err_set(e, ERR_USAGE, "%s: a command has at most %zu words", argv[0], n);
	if (!strcmp(argv[0], "werkbank")) {
		if (!(self = paths_program("werkbank", e)))
			return e->code;
		own[0] = self;
	}
	status = proc_start(&job->p->proc, own,
			    PROC_PIPE_IN | PROC_PIPE_OUT | PROC_PIPE_ERR | PROC_OWN_GROUP |
				    PROC_DIE_WITH_PARENT,
			    e);
	free(self);
	if (status)
		return status;
	close(job->p->proc.in);
	job->p->proc.in = -1;
	job->p->group = job->p->proc.pid;
	job->p->streams[0] = (struct stream){ .fd = job->p->proc.out };
	job->p->streams[1] = (struct stream){ .fd = job->p->proc.err, .is_error = true };
	job->p->proc.out = job->p->proc.err = -1;
	for (int i = 0; i < 2; i++)
		jobs_set_nonblocking(job->p->streams[i].fd);
	return 0;
}

int jobs_start(struct jobs *j, const char *title, const char *const *argv, double now,
	       struct err *e)
{
	struct job *job;
	struct buf command = { 0 };

	if (!drop_oldest_job(j))
		return err_set(e, ERR_NOMEM,
			       "%d jobs are running, which is the limit; wait until one ends",
			       JOB_MAX);
	if (!(job = mem_alloc(1, sizeof(*job), e)))
		return e->code;
	jobs_command_text(argv, &command);
	job->p = mem_alloc(1, sizeof(*job->p), e);
	job->title = mem_strdup(title, e);
	job->command = buf_detach(&command, e);
	if (!job->p || !job->title || !job->command) {
		free(job->p);
		free(job->title);
		free(job->command);
		free(job);
		return e->code;
	}
	job->last = "";
	job->started = now;
	job->p->streams[0].fd = job->p->streams[1].fd = -1;
	if (start_job_process(job, argv, e)) {
		job_free(job);
		return e->code;
	}
	assert(j->n < JOB_MAX); /* drop_oldest_job() made room */
	job->id = ++j->last_id;
	memmove(&j->list[1], &j->list[0], j->n * sizeof(struct job *));
	j->list[0] = job;
	j->n++;
	return job->id;
}

/* ---- reading ---- */

/* The line to write to: a new one, or the last one of the same stream. */
static struct job_line *line_for(struct job *job, bool is_error, bool replace)
{
	struct job_private *p = job->p;
	struct job_line *line;

	if (replace && p->n) {
		line = &p->lines[(p->first + p->n - 1) % JOB_LINES];
		if (line->is_error == is_error)
			return line;
	}
	if (p->n < JOB_LINES)
		p->n++;
	else
		p->first = (p->first + 1) % JOB_LINES;
	line = &p->lines[(p->first + p->n - 1) % JOB_LINES];
	line->is_error = is_error;
	return line;
}

static void finish_job_line(struct job *job, struct stream *s)
{
	struct job_line *line = line_for(job, s->is_error, s->replace);
	size_t n = utf8_valid_prefix(s->part, s->n);

	assert(s->n < JOB_TEXT);
	/* A line that is too long may be cut inside a character. */
	if (s->n < JOB_TEXT - 1)
		n = s->n;
	memcpy(line->text, s->part, n);
	line->text[n] = 0;
	s->n = 0;
	if (*line->text)
		job->last = line->text;
	job->n_lines = job->p->n;
}

static void add_job_output(struct job *job, struct stream *s, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char c = bytes[i];

		if (c == '\n') {
			/* "\r\n" after a progress bar: nothing to replace */
			if (s->n || !s->replace)
				finish_job_line(job, s);
			s->replace = false;
		} else if (c == '\r') {
			if (s->n)
				finish_job_line(job, s);
			s->replace = true;
		} else if (s->n < JOB_TEXT - 1) {
			s->part[s->n++] = c ? c : ' ';
		}
	}
}

static bool read_job_stream(struct job *job, struct stream *s)
{
	char bytes[4096];
	bool news = false;

	for (size_t all = 0; s->fd >= 0 && all < READ_AT_ONCE;) {
		ssize_t n = read(s->fd, bytes, sizeof(bytes));

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n <= 0) {
			close(s->fd);
			s->fd = -1;
			if (s->n)
				finish_job_line(job, s);
			return true;
		}
		add_job_output(job, s, bytes, (size_t)n);
		all += (size_t)n;
		news = true;
	}
	return news;
}

static bool job_update(struct job *job, double now)
{
	struct job_private *p = job->p;
	bool news = false;

	if (job->state != JOB_RUNNING)
		return false;
	/* After its end, all earlier output is read once the pipes are empty. */
	if (!p->over && proc_try_wait(&p->proc, &job->status)) {
		p->over = true;
		news = true;
	}
	for (int i = 0; i < 2; i++)
		news |= read_job_stream(job, &p->streams[i]);
	if (!p->over || (news && (p->streams[0].fd >= 0 || p->streams[1].fd >= 0)))
		return news;
	/* A grandchild (a detached training) may keep the pipes open: do not wait for it. */
	for (int i = 0; i < 2; i++) {
		if (p->streams[i].fd >= 0)
			close(p->streams[i].fd);
		p->streams[i].fd = -1;
		if (p->streams[i].n)
			finish_job_line(job, &p->streams[i]);
	}
	job->ended = now;
	job->state = p->asked ? JOB_STOPPED : job->status ? JOB_FAILED : JOB_DONE;
	return true;
}

bool jobs_update(struct jobs *j, double now)
{
	bool news = false;

	for (size_t i = 0; i < j->n; i++)
		news |= job_update(j->list[i], now);
	return news;
}

void jobs_stop(struct jobs *j, int id)
{
	for (size_t i = 0; i < j->n; i++) {
		struct job *job = j->list[i];

		if (job->id != id || job->state != JOB_RUNNING || job->p->over)
			continue;
		proc_signal_group(job->p->group, job->p->asked ? SIGKILL : SIGTERM);
		job->p->asked = true;
	}
}

/* ---- queries ---- */

size_t jobs_count(const struct jobs *j)
{
	return j->n;
}

size_t jobs_running(const struct jobs *j)
{
	size_t n = 0;

	for (size_t i = 0; i < j->n; i++)
		n += j->list[i]->state == JOB_RUNNING;
	return n;
}

const struct job *jobs_at(const struct jobs *j, size_t i)
{
	return i < j->n ? j->list[i] : NULL;
}

const struct job *jobs_find(const struct jobs *j, int id)
{
	for (size_t i = 0; i < j->n; i++)
		if (j->list[i]->id == id)
			return j->list[i];
	return NULL;
}

const struct job_line *job_line(const struct job *job, size_t i)
{
	assert(i < job->p->n);
	return &job->p->lines[(job->p->first + i) % JOB_LINES];
}

size_t jobs_fds(const struct jobs *j, int *fds, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < j->n; i++)
		for (int s = 0; s < 2; s++)
			if (k < n && j->list[i]->p->streams[s].fd >= 0)
				fds[k++] = j->list[i]->p->streams[s].fd;
	return k;
}

const char *job_state_name(enum job_state state)
{
	static const char *const names[] = { "running", "done", "failed", "stopped" };

	assert((size_t)state < ARRAY_LEN(names));
	return names[state];
}

void jobs_output_text(const struct job *job, struct buf *out)
{
	size_t first = job->n_lines > JOB_SHOWN ? job->n_lines - JOB_SHOWN : 0;

	buf_printf(out, "%s\n\n", job->command);
	for (size_t i = first; i < job->n_lines; i++)
		buf_printf(out, "%s\n", job_line(job, i)->text);
}
