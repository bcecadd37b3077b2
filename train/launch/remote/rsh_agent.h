/*
 * rsh_agent.h - "werkbank-launch _ssh [--ssh=COMMAND] HOSTFILE HOST COMMAND...", called by mpirun.
 *
 * Replaces this process by ssh to HOST, at the port that rank_launch_write_hostfile() wrote for it. ssh
 * never prompts, and its connection attempt times out. mpirun_encode_word() has encoded --ssh and
 * HOSTFILE. All words after HOST are passed to the remote shell unchanged.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_REMOTE_RSH_AGENT_H
#define WERKBANK_TRAIN_LAUNCH_REMOTE_RSH_AGENT_H

#include "share/base/err.h"
#include "train/launch/remote/command_line.h"

#define SSH_CONNECT_TIMEOUT_S 15

/*
 * Index of HOST in argv, argc if there is none. Only the words before HOST may be options of ours.
 */
int rsh_agent_host_index(int argc, const char *const *argv);

/* Append the words of ssh, our options, then rest: HOST and the remote command, ends with NULL. */
int rsh_agent_build_line(struct command_line *c, const char *ssh, const char *hostfile,
			 const char *const *rest, struct err *e);

/* Run it in this process; returns only on failure. */
int rsh_agent_exec(const char *ssh, const char *hostfile, const char *const *rest, struct err *e);

#endif
