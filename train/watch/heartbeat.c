/*
 * heartbeat.c - the heartbeat thread of each rank; see heartbeat.h for the protocol
 *
 * Setup. The first rank opens a UDP socket, draws a random key for the job and broadcasts both with
 * a list of its addresses (struct rendezvous) over the comm. It listens on the loopback if all
 * ranks are on one host, on one interface if a network is given, else on all interfaces.
 *
 * Finding the first rank. Another rank sends its heartbeats to the listed addresses in turn: the
 * heartbeat with number i goes to address i mod n. The number in the first answer tells which
 * address works, and the rank keeps to it. After LOST_MESSAGES heartbeats without an answer the
 * search starts again.
 *
 * Threads. The training thread writes the atomic fields of struct heartbeat, the heartbeat thread
 * reads them. All other fields belong to the heartbeat thread after heartbeat_open().
 */
#include "train/watch/heartbeat.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/proc.h"
#include "share/guard/terminal_text.h"
#include "share/workspace/journal.h"
#include "train/host/host_net.h"
#include "train/watch/heartbeat_internal.h"

#define ADDRESSES	8	  /* upper limit of the first rank's addresses */
#define STEPS		32	  /* the median is that of the last STEPS steps */
#define PERIOD_S	1.0	  /* between heartbeats; shorter if late_after_s is short */
#define LOST_MESSAGES	5	  /* this many without an answer: search for an address again */
#define DRAIN_MOST	10000	  /* datagrams read in one round, in case of a flood */
#define MANY_RANKS	64	  /* with more, datagrams are read at intervals, not one by one */
#define MANY_BYTES	(4 << 20) /* receive buffer of the socket then */
#define END_COPIES	3	  /* copies of the last message, which has no answer */
#define REPORT_LIMIT_S	10	  /* time to write the report; then the process ends anyway */
#define TEMPFAIL	75	  /* EX_TEMPFAIL: the job can be resumed */
#define LONGEST_MESSAGE 780

/* How to reach the first rank; it broadcasts this at the start. Plain data. */
struct rendezvous {
	unsigned char key[HEARTBEAT_KEY_BYTES];
	int32_t n;				      /* at least 1 */
	struct sockaddr_storage addresses[ADDRESSES]; /* of one family, with the port */
};

struct heartbeat {
	int rank, size;
	double late_after_s, hang_after_s, period_s;
	char *folder; /* owned; NULL: none */
	struct rendezvous rendezvous;
	int socket, wake; /* descriptors; -1 none */
	pthread_t thread;
	bool has_thread;
	/* written by the training thread, read by the heartbeat thread */
	_Atomic uint64_t place; /* (step + 1) << 8 | phase */
	_Atomic uint64_t since_ns, moves, began, ended;
	_Atomic uint64_t took_ns[STEPS], n_took;
	uint64_t step_ns;	  /* only the training thread: time when the step began */
	_Atomic bool is_held;	  /* the process saves, and must not end */
	_Atomic bool misses_rank; /* written by the heartbeat thread */
	_Atomic bool end;	  /* the heartbeat thread shall end */
	/* only the heartbeat thread */
	uint64_t number; /* of the last heartbeat */
	/* only on the first rank */
	struct watchdog watch;
	struct sockaddr_storage *peers; /* (size) owned: senders; ss_family 0: not heard yet */
	struct journal *journal;	/* owned; opened for the first event */
	/* only on other ranks */
	bool first_heard, first_ended; /* an answer of the first rank has arrived; says it ended */
	bool found;		       /* an address of the first rank has answered */
	int address;		       /* its index in rendezvous */
	uint64_t answered;	       /* number of the last answered heartbeat */
	uint64_t searched;	       /* number of the first heartbeat of this search */
	double first_at, progress_at, turned_at; /* last answer, progress and round */
	uint64_t seen_moves;
};

