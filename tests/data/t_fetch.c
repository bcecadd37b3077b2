/* t_fetch.c - tests of bars, parts and receipts; fetch.sh tests the network */
#include "tests/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data/source/bars.h"
#include "data/source/fetch.h"
#include "data/source/fetch_part.h"
#include "data/source/fetch_transfer.h"
#include "data/source/receipt.h"
#include "share/base/file.h"

static char *write_text(const char *name, const char *text)
{
	struct err e = { 0 };
	char *path = file_path(&e, "%s/%s", test_folder(), name);

	if (!path || file_write_all(path, text, strlen(text), &e))
		test_fail(__FILE__, __LINE__, "%s", e.text);
	return path;
}

/* ---- bars ---- */

TEST(bars_lines_of_a_known_and_an_unknown_total)
{
	struct bar_view v = { .name = "dev.tgz",
			      .done = 25000000,
			      .total = 100000000,
			      .rate = 5e6,
			      .name_width = 8 };
	struct buf b = { 0 };

	bars_format_line(&b, &v, 75);
	check_str(buf_text(&b),
		  "dev.tgz   [####               ]   25 %  25.0 MB of 100.0 MB  5.0 MB/s  0:15");
	buf_clear(&b);
	bars_format_line(&b, &v, 40);
	check_str(buf_text(&b), "dev.tgz    25 %  5.0 MB/s  0:15");
	buf_clear(&b);
	v.total = -1;
	v.status = "waiting";
	bars_format_line(&b, &v, 75);
	check_str(buf_text(&b), "dev.tgz   25.0 MB  waiting");
	buf_free(&b);
}

/* No line is wider than the terminal. */
TEST(bars_lines_fit)
{
	static const int64_t amounts[] = { 0, 1, 999, 123456, 918311367, 900000000000 };

	for (int width = 0; width <= 130; width++) {
		for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
			for (size_t k = 0; k < ARRAY_LEN(amounts); k++) {
				struct bar_view v = { .name = "training-parallel-commoncrawl.tgz",
						      .status = i == 5 ? "verifying the first part"
								       : NULL,
						      .done = amounts[i],
						      .total = k ? amounts[k] : -1,
						      .rate = k == 4 ? 0.1 : (double)amounts[k],
						      .name_width = 33 };
				struct buf b = { 0 };

				bars_format_line(&b, &v, width);
				if (b.len > (size_t)width)
					test_fail(__FILE__, __LINE__, "%zu columns of %d: %s",
						  b.len, width, buf_text(&b));
				buf_free(&b);
			}
		}
	}
}

/* ---- addresses ---- */

static void check_public(const char *url, const char *expected)
{
	struct err e = { 0 };
	char *public = fetch_public_url(url, &e);

	check_str(public, expected);
	free(public);
}

TEST(transfer_stays_encrypted_when_it_is_redirected)
{
	check(!transfer_may_redirect_to_http("https://host/a.tgz"));
	check(!transfer_may_redirect_to_http("HTTPS://host/a.tgz"));
	check(transfer_may_redirect_to_http("http://host/a.tgz"));
}

TEST(fetch_hides_secrets_of_addresses)
{
	struct err e = { 0 };
	char *five = fetch_public_url("http://a/x?id=5", &e),
	     *six = fetch_public_url("http://a/x?id=6", &e);

	check_public("http://a/x.tgz", "http://a/x.tgz");
	check_public("https://me:p@w@a:80/x#y", "https://a:80/x#y");
	check_public("https://me:pw@a/x?token=s3cret&sig=a%2Fb;flag#y",
		     "https://a/x?token=***&sig=***;***#177112b7");
	check_public("http://a?s3cret", "http://a?***#6d0ca57f");
	check_public("http://a/x?", "http://a/x?***#8a8de823");
	/* another file stays another file */
	check(five && six && strcmp(five, six));
	free(five);
	free(six);
}

/* ---- parts ---- */

static const struct fetch_address here = { .url = "http://a/x", .content = "", .bytes = -1 };
static const struct fetch_address mirror = { .url = "http://b/x", .content = "00ff", .bytes = -1 };

