/* fetch.c - targets for what web servers answer and for the notes of partly fetched files; see fuzz.h */
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "data/source/fetch.h"
#include "data/source/fetch_part.h"
#include "share/base/file.h"
#include "tests/fuzz/fuzz.h"

#define ADDRESSES   3
#define PART_BYTES  10	  /* of a former run */
#define QUIET_USEC  20000 /* a client that is silent for so long is left */
#define LONGEST_URL 100

/* ---- files: a part and its note, in one folder for all inputs ---- */

static char folder[FUZZ_FOLDER_BYTES], part_path[100], note_path[110];

static void remove_parts(void)
{
	unlink(part_path);
	unlink(note_path);
	rmdir(folder);
}

static void make_part(const void *note, size_t n, const char *bytes)
{
	struct err e = { 0 };

	if (!*folder) {
		fuzz_make_folder(folder);
		snprintf(part_path, sizeof(part_path), "%s/a.part", folder);
		snprintf(note_path, sizeof(note_path), "%s.json", part_path);
		atexit(remove_parts);
	}
	unlink(part_path);
	unlink(note_path);
	if (bytes)
		property(!file_write_all(part_path, bytes, strlen(bytes), &e) &&
			 !file_write_all(note_path, note, n, &e));
}

static bool has_control(const char *text)
{
	for (; text && *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7F)
			return true;
	return false;
}

/* Nothing of a note can add a line to a request. */
FUZZ(part)
{
	static const struct fetch_address addresses[] = {
		{ .url = "http://a/x", .content = "", .bytes = -1 },
		{ .url = "http://a/x", .content = "00ff", .bytes = PART_BYTES },
		{ .url = "file:///x", .content = "00ff", .bytes = -1 },
	};
	struct err e = { 0 };
	struct fetch_part p;
	const char *if_range;

	make_part(data, n, "0123456789");
	if (fetch_part_open(&p, part_path, true, &e)) {
		property(
			e.code ==
			ERR_CONFIG); /* a note of a newer version is refused, all others are read */
		return 0;
	}
	property(p.bytes == PART_BYTES);
	property(!has_control(p.origin.url) && !has_control(p.origin.etag) &&
		 !has_control(p.origin.last_modified));
	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++)
		if (fetch_part_may_resume(&p, &addresses[i], &if_range))
			property(p.origin.total < 0 || p.origin.total >= PART_BYTES);
	fetch_part_close(&p);
	return 0;
}

/* ---- a server that answers with the bytes of the input ---- */

static struct server {
	pthread_mutex_t lock;
	int listener;
	const uint8_t *next; /* the next answer; NULL: none */
	size_t left;
} server = { .lock = PTHREAD_MUTEX_INITIALIZER, .listener = -1 };

/* Copies the next answer: the bytes up to two NULs. The caller frees it. */
static uint8_t *take_answer(size_t *n)
{
	static const uint8_t end[2];
	uint8_t *copy;
	const uint8_t *found;

	pthread_mutex_lock(&server.lock);
	found = server.left ? memmem(server.next, server.left, end, sizeof(end)) : NULL;
	*n = found ? (size_t)(found - server.next) : server.left;
	copy = malloc(*n + 1);
	property(copy);
	if (*n)
		memcpy(copy, server.next, *n);
	server.next = found ? found + sizeof(end) : NULL;
	server.left -= *n + (found ? sizeof(end) : 0);
	pthread_mutex_unlock(&server.lock);
	return copy;
}

static void give_answers(const uint8_t *data, size_t n)
{
	pthread_mutex_lock(&server.lock);
	server.next = data;
	server.left = n;
	pthread_mutex_unlock(&server.lock);
}

/* Read the request up to its empty line, answer, and close. */
static void serve_client(int client)
{
	static const struct timeval quiet = { 0, QUIET_USEC };
	char request[4096] = "";
	size_t have = 0, n;
	ssize_t got = 1;
	uint8_t *answer;

	setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &quiet, sizeof(quiet));
	setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &quiet, sizeof(quiet));
	while (got > 0 && have < sizeof(request) - 1 && !strstr(request, "\r\n\r\n")) {
		got = recv(client, request + have, sizeof(request) - 1 - have, 0);
		have += got > 0 ? (size_t)got : 0;
		request[have] = 0;
	}
	answer = take_answer(&n);
	got = send(client, answer, n, MSG_NOSIGNAL);
	free(answer);
	close(client);
}

static void *serve_clients(void *unused)
{
	int client;

	(void)unused;
	while ((client = accept4(server.listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		serve_client(client);
	return NULL;
}

/* Every request of this process goes to the server, because the server is its proxy. */
static void start_server(void)
{
	static const char *const variables[] = { "http_proxy", "https_proxy", "all_proxy" };
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(a);
	char proxy[40];
	pthread_t thread;

	if (server.listener >= 0)
		return;
	server.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	property(server.listener >= 0 && !bind(server.listener, (struct sockaddr *)&a, size) &&
		 !listen(server.listener, 16) &&
		 !getsockname(server.listener, (struct sockaddr *)&a, &size));
	snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%d", ntohs(a.sin_port));
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		setenv(variables[i], proxy, 1);
	unsetenv("no_proxy");
	unsetenv("NO_PROXY");
	property(!pthread_create(&thread, NULL, serve_clients, NULL) && !pthread_detach(thread));
}

/* ---- downloads ---- */

/* What the file must be: its size where it is published. */
struct download_check {
	const struct fetch_address *addresses;
	bool is_complete;
};

static int check_download(void *closure, size_t address, const struct fetch_sums *s,
			  struct buf *remark, struct err *e)
{
	struct download_check *c = closure;
	int64_t bytes = c->addresses[address].bytes;

	(void)remark;
	(void)e;
	property(address < ADDRESSES && s->bytes >= 0 && strlen(s->sha256) == HASH_SHA256_HEX - 1);
	property(bytes < 0 || s->bytes <= bytes);
	property(file_size(part_path) == s->bytes);
	c->is_complete = true;
	return 0;
}

/*
 * The first byte: 1: a part is here; 2: the size is published. Then the answers of the server, one
 * a connection, with two NULs between them. A download ends, and what it accepts is what is on the disk.
 */
FUZZ(http)
{
	static const char note[] = "{\"v\":1,\"url\":\"http://a.invalid/x\",\"etag\":\"\\\"1\\\"\","
				   "\"total\":20}";
	const int64_t bytes = n && data[0] & 2 ? 20 : -1;
	const struct fetch_address addresses[ADDRESSES] = {
		{ "http://a.invalid/x", "http://me:pw@a.invalid/x", "", bytes },
		{ "http://b.invalid/x", "http://b.invalid/x", "", bytes },
		{ "http://c.invalid/x", "http://c.invalid/x", "00ff", -1 },
	};
	const struct fetch_limits limits = {
		.transfers = 2, .tries = 1, .wait_s = 1e-3, .stall_s = 1
	};
	struct download_check check = { .addresses = addresses };
	struct fetch_job job = { .name = "x",
				 .part = part_path,
				 .addresses = addresses,
				 .n_addresses = ADDRESSES,
				 .on_complete = check_download,
				 .closure = &check };
	struct progress p;
	struct err e = { 0 };

	if (!n)
		return 0;
	start_server();
	make_part(note, strlen(note), data[0] & 1 ? "0123456789" : NULL);
	give_answers(data + 1, n - 1);
	progress_init(&p, true);
	property(!fetch_all(&job, 1, &limits, &p, &e) == check.is_complete);
	property(check.is_complete || (e.code && !strstr(e.text, "pw@")));
	give_answers(NULL, 0);
	return 0;
}
