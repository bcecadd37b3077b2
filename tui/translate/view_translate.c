/*
 * view_translate.c - the tab "translate": keys, actions and questions of the console.
 *
 * translate_console.c sends requests, translate_console_panes.c draws; see translate_view.h for the
 * other files.
 */
#include "tui/translate/translate_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "tui/context/line_history.h"
#include "tui/run/run_history.h"
#include "tui/term/draw.h"
#include "tui/translate/document_actions.h"
#include "tui/translate/translate_command.h"
#include "tui/translate/translate_undo.h"

/* Keys of the line editor */
#define UNDO_KEY 0x1F /* Ctrl-_ */
#define CTRL_N	 0x0E
#define CTRL_P	 0x10

void translate_notify_failure(struct app_context *w, int rc, const struct err *e)
{
	if (rc)
		context_notify(w, STYLE_BAD, "%s", e->text);
}

static int translate_open(void *state, struct app_context *w, struct err *e)
{
	struct translate_view *v = state;

	v->checked_at = -INFINITY;
	if (console_open(&v->console, w->workspace, e))
		return e->code;
	v->sentences = context_state_path(w, "sentences");
	if (v->sentences)
		line_history_read(&v->console.input, v->sentences);
	return 0;
}

/*
 * Make a text the latest one of the history, in the workbench and on disk, unless it belongs to a document. Texts are
 * remembered when the user leaves them: by Enter or Esc, when the field is empty again, for another text, at the end.
 */
static int remember_text(struct translate_view *v, const char *text, struct err *e)
{
	struct edit *d = &v->console.input;
	const char *last = d->n_history ? d->history[d->n_history - 1] : "";
	const bool is_new = strcmp(last, text) != 0;

	if (!*text || v->console.document)
		return 0;
	if (edit_remember(d, text, e))
		return e->code;
	return is_new && v->sentences && v->saves_texts ? line_history_add(v->sentences, text, e)
							: 0;
}

static int remember_draft(struct translate_view *v, struct err *e)
{
	const int rc = remember_text(v, v->draft ? v->draft : "", e);

	free(v->draft);
	v->draft = NULL;
	return rc;
}

/* The text changed: parts of a text that is deleted again do not replace it as the draft. */
static int note_draft(struct translate_view *v, struct err *e)
{
	const char *text = edit_text(&v->console.input);

	if (!*text)
		return remember_draft(v, e);
	if (v->draft && strstr(v->draft, text))
		return 0;
	free(v->draft);
	v->draft = mem_strdup(text, e);
	return v->draft ? 0 : e->code;
}

static void translate_close(void *state)
{
	struct translate_view *v = state;
	struct err ignored; /* the workbench ends: nobody would see it */

	remember_draft(v, &ignored);
	console_close(&v->console);
	free(v->run);
	free(v->file);
	free(v->sentences);
	free(v->draft);
	free(v->other);
}

/* ---- updates ---- */

/* The example is the first recorded sample of the run. */
static void update_example(struct console *c, const struct app_context *w)
{
	const char *text = w->history && w->history->n_samples ? w->history->samples[0].source : "";
	struct err ignored; /* without memory there is no example */

	if (!text || !strcmp(text, c->example ? c->example : ""))
		return;
	free(c->example);
	c->example = *text ? mem_strdup(text, &ignored) : NULL;
}

static unsigned translate_update(void *state, struct app_context *w)
{
	struct translate_view *v = state;
	double now = clock_mono_s(), due;
	unsigned reaction;
	int fds[8];
	size_t n;

	v->saves_texts = w->saves_sentences;
	translate_start(v, w, now);
	update_example(&v->console, w);
	reaction = console_update(&v->console, now) ? REACT_REDRAW : REACT_NOTHING;
	if (document_update(&v->console, w))
		reaction |= REACT_REDRAW | REACT_AGAIN;
	n = console_fds(&v->console, fds, ARRAY_LEN(fds));
	for (size_t i = 0; i < n; i++)
		context_wake_on_fd(w, fds[i]);
	due = console_due(&v->console, now);
	if (due <= 0)
		reaction |= REACT_AGAIN;
	if (console_busy(&v->console) || due < 0.5)
		reaction |= REACT_SOON;
	return reaction;
}

