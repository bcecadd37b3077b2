/*
 * translate_console.h - the state of the translate console, without its screen.
 *
 *	console_open(&c, workspace, e)
 *	console_set_checkpoint(&c, 0, run, step, e)	choose the checkpoint of a side
 *	edit_key(&c.input, key) … console_text_changed(&c, now)
 *	console_update(&c, now)				each turn
 *	… console_shown_translation(&c, side) …
 *	console_close(&c)
 *
 * One or two sides translate the same text, each with its own service. Constraints: a
 * translation may have to start with a prefix, to contain terms, and to avoid others. The
 * cursor is on a token of the selected side; the service is asked for alternatives to it.
 */
#ifndef WERKBANK_TUI_TRANSLATE_TRANSLATE_CONSOLE_H
#define WERKBANK_TUI_TRANSLATE_TRANSLATE_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "tui/term/edit.h"
#include "tui/term/list_widget.h"
#include "tui/translate/document.h"
#include "tui/translate/service.h"
#include "tui/translate/translate_file.h"

#define CONSOLE_SIDES	     2
#define CONSOLE_TERMS	     8 /* terms of each kind */
#define CONSOLE_ALTERNATIVES 12
#define CONSOLE_DEBOUNCE_S   0.12 /* delay between a key and the request */

enum console_pane {
	CONSOLE_INPUT,
	CONSOLE_PANE_TEXT, /* the translation, while it is edited */
	CONSOLE_WORDS,
	CONSOLE_N_BESTS,
	CONSOLE_PANE_ALTERNATIVES,
	CONSOLE_PANE_MAP, /* from here the panes of enum console_extra */
	CONSOLE_PANE_EARLIER,
	CONSOLE_PANE_TERMS,
	CONSOLE_PANES
};

/* Panes that are shown if there is room, or in the place of words and lists if the user wants so. */
enum console_extra {
	EXTRA_MAP,     /* of attention */
	EXTRA_EARLIER, /* the history of sentences */
	EXTRA_TERMS,   /* of the glossary */
	CONSOLE_EXTRAS
};

enum console_showing { EXTRA_IF_ROOM, EXTRA_HIDDEN, EXTRA_SHOWN };

/* What the translator of console.file does. */
enum console_file_task {
	CONSOLE_TRANSLATES_FILE,
	CONSOLE_LISTS_SENTENCES, /* of a document, which is opened then */
	CONSOLE_WRITES_DOCUMENT	 /* with the chosen translations */
};

/* A translation that the user edits: translate_revision.c. */
struct console_revision {
	struct edit edit;
	bool is_edited;	    /* its text is the translation of the selected side, now and later */
	bool waits;	    /* the words behind the cursor will follow the next answer */
	int64_t before;	    /* id of the answer before that one */
	size_t first_bytes; /* of the text before the last change */
};

struct console_side {
	char *run;    /* owned; NULL: side not in use */
	int64_t step; /* step of the checkpoint; -1: none */
	bool is_best; /* it was the best of its run when chosen */
	int beam;     /* settings of the search; 0: that of the model */
	bool sets_alpha;
	double alpha;		 /* without sets_alpha: that of the model */
	struct service *service; /* owned; NULL: none */
	/* a newer checkpoint that is loading and will replace service; NULL: none */
	struct service *next;
	int64_t next_step;
	int64_t failed_step; /* newer checkpoint that failed to load; -1: none */
};

struct console_terms {
	char *terms[CONSOLE_TERMS];
	size_t n;
}; /* owned */

/* The state before a change of the user: translate_undo.h. */
struct console_step {
	const struct document *document; /* borrowed, to compare */
	size_t place;			 /* its sentence on the screen */
	size_t sentence;		 /* its sentence that may have been stored, */
	char *chosen; /* owned: with this translation, and quality; NULL: it was not */
	double quality;
	char *text;		     /* owned: of the input, as the next two; NULL: an empty step */
	char *prefix, *revision;     /* NULL: there was none */
	size_t text_at, revision_at; /* cursors */
	int choice, token;
	struct console_terms force, forbid;
	struct glossary glossary; /* if has_glossary */
	bool has_glossary;
};

#define CONSOLE_UNDO 64
struct console_undo {
	struct console_step steps[CONSOLE_UNDO]; /* the latest last */
	size_t n, at; /* steps before `at` can be undone, the others redone */
	int last_key; /* kind of the key of the last step; 0: none */
};

