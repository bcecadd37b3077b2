/* fleet_events.c - finds events of hosts in their records; see fleet_events.h. */
#include "tui/run/fleet_events.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/run/fleet_health.h"

#define SLOWER_LINK 0.7 /* of its earlier speed: an event */

const struct fleet_event *fleet_event_at(const struct fleet *f, size_t i)
{
	assert(i < f->n_events);
	return &f->events[(f->first_event + i) % FLEET_EVENTS];
}

void fleet_add_event(struct fleet *f, int host, enum fleet_event_kind kind, double t,
		     const char *fmt, ...)
{
	struct fleet_event *event;
	va_list ap;

	assert(host < (int)f->n_hosts);
	if (!isfinite(t))
		return;
	if (f->n_events < FLEET_EVENTS) {
		event = &f->events[(f->first_event + f->n_events++) % FLEET_EVENTS];
	} else {
		event = &f->events[f->first_event];
		f->first_event = (f->first_event + 1) % FLEET_EVENTS;
	}
	*event = (struct fleet_event){ .t = t, .host = host, .kind = kind };
	va_start(ap, fmt);
	vsnprintf(event->text, sizeof(event->text), fmt, ap);
	va_end(ap);
	event->text[utf8_valid_prefix(event->text, strlen(event->text))] = 0;
}

/* Is the name in the text, not as a part of another name? */
static bool is_host_named(const char *text, const char *name)
{
	size_t n = strlen(name);
	const char *at = text;

	if (!n)
		return false;
	for (; (at = strstr(at, name)); at++) {
		bool begins =
			at == text || !(isalnum((unsigned char)at[-1]) || strchr("-._", at[-1]));
		const char *end = at + n;

		if (begins && !isalnum((unsigned char)*end) && *end != '_' &&
		    !((*end == '-' || *end == '.') && isalnum((unsigned char)end[1])))
			return true;
	}
	return false;
}

void fleet_add_warning(struct fleet *f, double t, const char *text)
{
	for (size_t i = 0; i < f->n_hosts; i++)
		if (is_host_named(text, f->hosts[i].name))
			fleet_add_event(f, (int)i, EVENT_WARNING, t, "%s", text);
}

/* ---- a record of a host ---- */

/* Whether a list of reasons has one that is no routine: a power cap is what drivers do all the time. */
static bool is_throttle_grave(const char *reasons)
{
	static const char *const routine[] = { "none", "power cap", "application clocks",
					       "display clocks", "sync boost" };

	while (*reasons) {
		size_t n = strcspn(reasons, ","), i = 0;

		while (i < ARRAY_LEN(routine) &&
		       (strlen(routine[i]) != n || memcmp(routine[i], reasons, n)))
			i++;
		if (i == ARRAY_LEN(routine) && n)
			return true;
		reasons += n;
		reasons += strspn(reasons, ", ");
	}
	return false;
}

/* A throttled host is so until FLEET_ENOUGH records in a row say otherwise. */
static void watch_throttle(struct fleet *f, struct fleet_host *h)
{
	const struct fleet_gpu *hot = NULL;

	for (size_t i = 0; i < h->n_gpus && !hot; i++)
		if (is_throttle_grave(h->gpus[i].throttle))
			hot = &h->gpus[i];
	if (hot) {
		if (!h->is_throttled)
			fleet_add_event(f, (int)(h - f->hosts), EVENT_THROTTLED, h->t,
					"GPU %d throttled: %s", hot->index, hot->throttle);
		h->is_throttled = true;
		h->cool_rounds = 0;
	} else if (h->is_throttled && ++h->cool_rounds >= FLEET_ENOUGH) {
		h->is_throttled = false;
		fleet_add_event(f, (int)(h - f->hosts), EVENT_UNTHROTTLED, h->t,
				"no GPU is throttled any more");
	}
}

static void watch_lost_gpus(struct fleet *f, struct fleet_host *h)
{
	int lost = 0, which = -1;

	for (size_t i = 0; i < h->n_gpus; i++)
		if (h->gpus[i].lost) {
			lost++;
			which = h->gpus[i].index;
		}
	if (lost > h->lost_gpus)
		fleet_add_event(f, (int)(h - f->hosts), EVENT_GPU_LOST, h->t,
				"GPU %d does not respond", which);
	h->lost_gpus = lost;
}

/*
 * New memory errors. Uncorrected ones spoil results: each record with more of them is an event.
 * Corrected ones do no harm: the first is an event, and then each doubling. A count that is lower
 * than before began again (the driver was loaded again).
 */
