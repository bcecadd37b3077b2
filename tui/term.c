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

#include "share/base/buf.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/keys.h"
#include "tui/theme.h"

#define PASTE_MAX   (1 << 20)	/* bytes of one paste; the rest is dropped */
#define PASTE_MS    500		/* a paste whose end does not come for so long is over */
#define TERM_FDS    64
#define SEQUENCE_MS 50		/* the rest of a report of the mouse comes within */

/* Our own key codes, beyond those of curses. */
enum { CODE_PASTE = 0x2000, CODE_PASTE_END, CODE_MOUSE, CODE_MOUSE_OLD, CODE_MODIFIED };

struct terminal {
	SCREEN  *screen;
	attr_t   attributes[STYLE_COUNT];
	short    pairs[STYLE_COUNT];
	struct grid shown;	/* what curses was told last */
	bool     is_xterm;	/* understands the requests of xterm */
	bool     mouse_on;	/* it is asked for reports of the mouse */
	int      colours;	/* in use; 0: none */
	struct mouse mouse;	/* the last report */
	struct buf pasted;
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

static void set_styles(struct terminal *t, const struct term_look *look)
{
	/*
	 * Some terminals have no colours whatever we want; start_color() must still be tolerated by
	 * them.
	 */
	bool colours = look->colours && has_colors() && start_color() == OK && COLORS >= 8 &&
		       COLOR_PAIRS > STYLE_COUNT;
	enum theme_depth depth = COLORS >= 256 ? THEME_256 : COLORS >= 16 ? THEME_16 : THEME_8;

	if (colours)
		use_default_colors();
	t->colours = colours ? COLORS : 0;
	for (int i = 0; i < STYLE_COUNT; i++) {
		const struct theme_style *s = &look->theme->styles[i];
		short colour = s->colour[depth], ground = s->ground[depth];

		t->pairs[i] = 0;
		t->attributes[i] = attributes(colours ? s->attributes : s->plain_attributes);
		/* Eight colours have no grey: dim stands for it. */
		if (colours && depth == THEME_8 && colour < 0 && s->plain_attributes & THEME_DIM)
			t->attributes[i] |= A_DIM;
		if (!colours || (colour < 0 && ground < 0) ||
		    init_pair((short)(i + 1), colour, ground) == ERR)
			continue;
		t->pairs[i] = (short)(i + 1);
	}
}

/* ---- requests beyond curses ---- */

static const char requests_off[] = "\033[?1002l\033[?1006l\033[?2004l";

static void send(const char *text)
{
	fputs(text, stdout);
	fflush(stdout);
}

static void requests(struct terminal *t, bool on)
{
	if (!t->is_xterm)
		return;
	send(on ? "\033[?2004h" : requests_off);
	if (on && t->mouse_on)
		send("\033[?1002h\033[?1006h");
}

/* Terminals that do not know these requests might show parts of them. */
static bool understands_requests(const char *name)
{
	static const char *const known[] = {
		"xterm", "screen",  "tmux",   "rxvt",	 "putty", "alacritty", "foot",	  "st-",
		"kitty", "wezterm", "mintty", "konsole", "gnome", "vte",       "ghostty", "contour",
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (text_starts_with(name, known[i]))
			return true;
	return false;
}

/*
 * What terminals of this family send whatever their description says: a TERM that is not quite
 * right is common, as xterm-256color inside tmux.
 */
static void define_usual_keys(void)
{
	static const struct { const char *sequence; int key;
	} usual[] = {
		{"\033[1~", KEY_HOME},	 {"\033[7~", KEY_HOME},  {"\033[H", KEY_HOME},
		{"\033OH", KEY_HOME},	 {"\033[4~", KEY_END},	 {"\033[8~", KEY_END},
		{"\033[F", KEY_END},	 {"\033OF", KEY_END},	 {"\033[2~", KEY_IC},
		{"\033[3~", KEY_DC},	 {"\033[5~", KEY_PPAGE}, {"\033[6~", KEY_NPAGE},
		{"\033[A", KEY_UP},	 {"\033[B", KEY_DOWN},	 {"\033[C", KEY_RIGHT},
		{"\033[D", KEY_LEFT},	 {"\033OA", KEY_UP},	 {"\033OB", KEY_DOWN},
		{"\033OC", KEY_RIGHT},	 {"\033OD", KEY_LEFT},	 {"\033[Z", KEY_BTAB},
		{"\033OP", KEY_F(1)},	 {"\033OQ", KEY_F(2)},	 {"\033OR", KEY_F(3)},
		{"\033OS", KEY_F(4)},	 {"\033[11~", KEY_F(1)}, {"\033[12~", KEY_F(2)},
		{"\033[13~", KEY_F(3)},	 {"\033[14~", KEY_F(4)}, {"\033[15~", KEY_F(5)},
		{"\033[17~", KEY_F(6)},	 {"\033[18~", KEY_F(7)}, {"\033[19~", KEY_F(8)},
		{"\033[20~", KEY_F(9)},	 {"\033[21~", KEY_F(10)}, {"\033[23~", KEY_F(11)},
		{"\033[24~", KEY_F(12)},
	};

	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		define_key(usual[i].sequence, usual[i].key);
}

static void define_keys(void)
{
	static const char ends[] = "ABCDHF";
	char sequence[16];

	define_usual_keys();
	define_key("\033[200~", CODE_PASTE);
	define_key("\033[201~", CODE_PASTE_END);
	define_key("\033[<", CODE_MOUSE);
	define_key("\033[M", CODE_MOUSE_OLD);
	for (int i = 0; ends[i]; i++) {
		snprintf(sequence, sizeof(sequence), "\033[1;3%c", ends[i]);
		define_key(sequence, CODE_MODIFIED + i);
		snprintf(sequence, sizeof(sequence), "\033[1;5%c", ends[i]);
		define_key(sequence, CODE_MODIFIED + 8 + i);
	}
}

struct terminal *term_open(const struct term_look *look, struct err *e)
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
	t->is_xterm = understands_requests(name);
	t->mouse_on = look->mouse;
	if (t->is_xterm && before.n + sizeof(requests_off) <= sizeof(before.restore)) {
		memcpy(before.restore + before.n, requests_off, sizeof(requests_off) - 1);
		before.n += sizeof(requests_off) - 1;
	}
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	intrflush(stdscr, FALSE);
	set_escdelay(25);
	curs_set(0);
	if (t->is_xterm)
		define_keys();
	set_styles(t, look);
	requests(t, true);
	return t;
}

void term_set_look(struct terminal *t, const struct term_look *look)
{
	requests(t, false);
	t->mouse_on = look->mouse;
	set_styles(t, look);
	requests(t, true);
	term_repaint(t);
}

void term_close(struct terminal *t)
{
	if (!t)
		return;
	requests(t, false);
	curs_set(1);
	endwin();
	delscreen(t->screen);
	release_signals(t);
	grid_free(&t->shown);
	buf_free(&t->pasted);
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
	grid_free(&t->shown);
	clearok(curscr, TRUE);
}

/* A copy of what was told to curses last: comparing cells is cheaper than telling it again. */
static bool same_as_shown(struct terminal *t, const struct grid *g, int row, int col)
{
	const struct cell *is = grid_at(&t->shown, row, col);

	return is && !memcmp(is, grid_at(g, row, col), sizeof(*is));
}

static void keep_shown(struct terminal *t, const struct grid *g)
{
	struct err ignored;
	size_t n = (size_t)g->rows * (size_t)g->cols;

	if ((t->shown.rows != g->rows || t->shown.cols != g->cols) &&
	    grid_resize(&t->shown, g->rows, g->cols, &ignored))
		return grid_free(&t->shown);
	memcpy(t->shown.cells, g->cells, n * sizeof(*g->cells));
}

void term_show(struct terminal *t, const struct grid *g)
{
	if (t->shown.rows != g->rows || t->shown.cols != g->cols)
		grid_free(&t->shown);
	for (int row = 0; row < g->rows; row++)
		for (int col = 0; col < g->cols; col++) {
			const struct cell *c = grid_at(g, row, col);
			wchar_t text[GRID_MARKS + 2] = { (wchar_t)c->ch };
			cchar_t cell;

			if (c->width == 0 || same_as_shown(t, g, row, col))
				continue;
			for (int i = 0; i < GRID_MARKS; i++)
				text[i + 1] = (wchar_t)c->marks[i];
			if (setcchar(&cell, text, t->attributes[c->style], t->pairs[c->style],
				     NULL) == OK)
				mvadd_wch(row, col, &cell);
		}
	refresh();
	keep_shown(t, g);
}

/* Ctrl-Z: give the terminal back, stop, take it again when we are continued. */
static void stop_here(struct terminal *t)
{
	struct sigaction stop = { .sa_handler = SIG_DFL }, ours;
	sigset_t only;

	stop_asked = 0;
	def_prog_mode();
	requests(t, false);
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
		{KEY_BTAB, KEY_NAME_BACKTAB},  {KEY_ENTER, '\r'},
		{KEY_IC, KEY_NAME_INSERT},     {KEY_DC, KEY_NAME_DELETE},
		{KEY_BACKSPACE, KEY_BACKSPACE_CHAR},
	};
	static const int modified[] = { KEY_NAME_UP, KEY_NAME_DOWN, KEY_NAME_RIGHT, KEY_NAME_LEFT,
					KEY_NAME_HOME, KEY_NAME_END };

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (table[i].curses == key)
			return table[i].ours;
	if (key >= KEY_F(1) && key <= KEY_F(12))
		return KEY_NAME_F1 + (key - KEY_F(1));
	if (key >= CODE_MODIFIED && key < CODE_MODIFIED + 6)
		return modified[key - CODE_MODIFIED] | KEY_ALT;
	if (key >= CODE_MODIFIED + 8 && key < CODE_MODIFIED + 14)
		return modified[key - CODE_MODIFIED - 8] | KEY_CTRL;
	return TERM_NOTHING;
}

