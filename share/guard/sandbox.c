/*
 * sandbox.c - the rules of Landlock; see sandbox.h
 *
 * Landlock has no functions in the C library, and older kernel headers lack its later rights, so
 * its three system calls and its constants stand here, as the kernel's documentation
 * (userspace-api/landlock) defines them.
 */
#include "share/guard/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "share/base/util.h"

/* ---- the kernel's interface ---- */

#define LANDLOCK_CREATE_RULESET_NR 444 /* the same number on every architecture */
#define LANDLOCK_ADD_RULE_NR	   445
#define LANDLOCK_RESTRICT_SELF_NR  446
#define LANDLOCK_VERSION_FLAG	   1
#define LANDLOCK_PATH_RULE	   1

enum {
	LL_EXECUTE = 1 << 0,
	LL_WRITE_FILE = 1 << 1,
	LL_READ_FILE = 1 << 2,
	LL_READ_DIR = 1 << 3,
	LL_MAKE_DEVICES_AND_MORE = 0x1ff0,  /* bits 4 to 12: remove and make entries of all kinds */
	LL_MAKE_DEVICES = 1 << 6 | 1 << 11, /* character and block devices */
	LL_REFER = 1 << 13,		    /* version 2: rename between folders */
	LL_TRUNCATE = 1 << 14,		    /* version 3 */
	LL_IOCTL_DEVICE = 1 << 15,	    /* version 5 */
	LL_TCP = 1 << 0 | 1 << 1,	    /* version 4: bind, connect */
	LL_SCOPES = 1 << 0 | 1 << 1,	    /* version 6: abstract sockets, signals */
	LL_RIGHTS_OF_FILES =
		LL_EXECUTE | LL_WRITE_FILE | LL_READ_FILE | LL_TRUNCATE | LL_IOCTL_DEVICE
};

struct landlock_attributes {
	uint64_t files, network, scopes;
};

