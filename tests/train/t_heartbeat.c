/* t_heartbeat.c - heartbeats: messages, late ranks, and jobs of processes that hang, stop and recover */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "tests/test.h"
#include "train/watch/heartbeat.h"
#include "train/watch/heartbeat_internal.h"

/* ---- messages -------------------------------------------------------------- */

TEST(heartbeat_messages)
{
	unsigned char key[HEARTBEAT_KEY_BYTES] = "0123456789abcde",
		      other[HEARTBEAT_KEY_BYTES] = "0123";
	unsigned char bytes[HEARTBEAT_MESSAGE_BYTES + 1] = { 0 }, bad[HEARTBEAT_MESSAGE_BYTES];
	struct heartbeat_message w = { .phase = PHASE_REDUCE,
				       .rank = 3,
				       .number = 1ull << 60,
				       .step = 871,
				       .age_s = 41.25,
				       .moves = 9,
				       .began = 5,
				       .ended = 4 },
				 r;
	static const struct {
		int at;
		unsigned char v;
	} wrong[] = {
		{ 0, 'X' },   { 7, '2' },   { 8, 0 },  { 24, 2 },    { 25, PHASE_END + 1 },
		{ 26, 1 },    { 27, 1 },    { 28, 4 }, { 31, 0x80 }, { 47, 0x80 },
		{ 47, 0x7f }, { 55, 0xff }, { 79, 1 }, { 64, 3 },
	};

	heartbeat_message_write(&w, key, bytes);
	check(heartbeat_message_read(&r, key, bytes, HEARTBEAT_MESSAGE_BYTES, 4));
	check_int(r.rank, 3);
	check_int(r.step, 871);
	check_int(r.phase, PHASE_REDUCE);
	check(r.number == 1ull << 60 && r.moves == 9 && r.began == 5 && r.ended == 4);
	check(!r.is_answer);
	check_near(r.age_s, 41.25, 1e-9);
	check(!heartbeat_message_read(&r, other, bytes, HEARTBEAT_MESSAGE_BYTES, 4));
	check(!heartbeat_message_read(&r, key, bytes, HEARTBEAT_MESSAGE_BYTES, 3));
	check(!heartbeat_message_read(&r, key, bytes, HEARTBEAT_MESSAGE_BYTES - 1, 4));
	check(!heartbeat_message_read(&r, key, bytes, HEARTBEAT_MESSAGE_BYTES + 1, 4));
	check(!heartbeat_message_read(&r, key, bytes, 0, 4));
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		memcpy(bad, bytes, sizeof(bad));
		bad[wrong[i].at] = wrong[i].v;
		if (heartbeat_message_read(&r, key, bad, sizeof(bad), 4))
			test_fail(__FILE__, __LINE__, "a message with byte %d = %d is accepted",
				  wrong[i].at, wrong[i].v);
	}
	w.step = -1;
	heartbeat_message_write(&w, key, bytes);
	check(heartbeat_message_read(&r, key, bytes, HEARTBEAT_MESSAGE_BYTES, 4) && r.step == -1);
}

/* ---- late ranks, with a simulated clock ------------------------------------- */

struct reports {
	char text[8][400];
	int n;
};

static void store_report(void *to, const char *level, int64_t step, const char *text)
{
	struct reports *t = to;

	(void)step;
	if (t->n < 8)
		snprintf(t->text[t->n], sizeof(t->text[0]), "%s: %s", level, text);
	t->n++;
}

static const char *last_report(const struct reports *t)
{
	return t->n ? t->text[MIN(t->n, 8) - 1] : "";
}

static struct watchdog watch_of(int n, struct reports *reports)
{
	char hosts[8][64] = { "hostA", "hostA", "hostB", "hostB", "hostC", "c", "c", "c" };
	struct watchdog w;
	struct err e = { 0 };

