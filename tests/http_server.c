/*
 * http_server.c - a web server for tests: tests/http_server FOLDER PORT-FILE
 *
 * Serves the files of one folder on 127.0.0.1, writes its port number to
 * PORT-FILE when it is ready, and runs until it is killed. What stands before
 * the name makes it misbehave:
 *
 *	/NAME		the file
 *	/moved/NAME	302 to /NAME
 *	/page/NAME	200, but a web page
 *	/cut/NAME	closes the connection after half of the promised bytes
 *	/busy/NAME	503
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void send_all(int fd, const char *bytes, size_t n)
{
	ssize_t sent;

	for (; n; bytes += sent, n -= (size_t)sent) {
		sent = send(fd, bytes, n, MSG_NOSIGNAL);
		if (sent <= 0)
			return;
	}
}

static void answer(int fd, const char *status, const char *more, const char *body)
{
	char head[600];

	snprintf(head, sizeof(head),
		 "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n%s",
		 status, strlen(body), more, body);
	send_all(fd, head, strlen(head));
}

static void send_file(int fd, const char *folder, const char *name, bool cut)
{
	char path[10000], head[200], block[4096];
	FILE *f;
	long size, left;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = strstr(name, "..") || strchr(name, '/') ? NULL : fopen(path, "rb");
	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0) {
		answer(fd, "404 Not Found", "", "there is no such file\n");
		if (f)
			fclose(f);
		return;
	}
	rewind(f);
	snprintf(head, sizeof(head),
		 "HTTP/1.1 200 OK\r\nContent-Length: %ld\r\nConnection: close\r\n\r\n", size);
	send_all(fd, head, strlen(head));
	left = cut ? size / 2 : size;
	while (left > 0 && (n = fread(block, 1, left < (long)sizeof(block) ? (size_t)left :
				      sizeof(block), f)) > 0) {
		send_all(fd, block, n);
		left -= (long)n;
	}
	fclose(f);
}

static bool strip(const char **name, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(*name, prefix, n))
		return false;
	*name += n;
	return true;
}

static void serve(int fd, const char *folder, char *request)
{
	char *end, more[300];
	const char *name;

	if (strncmp(request, "GET /", 5) || !(end = strchr(request + 5, ' '))) {
		answer(fd, "400 Bad Request", "", "only GET\n");
		return;
	}
	*end = 0;
	name = request + 5;
	if (strip(&name, "moved/")) {
		snprintf(more, sizeof(more), "Location: /%.200s\r\n", name);
		answer(fd, "302 Found", more, "<html>moved</html>\n");
	} else if (strip(&name, "page/")) {
		answer(fd, "200 OK", "Content-Type: text/html\r\n",
		       "<!doctype html><title>Please log in</title>\n");
	} else if (strip(&name, "busy/")) {
		answer(fd, "503 Service Unavailable", "", "come back later\n");
	} else {
		bool cut = strip(&name, "cut/");

		send_file(fd, folder, name, cut);
	}
}

/* Read until the blank line that ends a request's head. */
static bool read_request(int fd, char *request, size_t size)
{
	size_t len = 0;
	ssize_t got;

	while (len + 1 < size && (got = recv(fd, request + len, size - 1 - len, 0)) > 0) {
		len += (size_t)got;
		request[len] = 0;
		if (strstr(request, "\r\n\r\n"))
			return true;
	}
	return false;
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

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd;
	char request[8000];

	if (argc != 3) {
		fprintf(stderr, "usage: http_server FOLDER PORT-FILE\n");
		return 64;
	}
	signal(SIGPIPE, SIG_IGN);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) ||
	    listen(listener, 8) ||
	    getsockname(listener, (struct sockaddr *)&address, &size)) {
		perror("http_server");
		return 1;
	}
	if (write_port(argv[2], ntohs(address.sin_port)))
		return 1;
	for (;;) {
		fd = accept(listener, NULL, NULL);
		if (fd < 0)
			continue;
		if (read_request(fd, request, sizeof(request)))
			serve(fd, argv[1], request);
		shutdown(fd, SHUT_WR);
		close(fd);
	}
}
