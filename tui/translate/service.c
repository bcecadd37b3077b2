/*
 * service.c - the translator's child process: requests, pipes, restarts; see service.h.
 *
 * service_update() is the only driver. It reads answers and standard error, restarts a dead or
 * hanging child when its delay is over, and sends the next request when the child is idle. A
 * request stays in its slot (struct slot) until its answer arrives, so a restart can send it
 * again. Answers are matched by id: an answer to an older request of a slot is shown until the
 * newer one arrives.
 */
#include "tui/translate/service.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "share/base/mem.h"
#include "share/base/proc.h"
#include "share/base/util.h"
#include "tui/context/jobs.h"

#define MAX_LINE  (8u << 20)   /* bytes of an answer; longer lines are an error */
#define MAX_READ  (256u << 10) /* bytes read per turn */
#define MAX_TRIES 2	       /* attempts for a request that kills the child */
#define LONG_LIFE 60.0	       /* a child that lived so long resets the restart delay */
#define ANSWER_S  60.0	       /* timeout for an answer: fixed part … */
#define BYTE_S	  0.01	       /* … and for each byte of the request */
#define LOAD_S	  600.0	       /* timeout for loading the model */

struct slot {
	struct buf line;      /* newest request, until it is answered; empty: none */
	int64_t id;	      /* id of the newest request */
	int64_t forgotten_id; /* answers up to this id are dropped (service_forget()) */
	int n_best;	      /* 0: beam width */
	double send_at;	      /* earliest time to send */
	bool sent;	      /* the request was sent */
	int tries;
	struct service_answer answer; /* latest answer; tree NULL: none */
};

struct service {
	char **argv;	  /* owned */
	struct proc proc; /* pid -1: no child */
	bool ready;
	struct service_model model;
	struct slot slots[SLOT_COUNT];
	int64_t ids; /* last id given */
	/* the request that the child is working on */
	int64_t sent_id; /* its id; 0: none */
	int sent_slot;
	double sent_at;
	double answer_s, load_s; /* timeouts; see service_set_patience() */
	struct buf out;		 /* bytes to write to the child … */
	size_t out_done;	 /* … and the number already written */
	size_t out_bytes;	 /* length of the current request */
	struct buf in;		 /* unfinished line */
	size_t in_seen;		 /* bytes of `in` already searched for a line end */
	struct buf err;		 /* unfinished line of standard error */
	char last_error[400];	 /* last line of standard error */
	char trouble[500];
	double closed_at;	    /* when the child closed its output; NaN: open */
	int deaths, deaths_in_row;  /* deaths_in_row: deaths since the last answer */
	double started, restart_at; /* time of the last and of the next start */
};

struct service *service_new(const char *const *argv, struct err *e)
{
	struct service *s = mem_alloc(1, sizeof(*s), e);

	if (!s)
		return NULL;
	s->proc = (struct proc){ .pid = -1, .in = -1, .out = -1, .err = -1 };
	s->model.step = -1;
	service_set_patience(s, ANSWER_S, LOAD_S);
	if (!(s->argv = jobs_copy_words(argv, e))) {
		service_free(s);
		return NULL;
	}
	return s;
}

void service_set_patience(struct service *s, double answer_s, double load_s)
{
	s->answer_s = answer_s;
	s->load_s = load_s;
}

static void forget_slot(struct slot *slot)
{
	buf_free(&slot->line);
	service_answer_free(&slot->answer);
	*slot = (struct slot){ 0 };
}

void service_free(struct service *s)
{
	if (!s)
		return;
	proc_stop(&s->proc, 0);
	for (int i = 0; i < SLOT_COUNT; i++)
		forget_slot(&s->slots[i]);
	buf_free(&s->out);
	buf_free(&s->in);
	buf_free(&s->err);
	jobs_free_words(s->argv);
	free(s);
}

/* ---- requests ---- */

