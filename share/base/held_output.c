/*
 * held_output.c - see held_output.h
 *
 * Child and parent talk over a pair of sockets: a request is the number of an output to commit, the
 * answer an error of its own or code 0. The end of the connection is the end of the child.
 */
#include "share/base/held_output.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/file_internal.h"
#include "share/base/mem.h"
#include "share/base/proc.h"

struct held_output {
	char *path, *beside; /* owned; beside NULL: the same as path */
	bool is_folder, is_taken;
	struct outfile file;
	struct outfolder folder;
	struct err fault; /* of opening it; code 0: it is open */
};

struct held_outputs {
	struct held_output all[HELD_OUTPUTS];
	size_t n;
	int parent; /* in the child: the socket to the parent; -1: in the parent */
};

/* The outputs that the parent holds for this process; NULL: none. Set once, by held_output_start(). */
static struct held_outputs *held_by_parent;

struct held_outputs *held_outputs_new(struct err *e)
{
	struct held_outputs *h = mem_alloc(1, sizeof(*h), e);

	if (h)
		h->parent = -1;
	return h;
}

static struct held_output *add_output(struct held_outputs *h, const char *path, const char *beside,
				      bool is_folder)
{
	struct held_output *o = &h->all[h->n];
	size_t n = strlen(path);

	assert(h->n < HELD_OUTPUTS);
	h->n++;
	while (is_folder && n > 1 && path[n - 1] == '/')
		n--;
	*o = (struct held_output){ .is_folder = is_folder, .file = { .folder = -1 } };
	o->path = file_path(&o->fault, "%.*s", (int)n, path);
	o->beside = beside ? file_path(&o->fault, "%s", beside) : NULL;
	return o;
}

void held_output_add_file(struct held_outputs *h, const char *path)
{
	struct held_output *o = add_output(h, path, NULL, false);

	if (!o->fault.code)
		outfile_open(&o->file, path, &o->fault);
}

void held_output_add_folder(struct held_outputs *h, const char *path, const char *beside)
{
	struct held_output *o = add_output(h, path, beside, true);

	if (!o->fault.code)
		outfolder_open(&o->folder, path, beside, &o->fault);
}

const char *held_output_folder(const struct held_outputs *h, size_t i)
{
	return i < h->n && h->all[i].is_folder && !h->all[i].fault.code ? h->all[i].folder.temporary
									: NULL;
}

/* Remove what was not committed. */
static void free_outputs(struct held_outputs *h)
{
	for (size_t i = 0; i < h->n; i++) {
		struct held_output *o = &h->all[i];

		if (!o->fault.code && o->is_folder)
			outfolder_abandon(&o->folder);
		else if (!o->fault.code)
			outfile_abandon(&o->file);
		free(o->path);
		free(o->beside);
	}
	free(h);
}

/* ---- the child ---- */

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* The held output of this path, each for one use. NULL: none. */
static struct held_output *take_output(const char *path, const char *beside, bool is_folder)
{
	size_t n = strlen(path);

	while (is_folder && n > 1 && path[n - 1] == '/')
		n--;
	for (size_t i = 0; held_by_parent && i < held_by_parent->n; i++) {
		struct held_output *o = &held_by_parent->all[i];

		if (o->is_folder != is_folder || o->is_taken || !o->path || strlen(o->path) != n ||
		    strncmp(o->path, path, n) != 0 || !is_same_text(o->beside, beside))
			continue;
		o->is_taken = true;
		return o;
	}
	return NULL;
}

bool held_take_file(struct outfile *to, const char *path, struct err *e)
{
	struct held_output *o = take_output(path, NULL, false);

	if (!o)
		return false;
	if (o->fault.code)
		*e = o->fault;
	else
		*to = o->file;
	to->held = o->fault.code ? 0 : (int)(o - held_by_parent->all) + 1;
	return true;
}

bool held_take_folder(struct outfolder *to, const char *path, const char *beside, struct err *e)
{
	struct held_output *o = take_output(path, beside, true);

	if (!o)
		return false;
	if (o->fault.code)
		*e = o->fault;
	else
		*to = o->folder;
	to->held = o->fault.code ? 0 : (int)(o - held_by_parent->all) + 1;
	return true;
}

