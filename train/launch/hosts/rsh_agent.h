/*
 * rsh_agent.h - "werkbank-launch _ssh [--ssh=COMMAND] HOSTFILE HOST COMMAND...", called by mpirun.
 *
 * Becomes ssh to HOST, at the port that mpirun_write_hostfile() noted for it, which never asks for
 * anything and gives up after a while. COMMAND and HOSTFILE are as mpirun_encode_word() writes
 * them. What follows HOST is for the remote shell and not looked at.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_HOSTS_RSH_AGENT_H
#define WERKBANK_TRAIN_LAUNCH_HOSTS_RSH_AGENT_H

#include "share/base/err.h"
#include "train/launch/hosts/mpirun.h"

#define SSH_CONNECT_TIMEOUT_S 15

/*
 * Where in argv HOST stands, so that options are looked for only before it; argc: there is
 * none.
 */
int rsh_agent_host_index(int argc, const char *const *argv);

/* The words of a command such as --ssh, split as a shell would; ERR_USAGE: it cannot be. */
int rsh_agent_split_words(struct command_line *c, const char *command, struct err *e);

/* The whole line: ssh's own words, then the rest from HOST on. Strings that end with NULL. */
int rsh_agent_build_line(struct command_line *c, const char *ssh, const char *hostfile,
			 const char *const *rest, struct err *e);

/* Run it in this process; returns only on failure. */
int rsh_agent_exec(const char *ssh, const char *hostfile, const char *const *rest, struct err *e);

#endif