int64_t service_ask(struct service *s, const struct service_request *r, double send_at,
		    struct err *e)
{
	struct slot *slot = &s->slots[r->slot];
	struct buf line = { 0 };

	assert((unsigned)r->slot < SLOT_COUNT);
	if (service_request_write(r, s->ids + 1, &line, e)) {
		buf_free(&line);
		return e->code;
	}
	buf_free(&slot->line);
	slot->line = line;
	slot->id = ++s->ids;
	slot->n_best = r->n_best > 0 ? r->n_best : r->beam;
	slot->send_at = send_at;
	slot->sent = false;
	slot->tries = 0;
	return slot->id;
}

void service_forget(struct service *s, enum service_slot slot)
{
	forget_slot(&s->slots[slot]);
	s->slots[slot].forgotten_id = s->ids;
}

/* ---- the child's life ---- */

static void start_service_child(struct service *s, double now)
{
	struct err e;

	assert(s->proc.pid < 0);
	s->started = now;
	s->restart_at = NAN;
	s->closed_at = NAN;
	s->last_error[0] = 0;
	s->ready = false;
	s->sent_id = 0;
	buf_clear(&s->out);
	buf_clear(&s->in);
	buf_clear(&s->err);
	s->out_done = s->in_seen = 0;
	if (proc_start(&s->proc, (const char *const *)s->argv,
		       PROC_PIPE_IN | PROC_PIPE_OUT | PROC_PIPE_ERR | PROC_OWN_GROUP |
			       PROC_DIE_WITH_PARENT,
		       &e)) {
		snprintf(s->trouble, sizeof(s->trouble), "%.390s", e.text);
		s->deaths++;
		s->deaths_in_row++;
		s->restart_at = now + 30;
		return;
	}
	if (!jobs_set_nonblocking(s->proc.in) || !jobs_set_nonblocking(s->proc.out) ||
	    !jobs_set_nonblocking(s->proc.err)) {
		proc_stop(&s->proc, 0);
		s->restart_at = now + 30;
	}
}

static void answer_with_error(struct slot *slot, const char *text);

/* Requeue the current request, unless it has killed the child MAX_TRIES times. */
static void requeue_request(struct service *s)
{
	for (int i = 0; i < SLOT_COUNT; i++) {
		struct slot *slot = &s->slots[i];

		if (!slot->sent)
			continue;
		slot->sent = false;
		if (slot->tries >= MAX_TRIES)
			answer_with_error(slot, "this request crashed the translator twice");
	}
	s->sent_id = 0;
}

static void handle_child_death(struct service *s, const char *how, double now)
{
	static const double waits[] = { 0.2, 1, 5, 30 };

	if (s->last_error[0])
		snprintf(s->trouble, sizeof(s->trouble), "%s: %s", how, s->last_error);
	else
		snprintf(s->trouble, sizeof(s->trouble), "%s", how);
	proc_stop(&s->proc, 0);
	s->deaths++;
	if (now - s->started > LONG_LIFE)
		s->deaths_in_row = 0;
	s->restart_at = now + waits[MIN((size_t)s->deaths_in_row, ARRAY_LEN(waits) - 1)];
	s->deaths_in_row++;
	s->ready = false;
	requeue_request(s);
}

void service_restart(struct service *s)
{
	proc_stop(&s->proc, 0);
	requeue_request(s);
	s->ready = false;
	s->trouble[0] = 0;
	s->deaths_in_row = 0;
	s->restart_at = -INFINITY;
}

/* ---- pipes ---- */

/* write() to a pipe whose reader may be dead, without SIGPIPE. */
static ssize_t write_quietly(int fd, const void *bytes, size_t n)
{
	struct timespec none = { 0 };
	sigset_t pipe, before, pending;
	ssize_t written;
	int saved;
	bool was_pending;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE) == 1;
	sigprocmask(SIG_BLOCK, &pipe, &before);
	written = write(fd, bytes, n);
	saved = errno;
	if (written < 0 && saved == EPIPE && !was_pending)
		while (sigtimedwait(&pipe, NULL, &none) < 0 && errno == EINTR)
			;
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = saved;
	return written;
}

