/*
 * watchdog.c - finds late ranks and hanging jobs; see heartbeat_internal.h
 *
 * The first rank calls watchdog_check() about once a second. Per rank it knows the last heartbeat.
 * A rank is
 *
 *	silent		it was heard, has not ended, and no heartbeat came for late_after_s
 *	waiting		in PHASE_REDUCE: it waits for other ranks, and is never late
 *	late		silent; or not waiting while a rank of the same or a later step has waited
 *			for late_after_s (times phase_time_factor())
 *
 * A late rank is reported when it becomes late, again each time its lateness has doubled, and once
 * when it has caught up. If all ranks wait, the network between them is suspected. The job hangs if
 * no rank has made progress (heartbeat_message.moves) for watchdog_hang_limit(), times the factor
 * of the longest phase of any rank.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "train/watch/heartbeat_internal.h"

#define GAP_PERIODS	3.0  /* rounds further apart than this many periods: a gap … */
#define GAP_LEAST_S	2.0  /* … of at least so long */
#define UNHEARD_S	30.0 /* a rank that was never heard is reported after this time */
#define MAX_NAMED_RANKS 4    /* late ranks reported in one round; the others are counted */

int watchdog_open(struct watchdog *w, const char *hosts, int n, double late_after_s,
		  double hang_after_s, double now, struct err *e)
{
	*w = (struct watchdog){ .n = n,
				.late_after_s = late_after_s,
				.hang_after_s = hang_after_s,
				.opened_at = now,
				.looked_at = now,
				.progress_at = now };
	w->peers = mem_alloc((size_t)n, sizeof(*w->peers), e);
	if (!w->peers)
		return e->code;
	for (int i = 0; i < n; i++) {
		snprintf(w->peers[i].host, sizeof(w->peers[i].host), "%.63s",
			 hosts + (size_t)i * 64);
		w->peers[i].heard_at = w->peers[i].since = now;
		w->peers[i].message.rank = i;
	}
	return 0;
}

void watchdog_close(struct watchdog *w)
{
	free(w->peers);
	w->peers = NULL;
	w->n = 0;
}

/* A phase for messages: "the reduction". */
static const char *rank_phase_name(enum rank_phase phase)
{
	static const char *const names[] = {
		[PHASE_START] = "the start",	     [PHASE_INPUT] = "the input",
		[PHASE_COMPUTE] = "compute",	     [PHASE_REDUCE] = "the reduction",
		[PHASE_UPDATE] = "the update",	     [PHASE_SAVE] = "saving",
		[PHASE_EVALUATE] = "the evaluation", [PHASE_END] = "the end",
	};

	return (size_t)phase < ARRAY_LEN(names) ? names[phase] : "?";
}

/* The factor of the limits in this phase. */
static double phase_time_factor(enum rank_phase phase)
{
	switch (phase) {
	case PHASE_START:
	case PHASE_SAVE:
		return WATCHDOG_FACTOR_LONG;
	case PHASE_EVALUATE:
		return WATCHDOG_FACTOR_EVALUATE;
	default:
		return 1;
	}
}

double watchdog_hang_limit(double hang_after_s, double median_s)
{
	if (hang_after_s > 0)
		return hang_after_s;
	return median_s > 0 ? fmax(WATCHDOG_MIN_HANG_S, WATCHDOG_HANG_STEPS * median_s)
			    : WATCHDOG_FIRST_STEP_S;
}

/* ---- heartbeats ------------------------------------------------------------ */

void watchdog_skip_gap(struct watchdog *w, double now, double period_s)
{
	double gap = now - w->looked_at;

	w->looked_at = now;
	if (gap <= fmax(GAP_PERIODS * period_s, GAP_LEAST_S))
		return;
	w->opened_at += gap;
	w->progress_at += gap;
	for (int i = 0; i < w->n; i++) {
		w->peers[i].heard_at += gap;
		w->peers[i].since += gap;
	}
}

void watchdog_add_message(struct watchdog *w, const struct heartbeat_message *message, double now)
{
	struct watched_rank *p = &w->peers[message->rank];

	assert(message->rank >= 0 && message->rank < w->n);
	if (p->heard && message->number <= p->message.number)
		return; /* the network delayed or repeated the datagram */
	if (!p->heard || message->moves != p->message.moves)
		w->progress_at = now;
	p->heard = true;
	p->heard_at = now;
	p->since = now - message->age_s;
	p->message = *message;
}

