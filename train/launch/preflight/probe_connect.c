/*
 * probe_connect.c - tests TCP connections between hosts; see probe.h.
 *
 * All hosts run the test at the same time. Each host listens on its port, connects to the peers of
 * its request and answers its callers. It ends when all peers have answered and the expected number
 * of callers came, or when its time is over. Caller and callee exchange one message of 16 bytes
 * each, so a foreign service or a wrong host is detected:
 *
 *	bytes 0-7	"WERKBANK"
 *	bytes 8-11	index of the sender, big endian
 *	bytes 12-15	index of the host that the sender wants to reach, big endian
 *
 * States of a connection to a peer; a failed attempt goes back to WAITING after RETRY_S:
 *
 *	WAITING --connect()--> CONNECTING --writable, message sent--> ASKING --answer read--> DONE
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "train/launch/preflight/probe.h"

#define MAGIC		"WERKBANK"
#define MESSAGE		16 /* bytes */
#define MAX_PEERS	256
#define MAX_CALLS	256 /* callers served at the same time */
#define RETRY_S		0.1 /* the peer may not listen yet */
#define LONGEST_S	600
#define LISTEN_TRIES_S	2.0 /* a port that another program has is asked for so long */
#define LISTEN_RETRY_MS 50
#define CONNECT_POLL_MS 50

enum peer_state { WAITING, CONNECTING, ASKING, DONE };

struct probe_peer {
	int64_t index;
	struct sockaddr_storage address;
	socklen_t address_bytes;
	enum peer_state state;
	int fd;
	double next, began; /* monotonic seconds: next attempt, begin of this one */
	double seconds;	    /* from connect() to the answer */
	double rtt_s;	    /* round trip, as the kernel measured it; 0: unknown */
	int error;	    /* errno of the last attempt; 0: none yet */
	int64_t answered;   /* index of the host that answered; -1: none */
	unsigned char got[MESSAGE];
	size_t n_got;
};

struct probe_caller {
	int fd; /* -1: free */
	unsigned char got[MESSAGE];
	size_t n_got;
};

struct connect_test {
	int64_t self, expected;
	int listener;
	struct probe_peer *peers; /* owned */
	size_t n_peers;
	struct probe_caller calls[MAX_CALLS];
	int64_t callers[MAX_PEERS]; /* indices of the hosts that called */
	size_t n_callers;
	struct pollfd fds[1 + MAX_PEERS + MAX_CALLS];
};

static void write_probe_message(unsigned char to[MESSAGE], int64_t who, int64_t whom)
{
	uint32_t words[2] = { htonl((uint32_t)who), htonl((uint32_t)whom) };

	memcpy(to, MAGIC, 8);
	memcpy(to + 8, words, 8);
}

/* false: not a message of this protocol. */
static bool read_probe_message(const unsigned char from[MESSAGE], int64_t *who, int64_t *whom)
{
	uint32_t words[2];

	memcpy(words, from + 8, 8);
	*who = (int32_t)ntohl(words[0]);
	*whom = (int32_t)ntohl(words[1]);
	return !memcmp(from, MAGIC, 8);
}

/* Receive a part of a message; -1: connection lost, 0: incomplete, 1: complete. */
static int receive_message_bytes(int fd, unsigned char got[MESSAGE], size_t *n)
{
	ssize_t r = recv(fd, got + *n, MESSAGE - *n, MSG_DONTWAIT);

	if (r < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	*n += (size_t)r;
	return r == 0 ? -1 : *n == MESSAGE;
}

/* ---- connections to peers ---------------------------------------------------------- */

static void retry_connection(struct probe_peer *p, int error)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	p->error = error;
	p->state = WAITING;
	p->next = clock_mono_s() + RETRY_S;
}

static void connect_peer(struct probe_peer *p)
{
	assert(p->state == WAITING && p->fd < 0);
	p->began = clock_mono_s();
	p->n_got = 0;
	p->fd = socket(p->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->fd < 0 || (connect(p->fd, (const struct sockaddr *)&p->address, p->address_bytes) &&
			  errno != EINPROGRESS))
		retry_connection(p, errno);
	else
		p->state = CONNECTING;
}

/* The kernel measures without the delays of busy programs. 0: unknown. */
static double connection_rtt_s(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t n = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) ? 0 : 1e-6 * info.tcpi_rtt;
}

