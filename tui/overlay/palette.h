/*
 * palette.h - the command palette: everything the workbench can do, found while one types.
 *
 *	struct palette p = { 0 };
 *	palette_open(&p, w, e);
 *	edit_key(&p.line, key); palette_update(&p, w);
 *	… p.rows[i], i < p.n_rows: best first …
 *	palette_close(&p);
 *
 * The items are the actions of actions.def, the commands of commands.def, and the runs and corpora
 * of the workspace; a number is a step of the run. Each blank-separated part of the line must fit the name of an item (fuzzy.h)
 * or occur in its help. A line that begins with a command and a blank is a command line: then the
 * rows complete its last word, as the shell's completion does.
 */
#ifndef WERKBANK_TUI_OVERLAY_PALETTE_H
#define WERKBANK_TUI_OVERLAY_PALETTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/conf/conf.h"
#include "tui/context/app_context.h"
#include "tui/term/edit.h"
#include "tui/term/keys.h"

#define PALETTE_NAME   128 /* bytes of a name; longer names are left out */
#define PALETTE_WORDS  18  /* words of a command line */
#define PALETTE_RECENT 8   /* recent items shown first */

enum palette_kind {
	PALETTE_ACTION,	 /* carry out an action */
	PALETTE_COMMAND, /* a command: begin its line */
	PALETTE_LINE,	 /* a whole command line, used before */
	PALETTE_RUN,	 /* show a run */
	PALETTE_CORPUS,	 /* show a corpus */
	PALETTE_STEP,	 /* show a step of the run */
	PALETTE_WORD,	 /* complete the last word of a command line */
};

struct palette_row {
	enum palette_kind kind;
	enum action action;	 /* of PALETTE_ACTION */
	char name[PALETTE_NAME]; /* what is searched, and inserted */
	char group[16];		 /* shown before the name: "run", "corpus", a view; "" */
	char keys[24];		 /* first key of an action, as people write it; "" */
	const char *help;	 /* borrowed from the tables; "" */
	uint64_t marks;		 /* bytes of the name that the typed letters matched */
	int score;
	bool is_recent;
};

struct palette {
	struct edit line;
	struct palette_row *items, *rows; /* owned; rows fit the line, best first */
	size_t n_items, cap_items, n_rows, cap_rows;
	struct conf_command_row command; /* of a command line; name NULL: no command line */
	size_t word_at;			 /* byte of the line where its last word starts */
};

/* Fill an all-zero palette for the view in front. ERR_NOMEM. */
int palette_open(struct palette *p, const struct app_context *w, struct err *e);
void palette_close(struct palette *p);

/* Find the rows that fit the line. ERR_NOMEM: fewer rows. */
int palette_update(struct palette *p, const struct app_context *w, struct err *e);

/* Replace the last word of the line by a row's name and a blank; the line by a command's name. */
int palette_complete(struct palette *p, const struct palette_row *row, struct err *e);

/* The step that a row of kind PALETTE_STEP names. */
int64_t palette_row_step(const struct palette_row *row);

/* Store what was used, so that it comes first next time; failures are ignored. */
void palette_remember(const struct app_context *w, const struct palette_row *row);

/*
 * The words of a command line, ending with NULL, without quotes; free with jobs_free_words().
 * NULL: ERR_USAGE (unclosed quote, unknown command, too many words), ERR_NOMEM.
 */
char **palette_words(const char *line, struct err *e);

/* The rows for the last word of a command line, unsorted; palette_update() calls it. */
int palette_add_words(struct palette *p, const struct app_context *w, struct err *e);

#endif