/* ---- typing ---- */

/* The text that stands there is one of the history from now on. */
static void leave_text(struct translate_view *v, struct app_context *w)
{
	struct err e = { 0 };

	free(v->draft);
	v->draft = NULL;
	translate_notify_failure(w, remember_text(v, edit_text(&v->console.input), &e), &e);
}

static bool translate_typing(void *state)
{
	struct translate_view *v = state;

	return v->console.focus == CONSOLE_INPUT || v->console.focus == CONSOLE_PANE_TEXT;
}

static const char *translate_unsaved(const void *state)
{
	return document_unsaved(&((const struct translate_view *)state)->console);
}

static void translate_start_typing(void *state)
{
	struct translate_view *v = state;

	v->console.focus = CONSOLE_INPUT;
}

/* Translate a sentence that was not typed now; the keys are on its words. */
static void use_sentence(struct translate_view *v, struct app_context *w, const char *text)
{
	struct console *c = &v->console;
	struct err e = { 0 };
	char *copy = mem_strdup(text, &e); /* text may be of the history, which changes */

	if (!copy) {
		translate_notify_failure(w, e.code, &e);
		return;
	}
	leave_text(v, w);
	if (c->document)
		document_act(c, w, ACTION_DOCUMENT, ASK_DOCUMENT); /* closes it */
	c->focus = CONSOLE_WORDS;
	if (!edit_set(&c->input, copy, &e))
		console_text_changed(c, clock_mono_s(), &e);
	free(copy);
	translate_notify_failure(w, e.code, &e);
}

/* Without a text: translate the marked sentence, or use the other run's checkpoint; false: neither. */
static bool use_offer(struct translate_view *v, struct app_context *w)
{
	struct console *c = &v->console;

	if (!console_is_empty(c))
		return false;
	if (!c->sides[0].run && v->other)
		translate_use_choice(v, w, 0, v->other);
	else if (c->sides[0].run && console_earlier_sentence(c))
		use_sentence(v, w, console_earlier_sentence(c));
	else
		return false;
	return true;
}

static void translate_receive(void *state, struct app_context *w, const char *text)
{
	use_sentence(state, w, text);
}

/* Undo or redo a change, unless the document is being written. */
static unsigned undo_change(struct translate_view *v, struct app_context *w, enum action action)
{
	const unsigned reaction = document_act(&v->console, w, action, ASK_DOCUMENT);
	const int by = action == ACTION_UNDO ? -1 : 1;
	struct err e = { 0 };
	int status;

	if (reaction != REACT_UNKNOWN)
		return reaction;
	status = console_undo_go(&v->console, by, clock_mono_s(), &e);
	if (status == 0)
		context_notify(w, STYLE_NORMAL, "no change to %s", by < 0 ? "undo" : "redo");
	translate_notify_failure(w, MIN(status, 0), &e);
	return REACT_REDRAW | REACT_SOON;
}

