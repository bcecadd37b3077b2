/* follow_command.c - see follow_command.h */
#include "train/launch/follow/follow_command.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/proc.h"
#include "share/base/text.h"
#include "share/format/json.h"
#include "train/launch/follow/follow_address.h"
#include "train/launch/follow/follow_copy.h"
#include "train/launch/remote/remote.h"

#define LOOK_EVERY_S   1.0
#define LOOK_SHARE     4   /* the pause is at least this many times as long as a poll */
#define FIRST_ANSWER_S 30  /* from the start of ssh */
#define ANSWER_S       30  /* without a byte while an answer is due */
#define END_S	       2.0 /* for a shell to end after its output has ended */
#define RETRY_LEAST_S  1.0
#define RETRY_MOST_S   30.0
#define LOOK_MOST      ((size_t)16 << 20) /* largest answer to one poll */
#define READ_BYTES     65536
#define STDERR_MOST    8192
#define BATCH_FILES    200 /* small files that one request names */
#define BATCH_BYTES    ((int64_t)1 << 20)
#define SMALL_BYTES    ((int64_t)64 << 10)
#define BATCH_END      "\n==> . <==\n"
#define HEAD_BYTES     200

/* Exit statuses of the script below. */
enum { NO_FOLDER = 81, NO_WORKSPACE = 82, NO_RUN = 83, NO_TOOL = 84 };

/*
 * The shell there: one line, because csh allows no line feed between quotes. %1: files that grow,
 * %2: files that are replaced, %3: the states.
 *
 *	look			lines that are new since the last poll, lines that are gone after a
 *				"-", then ".". "alive": a process holds the lock of the run; where
 *				this user may not open the lock, the host looks in /proc/locks for
 *				its own processes, and believes state.json about other hosts.
 *	get FIRST COUNT FILE	a number, and this number of bytes: COUNT or fewer from byte FIRST (1: the
 *				first one). NUL bytes, which a crash can leave in a file and which
 *				shells cannot hold, become blanks.
 *	all COUNT - FILE...	the first COUNT bytes of each file, as head shows several files:
 *				after a line "==> FILE <==". Beginning with /dev/null, ending with ".".
 */
static const char script[] =
	"LC_ALL=C; export LC_ALL; cd \"$1\" 2>/dev/null || exit 81; "
	"[ -d runs ] || [ -d corpora ] || exit 82; [ -z \"$2\" ] || [ -d \"runs/$2\" ] || exit 83; "
	"for tool in awk cksum grep head ls tail tr; do command -v $tool >/dev/null || "
	"{ echo \"$tool\" >&2; exit 84; }; done; "
	"is_alive() { [ -e \"$1\" ] || return 1; "
	"if [ -r \"$1\" ] && command -v flock >/dev/null; then flock -n -s \"$1\" true; [ $? = 1 "
	"]; "
	"elif grep -qE \"\\\"host\\\": ?\\\"$(uname -n)\\\"\" \"${1%/*}/state.json\"; then "
	"set -- $(ls -i \"$1\"); grep -q \"FLOCK.*:$1 \" /proc/locks; fi; }; "
	"look() { ls -lind%1 2>/dev/null; cksum%2 2>/dev/null; "
	"for state in $(grep -lE '\"state\": ?\"(queued|starting|running|restarting|stopping)\"'%3 "
	"2>/dev/null); do ! is_alive \"${state%/*}/lock\" || echo \"alive ${state%/*}\"; done; }; "
	"before=; while read -r verb first count name; do case $verb in "
	"look) text=$(look); printf '%s\\n--\\n%s\\n' \"$before\" \"$text\" | "
	"awk '/^--$/ { now = 1; next } !now { old[$0] = 1; next } "
	"$0 in old { delete old[$0]; next } { new[n++] = $0 } END { for (i in old) print \"-\" i; "
	"for (i = 0; i < n; i++) print new[i] }'; before=$text; echo .;; "
	"all) head -c \"$first\" /dev/null $name 2>/dev/null; printf '\\n==> . <==\\n';; "
	"get) text=$(tail -c +\"$first\" \"$name\" 2>/dev/null | head -c \"$count\" | "
	"tr '\\000' ' '; echo x); text=${text%x}; printf '%s\\n%s' \"${#text}\" \"$text\";; "
	"esac; done";

