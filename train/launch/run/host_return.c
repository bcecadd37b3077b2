/* host_return.c - see host_return.h */
#include "train/launch/run/host_return.h"

#include <assert.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "share/base/mem.h"
#include "share/base/proc.h"
#include "share/base/util.h"
#include "train/launch/remote/launcher.h"
#include "train/launch/remote/remote.h"

#define MOST_LOOKS 8 /* processes at a time */

enum lost_state { HOST_THERE, HOST_LOST, HOST_ANSWERS, HOST_CONFIRM };

/* Times are monotonic seconds. */
struct lost_host {
	enum lost_state state;
	bool came_back;	  /* this job has it, the one before had not */
	double back_at;	  /* begin of the last job that took it back; 0: none */
	double wait_s;	  /* from its loss to the first poll */
	double pause_s;	  /* to the next poll after one without an answer */
	double look_at;	  /* next poll */
	int64_t saves;	  /* checkpoints of the job when it answered */
	struct proc look; /* under way if its pid is not -1 */
	double look_ends; /* deadline of this poll */
};

int host_return_open(struct host_return *r, const struct attempts *a, double wait_s, struct err *e)
{
	*r = (struct host_return){ .a = a, .wait_s = wait_s };
	if (!a->hosts || !a->hosts->n || !a->conf->elastic)
		return 0;
	r->all = mem_alloc(a->hosts->n, sizeof(*r->all), e);
	if (!r->all)
		return e->code;
	r->n = a->hosts->n;
	for (size_t i = 0; i < r->n; i++)
		r->all[i].look = (struct proc){ .pid = -1, .in = -1, .out = -1, .err = -1 };
	return 0;
}

/* ssh may have children of its own. */
static void end_host_look(struct lost_host *h)
{
	struct err ignored;
	int status;

	if (h->look.pid < 0)
		return;
	proc_signal_group(h->look.pid, SIGKILL);
	proc_wait(&h->look, &status, &ignored);
}

void host_return_end_job(struct host_return *r)
{
	for (size_t i = 0; i < r->n; i++)
		end_host_look(&r->all[i]);
}

void host_return_close(struct host_return *r)
{
	host_return_end_job(r);
	free(r->all);
	r->all = NULL;
	r->n = 0;
}

/* ---- jobs ---- */

static void lose_host(const struct host_return *r, struct lost_host *h, double now)
{
	const bool is_known = h->state == HOST_LOST;
	const bool comes_and_goes =
		h->state == HOST_THERE
			? h->back_at > 0 && now - h->back_at < RETURN_STABLE * h->wait_s
			: !is_known; /* it answered, but it did not come */

	h->state = HOST_LOST;
	h->came_back = false;
	if (is_known)
		return;
	h->wait_s = comes_and_goes ? fmin(2 * h->wait_s, fmax(RETURN_MAX_WAIT_S, r->wait_s))
				   : r->wait_s;
	h->pause_s = r->wait_s;
	h->look_at = now + h->wait_s;
}

void host_return_begin_job(struct host_return *r, const struct hosts *present, double now)
{
	for (size_t i = 0; i < r->n; i++) {
		struct lost_host *h = &r->all[i];

		assert(h->look.pid < 0); /* host_return_end_job() */
		if (!hosts_find(present, r->a->hosts->all[i].name)) {
			lose_host(r, h, now);
			continue;
		}
		h->came_back = h->state != HOST_THERE;
		if (h->came_back)
			h->back_at = now;
		h->state = HOST_THERE;
	}
}

void host_return_suspects(const struct host_return *r, bool *left_out)
{
	for (size_t i = 0; i < r->n; i++)
		left_out[i] = left_out[i] || r->all[i].came_back;
}

/* ---- polls ---- */

static void start_host_look(const struct host_return *r, struct lost_host *h,
			    const struct host *host, double now)
{
	static const char *const command[] = { "true", NULL };
	const struct remote_options how = launcher_remote_options(r->a->conf, r->a->conf->deadline);
	struct err ignored; /* the same as a host that does not answer */
	struct command_line line = { 0 };

	h->look_ends = now + how.deadline_s;
	/* its pipes are never read: nobody needs the output */
	if (!remote_append_words(&line, host, &how, command, &ignored) &&
	    proc_start(&h->look, line.all,
		       PROC_PIPE_IN | PROC_PIPE_OUT | PROC_PIPE_ERR | PROC_OWN_GROUP |
			       PROC_DIE_WITH_PARENT,
		       &ignored))
		h->look.pid = -1;
	command_line_free(&line);
}

static void miss_host_look(const struct host_return *r, struct lost_host *h, double now)
{
	h->state = HOST_LOST;
	h->look_at = now + h->pause_s;
	h->pause_s = fmin(2 * h->pause_s, RETURN_LOOK_FACTOR * r->wait_s);
}

/* The end of a poll. true: the host may be taken back now. */
static bool end_of_host_look(const struct host_return *r, struct lost_host *h, int64_t saves,
			     double now)
{
	int status = -1;

	if (proc_try_wait(&h->look, &status))
		proc_stop(&h->look, 0); /* closes the pipes */
	else if (now < h->look_ends)
		return false;
	else
		end_host_look(h);
	if (status) {
		miss_host_look(r, h, now);
		return false;
	}
	if (h->state == HOST_CONFIRM)
		return true;
	h->state = HOST_ANSWERS;
	h->saves = saves;
	return false;
}

/* Start a poll if it is due. */
static void begin_due_look(const struct host_return *r, size_t i, int64_t saves, double now)
{
	struct lost_host *h = &r->all[i];

	if (h->state == HOST_ANSWERS && saves > h->saves) {
		h->state = HOST_CONFIRM;
		h->look_at = now;
	}
	if (h->state == HOST_ANSWERS || now < h->look_at)
		return;
	start_host_look(r, h, &r->a->hosts->all[i], now);
	if (h->look.pid < 0)
		miss_host_look(r, h, now);
}

bool host_return_look(struct host_return *r, int64_t saves, double now, char news[200])
{
	size_t under_way = 0;
	bool is_back = false;

	news[0] = 0;
	for (size_t i = 0; i < r->n; i++) {
		struct lost_host *h = &r->all[i];
		const enum lost_state before = h->state;

		if (h->state == HOST_THERE)
			continue;
		if (h->look.pid < 0 && under_way < MOST_LOOKS)
			begin_due_look(r, i, saves, now);
		else if (h->look.pid >= 0)
			is_back |= end_of_host_look(r, h, saves, now);
		under_way += h->look.pid >= 0;
		if (before == HOST_LOST && h->state == HOST_ANSWERS)
			snprintf(news, 200,
				 "%.100s answers again: the training continues with it after the "
				 "next checkpoint",
				 r->a->hosts->all[i].name);
	}
	return is_back;
}
