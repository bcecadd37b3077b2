/* t_heartbeat.c - heartbeats: words, who is late, and jobs of processes that hang, stop and recover */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

/* ---- words --------------------------------------------------------------- */

TEST(pulse_words)
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
			test_fail(__FILE__, __LINE__, "byte %d = %d is taken", wrong[i].at,
				  wrong[i].v);
	}
	w.step = -1;
	heartbeat_message_write(&w, key, bytes);
	check(heartbeat_message_read(&r, key, bytes, HEARTBEAT_MESSAGE_BYTES, 4) && r.step == -1);
}

/* ---- who is late: time is a number ---------------------------------------- */

struct told {
	char text[8][400];
	int n;
};

static void note(void *to, const char *level, int64_t step, const char *text)
{
	struct told *t = to;

	(void)step;
	if (t->n < 8)
		snprintf(t->text[t->n], sizeof(t->text[0]), "%s: %s", level, text);
	t->n++;
}

static const char *last(const struct told *t)
{
	return t->n ? t->text[MIN(t->n, 8) - 1] : "";
}

static struct watchdog watch_of(int n, struct told *told)
{
	char hosts[8][64] = { "hostA", "hostA", "hostB", "hostB", "hostC", "c", "c", "c" };
	struct watchdog w;
	struct err e = { 0 };

	memset(told, 0, sizeof(*told));
	check_int(watchdog_open(&w, hosts[0], n, 10, 0, 0, &e), 0);
	w.tell = note;
	w.to = told;
	return w;
}

/* A rank's word at a time: since when it is there. moved: since the word before. */
static void says(struct watchdog *w, int rank, int64_t step, enum rank_phase phase, double since,
		 double now, bool moved)
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

static bool look(struct watchdog *w, double now)
{
	char why[900];

	watchdog_skip_gap(w, now, 1);
	return watchdog_check(w, now, 1, why, sizeof(why));
}

TEST(pulse_names_the_late)
{
	struct told told;
	struct watchdog w = watch_of(4, &told);

	for (int t = 1; t <= 41; t++) {
		for (int i = 0; i < 3; i++)
			says(&w, i, 871, PHASE_REDUCE, 1, t, t == 1);
		says(&w, 3, 871, PHASE_COMPUTE, 0, t, t == 1);
		check(!look(&w, t));
		check_int(told.n, t < 11 ? 0 : t < 21 ? 1 : t < 41 ? 2 : 3);
	}
	check_str(last(&told), "warning: rank 3 on hostB is 40 s behind: in compute of step 871 "
			       "while other ranks wait in the reduction");
	says(&w, 3, 871, PHASE_REDUCE, 42, 42, true);
	check(!look(&w, 42));
	check_str(last(&told), "info: rank 3 on hostB caught up after 40 s");
	/* it is only named anew when it is late anew */
	check(!look(&w, 42.5));
	check_int(told.n, 4);
	watchdog_close(&w);
}

