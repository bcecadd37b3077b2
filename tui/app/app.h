/*
 * app.h - the workbench: the loop between keys, views and the terminal.
 *
 *	app_run(&conf, e)	"werkbank watch [RUN]", and "werkbank" alone on a terminal
 *
 * One turn of the loop: wait for a key, the mouse, a job's words or the clock; key → action
 * (keys.h) → the view's act(), else the workbench's own → reaction bits; the chosen run's files,
 * jobs and all open views are brought up to date; what views asked for (app_context.h) is carried out;
 * the screen is drawn at most once.
 *
 * Of the options it reads workspace, run (or the first argument), view, theme, color, mouse,
 * readonly, dump and keys. With --dump ROWSxCOLUMNS no terminal is needed: the files are read
 * to their end, --keys are pressed (<Wait>: until no job runs and no view has more to do), the
 * screen is written to standard output. Nothing is remembered then.
 *
 * Environment, read in app*.c and term.c and nowhere else:
 *	NO_COLOR         not empty: no colours (unless --color always)
 *	TERM, LC_ALL …   as everywhere
 *	STY, TMUX        whether GNU screen must be told to pass on what is copied
 *	WERKBANK_GLYPHS  ascii, plain or full instead of what locale and terminal say
 *	WERKBANK_NOW     unix seconds: the clock stands still there (for tests)
 *	XDG_CONFIG_HOME, XDG_STATE_HOME, HOME	where key map, themes and memory are:
 *			 werkbank-workbench(5)
 */
#ifndef WERKBANK_TUI_APP_APP_H
#define WERKBANK_TUI_APP_APP_H

#include "share/conf/conf.h"
#include "share/base/err.h"

/*
 * Run the workbench until the user leaves. ERR_UNAVAILABLE where there is no
 * terminal (or this build has no curses), ERR_NOINPUT when the named run does
 * not exist. A run is only watched: leaving never touches it. When a signal
 * (SIGTERM, SIGHUP, SIGINT) ended it, everything is put back and the signal is
 * raised again, so this does not return.
 */
int app_run(const struct conf *c, struct err *e);

#endif
