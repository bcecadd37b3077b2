/*
 * hosts.h - the list of hosts of a training: name, number of slots (ranks) and port of sshd.
 *
 * A specification is one of
 *
 *	a:2,b:4 gpu[01-08,12]:4		a list: NAME[:SLOTS], brackets as in Slurm, separated by
 *					commas or blanks
 *	FILE				a hostfile, see below
 *	-				a hostfile on standard input
 *	pbs				the hostfile $PBS_NODEFILE
 *	slurm				$SLURM_JOB_NODELIST with $SLURM_TASKS_PER_NODE
 *
 * A hostfile has one host a line, or is the JSON output of "aws ec2 describe-instances":
 *
 *	NAME slots=4 max_slots=8	Open MPI (max_slots is ignored)
 *	NAME:2222 slots=4		MXNet: the number is the port of sshd
 *	NAME				one slot; each repeated line adds one (PBS)
 *	# comment
 *
 * In a list, the NUMBER of NAME:NUMBER is always the number of slots. In a hostfile without
 * slots=, the NUMBER is the port if it is 22 or at least 1024, else the number of slots. An IPv6
 * address with a number is written [ADDRESS]:NUMBER. A repeated name adds its slots. For an AWS
 * instance, the host is its private address, and it has one slot for each GPU of its instance
 * type (one slot if there is no GPU). Instances that are not running are skipped.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_REMOTE_HOSTS_H
#define WERKBANK_TRAIN_LAUNCH_REMOTE_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

#define HOSTS_MAX	8192 /* every new name is compared with all before it */
#define HOSTS_MAX_SLOTS 4096 /* slots of one host */

struct host {
	char *name;    /* owned */
	int32_t slots; /* 1 to HOSTS_MAX_SLOTS */
	int32_t port;  /* of sshd; 0: not given */
};

struct hosts {
	struct host *all; /* owned: (n), in the order of the specification */
	size_t n, cap;
};

/* Variables of PBS and Slurm, borrowed; NULL: not set. */
struct hosts_env {
	const char *pbs_nodefile, *slurm_nodelist, *slurm_tasks;
};

/* The variables of this process. */
struct hosts_env hosts_env_get(void);

/*
 * Add the hosts of a specification to h, a zeroed struct or the result of an earlier call. A bad
 * host name, number of slots or port is ERR_USAGE (in a list) or ERR_DATA (in a file); the
 * message names line and column. Call hosts_free() in any case.
 */
int hosts_read(struct hosts *h, const char *spec, const struct hosts_env *env, struct err *e);
void hosts_free(struct hosts *h);

int64_t hosts_total_slots(const struct hosts *h); /* sum over all hosts */

/* Find a host by its name, ignoring case. Borrowed; NULL: no host has it. */
struct host *hosts_find(const struct hosts *h, const char *name);

/* Is it this machine? Then no ssh is needed. Of a list: is it empty (NULL, too), or only this machine? */
bool host_is_local(const struct host *host);
bool hosts_are_local(const struct hosts *h);

/*
 * Add slots to a host; a new name (copied) is appended. port 0: not given. Bad names and numbers
 * are ERR_DATA; the caller adds the position in the file to the message.
 */
int hosts_add(struct hosts *h, const char *name, int64_t slots, int64_t port, struct err *e);

/*
 * hosts_aws.c: parse the n bytes that "aws ec2 describe-instances" prints. source: file name, for
 * messages.
 */
int hosts_read_aws(struct hosts *h, const char *text, size_t n, const char *source, struct err *e);

#endif