	memset(reports, 0, sizeof(*reports));
	check_int(watchdog_open(&w, hosts[0], n, 10, 0, 0, &e), 0);
	w.tell = store_report;
	w.to = reports;
	return w;
}

/* Send a message of a rank: in its phase since `since`; moved: it made progress since the last one. */
static void send_message(struct watchdog *w, int rank, int64_t step, enum rank_phase phase,
			 double since, double now, bool moved)
{
	struct heartbeat_message message = w->peers[rank].message;

	message.rank = rank;
	message.number++;
	message.step = step;
	message.phase = phase;
	message.age_s = now - since;
	message.moves += moved;
	watchdog_add_message(w, &message, now);
}

static bool check_at(struct watchdog *w, double now)
{
	char why[900];

	watchdog_skip_gap(w, now, 1);
	return watchdog_check(w, now, 1, why, sizeof(why));
}

TEST(heartbeat_names_late_ranks)
{
	struct reports reports;
	struct watchdog w = watch_of(4, &reports);

	for (int t = 1; t <= 41; t++) {
		for (int i = 0; i < 3; i++)
			send_message(&w, i, 871, PHASE_REDUCE, 1, t, t == 1);
		send_message(&w, 3, 871, PHASE_COMPUTE, 0, t, t == 1);
		check(!check_at(&w, t));
		check_int(reports.n, t < 11 ? 0 : t < 21 ? 1 : t < 41 ? 2 : 3);
	}
	check_str(last_report(&reports),
		  "warning: rank 3 on hostB is 40 s behind: in compute of step 871 "
		  "while other ranks wait in the reduction");
	send_message(&w, 3, 871, PHASE_REDUCE, 42, 42, true);
	check(!check_at(&w, 42));
	check_str(last_report(&reports), "info: rank 3 on hostB caught up after 40 s");
	/* a rank is named again only when it is late again */
	check(!check_at(&w, 42.5));
	check_int(reports.n, 4);
	watchdog_close(&w);
}

/* Equally long steps are not late; saving and evaluating may take longer than a step. */
TEST(heartbeat_allows_long_phases)
{
	struct reports reports;
	struct watchdog w = watch_of(2, &reports);
	char why[900];

	for (int t = 1; t < 30; t++) {
		send_message(&w, 0, 5, PHASE_COMPUTE, 0, t, t == 1);
		send_message(&w, 1, 5, PHASE_COMPUTE, 0, t, t == 1);
		check(!check_at(&w, t));
	}
	for (int t = 30; t < 120; t++) {
		send_message(&w, 0, 6, PHASE_SAVE, 30, t, t == 30);
		send_message(&w, 1, 6, PHASE_REDUCE, 30, t, t == 30);
		check(!check_at(&w, t));
	}
	check_int(reports.n, 0);
	for (int t = 120; t < 620; t++) {
		send_message(&w, 0, 6, PHASE_EVALUATE, 120, t, t == 120);
		send_message(&w, 1, 6, PHASE_EVALUATE, 120, t, t == 120);
		check(!check_at(&w, t));
	}
	check_int(reports.n, 0);
	/* a rank that sends nothing is reported, although it was evaluating */
	for (int t = 620; t < 690; t++) {
		send_message(&w, 0, 6, PHASE_EVALUATE, 120, t, t == 620);
		if (t < 680)
			check(!check_at(&w, t));
		else
			watchdog_skip_gap(&w, t, 1);
	}
	watchdog_skip_gap(&w, 690, 1);
	check(watchdog_check(&w, 690, 1, why, sizeof(why)));
	check(strstr(why,
		     "rank 1 on hostA sends no heartbeats since 71 s, last in the evaluation of "
		     "step 6") != NULL);
	watchdog_close(&w);
}

