/*
 * sandbox_probe.c - preloaded into a program by sandbox.sh: while it unpacks, when it opens a manifest, before a client and at its end,
 * from inside its sandbox, it tries what no reader of foreign bytes needs, and prints on standard error what the kernel says to it.
 *
 *	$SANDBOX_PROBE		the path of a file to create, outside of what the command names
 *	$SANDBOX_READABLE	a file that the command may read, and must not change
 *	$SANDBOX_LANDLOCK	the latest version of Landlock that the program may know, as an older kernel
 */
#undef _FORTIFY_SOURCE /* it would define open() inline */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_PATH */
#endif
#include <archive.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

static void say(const char *process, const char *what, int result)
{
	char line[200];
	const int n = snprintf(line, sizeof(line), "probe: %s: %s: %s\n", process, what,
			       result < 0 ? "refused" : "ALLOWED");

	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

/* The same by errno: a call that fails for another reason was not refused. */
static void say_errno(const char *process, const char *what, long result)
{
	say(process, what, result < 0 && (errno == EPERM || errno == EACCES) ? -1 : 0);
}

/* openat2() has its flags in memory, which seccomp does not see. */
static long probe_openat2(const char *path)
{
	struct {
		uint64_t flags, mode, resolve;
	} how = { .flags = O_ACCMODE | O_TRUNC | O_CLOEXEC };
	const long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	if (fd < 0 && errno == ENOSYS)
		errno = EPERM;
	return fd;
}

/* Files of the user besides those that the command names, by calls that Landlock does not limit. */
static void probe_victim(const char *process, const char *path)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_NOW } };
	char victim[4096];

	snprintf(victim, sizeof(victim), "%s.victim", path);
	say_errno(process, "chmod", chmod(victim, 0666));
	say_errno(process, "fchmodat", fchmodat(AT_FDCWD, victim, 0666, 0));
	say_errno(process, "fchmod", fchmod(STDIN_FILENO, 0666));
	say_errno(process, "chown", chown(victim, getuid(), getgid()));
	say_errno(process, "setxattr", setxattr(victim, "user.werkbank", "x", 1, 0));
	say_errno(process, "utimes", utimensat(AT_FDCWD, victim, times, 0));
	say_errno(process, "truncate", truncate(victim, 0));
	/* access mode 3 asks neither to read nor to write: before version 3, Landlock does not refuse it */
	say(process, "open for ioctl", open(victim, O_ACCMODE | O_CLOEXEC));
	say(process, "truncate by open for ioctl", open(victim, O_ACCMODE | O_TRUNC | O_CLOEXEC));
	say_errno(process, "openat2", probe_openat2(victim));
	if (getenv("SANDBOX_READABLE"))
		say(process, "truncate what may be read",
		    open(getenv("SANDBOX_READABLE"), O_RDONLY | O_TRUNC | O_CLOEXEC));
}

