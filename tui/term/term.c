/*
 * term.c - the terminal by curses: open, close, styles, output, signals. term_read.c reads
 * keys. See term.h.
 *
 * Signals: requests (leave, stop, resize, continue) are blocked except while term_key()
 * waits; their handlers only set flags. Handlers of crash signals write the restoring sequences,
 * saved when the terminal was opened, with write(2), and raise the signal again.
 */
#include "tui/term/term_internal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "share/base/base64.h"
#include "share/base/buf.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/term/picture_code.h"
#include "tui/term/theme.h"

static const int asking[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH };
static const int crashing[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

/* State of the signal handlers; there is only one terminal. */
static volatile sig_atomic_t leave_signal, stop_asked, resized;
static struct {
	struct termios modes;
	char restore[256];
	size_t n;
} before;

static void on_leave_signal(int signal)
{
	if (signal == SIGTSTP)
		stop_asked = 1;
	else if (signal == SIGWINCH || signal == SIGCONT)
		resized = 1;
	else
		leave_signal = signal;
}

/* Installed with SA_RESETHAND: raising the signal again has its default effect. */
static void on_crash(int signal)
{
	ssize_t written = write(STDOUT_FILENO, before.restore, before.n);

	(void)written;
	tcsetattr(STDIN_FILENO, TCSANOW, &before.modes);
	raise(signal);
}

static void save_capability(const char *capability)
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

static void catch_terminal_signals(struct terminal *t)
{
	struct sigaction ask = { .sa_handler = on_leave_signal };
	struct sigaction crash = { .sa_handler = on_crash,
				   .sa_flags = (int)SA_RESETHAND | SA_ONSTACK };
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

static attr_t curses_attributes(unsigned theme)
{
	return (theme & THEME_BOLD ? A_BOLD : 0) | (theme & THEME_DIM ? A_DIM : 0) |
	       (theme & THEME_REVERSE ? A_REVERSE : 0) |
	       (theme & THEME_UNDERLINE ? A_UNDERLINE : 0);
}

/* The colour number of a style for a terminal of this depth; -1: the default colour. */
static int style_colour(const struct terminal *t, const struct theme *theme, int style, bool ground)
{
	enum theme_depth depth = t->colours >= 256  ? THEME_256
				 : t->colours >= 16 ? THEME_16
						    : THEME_8;
	const struct theme_style *s = &theme->styles[style < STYLE_NAMED ? style : STYLE_AREA];
	int colour = ground ? s->ground[depth] : s->colour[depth];

	if (style >= STYLE_RAMP_0) {
		colour = ground ? -1 : theme_ramp_rgb(theme, style - STYLE_RAMP_0);
		return colour < 0 || t->true_colour ? colour : theme_nearest_256(colour);
	}
	if (t->true_colour && style >= STYLE_TONE_0)
		return ground ? -1 : theme_tone_rgb(theme, style - STYLE_TONE_0);
	/* colours below n_indexed are numbers of the palette, all others are 0xRRGGBB */
	return t->true_colour && colour >= t->n_indexed ? theme_rgb(colour) : colour;
}

static void set_styles(struct terminal *t, const struct term_look *look)
{
	/* Call start_color() in any case; some terminals have no colours. */
	bool colours = look->colours && has_colors() && start_color() == OK && COLORS >= 8 &&
		       COLOR_PAIRS > STYLE_RAMP_0;
	int used;

	if (colours)
		use_default_colors();
	t->colours = colours ? COLORS : 0;
	t->true_colour = t->colours > 256;
	/* an area in the colour of text would hide the curve */
	t->tones = style_colour(t, look->theme, STYLE_AREA, false) < 0 ? 0
		   : t->true_colour				       ? THEME_TONES
		   : t->colours >= 256				       ? 1
								       : 0;
	t->ramp = t->colours >= 256 && COLOR_PAIRS > STYLE_COUNT &&
				  style_colour(t, look->theme, STYLE_RAMP_0, false) >= 0
			  ? THEME_RAMP
			  : 0;
	used = t->ramp ? STYLE_COUNT : STYLE_RAMP_0;
	t->n_indexed = tigetnum("CO") > 0 ? tigetnum("CO") : 8;
	for (int i = 0; i < used; i++) {
		const struct theme_style *s =
			&look->theme->styles[i < STYLE_NAMED ? i : STYLE_AREA];
		unsigned with = i < STYLE_RAMP_0 ? s->attributes : 0;
		int colour = style_colour(t, look->theme, i, false),
		    ground = style_colour(t, look->theme, i, true);

		t->pairs[i] = 0;
		t->attributes[i] = curses_attributes(colours ? with : s->plain_attributes);
		/* Eight colours have no grey: use the dim attribute. */
		if (colours && COLORS < 16 && colour < 0 && s->plain_attributes & THEME_DIM)
			t->attributes[i] |= A_DIM;
		if (!colours || (colour < 0 && ground < 0) ||
		    init_extended_pair(i + 1, colour, ground) == ERR)
			continue;
		t->pairs[i] = (short)(i + 1);
	}
}

/* ---- requests beyond curses ---- */

/* reports of mouse, paste and focus; the title that was on top of the terminal's stack */
static const char requests_off[] = "\033[?1002l\033[?1006l\033[?2004l\033[?1004l\033[23;2t";

static void send_to_terminal(struct terminal *t, const char *text)
{
	fputs(text, t->out);
	fflush(t->out);
}

void term_send(struct terminal *t, const struct buf *out)
{
	fwrite(out->data, 1, out->len, t->out);
	fflush(t->out);
}

static void send_mode_requests(struct terminal *t, bool on)
{
	if (!on)
		term_remove_pictures(t);
	if (!t->is_xterm)
		return;
	if (!on)
		term_set_progress(t, -1, false);
	send_to_terminal(t, on ? "\033[?2004h\033[?1004h\033[22;2t" : requests_off);
	*t->title = 0;
	if (on && t->mouse_on)
		send_to_terminal(t, "\033[?1002h\033[?1006h");
}

/* Terminals that do not know these requests might print parts of them. */
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
 * Open the screen of TERM. If COLORTERM promises true colour, prefer the terminfo entry of the same
 * terminal that has it: xterm-direct256 for xterm-256color. NULL: there is no entry at all.
 */
static SCREEN *open_screen(FILE *out, const char *name)
{
	static const char *const endings[] = { "-direct256", "-direct" };
	const char *colours = getenv("COLORTERM");
	size_t n = strlen(name);
	char direct[80];
	SCREEN *screen;

	if (colours && (!strcmp(colours, "truecolor") || !strcmp(colours, "24bit")) &&
	    text_ends_with(name, "-256color") && n < 64)
		for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
			snprintf(direct, sizeof(direct), "%.*s%s", (int)(n - 9), name, endings[i]);
			if ((screen = newterm(direct, out, stdin)))
				return screen;
		}
	return newterm(NULL, out, stdin);
}

/* What the workbench misses to be shown; NULL: nothing. Saves the modes of standard input for the end. */
static const char *find_missing_terminal(void)
{
	const char *name = getenv("TERM");

	return tcgetattr(STDIN_FILENO, &before.modes) ? "standard input is not a terminal"
	       : !isatty(STDOUT_FILENO)		      ? "standard output is not a terminal"
	       : !name || !*name		      ? "TERM is not set"
	       : !strcmp(name, "dumb")		      ? "TERM is dumb"
						      : NULL;
}

struct terminal *term_open(const struct term_look *look, struct err *e)
{
	struct terminal *t;
	const char *name = getenv("TERM"), *missing = find_missing_terminal();

	if (missing) {
		err_set(e, ERR_UNAVAILABLE,
			"the workbench needs a terminal on standard input and output, but %s; use "
			"\"werkbank status\", or \"werkbank watch --dump 24x80\" for one screen "
			"as text",
			missing);
		return NULL;
	}
	if (!(t = mem_alloc(1, sizeof(*t), e)))
		return NULL;
	t->stack =
		malloc((size_t)SIGSTKSZ); /* without memory, only stack overflows stay uncaught */
	catch_terminal_signals(t);
	/* newterm() returns on failure, initscr() would exit. */
	t->out = fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0), "w");
	t->screen = t->out ? open_screen(t->out, name) : NULL;
	if (!t->screen) {
		release_signals(t);
		if (t->out)
			fclose(t->out);
		free(t->stack);
		free(t);
		err_set(e, ERR_UNAVAILABLE,
			"terminfo has no entry for the terminal \"%.50s\"; set "
			"TERM to a known one (often xterm), or use \"werkbank status\"",
			name);
		return NULL;
	}
	before.n = 0;
	save_capability("sgr0");
	save_capability("cnorm");
	save_capability("rmkx");
	save_capability("rmcup");
	t->is_xterm = understands_requests(name);
	t->mouse_on = look->mouse;
	t->progress = -1;
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
		term_define_keys();
	set_styles(t, look);
	term_set_picture_colours(t, look->theme);
	send_mode_requests(t, true);
	return t;
}