/* ---- late ranks ------------------------------------------------------------ */

static bool rank_is_silent(const struct watchdog *w, const struct watched_rank *p, double now)
{
	return p->heard && p->message.phase != PHASE_END && now - p->heard_at >= w->late_after_s;
}

bool watchdog_misses_rank(const struct watchdog *w, double now)
{
	for (int i = 0; i < w->n; i++)
		if (rank_is_silent(w, &w->peers[i], now))
			return true;
	return false;
}

static bool rank_is_waiting(const struct watched_rank *p)
{
	return p->heard && p->message.phase == PHASE_REDUCE;
}

/* Since when a rank has waited at this step or a later one; INFINITY: no rank waits. */
static double waited_since(const struct watchdog *w, int64_t step, double now)
{
	double since = INFINITY;

	for (int i = 0; i < w->n; i++) {
		const struct watched_rank *p = &w->peers[i];

		if (rank_is_waiting(p) && p->message.step >= step && !rank_is_silent(w, p, now))
			since = fmin(since, p->since);
	}
	return since;
}

/* Seconds for which the rank has held up others, or been silent; 0: it is not late. */
static double rank_lateness_s(const struct watchdog *w, const struct watched_rank *p, double now)
{
	double late;

	if (!p->heard || p->message.phase == PHASE_END)
		return 0;
	if (rank_is_silent(w, p, now))
		return now - p->heard_at;
	if (rank_is_waiting(p))
		return 0;
	late = now - waited_since(w, p->message.step, now);
	return late >= w->late_after_s * phase_time_factor(p->message.phase) ? late : 0;
}

/* "in compute of step 871" */
static const char *phase_and_step_text(const struct heartbeat_message *w, char text[60])
{
	if (w->step < 0)
		snprintf(text, 60, "in %s", rank_phase_name(w->phase));
	else
		snprintf(text, 60, "in %s of step %lld", rank_phase_name(w->phase),
			 (long long)w->step);
	return text;
}

static void describe_late_rank(const struct watchdog *w, const struct watched_rank *p, double now,
			       double late, char *text, size_t room)
{
	char at[60];

	if (rank_is_silent(w, p, now))
		snprintf(text, room,
			 "rank %d on %s sends no heartbeats since %.0f s, last %s: its process "
			 "is stopped or has ended, its host is down, or the network fails",
			 (int)p->message.rank, p->host, late, phase_and_step_text(&p->message, at));
	else
		snprintf(text, room,
			 "rank %d on %s is %.0f s behind: %s while other ranks wait in the "
			 "reduction",
			 (int)p->message.rank, p->host, late, phase_and_step_text(&p->message, at));
}

/* *named: late ranks of this round so far. */
static void report_late_rank(struct watchdog *w, struct watched_rank *p, double now, int *named)
{
	double late = rank_lateness_s(w, p, now);
	char text[400];

	if (late > 0) {
		p->worst_s = fmax(p->worst_s, late);
		if (late < p->renamed_after_s)
			return;
		p->renamed_after_s = 2 * late;
		if ((*named)++ >= MAX_NAMED_RANKS)
			return;
		describe_late_rank(w, p, now, late, text, sizeof(text));
		w->tell(w->to, "warning", p->message.step, text);
	} else if (p->worst_s > 0) {
		snprintf(text, sizeof(text), "rank %d on %s caught up after %.0f s",
			 (int)p->message.rank, p->host, p->worst_s);
		w->tell(w->to, "info", p->message.step, text);
		p->worst_s = p->renamed_after_s = 0;
	}
}

static void report_unheard_rank(struct watchdog *w, struct watched_rank *p, double now)
{
	char text[300];

	if (p->heard || p->warned_unheard || now - w->opened_at < fmax(UNHEARD_S, w->late_after_s))
		return;
	p->warned_unheard = true;
	snprintf(text, sizeof(text),
		 "no heartbeats arrive from rank %d on %s: UDP may be blocked between the hosts; "
		 "the watchdog cannot see whether this rank is late",
		 (int)p->message.rank, p->host);
	w->tell(w->to, "warning", -1, text);
}

