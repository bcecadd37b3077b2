/* t_probe.c - "werkbank-launch _probe": the answers to the questions of another host */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/hash.h"
#include "tests/launch/launch_bench.h"
#include "tests/test.h"
#include "train/common/leftover.h"
#include "train/launch/preflight/probe.h"

/* The answer to a request, parsed; NULL: e holds the failure. */
static struct json *answer(const char *request, struct err *e)
{
	struct json *r = json_parse(request, strlen(request), e), *parsed = NULL;
	struct buf out = { 0 };

	check(r != NULL);
	if (!probe_answer_request(r, &out, e))
		parsed = json_parse(out.data, out.len, e);
	json_free(r);
	buf_free(&out);
	return parsed;
}

TEST(probe_facts)
{
	char request[1000], hex[65];
	struct err e = { 0 };
	const struct json *space, *file;
	struct json *a;

	bench_write("w/corpora/demo/train.shard", "shard");
	bench_write("w/corpora/demo/manifest.json", "{}");
	bench_write("w/marker", "");
	snprintf(request, sizeof(request),
		 "{\"ask\":\"facts\",\"workspace\":\"%s/w\",\"corpus\":\"demo\",\"marker\":"
		 "\"%s/w/marker\",\"peers\":[\"127.0.0.1\"]}",
		 test_folder(), test_folder());
	a = answer(request, &e);
	if (!check(a != NULL))
		return;
	check(json_text(json_get(a, "werkbank"), NULL) != NULL);
	check(json_number(json_get(a, "time"), 0) > 1e9);
	check(json_integer(json_get(a, "cores"), 0) >= 1);
	check(json_integer(json_get(a, "memory"), 0) > 0);
	check(json_integer(json_get(a, "free_port"), 0) > 0);
	check_str(json_text(json_get(json_at(json_get(a, "routes"), 0), "source"), ""),
		  "127.0.0.1");
	check(json_text(json_get(a, "temporary"), NULL) != NULL);
	check(!json_get(a, "temporary_trouble"));
	space = json_get(a, "workspace");
	check(json_boolean(json_get(space, "there"), false));
	check(json_boolean(json_get(space, "writable"), false));
	check_str(json_text(json_get(json_get(space, "marker"), "lock"), ""), "free");
	check(json_integer(json_get(space, "free"), -1) >= 0);
	check_int(json_len(json_get(space, "corpus")), 2);
	file = json_at(json_get(space, "corpus"), 1);
	check_str(json_text(json_get(file, "name"), ""), "train.shard");
	snprintf(request, sizeof(request), "%s/w/corpora/demo/train.shard", test_folder());
	check_int(hash_file(request, hex, &e), 0);
	check_str(json_text(json_get(file, "sha256"), ""), hex);
	json_free(a);
	/* no file can be written where Open MPI keeps its session */
	setenv("TMPDIR", "/proc", 1);
	a = answer("{}", &e);
	unsetenv("TMPDIR");
	check_str(json_text(json_get(a, "temporary"), ""), "/proc");
	check(json_get(a, "temporary_trouble") != NULL);
	json_free(a);
	/* a workspace that does not exist yet: the free space of its parent */
	a = answer("{\"workspace\":\"/no/such/folder\"}", &e);
	space = json_get(a, "workspace");
	check(!json_boolean(json_get(space, "there"), true));
	check(json_integer(json_get(space, "free"), -1) >= 0);
	json_free(a);
	check(!answer("{\"workspace\":\"/tmp\",\"corpus\":\"../x\"}", &e));
	check_err(e.code, ERR_USAGE);
}

TEST(probe_refuses)
{
	struct err e = { 0 };

	check(!answer("{\"ask\":\"money\"}", &e));
	check_err(e.code, ERR_PROTOCOL);
	bench_has(e.text, "does not know the question \"money\"");
	check(!answer("{\"ask\":\"meet\",\"port\":0}", &e));
	bench_has(e.text, "0 is not a TCP port");
	check(!answer("{\"ask\":\"meet\",\"port\":1,\"peers\":[{\"port\":5}]}", &e));
	bench_has(e.text, "peer 0 has no IP address and port");
}

