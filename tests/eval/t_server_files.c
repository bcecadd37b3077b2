/* t_server_files.c - files in the server: forms with parts, names, what is kept, limits of the queue */
#include "eval/server/server_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/server/form_json.h"
#include "share/base/base64.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "tests/test.h"

TEST(base64_letters)
{
	static const char *const cases[][2] = {
		{ "", "" },	   { "f", "Zg==" }, { "fo", "Zm8=" },
		{ "foo", "Zm9v" }, { "\xff\xef~?>", "/+9+Pz4=" },
	}, *const bad[] = { "Z", "Zg", "Zg=", "Z===", "Zg==Zg==", "Z g=", "Zm9v\n", "====" };
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf text = { 0 }, bytes = { 0 };

		base64_add(&text, cases[i][0], strlen(cases[i][0]));
		check_str(buf_text(&text), cases[i][1]);
		check_int(base64_read(&bytes, buf_text(&text), text.len, &e), 0);
		check_str(buf_text(&bytes), cases[i][0]);
		buf_free(&text);
		buf_free(&bytes);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct buf bytes = { 0 };

		check_int(base64_read(&bytes, bad[i], strlen(bad[i]), &e), ERR_DATA);
		buf_free(&bytes);
	}
}

static void check_multipart(const char *type, const char *body, const char *json, const char *bytes)
{
	struct form_file file;
	struct buf out = { 0 };
	struct err e = { 0 };
	const int rc = multipart_to_json(type, strlen(type), body, strlen(body), &out, &file, &e);

	if (json)
		check_str(rc ? e.text : buf_text(&out), json);
	else
		check_int(rc, ERR_DATA);
	if (json && bytes && check(file.bytes && file.n == strlen(bytes)))
		check(!memcmp(file.bytes, bytes, file.n));
	if (json && !bytes)
		check(!file.bytes);
	buf_free(&out);
}

#define TYPE  "multipart/form-data; boundary="
#define FIELD "Content-Disposition: form-data; name=\"a\"\r\n\r\n"
#define NAMED                                                                                      \
	"Content-Type: text/html\r\ncontent-disposition: form-data; filename=\"x.html\"; "         \
	"name=file\r\n\r\n"
#define BEGIN	"--X\r\n"
#define BETWEEN "\r\n--X\r\n"
#define END	"\r\n--X--\r\n"

#define FILE_FIELD "Content-Disposition: form-data; name=file; "

TEST(server_multipart)
{
	check_multipart(TYPE "X",
			BEGIN FILE_FIELD "filename*=utf-8''na%C3%AFve%20a.txt\r\n\r\nb" END,
			"{\"file\":\"naïve a.txt\"}", "b");
	check_multipart(TYPE "X",
			BEGIN FILE_FIELD
			"filename=\"x.txt\"; filename*=UTF-8'de'y.txt\r\n\r\nb" END,
			"{\"file\":\"y.txt\"}", "b");
	check_multipart(TYPE "X", BEGIN FILE_FIELD "filename*=plain.txt\r\n\r\nb" END,
			"{\"file\":\"plain.txt\"}", "b");
	check_multipart(TYPE "X", BEGIN FILE_FIELD "filename*=iso-8859-1''%e4.txt\r\n\r\nb" END,
			NULL, NULL);
	check_multipart(TYPE "X", BEGIN FILE_FIELD "filename*=utf-8''%0.txt\r\n\r\nb" END, NULL,
			NULL);
	check_multipart(TYPE "X", BEGIN FIELD "b" END, "{\"a\":\"b\"}", NULL);
	check_multipart(TYPE "\"X\"; charset=utf-8", BEGIN FIELD "b\r\n--Y\r\n" END,
			"{\"a\":\"b\\u000d\\n--Y\\u000d\\n\"}", NULL);
	check_multipart(TYPE "X", BEGIN FIELD "" BETWEEN NAMED "<p>\r\n" BETWEEN FIELD "c" END,
			"{\"a\":[\"\",\"c\"],\"file\":\"x.html\"}", "<p>\r\n");
	check_multipart(TYPE "X", BEGIN NAMED "" END, "{\"file\":\"x.html\"}", "");
	check_multipart(TYPE "X", "--X--", "{}", NULL);
	check_multipart("multipart/form-data", BEGIN FIELD "b" END, NULL, NULL);
	check_multipart(TYPE, BEGIN FIELD "b" END, NULL, NULL);
	check_multipart(TYPE "\"X", BEGIN FIELD "b" END, NULL, NULL);
	check_multipart(TYPE "X", "", NULL, NULL);
	check_multipart(TYPE "X", "--X", NULL, NULL);
	check_multipart(TYPE "X", "--Xa\r\n" FIELD "b" END, NULL, NULL);
	check_multipart(TYPE "X", BEGIN FIELD "b", NULL, NULL);
	check_multipart(TYPE "X", BEGIN FIELD "b\r\n--X", NULL, NULL);
	check_multipart(TYPE "X", BEGIN "\r\nb" END, NULL, NULL);
	check_multipart(TYPE "X", BEGIN FIELD "\xff" END, NULL, NULL);
	check_multipart(TYPE "X", BEGIN NAMED "a" BETWEEN NAMED "b" END, NULL, NULL);
}

