/*
 * run_lease.h - the lease of a run: which host trains it, on every file system.
 *
 * A flock() may hold on its own host only (Lustre with localflock, NFS with local_lock), and it says
 * nothing about a host that lost its power. So the supervisor of a run also has a file "lease" in the
 * run's folder, which it renews; every writer of the run compares it before it writes. Who starts a
 * training takes the lock of its own host first, then the lease:
 *
 *	no lease			take it
 *	of this host, this boot		take it: the lock has decided already
 *	any other			watch it: renewed, the run is being trained there; not renewed for its
 *					term, its holder has lost it, and this host takes it
 *
 * Nobody relies on the clocks of hosts, which may be wrong by years: a watcher measures the term with its
 * own clock. A lease that seems to be older than its term by LEASE_CLOCKS_S is watched for a part of the
 * term only, LEASE_GLANCE, in which a holder whose clock is wrong renews it three times.
 *
 * A holder that was cut off or suspended for longer than its term finds another lease when it renews its
 * own, or when one of its ranks is about to write a checkpoint; then it ends and writes nothing.
 *
 * The file has one fact a line, and is renewed in place, so that a holder that has just lost its lease
 * writes into a file that nobody reads any more.
 */
#ifndef WERKBANK_SHARE_WORKSPACE_RUN_LEASE_H
#define WERKBANK_SHARE_WORKSPACE_RUN_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/workspace/lock_file.h"

#define LEASE_TERM_S   60.0    /* without a renewal; $WERKBANK_LEASE: another number of seconds */
#define LEASE_MOST_S   86400.0 /* the longest term: a start watches a lease for so long */
#define LEASE_PARTS    10      /* renewals in a term */
#define LEASE_CLOCKS_S 600.0   /* clocks of hosts rarely differ by more */
#define LEASE_GLANCE   0.3     /* part of a term */

struct run_lease {
	char id[20];	 /* random, of one start of a supervisor; "": no lease */
	char host[65];	 /* of the supervisor */
	char boot[40];	 /* boot id of that host; "-": unknown */
	char job[40];	 /* Slurm's job and how often it was queued again, "17.0"; "-": none */
	int64_t pid;	 /* of the supervisor */
	int64_t attempt; /* of the ranks: those of an earlier attempt may not write any more */
	int64_t renewals;
	double started, renewed; /* unix seconds by the clock of that host */
	double term_s;
};

/* mine->job = the Slurm job of this process. */
void run_lease_name_job(struct run_lease *mine);

/* Is l the lease of the same job before it was queued again? Then its training is to end. */
bool run_lease_is_earlier(const struct run_lease *l, const struct run_lease *mine);

/* Wait until the lease l is released, taken by another one, or not renewed for its term. */
int run_lease_wait(const char *folder, const struct run_lease *l, struct err *e);

/* *l = the lease of a run's folder, with id "" if there is none or its file is damaged. */
int run_lease_read(const char *folder, struct run_lease *l, struct err *e);

/*
 * Take the lease of a run whose lock this process holds. The caller has set pid, boot and job; the rest is
 * filled. former (may be NULL) gets the lease that was there before. tell: prints a notice before a wait.
 * ERR_TEMPFAIL: another host trains the run.
 */
int run_lease_take(const char *folder, struct run_lease *mine, struct run_lease *former,
		   void (*tell)(const char *text), struct err *e);

/* Write mine again, with the time of now. ERR_TEMPFAIL: it is not the lease of the run any more. */
int run_lease_renew(const char *folder, struct run_lease *mine, struct err *e);

/* Seconds between two renewals. */
double run_lease_interval_s(const struct run_lease *l);

/*
 * ERR_TEMPFAIL: the run's lease is not that of this id, or of a later attempt: nothing may be written. id
 * "": the run must have no lease.
 */
int run_lease_check(const char *folder, const char *id, int64_t attempt, struct err *e);

/* Remove the lease, if it is mine. */
void run_lease_release(const char *folder, const struct run_lease *mine);

/*
 * Is a run being trained, by its lock, or by the lease of another host? LOCK_UNKNOWN as of
 * lock_file_state(). One look at once, which needs the clocks: a lease whose renewal is further than its term from
 * now, in the past or in the future, counts as lost.
 */
enum lock_state run_lease_state(const char *folder);

/* The same by watching, for up to two renewals of a lease that counts as lost, without any clock of another host. */
enum lock_state run_lease_watch_state(const char *folder);

#endif
