/* run_commands.c - see run_commands.h */
#include "train/launch/run_commands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "train/launch/follow.h"
#include "train/launch/live.h"
#include "train/launch/outcome.h"

#define LOOK_US	       100000
#define REMIND_S       15.0
#define PATIENCE_S     900.0	/* $WERKBANK_PATIENCE: another number of seconds */
#define ATTACH_LINES   10	/* of console.log shown first */
#define TAIL_BYTES     4096
#define READ_BYTES     65536

static double patience(void)
{
	const char *given = getenv("WERKBANK_PATIENCE");
	double s;

	return given && text_to_real(given, &s) && s >= 0 ? s : PATIENCE_S;
}

/* ---- attach ---- */

/* Where the last lines of console.log begin. */
static int64_t tail_of(const struct live *l)
{
	struct err ignored;
	char *path = file_path(&ignored, "%s/console.log", l->folder), text[TAIL_BYTES];
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	int64_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END), from = MAX(size - TAIL_BYTES, 0);
	ssize_t n = fd < 0 ? 0 : pread(fd, text, sizeof(text), from);
	int lines = 0;

	while (n > 0 && (lines += text[n - 1] == '\n') <= ATTACH_LINES)
		n--;
	if (fd >= 0)
		close(fd);
	free(path);
	return from + MAX(n, 0);
}

int run_command_attach(const struct conf *c, int *status, struct err *e)
{
	struct live l;
	bool left = false;
	int code = live_find(&l, c, true, e);

	if (!code) {
		const struct follow f = { .run = &l, .from = tail_of(&l), .quiet = c->quiet };

		if (!c->quiet)
			fprintf(stderr, "%s: %s; Ctrl-C leaves it running\n", l.name, l.state);
		code = follow_run(&f, &left, status, e);
		if (left && !c->quiet)
			fprintf(stderr, "%s goes on; werkbank attach %s comes back to it\n", l.name,
				l.name);
	}
	live_close(&l);
	return code;
}

/* ---- save ---- */

/* Prints "waiting for …" now and then; false: it has been long enough. */
static bool is_patient(const struct conf *c, double begun, double *reminded, const char *what)
{
	double now = clock_mono_s();

	if (now - begun > patience())
		return false;
	if (now - *reminded >= REMIND_S && !c->quiet) {
		fprintf(stderr, "waiting for %s (%.0f s)\n", what, now - begun);
		*reminded = now;
	}
	usleep(LOOK_US);
	return true;
}

/* The newest "save" record's time; it is what says that the checkpoint is whole. */
static double saved_at(struct journal_reader *r, double t, int64_t *step)
{
	const struct json *record;
	struct err ignored;

	while (journal_next(r, &record, &ignored) > 0)
		if (!strcmp(json_text(json_get(record, "kind"), ""), "save")) {
			t = json_number(json_get(record, "t"), t);
			*step = json_integer(json_get(record, "step"), *step);
		}
	return t;
}

static int wait_for_save(const struct conf *c, struct live *l, struct journal_reader *r,
			 struct err *e)
{
	double begun = clock_mono_s(), reminded = begun, now = clock_wall_s();
	int64_t step = -1;
	double before = saved_at(r, -1, &step), saved;
	int code = live_ask(l, "save", e);

	while (!code && (saved = saved_at(r, before, &step)) <= before) {
		live_read(l);
		if (!l->alive)
			return err_set(e, ERR_UNAVAILABLE,
				       "the run %s has ended (%s) before it saved", l->name,
				       l->state);
		/* a request in the very step of a checkpoint is answered by that one */
		if (before >= now - 1 && clock_mono_s() - begun > 2)
			break;
		if (!is_patient(c, begun, &reminded, "the step or evaluation under way to end, "
				"then for the checkpoint"))
			code = err_set(e, ERR_TEMPFAIL, "the run %s has not saved for %.0f s; the "
				       "request stands", l->name, patience());
	}
	if (!code && !c->quiet)
		fprintf(stderr, "%s is saved at step %lld\n", l->name, (long long)step);
	return code;
}

int run_command_save(const struct conf *c, int *status, struct err *e)
{
	struct journal_reader *r = NULL;
	char *path = NULL;
	struct live l;
	int code = live_find(&l, c, true, e);

	*status = 0;
	if (!code && !(path = file_path(e, "%s/journal.jsonl", l.folder)))
		code = e->code;
	if (!code && !(r = journal_reader_open(path, e)))
		code = e->code;
	if (!code)
		code = wait_for_save(c, &l, r, e);
	journal_reader_free(r);
	free(path);
	live_close(&l);
	return code;
}

/* ---- stop ---- */

int run_command_stop(const struct conf *c, int *status, struct err *e)
{
	double begun = clock_mono_s(), reminded = begun;
	struct live l;
	int code = live_find(&l, c, true, e);

	*status = 0;
	if (!code)
		code = live_stop(&l, c->now, e);
	while (!code) {
		live_read(&l);
		if (!l.alive)
			break;
		if (!is_patient(c, begun, &reminded,
				c->now ? "its processes to end"
				       : "the step under way to end, then for the checkpoint"))
			code = err_set(e, ERR_TEMPFAIL,
				       "the run %s has not ended for %.0f s; the request stands, "
				       "and stop --now ends it at once", l.name, patience());
	}
	if (!code && !c->quiet)
		fprintf(stderr, "%s is %s\n", l.name, l.state);
	live_close(&l);
	return code;
}

/* ---- logs ---- */

static int copy_log(const char *path, int64_t *end, struct err *e)
{
	static char bytes[READ_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC), code = 0;
	ssize_t n = 0;

	if (fd < 0)
		return err_set_errno(e, ERR_NOINPUT, "%s: cannot be read", path);
	while (!code && (n = read(fd, bytes, sizeof(bytes))) > 0)
		if (fwrite(bytes, 1, (size_t)n, stdout) != (size_t)n)
			code = err_set_errno(e, ERR_IO, "standard output cannot be written");
	if (!code && n < 0)
		code = err_set_errno(e, ERR_IO, "%s: cannot be read", path);
	if (!code && fflush(stdout))
		code = err_set_errno(e, ERR_IO, "standard output cannot be written");
	*end = lseek(fd, 0, SEEK_CUR);
	close(fd);
	return code;
}

/* As tail -f, but it ends with the run. */
static int follow_log(struct live *l, const char *path, int64_t from, struct err *e)
{
	static char bytes[READ_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC), code = 0;
	bool alive = true;

	if (fd < 0 || lseek(fd, from, SEEK_SET) < 0)
		code = err_set_errno(e, ERR_NOINPUT, "%s: cannot be read", path);
	while (!code && alive) {
		ssize_t n;

		live_read(l);
		alive = l->alive;
		while (!code && (n = read(fd, bytes, sizeof(bytes))) > 0)
			if (fwrite(bytes, 1, (size_t)n, stdout) != (size_t)n || fflush(stdout))
				code = err_set_errno(e, ERR_IO,
						     "standard output cannot be written");
		if (alive)
			usleep(LOOK_US);
	}
	if (fd >= 0)
		close(fd);
	return code;
}

int run_command_logs(const struct conf *c, int *status, struct err *e)
{
	char *path = NULL;
	int64_t end = 0;
	struct live l;
	int code = live_find(&l, c, false, e);

	*status = 0;
	if (!code && !(path = file_path(e, "%s/console.log", l.folder)))
		code = e->code;
	if (!code)
		code = copy_log(path, &end, e);
	if (!code && c->follow)
		code = follow_log(&l, path, end, e);
	free(path);
	live_close(&l);
	return code;
}