/* Write what the pipe accepts; the rest follows later. */
static void send_pending_bytes(struct service *s)
{
	assert(s->out_done <= s->out.len);
	while (s->out_done < s->out.len) {
		ssize_t n = write_quietly(s->proc.in, s->out.data + s->out_done,
					  s->out.len - s->out_done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* pipe full; a broken pipe is noticed when reading */
		s->out_done += (size_t)n;
	}
	buf_clear(&s->out);
	s->out_done = 0;
}

/* Send the first request that is due, if the child is idle. */
static bool send_next(struct service *s, double now)
{
	if (!s->ready || s->sent_id)
		return false;
	for (int i = 0; i < SLOT_COUNT; i++) {
		struct slot *slot = &s->slots[i];

		if (!slot->line.len || slot->sent || slot->send_at > now)
			continue;
		buf_clear(&s->out);
		s->out_done = 0;
		assert(slot->line.data[0] == '{'); /* n_best goes after the brace */
		/* The beam width is known only after the ready message. */
		buf_printf(&s->out, "{\"n_best\":%d,",
			   slot->n_best > 0 ? slot->n_best : s->model.beam);
		buf_add(&s->out, slot->line.data + 1, slot->line.len - 1);
		if (s->out.failed)
			return false;
		s->out_bytes = s->out.len;
		slot->sent = true;
		slot->tries++;
		s->sent_id = slot->id;
		s->sent_slot = i;
		s->sent_at = now;
		return true;
	}
	return false;
}

static void read_ready_line(struct service *s, const char *line, size_t n)
{
	struct err ignored;
	struct json *j = json_parse(line, n, &ignored);

	if (json_boolean(json_get(j, "ready"), false)) {
		s->ready = true;
		s->trouble[0] = 0;
		snprintf(s->model.source_language, sizeof(s->model.source_language), "%.15s",
			 json_text(json_get(j, "source_language"), ""));
		snprintf(s->model.target_language, sizeof(s->model.target_language), "%.15s",
			 json_text(json_get(j, "target_language"), ""));
		s->model.step = json_integer(json_get(j, "step"), -1);
		s->model.beam =
			(int)MIN(MAX(json_integer(json_get(j, "beam"), 4), 1), SERVICE_MAX_BEAM);
		s->model.alpha = json_number(json_get(j, "alpha"), NAN);
		snprintf(s->model.tags, sizeof(s->model.tags), "%.1023s",
			 json_text(json_get(j, "tags"), ""));
		s->model.keeps_lines = json_boolean(json_get(j, "keeps_lines"), false);
		s->model.decoder_layers =
			(int)MIN(MAX(json_integer(json_get(j, "decoder_layers"), 0), 0), 1000);
		s->model.heads = (int)MIN(MAX(json_integer(json_get(j, "heads"), 0), 0), 1000);
	}
	json_free(j);
}

/* Store an answer in the slot. */
static void store_slot_answer(struct slot *slot, const struct service_answer *a)
{
	assert(a->tree);
	service_answer_free(&slot->answer);
	slot->answer = *a;
	if (a->id == slot->id) {
		buf_clear(&slot->line);
		slot->sent = false;
	}
}

static void answer_with_error(struct slot *slot, const char *text)
{
	struct service_answer a = { 0 };
	struct err ignored;
	struct buf b = { 0 };
	struct json_writer w = { .out = &b };

	json_open(&w, '{');
	json_put_int(&w, "id", slot->id);
	json_put_str(&w, "error", text);
	json_close(&w, '}');
	if (!b.failed && !service_answer_read(&a, b.data, b.len, &ignored))
		store_slot_answer(slot, &a);
	buf_free(&b);
}

static bool handle_answer_line(struct service *s, const char *line, size_t n, double now)
{
	struct service_answer a;
	struct err e;

	if (!s->ready) {
		read_ready_line(s, line, n);
		return s->ready;
	}
	if (service_answer_read(&a, line, n, &e)) {
		snprintf(s->trouble, sizeof(s->trouble), "%.390s", e.text);
		/* An unreadable line may have been the answer: do not wait for it. */
		if (s->sent_id && s->slots[s->sent_slot].id == s->sent_id)
			answer_with_error(&s->slots[s->sent_slot], s->trouble);
		s->sent_id = 0;
		return true;
	}
	if (a.id != s->sent_id) {
		service_answer_free(&a);
		return false;
	}
	a.seconds = now - s->sent_at;
	if (a.words)
		a.words->seconds = a.seconds;
	s->sent_id = 0;
	s->deaths_in_row = 0;
	s->trouble[0] = 0;
	/* The answer to an older request is shown until the newer one arrives. */
	if (s->slots[s->sent_slot].id && a.id > s->slots[s->sent_slot].forgotten_id)
		store_slot_answer(&s->slots[s->sent_slot], &a);
	else
		service_answer_free(&a);
	return true;
}

/* Read up to MAX_READ bytes into b; false at end of file or on an error. */
static bool read_pipe(int fd, struct buf *b)
{
	for (size_t total = 0; total < MAX_READ;) {
		char *room = buf_reserve(b, 65536);
		ssize_t n = room ? read(fd, room, 65536) : -1;

		if (!room)
			return false;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
		if (!n)
			return false;
		b->len += (size_t)n;
		b->data[b->len] = 0;
		total += (size_t)n;
	}
	return true;
}

static bool handle_answer_lines(struct service *s, double now)
{
	size_t line_start = 0;
	bool news = false;

	for (size_t i = s->in_seen; i < s->in.len; i++)
		if (s->in.data[i] == '\n') {
			news |= handle_answer_line(s, s->in.data + line_start, i - line_start, now);
			line_start = i + 1;
		}
	assert(line_start <= s->in.len);
	memmove(s->in.data, s->in.data + line_start, s->in.len - line_start);
	buf_truncate(&s->in, s->in.len - line_start);
	s->in_seen = s->in.len;
	return news;
}

/* Keep the last line of standard error. */
static void keep_last_error_line(struct service *s)
{
	size_t end = s->err.len, line_start;

	if (!end)
		return;
	while (end > 0 && (s->err.data[end - 1] == '\n' || s->err.data[end - 1] == '\r'))
		end--;
	for (line_start = end; line_start > 0 && s->err.data[line_start - 1] != '\n' &&
			       s->err.data[line_start - 1] != '\r';
	     line_start--)
		;
	if (end > line_start)
		snprintf(s->last_error, sizeof(s->last_error), "%.*s",
			 (int)MIN(end - line_start, sizeof(s->last_error) - 1),
			 s->err.data + line_start);
	if (end < s->err.len || s->err.len > 4096)
		buf_clear(&s->err); /* the line is complete, or too long */
}

/* The child closed its output: it has ended or is useless. */
static bool handle_output_end(struct service *s, double now)
{
	char how[80];
	int status;

	if (isnan(s->closed_at))
		s->closed_at = now;
	if (!proc_try_wait(&s->proc, &status)) {
		if (now - s->closed_at < 0.2)
			return false;
		snprintf(how, sizeof(how), "the translator closed its output");
	} else if (status > 128) {
		snprintf(how, sizeof(how), "the translator was killed by signal %d", status - 128);
	} else {
		snprintf(how, sizeof(how), "the translator exited with status %d", status);
	}
	handle_child_death(s, how, now);
	return true;
}

static bool read_service_output(struct service *s, double now)
{
	bool open = read_pipe(s->proc.out, &s->in), news = false;

	read_pipe(s->proc.err, &s->err);
	keep_last_error_line(s);
	if (s->in.len)
		news |= handle_answer_lines(s, now);
	if (s->in.len > MAX_LINE || s->in.failed) {
		handle_child_death(s, "the translator wrote a line of more than 8 MiB", now);
		return true;
	}
	return news | (!open && handle_output_end(s, now));
}

/* Seconds until the child is given up; NaN: nothing is expected. */
static double seconds_to_timeout(const struct service *s, double now)
{
	if (s->proc.pid < 0)
		return NAN;
	if (!s->ready)
		return s->started + s->load_s - now;
	if (!s->sent_id)
		return NAN;
	return s->sent_at + s->answer_s + BYTE_S * (double)s->out_bytes - now;
}

/* Restart a child that does not answer in time. */
static bool stop_hung_child(struct service *s, double now)
{
	struct slot *slot = &s->slots[s->sent_slot];
	char how[120];

	if (!(seconds_to_timeout(s, now) <= 0))
		return false;
	if (!s->ready) {
		snprintf(how, sizeof(how), "the translator was not ready after %.0f s",
			 now - s->started);
	} else {
		snprintf(how, sizeof(how), "no answer for %.0f s: the translator is restarted",
			 now - s->sent_at);
		if (slot->id == s->sent_id)
			answer_with_error(slot, how);
	}
	handle_child_death(s, how, now);
	return true;
}

bool service_update(struct service *s, double now)
{
	bool news = false;

	if (s->proc.pid < 0) {
		if (!isnan(s->restart_at) && s->restart_at > now)
			return false;
		start_service_child(s, now);
		return true;
	}
	news |= read_service_output(s, now);
	if (s->proc.pid < 0 || stop_hung_child(s, now))
		return true;
	news |= send_next(s, now);
	send_pending_bytes(s);
	return news;
}

/* ---- queries ---- */

enum service_state service_state(const struct service *s)
{
	if (s->proc.pid < 0 && s->deaths_in_row)
		return SERVICE_DOWN;
	if (!s->ready)
		return SERVICE_STARTING;
	for (int i = 0; i < SLOT_COUNT; i++)
		if (s->slots[i].line.len)
			return SERVICE_WORKING;
	return SERVICE_READY;
}

const struct service_model *service_model(const struct service *s)
{
	return &s->model;
}

const struct service_answer *service_answer(const struct service *s, enum service_slot slot)
{
	assert((unsigned)slot < SLOT_COUNT);
	return s->slots[slot].answer.tree ? &s->slots[slot].answer : NULL;
}

bool service_waits(const struct service *s, enum service_slot slot, double *since)
{
	const struct slot *x = &s->slots[slot];

	if (since)
		*since = x->sent ? s->sent_at : NAN;
	return x->line.len > 0;
}

double service_busy_since(const struct service *s)
{
	return s->proc.pid >= 0 && s->sent_id ? s->sent_at : NAN;
}

const char *service_trouble(const struct service *s)
{
	return s->trouble;
}

int service_deaths(const struct service *s)
{
	return s->deaths;
}

long service_pid(const struct service *s)
{
	return s->proc.pid;
}

double service_due(const struct service *s, double now)
{
	double due = NAN;

	if (s->proc.pid < 0)
		return isnan(s->restart_at) ? 0 : MAX(s->restart_at - now, 0.0);
	if (s->out.len > s->out_done || !isnan(s->closed_at))
		return 0.02;
	due = seconds_to_timeout(s, now);
	if (!isnan(due))
		due = MAX(due, 0.0);
	for (int i = 0; i < SLOT_COUNT; i++) {
		const struct slot *x = &s->slots[i];

		if (s->ready && !s->sent_id && x->line.len && !x->sent)
			due = fmin(due, MAX(x->send_at - now, 0.0));
	}
	return due;
}

size_t service_fds(const struct service *s, int *fds, size_t n)
{
	if (s->proc.pid < 0 || !n)
		return 0;
	fds[0] = s->proc.out;
	return 1;
}
