/*
 * http_server.c - a web server for tests: tests/http_server FOLDER PORT-FILE [LOG]
 *
 * Serves the files of one folder on 127.0.0.1 like a correct server (Range, If-Range, ETag,
 * Last-Modified), writes its port number to PORT-FILE when it is ready, and runs until it is
 * killed. Prefixes of the path select faults and may be combined (/norange/cut-5000/NAME):
 *
 *	moved/		302 to the rest of the path
 *	loop/		302 to itself
 *	file/		302 to file:///etc/passwd
 *	line/		a line of the header without an end
 *	http09/		a body without a status line
 *	trailer/	chunks, and a trailer line without an end after them
 *	page/		200 with a web page as text/html
 *	disguised/	200 with a web page under another content type
 *	cut-N/		closes the connection after N bytes of a body; cut/: after half of them
 *	once/		the faults after it apply to the first request for the path only
 *	norange/	ignores Range
 *	busy/		503
 *	fail-S-N/	status S for the first N requests
 *	wait-T/		adds Retry-After: T to failures
 *	nolength/	no Content-Length: the connection closes at the end
 *	chunked/	no Content-Length: chunked transfer encoding
 *	noetag/		neither ETag nor Last-Modified
 *	weak/		a weak ETag only
 *	glue/		ignores If-Range
 *	shift/		answers with another Range than requested
 *	always206/	answers every request with 206
 *	no416/		416 to every Range, without Content-Range
 *	drip/		ten bytes a second, endlessly
 *	slow-N/		N bytes every 10 ms
 *	slam/		closes without a byte
 *	gate-N/		waits up to two seconds for N concurrent requests, else 500
 *
 * LOG gets a line at the end of each request: path, status, offset of the body in the file, bytes
 * of the body sent, number of open requests when it arrived.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_PATHS 500

static const char *folder;
static FILE *log_file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct {
	char path[300];
	int requests;
} seen[MAX_PATHS];
static int open_requests, at_gate, gate_passed;

struct request {
	int fd;
	char head[8000], path[300];
	const char *name;
	int number; /* of requests for this path, from 0 */
	/* how to misbehave */
	bool norange, nolength, chunked, noetag, weak, glue, shift, always206, no416, drip, slam;
	bool page, disguised, loop, file, line, http09, trailer;
	const char *moved;
	long cut, slow, fail_status, fail_times, retry_after, gate;
	/* for the log */
	int status, open;
	long first, sent;
};

static bool send_all(int fd, const char *bytes, size_t n)
{
	ssize_t sent;

	for (; n; bytes += sent, n -= (size_t)sent) {
		sent = send(fd, bytes, n, MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
	}
	return true;
}

static void nap(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static void answer(struct request *r, int status, const char *more, const char *body)
{
	char head[900];

	r->status = status;
	snprintf(head, sizeof(head),
		 "HTTP/1.1 %d %s\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n%s", status,
		 status < 400 ? "Fine" : "Trouble", strlen(body), more, body);
	send_all(r->fd, head, strlen(head));
}

/* ---- what is asked for ---- */

/* The value of a header of the request, "" when it has none. */
static void find_header(const struct request *r, const char *name, char *value, size_t size)
{
	const char *line = r->head;
	size_t n = strlen(name), i = 0;

	*value = 0;
	while ((line = strstr(line, "\r\n")) != NULL) {
		line += 2;
		if (strncasecmp(line, name, n) || line[n] != ':')
			continue;
		line += n + 1;
		while (*line == ' ')
			line++;
		while (i + 1 < size && line[i] && line[i] != '\r') {
			value[i] = line[i];
			i++;
		}
		value[i] = 0;
		return;
	}
}

static bool flag(const char **at, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*at, word, n) || (*at)[n] != '/')
		return false;
	*at += n + 1;
	return true;
}

/* WORD-N/ or WORD-N-M/ */
static bool numbers(const char **at, const char *word, long *a, long *b)
{
	size_t n = strlen(word);
	char *end;

	if (strncmp(*at, word, n) || (*at)[n] != '-')
		return false;
	*a = strtol(*at + n + 1, &end, 10);
	if (b && *end == '-')
		*b = strtol(end + 1, &end, 10);
	if (*end != '/')
		return false;
	*at = end + 1;
	return true;
}