/* Can a part of ten bytes with this PART.json be resumed? "": no, else If-Range ("-": none). */
static const char *may_continue(const char *note, const struct fetch_address *a)
{
	static char condition[100];
	struct err e = { 0 };
	struct fetch_part p;
	char *path = write_text("x.part", "0123456789"), *other = write_text("x.part.json", note);
	const char *if_range = "";

	snprintf(condition, sizeof(condition), "failed");
	if (!fetch_part_open(&p, path, false, &e)) {
		bool may = fetch_part_may_resume(&p, a, &if_range);

		snprintf(condition, sizeof(condition), "%s", !may ? "" : if_range ? if_range : "-");
		fetch_part_close(&p);
	}
	free(path);
	free(other);
	return condition;
}

TEST(part_is_continued_only_with_a_reason)
{
	static const struct {
		const char *note, *condition;
	} cases[] = {
		{ "{\"url\":\"http://a/x\",\"etag\":\"\\\"1\\\"\",\"total\":20}", "\"1\"" },
		{ "{\"url\":\"http://a/x\",\"etag\":\"\\\"1\\\"\",\"last_modified\":\"d\"}",
		  "\"1\"" },
		{ "{\"url\":\"http://a/x\",\"etag\":\"W/\\\"1\\\"\",\"last_modified\":\"d\"}",
		  "d" },
		{ "{\"url\":\"http://a/x\",\"etag\":\"W/\\\"1\\\"\",\"total\":20}", "" },
		{ "{\"url\":\"http://a/x\",\"total\":20}", "" },
		{ "{\"url\":\"http://c/x\",\"etag\":\"\\\"1\\\"\",\"total\":20}", "" },
		{ "{\"url\":\"http://a/x\",\"etag\":\"\\\"1\\\"\",\"total\":9}", "" },
		{ "{\"url\":\"http://a/x\",\"etag\":\"1\\r\\nHost: b\",\"total\":20}", "" },
		{ "{\"url\":\"http://a/x\",\"etag\":7,\"total\":\"20\"}", "" },
		{ "{\"url\":\"http://a/x\",\"etag\":\"\\\"1\\\"\"", "" },
		{ "[]", "" },
		{ "", "" },
		{ "\377\376", "" },
	};
	static const char same[] = "{\"url\":\"http://c/x\",\"content\":\"00ff\",\"etag\":\"e\"}";

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_str(may_continue(cases[i].note, &here), cases[i].condition);
	check_str(may_continue(same, &mirror), "-");
	check_str(may_continue(same, &here), "");
}

TEST(part_hashes_what_was_there_and_what_comes)
{
	struct err e = { 0 };
	struct fetch_sums s;
	struct fetch_part p;
	char *path = write_text("y.part", "abcdbcdecdefdefgefghfghighij");
	bool more = true;

	if (check_int(fetch_part_open(&p, path, true, &e), 0)) {
		while (more && check_int(fetch_part_hash(&p, &more, &e), 0))
			;
		check_int(fetch_part_append(&p, "hijkijkljklmklmnlmnomnopnopq", 28, &e), 0);
		check_int(fetch_part_finish(&p, &s, &e), 0);
		check_int(s.bytes, 56);
		/* FIPS 180-2, B.2; the MD5 by md5sum */
		check_str(s.sha256,
			  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
		check_str(s.md5, "8215ef0796a20bcaaae116d3876c664a");
		check_int(file_size(path), 56);
		fetch_part_remove(&p);
		check(!file_exists(path));
	}
	free(path);
}

/* A server that tells no length: answers each request with an archive of so many bytes. -1: no server. */
static pid_t serve_unannounced(int *port, size_t bytes)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\037\213";
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(a);
	const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t pid;

	if (listener < 0 || bind(listener, (struct sockaddr *)&a, size) || listen(listener, 4) ||
	    getsockname(listener, (struct sockaddr *)&a, &size))
		return -1;
	*port = ntohs(a.sin_port);
	pid = fork();
	while (pid == 0) {
		const int client = accept(listener, NULL, NULL);
		char request[4096];

		if (client < 0 || recv(client, request, sizeof(request), 0) < 0)
			_exit(1);
		send(client, head, sizeof(head) - 1, MSG_NOSIGNAL);
		for (size_t i = 0; i < bytes; i++)
			if (send(client, "x", 1, MSG_NOSIGNAL) < 0)
				break;
		close(client);
	}
	close(listener);
	return pid;
}

