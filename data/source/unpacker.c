/*
 * unpacker.c - the child that unpacks, and its answers; see unpacker.h
 *
 * The child writes answers: a head, and after it head.bytes bytes.
 *
 *	ANSWER_MEMBER	number: index of the member that begins
 *	ANSWER_BYTES	the next bytes of this member
 *	ANSWER_END	the archive is read to its end
 *	ANSWER_FAULT	number: code of the error; the bytes are its text
 */
#include "data/source/unpacker.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/source/archive.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/guard/sandbox_child.h"

#define ANSWER_MAX_BYTES (1u << 18) /* of one answer */

enum answer_kind { ANSWER_MEMBER, ANSWER_BYTES, ANSWER_END, ANSWER_FAULT };

struct answer_head {
	uint32_t kind, bytes;
	int64_t number;
	int64_t position; /* bytes of the archive file read so far */
};

struct unpacker {
	char *path; /* owned */
	size_t n;   /* wanted members */
	struct sandbox_child child;
	struct answer_head head; /* of the answer that is being read */
	size_t left;		 /* bytes of it that were not read yet */
	bool is_pending; /* head is of a later member or of the end, and nobody has it yet */
};

/* ---- the child --------------------------------------------------------- */

/* What unpacker_open() was asked for. */
struct unpacker_request {
	const char *path;
	const char *const *names;
	const bool *optional;
	size_t n;
	bool wants_bytes;
};

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

static void unpacker_run_child(int pipe, const void *with)
{
	const struct unpacker_request *r = with;
	struct unpacker_child c = { .pipe = pipe };
	struct err e = { 0 };
	int rc;

	c.archive = archive_open(r->path, r->names, r->n, &e);
	for (size_t i = 0; c.archive && r->optional && i < r->n; i++)
		if (r->optional[i])
			archive_allow_missing(c.archive, i);
	rc = c.archive ? answer_with_members(&c, r->wants_bytes, &e) : e.code;
	if (rc)
		answer_send(&c, ANSWER_FAULT, e.code, e.text, strlen(e.text));
	else
		answer_send(&c, ANSWER_END, 0, NULL, 0);
}

/* ---- the parent -------------------------------------------------------- */

struct unpacker *unpacker_open(const char *path, const char *const *names, const bool *optional,
			       size_t n, bool wants_bytes, struct err *e)
{
	const struct unpacker_request r = { path, names, optional, n, wants_bytes };
	struct unpacker *u = mem_alloc(1, sizeof(*u), e);

	if (!u)
		return NULL;
	*u = (struct unpacker){ .n = n, .child.pipe = -1, .path = mem_strdup(path, e) };
	if (u->path &&
	    !sandbox_child_start(&u->child, u->path, "unpacks", unpacker_run_child, &r, e))
		return u;
	unpacker_close(u);
	return NULL;
}

/* Faults are checked when they are taken. */
static bool is_possible(const struct unpacker *u)
{
	const struct answer_head *h = &u->head;

	if (h->position < 0)
		return false;
	switch (h->kind) {
	case ANSWER_MEMBER:
		return h->bytes == 0 && h->number >= 0 && (uint64_t)h->number < u->n;
	case ANSWER_BYTES:
		return h->bytes > 0 && h->bytes <= ANSWER_MAX_BYTES;
	case ANSWER_END:
		return h->bytes == 0;
	case ANSWER_FAULT:
		return true;
	default:
		return false;
	}
}

/* The head of the next answer, in u->head. */
static int answer_next(struct unpacker *u, struct err *e)
{
	assert(u->left == 0);
	if (u->is_pending) {
		u->is_pending = false;
		return 0;
	}
	if (!sandbox_child_take(&u->child, &u->head, sizeof(u->head)))
		return sandbox_child_report_end(&u->child, e);
	if (!is_possible(u))
		return sandbox_child_report_wrong(&u->child, e);
	if (u->head.kind == ANSWER_FAULT)
		return sandbox_child_take_fault(&u->child, u->head.number, u->head.bytes, e);
	u->left = u->head.kind == ANSWER_BYTES ? u->head.bytes : 0;
	return 0;
}

int64_t unpacker_read(struct unpacker *u, void *to, size_t room, struct err *e)
{
	size_t got;

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
	got = sandbox_child_read(&u->child, to, MIN(room, u->left));
	if (!got)
		return sandbox_child_report_end(&u->child, e);
	u->left -= got;
	return (int64_t)got;
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

struct unpacker *unpacker_open_whole(const char *path, struct err *e)
{
	static const char *const whole[] = { ARCHIVE_WHOLE };
	struct unpacker *u = unpacker_open(path, whole, NULL, 1, true, e);
	size_t member;
	const int got = u ? unpacker_next(u, &member, e) : e->code;

	if (got > 0)
		return u;
	if (!got)
		err_set(e, ERR_DATA, "%s: the compressed file is empty", path);
	unpacker_close(u);
	return NULL;
}

int64_t unpacker_position(const struct unpacker *u)
{
	return u->head.position;
}

void unpacker_close(struct unpacker *u)
{
	if (!u)
		return;
	sandbox_child_close(&u->child);
	free(u->path);
	free(u);
}
