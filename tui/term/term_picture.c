/*
 * term_picture.c - pictures on the terminal: asks what it can show, shows, replaces and removes them;
 * see term.h.
 *
 * The question is three requests and, last, for the device attributes, which every terminal answers:
 * when that answer has come, no other will. Answers are read like keys, so nothing waits for them. After
 * pictures were sent, the same request follows: its answer says that they have arrived, and how long
 * that took. Until then no other picture is sent, and on a line that is too slow there are no more.
 */
#include "tui/term/term_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/term/draw.h"
#include "tui/term/picture_code.h"

#define ASK_S	    1.5 /* a terminal that has not answered by then shows no pictures */
#define SLOW_S	    1.0 /* of one whose answer takes longer, the line is too slow */
#define ARRIVE_S    3.0 /* the same for pictures */
#define FIRST_ID    0x57420000u
#define ESC_MS	    25
#define ESC_WAIT_MS 200 /* while an answer is on its way, parts of it may come apart */

/* device attributes: the last request of all */
static const char request_attributes[] = "\033[c";
/* kitty's query, the pixels of a cell, the colours of sixels */
static const char requests_first[] =
	"\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\\033[16t\033[?1;1;0S";

/* ---- the cells' pixels ---- */

void term_measure_cells(struct terminal *t)
{
	struct picture_state *s = &t->pictures;
	struct winsize w;

	s->list.cell_width = s->list.cell_height = 0;
	if (s->state != TERM_PICTURES_KITTY && s->state != TERM_PICTURES_SIXEL)
		return;
	s->list.cell_width = s->answered_width;
	s->list.cell_height = s->answered_height;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_row && w.ws_col &&
	    w.ws_xpixel / w.ws_col > 1 && w.ws_ypixel / w.ws_row > 1) {
		s->list.cell_width = w.ws_xpixel / w.ws_col;
		s->list.cell_height = w.ws_ypixel / w.ws_row;
	}
	if (s->list.cell_width > 100 || s->list.cell_height > 200)
		s->list.cell_width = s->list.cell_height = 0;
}

/* ---- removing ---- */

static void remove_picture(struct terminal *t, struct shown_picture *p)
{
	struct buf out = { 0 };

	if (!p->is_shown)
		return;
	p->is_shown = false;
	if (t->pictures.state == TERM_PICTURES_KITTY) {
		code_add_kitty_end(&out, FIRST_ID + (unsigned)(p - t->pictures.shown));
		term_send(t, &out);
	}
	/* sixels lie in the cells, of which curses does not know: it sends these rows again */
	wredrawln(stdscr, p->cells.row, p->cells.rows);
	buf_free(&out);
}

void term_remove_pictures(struct terminal *t)
{
	for (size_t i = 0; i < PICTURE_MOST; i++)
		remove_picture(t, &t->pictures.shown[i]);
}

/* ---- asking ---- */

static void set_picture_state(struct terminal *t, enum term_pictures state)
{
	term_remove_pictures(t);
	t->pictures.state = state;
	t->pictures.has_fence = false;
	set_escdelay(state == TERM_PICTURES_ASKED ? ESC_WAIT_MS : ESC_MS);
	idcok(stdscr, state != TERM_PICTURES_SIXEL);
	term_measure_cells(t);
}

void term_want_pictures(struct terminal *t, bool on)
{
	const char *name = getenv("TERM");
	struct picture_state *s = &t->pictures;

	if (!on)
		return set_picture_state(t, TERM_PICTURES_OFF);
	if (getenv("TMUX") || getenv("STY") || !name || text_starts_with(name, "tmux") ||
	    text_starts_with(name, "screen"))
		return set_picture_state(t, TERM_PICTURES_INSIDE);
	if (!t->is_xterm || !t->colours)
		return set_picture_state(t, TERM_PICTURES_NONE);
	set_picture_state(t, TERM_PICTURES_ASKED);
	s->has_kitty = false;
	s->answered_width = s->answered_height = 0;
	s->colours = 16; /* what every terminal with sixels has */
	s->asked_at = clock_mono_s();
	fputs(requests_first, t->out);
	fputs(request_attributes, t->out);
	fflush(t->out);
}