struct console {
	char *workspace;     /* owned */
	const char *program; /* translator program; NULL: this werkbank. Borrowed */
	struct edit input;
	struct console_side sides[CONSOLE_SIDES];
	int side;     /* the selected side */
	bool follow;  /* side 0 follows the newest checkpoint of its run */
	char *prefix; /* owned: prefix of translations; NULL: none */
	struct console_terms force, forbid;
	struct glossary glossary;
	enum console_pane focus;
	int choice;	   /* index of the translation on the screen */
	bool shows_pieces; /* tokens are the model's pieces, not whole words */
	int token;	   /* cursor: index of a token, or the number of tokens: the end */
	int other;	   /* index of the chosen alternative */
	struct console_revision revision;
	struct console_undo undo;
	enum console_showing wanted[CONSOLE_EXTRAS];
	bool has_extra[CONSOLE_EXTRAS]; /* on the last screen */
	bool extra_alone;		/* one of them was in the place of words and lists */
	struct list_widget earlier;	/* the history of input, the latest sentence first */
	char *example;		  /* owned: listed after them while there is no text; NULL: none */
	struct list_widget terms; /* console_find_terms() */
	int layer, head;	  /* of the map, from 1; 0: the last layer, the mean of all heads */
	bool asked_map;		  /* the last request was for maps too */
	char *asked_text;	  /* owned: text of the last request; NULL: none */
	bool wants_alternatives;  /* alternatives at the cursor were requested */
	struct translate_file *file; /* owned; NULL: none */
	enum console_file_task file_task;
	char *document_out; /* owned: output of the document whose sentences are listed; NULL */
	struct document *document; /* owned: translated sentence by sentence; NULL: none */
	int64_t ahead;		   /* request for a draft of one of its sentences; 0: none */
	size_t ahead_at;	   /* which one */
	double checked_at;	   /* when the newest checkpoint was looked up */
	int slow_seconds;	   /* seconds without an answer */
	char trouble[300];	   /* error of the last checkpoint that failed to load; "" */
};

/* c must be zeroed. ERR_NOMEM. console_close() ends all child processes. */
int console_open(struct console *c, const char *workspace, struct err *e);
void console_close(struct console *c);

/* A translator with a checkpoint, as a service. NULL: ERR_UNAVAILABLE, ERR_NOMEM. */
struct service *console_start_service(const struct console *c, const char *run, int64_t step,
				      struct err *e);
/* Set the checkpoint of a side (run NULL: close the side). ERR_UNAVAILABLE, ERR_NOMEM. */
int console_set_checkpoint(struct console *c, int side, const char *run, int64_t step,
			   struct err *e);

/* A request for a side with the settings and constraints of the console, which it borrows. */
void console_fill_request(const struct console *c, int side, struct service_request *r);
/* Text, prefix or terms changed: send a request at time when (later than now while typing). */
int console_ask(struct console *c, double when, struct err *e);
/* The text changed: reset cursor and prefix, and ask after the debounce delay. */
int console_text_changed(struct console *c, double now, struct err *e);

/*
 * Set the search of the selected side from words "beam N alpha X"; what is missing becomes the model's.
 * ERR_USAGE: other words, or values out of range.
 */
int console_set_search(struct console *c, const char *words, double now, struct err *e);
/* The settings of a side that differ from the model's, as such words; "": none. */
void console_describe_search(const struct console_side *s, char *out, size_t size);

void console_free_terms(struct console_terms *t);

/* Select a side. */
void console_select_side(struct console *c, int side);
/* Choose a translation, token or alternative; indices are clamped. */
void console_choose(struct console *c, int choice);
void console_move(struct console *c, int token, double now);
/* Go to the next (by 1) or previous (-1) of several sentences. */
void console_move_part(struct console *c, int by, double now);
/* Show the model's pieces, or whole words again; the cursor stays where it is. */
void console_toggle_pieces(struct console *c, double now);
/* Request the alternatives at the cursor. */
int console_ask_alternatives(struct console *c, double now, struct err *e);
/* Use the chosen alternative: its prefix becomes the prefix. */
int console_use_alternative(struct console *c, double now, struct err *e);
/* Make the tokens before the cursor the prefix; at the start: no prefix. */
int console_fix_prefix(struct console *c, double now, struct err *e);
/* Remove the prefix and all terms. */
int console_clear_constraints(struct console *c, double now, struct err *e);
/* Add a term. ERR_USAGE: duplicate, or too many. */
int console_add_term(struct console *c, struct console_terms *to, const char *term, double now,
		     struct err *e);