/* What the signals that came in want; 0: nothing. */
static int signalled(struct terminal *t)
{
	if (leave_signal)
		return TERM_ENDED;
	if (stop_asked)
		stop_here(t);
	if (!resized)
		return 0;
	/* After a stop the shell had the terminal: set its modes again and send everything. */
	resized = 0;
	reset_prog_mode();
	requests(t, true);
	follow_size();
	term_repaint(t);
	return TERM_RESIZED;
}

/* ---- the mouse, what is pasted ---- */

/* The next character, waiting a little for it: ERR, OK or KEY_CODE_YES. */
static int next_soon(wint_t *c, int timeout_ms)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	int status = get_wch(c);

	if (status == ERR && poll(&in, 1, timeout_ms) > 0)
		status = get_wch(c);
	return status;
}

static int report_of(struct terminal *t, int code, int col, int row, bool released)
{
	struct mouse *m = &t->mouse;

	*m = (struct mouse){ .row = row - 1, .col = col - 1, .shift = code & 4, .alt = code & 8,
			     .ctrl = code & 16 };
	if (code & 128 || row < 1 || col < 1)
		return TERM_NOTHING;
	if (code & 64) {
		if (code & 2)
			return TERM_NOTHING;	/* wheels to the side */
		m->kind = code & 1 ? MOUSE_WHEEL_DOWN : MOUSE_WHEEL_UP;
		return TERM_MOUSE;
	}
	m->button = (code & 3) + 1;
	if (m->button == 4) {
		m->button = 0;
		released = true;
	}
	m->kind = released ? MOUSE_RELEASE : code & 32 ? MOUSE_DRAG : MOUSE_PRESS;
	return TERM_MOUSE;
}