enum term_pictures term_pictures(const struct terminal *t)
{
	return t->pictures.state;
}

/* The seconds left for an answer that is awaited; < 0: none is. */
static double answer_seconds_left(const struct picture_state *s)
{
	double most = s->state == TERM_PICTURES_ASKED ? ASK_S : s->has_fence ? ARRIVE_S : -1;

	return most < 0 ? most : MAX(s->asked_at + most - clock_mono_s(), 0.0);
}

int term_picture_wait_ms(const struct terminal *t, int timeout_ms)
{
	double left = answer_seconds_left(&t->pictures);

	return left < 0 ? timeout_ms : MIN(timeout_ms, (int)(1000 * left) + 1);
}

int term_picture_deadline(struct terminal *t)
{
	double left = answer_seconds_left(&t->pictures);

	if (left < 0 || left > 0)
		return 0;
	set_picture_state(t, t->pictures.has_fence ? TERM_PICTURES_SLOW : TERM_PICTURES_SILENT);
	return TERM_PICTURES;
}

/* ---- answers ---- */

/* Read n numbers between semicolons; returns the character that ends them, 0: something else came. */
static int read_numbers(int *numbers, size_t most, size_t *n)
{
	int c, value = 0;

	*n = 0;
	for (int read = 0; read < 100; read++) {
		if ((c = term_next_char()) < 0)
			return 0;
		if (c >= '0' && c <= '9') {
			value = MIN(value * 10 + (c - '0'), 100000);
			continue;
		}
		if (*n < most)
			numbers[(*n)++] = value;
		value = 0;
		if (c != ';')
			return c;
	}
	return 0;
}

static int take_attributes(struct terminal *t, const int *numbers, size_t n)
{
	struct picture_state *s = &t->pictures;
	double took = clock_mono_s() - s->asked_at;
	bool has_sixel = false;

	if (s->has_fence) {
		s->has_fence = false;
		set_escdelay(ESC_MS);
		return TERM_PICTURES;
	}
	if (s->state != TERM_PICTURES_ASKED)
		return TERM_NOTHING; /* too late */
	for (size_t i = 1; i < n; i++)
		has_sixel |= numbers[i] == 4;
	set_picture_state(t, took > SLOW_S  ? TERM_PICTURES_SLOW
			     : s->has_kitty ? TERM_PICTURES_KITTY
			     : has_sixel    ? TERM_PICTURES_SIXEL
					    : TERM_PICTURES_NONE);
	if ((s->state == TERM_PICTURES_KITTY || s->state == TERM_PICTURES_SIXEL) &&
	    !s->list.cell_width)
		set_picture_state(t, TERM_PICTURES_NONE); /* nobody says how large a cell is */
	return TERM_PICTURES;
}

int term_read_answer(struct terminal *t)
{
	int numbers[20], end;
	size_t n;

	end = read_numbers(numbers, ARRAY_LEN(numbers), &n);
	if (end == 'c')
		return take_attributes(t, numbers, n);
	if (end == 'S' && n == 3 && numbers[0] == 1 && numbers[1] == 0 && numbers[2] >= 2)
		t->pictures.colours = MIN(numbers[2], SIXEL_MAX_COLOURS);
	return TERM_NOTHING;
}

void term_take_cell_size(struct terminal *t, const char *text)
{
	int height, width, used = 0;

	if (sscanf(text, "6;%4d;%4dt%n", &height, &width, &used) == 2 && used && !text[used]) {
		t->pictures.answered_height = height;
		t->pictures.answered_width = width;
	}
}

