/*
 * launcher.h - which program starts the ranks on the hosts: the option --launcher.
 *
 *	ssh	mpirun, which starts its daemons over ssh
 *	slurm	mpirun, which starts its daemons with Slurm's srun
 *	srun	Slurm's srun alone; the ranks find each other by PMIx or PMI-2
 *
 * With slurm and srun, checks and clean-up on other hosts are job steps of one task too
 * (remote_options.srun): the hosts need no sshd. Slurm's variable SLURM_OVERLAP lets these steps use
 * resources that another step of the job has; versions before 20.11 ignore it.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_REMOTE_LAUNCHER_H
#define WERKBANK_TRAIN_LAUNCH_REMOTE_LAUNCHER_H

#include "share/base/err.h"
#include "share/conf/conf.h"
#include "train/launch/remote/hosts.h"
#include "train/launch/remote/remote.h"

#define LAUNCHER_WHY 200
#define LAUNCHER_PMI 16

/*
 * Replace c->launcher = auto by the launcher to use for these hosts, and write the reason to why.
 * Then set SLURM_OVERLAP if srun is used. ERR_USAGE: slurm or srun was asked for, but this is no
 * Slurm allocation, or a host is not in it. ERR_UNAVAILABLE: srun cannot start Open MPI's ranks.
 */
int launcher_choose(struct conf *c, const struct hosts *h, const struct hosts_env *env,
		    char why[LAUNCHER_WHY], struct err *e);

/* Are other hosts reached by srun? After launcher_choose(). */
bool launcher_is_slurm(const struct conf *c);

/* How other hosts are reached; borrows texts of c. */
struct remote_options launcher_remote_options(const struct conf *c, double deadline_s);

/*
 * The name for srun's option --mpi that Slurm and Open MPI both have: pmix or pmi2.
 * ERR_UNAVAILABLE: none.
 */
int launcher_find_pmi(char pmi[LAUNCHER_PMI], struct err *e);

/* Was Open MPI on this host built with IPv6? true if ompi_info does not say. */
bool launcher_has_ipv6(void);

#endif