TEST(probe_checksums)
{
	char request[1000], path[300], hex[65], whole[65];
	struct err e = { 0 };
	struct json *a;
	bool sampled = true;
	int fd;

	bench_write("one", "x");
	snprintf(path, sizeof(path), "%s/one", test_folder());
	snprintf(request, sizeof(request), "{\"ask\":\"sums\",\"files\":[\"%s\",\"/no/file\"]}",
		 path);
	a = answer(request, &e);
	check_int(hash_file(path, hex, &e), 0);
	check_str(json_text(json_get(json_at(json_get(a, "sums"), 0), "sha256"), ""), hex);
	check(json_text(json_get(json_at(json_get(a, "sums"), 1), "trouble"), NULL) != NULL);
	json_free(a);
	check_int(probe_hash_file(path, whole, &sampled, &e), 0);
	check_str(whole, hex);
	check(!sampled);
	/* a large file is sampled; a change of its size changes the sum */
	fd = open(path, O_WRONLY | O_CLOEXEC);
	check_int(ftruncate(fd, (off_t)65 << 20), 0);
	check_int(probe_hash_file(path, hex, &sampled, &e), 0);
	check(sampled);
	check_int(ftruncate(fd, ((off_t)65 << 20) + 1), 0);
	check_int(probe_hash_file(path, whole, &sampled, &e), 0);
	check(strcmp(hex, whole) != 0);
	close(fd);
	check(probe_hash_file("/no/file", hex, &sampled, &e) < 0);
}

/* A process that waits to be ended, with its record. */
static void leave_record(void *context)
{
	const int *ready = context;
	struct err e = { 0 };
	char *record = leftover_record("/w/runs/r", "r", 3, &e);

	check(record != NULL);
	check_int(write(ready[1], "r", 1), 1);
	for (;;)
		pause();
}

TEST(probe_leftovers)
{
	char runtime[300], request[3000], byte;
	struct buf record = { 0 };
	struct json_writer w = { .out = &record };
	struct err e = { 0 };
	struct json *a;
	const struct json *ended;
	struct leftover l;
	int ready[2];
	pid_t pid;

	snprintf(runtime, sizeof(runtime), "%s/runtime", test_folder());
	check_int(mkdir(runtime, 0700), 0);
	setenv("WERKBANK_RUNTIME", runtime, 1);
	check_int(pipe(ready), 0);
	pid = bench_fork(leave_record, ready);
	check_int(read(ready[0], &byte, 1), 1);
	snprintf(request, sizeof(request), "{\"ask\":\"leftovers\",\"pids\":[%ld,999999999]}",
		 (long)pid);
	a = answer(request, &e);
	check_int(json_len(json_get(a, "records")), 1);
	check_int(json_len(json_get(a, "running")), 1);
	if (check(leftover_parse(&l, json_at(json_get(a, "records"), 0)))) {
		check_str(l.run, "r");
		check_int(l.rank, 3);
		check_int(l.pid, pid);
		check(l.alive && !l.orphan);
	}
	leftover_write(&l, &w);
	json_free(a);
	/* the record of another process with the same number selects nothing */
	snprintf(request, sizeof(request),
		 "{\"ask\":\"end\",\"grace\":30,\"records\":[%s,{\"run\":\"x\"},{\"run\":\"r\","
		 "\"rank\":3,\"pid\":%ld,\"started\":1,\"boot\":\"b\"}]}",
		 buf_text(&record), (long)pid);
	a = answer(request, &e);
	ended = json_get(a, "ended");
	check_int(json_len(ended), 1);
	check_int(json_integer(json_get(json_at(ended, 0), "pid"), 0), pid);
	check_str(json_text(json_get(json_at(ended, 0), "ended"), ""), "terminated");
	json_free(a);
	check_int(bench_wait(pid), 128 + SIGTERM);
	unsetenv("WERKBANK_RUNTIME");
	buf_free(&record);
	close(ready[0]);
	close(ready[1]);
}

/* A TCP port that is free now. */
static int free_port(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	socklen_t n = sizeof(any);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	check(fd >= 0 && !bind(fd, (const struct sockaddr *)&any, sizeof(any)) &&
	      !getsockname(fd, (struct sockaddr *)&any, &n));
	close(fd);
	return ntohs(any.sin_port);
}

