/* server_loop.c - see server_loop.h */
#include "eval/server/server_loop.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "eval/server/connection.h"
#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define ACCEPTS_A_TURN 64
#define MAX_POLLED     (1 + SERVER_MAX_LISTENERS + 3 * SERVER_MAX_MODELS + SERVER_MAX_CONNECTIONS)

struct server_loop {
	struct server_state *state; /* borrowed */
	const int *listeners;	    /* (n_listeners) borrowed */
	size_t n_listeners;
	int control;
	bool has_unsent; /* texts have come after the decoders got theirs: do not wait */
	double end_at;	 /* when open requests are given up; infinite before SIGTERM */
	struct server_keys new_keys; /* of a message */
	struct connection connections[SERVER_MAX_CONNECTIONS];
	struct pollfd polled[MAX_POLLED];
	size_t n_polled;
	sigset_t signals; /* mask while it waits: SIGTERM comes at no other time */
};

static volatile sig_atomic_t end_is_asked;

static void ask_for_end(int number)
{
	(void)number;
	end_is_asked = 1;
}

/* ---- the supervisor ---- */

static void send_note(const struct server_loop *l, enum server_note_kind kind, int model,
		      int generation)
{
	const struct server_note note = { kind, model, generation };

	if (write(l->control, &note, sizeof(note)) < 0)
		return; /* its end is noticed by reading */
}

/* The key file was read again: keys that stay keep their counts. */
static void take_keys(struct server_loop *l)
{
	struct server_state *s = l->state;
	const struct server_keys *keys = &l->new_keys;
	int64_t chars[SERVER_MAX_KEYS] = { 0 };

	for (size_t i = 0; i < keys->n; i++) {
		const size_t was = server_keys_find(&s->keys, keys->keys[i], strlen(keys->keys[i]));

		chars[i] = was ? s->key_chars[was - 1] : 0;
	}
	memcpy(s->key_chars, chars, sizeof(chars));
	s->keys = *keys;
}

/* Takes one message; false: none has come. */
static bool take_note(struct server_loop *l)
{
	struct server_note note;
	struct iovec parts[] = { { &note, sizeof(note) }, { &l->new_keys, sizeof(l->new_keys) } };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} room;
	struct msghdr m = { .msg_iov = parts,
			    .msg_iovlen = 2,
			    .msg_control = room.bytes,
			    .msg_controllen = sizeof(room.bytes) };
	const ssize_t n = recvmsg(l->control, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	int fds[2];

	if (n == 0)
		end_is_asked = 1;
	if (n == (ssize_t)(sizeof(note) + sizeof(l->new_keys)) && note.kind == NOTE_KEYS) {
		take_keys(l);
		return true;
	}
	if (n != (ssize_t)sizeof(note) || !c || c->cmsg_len != CMSG_LEN(sizeof(fds)))
		return false;
	memcpy(fds, CMSG_DATA(c), sizeof(fds));
	if (note.kind == NOTE_DECODER && note.model >= 0 &&
	    (size_t)note.model < l->state->n_decoders)
		decoder_link_add(&l->state->decoders[note.model], fds[0], fds[1], note.generation);
	return true;
}

/* ---- connections ---- */

/* A number for the address of a client, without its port: FNV-1a. */
static uint64_t client_name(const struct sockaddr_storage *address)
{
	const unsigned char *bytes = (const unsigned char *)address;
	size_t n = 0;
	uint64_t h = 14695981039346656037u;

	if (address->ss_family == AF_INET) {
		bytes = (const unsigned char *)&((const struct sockaddr_in *)address)->sin_addr;
		n = 4;
	} else if (address->ss_family == AF_INET6) {
		bytes = (const unsigned char *)&((const struct sockaddr_in6 *)address)->sin6_addr;
		n = 8; /* a network of one subscriber */
	}
	for (size_t i = 0; i < n; i++)
		h = (h ^ bytes[i]) * 1099511628211u;
	return h | (uint64_t)1 << 63; /* keys have small numbers */
}