/* Behind ESC [ < : three numbers and M (pressed) or m (released). */
static int read_mouse(struct terminal *t)
{
	int numbers[3] = { 0 };
	wint_t c;

	for (int i = 0; i < 3;) {
		if (next_soon(&c, SEQUENCE_MS) != OK)
			return TERM_NOTHING;
		if (c >= '0' && c <= '9')
			numbers[i] = MIN(numbers[i] * 10 + (int)(c - '0'), 10000);
		else if (i < 2 && c == ';')
			i++;
		else if (i == 2 && (c == 'M' || c == 'm'))
			return report_of(t, numbers[0], numbers[1], numbers[2], c == 'm');
		else
			return TERM_NOTHING;
	}
	return TERM_NOTHING;
}

/* The old form: three characters, each 32 more than the number. */
static int read_mouse_old(struct terminal *t)
{
	wint_t c[3];

	for (int i = 0; i < 3; i++)
		if (next_soon(&c[i], SEQUENCE_MS) != OK || c[i] < 32)
			return TERM_NOTHING;
	return report_of(t, (int)c[0] - 32, (int)c[1] - 32, (int)c[2] - 32, false);
}

/* Up to the end of the paste; other keys in it are dropped. */
static int read_paste(struct terminal *t)
{
	bool after_return = false;
	wint_t c;

	buf_clear(&t->pasted);
	for (;;) {
		int status = next_soon(&c, PASTE_MS);
		char bytes[4];

		if (status == ERR || (status == KEY_CODE_YES && c == CODE_PASTE_END))
			break;
		if (status == KEY_CODE_YES || t->pasted.len + 4 > PASTE_MAX)
			continue;
		if (c == '\n' && after_return) {
			after_return = false;
			continue;
		}
		after_return = c == '\r';
		if (c == '\r')
			c = '\n';
		/* what could steer a terminal is not text */
		if (c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF) &&
		    (key_is_text((int)c) || c == '\n' || c == '\t'))
			buf_add(&t->pasted, bytes, utf8_encode((uint32_t)c, bytes));
	}
	return TERM_PASTE;
}

struct mouse term_mouse(const struct terminal *t)
{
	return t->mouse;
}

const char *term_pasted(const struct terminal *t)
{
	return buf_text(&t->pasted);
}

/* ---- keys ---- */