TEST(probe_connections)
{
	char request[600];
	struct err e = { 0 };
	const struct json *met;
	struct json *a;
	int port = free_port();

	/* host 4 connects to itself twice: as host 4, and as if it were host 5 */
	snprintf(request, sizeof(request),
		 "{\"ask\":\"meet\",\"self\":4,\"port\":%d,\"seconds\":60,\"expect\":1,\"peers\":["
		 "{\"index\":4,\"address\":\"127.0.0.1\",\"port\":%d},"
		 "{\"index\":5,\"address\":\"127.0.0.1\",\"port\":%d}]}",
		 port, port, port);
	a = answer(request, &e);
	met = json_get(a, "met");
	check_int(json_len(met), 2);
	check_int(json_integer(json_get(json_at(met, 0), "answered"), -1), 4);
	check_int(json_integer(json_get(json_at(met, 1), "answered"), -1), 4);
	check(json_number(json_get(json_at(met, 0), "rtt_s"), 0) > 0);
	check(json_number(json_get(json_at(met, 0), "rtt_s"), 0) < 1);
	check_int(json_len(json_get(a, "heard")), 1);
	check_int(json_integer(json_at(json_get(a, "heard"), 0), -1), 4);
	json_free(a);
	/* nobody listens there */
	snprintf(request, sizeof(request),
		 "{\"ask\":\"meet\",\"self\":4,\"port\":%d,\"seconds\":0.3,\"expect\":0,\"peers\":["
		 "{\"index\":5,\"address\":\"127.0.0.1\",\"port\":%d}]}",
		 port, free_port());
	a = answer(request, &e);
	met = json_get(a, "met");
	check_str(json_text(json_get(json_at(met, 0), "fault"), ""), "refused");
	check_str(json_text(json_get(json_at(met, 0), "trouble"), ""), "Connection refused");
	check(json_number(json_get(a, "listened_s"), 0) > 0);
	check(json_number(json_get(a, "probe_s"), 0) >= json_number(json_get(a, "listened_s"), 1));
	json_free(a);
}

/* In a child: have the port for 0.3 s. */
struct port_holder {
	int port, ready;
};

static void hold_port(void *arg)
{
	const struct port_holder *h = arg;
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons((in_port_t)h->port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&any, sizeof(any)) || listen(fd, 1) ||
	    write(h->ready, "x", 1) != 1)
		_exit(1);
	poll(NULL, 0, 300);
}

TEST(probe_waits_for_a_port_that_is_taken)
{
	char request[200], byte;
	struct err e = { 0 };
	int ready[2];
	struct port_holder h = { .port = free_port() };
	struct json *a;
	pid_t pid;

	check_int(pipe(ready), 0);
	h.ready = ready[1];
	pid = bench_fork(hold_port, &h);
	check_int(read(ready[0], &byte, 1), 1);
	snprintf(request, sizeof(request),
		 "{\"ask\":\"meet\",\"self\":4,\"port\":%d,\"seconds\":0.1,\"expect\":0,"
		 "\"peers\":[]}",
		 h.port);
	a = answer(request, &e);
	check(json_number(json_get(a, "listened_s"), -1) >= 0);
	json_free(a);
	check_int(bench_wait(pid), 0);
	close(ready[0]);
	close(ready[1]);
}

TEST(probe_connections_over_ipv6)
{
	char request[600];
	struct err e = { 0 };
	struct json *a;
	int port = free_port(), fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 here = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	bool has = fd >= 0 && !bind(fd, (const struct sockaddr *)&here, sizeof(here));

	if (fd >= 0)
		close(fd);
	if (!has) {
		test_skip("this host has no IPv6");
		return;
	}
	snprintf(request, sizeof(request),
		 "{\"ask\":\"meet\",\"self\":4,\"port\":%d,\"seconds\":60,\"expect\":1,\"peers\":["
		 "{\"index\":4,\"address\":\"::1\",\"port\":%d}]}",
		 port, port);
	a = answer(request, &e);
	check_int(json_integer(json_get(json_at(json_get(a, "met"), 0), "answered"), -1), 4);
	json_free(a);
	a = answer("{\"ask\":\"facts\",\"peers\":[\"::1\"]}", &e);
	check_str(json_text(json_get(json_at(json_get(a, "routes"), 0), "source"), ""), "::1");
	json_free(a);
}

/* Put a file with this text in the place of standard input. */
static void set_input(const char *text)
{
	char path[300];
	int fd;

	bench_write("request", text);
	snprintf(path, sizeof(path), "%s/request", test_folder());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	check(fd >= 0 && dup2(fd, 0) == 0);
	close(fd);
}

TEST(probe_command)
{
	const char *out;
	int kept = dup(0);

	set_input("{\"ask\":\"sums\",\"files\":[]}");
	check_int(bench_command(&out, "_probe"), 0);
	bench_has(out, "\"sums\":[]");
	/* without a request the options make one */
	set_input("");
	check_int(bench_command(&out, "_probe -C %s", test_folder()), 0);
	bench_has(out, "\"workspace\":{\"there\":true");
	set_input("{\"ask\":");
	check_int(bench_command(&out, "_probe"), 65);
	bench_has(out, "_probe: request on standard input");
	if (kept >= 0) {
		dup2(kept, 0);
		close(kept);
	} else {
		close(0);
	}
}
