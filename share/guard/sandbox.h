/*
 * sandbox.h - takes from this process what it does not need before it reads foreign bytes.
 *
 *	struct sandbox s;
 *	sandbox_begin(&s);
 *	sandbox_allow_system(&s);
 *	sandbox_allow_read(&s, model_folder);
 *	sandbox_allow_write(&s, output_folder);
 *	sandbox_enter(&s, SANDBOX_PROGRAM);		there is no way back
 *
 * Landlock limits the files that can be opened, and TCP. It holds for the calling thread and for
 * the threads and processes that this thread starts afterwards, so call it before others start.
 * Seccomp limits the system calls of all threads. Files that are open already stay usable.
 *
 * On a kernel or in a build without one of them, and with WERKBANK_SANDBOX=off, the process keeps
 * its rights and nothing fails: "werkbank doctor" says so. If a single rule cannot be added, no
 * file is refused at all, because a user's file must not be refused by mistake.
 */
#ifndef WERKBANK_SHARE_GUARD_SANDBOX_H
#define WERKBANK_SHARE_GUARD_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

struct sandbox {
	int ruleset;		/* descriptor of the Landlock rules; -1: files stay as they are */
	uint64_t reads, writes; /* access rights of the kernel's Landlock version */
};

/* What remains of the system calls; share/guard/sandbox_calls.c lists them. */
enum sandbox_calls {
	SANDBOX_READER,	 /* read files, write to open descriptors, memory: nothing else */
	SANDBOX_SERVER,	 /* the same, and accept connections on open sockets */
	SANDBOX_PROGRAM, /* all but network, other programs, namespaces, administration */
	SANDBOX_GPU	 /* the same, but local sockets and programs are left to the GPU's driver */
};

void sandbox_begin(struct sandbox *s);

/*
 * Allow reading a file, or a folder with all that is below it. Symbolic links are followed. A
 * path that does not exist is ignored.
 */
void sandbox_allow_read(struct sandbox *s, const char *path);

/*
 * The same for a folder of a user or of a stranger, and for the files that symbolic links directly
 * in this folder lead to, if such a link and its file have the same owner: models of a download
 * cache consist of such links.
 */
void sandbox_allow_folder(struct sandbox *s, const char *folder);

/*
 * For a file whose format needs others beside it: allow listing its folder, and reading the plain files there that are not
 * hidden, or that links with the same owner lead to. Folders below it stay closed. Does nothing if path is no regular file.
 */
void sandbox_allow_neighbours(struct sandbox *s, const char *path);

/*
 * Allow reading, making, writing, renaming and removing files and folders below `folder`. If it
 * does not exist yet, the nearest folder above it is allowed. A device or pipe may be written.
 */
void sandbox_allow_write(struct sandbox *s, const char *folder);

/* Allow reading what the C library and other libraries open: /usr, /lib, a few of /dev and /proc. */
void sandbox_allow_system(struct sandbox *s);

/*
 * The driver of a GPU opens files and sockets of this machine and starts threads in ways of its own: no file is refused.
 * Enter it when the driver has begun, because it may start a program with more rights at first.
 */
bool sandbox_enter_with_gpu(void);

/* Give up everything else. Returns whether anything was given up. */
bool sandbox_enter(struct sandbox *s, enum sandbox_calls calls);

/* Limit the system calls; sandbox_enter() does it. false: not built in, or the kernel refuses. */
bool sandbox_limit_calls(enum sandbox_calls calls);

/* For doctor: whether seccomp is built in and in the kernel; the kernel's Landlock version, 0: none. */
bool sandbox_has_seccomp(void);
int sandbox_landlock_version(void);

/* Whether WERKBANK_SANDBOX is "off". */
bool sandbox_is_off(void);

#endif