/* A free place: if there is none, that of the client that has been idle longest. NULL: all are busy. */
static struct connection *free_connection(struct server_loop *l)
{
	struct connection *oldest = NULL;

	for (size_t i = 0; i < l->state->max_connections; i++) {
		struct connection *c = &l->connections[i];

		if (c->state == CONNECTION_FREE)
			return c;
		if (connection_is_idle(c) && (!oldest || c->deadline < oldest->deadline))
			oldest = c;
	}
	if (oldest)
		connection_close(l->state, oldest);
	return oldest;
}

static void accept_clients(struct server_loop *l, int listener, double now)
{
	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
		socklen_t n = sizeof(address);
		const int fd = accept4(listener, (struct sockaddr *)&address, &n,
				       SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct connection *c;

		if (fd < 0)
			return;
		c = free_connection(l);
		if (c) {
			connection_begin(c, fd, client_name(&address), now);
			continue;
		}
		l->state->metrics.refused[REFUSED_connections]++;
		close(fd);
	}
}

/* Is a body being read that only a file can have? */
static bool is_upload(const struct connection *c)
{
	return c->state == CONNECTION_READING && c->head_bytes && c->body_bytes > HTTP_MAX_BODY;
}

/* Does an upload fit beside those of its address in the places before? One alone does. */
static bool has_upload_share(const struct server_loop *l, const struct connection *upload)
{
	size_t bytes = 0;

	for (const struct connection *c = l->connections; c < upload; c++)
		bytes += is_upload(c) && c->client == upload->client ? c->body_bytes : 0;
	return !bytes || bytes + upload->body_bytes <= SERVER_MAX_BUFFERED / 2;
}

/*
 * Bodies of all connections together have a limit: a new one above it is refused. Files have a limit of their own, so that slow
 * uploads do not keep texts out; and one address has half of it.
 */
static void limit_bodies(struct server_loop *l, double now)
{
	size_t bytes = 0, file_bytes = 0;

	for (size_t i = 0; i < SERVER_MAX_CONNECTIONS; i++) {
		struct connection *c = &l->connections[i];

		if (c->state != CONNECTION_READING || !c->head_bytes)
			continue;
		if (!is_upload(c) && bytes + c->body_bytes <= SERVER_MAX_BUFFERED)
			bytes += c->body_bytes;
		else if (is_upload(c) && file_bytes + c->body_bytes <= SERVER_MAX_BUFFERED &&
			 has_upload_share(l, c))
			file_bytes += c->body_bytes;
		else
			connection_refuse(l->state, c, 503, "too many requests at once", now);
	}
}

/* ---- the turn ---- */

static void add_polled(struct server_loop *l, int fd, short events)
{
	l->polled[l->n_polled++] = (struct pollfd){ .fd = fd, .events = events };
}

/* Fills l->polled: control, listeners, connections in order of their places (-1: none), decoders. */
static void list_polled(struct server_loop *l)
{
	l->n_polled = 0;
	add_polled(l, l->control, POLLIN);
	for (size_t i = 0; i < l->n_listeners; i++)
		add_polled(l, l->listeners[i], POLLIN);
	for (size_t i = 0; i < SERVER_MAX_CONNECTIONS; i++) {
		const struct connection *c = &l->connections[i];

		add_polled(l, c->state == CONNECTION_FREE ? -1 : c->fd, connection_events(c));
	}
	for (size_t i = 0; i < l->state->n_decoders; i++) {
		int read_fds[2], write_fd;
		const size_t n = decoder_link_fds(&l->state->decoders[i], read_fds, &write_fd);

		for (size_t k = 0; k < n; k++)
			add_polled(l, read_fds[k], POLLIN);
		if (write_fd >= 0)
			add_polled(l, write_fd, POLLOUT);
	}
}

