/* term_read.c - reads keys, mouse reports and pasted text; see term.h. */
#include "tui/term/term_internal.h"

#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/term/keys.h"

#define PASTE_MAX   (1 << 20) /* bytes of one paste; the rest is dropped */
#define PASTE_MS    500	      /* a paste without an end sequence is over after so long */
#define TERM_FDS    64
#define SEQUENCE_MS 50 /* timeout within a mouse report */

/* Private key codes, above those of curses. */
enum {
	CODE_PASTE = 0x2000,
	CODE_PASTE_END,
	CODE_MOUSE,
	CODE_MOUSE_OLD,
	CODE_FOCUS,
	CODE_FOCUS_LOST,
	CODE_ANSWER,
	CODE_KITTY,
	CODE_GROUND,
	CODE_MODIFIED
};

/* ---- what terminals send ---- */

/*
 * Sequences of the xterm family, defined whatever terminfo says: a TERM that is slightly wrong is
 * common (xterm-256color inside tmux).
 */
static void define_usual_keys(void)
{
	static const struct {
		const char *sequence;
		int key;
	} usual[] = {
		{ "\033[1~", KEY_HOME },   { "\033[7~", KEY_HOME },   { "\033[H", KEY_HOME },
		{ "\033OH", KEY_HOME },	   { "\033[4~", KEY_END },    { "\033[8~", KEY_END },
		{ "\033[F", KEY_END },	   { "\033OF", KEY_END },     { "\033[2~", KEY_IC },
		{ "\033[3~", KEY_DC },	   { "\033[5~", KEY_PPAGE },  { "\033[6~", KEY_NPAGE },
		{ "\033[A", KEY_UP },	   { "\033[B", KEY_DOWN },    { "\033[C", KEY_RIGHT },
		{ "\033[D", KEY_LEFT },	   { "\033OA", KEY_UP },      { "\033OB", KEY_DOWN },
		{ "\033OC", KEY_RIGHT },   { "\033OD", KEY_LEFT },    { "\033[Z", KEY_BTAB },
		{ "\033OP", KEY_F(1) },	   { "\033OQ", KEY_F(2) },    { "\033OR", KEY_F(3) },
		{ "\033OS", KEY_F(4) },	   { "\033[11~", KEY_F(1) },  { "\033[12~", KEY_F(2) },
		{ "\033[13~", KEY_F(3) },  { "\033[14~", KEY_F(4) },  { "\033[15~", KEY_F(5) },
		{ "\033[17~", KEY_F(6) },  { "\033[18~", KEY_F(7) },  { "\033[19~", KEY_F(8) },
		{ "\033[20~", KEY_F(9) },  { "\033[21~", KEY_F(10) }, { "\033[23~", KEY_F(11) },
		{ "\033[24~", KEY_F(12) },
	};

	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		define_key(usual[i].sequence, usual[i].key);
}

void term_define_keys(void)
{
	static const char ends[] = "ABCDHF";
	char sequence[16];

	define_usual_keys();
	define_key("\033[200~", CODE_PASTE);
	define_key("\033[201~", CODE_PASTE_END);
	define_key("\033[<", CODE_MOUSE);
	define_key("\033[M", CODE_MOUSE_OLD);
	define_key("\033[I", CODE_FOCUS);
	define_key("\033[O", CODE_FOCUS_LOST);
	define_key("\033[?", CODE_ANSWER);
	define_key("\033_G", CODE_KITTY);
	define_key("\033]11;", CODE_GROUND);
	for (int i = 0; ends[i]; i++) {
		snprintf(sequence, sizeof(sequence), "\033[1;3%c", ends[i]);
		define_key(sequence, CODE_MODIFIED + i);
		snprintf(sequence, sizeof(sequence), "\033[1;5%c", ends[i]);
		define_key(sequence, CODE_MODIFIED + 8 + i);
	}
}

static int map_curses_key(int key)
{
	static const struct {
		int curses, ours;
	} table[] = {
		/* clang-format off */
		{KEY_UP, KEY_NAME_UP},	       {KEY_DOWN, KEY_NAME_DOWN},
		{KEY_LEFT, KEY_NAME_LEFT},     {KEY_RIGHT, KEY_NAME_RIGHT},
		{KEY_HOME, KEY_NAME_HOME},     {KEY_END, KEY_NAME_END},
		{KEY_PPAGE, KEY_NAME_PAGE_UP}, {KEY_NPAGE, KEY_NAME_PAGE_DOWN},
		{KEY_BTAB, KEY_NAME_BACKTAB},  {KEY_ENTER, '\r'},
		{KEY_IC, KEY_NAME_INSERT},     {KEY_DC, KEY_NAME_DELETE},
		{KEY_BACKSPACE, KEY_BACKSPACE_CHAR},
		/* clang-format on */
	};
	static const int modified[] = { KEY_NAME_UP,   KEY_NAME_DOWN, KEY_NAME_RIGHT,
					KEY_NAME_LEFT, KEY_NAME_HOME, KEY_NAME_END };

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

/* ---- the mouse, what is pasted ---- */

/* Read the next character within timeout_ms: ERR, OK or KEY_CODE_YES. */
static int read_next_char(wint_t *c, int timeout_ms)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	int status = get_wch(c);

	if (status == ERR && poll(&in, 1, timeout_ms) > 0)
		status = get_wch(c);
	return status;
}

int term_next_char(void)
{
	wint_t c;

	return read_next_char(&c, SEQUENCE_MS) == OK ? (int)c : -1;
}

