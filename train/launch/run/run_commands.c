/* run_commands.c - see run_commands.h */
#include "train/launch/run/run_commands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "share/workspace/journal.h"
#include "train/common/leftover.h"
#include "train/launch/run/console_follow.h"
#include "train/launch/run/run_handle.h"

#define LOOK_US		  100000
#define REMIND_S	  15.0
#define REQUEST_TIMEOUT_S 900.0 /* $WERKBANK_PATIENCE: another number of seconds */
#define SUSPENDED_S	  10.0	/* time for a suspended supervisor to continue */
#define ATTACH_LINES	  10	/* lines of console.log that attach shows first */
#define TAIL_BYTES	  4096
#define READ_BYTES	  65536

/* ---- attach ---- */

/* Offset of the last ATTACH_LINES lines of console.log. */
static int64_t console_tail_offset(const struct run_handle *l)
{
	struct err ignored;
	char *path = file_path(&ignored, "%s/console.log", l->folder), text[TAIL_BYTES];
	int fd = -1, missing = path ? file_open_read(&fd, path, &ignored) : -1;
	int64_t size = missing ? 0 : lseek(fd, 0, SEEK_END), from = MAX(size - TAIL_BYTES, 0);
	ssize_t n = fd < 0 ? 0 : pread(fd, text, sizeof(text), from);
	int lines = 0;

	while (n > 0 && (lines += text[n - 1] == '\n') <= ATTACH_LINES)
		n--;
	if (fd >= 0)
		close(fd);
	free(path);
	return from + MAX(n, 0);
}

static void print_attach(const struct conf *c, const char *run)
{
	char *program = conf_typed_program(c);

	fprintf(stderr, "%s continues; to follow it again: %s attach %s\n", run,
		program ? program : "werkbank", run);
	free(program);
}

int run_command_attach(struct conf *c, int *status, struct err *e)
{
	struct run_handle l;
	bool left = false;
	int rc = run_handle_find(&l, c, true, e);

	if (!rc) {
		const struct console_follow f = { .run = &l,
						  .from = console_tail_offset(&l),
						  .quiet = c->quiet };

		if (!c->quiet)
			fprintf(stderr, "%s: %s; Ctrl-C leaves it running\n", l.name, l.state);
		rc = console_follow_run(&f, &left, status, e);
		if (left && !c->quiet)
			print_attach(c, l.name);
	}
	run_handle_close(&l);
	return rc;
}

/* ---- save, evaluate ---- */

/* Sleep briefly and print "waiting for …" from time to time; false: the time limit is over. */
static bool wait_for_run(const struct conf *c, double begun, double *reminded, const char *what)
{
	double now = clock_mono_s();

	if (now - begun > run_env_seconds("WERKBANK_PATIENCE", REQUEST_TIMEOUT_S))
		return false;
	if (now - *reminded >= REMIND_S && !c->quiet) {
		fprintf(stderr, "waiting for %s (%.0f s)\n", what, now - begun);
		*reminded = now;
	}
	usleep(LOOK_US);
	return true;
}

/* The newest record of a kind, and the newest warning about it. */
struct awaited_record {
	const char *kind; /* "save" or "eval" */
	double t;	  /* unix seconds of the newest one; -1: none yet */
	int64_t step;	  /* -1: none yet */
	double bleu;
	char precision[8]; /* of bleu; "": unknown */
	char trouble[300]; /* a warning that contains "evaluat"; "": none */
};

/* Read all new records. Returns the time of the newest awaited record, -1: none. */
static double read_awaited_records(struct journal_reader *r, struct awaited_record *w)
{
	const struct json *record;
	struct err ignored;

	while (journal_next(r, &record, &ignored) > 0) {
		const char *kind = json_text(json_get(record, "kind"), "");
		const char *text = json_text(json_get(record, "text"), "");

		if (!strcmp(kind, w->kind)) {
			w->t = json_number(json_get(record, "t"), w->t);
			w->step = json_integer(json_get(record, "step"), w->step);
			w->bleu = json_number(json_get(record, "bleu"), NAN);
			snprintf(w->precision, sizeof(w->precision), "%.7s",
				 json_text(json_get(record, "precision"), ""));
		} else if (!strcmp(kind, "event") && strstr(text, "evaluat") &&
			   !strcmp(json_text(json_get(record, "level"), ""), "warning")) {
			snprintf(w->trouble, sizeof(w->trouble), "%s", text);
		}
	}
	return w->t;
}