int term_read_kitty_answer(struct terminal *t)
{
	char text[80];

	term_read_string(text, sizeof(text));
	if (t->pictures.state == TERM_PICTURES_ASKED && !strcmp(text, "i=31;OK"))
		t->pictures.has_kitty = true;
	return TERM_NOTHING;
}

/* ---- showing ---- */

static bool has_same_cells(const struct rect *a, const struct rect *b)
{
	return a->row == b->row && a->col == b->col && a->rows == b->rows && a->cols == b->cols;
}

static struct shown_picture *find_shown(struct picture_state *s, const struct rect *cells)
{
	for (size_t i = 0; i < PICTURE_MOST; i++)
		if (s->shown[i].is_shown && has_same_cells(&s->shown[i].cells, cells))
			return &s->shown[i];
	return NULL;
}

/* Which pictures stand on the screen of now; those of before that do not are removed. */
void term_place_pictures(struct terminal *t, struct grid *g)
{
	struct picture_state *s = &t->pictures;

	for (size_t i = 0; i < s->list.n; i++) {
		struct picture *p = &s->list.items[i];

		p->stands = picture_is_free(p, g) &&
			    (!s->has_fence || find_shown(s, &p->cells) != NULL);
	}
	for (size_t i = 0; i < PICTURE_MOST; i++) {
		struct shown_picture *was = &s->shown[i];
		bool stands = false;

		for (size_t k = 0; was->is_shown && k < s->list.n; k++)
			stands |= s->list.items[k].stands &&
				  has_same_cells(&was->cells, &s->list.items[k].cells);
		if (!stands)
			remove_picture(t, was);
	}
	for (size_t i = 0; i < s->list.n; i++)
		if (s->list.items[i].stands)
			draw_blank(g, s->list.items[i].cells, STYLE_NORMAL);
}

static void add_picture(struct terminal *t, struct buf *out, struct picture *p)
{
	struct picture_state *s = &t->pictures;
	struct shown_picture *to = find_shown(s, &p->cells);

	p->sum = picture_sum(p->rgba, 4 * (size_t)p->width * (size_t)p->height) ^ (uint64_t)p->width
											  << 32;
	if (s->has_fence || (to && to->sum == p->sum))
		return;
	for (size_t i = 0; !to && i < PICTURE_MOST; i++)
		to = s->shown[i].is_shown ? NULL : &s->shown[i];
	if (!to)
		return;
	*to = (struct shown_picture){ .cells = p->cells, .sum = p->sum, .is_shown = true };
	buf_printf(out, "\033[%d;%dH", p->cells.row + 1, p->cells.col + 1);
	if (s->state == TERM_PICTURES_KITTY)
		code_add_kitty(out, p, FIRST_ID + (unsigned)(to - s->shown));
	else
		code_add_sixel(out, p, s->ground, s->colours);
}

void term_send_pictures(struct terminal *t)
{
	struct picture_state *s = &t->pictures;
	struct buf out = { 0 };
	size_t begun;

	buf_add_str(&out, "\0337");
	begun = out.len;
	for (size_t i = 0; i < s->list.n; i++)
		if (s->list.items[i].stands)
			add_picture(t, &out, &s->list.items[i]);
	if (out.len > begun && !out.failed) {
		buf_printf(&out, "\0338%s", request_attributes);
		term_send(t, &out);
		s->has_fence = true;
		s->asked_at = clock_mono_s();
		set_escdelay(ESC_WAIT_MS);
	}
	buf_free(&out);
}

void term_set_picture_colours(struct terminal *t, const struct theme *theme)
{
	struct picture_state *s = &t->pictures;

	s->ground = theme->is_light ? 0xFFFFFF : 0;
	for (int i = 0; i < STYLE_NAMED; i++) {
		int rgb = theme_rgb(theme->styles[i].colour[THEME_256]);

		s->list.rgb[i] = rgb < 0 ? 0x808080 : rgb;
	}
}
