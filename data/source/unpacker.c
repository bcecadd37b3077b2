/*
 * unpacker.c - the child that unpacks, and the pipe to it; see unpacker.h
 *
 * The child writes answers: a head, and behind it head.bytes bytes.
 *
 *	ANSWER_MEMBER	number: index of the member that begins
 *	ANSWER_BYTES	the next bytes of this member
 *	ANSWER_END	the archive is read to its end
 *	ANSWER_FAULT	number: code of the error; the bytes are its text
 *
 * A child that an archive has taken over can answer what it likes, so the parent trusts no field.
 */
#include "data/source/unpacker.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data/source/archive.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/proc.h"
#include "share/base/sandbox.h"
#include "share/base/util.h"

#define ANSWER_MAX_BYTES (1u << 18) /* of one answer */
#define ANSWER_PIPE_SIZE (1 << 20)

enum answer_kind { ANSWER_MEMBER, ANSWER_BYTES, ANSWER_END, ANSWER_FAULT };

struct answer_head {
	uint32_t kind, bytes;
	int64_t number;
	int64_t position; /* bytes of the archive file read so far */
};

struct unpacker {
	char *path; /* owned */
	size_t n;   /* wanted members */
	pid_t child;
	int pipe;		 /* our end */
	struct answer_head head; /* of the answer that is being read */
	size_t left;		 /* bytes of it that were not read yet */
	int read_fault;		 /* errno of a read from the pipe that failed; 0: none did */
	bool is_pending; /* head is of a later member or of the end, and nobody has it yet */
};

/* ---- the child --------------------------------------------------------- */

struct unpacker_child {
	int pipe;
	struct archive_reader *archive; /* NULL: not open */
};

static void answer_send(const struct unpacker_child *c, enum answer_kind kind, int64_t number,
			const void *bytes, size_t n)
{
	const struct answer_head head = {
		.kind = kind,
		.bytes = (uint32_t)n,
		.number = number,
		.position = c->archive ? archive_position(c->archive) : 0,
	};

	if (file_write_fd(c->pipe, &head, sizeof(head)) || file_write_fd(c->pipe, bytes, n))
		_exit(0); /* the parent is gone */
}

static int answer_with_members(struct unpacker_child *c, bool wants_bytes, struct err *e)
{
	char *bytes = wants_bytes ? mem_alloc(ANSWER_MAX_BYTES, 1, e) : NULL;
	size_t member;
	int64_t n;
	int got;

	if (wants_bytes && !bytes)
		return e->code;
	while ((got = archive_next(c->archive, &member, e)) > 0) {
		answer_send(c, ANSWER_MEMBER, (int64_t)member, NULL, 0);
		while (wants_bytes &&
		       (n = archive_read(c->archive, bytes, ANSWER_MAX_BYTES, e)) != 0) {
			if (n < 0)
				return e->code;
			answer_send(c, ANSWER_BYTES, 0, bytes, (size_t)n);
		}
	}
	return got;
}

/* Standard error stays, for what sanitizers and the C library say at an abort. */
static void close_other_descriptors(int keep)
{
	if (keep > 3)
		syscall(SYS_close_range, 3u, (unsigned)keep - 1, 0);
	if (syscall(SYS_close_range, (unsigned)keep + 1, ~0u, 0) != 0)
		for (int i = 3; i < 4096; i++) /* before Linux 5.9 */
			if (i != keep)
				close(i);
}

static void unpacker_enter_sandbox(const char *path)
{
	struct sandbox s;

	sandbox_begin(&s);
	sandbox_allow_system(&s); /* tables of character sets, for names of members */
	sandbox_allow_read(&s, path);
	sandbox_enter(&s, SANDBOX_READER);
}

/* Never returns. Ctrl-C is for the parent, which ends this child when it is done. */
static void unpacker_run_child(int pipe, const char *path, const char *const *names,
			       const bool *optional, size_t n, bool wants_bytes)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	struct unpacker_child c = { .pipe = pipe };
	struct err e = { 0 };
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	close_other_descriptors(pipe);
	unpacker_enter_sandbox(path);
	c.archive = archive_open(path, names, n, &e);
	for (size_t i = 0; c.archive && optional && i < n; i++)
		if (optional[i])
			archive_allow_missing(c.archive, i);
	rc = c.archive ? answer_with_members(&c, wants_bytes, &e) : e.code;
	if (rc)
		answer_send(&c, ANSWER_FAULT, e.code, e.text, strlen(e.text));
	else
		answer_send(&c, ANSWER_END, 0, NULL, 0);
	_exit(0);
}

/* ---- the parent -------------------------------------------------------- */

struct unpacker *unpacker_open(const char *path, const char *const *names, const bool *optional,
			       size_t n, bool wants_bytes, struct err *e)
{
	struct unpacker *u = mem_alloc(1, sizeof(*u), e);
	int ends[2];

	if (!u)
		return NULL;
	*u = (struct unpacker){ .n = n, .pipe = -1, .path = mem_strdup(path, e) };
	if (!u->path || pipe2(ends, O_CLOEXEC)) {
		if (u->path)
			err_set_errno(e, ERR_UNAVAILABLE, "%s: no pipe to unpack it", path);
		unpacker_close(u);
		return NULL;
	}
	fcntl(ends[1], F_SETPIPE_SZ,
	      ANSWER_PIPE_SIZE); /* fewer switches between both, if allowed */
	u->pipe = ends[0];
	u->child = fork();
	if (u->child == 0)
		unpacker_run_child(ends[1], path, names, optional, n, wants_bytes);
	close(ends[1]);
	if (u->child > 0)
		return u;
	err_set_errno(e, ERR_UNAVAILABLE, "%s: no process can be started to unpack it", path);
	unpacker_close(u);
	return NULL;
}