/* A request to a run, and its answer in the journal. */
struct run_request {
	const struct conf *c;
	const char *request;	 /* word of control.h */
	const char *done, *what; /* "saved"; what the command waits for */
	struct run_handle run_handle;
	struct journal_reader *journal; /* owned */
	struct awaited_record awaited_record;
};

static int wait_for_record(struct run_request *a, struct err *e)
{
	double begun = clock_mono_s(), reminded = begun, now = clock_wall_s(), before;
	bool evaluates = !strcmp(a->awaited_record.kind, "eval");
	struct run_handle *l = &a->run_handle;
	int rc;

	before = read_awaited_records(a->journal, &a->awaited_record);
	a->awaited_record.trouble[0] = 0;
	rc = run_handle_request(l, a->request, e);
	while (!rc && read_awaited_records(a->journal, &a->awaited_record) <= before) {
		run_handle_refresh(l);
		if (!l->alive)
			return err_set(e, ERR_UNAVAILABLE,
				       "the run %s has ended (%s) before it was %s", l->name,
				       l->state, a->done);
		if (evaluates && a->awaited_record.trouble[0])
			return err_set(e, ERR_TEMPFAIL, "%s: %s", l->name,
				       a->awaited_record.trouble);
		/* a checkpoint of the current step also answers the request */
		if (!evaluates && before >= now - 1 && clock_mono_s() - begun > 2)
			break;
		if (!wait_for_run(a->c, begun, &reminded, a->what))
			rc = err_set(e, ERR_TEMPFAIL,
				     "the run %s was not %s within %.0f s; the "
				     "request remains in its queue",
				     l->name, a->done,
				     run_env_seconds("WERKBANK_PATIENCE", REQUEST_TIMEOUT_S));
	}
	return rc;
}

static int request_and_wait(struct run_request *a, struct err *e)
{
	char *path = NULL;
	int rc = run_handle_find(&a->run_handle, a->c, true, e);

	a->awaited_record.t = a->awaited_record.step = -1;
	if (!rc && !(path = file_path(e, "%s/journal.jsonl", a->run_handle.folder)))
		rc = e->code;
	if (!rc && !(a->journal = journal_reader_open(path, e)))
		rc = e->code;
	if (!rc)
		rc = wait_for_record(a, e);
	journal_reader_free(a->journal);
	free(path);
	return rc;
}

/* ---- the result: a sentence on standard error, with --json an object on standard output ---- */

static void open_result_object(struct json_writer *w, const char *run)
{
	json_open(w, '{');
	json_put_int(w, "v", 1);
	json_put_str(w, "run", run);
}

/* Close the object, print it and free it. */
static int print_result_object(struct json_writer *w, struct err *e)
{
	int rc;

	json_close(w, '}');
	buf_add_char(w->out, '\n');
	rc = file_put_stdout(w->out, e);
	buf_free(w->out);
	return rc;
}

/* {"v":1,"run":"demo","done":"evaluated","step":1200,"bleu":31.5,"precision":"fp32"} */
static int print_request_result(const struct run_request *a, struct err *e)
{
	struct buf out = { 0 };
	struct json_writer w = { .out = &out };

	open_result_object(&w, a->run_handle.name);
	json_put_str(&w, "done", a->done);
	json_put_int(&w, "step", a->awaited_record.step);
	if (!strcmp(a->awaited_record.kind, "eval")) {
		json_put_real(&w, "bleu", a->awaited_record.bleu);
		if (a->awaited_record.precision[0])
			json_put_str(&w, "precision", a->awaited_record.precision);
	}
	return print_result_object(&w, e);
}

/* {"v":1,"run":"demo","state":"stopped","exit":0} */
static int print_run_end(const struct run_handle *l, struct err *e)
{
	struct buf out = { 0 };
	struct json_writer w = { .out = &out };

	open_result_object(&w, l->name);
	json_put_str(&w, "state", l->state);
	json_key(&w, "exit");
	if (l->exit >= 0)
		json_int(&w, l->exit);
	else
		json_null(&w);
	return print_result_object(&w, e);
}

static int run_request_command(struct run_request *a, int *status, struct err *e)
{
	const struct awaited_record *r = &a->awaited_record;
	int rc = request_and_wait(a, e);

	*status = 0;
	if (!rc && !a->c->quiet) {
		fprintf(stderr, "%s is %s at step %lld", a->run_handle.name, a->done,
			(long long)r->step);
		if (!strcmp(r->kind, "eval"))
			fprintf(stderr, ": BLEU %.2f%s%s%s", r->bleu, r->precision[0] ? " (" : "",
				r->precision, r->precision[0] ? ")" : "");
		fputc('\n', stderr);
	}
	if (!rc && a->c->json)
		rc = print_request_result(a, e);
	run_handle_close(&a->run_handle);
	return rc;
}