static unsigned handle_key(struct translate_view *v, struct app_context *w, int key)
{
	struct console *c = &v->console;
	struct err e = { 0 };

	if (c->focus == CONSOLE_PANE_TEXT) {
		bool known = console_revision_key(c, key, clock_mono_s(), &e) != EDIT_IGNORED;

		translate_notify_failure(w, e.code, &e);
		return known ? REACT_REDRAW | REACT_SOON : REACT_UNKNOWN;
	}
	if (v->draft && (key == KEY_NAME_UP || key == CTRL_P)) {
		leave_text(v, w); /* the line above it in the history is the one before */
		edit_key(&c->input, key);
	} else if (v->draft && (key == KEY_NAME_DOWN || key == CTRL_N)) {
		leave_text(v, w);
	}
	switch (edit_key(&c->input, key)) {
	case EDIT_MOVED:
		return REACT_REDRAW;
	case EDIT_CHANGED:
		translate_notify_failure(w, console_text_changed(c, clock_mono_s(), &e), &e);
		if (key != KEY_NAME_UP && key != KEY_NAME_DOWN && key != CTRL_P && key != CTRL_N)
			translate_notify_failure(w, note_draft(v, &e), &e);
		return REACT_REDRAW | REACT_SOON;
	case EDIT_DONE:
		if (use_offer(v, w))
			return REACT_REDRAW | REACT_SOON;
		leave_text(v, w);
		return REACT_REDRAW;
	case EDIT_LEFT:
		leave_text(v, w);
		c->focus = console_is_empty(c) ? CONSOLE_PANE_EARLIER : CONSOLE_WORDS;
		return REACT_REDRAW;
	case EDIT_IGNORED:
		break;
	}
	return REACT_UNKNOWN;
}

static unsigned translate_key(void *state, struct app_context *w, int key)
{
	struct translate_view *v = state;
	struct console_step before;
	unsigned reaction;

	if (key == UNDO_KEY) /* the editors of text and translation have one history */
		return undo_change(v, w, ACTION_UNDO);
	console_undo_look(&v->console, false, &before);
	reaction = handle_key(v, w, key);
	console_undo_keep(&v->console, &before, key);
	return reaction;
}

static unsigned paste_text(struct translate_view *v, struct app_context *w, const char *text)
{
	struct err e = { 0 };
	bool is_cut;

	if (v->console.focus == CONSOLE_PANE_TEXT) {
		console_revision_paste(&v->console, text, clock_mono_s(), &e);
		translate_notify_failure(w, e.code, &e);
		return REACT_REDRAW | REACT_SOON;
	}
	v->console.focus = CONSOLE_INPUT;
	is_cut = strlen(edit_text(&v->console.input)) + strlen(text) > EDIT_MAX;
	if (edit_paste(&v->console.input, text) != EDIT_CHANGED) {
		context_notify(w, STYLE_WARN, "not pasted: a text has at most 65,536 bytes");
		return REACT_REDRAW;
	}
	if (is_cut &&
	    strlen(edit_text(&v->console.input)) > EDIT_MAX - 4) /* a character has up to 4 bytes */
		context_notify(w, STYLE_WARN,
			       "the end was not pasted: a text has at most 65,536 bytes");
	if (console_text_changed(&v->console, clock_mono_s(), &e) || note_draft(v, &e))
		translate_notify_failure(w, e.code, &e);
	return REACT_REDRAW;
}

static unsigned translate_paste(void *state, struct app_context *w, const char *text)
{
	struct translate_view *v = state;
	struct console_step before;
	unsigned reaction;

	console_undo_look(&v->console, false, &before);
	reaction = paste_text(v, w, text);
	console_undo_keep(&v->console, &before, 0);
	return reaction;
}

/* ---- actions ---- */

static unsigned ask_line(struct app_context *w, int id, const char *title, const char *text)
{
	context_ask(w, &(struct question){
			       .kind = QUESTION_LINE, .id = id, .title = title, .text = text });
	return REACT_REDRAW;
}

static unsigned ask_path(struct app_context *w, int id, const char *title, const char *text)
{
	context_ask(w, &(struct question){ .kind = QUESTION_LINE,
					   .id = id,
					   .title = title,
					   .text = text,
					   .completes_paths = true });
	return REACT_REDRAW;
}

static void copy_translation(const struct console *c, struct app_context *w)
{
	const char *text = console_chosen_text(c);

	if (text)
		context_copy_text(w, text);
	else
		context_notify(w, STYLE_WARN, "there is no translation to copy yet");
}