/* Time until something is due. */
static struct timespec poll_timeout(const struct server_loop *l, double now)
{
	double seconds = fmin(queue_next_deadline(l->state->queue, now), l->end_at - now);

	for (size_t i = 0; i < SERVER_MAX_CONNECTIONS; i++)
		if (l->connections[i].state != CONNECTION_FREE)
			seconds = fmin(seconds, l->connections[i].is_unread
							? 0
							: l->connections[i].deadline - now);
	for (size_t i = 0; i < l->state->n_decoders; i++)
		if (l->state->decoders[i].flight.n)
			seconds = fmin(seconds, 1);
	if (l->has_unsent)
		seconds = 0;
	seconds = isnan(seconds) ? 60 : fmin(fmax(seconds, 0), 60);
	return (struct timespec){ (time_t)seconds, (long)(fmod(seconds, 1) * 1e9) };
}

/* Of two models with the same languages, which their recipes name, only the first one gets requests. */
static void warn_same_direction(const struct server_state *s, size_t model)
{
	const struct decoder_link *d = &s->decoders[model];

	for (size_t i = 0; i < s->n_decoders; i++)
		if (i != model && !strcasecmp(s->decoders[i].source, d->source) &&
		    !strcasecmp(s->decoders[i].target, d->target))
			fprintf(stderr,
				"werkbank serve: models %zu and %zu both translate from %s to %s: "
				"model %zu gets no requests\n",
				MIN(i, model) + 1, MAX(i, model) + 1, d->source, d->target,
				MAX(i, model) + 1);
}

/* Does a model translate in the direction "en-de" of n bytes? */
static bool has_model_of(const struct server_state *s, const char *direction, size_t n)
{
	for (size_t i = 0; i < s->n_decoders; i++) {
		char name[2 * DECODER_LANGUAGE];
		const int length =
			snprintf(name, sizeof(name), "%s-%s", s->decoders[i].model_source,
				 s->decoders[i].model_target);

		if ((size_t)length == n && !strncasecmp(name, direction, n))
			return true;
	}
	return false;
}

/* When all models are loaded for the first time: a glossary for other languages than theirs is no use. */
static void warn_lost_glossaries(struct server_state *s)
{
	for (size_t i = 0; i < s->n_decoders; i++)
		if (!decoder_link_is_ready(&s->decoders[i]))
			return;
	for (size_t i = 0; i < s->n_glossaries; i++) {
		const char *equals = strchr(s->glossaries[i], '='),
			   *colon = strchr(s->glossaries[i], ':');
		const size_t n = colon && colon < equals ? (size_t)(colon - s->glossaries[i]) : 0;

		if (n && !has_model_of(s, s->glossaries[i], n))
			fprintf(stderr,
				"werkbank serve: warning: no model translates %.*s: the glossary "
				"%.*s is not used\n",
				(int)n, s->glossaries[i], (int)(equals - colon) - 1, colon + 1);
	}
	s->n_glossaries = 0; /* said once */
}

static void update_decoders(struct server_loop *l, double now)
{
	struct server_state *s = l->state;

	l->has_unsent = false;
	for (size_t i = 0; i < s->n_decoders; i++) {
		struct err fault = { 0 };
		const struct decoder_news news =
			decoder_link_update(&s->decoders[i], s->queue, now, &fault);

		l->has_unsent |= news.has_moved;
		if (news.has_ready)
			warn_same_direction(s, i);
		if (news.has_ready)
			warn_lost_glossaries(s);
		if (news.has_ready)
			send_note(l, NOTE_READY, (int)i, news.ready_generation);
		if (news.has_hung)
			send_note(l, NOTE_HUNG, (int)i, news.hung_generation);
		if (fault.code)
			fprintf(stderr, "werkbank serve: %s\n", fault.text);
	}
}