static void advance_connection(struct connect_test *t, struct probe_peer *p)
{
	unsigned char message[MESSAGE];
	socklen_t n = sizeof(int);
	int error = 0, got;
	int64_t whom;

	assert(p->fd >= 0 && (p->state == CONNECTING || p->state == ASKING));
	if (p->state == CONNECTING) {
		getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &n);
		write_probe_message(message, t->self, p->index);
		if (!error && send(p->fd, message, MESSAGE, MSG_NOSIGNAL) != MESSAGE)
			error = errno ? errno : EIO;
		if (error)
			retry_connection(p, error);
		else
			p->state = ASKING;
		return;
	}
	got = receive_message_bytes(p->fd, p->got, &p->n_got);
	if (got > 0)
		p->rtt_s = connection_rtt_s(p->fd);
	if (got < 0) {
		retry_connection(p, ECONNRESET);
	} else if (got > 0) {
		p->seconds = clock_mono_s() - p->began;
		if (!read_probe_message(p->got, &p->answered, &whom))
			p->answered = -1;
		p->error = p->answered < 0 ? EPROTO : 0;
		p->state = DONE;
		close(p->fd);
		p->fd = -1;
	}
}

/* ---- connections of callers --------------------------------------------------------- */

static void accept_caller(struct connect_test *t)
{
	int fd = accept4(t->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	for (size_t i = 0; i < MAX_CALLS && fd >= 0; i++)
		if (t->calls[i].fd < 0) {
			t->calls[i] = (struct probe_caller){ .fd = fd };
			return;
		}
	if (fd >= 0)
		close(fd);
}

static void read_caller_message(struct connect_test *t, struct probe_caller *c)
{
	unsigned char message[MESSAGE];
	int64_t who, whom;
	int got = receive_message_bytes(c->fd, c->got, &c->n_got);

	if (!got)
		return;
	if (got > 0 && read_probe_message(c->got, &who, &whom)) {
		write_probe_message(message, t->self, who);
		if (send(c->fd, message, MESSAGE, MSG_NOSIGNAL) == MESSAGE && whom == t->self &&
		    t->n_callers < MAX_PEERS)
			t->callers[t->n_callers++] = who;
	}
	close(c->fd);
	c->fd = -1;
}

/* ---- the test ------------------------------------------------------------------------ */

/* Listen on all addresses of one family; true: success. */
static bool listen_on_port(struct connect_test *t, int family, in_port_t port)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	const bool is_four = family == AF_INET;
	const struct sockaddr *any =
		is_four ? (const struct sockaddr *)&four : (const struct sockaddr *)&six;
	int on = 1, off = 0;

	t->listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (t->listener < 0)
		return false;
	setsockopt(t->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!is_four) /* callers with IPv4 addresses come to the same socket */
		setsockopt(t->listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (!bind(t->listener, any, is_four ? sizeof(four) : sizeof(six)) &&
	    !listen(t->listener, 128))
		return true;
	close(t->listener);
	t->listener = -1;
	return false;
}

static int open_probe_listener(struct connect_test *t, int64_t port, struct err *e)
{
	const double until = clock_mono_s() + LISTEN_TRIES_S;

	if (port < 1 || port > 65535)
		return err_set(e, ERR_PROTOCOL, "_probe: %lld is not a TCP port", (long long)port);
	/*
	 * The port was free in the first round. An outgoing connection of another program may have it
	 * now; most of these are short. A kernel without IPv6 has only the second family.
	 */
	while (!listen_on_port(t, AF_INET6, (in_port_t)port) &&
	       !listen_on_port(t, AF_INET, (in_port_t)port)) {
		if (errno != EADDRINUSE || clock_mono_s() > until)
			return err_set_errno(e, ERR_UNAVAILABLE, "cannot listen on TCP port %lld",
					     (long long)port);
		poll(NULL, 0, LISTEN_RETRY_MS);
	}
	return 0;
}

/* Parse an IPv4 or IPv6 address; false: neither. */
static bool parse_peer_address(struct probe_peer *p, const char *text, in_port_t port)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	if (inet_pton(AF_INET, text, &four.sin_addr) == 1) {
		memcpy(&p->address, &four, sizeof(four));
		p->address_bytes = sizeof(four);
	} else if (inet_pton(AF_INET6, text, &six.sin6_addr) == 1) {
		memcpy(&p->address, &six, sizeof(six));
		p->address_bytes = sizeof(six);
	} else {
		return false;
	}
	return true;
}

static int parse_connect_peers(struct connect_test *t, const struct json *list, struct err *e)
{
	t->n_peers = json_len(list);
	if (t->n_peers > MAX_PEERS)
		return err_set(e, ERR_PROTOCOL, "_probe: %zu peers, at most %d are allowed",
			       t->n_peers, MAX_PEERS);
	t->peers = mem_alloc(t->n_peers, sizeof(*t->peers), e);
	if (!t->peers)
		return e->code;
	for (size_t i = 0; i < t->n_peers; i++) {
		const struct json *o = json_at(list, i);
		struct probe_peer *p = &t->peers[i];
		int64_t port = json_integer(json_get(o, "port"), 0);

		*p = (struct probe_peer){ .fd = -1, .answered = -1 };
		p->index = json_integer(json_get(o, "index"), -1);
		if (port < 1 || port > 65535 ||
		    !parse_peer_address(p, json_text(json_get(o, "address"), ""), (in_port_t)port))
			return err_set(e, ERR_PROTOCOL,
				       "_probe: peer %zu has no IP address and port", i);
	}
	return 0;
}