/* Write the text and all its translations to a file. */
static void export_translations(const struct console *c, struct app_context *w)
{
	struct buf out = { 0 };

	for (int i = 0; i < CONSOLE_SIDES; i++) {
		const struct service_answer *a = console_answer(c, i);

		if (!a || a->error)
			continue;
		buf_printf(&out, "# %s %lld\n%s\n", c->sides[i].run, (long long)c->sides[i].step,
			   c->asked_text ? c->asked_text : "");
		for (size_t k = 0; k < a->n; k++)
			buf_printf(&out, "%.4f\t%s\n", a->translations[k].score,
				   a->translations[k].text);
	}
	if (out.len && !out.failed)
		context_write_file(w, "translations.txt", buf_text(&out));
	else
		context_notify(w, STYLE_WARN, "there is no translation to write yet");
	buf_free(&out);
}

static bool is_pane_shown(const struct console *c, enum console_pane pane)
{
	if (pane >= CONSOLE_PANE_MAP)
		return c->has_extra[pane - CONSOLE_PANE_MAP];
	return pane == CONSOLE_INPUT || (pane != CONSOLE_PANE_TEXT && !c->extra_alone);
}

/* Tab moves the focus through the panes; with two sides, through the words of both. */
static void next_pane(struct console *c, int by)
{
	bool two = c->sides[1].run != NULL;

	if (two && c->focus == CONSOLE_WORDS && c->side == (by > 0 ? 0 : 1)) {
		console_select_side(c, !c->side);
		return;
	}
	do
		c->focus =
			(enum console_pane)(((int)c->focus + CONSOLE_PANES + by) % CONSOLE_PANES);
	while (!is_pane_shown(c, c->focus));
	if (two && c->focus == CONSOLE_WORDS)
		console_select_side(c, by > 0 ? 0 : 1);
}

void translate_move_row(struct console *c, int by)
{
	const struct service_answer *o = console_alternatives(c);

	if (c->focus == CONSOLE_PANE_MAP)
		console_move(c, c->token + by, clock_mono_s());
	else if (c->focus != CONSOLE_PANE_ALTERNATIVES)
		console_choose(c, c->choice + by);
	else if (o)
		c->other = MAX(MIN(c->other + by, (int)o->n_alternatives - 1), 0);
}

unsigned translate_accept(struct translate_view *v, struct app_context *w)
{
	struct console *c = &v->console;
	struct err e = { 0 };

	if (c->focus == CONSOLE_PANE_ALTERNATIVES)
		translate_notify_failure(w, console_use_alternative(c, clock_mono_s(), &e), &e);
	for (int i = 0; c->extra_alone && i < CONSOLE_EXTRAS; i++)
		if (c->wanted[i] == EXTRA_SHOWN)
			c->wanted[i] = EXTRA_IF_ROOM; /* words and lists are shown again */
	if (c->focus == CONSOLE_PANE_EARLIER && console_earlier_sentence(c))
		use_sentence(v, w, console_earlier_sentence(c));
	else
		c->focus = c->focus == CONSOLE_WORDS ? CONSOLE_PANE_ALTERNATIVES : CONSOLE_WORDS;
	return REACT_REDRAW | REACT_SOON;
}

static unsigned toggle_second_service(struct translate_view *v, struct app_context *w)
{
	struct err e = { 0 };

	if (!v->console.sides[1].run)
		return translate_ask_checkpoint(w, ASK_SECOND, "second checkpoint",
						&v->console.sides[0]);
	translate_notify_failure(w, console_set_checkpoint(&v->console, 1, NULL, -1, &e), &e);
	return REACT_REDRAW;
}

static unsigned ask_file(struct console *c, struct app_context *w)
{
	if (w->readonly) {
		context_notify(w, STYLE_WARN, "--readonly: no file is translated");
		return REACT_REDRAW;
	}
	if (c->file && translate_file_state(c->file)->running) {
		context_notify(w, STYLE_WARN, "%s is still being translated",
			       translate_file_state(c->file)->in);
		return REACT_REDRAW;
	}
	return ask_path(w, ASK_FILE, "file to translate: lines, or a document", NULL);
}

