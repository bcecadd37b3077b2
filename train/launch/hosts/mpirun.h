/*
 * mpirun.h - the command line that starts the ranks, for Open MPI 4.1 and 5.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_HOSTS_MPIRUN_H
#define WERKBANK_TRAIN_LAUNCH_HOSTS_MPIRUN_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "train/launch/hosts/hosts.h"

struct mpirun_options {
	const struct hosts *hosts; /* borrowed; NULL: this host alone */
	const char *hostfile;	   /* borrowed: path where mpirun_write_hostfile() wrote them */
	int64_t ranks;		   /* 0: one for each slot */
	const char *network;	   /* borrowed: CIDR between the hosts; NULL or "": none */
	const char *ssh;	   /* borrowed: how to reach hosts */
	const char *launcher;	   /* borrowed: werkbank-launch, whose _ssh it calls */
	int major;		   /* of Open MPI: 4 or 5; 0: ask mpirun --version */
	bool oversubscribed;	   /* more ranks than cores somewhere: who waits gives way */
	const char *program;	   /* borrowed: mpirun; NULL: the one in PATH */
	const char *const *environment; /* borrowed; NULL: ours */
};

/* A command line that grows; all owned. all[n] is NULL. */
struct command_line {
	char **all;
	size_t n, cap;
};

/* Adds "mpirun …" up to where the program of the ranks follows. */
int mpirun_append_words(struct command_line *c, const struct mpirun_options *how, struct err *e);
int command_line_add(struct command_line *c, const char *word, struct err *e); /* copied */
void command_line_free(struct command_line *c);

/* As a shell would read it: quoted where needed, for --show. */
void command_line_quote(const struct command_line *c, struct buf *out);

/* The hosts as Open MPI's hostfile; ports stand behind "# port", where _ssh looks them up. */
int mpirun_write_hostfile(const struct hosts *h, const char *path, struct err *e);

/* Are these hosts this machine alone? Then no ssh is needed. NULL: yes. */
bool mpirun_is_local(const struct hosts *h);

/* How many ranks the line starts. */
int64_t mpirun_rank_count(const struct mpirun_options *how);

/* The major version of Open MPI's mpirun; < 0: there is none, or it is another MPI's. */
int mpirun_major_version(const char *program, struct err *e);

/*
 * Words inside plm_rsh_agent, which Open MPI splits at blanks and colons: everything unusual
 * becomes %XX. Decoding happens in place; what is no %XX stays.
 */
void mpirun_encode_word(const char *word, struct buf *out);
void mpirun_decode_word(char *word);

#endif
