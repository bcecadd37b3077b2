/* t_server.c - the server's readers of requests, its queue, and how texts are split and joined */
#include "eval/server/translation_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/server/form_json.h"
#include "eval/server/http_request.h"
#include "eval/server/server_keys.h"
#include "eval/server/text_layout.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "tests/test.h"

#define HOST	"Host: a\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"

static const struct {
	const char *bytes;
	int status;
} heads[] = {
	/* clang-format off */
	{ "GET / HTTP/1.1\r\n" HOST "\r\n", 200 },
	{ "GET /a?b=c HTTP/1.0\r\n\r\n", 200 },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc", 200 },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length:\t3 \r\n\r\n", 200 },
	{ "OPTIONS /translate HTTP/1.1\r\nhOST:a\r\n\r\n", 200 },
	/* not complete */
	{ "", 0 },
	{ "GET / HTTP/1.1\r\n" HOST, 0 },
	{ "GET / HTTP/1.1\r\n" HOST "\r", 0 },
	/* forms on which servers differ */
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 4\r\n\r\n", 400 },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 3\r\n\r\n", 400 },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 3, 3\r\n\r\n", 400 },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length: +3\r\n\r\n", 400 },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length: -3\r\n\r\n", 400 },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 3x\r\n\r\n", 400 },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 0x3\r\n\r\n", 400 },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n", 400 },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n" CHUNKED "\r\n", 400 },
	{ "POST / HTTP/1.1\r\n" HOST CHUNKED "Content-Length: 3\r\n\r\n", 400 },
	{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", 501 },
	{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n", 501 },
	{ "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length : 3\r\n\r\n", 400 },
	{ "POST / HTTP/1.1\r\n" HOST " Content-Length: 3\r\n\r\n", 400 },
	{ "POST / HTTP/1.1\r\n" HOST "X: a\r\n b\r\nContent-Length: 3\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\n" HOST "\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: a\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: a\"b\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 200 },
	{ "GET / HTTP/1.1\r\n" HOST "\n", 400 },
	{ "GET / HTTP/1.1\r\n" HOST "X: a\rb\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\n" HOST "X: \001\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\n" HOST "X\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\n" HOST ": a\r\n\r\n", 400 },
	{ "\r\nGET / HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET  / HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET / HTTP/1.1 \r\n" HOST "\r\n", 400 },
	{ "GET /a b HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET http://a/ HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET /#a HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET /\xC3\xA4 HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET /\r\n\r\n", 400 },
	{ "GET / HTTP/2.0\r\n" HOST "\r\n", 505 },
	{ "GET / HTTP/1.1\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\n" HOST HOST "\r\n", 400 },
	{ "POST / HTTP/1.1\r\n" HOST "\r\n", 411 },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999999\r\n\r\n", 413 },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\nExpect: tea\r\n\r\n", 417 },
	{ "POST / HTTP/1.1\r\n" HOST "Origin: a\r\nOrigin: b\r\nContent-Length: 0\r\n\r\n", 400 },
	/* clang-format on */
};

TEST(server_heads)
{
	struct http_request r;

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		if (!check_int(http_request_read(heads[i].bytes, strlen(heads[i].bytes), &r),
			       heads[i].status))
			test_fail(__FILE__, __LINE__, "the head is: %s", heads[i].bytes);
	check_int(http_request_read("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 29, &r), 400);
}

TEST(server_head_parts)
{
	static const char head[] =
		"POST /v2/translate?a=b HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n"
		"Connection: te, Close\r\nauthorization:  Bearer x \r\n"
		"Expect: 100-continue\r\n\r\nbody";
	struct http_request r;

	check_int(http_request_read(head, sizeof(head) - 1, &r), 200);
	check(http_text_is(&r.method, "POST") && http_text_is(&r.path, "/v2/translate"));
	check(http_text_is(&r.query, "a=b") && http_text_is(&r.authorization, "Bearer x"));
	check(!r.keeps_open && r.expects_continue);
	check_int(r.body_bytes, 12);
	check_int(r.head_bytes, sizeof(head) - 1 - 4);
}

TEST(server_head_limits)
{
	static char head[HTTP_MAX_HEAD + 100];
	struct http_request r;
	int n = snprintf(head, sizeof(head), "GET / HTTP/1.1\r\n" HOST);

	for (int i = 0; i < HTTP_MAX_FIELDS + 1; i++)
		n += snprintf(head + n, sizeof(head) - (size_t)n, "X: a\r\n");
	n += snprintf(head + n, sizeof(head) - (size_t)n, "\r\n");
	check_int(http_request_read(head, (size_t)n, &r), 431);
	n = snprintf(head, sizeof(head), "GET / HTTP/1.1\r\nX: ");
	memset(head + n, 'a', sizeof(head) - (size_t)n);
	check_int(http_request_read(head, HTTP_MAX_HEAD - 1, &r), 0);
	check_int(http_request_read(head, sizeof(head), &r), 431);
}

static void check_form(const char *form, const char *json)
{
	struct buf out = { 0 };
	struct err e = { 0 };
	const int rc = form_to_json(form, strlen(form), &out, &e);

	if (json)
		check_str(rc ? e.text : buf_text(&out), json);
	else
		check_int(rc, ERR_DATA);
	buf_free(&out);
}

TEST(server_forms)
{
	check_form("", "{}");
	check_form("q=a+b%2B%c3%a4&source=en&&x",
		   "{\"q\":\"a b+\xC3\xA4\",\"source\":\"en\",\"x\":\"\"}");
	check_form("q=1&t=x&q=2&q=", "{\"q\":[\"1\",\"2\",\"\"],\"t\":\"x\"}");
	check_form("q=a=b", "{\"q\":\"a=b\"}");
	check_form("q=%", NULL);
	check_form("q=%4", NULL);
	check_form("q=%zz", NULL);
	check_form("q=a%00b", NULL);
	check_form("q=%ff", NULL);
}

/* ---- the queue ---- */

static struct translation_job *new_job(uint64_t client, int n_best, int n_texts)
{
	const struct job_kind kind = { .n_best = n_best };
	struct err e = { 0 };
	struct translation_job *job = queue_job_new(&kind, client, &e);
	char text[100];

	job->deadline = 100;
	for (int i = 0; i < n_texts; i++) {
		snprintf(text, sizeof(text), "client %d text %d", (int)client, i);
		check_int(queue_job_add(job, text, strlen(text), &e), 0);
	}
	return job;
}

/* Sends all texts that the decoder may have; returns their number. */
static size_t send_all(struct translation_queue *q, struct queue_flight *f, double now)
{
	struct buf line = { 0 };
	size_t n = 0;

	while (queue_send(q, f, now, &line))
		n++;
	buf_free(&line);
	return n;
}

/* The answer of a decoder that writes "T:" before the text number i of the flight. */
static int answer_text(struct translation_queue *q, struct queue_flight *f, size_t i, struct err *e)
{
	const struct flight_text *t = &f->texts[i];
	struct buf line = { 0 };
	struct json_writer w = { .out = &line };
	struct json *answer;
	char text[120];
	int rc;

	snprintf(text, sizeof(text), "T:%s", t->job->texts[t->index].text);
	json_open(&w, '{');
	json_put_int(&w, "id", t->id);
	json_put_open(&w, "texts", '[');
	json_str(&w, text);
	json_close(&w, ']');
	json_close(&w, '}');
	answer = json_parse(line.data, line.len, e);
	rc = queue_take(q, f, answer, 2, e);
	json_free(answer);
	buf_free(&line);
	return rc;
}

static void answer_all(struct translation_queue *q, struct queue_flight *f, struct err *e)
{
	while (f->n)
		check_int(answer_text(q, f, f->n / 2, e), 0);
}

TEST(server_queue_takes_turns)
{
	struct err e = { 0 };
	struct translation_queue *q = queue_new(1000000, &e);
	struct translation_job *document = new_job(1, 1, 1000), *word = new_job(2, 1, 1),
			       *other = new_job(3, 2, 1);
	struct queue_flight f = { .n = 0 }, of_other_model = { .model = 1 };
	struct buf line = { 0 };

	check_int(queue_submit(q, document, 0, &e), 0);
	check_int(send_all(q, &f, 0), QUEUE_JOB_TEXTS);
	check_int(queue_submit(q, word, 1, &e), 0);
	check_int(queue_submit(q, other, 1, &e), 0);
	/* texts of those who came later join those of the long document */
	check_int(answer_text(q, &f, 9, &e), 0);
	check_int(answer_text(q, &f, 0, &e), 0);
	check_int(document->n_done, 2);
	check_int(send_all(q, &f, 1), 4);
	check(f.texts[f.n - 3].job == word && f.texts[f.n - 2].job == other);
	check(!queue_send(q, &of_other_model, 1, &line)); /* nobody waits for another model */
	check_int(answer_text(q, &f, f.n - 3, &e), 0);
	check_int(answer_text(q, &f, f.n - 2, &e), 0);
	check(queue_job_is_done(word) && queue_job_is_done(other) && !queue_job_is_done(document));
	check_str(word->texts[0].best[0], "T:client 2 text 0");
	queue_leave(q, word);
	queue_leave(q, other);
	/* a client leaves while the decoder has texts of it: they are cancelled, each once */
	queue_leave(q, document);
	check_int(queue_waiting_chars(q), 0);
	queue_cancel(&f, &line);
	check(!strncmp(buf_text(&line), "{\"cancel\":", 10) && f.texts[9].is_cancelled);
	buf_clear(&line);
	queue_cancel(&f, &line);
	check_int(line.len, 0);
	answer_all(q, &f, &e);
	check_int(queue_n_jobs(q), 0);
	buf_free(&line);
	queue_free(q);
}

/* Short texts come before long ones that were there first, but a long one that waits comes, too. */
TEST(server_queue_short_texts_first)
{
	struct err e = { 0 };
	struct translation_queue *q = queue_new(1000000, &e);
	struct queue_flight f = { .n = 0 };
	struct translation_job *jobs[4];
	const struct job_kind kind = { .n_best = 1 };
	char *text = mem_alloc(18001, 1, &e);
	struct buf line = { 0 };

	memset(text, 'a', 18000);
	for (uint64_t i = 0; i < 3; i++) {
		jobs[i] = queue_job_new(&kind, i + 1, &e);
		jobs[i]->deadline = 100;
		check_int(queue_job_add(jobs[i], text, 18000, &e), 0);
		check_int(queue_submit(q, jobs[i], 0, &e), 0);
	}
	/* a long one leaves room for short ones only */
	check(queue_send(q, &f, 0, &line) && !queue_send(q, &f, 0, &line));
	jobs[3] = new_job(9, 1, 1);
	check_int(queue_submit(q, jobs[3], 1, &e), 0);
	check(queue_send(q, &f, 1, &line) && f.texts[1].job == jobs[3]);
	check_int(answer_text(q, &f, 1, &e), 0);
	check(!queue_send(q, &f, 1, &line));
	check_int(answer_text(q, &f, 0, &e), 0);
	check(queue_send(q, &f, 1, &line) && f.texts[0].job == jobs[1]);
	check_int(answer_text(q, &f, 0, &e), 0);
	/* new short texts all the time: after 18 s the long one comes first */
	for (int i = 0; i < 2; i++) {
		struct translation_job *word = new_job((uint64_t)(10 + i), 1, 1);
		const double now = i ? 19 : 2;

		check_int(queue_submit(q, word, now, &e), 0);
		check(queue_send(q, &f, now, &line));
		check_int(f.texts[f.n - 1].job == jobs[2], i);
		answer_all(q, &f, &e);
		if (i) {
			check(queue_send(q, &f, now, &line));
			answer_all(q, &f, &e);
		}
		queue_leave(q, word);
	}
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
		queue_leave(q, jobs[i]);
	buf_free(&line);
	free(text);
	queue_free(q);
}

TEST(server_queue_limits)
{
	struct err e = { 0 };
	struct translation_queue *q = queue_new(30, &e);
	struct translation_job *first = new_job(1, 1, 3), *second = new_job(2, 1, 1);

	/* an empty queue takes a request of any length */
	check_int(queue_submit(q, first, 0, &e), 0);
	check_int(queue_submit(q, second, 0, &e), ERR_TEMPFAIL);
	queue_expire(q, 99);
	check(!queue_job_is_done(first));
	queue_expire(q, 100);
	check(first->fault != NULL && queue_job_is_done(first));
	check_int(queue_waiting_chars(q), 0);
	check_int(queue_submit(q, second, 100, &e), 0);
	queue_leave(q, first);
	queue_leave(q, second);
	queue_free(q);
}

/* One text ends each decoder that gets it; all others are translated. */
TEST(server_queue_finds_the_killer)
{
	struct err e = { 0 };
	struct translation_queue *q = queue_new(1000000, &e);
	struct translation_job *jobs[5];
	struct queue_flight f = { .n = 0 };
	int deaths = 0;

	for (uint64_t i = 0; i < ARRAY_LEN(jobs); i++) {
		jobs[i] = new_job(i + 1, 1, 2);
		check_int(queue_submit(q, jobs[i], 0, &e), 0);
	}
	for (int turns = 0; turns < 100 && (send_all(q, &f, 0) || f.n); turns++) {
		bool kills = false;

		for (size_t i = 0; i < f.n; i++)
			kills |= f.texts[i].job == jobs[2] && f.texts[i].index == 1;
		deaths += kills;
		if (kills)
			queue_return(q, &f);
		else
			answer_all(q, &f, &e);
	}
	check_int(deaths, 5); /* among 10, 10 and at most 4 texts, and twice alone */
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		check(queue_job_is_done(jobs[i]) && !jobs[i]->fault == (i != 2));
		queue_leave(q, jobs[i]);
	}
	check_int(queue_n_jobs(q), 0);
	queue_free(q);
}

/* Decoders that end by chance make no text fail, and their texts stay together. */
TEST(server_queue_after_deaths_by_chance)
{
	struct err e = { 0 };
	struct translation_queue *q = queue_new(1000000, &e);
	struct translation_job *jobs[8];
	struct queue_flight f = { .n = 0 };

	for (uint64_t i = 0; i < ARRAY_LEN(jobs); i++) {
		jobs[i] = new_job(i + 1, 1, 5);
		check_int(queue_submit(q, jobs[i], 0, &e), 0);
	}
	check_int(send_all(q, &f, 0), 40);
	queue_return(q, &f);
	check_int(send_all(q, &f, 0), 16);
	queue_return(q, &f);
	check(send_all(q, &f, 0) >= 4);
	answer_all(q, &f, &e);
	for (int turns = 0; turns < 100 && (send_all(q, &f, 0) || f.n); turns++)
		answer_all(q, &f, &e);
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		check(queue_job_is_done(jobs[i]) && !jobs[i]->fault);
		queue_leave(q, jobs[i]);
	}
	queue_free(q);
}

TEST(server_queue_wrong_answers)
{
	static const char *const answers[] = { "{\"id\":1}", "{\"id\":1,\"error\":\"no\"}",
					       "{\"id\":1,\"texts\":[]}",
					       "{\"id\":1,\"texts\":\"a\"}" };
	static const char *const of_nothing[] = { "{}", "[]", "{\"id\":2}", "7" };
	struct err e = { 0 };
	struct translation_queue *q = queue_new(1000, &e);

	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		struct translation_job *job = new_job(1, 1, 1);
		struct queue_flight f = { .n = 0 };
		struct json *answer = json_parse(answers[i], strlen(answers[i]), &e),
			    *other = json_parse(of_nothing[i], strlen(of_nothing[i]), &e);

		check_int(queue_submit(q, job, 0, &e), 0);
		check_int(send_all(q, &f, 0), 1);
		check_int(queue_take(q, &f, other, 0, &(struct err){ 0 }), ERR_PROTOCOL);
		check_int(queue_take(q, &f, NULL, 0, &(struct err){ 0 }), ERR_PROTOCOL);
		check_int(f.n, 1);
		check_int(queue_take(q, &f, answer, 0, &(struct err){ 0 }), ERR_PROTOCOL);
		check_int(f.n, 0);
		check(job->fault != NULL);
		queue_leave(q, job);
		json_free(answer);
		json_free(other);
	}
	queue_free(q);
}