static unsigned ask_search(struct console *c, struct app_context *w)
{
	const struct console_side *s = &c->sides[c->side];
	const struct service_model *m = s->service ? service_model(s->service) : NULL;
	char now[64];

	console_describe_search(s, now, sizeof(now));
	if (!*now && m && !isnan(m->alpha))
		snprintf(now, sizeof(now), "beam %d alpha %g", m->beam, m->alpha);
	return ask_line(w, ASK_SEARCH,
			"beam N alpha X (length penalty) of this side; empty: the model's own",
			now);
}

static void restart_services(struct console *c)
{
	for (int i = 0; i < CONSOLE_SIDES; i++)
		if (c->sides[i].service)
			service_restart(c->sides[i].service);
	c->sides[0].failed_step = -1;
}

/* Handle actions of documents, and those that move the cursor or choose. */
static unsigned act_move(struct translate_view *v, struct app_context *w, enum action action)
{
	struct console *c = &v->console;
	const struct service_translation *t = console_shown_translation(c, c->side);
	double now = clock_mono_s();
	unsigned reaction = document_act(c, w, action, ASK_DOCUMENT);

	if (reaction != REACT_UNKNOWN)
		return reaction;
	if (console_move_list(c, action))
		return REACT_REDRAW;
	switch (action) {
	case ACTION_LEFT:
		console_move(c, c->token - 1, now);
		break;
	case ACTION_RIGHT:
		console_move(c, c->token + 1, now);
		break;
	case ACTION_HOME:
		console_move(c, 0, now);
		break;
	case ACTION_END:
		console_move(c, t ? (int)t->n : 0, now);
		break;
	case ACTION_UP:
		translate_move_row(c, -1);
		break;
	case ACTION_DOWN:
		translate_move_row(c, 1);
		break;
	case ACTION_PAGE_UP:
		translate_move_row(c, -CONSOLE_ALTERNATIVES);
		break;
	case ACTION_PAGE_DOWN:
		translate_move_row(c, CONSOLE_ALTERNATIVES);
		break;
	case ACTION_ACCEPT:
		return translate_accept(v, w);
	default:
		return REACT_UNKNOWN;
	}
	return REACT_REDRAW | REACT_SOON;
}

/* Ask for a term, a forced or a forbidden phrase. */
static unsigned ask_constraint(struct app_context *w, enum action action)
{
	if (action == ACTION_GLOSSARY)
		return ask_line(w, ASK_GLOSSARY,
				"a term: source = target; or a file of lines SOURCE TAB TARGET",
				NULL);
	return action == ACTION_FORCE
		       ? ask_line(w, ASK_FORCE, "words that the translation must contain", NULL)
		       : ask_line(w, ASK_FORBID, "words that the translation must not contain",
				  NULL);
}

