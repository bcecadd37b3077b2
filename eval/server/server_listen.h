/* server_listen.h - the sockets that a server listens on, and its messages to systemd */
#ifndef WERKBANK_EVAL_SERVER_SERVER_LISTEN_H
#define WERKBANK_EVAL_SERVER_SERVER_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"

struct server_sockets {
	int fds[16]; /* (n) owned; non-blocking, closed by exec */
	size_t n;
	bool is_public; /* one of them can be reached from other hosts */
};

/*
 * Listens on "ADDRESS:PORT" (a numeric address, [::1], or localhost; port 0: a free one), or takes the sockets that systemd
 * passed (LISTEN_FDS). ERR_USAGE: another form. ERR_UNAVAILABLE, ERR_PERM: the system refuses.
 */
int server_sockets_open(struct server_sockets *s, const char *address, struct err *e);
void server_sockets_close(struct server_sockets *s);
/* Appends the addresses, "http://127.0.0.1:5000", with blanks between them. */
void server_sockets_names(const struct server_sockets *s, struct buf *out);

/* Sends "READY=1", say, to systemd if it waits for this (NOTIFY_SOCKET). */
void server_notify(const char *text);

#endif