/* ---- state of the training thread ----------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void count_step(struct heartbeat *p, uint64_t before, uint64_t step, uint64_t now)
{
	uint64_t n = atomic_load_explicit(&p->n_took, memory_order_relaxed);

	if (p->step_ns && step == before + 1) {
		atomic_store_explicit(&p->took_ns[n % STEPS], now - p->step_ns,
				      memory_order_relaxed);
		atomic_store_explicit(&p->n_took, n + 1, memory_order_release);
	}
	p->step_ns = now;
}

/* Only one thread writes the counter: a load and a store are enough. */
static void add_one(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

void heartbeat_set_phase(struct heartbeat *p, int64_t step, enum rank_phase phase)
{
	uint64_t before, place, now;

	if (!p)
		return;
	assert(step >= -1);
	before = atomic_load_explicit(&p->place, memory_order_relaxed);
	place = (uint64_t)(step + 1) << 8 | phase;
	now = now_ns();
	if (place != before) {
		if ((before & 255) == PHASE_REDUCE)
			add_one(&p->ended);
		if (phase == PHASE_REDUCE)
			add_one(&p->began);
		if (place >> 8 != before >> 8)
			count_step(p, before >> 8, place >> 8, now);
		atomic_store_explicit(&p->since_ns, now, memory_order_relaxed);
		atomic_store_explicit(&p->place, place, memory_order_relaxed);
	}
	add_one(&p->moves);
}

bool heartbeat_misses_rank(const struct heartbeat *p)
{
	return p && atomic_load(&p->misses_rank);
}

void heartbeat_hold(struct heartbeat *p, bool hold)
{
	if (p)
		atomic_store(&p->is_held, hold);
}

static int cmp_step_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double median_step(struct heartbeat *p)
{
	uint64_t took[STEPS], n = atomic_load_explicit(&p->n_took, memory_order_acquire);

	n = MIN(n, STEPS);
	if (!n)
		return 0;
	for (uint64_t i = 0; i < n; i++)
		took[i] = atomic_load_explicit(&p->took_ns[i], memory_order_relaxed);
	qsort(took, (size_t)n, sizeof(*took), cmp_step_times);
	return (double)took[n / 2] * 1e-9;
}

/* The next heartbeat of this rank. */
static struct heartbeat_message own_message(struct heartbeat *p)
{
	uint64_t place = atomic_load_explicit(&p->place, memory_order_relaxed);
	uint64_t since = atomic_load_explicit(&p->since_ns, memory_order_relaxed), now = now_ns();
	struct heartbeat_message w = {
		.phase = (enum rank_phase)(place & 255),
		.rank = p->rank,
		.number = ++p->number,
		.step = (int64_t)(place >> 8) - 1,
		.age_s = now > since ? (double)(now - since) * 1e-9 : 0,
		.moves = atomic_load_explicit(&p->moves, memory_order_relaxed),
		.ended = atomic_load_explicit(&p->ended, memory_order_relaxed),
	};

	/* read after ended; a reduction may have begun and ended between the two reads */
	w.began = MAX(w.ended, atomic_load_explicit(&p->began, memory_order_relaxed));
	return w;
}

/* ---- messages to the user -------------------------------------------------- */

/*
 * Print to standard error; drop the text if the pipe is full, because the watchdog must not block.
 * The stream stderr would block, so the text, which names hosts, is made safe for terminals here.
 */
static void heartbeat_print(const char *text)
{
	struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };
	struct buf line = { 0 };
	ssize_t written = 0;

	buf_add_str(&line, "werkbank: ");
	terminal_add_text(&line, text, strnlen(text, LONGEST_MESSAGE), TERMINAL_SENTENCE);
	buf_add_char(&line, '\n');
	if (!line.failed && poll(&out, 1, 0) == 1 && out.revents & POLLOUT)
		written = write(STDERR_FILENO, line.data, line.len);
	(void)written;
	buf_free(&line);
}

/* The run's journal, opened a second time for this thread; NULL: no folder, or a failure. */
static struct journal *own_journal(struct heartbeat *p)
{
	struct err ignored = { 0 }; /* the training thread reports failures of the disk */
	char *path;

	if (!p->journal && p->folder) {
		path = file_path(&ignored, "%s/journal.jsonl", p->folder);
		p->journal = path ? journal_open(path, &ignored) : NULL;
		free(path);
	}
	return p->journal;
}

static void heartbeat_log_event(struct heartbeat *p, const char *level, int64_t step,
				const char *text)
{
	struct journal *j = own_journal(p);
	struct err ignored = { 0 };

	if (j)
		journal_write_event(j, level, step, text, &ignored);
}