enum follow_state { FOLLOW_CLOSED, FOLLOW_IDLE, FOLLOW_LOOKING, FOLLOW_GETTING };

struct due_file {
	struct copy_request request;
	size_t batch; /* files in one answer, from this one on; 0: an answer of its own */
};

struct follow {
	const char *text, *folder, *number, *prefix; /* borrowed: the arguments */
	struct follow_address address;
	struct remote_options how;
	struct follow_copy *copy;
	struct buf command; /* the script */
	struct proc shell;
	enum follow_state state;
	struct buf to, from, said; /* requests to send, bytes received, standard error */
	size_t sent;		   /* bytes of `to` */
	struct due_file *due;	   /* owned: files without an answer yet, in order */
	size_t n_due, due_cap, answered;
	bool was_ready; /* the first line of standard output has been written */
	double began, asked, heard,
		next; /* clock_mono_s(): of ssh, poll, last byte; next poll or try */
	double retry_s;
	char trouble[400]; /* of the contact file; "?": none written yet */
};

/* ---- what the workbench shows ------------------------------------------------- */

/* Write FOLDER/contact-NUMBER.json if the trouble is another one than before; "": contact. */
static int write_contact(struct follow *f, const char *trouble, struct err *e)
{
	struct buf text = { 0 };
	struct json_writer w = { .out = &text };
	char *path;
	int rc;

	if (!strcmp(trouble, f->trouble))
		return 0;
	snprintf(f->trouble, sizeof(f->trouble), "%s", trouble);
	json_open(&w, '{');
	json_put_str(&w, "address", f->text);
	json_put_real(&w, "since", clock_wall_s());
	json_put_str(&w, "trouble", trouble);
	json_close(&w, '}');
	buf_add_char(&text, '\n');
	path = file_path(e, "%s/contact-%s.json", f->folder, f->number);
	rc = path ? file_write_volatile(path, &text, e) : e->code;
	free(path);
	buf_free(&text);
	return rc;
}

static int print_first_line(struct follow *f, const char *line, struct err *e)
{
	f->was_ready = true;
	return file_write_stdout(line, strlen(line), e);
}

static int print_ready(struct follow *f, struct err *e)
{
	char line[256];

	snprintf(line, sizeof(line), "ready %s%s\n", *f->address.run ? f->prefix : "",
		 f->address.run);
	return print_first_line(f, line, e);
}

/* ---- the connection ------------------------------------------------------------- */

/* The script with the patterns of files in it. */
static void build_follow_script(struct follow *f)
{
	const char *run = *f->address.run ? f->address.run : NULL;

	for (const char *p = script; *p; p++) {
		if (p[0] != '%' || p[1] < '1' || p[1] > '3') {
			buf_add_char(&f->command, *p);
			continue;
		}
		if (*++p == '3')
			buf_printf(&f->command, " runs/%s/state.json", run ? run : "*");
		else
			follow_copy_add_patterns(&f->command, *p == '1', run);
	}
}

static int open_connection(struct follow *f, struct err *e)
{
	const char *const words[] = {
		"sh",		"-c", buf_text(&f->command), "werkbank", f->address.folder,
		f->address.run, NULL
	};
	struct command_line line = { 0 };
	int rc = remote_append_words(&line, &f->address.host, &f->how, words, e);

	if (!rc)
		rc = proc_start(&f->shell, line.all,
				PROC_PIPE_IN | PROC_PIPE_OUT | PROC_PIPE_ERR | PROC_DIE_WITH_PARENT,
				e);
	command_line_free(&line);
	if (rc)
		return rc;
	fcntl(f->shell.in, F_SETFL, O_NONBLOCK);
	fcntl(f->shell.out, F_SETFL, O_NONBLOCK);
	fcntl(f->shell.err, F_SETFL, O_NONBLOCK);
	buf_clear(&f->to);
	buf_clear(&f->from);
	buf_clear(&f->said);
	f->sent = f->n_due = f->answered = 0;
	f->state = FOLLOW_IDLE;
	f->heard = f->next = clock_mono_s();
	follow_copy_begin(f->copy);
	return 0;
}

