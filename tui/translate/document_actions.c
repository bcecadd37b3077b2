/* document_actions.c - opens, accepts, moves and closes; see document_actions.h. */
#include "tui/translate/document_actions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "tui/term/reaction.h"
#include "tui/translate/translate_command.h"
#include "tui/translate/translate_undo.h"

/* Does the translator write the open document now? */
static bool is_written_now(const struct console *c)
{
	return c->document && c->file && c->file_task == CONSOLE_WRITES_DOCUMENT &&
	       translate_file_state(c->file)->running;
}

static void close_document(struct console *c)
{
	console_forget_drafts(c);
	console_undo_clear(c);
	document_free(c->document);
	c->document = NULL;
}

/* Open a document, or close the open one, which OUT.part keeps. */
static void toggle_document(struct console *c, struct app_context *w, int question)
{
	if (is_written_now(c)) {
		context_notify(w, STYLE_WARN, "%s is being written", c->document->out);
	} else if (c->document) {
		context_notify(w, STYLE_NORMAL, "closed: %s has %zu of %zu lines; D resumes",
			       c->document->part, c->document->n_chosen, c->document->n);
		close_document(c);
	} else if (w->readonly) {
		context_notify(w, STYLE_WARN, "--readonly: no file is translated");
	} else {
		context_ask(
			w, &(struct question){ .kind = QUESTION_LINE,
					       .id = question,
					       .completes_paths = true,
					       .title = "file to translate sentence by sentence" });
	}
}

static void show_document_line(struct console *c, struct app_context *w)
{
	struct err e = { 0 };

	if (console_show_sentence(c, clock_mono_s(), &e))
		context_notify(w, STYLE_BAD, "%s", e.text);
	else if (strlen(c->document->sources[c->document->at]) > EDIT_MAX)
		context_notify(w, STYLE_WARN, "line %zu is too long; its end is not shown",
			       c->document->at + 1);
}

static void close_written(struct console *c, struct app_context *w)
{
	context_notify(w, STYLE_GOOD, "%s is written: %zu sentences", c->document->out,
		       c->document->n);
	close_document(c);
}

/* All lines are translated: write the file. */
static void finish_document(struct console *c, struct app_context *w)
{
	struct err e = { 0 };

	if (c->document->has_markup) {
		if (console_write_document(c, clock_mono_s(), &e))
			context_notify(w, STYLE_BAD, "%s", e.text);
	} else if (document_finish(c->document, &e)) {
		context_notify(w, STYLE_BAD, "%s", e.text);
	} else {
		close_written(c, w);
	}
}

/* Open a text, or a document by its sentences. */
static void open_console_document(struct console *c, struct app_context *w, const char *in,
				  const char *out, const char *sentences)
{
	struct err e = { 0 };
	const struct service *s = c->sides[0].service;
	const struct service_model *m = s ? service_model(s) : NULL;
	struct document *d = document_open(in, out, sentences,
					   !m		    ? ""
					   : m->keeps_lines ? NULL
							    : m->source_language,
					   m ? m->tags : "", &e);

	if (!d) {
		context_notify(w, STYLE_BAD, "%s", e.text);
		return;
	}
	close_document(c);
	c->document = d;
	if (document_is_complete(d)) {
		finish_document(c, w);
		return;
	}
	c->focus = CONSOLE_WORDS;
	show_document_line(c, w);
}

void document_start(struct console *c, struct app_context *w, const char *in, const char *out)
{
	struct err e = { 0 };

	if (!translate_is_document(in))
		open_console_document(c, w, in, out, NULL);
	else if (console_list_sentences(c, in, out, clock_mono_s(), &e))
		context_notify(w, STYLE_BAD, "%s", e.text);
}

bool document_update(struct console *c, struct app_context *w)
{
	struct translate_file *file = c->file;
	const enum console_file_task task = c->file_task;
	const struct translate_file_state *f = file ? translate_file_state(file) : NULL;

	if (!f || f->running || task == CONSOLE_TRANSLATES_FILE)
		return false;
	c->file = NULL;
	c->file_task = CONSOLE_TRANSLATES_FILE;
	if (f->failed) {
		context_notify(w, STYLE_BAD, "%s: %s", f->in, f->trouble);
	} else if (task == CONSOLE_LISTS_SENTENCES) {
		open_console_document(c, w, f->in, c->document_out, f->out);
		unlink(f->out);
	} else {
		document_remove_part(c->document);
		close_written(c, w);
	}
	translate_file_free(file);
	return true;
}

/* Store the translation on the screen and show the next line. */
static void accept_document_line(struct console *c, struct app_context *w)
{
	const struct service_translation *t = console_shown_translation(c, c->side);
	const char *text = console_chosen_text(c);
	struct err e = { 0 };

	if (!text || c->revision.waits ||
	    (!c->revision.is_edited && console_is_outdated(c, c->side)))
		context_notify(w, STYLE_WARN, "the translation is still being computed");
	else if (!*text && !document_is_blank(c->document, c->document->at))
		context_notify(w, STYLE_WARN, "the translation is empty: e edits it");
	else if (document_choose(c->document, text, c->revision.is_edited ? NAN : t->quality, &e))
		context_notify(w, STYLE_BAD, "%s", e.text);
	else if (document_is_complete(c->document))
		finish_document(c, w);
	else
		show_document_line(c, w);
}

const char *document_unsaved(const struct console *c)
{
	const struct document *d = c->document;
	const char *stored = d && d->at < d->n_chosen ? d->chosen[d->at] : NULL;

	if (!d || !c->revision.is_edited ||
	    (stored && !strcmp(stored, edit_text(&c->revision.edit))))
		return NULL;
	return "The edited sentence of the document is not stored: A stores it.";
}

unsigned document_act(struct console *c, struct app_context *w, enum action action, int question)
{
	switch (action) {
	case ACTION_DOCUMENT:
		toggle_document(c, w, question);
		return REACT_REDRAW;
	case ACTION_UNDO:
	case ACTION_REDO:
		if (!is_written_now(c))
			return REACT_UNKNOWN;
		break;
	case ACTION_DOCUMENT_ACCEPT:
	case ACTION_DOCUMENT_NEXT:
	case ACTION_DOCUMENT_PREV:
		break;
	default:
		return REACT_UNKNOWN;
	}
	if (!c->document && action == ACTION_DOCUMENT_ACCEPT) {
		context_notify(w, STYLE_WARN, "no document is open");
	} else if (!c->document) {
		console_move_part(c, action == ACTION_DOCUMENT_NEXT ? 1 : -1, clock_mono_s());
	} else if (is_written_now(c)) {
		context_notify(w, STYLE_WARN, "%s is being written", c->document->out);
	} else if (action == ACTION_DOCUMENT_ACCEPT) {
		accept_document_line(c, w);
	} else {
		document_move(c->document, action == ACTION_DOCUMENT_NEXT ? 1 : -1);
		show_document_line(c, w);
	}
	return REACT_REDRAW | REACT_SOON;
}