/*
 * The launcher reads from this record that the ranks have ended: mpirun itself may wait for ever for
 * the daemon of a lost host. The exit is not 75, which would mean that the run is saved.
 */
static void heartbeat_log_stop(struct heartbeat *p, int64_t step)
{
	struct journal *j = own_journal(p);
	struct err ignored = { 0 };
	struct json_writer *w;

	if (!j)
		return;
	w = journal_begin(j, "stop", step);
	json_put_str(w, "reason", "failed");
	json_put_int(w, "exit", err_exit_status(ERR_NOHOST));
	journal_end(j, &ignored);
}

static void heartbeat_report(void *to, const char *level, int64_t step, const char *text)
{
	heartbeat_print(text);
	heartbeat_log_event(to, level, step, text);
}

/* Ends the process if writing the report takes too long: the disk may hang as well. */
static void *exit_after_timeout(void *unused)
{
	struct timespec wait = { REPORT_LIMIT_S, 0 };

	(void)unused;
	while (nanosleep(&wait, &wait) && errno == EINTR)
		;
	_exit(TEMPFAIL);
}

static void end_job(struct heartbeat *p, double now, const char *why)
{
	struct buf report = { 0 };
	struct err ignored = { 0 };
	pthread_t thread;
	char *path;
	int64_t step = p->watch.peers[0].message.step;

	assert(p->rank == 0);
	if (!pthread_create(&thread, NULL, exit_after_timeout, NULL))
		pthread_detach(thread);
	heartbeat_print(why);
	path = p->folder ? file_path(&ignored, "%s/hang.txt", p->folder) : NULL;
	if (path) {
		watchdog_write_report(&p->watch, now, why, &report);
		file_write_all(path, buf_text(&report), report.len, &ignored);
	}
	heartbeat_log_event(p, "error", step, why);
	heartbeat_log_stop(p, step);
	_exit(TEMPFAIL);
}

/* ---- datagrams ----------------------------------------------------------- */