/* Why a connection ended. */
enum follow_end {
	END_CLOSED,  /* by the other side */
	END_SILENT,  /* by us: no answer for ANSWER_S */
	END_STRANGE, /* by us: an answer that breaks the protocol */
};

/* Write why the connection ended as a sentence; returns the code of the error. */
static int explain_follow_end(struct follow *f, enum follow_end end, int status, char *text,
			      size_t room)
{
	static const char *const words[] = { "sh", NULL };
	struct remote_job job = {
		.host = &f->address.host, .argv = words, .err = f->said, .status = status
	};
	const char *host = f->address.host.name;

	if (end == END_SILENT)
		snprintf(text, room, "%.80s has not answered for %d s", host, ANSWER_S);
	else if (end == END_STRANGE)
		snprintf(text, room, "%.80s gave an answer that breaks the protocol", host);
	else if (status == NO_FOLDER)
		snprintf(text, room, "%.80s has no folder %.200s", host, f->address.folder);
	else if (status == NO_WORKSPACE)
		snprintf(text, room,
			 "%.200s on %.80s is no workspace: it has neither runs nor corpora",
			 f->address.folder, host);
	else if (status == NO_RUN)
		snprintf(text, room, "the workspace %.150s on %.80s has no run %.100s",
			 f->address.folder, host, f->address.run);
	else if (status == NO_TOOL)
		snprintf(text, room, "%.80s has no program %.*s, which is needed to follow a run",
			 host, (int)MIN(strcspn(buf_text(&f->said), "\n"), (size_t)20),
			 buf_text(&f->said));
	else
		remote_explain(&job, &f->how);
	if (job.trouble[0])
		snprintf(text, room, "%.380s", job.trouble);
	else if (!*text)
		snprintf(text, room, "the connection to %.80s ended with status %d", host, status);
	return end == END_SILENT || status == 255	 ? ERR_NOHOST
	       : status >= NO_FOLDER && status <= NO_RUN ? ERR_NOINPUT
	       : status == NO_TOOL			 ? ERR_UNAVAILABLE
							 : ERR_PROTOCOL;
}

/* The exit status of a shell that has closed its output; 0 if it does not end within END_S. */
static int shell_status(struct follow *f)
{
	const double until = clock_mono_s() + END_S;
	int status = 0;

	while (!proc_try_wait(&f->shell, &status) && clock_mono_s() < until)
		poll(NULL, 0, 20);
	return status;
}

/* End the connection: the first one fails for good, a later one is tried again. */
static int close_connection(struct follow *f, enum follow_end end, struct err *e)
{
	char trouble[400] = "";
	int status = 0, code;

	if (end == END_CLOSED)
		status = shell_status(f);
	proc_stop(&f->shell, 0); /* also closes the pipes */
	f->state = FOLLOW_CLOSED;
	f->next = clock_mono_s() + f->retry_s;
	f->retry_s = MIN(2 * f->retry_s, RETRY_MOST_S);
	code = explain_follow_end(f, end, status, trouble, sizeof(trouble));
	if (!f->was_ready)
		return err_set(e, code, "%s", trouble);
	if (follow_copy_lose_contact(f->copy, e))
		return e->code;
	return write_contact(f, trouble, e);
}

/* ---- requests and answers --------------------------------------------------------- */

static int add_due_file(struct follow *f, const struct copy_request *r, struct err *e)
{
	if (mem_grow(&f->due, &f->due_cap, f->n_due + 1, sizeof(*f->due), e))
		return e->code;
	f->due[f->n_due++] = (struct due_file){ *r, 0 };
	return 0;
}

static int ask_for_bytes(struct follow *f, const struct copy_request *r, struct err *e)
{
	buf_printf(&f->to, "get %lld %lld %s\n", (long long)r->offset + 1, (long long)r->count,
		   follow_copy_name(r->file));
	return add_due_file(f, r, e);
}

/* Ask for the due files from number `first` on by one request. */
static void ask_for_batch(struct follow *f, size_t first)
{
	if (first == f->n_due)
		return;
	f->due[first].batch = f->n_due - first;
	buf_printf(&f->to, "all %lld -", (long long)SMALL_BYTES);
	for (size_t i = first; i < f->n_due; i++)
		buf_printf(&f->to, " %s", follow_copy_name(f->due[i].request.file));
	buf_add_char(&f->to, '\n');
}