static bool is_connect_test_done(const struct connect_test *t)
{
	for (size_t i = 0; i < t->n_peers; i++)
		if (t->peers[i].state != DONE)
			return false;
	return (int64_t)t->n_callers >= t->expected;
}

static void poll_connections(struct connect_test *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_peers; i++)
		if (t->peers[i].state == WAITING && clock_mono_s() >= t->peers[i].next)
			connect_peer(&t->peers[i]);
	t->fds[n++] = (struct pollfd){ .fd = t->listener, .events = POLLIN };
	for (size_t i = 0; i < t->n_peers; i++)
		t->fds[n++] = (struct pollfd){ .fd = t->peers[i].fd,
					       .events = t->peers[i].state == CONNECTING ? POLLOUT
											 : POLLIN };
	for (size_t i = 0; i < MAX_CALLS; i++)
		t->fds[n++] = (struct pollfd){ .fd = t->calls[i].fd, .events = POLLIN };
	assert(n == 1 + t->n_peers + MAX_CALLS && n <= ARRAY_LEN(t->fds));
	if (poll(t->fds, n, CONNECT_POLL_MS) <= 0)
		return;
	for (size_t i = 0; i < t->n_peers; i++)
		if (t->peers[i].fd >= 0 && t->fds[1 + i].revents)
			advance_connection(t, &t->peers[i]);
	for (size_t i = 0; i < MAX_CALLS; i++)
		if (t->calls[i].fd >= 0 && t->fds[1 + t->n_peers + i].revents)
			read_caller_message(t, &t->calls[i]);
	if (t->fds[0].revents)
		accept_caller(t);
}

/*
 * Why a connection failed. A firewall that rejects sends a packet back: "refused". One that drops
 * packets leaves the attempt open: "dropped". "silent": connected, but no answer came.
 */
static void put_connect_fault(const struct probe_peer *p, struct json_writer *w)
{
	const char *fault = p->state == ASKING	       ? "silent"
			    : p->state == CONNECTING   ? "dropped"
			    : p->error == ETIMEDOUT    ? "dropped"
			    : p->error == ECONNREFUSED ? "refused"
						       : "failed";

	json_put_str(w, "fault", fault);
	json_put_str(w, "trouble", strerror(p->error ? p->error : ETIMEDOUT));
}

static void write_connect_result(const struct connect_test *t, struct json_writer *w)
{
	json_put_open(w, "met", '[');
	for (size_t i = 0; i < t->n_peers; i++) {
		const struct probe_peer *p = &t->peers[i];

		json_open(w, '{');
		json_put_int(w, "index", p->index);
		if (p->state == DONE && p->answered >= 0) {
			json_put_int(w, "answered", p->answered);
			json_put_real(w, "seconds", p->seconds);
			json_put_real(w, "rtt_s", p->rtt_s);
		} else {
			put_connect_fault(p, w);
		}
		json_close(w, '}');
	}
	json_close(w, ']');
	json_put_open(w, "heard", '[');
	for (size_t i = 0; i < t->n_callers; i++)
		json_int(w, t->callers[i]);
	json_close(w, ']');
}

int probe_test_connections(const struct json *request, struct json_writer *w, struct err *e)
{
	struct connect_test *t = mem_alloc(1, sizeof(*t), e);
	double seconds = json_number(json_get(request, "seconds"), 5), began, until;
	int rc;

	if (!t)
		return e->code;
	t->listener = -1;
	t->self = json_integer(json_get(request, "self"), -1);
	t->expected = json_integer(json_get(request, "expect"), 0);
	for (size_t i = 0; i < MAX_CALLS; i++)
		t->calls[i].fd = -1;
	rc = parse_connect_peers(t, json_get(request, "peers"), e);
	if (!rc)
		rc = open_probe_listener(t, json_integer(json_get(request, "port"), 0), e);
	began = clock_mono_s();
	until = began + (seconds > 0 && seconds < LONGEST_S ? seconds : LONGEST_S);
	while (!rc && !is_connect_test_done(t) && clock_mono_s() < until)
		poll_connections(t);
	if (!rc) {
		write_connect_result(t, w);
		json_put_real(w, "listened_s", clock_mono_s() - began);
	}
	for (size_t i = 0; t->peers && i < t->n_peers; i++)
		if (t->peers[i].fd >= 0)
			close(t->peers[i].fd);
	for (size_t i = 0; i < MAX_CALLS; i++)
		if (t->calls[i].fd >= 0)
			close(t->calls[i].fd);
	if (t->listener >= 0)
		close(t->listener);
	free(t->peers);
	free(t);
	return rc;
}