static int own_code(struct terminal *t, int code)
{
	switch (code) {
	case CODE_PASTE:     return read_paste(t);
	case CODE_MOUSE:     return read_mouse(t);
	case CODE_MOUSE_OLD: return read_mouse_old(t);
	default:             return translate(code);
	}
}

/* The rest of a sequence that nobody knows, behind ESC [ or ESC O: its characters are no keys. */
static bool skip_sequence(bool control)
{
	wint_t c;
	int n = 0;

	while (n < 40 && get_wch(&c) == OK) {
		n++;
		if (!control || (c >= 0x40 && c <= 0x7E))
			break;
	}
	return n > 0;
}

/* Esc with another key right behind it is that key with Alt. */
static int after_escape(struct terminal *t)
{
	wint_t c;
	int status = get_wch(&c), key;

	if (status == ERR)
		return 0x1B;
	if (status == OK && (c == '[' || c == 'O') && skip_sequence(c == '['))
		return TERM_NOTHING;
	key = status == KEY_CODE_YES ? own_code(t, (int)c) : c == '\n' ? '\r' : (int)c;
	return key > 0 && key != 0x1B ? key | KEY_ALT : key;
}

/* Wait for input, a descriptor or a signal; > 0: input. */
static int wait_for(struct terminal *t, int timeout_ms, const int *fds, size_t n, bool *closed)
{
	struct timespec wait = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
	struct pollfd in[1 + TERM_FDS] = { { .fd = STDIN_FILENO, .events = POLLIN } };
	int ready;

	n = MIN(n, (size_t)TERM_FDS);
	for (size_t i = 0; i < n; i++)
		in[i + 1] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
	ready = ppoll(in, 1 + n, &wait, &t->outside);
	/* readable and yet nothing to read, as the caller will find: the other end is closed */
	*closed = ready > 0 && in[0].revents & (POLLHUP | POLLERR | POLLNVAL);
	return ready > 0 && in[0].revents;
}

int term_key(struct terminal *t, int timeout_ms, const int *fds, size_t n)
{
	wint_t c;
	int status, event;
	bool closed;

	if (t->gone)
		return TERM_ENDED;
	/* A key of several bytes may already lie in curses' own buffer. */
	status = get_wch(&c);
	if (status == ERR) {
		int ready = wait_for(t, timeout_ms, fds, n, &closed);

		if ((event = signalled(t)))
			return event;
		if (ready <= 0)
			return TERM_NOTHING;
		status = get_wch(&c);
		if (status == ERR) {
			t->gone = closed;
			return t->gone ? TERM_ENDED : TERM_NOTHING;
		}
	}
	if (status == KEY_CODE_YES)
		return own_code(t, (int)c);
	if (c == 0x1B)
		return after_escape(t);
	return c == '\n' ? '\r' : (int)c;
}

/* ---- the clipboard ---- */

static void add_base64(struct buf *out, const char *text)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i += 3) {
		unsigned long v = (unsigned long)(unsigned char)text[i] << 16;

		v |= i + 1 < n ? (unsigned long)(unsigned char)text[i + 1] << 8 : 0;
		v |= i + 2 < n ? (unsigned long)(unsigned char)text[i + 2] : 0;
		buf_add_char(out, digits[v >> 18 & 63]);
		buf_add_char(out, digits[v >> 12 & 63]);
		buf_add_char(out, i + 1 < n ? digits[v >> 6 & 63] : '=');
		buf_add_char(out, i + 2 < n ? digits[v & 63] : '=');
	}
}

bool term_copy(struct terminal *t, const char *text)
{
	struct buf code = { 0 }, out = { 0 };
	/* GNU screen hands on what it is told to, in pieces of less than 768 bytes. */
	bool screen = getenv("STY") && !getenv("TMUX");

	if (!t->is_xterm)
		return false;
	buf_add_str(&code, "\033]52;c;");
	add_base64(&code, text);
	buf_add_str(&code, "\a");
	for (size_t i = 0; screen && i < code.len; i += 700)
		buf_printf(&out, "\033P%.700s\033\\", code.data + i);
	send(buf_text(screen ? &out : &code));
	buf_free(&code);
	buf_free(&out);
	return true;
}

void term_describe(const struct terminal *t, char *out, size_t size)
{
	char colours[40] = "no colours";

	if (t->colours)
		snprintf(colours, sizeof(colours), "%d colours", t->colours);
	snprintf(out, size, "%.60s: %s%s%s", getenv("TERM") ? getenv("TERM") : "?", colours,
		 t->is_xterm && t->mouse_on ? ", mouse" : ", no mouse",
		 t->is_xterm ? ", pasting, clipboard" : ", no clipboard");
}

int term_signal(void)
{
	return leave_signal;
}
