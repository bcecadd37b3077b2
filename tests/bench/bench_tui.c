/*
 * bench_tui.c - the cost of the workbench: time to the first frame, to open a long journal, and of a
 * frame; bytes to the terminal and CPU time, idle and while hosts send records; memory.
 *
 * usage: bench_tui [--steps N] [--hosts N] [--gpus N] [--seconds N] [--rows N] [--cols N]
 *	[--program PATH] [--peer COMMAND [--name WORDS]] [--json]
 *
 * It writes a journal like that of a run with default options to a temporary folder: a training record
 * every 10 steps of 0.1 s, all ranks and hosts every 100 steps. The program (./werkbank) then runs on a
 * pseudo terminal; --peer runs another program instead, e.g. "htop -d 10", for comparison. Wall times
 * are meaningful only on an idle machine, CPU times always.
 */
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/proc.h"
#include "share/base/util.h"
#include "tests/bench/bench.h"
#include "tui/app/frame.h"
#include "tui/run/run_history.h"

#define STEP_S	  0.1
#define LOG_EVERY 10
#define ROUND	  100  /* steps between records of hosts */
#define LISTEN_S  20.0 /* longest wait for a text to appear */

struct bench {
	int64_t steps, hosts, gpus, seconds, rows, cols;
	const char *program, *peer, *name;
	bool json;
	char folder[100], run[160], path[200]; /* the workspace, the run in it, its journal */
	unsigned seed;
};

static double noise(struct bench *b)
{
	b->seed = b->seed * 1103515245u + 12345u;
	return (double)(b->seed >> 8 & 0xFFFF) / 65536;
}

/* ---- the journal ---- */

static void put_round(struct bench *b, FILE *out, double t, long long step)
{
	for (int64_t r = 0; r < b->hosts * b->gpus; r++)
		fprintf(out,
			"{\"v\":1,\"kind\":\"rank\",\"t\":%.3f,\"step\":%lld,\"rank\":%d,"
			"\"host\":\"node%d\",\"step_s\":%.6f,\"input_s\":%.6f,\"compute_s\":%.6f,"
			"\"exposed_s\":%.6f,\"wait_s\":%.6f,\"update_s\":0.005,"
			"\"sent_bytes\":243523584}\n",
			t, step, (int)r, (int)(r / b->gpus) + 1, 0.1 + 0.01 * noise(b),
			0.001 * noise(b), 0.07 + 0.01 * noise(b), 0.01 + 0.01 * noise(b),
			0.01 * noise(b));
	for (int64_t h = 0; h < b->hosts; h++) {
		fprintf(out,
			"{\"v\":1,\"kind\":\"host\",\"t\":%.3f,\"step\":%lld,\"host\":"
			"\"node%d\",\"ranks\":%d,\"cpu\":%.4f,\"load\":%.2f,\"waits_cpu\":0.01,"
			"\"waits_io\":0,\"waits_memory\":0,\"memory_used\":%.0f,\"memory_total\":"
			"540000000000,\"disk_free\":1000000000000,\"disk_read_bytes_s\":12345,"
			"\"disk_write_bytes_s\":4567,\"interface\":\"eth0\",\"rx_bytes_s\":%.0f,"
			"\"tx_bytes_s\":%.0f,\"rx_peak_bytes_s\":9000000000,\"tx_peak_bytes_s\":"
			"9000000000,\"link_bytes_s\":12500000000,\"link_from\":\"driver\","
			"\"retransmits_s\":%.3f,\"gpus\":[",
			t, step, (int)h + 1, (int)b->gpus, 0.2 + 0.1 * noise(b), 8 * noise(b),
			1e11 + 1e9 * noise(b), 2.4e9 + 2e8 * noise(b), 2.4e9 + 2e8 * noise(b),
			noise(b));
		for (int64_t g = 0; g < b->gpus; g++)
			fprintf(out,
				"%s{\"index\":%d,\"name\":\"NVIDIA H100 80GB HBM3\",\"util\":"
				"%.3f,\"memory_used\":%.0f,\"memory_total\":85520809984,"
				"\"power_w\":%.1f,\"temperature_c\":%.0f,\"throttle\":\"none\","
				"\"power_limit_w\":700,\"sm_mhz\":%.0f,\"sm_max_mhz\":1980,"
				"\"pcie_tx_bytes_s\":%.0f,\"pcie_rx_bytes_s\":%.0f}",
				g ? "," : "", (int)g, 0.9 + 0.1 * noise(b), 6e10,
				600 + 60 * noise(b), 60 + 10 * noise(b), 1800 + 100 * noise(b),
				1e9 * noise(b), 1e9 * noise(b));
		fprintf(out, "]}\n");
	}
	fprintf(out,
		"{\"v\":1,\"kind\":\"verdict\",\"t\":%.3f,\"step\":%lld,\"network\":"
		"\"slightly\",\"text\":\"reductions that backward does not hide take 12 %% of a "
		"step\",\"exposed_share\":0.12,\"predicted_bytes\":365285376,\"observed_bytes\":"
		"366000000,\"busbw_bytes_s\":3000000000,\"link_bytes_s\":12500000000}\n",
		t, step);
}

