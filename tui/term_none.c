/* term_none.c - term.h for a build without curses: there is no terminal to open. */
#include "tui/term.h"

struct terminal *term_open(bool colours, struct err *e)
{
	(void)colours;
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

void term_size(struct terminal *t, int *rows, int *cols)
{
	(void)t;
	*rows = *cols = 0;
}

void term_show(struct terminal *t, const struct grid *g)
{
	(void)t;
	(void)g;
}

void term_repaint(struct terminal *t)
{
	(void)t;
}

int term_key(struct terminal *t, int timeout_ms)
{
	(void)t;
	(void)timeout_ms;
	return TERM_ENDED;
}

int term_signal(void)
{
	return 0;
}