void term_set_look(struct terminal *t, const struct term_look *look)
{
	send_mode_requests(t, false);
	t->mouse_on = look->mouse;
	set_styles(t, look);
	term_set_picture_colours(t, look->theme);
	send_mode_requests(t, true);
	term_repaint(t);
}

void term_close(struct terminal *t)
{
	if (!t)
		return;
	send_mode_requests(t, false);
	curs_set(1);
	term_drop_late_ground(t);
	endwin();
	delscreen(t->screen);
	fclose(t->out);
	release_signals(t);
	grid_free(&t->shown);
	picture_list_clear(&t->pictures.list);
	buf_free(&t->pasted);
	free(t->stack);
	free(t);
}

/* Adopt the size of the window here: a handler of curses would be unsafe. */
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
	term_remove_pictures(t);
	grid_free(&t->shown);
	clearok(curscr, TRUE);
}

/* Whether a cell equals the copy of what curses has: cheaper than passing it to curses again. */
static bool same_as_shown(struct terminal *t, const struct grid *g, int row, int col)
{
	const struct cell *is = grid_at(&t->shown, row, col);

	return is && !memcmp(is, grid_at(g, row, col), sizeof(*is));
}

static void store_shown_grid(struct terminal *t, const struct grid *g)
{
	struct err ignored;
	size_t n = (size_t)g->rows * (size_t)g->cols;

	if ((t->shown.rows != g->rows || t->shown.cols != g->cols) &&
	    grid_resize(&t->shown, g->rows, g->cols, &ignored))
		return grid_free(&t->shown);
	memcpy(t->shown.cells, g->cells, n * sizeof(*g->cells));
}