/* ---- texts and keys ---- */

TEST(server_layout)
{
	static const char *const texts[] = { "One.\n\n  Two.  \r\nThree", "", "  \n", "\tA\n" };
	struct err e = { 0 };
	struct translation_queue *q = queue_new(1000, &e);
	const struct job_kind kind = { .n_best = 1 };
	struct translation_job *job = queue_job_new(&kind, 1, &e);
	struct text_layout l = { .n = 0 };
	struct queue_flight f = { .n = 0 };
	struct buf out = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		check_int(layout_add(&l, job, texts[i], false, &e), 0);
	check_int(layout_add(&l, job, " a\nb ", true, &e), 0);
	check_int(job->n, 5);
	check_int(queue_submit(q, job, 0, &e), 0);
	check_int(send_all(q, &f, 0), 5);
	answer_all(q, &f, &e);
	for (size_t i = 0; i <= ARRAY_LEN(texts); i++) {
		layout_write(&l, job, i, 3, &out);
		buf_add_char(&out, '|');
	}
	check_str(buf_text(&out), "T:One.\n\n  T:Two.  \r\nT:Three||  \n|\tT:A\n| T:a\nb |");
	queue_leave(q, job);
	queue_free(q);
	layout_free(&l);
	buf_free(&out);
}

TEST(server_keys)
{
	static const char file[] = "# team\nfirst-key-1\n\nsecond.key:2\n";
	struct err e = { 0 };
	struct server_keys *k = mem_alloc(1, sizeof(*k), &e);
	char *path = file_path(&e, "%s/keys", test_folder());

	check_int(file_write_all(path, file, sizeof(file) - 1, &e), 0);
	check_int(chmod(path, 0600), 0);
	check_int(server_keys_read(k, path, &e), 0);
	check_int(k->n, 2);
	check_int(server_keys_find(k, "second.key:2", 12), 2);
	check_int(server_keys_find(k, "second.key:", 11), 0);
	check_int(server_keys_find(k, "", 0), 0);
	check_int(chmod(path, 0644), 0);
	check_int(server_keys_read(k, path, &e), ERR_PERM);
	check_int(chmod(path, 0662), 0);
	check_int(server_keys_read(k, path, &e), ERR_PERM);
	check_int(chmod(path, 0600), 0);
	check_int(file_write_all(path, "short\n", 6, &e), 0);
	check_int(server_keys_read(k, path, &e), ERR_DATA);
	check_int(file_write_all(path, "#\n", 2, &e), 0);
	check_int(server_keys_read(k, path, &e), ERR_DATA);
	free(path);
	free(k);
}