static bool one_word(struct request *r, const char **at)
{
	struct {
		const char *word;
		bool *set;
	} flags[] = {
		/* clang-format off */
		{ "norange", &r->norange }, { "nolength", &r->nolength },
		{ "chunked", &r->chunked }, { "noetag", &r->noetag }, { "weak", &r->weak },
		{ "glue", &r->glue }, { "shift", &r->shift }, { "always206", &r->always206 },
		{ "no416", &r->no416 }, { "drip", &r->drip }, { "slam", &r->slam },
		{ "page", &r->page }, { "disguised", &r->disguised }, { "loop", &r->loop },
		{ "file", &r->file }, { "line", &r->line }, { "http09", &r->http09 },
		{ "trailer", &r->trailer },
		/* clang-format on */
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (flag(at, flags[i].word))
			return (*flags[i].set = true);
	if (flag(at, "cut"))
		return (r->cut = -2) != 0;
	if (flag(at, "busy"))
		return (r->fail_status = 503) && (r->fail_times = 1000000);
	return numbers(at, "cut", &r->cut, NULL) || numbers(at, "slow", &r->slow, NULL) ||
	       numbers(at, "fail", &r->fail_status, &r->fail_times) ||
	       numbers(at, "wait", &r->retry_after, NULL) || numbers(at, "gate", &r->gate, NULL);
}

static void understand(struct request *r)
{
	struct request spare = *r;
	const char *at = r->path + 1;
	bool on = true;

	r->cut = -1;
	for (;;) {
		if (flag(&at, "once")) {
			on = r->number == 0;
		} else if (flag(&at, "moved")) {
			r->moved = at;
			return;
		} else if (!one_word(on ? r : &spare, &at)) {
			break;
		}
	}
	r->name = at;
	r->path[strcspn(r->path, "?")] = 0; /* a file has no query */
}

/* ---- files ---- */

static bool send_slowly(struct request *r, const char *bytes, size_t n)
{
	size_t step;

	for (; r->slow && n; bytes += step, n -= step) {
		step = n < (size_t)r->slow ? n : (size_t)r->slow;
		nap(10); /* before: the last byte is the end of the request */
		if (!send_all(r->fd, bytes, step))
			return false;
		r->sent += (long)step;
	}
	if (n && !send_all(r->fd, bytes, n))
		return false;
	r->sent += (long)n;
	return true;
}

static void send_body(struct request *r, FILE *f, long left)
{
	char block[65536], size[20];
	size_t n;

	if (r->cut == -2)
		left /= 2;
	else if (r->cut >= 0 && r->cut < left)
		left = r->cut;
	while (left > 0 &&
	       (n = fread(block, 1, left < (long)sizeof(block) ? (size_t)left : sizeof(block), f)) >
		       0) {
		if (r->chunked) {
			snprintf(size, sizeof(size), "%zx\r\n", n);
			send_all(r->fd, size, strlen(size));
		}
		if (!send_slowly(r, block, n) || (r->chunked && !send_all(r->fd, "\r\n", 2)))
			return;
		left -= (long)n;
	}
	if (r->chunked && r->cut < 0)
		send_all(r->fd, "0\r\n\r\n", 5);
}

/* Where to begin, or -1: the whole; -2: nowhere. */
static long range_start(const struct request *r, const char *etag, const char *date, long size)
{
	char range[200], condition[300];
	long start;

	find_header(r, "Range", range, sizeof(range));
	find_header(r, "If-Range", condition, sizeof(condition));
	if (r->always206)
		return 0;
	if (r->norange || strncmp(range, "bytes=", 6) || !isdigit((unsigned char)range[6]))
		return -1;
	if (*condition && !r->glue && strcmp(condition, etag) && strcmp(condition, date))
		return -1;
	start = strtol(range + 6, NULL, 10);
	return start >= size || r->no416 ? -2 : start;
}

static void send_head(struct request *r, long start, long size, const char *etag, const char *date)
{
	char head[900];
	size_t n;

	r->status = start < 0 ? 200 : 206;
	n = (size_t)snprintf(head, sizeof(head),
			     "HTTP/1.1 %d Fine\r\nConnection: close\r\n"
			     "Content-Type: application/octet-stream\r\nAccept-Ranges: bytes\r\n",
			     r->status);
	if (start >= 0)
		n += (size_t)snprintf(head + n, sizeof(head) - n,
				      "Content-Range: bytes %ld-%ld/%ld\r\n",
				      r->shift ? start + 1 : start, size - 1, size);
	if (!r->nolength && !r->chunked)
		n += (size_t)snprintf(head + n, sizeof(head) - n, "Content-Length: %ld\r\n",
				      size - (start < 0 ? 0 : start));
	if (r->chunked)
		n += (size_t)snprintf(head + n, sizeof(head) - n, "Transfer-Encoding: chunked\r\n");
	if (!r->noetag)
		n += (size_t)snprintf(head + n, sizeof(head) - n, "ETag: %s\r\n", etag);
	if (!r->noetag && !r->weak)
		n += (size_t)snprintf(head + n, sizeof(head) - n, "Last-Modified: %s\r\n", date);
	snprintf(head + n, sizeof(head) - n, "\r\n");
	send_all(r->fd, head, strlen(head));
}

static void send_file(struct request *r)
{
	char path[2000], etag[100], date[100], more[100];
	struct stat s;
	FILE *f;
	long start;

	snprintf(path, sizeof(path), "%s/%s", folder, r->name);
	f = strstr(r->name, "..") || strchr(r->name, '/') ? NULL : fopen(path, "rb");
	if (!f || fstat(fileno(f), &s)) {
		answer(r, 404, "", "there is no such file\n");
		if (f)
			fclose(f);
		return;
	}
	snprintf(etag, sizeof(etag), "%s\"%lx-%lx\"", r->weak ? "W/" : "", (long)s.st_ino,
		 (long)s.st_size);
	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime(&s.st_mtime));
	start = range_start(r, etag, date, s.st_size);
	if (start == -2) {
		snprintf(more, sizeof(more), "Content-Range: bytes */%ld\r\n", (long)s.st_size);
		answer(r, 416, r->no416 ? "" : more, "");
	} else {
		send_head(r, start, s.st_size, etag, date);
		r->first = start < 0 ? 0 : start;
		fseek(f, r->first, SEEK_SET);
		send_body(r, f, s.st_size - r->first);
	}
	fclose(f);
}