/*
 * Ask for everything that is new. Small files that are not here yet go together: read one by one, each
 * costs the other host some processes.
 */
static int ask_for_all(struct follow *f, struct err *e)
{
	size_t first = f->n_due; /* of the open batch */
	struct copy_request r;
	int64_t bytes = 0;
	int rc = 0;

	while (!rc && follow_copy_next_request(f->copy, &r)) {
		int64_t size = follow_copy_size(r.file);
		bool alone = r.offset || size > SMALL_BYTES;

		if (alone || f->n_due - first == BATCH_FILES || bytes + size > BATCH_BYTES) {
			ask_for_batch(f, first);
			first = f->n_due;
			bytes = 0;
		}
		if (alone) {
			rc = ask_for_bytes(f, &r, e);
			first = f->n_due;
		} else {
			rc = add_due_file(f, &r, e);
			bytes += size;
		}
	}
	ask_for_batch(f, first);
	return rc ? rc : buf_check(&f->to, e);
}

static void begin_look(struct follow *f)
{
	buf_clear(&f->from); /* what a login script has printed */
	buf_add_str(&f->to, "look\n");
	f->asked = f->heard = clock_mono_s();
	f->state = FOLLOW_LOOKING;
}

/* All answers have arrived: the copy equals the other workspace as it was at the poll. */
static int end_round(struct follow *f, struct err *e)
{
	double now = clock_mono_s();

	if (follow_copy_end_round(f->copy, !f->was_ready, e))
		return e->code;
	f->state = FOLLOW_IDLE;
	f->next = now + MAX(LOOK_EVERY_S, LOOK_SHARE * (now - f->asked));
	f->n_due = f->answered = 0;
	f->retry_s = RETRY_LEAST_S;
	if (write_contact(f, "", e))
		return e->code;
	return f->was_ready ? 0 : print_ready(f, e);
}

static int end_look(struct follow *f, struct err *e)
{
	follow_copy_end_look(f->copy);
	f->state = FOLLOW_GETTING;
	if (ask_for_all(f, e))
		return e->code;
	return f->n_due ? 0 : end_round(f, e);
}

static void drop_received(struct follow *f, size_t n)
{
	memmove(f->from.data, f->from.data + n, f->from.len - n);
	buf_truncate(&f->from, f->from.len - n);
}

/* The answer to a poll, once its last line "." is there. */
static int read_look_answer(struct follow *f, struct err *e)
{
	char *text = f->from.data, *end = NULL, *line;
	int rc = 0;

	if (f->from.len > LOOK_MOST)
		return err_set(e, ERR_PROTOCOL, "%s sent too long an answer", f->text);
	if (f->from.len >= 2 && !strcmp(text, ".\n"))
		end = text;
	else if (f->from.len >= 3 && !strcmp(text + f->from.len - 3, "\n.\n"))
		end = text + f->from.len - 2;
	if (!end)
		return 0;
	*end = 0;
	while (!rc && (line = strsep(&text, "\n")))
		rc = follow_copy_add_line(f->copy, line, e);
	buf_clear(&f->from);
	return rc ? rc : end_look(f, e);
}

/* One answer to "get"; *done: there was a whole one. */
static int read_bytes(struct follow *f, bool *done, struct err *e)
{
	struct copy_request next = f->due[f->answered].request;
	char *line = f->from.len ? memchr(f->from.data, '\n', f->from.len) : NULL;
	size_t head = line ? (size_t)(line + 1 - f->from.data) : 0;
	int64_t n = -1;
	bool more;

	*done = false;
	if (line)
		*line = 0;
	if (line ? !text_to_int(f->from.data, &n) || n < 0 || n > next.count : f->from.len > 40)
		return err_set(e, ERR_PROTOCOL, "%s: unexpected answer", f->text);
	if (line)
		*line = '\n';
	if (!line || f->from.len - head < (size_t)n)
		return 0;
	if (follow_copy_add_bytes(f->copy, &next, f->from.data + head, (size_t)n, &more, e))
		return e->code;
	drop_received(f, head + (size_t)n);
	*done = true;
	f->answered++;
	return more ? ask_for_bytes(f, &next, e) : 0;
}

