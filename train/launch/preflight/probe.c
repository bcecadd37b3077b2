/* probe.c - see probe.h */
#include "train/launch/preflight/probe.h"

#include <assert.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "train/common/leftover.h"

#define MAX_REQUEST ((size_t)16 << 20)
#define MAX_ENDED   4096 /* records in one request */

/* ---- leftovers ------------------------------------------------------------- */

static int answer_leftovers(const struct json *request, struct json_writer *w, struct err *e)
{
	const struct json *pids = json_get(request, "pids");
	struct leftover *all;
	size_t n;

	if (leftover_read(&all, &n, e))
		return e->code;
	json_put_open(w, "records", '[');
	for (size_t i = 0; i < n; i++)
		leftover_write(&all[i], w);
	json_close(w, ']');
	free(all);
	json_put_open(w, "running", '[');
	for (size_t i = 0; i < json_len(pids); i++) {
		int64_t pid = json_integer(json_at(pids, i), -1);

		if (process_start_ticks(pid) >= 0)
			json_int(w, pid);
	}
	json_close(w, ']');
	return 0;
}

/* Our record of the same process; the file name in the request does not count. */
static const struct leftover *find_leftover_record(const struct leftover *all, size_t n,
						   const struct leftover *like)
{
	for (size_t i = 0; i < n; i++)
		if (all[i].pid == like->pid && all[i].started == like->started &&
		    !strcmp(all[i].boot, like->boot) && !strcmp(all[i].pid_space, like->pid_space))
			return &all[i];
	return NULL;
}

static void end_leftover(const struct leftover *l, double grace_s, struct json_writer *w)
{
	struct err e = { 0 };
	const char *how;

	json_open(w, '{');
	json_put_str(w, "run", l->run);
	json_put_int(w, "rank", l->rank);
	json_put_int(w, "pid", l->pid);
	if (leftover_end(l, grace_s, &how, &e))
		json_put_str(w, "trouble", e.text);
	else /* it was alive at the first SIGTERM, so that signal ended it */
		json_put_str(w, "ended", l->alive && !strcmp(how, "gone") ? "terminated" : how);
	json_close(w, '}');
}

/* First send SIGTERM to all processes, so that grace_s is for all of them together. */
static int answer_end_request(const struct json *request, struct json_writer *w, struct err *e)
{
	const struct json *records = json_get(request, "records");
	double grace_s = json_number(json_get(request, "grace"), 3), until;
	size_t n, n_selected = 0, most = MIN(json_len(records), MAX_ENDED);
	struct leftover *all, like;
	int rc;
	const struct leftover **selected;

	if (leftover_read(&all, &n, e))
		return e->code;
	selected = mem_alloc(most, sizeof(*selected), e);
	for (size_t i = 0; selected && i < most; i++) {
		const struct leftover *l = leftover_parse(&like, json_at(records, i))
						   ? find_leftover_record(all, n, &like)
						   : NULL;

		if (l && l->alive)
			leftover_send_sigterm(l);
		if (l)
			selected[n_selected++] = l;
	}
	assert(n_selected <= most);
	until = clock_mono_s() + (grace_s >= 0 && grace_s < 600 ? grace_s : 3);
	json_put_open(w, "ended", '[');
	for (size_t i = 0; i < n_selected; i++)
		end_leftover(selected[i], MAX(0.05, until - clock_mono_s()), w);
	json_close(w, ']');
	free(all);
	rc = selected ? 0 : e->code;
	free(selected);
	return rc;
}

/* ---- checksums --------------------------------------------------------------- */