TEST(heartbeat_reports_a_silent_rank)
{
	struct reports reports;
	struct watchdog w = watch_of(3, &reports);

	send_message(&w, 0, 1, PHASE_COMPUTE, 0, 1, true);
	send_message(&w, 1, 1, PHASE_UPDATE, 0, 1, true);
	send_message(&w, 2, 1, PHASE_END, 0, 1, true); /* a rank at its end may be silent */
	for (int t = 2; t <= 13; t++) {
		send_message(&w, 0, t, PHASE_COMPUTE, t, t, true);
		check(!check_at(&w, t));
	}
	check_int(reports.n, 1);
	check(watchdog_misses_rank(&w, 13));
	check_str(last_report(&reports),
		  "warning: rank 1 on hostA sends no heartbeats since 10 s, last in the "
		  "update of step 1: its process is stopped or has ended, its host is "
		  "down, or the network fails");
	send_message(&w, 1, 13, PHASE_COMPUTE, 13, 13.5, true);
	check(!check_at(&w, 13.5));
	check(!watchdog_misses_rank(&w, 13.5));
	check_str(last_report(&reports), "info: rank 1 on hostA caught up after 12 s");
	watchdog_close(&w);
}

TEST(heartbeat_reports_a_rank_never_heard)
{
	struct reports reports;
	struct watchdog w = watch_of(2, &reports);

	for (int t = 1; t < 200; t++) {
		send_message(&w, 0, t, PHASE_COMPUTE, t, t, true);
		check(!check_at(&w, t));
	}
	check_int(reports.n, 1);
	check(strstr(last_report(&reports), "no heartbeats arrive from rank 1 on hostA") != NULL);
	watchdog_close(&w);
}

TEST(heartbeat_ends_when_all_ranks_wait)
{
	struct reports reports;
	struct watchdog w = watch_of(2, &reports);
	struct buf report = { 0 };
	char why[900] = "";
	bool ended = false;
	int t;

	for (t = 1; t < 100 && !ended; t++) {
		send_message(&w, 0, 7, PHASE_REDUCE, 1, t, t == 1);
		send_message(&w, 1, 7, PHASE_REDUCE, 1, t, t == 1);
		watchdog_skip_gap(&w, t, 1);
		ended = watchdog_check(&w, t, 4, why, sizeof(why));
	}
	check_int(t, 82);	 /* 20 steps of 4 s after second 1, and one for the loop */
	check_int(reports.n, 4); /* at 10, 20, 40 and 80 */
	check_str(last_report(&reports), "warning: all ranks wait in the reduction of step 7 since "
					 "80 s: check the network between the hosts");
	watchdog_write_report(&w, t, why, &report);
	check(strstr(buf_text(&report), "no rank has made progress for 80 s") != NULL);
	check(strstr(buf_text(&report), "\n     1  hostA ") != NULL);
	buf_free(&report);
	watchdog_close(&w);
}

/* After a gap (the watcher was stopped, the host slept) no rank is late. Old messages are ignored. */
TEST(heartbeat_forgives_a_gap)
{
	struct reports reports;
	struct watchdog w = watch_of(2, &reports);
	struct heartbeat_message old;

	send_message(&w, 0, 1, PHASE_REDUCE, 0, 1, true);
	send_message(&w, 1, 1, PHASE_COMPUTE, 0, 1, true);
	old = w.peers[1].message;
	check(!check_at(&w, 1));
	check(!check_at(&w, 1000));
	check_int(reports.n, 0);
	check(!check_at(&w, 1000.5));
	old.phase = PHASE_END;
	watchdog_add_message(&w, &old, 1001);
	check_int(w.peers[1].message.phase, PHASE_COMPUTE);
	for (int t = 1001; t < 1008; t++)
		check(!check_at(&w, t));
	check_int(reports.n, 0);
	watchdog_close(&w);
	check_near(watchdog_hang_limit(0, 0), 600, 0);
	check_near(watchdog_hang_limit(0, 0.5), 60, 0);
	check_near(watchdog_hang_limit(0, 10), 200, 0);
	check_near(watchdog_hang_limit(5, 10), 5, 0);
}