/* ---- translate_revision.c: the user edits the translation, and the rest follows ---- */

/* Edit the shown translation, with the cursor on its first word. Does nothing if there is none. */
int console_start_revision(struct console *c, struct err *e);
/*
 * A key of the edited translation. When the complete words before the cursor change, they become the
 * prefix, and the words behind the cursor are translated again. Enter keeps the text, Esc drops it.
 */
enum edit_result console_revision_key(struct console *c, int key, double now, struct err *e);
enum edit_result console_revision_paste(struct console *c, const char *text, double now,
					struct err *e);
/* Make text the edited translation without taking the keys. */
int console_show_revision(struct console *c, const char *text, struct err *e);
/* Let the words behind the cursor follow a new answer; true: redraw. */
bool console_update_revision(struct console *c);
/* Forget the edited text; the prefix stays. */
void console_drop_revision(struct console *c);
/* The text of the translation that the user chose or edited; NULL: none. */
const char *console_chosen_text(const struct console *c);

/* Make these words the prefix ("": none) and ask. */
int console_set_prefix(struct console *c, const char *prefix, double when, struct err *e);

/* Show a pane and give it the keys, or hide it if it has them. */
void console_toggle_extra(struct console *c, enum console_extra extra);
/* The map of the next layer, or of the next head; after the last head: the mean of all heads. */
int console_next_layer(struct console *c, double now, struct err *e);
int console_next_head(struct console *c, double now, struct err *e);

/* Take a term "source = target", or else all terms of the file with this name, and ask again. */
int console_add_glossary(struct console *c, const char *text, double now, struct err *e);
/* Indices of the terms of the glossary whose source has its words in the text of the last request. */
size_t console_find_terms(const struct console *c, size_t found[GLOSSARY_OF_A_TEXT]);

/* Is there no text, document, file or second side, and no other list that the user wants? Then the history is shown alone. */
bool console_is_empty(const struct console *c);
/* The sentences of the list of earlier ones: the history, and the example while there is no text. */
size_t console_earlier_count(const struct console *c);
/* Sentence i of them, the latest first; NULL: there is none. */
const char *console_earlier_at(const struct console *c, size_t i);
/* The chosen one. */
const char *console_earlier_sentence(const struct console *c);
/* Move in the history or in the terms, if one of them has the keys; false: neither. */
bool console_move_list(struct console *c, enum action action);

/* Update services, newest checkpoint and file; true: redraw. */
bool console_update(struct console *c, double now);
/* Seconds until the next update without input; NaN: none needed. */
double console_due(const struct console *c, double now);
/* Whether an answer is pending or a model is loading. */
bool console_busy(const struct console *c);
size_t console_fds(const struct console *c, int *fds, size_t n);

/* Translate a file with the checkpoint of side 0. */
int console_start_file(struct console *c, const char *in, const char *out, double now,
		       struct err *e);

/*
 * List the sentences of a document that is to be written to `out`, or write the open document with the chosen translations.
 * document_actions.c goes on when c->file has ended.
 */
int console_list_sentences(struct console *c, const char *in, const char *out, double now,
			   struct err *e);
int console_write_document(struct console *c, double now, struct err *e);

/* Forget the drafts of the document, which another translator or glossary made. */
void console_forget_drafts(struct console *c);

/* Translate the sentence of the document that is at the screen; its earlier choice is shown too. */
int console_show_sentence(struct console *c, double now, struct err *e);

/* The answer of a side, and its translation on the screen; NULL: none. */
const struct service_answer *console_answer(const struct console *c, int side);
const struct service_translation *console_shown_translation(const struct console *c, int side);
/* The alternatives at the cursor; NULL: not received (yet). */
const struct service_answer *console_alternatives(const struct console *c);
/* Whether a side shows the answer to an older text. */
bool console_is_outdated(const struct console *c, int side);

/*
 * Append the text before word n: the beginning of words->text that has these words, or the words with
 * blanks between them if the text differs by more than blanks. words: the member `words` of an answer.
 */
void console_text_before(const struct service_translation *words, size_t n, struct buf *out);

#endif