void term_show(struct terminal *t, struct grid *g)
{
	term_place_pictures(t, g);
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
	store_shown_grid(t, g);
	term_send_pictures(t);
}

/* Ctrl-Z: restore the terminal, stop, and take the terminal again when continued. */
static void suspend_program(struct terminal *t)
{
	struct sigaction stop = { .sa_handler = SIG_DFL }, ours;
	sigset_t only;

	stop_asked = 0;
	def_prog_mode();
	send_mode_requests(t, false);
	endwin();
	sigaction(SIGTSTP, &stop, &ours);
	sigemptyset(&only);
	sigaddset(&only, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &only, NULL); /* the process stops here */
	sigprocmask(SIG_BLOCK, &only, NULL);
	sigaction(SIGTSTP, &ours, NULL);
	resized = 1;
}

int term_signalled(struct terminal *t)
{
	if (leave_signal)
		return TERM_ENDED;
	if (stop_asked)
		suspend_program(t);
	if (!resized)
		return 0;
	/* After a stop the shell had the terminal: set the modes again and redraw. */
	resized = 0;
	reset_prog_mode();
	send_mode_requests(t, true);
	follow_size();
	term_measure_cells(t);
	term_repaint(t);
	return TERM_RESIZED;
}

/* ---- the clipboard ---- */

bool term_copy(struct terminal *t, const char *text)
{
	struct buf code = { 0 }, out = { 0 };
	/* GNU screen passes sequences on in pieces of less than 768 bytes. */
	bool screen = getenv("STY") && !getenv("TMUX");

	if (!t->is_xterm)
		return false;
	buf_add_str(&code, "\033]52;c;");
	base64_add(&code, text, strlen(text));
	buf_add_str(&code, "\a");
	for (size_t i = 0; screen && i < code.len; i += 700)
		buf_printf(&out, "\033P%.700s\033\\", code.data + i);
	send_to_terminal(t, buf_text(screen ? &out : &code));
	buf_free(&code);
	buf_free(&out);
	return true;
}

void term_set_tones(struct terminal *t, struct grid *g)
{
	g->pictures = &t->pictures.list;
	g->tones = t->tones;
	g->ramp = t->ramp;
}

void term_describe(const struct terminal *t, char *out, size_t size)
{
	char colours[40] = "no colours";

	if (t->colours)
		snprintf(colours, sizeof(colours), t->true_colour ? "true colour" : "%d colours",
			 t->colours);
	snprintf(out, size, "%.60s: %s%s%s", getenv("TERM") ? getenv("TERM") : "?", colours,
		 t->is_xterm && t->mouse_on ? ", mouse" : ", no mouse",
		 t->is_xterm ? ", pasting, clipboard" : ", no clipboard");
}

int term_signal(void)
{
	return leave_signal;
}