static int answer_sums(const struct json *request, struct json_writer *w, struct err *e)
{
	const struct json *files = json_get(request, "files");

	(void)e;
	json_put_open(w, "sums", '[');
	for (size_t i = 0; i < json_len(files); i++) {
		const char *path = json_text(json_at(files, i), "");
		struct err trouble = { 0 };
		char hex[HASH_SHA256_HEX];

		json_open(w, '{');
		json_put_str(w, "file", path);
		if (hash_file(path, hex, &trouble)) {
			json_put_str(w, "trouble", trouble.text);
		} else {
			json_put_int(w, "bytes", file_size(path));
			json_put_str(w, "sha256", hex);
		}
		json_close(w, '}');
	}
	json_close(w, ']');
	return 0;
}

/* ---- the command --------------------------------------------------------------- */

static void put_probe_identity(struct json_writer *w)
{
	char host[256] = "";
	const struct passwd *user = getpwuid(geteuid());

	if (gethostname(host, sizeof(host) - 1))
		host[0] = 0;
	json_put_str(w, "werkbank", PACKAGE_VERSION);
	json_put_str(w, "host", host);
	if (user)
		json_put_str(w, "user", user->pw_name);
}

int probe_answer_request(const struct json *request, struct buf *out, struct err *e)
{
	static const struct {
		const char *name;
		int (*answer)(const struct json *request, struct json_writer *w, struct err *e);
	} questions[] = {
		/* clang-format off */
		{ "facts", probe_write_facts },
		{ "meet", probe_test_connections },
		{ "leftovers", answer_leftovers },
		{ "end", answer_end_request },
		{ "sums", answer_sums },
		/* clang-format on */
	};
	const char *ask = json_text(json_get(request, "ask"), "facts");
	struct json_writer w = { .out = out };
	const double began = clock_mono_s();

	for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
		int rc;

		if (strcmp(ask, questions[i].name) != 0)
			continue;
		json_open(&w, '{');
		put_probe_identity(&w);
		rc = questions[i].answer(request, &w, e);
		json_put_real(&w, "probe_s", clock_mono_s() - began);
		json_put_real(&w, "time", clock_wall_s());
		json_close(&w, '}');
		buf_add_char(out, '\n');
		return rc ? rc : buf_check(out, e);
	}
	return err_set(e, ERR_PROTOCOL,
		       "_probe: version %s does not know the question \"%.60s\": install the same "
		       "version on all hosts",
		       PACKAGE_VERSION, ask);
}

static int read_probe_request(struct json **request, struct err *e)
{
	struct buf text = { 0 };
	size_t n = 1;
	int rc;

	*request = NULL;
	while (!isatty(STDIN_FILENO) && n && text.len < MAX_REQUEST) {
		char *room = buf_reserve(&text, 65536);
		ssize_t got = room ? read(STDIN_FILENO, room, 65536) : 0;

		n = got > 0 ? (size_t)got : 0;
		text.len += n;
	}
	rc = buf_check(&text, e);
	if (!rc && text.len && !(*request = json_parse(text.data, text.len, e)))
		rc = err_prefix(e, "_probe: request on standard input");
	buf_free(&text);
	return rc;
}

/* Without a request on standard input: make one from the options. */
static int request_from_options(const struct conf *c, struct json **request, struct err *e)
{
	struct buf text = { 0 };
	struct json_writer w = { .out = &text };
	int rc;

	json_open(&w, '{');
	if (c->workspace)
		json_put_str(&w, "workspace", c->workspace);
	if (c->corpus)
		json_put_str(&w, "corpus", c->corpus);
	json_close(&w, '}');
	rc = buf_check(&text, e);
	if (!rc && !(*request = json_parse(text.data, text.len, e)))
		rc = e->code;
	buf_free(&text);
	return rc;
}

int probe_command_run(struct conf *c, int *status, struct err *e)
{
	struct json *request;
	struct buf out = { 0 };
	int rc = read_probe_request(&request, e);

	*status = 0;
	if (!rc && !request)
		rc = request_from_options(c, &request, e);
	if (!rc)
		rc = probe_answer_request(request, &out, e);
	if (!rc)
		rc = file_put_stdout(&out, e);
	json_free(request);
	buf_free(&out);
	return rc;
}