static socklen_t address_len(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static in_port_t *address_port(struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET ? &((struct sockaddr_in *)a)->sin_port
				       : &((struct sockaddr_in6 *)a)->sin6_port;
}

static void send_message(struct heartbeat *p, const struct heartbeat_message *w,
			 const struct sockaddr_storage *to)
{
	unsigned char bytes[HEARTBEAT_MESSAGE_BYTES];

	heartbeat_message_write(w, p->rendezvous.key, bytes);
	/* a failure to send is like a lost datagram: the next heartbeat follows */
	if (sendto(p->socket, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL,
		   (const struct sockaddr *)to, address_len(to)) < 0)
		return;
}

/* The next datagram of this job. False: none has arrived. *left: limit of datagrams to read. */
static bool receive_heartbeat(struct heartbeat *p, struct heartbeat_message *w,
			      struct sockaddr_storage *from, int *left)
{
	unsigned char bytes[HEARTBEAT_MESSAGE_BYTES + 1];
	socklen_t len;
	ssize_t n;

	while ((*left)-- > 0) {
		len = sizeof(*from);
		n = recvfrom(p->socket, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)from,
			     &len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return false;
		if (n >= 0 && from->ss_family == p->rendezvous.addresses[0].ss_family &&
		    heartbeat_message_read(w, p->rendezvous.key, bytes, (size_t)n, p->size))
			return true;
	}
	return false;
}

/* ---- the first rank's thread --------------------------------------------- */

static void receive_from_others(struct heartbeat *p, double now)
{
	struct sockaddr_storage from;
	struct heartbeat_message w, answer;
	int left = DRAIN_MOST;

	while (p->socket >= 0 && receive_heartbeat(p, &w, &from, &left)) {
		if (w.is_answer || !w.rank)
			continue;
		p->peers[w.rank] = from;
		watchdog_add_message(&p->watch, &w, now);
		answer = own_message(p);
		answer.is_answer = true;
		answer.number = w.number;
		send_message(p, &answer, &from);
	}
}

static void turn_first(struct heartbeat *p, double now)
{
	struct heartbeat_message own;
	char why[900];

	watchdog_skip_gap(&p->watch, now, p->period_s);
	receive_from_others(p, now);
	own = own_message(p);
	watchdog_add_message(&p->watch, &own, now);
	atomic_store(&p->misses_rank, watchdog_misses_rank(&p->watch, now));
	if (watchdog_check(&p->watch, now, median_step(p), why, sizeof(why)) &&
	    !atomic_load(&p->is_held))
		end_job(p, now, why);
}

/* ---- the other ranks' thread --------------------------------------------- */

static void send_heartbeat(struct heartbeat *p)
{
	struct heartbeat_message w = own_message(p);
	int i;

	if (p->found && w.number > p->answered + LOST_MESSAGES) {
		p->found = false;
		p->searched = w.number;
	}
	/* until an address answers, try each in turn: the number tells which one it was */
	i = p->found ? p->address : (int)(w.number % (uint64_t)p->rendezvous.n);
	send_message(p, &w, &p->rendezvous.addresses[i]);
}

static void receive_from_first(struct heartbeat *p, double now)
{
	struct sockaddr_storage from;
	struct heartbeat_message w;
	int left = DRAIN_MOST;

	while (receive_heartbeat(p, &w, &from, &left)) {
		if (!w.is_answer || w.rank || w.number > p->number)
			continue;
		p->first_heard = true;
		p->first_at = now;
		p->first_ended = w.phase == PHASE_END;
		if (w.number <= p->answered)
			continue;
		p->answered = w.number;
		if (!p->found && w.number >= p->searched)
			p->address = (int)(w.number % (uint64_t)p->rendezvous.n);
		p->found = true;
	}
}

/* End the process if the first rank is silent and this rank makes no progress. */
static void exit_without_first_rank(struct heartbeat *p, double now)
{
	double limit = watchdog_hang_limit(p->hang_after_s, median_step(p));
	uint64_t moves = atomic_load_explicit(&p->moves, memory_order_relaxed);
	char text[300];

	if (moves != p->seen_moves)
		p->progress_at = now;
	p->seen_moves = moves;
	if (atomic_load(&p->is_held) || !p->first_heard || p->first_ended ||
	    now - p->first_at < limit || now - p->progress_at < limit)
		return;
	snprintf(text, sizeof(text),
		 "rank %d ends: no heartbeat from the first rank for %.0f s, and no progress",
		 p->rank, now - p->first_at);
	heartbeat_print(text);
	_exit(TEMPFAIL);
}

static void turn_other(struct heartbeat *p, double now)
{
	double gap = now - p->turned_at;

	p->turned_at = now;
	if (gap > fmax(3 * p->period_s, 2)) { /* this process was stopped: don't count the gap */
		p->first_at += gap;
		p->progress_at += gap;
	}
	receive_from_first(p, now);
	atomic_store(&p->misses_rank,
		     p->first_heard && !p->first_ended && now - p->first_at >= p->late_after_s);
	send_heartbeat(p);
	exit_without_first_rank(p, now);
}

/* ---- the thread ---------------------------------------------------------- */

/* Tell the other side that this rank has ended; several copies, because datagrams get lost. */
static void send_end_messages(struct heartbeat *p)
{
	struct heartbeat_message w;

	atomic_store_explicit(&p->place,
			      (atomic_load_explicit(&p->place, memory_order_relaxed) & ~255ull) |
				      PHASE_END,
			      memory_order_relaxed);
	for (int copy = 0; p->socket >= 0 && copy < END_COPIES; copy++) {
		w = own_message(p);
		if (p->rank) {
			send_message(p, &w, &p->rendezvous.addresses[p->found ? p->address : 0]);
			continue;
		}
		w.is_answer = true;
		w.number = 0; /* answers no heartbeat */
		for (int i = 1; i < p->size; i++)
			if (p->peers[i].ss_family)
				send_message(p, &w, &p->peers[i]);
	}
}

static void *heartbeat_thread(void *argument)
{
	struct heartbeat *p = argument;
	struct pollfd on[2] = { { .fd = p->wake, .events = POLLIN },
				{ .fd = p->socket, .events = POLLIN } };
	double next = clock_mono_s(), now, wait;
	nfds_t n = p->socket >= 0 && (p->rank || p->size <= MANY_RANKS) ? 2 : 1;

	while (!atomic_load(&p->end)) {
		now = clock_mono_s();
		if (now >= next) {
			next = now + p->period_s;
			if (p->rank)
				turn_other(p, now);
			else
				turn_first(p, now);
		} else if (p->socket >= 0) {
			if (p->rank)
				receive_from_first(p, now);
			else
				receive_from_others(p, now);
		}
		wait = next - clock_mono_s();
		if (n == 1)
			wait = fmin(wait, p->period_s / 4);
		if (wait > 0)
			poll(on, n, (int)(wait * 1000) + 1);
	}
	send_end_messages(p);
	return NULL;
}

/* ---- opening ------------------------------------------------------------- */

static int bind_first(struct heartbeat *p, const struct sockaddr_storage *at, struct err *e)
{
	struct sockaddr_storage bound;
	socklen_t len = sizeof(bound);
	int bytes = MANY_BYTES;

	p->socket = socket(at->ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->socket < 0 || bind(p->socket, (const struct sockaddr *)at, address_len(at)) ||
	    getsockname(p->socket, (struct sockaddr *)&bound, &len))
		return err_set_errno(e, ERR_UNAVAILABLE,
				     "cannot open a UDP socket for the heartbeats of ranks");
	/* a failure is harmless: heartbeats are lost, and the next ones follow */
	if (p->size > MANY_RANKS &&
	    setsockopt(p->socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)))
		bytes = 0;
	for (int i = 0; i < p->rendezvous.n; i++)
		*address_port(&p->rendezvous.addresses[i]) = *address_port(&bound);
	return 0;
}

