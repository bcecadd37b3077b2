/* watchdog.c - see heartbeat_internal.h */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "train/watch/heartbeat_internal.h"

#define GAP_PERIODS 3.0		/* a turn later than so many was held up itself */
#define GAP_LEAST_S 2.0
#define UNHEARD_S   30.0	/* a rank that never was heard is told after so long, once */
#define NAMED_MOST  4		/* in one turn; the rest is a number */

int pulse_watch_open(struct pulse_watch *w, const char *hosts, int n, double late_after_s,
		     double hang_after_s, double now, struct err *e)
{
	*w = (struct pulse_watch){ .n = n, .late_after_s = late_after_s,
				   .hang_after_s = hang_after_s, .opened_at = now,
				   .looked_at = now, .progress_at = now };
	w->peers = mem_alloc((size_t)n, sizeof(*w->peers), e);
	if (!w->peers)
		return e->code;
	for (int i = 0; i < n; i++) {
		snprintf(w->peers[i].host, sizeof(w->peers[i].host), "%.63s",
			 hosts + (size_t)i * 64);
		w->peers[i].heard_at = w->peers[i].since = now;
		w->peers[i].word.rank = i;
	}
	return 0;
}

void pulse_watch_close(struct pulse_watch *w)
{
	free(w->peers);
	w->peers = NULL;
	w->n = 0;
}

const char *pulse_phase_name(enum pulse_phase phase)
{
	static const char *const names[] = {
		[PULSE_START] = "the start",
		[PULSE_INPUT] = "the input",
		[PULSE_COMPUTE] = "compute",
		[PULSE_REDUCE] = "the reduction",
		[PULSE_UPDATE] = "the update",
		[PULSE_SAVE] = "saving",
		[PULSE_EVALUATE] = "the evaluation",
		[PULSE_END] = "the end",
	};

	return (size_t)phase < ARRAY_LEN(names) ? names[phase] : "?";
}

double pulse_patience(enum pulse_phase phase)
{
	switch (phase) {
	case PULSE_START:
	case PULSE_SAVE:
		return PULSE_PATIENCE_LONG;
	case PULSE_EVALUATE:
		return PULSE_PATIENCE_EVALUATE;
	default:
		return 1;
	}
}

double pulse_hang_after(double hang_after_s, double median_s)
{
	if (hang_after_s > 0)
		return hang_after_s;
	return median_s > 0 ? fmax(PULSE_HANG_LEAST_S, PULSE_HANG_STEPS * median_s)
			    : PULSE_HANG_UNKNOWN_S;
}

/* ---- hearing ------------------------------------------------------------- */

void pulse_watch_turn(struct pulse_watch *w, double now, double period_s)
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

void pulse_watch_heard(struct pulse_watch *w, const struct pulse_word *word, double now)
{
	struct pulse_peer *p = &w->peers[word->rank];

	if (p->heard && word->number <= p->word.number)
		return;			/* came late, or twice */
	if (!p->heard || word->moves != p->word.moves)
		w->progress_at = now;
	p->heard = true;
	p->heard_at = now;
	p->since = now - word->age_s;
	p->word = *word;
}

/* ---- who is late --------------------------------------------------------- */

static bool is_silent(const struct pulse_watch *w, const struct pulse_peer *p, double now)
{
	return p->heard && p->word.phase != PULSE_END && now - p->heard_at >= w->late_after_s;
}

/* Is it where ranks wait for each other? */
static bool is_waiting(const struct pulse_peer *p)
{
	return p->heard && p->word.phase == PULSE_REDUCE;
}

/* Since when somebody has waited at this step or a later one; INFINITY: nobody. */
static double waited_since(const struct pulse_watch *w, int64_t step, double now)
{
	double since = INFINITY;

	for (int i = 0; i < w->n; i++) {
		const struct pulse_peer *p = &w->peers[i];

		if (is_waiting(p) && p->word.step >= step && !is_silent(w, p, now))
			since = fmin(since, p->since);
	}
	return since;
}

/* Seconds for which it has held up the others, or been silent; 0: it is not late. */
static double behind(const struct pulse_watch *w, const struct pulse_peer *p, double now)
{
	double late;

	if (!p->heard || p->word.phase == PULSE_END)
		return 0;
	if (is_silent(w, p, now))
		return now - p->heard_at;
	if (is_waiting(p))
		return 0;
	late = now - waited_since(w, p->word.step, now);
	return late >= w->late_after_s * pulse_patience(p->word.phase) ? late : 0;
}

/* "in compute of step 871" */
static const char *place(const struct pulse_word *w, char text[60])
{
	if (w->step < 0)
		snprintf(text, 60, "in %s", pulse_phase_name(w->phase));
	else
		snprintf(text, 60, "in %s of step %lld", pulse_phase_name(w->phase),
			 (long long)w->step);
	return text;
}

static void describe(const struct pulse_watch *w, const struct pulse_peer *p, double now,
		     double late, char *text, size_t room)
{
	char at[60];

	if (is_silent(w, p, now))
		snprintf(text, room, "rank %d on %s has been silent for %.0f s, last %s: its "
			 "process is stopped or ended, its host is down, or the network between is",
			 (int)p->word.rank, p->host, late, place(&p->word, at));
	else
		snprintf(text, room, "rank %d on %s is %.0f s behind: %s while the others wait in "
			 "the reduction", (int)p->word.rank, p->host, late, place(&p->word, at));
}