int run_command_evaluate(struct conf *c, int *status, struct err *e)
{
	struct run_request a = { .c = c,
				 .request = "evaluate",
				 .done = "evaluated",
				 .what = "the step under way to end, then for the evaluation",
				 .awaited_record.kind = "eval" };

	return run_request_command(&a, status, e);
}

int run_command_save(struct conf *c, int *status, struct err *e)
{
	struct run_request a = { .c = c,
				 .request = "save",
				 .done = "saved",
				 .what = "the step or evaluation under way to end, then for the "
					 "checkpoint",
				 .awaited_record.kind = "save" };

	return run_request_command(&a, status, e);
}

/* ---- stop ---- */

static void report_supervisor_state(const struct run_handle *l)
{
	if (l->is_orphan)
		fprintf(stderr,
			"the supervisor of %s, process %ld, has died; its ranks still run\n",
			l->name, (long)l->pid);
	else if (l->is_local && process_is_suspended(l->pid))
		fprintf(stderr, "the supervisor of %s, process %ld, was suspended and continues\n",
			l->name, (long)l->pid);
}

static int wait_for_run_end(const struct conf *c, struct run_handle *l, struct err *e)
{
	double begun = clock_mono_s(), reminded = begun;

	for (;;) {
		run_handle_refresh(l);
		if (!l->alive)
			return 0;
		if (l->is_local && clock_mono_s() - begun > SUSPENDED_S &&
		    process_is_suspended(l->pid))
			return err_set(e, ERR_TEMPFAIL,
				       "the supervisor of %s, process %ld, is suspended again and "
				       "does not answer: a debugger, a freezer or a person holds "
				       "it; after kill -CONT %ld it stops the run",
				       l->name, (long)l->pid, (long)l->pid);
		if (!wait_for_run(c, begun, &reminded,
				  c->now ? "its processes to end"
					 : "the step under way to end, then for the checkpoint"))
			return err_set(e, ERR_TEMPFAIL,
				       "the run %s has not ended within %.0f s; the request "
				       "remains: wait, or end the run at once with stop --now",
				       l->name,
				       run_env_seconds("WERKBANK_PATIENCE", REQUEST_TIMEOUT_S));
	}
}

int run_command_stop(struct conf *c, int *status, struct err *e)
{
	struct run_handle l;
	int rc = run_handle_find(&l, c, true, e);

	*status = 0;
	if (!rc && !c->quiet)
		report_supervisor_state(&l);
	if (!rc)
		rc = run_handle_stop(&l, c->now, e);
	if (!rc)
		rc = wait_for_run_end(c, &l, e);
	/* a supervisor that has died left no final state */
	if (!rc && run_handle_exit_status(&l, e) < 0)
		rc = e->code;
	if (!rc && !c->quiet)
		fprintf(stderr, "%s is %s\n", l.name, l.state);
	if (!rc && c->json)
		rc = print_run_end(&l, e);
	run_handle_close(&l);
	return rc;
}

/* ---- logs ---- */

/* Copy what is in the file and not read yet. */
static int copy_console_log(int fd, const char *path, struct err *e)
{
	static char bytes[READ_BYTES];
	ssize_t n = 0;
	int rc = 0;

	while (!rc && (n = read(fd, bytes, sizeof(bytes))) > 0)
		rc = file_write_stdout(bytes, (size_t)n, e);
	return !rc && n < 0 ? err_set_errno(e, ERR_IO, "%s: cannot read this file", path) : rc;
}

/* With --follow like tail -f, but ends with the run. */
static int print_console_log(struct run_handle *l, bool follow, const char *path, struct err *e)
{
	int fd, rc = file_open_read(&fd, path, e);
	bool alive = follow;

	if (rc)
		return rc;
	rc = copy_console_log(fd, path, e);
	while (!rc && alive) {
		run_handle_refresh(l);
		alive = l->alive; /* before reading, so that the last lines are copied */
		rc = copy_console_log(fd, path, e);
		if (alive)
			usleep(LOOK_US);
	}
	close(fd);
	return rc;
}

int run_command_logs(struct conf *c, int *status, struct err *e)
{
	char *path = NULL;
	struct run_handle l;
	int rc = run_handle_find(&l, c, false, e);

	*status = 0;
	if (!rc && !(path = file_path(e, "%s/console.log", l.folder)))
		rc = e->code;
	if (!rc)
		rc = print_console_log(&l, c->follow, path, e);
	free(path);
	run_handle_close(&l);
	return rc;
}