/* ---- jobs of processes ---------------------------------------------------- */

#define RANKS 3

/* Memory of the processes of a job, for their collectives. */
struct shared {
	pthread_barrier_t barrier;
	char bytes[RANKS][4096];
	int64_t ints[RANKS];
	_Atomic int stage; /* its meaning depends on the scenario */
};

static struct shared *shared;

static int all_max(struct comm *c, int64_t *x, size_t n, struct err *e)
{
	(void)e, (void)n;
	shared->ints[c->rank] = *x;
	pthread_barrier_wait(&shared->barrier);
	for (int i = 0; i < c->size; i++)
		*x = MAX(*x, shared->ints[i]);
	pthread_barrier_wait(&shared->barrier);
	return 0;
}

static int all_broadcast(struct comm *c, void *bytes, size_t n, int root, struct err *e)
{
	(void)e;
	if (c->rank == root)
		memcpy(shared->bytes[0], bytes, n);
	pthread_barrier_wait(&shared->barrier);
	memcpy(bytes, shared->bytes[0], n);
	pthread_barrier_wait(&shared->barrier);
	return 0;
}

static int all_gather(struct comm *c, const void *mine, size_t n, void *all, struct err *e)
{
	(void)e;
	memcpy(shared->bytes[c->rank], mine, n);
	pthread_barrier_wait(&shared->barrier);
	for (int i = 0; all && i < c->size; i++)
		memcpy((char *)all + (size_t)i * n, shared->bytes[i], n);
	pthread_barrier_wait(&shared->barrier);
	return 0;
}

static void pause_s(double seconds)
{
	struct timespec t = { (time_t)seconds, (long)((seconds - floor(seconds)) * 1e9) };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

typedef void scenario(struct heartbeat *p, int rank);

static char folder[200];

static void one_hangs(struct heartbeat *p, int rank);

/* A host whose name clears the screen, where this process may have a host name of its own. */
static void set_foreign_host_name(void)
{
	static const char name[] = "host\033[2Jname";

	if (!unshare(CLONE_NEWUTS) || !unshare(CLONE_NEWUSER | CLONE_NEWUTS))
		if (sethostname(name, strlen(name)))
			perror("sethostname");
}

/* Main function of a rank's process; exits with 0 after the scenario. */
static void rank_main(int rank, scenario *run, int local_size)
{
	struct comm c = { .name = "shared",
			  .rank = rank,
			  .size = RANKS,
			  .local_rank = rank,
			  .local_size = local_size,
			  .max_ints = all_max,
			  .broadcast = all_broadcast,
			  .gather = all_gather };
	struct heartbeat_options how = { .late_after_s = 0.3,
					 .hang_after_s = 1,
					 .folder = rank ? NULL : folder };
	struct err e = { 0 };
	struct heartbeat *p;

	if (run == one_hangs && rank == 2)
		set_foreign_host_name();
	p = heartbeat_open(&how, &c, &e);
	if (!p) {
		fprintf(stderr, "rank %d: %s\n", rank, e.text);
		_exit(1);
	}
	run(p, rank);
	heartbeat_free(p);
	_exit(0);
}

/* Start the processes; they write standard error to the file stderr in the test's folder. */
static void start_ranks(scenario *run, pid_t pids[RANKS], int local_size)
{
	pthread_barrierattr_t how;
	char path[300];

	snprintf(folder, sizeof(folder), "%s", test_folder());
	snprintf(path, sizeof(path), "%s/stderr", folder);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (!check(shared != MAP_FAILED))
		exit(1);
	pthread_barrierattr_init(&how);
	pthread_barrierattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->barrier, &how, RANKS);
	fflush(stdout);
	for (int i = 0; i < RANKS; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			if (!freopen(path, "a", stderr))
				_exit(2);
			alarm(60); /* ends the process if the test fails */
			rank_main(i, run, local_size);
		}
		check(pids[i] > 0);
	}
}