static void check_connections(struct server_loop *l, double now)
{
	l->state->n_connections = 0;
	for (size_t i = 0; i < SERVER_MAX_CONNECTIONS; i++) {
		struct connection *c = &l->connections[i];
		const bool was_unread = c->is_unread;

		connection_check(l->state, c, now);
		/* a request that had come before */
		l->has_unsent |= c->state == CONNECTION_WAITING && was_unread;
		if (l->state->is_ending && c->state == CONNECTION_READING && !c->in.len &&
		    (c->began > 0 || now > l->end_at - SERVER_END_S + SERVER_FRESH_S))
			connection_close(l->state, c);
		l->state->n_connections += c->state != CONNECTION_FREE;
	}
}

/* After SIGTERM: clients that have connected are served, no further ones. */
static void begin_end(struct server_loop *l, double now)
{
	for (size_t i = 0; i < l->n_listeners; i++)
		accept_clients(l, l->listeners[i], now);
	/* the supervisor has closed them too: the kernel refuses further clients, or systemd keeps them for the next server */
	for (size_t i = 0; i < l->n_listeners; i++)
		close(l->listeners[i]);
	l->n_listeners = 0;
	for (size_t i = 0; i < SERVER_MAX_CONNECTIONS; i++)
		if (connection_is_idle(&l->connections[i]))
			l->connections[i].deadline =
				fmin(l->connections[i].deadline, now + SERVER_FRESH_S);
	l->state->is_ending = true;
	l->end_at = now + SERVER_END_S;
}

static int turn_loop(struct server_loop *l, struct err *e)
{
	double now = clock_mono_s();
	const struct pollfd *p = l->polled;

	const struct timespec timeout = poll_timeout(l, now);

	list_polled(l);
	if (ppoll(l->polled, (nfds_t)l->n_polled, &timeout, &l->signals) < 0 && errno != EINTR)
		return err_set_errno(e, ERR_INTERNAL, "the server cannot wait for clients");
	now = clock_mono_s();
	while (p->revents && take_note(l))
		;
	p++;
	for (size_t i = 0; i < SERVER_MAX_CONNECTIONS; i++) {
		const struct pollfd *at = p + l->n_listeners + i;

		if (at->fd >= 0 && at->revents)
			connection_handle(l->state, &l->connections[i], at->revents, now);
	}
	for (size_t i = 0; i < l->n_listeners; i++)
		if (p[i].fd >= 0 && p[i].revents)
			accept_clients(l, p[i].fd, now);
	if (end_is_asked && !l->state->is_ending)
		begin_end(l, now);
	limit_bodies(l, now);
	queue_expire(l->state->queue, now);
	update_decoders(l, now);
	files_update(&l->state->files, l->state->queue, now, l->state->key_chars, l->state->keys.n);
	check_connections(l, now);
	return 0;
}

int server_loop_run(struct server_state *s, const int *listeners, size_t n_listeners, int control,
		    struct err *e)
{
	struct server_loop *l = mem_alloc(1, sizeof(*l), e);
	struct sigaction action = { .sa_handler = ask_for_end };
	sigset_t term;
	int rc = 0;

	if (!l)
		return e->code;
	*l = (struct server_loop){ .state = s, .listeners = listeners, .n_listeners = n_listeners };
	l->control = control;
	l->end_at = INFINITY;
	sigaction(SIGTERM, &action, NULL);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &l->signals);
	sigdelset(&l->signals, SIGTERM);
	s->metrics.started = clock_mono_s();
	while (!rc && (!s->is_ending || s->n_connections) && clock_mono_s() < l->end_at)
		rc = turn_loop(l, e);
	for (size_t i = 0; i < SERVER_MAX_CONNECTIONS; i++)
		if (l->connections[i].state != CONNECTION_FREE)
			connection_close(s, &l->connections[i]);
	files_free(&s->files, s->queue);
	for (size_t i = 0; i < s->n_decoders; i++)
		decoder_link_close(&s->decoders[i]);
	free(l);
	return rc;
}