/* The line before the bytes of a file in an answer to "all"; returns its length. */
static size_t batch_head(const struct due_file *file, char head[HEAD_BYTES])
{
	return (size_t)snprintf(head, HEAD_BYTES, "\n==> %s <==\n",
				follow_copy_name(file->request.file));
}

/* starts[i]: where the bytes of the file begin; NULL: the file was gone. */
static void find_batch_starts(const struct follow *f, size_t n, const char *end,
			      const char **starts)
{
	const char *at = f->from.data;
	char head[HEAD_BYTES];

	for (size_t i = 0; i < n; i++) {
		size_t len = batch_head(&f->due[f->answered + i], head);

		starts[i] = memmem(at, (size_t)(end - at), head, len);
		if (starts[i])
			at = starts[i] += len;
	}
}

/* One answer to "all"; *done: there was a whole one. */
static int read_batch(struct follow *f, bool *done, struct err *e)
{
	const size_t n = f->due[f->answered].batch, mark = strlen(BATCH_END);
	const char *starts[BATCH_FILES], *end, *until;
	int rc = 0;

	assert(n <= BATCH_FILES);
	*done = false;
	end = f->from.len >= mark ? memmem(f->from.data, f->from.len, BATCH_END, mark) : NULL;
	if (!end)
		return f->from.len > LOOK_MOST
			       ? err_set(e, ERR_PROTOCOL, "%s sent too long an answer", f->text)
			       : 0;
	find_batch_starts(f, n, end, starts);
	until = end;
	for (size_t i = n; !rc && i-- > 0;) {
		struct due_file file = f->due[f->answered + i];
		char head[HEAD_BYTES];
		bool more = false;

		if (!starts[i])
			continue;
		rc = follow_copy_add_bytes(f->copy, &file.request, starts[i],
					   (size_t)MIN(until - starts[i], SMALL_BYTES), &more, e);
		if (!rc && more)
			rc = ask_for_bytes(f, &file.request, e);
		until = starts[i] - batch_head(&file, head);
	}
	drop_received(f, (size_t)(end - f->from.data) + mark);
	f->answered += n;
	*done = true;
	return rc;
}

static int read_answers(struct follow *f, struct err *e)
{
	bool done = true;
	int rc = 0;

	if (f->state == FOLLOW_LOOKING)
		return read_look_answer(f, e);
	while (!rc && done && f->state == FOLLOW_GETTING) {
		rc = f->due[f->answered].batch ? read_batch(f, &done, e) : read_bytes(f, &done, e);
		if (!rc && f->answered == f->n_due)
			rc = end_round(f, e);
	}
	return rc;
}

/* Read what there is; *ended: the other side has closed the pipe. */
static int receive_bytes(struct follow *f, bool *ended, struct err *e)
{
	ssize_t n;

	for (;;) {
		char *room = buf_reserve(&f->from, READ_BYTES);

		if (!room)
			return buf_check(&f->from, e);
		n = read(f->shell.out, room, READ_BYTES - 1);
		if (n <= 0)
			break;
		room[n] = 0;
		f->from.len += (size_t)n;
		f->heard = clock_mono_s();
		if (read_answers(f, e))
			return e->code;
	}
	*ended = !n || (errno != EAGAIN && errno != EINTR);
	return 0;
}

static void receive_messages(struct follow *f)
{
	char bytes[1024];
	ssize_t n = read(f->shell.err, bytes, sizeof(bytes));

	if (n > 0 && f->said.len < STDERR_MOST)
		buf_add(&f->said, bytes, (size_t)n);
	if (!n) {
		close(f->shell.err);
		f->shell.err = -1;
	}
}

static void send_requests(struct follow *f)
{
	ssize_t n = write(f->shell.in, f->to.data + f->sent, f->to.len - f->sent);

	if (n > 0)
		f->sent += (size_t)n;
	if (f->sent == f->to.len) {
		buf_clear(&f->to);
		f->sent = 0;
	}
}

/* ---- the loop ---------------------------------------------------------------------- */

