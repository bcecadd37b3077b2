/*
 * term.c - see term.h. The only file that includes curses.h.
 *
 * Signals: those that ask for something (leave, stop, resize, go on) are
 * blocked except while term_key() waits, and only set flags there. Those that
 * report a crash write the terminal's restoring sequences, which were fetched
 * when it was opened, by write(2) and die as they would have.
 */
#include "tui/term.h"

#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "tui/keys.h"
#include "tui/theme.h"

#define MAX_COLOURS 16

struct terminal {
	SCREEN  *screen;
	attr_t   attributes[STYLE_COUNT];
	short    pairs[STYLE_COUNT];
	sigset_t outside;	/* the signal mask of our caller */
	struct sigaction old[16];
	char    *stack;		/* owned: for a crash by stack overflow */
	bool     gone;		/* the terminal was closed at its other end */
};

static const int asking[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH };
static const int crashing[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

/* What handlers may touch; there is one terminal. */
static volatile sig_atomic_t leave_signal, stop_asked, resized;
static struct {
	struct termios modes;
	char   restore[256];
	size_t n;
} before;

static void on_asking(int signal)
{
	if (signal == SIGTSTP)
		stop_asked = 1;
	else if (signal == SIGWINCH || signal == SIGCONT)
		resized = 1;
	else
		leave_signal = signal;
}

/* Installed with SA_RESETHAND: raising again does what would have happened without us. */
static void on_crash(int signal)
{
	ssize_t written = write(STDOUT_FILENO, before.restore, before.n);

	(void)written;
	tcsetattr(STDIN_FILENO, TCSANOW, &before.modes);
	raise(signal);
}

static void remember(const char *capability)
{
	const char *text = tigetstr(capability);
	size_t n;

	if (!text || text == (char *)-1 || strstr(text, "$<"))
		return;
	n = strlen(text);
	if (before.n + n <= sizeof(before.restore)) {
		memcpy(before.restore + before.n, text, n);
		before.n += n;
	}
}

static void catch_signals(struct terminal *t)
{
	struct sigaction ask = { .sa_handler = on_asking };
	struct sigaction crash = {.sa_handler = on_crash,
				  .sa_flags = (int)SA_RESETHAND | SA_ONSTACK};
	stack_t stack = { .ss_sp = t->stack, .ss_size = (size_t)SIGSTKSZ };
	sigset_t block;
	size_t k = 0;

	leave_signal = stop_asked = resized = 0;
	sigemptyset(&block);
	for (size_t i = 0; i < ARRAY_LEN(asking); i++) {
		sigaddset(&block, asking[i]);
		sigaction(asking[i], &ask, &t->old[k++]);
	}
	sigprocmask(SIG_BLOCK, &block, &t->outside);
	if (t->stack)
		sigaltstack(&stack, NULL);
	for (size_t i = 0; i < ARRAY_LEN(crashing); i++)
		sigaction(crashing[i], &crash, &t->old[k++]);
}

static void release_signals(struct terminal *t)
{
	stack_t none = { .ss_flags = SS_DISABLE };
	size_t k = 0;

	for (size_t i = 0; i < ARRAY_LEN(asking); i++)
		sigaction(asking[i], &t->old[k++], NULL);
	for (size_t i = 0; i < ARRAY_LEN(crashing); i++)
		sigaction(crashing[i], &t->old[k++], NULL);
	sigaltstack(&none, NULL);
	sigprocmask(SIG_SETMASK, &t->outside, NULL);
}

static attr_t attributes(unsigned theme)
{
	return (theme & THEME_BOLD ? A_BOLD : 0) | (theme & THEME_DIM ? A_DIM : 0) |
	       (theme & THEME_REVERSE ? A_REVERSE : 0) |
	       (theme & THEME_UNDERLINE ? A_UNDERLINE : 0);
}

static void set_styles(struct terminal *t, bool colours)
{
	/*
	 * Some terminals have no colours whatever we want; start_color() must still be tolerated by
	 * them.
	 */
	colours = colours && has_colors() && start_color() == OK && COLORS >= 8 &&
		  COLOR_PAIRS > STYLE_COUNT;
	if (colours)
		use_default_colors();
	for (int i = 0; i < STYLE_COUNT; i++) {
		const struct theme_style *s = &theme_styles[i];
		short colour = COLORS >= 256 ? s->colour256 : s->colour8;

		t->pairs[i] = 0;
		t->attributes[i] = attributes(colours ? s->attributes : s->plain_attributes);
		if (!colours || colour < 0 || init_pair((short)(i + 1), colour, -1) == ERR)
			continue;
		t->pairs[i] = (short)(i + 1);
	}
	/* Eight colours have no grey: dim stands for it. */
	if (colours && COLORS < 256)
		t->attributes[STYLE_DIM] = t->attributes[STYLE_BORDER] = A_DIM;
}

struct terminal *term_open(bool colours, struct err *e)
{
	struct terminal *t;
	const char *name = getenv("TERM");

	if (tcgetattr(STDIN_FILENO, &before.modes) || !isatty(STDOUT_FILENO) || !name || !*name ||
	    !strcmp(name, "dumb")) {
		err_set(e, ERR_UNAVAILABLE,
			"the workbench needs a terminal on standard input and output (TERM is %s); "
			"use \"werkbank status\", or \"werkbank watch --dump 24x80\" for one "
			"screen as text",
			name && *name ? name : "not set");
		return NULL;
	}
	if (!(t = mem_alloc(1, sizeof(*t), e)))
		return NULL;
	t->stack = malloc((size_t)SIGSTKSZ);	/* without it only a stack overflow is not caught */
	catch_signals(t);
	/* newterm() comes back where initscr() would end the program. */
	if (!(t->screen = newterm(NULL, stdout, stdin))) {
		release_signals(t);
		free(t->stack);
		free(t);
		err_set(e, ERR_UNAVAILABLE,
			"this machine has no description of the terminal \"%.50s\"; set "
			"TERM to one that it knows (often xterm), or use \"werkbank status\"",
			name);
		return NULL;
	}
	before.n = 0;
	remember("sgr0");
	remember("cnorm");
	remember("rmkx");
	remember("rmcup");
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	intrflush(stdscr, FALSE);
	set_escdelay(25);
	curs_set(0);
	set_styles(t, colours);
	return t;
}

void term_close(struct terminal *t)
{
	if (!t)
		return;
	curs_set(1);
	endwin();
	delscreen(t->screen);
	release_signals(t);
	free(t->stack);
	free(t);
}

/* Follow the window: curses must not do it in a handler of its own. */
static void follow_size(void)
{
	struct winsize w;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_row && w.ws_col &&
	    (w.ws_row != LINES || w.ws_col != COLS))
		resizeterm(w.ws_row, w.ws_col);
}