static unsigned carry_out(struct translate_view *v, struct app_context *w, enum action action)
{
	struct console *c = &v->console;
	struct err e = { 0 };

	if (action == ACTION_ACCEPT && use_offer(v, w))
		return REACT_REDRAW | REACT_SOON;
	switch (action) {
	case ACTION_NEXT_PANE:
		next_pane(c, 1);
		break;
	case ACTION_PREV_PANE:
		next_pane(c, -1);
		break;
	case ACTION_TYPE:
		c->focus = CONSOLE_INPUT;
		break;
	case ACTION_EDIT_TRANSLATION:
		if (!console_chosen_text(c))
			context_notify(w, STYLE_WARN, "there is no translation to edit yet");
		translate_notify_failure(w, console_start_revision(c, &e), &e);
		break;
	case ACTION_FIX_PREFIX:
		translate_notify_failure(w, console_fix_prefix(c, clock_mono_s(), &e), &e);
		break;
	case ACTION_CLEAR:
		translate_notify_failure(w, console_clear_constraints(c, clock_mono_s(), &e), &e);
		break;
	case ACTION_GLOSSARY:
	case ACTION_FORCE:
	case ACTION_FORBID:
		return ask_constraint(w, action);
	case ACTION_CHECKPOINT:
		return translate_ask_checkpoint(w, ASK_CHECKPOINT, "checkpoint that translates",
						NULL);
	case ACTION_SECOND:
		return toggle_second_service(v, w);
	case ACTION_SEARCH:
		return ask_search(c, w);
	case ACTION_FOLLOW_NEWEST:
		c->follow = !c->follow;
		c->sides[0].failed_step = -1;
		break;
	case ACTION_COPY_TRANSLATION:
		copy_translation(c, w);
		break;
	case ACTION_EXPORT_TRANSLATIONS:
		export_translations(c, w);
		break;
	case ACTION_TRANSLATE_FILE:
		return ask_file(c, w);
	case ACTION_PIECES:
		console_toggle_pieces(c, clock_mono_s());
		break;
	case ACTION_MAP:
		console_toggle_extra(c, EXTRA_MAP);
		break;
	case ACTION_EARLIER:
		console_toggle_extra(c, EXTRA_EARLIER);
		break;
	case ACTION_TERMS:
		console_toggle_extra(c, EXTRA_TERMS);
		break;
	case ACTION_MAP_LAYER:
		translate_notify_failure(w, console_next_layer(c, clock_mono_s(), &e), &e);
		break;
	case ACTION_MAP_HEAD:
		translate_notify_failure(w, console_next_head(c, clock_mono_s(), &e), &e);
		break;
	case ACTION_RESTART:
		restart_services(c);
		break;
	default:
		return act_move(v, w, action);
	}
	return REACT_REDRAW | REACT_SOON;
}

static unsigned translate_act(void *state, struct app_context *w, enum action action)
{
	struct translate_view *v = state;
	struct console_step before;
	unsigned reaction;

	if (action == ACTION_UNDO || action == ACTION_REDO)
		return undo_change(v, w, action);
	console_undo_look(&v->console, false, &before);
	reaction = carry_out(v, w, action);
	console_undo_keep(&v->console, &before, 0);
	return reaction;
}

/* ---- answers ---- */

/* The default for the output: FILE.de; of a document NAME.de.html, so that its kind stays. */
static void add_output_name(struct buf *out, const char *file, const char *language)
{
	const char *dot = strrchr(file, '.');
	const bool keeps_ending = translate_is_document(file);
	const size_t n = keeps_ending ? (size_t)(dot - file) : strlen(file);

	buf_printf(out, "%.*s.%s%s", (int)n, file, *language ? language : "translated",
		   keeps_ending ? dot : "");
}

/* Ask for the output file. */
static void ask_output(struct translate_view *v, struct app_context *w, int id, const char *file)
{
	const struct service *s = v->console.sides[0].service;
	const char *language = s ? service_model(s)->target_language : "";
	struct err e = { 0 };
	struct buf out = { 0 };

	if (file_size(file) < 0) {
		context_notify(w, STYLE_BAD, "%s: there is no such file", file);
		return;
	}
	free(v->file);
	if (!(v->file = mem_strdup(file, &e)))
		return;
	add_output_name(&out, file, language);
	ask_path(w, id, "write the translation to", buf_text(&out));
	buf_free(&out);
}