/* Wait for bytes, for room in the pipe, or for the next poll; then do what can be done. */
static int follow_turn(struct follow *f, struct err *e)
{
	struct pollfd on[3] = { { f->shell.out, POLLIN, 0 },
				{ f->shell.err, POLLIN, 0 },
				{ f->sent < f->to.len ? f->shell.in : -1, POLLOUT, 0 } };
	double now = clock_mono_s();
	double until = f->state == FOLLOW_IDLE ? f->next : f->heard + ANSWER_S;
	bool ended = false;

	if (poll(on, 3, MAX(0, (int)((until - now) * 1000) + 1)) < 0 && errno != EINTR)
		return err_set_errno(e, ERR_INTERNAL, "poll");
	if (on[1].revents)
		receive_messages(f);
	if (on[0].revents && receive_bytes(f, &ended, e))
		return e->code;
	if (!ended && on[2].revents)
		send_requests(f);
	now = clock_mono_s();
	if (ended)
		return close_connection(f, END_CLOSED, e);
	if (f->state != FOLLOW_IDLE && now > f->heard + ANSWER_S)
		return close_connection(f, END_SILENT, e);
	if (f->state == FOLLOW_IDLE && now >= f->next)
		begin_look(f);
	return 0;
}

static int follow_forever(struct follow *f, struct err *e)
{
	int rc = 0;

	while (!rc) {
		double wait = f->next - clock_mono_s();

		if (f->state != FOLLOW_CLOSED)
			rc = follow_turn(f, e);
		else if (wait > 0)
			poll(NULL, 0, (int)(wait * 1000) + 1);
		else
			rc = open_connection(f, e);
		if (rc == ERR_PROTOCOL && f->was_ready && f->state != FOLLOW_CLOSED) {
			*e = (struct err){ 0 };
			rc = close_connection(f, END_STRANGE, e);
		}
	}
	return rc;
}

/*
 * One process keeps the copy. A second one says at once that the copy is there, and continues when the
 * first one has ended.
 */
static int lock_copy(struct follow *f, struct err *e)
{
	char *path = file_path(e, "%s/contact-%s.lock", f->folder, f->number);
	int fd, rc = path ? file_make_folders(f->folder, e) : e->code;

	if (!rc)
		rc = file_open_in_place(&fd, path, O_RDWR, e);
	free(path);
	if (rc)
		return rc;
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return 0; /* until this process ends */
	rc = print_ready(f, e);
	while (!rc && flock(fd, LOCK_EX))
		if (errno != EINTR)
			rc = err_set_errno(e, ERR_IO, "%s: cannot be locked", f->folder);
	return rc;
}

int follow_command_run(struct conf *c, int *status, struct err *e)
{
	struct follow f = { .folder = c->arguments[0],
			    .number = c->arguments[1],
			    .prefix = c->arguments[2],
			    .text = c->arguments[3],
			    .retry_s = RETRY_LEAST_S,
			    .trouble = "?",
			    .shell = { .pid = -1, .in = -1, .out = -1, .err = -1 } };
	int rc = follow_address_parse(&f.address, f.text, e);
	char line[600];

	*status = 0;
	/* -C: journals become a tenth as long */
	f.how = (struct remote_options){ .ssh = strcmp(c->ssh, "ssh") != 0 ? c->ssh : "ssh -C",
					 .deadline_s = FIRST_ANSWER_S };
	if (!rc)
		rc = lock_copy(&f, e);
	if (!rc && !(f.copy = follow_copy_new(f.folder, f.prefix, e)))
		rc = e->code;
	if (!rc) {
		build_follow_script(&f);
		rc = buf_check(&f.command, e);
	}
	if (!rc)
		rc = follow_forever(&f, e);
	if (!f.was_ready) {
		snprintf(line, sizeof(line), "failed %d %s\n", err_exit_status(rc), e->text);
		print_first_line(&f, line, &(struct err){ 0 });
	}
	if (f.shell.pid > 0)
		proc_stop(&f.shell, 0);
	follow_copy_free(f.copy);
	follow_address_free(&f.address);
	buf_free(&f.command);
	buf_free(&f.to);
	buf_free(&f.from);
	buf_free(&f.said);
	free(f.due);
	return rc;
}
