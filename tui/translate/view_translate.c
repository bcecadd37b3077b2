/*
 * view_translate.c - the tab "translate": keys and actions of the console.
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
#include "share/base/mem.h"
#include "share/base/text.h"
#include "tui/run/run_history.h"
#include "tui/term/draw.h"
#include "tui/translate/document_actions.h"
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
	typed_texts_open(&v->texts, &v->console, w);
	return 0;
}

static void translate_close(void *state)
{
	struct translate_view *v = state;

	typed_texts_close(&v->texts, &v->console);
	console_close(&v->console);
	free(v->run);
	free(v->file);
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

	v->texts.is_saved = w->saves_sentences;
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

static void leave_text(struct translate_view *v, struct app_context *w)
{
	struct err e = { 0 };

	translate_notify_failure(w, typed_texts_leave(&v->texts, &v->console, &e), &e);
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

unsigned translate_keep_change(struct translate_view *v, int key, unsigned reaction)
{
	console_undo_keep(&v->console, &v->before, key);
	return reaction;
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
	if (v->texts.draft && (key == KEY_NAME_UP || key == CTRL_P)) {
		leave_text(v, w); /* the line above it in the history is the one before */
		edit_key(&c->input, key);
	} else if (v->texts.draft && (key == KEY_NAME_DOWN || key == CTRL_N)) {
		leave_text(v, w);
	}
	switch (edit_key(&c->input, key)) {
	case EDIT_MOVED:
		return REACT_REDRAW;
	case EDIT_CHANGED:
		translate_notify_failure(w, console_text_changed(c, clock_mono_s(), &e), &e);
		if (key != KEY_NAME_UP && key != KEY_NAME_DOWN && key != CTRL_P && key != CTRL_N)
			translate_notify_failure(w, typed_texts_note(&v->texts, c, &e), &e);
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

	if (key == UNDO_KEY) /* the editors of text and translation have one history */
		return undo_change(v, w, ACTION_UNDO);
	console_undo_look(&v->console, false, &v->before);
	return translate_keep_change(v, key, handle_key(v, w, key));
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
	if (console_text_changed(&v->console, clock_mono_s(), &e) ||
	    typed_texts_note(&v->texts, &v->console, &e))
		translate_notify_failure(w, e.code, &e);
	return REACT_REDRAW;
}

static unsigned translate_paste(void *state, struct app_context *w, const char *text)
{
	struct translate_view *v = state;

	console_undo_look(&v->console, false, &v->before);
	return translate_keep_change(v, 0, paste_text(v, w, text));
}

/* ---- actions ---- */

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

static unsigned carry_out(struct translate_view *v, struct app_context *w, enum action action)
{
	struct console *c = &v->console;
	const double now = clock_mono_s();
	struct err e = { 0 };
	unsigned reaction;
	int rc = 0;

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
		rc = console_start_revision(c, &e);
		break;
	case ACTION_FIX_PREFIX:
		rc = console_fix_prefix(c, now, &e);
		break;
	case ACTION_CLEAR:
		rc = console_clear_constraints(c, now, &e);
		break;
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
	case ACTION_PIECES:
		console_toggle_pieces(c, now);
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
		rc = console_next_layer(c, now, &e);
		break;
	case ACTION_MAP_HEAD:
		rc = console_next_head(c, now, &e);
		break;
	case ACTION_RESTART:
		restart_services(c);
		break;
	default:
		reaction = translate_ask(v, w, action);
		return reaction & REACT_UNKNOWN ? act_move(v, w, action) : reaction;
	}
	translate_notify_failure(w, rc, &e);
	return REACT_REDRAW | REACT_SOON;
}

static unsigned translate_act(void *state, struct app_context *w, enum action action)
{
	struct translate_view *v = state;

	if (action == ACTION_UNDO || action == ACTION_REDO)
		return undo_change(v, w, action);
	console_undo_look(&v->console, false, &v->before);
	return translate_keep_change(v, 0, carry_out(v, w, action));
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
