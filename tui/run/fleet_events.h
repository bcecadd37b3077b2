/*
 * fleet_events.h - what happened to hosts in the course of a run, found in its records.
 *
 * Part of fleet.h. The journal has no records of such events: they are the differences between
 * reports (a GPU that begins to be throttled, a slower link, a host that is missing after a
 * restart), and warnings of the journal that name a host. The latest FLEET_EVENTS are kept.
 */
#ifndef WERKBANK_TUI_RUN_FLEET_EVENTS_H
#define WERKBANK_TUI_RUN_FLEET_EVENTS_H

#include "tui/run/fleet.h"

/* Event i of f->n_events, 0 the oldest. */
const struct fleet_event *fleet_event_at(const struct fleet *f, size_t i);

/* Add an event at t unix seconds (not finite: ignored). host -1: of all hosts. */
void fleet_add_event(struct fleet *f, int host, enum fleet_event_kind kind, double t,
		     const char *fmt, ...) PRINTF_LIKE(5, 6);

/* A warning of the journal: an event of each host that it names. */
void fleet_add_warning(struct fleet *f, double t, const char *text);

/* Private to fleet*.c: a record of host h, or a whole report, was added. */
void fleet_watch_host(struct fleet *f, struct fleet_host *h);
void fleet_watch_round(struct fleet *f, double t);

#endif