static void put_train(struct bench *b, FILE *out, double t, long long step)
{
	fprintf(out,
		"{\"v\":1,\"kind\":\"train\",\"t\":%.3f,\"step\":%lld,\"loss\":%.5f,"
		"\"nll\":%.5f,\"lr\":%.9f,\"grad_norm\":%.4f,\"source_tps\":%.1f,"
		"\"target_tps\":%.1f,\"step_s\":0.1,\"epoch\":%.4f,\"input_s\":0.0001,"
		"\"compute_s\":0.07,\"exposed_s\":0.01,\"wait_s\":0.002,\"update_s\":0.005,"
		"\"sent_bytes\":243523584}\n",
		t, step, 2 + 5 / sqrt((double)step) + 0.2 * noise(b),
		1.5 + 5 / sqrt((double)step) + 0.2 * noise(b), 1e-3 / sqrt((double)step),
		0.5 + 0.3 * noise(b), 5e5 + 1e4 * noise(b), 5e5 + 1e4 * noise(b),
		(double)step / 3000);
	if (step % 1000 == 0)
		fprintf(out,
			"{\"v\":1,\"kind\":\"eval\",\"t\":%.3f,\"step\":%lld,\"bleu\":%.2f,"
			"\"dev_nll\":%.4f,\"train_nll\":%.4f,\"seconds\":30.1}\n",
			t, step, 30 - 300 / sqrt((double)step), 1.6 + 5 / sqrt((double)step),
			1.4 + 5 / sqrt((double)step));
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void make_journal(struct bench *b)
{
	FILE *out;
	double now = floor(clock_wall_s()) - (double)b->steps * STEP_S;

	snprintf(b->folder, sizeof(b->folder), "%s/bench-tui-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(b->folder))
		fail(b->folder);
	snprintf(b->run, sizeof(b->run), "%s/runs", b->folder);
	mkdir(b->run, 0777);
	snprintf(b->run, sizeof(b->run), "%s/runs/long", b->folder);
	mkdir(b->run, 0777);
	snprintf(b->path, sizeof(b->path), "%s/journal.jsonl", b->run);
	if (!(out = fopen(b->path, "we")))
		fail(b->path);
	fprintf(out,
		"{\"v\":1,\"kind\":\"start\",\"t\":%.0f,\"run\":\"long\",\"attempt\":1,"
		"\"host\":\"node1\",\"pid\":1,\"ranks\":%d,\"hosts\":%d,\"parameters\":60880896,"
		"\"precision\":\"bf16\",\"backend\":\"cuda\",\"options\":{\"steps\":\"%lld\"}}\n",
		now, (int)(b->hosts * b->gpus), (int)b->hosts, 2 * (long long)b->steps);
	for (int64_t s = LOG_EVERY; s <= b->steps; s += LOG_EVERY) {
		put_train(b, out, now + (double)s * STEP_S, s);
		if (s % ROUND == 0)
			put_round(b, out, now + (double)s * STEP_S, s);
	}
	fclose(out);
}

static void remove_all(const struct bench *b)
{
	static const char *const files[] = { "journal.jsonl", "state.json", "lock" };
	char path[200];

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", b->run, files[i]);
		unlink(path);
	}
	rmdir(b->run);
	snprintf(path, sizeof(path), "%s/runs", b->folder);
	rmdir(path);
	rmdir(b->folder);
}

/* ---- in this process ---- */

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void report(const struct bench *b, const char *name, double value, const char *unit)
{
	if (b->json)
		printf("{\"bench\":\"%s\",\"value\":%.3f,\"unit\":\"%s\"}\n", name, value, unit);
	else
		printf("%-44s %10.2f %s\n", name, value, unit);
	fflush(stdout);
}

static struct run_history *measure_open(const struct bench *b)
{
	struct run_history *h = NULL;
	double best = 1e9, best_cpu = 1e9;
	struct err e = { 0 };

	for (int i = 0; i < 3; i++) {
		double start = clock_mono_s(), cpu = cpu_s();
		int status;

		history_free(h);
		if (!(h = history_open(b->folder, "long", &e)))
			break;
		while ((status = history_update(h, clock_wall_s(), 10, &e)) == HISTORY_MORE)
			;
		best = MIN(best, clock_mono_s() - start);
		best_cpu = MIN(best_cpu, cpu_s() - cpu);
	}
	if (!h || h->step != b->steps) {
		fprintf(stderr, "%s\n", h ? "the journal was not read to its end" : e.text);
		exit(1);
	}
	report(b, "open the journal, clock", best * 1000, "ms");
	report(b, "open the journal, CPU", best_cpu * 1000, "ms");
	return h;
}

/* CPU time to draw a view into a grid, without curses. */
static void measure_draw(const struct bench *b, struct run_history *h)
{
	static const enum tab tabs[] = { TAB_RUN, TAB_HOSTS, TAB_LOG };
	struct grid g = { .charset = GRID_FULL };
	struct app_context w;
	struct err e = { 0 };

	if (context_open(&w, b->folder, &e) || grid_resize(&g, (int)b->rows, (int)b->cols, &e))
		exit(1);
	w.history = h;
	w.now = clock_wall_s();
	for (size_t i = 0; i < ARRAY_LEN(tabs); i++) {
		const struct view *v = view_tabs[tabs[i]];
		struct rect body = { 1, 0, g.rows - 2, g.cols };
		void *state = calloc(1, v->state_size);
		char name[60];
		double start;

		if (!state || view_open(v, state, &w, &e))
			exit(1);
		start = cpu_s();
		for (int k = 0; k < 50; k++) {
			grid_clear(&g);
			view_draw(v, state, &g, body, &w);
		}
		snprintf(name, sizeof(name), "draw the view %s, CPU", v->name);
		report(b, name, (cpu_s() - start) / 50 * 1000, "ms");
		view_close(v, state);
		free(state);
	}
	w.history = NULL;
	grid_free(&g);
	context_close(&w);
}

/* ---- a program on a pseudo terminal ---- */

struct child {
	pid_t pid;
	int fd;
	double begun;
	int64_t bytes;
	char tail[1 << 16]; /* end of its output, NUL-terminated */
	size_t n_tail;
};

static void be_child(const struct bench *b, const char *name, const char *const *argv)
{
	struct winsize size = { .ws_row = (unsigned short)b->rows,
				.ws_col = (unsigned short)b->cols };
	int fd;

	setsid();
	if ((fd = open(name, O_RDWR)) < 0)
		_exit(127);
	ioctl(fd, TIOCSWINSZ, &size);
	dup2(fd, 0);
	dup2(fd, 1);
	dup2(fd, 2);
	setenv("TERM", "xterm-256color", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("XDG_STATE_HOME", "/dev/null/none", 1); /* no saved state: as at the first start */
	execvp(argv[0], (char *const *)argv);
	_exit(127);
}

static void start(struct child *c, const struct bench *b, const char *const *argv)
{
	memset(c, 0, sizeof(*c));
	c->fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (c->fd < 0 || grantpt(c->fd) || unlockpt(c->fd))
		fail("a pseudo terminal");
	c->begun = clock_mono_s();
	if ((c->pid = fork()) < 0)
		fail("fork");
	if (!c->pid)
		be_child(b, ptsname(c->fd), argv);
}

/* Read its output for some seconds; true as soon as text (NULL: never) appears. */
static bool listen_to(struct child *c, double seconds, const char *text)
{
	double until = clock_mono_s() + seconds;

	for (double left; (left = until - clock_mono_s()) > 0;) {
		struct pollfd p = { .fd = c->fd, .events = POLLIN };
		ssize_t n;

		if (poll(&p, 1, (int)(left * 1000) + 1) <= 0)
			continue;
		if (c->n_tail > sizeof(c->tail) / 2) {
			c->n_tail -= sizeof(c->tail) / 4;
			memmove(c->tail, c->tail + sizeof(c->tail) / 4, c->n_tail);
		}
		n = read(c->fd, c->tail + c->n_tail, sizeof(c->tail) / 4);
		if (n <= 0)
			return false;
		c->bytes += n;
		for (ssize_t i = 0; i < n; i++) /* strstr() would stop at a NUL */
			if (!c->tail[c->n_tail + (size_t)i])
				c->tail[c->n_tail + (size_t)i] = ' ';
		c->n_tail += (size_t)n;
		c->tail[c->n_tail] = 0;
		if (text && strstr(c->tail, text))
			return true;
	}
	return false;
}

/* Wait until it has read everything: for two seconds only the clock changes. */
static void settle(struct child *c)
{
	for (int calm = 0, i = 0; calm < 2 && i < 60; i++) {
		int64_t before = c->bytes;

		listen_to(c, 1, NULL);
		calm = c->bytes - before < 200 ? calm + 1 : 0;
	}
}

static double child_cpu_s(const struct child *c)
{
	char path[60], text[1024];
	unsigned long user = 0, kernel = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)c->pid);
	if (!(in = fopen(path, "re")))
		return NAN;
	if (!fgets(text, sizeof(text), in) || !strrchr(text, ')') ||
	    sscanf(strrchr(text, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
		   &user, &kernel) != 2)
		user = kernel = 0;
	fclose(in);
	return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

static void stop(struct child *c, const struct bench *b, const char *name)
{
	struct rusage used;

	proc_signal(c->pid, SIGTERM);
	listen_to(c, 0.3, NULL);
	close(c->fd);
	wait4(c->pid, NULL, 0, &used);
	if (name)
		report(b, name, (double)used.ru_maxrss / 1024, "MB");
}

/* Bytes and CPU a second, idle, or while each_second() is called. */
static void measure_stream(struct bench *b, struct child *c, const char *name,
			   void (*each_second)(struct bench *))
{
	int64_t bytes = c->bytes;
	double cpu = child_cpu_s(c);
	char title[80];

	for (int64_t i = 0; i < b->seconds; i++) {
		if (each_second)
			each_second(b);
		listen_to(c, 1, NULL);
	}
	snprintf(title, sizeof(title), "%s, bytes a second", name);
	report(b, title, (double)(c->bytes - bytes) / (double)b->seconds, "B/s");
	snprintf(title, sizeof(title), "%s, CPU a second", name);
	report(b, title, (child_cpu_s(c) - cpu) / (double)b->seconds * 1000, "ms/s");
}

static void add_second(struct bench *b)
{
	FILE *out = fopen(b->path, "ae");

	if (!out)
		fail(b->path);
	b->steps += LOG_EVERY;
	put_train(b, out, clock_wall_s(), b->steps);
	put_round(b, out, clock_wall_s(), b->steps);
	fclose(out);
}

static void write_file(const struct bench *b, const char *name, const char *text)
{
	char path[200];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", b->run, name);
	if (!(out = fopen(path, "we")))
		fail(path);
	fputs(text, out);
	fclose(out);
}

static double first_frame(struct bench *b, const char *const *argv, const char *sign)
{
	double best = 1e9;

	for (int i = 0; i < 5; i++) {
		struct child c;

		start(&c, b, argv);
		if (!listen_to(&c, LISTEN_S, sign)) {
			fprintf(stderr, "%s did not show \"%s\"\n", argv[0], sign);
			exit(1);
		}
		best = MIN(best, clock_mono_s() - c.begun);
		stop(&c, b, NULL);
	}
	return best;
}

/* Seconds from its start to its last output before half a second of silence. */
static double whole_picture(struct bench *b, const char *const *argv)
{
	double best = 1e9;

	for (int i = 0; i < 3; i++) {
		struct child c;
		double last;
		int64_t before;

		start(&c, b, argv);
		listen_to(&c, LISTEN_S, "keys");
		do {
			before = c.bytes;
			last = clock_mono_s();
			/* the empty text matches any output, so this returns at the first byte */
			listen_to(&c, 0.5, "");
		} while (c.bytes != before);
		best = MIN(best, last - c.begun);
		stop(&c, b, NULL);
	}
	return best;
}

static void measure_program(struct bench *b)
{
	const char *const empty[] = { b->program, "watch", "-C", "/nonexistent-workspace", NULL };
	const char *const argv[] = { b->program, "watch", "-C", b->folder, "long", NULL };
	struct child c;
	char lock[200];
	int fd;

	report(b, "first frame, no workspace, clock", first_frame(b, empty, "keys") * 1000, "ms");
	report(b, "first frame, this journal, clock", first_frame(b, argv, "keys") * 1000, "ms");
	write_file(b, "state.json", "{\"v\":1,\"state\":\"finished\",\"exit\":0}");
	report(b, "all of this journal shown, clock", whole_picture(b, argv) * 1000, "ms");

	start(&c, b, argv);
	settle(&c);
	measure_stream(b, &c, "finished run", NULL);
	stop(&c, b, "finished run, memory at most");

	/* A running run: its lock is held. */
	write_file(b, "state.json", "{\"v\":1,\"state\":\"running\",\"attempt\":1}");
	snprintf(lock, sizeof(lock), "%s/lock", b->run);
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || flock(fd, LOCK_EX))
		fail(lock);
	start(&c, b, argv);
	settle(&c);
	measure_stream(b, &c, "running, nothing new", NULL);
	measure_stream(b, &c, "run view, hosts stream", add_second);
	if (write(c.fd, "4", 1) == 1)
		listen_to(&c, 2, NULL);
	measure_stream(b, &c, "hosts view, hosts stream", add_second);
	stop(&c, b, "streaming, memory at most");
	close(fd);
}

static void measure_peer(struct bench *b)
{
	const char *const argv[] = { "sh", "-c", b->peer, NULL };
	struct child c;

	start(&c, b, argv);
	listen_to(&c, 3, NULL);
	measure_stream(b, &c, b->name ? b->name : b->peer, NULL);
	stop(&c, b, "its memory at most");
}

int main(int argc, char **argv)
{
	struct bench b = { .steps = 300000,
			   .hosts = 8,
			   .gpus = 8,
			   .seconds = 10,
			   .rows = 40,
			   .cols = 120,
			   .program = "./werkbank",
			   .seed = 1 };
	struct bench_option options[] = {
		{ "steps", NULL, &b.steps, NULL, "steps of the journal" },
		{ "hosts", NULL, &b.hosts, NULL, "hosts of it" },
		{ "gpus", NULL, &b.gpus, NULL, "graphics processors of a host" },
		{ "seconds", NULL, &b.seconds, NULL, "how long each stream is watched" },
		{ "rows", NULL, &b.rows, NULL, "of the terminal" },
		{ "cols", NULL, &b.cols, NULL, "of the terminal" },
		{ "program", &b.program, NULL, NULL, "the program to run" },
		{ "peer", &b.peer, NULL, NULL, "a command to watch in its stead" },
		{ "name", &b.name, NULL, NULL, "what to call that command" },
		{ "json", NULL, NULL, &b.json, "print a JSON object a line" },
	};
	struct run_history *h;

	setlocale(LC_CTYPE, "C.UTF-8");
	bench_parse("bench_tui", options, ARRAY_LEN(options), argc, argv);
	if (b.peer) {
		measure_peer(&b);
		return 0;
	}
	make_journal(&b);
	h = measure_open(&b);
	measure_draw(&b, h);
	history_free(h);
	measure_program(&b);
	remove_all(&b);
	return 0;
}
