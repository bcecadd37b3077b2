/* sandbox_calls.c - the system calls that a sandbox leaves, by libseccomp; see sandbox.h */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "share/guard/sandbox.h"

#ifdef HAVE_SECCOMP

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "share/base/util.h"

/* What reading open files and computing with their bytes needs: all that a SANDBOX_READER has. */
static const char *const calls_of_readers[] = {
	/* clang-format off */
	"access", "brk", "clock_getres", "clock_gettime", "clock_nanosleep", "close", "exit",
	"exit_group", "faccessat", "faccessat2", "fadvise64", "fstat", "fstat64",
	"fstatfs", "futex", "futex_time64", "getcpu", "getegid", "geteuid", "getgid", "getpid",
	"getrandom", "getrusage", "gettid", "gettimeofday", "getuid", "_llseek", "lseek",
	"lstat", "madvise", "membarrier", "mmap", "mmap2", "mprotect", "mremap", "munmap",
	"nanosleep", "newfstatat", "poll", "ppoll", "pread64", "preadv", "read", "readlink",
	"readlinkat", "readv", "restart_syscall", "rseq", "rt_sigaction", "rt_sigprocmask",
	"rt_sigreturn", "sched_getaffinity", "sched_yield", "set_robust_list", "sigaltstack",
	"stat", "statx", "sysinfo", "time", "uname", "write", "writev",
	/* clang-format on */
};

/* … and what a server needs besides: its sockets are open before. */
static const char *const calls_of_servers[] = { "accept", "accept4", "recvmsg", "shutdown" };

/* What no command needs once its input is named, and the driver of a GPU does not need. */
static const char *const calls_of_attackers[] = {
	/* clang-format off */
	/* the memory of other processes, namespaces */
	"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "pidfd_send_signal",
	"setns", "unshare",
	/* calls that go around the limits of others */
	"io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "open_by_handle_at",
	"memfd_secret", "modify_ldt",
	/* mode, owner, times, attributes and length of files by name: Landlock does not know these, but for truncate from
	   version 3 on. A driver makes its own files, and may set their modes. */
	"chown", "fchown", "fchownat", "lchown", "chown32", "fchown32", "lchown32", "utime",
	"utimes", "futimesat", "utimensat", "utimensat_time64", "setxattr", "lsetxattr",
	"fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr",
	"removexattrat", "truncate", "truncate64", "file_setattr",
	/* what processes of one user share by number or name, outside of the file system */
	"shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop",
	"semtimedop", "semtimedop_time64", "semctl", "ipc", "mq_open", "mq_unlink",
	/* administration */
	"acct", "add_key", "adjtimex", "chroot", "clock_adjtime", "clock_settime",
	"create_module", "delete_module", "finit_module", "fsconfig", "fsmount", "fsopen",
	"fspick", "init_module", "ioperm", "iopl", "kexec_file_load", "kexec_load", "keyctl",
	"lookup_dcookie", "mknod", "mknodat", "mount", "mount_setattr", "move_mount",
	"nfsservctl", "open_tree", "pivot_root", "quotactl", "reboot", "request_key",
	"setdomainname", "setgid", "setgroups", "sethostname", "setregid", "setresgid",
	"setresuid", "setreuid", "settimeofday", "setuid", "stime", "swapoff", "swapon", "syslog",
	"umount", "umount2", "uselib", "vhangup",
	/* clang-format on */
};

/* What the driver of a GPU may need, and no command besides. */
static const char *const calls_of_drivers[] = {
	/* clang-format off */
	"chmod", "fchmod", "fchmodat", "fchmodat2",
	/* other processes: signals, priorities */
	"kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open", "setpriority",
	"sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler", "ioprio_set",
	"migrate_pages", "move_pages", "setpgid", "setsid",
	"socket", "connect", "bind", "listen", "accept", "accept4", "socketcall",
	"execve", "execveat", "process_madvise", "kcmp", "userfaultfd", "perf_event_open",
	"name_to_handle_at", "remap_file_pages", "vmsplice", "personality",
	/* clang-format on */
};

