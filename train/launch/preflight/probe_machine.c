/* probe_machine.c - facts about cores, memory, GPUs and limits of this host; see probe.h */
#include <glob.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "share/base/cgroup.h"
#include "share/base/cores.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "train/common/leftover.h"
#include "train/launch/preflight/probe.h"

static void put_memory_facts(struct json_writer *w)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[160];
	double total = NAN, available = NAN;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemTotal: %lf kB", &total) != 1)
			sscanf(line, "MemAvailable: %lf kB", &available);
	if (f)
		fclose(f);
	total *= 1024;
	available *= 1024;
	cgroup_limit_memory(cgroup_proc_root(), cgroup_sys_root(), &total, &available);
	if (!isnan(total))
		json_put_int(w, "memory", (int64_t)total);
	if (!isnan(available))
		json_put_int(w, "memory_free", (int64_t)available);
}

int64_t probe_gpu_count(void)
{
	glob_t found = { 0 };
	size_t n = 0;

	if (!glob("/proc/driver/nvidia/gpus/*", 0, NULL, &found))
		n = found.gl_pathc;
	globfree(&found);
	if (!n && !glob("/dev/nvidia[0-9]*", 0, NULL, &found))
		n = found.gl_pathc;
	globfree(&found);
	return (int64_t)n;
}

static void put_gpu_facts(struct json_writer *w)
{
	char driver[200];

	json_put_int(w, "gpus", probe_gpu_count());
	if (file_first_line("/proc/driver/nvidia/version", driver, sizeof(driver)))
		json_put_str(w, "gpu_driver", driver);
}

/* Set *kills from the last line KillUserProcesses=… of a file, if there is one. */
static void read_logind_conf(const char *path, bool *kills)
{
	FILE *f = fopen(path, "re");
	char line[400], value[8];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " KillUserProcesses = %7s", value) == 1 ||
		    sscanf(line, " KillUserProcesses=%7s", value) == 1)
			*kills = !strcmp(value, "yes") || !strcmp(value, "true") ||
				 !strcmp(value, "1");
	if (f)
		fclose(f);
}

/* Does systemd-logind kill the processes of an ssh session when it ends? */
static bool logind_kills_sessions(void)
{
	static const char *const patterns[] = { "/usr/lib/systemd/logind.conf",
						"/etc/systemd/logind.conf",
						"/usr/lib/systemd/logind.conf.d/*.conf",
						"/etc/systemd/logind.conf.d/*.conf",
						"/run/systemd/logind.conf.d/*.conf" };
	const struct passwd *user = getpwuid(geteuid());
	char lingers[300];
	bool kills = false;

	for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
		glob_t found = { 0 };

		if (!glob(patterns[i], 0, NULL, &found))
			for (size_t k = 0; k < found.gl_pathc; k++)
				read_logind_conf(found.gl_pathv[k], &kills);
		globfree(&found);
	}
	if (!kills || !user || user->pw_uid == 0)
		return false;
	snprintf(lingers, sizeof(lingers), "/var/lib/systemd/linger/%s", user->pw_name);
	return access(lingers, F_OK) != 0;
}

static void put_limit_facts(struct json_writer *w)
{
	struct rlimit limit;
	glob_t found = { 0 };

	/* only RDMA locks memory */
	if (!glob("/sys/class/infiniband/*", 0, NULL, &found) &&
	    !getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur != RLIM_INFINITY)
		json_put_int(w, "lockable", (int64_t)limit.rlim_cur);
	globfree(&found);
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur != RLIM_INFINITY)
		json_put_int(w, "open_files", (int64_t)limit.rlim_cur);
	json_put_bool(w, "session_kills", logind_kills_sessions());
}

void probe_write_machine(struct json_writer *w)
{
	char boot[PROCESS_BOOT_ID];

	if (process_boot_id(boot))
		json_put_str(w, "boot", boot);
	json_put_int(w, "cores", cores_count());
	put_memory_facts(w);
	put_gpu_facts(w);
	put_limit_facts(w);
}