static int accept_download(void *closure, size_t address, const struct fetch_sums *s,
			   struct buf *remark, struct err *e)
{
	(void)address, (void)remark, (void)e;
	*(int64_t *)closure = s->bytes;
	return 0;
}

TEST(fetch_limits_what_nobody_announces)
{
	char url[60];
	struct fetch_address a = { .url = url, .request = url, .content = "", .bytes = -1 };
	struct fetch_limits l = {
		.transfers = 1, .tries = 1, .wait_s = 0.01, .stall_s = 10, .most_bytes = 20000
	};
	int64_t got = -1;
	struct err e = { 0 };
	char *part = file_path(&e, "%s/a.part", test_folder());
	struct fetch_job job = { .name = "a",
				 .part = part,
				 .addresses = &a,
				 .n_addresses = 1,
				 .on_complete = accept_download,
				 .closure = &got };
	struct progress p;
	int port = 0;
	const pid_t server = serve_unannounced(&port, 30000);

	unsetenv("http_proxy");
	unsetenv("all_proxy");
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/a", port);
	progress_init(&p, true);
	if (!check(server > 0))
		return;
	check_err(fetch_all(&job, 1, &l, &p, &e), ERR_DATA);
	check(strstr(e.text, "is longer than 20000 bytes, the limit for a file whose length") !=
	      NULL);
	check(file_size(part) <= 20000);
	unlink(part);
	l.most_bytes = 40000;
	check_err(fetch_all(&job, 1, &l, &p, &e), 0);
	check_int(got, 30002);
	test_kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	free(part);
}

TEST(part_is_no_link_and_no_folder)
{
	struct err e = { 0 };
	struct fetch_part p;
	char *target = write_text("target", "untouched");
	char *link = file_path(&e, "%s/link.part", test_folder());
	char *folder = file_path(&e, "%s/folder.part", test_folder());

	check_int(symlink(target, link), 0);
	check(fetch_part_open(&p, link, false, &e) != 0);
	check_int(mkdir(folder, 0777), 0);
	check(fetch_part_open(&p, folder, false, &e) != 0);
	check_int(file_size(target), 9);
	unlink(link);
	rmdir(folder);
	free(target);
	free(link);
	free(folder);
}

/* ---- receipts ---- */

TEST(receipt_says_whether_a_file_was_touched)
{
	struct err e = { 0 };
	char url[] = "http://a/x";
	struct receipt r = { .url = url, .trust = TRUST_PINNED }, back;
	struct stat st;
	char *path = write_text("z.tgz", "abc"), *note = file_path(&e, "%s.json", path);

	check_int(file_sums(path, &r.sums, &e), 0);
	check_str(r.sums.md5, "900150983cd24fb0d6963f7d28e17f72");
	check_int(stat(path, &st), 0);
	receipt_set_file(&r, &st);
	check_int(receipt_write(&r, note, &e), 0);
	check_int(receipt_read(&back, note, &e), 0);
	check_str(back.url, "http://a/x");
	check_int(back.trust, TRUST_PINNED);
	check_str(back.sums.sha256, r.sums.sha256);
	check(receipt_matches_file(&back, &st));
	st.st_mtim.tv_nsec ^= 1;
	check(!receipt_matches_file(&back, &st));
	st.st_mtim.tv_nsec ^= 1;
	st.st_size++;
	check(!receipt_matches_file(&back, &st));
	st.st_size--;
	st.st_ino++;
	check(!receipt_matches_file(&back, &st));
	receipt_free(&back);
	free(path);
	free(note);
}

TEST(receipt_that_says_nothing_is_none)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{\"url\":\"http://a\",\"trust\":\"own\",\"sha256\":\"00\"}",
		"{\"url\":\"\",\"trust\":\"own\"}",
		"{\"url\":7}",
		"\377",
		("{\"url\":\"http://a\",\"trust\":\"blind\",\"sha256\":"
		 "\"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1\"}"),
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct err e = { 0 };
		struct receipt r;
		char *path = write_text("bad.json", texts[i]);

		check_int(receipt_read(&r, path, &e), 0);
		check(!r.url);
		receipt_free(&r);
		free(path);
	}
}