/* Addresses of another family than the first one are left out. */
static void add_address(struct rendezvous *h, const struct sockaddr_storage *a)
{
	if (h->n < ADDRESSES && (!h->n || a->ss_family == h->addresses[0].ss_family))
		h->addresses[h->n++] = *a;
}

/*
 * Open the socket of the first rank: on the loopback if all ranks are on one host, on the given
 * network, or on all interfaces. The other ranks try its addresses, that of the default route first.
 */
static int listen_first(struct heartbeat *p, const struct comm *c, const char *network,
			struct err *e)
{
	struct sockaddr_storage at = { .ss_family = AF_INET }, all[ADDRESSES];
	struct rendezvous *h = &p->rendezvous;
	struct host_interface found;
	struct host_roots roots;
	struct err why = { 0 };
	const char *variable = getenv("WERKBANK_NETWORK");
	bool given = (network && *network) || (variable && *variable);
	int n;

	((struct sockaddr_in *)&at)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (c->local_size == c->size) {
		add_address(h, &at);
		return bind_first(p, &at, e);
	}
	host_roots_find(&roots);
	if (host_interface_find(network, &roots, &found, given ? e : &why) && given)
		return e->code;
	if (found.address.ss_family)
		add_address(h, &found.address);
	if (given)
		return bind_first(p, &found.address, e);
	n = host_addresses(all, ADDRESSES);
	for (int i = 0; i < n; i++)
		if (memcmp(&all[i], &found.address, sizeof(all[i])) != 0)
			add_address(h, &all[i]);
	if (!h->n) /* no network: only ranks on this host can be heard */
		add_address(h, &at);
	at = (struct sockaddr_storage){ .ss_family = h->addresses[0].ss_family }; /* any */
	return bind_first(p, &at, e);
}

static int heartbeat_open_first(struct heartbeat *p, const struct heartbeat_options *how,
				const struct comm *c, struct err *e)
{
	p->peers = mem_alloc((size_t)p->size, sizeof(*p->peers), e);
	p->folder = how->folder ? mem_strdup(how->folder, e) : NULL;
	if (!p->peers || (how->folder && !p->folder))
		return e->code;
	if (getrandom(p->rendezvous.key, sizeof(p->rendezvous.key), 0) != sizeof(p->rendezvous.key))
		return err_set_errno(e, ERR_UNAVAILABLE,
				     "cannot get random numbers from the system for the heartbeat "
				     "key");
	return p->size > 1 ? listen_first(p, c, how->network, e) : 0;
}

