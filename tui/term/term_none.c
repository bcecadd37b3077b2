/* term_none.c - term.h for a build without curses: there is no terminal to open. */
#include "tui/term/term.h"

struct terminal *term_open(const struct term_look *look, struct err *e)
{
	(void)look;
	err_set(e, ERR_UNAVAILABLE,
		"this build has no workbench, because curses was missing when it was configured; "
		"use \"werkbank status\", or \"werkbank watch --dump 24x80\" for one screen as "
		"text");
	return NULL;
}

void term_close(struct terminal *t)
{
	(void)t;
}

void term_set_look(struct terminal *t, const struct term_look *look)
{
	(void)t;
	(void)look;
}

void term_ask_ground(struct terminal *t)
{
	(void)t;
}

enum theme_ground term_ground(const struct terminal *t)
{
	(void)t;
	return THEME_GROUND_UNKNOWN;
}

void term_size(struct terminal *t, int *rows, int *cols)
{
	(void)t;
	*rows = *cols = 0;
}

void term_show(struct terminal *t, struct grid *g)
{
	(void)t;
	(void)g;
}

void term_repaint(struct terminal *t)
{
	(void)t;
}

int term_key(struct terminal *t, int timeout_ms, const int *fds, size_t n)
{
	(void)t;
	(void)timeout_ms;
	(void)fds;
	(void)n;
	return TERM_ENDED;
}

struct mouse term_mouse(const struct terminal *t)
{
	(void)t;
	return (struct mouse){ 0 };
}

const char *term_pasted(const struct terminal *t)
{
	(void)t;
	return "";
}

bool term_copy(struct terminal *t, const char *text)
{
	(void)t;
	(void)text;
	return false;
}

void term_set_title(struct terminal *t, const char *title)
{
	(void)t;
	(void)title;
}

void term_set_progress(struct terminal *t, int percent, bool failed)
{
	(void)t;
	(void)percent;
	(void)failed;
}

void term_send_toast(struct terminal *t, enum term_toast kind, const char *title, const char *text)
{
	(void)t;
	(void)kind;
	(void)title;
	(void)text;
}

bool term_is_away(const struct terminal *t)
{
	(void)t;
	return false;
}

void term_want_pictures(struct terminal *t, bool on)
{
	(void)t;
	(void)on;
}

enum term_pictures term_pictures(const struct terminal *t)
{
	(void)t;
	return TERM_PICTURES_OFF;
}

void term_set_tones(struct terminal *t, struct grid *g)
{
	(void)t;
	(void)g;
}

void term_describe(const struct terminal *t, char *out, size_t size)
{
	(void)t;
	if (size)
		*out = 0;
}

int term_signal(void)
{
	return 0;
}