/* The folder of the output: $SANDBOX_HOME. */
static void probe_home(const char *process)
{
	const char *home = getenv("SANDBOX_HOME");
	char path[4096];
	int fd;

	if (!home)
		return;
	snprintf(path, sizeof(path), "%s/.ssh/id_rsa", home);
	say(process, "read ~/.ssh/id_rsa", open(path, O_RDONLY | O_CLOEXEC));
	snprintf(path, sizeof(path), "%s/.bashrc", home);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	say(process, "append to ~/.bashrc", fd < 0 ? -1 : (int)write(fd, "#\n", 2));
	snprintf(path, sizeof(path), "%s/new", home);
	say(process, "create a file at home", open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	say(process, "list the home folder", open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	snprintf(path, sizeof(path), "%s/.bashrc", home);
	if (fd < 0)
		say(process, "remove ~/.bashrc", unlink(path));
}

static void probe_processes(const char *process)
{
	struct rlimit limit;
	int flags = 0, own = getppid();

	say_errno(process, "owner of signals", fcntl(STDIN_FILENO, F_SETOWN, getppid()));
	say_errno(process, "signal of input", fcntl(STDIN_FILENO, F_SETSIG, SIGIO));
	say_errno(process, "owner by ioctl", ioctl(STDIN_FILENO, FIOSETOWN, &own));
	say_errno(process, "flags of a file", ioctl(STDIN_FILENO, FS_IOC_SETFLAGS, &flags));
	say_errno(process, "shared memory", shmget(getppid(), 1, 0));
	say_errno(process, "message queue", msgget(getppid(), 0));
	say_errno(process, "kill", kill(getppid(), 0));
	say_errno(process, "kill all", kill(-getpgrp(), 0));
	say_errno(process, "tgkill", syscall(SYS_tgkill, getppid(), getppid(), 0));
	say_errno(process, "prlimit", prlimit(getppid(), RLIMIT_CORE, NULL, &limit));
	say_errno(process, "setpriority", setpriority(PRIO_PROCESS, (id_t)getppid(), 0));
	say_errno(process, "sched_setaffinity", syscall(SYS_sched_setaffinity, getppid(), 0, NULL));
	say_errno(process, "ptrace", ptrace(PTRACE_SEIZE, getppid(), NULL, NULL));
	say_errno(process, "type into a terminal", ioctl(STDIN_FILENO, TIOCSTI, "x"));
	say_errno(process, "console of Linux", ioctl(STDIN_FILENO, TIOCLINUX, "x"));
}

static void probe(const char *process)
{
	const char *path = getenv("SANDBOX_PROBE");
	char *const arguments[] = { (char *)"true", NULL };
	char *const none[] = { NULL };

	if (!path)
		return;
	say(process, "read /etc/passwd", open("/etc/passwd", O_RDONLY | O_CLOEXEC));
	say(process, "create a file", open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	say(process, "remove a file", unlink(path));
	probe_victim(process, path);
	probe_home(process);
	probe_processes(process);
	say(process, "internet socket", socket(AF_INET, SOCK_STREAM, 0));
	say(process, "local socket", socket(AF_UNIX, SOCK_STREAM, 0));
	if (execve("/bin/true", arguments, none) < 0)
		say(process, "start a program", -1);
}

/* The program's own calls of Landlock. The version is asked for with flag 1. */
long syscall(long number, ...)
{
	long (*hidden)(long, ...) = (__typeof__(hidden))dlsym(RTLD_NEXT, "syscall");
	const char *latest = getenv("SANDBOX_LANDLOCK");
	long a[6], result;
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	result = hidden(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_landlock_create_ruleset && a[2] == 1 && latest && result > atol(latest))
		result = atol(latest);
	return result;
}

/* libarchive's function, which the unpacker calls for each member; the first call tries. */
int archive_read_next_header(struct archive *a, struct archive_entry **entry)
{
	int (*next)(struct archive *, struct archive_entry **) =
		(__typeof__(next))dlsym(RTLD_NEXT, "archive_read_next_header");
	static bool is_tried;

	if (!is_tried)
		probe("unpacker");
	is_tried = true;
	return next(a, entry);
}

static bool is_manifest(const char *path)
{
	const size_t n = strlen(path);

	return n > 9 && !strcmp(path + n - 9, ".manifest");
}

/* The reader of a manifest opens it in its sandbox; the rules of the sandbox have looked at its path before. */
int open(const char *path, int flags, ...)
{
	int (*hidden)(const char *, int, ...) = (__typeof__(hidden))dlsym(RTLD_NEXT, "open");
	static bool is_tried;
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if (is_manifest(path) && !(flags & O_PATH) && !is_tried) {
		is_tried = true;
		probe("reader of the manifest");
	}
	return hidden(path, flags, mode);
}

int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags)
{
	return open(path, flags);
}

/* The listener of a server; the first call tries. */
int accept4(int fd, struct sockaddr *address, socklen_t *n, int flags)
{
	int (*hidden)(int, struct sockaddr *, socklen_t *, int) =
		(__typeof__(hidden))dlsym(RTLD_NEXT, "accept4");
	static bool is_tried;

	if (!is_tried)
		probe("listener");
	is_tried = true;
	return hidden(fd, address, n, flags);
}

__attribute__((destructor)) static void probe_at_exit(void)
{
	const char *off = getenv("WERKBANK_SANDBOX");
	/* a process without a sandbox: the one that holds the output, and fetch, which needs the network */
	const bool is_outside = !off && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0;

	if (!is_outside)
		probe("program");
}
