/*
 * fleet_health.h - which hosts of a run are late, broken, or unlike the others.
 *
 * Part of fleet.h. A round is one report of all ranks and hosts; it ends with a verdict. Hosts are
 * compared by the medians of their latest FLEET_WINDOW rounds, and only after FLEET_ENOUGH rounds:
 * one slow round is noise. Clocks and temperatures are compared only among hosts with the same kind
 * of GPU, and these and links only if at least FLEET_PEERS hosts are known: of two that differ,
 * nobody can tell which is odd.
 */
#ifndef WERKBANK_TUI_RUN_FLEET_HEALTH_H
#define WERKBANK_TUI_RUN_FLEET_HEALTH_H

#include "tui/run/fleet.h"

#define FLEET_ENOUGH 3
#define FLEET_PEERS  3

/* Private to fleet*.c: fill f->median_compute from the ranks that reported in the last round. */
void fleet_find_median(struct fleet *f);

/* Private to fleet*.c: a report is complete; remember the traits of its hosts. */
void fleet_end_round(struct fleet *f);

/* The median of the latest rounds of a host; NaN: too few are known. */
double fleet_recent_trait(const struct fleet_host *h, enum fleet_trait trait);

/* Private to fleet*.c: fill the findings of all hosts, odd_first, n_odd and comparison. */
void fleet_find_odd_hosts(struct fleet *f);

#endif
