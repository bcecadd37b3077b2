/* translate_file.c - runs a translator on a file; see translate_file.h. */
#include "tui/translate/translate_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/proc.h"
#include "share/base/util.h"
#include "share/format/document_kind.h"
#include "tui/context/jobs.h"

#define BLOCK  65536
#define BLOCKS 16 /* blocks counted per turn: 1 MiB takes well under a millisecond */

struct translate_file {
	struct translate_file_state state;
	char *in_path, *out_path; /* owned */
	char trouble[500], said[400];
	struct proc proc;
	int counting; /* descriptor of the file whose lines are counted; -1: done */
	int64_t counted;
	bool has_progress; /* since the last update */
	bool open_line;	   /* the last counted byte is not a line end */
	struct outfile out;
	bool writing; /* the output file is open */
	double started;
	char block[BLOCK];
};

struct translate_file *translate_file_start(const char *const *argv, const char *in,
					    const char *out, bool is_document, double now,
					    struct err *e)
{
	struct translate_file *f = mem_alloc(1, sizeof(*f), e);

	if (!f)
		return NULL;
	f->proc = (struct proc){ .pid = -1, .in = -1, .out = -1, .err = -1 };
	f->started = now;
	f->counting = -1;
	f->state = (struct translate_file_state){ .is_document = is_document,
						  .lines = is_document ? 0 : -1,
						  .running = true,
						  .trouble = f->trouble };
	if (!(f->in_path = mem_strdup(in, e)) || !(f->out_path = mem_strdup(out, e)))
		goto fail_translation;
	f->state.in = f->in_path;
	f->state.out = f->out_path;
	if (file_open_read(&f->counting, in, e))
		goto fail_translation;
	if (is_document) { /* it can be read; its segments are counted by the child */
		close(f->counting);
		f->counting = -1;
	}
	if (file_exists(out)) {
		err_set(e, ERR_CANTCREAT, "%s: already exists; choose another name", out);
		goto fail_translation;
	}
	if (outfile_open(&f->out, out, e))
		goto fail_translation;
	f->writing = true;
	if (proc_start(&f->proc, argv,
		       PROC_PIPE_OUT | PROC_PIPE_ERR | PROC_OWN_GROUP | PROC_DIE_WITH_PARENT, e))
		goto fail_translation;
	if (jobs_set_nonblocking(f->proc.out) && jobs_set_nonblocking(f->proc.err))
		return f;
	err_set_errno(e, ERR_INTERNAL, "%s: its output cannot be read without waiting", argv[0]);
fail_translation:
	translate_file_free(f);
	return NULL;
}

void translate_file_free(struct translate_file *f)
{
	if (!f)
		return;
	proc_stop(&f->proc, 0);
	if (f->writing)
		outfile_abandon(&f->out);
	if (f->counting >= 0)
		close(f->counting);
	free(f->in_path);
	free(f->out_path);
	free(f);
}

static int64_t line_ends(const char *bytes, size_t n)
{
	int64_t count = 0;

	for (const char *p = bytes, *end = bytes + n; (p = memchr(p, '\n', (size_t)(end - p))); p++)
		count++;
	return count;
}

static bool count_input_lines(struct translate_file *f)
{
	for (int i = 0; i < BLOCKS && f->counting >= 0; i++) {
		ssize_t n = read(f->counting, f->block, BLOCK);

		if (n > 0) {
			f->counted += line_ends(f->block, (size_t)n);
			f->open_line = f->block[n - 1] != '\n';
		} else if (n == 0 || errno != EINTR) {
			close(f->counting);
			f->counting = -1;
			f->state.lines = f->counted + f->open_line;
			return true;
		}
	}
	return false;
}

static void fail_translation(struct translate_file *f, const char *why)
{
	if (!f->state.failed)
		snprintf(f->trouble, sizeof(f->trouble), "%s", why);
	f->state.failed = true;
	f->state.running = false;
	proc_stop(&f->proc, 0);
	if (f->writing)
		outfile_abandon(&f->out);
	f->writing = false;
}

/* Is this line about the progress of a document? */
static bool read_progress(struct translate_file *f, const char *line)
{
	size_t done, all;

	if (sscanf(line, DOCUMENT_PROGRESS, &done, &all) != 2)
		return false;
	f->state.done = (int64_t)done;
	f->state.lines = (int64_t)all;
	f->has_progress = true;
	return true;
}

/* Read standard error and keep its last line. */
static void read_child_errors(struct translate_file *f)
{
	ssize_t n;

	while ((n = read(f->proc.err, f->block, BLOCK - 1)) > 0) {
		char *end = f->block + n, *start;

		while (end > f->block && (end[-1] == '\n' || end[-1] == '\r'))
			end--;
		*end = 0;
		start = strrchr(f->block, '\n');
		start = start ? start + 1 : f->block;
		if (read_progress(f, start))
			continue;
		if (*start)
			snprintf(f->said, sizeof(f->said), "%.399s", start);
	}
}

static void finish_translation(struct translate_file *f)
{
	char how[500];
	struct err e;
	int status;

	read_child_errors(f);
	if (proc_wait(&f->proc, &status, &e)) {
		fail_translation(f, e.text);
	} else if (status) {
		snprintf(how, sizeof(how), "the translator %s %d%s%s",
			 status > 128 ? "was killed by signal" : "exited with status",
			 status > 128 ? status - 128 : status, f->said[0] ? ": " : "", f->said);
		fail_translation(f, how);
	} else {
		f->writing = false;
		f->state.done = f->state.is_document ? f->state.lines : f->state.done;
		if (outfile_commit(&f->out, &e))
			fail_translation(f, e.text);
	}
	f->state.running = false;
}

/*
 * Read translations; true: something changed. At end of file the child is about to exit, so the
 * wait for it is short.
 */
static bool read_child_output(struct translate_file *f)
{
	bool news = false;

	for (int i = 0; i < BLOCKS; i++) {
		ssize_t n = read(f->proc.out, f->block, BLOCK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return news;
		if (n <= 0) {
			finish_translation(f);
			return true;
		}
		if (!f->state.is_document)
			f->state.done += line_ends(f->block, (size_t)n);
		if (fwrite(f->block, 1, (size_t)n, f->out.stream) != (size_t)n) {
			struct err e;

			err_set_errno(&e, ERR_IO, "%s: cannot be written", f->out_path);
			fail_translation(f, e.text);
			return true;
		}
		news = true;
	}
	return news;
}

bool translate_file_update(struct translate_file *f, double now)
{
	bool news;

	if (!f->state.running)
		return false;
	f->state.seconds = now - f->started;
	news = count_input_lines(f);
	f->has_progress = false;
	read_child_errors(f);
	news |= f->has_progress;
	return read_child_output(f) || news;
}

const struct translate_file_state *translate_file_state(const struct translate_file *f)
{
	return &f->state;
}

int translate_file_fd(const struct translate_file *f)
{
	return f->state.running ? f->proc.out : -1;
}
