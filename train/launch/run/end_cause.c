/* end_cause.c - see end_cause.h */
#include "train/launch/run/end_cause.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/launch/remote/remote.h"

#define QUESTION_S 5.0 /* slurmctld may not answer */

bool end_cause_is_preempted(void)
{
	const char *const job = getenv("SLURM_JOB_ID");
	const char *const argv[] = { "scontrol", "-o", "show", "job", job, NULL };
	struct remote_job asked = { .argv = argv };
	struct err ignored = { 0 };
	const char *at;
	bool is_preempted;

	if (!job || !*job)
		return false;
	(void)remote_run_here(&asked, 1, QUESTION_S, &ignored);
	/* "PreemptTime=None" or "PreemptTime=2026-11-27T17:00:00" */
	at = asked.status == 0 ? strstr(buf_text(&asked.out), "PreemptTime=") : NULL;
	is_preempted = at && at[strlen("PreemptTime=")] >= '0' && at[strlen("PreemptTime=")] <= '9';
	remote_free(&asked, 1);
	return is_preempted;
}

/* The number of the line "oom_kill N"; -1: there is none. */
static int64_t read_memory_kills(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[200];
	long long n = -1, found;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "oom_kill %lld", &found) == 1)
			n = found;
	if (f)
		fclose(f);
	return n;
}

int64_t end_cause_memory_kills(const char *root)
{
	char path[PATH_MAX], line[PATH_MAX];
	int64_t n = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	f = fopen(path, "re");
	/* "0::/user.slice" of cgroup 2, "9:memory:/slurm/job_1" of cgroup 1 */
	while (f && n < 0 && fgets(line, sizeof(line), f)) {
		char *at = strchr(line, ':'), *folder = at ? strchr(at + 1, ':') : NULL;

		if (!folder)
			continue;
		*folder++ = 0;
		folder[strcspn(folder, "\n")] = 0;
		if (strlen(root) + strlen(folder) > sizeof(path) - 100)
			continue;
		if (!at[1])
			snprintf(path, sizeof(path), "%.1000s/sys/fs/cgroup%.3000s/memory.events",
				 root, folder);
		else if (!strcmp(at + 1, "memory"))
			snprintf(path, sizeof(path),
				 "%.1000s/sys/fs/cgroup/memory%.3000s/memory.oom_control", root,
				 folder);
		else
			continue;
		n = read_memory_kills(path);
	}
	if (f)
		fclose(f);
	return n;
}