/* All of n bytes; false: the connection has ended. */
static bool transfer(int fd, void *bytes, size_t n, bool sends)
{
	for (char *at = bytes; n;) {
		const ssize_t got = sends ? send(fd, at, n, MSG_NOSIGNAL) : recv(fd, at, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		n -= (size_t)got;
	}
	return true;
}

int held_commit(int held, struct err *e)
{
	struct err answer;
	int number = held - 1;

	assert(held_by_parent && number >= 0 && (size_t)number < held_by_parent->n);
	if (!transfer(held_by_parent->parent, &number, sizeof(number), true) ||
	    !transfer(held_by_parent->parent, &answer, sizeof(answer), false))
		return err_set(e, ERR_INTERNAL, "%s: the process that holds the output has ended",
			       held_by_parent->all[number].path);
	if (answer.code)
		*e = answer;
	return answer.code;
}

/* ---- the parent ---- */

/* What waits in the stream of the child has been written by it: the parent's stream is empty. */
static void commit_output(struct held_output *o, struct err *e)
{
	if (o->fault.code)
		err_set(e, ERR_INTERNAL, "%s: is not open", o->path);
	else if (o->is_folder)
		outfolder_commit(&o->folder, e);
	else
		outfile_commit(&o->file, e);
	o->fault = e->code ? *e : (struct err){ .code = ERR_INTERNAL }; /* settled */
}

static void answer_child(struct held_outputs *h, int fd)
{
	int number;

	while (transfer(fd, &number, sizeof(number), false)) {
		struct err e = { 0 };

		if (number < 0 || (size_t)number >= h->n)
			return;
		commit_output(&h->all[number], &e);
		if (!transfer(fd, &e, sizeof(e), true))
			return;
	}
}

static volatile sig_atomic_t held_child; /* for the handler of signals */

static void pass_on(int number)
{
	const int saved = errno;

	if (held_child > 0)
		proc_signal((pid_t)held_child, number);
	errno = saved;
}

static const int passed_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

static void handle_signals(void (*handler)(int))
{
	struct sigaction a = { .sa_handler = handler };

	for (size_t i = 0; i < sizeof(passed_signals) / sizeof(*passed_signals); i++) {
		struct sigaction before;

		if (!sigaction(passed_signals[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(passed_signals[i], &a, NULL);
	}
}

/* End as the child did: by its signal, or return its exit status. */
static int end_like_child(int how)
{
	if (!WIFSIGNALED(how))
		return WEXITSTATUS(how);
	handle_signals(SIG_DFL);
	raise(WTERMSIG(how));
	return 128 + WTERMSIG(how); /* the signal is ignored or blocked */
}

int held_output_start(struct held_outputs *h, int *status, struct err *e)
{
	int pair[2], how = 0;
	sigset_t passed, before;
	pid_t child = -1;

	sigemptyset(&passed);
	for (size_t i = 0; i < sizeof(passed_signals) / sizeof(*passed_signals); i++)
		sigaddset(&passed, passed_signals[i]);
	/* a signal between fork and the handler would end this process alone */
	pthread_sigmask(SIG_BLOCK, &passed, &before);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		err_set_errno(e, ERR_UNAVAILABLE, "cannot make a pair of sockets");
	} else if ((child = fork()) < 0) {
		err_set_errno(e, ERR_UNAVAILABLE, "cannot start a process");
		close(pair[0]);
		close(pair[1]);
	}
	if (child <= 0)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (child < 0) {
		free_outputs(h);
		return e->code;
	}
	if (child == 0) {
		close(pair[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* without its parent it cannot commit */
		h->parent = pair[1];
		held_by_parent = h;
		return 0;
	}
	close(pair[1]);
	held_child = child;
	handle_signals(pass_on);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	answer_child(h, pair[0]);
	close(pair[0]); /* a child that asks again gets an error, and ends */
	while (waitpid(child, &how, 0) < 0 && errno == EINTR)
		;
	held_child = 0;
	free_outputs(h);
	*status = end_like_child(how);
	return 1;
}