/* Long steps are nobody's fault; evaluation and saving may take longer than others wait. */
TEST(pulse_is_patient)
{
	struct told told;
	struct watchdog w = watch_of(2, &told);
	char why[900];

	for (int t = 1; t < 30; t++) {
		says(&w, 0, 5, PHASE_COMPUTE, 0, t, t == 1);
		says(&w, 1, 5, PHASE_COMPUTE, 0, t, t == 1);
		check(!look(&w, t));
	}
	for (int t = 30; t < 120; t++) {
		says(&w, 0, 6, PHASE_SAVE, 30, t, t == 30);
		says(&w, 1, 6, PHASE_REDUCE, 30, t, t == 30);
		check(!look(&w, t));
	}
	check_int(told.n, 0);
	for (int t = 120; t < 620; t++) {
		says(&w, 0, 6, PHASE_EVALUATE, 120, t, t == 120);
		says(&w, 1, 6, PHASE_EVALUATE, 120, t, t == 120);
		check(!look(&w, t));
	}
	check_int(told.n, 0);
	/* but a rank that is silent is not evaluating */
	for (int t = 620; t < 690; t++) {
		says(&w, 0, 6, PHASE_EVALUATE, 120, t, t == 620);
		if (t < 680)
			check(!look(&w, t));
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

TEST(pulse_hears_silence)
{
	struct told told;
	struct watchdog w = watch_of(3, &told);

	says(&w, 0, 1, PHASE_COMPUTE, 0, 1, true);
	says(&w, 1, 1, PHASE_UPDATE, 0, 1, true);
	says(&w, 2, 1, PHASE_END, 0, 1, true); /* it may be silent */
	for (int t = 2; t <= 13; t++) {
		says(&w, 0, t, PHASE_COMPUTE, t, t, true);
		check(!look(&w, t));
	}
	check_int(told.n, 1);
	check_str(last(&told),
		  "warning: rank 1 on hostA sends no heartbeats since 10 s, last in the "
		  "update of step 1: its process is stopped or has ended, its host is "
		  "down, or the network fails");
	says(&w, 1, 13, PHASE_COMPUTE, 13, 13.5, true);
	check(!look(&w, 13.5));
	check_str(last(&told), "info: rank 1 on hostA caught up after 12 s");
	watchdog_close(&w);
}

TEST(pulse_of_a_rank_never_heard)
{
	struct told told;
	struct watchdog w = watch_of(2, &told);

	for (int t = 1; t < 200; t++) {
		says(&w, 0, t, PHASE_COMPUTE, t, t, true);
		check(!look(&w, t));
	}
	check_int(told.n, 1);
	check(strstr(last(&told), "no heartbeats arrive from rank 1 on hostA") != NULL);
	watchdog_close(&w);
}

TEST(pulse_when_all_wait)
{
	struct told told;
	struct watchdog w = watch_of(2, &told);
	struct buf report = { 0 };
	char why[900] = "";
	bool ended = false;
	int t;

	for (t = 1; t < 100 && !ended; t++) {
		says(&w, 0, 7, PHASE_REDUCE, 1, t, t == 1);
		says(&w, 1, 7, PHASE_REDUCE, 1, t, t == 1);
		watchdog_skip_gap(&w, t, 1);
		ended = watchdog_check(&w, t, 4, why, sizeof(why));
	}
	check_int(t, 82);     /* 20 steps of 4 s after second 1, and one for the loop */
	check_int(told.n, 4); /* at 10, 20, 40 and 80 */
	check_str(last(&told), "warning: all ranks wait in the reduction of step 7 since "
			       "80 s: check the network between the hosts");
	watchdog_write_report(&w, t, why, &report);
	check(strstr(buf_text(&report), "no rank has made progress for 80 s") != NULL);
	check(strstr(buf_text(&report), "\n     1  hostA ") != NULL);
	buf_free(&report);
	watchdog_close(&w);
}

/* The watcher was stopped, or the machine asleep: nobody is blamed. Old words change nothing. */
TEST(pulse_after_a_gap)
{
	struct told told;
	struct watchdog w = watch_of(2, &told);
	struct heartbeat_message old;

	says(&w, 0, 1, PHASE_REDUCE, 0, 1, true);
	says(&w, 1, 1, PHASE_COMPUTE, 0, 1, true);
	old = w.peers[1].message;
	check(!look(&w, 1));
	check(!look(&w, 1000));
	check_int(told.n, 0);
	check(!look(&w, 1000.5));
	old.phase = PHASE_END;
	watchdog_add_message(&w, &old, 1001);
	check_int(w.peers[1].message.phase, PHASE_COMPUTE);
	for (int t = 1001; t < 1008; t++)
		check(!look(&w, t));
	check_int(told.n, 0);
	watchdog_close(&w);
	check_near(watchdog_hang_limit(0, 0), 600, 0);
	check_near(watchdog_hang_limit(0, 0.5), 60, 0);
	check_near(watchdog_hang_limit(0, 10), 200, 0);
	check_near(watchdog_hang_limit(5, 10), 5, 0);
}

/* ---- jobs of processes ---------------------------------------------------- */

#define RANKS 3

/* A world of processes on shared memory. */
struct shared {
	pthread_barrier_t barrier;
	char bytes[RANKS][4096];
	int64_t ints[RANKS];
	_Atomic int stage; /* for the scenario */
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

/* One rank's process: 0 when the scenario came to its end. */
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
	struct heartbeat *p = heartbeat_open(&how, &c, &e);

	if (!p) {
		fprintf(stderr, "rank %d: %s\n", rank, e.text);
		_exit(1);
	}
	run(p, rank);
	heartbeat_free(p);
	_exit(0);
}

/* Starts the processes; their standard error is a file of the test's folder. */
static void start(scenario *run, pid_t pids[RANKS], int local_size)
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
			alarm(60); /* a test that fails must not stay for ever */
			rank_main(i, run, local_size);
		}
		check(pids[i] > 0);
	}
}