/* ---- other answers ---- */

static bool pass_gate(long n)
{
	bool passed = false;
	int ms;

	pthread_mutex_lock(&lock);
	if (++at_gate >= n)
		gate_passed = 1;
	pthread_mutex_unlock(&lock);
	for (ms = 0; ms < 2000 && !passed; ms += 10) {
		pthread_mutex_lock(&lock);
		passed = gate_passed;
		pthread_mutex_unlock(&lock);
		if (!passed)
			nap(10);
	}
	pthread_mutex_lock(&lock);
	at_gate--;
	pthread_mutex_unlock(&lock);
	return passed;
}

static void drip(struct request *r)
{
	const char *head = "HTTP/1.1 200 Fine\r\nConnection: close\r\nETag: \"d\"\r\n\r\n";

	r->status = 200;
	send_all(r->fd, head, strlen(head));
	while (send_all(r->fd, "\x1f", 1)) {
		r->sent++;
		nap(100);
	}
}

static void send_line(struct request *r)
{
	const char *head = r->trailer ? "HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\n\r\n"
					"4\r\n\x1f\x8b\x08\x01\r\n0\r\nX-Long: "
				      : "HTTP/1.1 200 Fine\r\nX-Long: ";

	r->status = 200;
	send_all(r->fd, head, strlen(head));
	while (send_all(r->fd, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 32))
		;
}