static int heartbeat_open_other(struct heartbeat *p, struct err *e)
{
	p->socket = socket(p->rendezvous.addresses[0].ss_family,
			   SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return p->socket < 0 ? err_set_errno(e, ERR_UNAVAILABLE,
					     "cannot open a UDP socket for the heartbeats of ranks")
			     : 0;
}

/* Collective: fails on all ranks if rc is a failure on one, so that no rank waits for that one. */
static int heartbeat_agree(struct comm *c, int rc, struct err *e)
{
	int64_t failed = rc != 0;
	struct err after = { 0 };

	if (c->max_ints(c, &failed, 1, &after))
		return rc ? rc : err_set(e, after.code, "%s", after.text);
	if (failed && !rc)
		return err_set(e, ERR_UNAVAILABLE,
			       "another rank cannot start its heartbeat: look at its log");
	return rc;
}

static int heartbeat_share_setup(struct heartbeat *p, struct comm *c, struct err *e)
{
	char mine[64] = "";
	char *all = p->rank ? NULL : mem_alloc((size_t)p->size, sizeof(mine), e);
	int rc = p->rank || all ? 0 : e->code;

	if (gethostname(mine, sizeof(mine) - 1))
		snprintf(mine, sizeof(mine), "?");
	rc = heartbeat_agree(c, rc, e);
	if (!rc)
		rc = c->broadcast(c, &p->rendezvous, sizeof(p->rendezvous), 0, e);
	if (!rc)
		rc = c->gather(c, mine, sizeof(mine), all, e);
	if (!rc && !p->rank)
		rc = watchdog_open(&p->watch, all, p->size, p->late_after_s, p->hang_after_s,
				   clock_mono_s(), e);
	free(all);
	return rc;
}

static int heartbeat_start_thread(struct heartbeat *p, struct err *e)
{
	p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->wake < 0)
		return err_set_errno(e, ERR_NOMEM, "cannot start the heartbeat: eventfd");
	p->first_at = p->progress_at = p->turned_at = clock_mono_s();
	p->watch.tell = heartbeat_report;
	p->watch.to = p;
	p->has_thread = !proc_start_thread(&p->thread, heartbeat_thread, p, "sends heartbeats", e);
	return p->has_thread ? 0 : e->code;
}

static struct heartbeat *heartbeat_new(const struct heartbeat_options *how, const struct comm *c,
				       struct err *e)
{
	struct heartbeat *p = mem_alloc(1, sizeof(*p), e);
	double shortest = how->late_after_s;

	if (!p)
		return NULL;
	if (how->hang_after_s > 0)
		shortest = fmin(shortest, how->hang_after_s);
	p->rank = c->rank;
	p->size = c->size;
	p->late_after_s = how->late_after_s;
	p->hang_after_s = how->hang_after_s;
	p->period_s = fmin(PERIOD_S, fmax(shortest / 10, 0.01));
	p->socket = p->wake = -1;
	atomic_store(&p->since_ns, now_ns());
	return p;
}

struct heartbeat *heartbeat_open(const struct heartbeat_options *how, struct comm *c, struct err *e)
{
	struct heartbeat *p = heartbeat_new(how, c, e);
	int rc = p ? 0 : e->code;

	if (!rc && !p->rank)
		rc = heartbeat_open_first(p, how, c, e);
	rc = heartbeat_agree(c, rc, e);
	if (!rc)
		rc = heartbeat_share_setup(p, c, e);
	if (!rc && p->rank)
		rc = heartbeat_open_other(p, e);
	if (!rc)
		rc = heartbeat_start_thread(p, e);
	rc = heartbeat_agree(c, rc, e);
	if (rc) {
		heartbeat_free(p);
		return NULL;
	}
	return p;
}

void heartbeat_free(struct heartbeat *p)
{
	uint64_t one = 1;

	if (!p)
		return;
	if (p->has_thread) {
		atomic_store(&p->end, true);
		if (write(p->wake, &one, sizeof(one)) < 0)
			one = 0; /* harmless: the thread wakes within a period */
		pthread_join(p->thread, NULL);
	}
	if (p->socket >= 0)
		close(p->socket);
	if (p->wake >= 0)
		close(p->wake);
	watchdog_close(&p->watch);
	journal_free(p->journal);
	free(p->peers);
	free(p->folder);
	free(p);
}