static int ended(pid_t pid)
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

/* Files are written while others wait: a while is given. */
static bool file_says_soon(const char *name, const char *what)
{
	for (int i = 0; i < 500; i++) {
		if (file_says(name, what))
			return true;
		pause_s(0.02);
	}
	return false;
}

static void leave(void)
{
	munmap(shared, sizeof(*shared));
	shared = NULL;
}

/* Three steps, then one rank computes for ever while the others wait. */
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

TEST(pulse_ends_a_job_that_hangs)
{
	pid_t pids[RANKS];
	double began = clock_mono_s(), took;

	start(one_hangs, pids, RANKS);
	check_int(ended(pids[0]), 75);
	took = clock_mono_s() - began;
	check(took > 1);
	/* without the launcher, which ends the rest, the others end themselves */
	check_int(ended(pids[1]), 75);
	check_int(ended(pids[2]), 75);
	check(file_says("hang.txt", "rank 2 on "));
	check(file_says("hang.txt", "in compute of step 3 while other ranks wait"));
	check(file_says("journal.jsonl", "\"kind\":\"event\""));
	check(file_says("journal.jsonl",
			"\"level\":\"error\",\"text\":\"no rank has made progress"));
	check(file_says("journal.jsonl", "s behind: in compute of step 3 while"));
	check(file_says("journal.jsonl", "\"reason\":\"failed\",\"exit\":68}"));
	check(file_says("stderr", "werkbank: rank 2 on "));
	leave();
}

/* Rank 2 is stopped and goes on; then all end together. */
static void one_is_stopped(struct heartbeat *p, int rank)
{
	for (int step = 0; shared->stage < 2; step++) {
		heartbeat_set_phase(p, step, PHASE_COMPUTE);
		if (rank == 0 && step > 10 && !shared->stage)
			shared->stage = 1;
		pause_s(0.02);
	}
}

TEST(pulse_of_a_rank_that_recovers)
{
	pid_t pids[RANKS];

	start(one_is_stopped, pids, 1); /* as if on hosts of their own */
	while (!shared->stage)
		pause_s(0.01);
	kill(pids[2], SIGSTOP);
	check(file_says_soon("journal.jsonl", "rank 2 on "));
	check(file_says("journal.jsonl", "sends no heartbeats since"));
	kill(pids[2], SIGCONT);
	check(file_says_soon("journal.jsonl", "caught up after"));
	shared->stage = 2;
	for (int i = 0; i < RANKS; i++)
		check_int(ended(pids[i]), 0);
	check(!file_says("hang.txt", ""));
	leave();
}

/* All at work until the first rank is stopped; then nothing moves. */
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

TEST(pulse_without_the_first_rank)
{
	pid_t pids[RANKS];

	start(first_is_stopped, pids, RANKS);
	pause_s(0.5);
	kill(pids[0], SIGSTOP);
	shared->stage = 1;
	check_int(ended(pids[1]), 75);
	check_int(ended(pids[2]), 75);
	check(file_says("stderr", "no heartbeat from the first rank"));
	kill(pids[0], SIGKILL);
	check_int(ended(pids[0]), 128 + SIGKILL);
	leave();
}

/* Datagrams of strangers to whatever UDP socket this process has. */
static void send_rubbish(void)
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

static void among_strangers(struct heartbeat *p, int rank)
{
	heartbeat_set_phase(p, 1, PHASE_COMPUTE);
	pause_s(0.3);
	if (!rank)
		send_rubbish();
	if (rank == 1)
		heartbeat_set_phase(p, 1, PHASE_REDUCE);
	pause_s(50);
}

TEST(pulse_among_strangers)
{
	pid_t pids[RANKS];

	start(among_strangers, pids, RANKS);
	check_int(ended(pids[0]), 75);
	check_int(shared->stage, 1); /* its socket was found */
	check(file_says("hang.txt", "in compute of step 1 while other ranks wait"));
	check(!file_says("hang.txt", "the end"));
	ended(pids[1]);
	ended(pids[2]);
	leave();
}

/* A world of one: its own watchdog. */
TEST(pulse_alone)
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