static int exit_status_of(pid_t pid)
{
	int status = 0;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool file_says(const char *name, const char *what)
{
	struct err e = { 0 };
	struct buf text = { 0 };
	char path[300];
	bool found;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	found = !file_read_all(path, 0, &text, &e) && strstr(buf_text(&text), what);
	buf_free(&text);
	return found;
}

/* Wait up to 10 s for the text in the file. */
static bool file_says_soon(const char *name, const char *what)
{
	for (int i = 0; i < 500; i++) {
		if (file_says(name, what))
			return true;
		pause_s(0.02);
	}
	return false;
}

static void unmap_shared(void)
{
	munmap(shared, sizeof(*shared));
	shared = NULL;
}

/* Three steps; then rank 2 hangs in compute while the others wait. */
static void one_hangs(struct heartbeat *p, int rank)
{
	for (int step = 0; step < 3; step++) {
		heartbeat_set_phase(p, step, PHASE_COMPUTE);
		heartbeat_set_phase(p, step, PHASE_REDUCE);
		heartbeat_set_phase(p, step, PHASE_UPDATE);
		pause_s(0.05);
	}
	heartbeat_set_phase(p, 3, PHASE_COMPUTE);
	if (rank != 2)
		heartbeat_set_phase(p, 3, PHASE_REDUCE);
	pause_s(50);
}

TEST(heartbeat_ends_a_hanging_job)
{
	pid_t pids[RANKS];
	double began = clock_mono_s(), took;

	start_ranks(one_hangs, pids, RANKS);
	check_int(exit_status_of(pids[0]), 75);
	took = clock_mono_s() - began;
	check(took > 1);
	/* no launcher ends the other ranks here: they end themselves */
	check_int(exit_status_of(pids[1]), 75);
	check_int(exit_status_of(pids[2]), 75);
	check(file_says("hang.txt", "rank 2 on "));
	check(file_says("hang.txt", "in compute of step 3 while other ranks wait"));
	check(file_says("journal.jsonl", "\"kind\":\"event\""));
	check(file_says("journal.jsonl",
			"\"level\":\"error\",\"text\":\"no rank has made progress"));
	check(file_says("journal.jsonl", "s behind: in compute of step 3 while"));
	check(file_says("journal.jsonl", "\"reason\":\"failed\",\"exit\":68}"));
	check(file_says("stderr", "werkbank: rank 2 on "));
	check(!file_says("stderr", "\033")); /* of a host's name */
	unmap_shared();
}

/* Rank 2 is stopped and continued; then all ranks end. */
static void one_is_stopped(struct heartbeat *p, int rank)
{
	for (int step = 0; shared->stage < 2; step++) {
		heartbeat_set_phase(p, step, PHASE_COMPUTE);
		if (rank == 0 && step > 10 && !shared->stage)
			shared->stage = 1;
		pause_s(0.02);
	}
}

TEST(heartbeat_of_a_rank_that_recovers)
{
	pid_t pids[RANKS];

	start_ranks(one_is_stopped, pids, 1); /* as if each rank had its own host */
	while (!shared->stage)
		pause_s(0.01);
	test_kill(pids[2], SIGSTOP);
	check(file_says_soon("journal.jsonl", "rank 2 on "));
	check(file_says("journal.jsonl", "sends no heartbeats since"));
	test_kill(pids[2], SIGCONT);
	check(file_says_soon("journal.jsonl", "caught up after"));
	shared->stage = 2;
	for (int i = 0; i < RANKS; i++)
		check_int(exit_status_of(pids[i]), 0);
	check(!file_says("hang.txt", ""));
	unmap_shared();
}

/* All ranks compute until the first one is stopped; then no rank makes progress. */
static void first_is_stopped(struct heartbeat *p, int rank)
{
	for (int step = 0; shared->stage < 1; step++) {
		heartbeat_set_phase(p, step, PHASE_COMPUTE);
		pause_s(0.02);
	}
	if (rank)
		heartbeat_set_phase(p, 1000, PHASE_REDUCE);
	pause_s(50);
}

TEST(heartbeat_without_the_first_rank)
{
	pid_t pids[RANKS];

	start_ranks(first_is_stopped, pids, RANKS);
	pause_s(0.5);
	test_kill(pids[0], SIGSTOP);
	shared->stage = 1;
	check_int(exit_status_of(pids[1]), 75);
	check_int(exit_status_of(pids[2]), 75);
	check(file_says("stderr", "no heartbeat from the first rank"));
	test_kill(pids[0], SIGKILL);
	check_int(exit_status_of(pids[0]), 128 + SIGKILL);
	unmap_shared();
}

/* Send datagrams without the key to every UDP socket of this process. */
static void send_foreign_datagrams(void)
{
	unsigned char key[HEARTBEAT_KEY_BYTES] = { 0 }, bytes[2000] = { 0 };
	struct heartbeat_message w = { .rank = 1, .phase = PHASE_END, .number = UINT64_MAX };
	int out = socket(AF_INET, SOCK_DGRAM, 0);

	for (int fd = 0; fd < 64; fd++) {
		struct sockaddr_in at;
		socklen_t len = sizeof(at);
		int type = 0;
		socklen_t type_len = sizeof(type);

		if (fd == out || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) ||
		    type != SOCK_DGRAM || getsockname(fd, (struct sockaddr *)&at, &len) ||
		    at.sin_family != AF_INET || !at.sin_port)
			continue;
		at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		shared->stage++;
		for (int i = 0; i < 3000; i++) {
			heartbeat_message_write(&w, key, bytes);
			sendto(out, bytes, i % 3 ? HEARTBEAT_MESSAGE_BYTES : (size_t)i % 1999, 0,
			       (struct sockaddr *)&at, len);
		}
	}
	close(out);
}