TEST(server_file_names)
{
	static const char *const cases[][2] = {
		{ "letter.docx", "letter_de.docx" },
		{ "/etc/a b.HTML", "a_b_de.HTML" },
		{ "C:\\x\\y.txt", "y_de.txt" },
		{ "...\".html", "__de.html" },
		{ "gr\xC3\xB6\xC3\x9F"
		  "e.po",
		  "gr\xC3\xB6\xC3\x9F"
		  "e_de.po" },
		{ "a.b.txt", "a.b_de.txt" },
	};
	struct err e = { 0 };
	struct buf out = { 0 };
	char *name;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		name = files_name(cases[i][0], "de", &e);
		check_str(name, cases[i][1]);
		free(name);
	}
	for (int i = 0; i < 60;
	     i++) /* an ASCII letter, then 60 of two bytes: the limit is within one */
		buf_add_str(&out, i ? "\xC3\xB6" : "a\xC3\xB6");
	name = files_name(buf_text(&out), "de", &e);
	check(utf8_valid(name, strlen(name)) && strlen(name) == 99 + 3);
	free(name);
	buf_restart(&out);
	files_put_name("gr\xC3\xB6\xC3\x9F_e.po", false, &out);
	check_str(buf_text(&out), "gr__e.po");
	buf_restart(&out);
	files_put_name("gr\xC3\xB6.po", true, &out);
	check_str(buf_text(&out), "gr%C3%B6.po");
	buf_free(&out);
}

/* A file waits, is translated, is kept for a while; the oldest one makes room. */
TEST(server_files_are_kept)
{
	static struct server_files f;
	struct err e = { 0 };
	struct translation_queue *q = queue_new(1000000, &e);
	struct queue_flight flight = { .n = 0 };
	const struct job_kind kind = { .n_best = 1, .document = "html" };
	struct server_file *file = NULL;
	char first[FILES_ID] = "";
	int64_t chars = 0;

	for (int i = 0; i < FILES_MAX + 1; i++) {
		struct translation_job *job = queue_job_new(&kind, 1, &e);
		char answer[100];
		struct buf line = { 0 };
		struct json *json;

		check_int(queue_job_add(job, "<p>", 3, &e), 0);
		job->deadline = 1000;
		check_int(queue_submit(q, job, i, &e), 0);
		file = files_add(&f, mem_strdup("a_de.html", &e), job, 1, i, &e);
		if (!check(file && queue_send(q, &flight, i, &line)))
			return;
		check(strstr(buf_text(&line), "\"document\":\"html\",\"bytes\":\"PHA+\"") != NULL);
		buf_free(&line);
		for (int k = 0; k < 2; k++) {
			snprintf(answer, sizeof(answer),
				 k ? "{\"id\":%d,\"bytes\":\"PGI+\",\"source_chars\":7}"
				   : "{\"id\":%d,\"done\":1,\"of\":3}",
				 i + 1);
			json = json_parse(answer, strlen(answer), &e);
			check_int(queue_take(q, &flight, json, i, &e), 0);
			json_free(json);
			check_int(job->n_units, 3);
		}
		files_update(&f, q, i, &chars, 1);
		check(!file->job && !strcmp(buf_text(&file->bytes), "<b>"));
		if (!i)
			memcpy(first, file->id, sizeof(first));
	}
	check_int(chars, 7 * (FILES_MAX + 1));
	check(!files_find(&f, first, FILES_ID - 1));
	check(files_find(&f, file->id, FILES_ID - 1) == file && !files_find(&f, file->id, 5));
	check(files_has_key(file, file->key) && !files_has_key(file, file->id) &&
	      !files_has_key(file, ""));
	files_update(&f, q, FILES_MAX + FILES_KEEP_S, &chars, 1);
	check(!*file->id);
	files_free(&f, q);
	check_int(queue_n_jobs(q), 0);
	queue_free(q);
}

TEST(server_queue_limits_files)
{
	struct err e = { 0 };
	struct translation_queue *q = queue_new(1000000, &e);
	struct queue_flight f = { .n = 0 };
	const struct job_kind files = { .n_best = 1, .document = "txt" }, texts = { .n_best = 1 };
	struct translation_job *jobs[QUEUE_FLIGHT_FILES + 2];
	struct buf line = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		jobs[i] = queue_job_new(i + 1 < ARRAY_LEN(jobs) ? &files : &texts, i + 1, &e);
		check_int(queue_job_add(jobs[i], "text", 4, &e), 0);
		check_int(queue_submit(q, jobs[i], 0, &e), 0);
	}
	while (queue_send(q, &f, 100, &line))
		n++;
	check_int(n, QUEUE_FLIGHT_FILES + 1); /* one file waits, the text does not */
	check_int(jobs[ARRAY_LEN(jobs) - 1]->n_in_flight, 1);
	buf_free(&line);
	queue_return(q, &f);
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
		queue_leave(q, jobs[i]);
	check_int(queue_n_jobs(q), 0);
	queue_free(q);
}

