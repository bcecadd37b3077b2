/*
 * picture_terminal.c - a terminal for tests, which answers the workbench's questions about pictures, or
 * not, and counts what it is sent.
 *
 * usage: picture_terminal ANSWERS KEYS RAW COMMAND...
 *
 * ANSWERS: kitty, sixel, none, garbage, silent, late, or stuck (kitty, but pictures never arrive); light,
 * dark: none, and this background.
 * The terminal has 24 rows of 80 cells, each 8 x 16 pixels. KEYS are sent one by one, each when nothing
 * has come for 0.7 s; ! before them sends the first one before the answers. All bytes go to the file RAW.
 * Prints a line after each key: the key, bytes since the last one, pictures by kitty, removals, sixels.
 */
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

#include "share/base/buf.h"
#include "share/base/clock.h"
#include "share/base/proc.h"

#define QUIET_S	  0.7
#define LONGEST_S 20.0
#define ASKED_S	  2.2 /* longer than the workbench waits for answers */

static struct buf all;
static size_t answered; /* bytes of all that were looked at for requests */
static const char *answers;
static const char *early_key;
static int terminal;

static void say(const char *text)
{
	if (write(terminal, text, strlen(text)) < 0)
		perror("picture_terminal");
}

/* Answer the device attributes. */
static void answer_attributes(bool first)
{
	if (first && early_key) {
		char key[2] = { *early_key, 0 };

		say(key);
	}
	if (first && !strcmp(answers, "late"))
		poll(NULL, 0, 2200);
	if (!strcmp(answers, "silent") || (!strcmp(answers, "stuck") && !first))
		return;
	if (first && !strcmp(answers, "garbage"))
		return say(
			"\033_Gi=31;EINVAL:\001\033\\\033[6;;;;;99999999999t\033[?99;99;S\033_Gxx\a"
			"\033[?;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;4;4;4;4c");
	if (first &&
	    (!strcmp(answers, "kitty") || !strcmp(answers, "stuck") || !strcmp(answers, "late")))
		say("\033_Gi=31;OK\033\\");
	if (first)
		say("\033[6;16;8t");
	say(strcmp(answers, "sixel") ? "\033[?62;22c" : "\033[?1;0;64S\033[?62;4;22c");
}

static void answer_requests(void)
{
	static int n;
	const char *at;

	static bool has_ground;
	const bool is_light = !strcmp(answers, "light");

	buf_text(&all);
	if (!has_ground && strstr(all.data, "\033]11;?") &&
	    (is_light || !strcmp(answers, "dark"))) {
		has_ground = true;
		say(is_light ? "\033]11;rgb:ffff/ffff/f0f0\033\\" : "\033]11;rgb:1c/1c/1c\a");
	}
	while ((at = strstr(all.data + answered, "\033[c"))) {
		answered = (size_t)(at - all.data) + 3;
		answer_attributes(n++ == 0);
	}
}

/* Listen until nothing has come for QUIET_S, and at least for so long. */
static void listen_until_quiet(double least)
{
	double start = clock_mono_s(), last = start;
	char data[65536];
	ssize_t n;

	while ((clock_mono_s() - last < QUIET_S || clock_mono_s() - start < least) &&
	       clock_mono_s() - start < LONGEST_S) {
		struct pollfd in = { .fd = terminal, .events = POLLIN };

		if (poll(&in, 1, 50) <= 0)
			continue;
		if ((n = read(terminal, data, sizeof(data))) <= 0)
			return;
		for (ssize_t i = 0; i < n; i++)
			buf_add_char(&all, data[i] ? data[i] : ' ');
		last = clock_mono_s();
		answer_requests();
	}
}

static int count(const char *from, const char *what)
{
	int n = 0;

	for (; (from = strstr(from, what)); from += strlen(what))
		n++;
	return n;
}

static void report(char key, size_t from)
{
	const char *text = buf_text(&all) + from;

	printf("%c %zu kitty %d removed %d sixel %d\n", key, all.len - from, count(text, "a=T,"),
	       count(text, "a=d,"), count(text, "\033P0;1q"));
	fflush(stdout);
}

static pid_t open_terminal(char **command)
{
	struct winsize size = { 24, 80, 0, 0 }; /* the size of a cell is asked for */
	pid_t pid;
	int other;

	terminal = posix_openpt(O_RDWR | O_NOCTTY);
	if (terminal < 0 || grantpt(terminal) || unlockpt(terminal) ||
	    ioctl(terminal, TIOCSWINSZ, &size) || (pid = fork()) < 0)
		return -1;
	if (pid)
		return pid;
	setsid();
	other = open(ptsname(terminal), O_RDWR);
	if (other < 0 || ioctl(other, TIOCSCTTY, 0))
		_exit(71);
	for (int i = 0; i < 3; i++)
		dup2(other, i);
	close(terminal);
	execvp(command[0], command);
	_exit(127);
}

int main(int argc, char **argv)
{
	const char *keys = argc > 4 ? argv[2] : "";
	size_t from = 0;
	FILE *raw;
	pid_t pid;

	if (argc < 5) {
		fputs("usage: picture_terminal ANSWERS KEYS RAW COMMAND...\n", stderr);
		return 64;
	}
	answers = argv[1];
	if (*keys == '!')
		early_key = ++keys;
	if ((pid = open_terminal(argv + 4)) <= 1)
		return 71;
	listen_until_quiet(ASKED_S);
	if (early_key && *keys)
		keys++;
	report('^', from);
	for (; *keys; keys++) {
		char key[2] = { *keys, 0 };

		from = all.len;
		say(key);
		listen_until_quiet(0);
		report(*keys, from);
	}
	proc_signal(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (!(raw = fopen(argv[3], "w")) || fwrite(all.data, 1, all.len, raw) != all.len ||
	    fclose(raw))
		return 74;
	buf_free(&all);
	return 0;
}