static void with_foreign_datagrams(struct heartbeat *p, int rank)
{
	heartbeat_set_phase(p, 1, PHASE_COMPUTE);
	pause_s(0.3);
	if (!rank)
		send_foreign_datagrams();
	if (rank == 1)
		heartbeat_set_phase(p, 1, PHASE_REDUCE);
	pause_s(50);
}

TEST(heartbeat_ignores_foreign_datagrams)
{
	pid_t pids[RANKS];

	start_ranks(with_foreign_datagrams, pids, RANKS);
	check_int(exit_status_of(pids[0]), 75);
	check_int(shared->stage, 1); /* the watcher's socket was found */
	check(file_says("hang.txt", "in compute of step 1 while other ranks wait"));
	check(!file_says("hang.txt", "the end"));
	exit_status_of(pids[1]);
	exit_status_of(pids[2]);
	unmap_shared();
}

/* A job of one rank has its own watchdog. */
TEST(heartbeat_of_a_single_rank)
{
	struct heartbeat_options how = { .late_after_s = 0.2, .hang_after_s = 0.6 };
	struct err e = { 0 };
	struct comm c;
	struct heartbeat *p;
	int status = 0;
	pid_t pid;

	heartbeat_set_phase(NULL, 1, PHASE_COMPUTE);
	heartbeat_free(NULL);
	check_int(comm_open(&c, "one", NULL, NULL, &e), 0);
	p = heartbeat_open(&how, &c, &e);
	check(p != NULL);
	for (int i = 0; i < 12; i++) {
		heartbeat_set_phase(p, i, PHASE_COMPUTE);
		pause_s(0.1);
	}
	heartbeat_free(p);
	snprintf(folder, sizeof(folder), "%s", test_folder());
	how.folder = folder;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(2);
		alarm(60);
		p = heartbeat_open(&how, &c, &e);
		heartbeat_set_phase(p, 4, PHASE_COMPUTE);
		pause_s(50);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 75);
	check(file_says("hang.txt", "no rank has made progress"));
}