void term_size(struct terminal *t, int *rows, int *cols)
{
	(void)t;
	follow_size();
	getmaxyx(stdscr, *rows, *cols);
}

void term_repaint(struct terminal *t)
{
	(void)t;
	clearok(curscr, TRUE);
}

void term_show(struct terminal *t, const struct grid *g)
{
	for (int row = 0; row < g->rows; row++)
		for (int col = 0; col < g->cols; col++) {
			const struct cell *c = grid_at(g, row, col);
			wchar_t text[GRID_MARKS + 2] = { (wchar_t)c->ch };
			cchar_t cell;

			if (c->width == 0)
				continue;
			for (int i = 0; i < GRID_MARKS; i++)
				text[i + 1] = (wchar_t)c->marks[i];
			if (setcchar(&cell, text, t->attributes[c->style], t->pairs[c->style],
				     NULL) == OK)
				mvadd_wch(row, col, &cell);
		}
	refresh();
}

/* Ctrl-Z: give the terminal back, stop, take it again when we are continued. */
static void stop_here(void)
{
	struct sigaction stop = { .sa_handler = SIG_DFL }, ours;
	sigset_t only;

	stop_asked = 0;
	def_prog_mode();
	endwin();
	sigaction(SIGTSTP, &stop, &ours);
	sigemptyset(&only);
	sigaddset(&only, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &only, NULL);	/* here we stand still */
	sigprocmask(SIG_BLOCK, &only, NULL);
	sigaction(SIGTSTP, &ours, NULL);
	resized = 1;
}

static int translate(int key)
{
	static const struct { int curses, ours;
	} table[] = {
		{KEY_UP, KEY_NAME_UP},	       {KEY_DOWN, KEY_NAME_DOWN},
		{KEY_LEFT, KEY_NAME_LEFT},     {KEY_RIGHT, KEY_NAME_RIGHT},
		{KEY_HOME, KEY_NAME_HOME},     {KEY_END, KEY_NAME_END},
		{KEY_PPAGE, KEY_NAME_PAGE_UP}, {KEY_NPAGE, KEY_NAME_PAGE_DOWN},
		{KEY_BTAB, KEY_NAME_BACKTAB},  {KEY_F(1), KEY_NAME_F1},
		{KEY_F(10), KEY_NAME_F10},     {KEY_ENTER, '\r'},
		{KEY_DC, KEY_NAME_DELETE},     {KEY_BACKSPACE, 0x7F},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (table[i].curses == key)
			return table[i].ours;
	return TERM_NOTHING;
}

/* What the signals that came in want; 0: nothing. */
static int signalled(void)
{
	if (leave_signal)
		return TERM_ENDED;
	if (stop_asked)
		stop_here();
	if (!resized)
		return 0;
	/* After a stop the shell had the terminal: set its modes again and send everything. */
	resized = 0;
	reset_prog_mode();
	follow_size();
	clearok(curscr, TRUE);
	return TERM_RESIZED;
}

int term_key(struct terminal *t, int timeout_ms)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	struct timespec wait = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
	wint_t c;
	int status, ready, event;

	if (t->gone)
		return TERM_ENDED;
	/* A key of several bytes may already lie in curses' own buffer. */
	status = get_wch(&c);
	if (status == ERR) {
		ready = ppoll(&in, 1, &wait, &t->outside);
		if ((event = signalled()))
			return event;
		if (ready <= 0)
			return TERM_NOTHING;
		status = get_wch(&c);
		if (status == ERR) {
			/* readable and yet nothing to read: the other end is closed */
			t->gone = (in.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
			return t->gone ? TERM_ENDED : TERM_NOTHING;
		}
	}
	if (status == KEY_CODE_YES)
		return translate((int)c);
	return c == '\n' ? '\r' : (int)c;
}

int term_signal(void)
{
	return leave_signal;
}
