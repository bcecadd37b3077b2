/* server_listen.c - see server_listen.h */
#include "eval/server/server_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "share/base/util.h"

#define FIRST_PASSED 3 /* SD_LISTEN_FDS_START */
#define BACKLOG	     511

/* Can other hosts reach a socket of this address? */
static bool is_public_address(int fd)
{
	struct sockaddr_storage a = { .ss_family = AF_UNSPEC };
	socklen_t n = sizeof(a);

	if (getsockname(fd, (struct sockaddr *)&a, &n))
		return true;
	if (a.ss_family == AF_UNIX)
		return false;
	if (a.ss_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)&a)->sin_addr.s_addr) >> 24 != 127;
	return a.ss_family != AF_INET6 ||
	       !IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)&a)->sin6_addr);
}

static void add_socket(struct server_sockets *s, int fd)
{
	const int on = 1;

	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	/* connections inherit it; sockets of this machine have none */
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		errno = 0;
	s->is_public |= is_public_address(fd);
	s->fds[s->n++] = fd;
}

/* The sockets of systemd; false: there are none. */
static bool take_passed(struct server_sockets *s)
{
	const char *pid = getenv("LISTEN_PID"), *number = getenv("LISTEN_FDS");
	const long n = number ? strtol(number, NULL, 10) : 0;

	if (!pid || strtol(pid, NULL, 10) != (long)getpid() || n < 1 || n > (long)ARRAY_LEN(s->fds))
		return false;
	for (int fd = FIRST_PASSED; fd < FIRST_PASSED + (int)n; fd++) {
		int kind = 0;
		socklen_t size = sizeof(kind);

		if (!getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &kind, &size) && kind)
			add_socket(s, fd);
	}
	unsetenv("LISTEN_PID"); /* not for the programs that this one starts */
	unsetenv("LISTEN_FDS");
	return s->n > 0;
}

/* Splits "[::1]:5000"; false: another form. */
static bool split_address(const char *text, char *host, size_t room, const char **port)
{
	const char *colon = strrchr(text, ':'), *from = text;
	size_t n = colon ? (size_t)(colon - text) : 0;

	if (n > 2 && text[0] == '[' && text[n - 1] == ']') {
		from++;
		n -= 2;
	} else if (memchr(text, ':', n)) {
		return false;
	}
	/* getaddrinfo() takes larger numbers modulo 65536 */
	if (!n || n >= room || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
	    strlen(colon + 1) > 5 || strtol(colon + 1, NULL, 10) > UINT16_MAX)
		return false;
	memcpy(host, from, n);
	host[n] = '\0';
	*port = colon + 1;
	if (!strcmp(host, "localhost"))
		snprintf(host, room, "127.0.0.1");
	return true;
}

static int bind_address(const struct addrinfo *a, const char *address, int *fd, struct err *e)
{
	const int on = 1;

	*fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return err_set_errno(e, ERR_UNAVAILABLE, "%s: no socket", address);
	if (setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(*fd, a->ai_addr, a->ai_addrlen) || listen(*fd, BACKLOG)) {
		err_set_errno(e, ERR_UNAVAILABLE, "%s: the server cannot listen there", address);
		close(*fd);
	}
	return e->code;
}

int server_sockets_open(struct server_sockets *s, const char *address, struct err *e)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE };
	struct addrinfo *found;
	const char *port;
	char host[80];
	int fd;

	*s = (struct server_sockets){ .n = 0 };
	if (take_passed(s))
		return 0;
	if (!split_address(address, host, sizeof(host), &port) ||
	    getaddrinfo(host, port, &hints, &found))
		return err_set(e, ERR_USAGE,
			       "--listen: '%s' is not ADDRESS:PORT, such as 127.0.0.1:5000 or "
			       "[::1]:5000",
			       address);
	if (!bind_address(found, address, &fd, e))
		add_socket(s, fd);
	freeaddrinfo(found);
	return e->code;
}

void server_sockets_close(struct server_sockets *s)
{
	for (size_t i = 0; i < s->n; i++)
		close(s->fds[i]);
	s->n = 0;
}

void server_sockets_names(const struct server_sockets *s, struct buf *out)
{
	for (size_t i = 0; i < s->n; i++) {
		struct sockaddr_storage a = { .ss_family = AF_UNSPEC };
		socklen_t n = sizeof(a);
		char host[80] = "?", port[16] = "?";

		if (!getsockname(s->fds[i], (struct sockaddr *)&a, &n) && a.ss_family != AF_UNIX)
			getnameinfo((const struct sockaddr *)&a, n, host, sizeof(host), port,
				    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
		if (a.ss_family == AF_UNIX)
			buf_printf(out, "%sunix:%s", i ? " " : "",
				   ((const struct sockaddr_un *)&a)->sun_path);
		else
			buf_printf(out,
				   a.ss_family == AF_INET6 ? "%shttp://[%s]:%s" : "%shttp://%s:%s",
				   i ? " " : "", host, port);
	}
}

void server_notify(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const size_t n = path ? strlen(path) : 0;
	int fd;

	if (n < 2 || n >= sizeof(a.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(a.sun_path, path, n);
	if (path[0] == '@')
		a.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&a,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0)
		fprintf(stderr, "werkbank serve: systemd was not reached\n");
	close(fd);
}