/* Reads exactly n bytes; false: the child has ended before. */
static bool answer_take(struct unpacker *u, void *to, size_t n)
{
	char *at = to;

	while (n > 0) {
		const ssize_t got = read(u->pipe, at, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			u->read_fault = got ? errno : 0;
			return false;
		}
		at += got;
		n -= (size_t)got;
	}
	return true;
}

/* The last answer is missing: say whether reading failed, or by which signal the child ended. */
static int unpacker_report_end(struct unpacker *u, struct err *e)
{
	int status = 0;

	if (u->read_fault) {
		errno = u->read_fault;
		return err_set_errno(e, ERR_IO, "%s: its unpacked bytes cannot be read", u->path);
	}
	while (u->child > 1 && waitpid(u->child, &status, 0) < 0 && errno == EINTR)
		;
	u->child = 0;
	if (WIFSIGNALED(status))
		return err_set(e, ERR_DATA,
			       "%s: the process that unpacks it was ended by signal %d (%s): the "
			       "archive is damaged, or memory is short",
			       u->path, WTERMSIG(status), strsignal(WTERMSIG(status)));
	return err_set(e, ERR_DATA, "%s: the process that unpacks it ended before the last member",
		       u->path);
}

static int answer_check(const struct unpacker *u, struct err *e)
{
	const struct answer_head *h = &u->head;
	bool is_right = h->position >= 0;

	switch (h->kind) {
	case ANSWER_MEMBER:
		is_right &= h->bytes == 0 && h->number >= 0 && (uint64_t)h->number < u->n;
		break;
	case ANSWER_BYTES:
		is_right &= h->bytes > 0 && h->bytes <= ANSWER_MAX_BYTES;
		break;
	case ANSWER_END:
		is_right &= h->bytes == 0;
		break;
	case ANSWER_FAULT:
		is_right &= h->bytes < sizeof(e->text) && h->number < 0 && h->number > -256 &&
			    err_exit_status((int)h->number) == -h->number;
		break;
	default:
		is_right = false;
	}
	if (is_right)
		return 0;
	return err_set(e, ERR_DATA,
		       "%s: the process that unpacks it gave a wrong answer: the archive has "
		       "attacked it, or memory is damaged",
		       u->path);
}

static int unpacker_take_fault(struct unpacker *u, struct err *e)
{
	char text[sizeof(e->text)];

	if (!answer_take(u, text, u->head.bytes))
		return unpacker_report_end(u, e);
	text[u->head.bytes] = '\0';
	return err_set(e, (int)u->head.number, "%s", text);
}

/* The head of the next answer, in u->head. */
static int answer_next(struct unpacker *u, struct err *e)
{
	assert(u->left == 0);
	if (u->is_pending) {
		u->is_pending = false;
		return 0;
	}
	if (!answer_take(u, &u->head, sizeof(u->head)))
		return unpacker_report_end(u, e);
	if (answer_check(u, e))
		return e->code;
	u->left = u->head.kind == ANSWER_BYTES ? u->head.bytes : 0;
	return u->head.kind == ANSWER_FAULT ? unpacker_take_fault(u, e) : 0;
}

int64_t unpacker_read(struct unpacker *u, void *to, size_t room, struct err *e)
{
	ssize_t got;

	if (room == 0)
		return 0;
	if (u->left == 0) {
		if (answer_next(u, e))
			return e->code;
		if (u->head.kind != ANSWER_BYTES) {
			u->is_pending = true;
			return 0;
		}
	}
	do
		got = read(u->pipe, to, MIN(room, u->left));
	while (got < 0 && errno == EINTR);
	if (got <= 0) {
		u->read_fault = got ? errno : 0;
		return unpacker_report_end(u, e);
	}
	u->left -= (size_t)got;
	return got;
}

int unpacker_next(struct unpacker *u, size_t *member, struct err *e)
{
	char skipped[4096];
	int64_t got;

	do {
		while (u->left > 0 && (got = unpacker_read(u, skipped, sizeof(skipped), e)) != 0)
			if (got < 0)
				return e->code;
		if (answer_next(u, e))
			return e->code;
	} while (u->head.kind == ANSWER_BYTES);
	if (u->head.kind == ANSWER_END) {
		u->is_pending = true; /* a further call ends, too */
		return 0;
	}
	*member = (size_t)u->head.number;
	return 1;
}

int64_t unpacker_position(const struct unpacker *u)
{
	return u->head.position;
}

void unpacker_close(struct unpacker *u)
{
	if (!u)
		return;
	if (u->pipe >= 0)
		close(u->pipe);
	if (u->child > 1) {
		proc_signal(u->child, SIGKILL);
		while (waitpid(u->child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(u->path);
	free(u);
}
