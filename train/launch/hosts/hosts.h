/*
 * hosts.h - which machines, and how many ranks on each.
 *
 * A specification is one of
 *
 *	a:2,b:4  gpu[01-08,12]:4	a list: NAME[:SLOTS], Slurm's brackets, commas and blanks between
 *	FILE				a hostfile, one host a line:
 *					NAME slots=4 max_slots=8	Open MPI's (max_slots is not looked at)
 *					NAME:2222 slots=4		MXNet's: the number is ssh's port
 *					NAME				one slot; the same name again: one more (PBS)
 *					# comment
 *					or what "aws ec2 describe-instances" prints
 *	pbs				the file that $PBS_NODEFILE names
 *	slurm				$SLURM_JOB_NODELIST with $SLURM_TASKS_PER_NODE
 *	-				standard input, as a file
 *
 * NAME:NUMBER in a file without slots= is a port when it is 22 or at least 1024, else
 * slots; in a list it is always slots. An IPv6 address with a number is written
 * [ADDRESS]:NUMBER. A name that comes again adds its slots. Of an AWS instance the
 * private address is taken, its slots are the GPUs of its type (none: 1), and
 * one that does not run is left out.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_HOSTS_HOSTS_H
#define WERKBANK_TRAIN_LAUNCH_HOSTS_HOSTS_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

#define HOSTS_MAX	65536
#define HOSTS_MAX_SLOTS 4096 /* of one host */

struct host {
	char *name; /* owned */
	int32_t slots;
	int32_t port; /* of sshd; 0: not said */
};

struct hosts {
	struct host *all; /* owned: (n) in the order of the specification */
	size_t n, cap;
};

/* What the batch systems say in the environment; each may be NULL. */
struct hosts_env {
	const char *pbs_nodefile, *slurm_nodelist, *slurm_tasks;
};

/*
 * Fills a zeroed struct. What cannot be a host name, a count or a port is
 * ERR_USAGE (in a list) or ERR_DATA (in a file), with its place. hosts_free() in any case.
 */
int hosts_read(struct hosts *h, const char *spec, const struct hosts_env *env, struct err *e);
void hosts_free(struct hosts *h);

int64_t hosts_total_slots(const struct hosts *h); /* of all of them */

/*
 * For the readers of single forms (hosts_aws.c): add slots of a host, which must be a
 * valid name. On failure the caller adds the place.
 */
int hosts_add(struct hosts *h, const char *name, int64_t slots, int64_t port, struct err *e);

/* hosts_aws.c: what "aws ec2 describe-instances" prints. source: its name, for messages. */
int hosts_read_aws(struct hosts *h, const char *text, size_t n, const char *source, struct err *e);

#endif
