/*
 * connection.h - the connection of a client: its bytes, its request, its answer, and the time that each may take
 *
 * A connection has one request at a time. Further bytes wait until its answer is written.
 */
#ifndef WERKBANK_EVAL_SERVER_CONNECTION_H
#define WERKBANK_EVAL_SERVER_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "eval/server/http_request.h"
#include "eval/server/server_api.h"
#include "share/base/buf.h"

#define CONNECTION_HEAD_S  10.0 /* from the first byte to the end of the head */
#define CONNECTION_BODY_S  30.0 /* … to the end of the request */
#define CONNECTION_IDLE_S  60.0 /* without a request */
#define CONNECTION_WRITE_S 30.0 /* of an answer */
#define CONNECTION_DRAIN_S 2.0	/* until a refused client closes */

enum connection_state {
	CONNECTION_FREE,    /* the place has no connection */
	CONNECTION_READING, /* waits for a request or the rest of one */
	CONNECTION_WAITING, /* the request is being translated */
	CONNECTION_WRITING,
	/* the answer is written; what still comes is thrown away, so that the client gets the answer */
	CONNECTION_DRAINING
};

struct connection {
	enum connection_state state;
	int fd; /* owned */
	uint64_t client;
	struct buf in, out;
	size_t sent;
	double deadline;	       /* of the state; infinite while waiting */
	double began;		       /* first byte of the request */
	size_t head_bytes, body_bytes; /* of the request; head_bytes 0: the head is incomplete */
	bool is_unread; /* `in` has bytes of a further request, for connection_check() */
	bool keeps_open;
	bool is_head; /* HEAD: the answer has no body */
	struct api_answer answer;
};

void connection_begin(struct connection *c, int fd, uint64_t client, double now);
void connection_close(struct server_state *s, struct connection *c);

/* Something happened to the descriptor: reads, writes; `events` are those of poll(). */
void connection_handle(struct server_state *s, struct connection *c, short events, double now);
/* What needs no event: further bytes, an answer for a job that is done, the end after a deadline. */
void connection_check(struct server_state *s, struct connection *c, double now);
/* The events of poll() to wait for. */
short connection_events(const struct connection *c);
/* An answer at once, after which the connection ends. */
void connection_refuse(struct server_state *s, struct connection *c, int status, const char *text,
		       double now);
/* No request of it is open. */
bool connection_is_idle(const struct connection *c);

#endif
