/*
 * slow_line.c - measures how soon a program answers keys over a slow line: a pseudo terminal that is read
 * at a fixed rate.
 *
 * usage: slow_line BITS ROWS COLS KEYS COMMAND...
 *
 * A byte takes ten bits, as on a serial line. KEYS are words between blanks: a character, or Esc, Enter,
 * Tab, Up, Down, Left, Right. For each it prints a line "KEY FIRST LAST BYTES": milliseconds from the key
 * to the first and to the last byte of the answer, and the bytes. An answer ends when nothing comes for
 * 0.5 s; a key is sent then. Keys joined by + are sent 30 ms apart, and the times count from the last.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/proc.h"
#include "share/base/util.h"

#define QUIET_S	  0.5
#define LONGEST_S 60.0
#define STEP_MS	  10

struct line {
	int fd;
	double bytes_s; /* rate */
	double credit;	/* bytes that may be read now */
	double last;	/* when credit was updated */
};

struct answer {
	double first, last; /* when bytes came; 0: none did */
	long bytes;
};

/* Let 10 ms of the line pass. */
static void pass(struct line *l, struct answer *a)
{
	char data[4096];
	double now;
	ssize_t n;

	poll(NULL, 0, STEP_MS);
	now = clock_mono_s();
	l->credit = MIN(l->credit + l->bytes_s * (now - l->last), MAX(l->bytes_s / 20, 1.0));
	l->last = now;
	if (l->credit < 1)
		return;
	n = read(l->fd, data, (size_t)MIN(l->credit, (double)sizeof(data)));
	if (n <= 0)
		return;
	l->credit -= (double)n;
	a->last = now;
	if (!a->bytes)
		a->first = now;
	a->bytes += n;
}

static struct answer listen_until_quiet(struct line *l)
{
	struct answer a = { 0 };
	double start = clock_mono_s();

	while (clock_mono_s() - MAX(a.last, start) < QUIET_S && clock_mono_s() - start < LONGEST_S)
		pass(l, &a);
	return a;
}

static const char *bytes_of_key(const char *name)
{
	static const char *const named[][2] = {
		{ "Esc", "\033" },    { "Enter", "\r" },    { "Tab", "\t" },
		{ "Up", "\033OA" },   { "Down", "\033OB" }, { "Right", "\033OC" },
		{ "Left", "\033OD" },
	};

	for (size_t i = 0; i < ARRAY_LEN(named); i++)
		if (!strcmp(named[i][0], name))
			return named[i][1];
	return name;
}

/* Send the keys of a word; the answer to the last one. */
static struct answer press_keys(struct line *l, char *word, double *sent)
{
	struct answer ignored = { 0 };

	for (char *key = strtok(word, "+"); key; key = strtok(NULL, "+")) {
		const char *bytes = bytes_of_key(key);

		for (double end = clock_mono_s() + 0.03; clock_mono_s() < end;)
			pass(l, &ignored);
		if (write(l->fd, bytes, strlen(bytes)) < 0)
			perror("slow_line");
	}
	*sent = clock_mono_s();
	return listen_until_quiet(l);
}

static int open_terminal(int rows, int cols, char **command, pid_t *pid)
{
	struct winsize size = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols };
	int fd = posix_openpt(O_RDWR | O_NOCTTY), other;

	if (fd < 0 || grantpt(fd) || unlockpt(fd) || ioctl(fd, TIOCSWINSZ, &size) ||
	    (*pid = fork()) < 0)
		return -1;
	if (*pid == 0) {
		setsid();
		other = open(ptsname(fd), O_RDWR);
		if (other < 0 || ioctl(other, TIOCSCTTY, 0))
			_exit(71);
		for (int i = 0; i < 3; i++)
			dup2(other, i);
		close(fd);
		execvp(command[0], command);
		_exit(127);
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

int main(int argc, char **argv)
{
	struct line l = { .last = clock_mono_s() };
	struct answer a;
	pid_t pid = -1;
	char *keys, *rest;
	double sent = clock_mono_s();

	if (argc < 6) {
		fputs("usage: slow_line BITS ROWS COLS KEYS COMMAND...\n", stderr);
		return 64;
	}
	l.bytes_s = atof(argv[1]) / 10;
	l.fd = open_terminal(atoi(argv[2]), atoi(argv[3]), argv + 5, &pid);
	keys = rest = strdup(argv[4]);
	if (l.fd < 0 || !keys || l.bytes_s < 1) {
		perror("slow_line");
		return 71;
	}
	a = listen_until_quiet(&l);
	printf("start %.0f %.0f %ld\n", 1000 * (a.first - sent), 1000 * (a.last - sent), a.bytes);
	for (char *word; (word = strsep(&rest, " "));) {
		char name[64];

		snprintf(name, sizeof(name), "%s", word);
		if (!*word)
			continue;
		a = press_keys(&l, word, &sent);
		printf("%s %.0f %.0f %ld\n", name, a.bytes ? 1000 * (a.first - sent) : -1.0,
		       a.bytes ? 1000 * (a.last - sent) : -1.0, a.bytes);
		fflush(stdout);
	}
	if (pid > 1) {
		proc_signal(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	free(keys);
	return 0;
}