/* Named when it is late, again at twice the time, and once when it has caught up. */
static void name(struct pulse_watch *w, struct pulse_peer *p, double now, int *named)
{
	double late = behind(w, p, now);
	char text[400];

	if (late > 0) {
		p->worst_s = fmax(p->worst_s, late);
		if (late < p->next_s)
			return;
		p->next_s = 2 * late;
		if ((*named)++ >= NAMED_MOST)
			return;
		describe(w, p, now, late, text, sizeof(text));
		w->tell(w->to, "warning", p->word.step, text);
	} else if (p->worst_s > 0) {
		snprintf(text, sizeof(text), "rank %d on %s caught up after %.0f s",
			 (int)p->word.rank, p->host, p->worst_s);
		w->tell(w->to, "info", p->word.step, text);
		p->worst_s = p->next_s = 0;
	}
}

static void name_unheard(struct pulse_watch *w, struct pulse_peer *p, double now)
{
	char text[300];

	if (p->heard || p->told_unheard || now - w->opened_at < fmax(UNHEARD_S, w->late_after_s))
		return;
	p->told_unheard = true;
	snprintf(text, sizeof(text), "no heartbeat of rank %d on %s arrives: is UDP blocked "
		 "between the hosts? without it the watchdog cannot tell whether that rank is late",
		 (int)p->word.rank, p->host);
	w->tell(w->to, "warning", -1, text);
}

/* Everybody waits and nobody is missing: then it is what is between them. */
static void name_stuck(struct pulse_watch *w, double now)
{
	double stuck = now - w->progress_at;
	char text[300];
	int64_t step = -1;

	for (int i = 0; i < w->n; i++) {
		if (!is_waiting(&w->peers[i]) || is_silent(w, &w->peers[i], now))
			stuck = 0;
		step = MAX(step, w->peers[i].word.step);
	}
	if (stuck < w->late_after_s || w->n < 2) {
		w->stuck_next_s = 0;
		return;
	}
	if (stuck < w->stuck_next_s)
		return;
	w->stuck_next_s = 2 * stuck;
	snprintf(text, sizeof(text), "all ranks have waited in the reduction of step %lld for %.0f "
		 "s: look at the network between the hosts", (long long)step, stuck);
	w->tell(w->to, "warning", step, text);
}

/* ---- does it hang -------------------------------------------------------- */

/* The one that has held up the others for longest; NULL: none can be named. */
static const struct pulse_peer *latest(const struct pulse_watch *w, double now)
{
	const struct pulse_peer *worst = NULL;
	double most = 0;

	for (int i = 0; i < w->n; i++) {
		double late = behind(w, &w->peers[i], now);

		if (late > most) {
			most = late;
			worst = &w->peers[i];
		}
	}
	return worst;
}

/*
 * The longest that a phase of anybody may take; but a rank that says nothing any more is not
 * in a long phase.
 */
static double patience(const struct pulse_watch *w, double hang_after_s, double now)
{
	double most = 1;

	for (int i = 0; i < w->n; i++) {
		const struct pulse_peer *p = &w->peers[i];

		if (p->heard && p->word.phase != PULSE_END && now - p->heard_at >= hang_after_s)
			return 1;
		if (p->heard)
			most = fmax(most, pulse_patience(p->word.phase));
	}
	return most;
}

static bool hangs(const struct pulse_watch *w, double now, double median_s, char *why, size_t room)
{
	double limit = pulse_hang_after(w->hang_after_s, median_s);
	const struct pulse_peer *culprit;
	char text[400];
	int n;

	if (w->peers[0].word.phase == PULSE_END ||
	    now - w->progress_at < limit * patience(w, limit, now))
		return false;
	n = snprintf(why, room, "nothing has moved for %.0f s, so the watchdog ends the job, which "
		     "can be resumed from its last checkpoint", now - w->progress_at);
	culprit = latest(w, now);
	if (culprit && n > 0 && (size_t)n < room) {
		describe(w, culprit, now, behind(w, culprit, now), text, sizeof(text));
		snprintf(why + n, room - (size_t)n, ": %s", text);
	}
	return true;
}

bool pulse_watch_look(struct pulse_watch *w, double now, double median_s, char *why, size_t room)
{
	int named = 0;
	char text[60];

	for (int i = 0; i < w->n; i++) {
		name(w, &w->peers[i], now, &named);
		name_unheard(w, &w->peers[i], now);
	}
	if (named > NAMED_MOST) {
		snprintf(text, sizeof(text), "%d more ranks are late", named - NAMED_MOST);
		w->tell(w->to, "warning", -1, text);
	}
	name_stuck(w, now);
	return hangs(w, now, median_s, why, room);
}

void pulse_watch_report(const struct pulse_watch *w, double now, const char *why, struct buf *out)
{
	buf_printf(out, "%s\n\nEvery rank's last word:\n\n", why);
	buf_printf(out, "%6s  %-24s %10s  %-16s %9s %9s %12s %12s\n", "rank", "host", "step", "in",
		   "for s", "heard s", "reductions", "of them");
	buf_printf(out, "%6s  %-24s %10s  %-16s %9s %9s %12s %12s\n", "", "", "", "", "", "ago",
		   "begun", "ended");
	for (int i = 0; i < w->n; i++) {
		const struct pulse_peer *p = &w->peers[i];

		buf_printf(out, "%6d  %-24s ", i, p->host);
		if (!p->heard) {
			buf_add_str(out, "never heard\n");
			continue;
		}
		buf_printf(out, "%10lld  %-16s %9.1f %9.1f %12llu %12llu%s\n",
			   (long long)p->word.step, pulse_phase_name(p->word.phase),
			   now - p->since, now - p->heard_at, (unsigned long long)p->word.began,
			   (unsigned long long)p->word.ended,
			   behind(w, p, now) > 0 ? "  late" : "");
	}
}
