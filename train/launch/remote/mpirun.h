/*
 * mpirun.h - the command line that starts the ranks: mpirun of Open MPI 4.1 or 5, or Slurm's srun.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_REMOTE_MPIRUN_H
#define WERKBANK_TRAIN_LAUNCH_REMOTE_MPIRUN_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"
#include "train/launch/remote/hosts.h"

struct mpirun_options {
	const struct hosts *hosts;  /* borrowed; NULL: only this host */
	const char *hostfile;	    /* borrowed: path of the file of mpirun_write_hostfile() */
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
	 * When a rank is lost, mpirun sends SIGCONT to the others, SIGTERM so many seconds later, and
	 * SIGKILL after as many seconds again: time for the first rank to save. 0: Open MPI's 1 s.
	 * Open MPI 5 has no such option: it sends all three within half a second.
	 */
	int kill_after_s;
	const char *program;		/* borrowed: mpirun; NULL: the one in PATH */
	const char *const *environment; /* borrowed, ends with NULL; NULL: environ */
};

/* A growing argument vector; all[0 … n-1] and the array are owned, all[n] is NULL. */
struct command_line {
	char **all;
	size_t n, cap;
};

/* Append mpirun or srun and its options; the caller then appends the program of the ranks. */
int mpirun_append_words(struct command_line *c, const struct mpirun_options *how, struct err *e);
int command_line_add(struct command_line *c, const char *word, struct err *e); /* copies word */
void command_line_free(struct command_line *c);

/* Write the words to out, separated by blanks and quoted for a shell where needed. */
void command_line_quote(const struct command_line *c, struct buf *out);

/*
 * Write how->hostfile: for mpirun a line for each host (rsh_agent.c looks up the comment "# port N"),
 * for srun a line for each rank.
 */
int mpirun_write_hostfile(const struct mpirun_options *how, struct err *e);

/* Is the list empty or only this machine? Then no ssh is needed. NULL: yes. */
bool mpirun_is_local(const struct hosts *h);

bool mpirun_is_ipv6_network(const char *network); /* a CIDR of IPv6; NULL: no */

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
