/* evaluate.c - an evaluation by the program werkbank-eval; see evaluate.h */
#include "train/trainer/evaluate_internal.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/proc.h"
#include "share/base/text.h"
#include "share/workspace/paths.h"

#define LINE_LIMIT (1u << 20) /* bytes of a line of the child's output */
#define TEXT_LIMIT 1000	      /* bytes of a text in a record of samples.jsonl, with JSON escapes */
#define POLL_MS	   200	      /* between readings of *stop */

/* ---- records ----------------------------------------------------------- */

/* Bytes of a character of JSON text at text, n of it as written between quotes: an upper bound. */
static size_t json_escaped_bytes(const char *text, size_t n)
{
	return (unsigned char)*text < 0x20 ? 6 : *text == '"' || *text == '\\' ? 2 : n;
}

/*
 * Append the characters of text whose JSON form fits in TEXT_LIMIT bytes; an ellipsis replaces the
 * rest.
 */
static void add_sample_text(struct buf *out, const char *text)
{
	size_t n, used = 0, end = 0;
	uint32_t c;

	for (size_t left = strlen(text); end < left && used <= TEXT_LIMIT; end += n) {
		n = utf8_decode(text + end, left - end, &c);
		used += json_escaped_bytes(text + end, n);
		if (used > TEXT_LIMIT)
			break;
	}
	buf_add(out, text, end);
	if (text[end])
		buf_add_str(out, "\xE2\x80\xA6");
}

static int write_sample(const struct evaluation *v, const struct json *line, struct err *e)
{
	static const char *const texts[] = { "source", "reference", "hypothesis" };
	struct json_writer *w = journal_begin(v->samples, "sample", v->step);

	json_put_int(w, "id", json_integer(json_get(line, "id"), -1));
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct buf text = { 0 };

		add_sample_text(&text, json_text(json_get(line, texts[i]), ""));
		json_put_str(w, texts[i], buf_text(&text));
		buf_free(&text);
	}
	return journal_end(v->samples, e);
}

struct evaluated evaluate_result(const struct evaluation *v)
{
	struct evaluated one = { .step = v->step, .bleu = v->bleu, .nll = v->nll };

	memcpy(one.tok, v->tok, sizeof(one.tok));
	return one;
}

/* The scores by tag of the source lines; no member if there are none. */
static void write_tag_scores(struct json_writer *w, const struct json *tags)
{
	if (!json_len(tags))
		return;
	json_put_open(w, "tags", '[');
	for (size_t i = 0; i < json_len(tags); i++) {
		const struct json *t = json_at(tags, i);

		json_open(w, '{');
		json_put_str(w, "tag", json_text(json_get(t, "tag"), ""));
		json_put_int(w, "sentences", json_integer(json_get(t, "sentences"), 0));
		json_put_real(w, "bleu", json_number(json_get(t, "bleu"), -1));
		json_put_real(w, "chrf2", json_number(json_get(t, "chrf2"), -1));
		if (json_get(t, "nll"))
			json_put_real(w, "nll", json_number(json_get(t, "nll"), NAN));
		json_close(w, '}');
	}
	json_close(w, ']');
}

static int write_scores(struct evaluation *v, const struct json *line, struct err *e)
{
	static const char *const numbers[] = { "bleu",	  "dev_nll", "train_nll",
					       "dev_ppl", "seconds", "shares" };
	const char *signature = json_text(json_get(line, "signature"), NULL);
	struct evaluated one;
	struct json_writer *w = journal_begin(v->journal, "eval", v->step);

	v->bleu = json_number(json_get(line, "bleu"), -1);
	snprintf(v->precision, sizeof(v->precision), "%s",
		 json_text(json_get(line, "precision"), ""));
	snprintf(v->tok, sizeof(v->tok), "%s", json_text(json_get(line, "tok"), "13a"));
	v->nll = json_number(json_get(line, "dev_nll"), NAN);
	v->train_nll = json_number(json_get(line, "train_nll"), NAN);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		double x = json_number(json_get(line, numbers[i]), -1);

		if (v->began > 0 && !strcmp(numbers[i], "seconds"))
			x = clock_mono_s() - v->began; /* the child knows its own part only */
		if (!json_get(line, numbers[i]))
			continue; /* unknown is absent */
		json_put_real(w, numbers[i], x);
	}
	json_put_str(w, "tok", v->tok);
	if (signature)
		json_put_str(w, "signature", signature);
	if (*v->precision)
		json_put_str(w, "precision", v->precision);
	if (v->weights)
		json_put_str(w, "weights", "average");
	write_tag_scores(w, json_get(line, "tags"));
	json_key(w, "best");
	one = evaluate_result(v);
	json_bool(w, evaluations_would_be_best(v->before, v->best_metric, &one));
	return journal_end(v->journal, e);
}

int evaluate_write_record(void *arg, const char *text, size_t n, struct err *e)
{
	struct evaluation *v = arg;
	struct json *line = json_parse(text, n, e);
	const char *kind = json_text(json_get(line, "kind"), "");
	int rc = 0;

	if (!line)
		return err_prefix(e, "werkbank-eval printed a line that is not JSON");
	if (!strcmp(kind, "sample"))
		rc = write_sample(v, line, e);
	else if (!strcmp(kind, "eval"))
		rc = write_scores(v, line, e);
	json_free(line);
	return rc;
}