/* If all ranks wait and none is silent, the network between them is the likely cause. */
static void report_stuck_job(struct watchdog *w, double now)
{
	double stuck = now - w->progress_at;
	char text[300];
	int64_t step = -1;

	for (int i = 0; i < w->n; i++) {
		if (!rank_is_waiting(&w->peers[i]) || rank_is_silent(w, &w->peers[i], now))
			stuck = 0;
		step = MAX(step, w->peers[i].message.step);
	}
	if (stuck < w->late_after_s || w->n < 2) {
		w->stuck_next_s = 0;
		return;
	}
	if (stuck < w->stuck_next_s)
		return;
	w->stuck_next_s = 2 * stuck;
	snprintf(text, sizeof(text),
		 "all ranks wait in the reduction of step %lld since %.0f s: check the network "
		 "between the hosts",
		 (long long)step, stuck);
	w->tell(w->to, "warning", step, text);
}

/* ---- hanging jobs ---------------------------------------------------------- */

/* The rank that has held up others for longest; NULL: no rank is late. */
static const struct watched_rank *find_latest_rank(const struct watchdog *w, double now)
{
	const struct watched_rank *worst = NULL;
	double most = 0;

	for (int i = 0; i < w->n; i++) {
		double late = rank_lateness_s(w, &w->peers[i], now);

		if (late > most) {
			most = late;
			worst = &w->peers[i];
		}
	}
	return worst;
}

/* The largest factor of the ranks' phases; 1 if a rank is silent, because it is in no phase then. */
static double longest_time_factor(const struct watchdog *w, double hang_after_s, double now)
{
	double most = 1;

	for (int i = 0; i < w->n; i++) {
		const struct watched_rank *p = &w->peers[i];

		if (p->heard && p->message.phase != PHASE_END && now - p->heard_at >= hang_after_s)
			return 1;
		if (p->heard)
			most = fmax(most, phase_time_factor(p->message.phase));
	}
	return most;
}

static bool job_is_hanging(const struct watchdog *w, double now, double median_s, char *why,
			   size_t room)
{
	double limit = watchdog_hang_limit(w->hang_after_s, median_s);
	const struct watched_rank *culprit;
	char text[400];
	int n;

	if (w->peers[0].message.phase == PHASE_END ||
	    now - w->progress_at < limit * longest_time_factor(w, limit, now))
		return false;
	n = snprintf(why, room,
		     "no rank has made progress for %.0f s: the watchdog ends the job, which can "
		     "be resumed from its last checkpoint",
		     now - w->progress_at);
	culprit = find_latest_rank(w, now);
	if (culprit && n > 0 && (size_t)n < room) {
		describe_late_rank(w, culprit, now, rank_lateness_s(w, culprit, now), text,
				   sizeof(text));
		snprintf(why + n, room - (size_t)n, ": %s", text);
	}
	return true;
}

bool watchdog_check(struct watchdog *w, double now, double median_s, char *why, size_t room)
{
	int named = 0;
	char text[60];

	for (int i = 0; i < w->n; i++) {
		report_late_rank(w, &w->peers[i], now, &named);
		report_unheard_rank(w, &w->peers[i], now);
	}
	if (named > MAX_NAMED_RANKS) {
		snprintf(text, sizeof(text), "late: %d more rank%s", named - MAX_NAMED_RANKS,
			 text_plural(named - MAX_NAMED_RANKS));
		w->tell(w->to, "warning", -1, text);
	}
	report_stuck_job(w, now);
	return job_is_hanging(w, now, median_s, why, room);
}

void watchdog_write_report(const struct watchdog *w, double now, const char *why, struct buf *out)
{
	buf_printf(out, "%s\n\nLast heartbeat of every rank:\n\n", why);
	buf_printf(out, "%6s  %-24s %10s  %-16s %9s %9s %12s %12s\n", "rank", "host", "step", "in",
		   "for s", "heard s", "reductions", "of them");
	buf_printf(out, "%6s  %-24s %10s  %-16s %9s %9s %12s %12s\n", "", "", "", "", "", "ago",
		   "begun", "ended");
	for (int i = 0; i < w->n; i++) {
		const struct watched_rank *p = &w->peers[i];

		buf_printf(out, "%6d  %-24s ", i, p->host);
		if (!p->heard) {
			buf_add_str(out, "never heard\n");
			continue;
		}
		buf_printf(out, "%10lld  %-16s %9.1f %9.1f %12llu %12llu%s\n",
			   (long long)p->message.step, rank_phase_name(p->message.phase),
			   now - p->since, now - p->heard_at, (unsigned long long)p->message.began,
			   (unsigned long long)p->message.ended,
			   rank_lateness_s(w, p, now) > 0 ? "  late" : "");
	}
}