static struct translation_job *new_file(uint64_t client, size_t n)
{
	const struct job_kind kind = { .n_best = 1, .document = "txt" };
	struct err e = { 0 };
	struct translation_job *job = queue_job_new(&kind, client, &e);
	char *bytes = mem_alloc(n, 1, &e);

	check_int(queue_job_add(job, bytes, n, &e), 0);
	free(bytes);
	return job;
}

/* One client may not take all places, but one file of any size. */
TEST(server_queue_limits_files_of_a_client)
{
	struct err e = { 0 };
	struct translation_queue *q = queue_new(1000000, &e);
	struct translation_job *jobs[QUEUE_CLIENT_FILES], *job;

	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		jobs[i] = new_file(1, 1);
		check_int(queue_submit(q, jobs[i], 0, &e), 0);
	}
	job = new_file(1, 1);
	check_int(queue_submit(q, job, 0, &e), ERR_TEMPFAIL);
	queue_leave(q, jobs[0]);
	check_int(queue_submit(q, job, 0, &e), 0);
	jobs[0] = job;
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
		queue_leave(q, jobs[i]);
	jobs[0] = new_file(1, QUEUE_CLIENT_BYTES + 1);
	check_int(queue_submit(q, jobs[0], 0, &e), 0);
	job = new_file(1, 1);
	check_int(queue_submit(q, job, 0, &e), ERR_TEMPFAIL);
	queue_job_free(job);
	job = new_file(2, 1);
	check_int(queue_submit(q, job, 0, &e), 0);
	queue_leave(q, job);
	queue_leave(q, jobs[0]);
	check_int(queue_n_jobs(q), 0);
	queue_free(q);
}

/* A client with many results loses its own, not those of others. */
TEST(server_files_make_room_fairly)
{
	static struct server_files f;
	struct err e = { 0 };
	struct translation_queue *q = queue_new(1000000, &e);
	struct server_file *others = NULL;

	for (int i = 0; i < FILES_MAX + 20; i++) {
		struct translation_job *job = new_file(i ? 2 : 1, 1);
		struct server_file *file;

		check_int(queue_submit(q, job, i, &e), 0);
		file = files_add(&f, mem_strdup("a.txt", &e), job, i ? 2 : 1, i, &e);
		if (!check(file))
			return;
		job->fault = "a fault";
		files_update(&f, q, i, NULL, 0);
		others = i ? others : file;
	}
	check(others && *others->id && others->client == 1);
	files_free(&f, q);
	queue_free(q);
}

/* By way of a third language: the bytes of the first model's file are the file of the second one. */
TEST(server_queue_file_of_two_models)
{
	static const char *const answers[] = {
		"{\"id\":1,\"bytes\":\"PGI+AGM=\",\"source_chars\":7}",
		"{\"id\":1,\"done\":1,\"of\":2}", "{\"id\":1,\"bytes\":\"ZA==\",\"source_chars\":9}"
	};
	const struct job_kind kind = {
		.n_best = 1, .document = "txt", .has_second = true, .second = 1
	};
	struct queue_flight flights[2] = { { .model = 0 }, { .model = 1 } };
	struct err e = { 0 };
	struct translation_queue *q = queue_new(1000000, &e);
	struct translation_job *job = queue_job_new(&kind, 1, &e);
	struct buf line = { 0 };

	check_int(queue_job_add(job, "a", 1, &e), 0);
	check_int(queue_submit(q, job, 0, &e), 0);
	for (size_t i = 0; i < 3; i++) {
		struct queue_flight *f = &flights[i > 0];
		struct json *answer = json_parse(answers[i], strlen(answers[i]), &e);

		buf_clear(&line);
		check(queue_send(q, f, 1, &line) == (i != 2));
		if (i == 1)
			check(strstr(buf_text(&line), "\"bytes\":\"PGI+AGM=\"") != NULL);
		check_int(queue_take(q, f, answer, 2, &e), i == 0);
		json_free(answer);
		check(queue_job_is_done(job) == (i == 2));
		if (i < 2)
			check(queue_job_share(job) == (i ? 0.75 : 0.5));
	}
	check_str(job->texts->best[0], "d");
	check_int(job->n_source_chars, 7);
	check_int(queue_waiting_chars(q), 0);
	buf_free(&line);
	queue_leave(q, job);
	check_int(queue_n_jobs(q), 0);
	queue_free(q);
}

/* A decoder that is replaced gives its texts back, and they count for nobody's death. */
TEST(server_queue_takes_back)
{
	struct err e = { 0 };
	struct translation_queue *q = queue_new(1000000, &e);
	struct queue_flight f = { .n = 0 };
	struct translation_job *job = new_file(1, 1);
	struct buf line = { 0 };

	check_int(queue_submit(q, job, 0, &e), 0);
	for (int i = 0; i < 5; i++) {
		check(queue_send(q, &f, i, &line));
		queue_take_back(q, &f);
		check(!f.n && !job->fault && !job->texts->n_ended);
		check_int(queue_waiting_chars(q), QUEUE_FILE_CHARS);
	}
	buf_free(&line);
	queue_leave(q, job);
	queue_free(q);
}
