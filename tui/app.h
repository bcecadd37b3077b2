/*
 * app.h - the workbench: the loop between keys, views and the terminal.
 *
 *	app_run(&conf, e)	"werkbank watch [RUN]", and "werkbank" alone on a terminal
 *
 * One turn of the loop: wait for a key or the clock, key → action (keys.h) →
 * view->act() → reaction bits; view->update() looks whether the run's files
 * have grown; the screen is drawn at most once.
 *
 * Of the options it reads workspace, run (or the first argument), color, dump
 * and keys. With --dump ROWSxCOLUMNS no terminal is needed: the files are read
 * to their end, --keys are pressed, the screen is written to standard output.
 *
 * Environment, read here and nowhere below:
 *	NO_COLOR         not empty: no colours (unless --color always)
 *	TERM, LC_ALL …   as everywhere
 *	WERKBANK_GLYPHS  ascii, plain or full instead of what locale and terminal say
 *	WERKBANK_NOW     unix seconds: the clock stands still there (for tests)
 */
#ifndef WERKBANK_TUI_APP_H
#define WERKBANK_TUI_APP_H

#include "share/base/conf.h"
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