void term_read_string(char *text, size_t room)
{
	size_t n = 0;

	for (int c, read = 0; read < 400 && (c = term_next_char()) >= 0; read++) {
		if (c == 0x1B || c == '\a') {
			if (c == 0x1B)
				term_next_char(); /* the backslash */
			break;
		}
		if (n + 1 < room && c < 0x80)
			text[n++] = (char)c;
	}
	text[n] = '\0';
}

static int decode_mouse_report(struct terminal *t, int code, int col, int row, bool released)
{
	struct mouse *m = &t->mouse;

	*m = (struct mouse){ .row = row - 1,
			     .col = col - 1,
			     .shift = code & 4,
			     .alt = code & 8,
			     .ctrl = code & 16 };
	if (code & 128 || row < 1 || col < 1)
		return TERM_NOTHING;
	if (code & 64) {
		if (code & 2)
			return TERM_NOTHING; /* horizontal wheel */
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

/* After ESC [ < : three numbers, then M (press) or m (release). */
static int read_mouse(struct terminal *t)
{
	int numbers[3] = { 0 };
	wint_t c;

	for (int i = 0; i < 3;) {
		if (read_next_char(&c, SEQUENCE_MS) != OK)
			return TERM_NOTHING;
		if (c >= '0' && c <= '9')
			numbers[i] = MIN(numbers[i] * 10 + (int)(c - '0'), 10000);
		else if (i < 2 && c == ';')
			i++;
		else if (i == 2 && (c == 'M' || c == 'm'))
			return decode_mouse_report(t, numbers[0], numbers[1], numbers[2], c == 'm');
		else
			return TERM_NOTHING;
	}
	return TERM_NOTHING;
}

/* The old encoding: three characters, each 32 above its number. */
static int read_mouse_old(struct terminal *t)
{
	wint_t c[3];

	for (int i = 0; i < 3; i++)
		if (read_next_char(&c[i], SEQUENCE_MS) != OK || c[i] < 32)
			return TERM_NOTHING;
	return decode_mouse_report(t, (int)c[0] - 32, (int)c[1] - 32, (int)c[2] - 32, false);
}

/* Read to the end of the paste; other key codes in it are dropped. */
static int read_paste(struct terminal *t)
{
	bool after_return = false;
	wint_t c;

	buf_clear(&t->pasted);
	for (;;) {
		int status = read_next_char(&c, PASTE_MS);
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
		/* drop control characters */
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

static int private_key_code(struct terminal *t, int code)
{
	switch (code) {
	case CODE_PASTE:
		return read_paste(t);
	case CODE_MOUSE:
		return read_mouse(t);
	case CODE_MOUSE_OLD:
		return read_mouse_old(t);
	case CODE_FOCUS:
	case CODE_FOCUS_LOST:
		t->away = code == CODE_FOCUS_LOST;
		return TERM_FOCUS;
	case CODE_ANSWER:
		return term_read_answer(t);
	case CODE_KITTY:
		return term_read_kitty_answer(t);
	case CODE_GROUND:
		return term_read_ground(t);
	default:
		return map_curses_key(code);
	}
}

/* Skip the rest of an unknown sequence after ESC [ or ESC O: its characters are not keys. */
static bool skip_sequence(struct terminal *t, bool control)
{
	char text[41];
	size_t n = 0;
	wint_t c;

	while (n < 40 && get_wch(&c) == OK) {
		text[n++] = c < 0x80 ? (char)c : ' ';
		if (!control || (c >= 0x40 && c <= 0x7E))
			break;
	}
	text[n] = 0;
	if (control)
		term_take_cell_size(t, text);
	return n > 0;
}

/* Esc with a key right after it is Alt with that key. */
static int after_escape(struct terminal *t)
{
	wint_t c;
	int status = get_wch(&c), key;

	if (status == ERR)
		return 0x1B;
	if (status == OK && (c == '[' || c == 'O') && skip_sequence(t, c == '['))
		return TERM_NOTHING;
	key = status == KEY_CODE_YES ? private_key_code(t, (int)c) : c == '\n' ? '\r' : (int)c;
	return key > 0 && key != 0x1B ? key | KEY_ALT : key;
}

/* Wait for input, a descriptor or a signal; > 0: input is readable. */
static int wait_for(struct terminal *t, int timeout_ms, const int *fds, size_t n, bool *closed)
{
	struct timespec wait = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
	struct pollfd in[1 + TERM_FDS] = { { .fd = STDIN_FILENO, .events = POLLIN } };
	int ready;

	n = MIN(n, (size_t)TERM_FDS);
	for (size_t i = 0; i < n; i++)
		in[i + 1] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
	ready = ppoll(in, 1 + n, &wait, &t->outside);
	/* readable without data: the other end is closed */
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
	/* A key of several bytes may already be in curses' buffer. */
	status = get_wch(&c);
	if (status == ERR) {
		int ready = wait_for(t, term_picture_wait_ms(t, timeout_ms), fds, n, &closed);

		if ((event = term_signalled(t)))
			return event;
		if (ready <= 0)
			return (event = term_picture_deadline(t)) ? event : TERM_NOTHING;
		status = get_wch(&c);
		if (status == ERR) {
			t->gone = closed;
			return t->gone ? TERM_ENDED : TERM_NOTHING;
		}
	}
	if (status == KEY_CODE_YES)
		return private_key_code(t, (int)c);
	if (c == 0x1B)
		return after_escape(t);
	return c == '\n' ? '\r' : (int)c;
}