/* A name that this architecture or this libseccomp does not have is no error. */
static int calls_add_names(scmp_filter_ctx filter, uint32_t action, const char *const *names,
			   size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		const int number = seccomp_syscall_resolve_name(names[i]);

		if (number != __NR_SCMP_ERROR)
			rc = seccomp_rule_add(filter, action, number, 0);
	}
	return rc;
}

/*
 * Files may be opened for reading; which ones is up to Landlock. Descriptors keep their owner, to whom the
 * kernel would send signals. Signals: to itself, by abort().
 */
static int calls_allow_reading(scmp_filter_ctx filter)
{
	static const uint64_t orders[] = { F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,
					   F_SETFD, F_GETFL,	     F_SETFL };
	const uint64_t writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
	const struct scmp_arg_cmp own = {
		.arg = 0, .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)getpid(), .datum_b = 0
	};
	int rc = calls_add_names(filter, SCMP_ACT_ALLOW, calls_of_readers,
				 ARRAY_LEN(calls_of_readers));

	if (!rc)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				      SCMP_A2(SCMP_CMP_MASKED_EQ, writing, 0));
	if (!rc && SCMP_SYS(open) > 0)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
				      SCMP_A1(SCMP_CMP_MASKED_EQ, writing, 0));
	for (size_t i = 0; i < ARRAY_LEN(orders) && !rc; i++)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				      SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, orders[i]));
	if (!rc)
		rc = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, &own);
	return rc;
}

/* Refuse a call whose argument number at is one of n values; the kernel reads its low 32 bits. */
static int calls_refuse_values(scmp_filter_ctx filter, int call, unsigned at,
			       const uint64_t *values, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		const struct scmp_arg_cmp is_value = { .arg = at,
						       .op = SCMP_CMP_MASKED_EQ,
						       .datum_a = 0xffffffff,
						       .datum_b = values[i] };

		rc = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), call, 1, &is_value);
	}
	return rc;
}

/* Sockets of this machine's own kinds are left to the driver of a GPU: all others are network. */
static int calls_refuse_network(scmp_filter_ctx filter)
{
	enum { FAMILIES = 64 }; /* more than any kernel has */
	uint64_t others[FAMILIES];
	size_t n = 0;

	for (uint64_t family = 0; family < FAMILIES; family++)
		if (family != AF_UNIX && family != AF_NETLINK)
			others[n++] = family;
	return calls_refuse_values(filter, SCMP_SYS(socket), 0, others, n);
}

/*
 * What types into the user's terminal, changes its line discipline, or takes its output; what changes the
 * attributes of a file that is open for reading; what lets the kernel send a signal to another process.
 */
static int calls_refuse_requests(scmp_filter_ctx filter)
{
	static const uint64_t requests[] = {
		TIOCSTI,	 TIOCLINUX,	    TIOCSETD,  TIOCCONS,  TIOCSCTTY, TIOCSPGRP,
		FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FIOSETOWN, SIOCSPGRP, FIOASYNC,
	};
	static const uint64_t orders[] = { F_SETOWN, F_SETOWN_EX, F_SETSIG };
	int rc = calls_refuse_values(filter, SCMP_SYS(ioctl), 1, requests, ARRAY_LEN(requests));

	return rc ? rc : calls_refuse_values(filter, SCMP_SYS(fcntl), 1, orders, ARRAY_LEN(orders));
}

/*
 * Landlock refuses to truncate from version 3 on; before, a file that may be read can be truncated as it is
 * opened, and any file by access mode 3, which asks neither to read nor to write. openat2() has its flags out of
 * our sight, and the C library does without it.
 */