struct landlock_path {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

int sandbox_landlock_version(void)
{
	long version = syscall(LANDLOCK_CREATE_RULESET_NR, NULL, 0, LANDLOCK_VERSION_FLAG);

	return version > 0 ? (int)version : 0;
}

bool sandbox_is_off(void)
{
	const char *value = getenv("WERKBANK_SANDBOX");

	return value && !strcmp(value, "off");
}

/* ---- rules ---- */

void sandbox_begin(struct sandbox *s)
{
	const int version = sandbox_landlock_version();
	struct landlock_attributes a = { 0 };
	size_t bytes = sizeof(a.files);

	*s = (struct sandbox){ .ruleset = -1 };
	/* version 1 refuses every rename between folders, which commands need */
	if (sandbox_is_off() || version < 2)
		return;
	s->reads = LL_READ_FILE | LL_READ_DIR;
	s->writes = s->reads | LL_WRITE_FILE | (LL_MAKE_DEVICES_AND_MORE & ~LL_MAKE_DEVICES) |
		    LL_REFER | (version >= 3 ? LL_TRUNCATE : 0);
	a.files = s->writes | LL_EXECUTE | LL_MAKE_DEVICES | (version >= 5 ? LL_IOCTL_DEVICE : 0);
	if (version >= 4) {
		a.network = LL_TCP;
		bytes = offsetof(struct landlock_attributes, scopes);
	}
	if (version >= 6) {
		a.scopes = LL_SCOPES;
		bytes = sizeof(a);
	}
	s->ruleset = (int)syscall(LANDLOCK_CREATE_RULESET_NR, &a, bytes, 0);
}

static void sandbox_give_up(struct sandbox *s)
{
	if (s->ruleset >= 0)
		close(s->ruleset);
	s->ruleset = -1;
}

/* Opening failed for a reason that does not lie in the path. */
static bool is_lack_of_resources(int number)
{
	return number == EMFILE || number == ENFILE || number == ENOMEM;
}

/* Returns false if there is no such path. */
static bool sandbox_add_rule(struct sandbox *s, const char *path, uint64_t rights)
{
	struct landlock_path rule = { .parent = open(path, O_PATH | O_CLOEXEC) };
	struct stat st;

	if (rule.parent < 0) {
		const int number = errno;

		if (is_lack_of_resources(number))
			sandbox_give_up(s);
		errno = number;
		return false;
	}
	rule.allowed = rights;
	if (fstat(rule.parent, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed &= LL_RIGHTS_OF_FILES;
	/* EBADFD: a pipe or socket, which Landlock does not limit */
	if (syscall(LANDLOCK_ADD_RULE_NR, s->ruleset, LANDLOCK_PATH_RULE, &rule, 0) != 0 &&
	    errno != EBADFD)
		sandbox_give_up(s);
	close(rule.parent);
	return true;
}

void sandbox_allow_read(struct sandbox *s, const char *path)
{
	if (s->ruleset >= 0 && path && *path)
		sandbox_add_rule(s, path, s->reads);
}

/* The entry of a folder and what it leads to. False: it is a link to what another user owns, or leads nowhere. */
static bool stat_entry(DIR *d, const char *name, struct stat *link, struct stat *target)
{
	return !fstatat(dirfd(d), name, link, AT_SYMLINK_NOFOLLOW) &&
	       !fstatat(dirfd(d), name, target, 0) && link->st_uid == target->st_uid;
}

void sandbox_allow_folder(struct sandbox *s, const char *folder)
{
	DIR *d = s->ruleset >= 0 && folder ? opendir(folder) : NULL;
	struct dirent *entry;

	if (!d && s->ruleset >= 0 && folder && is_lack_of_resources(errno))
		sandbox_give_up(s);
	sandbox_allow_read(s, folder);
	while (d && (entry = readdir(d)) != NULL) {
		char path[PATH_MAX];
		struct stat link, target;

		if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
			continue;
		if (!stat_entry(d, entry->d_name, &link, &target) || !S_ISLNK(link.st_mode) ||
		    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >= PATH_MAX)
			continue;
		if (S_ISREG(target.st_mode) || S_ISDIR(target.st_mode))
			sandbox_allow_read(s, path);
	}
	if (d)
		closedir(d);
}

void sandbox_allow_neighbours(struct sandbox *s, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	char folder[PATH_MAX] = ".";
	struct stat st;
	struct dirent *entry;
	DIR *d;

	if (s->ruleset < 0 || !path || stat(path, &st) || !S_ISREG(st.st_mode) ||
	    (slash && snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - path), path) >=
			      (int)sizeof(folder)))
		return;
	d = opendir(folder);
	if (!d && is_lack_of_resources(errno))
		sandbox_give_up(s);
	while (d && s->ruleset >= 0 && (entry = readdir(d)) != NULL) {
		char file[PATH_MAX];
		struct stat link;

		if (*entry->d_name != '.' &&
		    snprintf(file, sizeof(file), "%s/%s", folder, entry->d_name) < PATH_MAX &&
		    stat_entry(d, entry->d_name, &link, &st) && S_ISREG(st.st_mode))
			sandbox_allow_read(s, file);
	}
	if (d && s->ruleset >= 0)
		sandbox_add_rule(s, folder, LL_READ_DIR);
	if (d)
		closedir(d);
}

void sandbox_allow_write(struct sandbox *s, const char *folder)
{
	char path[PATH_MAX];
	size_t n = folder ? strlen(folder) : 0;

	if (s->ruleset < 0 || n == 0 || n >= sizeof(path))
		return;
	memcpy(path, folder, n + 1);
	while (!sandbox_add_rule(s, path, s->writes) && errno == ENOENT) {
		char *slash = strrchr(path, '/');

		if (!slash && !strcmp(path, "."))
			return;
		if (!slash)
			memcpy(path, ".", 2);
		else
			slash[slash == path] = '\0';
	}
}

void sandbox_allow_system(struct sandbox *s)
{
	static const char *const read[] = {
		"/usr",		  "/lib",
		"/lib64",	  "/nix/store",
		"/gnu/store",	  "/etc/ld.so.cache",
		"/etc/localtime", "/proc/self",
		"/proc/cpuinfo",  "/proc/meminfo",
		"/proc/stat",	  "/proc/loadavg",
		"/proc/sys",	  "/sys/devices/system",
		"/sys/fs/cgroup", "/dev/zero",
		"/dev/random",	  "/dev/urandom",
	};
	static const char *const written[] = { "/dev/null", "/dev/full", "/dev/tty" };

	for (size_t i = 0; i < ARRAY_LEN(read); i++)
		sandbox_allow_read(s, read[i]);
	for (size_t i = 0; i < ARRAY_LEN(written); i++)
		if (s->ruleset >= 0)
			sandbox_add_rule(s, written[i], s->writes);
}

bool sandbox_enter(struct sandbox *s, enum sandbox_calls calls)
{
	bool is_limited = false;

	if (sandbox_is_off())
		return false;
	/* the kernel asks for this first: no program can bring the rights back */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
		if (s->ruleset >= 0)
			is_limited = syscall(LANDLOCK_RESTRICT_SELF_NR, s->ruleset, 0) == 0;
		is_limited |= sandbox_limit_calls(calls);
	}
	sandbox_give_up(s);
	return is_limited;
}

bool sandbox_enter_with_gpu(void)
{
	struct sandbox s = { .ruleset = -1 };

	return sandbox_enter(&s, SANDBOX_GPU);
}