static void watch_ecc(struct fleet *f, struct fleet_host *h, struct fleet_gpu *g)
{
	int host = (int)(h - f->hosts);
	double more = g->ecc_uncorrected - g->last_uncorrected;
	double corrected;

	if (more > 0)
		fleet_add_event(f, host, EVENT_ECC, h->t,
				"GPU %d has %.20s uncorrected memory error%s (ECC)", g->index,
				COUNT_TEXT((int64_t)MIN(more, 1e15)), more > 1 ? "s" : "");
	if (isfinite(g->ecc_uncorrected))
		g->last_uncorrected = g->ecc_uncorrected;
	if (!isfinite(g->ecc_corrected))
		return;
	if (isnan(g->last_corrected) || g->ecc_corrected < g->last_corrected) {
		g->base_corrected = g->ecc_corrected;
		g->told_corrected = 0;
	}
	g->last_corrected = g->ecc_corrected;
	corrected = g->ecc_corrected - g->base_corrected;
	if (corrected > 0 && corrected >= 2 * g->told_corrected) {
		fleet_add_event(f, host, EVENT_ECC_CORRECTED, h->t,
				"GPU %d has corrected %.20s memory error%s (ECC)", g->index,
				COUNT_TEXT((int64_t)MIN(corrected, 1e15)),
				corrected > 1 ? "s" : "");
		g->told_corrected = corrected;
	}
}

/* A link that its driver gave a speed for, and gives none now: as a rule it is down. */
static void watch_lost_link(struct fleet *f, struct fleet_host *h, double speed)
{
	bool is_lost = h->last_link > 0 && !(speed > 0);

	if (is_lost == h->is_link_lost)
		return;
	h->is_link_lost = is_lost;
	fleet_add_event(
		f, (int)(h - f->hosts), is_lost ? EVENT_LINK : EVENT_LINK_FASTER, h->t,
		is_lost ? "its link has no speed any more (before: %.15sbit/s), it may be down"
			: "its link has a speed again (before: %.15sbit/s)",
		VALUE_TEXT(h->last_link * 8));
}

static void watch_link(struct fleet *f, struct fleet_host *h)
{
	int host = (int)(h - f->hosts);
	double speed = !strcmp(h->link_from, "driver") ? h->link_bytes_s : NAN;

	if (h->had_interface && !*h->interface) {
		fleet_add_event(f, host, EVENT_LINK, h->t, "its network interface is gone");
		h->is_link_lost = h->last_link > 0; /* which says it all */
	} else {
		watch_lost_link(f, h, speed);
	}
	h->had_interface = *h->interface != 0;
	if (!(speed > 0))
		return;
	if (h->last_link > 0 &&
	    (speed < SLOWER_LINK * h->last_link || h->last_link < SLOWER_LINK * speed))
		fleet_add_event(f, host, speed < h->last_link ? EVENT_LINK : EVENT_LINK_FASTER,
				h->t, "its link has %.15sbit/s, before %.15sbit/s",
				VALUE_TEXT(speed * 8), VALUE_TEXT(h->last_link * 8));
	h->last_link = speed;
}

void fleet_watch_host(struct fleet *f, struct fleet_host *h)
{
	watch_throttle(f, h);
	watch_lost_gpus(f, h);
	for (size_t i = 0; i < h->n_gpus; i++)
		watch_ecc(f, h, &h->gpus[i]);
	watch_link(f, h);
}

/* ---- a whole report ---- */

void fleet_watch_round(struct fleet *f, double t)
{
	for (size_t i = 0; i < f->n_hosts; i++) {
		struct fleet_host *h = &f->hosts[i];
		bool late = fleet_recent_trait(h, TRAIT_PACE) > FLEET_LATE;

		if (h->was_present && !h->present) {
			fleet_add_event(f, (int)i, EVENT_GONE, t, "left out since the restart");
			h->is_gone = true;
		}
		if (h->is_gone && h->present) {
			fleet_add_event(f, (int)i, EVENT_BACK, t, "takes part again");
			h->is_gone = false;
		}
		h->was_present = false;
		if (!h->present || h->rounds < FLEET_ENOUGH || late == h->is_late)
			continue;
		fleet_add_event(f, (int)i, late ? EVENT_LATE : EVENT_IN_TIME, t, "%s",
				late ? "its slowest rank is late" : "no rank is late any more");
		h->is_late = late;
	}
}