static int calls_refuse_opening(scmp_filter_ctx filter)
{
	const uint32_t refused = SCMP_ACT_ERRNO(EPERM);
	const uint64_t mode = O_ACCMODE, truncates = O_ACCMODE | O_TRUNC;
	int rc = seccomp_rule_add(filter, refused, SCMP_SYS(openat), 1,
				  SCMP_A2(SCMP_CMP_MASKED_EQ, mode, O_ACCMODE));

	if (!rc)
		rc = seccomp_rule_add(filter, refused, SCMP_SYS(openat), 1,
				      SCMP_A2(SCMP_CMP_MASKED_EQ, truncates, O_TRUNC));
	if (!rc && SCMP_SYS(open) > 0)
		rc = seccomp_rule_add(filter, refused, SCMP_SYS(open), 1,
				      SCMP_A1(SCMP_CMP_MASKED_EQ, mode, O_ACCMODE));
	if (!rc && SCMP_SYS(open) > 0)
		rc = seccomp_rule_add(filter, refused, SCMP_SYS(open), 1,
				      SCMP_A1(SCMP_CMP_MASKED_EQ, truncates, O_TRUNC));
	if (!rc && seccomp_syscall_resolve_name("openat2") > 0)
		rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS),
				      seccomp_syscall_resolve_name("openat2"), 0);
	return rc;
}

/* Signals to a thread of this process stay, for abort(); limits of this process, for new threads. */
static int calls_refuse_other_processes(scmp_filter_ctx filter)
{
	const uint32_t refused = SCMP_ACT_ERRNO(EPERM);
	struct scmp_arg_cmp others = {
		.arg = 0, .op = SCMP_CMP_NE, .datum_a = (scmp_datum_t)getpid(), .datum_b = 0
	};
	int rc = seccomp_rule_add_array(filter, refused, SCMP_SYS(tgkill), 1, &others);

	others.datum_a = 0; /* prlimit64: of this process */
	return rc ? rc : seccomp_rule_add_array(filter, refused, SCMP_SYS(prlimit64), 1, &others);
}

/* Threads and children may be started, without namespaces. clone3 has its flags out of our sight. */
static int calls_refuse_programs(scmp_filter_ctx filter, bool has_gpu)
{
	static const uint64_t namespaces[] = { CLONE_NEWNS,  CLONE_NEWUSER, CLONE_NEWPID,
					       CLONE_NEWNET, CLONE_NEWIPC,  CLONE_NEWUTS };
	const uint32_t refused = SCMP_ACT_ERRNO(EPERM);
	int rc =
		calls_add_names(filter, refused, calls_of_attackers, ARRAY_LEN(calls_of_attackers));

	if (!rc)
		rc = has_gpu ? calls_refuse_network(filter)
			     : calls_add_names(filter, refused, calls_of_drivers,
					       ARRAY_LEN(calls_of_drivers));
	for (size_t i = 0; i < ARRAY_LEN(namespaces) && !rc; i++)
		rc = seccomp_rule_add(filter, refused, SCMP_SYS(clone), 1,
				      SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i]));
	if (!rc) /* the C library then uses clone */
		rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (!rc)
		rc = calls_refuse_requests(filter);
	if (!rc && !has_gpu)
		rc = calls_refuse_opening(filter);
	return rc || has_gpu ? rc : calls_refuse_other_processes(filter);
}

bool sandbox_limit_calls(enum sandbox_calls calls)
{
	const bool is_server = calls == SANDBOX_SERVER,
		   is_reader = calls == SANDBOX_READER || is_server;
	scmp_filter_ctx filter;
	int rc;

	if (!sandbox_has_seccomp())
		return false;
	filter = seccomp_init(is_reader ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW);
	if (!filter)
		return false;
	rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!rc)
		rc = is_reader ? calls_allow_reading(filter)
			       : calls_refuse_programs(filter, calls == SANDBOX_GPU);
	if (!rc && is_server)
		rc = calls_add_names(filter, SCMP_ACT_ALLOW, calls_of_servers,
				     ARRAY_LEN(calls_of_servers));
	if (!rc)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	return !rc;
}

bool sandbox_has_seccomp(void)
{
	return seccomp_api_get() > 0;
}

#else

bool sandbox_limit_calls(enum sandbox_calls calls)
{
	(void)calls;
	return false;
}

bool sandbox_has_seccomp(void)
{
	return false;
}

#endif