static void serve(struct request *r)
{
	char more[400];

	if (r->slam)
		return;
	if (r->gate && !pass_gate(r->gate)) {
		answer(r, 500, "", "nobody else came\n");
	} else if (r->number < r->fail_times) {
		snprintf(more, sizeof(more), "Retry-After: %ld\r\n", r->retry_after);
		answer(r, (int)r->fail_status, r->retry_after ? more : "", "come back later\n");
	} else if (r->moved || r->loop) {
		snprintf(more, sizeof(more), "Location: %s%.300s\r\n", r->loop ? "" : "/",
			 r->loop ? r->path : r->moved);
		answer(r, 302, more, "<html>moved</html>\n");
	} else if (r->file) {
		answer(r, 302, "Location: file:///etc/passwd\r\n", "<html>moved</html>\n");
	} else if (r->http09) {
		send_all(r->fd, "<html>an old server</html>\n", 27);
	} else if (r->line || r->trailer) {
		send_line(r);
	} else if (r->page || r->disguised) {
		answer(r, 200,
		       r->page ? "Content-Type: text/html\r\n"
			       : "Content-Type: application/octet-stream\r\n",
		       "\n<!doctype html><title>Please log in</title>\n");
	} else if (r->drip) {
		drip(r);
	} else {
		send_file(r);
	}
}

/* "GET /path …", or "GET http://host/path …" when we are asked as a proxy. */
static bool take_path(struct request *r)
{
	const char *at = r->head + 4;
	size_t n;

	if (!strncmp(r->head, "GET http://", 11))
		at += 7 + strcspn(at + 7, "/ ");
	n = strcspn(at, " ");
	if (strncmp(r->head, "GET ", 4) || *at != '/' || n >= sizeof(r->path))
		return false;
	memcpy(r->path, at, n);
	return true;
}

/* Read until the blank line that ends a request's head. */
static bool read_request(struct request *r)
{
	size_t len = 0;
	ssize_t got;

	while (len + 1 < sizeof(r->head) &&
	       (got = recv(r->fd, r->head + len, sizeof(r->head) - 1 - len, 0)) > 0) {
		len += (size_t)got;
		r->head[len] = 0;
		if (!strstr(r->head, "\r\n\r\n"))
			continue;
		return take_path(r);
	}
	return false;
}

static void enter(struct request *r)
{
	int i = 0;

	pthread_mutex_lock(&lock);
	r->open = ++open_requests;
	while (i < MAX_PATHS - 1 && seen[i].path[0] && strcmp(seen[i].path, r->path))
		i++;
	memcpy(seen[i].path, r->path, sizeof(r->path));
	r->number = seen[i].requests++;
	pthread_mutex_unlock(&lock);
}

static void leave(const struct request *r)
{
	pthread_mutex_lock(&lock);
	open_requests--;
	if (log_file) {
		fprintf(log_file, "%s %d %ld %ld %d\n", r->path, r->status, r->first, r->sent,
			r->open);
		fflush(log_file);
	}
	pthread_mutex_unlock(&lock);
}

static void *connection(void *closure)
{
	struct request *r = closure;

	if (read_request(r)) {
		enter(r);
		understand(r);
		serve(r);
		leave(r);
	}
	shutdown(r->fd, SHUT_WR);
	close(r->fd);
	free(r);
	return NULL;
}

static int write_port(const char *path, int port)
{
	char temporary[2000];
	FILE *f;

	snprintf(temporary, sizeof(temporary), "%s.tmp", path);
	f = fopen(temporary, "w");
	if (!f || fprintf(f, "%d\n", port) < 0 || fclose(f) || rename(temporary, path)) {
		perror(path);
		return 1;
	}
	return 0;
}

static void accept_all(int listener)
{
	pthread_t thread;
	struct request *r;
	int fd;

	for (;;) {
		fd = accept(listener, NULL, NULL);
		r = fd < 0 ? NULL : calloc(1, sizeof(*r));
		if (!r)
			continue;
		r->fd = fd;
		if (pthread_create(&thread, NULL, connection, r))
			return;
		pthread_detach(thread);
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: http_server FOLDER PORT-FILE [LOG]\n");
		return 64;
	}
	folder = argv[1];
	if (argc == 4)
		log_file = fopen(argv[3], "w");
	signal(SIGPIPE, SIG_IGN);
	if ((argc == 4 && !log_file) || listener < 0 ||
	    bind(listener, (struct sockaddr *)&address, size) || listen(listener, 64) ||
	    getsockname(listener, (struct sockaddr *)&address, &size)) {
		perror("http_server");
		return 1;
	}
	if (write_port(argv[2], ntohs(address.sin_port)))
		return 1;
	accept_all(listener);
	return 1;
}
