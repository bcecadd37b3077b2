/* mpirun_output.c - see mpirun_output.h */
#include "train/launch/run/mpirun_output.h"

#include <stdio.h>
#include <string.h>

/* "mpirun noticed that process rank 1 with PID 4711 on node b exited on signal 9 (Killed)." */
static bool read_killed_rank(struct mpirun_failure *f, const char *line)
{
	const char *at = strstr(line, "noticed that process rank ");

	return at && sscanf(at,
			    "noticed that process rank %d with PID %*d on node %127s exited on "
			    "signal %d",
			    &f->rank, f->host, &f->signal) >= 2;
}

/* "  Remote daemon: [[57384,0],1] on node b": its daemon was lost, maybe with its host. */
static bool read_lost_daemon(struct mpirun_failure *f, const char *line)
{
	const char *at = strstr(line, "Remote daemon:");

	at = at ? strstr(at, " on node ") : NULL;
	f->is_host_lost = at && sscanf(at, " on node %127s", f->host) == 1;
	return f->is_host_lost;
}

/* "  Process name: [[57384,1],2]": the first rank that ended with a status other than 0. */
static bool read_failed_rank(struct mpirun_failure *f, const char *line)
{
	const char *at = strstr(line, "Process name: [["), *rank = at ? strstr(at, "],") : NULL;

	return rank && sscanf(rank, "],%d", &f->rank) == 1 && f->rank >= 0;
}

/* "srun: error: h1: task 0: Segmentation fault", "srun: error: h1: tasks 0-3: Killed", "...: task 1: Out Of Memory" */
static bool read_failed_task(struct mpirun_failure *f, const char *line)
{
	const char *at = strstr(line, "srun: error: ");

	f->is_out_of_memory = at && strstr(at, "Out Of Memory");
	return at && (sscanf(at, "srun: error: %127[^:]: task %d:", f->host, &f->rank) == 2 ||
		      sscanf(at, "srun: error: %127[^:]: tasks %d", f->host, &f->rank) == 2);
}

/* "srun: error: Node failure on h2" */
static bool read_lost_node(struct mpirun_failure *f, const char *line)
{
	const char *at = strstr(line, "srun: error: Node failure on ");

	f->is_host_lost = at && sscanf(at, "srun: error: Node failure on %127s", f->host) == 1;
	return f->is_host_lost;
}

void mpirun_read_line(struct mpirun_failure *f, const char *line)
{
	struct mpirun_failure found = { .is_known = true, .rank = -1 };

	if (f->is_host_lost)
		return;
	if (read_lost_daemon(&found, line) || read_lost_node(&found, line) ||
	    (!f->is_known && (read_killed_rank(&found, line) || read_failed_rank(&found, line) ||
			      read_failed_task(&found, line))))
		*f = found;
}

void mpirun_describe_rank(const struct mpirun_failure *f, char *text, size_t room)
{
	text[0] = 0;
	if (f->is_known && f->rank >= 0)
		snprintf(text, room, " of rank %d%s%s", f->rank, f->host[0] ? " on " : "", f->host);
}
