/*
 * app.h - the workbench: the loop between keys, views and the terminal.
 *
 *	app_run(&conf, e)	"werkbank watch [RUN]", and "werkbank" alone on a terminal
 *
 * One turn of the loop:
 *  1. wait for a key, the mouse, output of a job, or the timer;
 *  2. map the key to an action (keys.h) and call the view's act(); the workbench handles what
 *     the view does not;
 *  3. read the new parts of the run's files, update jobs and all open views;
 *  4. execute the requests of the views (app_context.h);
 *  5. draw the screen, at most once.
 *
 * Options read here: workspace, run (or the first argument), view, theme, color, mouse,
 * readonly, dump and keys. --dump ROWSxCOLUMNS needs no terminal: the files are read to their
 * end, --keys are pressed (<Wait>: until no job runs and no view has more to do), and the
 * screen is written to standard output. --dump saves no state.
 *
 * Environment, read in app*.c and term.c only:
 *	NO_COLOR         not empty: no colours (unless --color always)
 *	TERM, LC_ALL …   as usual
 *	STY, TMUX        whether GNU screen must pass copied text on
 *	WERKBANK_GLYPHS  ascii, plain or full; overrides locale and terminal
 *	WERKBANK_NOW     unix seconds: a fixed clock (for tests)
 *	XDG_CONFIG_HOME, XDG_STATE_HOME, HOME	location of key map, themes and saved state:
 *			 werkbank-workbench(5)
 */
#ifndef WERKBANK_TUI_APP_APP_H
#define WERKBANK_TUI_APP_APP_H

#include "share/base/err.h"
#include "share/conf/conf.h"

/*
 * Run the workbench until the user leaves. The run itself is not affected. ERR_UNAVAILABLE: no
 * terminal, or a build without curses; ERR_NOINPUT: the named run does not exist. After SIGTERM,
 * SIGHUP or SIGINT the terminal is restored and the signal raised again, so the call does not
 * return.
 */
int app_run(const struct conf *c, struct err *e);

#endif