/* ---- the child --------------------------------------------------------- */

/* Pass the complete lines of b to on_line() and remove them. */
static int evaluate_split_lines(const struct evaluate_child *c, struct buf *b, struct err *e)
{
	size_t start = 0;
	char *end;

	while (start < b->len && (end = memchr(b->data + start, '\n', b->len - start))) {
		size_t n = (size_t)(end - (b->data + start));

		if (n && c->on_line(c->arg, b->data + start, n, e))
			return e->code;
		start += n + 1;
	}
	if (start) {
		memmove(b->data, b->data + start, b->len - start);
		buf_truncate(b, b->len - start);
	}
	if (b->len > LINE_LIMIT)
		return err_set(e, ERR_PROTOCOL,
			       "werkbank-eval printed a line of more than %u bytes", LINE_LIMIT);
	return 0;
}

/* Read until the child closes its output. */
static int evaluate_read_output(const struct evaluate_child *c, int fd, struct err *e)
{
	struct buf b = { 0 };
	int rc = 0;

	while (!rc) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		char *to = buf_reserve(&b, 65536);
		ssize_t n;

		if (*c->stop)
			rc = err_set(e, ERR_TEMPFAIL, "the evaluation of step %lld was stopped",
				     (long long)c->step);
		else if (!to)
			rc = buf_check(&b, e);
		if (rc || poll(&p, 1, POLL_MS) <= 0)
			continue;
		n = read(fd, to, 65536);
		if (n == 0)
			break;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			rc = err_set_errno(e, ERR_IO, "cannot read the output of werkbank-eval");
		if (n > 0) {
			b.len += (size_t)n;
			b.data[b.len] = 0;
			rc = evaluate_split_lines(c, &b, e);
		}
	}
	buf_free(&b);
	return rc;
}

static int evaluate_start_child(const struct evaluate_child *c, const char *const argv[],
				struct err *e)
{
	struct proc child;
	int status, rc = proc_start(&child, argv, PROC_PIPE_OUT | PROC_OWN_GROUP, e);

	if (rc)
		return rc;
	rc = evaluate_read_output(c, child.out, e);
	if (rc) {
		proc_stop(&child, 3);
		return rc;
	}
	rc = proc_wait(&child, &status, e);
	if (!rc && status && *c->stop) /* a signal to all processes ended the child, too */
		rc = err_set(e, ERR_TEMPFAIL, "the evaluation of step %lld was stopped",
			     (long long)c->step);
	else if (!rc && status > 128)
		rc = err_set(e, ERR_UNAVAILABLE, "werkbank-eval was ended by signal %d (%s)%s",
			     status - 128, strsignal(status - 128),
			     status == 128 + SIGKILL ? ": the kernel sends it if memory is "
						       "exhausted or a limit of memory is reached"
						     : "");
	else if (!rc && status)
		rc = err_set(e,
			     status == err_exit_status(ERR_DATA)      ? ERR_DATA
			     : status == err_exit_status(ERR_NOINPUT) ? ERR_NOINPUT
								      : ERR_UNAVAILABLE,
			     "werkbank-eval ended with status %d (%s)", status, err_name(-status));
	return rc;
}

int evaluate_run_child(const struct evaluate_child *c, struct err *e)
{
	const char *argv[24], *checkpoint[] = { "--checkpoint", NULL };
	char *program = paths_program("werkbank-eval", e), step[32], gpu[16];
	int rc, n = 0;

	if (!program)
		return e->code;
	snprintf(step, sizeof(step), "%lld", (long long)c->step);
	checkpoint[1] = step;
	argv[n++] = program;
	argv[n++] = "_evaluate";
	argv[n++] = "-C";
	argv[n++] = c->workspace;
	argv[n++] = c->model ? "--model" : "--run";
	argv[n++] = c->model ? c->model : c->run;
	for (size_t i = 0; !c->model && i < ARRAY_LEN(checkpoint); i++)
		argv[n++] = checkpoint[i];
	snprintf(gpu, sizeof(gpu), "%d", c->gpu);
	if (c->gpu >= 0) {
		argv[n++] = "--gpu";
		argv[n++] = gpu;
	}
	for (size_t i = 0; c->more && c->more[i]; i++)
		argv[n++] = c->more[i];
	assert((size_t)n < ARRAY_LEN(argv));
	argv[n] = NULL;
	rc = evaluate_start_child(c, argv, e);
	free(program);
	return rc;
}

int evaluate_on_first_rank(struct evaluation *v, const char *const *more)
{
	const struct evaluate_child child = {
		.workspace = v->workspace,
		.run = v->run,
		.step = v->step,
		.gpu = v->gpu,
		.more = more,
		.stop = v->stop,
		.on_line = evaluate_write_record,
		.arg = v,
	};

	if (!evaluate_run_child(&child, &v->trouble) && v->bleu < 0)
		err_set(&v->trouble, ERR_PROTOCOL, "werkbank-eval printed no BLEU score");
	return v->trouble.code;
}

int evaluate_checkpoint(struct evaluation *v, struct err *e)
{
	v->bleu = -1;
	v->nll = v->train_nll = NAN;
	v->trouble.code = 0;
	if (v->comm->size > 1)
		return evaluate_on_all_ranks(v, e);
	evaluate_on_first_rank(v, NULL);
	return 0;
}