static unsigned carry_out_answer(struct translate_view *v, struct app_context *w, int question,
				 const char *text)
{
	struct console *c = &v->console;
	double now = clock_mono_s();
	struct err e = { 0 };

	if (!text || (!*text && question != ASK_SEARCH))
		return REACT_REDRAW;
	switch (question) {
	case ASK_CHECKPOINT:
		translate_use_choice(v, w, 0, text);
		break;
	case ASK_SECOND:
		translate_use_choice(v, w, 1, text);
		break;
	case ASK_SEARCH:
		translate_notify_failure(w, console_set_search(c, text, now, &e), &e);
		break;
	case ASK_GLOSSARY:
		translate_notify_failure(w, console_add_glossary(c, text, now, &e), &e);
		break;
	case ASK_FORCE:
		translate_notify_failure(w, console_add_term(c, &c->force, text, now, &e), &e);
		break;
	case ASK_FORBID:
		translate_notify_failure(w, console_add_term(c, &c->forbid, text, now, &e), &e);
		break;
	case ASK_FILE:
		ask_output(v, w, ASK_OUTPUT, text);
		break;
	case ASK_DOCUMENT:
		ask_output(v, w, ASK_DOCUMENT_OUTPUT, text);
		break;
	case ASK_DOCUMENT_OUTPUT:
		if (v->file)
			document_start(c, w, v->file, text);
		break;
	case ASK_OUTPUT:
		if (v->file)
			translate_notify_failure(w, console_start_file(c, v->file, text, now, &e),
						 &e);
		break;
	default:
		break;
	}
	return REACT_REDRAW | REACT_SOON;
}

static unsigned translate_answer(void *state, struct app_context *w, int question, const char *text)
{
	struct translate_view *v = state;
	struct console_step before;
	unsigned reaction;

	console_undo_look(&v->console, question == ASK_GLOSSARY, &before);
	reaction = carry_out_answer(v, w, question, text);
	console_undo_keep(&v->console, &before, 0);
	return reaction;
}

/* ---- drawing ---- */

static void draw_no_checkpoint(struct grid *g, struct rect body, const struct translate_view *v,
			       const struct app_context *w)
{
	char first[200], other[200];
	const char *const lines[] = {
		first,
		"",
		"Training saves a checkpoint at each evaluation;",
		"the console loads the first one as soon as it exists.",
		"",
		other,
		"F3      chooses a checkpoint of any run",
	};

	if (w->run)
		snprintf(first, sizeof(first), "%.100s has no checkpoint yet", w->run);
	else
		snprintf(first, sizeof(first), "There is no run to translate with yet");
	if (v->other)
		snprintf(other, sizeof(other), "Enter   translates with %.*s, step %.100s",
			 (int)strcspn(v->other, " "), v->other, strchr(v->other, ' ') + 1);
	draw_message(g, body, STYLE_TITLE, lines, (int)ARRAY_LEN(lines) - (v->other ? 0 : 3));
}

static void translate_draw(void *state, struct grid *g, struct rect body,
			   const struct app_context *w)
{
	struct translate_view *v = state;
	const struct console *c = &v->console;

	if (!c->sides[0].run && !*edit_text(&c->input)) {
		draw_no_checkpoint(g, body, v, w);
		return;
	}
	console_layout(c, g, body, &v->screen);
	console_draw(&v->console, g, &v->screen, clock_mono_s());
}

static const enum action translate_hints[] = {
	ACTION_NEXT_PANE,  ACTION_ACCEPT,	  ACTION_TYPE,
	ACTION_UNDO,	   ACTION_FORCE,	  ACTION_FORBID,
	ACTION_SECOND,	   ACTION_TRANSLATE_FILE, ACTION_COPY_TRANSLATION,
	ACTION_CHECKPOINT, ACTION_CLEAR,	  ACTION_NONE,
};

const struct view view_translate = {
	.name = "translate",
	.title = "translate",
	.state_size = sizeof(struct translate_view),
	.open = translate_open,
	.update = translate_update,
	.act = translate_act,
	.draw = translate_draw,
	.close = translate_close,
	.typing = translate_typing,
	.unsaved = translate_unsaved,
	.start_typing = translate_start_typing,
	.receive = translate_receive,
	.key = translate_key,
	.paste = translate_paste,
	.mouse = translate_mouse,
	.answer = translate_answer,
	.hints = translate_hints,
};
