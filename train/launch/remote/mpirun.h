/*
 * mpirun.h - the command line of mpirun, of Open MPI 4.1 or 5. rank_launch.h uses it.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_REMOTE_MPIRUN_H
#define WERKBANK_TRAIN_LAUNCH_REMOTE_MPIRUN_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"
#include "train/launch/remote/command_line.h"
#include "train/launch/remote/hosts.h"

struct mpirun_options {
	const struct hosts *hosts;  /* borrowed; NULL: only this host */
	const char *hostfile;	    /* borrowed: path of the file of rank_launch_write_hostfile() */
	int64_t ranks;		    /* 0: one for each slot */
	enum conf_launcher starter; /* auto: like ssh */
	const char *pmi; /* borrowed: for srun --mpi; NULL: find it with launcher_find_pmi() */
	const char
		*network; /* borrowed: CIDR of the network between the hosts; NULL or "": unknown */
	const char *ssh;  /* borrowed: ssh command, NULL or "": "ssh" */
	const char *launcher; /* borrowed: path of werkbank-launch; mpirun runs its _ssh */
	int major;	      /* version of Open MPI: 4 or 5; 0: run mpirun --version */
	bool oversubscribed;  /* more ranks than cores on a host: waiting ranks yield the CPU */
	/*
	 * When a rank is lost, mpirun sends SIGCONT to the others, SIGTERM kill_after_s later, and
	 * SIGKILL after as many seconds again: time for the first rank to save. 0: Open MPI's 1 s.
	 * Open MPI 5 has no such option: it sends all three within half a second.
	 */
	int kill_after_s;
	const char *program;		/* borrowed: mpirun; NULL: the one in PATH */
	const char *const *environment; /* borrowed, ends with NULL; NULL: environ */
};

/* Append mpirun and its options. */
int mpirun_append_words(struct command_line *c, const struct mpirun_options *how, struct err *e);

bool mpirun_is_ipv6_network(const char *network); /* a CIDR of IPv6; NULL: no */

/* The value of a variable of how->environment, borrowed; NULL: not set. */
const char *mpirun_variable(const struct mpirun_options *how, const char *name);

/* Number of ranks that the command line starts. */
int64_t mpirun_rank_count(const struct mpirun_options *how);

/* Major version of Open MPI, 4 or 5; < 0: no mpirun, or the mpirun of another MPI. */
int mpirun_major_version(const char *program, struct err *e);

/*
 * Encode a word for plm_rsh_agent, which Open MPI splits at blanks and colons: each unusual byte
 * becomes %XX. Decoding works in place and leaves everything that is not %XX.
 */
void mpirun_encode_word(const char *word, struct buf *out);
void mpirun_decode_word(char *word);

#endif
